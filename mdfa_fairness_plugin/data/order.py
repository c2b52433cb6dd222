"""An order of rows and a hash of the input that depend on their content alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.clusters import renumbered
from mdfa_fairness_plugin.data.columns import Labels, natural_order
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature

# Numbers hashed at a time: they stay in the processor's cache.
_HASHED_AT_A_TIME = 2**15


def canonical_order(
    encoded: Iterable[np.ndarray],
    columns: list[SensitiveFeature],
    labels: Labels,
    weight: np.ndarray,
    cluster: np.ndarray | None = None,
    levels: np.ndarray | None = None,
) -> np.ndarray:
    """Order of rows that depends on what they hold only.

    By encoded features first; then by sensitive values and outcomes, ranked by how many rows have
    them, then by which, so that calling them otherwise changes nothing, nor does giving sensitive
    columns in another order; then by weight, by levels that encoded features do not tell apart (by
    where their rows lie), and by the size of clusters and where their rows lie.
    """
    rank = Ranking(len(weight))
    for column in encoded:
        rank.refine(column)
        if rank.complete:
            return rank.order()
    place = rank.dense()
    sensitive = sorted(
        (column.labels for column in columns),
        key=lambda one: sorted(zip(*_use(one, place), strict=True)),
    )
    for one in (*sensitive, labels):
        rank.refine(_label_ranks(one, place))
    rank.refine(weight)
    for codes in () if levels is None else levels.T:
        rank.refine(_level_ranks(codes, rank.dense()))
    if cluster is not None:
        rank.refine(np.bincount(cluster)[cluster])
        rank.refine(np.bincount(cluster, rank.dense())[cluster])
        rank.refine(_level_ranks(cluster, rank.dense()))
    return rank.order()


def _label_ranks(labels: Labels, place: np.ndarray) -> np.ndarray:
    """Rank of each row's label by frequency, then by where its rows lie, then by name."""
    counts, where = _use(labels, place)
    by_name = natural_order(labels.values)
    order = sorted(by_name, key=lambda value: (counts[value], where[value]))
    return np.append(np.argsort(order), -1)[labels.codes]


