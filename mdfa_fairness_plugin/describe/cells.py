"""Rows cut into few cells by one or several subgroups, and what a pass over a column says of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

# Rows looked at together: temporary arrays stay small and in the processor's cache.
_BLOCK: Final = 1 << 16
# Subgroups share cells while there are no more than this, and one table counts cells by codes while
# it has no more entries than this.
_MOST_CELLS: Final = 512
_MOST_ENTRIES: Final = 1 << 16
# Where a row is, for one subgroup: of the audited value inside (1) or outside (2), of the other value
# inside (3) or outside (4), or taking no part (0).
N_PLACES: Final = 5
_MOST_WHOLE: Final = 2.0**53  # floats beyond are further apart than whole numbers


def unequal(weights: np.ndarray | None) -> np.ndarray | None:
    """Give sampling weights as floats; None if all rows count alike."""
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=float)
    return weights if len(weights) and np.ptp(weights) > 0 else None


def row_blocks(n: int) -> Iterator[slice]:
    """Consecutive rows, a few at a time."""
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


def tally(codes: np.ndarray, n_codes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Rows with each of few codes, or their weight."""
    total = np.zeros(n_codes, dtype=np.int64 if weights is None else np.float64)
    for block in row_blocks(len(codes)):
        weight = None if weights is None else weights[block]
        total += np.bincount(codes[block], weight, minlength=n_codes)
    return total


