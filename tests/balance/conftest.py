"""Data with known weights, shared by the balance tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit


@pytest.fixture(scope="session")
def cells():
    """Three cells with 30/60, 60/60 and 90/30 rows: the exact weights are 2, 1 and 1/3."""
    group, reference = np.array([30, 60, 90]), np.array([60, 60, 30])
    cell = np.concatenate([np.repeat(np.arange(3), group), np.repeat(np.arange(3), reference)])
    s = np.repeat([1, -1], [group.sum(), reference.sum()])
    weights = np.where(s > 0, (reference / group)[cell], 1.0)
    return np.eye(3)[cell], s, weights


@pytest.fixture(scope="session")
def quadratic():
    """Imbalance of the paper's Section 4.1 with mu = 0.3: X, s and the true propensity."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3_000, 2))
    propensity = expit(0.3 * (X[:, 0] + X[:, 1]) ** 2)
    s = np.where(rng.random(3_000) < propensity, 1, -1)
    return X, s, propensity
