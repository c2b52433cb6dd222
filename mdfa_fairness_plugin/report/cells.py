"""Which sums of counts may be printed, so that no count of a few people can be worked out.

Counts below a smallest one are withheld (primary suppression). A sum from which one of them could be
worked out (complementary suppression) is rounded if that is enough, and else withheld too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from mdfa_fairness_plugin.describe.profile import PARTS, ROWS
from mdfa_fairness_plugin.fields import Rounded, known
from mdfa_fairness_plugin.records import AuditRecord, Violation

# A count, or a sum of counts, by the name it was entered with.
Name = Hashable


_SLACK: Final = 1e-9
# How a sum is printed.
WITHHELD, ROUNDED, EXACT = 0, 1, 2


def grid(min_cell: int) -> int:
    """What counts are rounded to: 1, 2 or 5 times a power of ten, at least twice the smallest told."""
    tens = 10 ** math.floor(math.log10(2 * min_cell))
    return next(step * tens for step in (1, 2, 5, 10) if step * tens >= 2 * min_cell)


def rounded(n: float, step: int) -> Rounded:
    """A count to the nearest full step, halves upwards."""
    return Rounded(step * math.floor(n / step + 0.5))


def block(n: float, width: int) -> tuple[int, int]:
    """Numbers that are not told apart: 0 to one less than the width, and so on."""
    first = width * int(n // width)
    return first, first + width - 1


def keep_safe(
    atoms: np.ndarray, printed: np.ndarray, protected: np.ndarray, min_cell: int
) -> np.ndarray:
    """Choose how sums are printed so that no protected one can be worked out.

    Shapes: ``atoms`` (n_atoms,); ``printed`` (n_printed, n_atoms); ``protected`` (n_protected,
    n_atoms); returns (n_printed,), each withheld, rounded or exact.

    Whoever knows the printed sums, and that counts are not negative, must find each protected sum
    possible over a range at least ``min_cell`` wide that reaches up to ``min_cell``: linear
    programs give the range. Sums are dropped, the smallest first, until that holds, and then put
    back, or back rounded, where they do no harm.
    """
    values, step = printed @ atoms, grid(min_cell)
    is_protected = np.array(
        [any(np.array_equal(row, other) for other in protected) for row in printed], dtype=bool
    )
    keep = np.where(is_protected, WITHHELD, EXACT)
    order = np.argsort(values, kind="stable")
    rough = step * np.floor(values / step + 0.5)

    def open_still(target: np.ndarray, kept: np.ndarray) -> bool:
        told, exact = kept > WITHHELD, kept[kept > WITHHELD] == EXACT
        low = np.where(exact, values[told], rough[told] - step // 2)
        high = np.where(exact, values[told], rough[told] + (step - 1) // 2)
        return _uncertain(target, printed[told], low, high, min_cell)

    def exposed(kept: np.ndarray) -> np.ndarray | None:
        return next((target for target in protected if not open_still(target, kept)), None)

    while keep.any() and (target := exposed(keep)) is not None:
        candidates = [i for i in order if keep[i]]
        chosen = candidates[0]
        for i in candidates:
            without = keep.copy()
            without[i] = WITHHELD
            if open_still(target, without):
                chosen = i
                break
        keep[chosen] = WITHHELD
    for how in (EXACT, ROUNDED):
        for i in order[::-1]:
            if keep[i] or is_protected[i] or (how == ROUNDED and rough[i] < step):
                continue
            keep[i] = how
            if exposed(keep) is not None:
                keep[i] = WITHHELD
    return keep


def _uncertain(
    target: np.ndarray, known: np.ndarray, low: np.ndarray, high: np.ndarray, min_cell: int
) -> bool:
    """Whether a sum stays open over a range wide enough, given between what the known ones are."""
    if len(known) == 0:
        return True
    ends, rows = [], known.astype(float)
    for sign in (1.0, -1.0):
        solved = linprog(
            sign * target.astype(float),
            A_ub=np.vstack([rows, -rows]),
            b_ub=np.concatenate([high, -low]) + _SLACK,
            bounds=(0, None),
            method="highs",
        )
        if solved.status == 3:  # unbounded
            ends.append(-sign * math.inf)
        elif solved.success:
            ends.append(sign * float(solved.fun))
        else:
            return False
    least, most = ends
    return most - least >= min_cell - 1e-6 and most >= min_cell - 1e-6


class Sums:
    """Counts, and the sums of them that are to be printed or protected."""

    def __init__(self, min_cell: int) -> None:
        self.min_cell = min_cell
        self.atoms: dict[Name, int] = {}
        self._printed: dict[Name, Sequence[Name]] = {}
        self._protected: list[Sequence[Name]] = []

    def atom(self, name: Name, n: int, *, printed: bool = False, zero: bool = False) -> None:
        """Add a count; ``zero`` protects it even if it is 0."""
        self.atoms[name] = n
        self.protect([name], zero=zero)
        if printed:
            self._printed[name] = [name]

    def printed(self, name: Name, parts: Sequence[Name], *, zero: bool = False) -> None:
        """Add a sum that is to be printed."""
        self._printed[name] = parts
        self.protect(parts, zero=zero)

    def protect(self, parts: Sequence[Name], *, zero: bool = False) -> None:
        """Protect a sum if it is small."""
        n = sum(self.atoms[part] for part in parts)
        if 0 < n < self.min_cell or (zero and n == 0):
            self._protected.append(parts)

    def solve(self) -> dict[Name, int]:
        """How each sum may be printed."""
        if not self._protected:
            return dict.fromkeys(self._printed, EXACT)
        values = np.array(list(self.atoms.values()), dtype=float)
        protected = np.unique(self._rows(self._protected), axis=0)
        printed = self._rows(list(self._printed.values()))
        keep = keep_safe(values, printed, protected, self.min_cell)
        return {name: int(k) for name, k in zip(self._printed, keep, strict=True)}

    def _rows(self, sums: Sequence[Sequence[Name]]) -> np.ndarray:
        """Atoms in each sum, as a row of bool."""
        cells = [[name in parts for name in self.atoms] for parts in sums]
        return np.array(cells, dtype=bool).reshape(len(sums), len(self.atoms))


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Which of the numbers that add up are printed.

    ``has_table`` says whether the counts of the search told first are among them, and
    ``open_totals`` whether the size of everybody compared is no secret.
    """

    sums: Mapping[Name, int]
    has_table: bool
    open_totals: bool
    min_cell: int

    def told(self, name: Name) -> bool:
        """Whether a sum is printed as it is; one that adds up to nothing else is."""
        return self.sums.get(name, EXACT) == EXACT

    def count(self, name: Name, n: float) -> int | None:
        """The sum as it is printed."""
        how = self.sums.get(name, EXACT)
        step = grid(self.min_cell)
        return int(n) if how == EXACT else rounded(n, step) if how == ROUNDED else None

    def ends(self, name: Name, n: float) -> tuple[int, int]:
        """Between which numbers a cell may lie for all that is printed of it; see ``block``."""
        if self.told(name):
            return int(n), int(n)
        middle, step = self.count(name, n), grid(self.min_cell)
        if middle is None:
            return block(n, self.min_cell)
        return int(middle) - step // 2, int(middle) + (step - 1) // 2


