"""Weights reach what predicts, wherever scikit-learn can take them there."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mdfa_fairness_plugin.learn.learners import (
    CrossValidated,
    fit_classifier,
    make_classifier,
    seeded,
    settled_learner,
)
from mdfa_fairness_plugin.learn.weighted import fit_weighted, takes_weights


@pytest.fixture
def halves():
    """Two halves of opposite labels; weights of nearly nothing hide the second."""
    x = np.linspace(-1, 1, 80).repeat(2)[:, np.newaxis]
    first = np.arange(160) % 2 == 0
    return x, np.where((x[:, 0] > 0) == first, 1, -1), np.where(first, 1.0, 1e-6)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), SVC()),
        GridSearchCV(SVC(), {"C": [0.1, 10.0]}),
        GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0, 10.0]}),
        StackingClassifier([("bayes", GaussianNB())], LogisticRegression()),
    ],
    ids=["pipeline", "grid", "grid of pipelines", "stack"],
)
def test_parts_are_fitted_with_the_weights(halves, estimator):
    x, y, weight = halves
    assert takes_weights(estimator)
    told = fit_weighted(estimator, x, y, weight).predict(x)
    assert (told == np.where(x[:, 0] > 0, 1, -1)).mean() > 0.95


def test_what_predicts_must_take_them():
    assert not takes_weights(make_pipeline(StandardScaler(), KNeighborsClassifier()))
    assert not takes_weights(GridSearchCV(KNeighborsClassifier(), {}))
    assert takes_weights(make_pipeline(StandardScaler(), LinearRegression()))


def test_what_the_user_said_stands(halves):
    """A scaler told to go without weights is not given any."""
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
    x, y, weight = halves
    fitted = fit_weighted(make_pipeline(scaler, SVC()), x + np.arange(160)[:, None] % 2, y, weight)
    assert fitted[0].mean_[0] == pytest.approx(0.5)


def test_seeds_that_parts_leave_open_are_the_audits():
    search = seeded(GridSearchCV(RandomForestClassifier(), {"max_depth": [1]}), 5)
    assert search.estimator.random_state == 5


@pytest.mark.parametrize("name", ["logistic", "svm_rbf", "tree"])
def test_complexity_is_chosen_by_cross_validation_and_once(halves, name):
    """The same seed chooses the same; noise is best left to the simplest."""
    x, y, weight = halves
    found = [fit_classifier(CrossValidated(name), x, y, weight, 3) for _ in range(2)]
    assert found[0].best_params_ == found[1].best_params_
    assert len(found[0].cv_results_["params"]) == 4
    assert found[0].n_splits_ == 5
    once = settled_learner(CrossValidated(name), found[0])
    assert not hasattr(make_classifier(once, 160, 3), "best_estimator_")
    assert settled_learner(name, make_classifier(name, 160, 3)) == name
    noise = np.random.default_rng(0).choice([-1, 1], 160)
    chosen = fit_classifier(CrossValidated(name), x, noise, np.ones(160), 3).best_params_
    assert min(make_classifier(CrossValidated(name), 160, 3).param_grid[next(iter(chosen))]) in (
        0.01,
        2,
    )
