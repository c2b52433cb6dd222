r"""The paper's MMD network: bounded weights and features of the data, learned together.

Sections 3.2 and 3.4: four fully connected layers of eight neurons express the weights ``u`` as a
function of ``x`` and minimise the maximum mean discrepancy (MMD) between the weighted S = +1
sample and the S = -1 sample. The last hidden layer is the feature map ``phi`` handed to the
auditor. torch is needed to fit, not to apply what was fitted.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.special import expit

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.balance.fitted import FittedBalancer
from mdfa_fairness_plugin.balance.mmd import FourierFeatures, mixture_bandwidths
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.numerics.basis import Standardiser

logger = logging.getLogger(__name__)

_N_LAYERS = 4  # "four fully connected layers of 8 neurons", Section 3.4
_N_NEURONS = 8
# Beyond this many rows of a group, a random sample of them is fitted to.
_MOST_ROWS_PER_GROUP = 25_000
# An epoch goes once through the larger group, but is at least, and at most, this many minibatches.
_FEWEST_STEPS, _MOST_STEPS = 10, 20
# Keeps the average weight near one; MMD itself does not see the scale of the weights.
_SCALE_PENALTY = 0.1


class MMDNetwork(FittedBalancer):
    r"""Weights ``u(x) = e^o / (1 + e^o / 10)`` of smallest MMD, from a small network.

    The loss of a minibatch is

    .. math:: \frac{\widehat{\mathrm{MMD}}^2(u)}{\mathrm{MMD}^2(1)} + \lambda \|W\|^2
              + 0.1 (\bar u - 1)^2

    and, with ``joint=True`` (Eq. ``risk2``), the weighted logistic risk of predicting
    ``s * y`` from the last hidden layer. The kernel is Gaussian, a mixture of half, one and
    two times the median distance, in random Fourier features.

    ``lambda`` and the number of epochs are those with the smallest mean loss (MMD, and risk if
    joint; without penalties) over the held-out folds of a cross-validation, whose networks, one
    per fold and ``lambda``, are trained side by side. Training stops when no ``lambda`` has
    improved for ``patience`` epochs. The final network is then trained on all rows, from several
    starts, of which the one with the smallest loss is kept.

    Parameters
    ----------
    regularisation_grid : sequence of float, default=(0.001, 0.01, 0.1)
        Values of ``lambda`` to choose from.
    n_splits : int, default=5
        Folds of the cross-validation.
    max_epochs : int, default=60
    batch_size : int, default=500
        Rows of a minibatch, half of them of each group.
    patience : int, default=10
        Epochs without improvement before training stops.
    learning_rate : float, default=0.01
        Of Adam, lowered to 0 along a cosine.
    joint : bool, default=False
        Minimise the joint objective; ``fit`` then needs ``label``.
    max_weight : float, default=10.0
        Bound of ``u``.
    n_frequencies : int, default=128
        Random frequencies of the kernel.
    n_restarts : int, default=4
        Starts of the final network.
    random_state : int, Generator or None, default=None
        None is seed 0.
    device : str or None, default=None
        Where torch computes; ``None`` is the CPU.

    Attributes
    ----------
    regularisation_ : float
        ``lambda`` chosen.
    n_epochs_ : int
        Number of epochs chosen.
    held_out_loss_ : ndarray of shape (n_epochs + 1, n_regularisations)
        Mean over the folds, before training and after each epoch.

    Notes
    -----
    Three readings of the paper. ``u`` is relative: its average is kept near one, and the
    weights are ``u`` times the ratio of the groups' sizes. With equal groups that is the
    paper's bound of 10; with a rare group, where the paper's weights average more than 10, its
    bound would leave no room to balance anything. The MMD of a minibatch is the unbiased estimate
    (without the diagonal), for the plain one rewards equal weights. In the joint objective the
    gradient of the risk reaches the weights through the shared layers only: a risk that could
    lower the weights of the rows it finds hard would do so.

    The result does not depend on torch's global seed or number of threads and changes neither.
    """

    def __init__(
        self,
        regularisation_grid=(1e-3, 1e-2, 1e-1),
        n_splits=5,
        max_epochs=60,
        batch_size=500,
        patience=10,
        learning_rate=0.01,
        joint=False,
        max_weight=10.0,
        n_frequencies=128,
        n_restarts=4,
        random_state=None,
        device=None,
    ):
        self.regularisation_grid = regularisation_grid
        self.n_splits = n_splits
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.patience = patience
        self.learning_rate = learning_rate
        self.joint = joint
        self.max_weight = max_weight
        self.n_frequencies = n_frequencies
        self.n_restarts = n_restarts
        self.random_state = random_state
        self.device = device

    def fit(self, X, s, sample_weight=None, label=None):
        """Choose the regularisation and train the network.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        s : ndarray of shape (n,)
            In {-1, +1}.
        sample_weight : ndarray of shape (n,) or None, default=None
        label : ndarray of shape (n,) or None, default=None
            ``s * y`` in {-1, +1}; needed, and used, only if ``joint``.

        Returns
        -------
        self
        """
        return self._fit(X, s, sample_weight, label)

    def _learn(self, X, positive, base, label):
        torch = import_optional("torch", extra="network", feature="balance='mmd_network'")
        grid = self._checked_grid(label)
        device = _checked_device(torch, self.device)
        rng = np.random.default_rng(self.random_state or 0)
        self._standardise = Standardiser.fit(X, base)
        rows = _sampled_rows(positive, rng)
        Z = self._standardise(X[rows])
        kernel = FourierFeatures.draw(
            Z.shape[1], self.n_frequencies, mixture_bandwidths(Z, base[rows]), rng
        )
        n_splits = min(self.n_splits, *(np.bincount(positive[rows], minlength=2) // 2))
        with _one_thread(torch):
            sample = _Sample(
                torch,
                Z=Z,
                positive=positive[rows],
                base=base[rows],
                embedding=kernel(Z),
                folds=_drawn_folds(positive[rows], max(n_splits, 1), rng),
                label=np.asarray(label)[rows] if self.joint else None,
                device=device,
            )
            self._choose_regularisation(torch, sample, grid, n_splits, rng)
            self._parameters = self._train_final(torch, sample, rng)
        return self._relative(X[positive])

    def features(self, X):
        """Last hidden layer, the auditor's feature map ``phi``.

        Parameters
        ----------
        X : ndarray of shape (n, d)

        Returns
        -------
        features : ndarray of shape (n, 8)
        """
        hidden = self._standardise(X)
        for matrix, offset in self._parameters["layers"]:
            hidden = hidden @ matrix + offset
            hidden = hidden * expit(hidden)
        return hidden

    def _relative(self, X):
        # e^o / (1 + e^o / B) = B sigmoid(o - ln B), which cannot overflow.
        matrix, offset = self._parameters["weight"]
        return self.max_weight * expit(
            self.features(X) @ matrix + offset - math.log(self.max_weight)
        )

    def _checked_grid(self, label):
        if self.joint and label is None:
            raise InputError("label: joint=True needs the label s * y of every row, None found.")
        grid = np.atleast_1d(np.asarray(self.regularisation_grid, dtype=float))
        if grid.ndim != 1 or len(grid) == 0 or not (np.isfinite(grid) & (grid >= 0)).all():
            raise InputError(
                "regularisation_grid: one or more numbers of 0 or more expected, "
                f"{self.regularisation_grid!r} found."
            )
        if not self.max_weight > 1:
            raise InputError(f"max_weight: more than 1 expected, {self.max_weight!r} found.")
        return grid

    def _choose_regularisation(self, torch, sample, grid, n_splits, rng):
        """Set ``regularisation_``, ``n_epochs_`` and ``held_out_loss_``."""
        if n_splits < 2:  # too few rows to hold any out
            self.regularisation_, self.n_epochs_ = float(grid.max()), self.max_epochs
            self.held_out_loss_ = np.empty((0, len(grid)))
            return
        networks = self._networks(torch, sample, len(grid) * n_splits, rng)
        held_out = np.tile(np.arange(n_splits), len(grid))
        losses = []
        for _ in self._epochs(torch, networks, sample, np.repeat(grid, n_splits), held_out, rng):
            loss = sample.held_out_loss(networks, held_out)
            losses.append(loss.reshape(len(grid), n_splits).mean(axis=1))
            since_best = len(losses) - 1 - np.argmin(losses, axis=0)
            if since_best.min() >= self.patience:
                break
        self.held_out_loss_ = np.array(losses)
        epoch, best = np.unravel_index(np.argmin(self.held_out_loss_), self.held_out_loss_.shape)
        self.regularisation_, self.n_epochs_ = float(grid[best]), int(epoch)
        logger.debug(
            "mmd network: regularisation %g, %d epochs, held-out loss %.4f (untrained %.4f)",
            self.regularisation_,
            self.n_epochs_,
            self.held_out_loss_[epoch, best],
            self.held_out_loss_[0, best],
        )

    def _train_final(self, torch, sample, rng):
        networks = self._networks(torch, sample, self.n_restarts, rng)
        penalties = np.full(self.n_restarts, self.regularisation_)
        for epoch in self._epochs(torch, networks, sample, penalties, None, rng):
            if epoch == self.n_epochs_:
                break
        best = int(np.argmin(sample.final_loss(networks, penalties)))
        return networks.export(best)

    def _networks(self, torch, sample, n_networks, rng):
        seed = int(rng.integers(2**31 - 1))
        return _Networks(torch, sample.n_columns, n_networks, seed, self.max_weight, sample.device)

    def _epochs(self, torch, networks, sample, penalties, held_out, rng) -> Iterator[int]:
        """Train; yields the number of epochs done, from 0."""
        optimiser = torch.optim.Adam(networks.parameters(), lr=self.learning_rate)
        yield 0
        for epoch in range(self.max_epochs):
            left = (1 + math.cos(math.pi * epoch / self.max_epochs)) / 2
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * left
            for rows in sample.batches(self.batch_size, rng):
                optimiser.zero_grad()
                sample.training_loss(networks, rows, penalties, held_out).sum().backward()
                optimiser.step()
            yield epoch + 1


class _Networks:
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


class _Sample:
    """The rows as tensors, S = +1 first, and the losses on them."""

    def __init__(self, torch, *, Z, positive, base, embedding, folds, label, device):
        order = np.argsort(~positive, kind="stable")

        def tensor(values):
            values = np.ascontiguousarray(values[order], dtype=np.float32)
            return torch.as_tensor(values, device=device)

        self._torch = torch
        self.device = device
        self.n_columns = Z.shape[1]
        self._n_rows = len(Z)
        self._n_positive = int(positive.sum())
        self._Z = tensor(Z)
        self._base = tensor(base)
        self._embedding = tensor(embedding)
        self._label = None if label is None else tensor(label)
        self._folds = torch.as_tensor(folds[order], device=device)
        with torch.no_grad():
            whole = [self._tensor(rows) for rows in self._all_rows()]
            means = [
                self._base[rows] @ self._embedding[rows] / self._base[rows].sum() for rows in whole
            ]
            # The MMD of equal weights, with what chance adds to it: never close to 0.
            self._unit = float(((means[0] - means[1]) ** 2).sum().clamp_min(1e-8))

    def batches(self, batch_size, rng):
        """Row numbers of one epoch's minibatches, as pairs (S = +1, S = -1)."""
        sizes = (self._n_positive, self._n_rows - self._n_positive)
        halves = [min(max(batch_size // 2, 2), size) for size in sizes]
        once = max(math.ceil(size / half) for size, half in zip(sizes, halves, strict=True))
        steps = min(max(once, _FEWEST_STEPS), _MOST_STEPS)
        drawn = []
        for first, size, half in zip((0, self._n_positive), sizes, halves, strict=True):
            rounds = math.ceil(steps * half / size)
            shuffled = np.concatenate([rng.permutation(size) for _ in range(rounds)])
            drawn.append(first + shuffled[: steps * half].reshape(steps, half))
        return zip(*drawn, strict=True)

    def training_loss(self, networks, rows, penalties, held_out):
        """Loss with penalties, each network without its held-out fold."""
        mmd, mean_weight, risk = self._losses(networks, rows, held_out, inside=False)
        penalties = self._tensor(penalties.astype(np.float32))
        return (
            mmd
            + risk
            + penalties * networks.squared_norm()
            + _SCALE_PENALTY * (mean_weight - 1) ** 2
        )

    def held_out_loss(self, networks, held_out):
        """MMD and risk on each network's held-out fold."""
        with self._torch.no_grad():
            mmd, _, risk = self._losses(networks, self._all_rows(), held_out, inside=True)
            return (mmd + risk).cpu().numpy()

    def final_loss(self, networks, penalties):
        """Training loss on all rows."""
        with self._torch.no_grad():
            return self.training_loss(networks, self._all_rows(), penalties, None).cpu().numpy()

    def _all_rows(self):
        return np.arange(self._n_positive), np.arange(self._n_positive, self._n_rows)

    def _tensor(self, values):
        return self._torch.as_tensor(values, device=self.device)

    def _losses(self, networks, rows, held_out, inside):
        """Scaled unbiased MMD, mean weight and certifying risk of each network."""
        torch = self._torch
        m = len(rows[0])
        rows = self._tensor(np.concatenate(rows))
        u, score = networks(self._Z[rows])
        base = self._base[rows].expand_as(u)
        if held_out is not None:
            in_fold = self._folds[rows][None, :] == self._tensor(held_out)[:, None]
            base = base * (in_fold if inside else ~in_fold)
        weighted = u[:, :m] * base[:, :m]
        plus = weighted / weighted.sum(dim=1, keepdim=True).clamp_min(1e-12)
        minus = base[:, m:] / base[:, m:].sum(dim=1, keepdim=True).clamp_min(1e-12)
        embedding = self._embedding[rows]
        mean_plus, mean_minus = plus @ embedding[:m], minus @ embedding[m:]
        mmd = (
            _without_diagonal(mean_plus, plus)
            + _without_diagonal(mean_minus, minus)
            - 2 * (mean_plus * mean_minus).sum(dim=1)
        ) / self._unit
        mean_weight = weighted.sum(dim=1) / base[:, :m].sum(dim=1).clamp_min(1e-12)
        if self._label is None:
            return mmd, mean_weight, torch.zeros_like(mmd)
        logistic = torch.nn.functional.softplus(-self._label[rows] * score)
        # Each group carries half the weight; the weights themselves are left out of the gradient.
        risk = (plus.detach() * logistic[:, :m]).sum(dim=1) + (minus * logistic[:, m:]).sum(dim=1)
        return mmd, mean_weight, risk / 2


def _without_diagonal(mean, shares):
    """Mean kernel between different rows; ``k(x, x) = 1`` and ``shares`` sum to one."""
    diagonal = (shares**2).sum(dim=1)
    return ((mean**2).sum(dim=1) - diagonal) / (1 - diagonal).clamp_min(1e-3)


def _sampled_rows(positive, rng):
    """All rows, or a random sample of each group that is too large."""
    kept = []
    for group in (positive, ~positive):
        rows = np.flatnonzero(group)
        if len(rows) > _MOST_ROWS_PER_GROUP:
            rows = rng.choice(rows, _MOST_ROWS_PER_GROUP, replace=False)
        kept.append(rows)
    return np.sort(np.concatenate(kept))


def _drawn_folds(positive, n_splits, rng):
    """Fold of each row, drawn at random within each group."""
    folds = np.empty(len(positive), dtype=np.intp)
    order = [rng.permutation(np.flatnonzero(group)) for group in (~positive, positive)]
    folds[np.concatenate(order)] = np.arange(len(positive)) % n_splits
    return folds


def _checked_device(torch, device):
    try:
        return torch.zeros(1, device="cpu" if device is None else device).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device: torch cannot compute on {device!r} here ({str(error).splitlines()[0]}). "
            "Use device=None or 'cpu'."
        ) from error


@contextmanager
def _one_thread(torch):
    """Compute on one thread, the fastest for networks this small, and set the number back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
