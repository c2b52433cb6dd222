"""Any container a user holds rows in, read as named columns of known kind.

Below every stage: it knows the ways data come in (pandas, polars, numpy, lists, mappings, scipy
sparse), and nothing about audits.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from mdfa_fairness_plugin.exceptions import InputError, InputTypeError, Message

Kind = Literal["numeric", "boolean", "categorical", "ordinal", "datetime", "timedelta"]

_MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """One column read as labels.

    Parameters
    ----------
    codes : ndarray of intp of shape (n_rows,)
        Position in `values`; -1 where the value is missing.
    values : tuple
        Labels as Python objects, in their natural order; unused levels of a categorical included.
    ordered : bool
        Whether the user declared that order (an ordered categorical).
    """

    codes: np.ndarray
    values: tuple[Hashable, ...]
    ordered: bool = False

    @property
    def counts(self) -> np.ndarray:
        """Rows per label, shape (n_values,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def used(self) -> Labels:
        """Without the labels no row has."""
        present = self.counts > 0
        if present.all():
            return self
        position = np.append(np.cumsum(present) - 1, -1)
        values = tuple(value for value, kept in zip(self.values, present, strict=True) if kept)
        return Labels(codes=position[self.codes], values=values, ordered=self.ordered)


@dataclass(frozen=True, kw_only=True, eq=False)
class TypedColumn:
    """A column of known kind: numbers (NaN where missing) or labels."""

    kind: Kind
    numbers: np.ndarray | None = None
    labels: Labels | None = None


@dataclass(eq=False)
class Table:
    """Columns of equal length, with what the user's container said about them.

    Parameters
    ----------
    argument : str
        Name of the argument they came from, for messages.
    names : tuple
        One name per column, as the user gave it.
    arrays : list of 1-D arrays
        numpy or pandas extension arrays; empty if `matrix` holds the columns.
    n_rows : int
    index : pandas Index or None
        None if the container had none, so that rows are paired by position.
    named : bool
        False if the names were made up here.
    matrix : scipy sparse array or None
        Columns of a sparse input, never densified together.
    """

    argument: str
    names: tuple[Hashable, ...]
    arrays: list[Any]
    n_rows: int
    index: pd.Index | None = None
    named: bool = True
    matrix: Any = None
    _typed: dict[int, TypedColumn] = field(default_factory=dict, repr=False)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    def array(self, position: int) -> Any:
        """One column as it came (dense)."""
        if self.matrix is not None:
            return self.matrix[:, [position]].toarray().ravel()
        return self.arrays[position]

    def typed(self, position: int, kind: Kind | None = None) -> TypedColumn:
        """One column read as `kind`, or as what it looks like."""
        known = self._typed.get(position)
        alike = known is not None and (
            kind is None or known.kind == kind or {known.kind, kind} == {"numeric", "boolean"}
        )
        if not alike:
            name = f"{self.argument}: column {self.names[position]!r}"
            array = self.array(position)
            known = read_column(array, name, kind)
            # Plain numbers are read again in a moment, and would be a second copy of the table.
            plain = isinstance(array, np.ndarray) and array.dtype.kind in "iufb"
            if self.matrix is None and not (plain and kind not in ("categorical", "ordinal")):
                self._typed[position] = known
        assert known is not None
        return known

    def take(self, rows: np.ndarray) -> Table:
        """Return the rows at these positions, in this order; the index is left behind."""
        if self.matrix is not None:
            matrix = self.matrix.tocsr()[rows].tocsc()
            arrays = []
        else:
            matrix, arrays = None, [array.take(rows) for array in self.arrays]
        return Table(self.argument, self.names, arrays, len(rows), None, self.named, matrix)


def listing(items: Iterable[Any], limit: int = 10) -> Message:
    """Items for a message, as ``repr`` where they are no messages themselves, cut after `limit`."""
    items = list(items)
    parts: list[str] = []
    for item in items[:limit]:
        parts += [", ", item if isinstance(item, Message) else repr(item)]
    more = f" and {len(items) - limit:,} more" if len(items) > limit else ""
    return Message(*parts[1:], more)


# ---------------------------------------------------------------------------------------------
# Containers


def read_table(data: Any, argument: str, *, column_name: str | None = None) -> Table:
    """Read a container of rows as named columns.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, list of rows or mapping of columns
        pandas, polars and everything else narwhals reads eagerly.
    argument : str
        Name of the argument, for messages.
    column_name : str or None
        Name for a one-dimensional input. None refuses one-dimensional input.

    Returns
    -------
    Table
    """
    if isinstance(data, Table):
        return data
    _refuse_scalars(data, argument)
    if sparse.issparse(data):
        return _table_from_sparse(data, argument)
    if isinstance(data, pd.DataFrame):
        return _table_from_pandas(data, argument)
    if isinstance(data, Mapping):
        return _table_from_mapping(data, argument)
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return _table_from_mapping({name: data[name] for name in data.dtype.names}, argument)
    frame = _eager_frame(data, argument)
    if frame is not None:
        names = tuple(frame.columns)
        _refuse_duplicates(names, argument)
        arrays = [_array_from_narwhals(frame[name]) for name in names]
        return Table(argument, names, arrays, len(frame))
    array, index, name = _read_array(data, argument)
    if array.ndim == 1:
        if column_name is None:
            raise InputError(
                f"{argument}: a one-dimensional input of {len(array):,} values was given; rows and "
                "columns are needed. Use .to_frame() on a Series or .reshape(-1, 1) on an array "
                "that is a single column."
            )
        return Table(argument, (column_name if name is None else name,), [array], len(array), index)
    if array.ndim != 2:
        raise InputError(
            f"{argument}: an array of {array.ndim} dimensions (shape {array.shape}) was given; "
            "two are needed: rows and columns."
        )
    if column_name is None:
        names = tuple(f"x{position}" for position in range(array.shape[1]))
    elif array.shape[1] == 1:
        names = (column_name,)
    else:
        names = tuple(f"{column_name}_{position}" for position in range(array.shape[1]))
    columns = [array[:, position] for position in range(array.shape[1])]
    return Table(argument, names, columns, len(array), index, named=False)


def read_vector(data: Any, argument: str) -> tuple[Any, pd.Index | None]:
    """Read one value per row: an array, and the index if the container had one.

    Two-dimensional input of one column is ravelled.
    """
    table = read_table(data, argument, column_name=argument)
    if table.n_columns != 1:
        raise InputError(
            f"{argument}: {table.n_columns} columns were given; one value per row is needed. "
            f"Select a single column."
        )
    return table.array(0), table.index


def _refuse_scalars(data: Any, argument: str) -> None:
    if data is None or isinstance(data, (str, bytes, numbers.Number)) or np.isscalar(data):
        shown = repr(data) if len(repr(data)) < 80 else type(data).__name__
        hint = (
            " A column name alone cannot be looked up; pass the column itself, as in X['sex']."
            if isinstance(data, str)
            else ""
        )
        raise InputTypeError(
            f"{argument}: {shown} was given; rows are needed, as a DataFrame, an array or a list."
            + hint
        )


def _refuse_duplicates(names: Sequence[Hashable], argument: str) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[Hashable] = set()
    repeated = dict.fromkeys(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    raise InputError(
        f"{argument}: column names must differ, but {listing(repeated)} occur(s) more than once. "
        "Rename or drop the repeated columns."
    )


def _table_from_pandas(frame: pd.DataFrame, argument: str) -> Table:
    names = tuple(frame.columns)
    _refuse_duplicates(names, argument)
    if names and all(_is_zero_filled_sparse(dtype) for dtype in frame.dtypes):
        matrix = _clean_sparse(frame.sparse.to_coo())  # type: ignore[attr-defined]
        return Table(argument, names, [], len(frame), frame.index, matrix=matrix)
    arrays = [_plain(frame.iloc[:, position]) for position in range(len(names))]
    return Table(argument, names, arrays, len(frame), frame.index)


def _is_zero_filled_sparse(dtype: Any) -> bool:
    return (
        isinstance(dtype, pd.SparseDtype)
        and dtype.subtype.kind in "biuf"
        and not pd.isna(dtype.fill_value)
        and dtype.fill_value == 0
    )


def _table_from_mapping(data: Mapping[Hashable, Any], argument: str) -> Table:
    names = tuple(data)
    arrays: list[Any] = []
    index: pd.Index | None = None
    for name in names:
        label = f"{argument}[{name!r}]"
        array, own_index = read_vector(data[name], label)
        if arrays and len(array) != len(arrays[0]):
            raise InputError(
                f"{label}: {len(array):,} values, where {argument}[{names[0]!r}] has "
                f"{len(arrays[0]):,}. Columns must have the same number of rows."
            )
        if index is None:
            index = own_index
        elif own_index is not None:
            order = alignment(own_index, index, label, f"the columns before it in {argument}")
            array = array if order is None else array.take(order)
        arrays.append(array)
    return Table(argument, names, arrays, len(arrays[0]) if arrays else 0, index)


def _table_from_sparse(data: Any, argument: str) -> Table:
    if data.ndim != 2:
        raise InputError(f"{argument}: a sparse input of {data.ndim} dimension(s); two are needed.")
    if data.dtype.kind not in "biuf":
        raise InputTypeError(
            f"{argument}: a sparse matrix of dtype {data.dtype} was given; real numbers are needed."
        )
    names = tuple(f"x{position}" for position in range(data.shape[1]))
    return Table(argument, names, [], data.shape[0], named=False, matrix=_clean_sparse(data))


def _clean_sparse(data: Any) -> Any:
    matrix = sparse.csc_array(data, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _eager_frame(data: Any, argument: str) -> Any:
    """Narwhals view of an eager frame, None if `data` is not a frame."""
    if isinstance(data, (np.ndarray, list, tuple, pd.Series, pd.Index)):
        return None
    frame = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame
    if hasattr(data, "compute") and hasattr(data, "dask"):
        raise InputTypeError(
            f"{argument}: a Dask collection was given. Call .compute() first, or use "
            "mdfa_fairness_plugin.dask.audit_dask."
        )
    if hasattr(data, "collect") and not isinstance(frame, nw.Series):
        raise InputTypeError(
            f"{argument}: a lazy frame ({type(data).__name__}) was given. Call .collect() first."
        )
    return None


def _read_array(data: Any, argument: str) -> tuple[Any, pd.Index | None, Hashable]:
    """One- or two-dimensional array, with index and name if `data` is a Series."""
    if isinstance(data, pd.Series):
        return _plain(data), data.index, data.name
    if isinstance(data, (pd.Index, pd.api.extensions.ExtensionArray)):
        return _plain(pd.Series(data)), None, None
    if isinstance(data, np.ma.MaskedArray):
        values = np.array(data.data, dtype=object)
        values[np.ma.getmaskarray(data)] = None
        return values, None, None
    if isinstance(data, np.ndarray):
        return data, None, None
    if isinstance(data, (list, tuple, range)):
        return _array_from_list(data, argument), None, None
    series = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _array_from_narwhals(series), None, series.name or None
    if isinstance(data, (set, frozenset)):
        raise InputTypeError(f"{argument}: a set was given; its values have no order. Use a list.")
    try:
        array = np.asarray(data)
    except Exception as error:
        raise InputTypeError(
            f"{argument}: {type(data).__name__} cannot be read as an array ({error}). Pass a "
            "pandas or polars object, a numpy array or a list; tensors must be on the CPU."
        ) from error
    if array.ndim == 0:
        if isinstance(data, Iterable):
            return _array_from_list(list(data), argument), None, None
        raise InputTypeError(
            f"{argument}: {type(data).__name__} cannot be read as rows. Pass a pandas or polars "
            "object, a numpy array or a list."
        )
    return array, None, None


def _array_from_list(data: Sequence[Any], argument: str) -> np.ndarray:
    rows = (list, tuple, np.ndarray, pd.Series)
    if len(data) and all(isinstance(row, Mapping) for row in data):
        raise InputTypeError(
            f"{argument}: a list of mappings was given. Make it a table first, as in "
            "pandas.DataFrame.from_records(rows)."
        )
    if not len(data) or not any(isinstance(row, rows) for row in data):
        array = np.empty(len(data), dtype=object)
        array[:] = data
        return array
    widths = {len(row) if isinstance(row, rows) else -1 for row in data}
    if len(widths) > 1:
        raise InputError(
            f"{argument}: its rows have different lengths ({listing(sorted(widths), 5)}). "
            "Every row needs one value per column; use None where one is missing."
        )
    array = np.empty((len(data), widths.pop()), dtype=object)
    for position, row in enumerate(data):
        array[position] = row
    return array


def _plain(series: pd.Series) -> Any:
    """Return the numpy array under a Series, or its extension array."""
    array = series.array
    return series.to_numpy() if isinstance(array, pd.arrays.NumpyExtensionArray) else array


def _array_from_narwhals(series: Any) -> Any:
    """Array of a polars (or other) series, without needing pyarrow."""
    dtype = series.dtype
    if dtype.is_decimal():
        series, dtype = series.cast(nw.Float64), nw.Float64()
    n_missing = series.null_count()
    if dtype.is_float():
        return (series.fill_null(float("nan")) if n_missing else series).to_numpy()
    if dtype.is_integer():
        if not n_missing:
            return series.to_numpy()
        values = series.fill_null(0).to_numpy().copy()
        return pd.arrays.IntegerArray(values, series.is_null().to_numpy().copy())
    if dtype == nw.Boolean and not n_missing:
        return series.to_numpy()
    if dtype in (nw.Datetime, nw.Date, nw.Duration):
        values = series.to_numpy()
        if values.dtype.kind in "mM":
            return values
    if dtype == nw.Enum:
        # Older narwhals have Enum types without their categories.
        levels = getattr(dtype, "categories", None) or series.cat.get_categories().to_list()
        return pd.Categorical(series.cast(nw.String).to_list(), categories=list(levels))
    if dtype == nw.Categorical:
        series = series.cast(nw.String)
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    return values


# ---------------------------------------------------------------------------------------------
# Indexes


def alignment(index: pd.Index, reference: pd.Index, argument: str, other: str) -> np.ndarray | None:
    """Positions that put `index` in the order of `reference`; None if it is already.

    Raises
    ------
    InputError
        If the two hold different labels, or repeated ones in another order.
    """
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


# ---------------------------------------------------------------------------------------------
# Kinds


def read_column(array: Any, name: str, kind: Kind | None = None) -> TypedColumn:
    """Read one array as numbers or labels.

    Parameters
    ----------
    array : 1-D numpy or pandas extension array
    name : str
        How messages call it.
    kind : str or None
        What it must be; None: what it looks like.
    """
    if kind in ("categorical", "ordinal"):
        return TypedColumn(kind=kind, labels=read_labels(array, name))
    found, numbers_ = _numbers(array, name)
    if found is None:
        labels = read_labels(array, name)
        found = "ordinal" if labels.ordered else "categorical"
        column = TypedColumn(kind=found, labels=labels)
    else:
        column = TypedColumn(kind=found, numbers=numbers_)
    if kind is None or column.kind == kind:
        return column
    is_number = {"numeric", "boolean"}
    if {column.kind, kind} <= is_number or (
        column.numbers is not None and np.isnan(column.numbers).all()
    ):
        return TypedColumn(kind=kind, numbers=column.numbers)
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
            return Labels(codes=codes, values=tuple(categories), ordered=True)
        return _sorted_labels(codes, categories)
    if isinstance(array, pd.arrays.SparseArray):
        array = np.asarray(array)
    if isinstance(array, np.ndarray) and array.dtype.kind in "USV":
        array = array.astype(object)
    try:
        codes, uniques = pd.factorize(array)
    except TypeError as error:
        raise InputTypeError(
            f"{name} holds values that cannot be labels ({error}). Use text, numbers or booleans."
        ) from error
    return _sorted_labels(
        np.asarray(codes, dtype=np.intp), [python_value(value) for value in uniques]
    )


def _sorted_labels(codes: np.ndarray, values: list[Hashable]) -> Labels:
    order = natural_order(values)
    position = np.empty(len(values) + 1, dtype=np.intp)
    position[order] = np.arange(len(values))
    position[-1] = -1
    return Labels(codes=position[codes], values=tuple(values[place] for place in order))


def natural_order(values: Sequence[Any]) -> list[int]:
    """Positions that sort values of any types."""
    try:
        return sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        return sorted(
            range(len(values)), key=lambda place: (type(values[place]).__name__, str(values[place]))
        )


def python_value(value: Any) -> Any:
    """Turn a numpy scalar into its Python counterpart; anything else stays as it is."""
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value


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
    label = python_value(label)
    for place, value in enumerate(values):
        if isinstance(value, str) == isinstance(label, str) and value == label:
            return place
    return None


def _numbers(array: Any, name: str) -> tuple[Kind | None, np.ndarray | None]:
    """Kind and float values (NaN where missing), or (None, None) if the values are labels."""
    if isinstance(array, pd.Categorical):
        return None, None
    if isinstance(array, pd.arrays.SparseArray):
        array = np.asarray(array)
    if isinstance(array, np.ndarray):
        return _numbers_from_numpy(array, name)
    if isinstance(array, pd.arrays.PeriodArray):
        array = array.to_timestamp()
    dtype = array.dtype
    if isinstance(dtype, (pd.StringDtype, pd.IntervalDtype)):
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
    if code in "iuf":
        return "numeric", array.astype(np.float64, copy=False)
    if code == "b":
        return "boolean", array.astype(np.float64)
    if code == "M":
        return "datetime", _days(array.astype("datetime64[us]"))
    if code == "m":
        return "timedelta", _days(array.astype("timedelta64[us]"))
    if code == "O":
        return _numbers_from_objects(array, name)
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
    if reader is None and len(values) and all(_is_real(value) for value in values):
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


def _is_real(value: Any) -> bool:
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)


def _days(values: np.ndarray) -> np.ndarray:
    days = values.view("i8") / _MICROSECONDS_PER_DAY
    days[np.isnat(values)] = np.nan
    return days


def _dates_to_days(values: np.ndarray) -> np.ndarray:
    zoned = any(getattr(value, "tzinfo", None) is not None for value in values)
    if not zoned:
        return _days(values.astype("datetime64[us]"))
    stamps = pd.DatetimeIndex(pd.to_datetime(list(values), utc=True))
    return _days(stamps.tz_localize(None).to_numpy(dtype="datetime64[us]"))


def _durations_to_days(values: np.ndarray) -> np.ndarray:
    return _days(values.astype("timedelta64[us]"))


def _times_to_days(values: np.ndarray) -> np.ndarray:
    day = datetime.date(1970, 1, 1)
    return _days(
        np.array([datetime.datetime.combine(day, value) for value in values], "datetime64[us]")
    )


def _to_float(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64)


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
    "time": ("timedelta", _times_to_days),
}
