"""What was not recorded: bounds against every filling tried, E-values worked by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.sensitivity import e_value, missing_bounds


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_the_extremes_over_all_fillings(seed):
    """2^8 fillings of eight unknown values, with weights that depend on the side."""
    rng = np.random.default_rng(seed)
    n, m = 30, 8
    positive, s, weights = rng.random(n) < 0.5, rng.choice([-1, 1], n), rng.uniform(0.2, 2, n)
    unknown = rng.random(m) < 0.5
    group, reference = rng.uniform(0.2, 2, (2, m))
    deltas = []
    for filling in itertools.product([-1, 1], repeat=m):
        sides = np.array(filling)
        rates = measure(
            np.append(positive, unknown),
            np.append(s, sides),
            np.append(weights, np.where(sides > 0, group, reference)),
        )
        deltas.append(rates.delta)
    low, high = missing_bounds(measure(positive, s, weights), unknown, group, reference)
    assert (low, high) == pytest.approx((min(deltas), max(deltas)))
    assert low <= measure(positive, s, weights).delta <= high


def test_bounds_may_be_infinite():
    """Nobody else is known to have the outcome, and the one unknown row with it may be anybody."""
    s = np.array([1, 1, -1, -1])
    rates = measure(np.array([True, False, False, False]), s, np.ones(4))
    one = np.ones(1)
    low, high = missing_bounds(rates, np.array([True]), one, one)
    assert (low, high) == pytest.approx((math.log(0.5 / (1 / 3)), math.inf))


@pytest.mark.parametrize(
    ("ratio", "strength"),
    [
        (1.0, 1.0),
        (0.4, 1.0),
        (3.9, 3.9 + math.sqrt(3.9 * 2.9)),
        (math.inf, math.inf),
    ],
)
def test_e_values(ratio, strength):
    """3.9 gives the 7.26 of VanderWeele and Ding's example."""
    assert e_value(ratio) == pytest.approx(strength)
    assert ratio != 3.9 or e_value(ratio) == pytest.approx(7.26, abs=0.005)


@pytest.mark.parametrize(("weakened", "explains"), [(1.0, True), (0.95, False)])
def test_a_hidden_feature_of_that_strength_explains_the_ratio_and_no_weaker_one(weakened, explains):
    """Treated alike given the hidden feature, which all of the group and 1 in g others have."""
    g = h = weakened * e_value(1.8)
    risk = 0.01
    group = risk * h
    others = risk * (h / g + (1 - 1 / g))
    assert (group / others >= 1.8 - 1e-9) == explains


def test_unknown_ratio_unknown_strength():
    assert math.isnan(e_value(math.nan))
