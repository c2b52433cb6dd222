"""The classifier without repair is scikit-learn's, and what is wrong with its data is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.repairs import (
    LogisticClassifier,
    ReductionClassifier,
    ReweighingClassifier,
    ThresholdClassifier,
)


def test_the_plain_classifier_is_scikit_learns(people):
    Z = pd.get_dummies(people.X, columns=["job", "sex"], dtype=float)
    Z[["hours", "study"]] = StandardScaler().fit_transform(Z[["hours", "study"]])
    theirs = LogisticRegression(max_iter=1000).fit(Z, people.high).predict(Z)
    assert (people.answers("LC") == theirs).mean() > 0.999


@pytest.mark.parametrize(("own", "given", "used"), [(None, None, 0), (3, None, 3), (3, 5, 5)])
def test_an_estimator_that_draws_is_seeded(own, given, used):
    model = LogisticClassifier(DecisionTreeClassifier(random_state=own), random_state=given)
    assert model._base().random_state == used
    assert model.estimator.random_state == own


def test_rows_and_columns_are_paired_by_name_and_labels_told_as_they_are(people):
    pytest.importorskip("aif360")
    order = np.random.default_rng(0).permutation(len(people.s))
    y = pd.Series(people.high).iloc[order[::-1]]
    model = ReweighingClassifier().fit(people.X, y, sensitive_features=people.s.iloc[order])
    answers = model.predict(people.X)
    assert (model.predict(people.X[people.X.columns[::-1]]) == answers).all()
    assert (model.predict(people.X.to_numpy()) == answers).all()
    with pytest.raises(
        InputError, match=r"^X: 1 column.s. of the fit are missing: 'job'\. Found: 'hours'"
    ):
        model.predict(people.X.rename(columns={"job": "work"}))
    told = people.fitted("Reweighing-LC").report_.quantities
    assert model.report_.quantities["value"].tolist() == told["value"].tolist()
    assert "weight of a row of 'Female', False: " in model.report_.summary()
    pytest.importorskip("fairlearn")
    threshold = people.fitted("Threshold-LC")
    answers = threshold.predict(people.X, sensitive_features=people.s.iloc[order])
    assert ((answers == ">50K") == people.answers("Threshold-LC")).all()


def test_what_is_wrong_is_named(people):
    X, y, s = people.X, people.y, people.s
    thirds = np.arange(len(y)) % 3
    with pytest.raises(InputError, match="y: two labels are needed, 3 found"):
        LogisticClassifier().fit(X, thirds)
    with pytest.raises(InputError, match="y: 10 rows were given, but X has 2,000"):
        LogisticClassifier().fit(X, y[:10])
    with pytest.raises(InputError, match=r"X: 2 columns were given, but .* fitted to 4"):
        people.fitted("LC").predict(X[["hours", "sex"]])
    with pytest.raises(
        InputError, match="sensitive_features: ReductionClassifier needs them to fit"
    ):
        ReductionClassifier().fit(X, y)
    with pytest.raises(InputError, match=r"sensitive_features: two values are needed .* 3 found"):
        ReweighingClassifier().fit(X, y, sensitive_features=thirds)
    pytest.importorskip("fairlearn")
    model = people.fitted("Threshold-LC")
    assert isinstance(model, ThresholdClassifier)
    with pytest.raises(InputError, match="needs them to predict"):
        model.predict(X)
    with pytest.raises(InputError, match="'other' was not among the values"):
        model.predict(X, sensitive_features=np.repeat(["Male", "other"], len(s) // 2))
