"""Features cut into bins, and the best condition on each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.plans import refuse_infinite
from mdfa_fairness_plugin.describe.cells import all_whole
from mdfa_fairness_plugin.describe.conditions import (
    CONDITION_COST,
    DETAIL_COST,
    LEVEL_COST,
    Condition,
    by_text,
    values_of,
)
from mdfa_fairness_plugin.describe.profile import feature_kinds
from mdfa_fairness_plugin.describe.rounding import simplest_between
from mdfa_fairness_plugin.describe.sample import Feature, Sample, phi
from mdfa_fairness_plugin.describe.wording import label_text

_N_BINS: Final = 32
_MAX_NAMED_LEVELS: Final = 4
_FEW: Final = 64  # histograms scored at a time


class Features:
    """Columns of a frame cut into bins, at the same edges in whatever rows are asked for."""

    def __init__(self, display: pd.DataFrame, displays: Sequence[Any] | None = None) -> None:
        self._display = display
        self._kinds = feature_kinds(display, displays)
        self._columns = list(range(len(self._kinds)))
        if displays is not None:  # as they are encoded, so that none wins a tie by where it stands
            self._columns.sort(key=lambda column: min(displays[column].encoded_columns))
        self._first: list[Feature] | None = None
        self._place = np.full(len(display), -1)  # of each row among those asked for first

    def at(self, rows: np.ndarray) -> list[Feature]:
        """All columns in some rows; edges are those of the rows asked for first."""
        if self._first is None:
            self._place[rows] = np.arange(len(rows))
            self._first = [self._made(column, rows) for column in self._columns]
        place = self._place[rows]
        if (place >= 0).all():
            return [first.at(place) for first in self._first]
        anew = (self._made(first.column, rows, first.edges) for first in self._first)
        return [feature.at(slice(None)) for feature in anew]

    def _made(self, column: int, rows: np.ndarray, edges: np.ndarray | None = None) -> Feature:
        kind = self._kinds[column]
        values = values_of(self._display, column, kind, rows)
        if isinstance(values, tuple):
            codes, edges = values[0], np.empty(0)
        else:
            refuse_infinite(values, self._display.columns[column], "display")
            missing = np.isnan(values)
            if edges is None:
                known = np.sort(values[~missing])
                edges = _edges(known, all_whole(known), kind == "time")
            codes = np.searchsorted(edges, values).astype(np.int32)
            codes[missing] = len(edges) + 1
        name = label_text(self._display.columns[column])
        return Feature(column, name, kind, values, codes, edges)


def _edges(x: np.ndarray, whole: bool, clock: bool) -> np.ndarray:
    """Cut points of sorted values: bins of about as many rows, rounded where that is harmless."""
    last = np.flatnonzero(x[1:] != x[:-1])  # of its value
    if len(last) < _N_BINS:
        return x[last]
    marks = x[((len(x) - 1) * np.linspace(0, 1, _N_BINS + 1)[1:-1]).astype(np.intp)]
    marks = np.unique(marks[marks < x[-1]])
    following = x[np.searchsorted(x, marks, side="right")].tolist()
    return np.array(
        [
            simplest_between(a, b, whole=whole, clock=clock)
            for a, b in zip(marks.tolist(), following, strict=True)
        ]
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Best:
    """Best conditions by place: their phi, -inf where there is none, and the cost of their words."""

    raw: np.ndarray
    cost: np.ndarray
    condition: Callable[..., Condition]  # of a place


class Bins:
    """Features cut into bins, to find the best condition on each of them in one go."""

    def __init__(self, sample: Sample, columns: Iterable[int]) -> None:
        features = [sample.features[column] for column in columns]
        self.features = features
        self.place = {feature.column: i for i, feature in enumerate(features)}
        self._weights = sample.weights
        self._alike: dict[tuple[bool, int, bool], list[int]] = {}
        for i, feature in enumerate(features):
            key = (feature.numeric, feature.n_bins, feature.has_missing)
            self._alike.setdefault(key, []).append(i)
        self._n_bins = sum(feature.n_bins + 1 for feature in features)
        # The codes of a row lie side by side, those of features cut alike next to each other; those
        # of rows outside follow on those of members.
        self._codes = np.empty(
            (len(sample.weights), len(features)), dtype=np.min_scalar_type(2 * self._n_bins)
        )
        place = first = 0
        for (_, n_bins, _), alike in self._alike.items():
            for i in alike:
                np.add(features[i].codes, first, out=self._codes[:, place], casting="unsafe")
                place, first = place + 1, first + n_bins + 1
        self._codes[sample.n_members :] += self._codes.dtype.type(self._n_bins)

    def best(
        self, sets: Sequence[np.ndarray], start: tuple[float, float], totals: tuple[float, float]
    ) -> Best:
        """Best condition on each feature in each set, (n_sets, n_features), ``start`` being covered."""
        counts = np.empty((2, len(sets), self._n_bins))
        for i, covered in enumerate(sets):
            counts[:, i] = self._counts(covered)
        raw, cost = np.empty((2, len(sets), len(self.features)))
        found: dict[int, tuple[Best, int, int]] = {}
        first = 0
        for (numeric, n_bins, has_missing), alike in self._alike.items():
            last = first + len(alike) * (n_bins + 1)
            histograms = counts[:, :, first:last].reshape(2, -1, n_bins + 1)
            first = last
            best = (
                _best_runs(histograms, has_missing, start, totals)
                if numeric
                else _best_levels(histograms, start, totals)
            )
            raw[:, alike] = best.raw.reshape(len(sets), -1)
            cost[:, alike] = best.cost.reshape(len(sets), -1)
            found |= {i: (best, place, len(alike)) for place, i in enumerate(alike)}

        def condition(which: int, i: int) -> Condition:
            best, place, n_alike = found[i]
            return best.condition(which * n_alike + place, self.features[i])

        return Best(raw=raw, cost=cost, condition=condition)

    def _counts(self, covered: np.ndarray) -> np.ndarray:
        """Weight of members and of others in every bin of every feature among the rows marked."""
        rows = np.flatnonzero(covered)
        each = np.repeat(self._weights.take(rows), self._codes.shape[1])
        codes = self._codes.take(rows, axis=0).ravel()
        return np.bincount(codes, weights=each, minlength=2 * self._n_bins).reshape(2, -1)


@lru_cache(maxsize=128)
def _all_runs(n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and last bin of all runs, that of all bins in place ``n_bins - 1``, and what they cost.

    Costs are (2, n_runs): without the missing values and with them.
    """
    first, last = np.triu_indices(n_bins)
    # Here a second end and "or missing" together cost no more than one; the cost of a condition, by
    # which it replaces another, counts both.
    detailed = ((first > 0) & (last < n_bins - 1)) | np.array([[False], [True]])
    return first, last, CONDITION_COST + DETAIL_COST * detailed