class Cells:
    """Rows cut into cells, in each of which rows are at one place for every subgroup."""

    def __init__(self, n_rows: int) -> None:
        self.of_row = np.zeros(n_rows, dtype=np.int16)  # cell of each row
        # Place of the rows of a cell for each subgroup, (n_subgroups, n_cells); see ``N_PLACES``.
        self.where = np.zeros((0, 1), dtype=np.int8)

    @property
    def n_cells(self) -> int:
        """Cells with any row."""
        return self.where.shape[1]

    def add(self, s: np.ndarray, membership: np.ndarray) -> bool:
        """Cut by one more subgroup, unless that makes too many cells; the first is always taken.

        ``s`` is +1, -1 or, for rows taking no part, 0. Returns whether it was done.
        """
        s, outside = np.asarray(s), ~np.asarray(membership, dtype=bool)
        place = (s == 1).astype(np.int8)
        place += 3 * (s == -1).astype(np.int8)
        place += outside & (place > 0)
        cut = N_PLACES * self.of_row + place
        occupied = np.flatnonzero(tally(cut, N_PLACES * self.n_cells))
        if len(occupied) == 0:  # no rows
            occupied = np.zeros(1, dtype=np.intp)
        if len(self.where) and len(occupied) > _MOST_CELLS:
            return False
        cell = np.zeros(N_PLACES * self.n_cells, dtype=np.int16)
        cell[occupied] = np.arange(len(occupied))
        self.of_row = cell[cut]
        self.where = np.vstack([self.where[:, occupied // N_PLACES], occupied % N_PLACES]).astype(
            np.int8
        )
        return True

    def by_place(self, of_cell: np.ndarray) -> Iterator[np.ndarray]:
        """Add up numbers of every cell by place, for each subgroup in turn."""
        for where in self.where:
            yield np.array([of_cell[where == place].sum(axis=0) for place in range(N_PLACES)])

    def counts(
        self, codes: np.ndarray, n_codes: int, of_row: np.ndarray, weights: np.ndarray | None = None
    ) -> Iterator[np.ndarray]:
        """Rows with each code by place, or their weight, (5, n_codes) for each subgroup in turn.

        ``of_row`` has the cells of the rows coded. Those taking no part may be left out.
        """
        n_entries = self.n_cells * n_codes
        if n_entries <= _MOST_ENTRIES:
            entry = of_row.astype(np.int32)
            entry *= n_codes
            entry += codes.astype(np.int32, copy=False)
            table = tally(entry, n_entries, weights)
            yield from self.by_place(table.reshape(self.n_cells, n_codes))
            return
        kind = np.int32 if weights is None else np.float64
        for where in self.where:
            here, table = where[of_row], np.zeros((N_PLACES, n_codes), dtype=kind)
            for place in range(1, N_PLACES):
                chosen = here == place
                weight = None if weights is None else weights[chosen]
                table[place] = np.bincount(codes[chosen], weight, minlength=n_codes)
            yield table


@dataclass(frozen=True, kw_only=True, eq=False)
class CellMoments:
    """Weighted sums over the rows of several sets, (n_sets,) each."""

    n: np.ndarray  # rows
    weight: np.ndarray
    squared_weight: np.ndarray
    mean: np.ndarray  # 0 where no row has a weight
    rest: np.ndarray  # what ``mean`` lacks for rounding; sets far from zero differ by little more
    squares: np.ndarray  # weighted, about the mean

    def together(self, sets: np.ndarray) -> CellMoments:
        """Moments of sets of these sets, given by a mask of shape (n_new, n_sets)."""
        # From the mean of one of them, not from zero: no digits are lost to a common offset.
        centre = self.mean[(sets & (self.weight > 0)).argmax(axis=1)]
        apart = self.mean - centre[:, None] + self.rest
        weight = np.where(sets, self.weight, 0.0).sum(axis=1)
        shift = ratio(np.where(sets, self.weight * apart, 0.0).sum(axis=1), weight, 0.0)
        mean = centre + shift
        squares = self.squares + self.weight * (apart - shift[:, None]) ** 2
        return CellMoments(
            n=np.where(sets, self.n, 0).sum(axis=1),
            weight=weight,
            squared_weight=np.where(sets, self.squared_weight, 0.0).sum(axis=1),
            mean=mean,
            rest=shift - (mean - centre),
            squares=_above_rounding(np.where(sets, squares, 0.0).sum(axis=1), weight, mean),
        )

    @property
    def means(self) -> np.ndarray:
        """Means; NaN without any weight."""
        return np.where(self.weight > 0, self.mean + self.rest, math.nan)

    @property
    def variances(self) -> np.ndarray:
        """Mean squares about the mean; NaN without any weight."""
        return ratio(self.squares, self.weight)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations; with equal weights, the usual ones with n - 1. NaN of one row."""
        freedom = self.weight - ratio(self.squared_weight, self.weight, 0.0)
        freedom[freedom <= 1e-9 * self.weight] = 0.0
        return np.sqrt(ratio(self.squares, freedom))


def _above_rounding(squares: np.ndarray, weight: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Squares without what is left of rounding where all values are equal."""
    return np.where(squares > weight * (4 * np.finfo(float).eps * mean) ** 2, squares, 0.0)


def ratio(above: np.ndarray, below: np.ndarray, otherwise: float = math.nan) -> np.ndarray:
    """Divide by what is above 0."""
    return np.divide(above, below, out=np.full(len(below), otherwise), where=below > 0)


def cell_moments(
    x: np.ndarray, of_row: np.ndarray, n_cells: int, weights: np.ndarray | None = None
) -> CellMoments:
    """Moments of the rows of every cell; ``x`` without missing values, ``of_row`` their cells.

    Two passes over blocks of rows. The second takes squares about the means of the first, and what
    these lack for rounding: a large offset costs no digits, and equal values have no spread.
    """
    n, weight, squared_weight, total, lack, squares = np.zeros((6, n_cells))
    for block in row_blocks(len(x)):
        cell, value = of_row[block].astype(np.intp), x[block]
        n += np.bincount(cell, minlength=n_cells)
        if weights is not None:
            w = weights[block]
            weight += np.bincount(cell, w, minlength=n_cells)
            squared_weight += np.bincount(cell, w * w, minlength=n_cells)
            value = w * value
        total += np.bincount(cell, value, minlength=n_cells)
    if weights is None:
        weight = squared_weight = n
    mean = ratio(total, weight, 0.0)
    for block in row_blocks(len(x)):
        cell = of_row[block].astype(np.intp)
        value = x[block] - mean[cell]
        weighted = value if weights is None else weights[block] * value
        lack += np.bincount(cell, weighted, minlength=n_cells)
        value *= weighted
        squares += np.bincount(cell, value, minlength=n_cells)
    rest = ratio(lack, weight, 0.0)
    return CellMoments(
        n=n,
        weight=weight,
        squared_weight=squared_weight,
        mean=mean,
        rest=rest,
        squares=_above_rounding(squares - weight * rest**2, weight, mean),
    )


def value_codes(x: np.ndarray) -> tuple[np.ndarray | None, int]:
    """Number the values that occur more than once: codes, None if there are none, and how many.

    ``x`` is without missing values; the code of values of one row only is ``n_codes``.
    """
    n = len(x)
    if n < 2:
        return None, 0
    low = float(x.min())
    span = float(x.max()) - low
    if span <= n and all_whole(x):
        # Whole numbers are counted in a table, which costs less than to sort.
        offset = (x - low).astype(np.int32)
        several = np.bincount(offset) > 1
        n_codes = int(several.sum())
        code = np.full(len(several), n_codes, dtype=np.int32)
        code[several] = np.arange(n_codes)
        return (code[offset], n_codes) if n_codes else (None, 0)
    ordered = np.sort(x)
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return None, 0
    first = same.copy()
    first[1:] &= ~same[:-1]
    repeated = ordered[:-1][first]
    del ordered, same, first
    codes = np.empty(n, dtype=np.int32)
    for block in row_blocks(n):
        place = np.searchsorted(repeated, x[block])
        place[repeated.take(place, mode="clip") != x[block]] = len(repeated)
        codes[block] = place
    return codes, len(repeated)


def all_whole(x: np.ndarray) -> bool:
    """Whether all numbers are whole, and small enough to differ from the next whole one."""
    if len(x) and max(-x.min(), x.max()) >= _MOST_WHOLE:
        return False
    return all(bool((x[block] == np.floor(x[block])).all()) for block in row_blocks(len(x)))


def value_counts(counts: np.ndarray) -> tuple[int, int, int]:
    """Distinct values, rows without the most frequent one, rows with the rarest one.

    ``counts`` has rows with each code of ``value_codes``.
    """
    several, n_alone = counts[:-1][counts[:-1] > 0], int(counts[-1])
    if len(several) == 0:
        return n_alone, max(n_alone - 1, 0), min(n_alone, 1)
    n = int(several.sum()) + n_alone
    rarest = 1 if n_alone else int(several.min())
    return len(several) + n_alone, n - int(several.max()), rarest


def values_counted(x: np.ndarray) -> tuple[int, int, int]:
    """The same of numbers themselves."""
    if len(x) == 0:
        return 0, 0, 0
    _, counts = np.unique(x, return_counts=True)
    return len(counts), len(x) - int(counts.max()), int(counts.min())
