"""The forest read at several leaf sizes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.base import clone

from mdfa_fairness_plugin.learn import forest as own
from mdfa_fairness_plugin.learn.forest import MultiscaleForest, Ranked


def test_finest_scale_is_the_mean_of_the_trees_own_predictions():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(600, 3)), rng.normal(size=600), rng.uniform(0.5, 2, 600)
    forest = MultiscaleForest(n_estimators=5, random_state=3).fit(X, y, sample_weight=weight)
    new = rng.normal(size=(50, 3)).astype(np.float32)
    mean = np.mean([tree.predict(new)[:, 0] for tree in forest.trees_], axis=0)
    np.testing.assert_allclose(forest.predict(new), mean, atol=1e-12)
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
            around = np.flatnonzero(nodes[row] & (sizes >= size))
            inside = nodes[:, around[np.argmin(sizes[around])]]
            expected = np.average(y[inside], weights=weight[inside])
            assert prediction[row] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 300)])
def test_trees_are_scikit_learns(weight, monkeypatch):
    """Grown without its checks they are the same as with them."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    told = MultiscaleForest(n_estimators=3).fit(X, y, weight).predict_scales(X)
    monkeypatch.setattr(own, "Tree", None)
    again = MultiscaleForest(n_estimators=3).fit(X, y, weight).predict_scales(X)
    np.testing.assert_array_equal(told, again)


def test_forest_of_few_rows_is_the_mean():
    forest = MultiscaleForest(n_estimators=2).fit(np.zeros((3, 1)), np.array([1.0, 2.0, 6.0]))
    np.testing.assert_allclose(forest.predict_scales(np.ones((2, 1))), 3.0)


def test_forest_is_a_scikit_learn_estimator():
    forest = MultiscaleForest(n_estimators=7, random_state=5)
    assert (
        clone(forest).get_params() == forest.get_params() == {"n_estimators": 7, "random_state": 5}
    )


def cuts_by_feature(forest, d):
    """Of all inner nodes, shape (d,)."""
    cut = np.concatenate([tree.feature[tree.feature >= 0] for tree in forest.trees_])
    return np.bincount(cut, minlength=d) / len(cut)


def test_features_no_better_than_shuffled_ones_are_left_out_of_some_trees():
    """One of 16 features tells everything; by even cuts between leaves it would get far fewer."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1_000, 16))
    y = (X[:, 3] > 0) + 0.5 * rng.normal(size=1_000)
    forest = MultiscaleForest(n_estimators=40, random_state=0).fit(X, y)
    used = [set(tree.feature[tree.feature >= 0]) for tree in forest.trees_]
    assert all(3 in own for own in used)
    assert max(len(own) for own in used) < 16
    # Where nothing tells anything every feature is cut in most places alike.
    noise = MultiscaleForest(n_estimators=40, random_state=0).fit(X, rng.normal(size=1_000))
    assert cuts_by_feature(noise, 16).max() < 0.2 < cuts_by_feature(forest, 16)[3]


def test_a_feature_alone_is_never_left_out():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 1))
    for y in (rng.normal(size=500), np.sign(X[:, 0])):
        forest = MultiscaleForest(n_estimators=20, random_state=0).fit(X, y)
        assert max(tree.node_count for tree in forest.trees_) > 1


def test_what_a_feature_is_measured_in_does_not_matter():
    """Rows learned from are told exactly the same, others but for where in a gap a cut is."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(800, 3)), rng.normal(size=800)
    X[:, 2] = np.round(X[:, 2])
    y += 2.0 * (X[:, 0] > 1.0)
    fitted = MultiscaleForest(n_estimators=10, random_state=0).fit(X, y)
    stretched = MultiscaleForest(n_estimators=10, random_state=0).fit(np.exp(3.0 * X), y)
    np.testing.assert_allclose(fitted.predict_scales(X), stretched.predict_scales(np.exp(3.0 * X)))
    new = rng.normal(size=(800, 3))
    told, again = fitted.predict_scales(new), stretched.predict_scales(np.exp(3.0 * new))
    assert np.corrcoef(told[1], again[1])[0, 1] > 0.98


def test_ranks_are_scipys_and_cuts_part_the_same_rows():
    rng = np.random.default_rng(5)
    for column in (rng.normal(size=200), rng.integers(0, 5, 200), np.full(7, 3.0)):
        column = column.astype(np.float32)
        ranked = Ranked.of(column[:, np.newaxis])
        ranks = ranked.columns[0]
        np.testing.assert_array_equal(ranked.ranks[:, 0], rankdata(column) - 0.5)
        cuts = rng.uniform(ranks.ranks[0], ranks.ranks[-1], 50)
        for cut, value in zip(cuts, ranks.values_at(cuts), strict=True):
            if len(ranks.ranks) > 1:
                np.testing.assert_array_equal(ranked.ranks[:, 0] <= cut, column <= value)
