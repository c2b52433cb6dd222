"""Intervals on delta against scipy's Wilson limits, limits worked by hand, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest, norm

from mdfa_fairness_plugin.measure.estimates import measure, measure_leftover
from mdfa_fairness_plugin.measure.intervals import (
    delta_interval,
    difference_interval,
    gamma_interval,
    log_ratio_interval,
    mass_interval,
    otherwise,
    wilson_limits,
)

Z = float(norm.ppf(0.975))


def rates_of(hits, sizes):
    s = np.repeat([1, -1], sizes)
    positive = np.concatenate([np.arange(n) < k for k, n in zip(hits, sizes, strict=True)])
    return measure(positive, s, np.ones(len(s)))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize(
    ("hits", "size"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (499, 500), (0, 1), (1, 1)]
)
def test_wilson_limits_are_scipys(hits, size, level):
    expected = binomtest(hits, size).proportion_ci(level, method="wilson")
    z = norm.ppf(0.5 + level / 2)
    lower, upper = wilson_limits(np.array([hits / size]), np.array([float(size)]), z)
    assert lower[0] == pytest.approx(expected.low, abs=1e-12)
    assert upper[0] == pytest.approx(expected.high, abs=1e-12)


def test_limits_at_the_ends_are_exact():
    lower, upper = wilson_limits(np.array([0.0, 1.0]), np.array([7.0, 7.0]), Z)
    assert lower[0] == 0.0
    assert upper[1] == 1.0


def test_combined_interval_worked_from_both_limits():
    """Distances from the estimate add up in squares (Zou and Donner)."""
    one = binomtest(30, 40).proportion_ci(method="wilson")
    two = binomtest(10, 40).proportion_ci(method="wilson")
    down = math.hypot(math.log(0.75 / one.low), math.log(two.high / 0.25))
    up = math.hypot(math.log(one.high / 0.75), math.log(0.25 / two.low))
    low, high = delta_interval(rates_of((30, 10), (40, 40)), 0.95)
    assert low == pytest.approx(math.log(3) - down, abs=1e-9)
    assert high == pytest.approx(math.log(3) + up, abs=1e-9)


def test_nobody_else_has_the_outcome():
    """Upper end infinite; lower end what the data support, finite and of either sign."""
    low, high = delta_interval(rates_of((20, 0), (40, 40)), 0.95)
    assert high == math.inf
    one = binomtest(20, 40).proportion_ci(method="wilson")
    two = binomtest(0, 40).proportion_ci(method="wilson")
    assert low == pytest.approx(math.log(one.low / two.high), abs=1e-9)
    assert delta_interval(rates_of((1, 0), (3, 3)), 0.95)[0] < 0


def test_nobody_of_the_group_has_the_outcome():
    low, high = delta_interval(rates_of((0, 20), (40, 40)), 0.95)
    assert low == -math.inf
    assert math.isfinite(high)
    assert high < 0


@pytest.mark.parametrize("hits", [(70, 60), (40, 0), (100, 60), (0, 100)])
def test_the_other_outcome_has_the_interval_of_its_own(hits):
    """Whoever counts those without the outcome finds the same; 30 of 100 against 40 is .75."""
    sizes = (100, 100)
    rest = rates_of([n - k for n, k in zip(sizes, hits, strict=True)], sizes)
    delta, *ends = otherwise(rates_of(hits, sizes), 0.95, 1.3)
    assert delta == pytest.approx(rest.delta, abs=1e-12)
    assert ends == pytest.approx(delta_interval(rest, 0.95, 1.3), abs=1e-9)
    if hits == (70, 60):
        assert math.exp(delta) == pytest.approx(0.75)


def test_what_a_ratio_may_still_fall_the_other_may_rise():
    """From .7 against .6 to equal rates: .3 against .4 becomes equal too."""
    rates = rates_of((70, 60), (100, 100))
    fall = math.log(7 / 6)
    delta, low, high = otherwise(rates, 0.95, allowed=(fall, 0.0, 1.0, 1.0))
    _, plain_low, plain_high = otherwise(rates, 0.95)
    assert (delta, low) == (pytest.approx(math.log(0.75)), plain_low)
    assert high - plain_high == pytest.approx(-delta)
    assert otherwise(rates, 0.95, allowed=(0.0, 0.0, 2.0, 1.0))[1:] == (
        plain_low,
        otherwise(rates, 0.95, 2.0)[2],
    )


@pytest.mark.parametrize("hits", [(100, 60), (60, 100), (100, 0)])
def test_what_may_still_move_is_finite_where_one_side_has_none(hits):
    """The ends are those around the rates as they may be: never thousands, never unknown."""
    rates = rates_of(hits, (100, 100))
    plain = otherwise(rates, 0.95)
    told = otherwise(rates, 0.95, allowed=(0.2, 0.2, 1.0, 1.0))
    assert told[0] == plain[0]
    assert not np.isnan(told).any()
    assert told[1] <= plain[1] + 1e-12
    assert told[2] >= plain[2] - 1e-12
    if hits == (100, 60):  # none of 100 against .4
        assert math.exp(told[2]) < 0.5


@pytest.mark.parametrize("hits", [(0, 0)])
def test_no_outcome_no_interval(hits):
    assert all(math.isnan(end) for end in delta_interval(rates_of(hits, (40, 40)), 0.95))


def test_no_rows_no_interval():
    low, high = log_ratio_interval([0.5, np.nan], [10.0, 0.0], 0.95)
    assert math.isnan(low)
    assert math.isnan(high)


def test_a_rate_of_no_rows_puts_no_limit():
    """Whatever rate is written for it, exact ends included."""
    for rates, sizes in (([1.0, 0.25], [0.0, 10.0]), ([0.25, 1.0], [10.0, 0.0])):
        assert all(math.isnan(end) for end in log_ratio_interval(rates, sizes, 0.95))


@pytest.mark.parametrize("seed", range(5))
def test_exchanging_the_sides_mirrors_the_interval(seed):
    rng = np.random.default_rng(seed)
    hits, sizes = rng.integers(0, 20, 2), rng.integers(20, 60, 2)
    low, high = log_ratio_interval(hits / sizes, sizes, 0.9)
    other_low, other_high = log_ratio_interval((hits / sizes)[::-1], sizes[::-1], 0.9)
    assert (low, high) == pytest.approx((-other_high, -other_low), abs=1e-12)


def test_interval_holds_delta_and_grows_with_confidence_and_doubt():
    wide = delta_interval(rates_of((8, 3), (20, 20)), 0.95)
    narrow = delta_interval(rates_of((8, 3), (20, 20)), 0.5)
    many = delta_interval(rates_of((80, 30), (200, 200)), 0.95)
    delta = math.log(8 / 3)
    for inner in (narrow, many):
        assert wide[0] < inner[0] < delta < inner[1] < wide[1]


def test_many_sets_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(1)
    sizes = rng.integers(5, 40, size=(2, 30)).astype(float)
    rates = np.round(rng.random((2, 30)), 1)
    low, high = log_ratio_interval(rates, sizes, 0.95)
    for i in range(30):
        one = log_ratio_interval(rates[:, i], sizes[:, i], 0.95)
        np.testing.assert_array_equal(one, (low[i], high[i]))


@pytest.mark.parametrize(
    ("group", "others", "sizes"),
    [(0.3, 0.1, (50, 50)), (0.05, 0.05, (100, 400)), (0.9, 0.8, (30, 60)), (0.5, 0.02, (40, 80))],
)
def test_intervals_cover(group, others, sizes):
    """20,000 draws: 95 % intervals hold the true log ratio in 93 to 99 %."""
    rng = np.random.default_rng(7)
    n = np.array(sizes, dtype=float)[:, None]
    hits = np.stack([rng.binomial(sizes[0], group, 20_000), rng.binomial(sizes[1], others, 20_000)])
    low, high = log_ratio_interval(hits / n, n + np.zeros(hits.shape), 0.95)
    known = ~np.isnan(low)
    truth = math.log(group / others)
    assert known.mean() > 0.98
    assert 0.93 <= ((low <= truth) & (truth <= high))[known].mean() <= 0.99


# -- mass and gamma


def table_of(hits, sizes, population):
    """Counts of a set among a population of (group, others)."""
    s = np.repeat(
        [1, 1, -1, -1], [sizes[0], population[0] - sizes[0], sizes[1], population[1] - sizes[1]]
    )
    inside = np.concatenate(
        [np.arange(n) < size for n, size in zip(population, sizes, strict=True)]
    )
    first = np.concatenate([np.arange(n) < hit for n, hit in zip(population, hits, strict=True)])
    return measure(first & inside, s, np.ones(len(s)), inside)


def test_mass_and_gamma_of_a_table_are_inside_their_intervals():
    """40 of 100 and 20 of 100 among 500 each: mass .06, gamma .2 / 4 * (.4 - .2)."""
    rates = table_of((40, 20), (100, 100), (500, 500))
    assert rates.mass == pytest.approx(0.06)
    assert rates.gamma == pytest.approx(0.01)
    for interval, value in ((mass_interval, 0.06), (gamma_interval, 0.01)):
        low, high = interval(rates, 0.95)
        assert low < value < high
        wide = interval(rates, 0.95, spread=1.25)
        assert wide[0] < low < high < wide[1]


@pytest.mark.parametrize("hits", [(0, 0), (5, 5), (30, 0), (0, 30), (60, 59), (90, 30), (100, 100)])
def test_gamma_excludes_zero_where_the_difference_does(hits):
    rates = table_of(hits, (100, 100), (400, 600))
    low, high = gamma_interval(rates, 0.95)
    if hits == (0, 0):
        return
    assert low <= rates.gamma <= high
    lower, upper = wilson_limits(rates.rates, np.array([100.0, 100.0]), norm.ppf(0.975))
    difference = rates.rates[0] - rates.rates[1]
    down = math.hypot(rates.rates[0] - lower[0], upper[1] - rates.rates[1])
    up = math.hypot(upper[0] - rates.rates[0], rates.rates[1] - lower[1])
    assert (low > 0) == (difference > down)
    assert (high < 0) == (difference < -up)


def test_the_error_of_the_share_carries_no_end_across_zero():
    """All tables of 25 rows a side, one in a hundred of everybody: the sign is the difference's."""
    for one in range(26):
        for two in range(26):
            if one + two == 0:
                continue
            low, high = gamma_interval(table_of((one, two), (25, 25), (2500, 2500)), 0.95)
            r = np.array([one, two]) / 25
            lower, upper = wilson_limits(r, np.array([25.0, 25.0]), Z)
            assert (low >= 0) == (r[0] - r[1] > math.hypot(r[0] - lower[0], upper[1] - r[1]))
            assert (high <= 0) == (r[1] - r[0] > math.hypot(upper[0] - r[0], r[1] - lower[1]))


