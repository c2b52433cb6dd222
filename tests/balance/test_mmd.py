"""Weighted maximum mean discrepancy, against kernels worked out by hand."""

import math
import tracemalloc

import numpy as np
import pytest

from mdfa_fairness_plugin.balance import mmd
from mdfa_fairness_plugin.balance.mmd import (
    MOST_GRAM_ROWS,
    FourierFeatures,
    SignedShares,
    diagnose_mmd,
    gaussian_gram,
    median_bandwidth,
)
from mdfa_fairness_plugin.numerics.basis import StandardisedRows, Standardiser
from mdfa_fairness_plugin.numerics.rows import RowView


def mmd_of(X, s, weights=None):
    """MMD of one weighting."""
    return diagnose_mmd(X, s, [np.ones(len(s)) if weights is None else weights])[0][0]


def test_two_rows_worked_by_hand():
    """Standardised to -1 and +1, a bandwidth of 2: squared MMD is 2 - 2 exp(-4 / 8)."""
    found = mmd_of(np.array([[3.0], [7.0]]), np.array([1, -1]))
    assert found == pytest.approx(math.sqrt(2 - 2 * math.exp(-0.5)), abs=1e-12)


def test_equal_distributions_have_none(cells):
    X, s, weights = cells
    assert mmd_of(X, s) > 0.1
    assert mmd_of(X, s, weights) == pytest.approx(0.0, abs=1e-7)


def test_several_weightings_equal_one_by_one(quadratic):
    X, s, e = quadratic
    weightings = np.stack([np.ones(len(s)), np.where(s > 0, (1 - e) / e, 1.0)])
    together = diagnose_mmd(X, s, weightings)[0]
    assert together == pytest.approx([mmd_of(X, s, weights) for weights in weightings], abs=1e-7)


@pytest.mark.parametrize("many", [100_000, 2_500])
def test_random_features_agree_with_the_kernel(many, quadratic, monkeypatch):
    """With independent frequencies, and with the orthogonal ones of very many rows."""
    monkeypatch.setattr(mmd, "_MANY_ROWS", many)
    X, s, _ = quadratic
    assert len(s) > MOST_GRAM_ROWS
    Z = Standardiser.fit(X)(X)
    signed = SignedShares(s, [np.ones(len(s))])[:][0]
    exact = math.sqrt(signed @ gaussian_gram(Z, Z, median_bandwidth(Z)) @ signed)
    assert mmd_of(X, s) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("n_columns", [3, 50])
def test_orthogonal_frequencies_approximate_the_kernel_at_least_as_well(n_columns):
    """Of a mixture of two kernels, and with more columns than frequencies too."""
    Z = np.random.default_rng(0).normal(size=(100, n_columns))
    bandwidths = np.sqrt(n_columns) * np.array([0.7, 1.4])
    exact = gaussian_gram(Z, Z, bandwidths)
    errors = {False: [], True: []}
    for seed in range(20):
        for orthogonal in errors:
            kernel = FourierFeatures.draw(n_columns, 40, bandwidths, seed, orthogonal=orthogonal)
            assert kernel.frequencies.shape == (n_columns, 40)
            errors[orthogonal].append(kernel(Z) @ kernel(Z).T - exact)
    independent, orthogonal = (np.sqrt(np.mean(np.square(errors[one]))) for one in errors)
    assert orthogonal < 1.1 * independent
    assert abs(np.mean(errors[True])) < 0.02


def test_no_square_matrix_beyond_the_stated_size_and_no_copy_of_the_features():
    """A 40,000 x 40,000 matrix would take 13 GB; the features themselves take 32 MB."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(40_000, 100)), rng.choice([-1, 1], 40_000)
    tracemalloc.start()
    mmd_of(X, s)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * X.nbytes


@pytest.mark.parametrize("n", [1_500, 5_000])
def test_a_view_of_rows_equals_a_copy_of_them(n):
    rng = np.random.default_rng(0)
    X, s, weight = rng.normal(size=(n, 3)), rng.choice([-1, 1], n), rng.random(n) + 0.5
    rows = np.flatnonzero(rng.random(n) < 0.9)
    s, weight = s[rows], weight[rows]
    weightings = [weight, weight * rng.random(len(rows))]
    there = diagnose_mmd(RowView(X, rows), s, weightings, base_weight=weight)
    copied = diagnose_mmd(X[rows], s, np.stack(weightings), base_weight=weight)
    assert (there[0] == copied[0]).all()
    assert there[1] == copied[1]


def test_bandwidth_of_rows_standardised_on_the_way():
    X = np.random.default_rng(0).normal(size=(5_000, 3)) * [1.0, 1e3, 1e-3] + 7.0
    standardise = Standardiser.fit(X)
    rows = StandardisedRows(X, standardise)
    assert median_bandwidth(rows) == median_bandwidth(standardise(X))


@pytest.mark.parametrize("n", [300, 3_000])
def test_units_of_the_features_do_not_matter(n, quadratic):
    X, s, _ = quadratic
    X, s = X[:n], s[:n]
    moved = mmd_of(X * [1e4, 1e-3] + [5.0, -2.0], s)
    assert moved == pytest.approx(mmd_of(X, s), rel=1e-6)


def test_integer_weights_act_like_repeated_rows(quadratic):
    X, s, _ = quadratic
    copies = np.random.default_rng(1).integers(1, 4, size=400)
    X, s = X[:400], s[:400]
    ones = np.ones(copies.sum())
    Xr, sr = np.repeat(X, copies, axis=0), np.repeat(s, copies)
    weighted = diagnose_mmd(X, s, copies[None, :].astype(float), base_weight=copies)
    repeated = diagnose_mmd(Xr, sr, ones[None, :], base_weight=ones)
    assert weighted[0] == pytest.approx(repeated[0], rel=1e-9)


def test_bandwidth_is_the_median_distance():
    """Three rows at 0, 3 and 4: distances 3, 4 and 1."""
    assert median_bandwidth(np.array([[0.0], [3.0], [4.0]])) == pytest.approx(3.0, abs=1e-12)
    assert median_bandwidth(np.zeros((5, 2))) == 1.0


def test_chance_level_is_the_average_without_any_difference():
    """Over redraws of a coin-flip s, the squared MMD averages to the squared chance level."""
    rng = np.random.default_rng(3)
    squared, chance = [], []
    for _ in range(60):
        X, s = rng.normal(size=(200, 3)), rng.choice([-1, 1], 200)
        values, by_chance = diagnose_mmd(X, s, np.ones((1, 200)))
        squared.append(values[0] ** 2)
        chance.append(by_chance**2)
    # The standard error of the mean of 60 is about 4 %.
    assert np.mean(squared) == pytest.approx(np.mean(chance), rel=0.15)


def test_standardiser_leaves_constant_columns_alone():
    X = np.column_stack([np.full(10, 1e6 + 0.1), np.arange(10.0)])
    Z = Standardiser.fit(X)(X)
    assert Z[:, 0] == pytest.approx(np.zeros(10), abs=1e-6)
    assert Z[:, 1].std() == pytest.approx(1.0)
