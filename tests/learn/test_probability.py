"""Cross-fitted probabilities against known ones, and what each model may see."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import log_loss

from mdfa_fairness_plugin.learn import probability
from mdfa_fairness_plugin.learn.models import Learned, Seen, Shared
from mdfa_fairness_plugin.learn.probability import (
    PROBABILITY_FLOOR,
    CrossFittedProbability,
    _Combined,
    cross_fitted_probability,
)
from mdfa_fairness_plugin.numerics.rows import RowView


def even_folds(n, k=4):
    return np.arange(n) % k


def drawn(seed, n, probability, d=3):
    """Features and labels drawn with ``probability(X)``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    p = probability(X)
    return X, p, rng.random(n) < p


TRUTHS = {
    "smooth": lambda X: expit(X[:, 0] - 0.5 * X[:, 1]),
    "square": lambda X: expit(X[:, 0] ** 2 - 1.0),
    "product": lambda X: expit(1.5 * X[:, 0] * X[:, 1]),
    "step": lambda X: np.where(X[:, 0] > 0.3, 0.8, 0.2),
    "constant": lambda X: np.full(len(X), 0.3),
}


@pytest.mark.parametrize("shape", TRUTHS)
def test_known_probabilities_are_recovered(shape):
    """Trends, squares, products and steps all come within a few hundredths."""
    X, p, positive = drawn(1, 2000, TRUTHS[shape])
    fitted = cross_fitted_probability(X, positive, even_folds(2000))
    assert np.abs(fitted.out_of_fold - p).mean() < 0.06
    new = np.random.default_rng(2).normal(size=(500, 3))
    assert np.abs(fitted.predict(new) - TRUTHS[shape](new)).mean() < 0.06
    # Calibrated: predictions are right on average, above and below their median.
    upper = fitted.out_of_fold > np.median(fitted.out_of_fold)
    for half in (upper, ~upper):
        assert fitted.out_of_fold[half].mean() == pytest.approx(positive[half].mean(), abs=0.05)


def test_labels_without_pattern_are_not_memorised():
    """Out of fold, pure noise cannot be predicted; a model that saw its rows would seem to."""
    rng = np.random.default_rng(3)
    X, positive = rng.normal(size=(600, 4)), rng.random(600) < 0.5
    fitted = cross_fitted_probability(X, positive, even_folds(600))
    ahead = fitted.out_of_fold[positive].mean() - fitted.out_of_fold[~positive].mean()
    assert ahead == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("levels", [None, np.random.default_rng(9).integers(40, size=(300, 2))])
def test_the_model_of_a_fold_never_saw_its_labels(levels):
    """Turning round a fold's labels leaves the model that judges it as it was."""
    X, _, positive = drawn(4, 300, TRUTHS["smooth"])
    folds = even_folds(300, 3)
    other = np.where(folds == 1, ~positive, positive)
    rows = RowView(X, levels=levels)
    one = cross_fitted_probability(rows, positive, folds)
    two = cross_fitted_probability(rows, other, folds)
    for model, alike in ((1, True), (0, False)):
        said = [
            fitted.models[model].scores(Seen.of(RowView(X, levels=levels), fitted.reading))
            for fitted in (one, two)
        ]
        assert np.array_equal(*said) == alike


@pytest.mark.parametrize("binned", [True, False])
def test_models_see_of_some_rows_what_there_is_of_all(binned):
    rng = np.random.default_rng(4)
    X, folds = RowView(rng.normal(size=(50, 3)), levels=rng.integers(9, size=(50, 1))), np.ones(50)
    folds[::5] = -1
    shared = Shared.of(X, folds, np.ones(50))
    if not binned:
        shared = replace(shared, bins=(None, None))
    learning, some = np.flatnonzero(folds > 0), np.array([3, 4, 9])
    seen, every = Learned(shared, learning), Seen.of(X, shared.reading)
    rows = learning[some]
    for smooth, own in ((True, seen.asked(some)), (False, seen.asked(some, False))):
        np.testing.assert_array_equal(own.X, every.X[rows])
        np.testing.assert_array_equal(own.Z, every.Z[rows if smooth else rows[:0]])
        np.testing.assert_array_equal(own.levels, every.levels[rows])
        fit = seen.fitted(some, smooth)
        np.testing.assert_array_equal(fit.Z, own.Z)
        np.testing.assert_array_equal(fit.levels, own.levels)
        if binned:
            bins = shared.bins[0 if smooth else 1]
            np.testing.assert_array_equal(fit.bins.codes, bins.codes[some])
        else:
            np.testing.assert_array_equal(fit.X, own.X)


