"""Groups, their references and combinations, outcomes, missing values."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.exceptions import (
    InputError,
    MissingSensitiveWarning,
    OverlapError,
    SmallGroupWarning,
)
from mdfa_fairness_plugin.search.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")


@pytest.fixture
def three_groups(people):
    """People of two sexes and three origins."""

    def draw(n=600, seed=3):
        X, y, s = people(n, seed=seed)
        rng = np.random.default_rng(10_000 + seed)
        return X, y, s, pd.Series(rng.choice(["n", "s", "w"], n, p=[0.5, 0.3, 0.2]), name="origin")

    return draw


def test_each_of_three_groups_is_compared_with_everybody_else(audit, three_groups):
    X, y, _, origin = three_groups()
    result = audit(X, y, origin)
    assert sorted({v.group for v in result.violations}) == ["n", "s", "w"]
    for v in result.violations:
        assert v.reference is None
        assert v.population.n_rows == 600
        assert v.population.counts.index.tolist() == [v.group, "everyone else"]
        own = (origin == v.group).to_numpy()
        assert v.population.counts.to_numpy()[0].sum() == own.sum()
        assert v.population.counts.loc[v.group, v.outcome] == (y[own] == v.outcome).sum()


@pytest.mark.parametrize("reference", ["n", {"origin": "n"}])
def test_reference_group_is_whom_the_others_are_compared_with(audit, reference, three_groups):
    X, y, _, origin = three_groups()
    result = audit(X, y, origin, reference_group=reference)
    assert sorted({v.group for v in result.violations}) == ["s", "w"]
    for v in result.violations:
        assert v.reference == "n"
        compared = origin.isin([v.group, "n"]).to_numpy()
        np.testing.assert_array_equal(v.held_out, compared)
        assert v.counts.index.tolist() == [v.group, "n"]
        assert v.population.n_rows == compared.sum()
        # Who is like them is told of the third group too.
        assert v.membership[~compared].any() == v.membership[compared].any()


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.ModelDependenceWarning")
def test_several_columns_and_their_combinations(audit, three_groups):
    X, y, s, origin = three_groups(900)
    result = audit(X, y, pd.DataFrame({"sex": s, "origin": origin}), intersections=True)
    assert result.sensitive_names == ("sex", "origin", "sex & origin")
    groups = {(v.sensitive_feature, v.group) for v in result.violations}
    assert ("sex & origin", ("f", "w")) in groups
    assert len(groups) == 2 + 3 + 6
    v = next(v for v in result.violations if v.group == ("f", "w"))
    own = ((s == "f") & (origin == "w")).to_numpy()
    assert v.population.counts.to_numpy()[0].sum() == own.sum()
    assert v.population.counts.index.tolist() == [("f", "w"), "everyone else"]
    assert "('f', 'w')" not in result.summary() or "f" in result.summary()
    assert len(result.to_frame()) == 22
    result.to_html()


def test_more_than_two_outcomes_are_each_against_the_rest(people, audit, by_search):
    X, y, s = people(600, seed=4)
    third = np.random.default_rng(0).random(600) < 0.25
    y = y.where(~third, "wait")
    assert len(audit(X, y, s).violations) == 6
    result = audit(X, y, s, outcomes=["deny", "wait"])
    assert result.outcome_labels == ("deny", "grant", "wait")
    found = by_search(result)
    assert sorted(found) == [("f", "deny"), ("f", "wait"), ("m", "deny"), ("m", "wait")]
    assert result.worst_case is found["f", "deny"]
    assert found["f", "deny"].counts.columns.tolist() == ["deny", "grant", "wait"]
    assert found["f", "wait"].counts.columns.tolist() == ["wait", "deny", "grant"]
    rows = found["f", "deny"].membership & (s == "f").to_numpy()
    assert found["f", "deny"].counts.loc["f", "deny"] == (y[rows] == "deny").sum()
    assert found["f", "wait"].verdict != "violation"


def test_rows_without_a_sensitive_value_are_left_out_and_counted(people, audit, by_search):
    X, y, s = people(800, seed=1, violation=3.0)
    s = s.mask(np.arange(800) % 8 == 0)
    with pytest.warns(MissingSensitiveWarning, match="100"):
        result = audit(X, y, s, learner="auto", outcomes="deny")
    assert sum(result.excluded.values()) == 100
    assert any(w.category == "MissingSensitiveWarning" for w in result.warnings)
    missing = s.isna().to_numpy()
    for v in result.violations:
        np.testing.assert_array_equal(v.held_out, ~missing)
        assert v.n_rows == (v.membership & ~missing).sum()
    # Whether they are like the people in the subgroup can be told.
    town = (X["town"] == "A").to_numpy()
    found = by_search(result)["f", "deny"].membership
    assert found[missing & town].mean() > found[missing & ~town].mean()


def test_missing_may_be_a_group_or_an_error(people, audit):
    X, y, s = people(400)
    s = s.mask(np.arange(400) % 8 == 0)
    result = audit(X, y, s, missing="category")
    assert "(missing)" in {v.group for v in result.violations}
    assert all(v.held_out.all() for v in result.violations)
    with pytest.raises(InputError, match=r"sensitive_features: .*50"):
        audit(X, y, s, missing="raise")


def test_groups_too_small_are_listed_not_audited(people, audit, by_search):
    X, y, s = people(400)
    s = s.mask(np.arange(400) < 7, "x")
    with pytest.warns(SmallGroupWarning, match="7"):
        result = audit(X, y, s)
    found = by_search(result)
    assert found["x", "deny"].verdict == "insufficient_evidence"
    assert "7" in found["x", "deny"].reason
    assert math.isnan(found["x", "deny"].delta)
    assert not found["x", "deny"].membership.any()
    assert ("sex", "x") not in result.balance
    # It counts among everybody else, and it is no part of the family of tests.
    assert found["f", "deny"].population.n_rows == 400
    assert found["f", "deny"].p_value_adjusted <= 4 * found["f", "deny"].p_value + 1e-12
    assert "x" in result.summary()


def test_no_group_large_enough(people, make_auditor):
    X, y, s = people(40)
    with pytest.warns(SmallGroupWarning):
        auditor = make_auditor().fit(X, y, sensitive_features=s)
    assert auditor.result_.worst_case is None
    assert {v.verdict for v in auditor.result_.violations} == {"insufficient_evidence"}
    assert not auditor.predict(X).any()
    assert (auditor.decision_function(X) == 0).all()
    auditor.result_.summary()
    auditor.result_.to_json()
    auditor.result_.to_html()


@pytest.mark.parametrize("evaluation", ["cross_fit", "holdout"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_group", [12])
def test_groups_of_a_few_rows_do_not_break_the_audit(people, audit, n_group, solver, evaluation):
    """Where the least size is set to ten the answer is too little evidence, or a measurement."""
    X, y, _ = people(200)
    s = np.where(np.arange(200) < n_group, "few", "many")
    try:
        result = audit(X, y, s, solver=solver, evaluation=evaluation, min_group_size=10, max_iter=8)
    except OverlapError:
        return
    for v in result.violations:
        assert v.verdict == "insufficient_evidence" or math.isfinite(v.detectable_delta)
    result.summary()
    result.to_json()


def test_unknown_sensitive_values_are_bounded(people, audit):
    """Every filling of a few unknown values lies inside the bounds; the estimate does too."""
    X, y, s = people(500, seed=4)
    s = s.astype(object)
    s[np.random.default_rng(0).choice(500, 12, replace=False)] = None
    with pytest.warns(MissingSensitiveWarning):
        result = audit(X, y, s, balance="none")
    for v in result.violations:
        low, high = v.missing_bounds
        if v.share < 1:
            assert v.n_missing <= 12
        else:
            assert v.n_missing == 12
        if v.n_missing == 0:
            assert math.isnan(low)
            continue
        assert low <= v.delta <= high
        # With everybody in the region the extremes can be written down.
        if v.share == 1 and v.n_missing == 12:
            table = v.counts.to_numpy()
            unknown = pd.isna(s).to_numpy()
            hits = int((y[unknown] == v.outcome).sum())
            top = (table[0, 0] + hits) / (table[0].sum() + hits)
            bottom = table[1, 0] / (table[1].sum() + 12 - hits)
            assert high == pytest.approx(math.log(top / bottom))
    assert all(v.n_missing == 0 for v in audit(*people(400, seed=4)).violations)
