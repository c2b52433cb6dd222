"""Numbers go up the same ladder as probabilities: known means, units, odd numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.given import (
    GivenProbability,
    check_given,
    cross_fitted_estimator,
    repeated_probability,
)
from mdfa_fairness_plugin.learn.levels import LevelMeans
from mdfa_fairness_plugin.learn.links import IDENTITY, LOGIT
from mdfa_fairness_plugin.learn.models import Seen
from mdfa_fairness_plugin.learn.probability import cross_fitted_mean
from mdfa_fairness_plugin.numerics.rows import RowView

TRUTHS = {
    "linear": lambda X: X[:, 0] - 0.5 * X[:, 1],
    "product": lambda X: X[:, 0] * X[:, 1] + X[:, 0] ** 2,
    "steps": lambda X: 1.0 * (X[:, 0] > 0.3) - 2.0 * (X[:, 1] > 0),
}


def drawn(truth, n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, TRUTHS[truth](X), rng.normal(size=n), np.arange(n) % 3


@pytest.mark.parametrize("truth", TRUTHS)
def test_known_means_are_recovered(truth):
    X, mean, noise, folds = drawn(truth, 1_500)
    fitted = cross_fitted_mean(X, mean + noise, folds)
    assert np.mean((fitted.out_of_fold - mean) ** 2) < 0.08
    assert fitted.loss == pytest.approx(np.mean((mean + noise - fitted.out_of_fold) ** 2))
    new, new_mean, _, _ = drawn(truth, 1_500, seed=1)
    assert np.mean((fitted.predict(new) - new_mean) ** 2) < 0.08
    # Above and below their median, predictions are right on average.
    upper = fitted.out_of_fold > np.median(fitted.out_of_fold)
    for half in (upper, ~upper):
        assert fitted.out_of_fold[half].mean() == pytest.approx(
            (mean + noise)[half].mean(), abs=0.1
        )


def test_noise_is_not_memorised():
    X, _, noise, folds = drawn("linear")
    fitted = cross_fitted_mean(X, noise, folds)
    assert np.std(fitted.out_of_fold) < 0.15
    assert fitted.loss == pytest.approx(np.var(noise), rel=0.02)


@pytest.mark.parametrize("tail", ["normal", "lognormal"])
def test_units_change_nothing(tail):
    """Rows, lesser models and new rows of ``a + b y`` are told ``a + b m``; losses are squares."""
    X, mean, noise, folds = drawn("steps")
    y = mean + noise if tail == "normal" else np.exp(mean + 1.5 * noise)
    folds[::7] = -1
    rows = RowView(X, levels=np.arange(600)[:, np.newaxis] % 30)
    fitted = cross_fitted_mean(rows, y, folds)
    assert fitted.n_rounds > 0 or tail == "lognormal"
    spread = np.std(y)
    for a, b in ((0.0, 1e9), (1e-6, -3e-6), (50.0, -0.7)):
        other = cross_fitted_mean(rows, a + b * y, folds)
        assert other.n_rounds == fitted.n_rounds
        assert other.loss == pytest.approx(b**2 * fitted.loss, rel=1e-8)
        for one, moved in zip((*fitted.lesser, fitted), (*other.lesser, other), strict=True):
            for told, again in (
                (one.out_of_fold, moved.out_of_fold),
                (one.predict(rows), moved.predict(rows)),
            ):
                np.testing.assert_allclose((again - a) / b, told, rtol=0, atol=1e-9 * spread)


def test_ties_stay_ties():
    """A fold's rows of equal features are told the same, to the last bit."""
    X, _, noise, folds = drawn("steps")
    X = np.round(X[:, :1])
    fitted = cross_fitted_mean(X, 1e5 + noise, folds)
    for fold in range(3):
        own = X[folds == fold, 0]
        told = fitted.out_of_fold[folds == fold]
        assert all(np.ptp(told[own == value]) == 0 for value in np.unique(own))


