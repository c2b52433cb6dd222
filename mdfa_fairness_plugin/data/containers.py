"""Any container a user holds rows in, as named columns: pandas, polars, numpy, lists, sparse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from mdfa_fairness_plugin.data.columns import (
    Kind,
    Labels,
    TypedColumn,
    composed,
    listing,
    objects,
    read_column,
)
from mdfa_fairness_plugin.data.pairing import alignment
from mdfa_fairness_plugin.data.written import Writing
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError


@dataclass(eq=False)
class Table:
    """Columns of equal length, with what the user's container said about them."""

    argument: str  # name of the argument they came from, for messages
    names: tuple[Hashable, ...]  # as the user gave them
    arrays: list[Any]  # numpy or pandas extension arrays; empty if `matrix` holds the columns
    n_rows: int
    index: pd.Index | None = None  # None: rows are paired by position
    named: bool = True  # False if the names were made up here
    matrix: Any = None  # sparse columns, never densified together
    # How columns whose text was read as quantities are written, by place; None: not looked at yet.
    written: dict[int, Writing] | None = None
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
        if known is not None and (
            kind is None or known.kind == kind or {known.kind, kind} == {"numeric", "boolean"}
        ):
            return known
        array = self.array(position)
        column = read_column(array, f"{self.argument}: column {self.names[position]!r}", kind)
        # Plain numbers are read again in a moment, and would be a second copy of the table.
        plain = isinstance(array, np.ndarray) and array.dtype.kind in "iufb"
        if self.matrix is None and not (plain and kind not in ("categorical", "ordinal")):
            self._typed[position] = column
        return column

    def labelled(self) -> dict[int, Labels]:
        """Labels of the columns that hold any, by position."""
        if self.matrix is not None:
            return {}
        read = {position: self.typed(position).labels for position in range(self.n_columns)}
        return {position: labels for position, labels in read.items() if labels is not None}

    def relabelled(self, labels: Mapping[int, Labels]) -> None:
        """Read these columns as these labels from now on."""
        for position, own in labels.items():
            self._typed[position] = replace(self.typed(position), labels=own)

    def take(self, rows: np.ndarray) -> Table:
        """Return the rows at these positions, in this order; the index is left behind."""
        matrix = None if self.matrix is None else self.matrix.tocsr()[rows].tocsc()
        arrays = [array.take(rows) for array in self.arrays]
        return replace(self, arrays=arrays, n_rows=len(rows), index=None, matrix=matrix, _typed={})


def read_table(data: Any, argument: str, *, column_name: str | None = None) -> Table:
    """Read rows as named columns; a single column is called `column_name`, and refused without."""
    if isinstance(data, Table):
        return data
    _refuse_scalars(data, argument)
    if sparse.issparse(data):
        return _table_from_sparse(data, argument)
    if isinstance(data, pd.DataFrame):
        return _table_from_pandas(data, argument)
    if isinstance(data, Mapping):
        return _table_from_mapping(data, argument)
    frame = _eager_frame(data, argument)
    if frame is not None:
        names = _names(frame.columns, argument)
        arrays = [_array_from_narwhals(frame[name]) for name in frame.columns]
        return Table(argument, names, arrays, len(frame))
    array, index, name = _read_array(data, argument)
    if array.ndim == 1:
        if column_name is None:
            raise InputError(
                f"{argument}: a one-dimensional input of {len(array):,} values was given; rows and "
                "columns are needed. Reshape your data: .to_frame() of a Series, or "
                ".reshape(-1, 1) of an array that is a single column."
            )
        name = column_name if name is None else composed(name)
        return Table(argument, (name,), [array], len(array), index)
    if array.ndim != 2:
        raise InputError(
            f"{argument}: an array of {array.ndim} dimensions (shape {array.shape}) was given; "
            "two are needed: rows and columns."
        )
    start = "x" if column_name is None else f"{column_name}_"
    names = tuple(f"{start}{position}" for position in range(array.shape[1]))
    if column_name is not None and len(names) == 1:
        names = (column_name,)
    return Table(argument, names, [*array.T], len(array), index, named=False)


def read_vector(data: Any, argument: str) -> Table:
    """Read one value per row: a table of one column."""
    table = read_table(data, argument, column_name=argument)
    if table.n_columns != 1:
        raise InputError(
            f"{argument}: {table.n_columns} columns were given; one value per row is needed. "
            f"Select a single column."
        )
    return table


def _refuse_scalars(data: Any, argument: str) -> None:
    if data is None or isinstance(data, (str, bytes)) or np.isscalar(data):
        shown = repr(data) if len(repr(data)) < 80 else type(data).__name__
        hint = " A column name alone cannot be looked up; pass the column itself, as in X['sex']."
        raise InputTypeError(
            f"{argument}: {shown} was given; rows are needed, as a DataFrame, an array or a list."
            + hint * isinstance(data, str)
        )


def _names(columns: Iterable[Hashable], argument: str) -> tuple[Hashable, ...]:
    """Names of columns, refused if one is repeated."""
    names = tuple(map(composed, columns))
    refuse_repeated(names, argument)
    return names


def refuse_repeated(names: Iterable[Hashable], argument: str, where: str = "") -> None:
    """Refuse a name that stands for several columns."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{argument}: column names must differ, but {listing(repeated)} occur(s) more than "
            f"once{where}. Rename or drop the repeated columns."
        )


def _table_from_pandas(frame: pd.DataFrame, argument: str) -> Table:
    names = _names(frame.columns, argument)
    if names and all(_is_zero_filled_sparse(dtype) for dtype in frame.dtypes):
        matrix = _clean_sparse(frame.sparse.to_coo())  # type: ignore[attr-defined]
        return Table(argument, names, [], len(frame), frame.index, matrix=matrix)
    arrays = [_plain(frame.iloc[:, position]) for position in range(len(names))]
    return Table(argument, names, arrays, len(frame), frame.index)


def _is_zero_filled_sparse(dtype: Any) -> bool:
    zero_filled = isinstance(dtype, pd.SparseDtype) and not pd.isna(dtype.fill_value)
    return zero_filled and dtype.subtype.kind in "biuf" and dtype.fill_value == 0


def _table_from_mapping(data: Mapping[Hashable, Any], argument: str) -> Table:
    names = _names(data, argument)
    arrays: list[Any] = []
    index: pd.Index | None = None
    for name in data:
        column = read_vector(data[name], f"{argument}[{name!r}]")
        array = column.array(0)
        if arrays and len(array) != len(arrays[0]):
            raise InputError(
                f"{column.argument}: {len(array):,} values, where {argument}[{names[0]!r}] has "
                f"{len(arrays[0]):,}. Columns must have the same number of rows."
            )
        if index is None:
            index = column.index
        elif column.index is not None:
            others = f"the columns before it in {argument}"
            order = alignment(column.index, index, column.argument, others)
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
    if isinstance(data, np.matrix):
        raise InputTypeError(
            f"{argument}: a numpy matrix was given, whose columns stay matrices. Pass "
            "numpy.asarray(...) of it, for one value per row with .ravel()."
        )
    if isinstance(data, np.ndarray):
        if isinstance(data, np.ma.MaskedArray) or data.dtype.names is not None:
            raise InputTypeError(
                f"{argument}: a masked or structured array was given. Pass a DataFrame, with NaN "
                "where values are missing."
            )
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
        return objects(data)
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
        return pd.Categorical(series.cast(nw.String).to_list())
    return objects(series.to_list())
