"""The difference of rates from residuals: known differences, and what each model may see."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from mdfa_fairness_plugin.learn import difference
from mdfa_fairness_plugin.learn.difference import (
    CrossFittedDifference,
    Trees,
    cross_fitted_difference,
)
from mdfa_fairness_plugin.numerics.rows import RowView


def planted(seed, n=1500, p1=0.7, p0=0.3):
    """Rates part on the right of x1 = 0 only; S depends on x2; true nuisances are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    e = 1 / (1 + np.exp(-X[:, 1]))
    s = np.where(rng.random(n) < e, 1, -1)
    tau = np.where(X[:, 0] > 0, p1 - p0, 0.0)
    rate = np.where(s > 0, p0 + tau, p0)
    positive = rng.random(n) < rate
    return X, s, positive, e, p0 + e * tau, tau


def difference_of(X, s, positive, e, m, folds, **options):
    options = {
        "parts": tuple(np.unique(folds[folds >= 0])),
        "sample_weight": np.ones(len(s)),
    } | options
    return cross_fitted_difference(X, ((s > 0) - e, positive - m), folds, **options)


@pytest.mark.parametrize("seed", range(2))
def test_planted_difference_is_recovered(seed):
    X, s, positive, e, m, tau = planted(seed)
    found = difference_of(X, s, positive, e, m, np.arange(1500) % 4)
    for estimate in found.out_of_fold:
        assert estimate[tau > 0].mean() == pytest.approx(0.4, abs=0.1)
        assert estimate[tau == 0].mean() == pytest.approx(0.0, abs=0.1)
    fine = found.out_of_fold[0]
    assert ((fine > 0.2) == (tau > 0)).mean() > 0.85


def test_noise_free_outcomes_leave_no_difference():
    """Where a black box always answers the same, residuals and difference are exactly zero."""
    X, s, *_ = planted(3, n=300)
    positive = X[:, 0] > 0
    e = np.full(300, 0.5)
    found = difference_of(X, s, positive, e, positive.astype(float), np.arange(300) % 3)
    assert (found.out_of_fold == 0).all()


def test_linear_difference_is_the_weighted_regression_of_ratios():
    """With ordinary least squares the fit is the closed form of the R-learner."""
    X, s, positive, e, m, _ = planted(4, n=400)
    folds = np.arange(400) % 2
    base = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    found = difference_of(
        X, s, positive, e, m, folds, learner=LinearRegression(), sample_weight=base
    )
    for part in (0, 1):
        train = folds != part
        # sum w (ry - (a + b x) rs)^2 is least squares of ry on rs and rs x.
        rs, ry, root = ((s > 0) - e)[train], (positive - m)[train], np.sqrt(base[train])
        A = np.column_stack([rs, rs[:, None] * X[train]]) * root[:, None]
        solution = np.linalg.lstsq(A, ry * root, rcond=None)[0]
        expected = solution[0] + X[folds == part] @ solution[1:]
        np.testing.assert_allclose(found.out_of_fold[0, folds == part], expected, atol=1e-9)


def test_a_row_is_predicted_by_models_that_have_not_seen_it():
    X, s, positive, e, m, _ = planted(5, n=300)
    folds = np.arange(300) % 3
    changed = np.where(folds == 1, ~positive, positive)
    one = difference_of(X, s, positive, e, m, folds).out_of_fold
    two = difference_of(X, s, changed, e, m, folds).out_of_fold
    np.testing.assert_array_equal(one[:, folds == 1], two[:, folds == 1])
    assert not np.array_equal(one[:, folds != 1], two[:, folds != 1])


# Fewer rows than this make trees that leave out one fold, more make trees that leave out two.
@pytest.fixture
def shared_trees(monkeypatch):
    monkeypatch.setattr(difference, "MANY_ROWS", 1)


@pytest.mark.parametrize("n_folds", [2, 3, 5, 6])
def test_shared_trees_have_not_seen_the_rows_they_judge(shared_trees, n_folds):
    X, s, positive, e, m, _ = planted(5, n=400)
    folds = np.arange(400) % n_folds
    changed = np.where(folds == 1, ~positive, positive)
    one = difference_of(X, s, positive, e, m, folds)
    two = difference_of(X, s, changed, e, m, folds)
    same, other = folds == 1, folds != 1
    np.testing.assert_array_equal(one.out_of_fold[:, same], two.out_of_fold[:, same])
    assert not np.array_equal(one.out_of_fold[:, other], two.out_of_fold[:, other])
    for part, own in enumerate(one.by_part(X)):
        rows = folds == part
        np.testing.assert_allclose(own[:, rows], one.out_of_fold[:, rows])


