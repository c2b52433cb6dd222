"""The forest read at several leaf sizes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from mdfa_fairness_plugin.learn.forest import MultiscaleForest


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
