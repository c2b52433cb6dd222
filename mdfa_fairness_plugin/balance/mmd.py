r"""Weighted maximum mean discrepancy (MMD) between the two groups' features.

``G_k`` of the paper's Lemma 3: the distance between the weighted means of the two groups in the
feature space of a kernel. Beyond 2,000 rows the kernel is replaced by random Fourier features,
so that time and memory grow linearly with the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.basis import Standardiser, as_shares

# An m x m matrix is never built for more rows than this.
MOST_GRAM_ROWS = 2_000
# Rows turned into random features at a time: 20,000 x 512 doubles are 80 MB.
_CHUNK_ROWS = 20_000
# Rows from which the bandwidth is read (half a million distances, about 10 ms).
_BANDWIDTH_ROWS = 1_000


def median_bandwidth(Z, sample_weight=None):
    r"""Median distance between rows that differ (the median heuristic).

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Standardised features.
    sample_weight : ndarray of shape (n,) or None, default=None

    Returns
    -------
    bandwidth : float
        ``sigma`` of the kernel :math:`\exp(-\|z-z'\|^2 / 2\sigma^2)`; 1 if all rows are equal.

    Notes
    -----
    Read off 1,000 rows evenly spread in weight along a fixed direction, so no randomness is
    involved and integer weights give what repeated rows give.
    """
    Z = np.asarray(Z, dtype=float)
    n, d = Z.shape
    if n == 0 or d == 0:
        return 1.0
    direction = np.random.default_rng(20190810).normal(size=d)
    order = np.argsort(Z @ direction, kind="stable")
    cumulative = np.cumsum(as_shares(sample_weight, n)[order])
    quantiles = (np.arange(_BANDWIDTH_ROWS) + 0.5) / _BANDWIDTH_ROWS
    chosen = np.searchsorted(cumulative, quantiles * cumulative[-1])
    picked = Z[order[np.minimum(chosen, n - 1)]]
    squared = _squared_distances(picked, picked)[np.triu_indices(len(picked), k=1)]
    squared = squared[squared > 1e-12]
    return math.sqrt(float(np.median(squared))) if len(squared) else 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class FourierFeatures:
    r"""Random Fourier features of a Gaussian kernel, or of a mixture of several.

    ``features(Z) @ features(Z').T`` approximates the mean over the bandwidths of
    :math:`\exp(-\|z-z'\|^2 / 2\sigma^2)` (Rahimi and Recht 2007).

    Parameters
    ----------
    frequencies : ndarray of shape (d, n_frequencies)
    """

    frequencies: np.ndarray

    @classmethod
    def draw(cls, n_columns, n_frequencies, bandwidths, random_state=None):
        """Draw frequencies, the bandwidths taking turns."""
        rng = np.random.default_rng(random_state)
        bandwidths = np.atleast_1d(np.asarray(bandwidths, dtype=float))
        sigma = np.resize(bandwidths, n_frequencies)
        return cls(frequencies=rng.normal(size=(n_columns, n_frequencies)) / sigma)

    def __call__(self, Z):
        """Cosines and sines, shape (n, 2 n_frequencies), rows of length one."""
        angles = Z @ self.frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(angles.shape[1])

    def mean(self, Z, weights):
        """Weighted sums over rows, in chunks: shape (n_weightings, 2 n_frequencies).

        In single precision within a chunk, at a third of the time: sums of thousands of terms of at
        most one lose nothing that matters.
        """
        weights = np.atleast_2d(weights).astype(np.float32)
        single = FourierFeatures(frequencies=self.frequencies.astype(np.float32))
        total = np.zeros((len(weights), 2 * self.frequencies.shape[1]))
        for start in range(0, len(Z), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            total += weights[:, rows] @ single(Z[rows].astype(np.float32))
        return total


def gaussian_gram(Z, other, bandwidths):
    """Gaussian kernel between rows, averaged over the bandwidths.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    other : ndarray of shape (m, d)
    bandwidths : float or array-like

    Returns
    -------
    gram : ndarray of shape (n, m)
    """
    return gaussian_kernel(_squared_distances(Z, other), bandwidths)


def gaussian_kernel(squared_distances, bandwidths):
    """Gaussian kernel of given squared distances, averaged over the bandwidths."""
    bandwidths = np.atleast_1d(np.asarray(bandwidths, dtype=float))
    total = np.zeros_like(squared_distances)
    for sigma in bandwidths:
        total += np.exp(squared_distances / (-2.0 * sigma**2))
    return total / len(bandwidths)


def mmd(X, s, weights=None, *, bandwidth=None, n_frequencies=256):
    r"""Maximum mean discrepancy between the rows of S = +1 and S = -1.

    .. math:: \| \sum_{s_i=+1} u_i \phi(x_i) - \sum_{s_i=-1} u_i \phi(x_i) \|

    with the weights ``u`` of each group summing to one.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features; standardised inside.
    s : ndarray of shape (n,)
        In {-1, +1}.
    weights : ndarray of shape (n,) or (n_weightings, n), or None, default=None
        Several weightings cost hardly more than one.
    bandwidth : float or None, default=None
        Of the Gaussian kernel on standardised features; ``None`` is the median heuristic.
    n_frequencies : int, default=256
        Random frequencies used beyond 2,000 rows.

    Returns
    -------
    mmd : float, or ndarray of shape (n_weightings,)

    Notes
    -----
    The plain distance (a V-statistic) is never negative and not zero by chance alone: see
    ``mmd_by_chance``. The frequencies are the same in every call.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> float(mmd(X, np.array([1, 1, -1, -1])))
    0.0
    """
    X = np.asarray(X, dtype=float)
    s = np.asarray(s)
    one = weights is None or np.ndim(weights) == 1
    weights = np.ones((1, len(s))) if weights is None else np.atleast_2d(weights)
    Z = Standardiser.fit(X)(X)
    bandwidth = median_bandwidth(Z) if bandwidth is None else bandwidth
    values = np.sqrt(_squared_lengths(Z, signed_shares(s, weights), bandwidth, n_frequencies))
    return float(values[0]) if one else values


def diagnose_mmd(X, s, weightings, *, base_weight=None):
    """MMD of several weightings in one pass, and what chance alone would leave of the last.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    s : ndarray of shape (n,)
    weightings : ndarray of shape (n_weightings, n)
    base_weight : ndarray of shape (n,) or None, default=None
        Sampling weights: what the features are standardised and the bandwidth is read by.

    Returns
    -------
    values : ndarray of shape (n_weightings,)
    by_chance : float
        Root of the expected squared MMD of two independent samples of the same distribution with
        these weights.
    """
    Z = Standardiser.fit(X, base_weight)(X)
    bandwidth = median_bandwidth(Z, base_weight)
    signed = signed_shares(s, weightings)
    pooled = np.abs(signed[-1:]) / 2.0
    squared = _squared_lengths(Z, np.vstack([signed, pooled]), bandwidth, 256)
    # E MMD^2 = (sum of squared shares of both groups) (k(x, x) - E k(x, x')) with k(x, x) = 1; the
    # mean of k over different rows is the squared length of the pooled mean without its diagonal.
    diagonal = float((pooled**2).sum())
    similarity = (squared[-1] - diagonal) / max(1.0 - diagonal, 1e-12)
    expected = float((signed[-1] ** 2).sum()) * min(max(1.0 - similarity, 0.0), 1.0)
    return np.sqrt(squared[:-1]), math.sqrt(expected)


def _squared_lengths(Z, signed, bandwidth, n_frequencies):
    """Squared length in feature space of each weighted sum of rows."""
    if len(Z) <= MOST_GRAM_ROWS:
        gram = gaussian_gram(Z, Z, bandwidth)
        squared = np.einsum("ij,ij->i", signed @ gram, signed)
    else:
        kernel = FourierFeatures.draw(Z.shape[1], n_frequencies, bandwidth, random_state=20190811)
        squared = (kernel.mean(Z, signed) ** 2).sum(axis=1)
    return np.maximum(squared, 0.0)


def signed_shares(s, weights):
    """Weights of each group scaled to sum to one, those of S = -1 negated.

    Parameters
    ----------
    s : ndarray of shape (n,)
    weights : ndarray of shape (n_weightings, n)

    Returns
    -------
    signed : ndarray of shape (n_weightings, n)
    """
    weights = np.atleast_2d(np.asarray(weights, dtype=float))
    positive = np.where(s > 0, weights, 0.0)
    negative = np.where(s > 0, 0.0, weights)
    return positive / positive.sum(axis=1, keepdims=True) - negative / negative.sum(
        axis=1, keepdims=True
    )


def _squared_distances(A, B):
    squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None, :] - 2.0 * A @ B.T
    return np.maximum(squared, 0.0)
