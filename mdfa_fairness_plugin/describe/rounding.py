"""Makes a rule plainer where that costs nothing: fewer conditions, rounder cut points."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from mdfa_fairness_plugin.describe.conditions import CONDITION_COST, DETAIL_COST, Condition
from mdfa_fairness_plugin.describe.sample import Draft, Sample, phi

# What a rounder cut point may lose.
_ROUNDING_LOSS: Final = 0.004
_CLOCK_STEPS: Final = (21_600, 10_800, 3_600, 1_800, 900, 300, 60, 1)  # seconds


def simplest_between(low: float, high: float, *, whole: bool = False, clock: bool = False) -> float:
    """Roundest number from ``low`` up to, not including, ``high``: 0.35 from 0.337 to 0.362.

    Of a ``clock`` the roundest time, in hours.
    """
    low, high = float(low), float(high)  # numbers of numpy take twice as long
    if not low < high:
        return low
    if clock:
        times = (math.ceil(low * 3_600 / step) * step / 3_600 for step in _CLOCK_STEPS)
        return next((time for time in times if low <= time < high), low)
    if low <= 0 < high:
        return 0.0
    exponent = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for power in range(exponent, exponent - 16, -1):
        for multiple in (1, 0.5, 0.2):
            step = multiple * 10.0**power
            if whole and step < 1:
                return float(math.ceil(low))
            first, last = math.ceil(low / step), math.ceil(high / step) - 1
            if first <= last:
                middle = round((low + high) / 2 / step)
                chosen = round(min(max(middle, first), last) * step, max(0, 1 - power))
                if low <= chosen < high:
                    return float(chosen)
    return float(low)


def polished(rule: Draft, sample: Sample) -> tuple[tuple[Condition, ...], ...]:
    """Drop conditions that add little, round the cut points of the rest and say these plainly."""
    for adjusted in (_rounded, _plainest):
        _drop_idle(rule, sample)
        for part, conjunction in enumerate(rule):
            for place, condition in enumerate(conjunction):
                if condition.numeric and condition.low != math.inf:
                    conjunction[place] = adjusted(rule, part, place, sample)
    said = list(sample.features)
    return tuple(
        tuple(sorted(conjunction, key=lambda c: said.index(c.column))) for conjunction in rule
    )


def _drop_idle(rule: Draft, sample: Sample) -> None:
    """Leave out one alternative, then conditions, as long as next to nothing is lost."""
    while sum(map(len, rule)) > 1:
        score = sample.score(sample.covered(rule))
        for conjunction in reversed(rule) if len(rule) == 2 else ():
            if sample.score(sample.covered([conjunction])) >= score - CONDITION_COST:
                rule[:] = [conjunction]
                break
        else:
            losses = [
                (score - sample.score(sample.covered(rule, (part, place))), part, place)
                for part, conjunction in enumerate(rule)
                for place in range(len(conjunction))
                if len(conjunction) > 1
            ]
            if not losses or min(losses)[0] > CONDITION_COST / 2:
                return
            _, part, place = min(losses)
            del rule[part][place]


def _rounded(rule: Draft, part: int, place: int, sample: Sample) -> Condition:
    """Move the ends of one condition to the roundest numbers that serve as well."""
    condition = rule[part][place]
    x = sample.features[condition.column].numbers
    taken = sample.covered([conjunction for i, conjunction in enumerate(rule) if i != part])
    beside = [c for i, c in enumerate(rule[part]) if i != place]
    free = sample.covered([beside]) & ~taken  # rows the condition decides on
    if math.isfinite(condition.high):
        high = _best_end(condition, x, free, taken, sample, upper=True)
        condition = replace(condition, high=high) if condition.low < high else condition
    if math.isfinite(condition.low):
        low = _best_end(condition, x, free, taken, sample, upper=False)
        condition = replace(condition, low=low) if low < condition.high else condition
    return condition


def _best_end(
    condition: Condition,
    x: np.ndarray,
    free: np.ndarray,
    taken: np.ndarray,
    sample: Sample,
    *,
    upper: bool,
) -> float:
    """Best end of an interval, the other fixed, as round as the score allows."""
    fixed = x > condition.low if upper else x <= condition.high
    moving = np.flatnonzero(free & fixed)
    if len(moving) == 0:
        return condition.high if upper else condition.low
    base = taken | (free & np.isnan(x)) if condition.missing else taken
    hits, misses = sample.tally(base)
    cuts, codes = np.unique(x[moving], return_inverse=True)
    codes[moving >= sample.n_members] += len(cuts)
    at_cuts = np.bincount(codes, sample.weights[moving], minlength=2 * len(cuts))
    # Cutting at cuts[i] keeps values up to it (upper) or leaves them out (lower).
    kept = at_cuts.reshape(2, -1).cumsum(axis=1)
    if not upper:
        kept = kept[:, -1:] - kept
    scores = phi(hits + kept[0], misses + kept[1], *sample.totals)[:-1]
    if len(scores) == 0:
        return condition.high if upper else condition.low
    best = int(np.argmax(scores))
    worse = np.flatnonzero(scores < scores[best] - _ROUNDING_LOSS)
    first = worse[worse < best].max(initial=-1) + 1
    last = worse[worse > best].min(initial=len(scores)) - 1
    shift = 1.0 if condition.whole and not upper else 0.0  # "at least" names the next number
    ends = cuts[first] + shift, cuts[last + 1] + shift
    clock = condition.kind == "time"
    return simplest_between(*ends, whole=condition.whole, clock=clock) - shift


def _plainest(rule: Draft, part: int, place: int, sample: Sample) -> Condition:
    """Drop what a condition says in vain, and name a value that is the only one it admits."""
    condition = rule[part][place]
    score = sample.score(sample.covered(rule))
    low, high = math.isfinite(condition.low), math.isfinite(condition.high)
    simpler = []
    if low and high:
        simpler += [replace(condition, low=-math.inf), replace(condition, high=math.inf)]
    if condition.missing and (low or high):
        simpler.append(replace(condition, missing=False))
    for fewer in simpler:
        trial = [list(conjunction) for conjunction in rule]
        trial[part][place] = fewer
        if sample.score(sample.covered(trial)) >= score - DETAIL_COST / 2:
            condition = fewer
            break
    x = sample.features[condition.column].numbers
    admitted = np.unique(x[(x > condition.low) & (x <= condition.high)])
    if len(admitted) != 1:
        return condition
    (value,) = admitted.tolist()
    below = value - 1.0 if condition.whole else math.nextafter(value, -math.inf)
    return replace(condition, low=below, high=value)
