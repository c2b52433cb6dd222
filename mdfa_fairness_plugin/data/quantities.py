"""Columns of text that hold quantities, in a table or for a user, and groups of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import Labels, TypedColumn, as_list, is_real, listing
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.held import NOT_HELD_EQUAL, left_unread
from mdfa_fairness_plugin.data.written import (
    Marks,
    Unclear,
    Writing,
    find_writing,
    refusal,
    told,
    unread,
)
from mdfa_fairness_plugin.exceptions import (
    Count,
    InputError,
    Message,
    ParsedTextWarning,
    WarningLog,
)

NOTHING_SAID = Marks()


def to_quantities(
    X: Any,
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
    columns: Any = None,
) -> pd.DataFrame:
    """Read columns of text as the numbers, dates, times of day and durations they stand for.

    What an audit does by itself where it is clear how they are written; here one can say it.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Features as an audit takes them: pandas, polars, a mapping or an array.
    decimal : {".", ","} or None, default=None
        Decimal mark. None: the one with which nearly all texts of a column are numbers.
    thousands : {",", ".", " ", "'", "_"} or None, default=None
        Mark between groups of three digits. None: any but the decimal mark.
    date_format : str or None, default=None
        As of ``datetime.strptime``, such as ``"%d/%m/%Y"``. None: ISO 8601 and the usual forms, the
        order of day and month being what all texts of a column allow.
    columns : name, list of names or None, default=None
        Columns to read; None: all that hold text.

    Returns
    -------
    quantities : DataFrame of shape (n_samples, n_features)
        Columns of the table, those that hold quantities as such. Texts among them that are none are
        missing; a ``ParsedTextWarning`` names them.

    Raises
    ------
    InputError
        If a column holds quantities that can be read in two ways, or too many texts that are none.

    Notes
    -----
    Numbers may have one currency or per cent, and marks between thousands. A column with leading
    zeros holds codes, not numbers, and a categorical labels.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> mdfa.to_quantities({"income": ["1.234", "2.500"]}, decimal=",")["income"].tolist()
    [1234.0, 2500.0]
    """
    marks = Marks.checked(decimal, thousands, date_format)
    table = read_table(X, "X")
    chosen = None if columns is None else as_list(columns)
    unknown = [name for name in chosen or () if name not in table.names]
    if unknown:
        raise InputError(
            f"columns: {listing(unknown)} not found; there are {listing(table.names)}."
        )
    table = with_quantities(table, WarningLog(), marks=marks, columns=chosen, asked=True)
    arrays = [table.array(position) for position in range(table.n_columns)]
    return pd.DataFrame(dict(zip(table.names, arrays, strict=True)), index=table.index)


def with_quantities(
    table: Table,
    log: WarningLog | None,
    *,
    marks: Marks = NOTHING_SAID,
    columns: Sequence[Hashable] | None = None,
    asked: bool = False,
) -> Table:
    """Read columns of text that hold quantities, and say so; where it was asked, only what is lost."""
    if table.written is not None or table.matrix is not None:
        return table
    arrays, written = list(table.arrays), {}
    done: list[str] = []
    lost: list[Message] = []
    for position, name in enumerate(table.names):
        labels = _texts(table, position)
        if labels is None or (columns is not None and name not in columns):
            continue
        found = find_writing(labels, marks)
        if isinstance(found, Unclear):
            raise refusal(f"{table.argument}: column {name!r}", found)
        if found is None:
            continue
        read = found.read(labels)
        written[position], arrays[position] = found, found.array(labels, read)
        done.append(Message(told(name, found, labels, read)))
        rest = unread(labels, read)
        if log is not None and len(rest) > 1:
            log.note(NOT_HELD_EQUAL, left_unread(name, sum(rest.values()), table.n_rows))
        lost += [Message(f"{text!r} of {name!r} (", Count(n), ")") for text, n in rest.items()]
    if log is not None and done and (lost or not asked):
        log.warn(
            ParsedTextWarning,
            f"{table.argument}: text was read as what it stands for: {listing(done)}. Pass numbers or "
            "dates, or .astype('category') if they are labels, to have no doubt.",
            *((" Read as missing: ", listing(lost), ".") if lost else ()),
        )
    return _replaced(table, arrays, written)


def typed_quantity(table: Table, position: int, marks: Marks = NOTHING_SAID) -> TypedColumn:
    """One column of a table, read as a quantity if it is text that is one."""
    array, name = table.array(position), table.names[position]
    one = Table(table.argument, (name,), [array], table.n_rows)
    return with_quantities(one, None, marks=marks).typed(0)


def as_written(table: Table, written: Mapping[int, Writing], positions: Mapping[int, int]) -> Table:
    """Read columns of text as those of another table were, whose places these positions map."""
    if table.written is not None or not written:
        return table
    arrays, read = list(table.arrays), {}
    for position, writing in written.items():
        own = positions.get(position)
        labels = None if own is None else _texts(table, own)
        if own is not None and labels is not None:
            read[own], arrays[own] = writing, writing.array(labels, writing.read(labels))
    return _replaced(table, arrays, read)


def _replaced(table: Table, arrays: list[Any], written: dict[int, Writing]) -> Table:
    """A table with other arrays in some places."""
    kept = {place: one for place, one in table._typed.items() if place not in written}
    return replace(table, arrays=arrays, written=written, _typed=kept)


def _texts(table: Table, position: int) -> Labels | None:
    """A column's labels if they are text that nobody declared to be labels."""
    array = table.array(position)
    if isinstance(array, pd.Categorical) or getattr(array.dtype, "kind", "O") not in "OUT":
        return None
    labels = table.typed(position).labels
    some = labels is not None and any(isinstance(value, str) for value in labels.values)
    return labels if some else None


