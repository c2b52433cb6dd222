"""The difference of rates from residuals: known differences, and what each model may see."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.search import orthogonal
from mdfa_fairness_plugin.search.level_sets import Sweep
from mdfa_fairness_plugin.search.orthogonal import (
    SHRINKAGES,
    MultiscaleForest,
    all_choices,
    cross_fitted_difference,
    oriented,
    orthogonal_families,
    outcome_rate,
    shrunk_ratio,
)
from mdfa_fairness_plugin.search.selection import plateau_thresholds


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
    return cross_fitted_difference(X, (s > 0) - e, positive - m, folds, **options)


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
    monkeypatch.setattr(orthogonal, "_MANY_ROWS", 1)


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


@pytest.mark.parametrize("shared", [False, True])
def test_rows_held_back_are_judged_by_trees_of_every_model(monkeypatch, shared):
    """What judges them in the audit judges new rows too, whole or slimmed for other machines."""
    monkeypatch.setattr(orthogonal, "_MANY_ROWS", 1 if shared else 10**9)
    X, s, positive, e, m, _ = planted(6, n=400)
    folds = np.where(np.arange(400) < 100, -1, np.arange(400) % 5)
    found = difference_of(X, s, positive, e, m, folds, parts=(0, 1, 2, 3, 4, -1))
    rest = folds == -1
    np.testing.assert_allclose(found.out_of_fold[:, rest], found.predict(X[rest]))
    np.testing.assert_allclose(found.unseen().predict(X[rest]), found.predict(X[rest]))
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


def test_jobs_and_pickling_do_not_matter():
    X, s, positive, e, m, _ = planted(9, n=300)
    folds = np.arange(300) % 2
    one = difference_of(X, s, positive, e, m, folds)
    two = difference_of(X, s, positive, e, m, folds, n_jobs=2)
    np.testing.assert_array_equal(one.out_of_fold, two.out_of_fold)
    np.testing.assert_allclose(one.by_part(X)[folds, :, np.arange(300)].T, one.out_of_fold)
    back = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.predict(X), back.predict(X))


# -- the forest read at several leaf sizes


def test_finest_scale_is_the_mean_of_the_trees_own_predictions():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(600, 3)), rng.normal(size=600), rng.uniform(0.5, 2, 600)
    forest = MultiscaleForest(n_estimators=5, random_state=3).fit(X, y, sample_weight=weight)
    new = rng.normal(size=(50, 3)).astype(np.float32)
    own = np.mean([tree.predict(new)[:, 0] for tree in forest.trees_], axis=0)
    np.testing.assert_allclose(forest.predict(new), own, atol=1e-12)
    np.testing.assert_array_equal(forest.predict(new), forest.predict_scales(new)[0])
    assert len({tree.node_count for tree in forest.trees_}) > 1


def test_larger_scales_are_means_over_the_smallest_node_with_enough_rows():
    """Worked from a tree's paths: each prediction is a weighted mean of at least that many rows."""
    rng = np.random.default_rng(1)
    X, y, weight = rng.normal(size=(900, 2)), rng.normal(size=900), rng.uniform(0.5, 2, 900)
    forest = MultiscaleForest(n_estimators=1, random_state=0).fit(X, y, sample_weight=weight)
    nodes = forest.trees_[0].decision_path(X.astype(np.float32)).toarray().astype(bool)
    sizes = nodes.sum(axis=0)
    assert forest.leaf_sizes_ == (5, 15, 60)
    for size, prediction in zip(forest.leaf_sizes_, forest.predict_scales(X), strict=True):
        for row in range(0, 900, 90):
            own = np.flatnonzero(nodes[row] & (sizes >= size))
            inside = nodes[:, own[np.argmin(sizes[own])]]
            expected = np.average(y[inside], weights=weight[inside])
            assert prediction[row] == pytest.approx(expected, abs=1e-9)


def test_forest_of_few_rows_is_the_mean():
    forest = MultiscaleForest(n_estimators=2).fit(np.zeros((3, 1)), np.array([1.0, 2.0, 6.0]))
    np.testing.assert_allclose(forest.predict_scales(np.ones((2, 1))), 3.0)


def test_forest_is_a_scikit_learn_estimator():
    forest = MultiscaleForest(n_estimators=7, random_state=5)
    assert (
        clone(forest).get_params() == forest.get_params() == {"n_estimators": 7, "random_state": 5}
    )


# -- scores


