"""Sensitive columns become contrasts, each value against those it is compared with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    MissingSensitiveWarning,
)

N_ROWS = 300


@pytest.mark.parametrize(
    "sensitive",
    [
        lambda A: A,
        lambda A: A.to_numpy(),
        lambda A: A.to_numpy().tolist(),
        lambda A: dict(A.items()),
        lambda A: pl.DataFrame({name: A[name].to_list() for name in A}),
        lambda A: A.astype("category"),
        lambda A: A.astype("string"),
    ],
)
def test_containers_of_several_columns(data, sensitive):
    X, y, A = data
    expected = build_problem(X, y, A)
    problem = build_problem(X, y, sensitive(A))
    for one, other in zip(problem.contrasts, expected.contrasts, strict=True):
        assert one.group == other.group
        np.testing.assert_array_equal(one.s, other.s)


def test_names_of_columns_without_names(data):
    X, y, A = data
    names = [c.sensitive_feature for c in build_problem(X, y, A.to_numpy()).contrasts]
    assert list(dict.fromkeys(names)) == ["sensitive_feature_0", "sensitive_feature_1"]
    for one in (A["race"].to_numpy(), A["race"].tolist(), A["race"].rename(None)):
        assert build_problem(X, y, one).contrasts[0].sensitive_feature == "sensitive_feature"


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([0, 1], [0, 1]),
        (np.array([0, 1], dtype=np.int8), [0, 1]),
        (np.array([False, True]), [False, True]),
        ([1.0, 2.5], [1.0, 2.5]),
        ([1, "a"], [1, "a"]),
        (np.array(["x", "y"]), ["x", "y"]),
        (pd.array([1, 2], dtype="Int64"), [1, 2]),
        (pd.Categorical(["young", "old"], ["young", "old"], ordered=True), ["young", "old"]),
        (pd.to_datetime(["2020", "2021"]), [pd.Timestamp("2020"), pd.Timestamp("2021")]),
        (pd.cut([1, 9], [0, 5, 10]), [pd.Interval(0, 5), pd.Interval(5, 10)]),
    ],
)
def test_values_come_back_as_they_were_given(data, values, groups):
    X, y, _ = data
    sensitive = pd.Series(values).repeat(150).reset_index(drop=True)
    found = [contrast.group for contrast in build_problem(X, y, sensitive).contrasts]
    assert found == groups
    assert [type(value) for value in found] == [type(value) for value in groups]


def test_a_sensitive_column_may_have_any_name(data):
    X, y, A = data
    problem = build_problem(X, y, A["sex"].rename("y_pred"))
    assert problem.contrasts[0].sensitive_feature == "y_pred"
    assert build_problem(X, y, A["sex"].rename("age")).feature_names == ("age", "visits")


def test_a_measurement_is_refused_with_the_advice_to_bin(data, rng):
    X, y, _ = data
    income = pd.Series(rng.normal(size=N_ROWS), name="income")
    for values in (income, income.tolist(), pl.Series("income", income), income.astype(object)):
        with pytest.raises(
            InputError, match=r"sensitive_features: .*300 different numbers.*to_groups\(\w+, 4\)"
        ):
            build_problem(X, y, values)
    with pytest.raises(InputError, match=r"'income' holds .*different numbers"):
        build_problem(X, y, pd.Series(np.arange(N_ROWS), name="income"))
    with pytest.raises(InputError, match="different dates"):
        build_problem(X, y, pd.Series(pd.date_range("2020", periods=N_ROWS)))
    assert len(build_problem(X, y, pd.qcut(income, 4)).contrasts) == 4


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.SmallGroupWarning")
def test_numbers_of_few_values_are_groups(data):
    X, y, _ = data
    codes = np.arange(N_ROWS)
    assert len(build_problem(X, y, codes % 20).contrasts) == 20
    assert len(build_problem(X, y, (codes % 20).astype(float)).contrasts) == 20
    assert len(build_problem(X, y, codes % 20 + 0.5).contrasts) == 20
    assert len(build_problem(X, y, pd.Series(codes % 60).astype("category")).contrasts) == 60


def with_gaps(A):
    A = A.copy()
    A.loc[:39, "race"] = None
    return A


@pytest.mark.parametrize(
    "make",
    [
        lambda s: s,
        lambda s: s.astype("string"),
        lambda s: s.astype("category"),
        lambda s: s.to_list(),
        lambda s: s.astype(object).where(s.notna(), pd.NaT).rename("sensitive_feature"),
        lambda s: s.map({"A": 1.0, "B": 2.0, "C": 3.0}),
        lambda s: s.map({"A": 1, "B": 2, "C": 3}).astype("Int64"),
        lambda s: pl.Series("race", [None if pd.isna(v) else v for v in s]),
    ],
)
def test_missing_values_are_not_compared_and_counted(data, make, sizes):
    X, y, A = data
    values = make(with_gaps(A)["race"])
    with pytest.warns(MissingSensitiveWarning, match="sensitive_features: 40 rows have no value"):
        problem = build_problem(X, y, values)
    assert [sizes(one) for one in problem.contrasts] == [(110, 150), (90, 170), (60, 200)]
    (count,) = problem.excluded.values()
    assert count == 40
    assert next(iter(problem.excluded)).startswith("missing sensitive value (")
    assert (problem.contrasts[0].s[problem.source_row < 40] == 0).all()
    assert problem.n_rows == N_ROWS


def test_missing_values_are_counted_per_column(data, by_group, sizes):
    X, y, A = data
    A = with_gaps(A)
    A.loc[:2, "sex"] = None
    with pytest.warns(MissingSensitiveWarning):
        problem = build_problem(X, y, A)
    assert problem.excluded == {
        "missing sensitive value (race)": 40,
        "missing sensitive value (sex)": 3,
    }
    assert sum(sizes(by_group(problem)["f"])) == 297


def test_missing_counts_are_input_rows_whatever_their_weight(data):
    X, y, A = data
    weight = np.full(N_ROWS, 3)
    weight[:10] = 0
    with pytest.warns(MissingSensitiveWarning, match="30 rows"):
        problem = build_problem(X, y, with_gaps(A)["race"], sample_weight=weight)
    assert problem.excluded == {"zero weight": 10, "missing sensitive value (race)": 30}


def test_missing_values_can_be_a_group(data, by_group, sizes):
    X, y, A = data
    problem = build_problem(X, y, with_gaps(A)["race"], missing="category")
    assert sizes(by_group(problem)["(missing)"]) == (40, 260)
    assert problem.excluded == {}
    named = with_gaps(A)["race"].astype(object)
    named[:20] = "(missing)"
    problem = build_problem(X, y, named, missing="category")
    assert sizes(by_group(problem)["(missing)"]) == (40, 260)


def test_missing_values_can_be_an_error(data):
    X, y, A = data
    with pytest.raises(InputError, match="sensitive_features: 40 rows have no value in 'race'"):
        build_problem(X, y, with_gaps(A), missing="raise")


def test_text_that_says_nan_is_a_value(data, by_group, sizes):
    X, y, A = data
    for text in ("nan", "?", "NA", ""):
        problem = build_problem(X, y, A["race"].where(A.index >= 40, text))
        assert sizes(by_group(problem)[text]) == (40, 260)


@pytest.mark.parametrize("values", [["a"] * N_ROWS, [None] * N_ROWS, ["a", None] * 150])
@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.MissingSensitiveWarning")
def test_one_value_is_nothing_to_compare(data, values):
    X, y, A = data
    with pytest.raises(InputError, match="sensitive_features: nothing to compare in 'b'"):
        build_problem(X, y, {"sex": A["sex"], "b": values})
