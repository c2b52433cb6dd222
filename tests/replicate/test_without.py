"""Which features carry the difference between rates as observed and at equal features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.arguments import settled
from mdfa_fairness_plugin.data.given import GivenProbabilities
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.replicate import without
from mdfa_fairness_plugin.search.prepare import audit_folds

QUICK = {"random_state": 0, "learner": "tree", "n_splits": 2}
N = 600


def confounded(seed=0, n=N):
    """Feature `a` and town sway group and outcome; `b` and its copy say one thing; noise."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.normal(size=(3, n))
    town = rng.integers(0, 3, n)
    s = np.where(rng.random(n) < expit(0.7 * a + 0.5 * b + 0.8 * (town == 1) - 0.3), "p", "q")
    y = (rng.random(n) < expit(1.2 * a + b + 1.5 * (town == 1) - 1.0)).astype(int)
    X = pd.DataFrame({"a": a, "b": b, "copy": 2.0 * b, "noise": noise})
    X["town"] = np.array(["north", "south", "west"])[town]
    return X, y, s


@pytest.fixture(scope="module")
def audited():
    X, y, s = confounded()
    return mdfa.audit(X, y, sensitive_features=s, **QUICK)


@pytest.fixture(scope="module")
def explained(audited):
    return audited.explained()


def lines(found, search):
    return found.of_search(search).set_index("feature")


def test_a_confounder_left_out_moves_the_ratio_towards_the_raw_one(audited, explained):
    for j, violation in enumerate(audited.violations):
        found = lines(explained, j)
        raw = np.exp(violation.estimates["unweighted"])
        assert (found["ratio"] == violation.ratio).all()
        up = raw > violation.ratio
        for name in ("a", "town"):
            own = found.loc[name]
            assert own["change_low"] > 1 if up else own["change_high"] < 1
            assert violation.ratio < own["ratio_without"] < raw or not up
        # Neither noise nor one of two copies explains anything.
        for name in ("b", "copy", "noise"):
            assert found.loc[name, "change_low"] < 1 < found.loc[name, "change_high"]
        np.testing.assert_allclose(found.loc[["b", "copy"], "change"], 1.0, atol=0.04)
        assert found.index[0] == "a"


def test_the_only_feature_left_out_gives_the_raw_ratio():
    """Without any feature the models are constants, and so are the weights."""
    X, y, s = confounded(1)
    result = mdfa.audit(X[["a"]], y, sensitive_features=s, **QUICK)
    found = result.explained()
    np.testing.assert_allclose(found.without[0], found.unweighted, atol=2e-3)
    assert (np.abs(found.delta - found.unweighted) > 0.1).any()


def test_ratios_are_those_of_models_that_never_saw_the_feature(audited, explained):
    """Worked out without the package's estimates, from a matrix that lacks the column."""
    problem = audited.source.problem
    settings = settled(audited.source.settings, problem)
    (folds,) = audit_folds(problem, problem.contrasts, settings)
    worst = audited.violations.index(audited.worst_case)
    violation = audited.worst_case
    contrast = next(one for one in problem.contrasts if one.group == violation.group)
    kept = [name for name in problem.feature_names if name != "a"]
    X = problem.X[:, [problem.feature_names.index(name) for name in kept]]
    seeds = settings.seeds
    e = cross_fitted_probability(
        RowView(X), contrast.s > 0, folds, random_state=seeds["propensity"]
    ).out_of_fold
    positive = problem.y == problem.outcome_labels.index(violation.outcome)
    m = cross_fitted_probability(
        RowView(X), positive, folds, random_state=seeds["outcome"]
    ).out_of_fold
    inside = violation.membership[problem.source_row]
    p, q = [], []
    for side, weight in ((1, 1 - e), (-1, e)):
        rows = inside & (contrast.s == side) & ~violation.left_out[problem.source_row]
        p.append(np.average(positive[rows], weights=weight[rows]))
        q.append(np.average(m[rows], weights=weight[rows]))
    rates = expit(logit(p) - logit(q) + logit(np.mean(q)))
    own = explained.without[explained.features.index("a"), worst]
    assert own == pytest.approx(np.log(rates[0] / rates[1]), abs=1e-9)


def test_models_without_a_ladder_are_the_same(audited):
    problem = audited.source.problem
    folds = np.arange(N) % 2
    fit = [
        cross_fitted_probability(problem.encoded, problem.y == 1, folds, ladder=own)
        for own in (True, False)
    ]
    np.testing.assert_array_equal(*(one.out_of_fold for one in fit))
    assert fit[0].lesser
    assert not fit[1].lesser


def test_neither_order_matters():
    X, y, s = confounded(3, 300)
    order = np.random.default_rng(1).permutation(300)
    one = mdfa.audit(X[["a", "town"]], y, sensitive_features=s, **QUICK)
    two = mdfa.audit(X[["town", "a"]].iloc[order], y[order], sensitive_features=s[order], **QUICK)
    keys = ["group", "outcome", "feature"]
    first, second = (own.explained().to_frame().set_index(keys).sort_index() for own in (one, two))
    pd.testing.assert_frame_equal(first, second)


def reproduced(result):
    """Every search measured again with all features equal is what the audit reports."""
    problem = result.source.problem
    settings = settled(result.source.settings, problem)
    rows = without._measured(problem, settings, without._regions_of(result, problem))
    assert rows
    for v in result.violations:
        if v.key in rows:
            own = without._effect(*rows[v.key], settings)
            assert own.delta == pytest.approx(v.delta, abs=1e-9)