def test_shared_trees_serve_two_folds_each(shared_trees):
    X, s, positive, e, m, _ = planted(5, n=400)
    found = difference_of(X, s, positive, e, m, np.arange(400) % 5)
    assert found.judges.shape == (5, 10)
    assert (found.judges.sum(axis=0) == 2).all()
    trees = np.array([len(model.trees_) for model in found.models])
    assert set((found.judges @ trees).tolist()) == {24}


@pytest.mark.repeats
@pytest.mark.parametrize("shared", [False, True])
def test_rows_held_back_are_judged_by_trees_of_every_model(monkeypatch, shared):
    """What judges them in the audit judges new rows too, whole or slimmed for other machines."""
    monkeypatch.setattr(difference, "MANY_ROWS", 1 if shared else 10**9)
    X, s, positive, e, m, _ = planted(6, n=400)
    folds = np.where(np.arange(400) < 100, -1, np.arange(400) % 5)
    found = difference_of(X, s, positive, e, m, folds, parts=(0, 1, 2, 3, 4, -1))
    rest = folds == -1
    np.testing.assert_allclose(found.out_of_fold[:, rest], found.predict(X[rest]))
    np.testing.assert_allclose(found.unseen.predict(X[rest]), found.predict(X[rest]))
    assert found.n_trees == (3 if shared else 20)


def test_a_matrix_and_a_view_of_its_rows_are_one():
    X, s, positive, e, m, _ = planted(6, n=400)
    folds = np.arange(400) % 3
    everything = np.vstack([X, X + 1.0])
    own = np.arange(400)
    one = difference_of(X, s, positive, e, m, folds)
    two = difference_of(RowView(everything, own), s, positive, e, m, folds)
    np.testing.assert_array_equal(one.out_of_fold, two.out_of_fold)


def test_rows_of_no_fold_get_the_average():
    X, s, positive, e, m, _ = planted(6, n=300)
    folds = np.where(np.arange(300) % 5 == 0, -1, np.arange(300) % 3)
    found = difference_of(X, s, positive, e, m, folds, learner=DecisionTreeRegressor(max_depth=3))
    rest = folds == -1
    np.testing.assert_allclose(found.out_of_fold[:, rest], found.predict(X[rest]))


def test_holdout_is_one_model_of_the_learning_rows():
    X, s, positive, e, m, _ = planted(7, n=300)
    folds = np.where(np.arange(300) < 90, -1, np.arange(300) % 3)
    found = difference_of(X, s, positive, e, m, folds, parts=(-1,))
    assert len(found.models) == 1
    np.testing.assert_array_equal(found.out_of_fold, found.predict(X))


@pytest.mark.parametrize("learner", [None, DecisionTreeRegressor(max_depth=2)])
def test_a_fold_without_rows_is_no_obstacle(learner):
    """As of a small comparison among many folds."""
    X, s, positive, e, m, _ = planted(8, n=200)
    folds = np.arange(200) % 2
    found = difference_of(X, s, positive, e, m, folds, parts=(0, 1, 2), learner=learner)
    assert np.isfinite(found.out_of_fold).all()


@pytest.mark.parametrize("learner", [None, DecisionTreeRegressor(max_depth=3)])
def test_repeats_are_averaged(learner):
    """Of rows held out and new, whatever the learner."""
    X, s, positive, e, m, _ = planted(9, n=300)
    drawn = [np.random.default_rng(k).permutation(300) % 3 for k in range(3)]
    repeats = [
        difference_of(X, s, positive, e, m, folds, learner=learner, random_state=k, n_trees=32)
        for k, folds in enumerate(drawn)
    ]
    found = CrossFittedDifference.averaged(repeats)
    alone = [one.out_of_fold for one in repeats]
    np.testing.assert_allclose(found.out_of_fold, np.mean(alone, axis=0))
    assert found.averaged_over == tuple(repeats)
    assert found.first is CrossFittedDifference.averaged([found, repeats[1]]).first is repeats[0]
    new = np.random.default_rng(3).normal(size=(40, 2))
    for asked in ("predict", "by_part"):
        each = [getattr(one, asked)(new) for one in repeats]
        np.testing.assert_allclose(getattr(found, asked)(new), np.mean(each, axis=0))
    assert CrossFittedDifference.averaged(repeats[:1]) is repeats[0]
    assert repeats[0].averaged_over == ()
    assert repeats[0].first is repeats[0]
    # No repeat sees a row that it judges.
    own = drawn[1] == 2
    changed = np.where(own, ~positive, positive)
    again = difference_of(
        X, s, changed, e, m, drawn[1], learner=learner, random_state=1, n_trees=32
    ).out_of_fold
    np.testing.assert_allclose(again[:, own], repeats[1].out_of_fold[:, own], atol=1e-12)
    assert np.abs(again[:, ~own] - repeats[1].out_of_fold[:, ~own]).max() > 0.01


