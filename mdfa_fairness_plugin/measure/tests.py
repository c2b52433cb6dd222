"""How far a leak of S is beyond chance after a search, and what a search can detect."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit
from scipy.stats import norm

# Spread of statistics of regions that were searched for, on data without violations. Rows that look
# unlucky pull the regions of the other folds towards themselves, so the folds' statistics are
# positively correlated and a plain statistic is too wide, by 1.17 to 1.21 on noise with two to ten
# folds. The search compares lower limits with this much room.
FOLD_SPREAD = 1.25
# A region is only reported where its limit beats everybody's, so those that are have statistics of 2.2
# on average on data without violations. With 1.25 a search had p below .05 in up to 9.2 % of such
# data sets and an audit a false alarm in up to 6 %; tests/benchmarks/false_alarms.py prints
# what is left with this.
SEARCH_SPREAD = 1.4
# Where the leak is plain the region is where it is because of the leak, not of luck, and what is left
# of the correlation fades with the square of the statistic. From this value on it fades.
_PLAIN_STATISTIC = 2.5


def interval_spread(z: float) -> float:
    """How much wider than a plain interval one in a searched region has to be, from its statistic.

    Between 1 and ``SEARCH_SPREAD``. On data without a violation the folds' regions follow the same
    lucky rows, and estimates spread by ``SEARCH_SPREAD``. The plainer the violation, the less luck
    decides who is inside. Chosen by coverage; see ``tests/benchmarks/false_alarms.py``.
    """
    if math.isnan(z) or z <= _PLAIN_STATISTIC:
        return SEARCH_SPREAD
    return 1.0 + (SEARCH_SPREAD - 1.0) * (_PLAIN_STATISTIC / z) ** 2


def one_sided_p_value(z: float, spread: float) -> float:
    """Probability of a statistic as large without a violation, when its deviation is ``spread``."""
    return float(norm.sf(z / spread)) if not math.isnan(z) else math.nan


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values over a family of searches (Holm 1979); NaN for those that were not made."""
    p_values = np.asarray(p_values, dtype=float)
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def detectable_delta(
    *,
    alpha: float,
    rate: float,
    sizes: tuple[float, float],
    level: float,
    spread: float,
    power: float = 0.8,
) -> float:
    """Smallest violation a search would have found at mass alpha; ``inf`` beyond a thousandfold.

    A planning figure: it takes the region as known, rows as spread evenly and rates as equal to the
    overall one, ``rate``, on average. ``sizes`` are effective numbers of rows of both sides in the
    whole population, ``level`` is that of the one-sided test after adjustment for the number of
    searches, ``spread`` the standard deviation of the test statistic without a violation.
    """
    if rate <= 0 or min(sizes) <= 0 or alpha <= 0:
        return math.inf
    delta = np.linspace(0.01, math.log(1000.0), 2000)
    # Rates p1 = e^delta p0 with mean `rate`, the larger one at most 1.
    p1 = np.minimum(2.0 * rate * expit(delta), 1.0)
    p0 = p1 * np.exp(-delta)
    mean = (p1 + p0) / 2.0
    share = np.minimum(alpha / mean, 1.0)
    n1, n0 = share * sizes[0], share * sizes[1]
    # The test looks at the difference of the rates, whose error without a violation is the mean's.
    without = np.sqrt(mean * (1 - mean) * (1 / n1 + 1 / n0))
    error = np.sqrt(p1 * (1 - p1) / n1 + p0 * (1 - p0) / n0)
    found = p1 - p0 >= norm.isf(level) * spread * without + norm.isf(1 - power) * error
    return float(delta[np.argmax(found)]) if found.any() else math.inf
