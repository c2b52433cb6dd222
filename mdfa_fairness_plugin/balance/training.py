"""What trains the MMD network: networks side by side, and the rows with the losses on them."""

from __future__ import annotations

import copy
import math

import numpy as np

_N_LAYERS = 4  # "four fully connected layers of 8 neurons", Section 3.4
_N_NEURONS = 8
# An epoch, after which the held-out loss is looked at.
_STEPS_PER_EPOCH = 10
# Keeps the average weight near one, which the bound is a multiple of; the MMD does not see their scale.
_SCALE_PENALTY = 10.0


class Networks:
    """Networks of the same shape, evaluated side by side."""

    def __init__(self, torch, n_columns, n_networks, seed, max_weight, device):
        self._torch = torch
        self._log_bound = math.log(max_weight)
        self._max_weight = max_weight
        # Drawn on the CPU, so that every device starts from the same values.
        generator = torch.Generator().manual_seed(seed)

        def matrix(n_inputs, n_outputs, gain):
            drawn = torch.randn(
                n_networks, n_inputs, n_outputs, generator=generator, dtype=torch.float32
            )
            return (drawn * gain / math.sqrt(n_inputs)).to(device).requires_grad_()

        def offset(n_outputs, value, spread):
            drawn = torch.randn(n_networks, 1, n_outputs, generator=generator, dtype=torch.float32)
            return (value + spread * drawn).to(device).requires_grad_()

        # x sigmoid(x) halves small inputs: a gain of 1.6 keeps the layers' spread.
        self.layers = [
            (
                matrix(n_columns if k == 0 else _N_NEURONS, _N_NEURONS, 1.6),
                offset(_N_NEURONS, 0, 0.1),
            )
            for k in range(_N_LAYERS)
        ]
        # Starts at weights close to one.
        start = -math.log(1 - 1 / max_weight)
        self.weight = (matrix(_N_NEURONS, 1, 0.3), offset(1, start, 0.0))
        self.certifying = (matrix(_N_NEURONS, 1, 0.3), offset(1, 0.0, 0.0))

    def some(self, which):
        """A few of the networks."""
        own = copy.copy(self)
        own._set([tuple(part[which] for part in pair) for pair in self._pairs()])
        return own

    def double(self):
        """The same in double precision, to be trained on."""
        own = copy.copy(self)
        pairs = self._pairs()
        own._set([tuple(p.detach().double().requires_grad_() for p in pair) for pair in pairs])
        return own

    def _set(self, pairs):
        *self.layers, self.weight, self.certifying = pairs

    def parameters(self):
        """Everything to be trained."""
        return [part for pair in self._pairs() for part in pair]

    def _pairs(self):
        return [*self.layers, self.weight, self.certifying]

    def __call__(self, Z):
        """Weights ``u`` and certifying scores, each of shape (n_networks, n)."""
        torch = self._torch
        hidden = Z.expand(len(self.weight[0]), *Z.shape)
        for matrix, offset in self.layers:
            hidden = torch.nn.functional.silu(torch.baddbmm(offset, hidden, matrix))
        score = torch.baddbmm(self.weight[1], hidden, self.weight[0])[..., 0]
        certifying = torch.baddbmm(self.certifying[1], hidden, self.certifying[0])[..., 0]
        return self._max_weight * torch.sigmoid(score - self._log_bound), certifying

    def squared_norm(self):
        """Sum of all squared connection weights, shape (n_networks,)."""
        return sum((matrix**2).sum(dim=(1, 2)) for matrix, _ in self._pairs())

    def export(self, k):
        """Network ``k`` as NumPy arrays."""

        def plain(pair):
            matrix, offset = (part[k].detach().cpu().numpy().astype(float) for part in pair)
            return matrix, offset[0]

        matrix, offset = plain(self.weight)
        return {
            "layers": [plain(pair) for pair in self.layers],
            "weight": (matrix[:, 0], float(offset[0])),
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
        self._with_diagonal = False
        self._n_positive = m = int(positive.sum())
        self._fewest = min(m, len(Z) - m)
        self._Z = tensor(Z)
        self._base = tensor(base)
        self._embedding = tensor(embedding)
        self._label = None if label is None else tensor(label)
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
        penalties = self._tensor((penalties / self._fewest).astype(np.float32))
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

    def double(self):
        """The same in double precision, the MMD with its diagonal: what is left in these rows."""
        own = copy.copy(self)
        own._with_diagonal = True
        for name in ("_Z", "_base", "_embedding", "_label"):
            values = getattr(self, name)
            setattr(own, name, None if values is None else values.double())
        own._targets = tuple(one.double() for one in self._targets)
        return own

    def _tensor(self, values):
        return self._torch.as_tensor(values, device=self.device)

    def _losses(self, networks, rows, kept, target, square):
        """Scaled unbiased MMD, mean weight and certifying risk of each network."""
        torch = self._torch
        m = len(rows[0])
        rows = self._tensor(rows[0] if self._label is None else np.concatenate(rows))
        u, score = networks(self._Z[rows])
        base = self._base[rows].expand_as(u)
        if kept is not None:
            base = base * kept[:, : len(rows)]
        weighted = u[:, :m] * base[:, :m]
        plus = weighted / weighted.sum(dim=1, keepdim=True).clamp_min(1e-12)
        mean = plus @ self._embedding[rows[:m]]
        if self._with_diagonal:
            mmd = ((mean - target) ** 2).sum(dim=1) / self._unit
        else:
            mmd = (
                _without_diagonal(mean, plus) + square - 2 * (mean * target).sum(dim=1)
            ) / self._unit
        mean_weight = weighted.sum(dim=1) / base[:, :m].sum(dim=1).clamp_min(1e-12)
        if self._label is None:
            return mmd, mean_weight, torch.zeros_like(mmd)
        minus = base[:, m:] / base[:, m:].sum(dim=1, keepdim=True).clamp_min(1e-12)
        logistic = torch.nn.functional.softplus(-self._label[rows] * score)
        # Each group carries half the weight; the weights themselves are left out of the gradient.
        risk = (plus.detach() * logistic[:, :m]).sum(dim=1) + (minus * logistic[:, m:]).sum(dim=1)
        return mmd, mean_weight, risk / 2


def _without_diagonal(mean, shares):
    """Mean kernel between different rows; ``k(x, x) = 1`` and ``shares`` sum to one."""
    diagonal = (shares**2).sum(dim=1)
    return ((mean**2).sum(dim=1) - diagonal) / (1 - diagonal).clamp_min(1e-3)