@pytest.mark.repeats
@pytest.mark.parametrize(
    ("n_rows", "n_repeats", "expected"),
    [
        (100, 1, Trees(100, 12, 1, False)),
        (3_999, 3, Trees(67, 12, 6, False)),
        (4_000, 3, Trees(67, 12, 6, True)),
        (8_000, 3, Trees(33, 12, 3, True)),
        (9_900, 3, Trees(27, 12, 2, True)),
        (10_000, 3, Trees(27, 12, 2, True)),
        (15_000, 2, Trees(27, 12, 2, True)),
        (50_000, 1, Trees(24, 12, 1, True)),
    ],
)
def test_the_more_rows_the_fewer_trees_and_never_a_leap(n_rows, n_repeats, expected):
    assert Trees.of(n_rows, n_repeats) == expected


@pytest.mark.repeats
def test_as_many_trees_judge_a_row_as_asked_for():
    X, s, positive, e, m, _ = planted(9, n=300)
    folds = np.arange(300) % 2
    for n_trees in (None, 7):
        found = difference_of(X, s, positive, e, m, folds, n_trees=n_trees)
        assert {len(model.trees_) for model in found.models} == {n_trees or 100}


def test_every_tree_draws_some_of_the_others():
    """All of a small group, others that stand for all of them; from four to one on every row."""
    side = np.arange(600) % 12 == 0
    draw = difference._fewer_others(side)
    drawn = [draw(np.random.default_rng(seed)) for seed in range(2)]
    for rows, times in drawn:
        assert side[rows].sum() == 50 == len(rows) / 5
        assert set(times[side[rows]]) == {1.0}
        assert times[~side[rows]].sum() == pytest.approx(550)
    assert set(drawn[0][0]) != set(drawn[1][0])
    for few in (side, ~side):
        assert difference._fewer_others(few[np.argsort(~side)][:250]) is None
    assert difference._fewer_others(np.zeros(9, dtype=bool)) is None
    X, y = np.random.default_rng(0).normal(size=(2, 600, 1))
    forest = difference.MultiscaleForest(3).fit(X, y, np.ones(600), draw)
    assert {tree.n_node_samples[0] for tree in forest.trees_} == {250}


def test_rows_held_back_are_judged_by_every_repeat():
    X, s, positive, e, m, _ = planted(6, n=300)
    parts = (0, 1, -1)
    repeats = [
        difference_of(
            X,
            s,
            positive,
            e,
            m,
            np.where(np.arange(300) < 90, -1, np.arange(300) // k % 2),
            parts=parts,
            n_trees=48,
        )
        for k in (1, 2)
    ]
    found = CrossFittedDifference.averaged(repeats)
    rest = np.arange(300) < 90
    np.testing.assert_allclose(found.out_of_fold[:, rest], found.predict(X[rest]))
    np.testing.assert_allclose(found.unseen.predict(X[rest]), found.predict(X[rest]))


def test_jobs_and_pickling_do_not_matter():
    X, s, positive, e, m, _ = planted(9, n=300)
    folds = np.arange(300) % 2
    one = difference_of(X, s, positive, e, m, folds)
    two = difference_of(X, s, positive, e, m, folds, n_jobs=2)
    np.testing.assert_array_equal(one.out_of_fold, two.out_of_fold)
    np.testing.assert_allclose(one.by_part(X)[folds, :, np.arange(300)].T, one.out_of_fold)
    back = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.predict(X), back.predict(X))