def test_rows_of_no_fold_teach_nothing_and_are_judged_by_a_model_of_all_others():
    X, _, positive = drawn(5, 400, TRUTHS["smooth"])
    folds = even_folds(400)
    folds[::5] = -1
    fitted = cross_fitted_probability(X, positive, folds)
    np.testing.assert_allclose(fitted.out_of_fold[::5], fitted.predict(X[::5]), rtol=0, atol=1e-12)
    other = positive.copy()
    other[::5] = ~other[::5]
    again = cross_fitted_probability(X, other, folds)
    np.testing.assert_array_equal(fitted.out_of_fold, again.out_of_fold)
    wild = X.copy()
    wild[::5] = 1e6
    moved = cross_fitted_probability(wild, positive, folds)
    seen = folds >= 0
    np.testing.assert_array_equal(fitted.out_of_fold[seen], moved.out_of_fold[seen])


@pytest.mark.parametrize("label", [True, False])
def test_one_label_only_is_a_constant_at_the_floor(label):
    X = np.random.default_rng(6).normal(size=(60, 2))
    fitted = cross_fitted_probability(X, np.full(60, label), even_folds(60))
    expected = 1 - PROBABILITY_FLOOR if label else PROBABILITY_FLOOR
    assert fitted.out_of_fold == pytest.approx(np.full(60, expected), abs=1e-3)
    assert np.isfinite(logit(fitted.predict(X * 100))).all()


def test_a_label_of_one_row_still_gives_probabilities():
    """The fold that holds it is judged by models that know one label only."""
    X = np.random.default_rng(7).normal(size=(80, 2))
    positive = np.arange(80) == 17
    fitted = cross_fitted_probability(X, positive, even_folds(80))
    assert ((fitted.out_of_fold >= PROBABILITY_FLOOR) & (fitted.out_of_fold < 0.5)).all()


def test_separable_labels_stay_off_zero_and_one():
    X = np.linspace(-1, 1, 400)[:, None]
    fitted = cross_fitted_probability(X, X[:, 0] > 0, even_folds(400))
    p = fitted.out_of_fold
    assert p.min() >= PROBABILITY_FLOOR
    assert p.max() <= 1 - PROBABILITY_FLOOR
    assert ((p > 0.5) == (X[:, 0] > 0)).mean() > 0.97


def test_the_other_label_has_the_other_probability():
    X, _, positive = drawn(8, 600, TRUTHS["step"])
    one = cross_fitted_probability(X, positive, even_folds(600)).out_of_fold
    other = cross_fitted_probability(X, ~positive, even_folds(600)).out_of_fold
    np.testing.assert_allclose(one, 1 - other, atol=5e-3)


def test_shifting_and_scaling_features_changes_nothing_that_matters():
    X, _, positive = drawn(9, 600, TRUTHS["smooth"])
    one = cross_fitted_probability(X, positive, even_folds(600)).out_of_fold
    moved = X * np.array([1e-3, 1.0, 1e4]) + np.array([5.0, -2.0, 1e5])
    two = cross_fitted_probability(moved, positive, even_folds(600)).out_of_fold
    np.testing.assert_allclose(one, two, atol=0.02)