def choose(result: AuditRecord, shown: Violation | None, min_cell: int) -> Kept:
    """Choose what is printed of the tables and totals that add up to each other."""
    sums = Sums(min_cell)
    left_out = {reason: known(n) for reason, n in result.excluded.items()}
    for reason, n in left_out.items():
        sums.atom(("excluded", reason), n, printed=True)
    table = None if shown is None else _read_table(shown)
    if shown is not None:
        compared = _enter_table(sums, *table) if table is not None else []
        _add_up(sums, result, shown, left_out, compared)
    kept = sums.solve()
    # With rows left out, the sizes of everybody compared give each other away.
    few_left_out = any(0 < n < min_cell for n in left_out.values())
    return Kept(
        sums=kept,
        has_table=table is not None,
        open_totals=kept.get("n_all", EXACT) == EXACT and not few_left_out,
        min_cell=min_cell,
    )


def _add_up(
    sums: Sums,
    result: AuditRecord,
    shown: Violation,
    left_out: Mapping[str, int],
    compared: list[Name],
) -> None:
    """Rows given = rows compared + rows left out, where that is so: one side gives the other."""
    name = f"({shown.sensitive_feature}={shown.group})"
    reasons = [
        reason
        for reason, n in left_out.items()
        if n and (name in reason or "=" not in reason.rpartition("(")[2])
    ]
    n_whole = known(shown.population.n_rows)
    n_compared = sum(sums.atoms[atom] for atom in compared) if compared else n_whole
    rest = known(result.n_samples) - n_compared - sum(left_out[reason] for reason in reasons)
    if rest < 0:
        # Rows that stand for several do not add up to the rows given.
        return
    parts: list[Name] = [("excluded", reason) for reason in reasons]
    if rest > 0:
        # Rows with another value than the two compared, or that the models learned from.
        sums.atom("rest", rest)
        parts.append("rest")
    if not compared and n_compared > 0:
        sums.atom("compared", n_compared)
        compared = ["compared"]
    if compared:
        sums.printed("n_samples", [*parts, *compared])


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


def _enter_table(
    sums: Sums, inside: np.ndarray, outside: np.ndarray, learned: np.ndarray
) -> list[Name]:
    """Enter the cells, their totals and what is printed of them; give the atoms of everybody."""
    n_sides, n_outcomes = inside.shape
    sides, outcomes = range(n_sides), range(n_outcomes)
    for part, cells in (("in", inside), ("out", outside)):
        for i in sides:
            # An empty cell of a row tells everybody's outcome there.
            telling = cells[i].sum() > 0
            for j in outcomes:
                sums.atom((part, i, j), int(cells[i, j]), printed=part == "in", zero=telling)
    learning: list[Name] = []
    if learned.any():  # after cross-fitting there are none, and everybody knows
        for part, n in zip(("in", "out"), learned, strict=True):
            for i in sides:
                learning.append(("learning", part, i))
                sums.atom(learning[-1], int(n[i]))
    for i in sides:
        some = bool(inside[i].sum() + outside[i].sum() > 0)
        for j in outcomes:
            sums.printed(("all", i, j), [("in", i, j), ("out", i, j)], zero=some)
    for i in sides:
        own, rest = ([(part, i, j) for j in outcomes] for part in ("in", "out"))
        extra = [name for name in learning if name[2] == i]  # type: ignore[index]
        sums.printed(("rows", i), [*own, *extra[:1]])
        sums.printed(("rows of all", i), [*own, *rest, *extra])
        sums.protect(own)
        sums.protect(rest)
        sums.protect([*own, *rest])
        sums.protect([*rest, *extra[1:]])
    own, rest = ([(part, i, j) for i in sides for j in outcomes] for part in ("in", "out"))
    sums.printed("n_rows", own)
    sums.printed("n_all", [*own, *rest])
    sums.protect(rest)
    return [*own, *rest, *learning]
