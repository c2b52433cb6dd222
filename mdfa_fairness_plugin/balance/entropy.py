r"""Entropy balancing in random Fourier features.

The convex counterpart of the paper's network: among all weights of S = +1 that match the
reference group's means of the features and of 128 random ones, the ones closest to equal weights
(Hainmueller 2012), here with features of a kernel so that the matched quantity is the MMD of
Section 3.2.
"""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.balance.fitted import FittedBalancer, means_to_match, smaller_side
from mdfa_fairness_plugin.balance.mmd import FourierFeatures, mixture_bandwidths
from mdfa_fairness_plugin.numerics.basis import QuadraticBasis

# Largest log-odds the weights may reach, relative to the most likely row: e^30.
_MOST_NEGATIVE = -30.0


class EntropyBalancing(FittedBalancer):
    r"""Weights ``exp(a + b . f(x))`` that match means of ``f``.

    ``f`` holds the standardised features with their squares (and products, up to twelve
    features), and random Fourier features of Gaussian kernels with half, one and two times the
    median distance as bandwidth. The dual problem

    .. math:: \min_b \log \sum_{s_i=+1} q_i e^{b \cdot (f(x_i) - \bar f_{-1})}
              + \frac{\lambda}{2} \|b\|^2

    is smooth and convex, and solved by L-BFGS.

    Parameters
    ----------
    n_frequencies : int, default=64
        Random frequencies; each gives a cosine and a sine.
    ridge : float or None, default=None
        ``lambda``; ``None`` is 100 over the number of rows of the smaller group.
    max_iter : int, default=500
    random_state : int, Generator or None, default=None
        Seed of the frequencies; None is seed 0.

    Attributes
    ----------
    converged_ : bool
        Whether the optimiser reached its tolerance.
    coef_ : ndarray of shape (n_balanced_features,)
        ``b``.
    """

    def __init__(self, n_frequencies=64, ridge=None, max_iter=500, random_state=None):
        self.n_frequencies = n_frequencies
        self.ridge = ridge
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, X, positive, base, label):
        self._basis = QuadraticBasis.fit(X, base)
        Z = self._basis.standardise(X)
        self._fourier = FourierFeatures.draw(
            Z.shape[1], self.n_frequencies, mixture_bandwidths(Z, base), self.random_state or 0
        )
        F, q, target = means_to_match(self._features(X), positive, base)
        gap = F - target
        ridge = self.ridge
        if ridge is None:
            # Of 1 ... 300, the best held-out likelihood or within .01 of it on COMPAS, Adult, Crime
            # and synthetic data; 300 does better on German credit (by .07) and on pure noise, but
            # leaves more imbalance where there is some.
            ridge = 100.0 / smaller_side(positive, base)

        def dual(coefficients):
            score = gap @ coefficients
            top = score.max()
            tilted = q * np.exp(score - top)
            total = tilted.sum()
            value = top + np.log(total) + 0.5 * ridge * coefficients @ coefficients
            return value, tilted @ gap / total + ridge * coefficients

        self.coef_ = self._minimise(
            dual, gap.shape[1], self.max_iter, ftol=1e-10, gtol=1e-6, maxcor=20
        )
        score = F @ self.coef_
        self._top = float(score.max())
        return self._tilt(score)

    def _relative(self, X):
        return self._tilt(self._features(X) @ self.coef_)

    def _tilt(self, score):
        return np.exp(np.clip(score - self._top, _MOST_NEGATIVE, 0.0))

    def _features(self, X):
        fourier = self._fourier(self._basis.standardise(X)) * np.sqrt(self.n_frequencies)
        return np.hstack([self._basis(X), fourier])
