"""Every learner, solver and way of balancing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.balance import BALANCERS
from mdfa_fairness_plugin.exceptions import InputError, SearchWarning
from mdfa_fairness_plugin.learn.learners import LEARNERS
from mdfa_fairness_plugin.search.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("learner", ["auto", *(n for n in LEARNERS if n != "network_features")])
def test_every_learner_with_every_solver(people, audit, learner, solver):
    """Each finds people who are treated unequally, more of them in town A than elsewhere."""
    X, y, s = people(400, seed=2)
    params = {"learner": learner, "solver": solver, "max_iter": 3, "groups": ["f"]}
    if (learner, solver) == ("svm_rbf", "orthogonal"):
        with pytest.raises(InputError, match=r"learner: .*solver='level_set'"):
            audit(X, y, s, **params)
        return
    result = audit(X, y, s, outcomes="deny", **params)
    assert result.provenance["solver"] == solver
    found = result.worst_case
    assert found.delta > 0.3
    town = (X["town"] == "A").to_numpy()
    assert found.membership[town].mean() >= found.membership[~town].mean()


@pytest.mark.parametrize(
    ("learner", "solver"),
    [("auto", "orthogonal"), ("tree", "orthogonal"), ("svm_rbf", "level_set")],
)
def test_solver_follows_from_the_learner(audit, fast, learner, solver):
    _, X, y, s = fast
    result = audit(X, y, s, learner=learner, groups=["f"], outcomes="deny")
    assert result.provenance["solver"] == solver


@pytest.mark.parametrize(
    ("learner", "solver"),
    [
        (RandomForestClassifier(20, min_samples_leaf=10), "level_set"),
        (LogisticRegression(), "level_set"),
        (RandomForestRegressor(20, min_samples_leaf=10), "orthogonal"),
        (LinearRegression(), "orthogonal"),
    ],
)
def test_scikit_learn_estimators_choose_their_solver(audit, fast, learner, solver):
    _, X, y, s = fast
    result = audit(X, y, s, learner=learner, groups=["f"], outcomes="deny")
    assert result.provenance["solver"] == solver
    assert result.to_json(rows=True) == audit(
        X, y, s, learner=learner, groups=["f"], outcomes="deny"
    ).to_json(rows=True)


@pytest.mark.parametrize("balance", [m for m in BALANCERS if m != "mmd_network"])
def test_every_way_of_balancing_finds_what_is_planted(people, audit, balance):
    X, y, s = people(500, seed=2)
    result = audit(X, y, s, balance=balance, groups=["f"], outcomes="deny")
    assert result.balance["sex", "f"].method == balance
    assert result.provenance["balance"] == balance
    worst = result.worst_case
    assert worst.verdict == "violation"
    # Everybody's ratio is known too.
    assert worst.population.interval[0] < math.log(0.41 / 0.25) < worst.population.interval[1]


@pytest.mark.slow
def test_network_balancing_finds_what_is_planted(people, audit):
    pytest.importorskip("torch")
    X, y, s = people(500, seed=2)
    result = audit(X, y, s, balance="mmd_network", groups=["f"], outcomes="deny")
    assert result.balance["sex", "f"].method == "mmd_network"
    low, high = result.worst_case.population.interval
    assert low < math.log(0.41 / 0.25) < high


def test_given_weights_are_those_used(people, audit, assert_same):
    """Rates of "hajek" are the weighted ones inside; an array, a list and a Series are the same."""
    X, y, s = people(400, seed=2)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    params = {"groups": ["f"], "outcomes": "deny", "estimator": "hajek"}
    result = audit(X, y, s, balance=weights, **params)
    v = result.worst_case
    for group, rate in zip("fm", v.rates, strict=True):
        rows = v.membership & (s == group).to_numpy()
        assert rate == pytest.approx(np.average(y[rows] == "deny", weights=weights[rows]))
    assert result.balance["sex", "f"].method == "given"
    assert result.provenance["balance"] == "given"
    for other in (weights.tolist(), pd.Series(weights)):
        assert_same(result, audit(X, y, s, balance=other, **params))
    assert_same(
        audit(X, y, s, balance="none", **params), audit(X, y, s, balance=np.ones(400), **params)
    )


def test_given_weights_follow_their_rows(people, audit, by_search):
    """Rows shuffled together with their weights, some repeated, some absent."""
    X, y, s = people(300, seed=2)
    rng = np.random.default_rng(0)
    weights, copies = rng.uniform(0.5, 2.0, 300), rng.integers(0, 3, 300)
    counted = {"weight_type": "frequency"}
    one = audit(X, y, s, sample_weight=copies, balance=weights, **counted)
    rows = rng.permutation(np.repeat(np.arange(300), copies))
    again = (part.iloc[rows].reset_index(drop=True) for part in (X, y, s))
    two = audit(*again, balance=weights[rows], **counted)
    for key, v in by_search(one).items():
        assert v.delta == by_search(two)[key].delta


def test_an_object_can_balance(people, audit, assert_same):
    class Uniform:
        def fit(self, X, s, sample_weight=None):
            return self

        def weights(self, X, s):
            return np.ones(len(s))

    X, y, s = people(400, seed=2)
    params = {"groups": ["f"], "outcomes": "deny"}
    result = audit(X, y, s, balance=Uniform(), **params)
    assert result.balance["sex", "f"].method == "Uniform"
    assert_same(result, audit(X, y, s, balance=np.ones(400), **params))
    # Its weights mean to balance: what they leave of imbalance is taken out of the rates.
    plain = audit(X, y, s, balance="none", **params)
    (one,), (other,) = plain.violations, result.violations
    assert other.estimates["hajek"] == pytest.approx(one.estimates["hajek"], abs=0.2)
    assert other.population.delta != one.population.delta
    plain, weighed = (
        audit(X, y, s, balance=how, estimator="hajek", **params) for how in ("none", Uniform())
    )
    assert_same(plain, weighed)


def test_as_in_paper():
    auditor = mdfa.MDFAuditor.as_in_paper()
    assert isinstance(auditor, mdfa.MDFAuditor)
    settings = auditor.get_params()
    paper = {
        "alpha": 0.05,
        "estimator": "raw",
        "min_ratio": 1.0,
        "balance": "mmd_network",
        "learner": "network_features",
        "representation": "phi",
        "complexity": "cross_validated",
        "solver": "iterative",
        "evaluation": "holdout",
    }
    assert {name: settings[name] for name in paper} == paper
    other = mdfa.MDFAuditor.as_in_paper(learner="random_forest", alpha=0.02).get_params()
    assert (other["learner"], other["alpha"], other["balance"]) == (
        "random_forest",
        0.02,
        "mmd_network",
    )
    with pytest.raises(TypeError):
        mdfa.MDFAuditor.as_in_paper(nonsense=1)


def test_a_cut_short_algorithm_1_says_so(people, audit):
    """With two iterations the mass cannot have fallen to alpha, which the result tells."""
    X, y, s = people(400)
    with pytest.warns(SearchWarning, match="max_iter=2 iterations"):
        result = audit(X, y, s, solver="iterative", max_iter=2, groups=["f"], outcomes="deny")
    assert any("max_iter" in warning.message for warning in result.warnings)
