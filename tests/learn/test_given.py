"""The user's own nuisances: estimators cross-fitted, probabilities that have seen the answers told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mdfa_fairness_plugin.data.leaks import Answer
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.given import (
    GivenProbability,
    check_given,
    cross_fitted_estimator,
    repeated_probability,
)
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability


def draw(n=1500, seed=0, rule=False):
    """Features, an answer of theirs with or without noise, its probability, folds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    p = np.where(X[:, 0] + X[:, 1] > 0, 0.999, 0.001) if rule else expit(X[:, 0])
    return X, rng.random(n) < p, p, np.arange(n) % 5


def cross_fitted(estimator, X, positive, folds, weight=None, **options):
    weight = np.ones(len(X)) if weight is None else weight
    options = {"argument": "propensity", "sample_weight": weight} | options
    return cross_fitted_estimator(estimator, X, positive, folds, **options)


def test_every_row_is_told_by_a_model_without_its_fold():
    X, positive, _, folds = draw()
    found = cross_fitted(GaussianNB(), X, positive, folds)
    for fold in range(5):
        other = GaussianNB().fit(X[folds != fold], positive[folds != fold])
        expected = other.predict_proba(X[folds == fold])[:, 1]
        np.testing.assert_allclose(
            found.out_of_fold[folds == fold], np.clip(expected, 0.001, 0.999)
        )
    np.testing.assert_allclose(
        found.predict(X[:9]), np.clip(found.by_rung(X[:9])[-1].mean(axis=0), 0.001, 0.999)
    )
    assert len(found.models) == 5


def test_estimators_are_fitted_in_every_repeat_and_averaged():
    X, positive, _, folds = draw(300)
    turned = np.arange(300) // 60
    found = repeated_probability(
        GaussianNB(),
        "propensity",
        X,
        positive,
        np.array([folds, turned]),
        sample_weight=np.ones(300),
        seeds=(0, 1),
    )
    each = [cross_fitted(GaussianNB(), X, positive, own) for own in (folds, turned)]
    np.testing.assert_allclose(
        found.out_of_fold, np.mean([one.out_of_fold for one in each], axis=0)
    )
    np.testing.assert_allclose(
        found.predict(X[:9]), np.mean([one.predict(X[:9]) for one in each], axis=0), atol=1e-3
    )
    assert len(found.models) == 10


