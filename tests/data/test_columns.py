"""Any container is read as the same named columns."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data.columns import (
    alignment,
    listing,
    read_column,
    read_labels,
    read_table,
    read_vector,
)
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError

NAN = float("nan")


def object_array(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# -- containers


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}),
        pl.DataFrame({"a": [1, 2], "b": ["u", "v"]}),
        {"a": [1, 2], "b": ["u", "v"]},
        {"a": pd.Series([1, 2]), "b": np.array(["u", "v"])},
        np.array([(1, "u"), (2, "v")], dtype=[("a", int), ("b", "U1")]),
    ],
    ids=["pandas", "polars", "mapping", "mixed mapping", "structured"],
)
def test_containers_with_names(data):
    table = read_table(data, "X")
    assert table.names == ("a", "b")
    assert table.named
    assert table.n_rows == 2
    assert table.typed(0).numbers.tolist() == [1.0, 2.0]
    assert table.typed(1).labels.values == ("u", "v")


@pytest.mark.parametrize(
    "data",
    [
        [[1, "u"], [2, "v"]],
        [(1, "u"), (2, "v")],
        object_array([1, "u", 2, "v"]).reshape(2, 2),
        np.array([["1", "u"], ["2", "v"]]),
    ],
)
def test_containers_without_names_get_x0_x1(data):
    table = read_table(data, "X")
    assert table.names == ("x0", "x1")
    assert not table.named
    assert table.typed(1).labels.values == ("u", "v")


def test_numbers_in_an_object_array_are_numbers():
    table = read_table([[1, "u"], [2.5, "v"], [None, "w"]], "X")
    assert table.typed(0).kind == "numeric"
    np.testing.assert_array_equal(table.typed(0).numbers, [1, 2.5, NAN])


def test_masked_values_are_missing():
    data = np.ma.masked_array([[1.0, 5.0], [2.0, 6.0]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_table(data, "X").typed(1).numbers, [NAN, 6])


@pytest.mark.parametrize("container", ["csr_matrix", "csc_array", "coo_array"])
def test_sparse_columns_are_read_one_at_a_time(container):
    dense = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    table = read_table(getattr(sparse, container)(dense), "X")
    assert table.arrays == []
    for position in range(2):
        np.testing.assert_array_equal(table.typed(position).numbers, dense[:, position])


def test_a_sparse_frame_stays_sparse():
    frame = pd.DataFrame({"a": [0.0, 1.0, 0.0], "b": [0.0, 0.0, 3.0]}).astype(
        pd.SparseDtype(float, 0.0)
    )
    table = read_table(frame, "X")
    assert table.matrix is not None
    assert table.names == ("a", "b")
    assert table.typed(1).numbers.tolist() == [0, 0, 3]


def test_a_sparse_column_among_others_is_read():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1, 2]}).astype({"a": "Sparse[float]"})
    assert read_table(frame, "X").typed(0).numbers.tolist() == [0, 1]


def test_one_dimension_is_refused_with_the_way_out():
    with pytest.raises(InputError, match=r"X: a one-dimensional .*reshape\(-1, 1\)"):
        read_table([1, 2, 3], "X")
    with pytest.raises(InputError, match="to_frame"):
        read_table(pd.Series([1, 2, 3]), "X")


def test_three_dimensions_are_refused():
    with pytest.raises(InputError, match="3 dimensions"):
        read_table(np.zeros((2, 2, 2)), "X")


def test_ragged_rows_are_refused():
    with pytest.raises(InputError, match="different lengths"):
        read_table([[1, 2], [3]], "X")


def test_a_mapping_of_unequal_columns_is_refused():
    with pytest.raises(InputError, match=r"X\['b'\]: 1 values, where X\['a'\] has 2"):
        read_table({"a": [1, 2], "b": [1]}, "X")


@pytest.mark.parametrize("frame", [pd.DataFrame([[1, 2]], columns=["a", "a"])])
def test_duplicate_names_are_named(frame):
    with pytest.raises(InputError, match="'a' occur"):
        read_table(frame, "X")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "None was given"),
        ("sex", r"pass the column itself, as in X\['sex'\]"),
        (3, "3 was given"),
        ({1, 2}, "a set was given"),
        (object(), "cannot be read as rows"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        ([{"a": 1}, {"a": 2}], "from_records"),
        (sparse.csr_array(np.array([[1j]])), "complex"),
    ],
)
def test_what_is_no_table_is_a_type_error(data, message):
    with pytest.raises(InputTypeError, match=message):
        read_table(data, "X")


@pytest.mark.parametrize(
    "data",
    [
        [1, 0, 1],
        (1, 0, 1),
        np.array([1, 0, 1]),
        np.array([[1], [0], [1]]),
        pd.Series([1, 0, 1]),
        pd.DataFrame({"y": [1, 0, 1]}),
        pd.Categorical([1, 0, 1]),
        pd.Index([1, 0, 1]),
        pl.Series([1, 0, 1]),
        pl.DataFrame({"y": [1, 0, 1]}),
    ],
)
def test_vectors(data):
    array, _ = read_vector(data, "y")
    assert read_labels(array, "y").values == (0, 1)


def test_a_vector_of_two_columns_is_refused():
    with pytest.raises(InputError, match="y: 2 columns were given"):
        read_vector(np.zeros((3, 2)), "y")


# -- kinds


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, None],
        np.array([1.0, 2.0, NAN]),
        np.array([1.0, 2.0, NAN], dtype=np.float32),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 2, None], dtype="Float32"),
        pd.Series([1, 2, None], dtype="int64[pyarrow]"),
        pd.Series([1, 2, None], dtype="double[pyarrow]"),
        pd.Series([Decimal(1), Decimal(2), None]),
        pd.Series([1, Decimal(2), None], dtype=object),
        pd.Series([1, 2.0, pd.NA], dtype=object),
        pl.Series([1, 2, None]),
        pl.Series([1.0, 2.0, None]),
        pl.Series([1.0, 2.0, NAN]),
        pl.Series([Decimal(1), Decimal(2), None]),
    ],
)
def test_numbers_of_any_type(values):
    array, _ = read_vector(values, "x")
    column = read_column(array, "x")
    assert column.kind == "numeric"
    np.testing.assert_array_equal(column.numbers, [1, 2, NAN])


def test_arrow_decimals_are_numbers():
    pa = pytest.importorskip("pyarrow")
    series = pd.Series([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2)))
    np.testing.assert_array_equal(read_column(series.array, "x").numbers, [1.5, NAN])


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series([True, False, None], dtype="bool[pyarrow]"),
        pd.Series([True, False, None], dtype=object),
        pl.Series([True, False, None]),
    ],
)
def test_booleans_of_any_type(values):
    array, _ = read_vector(values, "x")
    column = read_column(array, "x")
    assert column.kind == "boolean"
    np.testing.assert_array_equal(column.numbers, [1, 0, NAN])


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(pd.Series(["1970-01-02 00:00", "1970-01-03 12:00", None])),
        pd.to_datetime(pd.Series(["1970-01-02 00:00", "1970-01-03 12:00", None])).astype(object),
        pd.to_datetime(pd.Series(["1970-01-02 00:00", "1970-01-03 12:00", None])).dt.tz_localize(
            "UTC"
        ),
        pd.to_datetime(pd.Series(["1970-01-02 01:00", "1970-01-03 13:00", None])).dt.tz_localize(
            "Europe/Berlin"
        ),
        pd.to_datetime(pd.Series(["1970-01-02 00:00", "1970-01-03 12:00", None])).astype(
            "timestamp[ms][pyarrow]"
        ),
        [datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 3, 12), None],
        [
            datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC),
            datetime.datetime(1970, 1, 3, 12, tzinfo=datetime.UTC),
            None,
        ],
        np.array(["1970-01-02", "1970-01-03T12", "NaT"], dtype="datetime64[h]"),
        pl.Series([datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 3, 12), None]),
        pl.Series(
            [datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 3, 12), None]
        ).dt.replace_time_zone("UTC"),
    ],
)
def test_dates_are_days(values):
    array, _ = read_vector(values, "x")
    column = read_column(array, "x")
    assert column.kind == "datetime"
    np.testing.assert_allclose(column.numbers, [1, 2.5, NAN])


@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(1970, 1, 2), datetime.date(1970, 1, 4), None],
        pl.Series([datetime.date(1970, 1, 2), datetime.date(1970, 1, 4), None]),
        pd.Series(pd.PeriodIndex(["1970-01-02", "1970-01-04", None], freq="D")),
        pd.Series([datetime.date(1970, 1, 2), datetime.date(1970, 1, 4), None]).astype(
            "date32[pyarrow]"
        ),
    ],
)
def test_days_of_the_calendar(values):
    array, _ = read_vector(values, "x")
    np.testing.assert_array_equal(read_column(array, "x").numbers, [1, 3, NAN])


def test_a_date_beyond_nanoseconds_is_read():
    values = [datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]
    numbers = read_column(object_array(values), "x").numbers
    assert numbers[0] - numbers[1] == (values[0] - values[1]).days


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(pd.to_timedelta(["1 day", "12 hours", None])),
        [datetime.timedelta(1), datetime.timedelta(hours=12), None],
        pl.Series([datetime.timedelta(1), datetime.timedelta(hours=12), None]),
    ],
)
def test_durations_are_days(values):
    array, _ = read_vector(values, "x")
    column = read_column(array, "x")
    assert column.kind == "timedelta"
    np.testing.assert_array_equal(column.numbers, [1, 0.5, NAN])


def test_times_are_parts_of_a_day():
    values = [datetime.time(6), datetime.time(18), None]
    np.testing.assert_array_equal(read_column(object_array(values), "x").numbers, [0.25, 0.75, NAN])


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", None],
        object_array(["b", "a", NAN]),
        object_array([np.str_("b"), "a", pd.NA]),
        pd.Series(["b", "a", None]),
        pd.Series(["b", "a", None], dtype=object),
        pd.Series(["b", "a", None], dtype="string"),
        pd.Series(["b", "a", None], dtype="string[pyarrow]"),
        pd.Series(["b", "a", None], dtype="category"),
        pd.Categorical(["b", "a", None], categories=["b", "a", "unused"]),
        pl.Series(["b", "a", None]),
        pl.Series(["b", "a", None], dtype=pl.Categorical),
        pl.Series(["b", "a", None], dtype=pl.Enum(["a", "b", "unused"])),
    ],
)
def test_labels_of_any_type(values):
    array, _ = read_vector(values, "x")
    assert read_column(array, "x").kind == "categorical"
    labels = read_labels(array, "x").used()
    assert labels.values == ("a", "b")
    assert all(type(value) is str for value in labels.values)
    assert labels.codes.tolist() == [1, 0, -1]


def test_arrow_dictionaries_are_labels():
    pa = pytest.importorskip("pyarrow")
    dtype = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    series = pd.Series(["b", "a", None], dtype=dtype)
    assert read_labels(series.array, "x").codes.tolist() == [1, 0, -1]


def test_only_true_missing_values_are_missing():
    values = object_array([None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"), "nan", "?", "NA", ""])
    assert read_labels(values, "x").codes[:5].tolist() == [-1] * 5
    assert (read_labels(values, "x").codes[5:] >= 0).all()


def test_labels_are_python_objects():
    assert type(read_labels(np.array([1, 2], dtype=np.int8), "x").values[0]) is int
    assert type(read_labels(np.array([True, False]), "x").values[0]) is bool
    assert type(read_labels(pd.array([1, 2], dtype="Int64"), "x").values[0]) is int
    assert type(read_labels(np.array(["a"]), "x").values[0]) is str
    assert read_labels(np.array(["2020-01-01"], dtype="M8[D]"), "x").values == (
        pd.Timestamp("2020-01-01"),
    )


def test_ordered_categories_keep_their_order():
    array = pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)
    column = read_column(array, "x")
    assert column.kind == "ordinal"
    assert column.labels.values == ("low", "mid", "high")
    assert column.labels.used().values == ("low", "high")
    assert column.labels.used().codes.tolist() == [0, 1]


def test_labels_of_several_types_are_told_apart():
    labels = read_labels(object_array([1, "1", 1, (0, 1)]), "x")
    assert len(labels.values) == 3
    assert labels.codes[0] == labels.codes[2]


def test_values_that_cannot_be_labels_are_refused():
    with pytest.raises(InputTypeError, match="x holds values that cannot be labels"):
        read_labels(object_array([[1], [2]]), "x")


def test_complex_numbers_are_refused():
    with pytest.raises(InputTypeError, match="x has dtype complex128"):
        read_column(np.array([1j, 2]), "x")


def test_numbers_beyond_floats_are_refused():
    with pytest.raises(InputError, match="x looks numeric"):
        read_column(object_array([10**400, 1]), "x")


def test_a_column_keeps_the_kind_asked_for():
    assert read_column(np.array([0, 1]), "x", "boolean").kind == "boolean"
    assert read_column(np.array([1, 2]), "x", "categorical").labels.values == (1, 2)
    assert read_column(object_array([None, None]), "x", "datetime").kind == "datetime"
    with pytest.raises(InputError, match=r"was numeric when .* and is categorical now"):
        read_column(object_array(["a"]), "x", "numeric")


# -- indexes


def test_equal_indexes_need_no_alignment():
    assert alignment(pd.RangeIndex(3), pd.Index([0, 1, 2]), "y", "X") is None
    assert alignment(pd.Index([1, 1]), pd.Index([1, 1]), "y", "X") is None


def test_alignment_puts_rows_in_the_order_of_the_reference():
    series = pd.Series([10, 20, 30], index=["a", "b", "c"])
    reference = pd.Index(["c", "a", "b"])
    positions = alignment(series.index, reference, "y", "X")
    assert series.to_numpy()[positions].tolist() == series.loc[reference].tolist()


def test_repeated_and_different_indexes_are_refused():
    with pytest.raises(InputError, match=r"y: its index .* that of y has repeated labels"):
        alignment(pd.Index([0, 0]), pd.Index([0, 1]), "y", "X")
    with pytest.raises(InputError, match=r"y: .* that of X has repeated labels"):
        alignment(pd.Index([0, 1]), pd.Index([0, 0]), "y", "X")
    with pytest.raises(InputError, match=r"y: .*1 of 2 labels are not found .*instance 1\."):
        alignment(pd.Index([0, 2]), pd.Index([0, 1]), "y", "X")


def test_series_of_a_mapping_are_aligned_to_the_first():
    a = pd.Series([1, 2, 3], index=[7, 8, 9])
    table = read_table({"a": a, "b": a.iloc[::-1]}, "X")
    assert table.typed(1).numbers.tolist() == [1, 2, 3]


def test_listing_is_cut():
    assert listing(range(3)) == "0, 1, 2"
    assert listing(range(5000), 2) == "0, 1 and 4,998 more"
