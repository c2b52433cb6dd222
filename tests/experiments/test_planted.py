"""Synthetic data of the figures: the mass asked for, and regions held against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.experiments.planted import draw_with_mass, overlap


def test_the_half_disc_gets_its_mass():
    """Mass 0.1 at delta = ln 3: 15 % of the rows, of whom (1 + 1/3) / 2 get the outcome."""
    sample = draw_with_mass(4000, math.log(3.0), 0.0, 0.1, seed=1)
    assert sample["region"].mean() == pytest.approx(0.15, abs=1e-3)
    inside = sample["region"]
    rates = [sample["positive"][inside & (sample["s"] == side)].mean() for side in (1, -1)]
    assert rates[0] == 1.0
    assert rates[1] == pytest.approx(1 / 3, abs=0.08)
    assert len(sample["X"]) == 4000


def test_overlap_is_the_share_of_rows_that_both_hold():
    one, other = np.array([True, True, False, False]), np.array([False, True, True, False])
    assert overlap(one, other) == pytest.approx(1 / 3)
    assert overlap(one, one) == 1.0
