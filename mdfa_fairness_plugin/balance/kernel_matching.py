r"""Kernel mean matching (Gretton et al. 2009).

Bounded weights of the S = +1 rows whose mean in the kernel's feature space comes closest to
the reference group's: the quadratic programme behind the paper's Section 3.2.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from mdfa_fairness_plugin.balance.fitted import FittedBalancer, means_to_match, smaller_side
from mdfa_fairness_plugin.balance.mmd import gaussian_gram, gaussian_kernel, mixture_bandwidths
from mdfa_fairness_plugin.numerics.basis import Standardiser


class KernelMeanMatching(FittedBalancer):
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

    def _learn(self, X, positive, base, label):
        self._standardise = Standardiser.fit(X, base)
        Z = self._standardise(X)
        self._bandwidths = mixture_bandwidths(Z, base)
        F, self._landmarks, self._factor = _pivoted_cholesky(Z, self._bandwidths, self.n_landmarks)
        F, q, target = means_to_match(_with_constant(F), positive, base)
        ridge = 1.0 / smaller_side(positive, base) if self.ridge is None else self.ridge

        # Dual in theta = (feature mean - target) / lambda: smooth, and as small as the features.
        def dual(theta):
            tilt = -(F @ theta)
            w = np.clip(1.0 + tilt, 0.0, self.max_weight)
            value = (
                0.5 * ridge * theta @ theta + theta @ target + q @ (tilt * w - 0.5 * (w - 1.0) ** 2)
            )
            return value, ridge * theta + target - (q * w) @ F

        self._theta = self._minimise(
            dual, F.shape[1], self.max_iter, ftol=1e-12, gtol=1e-7, maxcor=30
        )
        return self._clipped(F)

    def _relative(self, X):
        gram = gaussian_gram(self._standardise(X), self._landmarks, self._bandwidths)
        return self._clipped(_with_constant(solve_triangular(self._factor, gram.T, lower=True).T))

    def _clipped(self, F):
        return np.clip(1.0 - F @ self._theta, 0.0, self.max_weight)


def _with_constant(F):
    """Add a constant feature: it keeps the average weight near one."""
    return np.hstack([np.ones((len(F), 1)), F])


def _pivoted_cholesky(Z, bandwidths, rank):
    """Features ``F`` with ``F @ F.T`` close to the kernel matrix, landmark rows, their factor.

    ``F`` is (n, n_landmarks), the factor the lower triangular one of the landmarks' own kernel matrix.
    Stops at ``rank`` landmarks or an average error of 1e-6 on the diagonal, which is 1.
    """
    n = len(Z)
    rank = min(rank, n)
    F = np.zeros((n, rank), order="F")
    lengths = (Z**2).sum(axis=1)
    left = np.ones(n)
    pivots = []
    for k in range(rank):
        pivot = int(np.argmax(left))
        if left[pivot] <= 1e-10 or left.mean() <= 1e-6:
            break
        squared = np.maximum(lengths + lengths[pivot] - 2.0 * (Z @ Z[pivot]), 0.0)
        column = gaussian_kernel(squared, bandwidths) - F[:, :k] @ F[pivot, :k]
        F[:, k] = column / np.sqrt(left[pivot])
        left = np.maximum(left - F[:, k] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    F = F[:, : len(pivots)]
    return F, Z[pivots], np.tril(F[pivots])