def test_mass_interval_worked_from_scipys_limits():
    """40 and 20 of 500 are inside and have the outcome: the mean of .08 and .04, and its limits.

    Distances from each share to its Wilson limit add up in squares, and the mean halves them.
    """
    one = binomtest(40, 500).proportion_ci(method="wilson")
    two = binomtest(20, 500).proportion_ci(method="wilson")
    low, high = mass_interval(table_of((40, 20), (100, 100), (500, 500)), 0.95)
    assert low == pytest.approx(0.06 - math.hypot(0.08 - one.low, 0.04 - two.low) / 2, abs=1e-9)
    assert high == pytest.approx(0.06 + math.hypot(one.high - 0.08, two.high - 0.04) / 2, abs=1e-9)


def test_mass_interval_stays_within_what_a_share_can_be():
    """A single row inside has the outcome, or all have it: limits of one share reach 0 and 1."""
    assert mass_interval(table_of((1, 0), (1, 1), (500, 500)), 0.999)[0] >= 0.0
    assert mass_interval(table_of((9, 9), (9, 9), (9, 9)), 0.999)[1] == 1.0


def test_gamma_interval_worked_from_scipys_limits():
    """40 and 20 of 100 inside, a fifth of 500 each: a quarter of .2 times Newcombe's .4 - .2.

    The share's own error, z sqrt(.2 .8 / 1000), moves gamma by the difference times it.
    """
    one = binomtest(40, 100).proportion_ci(method="wilson")
    two = binomtest(20, 100).proportion_ci(method="wilson")
    share = 0.2 * Z * math.sqrt(0.2 * 0.8 / 1000)
    down = math.hypot(0.2 * math.hypot(0.4 - one.low, two.high - 0.2), share)
    up = math.hypot(0.2 * math.hypot(one.high - 0.4, 0.2 - two.low), share)
    low, high = gamma_interval(table_of((40, 20), (100, 100), (500, 500)), 0.95)
    assert low == pytest.approx(0.01 - down / 4, abs=1e-9)
    assert high == pytest.approx(0.01 + up / 4, abs=1e-9)