def _best_runs(
    counts: np.ndarray, has_missing: bool, start: tuple[float, float], totals: tuple[float, float]
) -> Best:
    """Best run of bins, with or without the missing values, or these alone, for each histogram.

    Counts are of members and of others, a row for each histogram, missing values in the last column.
    """
    n = counts.shape[2] - 1
    first, last, costs = _all_runs(n)
    raw, cost = np.empty((2, counts.shape[1]))
    chosen = np.empty(counts.shape[1], dtype=np.intp)
    up_to = np.zeros_like(counts)
    np.cumsum(counts[:, :, :n], axis=2, out=up_to[:, :, 1:])
    # A few histograms at a time stay in the processor's cache.
    for begin in range(0, len(raw), _FEW):
        few = slice(begin, begin + _FEW)
        row = np.arange(len(raw[few]))
        covered = up_to[:, few].take(last + 1, axis=2)
        covered -= up_to[:, few].take(first, axis=2)
        options = []
        for missing in (False, True) if has_missing else (False,):
            if missing:
                covered += counts[:, few, n:]
            value = phi(covered[0] + start[0], covered[1] + start[1], *totals)
            words = costs[int(missing)]
            net = value - words
            if missing or not has_missing:
                net[:, n - 1] = -math.inf  # asks for nothing
            best = net.argmax(axis=1)
            options.append((value[row, best], words[best], best + missing * len(words)))
        if has_missing:
            alone = counts[:, few, n]
            value = phi(alone[0] + start[0], alone[1] + start[1], *totals)
            options.append((value, np.full(len(row), CONDITION_COST), 2 * len(words) + 0 * row))
        option = options[0]
        for other in options[1:]:
            better = other[0] - other[1] > option[0] - option[1] + 1e-12
            option = tuple(np.where(better, *pair) for pair in zip(other, option, strict=True))
        raw[few], cost[few], chosen[few] = option

    def condition(which: int, feature: Feature) -> Condition:
        missing, place = divmod(int(chosen[which]), len(first))
        low = high = math.inf  # the missing values alone
        if missing < 2:
            low = float(feature.edges[first[place] - 1]) if first[place] > 0 else -math.inf
            high = float(feature.edges[last[place]]) if last[place] < n - 1 else math.inf
        return feature.condition(low=low, high=high, whole=feature.whole, missing=missing > 0)

    return Best(raw=raw, cost=cost, condition=condition)


def _best_levels(
    counts: np.ndarray, start: tuple[float, float], totals: tuple[float, float]
) -> Best:
    """Best set of few levels, or all but few, taken by how many of their rows are members.

    Counts are of members and of others, a row for each histogram; the last column is empty.
    """
    inside, outside = counts[:, :, :-1]
    n = inside.shape[1]
    weight = inside + outside
    seen = weight > 0
    share = np.full(weight.shape, -math.inf)
    np.divide(inside, weight, out=share, where=seen)
    order = np.argsort(-share, axis=1, kind="stable")
    hits = np.take_along_axis(inside, order, axis=1).cumsum(axis=1)[:, :-1]
    misses = np.take_along_axis(outside, order, axis=1).cumsum(axis=1)[:, :-1]
    raw = phi(hits + start[0], misses + start[1], *totals)
    n_seen = seen.sum(axis=1)[:, None]
    n_named = np.arange(1, n)
    n_left_out = n_seen - n_named
    # Two levels: the one meant is named. More: whichever list is shorter.
    negated = (n_left_out < n_named) & (n > 2)
    listed = np.where(negated, n_left_out, n_named)
    cost = CONDITION_COST + LEVEL_COST * (listed - 1)
    raw[(n_left_out < 1) | (listed > _MAX_NAMED_LEVELS)] = -math.inf
    best = np.argmax(raw - cost, axis=1)
    row = np.arange(len(best))

    def condition(which: int, feature: Feature) -> Condition:
        cut, end = best[which] + 1, n_seen[which, 0]
        said_not = bool(negated[which, best[which]])
        chosen = order[which, cut:end] if said_not else order[which, :cut]
        levels = tuple(sorted((feature.levels[i] for i in chosen), key=by_text))
        return feature.condition(levels=levels, negated=said_not)

    return Best(raw=raw[row, best], cost=cost[row, best], condition=condition)
