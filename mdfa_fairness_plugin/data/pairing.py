"""Rows of several arguments: paired by index where there is one, else by position."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import python_value
from mdfa_fairness_plugin.exceptions import InputError, WarningLog


class Rows(Protocol):
    """What an argument holds, a `Table` for instance."""

    argument: str
    n_rows: int
    index: pd.Index | None

    def take(self, rows: np.ndarray) -> Self:
        """Return the rows at these positions, in this order, without the index."""
        ...


_R = TypeVar("_R", bound=Rows)


class Pairing:
    """Puts the rows of arguments in one order: that of the first of them that has an index."""

    def __init__(self, log: WarningLog) -> None:
        self._log = log  # told of arguments whose rows come in another order
        self._index: pd.Index | None = None
        self._owner = ""

    @property
    def index(self) -> pd.Index | None:
        """That of the argument followed."""
        return self._index

    def lead(self, *arguments: Rows) -> None:
        """Follow the first of these that has an index, unless one is followed already."""
        for one in arguments:
            if self._index is None and one.index is not None:
                self._index, self._owner = one.index, one.argument

    def align(self, rows: _R) -> _R:
        """Rows in the order of the argument followed."""
        self.lead(rows)
        if rows.index is None or self._index is None:
            return rows
        order = alignment(rows.index, self._index, rows.argument, self._owner)
        if order is None:
            return rows
        self._log.note(
            "AlignedIndex",
            f"{rows.argument}: its rows were put in the order of {self._owner}, by index.",
        )
        return rows.take(order)


def check_length(rows: Rows, n_rows: int, owner: str, advice: str = "") -> None:
    """Refuse an argument that has not one row for each of the owner's."""
    if rows.n_rows != n_rows:
        raise InputError(
            f"{rows.argument}: {rows.n_rows:,} rows were given, but {owner} has {n_rows:,}. "
            + (advice or f"Pass one per row of {owner}.")
        )


def alignment(index: pd.Index, reference: pd.Index, argument: str, other: str) -> np.ndarray | None:
    """Positions that put `index` in the order of `reference`; None if it is already."""
    if index is reference or index.equals(reference):
        return None
    advice = (
        "If rows are paired by position, drop both indexes (.reset_index(drop=True)); "
        "if by label, give both the same unique labels (.loc[...])."
    )
    if not index.is_unique or not reference.is_unique:
        where = argument if not index.is_unique else other
        raise InputError(
            f"{argument}: its index differs from that of {other}, and that of {where} has repeated "
            f"labels, so rows cannot be paired. {advice}"
        )
    positions = index.get_indexer(reference)
    n_absent = int((positions < 0).sum())
    if n_absent:
        raise InputError(
            f"{argument}: its index differs from that of {other}: {n_absent:,} of "
            f"{len(reference):,} labels are not found in it, for instance "
            f"{python_value(reference[int(np.argmin(positions))])!r}. {advice}"
        )
    return positions
