"""Squares and products of the features."""

import numpy as np
import pytest

from mdfa_fairness_plugin.basis import QuadraticBasis


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
