"""Smooth functions of the features that balancing and the probabilities work with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.numerics.rows import RowView, marked

# Products of features are added while there are at most this many columns in all (d <= 12).
_MOST_COLUMNS_WITH_PRODUCTS = 90
# Numbers worked on at a time: half a megabyte stays in the cache next to the processor.
_CHUNK_NUMBERS = 2**16
_SHORTEST_CHUNK, _LONGEST_CHUNK = 256, 2_048


@dataclass(frozen=True, kw_only=True, eq=False)
class Standardiser:
    """Shift and scale that give every column weighted mean 0 and standard deviation 1."""

    centre: np.ndarray  # (d,)
    scale: np.ndarray  # (d,), 1 for columns that do not vary

    @classmethod
    def fit(cls, X, sample_weight=None, out=None):
        """Read centre and scale off the rows of ``X``; see ``of`` for more rows than to copy.

        ``out`` is an array as large that may be overwritten, ``X`` for one.
        """
        X = np.asarray(X, dtype=float)
        weight = as_shares(sample_weight, len(X))
        centre = weight @ X
        magnitude = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
        away = np.subtract(X, centre, out=out)
        scale = np.sqrt(weight @ np.square(away, out=away))
        constant = scale <= 1e-12 * np.maximum(magnitude, 1e-300)
        return cls(centre=centre, scale=np.where(constant, 1.0, scale))

    @classmethod
    def of(cls, moments):
        """Centre and scale of rows whose moments are known."""
        return cls(centre=moments.mean, scale=np.where(moments.constant, 1.0, moments.spread))

    def __call__(self, X):
        """Standardised copy of ``X``."""
        own = np.asarray(X, dtype=float) - self.centre
        own /= self.scale
        return own


class Moments:
    """Weighted mean and spread of every column, gathered a block of rows at a time.

    Each block is centred on its own mean and the squares are merged by the formula of Chan, Golub
    and LeVeque (1983), so that a large mean costs no digits of a small spread.
    """

    def __init__(self, n_columns):
        self.total = 0.0  # sum of the weights
        self.mean = np.zeros(n_columns)
        self.squares = np.zeros(n_columns)  # weighted, of deviations from the mean

    @classmethod
    def of(cls, X, sample_weight=None):
        """Moments of an array's or a ``RowView``'s rows, read a chunk at a time."""
        X = as_rows(X)
        weight = as_shares(sample_weight, len(X))
        moments = cls(X.shape[1])
        for own in chunks(*X.shape):
            moments.add(X[own], weight[own])
        return moments

    def add(self, block, weight):
        """Add rows of shape (m, d) with their weights."""
        total = float(weight.sum())
        if total > 0.0:
            mean = weight @ block / total
            deviations = block - mean
            deviations *= deviations
            self._merge(total, mean, weight @ deviations)

    def __add__(self, other):
        """Moments of the rows of both."""
        both = Moments(len(self.mean))
        for one in (self, other):
            if one.total > 0.0:
                both._merge(one.total, one.mean, one.squares)
        return both

    def _merge(self, total, mean, squares):
        share = total / (self.total + total)
        between = mean - self.mean
        self.squares = self.squares + squares + between**2 * (self.total * share)
        self.mean = self.mean + between * share
        self.total += total

    @property
    def variance(self):
        """Weighted variance."""
        return self.squares / self.total if self.total > 0.0 else self.squares

    @property
    def spread(self):
        """Weighted standard deviation."""
        return np.sqrt(self.variance)

    @property
    def constant(self):
        """Columns that do not vary beyond rounding."""
        return self.spread <= 1e-12 * np.maximum(np.abs(self.mean), 1e-300)


class StandardisedRows:
    """Rows standardised when asked for, so that the whole is never copied."""

    def __init__(self, X, standardise):
        self._X = as_rows(X)
        self._standardise = standardise
        self.shape = self._X.shape

    def __getitem__(self, own):
        """Standardised numbers of a slice of the rows, or of an array of positions."""
        return self._standardise(self._X[own])


def as_rows(X):
    """Rows that can be taken by a slice or by position: floats, or a view of some as it is."""
    return X if isinstance(X, RowView | StandardisedRows) else np.asarray(X, dtype=float)


def chunks(n_rows, n_columns):
    """Slices of consecutive rows, each few enough numbers to stay in the processor's cache."""
    size = min(max(_CHUNK_NUMBERS // max(n_columns, 1), _SHORTEST_CHUNK), _LONGEST_CHUNK)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@dataclass(frozen=True, kw_only=True, eq=False)
class QuadraticBasis:
    """Standardised features with their squares, and their products while they are few."""

    standardise: Standardiser
    squared: np.ndarray  # columns squared: those of more than two values
    products: tuple[np.ndarray, np.ndarray]  # pairs of columns multiplied
    restandardise: Standardiser
    varies: np.ndarray  # bool: resulting columns kept; the others are constant

    @classmethod
    def fit(cls, X, sample_weight=None):
        """Choose the columns and standardise them by the rows of ``X``."""
        X = np.asarray(X, dtype=float)
        standardise = Standardiser.fit(X, sample_weight)
        d = X.shape[1]
        squared = np.flatnonzero([_has_more_than_two_values(X[:, j]) for j in range(d)])
        few = d * (d + 3) // 2 <= _MOST_COLUMNS_WITH_PRODUCTS
        products = np.triu_indices(d if few else 0, k=1)
        raw = _expand(standardise(X), squared, products)
        return cls(
            standardise=standardise,
            squared=squared,
            products=products,
            varies=np.ptp(raw, axis=0) > 1e-9,
            restandardise=Standardiser.fit(raw, sample_weight, out=raw),
        )

    def __call__(self, X):
        """Columns of mean 0 and standard deviation 1, shape (n, p)."""
        columns, kept = marked(self.varies), np.empty((len(X), self.varies.sum()))
        centre, scale = (
            own[columns] for own in (self.restandardise.centre, self.restandardise.scale)
        )
        for own in chunks(len(X), len(self.varies)):  # of many rows the whole is large
            raw = _expand(self.standardise(X[own]), self.squared, self.products)[:, columns]
            np.subtract(raw, centre, out=kept[own])
            kept[own] /= scale
        return kept


def _expand(Z, squared, products):
    left, right = products
    first, last = Z.shape[1], Z.shape[1] + len(squared)
    raw = np.empty((len(Z), last + len(left)))
    raw[:, :first] = Z
    np.square(Z[:, squared], out=raw[:, first:last])
    np.multiply(Z[:, left], Z[:, right], out=raw[:, last:])
    return raw


def _has_more_than_two_values(column):
    # The square of a two-valued column says nothing new.
    low, high = column.min(initial=np.inf), column.max(initial=-np.inf)
    return bool(((column != low) & (column != high)).any())


def as_weights(sample_weight, n):
    """Weights as floats; ones for None."""
    return np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def as_shares(sample_weight, n):
    """Weights that add up to one; equal ones for None."""
    weight = as_weights(sample_weight, n)
    return weight / weight.sum()
