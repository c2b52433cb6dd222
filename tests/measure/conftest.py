"""Rows drawn for more than one module."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def predicted_rows():
    """Draw outcomes, sides, weights, and each row's probability of the outcome."""

    def draw(seed, n=400):
        rng = np.random.default_rng(seed)
        s, weights = rng.choice([-1, 1], n), rng.uniform(0.3, 2.0, n)
        outcome = rng.uniform(0.1, 0.9, n)
        return rng.random(n) < outcome, s, weights, outcome

    return draw
