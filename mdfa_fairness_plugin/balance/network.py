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
from mdfa_fairness_plugin.balance.descent import Adam, finished
from mdfa_fairness_plugin.balance.fitted import FittedBalancer
from mdfa_fairness_plugin.balance.mmd import FourierFeatures, mixture_bandwidths
from mdfa_fairness_plugin.balance.training import Networks, Sample
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.numerics.basis import Standardiser

logger = logging.getLogger(__name__)

# Beyond this many rows of a group, a random sample of them is fitted to.
_MOST_ROWS_PER_GROUP = 50_000


class MMDNetwork(FittedBalancer):
    r"""Weights ``u(x) = e^o / (1 + e^o / 10)`` of smallest MMD, from a small network.

    The loss of a minibatch is

    .. math:: \frac{\widehat{\mathrm{MMD}}^2(u)}{\mathrm{MMD}^2(1)} + \frac{\lambda}{n} \|W\|^2
              + 10 (\bar u - 1)^2

    (``n`` rows in the smaller group) and, where joint (Eq. ``risk2``), the weighted logistic risk of
    predicting ``s * y`` from the last hidden layer. The kernel is Gaussian, a mixture of half, one and
    two times the median distance, in random Fourier features.

    ``lambda`` and the number of epochs (of ten minibatches) are those with the smallest mean loss
    (MMD, and risk if joint; without penalties) over the held-out folds of a cross-validation, whose
    networks, one per fold and ``lambda``, are trained side by side; of several ``lambda`` that folds
    do not tell apart (within a standard error of the smallest) the smallest, which balances best.
    Training stops when no ``lambda`` has improved for ``patience`` epochs. The final network is then
    trained on all folds so long, from several starts; that with the smallest loss is finished by
    Gauss and Newton's steps for the MMD of all rows at once. Where joint, these move the weights'
    own layer alone: ``phi`` stays as it was after the epochs that serve rows held out best.

    Parameters
    ----------
    regularisation_grid : sequence of float, default=(0.01, 0.1, 1.0)
        Values of ``lambda`` to choose from.
    n_splits : int, default=5
        Folds of the cross-validation.
    max_epochs : int, default=40
    batch_size : int, default=1000
        Rows of a minibatch, half of them of each group.
    patience : int, default=5
        Epochs without improvement before training stops.
    learning_rate : float, default=0.02
        Of Adam, lowered to 0 along a cosine.
    joint : bool or None, default=None
        Minimise the joint objective; None: where ``fit`` is given a ``label``.
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
    (without the diagonal), for the plain one rewards equal weights; what the others' features are on
    average, which it is to match, is that of all rows. In the joint objective the
    gradient of the risk reaches the weights through the shared layers only: a risk that could
    lower the weights of the rows it finds hard would do so.

    The result does not depend on torch's global seed or number of threads and changes neither.
    """

    def __init__(
        self,
        regularisation_grid=(0.01, 0.1, 1.0),
        n_splits=5,
        max_epochs=40,
        batch_size=1_000,
        patience=5,
        learning_rate=0.02,
        joint=None,
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
            ``s * y`` in {-1, +1}, for the joint objective.

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
        fewest = np.bincount(positive[rows], minlength=2).min()
        n_splits = min(self.n_splits, fewest // 2)
        with _one_thread(torch):
            sample = Sample(
                torch,
                Z=Z,
                positive=positive[rows],
                base=base[rows],
                embedding=kernel(Z),
                folds=_drawn_folds(positive[rows], max(n_splits, 1), rng),
                label=None if label is None or self.joint is False else np.asarray(label)[rows],
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
        losses: list[np.ndarray] = []
        for _ in self._epochs(torch, networks, sample, np.repeat(grid, n_splits), held_out, rng):
            loss = sample.held_out_loss(networks, held_out)
            losses.append(loss.reshape(len(grid), n_splits))
            since_best = len(losses) - 1 - np.argmin(np.mean(losses, axis=2), axis=0)
            if since_best.min() >= self.patience:
                break
        by_fold = np.array(losses)
        self.held_out_loss_ = by_fold.mean(axis=2)
        epochs = self.held_out_loss_.argmin(axis=0)
        found = by_fold[epochs, np.arange(len(grid))]
        behind = found - found[found.mean(axis=1).argmin()]
        error = behind.std(axis=1, ddof=1) / math.sqrt(n_splits)
        as_good = np.flatnonzero(behind.mean(axis=1) <= error)
        best = as_good[grid[as_good].argmin()]
        epoch = epochs[best]
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
        whole = np.full(self.n_restarts, -1)
        for epoch in self._epochs(torch, networks, sample, penalties, whole, rng):
            if epoch == self.n_epochs_:
                break
        with torch.no_grad():
            best = int(sample.final_loss(networks, penalties).argmin())
            network = finished(networks.some([best]), sample, self.regularisation_)
        return network.export(0)

    def _networks(self, torch, sample, n_networks, rng):
        seed = int(rng.integers(2**31 - 1))
        return Networks(torch, sample.n_columns, n_networks, seed, self.max_weight, sample.device)

    def _epochs(self, torch, networks, sample, penalties, held_out, rng) -> Iterator[int]:
        """Train; yields the number of epochs done, from 0."""
        step = Adam(torch, networks.trained)
        yield 0
        for epoch in range(self.max_epochs):
            rate = self.learning_rate * (1 + math.cos(math.pi * epoch / self.max_epochs)) / 2
            for rows in sample.batches(self.batch_size, rng):
                step(sample.training_loss(networks, rows, penalties, held_out).sum(), rate)
            yield epoch + 1


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
