r"""Weighted maximum mean discrepancy (MMD) between the two groups' features.

``G_k`` of the paper's Lemma 3: the distance between the weighted means of the two groups in the
feature space of a kernel. Beyond 2,000 rows the kernel is replaced by random Fourier features,
so that time and memory grow linearly with the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.numerics.basis import (
    Moments,
    StandardisedRows,
    Standardiser,
    as_rows,
    as_shares,
    chunks,
)

# An m x m matrix is never built for more rows than this.
MOST_GRAM_ROWS = 2_000
# Frequencies of the random features. Beyond that many rows half as many, in orthogonal blocks, are
# as accurate; see ``mmd``.
_FREQUENCIES, _MANY_ROWS = 256, 100_000
# Rows from which the bandwidth is read (half a million distances, about 10 ms).
_BANDWIDTH_ROWS = 1_000


def median_bandwidth(Z, sample_weight=None):
    r"""Median distance between rows that differ (the median heuristic).

    Parameters
    ----------
    Z : ndarray or StandardisedRows of shape (n, d)
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
    Z = as_rows(Z)
    n, d = Z.shape
    if n == 0 or d == 0:
        return 1.0
    direction = np.random.default_rng(20190810).normal(size=d)
    along = np.empty(n)
    for own in chunks(n, d):
        along[own] = Z[own] @ direction
    # Rows tied along a direction drawn at random are equal rows, whichever comes first.
    order = np.argsort(along)
    del along
    cumulative = as_shares(sample_weight, n)[order]
    np.cumsum(cumulative, out=cumulative)
    quantiles = (np.arange(_BANDWIDTH_ROWS) + 0.5) / _BANDWIDTH_ROWS
    chosen = np.searchsorted(cumulative, quantiles * cumulative[-1])
    picked = Z[order[np.minimum(chosen, n - 1)]]
    squared = _squared_distances(picked, picked)
    squared = squared[np.tri(len(picked), k=-1, dtype=bool).T & (squared > 1e-12)]
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
    def draw(cls, n_columns, n_frequencies, bandwidths, random_state=None, *, orthogonal=False):
        """Draw frequencies, the bandwidths taking turns.

        Orthogonal ones (Yu et al. 2016) have the same distribution one by one, but lie at right
        angles in blocks of ``n_columns``, which cancels part of the error of their average.
        """
        rng = np.random.default_rng(random_state)
        bandwidths = np.atleast_1d(np.asarray(bandwidths, dtype=float))
        sigma = np.resize(bandwidths, n_frequencies)
        if not orthogonal:
            return cls(frequencies=rng.normal(size=(n_columns, n_frequencies)) / sigma)
        width = min(n_columns, n_frequencies)
        n_blocks = -(-n_frequencies // width)
        directions, _ = np.linalg.qr(rng.normal(size=(n_blocks, n_columns, width)))
        lengths = np.sqrt(rng.chisquare(n_columns, size=(n_blocks, 1, width)))
        frequencies = np.concatenate(list(directions * lengths), axis=1)
        return cls(frequencies=frequencies[:, :n_frequencies] / sigma)

    def __call__(self, Z):
        """Cosines and sines, shape (n, 2 n_frequencies), rows of length one."""
        angles = Z @ self.frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(angles.shape[1])

    def mean(self, Z, weights):
        """Weighted sums over rows, in chunks: shape (n_weightings, 2 n_frequencies).

        In single precision within a chunk, at a third of the time: sums of thousands of terms of at
        most one lose nothing that matters.

        Parameters
        ----------
        Z : ndarray or StandardisedRows of shape (n, d)
        weights : callable
            ``slice of rows -> ndarray of shape (n_weightings, n_rows)``.
        """
        frequencies = self.frequencies.astype(np.float32)
        half = frequencies.shape[1]
        parts = chunks(*Z.shape)
        angles = np.empty((parts[0].stop, half), dtype=np.float32)
        waves = np.empty_like(angles)
        total = np.zeros((1, 2 * half))
        for own in parts:
            block = Z[own].astype(np.float32)
            weight = weights(own).astype(np.float32)
            angle, wave = angles[: len(block)], waves[: len(block)]
            np.matmul(block, frequencies, out=angle)
            cosines = weight @ np.cos(angle, out=wave)
            total = total + np.hstack([cosines, weight @ np.sin(angle, out=wave)]).astype(float)
        return total / math.sqrt(half)


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


def mmd(X, s, weights=None, *, bandwidth=None, n_frequencies=None):
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
    n_frequencies : int or None, default=None
        Random frequencies used beyond 2,000 rows. ``None`` is 256, and 128 in orthogonal blocks
        beyond 100,000 rows of more than one feature.

    Returns
    -------
    mmd : float, or ndarray of shape (n_weightings,)

    Notes
    -----
    The plain distance (a V-statistic) is never negative and not zero by chance alone: see
    ``mmd_by_chance``. The frequencies are the same in every call.

    Beyond 2,000 rows the value is approximate: 256 independent frequencies leave a relative error
    of 4 % (root mean square over draws of the frequencies, for equal and random weights, on 2, 5,
    20 and 60 normal features whose means, spreads or nothing but chance differ; 2 to 5 % in each
    case), and 128 orthogonal ones 3.6 % (2 to 6 %). Several weightings share most of it: their
    ratio is within 0.1 to 4 %.

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
    Z = StandardisedRows(X, Standardiser.of(Moments.of(X)))
    bandwidth = median_bandwidth(Z) if bandwidth is None else bandwidth
    squared = _squared_lengths(Z, SignedShares(s, weights), bandwidth, n_frequencies)
    return float(np.sqrt(squared[0])) if one else np.sqrt(squared)


def diagnose_mmd(X, s, weightings, *, base_weight=None, standardise=None):
    """MMD of several weightings in one pass, and what chance alone would leave of the last.

    Parameters
    ----------
    X : ndarray or RowView of shape (n, d)
    s : ndarray of shape (n,)
    weightings : sequence of ndarray of shape (n,)
    base_weight : ndarray of shape (n,) or None, default=None
        Sampling weights: what the features are standardised and the bandwidth is read by.
    standardise : Standardiser or None, default=None
        That of these rows and weights, if known.

    Returns
    -------
    values : ndarray of shape (n_weightings,)
    by_chance : float
        Root of the expected squared MMD of two independent samples of the same distribution with
        these weights.
    """
    if standardise is None:
        standardise = Standardiser.of(Moments.of(X, base_weight))
    Z = StandardisedRows(X, standardise)
    bandwidth = median_bandwidth(Z, base_weight)
    signed = SignedShares(s, weightings)
    squared = _squared_lengths(Z, signed, bandwidth, pooled=True)
    # E MMD^2 = (sum of squared shares of both groups) (k(x, x) - E k(x, x')) with k(x, x) = 1; the
    # mean of k over different rows is the squared length of the pooled mean without its diagonal.
    of_last = signed.last_squares()
    diagonal = of_last / 4.0
    similarity = (squared[-1] - diagonal) / max(1.0 - diagonal, 1e-12)
    expected = of_last * min(max(1.0 - similarity, 0.0), 1.0)
    return np.sqrt(squared[:-1]), math.sqrt(expected)


def _squared_lengths(Z, signed, bandwidth, n_frequencies=None, *, pooled=False):
    """Squared length in feature space of each weighted sum of rows, that of both groups last."""

    def weights(own):
        found = signed[own]
        return np.vstack([found, np.abs(found[-1:]) / 2.0]) if pooled else found

    n, d = Z.shape
    if n <= MOST_GRAM_ROWS:
        block = Z[:]
        whole = weights(slice(0, n))
        squared = np.einsum("ij,ij->i", whole @ gaussian_gram(block, block, bandwidth), whole)
    else:
        orthogonal = n_frequencies is None and n > _MANY_ROWS and d > 1
        if n_frequencies is None:
            n_frequencies = _FREQUENCIES // 2 if orthogonal else _FREQUENCIES
        kernel = FourierFeatures.draw(
            d, n_frequencies, bandwidth, random_state=20190811, orthogonal=orthogonal
        )
        squared = (kernel.mean(Z, weights) ** 2).sum(axis=1)
    return np.maximum(squared, 0.0)


class SignedShares:
    """Weights of each group scaled to sum to one, those of S = -1 negated; made when asked for.

    Parameters
    ----------
    s : ndarray of shape (n,)
    weightings : sequence of ndarray of shape (n,)
    """

    def __init__(self, s, weightings):
        self._positive = np.asarray(s) > 0
        self._weightings = [np.asarray(weights, dtype=float) for weights in weightings]
        sums = [
            [weights[self._positive].sum(), -weights[~self._positive].sum()]
            for weights in self._weightings
        ]
        self._sums = np.array(sums)[:, :, None]

    def __getitem__(self, own):
        """Shares of a slice of rows, shape (n_weightings, n_rows)."""
        weights = np.stack([weights[own] for weights in self._weightings])
        return weights / np.where(self._positive[own], self._sums[:, 0], self._sums[:, 1])

    def last_squares(self):
        """Sum of squares of the last weighting's shares."""
        last = self._weightings[-1]
        return sum(
            float((last[side] ** 2).sum()) / float(total[0]) ** 2
            for side, total in zip((self._positive, ~self._positive), self._sums[-1], strict=True)
        )


def _squared_distances(A, B):
    squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None, :]
    squared -= 2.0 * A @ B.T
    return np.maximum(squared, 0.0, out=squared)