def test_one_function_serves_all_four_searches():
    """Exchanging S or Y turns the difference; exchanging both leaves it."""
    tau, e, m = np.array([0.2]), np.array([0.3]), np.array([0.6])
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=False, flip_y=False)] == [0.2, 0.3, 0.6]
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=True, flip_y=False)] == [-0.2, 0.7, 0.6]
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=False, flip_y=True)] == [-0.2, 0.3, 0.4]
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=True, flip_y=True)] == [0.2, 0.7, 0.4]


@pytest.mark.parametrize(
    ("flip_s", "flip_y"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_rates_come_back_from_mean_and_difference(flip_s, flip_y):
    """p1 = .6 and p0 = .2 with e = 1/4: m = .3; every orientation gives the ratio it looks for."""
    tau, e, m = oriented(*(np.array([v]) for v in (0.4, 0.25, 0.3)), flip_s=flip_s, flip_y=flip_y)
    p1, p0 = (0.4, 0.8) if flip_y else (0.6, 0.2)
    if flip_s:
        p1, p0 = p0, p1
    assert shrunk_ratio(tau, e, m, shrinkage=1e-12, rate=0.3)[0] == pytest.approx(math.log(p1 / p0))
    assert shrunk_ratio(tau, e, m, shrinkage=None, rate=0.3)[0] == pytest.approx(p1 - p0)


@pytest.mark.parametrize("shrinkage", SHRINKAGES)
def test_scores_are_zero_where_treated_alike_and_grow_with_the_difference(shrinkage):
    tau = np.linspace(-0.5, 0.5, 21)
    score = shrunk_ratio(tau, np.full(21, 0.5), np.full(21, 0.5), shrinkage=shrinkage, rate=0.4)
    assert score[10] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(score) > 0).all()


def test_shrinking_leads_from_ratio_to_difference():
    """.02 against .01 beats .5 against .3 as a ratio, not as a difference."""
    tau, m, e = np.array([0.01, 0.2]), np.array([0.015, 0.4]), np.full(2, 0.5)
    first = shrunk_ratio(tau, e, m, shrinkage=1e-6, rate=0.2)
    last = shrunk_ratio(tau, e, m, shrinkage=3.0, rate=0.2)
    assert first[0] > first[1]
    assert last[0] < last[1]


def test_estimates_beyond_zero_and_one_are_cut():
    score = shrunk_ratio(np.array([2.0]), np.array([0.5]), np.array([0.5]), shrinkage=0.5, rate=0.2)
    assert score[0] == pytest.approx(math.log(1.1 / 0.1))


def test_families_propose_cuts_half_way_up(make_search):
    """A plateau of height .4: the difference's cut is .2; without a difference nothing is cut."""
    n = 400
    s, positive = np.tile([1, -1], n // 2), np.arange(n) % 5 == 0
    data = make_search(np.zeros(n), s, positive)
    assert outcome_rate(data) == pytest.approx(0.2)
    half = np.full(n, 0.5)
    tau = np.array([np.where(np.arange(n) < 100, 0.4, 0.0), np.zeros(n)])
    families = orthogonal_families(tau, half, half, 0.2)
    assert len(families) == 2 * len(SHRINKAGES)
    assert len({family.name for family in families}) == len(families)
    for choice, family in zip(all_choices(2), families, strict=True):
        assert family.name == choice.name
        assert family.thresholds is None
        cuts = plateau_thresholds(Sweep.of(data, family.scores), data.alpha).tolist()
        if choice.scale == 1:
            assert cuts == []
        elif choice.shrinkage is None:
            assert cuts == [pytest.approx(0.2)]
        else:
            top = math.log((0.7 + choice.shrinkage * 0.2) / (0.3 + choice.shrinkage * 0.2))
            assert cuts == [pytest.approx(top / 2)]


def test_scores_tried_are_worked_by_hand():
    """Rates .5 and .1 where .3 have the outcome: a difference of .4, and ratios shrunk towards it."""
    e, m, tau = np.array([0.25]), np.array([0.2]), np.array([[0.4], [0.0]])
    found = {one.name: one.scores[0] for one in orthogonal_families(tau, e, m, 0.3)}
    expected = {
        f"ratio shrunk by {c}": math.log((0.5 + c * 0.3) / (0.1 + c * 0.3))
        for c in (0.1, 0.25, 0.5, 1, 3)
    }
    expected["difference"] = 0.4
    assert found == pytest.approx(
        {f"{name}, scale 0": value for name, value in expected.items()}
        | {f"{name}, scale 1": 0.0 for name in expected}
    )