def test_weights_move_the_predicted_rate():
    """Positives that weigh three times as much turn a rate of 1/2 into 3/4."""
    rng = np.random.default_rng(10)
    X, positive = rng.normal(size=(1000, 2)), np.arange(1000) % 2 == 0
    folds = rng.integers(0, 4, 1000)
    weight = np.where(positive, 3.0, 1.0)
    fitted = cross_fitted_probability(X, positive, folds, sample_weight=weight)
    assert fitted.out_of_fold.mean() == pytest.approx(0.75, abs=0.03)
    doubled = cross_fitted_probability(X, positive, folds, sample_weight=np.full(1000, 2.0))
    assert doubled.out_of_fold.mean() == pytest.approx(0.5, abs=0.03)


def test_same_answer_for_any_number_of_jobs_and_after_pickling():
    X, _, positive = drawn(11, 300, TRUTHS["smooth"])
    folds = even_folds(300, 2)
    one = cross_fitted_probability(X, positive, folds, random_state=3)
    two = cross_fitted_probability(X, positive, folds, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one.out_of_fold, two.out_of_fold)
    back = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.predict(X), back.predict(X))


# -- the design


def test_the_models_agree_on_average():
    """On every rung, what each fold's models say of new rows has the prediction as its mean."""
    X, _, positive = drawn(9, 400, TRUTHS["step"])
    fitted = cross_fitted_probability(X, positive, even_folds(400))
    new = np.random.default_rng(9).normal(size=(50, X.shape[1]))
    rungs = (*fitted.lesser, fitted)
    each = fitted.by_rung(new)
    for own, rung in zip(each, rungs, strict=True):
        assert own.shape == (len(fitted.models), 50)
        np.testing.assert_allclose(own.mean(axis=0), rung.predict(new), atol=PROBABILITY_FLOOR)
        assert np.ptp(own, axis=0).max() > 0


@pytest.mark.parametrize("held_back", [False, True])
def test_repeats_are_averaged(held_back):
    """Of rows held out and new; a row is told by models that never saw it, in every repeat.

    Lesser models are as far from it, in log-odds, as those of the first repeat from its best.
    """
    X, _, positive = drawn(9, 400, TRUTHS["step"])
    new = np.random.default_rng(9).normal(size=(50, X.shape[1]))
    other = np.arange(400) % 8 == 0
    folds = [np.random.default_rng(k).permutation(400) % 4 for k in range(3)]
    if held_back:
        folds = [np.where(other, -1, own) for own in folds]
    repeats = [
        cross_fitted_probability(X, positive, own, random_state=k) for k, own in enumerate(folds)
    ]
    found = CrossFittedProbability.averaged(repeats)
    assert found.loss == pytest.approx(np.mean([one.loss for one in repeats]))
    np.testing.assert_allclose(
        found.out_of_fold, np.mean([one.out_of_fold for one in repeats], axis=0)
    )
    np.testing.assert_allclose(
        found.predict(new), np.mean([one.predict(new) for one in repeats], axis=0), atol=1e-3
    )
    np.testing.assert_allclose(
        found.by_rung(new)[-1], np.concatenate([one.by_rung(new)[-1] for one in repeats])
    )
    np.testing.assert_array_equal(found.unseen.predict(new), found.predict(new))
    if held_back:
        np.testing.assert_allclose(found.out_of_fold[other], found.predict(X[other]), atol=1e-3)
    first = repeats[0]
    assert [rung.share for rung in found.lesser] == [rung.share for rung in first.lesser]
    each = zip(found.lesser, first.lesser, found.by_rung(new), first.by_rung(new), strict=False)
    for rung, alone, told, told_alone in each:
        assert rung.loss - found.loss == pytest.approx(alone.loss - first.loss)
        np.testing.assert_allclose(
            logit(rung.out_of_fold) - logit(found.out_of_fold),
            logit(alone.out_of_fold) - logit(first.out_of_fold),
            atol=1e-6,
        )
        moved = [one.mean(axis=0) for one in (told_alone, first.by_rung(new)[-1])]
        np.testing.assert_allclose(
            logit(told[0]), logit(found.predict(new)) + np.subtract(*map(logit, moved)), atol=1e-6
        )
        np.testing.assert_allclose(rung.predict(new), told[0], atol=1e-3)
        np.testing.assert_array_equal(rung.unseen.predict(new), rung.predict(new))
    assert CrossFittedProbability.averaged(repeats[:1]) is first
    back = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(found.predict(new), back.predict(new))


