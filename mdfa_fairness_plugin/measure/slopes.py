r"""How much an outcome changes with one more of a sensitive quantity, at equal features.

With ``r = S - e(x)``, what a quantity is beyond what is expected of it, the slope in a set of rows is

.. math:: \sum r (y - m(x)) \Big/ \sum r^2 ,

a mean of ``(y - m) / r`` that weighs ``r^2`` (Robinson 1988). Rows with more than expected, and with
less, are the two sides of which it is summed: values are ``y / |r|``, and those of the second side
count the other way round. Where a quantity hardly varies its rows hardly weigh.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from mdfa_fairness_plugin.measure.estimates import Leftover
from mdfa_fairness_plugin.measure.means import MeanDifference


class Slopes(MeanDifference):
    """Sums of which a slope is made; its place among both rates is the first, the other is zero."""

    observed = False
    alike = False

    @classmethod
    def of_sums(cls, weight: np.ndarray, hits: np.ndarray, predicted: Any) -> np.ndarray:
        """The slope, by sums of those with more than expected and of those with less."""
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.subtract(*(hits - predicted)) / weight.sum(axis=0)
        return np.array([slope, np.zeros_like(slope)])

    @classmethod
    def weight_behind(cls, weight: np.ndarray) -> np.ndarray:
        """Both sides are behind it."""
        return np.broadcast_to(weight.sum(axis=0), weight.shape)

    @property
    def rates(self) -> np.ndarray:
        """The slope without taking out what the features make of the outcome."""
        return self.of_sums(self.weight, self.hits, 0.0)

    def errors(self, predicted: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Variance of the slope: rows on a line err in no way."""
        slope, _ = self.of_sums(self.weight, self.hits, predicted)
        with np.errstate(invalid="ignore", divide="ignore"):
            left = second.sum(axis=0) - 2.0 * slope * np.subtract(*first)
            left = left + slope**2 * self.clustered[0].sum(axis=0)
            variance = np.maximum(left, 0.0) / self.weight.sum(axis=0) ** 2
        return np.array([variance, np.zeros_like(variance)])

    @property
    def effective_sizes(self) -> np.ndarray:
        """Kish's size of all clusters."""
        with np.errstate(invalid="ignore", divide="ignore"):
            size = self.weight.sum(axis=0) ** 2 / self.clustered[0].sum(axis=0)
        return np.array([size, size])

    @property
    def mass(self) -> float:
        """Not defined: people count by how much the quantity varies."""
        return math.nan

    def _spread(self, leftover: Leftover) -> tuple[np.ndarray, np.ndarray]:
        return leftover.second.sum(axis=0), leftover.fourth.sum(axis=0)

    def _with_rates(self, rates: np.ndarray) -> Self:
        hits = rates * self.weight.sum(axis=0)
        return type(self)(**{**vars(self), "hits": hits})
