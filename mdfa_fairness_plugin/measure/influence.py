r"""How much each row moves an estimate: intervals on differences between models of the same people.

Two models answer for the same rows, so their estimates err together, and the interval on their
difference is not made of their two intervals. To first order an estimate is a sum over rows; the
difference of two estimates is then the sum of the rows' differences, whose variance is read off.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm


def log_ratio_influence(
    positive: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    member: np.ndarray | None = None,
) -> np.ndarray:
    r"""Influence of each row on the log ratio of two weighted rates.

    .. math:: \psi_i = \frac{w_i (1\{Y_i = y\} - r_+)}{r_+ \sum_{S=+1} w}
              \text{ where } S_i = +1, \text{ and minus the same with } r_- \text{ where } S_i = -1

    Parameters
    ----------
    positive : ndarray of bool of shape (n,)
    s : ndarray of shape (n,)
        In {-1, 0, +1}; rows with 0 are not compared and have no influence.
    weights : ndarray of shape (n,)
    member : ndarray of bool of shape (n,) or None, default=None
        Rows of the region; None for everybody.

    Returns
    -------
    influence : ndarray of shape (n,)
        Sums to zero; the sum of squares is the variance of the log ratio. All NaN if one of the
        rates is zero or unknown.

    Examples
    --------
    >>> s = np.repeat([1, 1, -1, -1], [30, 10, 10, 30])
    >>> y = np.repeat([1, 0, 1, 0], [30, 10, 10, 30]) > 0
    >>> psi = log_ratio_influence(y, s, np.ones(80))
    >>> round(float((psi**2).sum()), 6), round(10 / 30 / 40 + 30 / 10 / 40, 6)
    (0.083333, 0.083333)
    """
    influence = np.zeros(len(s))
    for side, sign in ((s > 0, 1.0), (s < 0, -1.0)):
        rows = side if member is None else side & member
        weight = weights[rows]
        hits = float(weight @ positive[rows])
        if hits <= 0:
            return np.full(len(s), np.nan)
        rate = hits / float(weight.sum())
        influence[rows] = sign * weight * (positive[rows] - rate) / hits
    return influence


def mean_influence(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Influence of each row on a weighted mean.

    Parameters
    ----------
    values, weights : ndarray of shape (n,)

    Returns
    -------
    influence : ndarray of shape (n,)
    """
    total = weights.sum()
    return weights * (values - weights @ values / total) / total


def paired_interval(
    difference: float,
    influence: np.ndarray,
    reference: np.ndarray,
    confidence_level: float,
    spread: float = 1.0,
) -> tuple[float, float]:
    """Interval on the difference of two estimates made on the same rows.

    Parameters
    ----------
    difference : float
    influence, reference : ndarray of shape (n,)
        Of both estimates, row by row.
    confidence_level : float
    spread : float, default=1.0
        Widens the interval where an estimate is of a region that was searched for.

    Returns
    -------
    low, high : float
        NaN if the difference or an influence is not defined. Both equal to the difference where
        the two estimates are the same function of the rows.
    """
    variance = float(((influence - reference) ** 2).sum())
    if not (math.isfinite(difference) and math.isfinite(variance)):
        return math.nan, math.nan
    margin = float(norm.ppf(0.5 + confidence_level / 2.0)) * spread * math.sqrt(variance)
    return difference - margin, difference + margin
