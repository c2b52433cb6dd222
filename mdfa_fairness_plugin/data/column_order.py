"""An order of columns by what they hold, not by where they stand or what they are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.columns import Labels

# Numbers looked at together: they stay in the processor's cache.
_AT_A_TIME = 2**15


def column_order(
    column: Callable[[int], np.ndarray],
    kinds: Sequence[Hashable],
    sensitive: Sequence[Labels],
    outcome: Labels,
    weight: np.ndarray,
) -> np.ndarray:
    """Columns by content alone; those that nothing tells apart, twins for instance, as they came.

    ``column`` gives one of ``len(kinds)`` columns, without NaN. More and more is looked at, and only
    of those that still tie: their range, fractions first and 0/1 columns last, so that few columns
    sort the rows; their values in whatever order; their kind; their values by outcome and sensitive
    value. The rest takes colour refinement: rows by the columns they have which values of, columns by
    the rows that have their values. Labels count by how many and which rows have them.
    """
    n = len(kinds)
    classes = [0] * n

    def cut(key: Callable[[int], Any]) -> list[int]:
        """Classes of columns, those of several cut by a key."""
        sizes = Counter(classes)
        keys = [(own, key(i) if sizes[own] > 1 else None) for i, own in enumerate(classes)]
        rank = {own: place for place, own in enumerate(sorted(set(keys)))}
        return [rank[own] for own in keys]

    for cheap in (lambda i: _range(column(i)), lambda i: _values(column(i)), lambda i: kinds[i]):
        classes = cut(cheap)
    classes = cut(_twins(classes, column))
    if len(set(classes)) == n:
        return np.argsort(classes)
    weight = np.unique(weight, return_inverse=True)[1]  # equal ones stay equal, however scaled
    rows = _by_labels(np.zeros(len(weight), dtype=np.uint64), weight, (outcome, *sensitive))

    def by_rows(i: int) -> int:
        """Number that stands for a column's values with the colours of their rows."""
        return _multiset(column(i), rows)

    classes = cut(by_rows)
    found = 0, 0
    while len(set(classes)) < n:
        for i, own in enumerate(classes):
            for part, values in _bits(column(i)):
                rows[part] += _mixed(values + _mixed(np.array([own], dtype=np.uint64)))
        rows = _by_labels(rows, weight, (outcome, *sensitive))
        classes = cut(by_rows)
        classes = cut(_twins(classes, column))
        before, found = found, (len(set(classes)), len(np.unique(rows)))
        if found == before:
            classes = cut(_one_first(classes))
    return np.argsort(classes)


def _twins(classes: Sequence[int], column: Callable[[int], np.ndarray]) -> Callable[[int], int]:
    """Position of columns that are equal, row by row, to all others of their class; else 0."""
    alike: dict[int, bool] = {}
    for i, own in enumerate(classes):
        first = classes.index(own)
        if i != first and alike.get(own, True):
            alike[own] = np.array_equal(column(i), column(first))
    return lambda i: i if alike.get(classes[i]) else 0


def _one_first(classes: Sequence[int]) -> Callable[[int], int]:
    """Tell one of the first class of several apart: nothing does, and any may be the one."""
    first = classes.index(min(own for own, size in Counter(classes).items() if size > 1))
    return lambda i: int(i != first)


def _range(values: np.ndarray) -> tuple[bool, bool, float, float]:
    """Whether all values are whole, whether they go from 0 to 1, and the ends, large ones first."""
    values = np.ascontiguousarray(values)
    low, high = float(values.min()), float(values.max())
    whole = values.dtype == bool or all(
        (values[part] == np.floor(values[part])).all() for part in _parts(len(values))
    )
    return whole, (low, high) == (0.0, 1.0), -high, low


def _values(values: np.ndarray) -> tuple[int, int, int]:
    """Rows at either end, and what stands for the values if there are others."""
    values = np.ascontiguousarray(values)
    highest = int(np.count_nonzero(values == values.max()))
    lowest = int(np.count_nonzero(values == values.min()))
    return highest, lowest, 0 if highest + lowest >= len(values) else _multiset(values)


def _multiset(values: np.ndarray, rows: np.ndarray | None = None) -> int:
    """Number that stands for values, with the colours of their rows, in whatever order they come."""
    total = 0
    for part, bits in _bits(values):
        total += int(_mixed(bits if rows is None else bits + rows[part]).sum())
    return total % 2**64


def _bits(values: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Values as the whole numbers their bits are, some at a time; without negative zeros."""
    for part in _parts(len(values)):
        yield part, (values[part] + np.float64(0.0)).view(np.uint64)


def _parts(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + _AT_A_TIME) for start in range(0, n_rows, _AT_A_TIME))


def _by_labels(rows: np.ndarray, weight: np.ndarray, labels: Sequence[Labels]) -> np.ndarray:
    """Colours of rows, told apart further by their weights and by the rows that share a label."""
    found = _mixed(rows + _mixed(weight.astype(np.uint64)))
    own = found.copy()
    for place, one in enumerate(labels):
        sums = np.zeros(len(one.values) + 1, dtype=np.uint64)  # the last of missing labels
        np.add.at(sums, one.codes, own)
        # The outcome comes first; sensitive columns count alike.
        found += _mixed(sums + np.uint64(place > 0))[one.codes]
    return found


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Well-mixed numbers, equal for equal ones (the last steps of SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits
