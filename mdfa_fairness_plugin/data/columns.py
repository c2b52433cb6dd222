"""A column as numbers or as labels, whatever its array says it is."""

from __future__ import annotations

import datetime
import math
import numbers
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import InputError, InputTypeError, Message

Kind = Literal["numeric", "boolean", "categorical", "ordinal", "datetime", "timedelta", "time"]

MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """One column read as labels: Python objects in their natural order, unused levels included."""

    codes: np.ndarray  # position in `values`; -1 where the value is missing
    values: tuple[Hashable, ...]
    ordered: bool = False  # whether the user declared that order (an ordered categorical)
    forms: tuple[str, ...] = ()  # text that came in more than one Unicode form

    @property
    def counts(self) -> np.ndarray:
        """Rows per label, shape (n_values,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def called(self, values: Sequence[Hashable]) -> Labels:
        """With these values in the place of its own, those of the same value as one."""
        where = {value: place for place, value in enumerate(dict.fromkeys(values))}
        codes = np.array([*(where[value] for value in values), -1], dtype=np.intp)
        return replace(self, codes=codes[self.codes], values=tuple(where))

    def used(self) -> Labels:
        """Without the labels no row has."""
        present = self.counts > 0
        if present.all():
            return self
        position = np.append(np.cumsum(present) - 1, -1)
        values = tuple(value for value, kept in zip(self.values, present, strict=True) if kept)
        return replace(self, codes=position[self.codes], values=values)

    def take(self, rows: np.ndarray) -> Labels:
        """Return these rows, in this order."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class TypedColumn:
    """A column of known kind: numbers (NaN where missing) or labels; the other is None."""

    kind: Kind
    numbers: np.ndarray | Any = None
    labels: Labels | Any = None

    @property
    def keys(self) -> np.ndarray:
        """Numbers, or codes of labels: the same where values are."""
        return self.numbers if self.labels is None else self.labels.codes


def listing(items: Iterable[Any], limit: int = 10) -> Message:
    """Items for a message, as ``repr`` where they are no messages themselves, cut after `limit`."""
    items = list(items)
    parts: list[str] = []
    for item in items[:limit]:
        parts += [", ", item if isinstance(item, Message) else repr(item)]
    more = f" and {len(items) - limit:,} more" if len(items) > limit else ""
    return Message(*parts[1:], more)


def read_column(array: Any, name: str, kind: Kind | None = None) -> TypedColumn:
    """Read a numpy or pandas array as what it must be, or else as what it looks like."""
    if kind in ("categorical", "ordinal"):
        return TypedColumn(kind=kind, labels=read_labels(array, name))
    found, values = _numbers(array, name)
    if found is None:
        labels = read_labels(array, name)
        column = TypedColumn(kind="ordinal" if labels.ordered else "categorical", labels=labels)
    else:
        column = TypedColumn(kind=found, numbers=values)
    if kind is None or column.kind == kind:
        return column
    is_empty = column.labels is None and np.isnan(column.numbers).all()
    if is_empty or {column.kind, kind} == {"numeric", "boolean"}:
        return replace(column, kind=kind)
    raise InputError(
        f"{name} was {kind} when the encoder was fitted and is {column.kind} now. "
        "Give it the type it had."
    )


def read_labels(array: Any, name: str) -> Labels:
    """Read one array as labels; None, NaN, NA and NaT are missing, the text "nan" is not."""
    if isinstance(array, pd.Categorical):
        categories = [python_value(value) for value in array.categories]
        codes = np.asarray(array.codes, dtype=np.intp)
        if array.ordered:
            return _composed(Labels(codes=codes, values=tuple(categories), ordered=True))
        return _sorted_labels(codes, categories)
    if isinstance(array, pd.arrays.SparseArray):
        array = np.asarray(array)
    if isinstance(array, np.ndarray) and array.dtype.kind in "USV":
        array = array.astype(object)
    try:
        codes, uniques = pd.factorize(array)
    except (TypeError, NotImplementedError) as error:
        raise no_labels(array, name) from error
    return _sorted_labels(np.asarray(codes, dtype=np.intp), list(map(python_value, uniques)))


def no_labels(array: Any, name: str) -> InputTypeError:
    """Say that a column holds what is neither a number nor a label, and what that is."""
    kinds = (type(value).__name__ for value in array if not isinstance(value, Hashable))
    held = getattr(array.dtype, "pyarrow_dtype", None) or next(kinds, array.dtype)
    return InputTypeError(
        f"{name} holds values that cannot be labels (of type {held}). Leave it out, or use text, "
        "numbers or booleans: a column for each part, for instance."
    )


def _sorted_labels(codes: np.ndarray, values: list[Hashable]) -> Labels:
    found = _composed(Labels(codes=codes, values=tuple(values)))
    order = natural_order(found.values)
    position = np.array([*np.argsort(order), -1], dtype=np.intp)
    values = [found.values[place] for place in order]
    return replace(found, codes=position[found.codes], values=tuple(values))


def composed(value: Any) -> Any:
    """Text in the form (NFC) in which letters that look the same are the same; others as they are."""
    if isinstance(value, tuple):
        return tuple(map(composed, value))
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def _composed(labels: Labels) -> Labels:
    """Labels with their text in one Unicode form."""
    if all(not isinstance(value, str) or value.isascii() for value in labels.values):
        return labels
    values = [composed(value) for value in labels.values]
    forms = [str(value) for value, count in Counter(values).items() if count > 1]
    return replace(labels.called(values), forms=tuple(forms))


def natural_order(values: Sequence[Any]) -> list[int]:
    """Positions that sort values of any types."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        names = [(type(value).__name__, str(value)) for value in values]
        return sorted(range(len(values)), key=names.__getitem__)


def python_value(value: Any) -> Any:
    """Turn a numpy scalar into its Python counterpart; anything else stays as it is."""
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value


def is_real(value: Any) -> bool:
    """Whether a label is a number."""
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)


def is_fractional(value: Any) -> bool:
    """Whether a label is a number, and not a whole one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return isinstance(value, Decimal) and is_fractional(float(value))
    return not math.isfinite(value) or value != math.floor(value)


def as_list(values: Any) -> list[Any]:
    """Turn a single label or several into a list of Python labels; a tuple is several."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [python_value(values)]
    return [python_value(value) for value in values]


def find_label(label: Any, values: Sequence[Hashable]) -> int | None:
    """Place of a label among `values`, None if it is not there."""
    label = composed(python_value(label))
    for place, value in enumerate(values):
        if isinstance(value, str) == isinstance(label, str) and value == label:
            return place
    return None


def objects(values: Sequence[Any]) -> np.ndarray:
    """Values as they are in an array, tuples too."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def known_label(
    label: Any,
    values: Sequence[Hashable],
    argument: str,
    among: str = "the labels found",
    advice: str = "",
) -> Hashable:
    """The label among those known that is meant, or an error that lists them."""
    place = find_label(label, values)
    if place is None:
        raise InputError(f"{argument}: {label!r} is not among {among}: {listing(values)}.{advice}")
    return values[place]


def _numbers(array: Any, name: str) -> tuple[Kind | None, np.ndarray | None]:
    """Kind and float values (NaN where missing), or (None, None) if the values are labels."""
    if isinstance(array, pd.arrays.SparseArray):
        array = np.asarray(array)
    if isinstance(array, np.ndarray):
        return _numbers_from_numpy(array, name)
    if isinstance(array, pd.arrays.PeriodArray):
        array = array.to_timestamp()
    dtype = array.dtype
    if isinstance(dtype, (pd.CategoricalDtype, pd.StringDtype, pd.IntervalDtype)):
        return None, None
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean", array.to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "iuf":
        return "numeric", array.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(array, pd.arrays.DatetimeArray):
        return "datetime", _days(np.asarray(array, dtype="datetime64[us]"))
    if isinstance(array, pd.arrays.TimedeltaArray):
        return "timedelta", _days(np.asarray(array, dtype="timedelta64[us]"))
    return _numbers_from_numpy(np.asarray(array, dtype=object), name)


