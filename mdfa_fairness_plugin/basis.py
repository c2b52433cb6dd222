"""Smooth functions of the features that balancing and the probabilities work with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Products of features are added while there are at most this many columns in all (d <= 12).
_MOST_COLUMNS_WITH_PRODUCTS = 90


@dataclass(frozen=True, kw_only=True, eq=False)
class Standardiser:
    """Shift and scale that give every column weighted mean 0 and standard deviation 1.

    Parameters
    ----------
    centre, scale : ndarray of shape (d,)
        Columns that do not vary have scale 1.
    """

    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, X, sample_weight=None):
        """Read centre and scale off the rows of ``X``."""
        X = np.asarray(X, dtype=float)
        weight = as_shares(sample_weight, len(X))
        centre = weight @ X
        scale = np.sqrt(weight @ (X - centre) ** 2)
        magnitude = np.abs(X).max(axis=0, initial=0.0)
        constant = scale <= 1e-12 * np.maximum(magnitude, 1e-300)
        return cls(centre=centre, scale=np.where(constant, 1.0, scale))

    def __call__(self, X):
        """Standardised copy of ``X``."""
        return (np.asarray(X, dtype=float) - self.centre) / self.scale


@dataclass(frozen=True, kw_only=True, eq=False)
class QuadraticBasis:
    """Standardised features with their squares, and their products while they are few.

    Parameters
    ----------
    standardise : Standardiser
    squared : ndarray of int
        Columns squared: those of more than two values.
    products : tuple of (ndarray of int, ndarray of int)
        Pairs of columns multiplied.
    restandardise : Standardiser
    varies : ndarray of bool
        Resulting columns kept; the others are constant.
    """

    standardise: Standardiser
    squared: np.ndarray
    products: tuple[np.ndarray, np.ndarray]
    restandardise: Standardiser
    varies: np.ndarray

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
            restandardise=Standardiser.fit(raw, sample_weight),
            varies=np.ptp(raw, axis=0) > 1e-9,
        )

    def __call__(self, X):
        """Columns of mean 0 and standard deviation 1, shape (n, p)."""
        raw = _expand(self.standardise(X), self.squared, self.products)
        return self.restandardise(raw)[:, self.varies]


def _expand(Z, squared, products):
    left, right = products
    return np.hstack([Z, Z[:, squared] ** 2, Z[:, left] * Z[:, right]])


def _has_more_than_two_values(column):
    # The square of a two-valued column says nothing new.
    low, high = column.min(initial=np.inf), column.max(initial=-np.inf)
    return bool(((column != low) & (column != high)).any())


def as_shares(sample_weight, n):
    """Weights that add up to one; equal ones for None."""
    if sample_weight is None:
        return np.full(n, 1.0 / max(n, 1))
    weight = np.asarray(sample_weight, dtype=float)
    return weight / weight.sum()
