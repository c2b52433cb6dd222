r"""Kernel mean matching (Gretton et al. 2009).

Bounded weights of the S = +1 rows whose mean in the kernel's feature space comes closest to
the reference group's: the quadratic programme behind the paper's Section 3.2.
"""

from __future__ import annotations

import logging

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from mdfa_fairness_plugin.balance.mmd import (
    Standardiser,
    gaussian_gram,
    gaussian_kernel,
    median_bandwidth,
)

logger = logging.getLogger(__name__)

_BANDWIDTH_FACTORS = (0.5, 1.0, 2.0)


class KernelMeanMatching:
    r"""Weights ``0 <= w <= max_weight`` of smallest MMD.

    .. math:: \min_{0 \le w \le B} \tfrac12 \Big\| \sum_{s_i=+1} q_i w_i \phi(x_i)
              - \bar\phi_{-1} \Big\|^2 + \tfrac{\lambda}{2} \sum q_i (w_i - 1)^2

    Parameters
    ----------
    max_weight : float, default=10.0
        ``B``, as a multiple of the average weight; the paper bounds its weights by 10.
    ridge : float or None, default=None
        ``lambda``; ``None`` is 1 over the number of rows of the smaller group.
    n_landmarks : int, default=300
        Rows that span the feature space.
    max_iter : int, default=1000

    Attributes
    ----------
    converged_ : bool

    Notes
    -----
    The kernel matrix is never built: its pivoted Cholesky factor (at most ``n_landmarks``
    columns) stands in for it, so time and memory are linear in the rows. The solution is
    ``w(x) = clip(1 - witness(x) / lambda, 0, B)``, a function of x, so it also weighs
    rows it has not seen. Nothing is random.
    """

    def __init__(self, max_weight=10.0, ridge=None, n_landmarks=300, max_iter=1000):
        self.max_weight = max_weight
        self.ridge = ridge
        self.n_landmarks = n_landmarks
        self.max_iter = max_iter

    def fit(self, X, s, sample_weight=None):
        """Solve for the weights.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        s : ndarray of shape (n,)
            In {-1, +1}.
        sample_weight : ndarray of shape (n,) or None, default=None

        Returns
        -------
        self : KernelMeanMatching
        """
        X = np.asarray(X, dtype=float)
        positive = np.asarray(s) > 0
        base = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self._standardise = Standardiser.fit(X, base)
        Z = self._standardise(X)
        sigma = median_bandwidth(Z, base)
        self._bandwidths = [sigma * factor for factor in _BANDWIDTH_FACTORS]
        F, self._landmarks, self._factor = _pivoted_cholesky(Z, self._bandwidths, self.n_landmarks)
        F = _with_constant(F)
        q = base[positive] / base[positive].sum()
        target = base[~positive] @ F[~positive] / base[~positive].sum()
        F = F[positive]
        ridge = self.ridge
        if ridge is None:
            ridge = 1.0 / min(base[positive].sum(), base[~positive].sum())
        self._ridge = ridge

        # Dual in theta = (feature mean - target) / lambda: smooth, and as small as the features.
        def dual(theta):
            tilt = -(F @ theta)
            w = np.clip(1.0 + tilt, 0.0, self.max_weight)
            value = (
                0.5 * ridge * theta @ theta + theta @ target + q @ (tilt * w - 0.5 * (w - 1.0) ** 2)
            )
            return value, ridge * theta + target - (q * w) @ F

        solution = minimize(
            dual,
            np.zeros(F.shape[1]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "ftol": 1e-12, "gtol": 1e-7, "maxcor": 30},
        )
        self.converged_ = bool(solution.success)
        self.n_iter_ = int(solution.nit)
        self._theta = solution.x
        w = np.clip(1.0 - F @ self._theta, 0.0, self.max_weight)
        self._scale = float(base[~positive].sum() / max(base[positive] @ w, 1e-300))
        logger.debug("kernel mean matching: %d iterations, %s", solution.nit, solution.message)
        return self

    def weights(self, X, s):
        """Weights of these rows: 1 where S = -1.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        s : ndarray of shape (n,)

        Returns
        -------
        weights : ndarray of shape (n,)
            On the rows fitted to, S = +1 weighs as much in total as S = -1.
        """
        positive = np.asarray(s) > 0
        weights = np.ones(len(positive))
        Z = self._standardise(np.asarray(X, dtype=float)[positive])
        gram = gaussian_gram(Z, self._landmarks, self._bandwidths)
        F = _with_constant(solve_triangular(self._factor, gram.T, lower=True).T)
        weights[positive] = self._scale * np.clip(1.0 - F @ self._theta, 0.0, self.max_weight)
        return weights


def _with_constant(F):
    """Add a constant feature: it keeps the average weight near one."""
    return np.hstack([np.ones((len(F), 1)), F])


def _pivoted_cholesky(Z, bandwidths, rank, tolerance=1e-6):
    """Landmark rows and features ``F`` with ``F @ F.T`` close to the kernel matrix.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    bandwidths : list of float
    rank : int
        Largest number of landmarks.
    tolerance : float
        Average error on the diagonal (which is 1) at which to stop.

    Returns
    -------
    F : ndarray of shape (n, n_landmarks)
    landmarks : ndarray of shape (n_landmarks, d)
    factor : ndarray of shape (n_landmarks, n_landmarks)
        Lower triangular Cholesky factor of the landmarks' kernel matrix.
    """
    n = len(Z)
    rank = min(rank, n)
    F = np.zeros((n, rank), order="F")
    lengths = (Z**2).sum(axis=1)
    left = np.ones(n)
    pivots = []
    for k in range(rank):
        pivot = int(np.argmax(left))
        if left[pivot] <= 1e-10 or left.mean() <= tolerance:
            break
        squared = np.maximum(lengths + lengths[pivot] - 2.0 * (Z @ Z[pivot]), 0.0)
        column = gaussian_kernel(squared, bandwidths) - F[:, :k] @ F[pivot, :k]
        F[:, k] = column / np.sqrt(left[pivot])
        left = np.maximum(left - F[:, k] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    F = F[:, : len(pivots)]
    return F, Z[pivots], np.tril(F[pivots])
