"""Rows are paired by index where there is one, else by position."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.containers import read_table
from mdfa_fairness_plugin.data.pairing import Pairing, alignment, check_length
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    WarningLog,
)


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


N_ROWS = 240


def test_equal_index_sets_are_aligned_to_the_features(sample, assert_same):
    X, y, sex = sample()
    X.index = y_index = pd.Index([f"p{i}" for i in range(N_ROWS)])
    y = pd.Series(y, index=y_index)
    sex.index = y_index
    weight = pd.Series(np.linspace(0.5, 1.5, N_ROWS), index=y_index)
    expected = build_problem(X, y, sex, sample_weight=weight)
    other = build_problem(
        X,
        y.sample(frac=1, random_state=0),
        sex.iloc[::-1],
        sample_weight=weight.sort_values(ascending=False),
    )
    assert_same(other, expected)
    notes = [record.message for record in other.warnings if record.category == "AlignedIndex"]
    assert [note.partition(":")[0] for note in notes] == [
        "y",
        "sensitive_features",
        "sample_weight",
    ]


def test_without_an_index_rows_are_paired_by_position(sample, assert_same):
    X, y, sex = sample()
    expected = build_problem(X, y, sex)
    relabelled = X.set_axis(np.arange(N_ROWS)[::-1], axis=0)
    assert_same(build_problem(relabelled, y, sex.to_numpy(dtype=object)), expected, hashes=False)


def test_features_without_an_index_follow_the_outcome(sample, assert_same):
    X, y, sex = sample()
    values = X[["age"]].to_numpy()
    expected = build_problem(values, pd.Series(y), sex)
    assert_same(build_problem(values, pd.Series(y), sex.iloc[::-1]), expected)


def test_repeated_labels_are_fine_if_all_indexes_are_the_same(sample, assert_same):
    X, y, sex = sample()
    index = pd.Index([0] * N_ROWS)
    expected = build_problem(X, y, sex)
    X.index = sex.index = index
    assert_same(build_problem(X, pd.Series(y, index=index), sex), expected)


@pytest.mark.parametrize("argument", ["y", "sensitive_features", "sample_weight"])
def test_different_indexes_are_refused_by_name(argument, sample):
    X, y, sex = sample()
    arguments = {
        "y": pd.Series(y),
        "sensitive_features": sex,
        "sample_weight": pd.Series(np.ones(N_ROWS)),
    }
    arguments[argument] = arguments[argument].set_axis(np.arange(N_ROWS) + 1)
    with pytest.raises(InputError, match=f"{argument}: its index differs from that of X: 1 of 240"):
        build_problem(X, **arguments)
    arguments[argument] = arguments[argument].set_axis([0] * N_ROWS)
    with pytest.raises(InputError, match=f"{argument}: .* that of {argument} has repeated labels"):
        build_problem(X, **arguments)


def table(argument, index):
    frame = pd.DataFrame({"value": np.arange(3)}, index=index)
    return read_table(frame if index else frame.to_numpy(), argument)


def test_the_first_argument_with_an_index_leads():
    log = WarningLog()
    pairing = Pairing(log)
    pairing.lead(table("X", None), table("y", ["a", "b", "c"]), table("z", ["c", "b", "a"]))
    assert pairing.align(table("X", None)).array(0).tolist() == [0, 1, 2]
    assert pairing.align(table("z", ["c", "b", "a"])).array(0).tolist() == [2, 1, 0]
    assert log.records[0].message == "z: its rows were put in the order of y, by index."
    with pytest.raises(InputError, match=r"^w: its index differs from that of y"):
        pairing.align(table("w", [1, 2, 3]))


def test_lengths_are_those_of_the_owner():
    check_length(table("y", None), 3, "X")
    with pytest.raises(InputError, match=r"^y: 3 rows .* X has 1,000\. Pass one per row of X\.$"):
        check_length(table("y", None), 1000, "X")
    with pytest.raises(InputError, match=r"X has 2\. Try again\.$"):
        check_length(table("y", None), 2, "X", "Try again.")