def test_rounds_that_are_given_are_grown():
    """A chequered board takes many; as many as were found to help are found to help."""

    def board(X):
        return np.where(np.floor(1.5 * X).sum(axis=1) % 2 == 0, 0.95, 0.05)

    X, _, positive = drawn(0, 600, board, d=2)
    folds = even_folds(600, 3)
    asked = cross_fitted_probability(X, positive, folds, ladder=False)
    assert asked.n_rounds > 0
    told = cross_fitted_probability(X, positive, folds, ladder=False, n_rounds=asked.n_rounds)
    np.testing.assert_array_equal(asked.out_of_fold, told.out_of_fold)
    none = cross_fitted_probability(X, positive, folds, ladder=False, n_rounds=0)
    assert none.n_rounds == 0
    assert (none.coefficients[:, -1] == 0).all()
    assert none.loss > asked.loss


def test_the_large_boosting_is_worth_its_coefficient():
    """Likelihoods rise by more than one with it (Akaike); without a pattern it is left out."""
    used = []
    for seed, (name, truth) in enumerate(TRUTHS.items()):
        X, _, positive = drawn(seed, 700, truth)
        fitted = cross_fitted_probability(X, positive, even_folds(700))
        without = fitted.lesser[1]
        used.append(fitted.n_rounds > 0)
        if fitted.n_rounds:
            assert 700 * (without.loss - fitted.loss) > 1
        else:
            assert fitted.loss == without.loss
            np.testing.assert_array_equal(fitted.out_of_fold, without.out_of_fold)
        assert not (name == "constant" and used[-1])
    assert any(used)


def test_growth_is_judged_after_the_second_step_not_the_first(monkeypatch):
    """Twelve rounds may tell nothing of a rule that as many again tell."""

    def board(X):
        return np.where(np.floor(1.5 * X).sum(axis=1) % 2 == 0, 0.95, 0.05)

    X, _, positive = drawn(0, 600, board, d=2)
    losses = []

    def combined(*given):
        own = _Combined.of(*given)
        losses.append(own.loss)
        return replace(own, loss=1.0) if len(losses) == 2 else own  # after that without it

    monkeypatch.setattr(probability, "_Combined", SimpleNamespace(of=combined))
    fitted = cross_fitted_probability(X, positive, even_folds(600, 3), ladder=False)
    assert fitted.n_rounds >= 25
    assert fitted.loss == min(losses[2:]) < losses[0]


def test_is_close_to_the_best_possible_prediction():
    """Of the imbalance in the paper's Section 4.1, with mu = 0.3."""
    X, p, positive = drawn(7, 3_000, lambda X: expit(0.3 * (X[:, 0] + X[:, 1]) ** 2), d=2)
    e = cross_fitted_probability(X, positive, even_folds(3_000, 5)).out_of_fold
    assert log_loss(positive, e) - log_loss(positive, p) < 0.004
    assert np.corrcoef(e, p)[0, 1] > 0.97


def test_integer_weights_act_like_repeated_rows():
    """Up to the boosting's smallest leaf, which counts rows."""
    X, _, positive = drawn(7, 1_000, TRUTHS["square"])
    copies, folds = np.random.default_rng(1).integers(1, 4, size=1_000), even_folds(1_000, 5)
    weighted = cross_fitted_probability(X, positive, folds, sample_weight=copies)
    repeated = cross_fitted_probability(
        np.repeat(X, copies, axis=0), np.repeat(positive, copies), np.repeat(folds, copies)
    )
    apart = np.repeat(weighted.out_of_fold, copies) - repeated.out_of_fold
    assert np.abs(apart).mean() < 0.01