def test_own_models_are_repeated_with_other_folds_and_seeds():
    """How far boosting grows is asked once, of the first."""
    X, positive, _, folds = draw(300)
    several, seeds = np.array([folds, np.arange(300) // 60]), (3, 4)
    found = repeated_probability(
        None, "propensity", X, positive, several, sample_weight=np.ones(300), seeds=seeds
    )
    first = cross_fitted_probability(X, positive, folds, random_state=3)
    second = cross_fitted_probability(
        X, positive, several[1], random_state=4, n_rounds=first.n_rounds
    )
    np.testing.assert_allclose(
        found.out_of_fold, (first.out_of_fold + second.out_of_fold) / 2, rtol=1e-12
    )
    once = repeated_probability(
        None, "propensity", X, positive, several[:1], sample_weight=np.ones(300), seeds=seeds[:1]
    )
    np.testing.assert_array_equal(once.out_of_fold, first.out_of_fold)


def test_rows_held_back_are_told_by_a_model_of_all_others():
    X, positive, _, folds = draw()
    folds = np.where(folds == 4, -1, folds)
    found = cross_fitted(GaussianNB(), X, positive, folds)
    one = GaussianNB().fit(X[folds >= 0], positive[folds >= 0])
    expected = np.clip(one.predict_proba(X)[:, 1], 0.001, 0.999)
    np.testing.assert_allclose(found.out_of_fold[folds < 0], expected[folds < 0])
    np.testing.assert_allclose(found.predict(X), expected)


def test_weights_reach_estimators_that_take_them():
    X, positive, _, folds = draw()
    weight = np.where(positive, 3.0, 1.0)
    plain, weighed = (
        cross_fitted(GaussianNB(), X, positive, folds, one).out_of_fold for one in (None, weight)
    )
    assert weighed.mean() > plain.mean() + 0.1
    neighbours = [
        cross_fitted(KNeighborsClassifier(), X, positive, folds, one).out_of_fold
        for one in (None, weight)
    ]
    np.testing.assert_array_equal(*neighbours)


def test_the_users_estimator_stays_unfitted_and_its_seed_is_kept():
    X, positive, _, folds = draw(300)
    own = RandomForestClassifier(5, random_state=3)
    seeded = [cross_fitted(own, X, positive, folds, random_state=k).out_of_fold for k in (0, 1)]
    np.testing.assert_array_equal(*seeded)
    assert not hasattr(own, "classes_")
    left = RandomForestClassifier(5)
    one, again, other = (
        cross_fitted(left, X, positive, folds, random_state=k).out_of_fold for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert left.random_state is None


class Share:
    """No scikit-learn estimator, but one with all that is asked."""

    def fit(self, X, y):
        self.share = np.mean(y)
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share, self.share], (len(X), 1))


def test_anything_that_fits_and_tells_probabilities_will_do():
    X, positive, _, folds = draw()
    found = cross_fitted(Share(), X, positive, folds).out_of_fold
    expected = [positive[folds != fold].mean() for fold in folds]
    np.testing.assert_allclose(found, expected)
    cross_fitted(make_pipeline(StandardScaler(), LogisticRegression()), X, positive, folds)


def test_where_one_answer_is_missing_the_other_is_told():
    X, positive, _, folds = draw()
    positive = folds == 0  # nobody elsewhere
    found = cross_fitted(GaussianNB(), X, positive, folds).out_of_fold
    assert (found[folds == 0] == 0.001).all()


class Broken(Share):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


class Failing(Share):
    def fit(self, X, y):
        raise ValueError("no text, please")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [(Broken(), "Broken gives 300 probabilities that are no"), (Failing(), "ValueError: no text")],
)
def test_estimators_that_fail_are_named(estimator, message):
    X, positive, _, folds = draw(300)
    with pytest.raises(InputError, match=f"^propensity: .*{message}"):
        cross_fitted(estimator, X, positive, folds)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (LinearRegression(), "LinearRegression has no predict_proba"),
        (LogisticRegression, "the class LogisticRegression found; pass LogisticRegression"),
        (type("Told", (), {"predict_proba": None})(), "Told has no fit"),
    ],
)
def test_what_cannot_be_cross_fitted_is_refused(given, message):
    with pytest.raises(InputError, match=f"^propensity: .*{message}"):
        check_given("propensity", given)


def seen(p, X, positive, folds):
    """Whether probabilities are taken for those of models that have seen the answers."""
    weight = np.ones(len(X))
    given = GivenProbability(
        np.clip(p, 0.001, 0.999), lambda: cross_fitted_probability(X, positive, folds)
    )
    return given.has_seen(positive, weight, Answer(positive, weight).few)


@pytest.mark.parametrize("rule", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_truth_and_honest_models_have_seen_nothing(rule, seed):
    """Of a fixed rule both tell nearly everything, and a forest is surer in effect than it says."""
    X, positive, p, folds = draw(seed=seed, rule=rule)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    honest = cross_val_predict(forest, X, positive, cv=5, method="predict_proba")[:, 1]
    assert not seen(p, X, positive, folds)
    assert not seen(honest, X, positive, folds)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(50, random_state=0),
        RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
        KNeighborsClassifier(1),
    ],
)
def test_models_of_the_same_rows_are_told(estimator):
    X, positive, _, folds = draw()
    assert seen(estimator.fit(X, positive).predict_proba(X)[:, 1], X, positive, folds)


def test_own_models_are_fitted_when_first_asked():
    X, positive, p, folds = draw(300)
    fits = []

    def fit():
        fits.append(1)
        return cross_fitted_probability(X, positive, folds)

    given = GivenProbability(p, fit)
    assert not given.has_seen(positive, np.ones(300), 0.05)
    assert not fits
    np.testing.assert_array_equal(given.predict(X[:5]), fit().predict(X[:5]))
    given.predict(X[:5])
    assert len(fits) == 2
    assert given.lesser == ()
