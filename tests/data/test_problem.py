"""What the user passed becomes a problem, or an error that says what to do."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    InputTypeError,
    MDFAWarning,
    WarningLog,
)

N_ROWS = 240


def test_a_problem_holds_the_rows_it_was_given(sample):
    X, y, sex = sample()
    problem = build_problem(X, y, sex)
    source = problem.source_row
    assert sorted(source) == list(range(N_ROWS))
    assert problem.n_samples == problem.n_rows == N_ROWS
    assert problem.outcome_labels == problem.outcomes == (0, 1)
    assert problem.feature_names[0] == "age"
    assert sorted(problem.feature_names) == ["age", "town=A", "town=B", "town=C"]
    np.testing.assert_array_equal(problem.X[:, 0], X["age"].to_numpy()[source])
    np.testing.assert_array_equal(problem.y, y[source])
    assert problem.display["town"].tolist() == X["town"].iloc[source].tolist()
    assert problem.display.index.equals(pd.RangeIndex(N_ROWS))
    np.testing.assert_array_equal(problem.encoder.transform(X)[source], problem.X)
    first, second = problem.contrasts
    assert (first.sensitive_feature, first.group, first.reference) == ("sex", "f", None)
    np.testing.assert_array_equal(first.s, np.where(sex.iloc[source] == "f", 1, -1))
    np.testing.assert_array_equal(second.s, -first.s)
    assert first.rows.all()
    assert problem.excluded == {}
    assert problem.weight_type == "none"
    assert (problem.sample_weight == 1).all()


def test_types_are_as_promised(sample):
    X, y, sex = sample()
    problem = build_problem(X, y, sex)
    assert problem.X.dtype == np.float64
    assert problem.X.flags.c_contiguous
    assert problem.y.dtype == np.intp
    assert problem.source_row.dtype == np.intp
    assert problem.sample_weight.dtype == np.float64
    assert problem.contrasts[0].s.dtype == np.int8
    assert len(problem.input_hash) == 64


def test_the_input_is_left_alone(sample):
    X, y, sex = sample()
    copies = X.copy(deep=True), y.copy(), sex.copy(deep=True)
    problem = build_problem(X, y, sex)
    problem.X[:] = -1
    problem.display.iloc[:, 1] = "elsewhere"
    pd.testing.assert_frame_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    pd.testing.assert_series_equal(sex, copies[2])


def test_numbers_are_shown_from_the_matrix_itself(rng, sample):
    """In one piece if all are; a column with gaps, a date and text are made from the input."""
    _, y, sex = sample()
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=["a", "b", "c"])
    problem = build_problem(X.assign(b=rng.random(N_ROWS) < 0.5), y, sex)
    assert all(np.shares_memory(problem.display[name], problem.X) for name in "abc")
    with pytest.raises(ValueError, match="read-only"):
        problem.display.iloc[0, 0] = -1.0
    expected = problem.encoder.display_frame(X.assign(b=problem.X[:, 1])).dtypes
    assert (problem.display.dtypes == expected).all()
    X["gaps"] = np.where(rng.random(N_ROWS) < 0.1, np.nan, X["a"])
    X["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, N_ROWS), unit="D")
    X["town"] = rng.choice(["A", "B"], N_ROWS)
    X["whole"] = rng.integers(0, 50, N_ROWS)
    problem = build_problem(X, y, sex)
    shared = {name for name in X if np.shares_memory(problem.display[name], problem.X)}
    assert shared == {"a", "b", "c", "whole"}
    expected = problem.encoder.display_frame(X).iloc[problem.source_row].reset_index(drop=True)
    pd.testing.assert_frame_equal(problem.display, expected)


@pytest.mark.parametrize(("kind", "limit"), [(float, 1.6), (int, 1.8)])
def test_the_matrix_is_the_only_copy_of_the_features(rng, kind, limit):
    n_rows = 100_000
    X = pd.DataFrame({f"x{place}": rng.normal(size=n_rows) for place in range(20)})
    X = X if kind is float else (100 * X).astype("int64")
    y, sex = rng.integers(0, 2, n_rows), rng.integers(0, 2, n_rows)
    build_problem(X[:300], y[:300], sex[:300])  # what is loaded or made once
    tracemalloc.start()
    problem = build_problem(X, y, sex)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem.X.shape == X.shape
    assert peak < limit * problem.X.nbytes
    assert kept < 1.3 * problem.X.nbytes


def test_lengths_are_compared_first(sample):
    X, y, sex = sample()
    with pytest.raises(InputError, match="y: 239 rows were given, but X has 240"):
        build_problem(X, y[1:], sex)
    with pytest.raises(InputError, match="sensitive_features: 239 rows were given, but X has 240"):
        build_problem(X, y, sex.iloc[1:])
    with pytest.raises(InputError, match="sample_weight: 2 rows were given, but X has 240"):
        build_problem(X, y, sex, sample_weight=[1, 2])


def test_column_names_are_not_looked_up(sample):
    X, y, _ = sample()
    with pytest.raises(InputError, match=r"sensitive_features: .*pass the columns, as in X\[\["):
        build_problem(X, y, ["town"])
    with pytest.raises(InputTypeError, match="sensitive_features: 'town' was given"):
        build_problem(X, y, "town")


def test_one_dimensional_features_are_refused(sample):
    X, y, sex = sample()
    with pytest.raises(InputError, match="X: a one-dimensional"):
        build_problem(X["age"], y, sex)


def test_empty_input_is_refused():
    with pytest.raises(InputError, match="X: it has no rows"):
        build_problem(np.zeros((0, 2)), [], [])
    with pytest.raises(InputError, match="X: it has no columns"):
        build_problem(pd.DataFrame(index=range(3)), [0, 1, 0], ["a", "b", "a"])
    with pytest.raises(InputError, match="X: 1 row"):
        build_problem([[1]], [0], ["a"])
    with pytest.raises(InputError, match="y: 2 columns"):
        build_problem([[1], [2]], [[0, 1], [1, 0]], ["a", "b"])
    with pytest.raises(InputError, match="sensitive_features: it has no columns"):
        build_problem([[1], [2]], [0, 1], pd.DataFrame(index=[0, 1]))


def test_warnings_point_here_and_are_kept(sample):
    X, y, sex = sample()
    sex[:5] = None
    log = WarningLog()
    with pytest.warns(MDFAWarning) as caught:
        problem = build_problem(X, y, sex, log=log)
    assert caught[0].filename == __file__
    assert problem.warnings == log.records
    assert problem.warnings[0].category == "MissingSensitiveWarning"


@pytest.mark.parametrize(
    ("kind", "n_bytes"), [("continuous", 20 * 16), ("binary", 20 * 16), ("text", 3 * 16 + 300)]
)
def test_checking_takes_no_steps_and_few_copies_of_every_row(rng, steps_of, peak_of, kind, n_bytes):
    """Twenty times the rows take the same steps, and never more than two copies of the encoded ones.

    So a million rows take seconds. Text has its codes besides.
    """

    def checking(n_rows):
        if kind == "text":
            X = {f"c{i}": rng.choice(np.array(list("abcdef"), object), n_rows) for i in range(3)}
        elif kind == "binary":
            X = rng.integers(0, 2, (n_rows, 10)).repeat(2, axis=1)  # so few that rows are equal
        else:
            X = rng.normal(size=(n_rows, 20))
        y, race = rng.integers(0, 2, n_rows), rng.integers(0, 4, n_rows)
        return lambda: build_problem(X, y, race)

    checking(1000)()
    assert steps_of(checking(20_000)) < 1.2 * steps_of(checking(1000))
    assert peak_of(checking(20_000)) < 20_000 * n_bytes


def test_problems_can_be_pickled(sample, assert_same):
    X, y, sex = sample()
    problem = build_problem(X, y, sex)
    assert_same(pickle.loads(pickle.dumps(problem)), problem)
