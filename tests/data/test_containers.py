"""Containers of rows become named columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.containers import read_table, read_vector
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError

NAN = float("nan")


def object_array(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}),
        pl.DataFrame({"a": [1, 2], "b": ["u", "v"]}),
        {"a": [1, 2], "b": ["u", "v"]},
        {"a": pd.Series([1, 2]), "b": np.array(["u", "v"])},
    ],
    ids=["pandas", "polars", "mapping", "mixed mapping"],
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


@pytest.mark.parametrize(
    "data",
    [
        np.ma.masked_array([[1.0, 5.0], [2.0, 6.0]], mask=[[False, True], [False, False]]),
        np.array([(1.0, "u"), (2.0, "v")], dtype=[("a", float), ("b", "U1")]),
    ],
    ids=["masked", "structured"],
)
def test_arrays_that_hold_more_than_values_are_refused(data):
    with pytest.raises(InputTypeError, match=r"^X: a masked or structured array .* DataFrame"):
        read_table(data, "X")


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
    assert read_labels(read_vector(data, "y").array(0), "y").values == (0, 1)


def test_a_vector_of_two_columns_is_refused():
    with pytest.raises(InputError, match="y: 2 columns were given"):
        read_vector(np.zeros((3, 2)), "y")


def test_series_of_a_mapping_are_aligned_to_the_first():
    a = pd.Series([1, 2, 3], index=[7, 8, 9])
    table = read_table({"a": a, "b": a.iloc[::-1]}, "X")
    assert table.typed(1).numbers.tolist() == [1, 2, 3]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("column_name", [None, "y"])
def test_a_matrix_is_refused_whatever_it_is_for(column_name):
    with pytest.raises(InputTypeError, match=r"it: a numpy matrix .*numpy\.asarray"):
        read_table(np.matrix([[1, 2]]).T, "it", column_name=column_name)
