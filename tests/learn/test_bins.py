"""Bins that boostings share, against those that scikit-learn finds for each."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from mdfa_fairness_plugin.learn import bins
from mdfa_fairness_plugin.learn.bins import BinnedClassifier, BinnedFeatures, BinnedRegressor

HOW = {"max_iter": 3, "max_bins": 20, "early_stopping": False}


@pytest.fixture
def drawn():
    X = np.random.default_rng(0).normal(size=(400, 4))
    X[:, 2] = np.round(X[:, 2])
    return X, X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] > 0


def test_bins_of_the_same_rows_give_the_same_predictions(drawn):
    """Found at once, or of some features beside those of others; of a number, too."""
    X, y = drawn
    every = np.ones(400, dtype=bool)
    own = HistGradientBoostingClassifier(**HOW, random_state=0).fit(X, y).predict_proba(X)
    at_once = BinnedFeatures.of(X, every, 20)
    beside = BinnedFeatures.of(X[:, :3], every, 20).beside(X[:, 3:])
    for found in (at_once, beside, beside.beside(X[:, :0]), None):
        # Features in bins are not looked at.
        told = BinnedClassifier(**HOW, random_state=0).fit_binned(X[:0] if found else X, found, y=y)
        np.testing.assert_array_equal(told.predict_proba(X), own)
        again = pickle.loads(pickle.dumps(told))
        np.testing.assert_array_equal(again.predict_proba(X), own)
    number, plain = BinnedRegressor(**HOW), BinnedRegressor(**HOW).fit(X, X[:, 0])
    found = number.fit_binned(X, at_once, y=X[:, 0]).predict(X)
    np.testing.assert_array_equal(found, plain.predict(X))


def test_some_rows_by_the_bins_of_all(drawn):
    """No cut falls between other values than the bins of all rows are cut at."""
    X, y = drawn
    some = np.arange(0, 400, 3)
    shared = BinnedFeatures.of(X, np.ones(400, dtype=bool), 20)
    assert shared.at(some).codes.flags.f_contiguous
    model = BinnedClassifier(**HOW, min_samples_leaf=5).fit_binned(
        X[some], shared.at(some), y=y[some]
    )
    for [tree] in model._predictors:
        inner = tree.nodes[~tree.nodes["is_leaf"].astype(bool)]
        assert len(inner)
        for node in inner:
            assert node["num_threshold"] in shared.mapper.bin_thresholds_[node["feature_idx"]]


def test_rows_without_weight_make_no_bins(drawn):
    X, _ = drawn
    known = np.arange(400) % 2 == 0
    wild = np.where(known[:, np.newaxis], X, 1e6)
    one, two = (BinnedFeatures.of(own, known, 20).mapper.bin_thresholds_ for own in (X, wild))
    for own, other in zip(one, two, strict=True):
        np.testing.assert_array_equal(own, other)


def test_another_scikit_learn_finds_bins_for_each(drawn, monkeypatch):
    X, y = drawn
    monkeypatch.setattr(bins, "_BinMapper", None)
    found = BinnedFeatures.of(X, np.ones(400, dtype=bool), 20)
    assert found is None
    told = BinnedClassifier(**HOW).fit_binned(X, found, y=y).predict_proba(X)
    np.testing.assert_array_equal(told, BinnedClassifier(**HOW).fit(X, y).predict_proba(X))
