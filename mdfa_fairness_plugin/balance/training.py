"""What trains the MMD network: networks side by side, and the rows with the losses on them."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from typing import Any

import numpy as np

N_LAYERS = 4  # "four fully connected layers of 8 neurons", Section 3.4
_N_NEURONS = 8
# An epoch, after which the held-out loss is looked at.
_STEPS_PER_EPOCH = 10
# Keeps the average weight near one, which the bound is a multiple of; the MMD does not see their scale.
_SCALE_PENALTY = 10.0
# Rows whose slopes are held in memory at a time.
_BLOCK = 8_192


def as_numpy(tensor):
    """Floats of a tensor, on whatever device it is."""
    return tensor.detach().cpu().numpy().astype(float)


class Networks:
    """Networks of the same shape, evaluated side by side; all that is trained is one tensor."""

    def __init__(self, torch, n_columns, n_networks, seed, max_weight, device):
        self._torch = torch
        self._log_bound = math.log(max_weight)
        self._max_weight = max_weight
        # Drawn on the CPU, so that every device starts from the same values.
        generator = torch.Generator().manual_seed(seed)
        widths = [n_columns] + [_N_NEURONS] * N_LAYERS
        # x sigmoid(x) halves small inputs: a gain of 1.6 keeps the layers' spread.
        layers = [(*pair, 1.6, 0.0, 0.1) for pair in pairwise(widths)]
        # Starts at weights close to one.
        heads = [(_N_NEURONS, 1, 0.3, value, 0.0) for value in (-math.log(1 - 1 / max_weight), 0.0)]
        self._shapes: list[tuple[int, int]] = []
        parts: list[Any] = []
        for n_inputs, n_outputs, gain, value, spread in layers + heads:
            for shape in ((n_inputs, n_outputs), (1, n_outputs)):
                drawn = torch.randn(n_networks, *shape, generator=generator, dtype=torch.float32)
                matrix = len(parts) % 2 == 0
                drawn = drawn * gain / math.sqrt(n_inputs) if matrix else value + spread * drawn
                parts.append(drawn.flatten(1))
                self._shapes.append(shape)
        self.trained = torch.cat(parts, dim=1).to(device).requires_grad_()
        self.connections = torch.cat(
            [torch.full_like(part[0], k % 2 == 0) for k, part in enumerate(parts)]
        ).to(device)

    def some(self, which):
        """A few of the networks."""
        return self.having(self.trained[which])

    def having(self, trained):
        """Networks of the same shape with other parameters."""
        own = copy.copy(self)
        own.trained = trained
        return own

    def pairs(self):
        """Connections and offsets of each layer, then those of both outputs."""
        parts = self.trained.split([math.prod(shape) for shape in self._shapes], dim=1)
        parts = [part.unflatten(1, shape) for part, shape in zip(parts, self._shapes, strict=True)]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def __call__(self, Z):
        """Weights ``u`` and certifying scores, each of shape (n_networks, n)."""
        torch = self._torch
        hidden = Z.expand(len(self.trained), *Z.shape)
        *layers, weight, certifying = self.pairs()
        for matrix, offset in layers:
            hidden = torch.nn.functional.silu(torch.baddbmm(offset, hidden, matrix))
        score, certified = (
            torch.baddbmm(offset, hidden, matrix)[..., 0] for matrix, offset in (weight, certifying)
        )
        return self._bounded(score), certified

    def _bounded(self, score):
        return self._max_weight * self._torch.sigmoid(score - self._log_bound)

    def slopes(self, Z, first):
        """Weights ``u`` of the first network, and their slopes in what ``trained_from`` tells.

        Shapes (n,) and (n, n_trained).
        """
        torch = self._torch
        *layers, (matrix, offset), _ = [(one[0], other[0]) for one, other in self.pairs()]
        hidden, bends = [Z], []
        for connections, start in layers:
            bent = hidden[-1] @ connections + start
            gate = torch.sigmoid(bent)
            bends.append(gate * (1 + bent * (1 - gate)))
            hidden.append(bent * gate)
        u = self._bounded(hidden[-1] @ matrix + offset)
        slope = u * (1 - u / self._max_weight)
        parts = []
        for k in range(N_LAYERS, first - 1, -1):
            parts.append(slope)
            parts.append((hidden[k][:, :, None] * slope[:, None, :]).flatten(1))
            if k > 0:
                slope = (slope @ matrix.T) * bends[k - 1]
                matrix = layers[k - 1][0]
        return u[:, 0], torch.cat(parts[::-1], dim=1)

    def trained_from(self, first):
        """Where in ``trained`` the layers from ``first`` lie, and after them the weights' output."""
        sizes = [math.prod(shape) for shape in self._shapes]
        return slice(sum(sizes[: 2 * first]), sum(sizes[:-2]))

    def squared_norm(self):
        """Sum of all squared connection weights, shape (n_networks,)."""
        return (self.trained**2 * self.connections).sum(dim=1)

    def export(self, k):
        """Network ``k`` as NumPy arrays."""
        *layers, weight, _ = [[as_numpy(part[k]) for part in pair] for pair in self.pairs()]
        return {
            "layers": [(matrix, offset[0]) for matrix, offset in layers],
            "weight": (weight[0][:, 0], float(weight[1][0, 0])),
        }


