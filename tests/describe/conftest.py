"""Frames to describe."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


def make_counts(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "priors": rng.poisson(1.5, n).astype(float),
            "owed": rng.choice([0.0, 12.5, 30.25, 99.0], n),
            "year": rng.integers(1998, 2003, n).astype(float),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 3, n), unit="D"),
        }
    )


@pytest.fixture
def counts():
    """Make a frame of whole numbers, amounts, years and days."""
    return make_counts