def test_mass_and_gamma_are_covered():
    """4,000 draws of a known table; a miss of 1.2 points has a chance under one in 1,000."""
    rng = np.random.default_rng(5)
    share, rates = 0.3, np.array([0.3, 0.15])
    mass, gamma = share * rates.mean(), share * (rates[0] - rates[1]) / 4
    hits = np.zeros(2)
    for _ in range(4000):
        sizes = rng.binomial(300, share, 2)
        table = table_of(rng.binomial(sizes, rates), sizes, (300, 300))
        low, high = mass_interval(table, 0.95)
        hits[0] += low <= mass <= high
        low, high = gamma_interval(table, 0.95)
        hits[1] += low <= gamma <= high
    assert hits / 4000 == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_the_plain_estimate_and_agree_on_the_sign(predicted_rows, seed):
    positive, s, weights, outcome = predicted_rows(seed, n=150)
    rates = measure(positive, s, weights)
    leftover = measure_leftover(positive, s, weights, outcome)
    low, high = delta_interval(rates, 0.95, 1.0, leftover)
    assert low <= rates.delta <= high
    g_low, g_high = gamma_interval(rates, 0.95, 1.0, leftover)
    assert g_low <= rates.gamma <= g_high
    assert (low > 0) == (g_low > 0)


