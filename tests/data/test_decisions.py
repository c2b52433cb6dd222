"""Outcomes: what is refused, and which are audited."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    NothingToAuditError,
)

N_ROWS = 240


def test_labels_come_back_as_they_were_given(sample):
    X, y, sex = sample()
    problem = build_problem(X, np.array(["deny", "grant"])[y], sex)
    assert problem.outcome_labels == ("deny", "grant")
    assert all(type(label) is str for label in problem.outcome_labels)
    assert [type(label) for label in build_problem(X, y == 1, sex).outcome_labels] == [bool, bool]
    assert build_problem(X, y.astype(float), sex).outcome_labels == (0.0, 1.0)


def test_scores_need_a_threshold(rng, sample):
    X, _, sex = sample()
    for scores in (rng.random(N_ROWS), pl.Series(rng.random(N_ROWS)), rng.random(N_ROWS).tolist()):
        with pytest.raises(InputError, match=r"y: scores were given .*y >= 0\.5"):
            build_problem(X, scores, sex)
    with pytest.raises(InputError, match="y: scores"):
        build_problem(X, [Decimal("0.5"), Decimal("0.7")] * (N_ROWS // 2), sex)


@pytest.mark.parametrize("value", [0, "deny", True, None])
def test_a_constant_outcome_is_nothing_to_audit(value, sample):
    X, _, sex = sample()
    error = InputError if value is None else NothingToAuditError
    with pytest.raises(error, match="y: "):
        build_problem(X, [value] * N_ROWS, sex)


def test_nothing_to_audit_names_the_outcome(sample):
    X, _, sex = sample()
    with pytest.raises(
        NothingToAuditError, match="y: every one of the 240 outcomes is 0: nothing to audit"
    ):
        build_problem(X, np.zeros(N_ROWS, int), sex)


@pytest.mark.parametrize(
    "y",
    [
        [None] + [0, 1] * 119 + [0],
        pd.Series([None] + [0, 1] * 119 + [0], dtype="Int64"),
        [float("nan")] + [0.0, 1.0] * 119 + [0.0],
        pd.Series([None] + ["a", "b"] * 119 + ["a"]),
        pl.Series([None] + [0, 1] * 119 + [0]),
    ],
)
def test_missing_outcomes_are_refused(y, sample):
    X, _, sex = sample()
    with pytest.raises(InputError, match=r"y: 1 of 240 outcomes are missing. Pass missing_outcome"):
        build_problem(X, y, sex)


def test_each_of_several_outcomes_is_audited_or_those_chosen(rng, sample):
    X, _, sex = sample()
    y = rng.choice(["deny", "grant", "refer"], N_ROWS)
    assert build_problem(X, y, sex).outcomes == ("deny", "grant", "refer")
    with pytest.raises(InputError, match=r"outcome_type: 'binary' was given, and y has 3 outcomes"):
        build_problem(X, y, sex, outcome_type="binary")
    with pytest.raises(
        InputError, match=r"y: 3 different numbers .*'numeric'.*'multiclass'.*ordered"
    ):
        build_problem(X, rng.integers(3, size=N_ROWS), sex)
    many = rng.permutation(np.arange(N_ROWS) % 21).astype(str)
    with pytest.raises(InputError, match=r"y: 21 different outcomes .*outcomes="):
        build_problem(X, many, sex)
    for asked in ("deny", ["deny"], ("deny",), np.array(["deny"]), pd.Series(["deny"])):
        problem = build_problem(X, y, sex, outcomes=asked)
        assert problem.outcomes == ("deny",)
        assert problem.outcome_labels == ("deny", "grant", "refer")
    assert build_problem(X, y, sex, outcomes=["refer", "deny"]).outcomes == ("deny", "refer")


def test_outcomes_are_found_whatever_their_number_type(sample):
    X, y, sex = sample()
    assert build_problem(X, y, sex, outcomes=np.float64(1)).outcomes == (1,)
    assert build_problem(X, y == 1, sex, outcomes=[True]).outcomes == (True,)


def test_unknown_outcomes_are_refused_with_those_found(sample):
    X, y, sex = sample()
    for asked in ("1", 2, [0, 2]):
        with pytest.raises(InputError, match=r"outcomes: .* is not among those found in y: 0, 1"):
            build_problem(X, y, sex, outcomes=asked)
    with pytest.raises(InputError, match="outcomes: an empty list"):
        build_problem(X, y, sex, outcomes=[])
