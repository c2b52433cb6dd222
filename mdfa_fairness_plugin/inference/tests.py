r"""Does the outcome leak S beyond what x leaks, inside one region? Tests, and what they can detect."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit
from scipy.stats import norm

# Spread of statistics of regions that were searched for, on data without violations. Rows that look
# unlucky pull the regions of the other folds towards themselves, so the folds' statistics are
# positively correlated and a plain statistic is too wide: by 1.17 to 1.21 on noise with two to ten
# folds. tests/benchmarks/false_alarms.py measures what is left after dividing by this.
SEARCH_SPREAD = 1.25


def leak_statistic(
    positive: np.ndarray,
    s: np.ndarray,
    propensity: np.ndarray,
    outcome: np.ndarray,
    base: np.ndarray,
    member: np.ndarray,
) -> float:
    r"""Generalised covariance measure in a region (Shah and Peters 2020).

    .. math:: z = \sum R / \sqrt{\sum R^2}, \quad R = (1\{Y=y\} - m(x)) (1\{S=s\} - e(x))

    Parameters
    ----------
    positive : ndarray of bool of shape (n,)
    s : ndarray of shape (n,)
    propensity, outcome : ndarray of shape (n,)
        ``e`` and ``m``, out of fold.
    base : ndarray of shape (n,)
        Sampling weights.
    member : ndarray of bool of shape (n,)

    Returns
    -------
    z : float
        About standard normal without a leak if the region was found on other rows; NaN without
        any variation.
    """
    residual = ((s > 0) - propensity) * (positive - outcome) * base
    residual = residual[member]
    scale = math.sqrt(float((residual**2).sum()))
    return float(residual.sum()) / scale if scale > 0 else math.nan


def one_sided_p_value(z: float, spread: float) -> float:
    """Probability of a statistic as large without a violation.

    Parameters
    ----------
    z : float
    spread : float
        Standard deviation of ``z`` without a violation.

    Returns
    -------
    p_value : float
    """
    return float(norm.sf(z / spread)) if not math.isnan(z) else math.nan


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values over a family of searches (Holm 1979).

    Parameters
    ----------
    p_values : ndarray of shape (n_searches,)
        NaN for searches that were not made.

    Returns
    -------
    adjusted : ndarray of shape (n_searches,)

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, np.nan, 0.02])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
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
    """Smallest violation a search would have found in a subgroup of mass alpha.

    Parameters
    ----------
    alpha : float
        Mass of the subgroup.
    rate : float
        Overall rate of the outcome, taken as the subgroup's average rate.
    sizes : tuple of float
        Effective numbers of rows of the group and of the others, in the whole population.
    level : float
        Level of the one-sided test, after adjustment for the number of searches.
    spread : float
        Standard deviation of the test statistic without a violation.
    power : float, default=0.8

    Returns
    -------
    delta : float
        ``inf`` if no ratio below a thousand would be found.

    Notes
    -----
    A planning figure: it takes the region as known, rows as spread evenly and rates as equal to the
    overall one on average.
    """
    if rate <= 0 or min(sizes) <= 0 or alpha <= 0:
        return math.inf
    delta = np.linspace(0.01, math.log(1000.0), 2000)
    # Rates p1 = e^delta p0 with mean `rate`, the larger one at most 1.
    p1 = np.minimum(2.0 * rate * expit(delta), 1.0)
    p0 = p1 * np.exp(-delta)
    share = np.minimum(alpha / ((p1 + p0) / 2.0), 1.0)
    variance = (1 - p1) / (p1 * share * sizes[0]) + (1 - p0) / (p0 * share * sizes[1])
    needed = (norm.isf(level) * spread + norm.isf(1 - power)) * np.sqrt(variance)
    found = delta >= needed
    return float(delta[np.argmax(found)]) if found.any() else math.inf
