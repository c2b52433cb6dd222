"""Who is in a subgroup: its features beside the population's (the paper's Tables 2 and 4)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import label_text

ROWS: Final = "(rows)"
MISSING: Final = "(missing)"
OTHERS: Final = "(all other values)"
PARTS: Final = ("population", "subgroup")
# Column of the standardised differences, inside less outside the subgroup.
DIFFERENCE: Final = ("difference", "standardised")
# Attribute of the table, see ``profile_subgroup``.
VALUES: Final = "values"


def profile_subgroup(
    display: pd.DataFrame,
    s: np.ndarray,
    membership: np.ndarray,
    *,
    group: Hashable,
    reference: Hashable | None = None,
    displays: Sequence[Any] | None = None,
    outcome: np.ndarray | None = None,
    outcome_name: str = "audited outcome",
    sample_weight: np.ndarray | None = None,
    max_levels: int = 12,
) -> pd.DataFrame:
    """Describe a subgroup beside the population, by sensitive value.

    Laid out as Tables 2 and 4 of the paper: numeric features by mean and standard deviation,
    categorical ones by the share of each level. Features that set the subgroup apart come first.

    Parameters
    ----------
    display : DataFrame of shape (n_rows, n_features)
        Audited features with readable values.
    s : ndarray of shape (n_rows,)
        +1 for the audited value, -1 for those compared with it, 0 for rows taking no part.
    membership : ndarray of shape (n_rows,)
        Whether each row is in the subgroup.
    group, reference : hashable
        Labels of ``s = +1`` and ``s = -1``; a reference of None is everyone else.
    displays : sequence of DisplayFeature, optional
        Gives each column's ``kind``; otherwise it follows from the column's type.
    outcome : ndarray of shape (n_rows,), optional
        Whether each row has the audited outcome; adds its share, as in Table 2.
    outcome_name : str
        Name of that row.
    sample_weight : ndarray of shape (n_rows,), optional
        Sampling weights. Balancing weights do not belong here: the profile shows people as
        they are.
    max_levels : int, default 12
        Levels listed per categorical feature, most frequent first; the rest are added up.

    Returns
    -------
    DataFrame
        Rows are indexed by feature, level (empty for numeric features) and statistic
        (``count``, ``mean``, ``sd``, ``share``), columns by part (``population``,
        ``subgroup``) and sensitive value. The first row counts rows. A mean or share of no
        rows is NaN, and so is the deviation of one row. The last column,
        ``("difference", "standardised")``, is the mean or share of those in the subgroup less that
        of those outside it, in units of the standard deviation (the root of the mean of both
        sides' variances); features are sorted by the largest of their differences.

        ``attrs["values"]`` says of each numeric feature how many distinct values it has, how many
        rows have another than the most frequent one, and how many the rarest one: three numbers
        for each of population, subgroup and those outside it, by sensitive value. Mean and
        deviation of few values tell how many rows have each.

    Examples
    --------
    >>> display = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0]})
    >>> table = profile_subgroup(
    ...     display, np.array([1, 1, -1, -1]), np.array([True, False, True, True]), group="A"
    ... )
    >>> table.loc[("age", "", "mean")].round(2).tolist()
    [25.0, 45.0, 20.0, 45.0, 0.76]
    """
    weights = np.ones(len(display)) if sample_weight is None else np.asarray(sample_weight, float)
    inside = np.asarray(membership, dtype=bool)
    cells = [
        mask & part
        for part in (np.ones(len(display), dtype=bool), inside)
        for mask in (np.asarray(s) == 1, np.asarray(s) == -1)
    ]
    positions = [np.flatnonzero(cell) for cell in cells]
    taking_part = np.flatnonzero(np.asarray(s) != 0)

    sides = [taking_part[inside[taking_part] == own] for own in (True, False)]

    table = _Rows()
    table.add(ROWS, "", "count", (float(len(rows)) for rows in positions))
    if outcome is not None:
        has = np.asarray(outcome, dtype=bool)
        shares = (_mean(has[rows], weights[rows]) for rows in positions)
        table.add(outcome_name, "", "share", shares, _apart(has, weights, sides))
    blocks: list[_Rows] = []
    values: dict[str, list[tuple[int, int, int]]] = {}
    outside = [np.setdiff1d(positions[side], positions[2 + side]) for side in (0, 1)]
    for column, kind in enumerate(feature_kinds(display, displays)):
        name, series = label_text(display.columns[column]), display.iloc[:, column]
        block = _Rows()
        blocks.append(block)
        add = block.add
        if kind in ("numeric", "datetime"):
            x = numeric_values(series)
            known = ~np.isnan(x)
            seen = [rows[known[rows]] for rows in positions]
            counted = [_value_counts(x[rows[known[rows]]]) for rows in (*positions, *outside)]
            values[name] = [
                min(one, other)
                for one, other in zip(counted, values.get(name, counted), strict=True)
            ]
            # A date's mean is read best as a year.
            x, suffix = (1970 + x / 365.2425, " (year)") if kind == "datetime" else (x, "")
            means = (_mean(x[rows], weights[rows]) for rows in seen)
            recorded = [rows[known[rows]] for rows in sides]
            add(name, "", f"mean{suffix}", means, _apart(x, weights, recorded))
            add(name, "", f"sd{suffix}", (_deviation(x[rows], weights[rows]) for rows in seen))
            if not known[taking_part].all():
                missing = ~known
                row = (_mean(missing[rows], weights[rows]) for rows in positions)
                add(name, MISSING, "share", row, _apart(missing, weights, sides))
        else:
            for level, has_level in _levels(as_levels(series, kind), taking_part, max_levels):
                row = (_mean(has_level[rows], weights[rows]) for rows in positions)
                add(name, level, "share", row, _apart(has_level, weights, sides))
    for block in sorted(blocks, key=lambda block: -block.largest):
        table.extend(block)
    columns = [(part, side) for part in PARTS for side in _side_labels(group, reference)]
    laid_out = pd.DataFrame(
        np.array(table.values, dtype=np.float64),
        index=pd.MultiIndex.from_tuples(table.index, names=["feature", "level", "statistic"]),
        columns=pd.MultiIndex.from_tuples(
            [*columns, DIFFERENCE], names=["part", "sensitive value"]
        ),
    )
    laid_out.attrs[VALUES] = values
    return laid_out


def _value_counts(x: np.ndarray) -> tuple[int, int, int]:
    """Distinct values, rows without the most frequent one, rows with the rarest one."""
    counts = np.unique(x, return_counts=True)[1]
    if len(counts) == 0:
        return 0, 0, 0
    return len(counts), len(x) - int(counts.max()), int(counts.min())


class _Rows:
    """Rows of the table as they are gathered."""

    def __init__(self) -> None:
        self.index: list[tuple[str, str, str]] = []
        self.values: list[list[float]] = []

    def add(
        self,
        name: str,
        level: str,
        statistic: str,
        row: Iterable[float],
        difference: float = math.nan,
    ) -> None:
        self.index.append((name, level, statistic))
        self.values.append([*(float(value) for value in row), difference])

    def extend(self, other: _Rows) -> None:
        self.index += other.index
        self.values += other.values

    @property
    def largest(self) -> float:
        """Largest absolute difference; 0 if none is known."""
        return max((abs(row[-1]) for row in self.values if not math.isnan(row[-1])), default=0.0)


def _apart(x: np.ndarray, weights: np.ndarray, sides: list[np.ndarray]) -> float:
    """Standardised difference of the mean between two sets of rows; NaN if either is empty."""
    means = [_mean(x[rows], weights[rows]) for rows in sides]
    gap = means[0] - means[1]
    if math.isnan(gap) or gap == 0:
        return 0.0 if gap == 0 else math.nan
    variances = (
        _mean((x[rows] - mean) ** 2, weights[rows]) for rows, mean in zip(sides, means, strict=True)
    )
    spread = math.sqrt(sum(variances) / 2)
    return gap / spread if spread > 0 else math.copysign(math.inf, gap)


def feature_kinds(display: pd.DataFrame, displays: Sequence[Any] | None = None) -> list[str]:
    """Kind of each column: ``numeric``, ``boolean``, ``categorical`` or ``datetime``.

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
    if pd.api.types.is_numeric_dtype(series.dtype):
        return "boolean" if declared == "boolean" else "numeric"
    return declared if declared in ("boolean", "categorical") else "categorical"


