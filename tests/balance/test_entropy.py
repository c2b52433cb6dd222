"""Entropy balancing, against weights known exactly."""

import tracemalloc

import numpy as np
import pytest

from mdfa_fairness_plugin.balance import EntropyBalancing
from mdfa_fairness_plugin.balance.mmd import FourierFeatures, diagnose_mmd, median_bandwidth
from mdfa_fairness_plugin.numerics.basis import QuadraticBasis


def test_exact_weights_of_discrete_features(cells):
    X, s, weights = cells
    found = EntropyBalancing(ridge=1e-6, random_state=0).fit(X, s)
    assert found.converged_
    assert found.weights(X, s) == pytest.approx(weights * 150 / 150, rel=1e-3)


def test_solves_its_problem_in_the_features_documented(quadratic):
    """At the solution what is left between the means is the ridge times the coefficients.

    Squares and products of the features, and waves of kernels half, once and twice as wide as the
    median distance; weights are the exponential of their sum. Ridge: 100 over the smaller group.
    """
    X, s, _ = quadratic
    X, s = X[:600], s[:600]
    group = s > 0
    fitted = EntropyBalancing(random_state=3).fit(X, s)
    basis = QuadraticBasis.fit(X, np.ones(600))
    Z = basis.standardise(X)
    wide = median_bandwidth(Z, np.ones(600))
    waves = FourierFeatures.draw(2, 64, [wide / 2, wide, 2 * wide], 3)(Z)
    F = np.hstack([basis(X), 8 * waves])
    odds = np.exp(F[group] @ fitted.coef_)
    weights = fitted.weights(X, s)[group]
    assert weights / weights.sum() == pytest.approx(odds / odds.sum())
    left = odds @ F[group] / odds.sum() - F[~group].mean(axis=0)
    ridge = 100 / min(group.sum(), (~group).sum())
    assert left == pytest.approx(-ridge * fitted.coef_, abs=1e-4)


def test_default_ridge_shrinks_only_a_little(cells):
    X, s, weights = cells
    X, s, weights = np.repeat(X, 10, axis=0), np.repeat(s, 10), np.repeat(weights, 10)
    found = EntropyBalancing(random_state=0).fit(X, s).weights(X, s)
    assert found == pytest.approx(weights, rel=0.02)


def test_comes_close_to_the_true_odds(quadratic):
    X, s, e = quadratic
    w = EntropyBalancing(random_state=0).fit(X, s).weights(X, s)
    group = s > 0
    assert np.corrcoef(w[group], ((1 - e) / e)[group])[0, 1] > 0.9
    before, after = diagnose_mmd(X, s, [np.ones(len(s)), w])[0]
    assert after < before / 10
    assert w[group].sum() == pytest.approx((~group).sum())
    assert (w[~group] == 1).all()


def test_integer_weights_act_like_repeated_rows(quadratic):
    X, s, _ = quadratic
    X, s = X[:500], s[:500]
    copies = np.random.default_rng(1).integers(1, 4, size=500)
    weighted = EntropyBalancing(random_state=0).fit(X, s, copies).weights(X, s)
    Xr, sr = np.repeat(X, copies, axis=0), np.repeat(s, copies)
    repeated = EntropyBalancing(random_state=0).fit(Xr, sr).weights(Xr, sr)
    assert np.repeat(weighted, copies) == pytest.approx(repeated, rel=1e-3)


def test_units_and_order_do_not_matter(quadratic):
    X, s, _ = quadratic
    X, s = X[:500], s[:500]
    w = EntropyBalancing(random_state=0).fit(X, s).weights(X, s)
    moved = X * [1e3, 1e-2] + 7.0
    assert EntropyBalancing(random_state=0).fit(moved, s).weights(moved, s) == pytest.approx(
        w, rel=1e-3
    )
    order = np.random.default_rng(0).permutation(500)
    shuffled = EntropyBalancing(random_state=0).fit(X[order], s[order])
    assert shuffled.weights(X, s) == pytest.approx(w, rel=1e-3)


def test_weighs_rows_it_has_not_seen(quadratic):
    X, s, e = quadratic
    fitted = EntropyBalancing(random_state=0).fit(X[:2_000], s[:2_000])
    new = fitted.weights(X[2_000:], np.ones(1_000))
    odds = ((1 - e) / e)[2_000:]
    assert np.corrcoef(new, odds)[0, 1] > 0.85


def test_finite_where_no_weights_can_balance():
    s = np.repeat([1, -1], 100)
    X = np.column_stack([s, np.random.default_rng(0).normal(size=200)]).astype(float)
    w = EntropyBalancing(random_state=0).fit(X, s).weights(X, s)
    assert np.isfinite(w).all()
    assert (w >= 0).all()


def test_memory_is_linear_in_rows():
    """A 20,000 x 20,000 matrix would take 3 GB."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(20_000, 3)), rng.choice([-1, 1], 20_000)
    tracemalloc.start()
    EntropyBalancing(random_state=0).fit(X, s)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6
