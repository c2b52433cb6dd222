"""Copies of records that hold only what may be printed."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.fields import Record
from mdfa_fairness_plugin.records import Measured

_Kind = TypeVar("_Kind", bound=Record)


def permitted(kind: type[Any], *marks: str) -> list[str]:
    """Fields of a record that say one of these of being printed."""
    return [one.name for one in fields(kind) if one.metadata.get("printable", "never") in marks]


def printed(kind: type[_Kind], record: _Kind, **allowed: Any) -> _Kind:
    """Copy of a record that holds what may always be printed and what is allowed here.

    Only fields that leave it to their cells or to a rule can be allowed; counts that are not are None.
    """
    open_fields = permitted(kind, "cells", "rule")
    refused = set(allowed).difference(open_fields)
    if refused:
        raise ValueError(f"allowed: {', '.join(sorted(refused))} may not be printed.")
    always = {name: getattr(record, name) for name in permitted(kind, "always")}
    counts = [one.name for one in fields(kind) if type(one.default) is int]
    values: dict[str, Any] = dict.fromkeys(counts) | always | allowed
    copy = kind(**values)
    lost = [n for n in open_fields if _is_lost(getattr(record, n), getattr(copy, n))]
    return replace(copy, withheld=frozenset(lost))


def _is_lost(given: Any, kept: Any) -> bool:
    """Whether a copy lacks a number or text that the record has."""
    if given is None:
        return False
    if isinstance(given, tuple) and isinstance(kept, tuple) and len(given) == len(kept):
        return any(map(_is_lost, given, kept))
    if isinstance(given, float):
        return not math.isnan(given) and math.isnan(kept)
    return kept is None or (isinstance(given, str) and bool(given) and not kept)


def made_of_cells(record: Measured) -> dict[str, Any]:
    """Figures of a set without small cells, but for ratios of the counts themselves."""
    told = {name: getattr(record, name) for name in permitted(type(record), "cells")}
    given = told.get("estimates", {})
    if given:
        plain = given.get("unweighted")
        ratios = {name: value for name, value in given.items() if name != "unweighted"}
        told["estimates"] = {} if plain == given.get("hajek") else ratios
    return told


def lower_end(record: Measured) -> dict[str, Any]:
    """All that is told of a set with small cells: the cautious end of its interval."""
    name = "difference_interval" if record.by_difference else "interval"
    low, _ = record.effect_interval
    return {name: (low if math.isfinite(low) else math.nan, math.nan)}


def of_few(share: float, n: int, min_cell: int) -> bool:
    """Whether a share of so many rows, or the rest of them, is of too few people."""
    return 0.5 <= min(share, 1 - share) * n < min_cell


def thin(counts: pd.DataFrame, min_cell: int) -> bool:
    """Whether any cell by sensitive value and outcome is too small to print."""
    if counts.empty:
        return False
    cells = counts.to_numpy(dtype=float)
    filled = cells.sum(axis=1, keepdims=True) > 0
    return bool(((cells < min_cell) & filled).any())


def no_counts(counts: pd.DataFrame) -> pd.DataFrame:
    """Counts of which each is withheld."""
    nothing = np.full(counts.shape, None, dtype=object)
    return pd.DataFrame(nothing, index=counts.index, columns=counts.columns)


def rough_counts(counts: pd.DataFrame, min_cell: int) -> pd.DataFrame:
    """Counts in tens or so, that sets which differ by a few people do not tell of these; or none."""
    if thin(counts, min_cell):
        return no_counts(counts)
    step = max(10 * round(min_cell / 10), 5)
    return (counts / step).round().astype(int) * step
