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
from scipy.special import ndtri


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
    """Smallest and largest log ratio, and the limits of both for a confidence level."""

    ends: tuple[float, float]
    limits: tuple[float, float]


def bounds_of(rows: Rows, confidence_level: float, spread: float = 1.0) -> Bounds:
    """Bounds on a log ratio over all ways in which outcome and group may go together."""
    z = spread * float(ndtri(0.5 + confidence_level / 2.0))
    group = _both(rows, rows.group)
    others = _both(rows, rows.others)
    low, low_error = _log_ratio(rows, group[0], others[1])
    high, high_error = _log_ratio(rows, group[1], others[0])
    return Bounds((low, high), (low - z * low_error, high + z * high_error))


def _both(rows: Rows, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each row the least and the most that both outcome and side can be."""
    m, y = rows.predicted, rows.positive.astype(float)
    return np.where(p + m > 1.0, p + y - 1.0, 0.0), np.where(m < p, y, p)


def _log_ratio(rows: Rows, group: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Log ratio of two rates by what both sides have of the outcome, and its standard error."""
    influence = np.zeros(len(group))
    rates = []
    for both, p, weight, sign in (
        (group, rows.group, rows.group_weight, 1.0),
        (others, rows.others, rows.others_weight, -1.0),
    ):
        total = float(weight @ p)
        rate = float(weight @ both) / total if total > 0 else math.nan
        rates.append(rate)
        if rate > 0:
            influence += sign * weight * (both - rate * p) / (rate * total)
    if not (rates[0] > 0 and rates[1] > 0):
        if math.isnan(rates[0]) or math.isnan(rates[1]) or max(rates) <= 0:
            return math.nan, math.nan
        return (-math.inf if rates[1] > 0 else math.inf), 0.0
    terms = influence if rows.cluster is None else np.bincount(rows.cluster, influence)
    return math.log(rates[0] / rates[1]), math.sqrt(float(terms @ terms))


def rows_to_know(bounds: Bounds, rows: Rows) -> int:
    """How many people's groups would have to be known for an interval as narrow as the bounds.

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
    return math.ceil(needed / (1.0 + needed / len(rows.group)))
