"""Where there are too few rows, or none, to compare with."""

from __future__ import annotations

import io
import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.exceptions import MDFAError, OverlapError, OverlapWarning, WeightWarning


@pytest.mark.parametrize("learner", ["tree", "logistic", "svm_linear", "gradient_boosting"])
@pytest.mark.parametrize("n_positive", [1, 3])
@pytest.mark.parametrize("solver", ["auto", "level_set"])
def test_hardly_any_outcome_is_no_evidence(audit, fast, solver, learner, n_positive):
    _, X, y, s = fast
    rare = np.arange(len(y)) < n_positive
    result = audit(X, rare, s, solver=solver, learner=learner, outcomes=[True])
    for v in result.violations:
        assert v.verdict == "insufficient_evidence"
        assert v.reason


def test_features_that_tell_the_group_cannot_be_audited(audit):
    """x = s, up to noise: the error says why and what to do."""
    rng = np.random.default_rng(0)
    s = rng.choice([0, 1], 400)
    X = pd.DataFrame({"proxy": s + rng.normal(scale=0.01, size=400)})
    with pytest.raises(OverlapError) as caught:
        audit(X, rng.random(400) < 0.5, s)
    message = str(caught.value)
    assert message.startswith("sensitive_features: ")
    assert "400 of 400 rows" in message
    assert "coarser features" in message
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, MDFAError)


def half_overlap(n=800):
    """Beyond x = 0 everybody is of group 1; below, half are."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    s = np.where(X["x"] > 0, 1, rng.integers(0, 2, n))
    return X, rng.random(n) < 0.4, s


def test_rows_without_comparable_rows_are_left_out_and_counted(audit):
    X, y, s = half_overlap()
    with pytest.warns(OverlapWarning, match="no comparable row"):
        result = audit(X, y, s)
    outside = result.violations[0].held_out ^ True
    n_out = int(outside.sum())
    # But for a few whose chances are thought to be beyond those of anybody else.
    assert (X["x"][outside] > -0.5).mean() > 0.99
    assert outside[X["x"] > 0.3].all()
    for group in (0, 1):
        assert result.balance["sensitive_feature", group].n_outside_support == n_out
        assert result.balance["sensitive_feature", group].share_outside_support == pytest.approx(
            n_out / 800
        )
    assert n_out in result.excluded.values()
    for v in result.violations:
        assert not v.membership[outside].any()
        assert v.population.n_rows == 800 - n_out
    assert any(w.category == "OverlapWarning" for w in result.warnings)


def test_rows_without_comparable_rows_may_be_refused(audit):
    X, y, s = half_overlap()
    with pytest.raises(OverlapError, match="overlap='trim'"):
        audit(X, y, s, overlap="refuse")


def test_one_column_without_overlap_does_not_stop_the_others(people, audit):
    X, y, s = people(400)
    young = pd.Series(np.where(X["age"] < 40, "young", "old"), name="life")
    result = audit(X, y, pd.DataFrame({"sex": s, "life": young}))
    life = [v for v in result.violations if v.sensitive_feature == "life"]
    assert len(life) == 4
    for v in life:
        assert v.verdict == "insufficient_evidence"
        assert "no comparable row" in v.reason
        assert not v.reason.startswith("sensitive_features")
    assert result.worst_case.sensitive_feature == "sex"


@pytest.mark.parametrize("n_splits", [25, 45])
def test_many_folds_and_few_rows(people, audit, n_splits):
    """Some fold may hold nobody of a small comparison."""
    X, y, s = people(90)
    s = s.where(np.arange(90) % 3 > 0, "x")
    result = audit(
        X,
        y,
        s,
        n_splits=n_splits,
        reference_group="x",
        min_group_size=10,
        outcomes="deny",
        groups="f",
    )
    assert all(math.isfinite(v.population.delta) for v in result.violations)


def test_features_may_outnumber_rows(audit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 200))
    with io.StringIO() as _:
        result = audit(X, rng.random(120) < 0.5, rng.integers(0, 2, 120), overlap="trim")
    assert len(result.violations) == 4


@pytest.fixture(scope="module")
def positive_overlap():
    """Only people with a positive ``a`` are of both groups."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=1500), "b": rng.integers(0, 4, 1500)})
    s = np.where(X["a"] > 0, rng.choice(["p", "q"], 1500), "q")
    return X, rng.integers(0, 2, 1500), s


def test_half_an_overlap_is_described(audit, positive_overlap):
    X, y, s = positive_overlap
    with pytest.warns(OverlapWarning, match="no comparable row"):
        result = audit(X, y, s)
    assert {entry.group for entry in result.silence} == {"p", "q"}
    outside = int((X["a"] <= 0).sum())
    for entry in result.silence:
        assert entry.n_rows == pytest.approx(outside, rel=0.03)
        assert entry.share == pytest.approx(outside / 1500, rel=0.03)
        # The edge is known as well as a few rows on either side of it tell.
        said, _, edge = entry.rule.rpartition(" ")
        assert said == "a at most"
        assert float(edge) == pytest.approx(0.0, abs=0.05)
        assert entry.rule_recall > 0.95
        assert entry.n_group == (0 if entry.group == "p" else entry.n_rows)
    assert entry.rule in " ".join(result.summary().split())
    assert result.excluded


def test_most_of_the_rows_outside_is_refused(audit):
    rng = np.random.default_rng(2)
    a = rng.normal(size=1200)
    s = np.where(a > 0.8, rng.choice(["p", "q"], 1200), np.where(a > -0.3, "p", "q"))
    with pytest.raises(OverlapError, match="too little to speak for the whole"):
        audit(pd.DataFrame({"a": a}), rng.integers(0, 2, 1200), s)


@pytest.mark.parametrize("heavy", [1e2, 1e3, 1e5])
def test_one_heavy_weight_is_no_evidence(audit, heavy):
    """A row that outweighs all others teaches the models its own labels: nothing can be said."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.5, 500)
    weights[7] = heavy
    with pytest.warns(WeightWarning, match="worth only"):
        result = audit(
            pd.DataFrame(rng.normal(size=(500, 2))),
            rng.integers(0, 2, 500),
            rng.choice(["p", "q"], 500),
            sample_weight=weights,
            weight_type="sampling",
        )
    assert {v.verdict for v in result.violations} == {"insufficient_evidence"}
    assert all("equally weighted rows" in v.reason for v in result.violations)
