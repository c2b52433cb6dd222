r"""Means of a number instead of rates: the same sums, other limits.

A group that gets *less* is searched for as one that gets more of minus the number, so what is larger
is always worse; means are then negative, and their ratio is that of those compared to the group.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from mdfa_fairness_plugin.measure.estimates import Leftover, Rates
from mdfa_fairness_plugin.measure.limits import log_ratio


class Means(Rates):
    """Weighted sums of a number in one set of rows, for S = +1 and S = -1.

    What is known of a mean are its variance and the degrees of freedom that this is known with: an
    array of shape (2, 2) or, of several sets, (2, 2, n_sets).
    """

    @classmethod
    def moved(cls, rates: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        r"""Means at the same features: :math:`r_s = p_s - q_s + (q_+ + q_-) / 2`."""
        return rates - predicted + predicted.mean(axis=0)

    @property
    def effective_sizes(self) -> np.ndarray:
        """Kish's size of the clusters: rows of equal weight that would be as many."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.clustered[0] > 0, self.weight**2 / self.clustered[0], 0.0)

    def known(self, leftover: Leftover | None = None) -> tuple[Self, np.ndarray]:
        """Means an interval is made for, with the variance of each and its degrees of freedom.

        Those of the variance follow from the fourth powers (Satterthwaite): outliers leave few.
        """
        if leftover is not None:
            return self._adjusted(leftover)
        _, hits, products = self.clustered
        variance = self.errors(0.0, products, hits)
        return self, np.array([variance, np.full_like(variance, np.inf)])

    @property
    def alike(self) -> bool:
        """Whether everybody has the same number, so that nothing is known of its error."""
        squares, hits, products = self.clustered.sum(axis=1)
        centre = products / squares if squares > 0 else math.nan
        return bool(hits - centre * products <= 1e-12 * hits)

    def errors(self, predicted: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Variances of the means, by sums over clusters of what is not predicted.

        ``first`` are products of that with the weights, ``second`` its squares.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = (self.hits - predicted) / self.weight
            left = second - 2.0 * centre * first + centre**2 * self.clustered[0]
            return np.maximum(left, 0.0) / self.weight**2

    def _adjusted(self, leftover: Leftover) -> tuple[Self, np.ndarray]:
        """Means at the same features; what features leave of a number is all that errs."""
        sizes, second, fourth = self.effective_sizes, *self._spread(leftover)
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = self.errors(leftover.predicted, leftover.first, leftover.second)
            excess = fourth - second**2 / sizes
            freedom = np.where(excess > 0, 2.0 * second**2 / excess, np.inf)
            own = self._with_rates(self.of_sums(self.weight, self.hits, leftover.predicted))
            few = sizes / np.maximum(sizes - 1.0, 1e-9)
            return own, np.array([variance * few, np.fmin(freedom, sizes)])

    def _spread(self, leftover: Leftover) -> tuple[np.ndarray, np.ndarray]:
        """Sums of squares and of fourth powers behind each error."""
        return leftover.second, leftover.fourth

    def _with_rates(self, rates: np.ndarray) -> Self:
        return type(self)(**{**vars(self), "hits": self.weight * rates})

    @property
    def mass(self) -> float:
        """Weighted share of the people, each S value carrying half."""
        return self.share if np.isfinite(self.rates).all() else math.nan

    @property
    def gamma(self) -> float:
        """Not defined for numbers."""
        return math.nan


class MeanDifference(Means):
    """Means that are compared by their difference, in units of the number."""

    plain = math.inf  # no difference is plain whatever the number is

    @classmethod
    def effect(cls, rates: np.ndarray) -> Any:
        """Difference of the means."""
        return rates[0] - rates[1]

    @classmethod
    def limits(cls, rates: np.ndarray, known: np.ndarray, z: Any) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the difference, by Student's quantile (Welch)."""
        return _around(rates[0] - rates[1], known, z)

    @classmethod
    def part(cls, effect: float) -> float:
        """The difference itself."""
        return abs(effect)

    @property
    def scale(self) -> float:
        """One: the effect is the difference."""
        return 1.0


class MeanRatio(Means):
    """Means of what is never negative, compared by their ratio."""

    @classmethod
    def moved(cls, rates: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Means at the same features; as they are where that would change the sign of one."""
        moved = super().moved(rates, predicted)
        return np.where((moved * rates > 0).all(axis=0), moved, rates)

    def known(self, leftover: Leftover | None = None) -> tuple[Self, np.ndarray]:
        """Besides, of each side its rows' worth and how much one of the others who has any has.

        That is weighted by how much they have, so rather more: by it a mean of zero has a limit.
        """
        own, known = super().known(leftover)
        with np.errstate(invalid="ignore", divide="ignore"):
            much = np.abs(self.clustered[1] / self.clustered[2])[::-1]
        return own, np.array([*known, self.effective_sizes, much])

    @classmethod
    def effect(cls, rates: np.ndarray) -> Any:
        """Log ratio, of the group's mean if it gets more, and of the others' if it gets less."""
        return _sign(rates) * log_ratio(*np.abs(rates))

    @property
    def scale(self) -> float:
        """Size of the mean."""
        return abs(float(np.mean(self.rates)))

    @classmethod
    def limits(cls, rates: np.ndarray, known: np.ndarray, z: Any) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the log ratio, by the delta method on the scale of logarithms."""
        effect = cls.effect(rates)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = np.array([known[0] / rates**2, known[1]])
            low, high = _around(effect, relative, z)
            if len(known) > 2:
                # As of rates of which one is zero: Wilson's limit, for those who have any.
                most = known[3] * z**2 / (known[2] + z**2)
                least = np.abs(rates) - z * np.sqrt(known[0])
                ends = np.log(np.maximum(least, 0.0)) - np.log(most[::-1])
                group, others = ends if _sign(rates) > 0 else ends[::-1]
                low = np.where(np.isposinf(effect), group, low)
                high = np.where(np.isneginf(effect), -others, high)
        low = np.where(np.isneginf(effect), -np.inf, np.where(np.isnan(low), -np.inf, low))
        high = np.where(np.isposinf(effect), np.inf, np.where(np.isnan(high), np.inf, high))
        return low, high


def _sign(rates: np.ndarray) -> np.ndarray:
    return np.where(np.sum(rates, axis=0) < 0, -1.0, 1.0)


def _around(effect: Any, known: np.ndarray, z: Any) -> tuple[np.ndarray, np.ndarray]:
    """Limits around an effect by the variances of both sides, and what these are known with."""
    variance, freedom = known[0], known[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        total = variance.sum(axis=0)
        degrees = total**2 / (variance**2 / freedom).sum(axis=0)
        # Student's quantile to first order: steady, and defined however many errors are asked for.
        wider = z * (1.0 + np.where(total > 0, (z**2 + 1.0) / (4.0 * degrees), 0.0))
        error = wider * np.sqrt(total)
    return effect - error, effect + error


KINDS: dict[str, type[Rates]] = {"rates": Rates, "difference": MeanDifference, "ratio": MeanRatio}
