r"""How unequal rates are where groups are known by probability.

Known by it alone, only bounds are (Kallus, Mao and Zhou 2022).

Of a row with the outcome's probability m and the group's p, the probability of both is known to lie
between :math:`\max(0, p + m - 1)` and :math:`\min(p, m)` and no closer: the data have the two margins
and not their joint distribution. Summed over rows these bound either side's rate, and so their ratio.
A model of m only decides which of the two expressions a row is bounded by, the outcome itself stands
for m there; however bad the model, the bounds hold and are only wider. They are of
probabilities that hold among people with the same audited features, as of a proxy that was told these;
one that knows less may be wrong within them.

Some rows whose group is known as well, drawn at random, show how far both rates by probability are off
(prediction-powered inference, Angelopoulos et al. 2023): ``corrected_of``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from mdfa_fairness_plugin.measure.estimates import adjusted_rates

# Rows of known group with the outcome, and without it, that a correction takes.
FEWEST_KNOWN = 10
# Expected so many times, there are as many in 95 of 100 samples.
_SURELY = 1.6


class Rows(NamedTuple):
    """Rows of a set, each once: outcome, its prediction, probability and weight as either side."""

    positive: np.ndarray
    predicted: np.ndarray
    group: np.ndarray
    others: np.ndarray
    group_weight: np.ndarray
    others_weight: np.ndarray
    cluster: np.ndarray | None = None
    # Where rows whose group is known were given probabilities, too: that of the group, of every row,
    # ``group`` and ``others`` being 0 or 1 of these, and weights those that each would have.
    told: np.ndarray | None = None


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


class Corrected(NamedTuple):
    """Rates by probability, corrected by rows of known group, and the errors of what compares them."""

    rates: np.ndarray
    error: float  # of the log ratio
    difference_error: float
    n_known: int

    @property
    def delta(self) -> float:
        """Log ratio of the rates."""
        return math.log(self.rates[0] / self.rates[1])


def corrected_of(rows: Rows, *, adjusts: bool) -> Corrected | None:
    r"""Rates by probability, less what rows of known group show these to be off; None if too few do.

    With p the probability and S whether a row is of the group, all rows count by p, and those of known
    group besides by (S - p) over their share: the sums of either side are those that S would make, in
    expectation and whatever p is. The share is that among the rows with the same outcome, so it may
    depend on the outcome; within these, who is known has to be left to chance. What S - p adds has at
    least the variance p (1 - p) that it has of good probabilities: few rows may happen to show less.
    """
    if rows.told is None:
        return None
    p = rows.told
    open_to_chance = (p > 0.0) & (p < 1.0)
    known = open_to_chance & ((rows.group == 0.0) | (rows.others == 0.0))
    count = np.where(open_to_chance, p, rows.group)
    strata = []
    for has in (True, False):
        own = open_to_chance & (rows.positive == has)
        n, n_known = int(own.sum()), int((known & own).sum())
        if n_known < min(n, FEWEST_KNOWN):
            return None
        strata.append((own, known & own, n / max(n_known, 1)))
        count[known & own] += (rows.group - p)[known & own] * n / max(n_known, 1)
    found = _moves(rows, np.array([count, 1.0 - count]), adjusts=adjusts)
    if found is None:
        return None
    told, moves = found
    error, of_difference = (
        _error(rows, own, strata) for own in (moves, told[:, np.newaxis] * moves)
    )
    return Corrected(told, error, of_difference, int(known.sum())) if error > 0.0 else None


def _moves(
    rows: Rows, counts: np.ndarray, *, adjusts: bool = False
) -> tuple[np.ndarray, np.ndarray] | None:
    """Rates by how much of each side every row is, and what it moves the log of either by, if it is.

    None where no log ratio is defined.
    """
    y, m = rows.positive.astype(float), rows.predicted
    weight = np.array([rows.group_weight, rows.others_weight])
    total, hits, predicted = ((weight * counts) @ own for own in (np.ones(len(y)), y, m))
    if not ((hits > 0) & (hits < total)).all():
        return None
    rates, models = hits / total, predicted / total
    told = adjusted_rates(rates, models) if adjusts else rates
    # Of log-odds, from which those at the same features are made.
    moves = (y - rates[:, np.newaxis]) / (rates * (1.0 - rates))[:, np.newaxis]
    if adjusts:
        moves -= (m - models[:, np.newaxis]) / (models * (1.0 - models))[:, np.newaxis]
    return told, weight * moves * ((1.0 - told) / total)[:, np.newaxis]


def _error(
    rows: Rows, moves: np.ndarray, strata: list[tuple[np.ndarray, np.ndarray, float]]
) -> float:
    """Standard error of what rows move by either side, the second's taken off."""
    assert rows.told is not None
    group, others = moves[0], -moves[1]
    terms = group * rows.told + others * (1.0 - rows.told)
    variance = 0.0
    for own, known, times in strata:
        if not known.any():
            continue
        apart = group - others
        off = (apart * (rows.group - rows.told))[known]
        mean, n = off.mean(), len(off)
        terms[own] += mean
        terms[known] += times * (off - mean)
        seen = float(off.var())
        expected = float((apart**2 * rows.told * (1.0 - rows.told))[own].mean())
        # Beyond what the terms hold already.
        variance += own.sum() * (times - 1.0) * (max(seen * n / max(n - 1, 1), expected) - seen)
    if rows.cluster is not None:
        terms = np.bincount(rows.cluster, terms)
    return math.sqrt(variance + float(terms @ terms))


def rows_to_know(bounds: Bounds, rows: Rows) -> int:
    """How many more people's groups would have to be known for an interval as narrow as the bounds.

    Drawn at random, these correct the estimate. Its error is reckoned with as much of the group beyond
    its probability among people with either outcome as the bounds allow: it may be smaller. 0 if it is
    not known how many, or if none do.
    """
    low, high = bounds.ends
    p, y = rows.group if rows.told is None else rows.told, rows.positive
    found = _moves(rows, np.array([p, 1.0 - p]))
    narrow = not (high - low > 1e-6 and math.isfinite(high - low))
    if (
        narrow
        or found is None
        or (rows.told is None and (rows.group + rows.others < 1.0 - 1e-9).any())
    ):
        return 0
    apart = found[1].sum(axis=0)
    m = np.clip(np.where(y, rows.predicted, 1.0 - rows.predicted), 1e-9, 1.0)  # of the own outcome
    ends = np.array([np.maximum(p + m - 1.0, 0.0), np.minimum(p, m)]) / m
    of_unknown = float(apart**2 @ (ends * (1.0 - 2.0 * p) + p**2).max(axis=0))
    if_known = float(found[1][0] ** 2 @ p + found[1][1] ** 2 @ (1.0 - p))
    beyond = ((high - low) / (2.0 * float(ndtri(0.975)))) ** 2 - if_known
    share = of_unknown / (beyond + of_unknown) if beyond > 0.0 else 1.0
    unknown = (p > 0.0) & (p < 1.0)
    has = [int(np.sum(unknown & (y == own))) for own in (True, False)]
    # Of either outcome so many that a sample hardly ever has too few.
    share = min(max([share, *(_SURELY * FEWEST_KNOWN / own for own in has if own)]), 1.0)
    known = int(np.sum(unknown & ((rows.group == 0.0) | (rows.others == 0.0))))
    return max(math.ceil(share * int(unknown.sum())) - known, 0)