def test_intervals_of_a_predictable_outcome_cover_and_are_narrow():
    """Overlap weights, an outcome the features nearly decide, nothing else: 800 draws.

    Coverage below 92.3 % has a chance under one in 1,000.
    """
    rng = np.random.default_rng(7)
    n, hits, widths = 600, 0, []
    for _ in range(800):
        x = rng.normal(size=n)
        e, m = expit(0.7 * x), expit(6 * x)
        s = np.where(rng.random(n) < e, 1, -1)
        positive = rng.random(n) < m
        weights = np.where(s > 0, 1 - e, e)
        rates = measure(positive, s, weights)
        low, high = delta_interval(rates, 0.95, 1.0, measure_leftover(positive, s, weights, m))
        plain = delta_interval(rates, 0.95)
        hits += low <= 0 <= high
        widths.append((high - low) / (plain[1] - plain[0]))
    # Known weights leave more imbalance than estimated ones; the interval reaches out to the estimate.
    assert 0.923 <= hits / 800 <= 1.0
    assert np.mean(widths) < 0.8


def test_the_difference_has_the_interval_of_a_published_example():
    """Newcombe (1998), table II: 56 of 70 against 48 of 80 by method 10 is .0524 to .3339."""
    ends = difference_interval(rates_of((56, 48), (70, 80)), 0.95)
    assert ends == pytest.approx((0.0524, 0.3339), abs=5e-5)