@pytest.mark.parametrize(("estimator", "evaluation"), [("hajek", "holdout"), ("raw", "cross_fit")])
def test_with_all_features_it_is_what_the_audit_reports(estimator, evaluation):
    X, y, s = confounded(2, 400)
    choices = {"estimator": estimator, "evaluation": evaluation}
    reproduced(mdfa.audit(X[["a"]], y, sensitive_features=s, **QUICK, **choices))


def test_weights_people_groups_and_levels_of_every_kind():
    """People of several rows, weights, three groups, one too small, unknown ones, many levels."""
    X, y, s = confounded(2, 500)
    rng = np.random.default_rng(0)
    people = rng.integers(0, 400, 500)
    s = s.astype(object)
    s[rng.random(500) < 0.3] = "r"
    s[:12], s[12:40] = "few", None
    X = X[["a"]].assign(street=rng.integers(0, 40, 500).astype(str))
    with pytest.warns(MDFAWarning):
        result = mdfa.audit(
            X,
            y,
            sensitive_features=s,
            sample_weight=rng.uniform(0.5, 2, 500),
            clusters=people,
            groups=["p", "few"],
            outcomes=[1],
            **QUICK,
        )
    reproduced(result)
    found = result.explained()
    few = np.array([v.group == "few" for v in result.violations])
    assert few.sum() == 1
    assert np.isnan(found.without[:, few]).all()
    assert np.isfinite(found.without[:, ~few]).all()
    assert np.isfinite(found.errors[:, ~few]).all()
    assert found.features == ("a", "street")
    assert found.summary().count("not measured") == 1


def test_levels_that_only_models_tell_apart_are_left_out_too():
    """A street decides the outcome and leans to a group, and no report shows it."""
    rng = np.random.default_rng(4)
    n = 600
    street = rng.permutation(np.arange(n) % 80)
    bad = street % 2 == 0
    s = np.where(rng.random(n) < np.where(bad, 0.75, 0.25), "p", "q")
    y = (rng.random(n) < np.where(bad, 0.8, 0.2)).astype(int)
    X = pd.DataFrame({"noise": rng.normal(size=n), "street": [f"street {k}" for k in street]})
    with pytest.warns(MDFAWarning):
        result = mdfa.audit(X, y, sensitive_features=s, groups=["p"], outcomes=[1], **QUICK)
    assert result.feature_names == ("noise",)
    found = result.explained()
    assert found.features == ("noise", "street")
    own = lines(found, found.worst)
    np.testing.assert_allclose(own.loc["noise", "change"], 1.0, atol=0.05)
    assert own.loc["street", "ratio_without"] == pytest.approx(
        own.loc["street", "ratio_unweighted"], rel=0.05
    )


def test_intervals_hold_for_all_features_at_once():
    found = without.Explained(
        searches=(("s", "a\n\x1b[31m", 1), ("s", "b", 1)),
        features=("x", "y"),
        delta=np.array([0.5, np.nan]),
        without=np.array([[0.5, np.nan], [0.9, np.nan]]),
        unweighted=np.array([1.0, np.nan]),
        errors=np.array([[0.1, np.nan], [0.1, np.nan]]),
        worst=0,
        confidence_level=0.95,
    )
    first, second = found.of_search(0).to_dict("records")
    assert (first["feature"], second["feature"]) == ("y", "x")
    # 2.2414 standard errors leave .025 outside, half of .05.
    assert first["change_high"] == pytest.approx(np.exp(0.4 + 2.2414 * 0.1), rel=1e-4)
    assert second["change"] == 1.0
    text = found.summary()
    assert "2.5 without y (1.2 to 1.9 times as large)." in text
    assert "not measured" in text
    assert "\x1b" not in text
    assert len(text.splitlines()) == 3


def test_what_cannot_be_fitted_without_a_feature_is_refused(audited):
    source = audited.source

    def asked(**settings):
        changed = replace(source, settings=replace(source.settings, **settings))
        return replace(audited, source=changed).explained()

    with pytest.raises(InputError, match=r"^estimator: 'unweighted' makes no features equal"):
        asked(estimator="unweighted")
    with pytest.raises(InputError, match=r"^balance: 'none' makes no features equal"):
        asked(balance="none")
    with pytest.raises(InputError, match=r"^balance: weights were given row by row"):
        asked(balance=np.ones(N))
    for argument, given in (
        ("propensity", GivenProbabilities(propensity={})),
        ("outcome_probability", GivenProbabilities(outcome={})),
    ):
        problem = replace(source.problem, given=given)
        with pytest.raises(InputError, match=f"^{argument}: probabilities were given row by row"):
            replace(audited, source=replace(source, problem=problem)).explained()


def test_estimators_of_ones_own_are_fitted_without_the_feature():
    X, y, s = confounded()
    own = {"propensity": LogisticRegression(), "outcome_probability": LogisticRegression()}
    result = mdfa.audit(X[["a", "noise"]], y, sensitive_features=s, **QUICK, **own)
    found = lines(result.explained(), 0)
    assert not found.loc["a", "change_low"] < 1 < found.loc["a", "change_high"]
    assert found.loc["noise", "change_low"] < 1 < found.loc["noise", "change_high"]
