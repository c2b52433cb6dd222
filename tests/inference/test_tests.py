"""Tests of a leak against sums worked by hand, known adjustments and their calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from mdfa_fairness_plugin.inference.tests import (
    detectable_delta,
    holm,
    leak_statistic,
    one_sided_p_value,
)


def everywhere(n):
    return np.ones(n, dtype=bool)


def test_statistic_worked_by_hand():
    """Four rows, nuisances 1/2: residual products 1/4, 1/4, -1/4, 1/4 sum to 1/2 over 1/2."""
    positive = np.array([True, False, True, True])
    s = np.array([1, -1, -1, 1])
    half = np.full(4, 0.5)
    z = leak_statistic(positive, s, half, half, np.ones(4), everywhere(4))
    assert z == pytest.approx(0.5 / 0.5, abs=1e-12)
    # Without the third row all agree: 3/4 over sqrt(3)/4.
    z = leak_statistic(positive, s, half, half, np.ones(4), np.array([1, 1, 0, 1], bool))
    assert z == pytest.approx(math.sqrt(3), abs=1e-12)


def test_no_rows_no_statistic():
    z = leak_statistic(
        np.ones(3, bool), np.ones(3), *([np.full(3, 0.5)] * 2), np.ones(3), ~everywhere(3)
    )
    assert math.isnan(z)
    assert math.isnan(one_sided_p_value(z, 1.0))


@pytest.mark.parametrize("seed", range(3))
def test_exchanging_sides_or_outcomes_turns_the_sign(seed):
    rng = np.random.default_rng(seed)
    positive, s = rng.random(50) < 0.5, rng.choice([-1, 1], 50)
    e, m = rng.uniform(0.2, 0.8, (2, 50))
    base, member = rng.uniform(0.5, 2.0, 50), rng.random(50) < 0.7
    z = leak_statistic(positive, s, e, m, base, member)
    assert leak_statistic(positive, -s, 1 - e, m, base, member) == pytest.approx(-z)
    assert leak_statistic(~positive, s, e, 1 - m, base, member) == pytest.approx(-z)
    assert leak_statistic(~positive, -s, 1 - e, 1 - m, base, member) == pytest.approx(z)
    assert leak_statistic(positive, s, e, m, 5 * base, member) == pytest.approx(z)


def test_statistic_is_standard_normal_without_a_leak():
    """3,000 draws with true nuisances, features that move both: mean 0, spread 1."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    e, m = expit(x), expit(0.5 - x)
    z = np.array(
        [
            leak_statistic(
                rng.random(200) < m,
                np.where(rng.random(200) < e, 1, -1),
                e,
                m,
                np.ones(200),
                everywhere(200),
            )
            for _ in range(3000)
        ]
    )
    assert z.mean() == pytest.approx(0.0, abs=0.06)
    assert z.std() == pytest.approx(1.0, abs=0.05)
    assert np.mean([one_sided_p_value(value, 1.0) < 0.05 for value in z]) == pytest.approx(
        0.05, abs=0.015
    )


def test_one_sided_p_values():
    assert one_sided_p_value(0.0, 1.3) == pytest.approx(0.5)
    assert one_sided_p_value(norm.isf(0.05), 1.0) == pytest.approx(0.05)
    assert one_sided_p_value(1.25 * norm.isf(0.01), 1.25) == pytest.approx(0.01)
    assert one_sided_p_value(-3.0, 1.0) > 0.99


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.04, 0.01, 0.03, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.02, 0.02], [0.04, 0.04]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.03], [0.03]),
        ([np.nan, 0.03, np.nan, 0.001], [np.nan, 0.03, np.nan, 0.002]),
        ([np.nan], [np.nan]),
        ([], []),
    ],
)
def test_holms_adjustment_worked_by_hand(given, expected):
    np.testing.assert_allclose(holm(np.array(given)), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values_keep_the_order_and_are_never_smaller(seed):
    p = np.random.default_rng(seed).random(9) ** 3
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    assert (adjusted <= np.minimum(1, 9 * p) + 1e-12).all()


def test_holm_keeps_the_family_wise_error():
    """Four independent tests of true nulls, 20,000 families: at most 5 % have a rejection."""
    p = np.random.default_rng(3).random((4000, 4))
    share = np.mean([(holm(row) < 0.05).any() for row in p])
    assert share == pytest.approx(0.05, abs=0.012)


# -- what could have been found

PLAN = {"alpha": 0.1, "rate": 0.3, "sizes": (500.0, 500.0), "level": 0.05 / 4, "spread": 1.0}


def test_more_rows_more_mass_and_laxer_levels_detect_less():
    usual = detectable_delta(**PLAN)
    assert 0 < usual < math.inf
    assert detectable_delta(**PLAN | {"sizes": (5000.0, 5000.0)}) < usual
    assert detectable_delta(**PLAN | {"alpha": 0.2}) < usual
    assert detectable_delta(**PLAN | {"level": 0.05}) < usual
    assert detectable_delta(**PLAN | {"spread": 1.25}) > usual
    assert detectable_delta(**PLAN, power=0.95) > usual


@pytest.mark.parametrize(
    "change", [{"rate": 0.0}, {"sizes": (0.0, 10.0)}, {"sizes": (2.0, 2.0), "alpha": 0.001}]
)
def test_hopeless_audits_detect_nothing(change):
    assert detectable_delta(**PLAN | change) == math.inf


def test_detectable_delta_is_found_four_times_in_five():
    """Simulated: the region known, its delta the detectable one, a one-sided test of log rates."""
    plan = PLAN | {"sizes": (4000.0, 4000.0), "level": 0.05}
    delta = detectable_delta(**plan)
    p1 = 2 * plan["rate"] * expit(delta)
    p0 = p1 * math.exp(-delta)
    n = round(plan["alpha"] / plan["rate"] * 4000)
    rng = np.random.default_rng(4)
    group, others = rng.binomial(n, p1, 20_000) / n, rng.binomial(n, p0, 20_000) / n
    error = np.sqrt((1 - group) / (n * group) + (1 - others) / (n * others))
    z = np.log(group / others) / error
    assert np.mean(z > norm.isf(0.05)) == pytest.approx(0.8, abs=0.04)
