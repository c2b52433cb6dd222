"""Exact repeats of rows that are copies of one person, told from chance without ids.

Where columns are fine, two people are hardly ever equal, and even two equal rows are copies. Where
they are coarse many people are equal, and nothing can be told. In between, how many others would be
equal to a row by chance is estimated from the rows that differ from it. All that is uncertain there
is decided for chance: what is called a copy is one, and some copies are not called so. Outcomes are
not looked at: those of one person, asked twice, may differ.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import poisson

from mdfa_fairness_plugin.data.columns import Labels
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.order import Ranking
from mdfa_fairness_plugin.exceptions import Count, RepeatedRowsWarning, WarningLog

# Chance may explain this share of what is called copies, and must be this unlikely to explain all.
_LEVEL = 0.05
# Of the likeliest among them it may explain more: half would be fair, were it never underestimated. On
# real tables and made-up ones without copies, it was by a factor of four at the most.
_LEVEL_OF_LIKELIEST = 0.2
# All pairs of columns are looked at. With these, a million rows keep their 14 most telling columns
# apart from each other and 50,000 rows 64, which takes ten seconds at most.
_MOST_PAIRED_VALUES, _MOST_COLUMNS = 2 * 10**8, 64
# Rows on which columns are seen to follow from others; that takes some tens of them.
_MOST_ROWS_COMPARED = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Copies:
    """Rows that are copies of others."""

    unit: np.ndarray  # int of shape (n_rows,): copies share one, every other row has its own
    n_repeats: int  # rows beyond the first of each set of copies
    example: tuple[int, int]  # two rows that are copies of each other

    @property
    def share(self) -> float:
        """Share of rows that repeat another one."""
        return self.n_repeats / len(self.unit)

    def warn(self, source_row: np.ndarray, log: WarningLog) -> None:
        """Say how many, and what to do; `source_row` is the input row each row is."""
        one, other = sorted(int(source_row[row]) for row in self.example)
        log.warn(
            RepeatedRowsWarning,
            "X: ",
            Count(self.n_repeats, of=len(self.unit)),
            f" repeat another row exactly, in features and groups (as row {other} of the input does "
            f"row {one}), which chance does not explain. Equal rows count as one person. "
            "Pass clusters= to say whose each row is; an id of its own per row says that equal rows "
            "are different people.",
        )


class RowColumns(Sequence[np.ndarray]):
    """All a row says of a person, as numbers and codes: columns, made when looked at, and labels."""

    def __init__(
        self, table: Table, labels: Sequence[Labels], left_out: Container[Hashable]
    ) -> None:
        self._table = table
        self._labels = labels
        # A text of which hardly any two rows have the same is an id; one of a row hides copies.
        self._places = [
            place
            for place, name in enumerate(table.names)
            if name not in left_out or table.typed(place).labels is None
        ]

    def __len__(self) -> int:
        return len(self._places) + len(self._labels)

    def __getitem__(self, place: Any) -> Any:
        if place >= len(self._places):
            return self._labels[place - len(self._places)].codes
        return self._table.typed(self._places[place]).keys


def find_copies(columns: Sequence[np.ndarray]) -> Copies | None:
    """Find rows that are equal in all columns (codes or numbers) and hardly so by chance."""
    group = _equal_rows(columns)
    if group is None:
        return None
    first, counts = np.unique(group, return_index=True, return_counts=True)[1:]
    levels = _without_determined(_telling(columns, first, counts), counts)
    copied = _beyond_chance(_others_by_chance(levels, counts), counts)
    if not copied.any():
        return None
    rows = np.flatnonzero(copied[group])
    owner = np.arange(len(group))
    owner[rows] = first[group[rows]]
    one, other = np.flatnonzero(group == group[rows[0]])[:2].tolist()
    unit, n = np.unique(owner, return_inverse=True)[1], int((counts[copied] - 1).sum())
    return Copies(unit=unit, n_repeats=n, example=(one, other))


def _equal_rows(columns: Sequence[np.ndarray]) -> np.ndarray | None:
    """Which rows are equal, shape (n_rows,); None if no two are."""
    rank = Ranking(len(columns[0]))
    for column in columns:
        for key in _without_nan(column):
            rank.refine(key)
        if rank.complete:
            return None
    group = rank.dense()
    return None if rank.complete else group


def _without_nan(column: np.ndarray) -> Iterator[np.ndarray]:
    """The column as keys in which every value is equal to itself."""
    missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if missing.any():
        yield missing
        column = np.where(missing, 0.0, column)
    yield column


def _telling(
    columns: Sequence[np.ndarray], first: np.ndarray, counts: np.ndarray
) -> list[np.ndarray]:
    """Levels of the columns that tell most rows apart, these first; recodings of others left out.

    Where there are too many, the least telling are one: the levels they have together.
    """
    keys = [_agreement(_levels(column[first]), counts) for column in columns]
    most = min(_MOST_COLUMNS, max(2, math.isqrt(_MOST_PAIRED_VALUES // len(first))))
    kept: list[np.ndarray] = []
    rest = np.zeros(len(first), dtype=np.int64)
    for place in sorted(range(len(columns)), key=keys.__getitem__):
        levels = _levels(columns[place][first])
        if len(kept) == most:
            rest = _joint(rest, levels)
        elif levels.any() and not any(np.array_equal(levels, one) for one in kept):
            kept.append(levels)
    if rest.any():
        kept.append(_levels(rest))
    return sorted(kept, key=lambda levels: _agreement(levels, counts))


def _agreement(levels: np.ndarray, counts: np.ndarray) -> tuple[int, int]:
    """How many pairs, and triples, of rows agree in a column."""
    held = np.bincount(levels, counts).astype(np.int64)
    return int((held**2).sum()), int((held**3).sum())


def _levels(values: np.ndarray) -> np.ndarray:
    """Number values by their first appearance."""
    return pd.factorize(values, use_na_sentinel=False)[0].astype(np.int32)


def _joint(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Levels of two columns taken together, hardly more of them than rows."""
    size = int(other.max()) + 1
    joint = one.astype(np.int64) * size + other
    return joint if (int(one.max()) + 1) * size <= 2 * len(one) else _levels(joint)


