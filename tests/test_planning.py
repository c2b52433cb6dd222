"""How many rows are needed: inverses, the paper's theorem, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.estimates import certificate_strength
from mdfa_fairness_plugin.measure.means import MeanDifference
from mdfa_fairness_plugin.measure.power import Plan


@pytest.mark.parametrize(
    "case",
    [
        {"rate": 0.3},
        {"rate": 0.3, "mass": 0.1, "power": 0.95},
        {"rate": 0.05, "group_share": 0.2},
        {"rate": 0.6, "mass": 0.02, "n_searches": 12},
    ],
)
@pytest.mark.parametrize("ratio", [1.2, 2.0, 5.0])
def test_rows_and_ratios_are_inverse_to_each_other(ratio, case):
    """The rows needed find the ratio, one row fewer does not."""
    n = mdfa.rows_needed(ratio, **case)
    assert mdfa.detectable_ratio(n, **case) <= ratio * (1 + 1e-6)
    assert mdfa.detectable_ratio(n - 1, **case) > ratio * (1 - 1e-6)


@pytest.mark.parametrize("case", [{}, {"mass": 0.2, "group_share": 0.3, "power": 0.9}])
def test_rows_and_sizes_of_numbers_are_inverse_to_each_other(case):
    n = mdfa.rows_needed(difference=4.0, sd=8.0, **case)
    assert mdfa.detectable_difference(n, sd=8.0, **case) <= 4.0 * (1 + 1e-6)
    assert mdfa.detectable_difference(n - 1, sd=8.0, **case) > 4.0 * (1 - 1e-6)
    assert mdfa.rows_needed(difference=4_000.0, sd=8_000.0, **case) == n  # units are no matter
    # Whoever has a small spread around a large mean is told by a small ratio.
    n = mdfa.rows_needed(1.2, mean=20.0, sd=8.0, **case)
    assert mdfa.detectable_ratio(n, mean=20.0, sd=8.0, **case) == pytest.approx(1.2, rel=1e-3)
    # A ratio of 1.2 around a mean of 20 is a difference of 20 (1.2 - 1) / 1.1.
    assert n == pytest.approx(mdfa.rows_needed(difference=40 / 11, sd=8.0, **case), rel=0.02)
    plan = Plan(
        sizes=(600.0, 1400.0), rate=0.0, noise=1.0, mass=0.05, level=0.05 / 3, least=0.05,
        kind=MeanDifference,
    )  # fmt: skip
    found = mdfa.detectable_difference(2000, sd=3.0, group_share=0.3)
    assert found == pytest.approx(3.0 * plan.detectable())
    assert mdfa.rows_needed(difference=0.04, sd=1.0) == math.inf


def test_audits_and_plans_have_one_formula():
    """Two groups alike, three hypotheses, features that tell nothing; a mass of a tenth of the rate."""
    plan = Plan(sizes=(600.0, 1400.0), rate=0.3, mass=0.03, level=0.05 / 3)
    ratio = mdfa.detectable_ratio(2000, rate=0.3, group_share=0.3)
    assert ratio == pytest.approx(math.exp(plan.detectable()))


def test_what_no_number_of_rows_finds():
    assert mdfa.rows_needed(1.04, rate=0.3) == math.inf
    assert mdfa.detectable_ratio(20, rate=0.3) == math.inf


def test_rows_of_the_theorem_worked_by_hand():
    """Three times as often in a mass of .05: gamma .0125; 60 regions, four times in five."""
    assert mdfa.rows_by_theorem(3.0, mass=0.05, n_regions=60) == math.ceil(
        math.log(2 * 60 / 0.2) / (8 * 0.0125**2)
    )
    fewer = mdfa.rows_by_theorem(3.0, mass=0.1, n_regions=60)
    assert fewer == pytest.approx(mdfa.rows_by_theorem(3.0, mass=0.05, n_regions=60) / 4, abs=1)


def test_rows_of_the_theorem_find_an_unfair_region():
    """Drawn: eight regions of an eighth, one unfair; the best predictor of ``S Y`` is unfair.

    Rates .6 and .2 there (a mass of .05), .4 elsewhere, where no region is unfair.
    """
    n = int(mdfa.rows_by_theorem(3.0, mass=0.05, n_regions=8))
    assert certificate_strength(0.05, math.log(3)) == pytest.approx(0.0125)
    rng = np.random.default_rng(0)
    right = 0
    for _ in range(200):
        cell, s = rng.integers(0, 8, n), rng.integers(0, 2, n)
        y = rng.random(n) < np.where(cell == 0, np.where(s == 1, 0.6, 0.2), 0.4)
        # Regions say 1 in a cell and -1 elsewhere.
        agree = np.where((s == 1) == y, 1, -1)
        right += np.argmax(np.bincount(cell, agree, 8)) == 0
    assert right / 200 >= 0.8


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: mdfa.rows_needed(1.0, rate=0.3), "ratio: a finite number above 1"),
        (lambda: mdfa.rows_needed(math.inf, rate=0.3), "ratio"),
        (lambda: mdfa.rows_needed(2.0, rate=1.3), "rate"),
        (lambda: mdfa.rows_needed(2.0, rate=0.3, mass=0.4), "mass: at most the rate, 0.3"),
        (lambda: mdfa.rows_needed(2.0, rate=0.3, power=1.0), "power"),
        (lambda: mdfa.rows_needed(2.0, rate=0.3, group_share=0.0), "group_share"),
        (lambda: mdfa.detectable_ratio(0, rate=0.3), "n: a whole number"),
        (lambda: mdfa.detectable_ratio(100, rate=0.3, n_searches=0), "n_searches"),
        (lambda: mdfa.rows_by_theorem(2.0, mass=0.1, n_regions=0), "n_regions"),
        (lambda: mdfa.rows_needed(2.0, difference=3.0), "ratio: either"),
        (lambda: mdfa.rows_needed(difference=3.0), "sd: the standard deviation"),
        (lambda: mdfa.rows_needed(difference=-3.0, sd=1.0), "difference: a finite number above 0"),
        (lambda: mdfa.rows_needed(2.0, sd=1.0), "mean: a ratio of means needs"),
        (lambda: mdfa.rows_needed(2.0, rate=0.3, sd=1.0), "rate: numbers have none"),
    ],
)
def test_what_is_no_plan_is_refused(call, named):
    with pytest.raises(InputError, match=named):
        call()
