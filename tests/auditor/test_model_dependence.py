"""Verdicts on black boxes that are rules of the features: what rests on the models is said to."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import ModelDependenceWarning

QUICK = {"learner": "tree", "n_splits": 2, "groups": [1], "outcomes": [1], "random_state": 0}


def three_signs(n, seed, strength=1.2):
    """The sign of a product of three features moves group and outcome; also the chance of both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    chance = expit(strength * np.sign(X[:, 0] * X[:, 1] * X[:, 2]))
    return X, rng.random(n) < chance, (rng.random(n) < chance).astype(int), chance


def coins(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.random(n) < 0.3, rng.integers(0, 2, n)


@pytest.fixture(autouse=True, scope="module")
def untold():
    """Models are not told what they miss: they would learn it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdfa_fairness_plugin.search.compared.Compared.missed", lambda *_: ())
        yield


def audited(X, y, s, **params):
    (v,) = mdfa.audit(X, y.astype(int), sensitive_features=s, **QUICK | params).violations
    return v


@pytest.fixture(scope="module", params=range(3))
def signs(request):
    """People at whose features nothing depends on the group, and their audit."""
    data = three_signs(1500, request.param)
    with pytest.warns(UserWarning, match="as the models of the features get better"):
        return data, audited(*data[:3])


def test_what_the_models_have_not_learned_yet_is_no_violation(signs):
    """The ratio, 1 in truth, falls with every rung; the interval reaches down to 1 all the same."""
    _, v = signs
    depends = v.depends_on_models
    assert v.verdict == "insufficient_evidence"
    assert "models" in v.reason
    assert depends.decisive
    ratios = np.array(depends.ratios)
    assert len(ratios) >= 2
    assert (np.diff(ratios) < 0).all()
    assert ratios[-1] == pytest.approx(v.ratio, rel=0.01)
    assert depends.allowance == pytest.approx(math.log(ratios.max() / ratios[-1]), rel=0.1)
    for losses in (depends.propensity_losses, depends.outcome_losses):
        assert len(losses) == len(ratios)
        assert (np.diff(losses) < 0).all()
        assert losses[0] == pytest.approx(math.log(2), abs=0.05)  # at first it is all chance
    assert v.lower < 0 < v.interval[1]
    frame = depends.to_frame()
    assert frame["ratio"].tolist() == list(depends.ratios)


def test_with_the_true_chances_there_is_nothing_to_allow_for(signs):
    (X, y, s, chance), mistaken = signs
    v = audited(X, y, s, propensity=chance, outcome_probability=chance)
    assert v.depends_on_models is None
    assert v.verdict != "violation"
    assert abs(math.log(v.population.ratio)) < abs(math.log(mistaken.population.ratio))
    low, high = v.population.interval
    assert low < 0 < high


def test_one_of_two_given_is_compared_with_every_rung_of_the_other(signs):
    (X, y, s, chance), mistaken = signs
    v = audited(X, y, s, propensity=chance)
    assert v.verdict != "violation"
    depends = v.depends_on_models
    assert len(set(depends.propensity_losses)) == 1
    assert len(depends.outcome_losses) == len(mistaken.depends_on_models.outcome_losses)


@pytest.mark.parametrize("seed", range(4))
def test_of_coins_the_models_owe_nothing(seed):
    """Nothing to learn: what better models change is less than a standard error of the ratio."""
    v = audited(*coins(600, seed))
    assert v.verdict == "none_larger_than_detectable"
    depends = v.depends_on_models
    error = (v.interval[1] - v.interval[0]) / (2 * 1.96)
    assert 0 <= depends.allowance < error
    assert not depends.decisive
    assert max(depends.ratios) / min(depends.ratios) < math.exp(error)


def test_a_violation_on_top_of_what_models_learn_at_once_stands():
    """Twice the rate for group 1 at the same feature, which moves both smoothly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    s = (rng.random(1500) < expit(X[:, 0])).astype(int)
    y = rng.random(1500) < (1 + s) * expit(X[:, 0] - 1) / 2
    v = audited(X, y, s)
    assert v.verdict == "violation"
    low, high = v.population.interval
    assert low < math.log(2) < high
    assert v.depends_on_models.allowance < 0.2


def test_least_ratio_is_asked_for_by_the_audit():
    """The same finding, called a violation or not by its size alone."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(1500, 2)), rng.integers(0, 2, 1500)
    y = rng.random(1500) < np.where(s == 1, 0.5, 0.3)
    plain, strict = audited(X, y, s), audited(X, y, s, min_ratio=3)
    assert plain.verdict == "violation"
    assert strict.verdict == "none_larger_than_detectable"
    assert "below 3 (min_ratio)" in strict.reason
    assert (strict.p_value, strict.interval) == (plain.p_value, plain.interval)


def test_seeds_and_orders_hold_for_what_rests_on_the_models(assert_same):
    X, y, s, _ = three_signs(600, 5)
    order = np.random.default_rng(1).permutation(600)

    def audit(rows):
        return mdfa.audit(X[rows], y[rows].astype(int), sensitive_features=s[rows], **QUICK)

    one, again, turned = audit(np.arange(600)), audit(np.arange(600)), audit(order)
    assert_same(one, again)
    (v,), (w,) = one.violations, turned.violations
    for name in ("ratios", "propensity_losses", "outcome_losses", "allowance", "decisive"):
        assert getattr(v.depends_on_models, name) == getattr(w.depends_on_models, name)
    for name in ("population", "searched", "core"):
        one_set, other = getattr(v, name), getattr(w, name)
        assert (one_set.delta, one_set.interval) == (other.delta, other.interval)
        np.testing.assert_equal(one_set.p_value, other.p_value)
    np.testing.assert_array_equal(v.membership[order], w.membership)


def test_a_mirrored_search_says_the_same_of_everybody():
    """Two outcomes, two groups: one hypothesis seen from two sides counts once."""
    X, y, s = coins(500, 3)
    params = {k: v for k, v in QUICK.items() if k not in ("groups", "outcomes")}
    result = mdfa.audit(X, y.astype(int), sensitive_features=s, **params)
    found = {(v.group, v.outcome): v for v in result.violations}
    for outcome in (0, 1):
        one, other = found[1, outcome], found[0, outcome]
        assert one.population.delta == pytest.approx(-other.population.delta, abs=1e-9)
        low, high = one.population.interval
        assert other.population.interval == pytest.approx((-high, -low), abs=1e-9)
    assert all(v.share == 1 for v in result.violations)
    assert max(v.p_value_adjusted / v.p_value for v in result.violations) <= 2 + 1e-9


def test_what_may_come_off_is_told_beside_the_ratio_that_is_asked_for():
    """A ratio that stays above 1 whatever comes off is not said to leave no disparity."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(900, 3)), columns=["a", "b", "c"])
    board = np.sign(np.sin(2.5 * X["a"]) * np.sin(2.5 * X["b"]))
    group = np.where(rng.random(900) < 0.5 + 0.3 * board, "x", "y")
    y = np.where(rng.random(900) < 0.25 + 0.15 * board + 0.18 * (group == "x"), "no", "yes")
    settings = {"sensitive_features": group, "learner": "tree", "n_splits": 2, "n_repeats": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelDependenceWarning)
        found = mdfa.audit(X, y, **settings).worst_case
        fall = found.depends_on_models.allowance
        assert (found.verdict, fall > 0.02) == ("violation", True)
        least = math.exp(found.delta - fall / 2)
        asked = mdfa.audit(X, y, min_ratio=least, **settings).violations
    own = next(one for one in asked if one.key == found.key)
    assert own.verdict == "insufficient_evidence"
    assert own.reason.endswith(f"may still come off would leave less than {least:.2f} (min_ratio)")
