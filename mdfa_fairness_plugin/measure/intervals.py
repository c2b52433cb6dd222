"""Intervals on how unequal two rates or means are that stay sensible with few rows."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from mdfa_fairness_plugin.measure.estimates import Leftover, Rates
from mdfa_fairness_plugin.measure.limits import log_ratio, ratio_limits, wilson_limits
from mdfa_fairness_plugin.measure.means import MeanDifference, Means

# Beyond so many standard errors nothing is told apart.
PLAINEST = 38.0


def delta_interval(
    rates: Rates, confidence_level: float, spread: float = 1.0, leftover: Leftover | None = None
) -> tuple[float, float]:
    """Interval on the effect of one set of rows: the log ratio of rates, or what means are compared by.

    ``spread`` widens it: standard deviation of the estimate, relative to that of an estimate in a set
    of rows that was not searched for. With a leftover of the same rows it is that of the rates at the
    same features. Infinite where the data put no limit; NaN if delta is not defined.
    """
    own, known = rates.known(leftover)
    low, high = own.limits(own.rates, known, spread * ndtri(0.5 + confidence_level / 2.0))
    return float(low), float(high)


def otherwise(
    rates: Rates,
    confidence_level: float,
    spread: float = 1.0,
    leftover: Leftover | None = None,
    allowed: tuple[float, ...] = (0.0, 0.0, 1.0, 1.0),
) -> tuple[float, float, float]:
    """Log ratio of the rates of *not* having the outcome, and its interval.

    A rate is known as well as its complement, so the sizes are the same. ``allowed`` is what delta may
    still fall and rise, here around the same mean rate, and how much wider its interval is below and
    above: the more often people have the outcome, the less often they do not.
    """
    fall, rise, wider_below, wider_above = allowed
    own, sizes = rates.known(leftover)
    mean = own.rates.mean()

    rest = np.clip(1.0 - own.rates, 0.0, 1.0)

    def moved(by: float) -> np.ndarray:
        half = math.tanh((own.delta + by) / 2.0)
        return np.clip(1.0 - mean * np.array([1.0 + half, 1.0 - half]), 0.0, 1.0)

    def ends(by: float, wider: float) -> tuple[float, float]:
        some = rest.min() > 0.0  # where one side has none, its log ratio is no place to move from
        around = rest if some or not by else moved(by)
        ends = np.array(log_ratio_interval(around, sizes, confidence_level, spread * wider))
        return tuple(ends + (log_ratio(*moved(by)) - log_ratio(*rest) if some and by else 0.0))

    return float(log_ratio(*rest)), ends(rise, wider_above)[0], ends(-fall, wider_below)[1]


def standard_errors(rates: Rates, leftover: Leftover | None = None, least: float = 0.0) -> float:
    """How many standard errors the effect is above ``least``, by the interval itself.

    The quantile whose interval ends there. An interval above ``least`` and a test of it are thus the
    same, also where nobody of one side has the outcome. NaN if delta is not defined.
    """
    own, known = rates.known(leftover)
    r = own.rates
    delta = float(own.effect(r))
    if math.isnan(delta) or min(own.effective_sizes) <= 0:
        return math.nan
    end = 0 if delta > least else 1
    sign = 1.0 if delta > least else -1.0

    def beyond(z: float) -> float:
        return sign * (float(own.limits(r, known, z)[end]) - least)

    if delta == least:
        return 0.0
    # Just above zero an interval is a point, and half of all log ratios are no number.
    nearest = 1e-6
    if not beyond(nearest) > 0:
        return 0.0
    if beyond(PLAINEST) > 0:
        return sign * PLAINEST
    return sign * float(brentq(beyond, nearest, PLAINEST, xtol=1e-9))


def mass_interval(
    rates: Rates, confidence_level: float, spread: float = 1.0
) -> tuple[float, float]:
    r"""Interval on the mass :math:`Pr_w[Y = y, x \in G]` of one set of rows; NaN if it is not defined.

    Wilson limits of the share of everybody that is in the set and has the outcome, per S value;
    their mean by the method of variance estimates recovery.
    """
    z = spread * ndtri(0.5 + confidence_level / 2.0)
    if not np.isfinite(rates.mass):
        return np.nan, np.nan
    if isinstance(rates, Means):
        mass, sizes = rates.weight / rates.total, _population_sizes(rates)
    else:
        mass = rates.share * rates.rates
        # Rows of a cluster count once, with what they have of the outcome.
        _, hits, _ = rates.clustered
        with np.errstate(invalid="ignore", divide="ignore"):
            sizes = np.where(hits > 0, rates.total * rates.hits / hits, _population_sizes(rates))
    lower, upper = wilson_limits(mass, sizes, z)
    down = np.hypot(*(mass - lower)) / 2.0
    up = np.hypot(*(upper - mass)) / 2.0
    return float(max(rates.mass - down, 0.0)), float(min(rates.mass + up, 1.0))


def difference_interval(
    rates: Rates, confidence_level: float, spread: float = 1.0, leftover: Leftover | None = None
) -> tuple[float, float]:
    """Interval on the difference of the rates of one set of rows (Newcombe 1998, method 10).

    Wilson's limits of each rate, combined by the method of variance estimates recovery; of means
    Student's. NaN if a side has no row. ``spread`` and ``leftover`` are as for the ratio.
    """
    z = spread * ndtri(0.5 + confidence_level / 2.0)
    own, sizes = rates.known(leftover)
    r = own.rates
    if isinstance(own, Means):
        least, most = MeanDifference.limits(r, sizes, z)
        return float(least), float(most)
    lower, upper = wilson_limits(r, sizes, z)
    difference = float(r[0] - r[1])
    low = difference - math.hypot(r[0] - lower[0], upper[1] - r[1])
    high = difference + math.hypot(upper[0] - r[0], r[1] - lower[1])
    return low, high


def gamma_interval(
    rates: Rates, confidence_level: float, spread: float = 1.0, leftover: Leftover | None = None
) -> tuple[float, float]:
    """Interval on the certificate strength gamma of one set of rows (Section 3.1); NaN if not defined.

    By the definition, gamma is a quarter of the share of people in the set times the difference of
    the two rates. The error of the share is added to Newcombe's interval of the difference as with the
    normal one; the interval contains 0 exactly where that of the difference does.
    """
    z = spread * ndtri(0.5 + confidence_level / 2.0)
    if not np.isfinite(rates.gamma):
        return np.nan, np.nan
    own, _ = rates.known(leftover)
    difference = float(own.rates[0] - own.rates[1])
    low, high = difference_interval(rates, confidence_level, spread, leftover)
    share = rates.share
    error = z * math.sqrt(share * (1.0 - share) / float(_population_sizes(rates).sum()))
    gamma = share * difference / 4.0
    ends = [
        gamma - math.hypot(share * (difference - low), difference * error) / 4.0,
        gamma + math.hypot(share * (high - difference), difference * error) / 4.0,
    ]
    # The share only scales the difference: it cannot carry an end across zero.
    ends[0] = max(ends[0], 0.0) if low > 0 else ends[0]
    ends[1] = min(ends[1], 0.0) if high < 0 else ends[1]
    return ends[0], ends[1]


def _population_sizes(rates: Rates) -> np.ndarray:
    """Effective numbers of rows of each S value among everybody, from the set's own weights."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_weight = rates.clustered[0] / rates.weight
        return np.where(mean_weight > 0, rates.total / mean_weight, 0.0)


