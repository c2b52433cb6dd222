"""What a repair changed, told by the repair itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer

_COLUMNS = ("column", "treatment", "share_moved", "mean_shift", "gap_before", "gap_after")
_QUANTITIES = ("quantity", "group", "label", "value")
# Two groups of one distribution differ by more in 5 % of cases (Kolmogorov and Smirnov).
_BY_CHANCE = 1.36
REPAIRED, STILL_TELLS, LEFT_OUT, ALIKE = "repaired", "still tells", "left out", "alike already"
AS_CATEGORIES, NOT_REPAIRED = "repaired as categories", "not repaired"

# Quantity, group, label and value; None where it is of no one group or label.
Quantity = tuple[str, Hashable, Hashable, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class RepairReport:
    """What a repair changed when it was fitted, measured on the rows that it was fitted to.

    Attributes
    ----------
    method : str
        What was done, in a sentence.
    columns : DataFrame
        A row for each column of ``X`` that a repair of the features met, and none for other repairs:
        ``column``; ``treatment``, "repaired", "repaired as categories" (numbers), "still tells" (the
        groups apart, by more than half of what it did), "left out" (it repeats the sensitive value),
        "alike already" or "not repaired" (as a level of 0 asks); ``share_moved`` of its cells;
        ``mean_shift`` of numbers, in standard deviations; ``gap_before`` and ``gap_after``, the
        largest difference between groups in the share of a category or of rows up to a number (for
        Decorrelated-LC, in the mean, in standard deviations).
    quantities : DataFrame
        A row for each number that the repair arrived at: ``quantity``, ``group``, ``label``, ``value``.
    """

    method: str
    columns: pd.DataFrame
    quantities: pd.DataFrame

    def summary(self) -> str:
        """All of it as text."""
        lines = [self.method]
        for row in self.columns.itertuples():
            told = f"  {row.column!r}: {row.treatment}"
            if row.treatment != LEFT_OUT:
                share = f"{row.share_moved:.0%}".replace("%", " %")
                told += (
                    f", {share} of its cells moved; the groups differ by up to "
                    f"{row.gap_before:.3f} before and {row.gap_after:.3f} after"
                )
            lines.append(f"{told}.")
        for row in self.quantities.itertuples():
            of = [f"{one!r}" for one in (row.group, row.label) if one is not None]
            lines.append(f"  {row.quantity}{' of ' * bool(of)}{', '.join(of)}: {row.value:.4g}")
        return "\n".join(lines)

    __str__ = summary


def make_report(
    method: str,
    columns: Iterable[dict[str, Any]],
    quantities: Iterable[Quantity],
    names: Mapping[Hashable, Hashable],
) -> RepairReport:
    """Gather rows of both tables, the columns in their order and by their own names."""
    places = list(names)
    met = sorted(columns, key=lambda row: places.index(row["column"]))
    told = pd.DataFrame(list(quantities), columns=list(_QUANTITIES), dtype=object)
    rows = [row | {"column": names[row["column"]]} for row in met]
    frame, told = pd.DataFrame(rows, columns=list(_COLUMNS)), told.astype({"value": float})
    return RepairReport(method=method, columns=frame, quantities=told)


def describe_columns(
    encoder: ColumnTransformer,
    tables: tuple[np.ndarray, np.ndarray],
    sides: np.ndarray,
    level: float,
    gap: Callable[[np.ndarray, np.ndarray], float],
) -> list[dict[str, Any]]:
    """Tell of each column what became of it, from the encoded table before and after a repair."""
    rows: list[dict[str, Any]] = []
    chance, done = gap_by_chance(sides), REPAIRED if level > 0 else NOT_REPAIRED
    for place, numeric, mine in _places(encoder):
        before, after = (Z[:, mine] for Z in tables)
        share = float((np.abs(after - before) > 1e-9).any(axis=1).mean())
        gaps = [max(gap(column, sides) for column in Z.T) for Z in (before, after)]
        told = level > 0 and min(gaps) > chance and gaps[1] > (1 - level / 2) * gaps[0]
        rows.append(
            {
                "column": place,
                "treatment": ALIKE if gaps[0] <= chance else STILL_TELLS if told else done,
                "share_moved": share,
                "mean_shift": float((after - before).mean()) if numeric else math.nan,
                "gap_before": gaps[0],
                "gap_after": gaps[1],
            }
        )
    return rows


def gap_by_chance(sides: np.ndarray) -> float:
    """What two groups of one distribution differ by at most, in 19 of 20 cases."""
    return _BY_CHANCE * math.sqrt(sum(1 / n for n in sorted(np.bincount(sides))[:2]))


def largest_gap(column: np.ndarray, sides: np.ndarray) -> float:
    """Largest difference between groups in the share of rows up to a value."""
    values = np.unique(column)
    of_sides = [np.sort(column[sides == side]) for side in np.unique(sides)]
    shares = [np.searchsorted(own, values, side="right") / len(own) for own in of_sides]
    return float(np.ptp(shares, axis=0).max())


def mean_gap(column: np.ndarray, sides: np.ndarray) -> float:
    """Largest difference between the means of groups."""
    return float(np.ptp([column[sides == side].mean() for side in np.unique(sides)]))


def _places(encoder: ColumnTransformer) -> Iterator[tuple[str, bool, slice]]:
    """Each column of a table, whether it is a number, and where it is in the encoded table."""
    (_, _, numbers), (_, one_hot, labels) = encoder.transformers_[:2]
    sizes = [len(one) for one in one_hot.categories_] if len(labels) else []
    start = 0
    for name, size in zip([*numbers, *labels], [1] * len(numbers) + sizes, strict=True):
        yield name, start < len(numbers), slice(start, start + size)
        start += size
