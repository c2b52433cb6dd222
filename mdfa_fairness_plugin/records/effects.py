"""How the two sides of a set of rows compare: by a ratio of rates, or a difference of means."""

from __future__ import annotations

import math
from typing import Final

from scipy.special import ndtri

# Log ratio that says as much as a difference of one standard deviation (Chinn 2000).
DELTA_OF_DEVIATION: Final = 0.91


def ratio_of(delta: float) -> float:
    """Rate ratio ``exp(delta)``; infinite where a float cannot hold it."""
    try:
        return math.exp(delta)
    except OverflowError:
        return math.inf


def inverse_of(ratio: float) -> float:
    """The ratio the other way round, infinite for 0."""
    return math.inf if ratio == 0 else 1.0 / ratio


def deviations_of(p_value: float) -> float:
    """Standard deviations of a normal number that is larger with this probability."""
    return float(-ndtri(p_value))


class Compared:
    """What has a ``measure``."""

    measure: str

    @property
    def by_difference(self) -> bool:
        """Whether both sides are compared by the difference of their means."""
        return self.measure == "difference"


class Effect(Compared):
    """A ratio of rates or a difference of means, and its interval."""

    delta: float
    interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]

    @property
    def effect(self) -> float:
        """What both sides are compared by: ``delta``, or ``difference``."""
        return self.difference if self.by_difference else self.delta

    @property
    def effect_interval(self) -> tuple[float, float]:
        """Interval on ``effect``."""
        return self.difference_interval if self.by_difference else self.interval

    @property
    def ratio(self) -> float:
        """Outcome-rate ratio, ``exp(delta)``; the paper's ``DT_G``."""
        return ratio_of(self.delta)

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval on the ratio."""
        return ratio_of(self.interval[0]), ratio_of(self.interval[1])


class Tested(Effect):
    """An effect with its test, and the smallest that would have been found."""

    detectable_delta: float
    p_value_adjusted: float

    @property
    def detectable_ratio(self) -> float:
        """Smallest ratio that would have been called a violation here with 80 % probability.

        Of a search, in a subgroup of ``detectable_mass``, by a formula from the audit's own rows, and
        with what models may still hide; ``inf`` if not even a thousandfold one among everybody would
        have been. ``AuditResult.power`` simulates it.
        """
        return ratio_of(self.detectable_delta)

    @property
    def standard_deviations(self) -> float:
        """How far beyond chance, after allowing for the search: the deviate of ``p_value_adjusted``.

        ``statistic`` of a violation is the same without.
        """
        return deviations_of(self.p_value_adjusted)
