"""Audits with the user's own propensities and outcome probabilities."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError, LeakWarning, MDFAWarning
from mdfa_fairness_plugin.replicate.null import _chances

QUICK = {"learner": "tree", "n_splits": 2}


@pytest.fixture(scope="module")
def null():
    """Both the group and the outcome follow x1; at equal features neither tells the other."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(1200, 2)), columns=["x1", "x2"])
    e, m = expit(X["x1"].to_numpy()), expit(1.5 * X["x1"].to_numpy())
    s = np.where(rng.random(1200) < e, "b", "a")
    return X, (rng.random(1200) < m).astype(int), s, e, m


@pytest.fixture(scope="module")
def audited(null):
    X, y, s, e, m = null
    auditor = mdfa.MDFAuditor(propensity=e, outcome_probability=m, **QUICK)
    return auditor.fit(X, y, sensitive_features=s)


def test_figures_are_those_made_by_hand_of_the_true_probabilities(null, audited):
    """The statistic of residuals, and rates by overlap weights."""
    _, y, s, e, m = null
    for v in audited.result_.violations:
        own_e = e if v.group == "b" else 1 - e
        own_m = m if v.outcome == 1 else 1 - m
        group, positive, inside = s == v.group, y == v.outcome, v.membership
        residual = ((positive - own_m) * (group - own_e))[inside]
        assert v.statistic == pytest.approx(residual.sum() / np.sqrt((residual**2).sum()))
        weight = np.where(group, 1 - own_e, own_e)
        rates = [
            np.average(positive[side & inside], weights=weight[side & inside])
            for side in (group, ~group)
        ]
        assert v.estimates["hajek"] == pytest.approx(np.log(rates[0] / rates[1]))
        np.testing.assert_allclose(v.propensity, own_e)


def test_probabilities_of_the_other_label_say_the_same(null, audited):
    X, y, s, e, m = null
    other = mdfa.audit(
        X,
        y,
        sensitive_features=s,
        propensity={"a": 1 - e},
        outcome_probability=np.column_stack([1 - m, m]),
        **QUICK,
    )
    for v, w in zip(audited.result_.violations, other.violations, strict=True):
        assert v.statistic == pytest.approx(w.statistic)
        assert v.delta == pytest.approx(w.delta)
        np.testing.assert_array_equal(v.membership, w.membership)


def test_values_stay_with_their_rows_whatever_the_order(null, audited):
    X, y, s, e, m = null
    order = np.random.default_rng(0).permutation(len(y))
    turned = mdfa.audit(
        X.iloc[order].reset_index(drop=True),
        y[order],
        sensitive_features=s[order],
        propensity=e[order],
        outcome_probability=m[order],
        **QUICK,
    )
    for v, w in zip(audited.result_.violations, turned.violations, strict=True):
        assert v.statistic == w.statistic
        np.testing.assert_array_equal(v.membership[order], w.membership)


def test_new_rows_are_judged_by_the_audits_own_models(null, audited):
    X = null[0]
    judged = audited.decision_function(X.iloc[:20])
    assert np.isfinite(judged).all()
    again = pickle.loads(pickle.dumps(audited)).decision_function(X.iloc[:20])
    np.testing.assert_array_equal(judged, again)
    assert audited.explain_row(None, row=3)


def test_rows_of_unknown_side_are_judged_too(null):
    X, y, s, e, m = null
    s = s.astype(object)
    s[:100] = None
    with pytest.warns(UserWarning, match="no value"):
        result = mdfa.audit(
            X, y, sensitive_features=s, propensity=e, outcome_probability=m, **QUICK
        )
    assert all(v.n_missing for v in result.violations)


def test_provenance_keeps_a_description(null, audited):
    parameters = audited.result_.provenance["parameters"]
    assert parameters["propensity"].startswith("array of shape (1200,), sha256 ")
    assert "array of shape" in audited.result_.to_json()
    X, y, s, e, _ = null
    other = mdfa.audit(
        X, y, sensitive_features=s, propensity={"a": pd.Series(1 - e)}, groups=["a"], **QUICK
    )
    told = other.provenance["parameters"]["propensity"]
    assert told["a"].startswith("array of shape (1200,), sha256 ")


def test_an_estimator_is_cross_fitted_by_the_folds(null, audited):
    """A logistic regression on x1 comes close to the truth."""
    X, y, s, _, _ = null
    own = LogisticRegression()
    auditor = mdfa.MDFAuditor(propensity=own, outcome_probability=own, **QUICK)
    result = auditor.fit(X, y, sensitive_features=s).result_
    for v, w in zip(result.violations, audited.result_.violations, strict=True):
        assert np.abs(v.propensity - w.propensity).mean() < 0.05
    assert result.provenance["parameters"]["propensity"] == "LogisticRegression()"
    assert np.isfinite(auditor.decision_function(X)).all()


@pytest.mark.parametrize("argument", ["propensity", "outcome_probability"])
def test_what_was_fitted_to_the_same_rows_is_warned_of_by_name(null, argument):
    X, y, s, _, _ = null
    answer = y if argument == "outcome_probability" else s
    forest = RandomForestClassifier(50, random_state=0).fit(X, answer)
    p = np.clip(forest.predict_proba(X)[:, 1], 0.001, 0.999)
    with pytest.warns(MDFAWarning) as caught:
        result = mdfa.audit(X, y, sensitive_features=s, **{argument: p}, **QUICK)
    told = [one for one in caught if issubclass(one.category, LeakWarning)]
    assert len(told) == 1
    assert str(told[0].message).startswith(f"{argument}: ")
    assert [one.category for one in result.warnings].count("LeakWarning") == 1


def test_honest_probabilities_are_not_warned_of(audited):
    assert not [one for one in audited.result_.warnings if one.category == "LeakWarning"]


def test_repetitions_take_the_rows_that_they_look_at(audited):
    half = audited.result_.stability(n_repeats=2)
    assert np.isfinite(half.jaccard).all()
    draws = audited.result_.null_distribution(n_draws=19)
    assert np.isfinite(draws.statistics).all()
    assert abs(draws.statistics.mean()) < 1.0


def test_redraws_follow_the_probabilities_given(null):
    X, y, s, _, _ = null
    third = np.where(np.arange(len(s)) % 10 == 0, "c", s)
    given = {"a": np.full(len(s), 0.2), "b": np.full(len(s), 0.5)}
    result = mdfa.audit(
        X, y, sensitive_features=third, propensity=given, groups=["a", "b"], **QUICK
    )
    chances = _chances(result.source, result.source.problem.sensitive[0], 0)
    np.testing.assert_allclose(chances, np.tile([0.2, 0.5, 0.3], (len(s), 1)))


def test_estimators_without_probabilities_are_refused_before_data_are_read():
    with pytest.raises(InputError, match=r"^outcome_probability: .*no predict_proba"):
        mdfa.audit(None, None, sensitive_features=None, outcome_probability=QuickRegressor())


class QuickRegressor:
    def fit(self, X, y):
        return self
