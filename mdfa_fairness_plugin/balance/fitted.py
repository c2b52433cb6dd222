"""What the balancers that learn from features have in common."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod

import numpy as np
from scipy.optimize import minimize

from mdfa_fairness_plugin.numerics.basis import as_weights

logger = logging.getLogger(__name__)


class FittedBalancer(ABC):
    """Weights of S = +1 as a function of the features; those of S = -1 are 1."""

    def fit(self, X, s, sample_weight=None):
        """Learn the weights.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        s : ndarray of shape (n,)
            In {-1, +1}.
        sample_weight : ndarray of shape (n,) or None, default=None

        Returns
        -------
        self
        """
        return self._fit(X, s, sample_weight)

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
        weights[positive] = self._scale * self._relative(np.asarray(X, dtype=float)[positive])
        return weights

    def _fit(self, X, s, sample_weight, label=None):
        X = np.asarray(X, dtype=float)
        positive = np.asarray(s) > 0
        base = as_weights(sample_weight, len(X))
        relative = self._learn(X, positive, base, label)
        self._scale = float(base[~positive].sum() / max(base[positive] @ relative, 1e-300))
        return self

    @abstractmethod
    def _learn(self, X, positive, base, label):
        """Learn from all rows, and from ``s * y`` where given; relative weights of those of S = +1."""

    @abstractmethod
    def _relative(self, X):
        """Relative weights of any rows, as ones of S = +1."""

    def _minimise(self, dual, n_coefficients, max_iter, **options):
        """Where a convex function, given with its gradient, is smallest."""
        solution = minimize(
            dual,
            np.zeros(n_coefficients),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, **options},
        )
        self.converged_ = bool(solution.success)
        self.n_iter_ = int(solution.nit)
        logger.debug("%s: %d iterations, %s", type(self).__name__, solution.nit, solution.message)
        return solution.x


def means_to_match(F, positive, base):
    """Features and shares of the S = +1 rows, and the mean that those of S = -1 have."""
    q = base[positive] / base[positive].sum()
    return F[positive], q, base[~positive] @ F[~positive] / base[~positive].sum()


def smaller_side(positive, base):
    """Rows' worth of weight on the side that has less."""
    return min(base[positive].sum(), base[~positive].sum())
