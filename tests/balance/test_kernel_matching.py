"""Kernel mean matching, against the quadratic programme solved outright."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from mdfa_fairness_plugin.balance import KernelMeanMatching
from mdfa_fairness_plugin.balance.mmd import diagnose_mmd, gaussian_gram, median_bandwidth
from mdfa_fairness_plugin.numerics.basis import Standardiser


def test_exact_weights_of_discrete_features(cells):
    X, s, weights = cells
    found = KernelMeanMatching(ridge=1e-6).fit(X, s)
    assert found.weights(X, s) == pytest.approx(weights, rel=1e-2)


@pytest.mark.parametrize("bound", [1.5, 10.0])
def test_solves_the_quadratic_programme(bound, quadratic):
    """Bounded least squares on the whole kernel matrix gives the same weights."""
    X, s, _ = quadratic
    X, s = X[:80], s[:80]
    positive = s > 0
    ridge = 0.02
    fitted = KernelMeanMatching(max_weight=bound, ridge=ridge).fit(X, s)
    found = fitted.weights(X, s)[positive]

    Z = Standardiser.fit(X)(X)
    sigma = median_bandwidth(Z)
    gram = 1.0 + gaussian_gram(Z, Z, [sigma / 2, sigma, 2 * sigma])
    values, vectors = np.linalg.eigh(gram)
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    n = positive.sum()
    matching = F[positive].T / n
    shrinking = np.sqrt(ridge / n) * np.eye(n)
    solution = lsq_linear(
        np.vstack([matching, shrinking]),
        np.concatenate([F[~positive].mean(axis=0), np.full(n, np.sqrt(ridge / n))]),
        bounds=(0.0, bound),
        tol=1e-12,
    ).x
    assert found / found.mean() == pytest.approx(solution / solution.mean(), abs=2e-3)


def test_comes_close_to_the_true_odds(quadratic):
    X, s, e = quadratic
    w = KernelMeanMatching().fit(X, s).weights(X, s)
    group = s > 0
    assert np.corrcoef(w[group], ((1 - e) / e)[group])[0, 1] > 0.9
    before, after = diagnose_mmd(X, s, [np.ones(len(s)), w])[0]
    assert after < before / 10
    assert w[group].sum() == pytest.approx((~group).sum())


def test_weights_are_bounded():
    """An odds ratio of 100 in one corner of the data."""
    rng = np.random.default_rng(0)
    corner = rng.random(2_000) < 0.2
    s = np.where(rng.random(2_000) < np.where(corner, 0.01, 0.6), 1, -1)
    w = KernelMeanMatching(max_weight=5.0).fit(corner[:, None].astype(float), s)
    found = w.weights(corner[:, None].astype(float), s)[s > 0]
    assert found.min() >= 0
    assert found.max() / found.mean() <= 5.0 * 1.2  # the average is near one, not exactly one


def test_units_of_the_features_do_not_matter(quadratic):
    X, s, _ = quadratic
    X, s = X[:500], s[:500]
    w = KernelMeanMatching().fit(X, s).weights(X, s)
    moved = X * [1e3, 1e-2] + 7.0
    assert KernelMeanMatching().fit(moved, s).weights(moved, s) == pytest.approx(w, abs=1e-3)


def test_integer_weights_act_like_repeated_rows(quadratic):
    X, s, _ = quadratic
    X, s = X[:300], s[:300]
    copies = np.random.default_rng(1).integers(1, 4, size=300)
    weighted = KernelMeanMatching().fit(X, s, copies).weights(X, s)
    Xr, sr = np.repeat(X, copies, axis=0), np.repeat(s, copies)
    repeated = KernelMeanMatching().fit(Xr, sr).weights(Xr, sr)
    assert np.repeat(weighted, copies) == pytest.approx(repeated, abs=5e-3)


def test_memory_is_linear_in_rows():
    """A 20,000 x 20,000 matrix would take 3 GB."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(20_000, 3)), rng.choice([-1, 1], 20_000)
    tracemalloc.start()
    KernelMeanMatching(n_landmarks=50, max_iter=20).fit(X, s).weights(X, s)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