def _without_determined(levels: list[np.ndarray], counts: np.ndarray) -> list[np.ndarray]:
    """Leave out columns that follow from two others, as a total does: they tell nothing more.

    A column does if it never differs where both others are equal, though by chance it would have.
    """
    if not levels:
        return []
    table = np.array([one[:_MOST_ROWS_COMPARED] for one in levels])
    differ = [1 - ((np.bincount(one, counts) / counts.sum()) ** 2).sum() for one in levels]
    # So many are expected to differ that none does by chance in any of the comparisons.
    needed = math.log(len(levels) ** 3 / _LEVEL)
    sources: list[list[tuple[int, int]]] = [[] for _ in levels]
    rows = np.arange(table.shape[1])
    for pair in combinations_with_replacement(range(len(levels)), 2):
        joint = _joint(table[pair[0]], table[pair[1]])
        first = np.empty(int(joint.max()) + 1, dtype=np.intp)
        first[joint[::-1]] = rows[::-1]
        first = first[joint]
        again = np.flatnonzero(first != rows)
        some = again[:1000]  # Most differ there.
        agreeing = (table[:, some] == table[:, first[some]]).all(axis=1)
        for place in np.flatnonzero(agreeing).tolist():
            known = place in pair or len(again) * differ[place] < needed
            if not known and (table[place, again] == table[place, first[again]]).all():
                sources[place].append(pair)
    kept = set(range(len(levels)))
    for place, pairs in enumerate(sources):
        if any(kept.issuperset(pair) for pair in pairs):
            kept.remove(place)
    return [levels[place] for place in sorted(kept)]


def _others_by_chance(levels: list[np.ndarray], counts: np.ndarray) -> np.ndarray:
    """How many other people are expected to equal each distinct row, rather too many than too few.

    Taken are the people who share the coarsest columns with it, as many of these as makes a repeat
    likeliest; and for every other column the share who have its value among all who have whichever
    of its rarer values makes that likeliest. People equal to the row itself are never counted.
    """
    alone = [_share_of_others(one, counts) for one in levels]
    held = [_others(one, counts) for one in levels]
    share = np.array(alone).reshape(len(levels), len(counts))
    for a, b in combinations(range(len(levels)), 2):
        both = _others(_joint(levels[a], levels[b]), counts)
        a_rarer = held[a] <= held[b]
        # One more person, who is like all: a single one with a rare value says little.
        np.maximum(share[b], (both + alone[b]) / (held[a] + 1), out=share[b], where=a_rarer)
        np.maximum(share[a], (both + alone[a]) / (held[b] + 1), out=share[a], where=~a_rarer)
    left = np.cumprod(share, axis=0)
    chance = np.full(len(counts), float(counts.sum())) * (left[-1] if len(left) else 1.0)
    context = np.zeros(len(counts), dtype=np.int32)
    for place in reversed(range(len(levels))):
        context = _joint(context, levels[place])
        people = _others(context, counts)
        if not people.any():
            break
        np.maximum(chance, people * (left[place - 1] if place else 1.0), out=chance)
    return chance


def _others(levels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Rows that share each distinct row's level, those equal to it left out."""
    return np.bincount(levels, counts)[levels] - counts


def _share_of_others(levels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Share of others who have each distinct row's level."""
    others = _others(levels, counts)
    once, twice = np.bincount(np.bincount(levels), minlength=3)[1:3]
    # Good and Turing: how common values are that were seen once, at most what once is in all.
    unseen = min(2 * (twice + 1) / max(once, 1), 1.0) / len(counts)
    return np.where(others > 0, others / np.maximum(counts.sum() - counts, 1), unseen)


def _beyond_chance(chance: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Which distinct rows have copies: those least likely by chance, as far as it explains few.

    The fewer of all repeats these are, the less may chance explain: it is estimated worst for the few
    that are least likely.
    """
    by_chance = np.argsort(chance, kind="stable")
    ordered = chance[by_chance]
    cuts = np.unique(np.searchsorted(ordered, chance[counts > 1], side="right") - 1)
    expected = np.cumsum(ordered)[cuts]
    found = np.cumsum(counts[by_chance] - 1)[cuts]
    unlikely = poisson.sf(found - 1, expected) <= _LEVEL / len(cuts)
    beyond = unlikely & (expected <= _LEVEL * found * (found / found[-1]))
    if not beyond.any():
        return np.zeros(len(counts), dtype=bool)
    gain = np.where(beyond, _LEVEL_OF_LIKELIEST * found - expected, -np.inf)
    return (counts > 1) & (chance <= ordered[cuts[np.argmax(gain)]])
