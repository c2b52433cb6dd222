"""What is printed of counts that add up, so that no count of a few people can be worked out.

All that is printed stays the same when a count below the smallest one told becomes any other such
number, and its neighbours make up for it: so every number below the smallest goes with the print.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.profile import PARTS, ROWS
from mdfa_fairness_plugin.fields import Rounded, is_exact, known
from mdfa_fairness_plugin.records import AuditRecord, Violation

# A count, or a sum of counts, by its name.
Name = Hashable


def grid(min_cell: int) -> int:
    """What counts are rounded to: 1, 2 or 5 times a power of ten, about the smallest count told."""
    tens = 10 ** (len(str(min_cell - 1)) - 1)
    return next(step * tens for step in (1, 2, 5, 10) if step * tens >= min_cell - 1)


def rounded(n: float, min_cell: int) -> Rounded:
    """A count to the nearest full step, halves upwards."""
    step = grid(min_cell)
    return Rounded(step * int(n / step + 0.5))


def few_of(cells: np.ndarray, min_cell: int) -> np.ndarray:
    """Which cells are too small to print; an empty one tells nothing where its whole row is empty."""
    few: np.ndarray = (cells < min_cell) & (cells.sum(axis=-1, keepdims=True) > 0)
    return few


@dataclass(frozen=True)
class Hidden:
    """The one count of a few of a side: its part, its outcome and one that makes up for it."""

    part: int
    outcome: int
    other: int

    @classmethod
    def of(cls, sides: np.ndarray, min_cell: int) -> Hidden | None:
        """Of cells (2, n_outcomes) inside and outside; None if others may be small, too."""
        places, most = np.argwhere(few_of(sides, min_cell)), min_cell - 1
        if len(places) != 1 or sides.shape[1] < 2:
            return None
        part, outcome = (int(i) for i in places[0])
        whole = sides.sum(axis=0)
        # Of what is told, so that it is the same whatever the count is.
        other = int(np.argmax(np.where(np.arange(len(whole)) == outcome, -1, whole)))
        pair, empty = sides[part, [outcome, other]].sum(), not sides[1 - part].any()
        enough = empty or (whole[outcome] - most >= min_cell and whole[other] - pair >= min_cell)
        return cls(part, outcome, other) if enough and pair - most >= min_cell else None

    def told(self, sides: np.ndarray, min_cell: int) -> tuple[dict[int, Any], dict[int, Any]]:
        """What is told of both outcomes inside and of everybody, as of half of the smallest count."""
        places, half = (self.outcome, self.other), min_cell // 2
        whole, own = sides.sum(axis=0), dict.fromkeys(places, float(half))
        own[self.other] = sides[self.part, list(places)].sum() - half
        roughly = {j: rounded(n, min_cell) for j, n in own.items()} | {self.outcome: None}
        if not sides[1 - self.part].any():
            return ({} if self.part else roughly), roughly
        if self.part == 0:
            return roughly, {}
        return {j: rounded(whole[j] - n, min_cell) for j, n in own.items()}, {}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How the numbers that add up are printed.

    ``has_table`` says whether the counts of the search told first are among them, and
    ``open_totals`` whether the size of everybody compared is no secret.
    """

    sums: Mapping[Name, int | None]
    has_table: bool
    open_totals: bool

    def told(self, name: Name) -> bool:
        """Whether a sum is printed as it is; one that adds up to nothing else is."""
        return is_exact(self.sums.get(name, 0))

    def count(self, name: Name, n: float) -> int | None:
        """The sum as it is printed."""
        return self.sums.get(name, int(n))


