"""Synthetic data of the figures: the mass asked for, points of a path, regions beside each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.experiments.planted import (
    draw_with_mass,
    inner_half,
    overlap,
    smallest_above,
)
from mdfa_fairness_plugin.records import Violation, WorstCasePath


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


@pytest.fixture
def found():
    path = WorstCasePath(
        delta=np.array([1.2, 1.0, 0.8, 0.3]),
        mass=np.array([0.01, 0.06, 0.1, 0.4]),
        n_rows=np.array([10, 50, 100, 400]),
        threshold=np.array([4.0, 3.0, 2.0, 1.0]),
    )
    return Violation(
        sensitive_feature="s", group=1, reference=None, outcome=1, n_rows=110, path=path
    )


def test_points_of_a_path(found):
    assert inner_half(found) == 1.0
    assert smallest_above(found, 0.05) == 1.0
    assert smallest_above(found, 0.06) == 0.8
    assert math.isnan(smallest_above(found, 0.5))


def test_paths_without_steps_have_no_points():
    empty = Violation(sensitive_feature="s", group=1, reference=None, outcome=1)
    assert math.isnan(inner_half(empty))
    assert math.isnan(smallest_above(empty, 0.05))