def numeric_values(series: pd.Series) -> np.ndarray:
    """Give a numeric column as floats, a date column as days since 1970; missing is NaN."""
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        if getattr(series.dt, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        elapsed = series.to_numpy(dtype="datetime64[us]") - np.datetime64("1970-01-01", "us")
        return elapsed / np.timedelta64(1, "D")
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def as_levels(series: pd.Series, kind: str) -> pd.Series:
    """Give a column of levels as it is read: 0/1 and booleans become ``no`` and ``yes``."""
    if kind != "boolean" or not pd.api.types.is_numeric_dtype(series.dtype):
        return series
    x = series.to_numpy(dtype=np.float64, na_value=np.nan)
    words = np.where(x == 0, "no", "yes").astype(object)
    words[np.isnan(x)] = None
    return pd.Series(words, index=series.index, dtype=object)


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
    order = np.array(sorted(range(len(names)), key=lambda i: (-counts[i], names[i])), dtype=np.intp)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return (place[codes] if len(codes) else codes), [names[i] for i in order]


def _levels(
    series: pd.Series, taking_part: np.ndarray, max_levels: int
) -> Iterable[tuple[str, np.ndarray]]:
    codes, names = level_codes(series)
    counts = np.bincount(codes[taking_part], minlength=len(names))
    present = [i for i in np.argsort(-counts, kind="stable") if counts[i] > 0]
    kept = present if len(present) <= max_levels else present[: max_levels - 1]
    for level in kept:
        yield names[level], codes == level
    if len(kept) < len(present):
        yield OTHERS, ~np.isin(codes, kept)


def _side_labels(group: Hashable, reference: Hashable | None) -> list[str]:
    own = label_text(group)
    other = "everyone else" if reference is None else label_text(reference)
    if own == other:  # 1 and "1" are two labels
        own, other = repr(group), repr(reference)
    return [own, other]


def _mean(x: np.ndarray, weights: np.ndarray) -> float:
    total = weights.sum()
    return float((weights * x).sum() / total) if total > 0 else np.nan


def _deviation(x: np.ndarray, weights: np.ndarray) -> float:
    """Weighted standard deviation; with equal weights, the usual one with n - 1."""
    total = weights.sum()
    if total <= 0:
        return np.nan
    freedom = total - (weights**2).sum() / total
    if freedom <= 1e-9 * total:
        return np.nan
    return float(np.sqrt((weights * (x - _mean(x, weights)) ** 2).sum() / freedom))