def choose(result: AuditRecord, shown: Violation | None, min_cell: int) -> Kept:
    """Choose what is printed of the tables and totals that add up to each other."""
    left_out = {reason: known(n) for reason, n in result.excluded.items()}
    sums: dict[Name, int | None] = {
        ("excluded", reason): None if _few(n, min_cell) else n for reason, n in left_out.items()
    }
    table = None if shown is None else _read_table(shown)
    learned = np.zeros((2, 2))
    if table is not None:
        *cells, learned = table
        sums |= _told_table(np.array(cells), learned, min_cell)
    if shown is not None:
        rest = _elsewhere(result, shown, left_out, learned)
        few = [n for n in rest if _few(n, min_cell)]
        if few:
            given = known(result.n_samples) - sum(few) + len(few) * (min_cell // 2)
            sums["n_samples"] = rounded(given, min_cell)
    few_left_out = _few(list(left_out.values()), min_cell)
    # With rows left out, the sizes of everybody compared give each other away.
    open_totals = is_exact(sums.get("n_all", 0)) and not few_left_out
    return Kept(sums=sums, has_table=table is not None, open_totals=open_totals)


def _elsewhere(
    result: AuditRecord, shown: Violation, left_out: Mapping[str, int], learned: np.ndarray
) -> list[float]:
    """Rows given but not compared: left out, learned from, or of another value than the two.

    Empty where rows stand for several, and do not add up to those given.
    """
    name = f"({shown.sensitive_feature}={shown.group})"
    own = [
        n
        for reason, n in left_out.items()
        if n and (name in reason or "=" not in reason.rpartition("(")[2])
    ]
    parts = [*own, *learned.ravel().tolist()]
    n_compared = known(shown.population.n_rows)
    rest = known(result.n_samples) - n_compared - sum(parts)
    return [*parts, rest] if n_compared and rest >= 0 else []


def _told_table(cells: np.ndarray, learned: np.ndarray, min_cell: int) -> dict[Name, Any]:
    """What is told of cells (2, 2, n_outcomes) inside and outside by side, and of their sums.

    A side with one count of a few tells roughly what makes up for it. Where others may be few as
    well none of its cells inside is told, and of neither side if the side itself may be.
    """
    told: dict[Name, Any] = {}
    whole, few = cells.sum(axis=0), np.any(few_of(cells, min_cell), axis=(0, 2)).tolist()
    hidden = [Hidden.of(cells[:, i], min_cell) for i in (0, 1)]
    sizes, is_open = cells.sum(axis=2), [not few[i] or hidden[i] is not None for i in (0, 1)]
    thin = [not is_open[i] and _few(sizes[:, i], 2 * min_cell - 1) for i in (0, 1)]
    sides_told = not any(thin) and not _few(learned, min_cell)
    all_sides_told = not _few(whole.sum(axis=1), min_cell)
    for i, found in enumerate(hidden):
        inside = is_open[i] and not any(thin)
        everybody = inside or (all_sides_told and not few_of(whole[i], min_cell).any())
        for j in range(cells.shape[2]):
            told["in", i, j] = int(cells[0, i, j]) if inside else None
            told["all", i, j] = int(whole[i, j]) if everybody else None
        if inside and found:
            for part, own in zip(("in", "all"), found.told(cells[:, i], min_cell), strict=True):
                told |= {(part, i, j): n for j, n in own.items()}
        rows, of_all = sizes[0, i] + learned[0, i], sizes[:, i].sum() + learned[:, i].sum()
        told["rows", i] = int(rows) if sides_told else None
        all_told = all_sides_told and not _few(learned, min_cell)
        told["rows of all", i] = int(of_all) if all_told else None
    n, n_all = int(sizes[0].sum()), int(sizes.sum())
    return told | {"n_all": n_all, "n_rows": None if _few([n, n_all - n], min_cell) else n}


def _few(counts: Any, min_cell: int) -> bool:
    """Whether any of these is of a few people."""
    return any(0 < n < min_cell for n in np.ravel(counts))


def _read_table(violation: Violation) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Rows by sensitive value and outcome, in the subgroup and outside; and those learned from.

    The last, in the subgroup and outside by sensitive value, are rows of the profile beyond the
    counted ones: a hold-out's models learned from them. None if the counts are not known.
    """
    counts, whole = violation.counts, violation.population.counts
    if counts.empty or counts.shape[0] != 2 or whole.shape != counts.shape:
        return None
    inside, everybody = counts.to_numpy(dtype=float), whole.to_numpy(dtype=float)
    outside = everybody - inside
    if (outside < 0).any():
        return None
    rows = profiled_rows(violation.profile)
    if rows is None:
        return inside, outside, np.zeros((2, 2))
    learned = np.array([rows[1] - inside.sum(axis=1), rows[0] - rows[1] - outside.sum(axis=1)])
    add_up = bool(np.isfinite(learned).all() and (learned >= 0).all())
    return inside, outside, learned if add_up else np.zeros((2, 2))


def profile_columns(profile: pd.DataFrame) -> list[list[int]] | None:
    """Columns of population and subgroup, by sensitive value; None if the layout is unknown."""
    if profile.empty or profile.index.nlevels != 3 or profile.columns.nlevels != 2:
        return None
    parts = [str(label[0]) for label in profile.columns]
    own = [[i for i, p in enumerate(parts) if p == part] for part in PARTS]
    known_layout = str(profile.index[0][0]) == ROWS and [len(columns) for columns in own] == [2, 2]
    return own if known_layout else None


def profiled_rows(profile: pd.DataFrame) -> np.ndarray | None:
    """Rows that a profile counts, of population and subgroup by sensitive value."""
    own = profile_columns(profile)
    return None if own is None else profile.iloc[0].to_numpy(dtype=float)[np.array(own)]
