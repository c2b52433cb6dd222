"""Any container is read as the same named columns."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mdfa_fairness_plugin.data.columns import listing, read_column, read_labels
from mdfa_fairness_plugin.data.containers import read_vector
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError

NAN = float("nan")


def object_array(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


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
    array = read_vector(values, "x").array(0)
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
    array = read_vector(values, "x").array(0)
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
    array = read_vector(values, "x").array(0)
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
    array = read_vector(values, "x").array(0)
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
    array = read_vector(values, "x").array(0)
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
    array = read_vector(values, "x").array(0)
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
    with pytest.raises(
        InputError, match=r"^x: Complex data not supported\. Give real and imaginary"
    ):
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


def test_listing_is_cut():
    assert listing(range(3)) == "0, 1, 2"
    assert listing(range(5000), 2) == "0, 1 and 4,998 more"


@pytest.mark.parametrize(
    "kind",
    ["list", "fixed_list", "struct", "map"],
)
def test_nested_arrow_columns_are_refused_as_lists_are(kind):
    pa = pytest.importorskip("pyarrow")
    types = {
        "list": (pa.list_(pa.int64()), [[1], [2], None]),
        "fixed_list": (pa.list_(pa.int64(), 2), [[1, 2], [3, 4], None]),
        "struct": (pa.struct([("a", pa.int64())]), [{"a": 1}, {"a": 2}, None]),
        "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [("b", 2)], None]),
    }
    dtype, values = types[kind]
    with pytest.raises(InputTypeError, match="x holds values that cannot be labels") as caught:
        read_column(pd.array(values, dtype=pd.ArrowDtype(dtype)), "x")
    assert str(dtype) in str(caught.value)
    assert "unhashable" not in str(caught.value)
    for one in ([1], {"a": 1}, {1}):
        with pytest.raises(InputTypeError, match=f"of type {type(one).__name__}"):
            read_column(object_array([one, one]), "x")
