"""Levels of a category told by other rows, as smoothed log-odds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from mdfa_fairness_plugin.learn.levels import LevelAverages, LevelMeans


def drawn(n_rows, n_levels, seed=0):
    """Levels whose log-odds are normal, as are those of the second outcome of METHOD's levels."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(n_levels).normal(size=n_levels)
    codes = rng.integers(n_levels, size=n_rows)
    positive = rng.random(n_rows) < expit(truth[codes])
    return codes[:, np.newaxis].astype(np.int32), positive, expit(truth[codes])


def log_loss(positive, probability):
    return -np.mean(np.log(np.where(positive, probability, 1 - probability)))


def test_a_table_worked_out_by_hand():
    """Two levels so unlike that their rates are trusted: those of the other folds."""
    codes = np.repeat([0, 1], 4_000)[:, np.newaxis]
    positive = np.concatenate([np.arange(4_000) % 4 == 0, np.arange(4_000) % 4 > 0])
    folds = np.arange(8_000) % 8 // 4
    means = LevelMeans()
    told = means.fit_transform(codes, positive, np.ones(8_000), folds)
    np.testing.assert_allclose(expit(told[:, 0]), np.repeat([0.25, 0.75], 4_000), atol=1e-3)
    new = means.transform(np.array([[0], [1], [2], [-1]]))
    np.testing.assert_allclose(expit(new[:, 0]), [0.25, 0.75, 0.5, 0.5], atol=1e-3)


@pytest.mark.parametrize(("n_rows", "n_levels"), [(4_000, 200), (3_000, 120), (20_000, 200)])
def test_held_out_loss_is_that_of_the_best_any_smoothing_could_do(n_rows, n_levels):
    codes, positive, _ = drawn(n_rows, n_levels)
    new_codes, new_positive, new_truth = drawn(200_000, n_levels, seed=1)
    means = LevelMeans()
    means.fit_transform(codes, positive, np.ones(n_rows), np.arange(n_rows) % 5)
    lost = log_loss(new_positive, expit(means.transform(new_codes)[:, 0]))
    count = np.bincount(codes[:, 0], minlength=n_levels)
    hits = np.bincount(codes[:, 0], positive, minlength=n_levels)
    rate = positive.mean()

    def smoothed(strength):
        rates = (hits + strength * rate) / (count + strength)
        return log_loss(new_positive, rates[new_codes[:, 0]])

    best = min(smoothed(strength) for strength in np.geomspace(0.1, 1_000, 60))
    assert lost < best + 2e-4
    # What is lost to the truth is half a parameter per level and row at most.
    assert log_loss(new_positive, new_truth) < lost
    assert lost < log_loss(new_positive, new_truth) + 0.5 * n_levels / n_rows
    assert lost < log_loss(new_positive, np.full(200_000, rate)) - 0.05


def test_each_row_is_told_by_the_other_folds_smoothed_by_one_strength():
    codes, positive, _ = drawn(600, 40)
    folds = np.arange(600) % 4
    told = expit(LevelMeans().fit_transform(codes, positive, np.ones(600), folds)[:, 0])
    count, hits = np.zeros(600), np.zeros(600)
    for row in range(600):
        others = (codes[:, 0] == codes[row, 0]) & (folds != folds[row])
        count[row], hits[row] = others.sum(), positive[others].sum()
    rate = positive.mean()
    strength = (hits[0] - count[0] * told[0]) / (told[0] - rate)
    assert 0.5 < strength < 20
    np.testing.assert_allclose(told, (hits + strength * rate) / (count + strength), rtol=1e-9)


def test_new_and_missing_levels_are_told_by_everybody():
    codes, positive, _ = drawn(1_000, 30)
    codes[:50] = -1
    weight = np.random.default_rng(1).uniform(0.5, 2, 1_000)
    means = LevelMeans()
    told = means.fit_transform(codes, positive, weight, np.arange(1_000) % 5)
    rate = logit(np.average(positive, weights=weight))
    np.testing.assert_allclose(told[:50], rate)
    np.testing.assert_allclose(means.transform(np.array([[-1], [30], [4_000]])), rate)


