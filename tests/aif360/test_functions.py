"""Metric functions in the manner of ``aif360.sklearn.metrics``, and scorers made of them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from mdfa_fairness_plugin.aif360 import (
    mdfa_scan,
    unfairness_certificate,
    worst_case_ratio,
    worst_case_violation,
)
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditWarning


@pytest.fixture(scope="module")
def data(xor_frame):
    """Features and labels as ``aif360.sklearn.datasets`` gives them: protected in the index, too."""
    frame = xor_frame(n=500)[["sex", "x", "y"]]
    frame["race"] = np.random.default_rng(7).choice(["a", "b"], size=500)
    frame["both"] = frame["sex"] * frame["x"]
    frame["told"] = frame["y"] + np.random.default_rng(8).normal(size=500)  # lets models err
    frame = frame.set_index(["race", "sex"], drop=False)
    return frame[["x", "sex", "both", "told"]], frame["y"]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(model, X, y, audit_features, cv, **arguments):
    """Minus the metric of each fold, its rows taken by position."""
    scores = []
    for train, test in cv.split(X):
        predicted = model.fit(X.iloc[train], y.iloc[train]).predict(X.iloc[test])
        people = audit_features.iloc[test]
        scores.append(
            -worst_case_violation(y.iloc[test], predicted, audit_features=people, **arguments)
        )
    return np.array(scores)


def test_they_give_the_scans_numbers(data, quick):
    X, y = data
    found = mdfa_scan(X[["x"]], y, prot_attr="sex", priv_group=1, pos_label=1, **quick)
    given = {"audit_features": X[["x"]], "prot_attr": "sex"} | quick
    ratio = worst_case_ratio(y, **given)
    assert ratio == found.worst_case().ratio > 1.5
    assert worst_case_violation(y, **given) == math.log(ratio) == found.score
    assert unfairness_certificate(y, **given) == found.worst_case().gamma
    # The seed is fixed unless it is given.
    assert worst_case_ratio(y, **(given | {"random_state": None})) == ratio
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    counting = given | {"sample_weight": weights, "weight_type": "frequency"}
    rows = np.repeat(np.arange(len(y)), weights)
    repeated = given | {"audit_features": X[["x"]].iloc[rows]}
    assert worst_case_violation(y, **counting) == pytest.approx(
        worst_case_violation(y.iloc[rows], **repeated), abs=1e-9
    )
    people = np.arange(len(y)) // 2
    assert worst_case_violation(y, **given, clusters=people) != found.score


def test_a_constant_prediction_is_warned_of_and_not_a_number(data, quick):
    X, y = data
    given = {"audit_features": X[["x"]], "prot_attr": "sex"} | quick
    for metric in (worst_case_violation, worst_case_ratio, unfairness_certificate):
        with pytest.warns(NothingToAuditWarning, match=r"^y_pred: .* The metric is NaN\.$"):
            assert math.isnan(metric(y, np.ones(500), **given))
    with pytest.warns(NothingToAuditWarning, match="a case of 'correct'"):
        assert math.isnan(worst_case_ratio(y, y.to_numpy(), **given, event="error"))


def test_a_scorer_by_routing_takes_the_rows_of_each_fold(data, quick, routing):
    """Of a repeating index, by which no row could be found."""
    X, y = data
    model, cv, people = LogisticRegression(), KFold(2), X[["x"]]
    arguments = {"prot_attr": "sex"} | quick
    scorer = make_scorer(worst_case_violation, greater_is_better=False, **arguments)
    scorer.set_score_request(audit_features=True)
    scores = cross_val_score(model, X, y, cv=cv, scoring=scorer, params={"audit_features": people})
    np.testing.assert_array_equal(scores, by_hand(model, X, y, people, cv, **arguments))
    assert (scores < -0.5).all()
    fit = {"scoring": scorer, "cv": cv, "refit": False}
    search = GridSearchCV(model, {"fit_intercept": [True]}, **fit)
    search.fit(X, y, audit_features=people)
    assert search.cv_results_["mean_test_score"][0] == scores.mean()
    dummy = DummyClassifier()
    with pytest.warns(NothingToAuditWarning):
        constant = cross_val_score(
            dummy, X, y, cv=cv, scoring=scorer, params={"audit_features": people}
        )
    assert np.isnan(constant).all()


def test_a_scorer_without_routing_finds_rows_by_a_unique_index(data, quick):
    X, y = data
    order = np.random.default_rng(0).permutation(500)
    unique = X.set_index(np.arange(500), append=True).iloc[order]
    labels = pd.Series(y.to_numpy()[order], index=unique.index)
    arguments = {"prot_attr": "sex"} | quick
    scorer = make_scorer(
        worst_case_violation, greater_is_better=False, audit_features=unique[["x"]], **arguments
    )
    model, cv = LogisticRegression(), KFold(2)
    scores = cross_val_score(model, unique, labels, cv=cv, scoring=scorer)
    np.testing.assert_array_equal(
        scores, by_hand(model, unique, labels, unique[["x"]], cv, **arguments)
    )


@pytest.mark.parametrize(
    ("people", "labels", "why"),
    [
        (lambda X: X, lambda y: y, "its index repeats"),
        (lambda X: X.to_numpy(), lambda y: y, "one of them has no index"),
        (lambda X: X.reset_index(drop=True), lambda y: y.to_numpy(), "one of them has no index"),
        (
            lambda X: X.reset_index(drop=True),
            lambda y: y.set_axis(np.arange(300) + 400),
            "its index does not have all labels of that of y_true",
        ),
    ],
)
def test_rows_that_cannot_be_told_are_refused_with_the_way_out(data, people, labels, why):
    X, y = data
    message = f"audit_features: it has 500 rows and y_true 300, .*{why}.*enable_metadata_routing"
    with pytest.raises(InputError, match=message):
        worst_case_ratio(labels(y[:300]), audit_features=people(X), prot_attr="sex")


def test_of_as_many_rows_those_of_the_labels_are_followed_by_index(data, quick):
    """Predictions without an index are in the order of the labels, not of the features."""
    X, y = data
    given = {"prot_attr": "sex"} | quick
    people, predicted = X[["x"]], (y ^ (np.arange(500) % 9 == 0)).to_numpy()
    ratio = worst_case_ratio(y, predicted, audit_features=people, **given)
    order = np.random.default_rng(0).permutation(500)
    with pytest.raises(InputError, match=r"y_true 500, and which belong .* as its index repeats"):
        worst_case_ratio(y.iloc[order], predicted[order], audit_features=people, **given)
    with pytest.raises(InputError, match=r"y_pred: it has no index.*index=y_true\.index\)"):
        mdfa_scan(people, y.iloc[order], predicted[order], **given)
    unique = people.set_index(np.arange(500), append=True)
    labels = pd.Series(y.to_numpy(), index=unique.index).iloc[order]
    found = worst_case_ratio(labels, predicted[order], audit_features=unique, **given)
    in_order = unique.iloc[order]
    assert found == worst_case_ratio(labels, predicted[order], audit_features=in_order, **given)
    assert found == pytest.approx(ratio, rel=0.1)


def test_the_old_name_of_the_features_is_warned_of(data, quick):
    X, y = data
    given = {"prot_attr": "sex"} | quick
    with pytest.warns(FutureWarning, match="called audit_features now") as said:
        old = worst_case_ratio(y, X=X[["x"]], **given)
    assert said[0].filename == __file__
    assert old == worst_case_ratio(y, audit_features=X[["x"]], **given)
    with pytest.raises(InputError, match="audit_features: pass the features"):
        worst_case_ratio(y, **given)
    with pytest.warns(FutureWarning), pytest.raises(InputError, match="both were given"):
        worst_case_ratio(y, audit_features=X, X=X, **given)


def test_aif360s_own_scorers_take_them(data, quick):
    """Its ratio scorer turns what is above 1, and its others take what is nearest to 0 for best."""
    metrics = pytest.importorskip("aif360.sklearn.metrics", reason="AIF360 is not installed")
    X, y = data
    model = LogisticRegression().fit(X, y)
    given = {"prot_attr": "sex", "audit_features": X[["x"]]} | quick
    ratio = worst_case_ratio(y, model.predict(X), **given)
    as_ratio = metrics.make_scorer(worst_case_ratio, is_ratio=True, **given)
    assert as_ratio(model, X, y) == pytest.approx(1 / ratio)
    plain = metrics.make_scorer(worst_case_violation, **given)
    assert plain(model, X, y) == pytest.approx(-math.log(ratio))
    # What is the same for everybody is also what AIF360 measures.
    rate = np.where(X["sex"] == 0, 0.4, 0.8)
    labels = pd.Series((np.random.default_rng(0).random(500) < rate).astype(int), index=X.index)
    flat = {
        "propensity": {"privileged": np.full(500, 0.5)},
        "outcome_probability": {"favorable": np.full(500, 0.6)},
    }
    impact = metrics.disparate_impact_ratio(labels, prot_attr="sex")
    assert worst_case_ratio(labels, **given, **flat) == pytest.approx(1 / impact, rel=0.02)
