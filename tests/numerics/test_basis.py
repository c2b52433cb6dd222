"""Squares and products of the features."""

import numpy as np
import pytest

from mdfa_fairness_plugin.numerics.basis import Moments, QuadraticBasis, Standardiser, chunks
from mdfa_fairness_plugin.numerics.rows import RowView


def test_columns_of_a_small_example():
    """Two numeric columns and a 0/1 one: 3 + 2 squares + 3 products."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(0, 2, 50)])
    B = QuadraticBasis.fit(X)(X)
    assert B.shape == (50, 8)
    assert B.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-12)
    assert B.std(axis=0) == pytest.approx(np.ones(8), abs=1e-12)


def test_constant_columns_are_left_out():
    X = np.column_stack([np.ones(20), np.arange(20.0)])
    assert QuadraticBasis.fit(X)(X).shape[1] == 2


def test_many_columns_get_no_products():
    X = np.random.default_rng(0).integers(0, 2, size=(100, 40)).astype(float)
    assert QuadraticBasis.fit(X)(X).shape[1] == 40


def test_new_rows_are_measured_by_the_rows_fitted_to():
    X = np.random.default_rng(0).normal(size=(60, 2))
    basis = QuadraticBasis.fit(X)
    assert basis(X[:5]) == pytest.approx(basis(X)[:5], abs=1e-12)


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_moments_do_not_depend_on_the_blocks_and_survive_a_large_mean(size):
    rng = np.random.default_rng(0)
    offset = np.array([1e8, 0.0])
    X, weight = rng.normal(size=(1_000, 2)) + offset, rng.random(1_000)
    weight[:10] = 0.0
    halves = Moments(2), Moments(2)
    for start in range(0, 1_000, size):
        rows = slice(start, start + size)
        halves[start >= 500].add(X[rows], weight[rows])
    both = halves[0] + halves[1]
    mean = np.average(X - offset, axis=0, weights=weight) + offset
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    assert both.total == pytest.approx(weight.sum())
    assert both.mean == pytest.approx(mean, rel=1e-15, abs=1e-12)
    assert both.spread == pytest.approx(spread, rel=1e-7)
    assert not both.constant.any()


def test_standardising_a_view_of_rows():
    X = np.random.default_rng(0).normal(size=(5_000, 3))
    rows = np.arange(0, 5_000, 2)
    weight = np.arange(2_500.0)
    chosen = Standardiser.of(Moments.of(RowView(X, rows), weight))
    copied = Standardiser.fit(X[rows], weight)
    assert chosen.centre == pytest.approx(copied.centre, abs=1e-14)
    assert chosen.scale == pytest.approx(copied.scale, rel=1e-13)


@pytest.mark.parametrize("shape", [(0, 3), (1, 0), (255, 1), (10_000, 7), (10_000, 5_000)])
def test_chunks_cover_every_row_once(shape):
    rows = np.concatenate(
        [np.arange(own.start, own.stop) for own in [slice(0, 0), *chunks(*shape)]]
    )
    assert rows.tolist() == list(range(shape[0]))