class Sample:
    """The rows as tensors, S = +1 first, and the losses on them.

    The weights are those of S = +1 alone, so what the others' features are on average, which the
    weighted ones are to match, is known exactly and no minibatch has to estimate it.
    """

    def __init__(self, torch, *, Z, positive, base, embedding, folds, label, device):
        order = np.argsort(~positive, kind="stable")

        def tensor(values):
            values = np.ascontiguousarray(values[order], dtype=np.float32)
            return torch.as_tensor(values, device=device)

        self._torch = torch
        self.device = device
        self.n_columns = Z.shape[1]
        self._n_positive = m = int(positive.sum())
        self.fewest = min(m, len(Z) - m)
        self._Z = tensor(Z)
        self._base = tensor(base)
        self._embedding = tensor(embedding)
        self.label = None if label is None else tensor(label)
        self._folds = folds[order]
        self._all = np.arange(m), np.arange(m, len(Z))
        n_folds = int(folds.max()) + 1
        rest = self._folds[m:]
        kept = [rest != fold for fold in (*range(n_folds), -1)]
        self._targets = self._means(kept)
        self._targets_held_out = self._means([~own for own in kept[:-1]])
        with torch.no_grad():
            base = self._base[:m]
            equal = base @ self._embedding[:m] / base.sum()
            # The MMD of equal weights, with what chance adds to it: never close to 0.
            self._unit = ((equal - self._targets[0][-1]) ** 2).sum().clamp_min(1e-8)

    def _means(self, kept):
        """Mean embedding of sets of the S = -1 rows, and its squared length without the diagonal."""
        m = self._n_positive
        inside = self._tensor(np.array(kept, dtype=np.float32).reshape(len(kept), -1))
        shares = inside * self._base[m:]
        shares = shares / shares.sum(dim=1, keepdim=True).clamp_min(1e-12)
        means = shares @ self._embedding[m:]
        return means, _without_diagonal(means, shares)

    def batches(self, batch_size, rng):
        """Row numbers of one epoch's minibatches, as pairs (S = +1, S = -1)."""
        halves = [self._drawn(own, max(batch_size // 2, 2), rng) for own in self._all]
        return zip(*halves, strict=True)

    def _drawn(self, rows, size, rng):
        """Minibatches of one group; all of its rows each time, if it has no more than one holds."""
        if len(rows) <= size:
            return [rows] * _STEPS_PER_EPOCH
        rounds = math.ceil(_STEPS_PER_EPOCH * size / len(rows))
        shuffled = np.concatenate([rng.permutation(rows) for _ in range(rounds)])
        return list(shuffled[: _STEPS_PER_EPOCH * size].reshape(_STEPS_PER_EPOCH, size))

    def training_loss(self, networks, rows, penalties, held_out):
        """Loss with penalties, each network without its held-out fold (-1: none)."""
        base = None
        if (held_out >= 0).any():
            kept = np.concatenate([self._folds[own] for own in rows]) != held_out[:, None]
            base = self._tensor(kept.astype(np.float32))
        mean, square = (one[self._tensor(held_out)] for one in self._targets)
        mmd, mean_weight, risk = self._losses(networks, rows, base, mean, square)
        penalties = self._tensor((penalties / self.fewest).astype(np.float32))
        return (
            mmd
            + risk
            + penalties * networks.squared_norm()
            + _SCALE_PENALTY * (mean_weight - 1) ** 2
        )

    def held_out_loss(self, networks, held_out):
        """MMD and risk on each network's held-out fold."""
        loss = np.empty(len(held_out))
        for fold in np.unique(held_out):
            which = np.flatnonzero(held_out == fold)
            rows = [own[self._folds[own] == fold] for own in self._all]
            mean, square = (one[fold] for one in self._targets_held_out)
            with self._torch.no_grad():
                mmd, _, risk = self._losses(networks.some(which), rows, None, mean[None], square)
            loss[which] = (mmd + risk).cpu().numpy()
        return loss

    def final_loss(self, networks, penalties):
        """Training loss on all rows."""
        return self.training_loss(networks, self._all, penalties, np.full(len(penalties), -1))

    def gaps(self, network, first=None):
        """What is to be 0 on all rows, the MMD with its diagonal: its squares make up the loss.

        One entry a feature of the kernel and one for the scale; with their slopes in what the layers
        from ``first`` train, unless it is None.
        """
        torch, m = self._torch, self._n_positive
        total: Any = 0.0
        sloped: Any = 0.0
        for start in range(0, m, _BLOCK):
            rows = slice(start, min(start + _BLOCK, m))
            base = self._base[rows, None]
            told = torch.cat([self._embedding[rows], torch.ones_like(base)], dim=1) * base
            if first is None:
                u = network(self._Z[rows])[0][0]
            else:
                u, slopes = network.slopes(self._Z[rows], first)
                sloped = sloped + told.T @ slopes
            total = total + u @ told
        mean, scale = total[:-1] / total[-1], self._base[:m].sum()
        unit, spring = torch.sqrt(self._unit), math.sqrt(_SCALE_PENALTY)
        gaps = torch.cat([(mean - self._targets[0][-1]) / unit, spring * (total[-1:] / scale - 1)])
        if first is None:
            return gaps
        of_mean = (sloped[:-1] - mean[:, None] * sloped[-1]) / total[-1] / unit
        return gaps, torch.cat([of_mean, spring * sloped[-1:] / scale])

    def _tensor(self, values):
        return self._torch.as_tensor(values, device=self.device)

    def _losses(self, networks, rows, kept, target, square):
        """Scaled unbiased MMD, mean weight and certifying risk of each network."""
        torch = self._torch
        m = len(rows[0])
        rows = self._tensor(rows[0] if self.label is None else np.concatenate(rows))
        u, score = networks(self._Z[rows])
        base = self._base[rows].expand_as(u)
        if kept is not None:
            base = base * kept[:, : len(rows)]
        weighted = u[:, :m] * base[:, :m]
        plus = weighted / weighted.sum(dim=1, keepdim=True).clamp_min(1e-12)
        mean = plus @ self._embedding[rows[:m]]
        mmd = (_without_diagonal(mean, plus) + square - 2 * (mean * target).sum(dim=1)) / self._unit
        mean_weight = weighted.sum(dim=1) / base[:, :m].sum(dim=1).clamp_min(1e-12)
        if self.label is None:
            return mmd, mean_weight, torch.zeros_like(mmd)
        minus = base[:, m:] / base[:, m:].sum(dim=1, keepdim=True).clamp_min(1e-12)
        logistic = torch.nn.functional.softplus(-self.label[rows] * score)
        # Each group carries half the weight; the weights themselves are left out of the gradient.
        risk = (plus.detach() * logistic[:, :m]).sum(dim=1) + (minus * logistic[:, m:]).sum(dim=1)
        return mmd, mean_weight, risk / 2


def _without_diagonal(mean, shares):
    """Mean kernel between different rows; ``k(x, x) = 1`` and ``shares`` sum to one."""
    diagonal = (shares**2).sum(dim=1)
    return ((mean**2).sum(dim=1) - diagonal) / (1 - diagonal).clamp_min(1e-3)
