"""On which rows it is measured, by which estimator, how surely."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.search.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")


@pytest.mark.parametrize("solver", SOLVERS)
def test_holdout_measures_three_tenths(people, audit, solver):
    X, y, s = people(600, seed=8)
    result = audit(X, y, s, evaluation="holdout", solver=solver, max_iter=8)
    for v in result.violations:
        assert v.held_out.sum() == pytest.approx(180, abs=4)
        assert v.n_rows == (v.membership & v.held_out).sum() <= v.held_out.sum()
        assert v.population.n_rows == v.held_out.sum()
        assert v.membership.shape == (600,)
        assert v.membership[~v.held_out].any()
    held = [v.held_out for v in result.violations]
    assert all((h == held[0]).all() for h in held)


def test_cross_fitting_measures_everybody(fast):
    one, *_ = fast
    assert all(v.held_out.all() for v in one.violations)


def test_holdout_finds_what_is_planted(people):
    X, y, s = people(2000, seed=9)
    worst = mdfa.audit(X, y, sensitive_features=s, evaluation="holdout", random_state=0).worst_case
    assert worst.verdict == "violation"
    assert worst.interval[0] < math.log(2.6) < worst.interval[1]


@pytest.mark.parametrize("estimator", ["hajek", "raw", "unweighted", "doubly_robust"])
def test_any_estimator_can_be_the_one_reported(audit, fast, estimator):
    one, X, y, s = fast
    result = audit(X, y, s, estimator=estimator)
    pairs = list(zip(result.violations, one.violations, strict=True))
    # What is adjusted for has a say in the choice of a region.
    same = [np.array_equal(v.membership, w.membership) for v, w in pairs]
    assert any(same)
    assert all(v.delta == v.estimates[estimator] for v, _ in pairs)
    for v, w in itertools.compress(pairs, same):
        assert v.estimates == w.estimates
        for end in (0, 1):
            assert v.interval[end] - w.interval[end] == pytest.approx(v.delta - w.delta, abs=1e-12)
        assert v.interval[0] <= v.delta <= v.interval[1]


def test_estimators_agree_roughly(planted):
    auditor, *_ = planted
    values = list(auditor.result_.worst_case.estimates.values())
    assert max(values) - min(values) < 0.3


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_direction_is_judged_by_its_own_propensity(audit, solver):
    """A quarter is of group b and gets the outcome three times as often: two estimates agree."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(1000, 2))
    s = np.where(rng.random(1000) < 1 / (1 + np.exp(1.2 - 0.7 * x[:, 0])), "b", "a")
    y = rng.random(1000) < np.where(s == "b", 0.6, 0.2)
    for v in audit(x, y, s, solver=solver, max_iter=3).violations:
        assert v.estimates["doubly_robust"] == pytest.approx(v.estimates["hajek"], abs=0.2)


def test_alpha_is_the_smallest_mass(audit, fast):
    """Larger alpha, larger regions; the mass is Pr[Y = y, G], never below alpha."""
    _, X, y, s = fast
    for alpha in (0.02, 0.1, 0.25):
        for v in audit(X, y, s, alpha=alpha).violations:
            assert v.mass >= alpha - 1e-9 or v.n_rows == 400


def test_higher_confidence_gives_wider_intervals(audit, fast):
    one, X, y, s = fast
    wide = audit(X, y, s, confidence_level=0.99)
    for v, w in zip(one.violations, wide.violations, strict=True):
        assert w.confidence_level == 0.99
        low, high = w.population.interval
        assert low < v.population.interval[0]
        assert high > v.population.interval[1]


def test_learning_from_a_sample_measures_everybody(people, audit, by_search, assert_same):
    X, y, s = people(3000, seed=6)
    capped = audit(X, y, s, max_learning_rows=1000)
    again = audit(X, y, s, max_learning_rows=1000)
    for v, w in zip(capped.violations, again.violations, strict=True):
        assert v.held_out.all()
        assert v.population.n_rows == 3000
        assert v.delta == w.delta
    worst = by_search(capped)["f", "deny"]
    assert worst.verdict == "violation"
    everything = audit(X, y, s, max_learning_rows=None)
    same = audit(X, y, s, max_learning_rows=3000)
    assert_same(everything, same)
