"""What a record says of its fields: their columns, their form in JSON, whether they may be printed.

Tables, test cases, JSON and copies for printing read it, so that a figure is told in one place. A
field that says nothing is in JSON alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

# Whether a copy for printing holds a field: always; unless a cell of the counts behind it is too
# small; as a rule of its own in ``report.redaction`` decides; never, as if nothing is said.
Printable = Literal["always", "cells", "rule", "never"]
# Where figures of a search are listed.
Listing = Literal["table", "case"]

UNKNOWN_PAIR: Final = (math.nan, math.nan)


@dataclass(frozen=True)
class Column:
    """A figure of a search by its name, with its place in tables and in test cases, if any."""

    name: str
    table: int | None = None
    case: int | None = None
    of: Callable[[Any], Any] = lambda value: value
    dtype: type = float


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def _two_floats(pair: Any) -> tuple[float, float]:
    low, high = UNKNOWN_PAIR if pair is None else pair
    return _float(low), _float(high)


class Rounded(int):
    """A count that a copy for printing gives roughly, and every text as "about 600"."""

    def __format__(self, spec: str) -> str:
        return f"about {int(self):{spec or 'd'}}"

    def __str__(self) -> str:
        return format(self)


def is_exact(n: int | None) -> bool:
    """Whether a count of a copy for printing is the count itself."""
    return n is not None and not isinstance(n, Rounded)


def _count(n: Any) -> int | None:
    return n if n is None or isinstance(n, Rounded) else int(n)


def said(
    printable: Printable,
    *columns: Column,
    settle: Callable[[Any], Any] | None = None,
    json: Literal["value", "label", "bits", "no", "told"] = "value",
) -> dict[str, Any]:
    """Give the metadata of a field; ``settle`` turns a value into one of the declared type.

    One that is ``told`` is in JSON only where it says something.
    """
    return {"printable": printable, "columns": columns, "settle": settle, "json": json}


def told_pair() -> Any:
    """Field of two floats that is in JSON where these are known."""
    how = said("cells", settle=_known_floats, json="told")
    return field(default=UNKNOWN_PAIR, metadata=how)


def _known_floats(ends: Any) -> tuple[float, float]:
    low, high = map(_float, ends)
    return UNKNOWN_PAIR if math.isnan(low) and math.isnan(high) else (low, high)


def number(printable: Printable, *columns: Column, default: float = math.nan) -> Any:
    """Field of a float, NaN where it is unknown."""
    return field(default=default, metadata=said(printable, *columns, settle=_float))


def pair(printable: Printable, *columns: Column) -> Any:
    """Field of two floats."""
    return field(default=UNKNOWN_PAIR, metadata=said(printable, *columns, settle=_two_floats))


def whole(printable: Printable, *columns: Column) -> Any:
    """Field of a count, which is None where it is withheld."""
    return field(default=0, metadata=said(printable, *columns, settle=_count))


def text(printable: Printable, *columns: Column, default: str = "") -> Any:
    """Field of a text."""
    return field(default=default, metadata=said(printable, *columns))


def label(name: str, place: int, **default: Any) -> Any:
    """Field of a label that names a search."""
    column = Column(name, place, dtype=object)
    return field(**default, metadata=said("always", column, json="label"))


def frame(printable: Printable, json: Literal["value", "told"] = "value") -> Any:
    """Field of a table."""
    return field(default_factory=pd.DataFrame, metadata=said(printable, json=json))


def rows(dtype: type, json: Literal["bits", "no"] = "no") -> Any:
    """Field of a value per row, which no copy for printing holds."""
    how = said("never", settle=partial(np.asarray, dtype=dtype), json=json)
    return field(default_factory=partial(np.empty, 0, dtype), metadata=how)


def several(printable: Printable) -> Any:
    """Field of a tuple."""
    return field(default=(), metadata=said(printable, settle=tuple))


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """What every record has: settled types, and what a copy for printing withholds."""

    withheld: frozenset[str] = field(
        default=frozenset(), repr=False, metadata=said("never", json="no")
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            settle = one.metadata.get("settle")
            if settle is not None:
                object.__setattr__(self, one.name, settle(getattr(self, one.name)))


def columns_of(kind: type[Record], where: Listing) -> tuple[tuple[str, Column], ...]:
    """Columns of a kind of record in their order, each with the field it reads."""
    found = [(one.name, c) for one in fields(kind) for c in one.metadata.get("columns", ())]
    there = [(name, column) for name, column in found if getattr(column, where) is not None]
    return tuple(sorted(there, key=lambda pair: getattr(pair[1], where)))


def figures(record: Record, where: Listing) -> dict[str, Any]:
    """Figures of a record by name, those of tables or of test cases."""
    read = columns_of(type(record), where)
    return {column.name: column.of(getattr(record, name)) for name, column in read}


def frame_of(kind: type[Record], records: Sequence[Record]) -> pd.DataFrame:
    """One row per record, with the columns of its kind and their types, also without rows."""
    found = [figures(record, "table") for record in records]
    columns = {}
    for _, column in columns_of(kind, "table"):
        values: np.ndarray = np.empty(len(found), dtype=column.dtype)
        for row, named in enumerate(found):
            values[row] = named[column.name]
        columns[column.name] = pd.Series(values, dtype=column.dtype)
    return pd.DataFrame(columns)


def known(n: int | None) -> int:
    """Count of a record that withholds nothing."""
    if n is None:
        raise ValueError("n: a count that is not withheld expected.")
    return int(n)
