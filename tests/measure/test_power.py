"""What a search would have found, against tables worked by hand and plants drawn."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from mdfa_fairness_plugin.learn.forest import N_CELLS
from mdfa_fairness_plugin.measure.power import Plan, Searching, first, up_to_thousandfold
from mdfa_fairness_plugin.measure.tests import chosen_p_value, search_spread

PLAN = Plan(sizes=(1000.0, 1000.0), rate=0.3, mass=0.03, level=0.05 / 3)
# Everybody who has the outcome: nothing to be searched for.
WHOLE = replace(PLAN, mass=0.3, sizes=(100.0, 100.0))


@pytest.mark.parametrize(("delta", "told"), [(6.9, 6.9), (7.0, math.inf), (math.inf, math.inf)])
def test_what_is_beyond_a_thousandfold_is_not_told_from_it(delta, told):
    assert up_to_thousandfold(delta) == told


@pytest.mark.parametrize("level", [0.05 / 3, 0.05])
def test_a_plant_among_everybody_worked_by_hand(level):
    """Rates .4 and .2 of 100 each: .2 over the error of two coins of .3; no spread for a search.

    One test of everybody, but an interval of 95 % on both sides.
    """
    z = 0.2 / math.sqrt(0.3 * 0.7 * 2 / 100)
    asked = max(norm.isf(level), norm.isf(0.025))
    assert replace(WHOLE, level=level).margin(math.log(2)) == pytest.approx(z - asked)


def test_what_features_tell_leaves_outcomes_to_fewer_people():
    """Features leave .06 of .09: a quarter are .4 likely to have it, all others never.

    Three times as often in all of them: .6 and .2, by models that say .4 of each.
    """
    told = replace(WHOLE, rate=0.1, mass=0.1, noise=0.06)
    share, inside = 0.1 / 0.4, 0.4 * 0.6**2 + 0.6 * 0.4**2
    z = 0.4 * math.sqrt(share * 50 / inside)
    assert told.margin(math.log(3)) == pytest.approx(z - norm.isf(0.05 / 3), rel=1e-6)


def test_rates_end_at_one():
    """Where nearly everybody has the outcome, a ratio of four is one of 1 and .25."""
    sure = replace(WHOLE, rate=0.9, mass=0.9)
    z = 0.75 * math.sqrt(50 / (0.625 * 0.1**2 + 0.375 * 0.9**2))
    assert sure.margin(math.log(4)) == pytest.approx(z - norm.isf(0.05 / 3))


@pytest.mark.parametrize("ratio", [2.5, 4.0, 8.0])
def test_plants_among_cells_are_found_as_often_as_said(ratio):
    """Drawn: what is known of each cell and what is measured there, cut where it promises most.

    The region's evidence has to be beyond what the choice between it and everybody asks for.
    """
    plan = replace(PLAN, search=Searching(spread=1.0))
    high = 0.6 * ratio / (1 + ratio)
    low = high / ratio
    share = 0.03 / 0.3
    n_cells = share * N_CELLS
    assert n_cells == 6
    z = (high - low) * math.sqrt(share * 500 / (0.3 * 0.7)) * (1 - 1 / (6 * math.sqrt(6)))
    rng = np.random.default_rng(3)
    plant = np.zeros(N_CELLS, dtype=bool)
    plant[:6] = True
    known, seen = rng.normal(size=(2, 1500, N_CELLS))
    known += plant * z * math.sqrt(0.8 / 6)
    seen += plant * z / math.sqrt(6)
    powers = []
    for cut in np.linspace(0.0, 3.0, 9):
        inside = known > cut
        size = np.maximum(inside.sum(axis=1), 1)
        statistic = (seen * inside).sum(axis=1) / np.sqrt(size)
        powers.append(np.mean(_p_values(statistic, size / N_CELLS) < plan.level))
    assert norm.cdf(plan.margin(math.log(ratio))) == pytest.approx(max(powers), abs=0.05)


def _p_values(statistics, shares):
    """P-values after the choice between everybody and a part, read off a table."""
    grid = np.linspace(0.0, 8.0, 81)
    sizes = np.unique(shares)
    told = {s: [chosen_p_value(z, math.sqrt(s)) for z in grid] for s in sizes}
    found = np.empty(len(statistics))
    for s in sizes:
        own = shares == s
        found[own] = np.interp(statistics[own], grid, told[s])
    return found


def test_more_rows_more_mass_and_laxer_tests_find_smaller_ratios():
    usual = PLAN.detectable()
    assert 0 < usual < math.inf
    for easier in (
        {"sizes": (2000.0, 2000.0)},
        {"mass": 0.06},
        {"level": 0.05},
        {"noise": 0.1},
        {"search": Searching(learned=2.0)},
        {"search": Searching(spread=1.0)},
    ):
        assert replace(PLAN, **easier).detectable() < usual
    for harder in (
        {"sizes": (2000.0, 500.0)},
        {"level": 0.001},
        {"least": math.log(2.0)},
        {"search": Searching(learned=0.1)},
        {"search": Searching(n_parts=20, learned=0.8)},
    ):
        assert replace(PLAN, **harder).detectable() > usual
    assert PLAN.detectable(0.5) < usual < PLAN.detectable(0.95)


@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        WHOLE,
        replace(PLAN, noise=0.01),
        replace(PLAN, rate=0.9, noise=0.0),
        replace(PLAN, rate=0.02, mass=0.01, sizes=(50_000.0, 3_000.0)),
    ],
)
def test_larger_ratios_are_found_more_often(plan):
    margins = [plan.margin(delta) for delta in np.geomspace(0.01, math.log(1000.0), 60)]
    assert (np.diff(margins) > -1e-9).all()
    assert plan.margin(plan.detectable(0.8)) == pytest.approx(norm.ppf(0.8), abs=1e-6)


def test_ten_people_must_have_the_outcome():
    """Of 24 rows twelve have it: one in four times fewer than ten do, however unequal."""
    few = replace(PLAN, sizes=(12.0, 12.0), rate=0.5, mass=0.5, level=0.05)
    assert few.margin(math.log(900)) == pytest.approx(2 / math.sqrt(12))


def test_ratios_below_the_smallest_that_counts_are_found_in_no_number_of_rows():
    many = replace(PLAN, sizes=(1e9, 1e9))
    assert 1.05 < math.exp(many.detectable()) < 1.06
    assert 1.0 < math.exp(replace(many, least=0.0).detectable()) < 1.01


@pytest.mark.parametrize(
    "change",
    [{"rate": 0.0}, {"rate": 1.0}, {"rate": math.nan}, {"sizes": (0.0, 10.0)}, {"mass": 0}],
)
def test_empty_cells_find_nothing(change):
    hopeless = replace(PLAN, **change)
    assert hopeless.detectable() == math.inf
    assert hopeless.stated() == (math.inf, hopeless.mass)


def test_where_a_mass_is_too_small_for_any_ratio_a_larger_one_is_stated():
    """400 rows: nothing in a mass of .02, but 27 times as often in more is far beyond chance."""
    few = replace(PLAN, sizes=(200.0, 200.0), mass=0.02)
    assert few.detectable() == math.inf
    delta, mass = few.stated()
    assert mass in (0.04, 0.08, 0.16)
    assert delta == replace(few, mass=mass).detectable() < math.inf
    assert replace(few, mass=mass / 2).detectable() == math.inf
    assert PLAN.stated() == (PLAN.detectable(), 0.03)
    # Two rows against two tell nothing in any mass.
    assert replace(few, sizes=(2.0, 2.0)).stated() == (math.inf, 0.02)


def test_a_region_everybody_is_in_has_no_spread():
    assert search_spread(5, 1.0) == 1.0


def test_where_a_growing_function_gets_to_zero():
    assert first(lambda x: x - 3.0, 0.1, 100.0) == pytest.approx(3.0)
    assert first(lambda x: x - 3.0, 4.0, 100.0) == 4.0
    assert first(lambda x: x - 3.0, 0.1, 2.0) == math.inf


def test_a_border_leaves_a_cell_a_third_of_its_evidence():
    """Drawn: a border of a plant of four cells, anywhere; evidence is the square of what is covered."""
    border = np.random.default_rng(0).uniform(4.0, 5.0, 100_000)
    covered = np.clip(border[:, None] - np.arange(6), 0.0, 1.0)
    assert (covered**2).sum(axis=1).mean() / border.mean() == pytest.approx(
        1 - 1 / (6 * 4.5), abs=1e-3
    )
