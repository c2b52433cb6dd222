r"""How unequal rates can be where groups are known by probability alone (Kallus, Mao and Zhou 2022).

Of a row with the outcome's probability m and the group's p, the probability of both is known to lie
between :math:`\max(0, p + m - 1)` and :math:`\min(p, m)` and no closer: the data have the two margins
and not their joint distribution. Summed over rows these bound either side's rate, and so their ratio.
A model of m only decides which of the two expressions a row is bounded by, the outcome itself stands
for m there; however bad the model, the bounds hold and are only wider. They are of
probabilities that hold among people with the same audited features, as of a proxy that was told these;
one that knows less may be wrong within them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri


class Rows(NamedTuple):
    """Rows of a set, each once: outcome, its prediction, probability and weight as either side."""

    positive: np.ndarray
    predicted: np.ndarray
    group: np.ndarray
    others: np.ndarray
    group_weight: np.ndarray
    others_weight: np.ndarray
    cluster: np.ndarray | None = None


class Bounds(NamedTuple):
    """Smallest and largest log ratio, and the limits of both for a confidence level.

    Besides the limits of the difference of rates, and the probability of so high a lower end by chance
    where the smallest ratio is 1.
    """

    ends: tuple[float, float]
    limits: tuple[float, float]
    difference_limits: tuple[float, float]
    p_value: float


def bounds_of(rows: Rows, confidence_level: float, spread: float = 1.0) -> Bounds:
    """Bounds on a log ratio over all ways in which outcome and group may go together."""
    z = spread * float(ndtri(0.5 + confidence_level / 2.0))
    group = _both(rows, rows.group)
    others = _both(rows, rows.others)
    low, low_error, less, less_error = _compared(rows, group[0], others[1])
    high, high_error, more, more_error = _compared(rows, group[1], others[0])
    limits = low - z * low_error, high + z * high_error
    apart = max(less - z * less_error, -1.0), min(more + z * more_error, 1.0)
    error = spread * low_error
    p_value = float(ndtr(-low / error)) if error > 0 else math.nan if math.isnan(low) else 1.0
    return Bounds((low, high), limits, apart, p_value)


def _both(rows: Rows, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each row the least and the most that both outcome and side can be."""
    m, y = rows.predicted, rows.positive.astype(float)
    return np.where(p + m > 1.0, p + y - 1.0, 0.0), np.where(m < p, y, p)


def _compared(
    rows: Rows, group: np.ndarray, others: np.ndarray
) -> tuple[float, float, float, float]:
    """Log ratio and difference of two rates by what both sides have of the outcome, with errors."""
    ratio, difference = np.zeros((2, len(group)))  # what each row moves
    rates = []
    for both, p, weight, sign in (
        (group, rows.group, rows.group_weight, 1.0),
        (others, rows.others, rows.others_weight, -1.0),
    ):
        total = float(weight @ p)
        rate = float(weight @ both) / total if total > 0 else math.nan
        rates.append(rate)
        if total > 0:
            moves = sign * weight * (both - rate * p) / total
            difference += moves
            ratio += moves / rate if rate > 0 else 0.0
    errors = []
    for moves in (ratio, difference):
        terms = moves if rows.cluster is None else np.bincount(rows.cluster, moves)
        errors.append(math.sqrt(float(terms @ terms)))
    apart = rates[0] - rates[1]
    if not (rates[0] > 0 and rates[1] > 0):
        if math.isnan(apart) or max(rates) <= 0:
            return math.nan, math.nan, math.nan, math.nan
        return (-math.inf if rates[1] > 0 else math.inf), 0.0, apart, errors[1]
    return math.log(rates[0] / rates[1]), errors[0], apart, errors[1]


def rows_to_know(bounds: Bounds, rows: Rows) -> int:
    """How many more people's groups would have to be known for an interval as narrow as the bounds.

    By the error that their rates would have, of as many of either side as the probabilities say.
    """
    low, high = bounds.ends
    share, others = float(np.mean(rows.group)), float(np.mean(rows.others))
    rate = float(np.mean(rows.positive))
    if not (
        high - low > 1e-6 and math.isfinite(high - low) and 0 < rate < 1 and share * others > 0
    ):
        return 0
    variance = (1.0 - rate) / rate * (1.0 / share + 1.0 / others)
    needed = variance * (2.0 * float(ndtri(0.975)) / (high - low)) ** 2
    # Of as many people as there are: who is known needs no guess (finite population).
    known = int(np.sum((rows.group == 0.0) | (rows.others == 0.0)))
    return max(math.ceil(needed / (1.0 + needed / len(rows.group))) - known, 0)