def test_a_fold_without_one_of_the_labels_to_learn_from():
    """All of one label sits in fold 0, which is predicted from the other label alone."""
    X, positive = np.arange(40.0)[:, None], np.arange(40) >= 10
    fitted = cross_fitted_probability(X, positive, np.arange(40) // 20)
    assert np.isfinite(fitted.out_of_fold).all()


def branches(n_rows, n_levels, seed):
    """Levels that decide S and Y, of which the matrix shows nothing, and a feature that moves both."""
    rng = np.random.default_rng(seed)
    a = np.random.default_rng(n_levels).normal(size=(2, n_levels))
    b = 0.7 * a[0] + 0.6 * a[1]
    codes = rng.integers(n_levels, size=n_rows)
    X = 0.8 * a[0, codes, np.newaxis] + rng.normal(size=(n_rows, 1))
    p = expit(b[codes] + X[:, 0]), expit(a[0, codes] - 0.7 * X[:, 0])
    y, s = (rng.random(n_rows) < each for each in p)
    return RowView(X, levels=codes[:, np.newaxis].astype(np.int32)), p, (y, s)


@pytest.mark.parametrize("n_splits", [5, 2])
def test_levels_that_the_matrix_pools_are_told_apart(n_splits):
    """Residuals of Y and S are uncorrelated, as with the true probabilities, and predictions good."""
    rows, p, labels = branches(4_000, 80, seed=0)
    folds = even_folds(4_000, n_splits)
    fitted = [cross_fitted_probability(rows, own, folds) for own in labels]
    blind = [cross_fitted_probability(RowView(rows[:]), own, folds) for own in labels]

    def statistic(m, e):
        product = (labels[0] - m) * (labels[1] - e)
        return product.sum() / np.sqrt((product**2).sum())

    assert statistic(*(one.out_of_fold for one in blind)) > 3
    with_truth = statistic(*p)
    assert abs(statistic(*(one.out_of_fold for one in fitted)) - with_truth) < 1
    for one, other, truth, own in zip(fitted, blind, p, labels, strict=True):
        lost, blindly = (
            log_loss(own, each.out_of_fold) - log_loss(own, truth) for each in (one, other)
        )
        assert lost < blindly / 3
    # New rows are told apart as well as those held out.
    new, new_p, new_labels = branches(4_000, 80, seed=1)
    for one, truth, own in zip(fitted, new_p, new_labels, strict=True):
        told = one.predict(new)
        assert log_loss(own, told) - log_loss(own, truth) < 80 / (4_000 * (1 - 1 / n_splits))
        np.testing.assert_allclose(one.by_rung(new)[-1].mean(axis=0).clip(0.001, 0.999), told)


def test_how_levels_are_numbered_is_nothing_and_new_ones_are_like_all():
    rows, _, (positive, _) = branches(1_000, 50, seed=2)
    folds = even_folds(1_000)
    fitted = cross_fitted_probability(rows, positive, folds)
    number = np.random.default_rng(0).permutation(50)
    renamed = RowView(rows[:], levels=number[rows.levels])
    again = cross_fitted_probability(renamed, positive, folds)
    np.testing.assert_array_equal(fitted.out_of_fold, again.out_of_fold)
    unknown = [np.full((1_000, 1), code) for code in (-1, 50, 10_000)]
    told = [fitted.predict(RowView(rows[:], levels=levels)) for levels in unknown]
    np.testing.assert_array_equal(told[0], told[1])
    np.testing.assert_array_equal(told[0], told[2])
    # Between what is said of the best and of the worst level.
    each = [
        fitted.predict(RowView(rows[:], levels=np.full((1_000, 1), code))) for code in range(50)
    ]
    assert np.min(each, axis=0).mean() < told[0].mean() < np.max(each, axis=0).mean()


def test_levels_of_rows_beyond_a_chunk_are_theirs(monkeypatch):
    rows, _, (positive, _) = branches(900, 50, seed=3)
    folds = even_folds(900)
    folds[::3] = -1
    fitted = cross_fitted_probability(rows, positive, folds)
    monkeypatch.setattr(probability, "_CHUNK_ROWS", 70)
    again = cross_fitted_probability(rows, positive, folds).out_of_fold
    np.testing.assert_allclose(again, fitted.out_of_fold, rtol=1e-12)
    np.testing.assert_allclose(fitted.predict(rows)[::3], fitted.out_of_fold[::3], rtol=1e-12)