def test_weights_are_as_many_rows():
    codes, positive, _ = drawn(500, 25)
    folds = np.arange(500) % 5
    times = np.random.default_rng(1).integers(1, 4, 500)
    weighted, repeated = LevelMeans(), LevelMeans()
    own = weighted.fit_transform(codes, positive, times.astype(float), folds)
    again = repeated.fit_transform(*(np.repeat(of, times, axis=0) for of in (codes, positive)),
                                   np.ones(times.sum()), np.repeat(folds, times))  # fmt: skip
    np.testing.assert_allclose(np.repeat(own, times, axis=0), again, atol=0.02)
    levels = np.arange(25)[:, np.newaxis]
    np.testing.assert_allclose(weighted.transform(levels), repeated.transform(levels), atol=0.02)
    scaled = LevelMeans().fit_transform(codes, positive, 7.0 * times, folds)
    np.testing.assert_allclose(scaled, own, atol=1e-9)


def test_how_levels_are_numbered_is_nothing():
    codes, positive, _ = drawn(700, 50)
    folds, weight = np.arange(700) % 5, np.random.default_rng(1).uniform(0.5, 2, 700)
    other = np.random.default_rng(2).permutation(50)[codes]
    np.testing.assert_array_equal(
        LevelMeans().fit_transform(codes, positive, weight, folds),
        LevelMeans().fit_transform(other, positive, weight, folds),
    )


def test_levels_of_one_person_each_say_nothing_if_a_persons_rows_share_a_fold():
    """Ten rows a person with one answer: by rows the level would tell it, by people it cannot."""
    person = np.repeat(np.arange(100), 10)
    positive = np.repeat(np.random.default_rng(0).random(100) < 0.4, 10)
    codes = person[:, np.newaxis]
    told = LevelMeans().fit_transform(codes, positive, np.ones(1_000), person % 5)
    np.testing.assert_allclose(told, logit(positive.mean()))
    apart = LevelMeans().fit_transform(codes, positive, np.ones(1_000), np.arange(1_000) % 5)
    assert log_loss(positive, expit(apart[:, 0])) < 0.1


def test_where_levels_say_nothing_all_are_told_alike():
    rng = np.random.default_rng(3)
    codes, positive = rng.integers(100, size=(4_000, 1)), rng.random(4_000) < 0.3
    told = LevelMeans().fit_transform(codes, positive, np.ones(4_000), np.arange(4_000) % 5)
    assert np.ptp(expit(told)) < 0.15
    assert log_loss(positive, expit(told[:, 0])) < log_loss(positive, np.full(4_000, 0.3)) + 1e-3


def test_categories_are_told_one_by_one():
    one, positive, _ = drawn(800, 40)
    other = np.random.default_rng(5).integers(60, size=(800, 1))
    folds, weight = np.arange(800) % 5, np.ones(800)
    both = LevelMeans()
    told = both.fit_transform(np.hstack([one, other]), positive, weight, folds)
    for place, alone in enumerate((one, other)):
        means = LevelMeans()
        np.testing.assert_array_equal(
            told[:, [place]], means.fit_transform(alone, positive, weight, folds)
        )
        np.testing.assert_array_equal(
            both.transform(np.hstack([one, other]))[:, [place]], means.transform(alone)
        )


def test_averages_by_level():
    codes = np.array([[0, 1], [0, -1], [2, 1], [2, 0], [-1, 0]])
    number, weight = np.array([1.0, 2.0, 3.0, 5.0, 9.0]), np.array([1.0, 3.0, 1.0, 1.0, 2.0])
    averages = LevelAverages(codes, number, weight)
    new = np.array([[0, 0], [1, 1], [2, 2], [-1, -1], [70, 70]])
    everybody = (1 + 6 + 3 + 5 + 18) / 8
    first = [7 / 4, everybody, 4.0, everybody, everybody]
    second = [23 / 3, 2.0, everybody, everybody, everybody]
    np.testing.assert_allclose(averages.transform(new), np.column_stack([first, second]))