def to_groups(values: Any, bins: int | Sequence[float]) -> pd.Series:
    """Make groups of numbers, to be audited as a sensitive feature.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Numbers, ages for instance; missing ones stay missing.
    bins : int or sequence of float
        The smallest number of each group but the first, ascending; or how many groups of about equal
        size to make.

    Returns
    -------
    groups : Series of shape (n_samples,)
        An ordered categorical of those that anybody is in, such as ``under 25``, ``25 to 44`` and
        ``45 or more``.

    Raises
    ------
    InputError
        If the values are no numbers, or the bins no ascending numbers or a count of at least two.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> mdfa.to_groups([19, 30, 44, 70], [25, 45]).tolist()
    ['under 25', '25 to 44', '25 to 44', '45 or more']
    """
    table = read_vector(values, "values")
    column = typed_quantity(table, 0)
    if column.kind not in ("numeric", "boolean"):
        raise InputError(f"values: numbers expected, {column.kind} values found.")
    numbers = np.asarray(column.numbers, dtype=np.float64)
    known = np.sort(numbers[np.isfinite(numbers)])
    if len(known) == 0:
        raise InputError("values: no number is known.")
    cuts = _cuts(bins, known)
    whole = bool((known == np.floor(known)).all() and (cuts == np.floor(cuts)).all())
    place = np.searchsorted(cuts, numbers, side="right")
    missing = np.isnan(numbers)
    used = np.unique(place[~missing])
    codes = np.where(missing, -1, np.searchsorted(used, place))
    names = _names(cuts, whole)
    groups = pd.Categorical.from_codes(codes, pd.Index([names[i] for i in used]), ordered=True)
    return pd.Series(groups, index=table.index, name=getattr(values, "name", None))


def _cuts(bins: Any, known: np.ndarray) -> np.ndarray:
    """First numbers of all groups but one."""
    if is_real(bins):
        if bins < 2 or bins != int(bins):
            raise InputError(
                f"bins: a whole number of groups of at least 2 expected, {bins!r} found."
            )
        # Where a share of the numbers lies below, as nearly as equal ones allow.
        distinct, first = np.unique(known, return_index=True)
        asked = len(known) * np.arange(1, int(bins)) / int(bins)
        nearest = np.abs(first[:, None] - asked).argmin(axis=0)
        cuts = np.unique(distinct[nearest[nearest > 0]])
        if len(cuts) == 0:
            raise InputError(f"bins: {int(bins)} groups of about equal size cannot be made here.")
        return cuts
    if isinstance(bins, str) or not all(is_real(cut) for cut in bins):
        raise InputError(f"bins: ascending numbers or a number of groups expected, {bins!r} found.")
    cuts = np.array([float(cut) for cut in bins])
    if len(cuts) == 0 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise InputError(f"bins: ascending numbers expected, {listing(bins)} found.")
    return cuts


def _names(cuts: np.ndarray, whole: bool) -> list[str]:
    """Names of the groups between cuts."""
    texts = [f"{cut:.15g}" for cut in cuts]
    between = [
        (low if high - 1 == float(low) else f"{low} to {high - 1:.15g}")
        if whole
        else f"{low} to under {high:.15g}"
        for low, high in zip(texts, cuts[1:], strict=False)
    ]
    return [f"under {texts[0]}", *between, f"{texts[-1]} or more"]