def test_the_model_of_a_fold_never_saw_its_numbers():
    """But for the units they are told in, which change nothing."""
    X, mean, noise, folds = drawn("product", 300)
    one, two = (
        cross_fitted_mean(X, np.where(folds == 1, sign, 1) * (mean + noise), folds, n_rounds=12)
        for sign in (1, -1)
    )
    assert [own.shape for own in one.by_rung(X)] == [(3, 300)] * 4
    seen = Seen.of(RowView(X), one.reading)
    for model, alike in ((1, True), (0, False)):
        said = [
            fitted.link.mean(fitted.models[model].scores(seen, large=True)) for fitted in (one, two)
        ]
        assert np.allclose(*said, rtol=0, atol=1e-7) == alike


@pytest.mark.parametrize(
    "y",
    [
        np.full(60, 7),
        np.full(60, 0.1),
        np.where(np.arange(60) < 20, 3.0, 5.0),
        np.arange(60) % 2 == 0,
        np.where(np.arange(60) == 17, 1e9, 0.0),
        np.arange(60) * 10**9,
    ],
    ids=["whole", "constant", "one value elsewhere", "two", "one row", "large whole"],
)
def test_odd_numbers_are_told_within_what_was_seen(y):
    X = np.random.default_rng(0).normal(size=(60, 2))
    weight = np.where(np.arange(60) < 20, 0.0, 1.0)
    for folds in (np.arange(60) // 20, np.arange(60) % 3):
        for own in (None, weight):
            fitted = cross_fitted_mean(X, y, folds, sample_weight=own)
            for told in (fitted.out_of_fold, fitted.predict(X * 100)):
                slack = 1e-9 * max(1.0, np.abs(y).max())
                assert (told >= y.min() - slack).all()
                assert (told <= y.max() + slack).all()
    nobody = np.where(np.arange(60) % 3 > 0, 0.0, 1.0)
    assert np.isfinite(cross_fitted_mean(X, y, np.arange(60) % 3, sample_weight=nobody).loss)


def test_rows_without_weight_say_nothing():
    X, mean, noise, folds = drawn("linear", 300)
    weight = np.where(np.arange(300) < 40, 0.0, 1.0)
    y = mean + noise
    one, two = (
        cross_fitted_mean(X, np.where(weight > 0, y, wild), folds, sample_weight=weight)
        for wild in (0.0, 1e6)
    )
    np.testing.assert_allclose(one.out_of_fold, two.out_of_fold, atol=1e-9)


def test_same_answer_for_any_number_of_jobs_and_after_pickling():
    X, mean, noise, folds = drawn("steps", 300)
    one, two = (cross_fitted_mean(X, mean + noise, folds, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.out_of_fold, two.out_of_fold)
    back = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.predict(X), back.predict(X))


def test_means_of_levels_worked_out_by_hand():
    """Levels that differ by nothing but noise are drawn to the mean of all; others are trusted."""
    codes = np.repeat([0, 1], 4_000)[:, np.newaxis]
    y = np.where(codes[:, 0] == 0, -10.0, 30.0) + np.arange(8_000) % 2
    means = LevelMeans(IDENTITY)
    told = means.fit_transform(codes, y, np.ones(8_000), np.arange(8_000) % 8 // 4)
    np.testing.assert_allclose(told[:, 0], np.repeat([-9.5, 30.5], 4_000), atol=1e-2)
    new = means.transform(np.array([[0], [1], [2], [-1]]))
    np.testing.assert_allclose(new[:, 0], [-9.5, 30.5, 10.5, 10.5], atol=1e-2)
    rng = np.random.default_rng(0)
    many = rng.integers(200, size=(2_000, 1))
    told = LevelMeans(IDENTITY).fit_transform(
        many, rng.normal(size=2_000), np.ones(2_000), np.arange(2_000) % 5
    )
    assert np.std(told) < 0.1


def test_levels_that_the_matrix_pools_are_told_apart():
    rng = np.random.default_rng(0)
    levels, effect = rng.integers(60, size=2_000), rng.normal(size=60)
    X, noise = rng.normal(size=(2_000, 1)), rng.normal(size=2_000)
    rows = RowView(X, levels=levels[:, np.newaxis].astype(np.int32))
    mean = effect[levels] + X[:, 0]
    fitted = cross_fitted_mean(rows, mean + noise, np.arange(2_000) % 4)
    assert np.mean((fitted.out_of_fold - mean) ** 2) < 0.1
    assert np.mean((fitted.predict(rows) - mean) ** 2) < 0.1


# -- the user's own


def test_regressors_of_the_users_are_cross_fitted_and_averaged():
    X, mean, noise, folds = drawn("linear", 300)
    y, several = mean + noise, np.array([folds, np.arange(300) // 100])
    options = {"sample_weight": np.ones(300), "seeds": (0, 1), "link": IDENTITY}
    found = repeated_probability(LinearRegression(), "outcome", X, y, several, **options)
    expected = np.empty((2, 300))
    for told, own in zip(expected, several, strict=True):
        for fold in range(3):
            model = LinearRegression().fit(X[own != fold], y[own != fold])
            told[own == fold] = model.predict(X[own == fold])
    np.testing.assert_allclose(found.out_of_fold, expected.mean(axis=0))
    np.testing.assert_allclose(found.predict(X[:5]), found.by_rung(X[:5])[-1].mean(axis=0))
    assert len(found.models) == 6
    ours = repeated_probability(None, "outcome", X, y, several, **options)
    assert ours.loss == pytest.approx(1.0, abs=0.2)


def test_estimators_of_numbers_are_asked_for_predict():
    X, _, noise, folds = drawn("linear", 60)
    check_given("outcome", LinearRegression(), IDENTITY)
    given = type("Silent", (), {"fit": None})()
    with pytest.raises(InputError, match=r"^outcome: Silent has no predict\. .* or the numbers as"):
        check_given("outcome", given, IDENTITY)
    broken = type(
        "Broken",
        (),
        {"fit": lambda self, X, y: self, "predict": lambda self, X: np.full(len(X), np.nan)},
    )
    with pytest.raises(InputError, match="Broken gives 60 numbers that are not finite"):
        cross_fitted_estimator(
            broken(), X, noise, folds, argument="outcome", sample_weight=np.ones(60), link=IDENTITY
        )


def test_means_of_models_that_saw_the_same_rows_are_told():
    X, mean, noise, folds = drawn("linear")
    y, weight = mean + noise, np.ones(600)
    fits = []

    def fit():
        fits.append(1)
        return cross_fitted_mean(X, y, folds, n_rounds=0)

    def seen(told):
        return GivenProbability(told, fit, IDENTITY).has_seen(y, weight, 0.05)

    forest = RandomForestRegressor(20, random_state=0)
    assert seen(forest.fit(X, y).predict(X))
    assert seen(DecisionTreeRegressor(random_state=0).fit(X, y).predict(X))
    n_fits = len(fits)
    assert not seen(mean)
    assert not seen(np.full(600, 0.3))
    assert len(fits) == n_fits
    assert not seen(0.5 * mean)  # cautious


@pytest.mark.parametrize("link", [LOGIT, IDENTITY])
def test_a_coefficient_is_worth_what_likelihoods_rise_by(link):
    """By more than one: of 400 rows, of 200 with weight two among others without any, in any unit."""
    weight = np.repeat([2.0, 0.0], [400, 100])
    for rise in (0.9, 1.1):
        # Of the normal likelihood at its best variance, -n / 2 log(loss).
        loss = 0.7 - rise / 400 if link is LOGIT else 0.7 * np.exp(-2.0 * rise / 400)
        assert link.worth(loss, 0.7, weight) == (rise > 1)
        assert link.worth(loss, 0.7, 10.0 * weight) == (rise > 1)


def test_means_are_moved_in_the_units_of_their_link():
    assert IDENTITY.moved(5.0, 1.0, 3.0) == 7.0
    seen = IDENTITY.fitted(np.arange(11.0), np.ones(11))
    assert seen.moved(5.0, 1.0, 3.0) == pytest.approx(7.0)
    assert seen.moved(5.0, 1.0, 9.0) == pytest.approx(10.0)  # none was larger
    # Odds of 1 to 3, doubled as they are from 1 to 1 to 2 to 1.
    assert LOGIT.moved(0.25, 0.5, 2 / 3) == pytest.approx(2 / 5)
