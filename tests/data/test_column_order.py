"""Columns are ordered by what they hold: shuffling or renaming them changes nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.column_order import column_order
from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.problem import build_problem

N_ROWS = 240


def _tables(rng):
    """Columns hard to tell apart in different ways."""
    age = rng.normal(size=N_ROWS)
    half = np.arange(N_ROWS) < N_ROWS // 2
    return {
        "measured": list(rng.normal(size=(5, N_ROWS))),
        "whole": list(rng.integers(0, 9, size=(5, N_ROWS)).astype(float)),
        "the same values": [rng.permutation(age) for _ in range(5)],
        "halves": [rng.permutation(half) for _ in range(6)],
        "twins": [age, rng.normal(size=N_ROWS), age, age, half, half.astype(float)],
        "zeros of both signs": [np.where(rng.permutation(half), 0.0, -0.0) + age for _ in range(3)],
        "a column and its complement": [half, ~half, rng.permutation(half), age],
    }


KINDS = tuple(_tables(np.random.default_rng(0)))


def _order(columns, sensitive, outcome, weight):
    labels = [read_labels(np.asarray(one, dtype=object), "s") for one in (*sensitive, outcome)]
    kinds = [str(column.dtype) for column in columns]
    return column_order(columns.__getitem__, kinds, labels[:-1], labels[-1], weight)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal", [False, True])
def test_columns_and_rows_may_be_shuffled_and_labels_renamed(rng, kind, equal):
    """Also where labels are equally frequent, so that only the rows that have them tell."""
    columns = _tables(rng)[kind]
    share = 0.5 if equal else 0.3
    outcome, sex = (rng.permutation(np.arange(N_ROWS) < share * N_ROWS) for _ in range(2))
    race = rng.permutation(np.arange(N_ROWS) % 3)
    weight = rng.integers(1, 3, N_ROWS) * 1.0
    order = _order(columns, [sex, race], outcome, weight)
    assert sorted(order) == list(range(len(columns)))
    for _ in range(5):
        rows, places = rng.permutation(N_ROWS), rng.permutation(len(columns))
        moved = [columns[place][rows] for place in places]
        renamed = np.array(["q", "p", "o"])[race[rows]]
        again = _order(moved, [renamed, ~sex[rows]], ~outcome[rows], 3.0 * weight[rows])
        for one, two in zip(order, again, strict=True):
            np.testing.assert_array_equal(moved[two], columns[one][rows])
            assert moved[two].dtype == columns[one].dtype


def test_measurements_come_first_and_yes_or_no_last(rng):
    """So the rows are sorted by few columns."""
    measured, whole = rng.normal(size=N_ROWS), rng.integers(0, 9, N_ROWS) * 1.0
    yes = whole > 4
    assert _order([yes, whole, measured], [yes], yes, np.ones(N_ROWS)).tolist() == [2, 1, 0]


def test_columns_that_only_mirror_each_other_may_change_places():
    """All answers to four questions: the first two matter alike, and so do the last two."""
    answers = np.tile(list(itertools.product([0, 1], repeat=4)), (8, 1))
    y = (answers[:, 0] & answers[:, 1]) ^ (answers[:, 2] | answers[:, 3])
    s = answers.sum(axis=1) % 2
    expected = build_problem(answers, y, s)
    for places in itertools.permutations(range(4)):
        problem = build_problem(answers[:, places], y, s)
        np.testing.assert_array_equal(problem.X, expected.X)
        np.testing.assert_array_equal(problem.y, expected.y)
        np.testing.assert_array_equal(problem.contrasts[0].s, expected.contrasts[0].s)


def test_pairs_that_belong_together_stay_together():
    """Two answers that matter alike, each given in two units: either goes first, with its own."""
    one, two = np.repeat([0, 0, 1, 1], 30), np.repeat([0, 1, 0, 1], 30)
    table = np.column_stack([one, two, 7 * one, 7 * two])
    y, s = one ^ two, np.tile(["f", "m", "f"], 40)
    expected = build_problem(table, y, s)
    for places in itertools.permutations(range(4)):
        problem = build_problem(table[:, places], y, s)
        np.testing.assert_array_equal(problem.X, expected.X)
        np.testing.assert_array_equal(problem.y, expected.y)


def test_what_is_shown_keeps_the_order_it_was_given_in(sample):
    X, y, sex = sample()
    X = X.assign(member=np.arange(N_ROWS) % 3 > 0, gap=X["age"].where(X["age"] > -1))
    expected = build_problem(X, y, sex)
    for columns in (["gap", "town", "age", "member"], ["member", "town", "gap", "age"]):
        problem = build_problem(X[columns], y, sex)
        assert problem.feature_names == expected.feature_names
        np.testing.assert_array_equal(problem.X, expected.X)
        assert [one.name for one in problem.encoder.displays_] == columns
        assert list(problem.display) == columns
        pd.testing.assert_frame_equal(problem.display[list(X)], expected.display)
        np.testing.assert_array_equal(
            problem.encoder.transform(X[::-1][columns]), problem.encoder.transform(X[::-1])
        )
        for one in problem.encoder.displays_:
            for place in one.encoded_columns:
                assert problem.feature_names[place].startswith(one.name)
        first = [name for name in problem.encoder.places_ if name.startswith(columns[0])]
        assert list(problem.encoder.places_)[: len(first)] == first