def _level_ranks(codes: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Rank of each row's level by the places of its rows, whatever their order, then by its code.

    Levels, or clusters, whose rows have the same places hold the same.
    """
    # Levels of as many rows at places of the same sum are common; sums of random numbers are not.
    drawn = np.random.default_rng(0).integers(2**63, size=int(place.max()) + 1)
    mixed = np.zeros(int(codes.max()) + 2, dtype=np.int64)
    np.add.at(mixed, codes + 1, drawn[place])  # wraps around, so that no order matters
    return np.argsort(np.argsort(mixed, kind="stable"))[codes + 1]


def _use(labels: Labels, place: np.ndarray) -> tuple[list[int], list[float]]:
    """How many rows have each label, and the sum of their places."""
    known = labels.codes >= 0
    codes, weights = labels.codes[known], place[known].astype(np.float64)
    where = np.bincount(codes, weights=weights, minlength=len(labels.values))
    return labels.counts.tolist(), where.tolist()


class Ranking:
    """Lexicographic order of rows, refined key by key; stops when no ties are left.

    Keys of few values are combined in one integer, so that twenty binary columns cost one sort, and
    only rows that are still tied are looked at again.
    """

    def __init__(self, n_rows: int) -> None:
        self.complete = n_rows < 2
        # Rows in the order found so far, those tied in the order given, and where ties begin.
        self._order = np.arange(n_rows)
        self._begins = np.zeros(n_rows, dtype=bool)
        self._begins[:1] = True
        # Of the rows still tied: positions in that order, and whether one ties with the one before.
        self._tied: np.ndarray | slice = slice(None)
        self._with_previous: np.ndarray | bool = True
        # Their ranks by the keys not sorted by yet, and what these lie below, now and after sorting.
        self._rank = np.zeros(n_rows, dtype=np.int64)
        self._size = self._n_groups = 1

    def refine(self, key: np.ndarray) -> None:
        """Break ties by `key`."""
        if self.complete:
            return
        values = key if isinstance(self._tied, slice) else key[self._order[self._tied]]
        if not ((values[1:] != values[:-1]) & self._with_previous).any():
            return
        many = _nearly_distinct(values)
        if many and self._size == 1:
            by_value = np.argsort(values)
            self._sort(by_value, values[by_value], stable=False)
            return
        codes, n_values = _value_ranks(values, many)
        if self._size > 2**62 // n_values:
            self._sort_by_rank()
            self.refine(key)
            return
        self._rank *= n_values
        self._rank += codes
        self._size *= n_values
        if n_values > len(values) // 4 or self._size > len(values) << 20:
            self._sort_by_rank()

    def dense(self) -> np.ndarray:
        """Ranks without gaps, shape (n_rows,)."""
        self._sort_by_rank()
        ranks = np.empty(len(self._order), dtype=np.intp)
        ranks[self._order] = np.cumsum(self._begins) - 1
        return ranks

    def order(self) -> np.ndarray:
        """Positions that sort the rows."""
        self._sort_by_rank()
        return self._order

    def _sort_by_rank(self) -> None:
        if self._size > self._n_groups:
            by_rank = np.argsort(self._rank, kind="stable")
            self._sort(by_rank, self._rank[by_rank], stable=True)

    def _sort(self, places: np.ndarray, keys: np.ndarray, *, stable: bool) -> None:
        """Put tied rows in the order of sorted keys, and keep those whose keys are equal."""
        begins = np.ones(len(keys), dtype=bool)
        np.not_equal(keys[1:], keys[:-1], out=begins[1:])
        self._order[self._tied] = self._order[self._tied][places]
        self._begins[self._tied] = begins
        alone = begins.copy()
        alone[:-1] &= begins[1:]
        tied = np.flatnonzero(~alone)
        self._tied = tied if isinstance(self._tied, slice) else self._tied[tied]
        begins = begins[tied]
        self._with_previous = ~begins[1:]
        self._rank = np.cumsum(begins) - 1
        self._size = self._n_groups = max(int(begins.sum()), 1)
        self.complete = not len(tied)
        if not stable:
            rows = self._order[self._tied]
            self._order[self._tied] = rows[np.lexsort((rows, self._rank))]


def _nearly_distinct(values: np.ndarray) -> bool:
    """Whether values look like measurements: sorting them is quicker than looking each up."""
    some = values[:: max(1, len(values) // 1_000)]
    return values.dtype.kind == "f" and len(np.unique(some)) > 0.9 * len(some)


def _value_ranks(values: np.ndarray, many: bool) -> tuple[np.ndarray, int]:
    """Rank of each row's value among the values found, and their number."""
    if values.dtype == bool:
        return values.astype(np.int64), 2
    if many:
        order = np.argsort(values)
        keys = values[order]
        ranks = np.empty(len(values), dtype=np.int64)
        ranks[order] = np.cumsum(np.append(False, keys[1:] != keys[:-1]))
        return ranks, int(ranks[order[-1]]) + 1
    codes, uniques = pd.factorize(values)
    by_value = np.empty(len(uniques), dtype=np.int64)
    by_value[np.argsort(uniques, kind="stable")] = np.arange(len(uniques))
    return by_value[codes], len(uniques)


def input_hash(
    table: Table,
    labels: Labels,
    columns: list[SensitiveFeature],
    weight: np.ndarray,
    cluster: np.ndarray | None = None,
) -> str:
    """SHA-256 of the content, equal for equal content in pandas, polars and numpy."""
    digest = hashlib.sha256()

    def add(name: str, values: np.ndarray, dtype: str) -> None:
        digest.update(repr((name, len(values))).encode())
        digest.update(np.ascontiguousarray(values, dtype=dtype).data)

    def add_labels(name: str, one: Labels) -> None:
        used = one.used()
        digest.update(repr([_token(value) for value in used.values]).encode())
        add(name, used.codes, "<i8")

    if table.matrix is not None:
        digest.update(repr([str(name) for name in table.names]).encode())
        add("X.indptr", table.matrix.indptr, "<i8")
        add("X.indices", table.matrix.indices, "<i8")
        add("X.data", table.matrix.data, "<f8")
    for position in range(table.n_columns if table.matrix is None else 0):
        name, column = str(table.names[position]), table.typed(position)
        if column.labels is not None:
            add_labels(name, column.labels)
        else:
            digest.update(repr((name, len(column.numbers))).encode())
            for start in range(0, len(column.numbers), _HASHED_AT_A_TIME):
                # A copy, without negative zeros and with one kind of NaN.
                values = column.numbers[start : start + _HASHED_AT_A_TIME] + 0.0
                values[np.isnan(values)] = np.nan
                digest.update(values.astype("<f8", copy=False).data)
    add_labels("y", labels)
    for one in columns:
        add_labels(one.name, one.labels)
    add("sample_weight", weight, "<f8")
    if cluster is not None:
        add("clusters", renumbered(cluster), "<i8")
    return digest.hexdigest()


def _token(value: Any) -> str:
    """Text for a label: 1, 1.0 and numpy's 1 are one, True and '1' are others."""
    if isinstance(value, float) and math.isfinite(value) and value == math.floor(value):
        value = int(value)
    return f"{type(value).__name__}:{value}"