def log_ratio_interval(rates, sizes, confidence_level, spread=1.0):
    """Intervals on log ratios of two independent rates, shape (2,) or (2, n_sets).

    Wilson's limits of each rate, combined by the method of variance estimates recovery on the log
    scale (Zou and Donner 2008). Unlike the delta method it needs no outcome in either cell: with
    none among the others the upper end is infinite and the lower end is what the data support.
    ``sizes`` are effective numbers of rows.
    """
    rates = np.asarray(rates, dtype=float)
    sizes = np.asarray(sizes, dtype=float)
    z = np.asarray(spread, dtype=float) * ndtri(0.5 + confidence_level / 2.0)
    return ratio_limits(rates, sizes, z)


def change_interval(
    first: float,
    first_interval: tuple[float, float],
    second: float,
    second_interval: tuple[float, float],
) -> tuple[float, float]:
    """Interval on ``first - second``, two independent estimates, from the interval of each.

    Method of variance estimates recovery (Zou and Donner 2008), which keeps intervals lopsided; of
    infinite estimates only what both ends leave.
    """
    (low, high), (other_low, other_high) = first_interval, second_interval
    difference = first - second
    if not math.isfinite(difference):
        return low - other_high, high - other_low
    return (
        difference - math.hypot(max(first - low, 0.0), max(other_high - second, 0.0)),
        difference + math.hypot(max(high - first, 0.0), max(second - other_low, 0.0)),
    )


def farther(first: tuple[float, float], second: tuple[float, float]) -> str:
    """Whether the first of two intervals lies wholly farther from zero, "more", or nearer, "less".

    Empty if the sizes overlap, which holds however the two estimates go together.
    """
    (low, high), (its_low, its_high) = (
        (max(0.0, ends[0], -ends[1]), max(map(abs, ends))) for ends in (first, second)
    )
    return "more" if low > its_high else "less" if high < its_low else ""
