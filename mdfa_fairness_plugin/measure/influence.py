r"""How much each row moves an estimate: intervals on differences between models of the same people.

Two models answer for the same rows, so their estimates err together, and the interval on their
difference is not made of their two intervals. To first order an estimate is a sum over rows; the
difference of two estimates is then the sum of the rows' differences, whose variance is read off; the
rows of a cluster are one term of it.
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
    r"""Influence of each row on the log ratio of two weighted rates, in a region or of everybody.

    .. math:: \psi_i = \frac{w_i (1\{Y_i = y\} - r_+)}{r_+ \sum_{S=+1} w}
              \text{ where } S_i = +1, \text{ and minus the same with } r_- \text{ where } S_i = -1

    Sums to zero; the sum of squares is the variance of the log ratio. Rows with S = 0 are not compared
    and have none; all NaN if one of the rates is zero or unknown.
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
    """Influence of each row on a weighted mean."""
    total = weights.sum()
    return weights * (values - weights @ values / total) / total


def paired_interval(
    difference: float,
    influence: np.ndarray,
    reference: np.ndarray,
    confidence_level: float,
    spread: float = 1.0,
    cluster: np.ndarray | None = None,
) -> tuple[float, float]:
    """Interval on the difference of two estimates made on the same rows, from both influences.

    ``spread`` widens it where an estimate is of a region that was searched for; ``cluster`` is whose
    row each is, None if every row is somebody else's. NaN if the difference
    or an influence is not defined; of no length where both are the same function of the rows.
    """
    terms = influence - reference
    if cluster is not None:
        terms = np.bincount(cluster, terms)
    variance = float((terms**2).sum())
    if not (math.isfinite(difference) and math.isfinite(variance)):
        return math.nan, math.nan
    margin = float(norm.ppf(0.5 + confidence_level / 2.0)) * spread * math.sqrt(variance)
    return difference - margin, difference + margin
