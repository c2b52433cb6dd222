"""P-values, their adjustment and what is detectable, against what is known of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from mdfa_fairness_plugin.measure.tests import (
    SEARCH_SPREAD,
    detectable_delta,
    holm,
    interval_spread,
    one_sided_p_value,
)


@pytest.mark.parametrize(
    ("z", "spread"),
    [
        (-4.0, SEARCH_SPREAD),
        (0.0, SEARCH_SPREAD),
        (2.5, SEARCH_SPREAD),
        (5.0, 1 + (SEARCH_SPREAD - 1) / 4),
        (math.nan, SEARCH_SPREAD),
    ],
)
def test_intervals_narrow_as_the_violation_gets_plain(z, spread):
    assert interval_spread(z) == pytest.approx(spread)


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


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"alpha": 0.4},
        {"alpha": 0.4, "sizes": (100.0, 900.0), "spread": 1.4},
        {"rate": 0.6, "sizes": (100.0, 100.0), "level": 0.05},
        {"rate": 0.6, "sizes": (60.0, 5000.0)},
        {"power": 0.5, "level": 0.01},
    ],
)
def test_detectable_delta_is_where_it_equals_what_is_needed(change):
    """Solved for: the difference is the test's quantile of its error without a violation, and the
    power's of its own.

    Rates have the overall one as their mean as long as the larger is below 1, and the share of the
    people inside is what has that mass, or everybody.
    """
    plan = PLAN | {"power": 0.8} | change

    def lacking(delta):
        p1 = min(2 * plan["rate"] * expit(delta), 1.0)
        p0 = p1 / math.exp(delta)
        inside = min(plan["alpha"] / (p1 / 2 + p0 / 2), 1.0) * np.array(plan["sizes"])
        mean, rates = (p1 + p0) / 2, np.array([p1, p0])
        without = math.sqrt(mean * (1 - mean) * (1 / inside).sum())
        error = math.sqrt((rates * (1 - rates) / inside).sum())
        critical = norm.isf(plan["level"]) * plan["spread"] * without
        return p1 - p0 - critical - norm.ppf(plan["power"]) * error

    assert detectable_delta(**plan) == pytest.approx(brentq(lacking, 1e-3, 3.0), abs=0.0036)


@pytest.mark.parametrize(("rate", "size"), [(0.3, 4000), (0.3, 300), (0.05, 4000)])
def test_detectable_delta_is_found_four_times_in_five(rate, size):
    """Simulated: the region known, its delta the detectable one, the score test of two rates.

    20,000 draws: a standard error of .003; counts are whole, which moves the power by up to .05.
    """
    plan = PLAN | {"rate": rate, "alpha": rate / 3, "sizes": (size, size), "level": 0.05}
    delta = detectable_delta(**plan)
    p1 = 2 * rate * expit(delta)
    p0 = p1 * math.exp(-delta)
    n = round(size / 3)
    rng = np.random.default_rng(4)
    group, others = rng.binomial(n, p1, 20_000) / n, rng.binomial(n, p0, 20_000) / n
    mean = (group + others) / 2
    z = (group - others) / np.sqrt(2 * mean * (1 - mean) / n)
    assert np.mean(z > norm.isf(0.05)) == pytest.approx(0.8, abs=0.06)


def test_what_a_few_people_on_one_side_show_is_detectable():
    """Twenty people with the outcome, none of them among the others: far beyond chance."""
    few = detectable_delta(alpha=0.02, rate=0.2, sizes=(500.0, 500.0), level=0.0125, spread=1.0)
    assert few < math.log(20)
