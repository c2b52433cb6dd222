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
# Random frequencies, and the rows from which on half as many, in orthogonal blocks, are as accurate.
# 256 independent ones leave a relative error of 4 % (root mean square over draws of the frequencies,
# for equal and random weights, on 2, 5, 20 and 60 normal features whose means, spreads or nothing but
# chance differ; 2 to 5 % in each case), and 128 orthogonal ones 3.6 % (2 to 6 %). Several weightings
# share most of it: their ratio is within 0.1 to 4 %.
_FREQUENCIES, _MANY_ROWS = 256, 100_000
# Rows from which the bandwidth is read (half a million distances, about 10 ms).
_BANDWIDTH_ROWS = 1_000


def median_bandwidth(Z, sample_weight=None):
    """Median distance between standardised rows that differ; 1 if all are equal.

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


def mixture_bandwidths(Z, sample_weight):
    """Bandwidths of the kernel that balancers match: half, one and two times the median distance."""
    sigma = median_bandwidth(Z, sample_weight)
    return [sigma * factor for factor in (0.5, 1.0, 2.0)]


@dataclass(frozen=True, kw_only=True, eq=False)
class FourierFeatures:
    r"""Random Fourier features of a Gaussian kernel, or of a mixture of several.

    ``features(Z) @ features(Z').T`` approximates the mean over the bandwidths of
    :math:`\exp(-\|z-z'\|^2 / 2\sigma^2)` (Rahimi and Recht 2007).
    """

    frequencies: np.ndarray  # (d, n_frequencies)

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
        """Sums over rows weighted by ``weights(slice)``, shape (n_weightings, 2 n_frequencies).

        In single precision within a chunk, at a third of the time: sums of thousands of terms of at
        most one lose nothing that matters.
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
    """Gaussian kernel between rows, averaged over the bandwidths, shape (n, m)."""
    return gaussian_kernel(_squared_distances(Z, other), bandwidths)


def gaussian_kernel(squared_distances, bandwidths):
    """Gaussian kernel of given squared distances, averaged over the bandwidths."""
    bandwidths = np.atleast_1d(np.asarray(bandwidths, dtype=float))
    total = np.zeros_like(squared_distances)
    for sigma in bandwidths:
        total += np.exp(squared_distances / (-2.0 * sigma**2))
    return total / len(bandwidths)


def diagnose_mmd(X, s, weightings, *, base_weight=None, standardise=None):
    r"""MMD of several weightings in one pass, and what chance alone would leave of the last.

    .. math:: \| \sum_{s_i=+1} u_i \phi(x_i) - \sum_{s_i=-1} u_i \phi(x_i) \|

    with the weights ``u`` of each group summing to one. This plain distance (a V-statistic) is never
    negative and not zero by chance alone: the second value is the root of the expected squared MMD of
    two independent samples of the same distribution with these weights. Features are standardised and
    the bandwidth is read by the sampling weights ``base_weight``.
    """
    if standardise is None:
        standardise = Standardiser.of(Moments.of(X, base_weight))
    Z = StandardisedRows(X, standardise)
    signed = SignedShares(s, weightings)
    squared = _squared_lengths(Z, signed, median_bandwidth(Z, base_weight))
    # E MMD^2 = (sum of squared shares of both groups) (k(x, x) - E k(x, x')) with k(x, x) = 1; the
    # mean of k over different rows is the squared length of the pooled mean without its diagonal.
    of_last = signed.last_squares()
    diagonal = of_last / 4.0
    similarity = (squared[-1] - diagonal) / max(1.0 - diagonal, 1e-12)
    expected = of_last * min(max(1.0 - similarity, 0.0), 1.0)
    return np.sqrt(squared[:-1]), math.sqrt(expected)


def _squared_lengths(Z, signed, bandwidth):
    """Squared length in feature space of each weighted sum of rows, and of the last one's of both."""

    def weights(own):
        found = signed[own]
        return np.vstack([found, np.abs(found[-1:]) / 2.0])

    n, d = Z.shape
    if n <= MOST_GRAM_ROWS:
        block = Z[:]
        whole = weights(slice(0, n))
        squared = np.einsum("ij,ij->i", whole @ gaussian_gram(block, block, bandwidth), whole)
    else:
        orthogonal = n > _MANY_ROWS and d > 1
        n_frequencies = _FREQUENCIES // 2 if orthogonal else _FREQUENCIES
        # The same frequencies in every call.
        kernel = FourierFeatures.draw(
            d, n_frequencies, bandwidth, random_state=20190811, orthogonal=orthogonal
        )
        squared = (kernel.mean(Z, weights) ** 2).sum(axis=1)
    return np.maximum(squared, 0.0)


class SignedShares:
    """Weights of each group scaled to sum to one, those of S = -1 negated; made when asked for."""

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
