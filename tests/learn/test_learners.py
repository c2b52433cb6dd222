"""Every learner of the auditor class learns, weighs its rows, and says no readably."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.learners import (
    LEARNERS,
    WeightedPipeline,
    log_odds,
    make_classifier,
    make_regressor,
)

REGRESSORS = ("random_forest", "gradient_boosting", "tree", "logistic", "svm_linear")


def separable(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 100.0]
    return X, np.where(X[:, 0] > 0, 1, -1)


@pytest.mark.parametrize("name", ["auto", *LEARNERS])
def test_every_classifier_learns_and_is_reproducible(name):
    X, y = separable()
    model = make_classifier(name, 400, 0)
    assert is_classifier(model)
    assert clone(model) is not model
    model.fit(X, y, sample_weight=np.ones(400))
    assert (model.predict(X) == y).mean() > 0.9
    assert set(model.classes_) == {-1, 1}
    scores = log_odds(model, X)
    assert np.isfinite(scores).all()
    assert ((scores > 0) == (y > 0)).mean() > 0.9
    again = make_classifier(name, 400, 0).fit(X, y, sample_weight=np.ones(400))
    np.testing.assert_array_equal(scores, log_odds(again, X))
    np.testing.assert_array_equal(scores, log_odds(pickle.loads(pickle.dumps(model)), X))


@pytest.mark.parametrize("name", ["auto", *LEARNERS])
def test_every_classifier_follows_the_weights(name):
    """Where labels are coin flips the heavier label is predicted."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 2)), rng.choice([-1, 1], 300)
    for heavy in (-1, 1):
        weight = np.where(y == heavy, 20.0, 1.0)
        model = make_classifier(name, 300, 0).fit(X, y, sample_weight=weight)
        assert (model.predict(X) == heavy).mean() > 0.9


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_learns_and_follows_the_weights(name):
    X, y = separable()
    model = make_regressor(name, 400, 0)
    assert is_regressor(model)
    assert not is_classifier(model)
    model.fit(X, y.astype(float), sample_weight=np.ones(400))
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.7
    flat = clone(model).fit(np.zeros((400, 2)), y > 0, sample_weight=np.where(y > 0, 3.0, 1.0))
    share = 3 * (y > 0).sum() / (3 * (y > 0).sum() + (y < 0).sum())
    assert flat.predict(np.zeros((1, 2)))[0] == pytest.approx(share, abs=0.02)


def test_default_regressor_is_the_searchs_own():
    assert make_regressor("auto", 100, 0) is None


@pytest.mark.parametrize("name", ["svm_rbf", "network_features"])
def test_classifiers_only_are_no_regressors(name):
    with pytest.raises(InputError, match=rf"learner: '{name}' .*solver='level_set'"):
        make_regressor(name, 100, 0)


@pytest.mark.parametrize("make", [make_classifier, make_regressor])
@pytest.mark.parametrize("learner", ["forest", "", "Random_Forest"])
def test_unknown_names_list_the_known_ones(make, learner):
    with pytest.raises(InputError, match=r"learner: .*random_forest.*found"):
        make(learner, 100, 0)


@pytest.mark.parametrize(
    ("make", "learner", "message"),
    [
        (make_classifier, KNeighborsClassifier(), "takes no sample_weight"),
        (make_regressor, KNeighborsRegressor(), "takes no sample_weight"),
        (make_classifier, make_pipeline(StandardScaler(), KNeighborsClassifier()), "sample_weight"),
        (make_classifier, GridSearchCV(KNeighborsClassifier(), {}), "sample_weight"),
        (make_classifier, LinearRegression(), "needs a classifier.*solver='orthogonal'"),
        (make_regressor, LogisticRegression(), "needs a regressor.*solver='level_set'"),
        (make_classifier, 3, "name or a scikit-learn estimator expected, int found"),
        (make_regressor, None, "name or a scikit-learn estimator expected, NoneType found"),
        (make_classifier, LogisticRegression, "expected"),
        (make_regressor, LinearRegression, "expected"),
    ],
)
def test_estimators_that_do_not_serve_are_refused(make, learner, message):
    with pytest.raises(InputError, match=f"learner: .*({message})"):
        make(learner, 100, 0)


def test_a_given_estimator_is_copied_and_seeded_only_where_left_open():
    given = RandomForestClassifier(n_estimators=3)
    made = make_classifier(given, 100, 17)
    assert made is not given
    assert given.random_state is None
    assert made.random_state == 17
    assert make_classifier(RandomForestClassifier(random_state=4), 100, 17).random_state == 4
    assert make_regressor(RandomForestRegressor(), 100, 17).random_state == 17
    assert not hasattr(given, "estimators_")


def test_leaves_grow_with_the_rows():
    assert make_classifier("random_forest", 100, 0).min_samples_leaf == 10
    assert make_classifier("random_forest", 30_000, 0).min_samples_leaf == 200


def test_large_samples_approximate_the_kernel():
    """Past its limit the exact machine gives way to kernel features that find the same circle."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 2))
    y = np.where((X**2).sum(axis=1) < 1.2, 1, -1)
    exact = make_classifier("svm_rbf", 600, 0).fit(X, y)
    assert [name for name, _ in exact.pipeline_.steps] == ["standardscaler", "svc"]
    close = WeightedPipeline(clone(exact.estimator), kernel_rows=500).fit(X, y, np.ones(600))
    assert [name for name, _ in close.pipeline_.steps][1:] == ["nystroem", "linearsvc"]
    assert (close.predict(X) == exact.predict(X)).mean() > 0.93


# -- scores


def test_log_odds_are_those_of_the_probabilities_and_finite():
    X, y = separable(40)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    p = forest.predict_proba(X)[:, 1].clip(1e-6, 1 - 1e-6)
    np.testing.assert_allclose(log_odds(forest, X), np.log(p / (1 - p)))


def test_scores_of_learners_without_probabilities():
    X, y = separable(60)
    machine = Perceptron(random_state=0).fit(X, y)
    np.testing.assert_array_equal(log_odds(machine, X), machine.decision_function(X))


@pytest.mark.parametrize("label", [1, -1])
def test_score_of_one_label_is_constant_and_on_its_side(label):
    model = DummyClassifier().fit(np.zeros((5, 1)), np.full(5, label))
    score = log_odds(model, np.zeros((3, 1)))
    assert (np.sign(score) == label).all()
    assert len(set(score)) == 1