def _numbers_from_numpy(array: np.ndarray, name: str) -> tuple[Kind | None, np.ndarray | None]:
    code = array.dtype.kind
    if code in "iufb":
        return "boolean" if code == "b" else "numeric", array.astype(np.float64, copy=False)
    if code == "M":
        return "datetime", _days(array.astype("datetime64[us]"))
    if code == "m":
        return "timedelta", _days(array.astype("timedelta64[us]"))
    if code == "O":
        return _numbers_from_objects(array, name)
    if code == "c":
        raise InputError(
            f"{name}: Complex data not supported. Give real and imaginary part as two columns."
        )
    if code in "US":
        return None, None
    raise InputTypeError(
        f"{name} has dtype {array.dtype}, which is neither a number nor a label. "
        "Convert it to numbers or text."
    )


def _numbers_from_objects(array: np.ndarray, name: str) -> tuple[Kind | None, np.ndarray | None]:
    present = ~np.asarray(pd.isna(array), dtype=bool)
    values = array[present]
    reader = _OBJECT_READERS.get(pd.api.types.infer_dtype(values, skipna=False))
    if reader is None and len(values) and all(is_real(value) for value in values):
        reader = _OBJECT_READERS["floating"]
    if reader is None:
        return None, None
    kind, read = reader
    out = np.full(len(array), np.nan)
    try:
        out[present] = read(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{name} looks {kind} but cannot be read as such ({error}). Give it one type."
        ) from error
    return kind, out


def _days(values: np.ndarray) -> np.ndarray:
    days = values.view("i8") / MICROSECONDS_PER_DAY
    days[np.isnat(values)] = np.nan
    return days


def microseconds(days: np.ndarray) -> np.ndarray:
    """Days as whole microseconds, such as numpy's dates and durations are made of; NaT for NaN."""
    missing = np.isnan(days)
    ticks = np.round(np.where(missing, 0.0, days) * MICROSECONDS_PER_DAY).astype("i8")
    ticks[missing] = np.iinfo("i8").min
    return ticks


def _dates_to_days(values: np.ndarray) -> np.ndarray:
    zoned = any(getattr(value, "tzinfo", None) is not None for value in values)
    if not zoned:
        return _days(values.astype("datetime64[us]"))
    stamps = pd.DatetimeIndex(pd.to_datetime(list(values), utc=True))
    return _days(stamps.tz_localize(None).to_numpy(dtype="datetime64[us]"))


def _times_to_days(values: np.ndarray) -> np.ndarray:
    day = datetime.date(1970, 1, 1)
    return _days(np.array([datetime.datetime.combine(day, one) for one in values], "M8[us]"))


def _to_float(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64)


def _durations_to_days(values: np.ndarray) -> np.ndarray:
    return _days(values.astype("timedelta64[us]"))


_OBJECT_READERS: dict[str, tuple[Kind, Callable[[np.ndarray], np.ndarray]]] = {
    "empty": ("numeric", _to_float),
    "integer": ("numeric", _to_float),
    "floating": ("numeric", _to_float),
    "mixed-integer-float": ("numeric", _to_float),
    "decimal": ("numeric", _to_float),
    "boolean": ("boolean", _to_float),
    "datetime": ("datetime", _dates_to_days),
    "datetime64": ("datetime", _dates_to_days),
    "date": ("datetime", _dates_to_days),
    "timedelta": ("timedelta", _durations_to_days),
    "timedelta64": ("timedelta", _durations_to_days),
    "time": ("time", _times_to_days),
}
