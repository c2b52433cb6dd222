"""Who is in a subgroup: its features beside the population's (the paper's Tables 2 and 4)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.plans import refuse_infinite
from mdfa_fairness_plugin.describe.cells import (
    N_PLACES,
    Cells,
    cell_moments,
    ratio,
    tally,
    unequal,
    value_codes,
    value_counts,
)
from mdfa_fairness_plugin.describe.wording import UNITS, label_text

ROWS: Final = "(rows)"
MISSING: Final = "(missing)"
OTHERS: Final = "(all other values)"
OUTCOME: Final = "outcome "
PARTS: Final = ("population", "subgroup")
# Column of the standardised differences, inside less outside the subgroup.
DIFFERENCE: Final = ("difference", "standardised")
# Attribute of the table, see ``profile_subgroups``.
VALUES: Final = "values"
# Sets of rows that a profile speaks of, by their place as cells have it: the columns of the table,
# those inside and outside, and those outside by sensitive value.
_COLUMNS: Final = np.array(
    [[0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0]], dtype=bool
)
_SIDES: Final = np.array([[0, 1, 0, 1, 0], [0, 0, 1, 0, 1]], dtype=bool)
_OUTSIDE: Final = np.array([[0, 0, 1, 0, 0], [0, 0, 0, 0, 1]], dtype=bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProfiledSubgroup:
    """A subgroup to describe beside the population."""

    s: np.ndarray  # +1 for the audited value, -1 for those compared with it, 0 for no part
    membership: np.ndarray  # bool
    group: Hashable  # label of s = +1
    reference: Hashable | None = None  # label of s = -1; None is everyone else
    outcome: np.ndarray | None = None  # bool; adds the share of the audited outcome, as in Table 2
    outcome_name: str = "audited outcome"
    of_amount: bool = False  # whether the outcome is the amount that all are described by


def profile_subgroups(
    display: pd.DataFrame,
    subgroups: Iterable[ProfiledSubgroup],
    *,
    displays: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
    max_levels: int = 12,
    amount: np.ndarray | None = None,
    amount_name: str = "",
) -> list[pd.DataFrame]:
    """Describe subgroups beside the population, by sensitive value, looking at every column once.

    Laid out as Tables 2 and 4 of the paper, features that set the subgroup apart first. Sampling
    weights count, balancing weights would not show people as they are.

    Rows of each table are indexed by feature, level (empty for numeric features) and statistic
    (``count``, ``mean``, ``sd``, ``share``), columns by part and sensitive value. The last column is
    the mean or share of those in the subgroup less that of those outside it, in units of the
    standard deviation (the root of the mean of both sides' variances).

    The second row is of the outcome: the share that has it or, of an ``amount``, its mean.

    ``attrs["values"]`` says of each numeric feature how many distinct values it has, how many rows
    have another than the most frequent one, and how many the rarest one: three numbers for each of
    population, subgroup and those outside it, by sensitive value. Mean and deviation of few values
    tell how many rows have each.

    The subgroups, taken one by one and not kept, cut the rows into few cells. Counts, means and
    variances of all cells are taken at once, and put together to those each table speaks of.
    """
    refuse_unbounded(display)
    weights = unequal(sample_weight)
    batches: list[tuple[Cells, list[_Part]]] = []
    for subgroup in subgroups:
        if not batches or not batches[-1][0].add(subgroup.s, subgroup.membership):
            batches.append((Cells(len(display)), []))
            batches[-1][0].add(subgroup.s, subgroup.membership)
        cells, parts = batches[-1]
        parts.append(_Part(subgroup, cells, weights))
    if amount is not None:
        _add_numbers(f"{OUTCOME}{amount_name}", amount, "numeric", batches, weights)
        for part in (part for _, parts in batches for part in parts):
            part.head += part.blocks.pop() if part.of_amount else ()
            part.blocks.clear()
    for column, kind in enumerate(feature_kinds(display, displays)):
        name, series = label_text(display.columns[column]), display.iloc[:, column]
        if is_ordered(kind):
            _add_numbers(name, numeric_values(series), kind, batches, weights)
        else:
            codes, names = level_codes(as_levels(series, kind))
            _add_levels(name, codes, names, max_levels, batches, weights)
    return [part.laid_out() for _, parts in batches for part in parts]


# Feature, level and statistic; the numbers of the table's columns, the difference last.
_Row = tuple[tuple[str, str, str], list[float]]


class _Part:
    """The table of one subgroup as it is gathered."""

    def __init__(
        self, subgroup: ProfiledSubgroup, cells: Cells, weights: np.ndarray | None
    ) -> None:
        self.labels = side_labels(subgroup.group, subgroup.reference)
        self.blocks: list[list[_Row]] = []  # of every feature
        self.values: dict[str, list[tuple[int, int, int]]] = {}
        self.of_amount = subgroup.of_amount
        place = cells.where[-1][cells.of_row]
        self.n, self.weight = _tallies(place, N_PLACES, weights)
        self.head = [_row(ROWS, "", "count", _sums(_COLUMNS, self.n))]
        if subgroup.outcome is not None and not subgroup.of_amount:
            place[~np.asarray(subgroup.outcome, dtype=bool)] = 0
            having = _tallies(place, N_PLACES, weights)
            self.head.append(self.share(subgroup.outcome_name, "", *having))

    def share(self, name: str, level: str, n: np.ndarray, weight: np.ndarray) -> _Row:
        """Share of some rows, which are counted, with their weight, by place."""
        shares = self._shares(_SIDES, n, weight)
        difference = _apart(shares, shares * (1 - shares))
        return _row(name, level, "share", self._shares(_COLUMNS, n, weight), difference)

    def _shares(self, sets: np.ndarray, n: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Share of the weight in each set of places; NaN without any."""
        all_weight, n_counted = _sums(sets, self.weight), _sums(sets, n)
        share = ratio(_sums(sets, weight), all_weight)
        # Sums of weights in another order may differ by a rounding error from all or nothing.
        share[(all_weight > 0) & (n_counted == _sums(sets, self.n))] = 1.0
        share[(all_weight > 0) & (n_counted == 0)] = 0.0
        return share

    def laid_out(self) -> pd.DataFrame:
        """Give the table, features that set the subgroup apart first."""
        ordered = sorted(self.blocks, key=_largest, reverse=True)
        rows = [*self.head, *(row for block in ordered for row in block)]
        columns = [(part, side) for part in PARTS for side in self.labels]
        laid_out = pd.DataFrame(
            np.array([numbers for _, numbers in rows], dtype=np.float64),
            index=pd.MultiIndex.from_tuples(
                [names for names, _ in rows], names=["feature", "level", "statistic"]
            ),
            columns=pd.MultiIndex.from_tuples(
                [*columns, DIFFERENCE], names=["part", "sensitive value"]
            ),
        )
        laid_out.attrs[VALUES] = self.values
        return laid_out


def _tallies(
    codes: np.ndarray, n_codes: int, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with each code, and their weight."""
    n = tally(codes, n_codes)
    return n, n if weights is None else tally(codes, n_codes, weights)


def _sums(sets: np.ndarray, of_place: np.ndarray) -> np.ndarray:
    """Sums over sets of places."""
    return np.array([of_place[chosen].sum(axis=0) for chosen in sets])


def _add_numbers(
    name: str,
    x: np.ndarray,
    kind: str,
    batches: list[tuple[Cells, list[_Part]]],
    weights: np.ndarray | None,
) -> None:
    """Add a numeric feature, or dates as days, to the table of every subgroup."""
    missing = np.isnan(x)
    known = ~missing if missing.any() else slice(None)  # all of them, not copied
    x, known_weights = x[known], None if weights is None else weights[known]
    codes, n_codes = value_codes(x)
    # A date's mean is read best as a year.
    origin, unit, suffix = 0.0, 1.0, f" ({kind})" if kind in UNITS else ""
    if kind == "datetime":
        origin, unit, suffix = 1970.0, 365.2425, " (year)"
    if kind == "time":
        suffix = " (hours)"
    for cells, parts in batches:
        of_row = cells.of_row[known]
        found = cell_moments(x, of_row, cells.n_cells, known_weights)
        n_known = found.n.astype(np.int64)
        counts = (
            cells.by_place(n_known[:, None])  # every value has a row of its own
            if codes is None
            else cells.counts(codes, n_codes + 1, of_row)
        )
        for part, where, table in zip(parts, cells.where, counts, strict=True):
            counted = [value_counts(table[chosen].sum(axis=0)) for chosen in (*_COLUMNS, *_OUTSIDE)]
            before = part.values.get(name, counted)
            part.values[name] = [min(pair) for pair in zip(counted, before, strict=True)]
            columns, sides = found.together(_COLUMNS[:, where]), found.together(_SIDES[:, where])
            means = origin + columns.means / unit
            difference = _apart(sides.means, sides.variances)
            part.blocks.append(
                [
                    _row(name, "", f"mean{suffix}", means, difference),
                    _row(name, "", f"sd{suffix}", columns.deviations / unit),
                ]
            )
        lost_weights = None if weights is None else weights[missing]
        lost = _tallies(cells.of_row[missing], cells.n_cells, lost_weights)
        for part, n, weight in zip(parts, *map(cells.by_place, lost), strict=True):
            if n[1:].any():
                part.blocks[-1].append(part.share(name, MISSING, n, weight))


def _add_levels(
    name: str,
    codes: np.ndarray,
    names: list[str],
    max_levels: int,
    batches: list[tuple[Cells, list[_Part]]],
    weights: np.ndarray | None,
) -> None:
    """Add a feature of levels, most frequent first, to the table of every subgroup."""
    for cells, parts in batches:
        counts = cells.counts(codes, len(names), cells.of_row)
        weighed = (
            None if weights is None else cells.counts(codes, len(names), cells.of_row, weights)
        )
        for part, n in zip(parts, counts, strict=True):
            weight = n if weighed is None else next(weighed)
            n_rows = n[1:].sum(axis=0)
            present = [i for i in np.argsort(-n_rows, kind="stable") if n_rows[i] > 0]
            kept = present if len(present) <= max_levels else present[: max_levels - 1]
            rows = [part.share(name, names[i], n[:, i], weight[:, i]) for i in kept]
            others = present[len(kept) :]
            if others:
                rest = n[:, others].sum(axis=1), weight[:, others].sum(axis=1)
                rows.append(part.share(name, OTHERS, *rest))
            part.blocks.append(rows)


def _row(
    name: str, level: str, statistic: str, numbers: Iterable[float], difference: float = math.nan
) -> _Row:
    return (name, level, statistic), [*map(float, numbers), difference]


def _largest(block: list[_Row]) -> float:
    """Largest absolute difference; 0 if none is known."""
    differences = (abs(numbers[-1]) for _, numbers in block)
    return max((apart for apart in differences if not math.isnan(apart)), default=0.0)


def _apart(means: np.ndarray, variances: np.ndarray) -> float:
    """Standardised difference of the mean of two sets of rows; NaN if either is empty."""
    gap = float(means[0] - means[1])
    if math.isnan(gap) or gap == 0:
        return abs(gap)
    spread = math.sqrt(float(variances.sum()) / 2)
    return gap / spread if spread > 0 else math.copysign(math.inf, gap)


def feature_kinds(display: pd.DataFrame, displays: Sequence[Any] | None = None) -> list[str]:
    """Kind of each column: ``numeric``, ``boolean``, ``categorical``, ``datetime``, ``time`` or a unit.

    A declared kind that the column's type contradicts gives way to the type.
    """
    declared = [None] * display.shape[1] if displays is None else [d.kind for d in displays]
    return [_kind(display.iloc[:, column], declared[column]) for column in range(display.shape[1])]


def _kind(series: pd.Series, declared: str | None) -> str:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return "categorical"
    if pd.api.types.is_bool_dtype(series.dtype):
        return "boolean"
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return "datetime"
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return "days"
    if pd.api.types.is_numeric_dtype(series.dtype):
        return declared if declared in ("boolean", "time", *UNITS) else "numeric"
    return declared if declared in ("boolean", "categorical") else "categorical"


def refuse_unbounded(display: pd.DataFrame) -> None:
    """Refuse infinite numbers, which have no mean and no condition; dates have none."""
    for place, name in enumerate(display):
        if pd.api.types.is_float_dtype((series := display.iloc[:, place]).dtype):
            refuse_infinite(numeric_values(series), name, "display")


def is_ordered(kind: str) -> bool:
    """Whether values of a kind of feature are quantities rather than levels."""
    return kind in ("numeric", "datetime", "time", *UNITS)


def numeric_values(series: pd.Series) -> np.ndarray:
    """Give a numeric column as floats, dates (since 1970) and durations as days; missing is NaN."""
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return series.to_numpy(dtype="timedelta64[us]") / np.timedelta64(1, "D")
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        elapsed = series.to_numpy(dtype="datetime64[us]") - np.datetime64("1970-01-01", "us")
        return elapsed / np.timedelta64(1, "D")
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy(dtype=np.float64)  # not a copy where it need not be one
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def as_levels(series: pd.Series, kind: str) -> pd.Series:
    """Give a column of levels as it is read: 0/1 and booleans become ``no`` and ``yes``."""
    if kind != "boolean" or not pd.api.types.is_numeric_dtype(series.dtype):
        return series
    x = numeric_values(series)
    codes = np.where(np.isnan(x), -1, x != 0)
    words = pd.Categorical.from_codes(codes, categories=pd.Index(["no", "yes"]))
    return pd.Series(words, index=series.index, copy=False)


def level_codes(series: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Give level codes and names, most frequent level first; missing is a level of its own."""
    codes, found = pd.factorize(series, use_na_sentinel=True)
    names = [label_text(level) for level in found]
    if (codes < 0).any():
        # A frame that already calls missing values "(missing)" keeps one such level.
        if MISSING not in names:
            names.append(MISSING)
        codes = np.where(codes < 0, names.index(MISSING), codes)
    counts = np.bincount(codes, minlength=len(names))
    order = sorted(range(len(names)), key=lambda i: (-counts[i], names[i]))
    return np.argsort(order).astype(np.int32)[codes], [names[i] for i in order]


def side_labels(group: Hashable, reference: Hashable | None) -> list[str]:
    """What both sides are called, told apart."""
    own = label_text(group)
    other = "everyone else" if reference is None else label_text(reference)
    if own == other:  # 1 and "1" are two labels
        own, other = repr(group), repr(reference)
    return [own, other]
