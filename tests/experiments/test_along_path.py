"""Points of a worst-case path."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.experiments.along_path import inner_half, smallest_above
from mdfa_fairness_plugin.records import Violation, WorstCasePath


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
