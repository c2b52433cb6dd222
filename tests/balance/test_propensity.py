"""Cross-fitted propensity: right, calibrated, out of fold."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from mdfa_fairness_plugin.balance import (
    cross_fitted_propensity,
    draw_folds,
    odds_weights,
    overlap_weights,
)
from mdfa_fairness_plugin.exceptions import InputError


def test_finds_the_share_of_each_cell(cells):
    X, s, weights = cells
    X, s, weights = np.repeat(X, 5, axis=0), np.repeat(s, 5), np.repeat(weights, 5)
    e = cross_fitted_propensity(X, s, random_state=0)
    odds = odds_weights(e, s)[s > 0]
    assert odds == pytest.approx(weights[s > 0], rel=0.2)


def test_is_close_to_the_best_possible_prediction(quadratic):
    X, s, propensity = quadratic
    e = cross_fitted_propensity(X, s, random_state=0)
    assert log_loss(s, e) - log_loss(s, propensity) < 0.004
    assert np.corrcoef(e, propensity)[0, 1] > 0.97


def test_does_not_remember_the_rows_it_predicts():
    """Features that identify every row, and a coin-flip s."""
    rng = np.random.default_rng(2)
    X, s = rng.normal(size=(2_000, 4)), rng.choice([-1, 1], 2_000)
    e = cross_fitted_propensity(X, s, random_state=0)
    assert abs(np.corrcoef(e, s)[0, 1]) < 0.07
    assert e.std() < 0.05


def test_stays_off_zero_and_one():
    s = np.repeat([1, -1], 200)
    e = cross_fitted_propensity(s[:, None].astype(float), s, random_state=0)
    assert e.min() >= 1e-3
    assert e.max() <= 1 - 1e-3
    assert e[s > 0].min() > 0.9 > 0.1 > e[s < 0].max()


def test_units_of_the_features_do_not_matter(quadratic):
    X, s, _ = quadratic
    folds = draw_folds(s, 5, 0)
    e = cross_fitted_propensity(X, s, folds=folds, random_state=0)
    moved = cross_fitted_propensity(X * [1e3, 1e-2] + 7.0, s, folds=folds, random_state=0)
    assert moved == pytest.approx(e, abs=1e-4)


def test_integer_weights_act_like_repeated_rows(quadratic):
    """Up to the boosting's smallest leaf, which counts rows."""
    X, s, _ = quadratic
    X, s = X[:1_000], s[:1_000]
    copies = np.random.default_rng(1).integers(1, 4, size=1_000)
    folds = draw_folds(s, 5, 0)
    weighted = cross_fitted_propensity(X, s, copies, folds, random_state=0)
    repeated = cross_fitted_propensity(
        np.repeat(X, copies, axis=0),
        np.repeat(s, copies),
        folds=np.repeat(folds, copies),
        random_state=0,
    )
    assert np.abs(np.repeat(weighted, copies) - repeated).mean() < 0.01


def test_same_seed_same_answer(quadratic):
    X, s, _ = quadratic
    first = cross_fitted_propensity(X[:500], s[:500], random_state=3)
    assert (cross_fitted_propensity(X[:500], s[:500], random_state=3) == first).all()


def test_a_fold_without_one_of_the_groups_to_learn_from():
    """All of S = -1 sits in fold 0: fold 0 is predicted from S = +1 alone."""
    X = np.arange(40.0)[:, None]
    s = np.repeat([-1, 1], [10, 30])
    e = cross_fitted_propensity(X, s, folds=np.arange(40) // 20, random_state=0)
    assert np.isfinite(e).all()


def test_folds_are_checked():
    X, s = np.zeros((4, 1)), np.array([1, 1, -1, -1])
    with pytest.raises(InputError, match="folds"):
        cross_fitted_propensity(X, s, folds=np.zeros(4, dtype=int))
    with pytest.raises(InputError, match="folds"):
        cross_fitted_propensity(X, s, folds=np.zeros(3, dtype=int))


def test_drawn_folds_are_even_within_each_group():
    s = np.repeat([1, -1], [23, 37])
    folds = draw_folds(s, 5, 0)
    for value in (1, -1):
        sizes = np.bincount(folds[s == value], minlength=5)
        assert sizes.max() - sizes.min() <= 1


def test_weights_from_the_true_propensity_balance_cells(cells):
    X, s, weights = cells
    e = np.select([X[:, 0] == 1, X[:, 1] == 1], [30 / 90, 60 / 120], 90 / 120)
    assert odds_weights(e, s) == pytest.approx(weights, abs=1e-12)
    overlap = overlap_weights(e, s)
    means = [np.average(X[s == side], axis=0, weights=overlap[s == side]) for side in (1, -1)]
    assert means[0] == pytest.approx(means[1], abs=1e-12)
    assert overlap.max() <= 1
