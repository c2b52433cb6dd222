"""What the features leave of the outcome: adjusted rates by hand, additivity, coverage."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
from scipy.special import expit

from mdfa_fairness_plugin.measure.estimates import (
    adjusted_rates,
    measure,
    measure_leftover,
)
from mdfa_fairness_plugin.measure.intervals import delta_interval, gamma_interval


def draw(seed, n=400):
    rng = np.random.default_rng(seed)
    s, weights = rng.choice([-1, 1], n), rng.uniform(0.3, 2.0, n)
    outcome = rng.uniform(0.1, 0.9, n)
    return rng.random(n) < outcome, s, weights, outcome


def test_adjusted_rates_worked_by_hand():
    """40 rows a side, half of each predicted at .8 among the group and a quarter among the others.

    Predicted means are .5 and .35, so .15 of the difference is imbalance: 20/40 becomes .425 and 12/40
    becomes .375. Leftovers are .2 or -.8 where .8 is predicted, .8 or -.2 where .2 is.
    """
    s = np.repeat([1, -1], 40)
    outcome = np.concatenate([np.repeat([0.8, 0.2], [20, 20]), np.repeat([0.8, 0.2], [10, 30])])
    positive = np.concatenate(
        [np.arange(20) < 16, np.arange(20) < 4, np.arange(10) < 8, np.arange(30) < 4]
    )
    ones = np.ones(80)
    r, sizes = adjusted_rates(
        measure(positive, s, ones), measure_leftover(positive, s, ones, outcome)
    )
    assert r == pytest.approx([0.5 - 0.075, 0.3 + 0.075])
    left = positive - outcome
    for side, rate, size in zip((1, -1), r, sizes, strict=True):
        own = left[s == side]
        variance = ((own - own.mean()) ** 2).sum() / 40**2
        assert size == pytest.approx(rate * (1 - rate) / variance)


@pytest.mark.parametrize("seed", range(3))
def test_predictions_that_say_nothing_change_nothing(seed):
    positive, s, weights, _ = draw(seed)
    rates = measure(positive, s, weights)
    same = np.full(len(s), 0.37)
    r, sizes = adjusted_rates(rates, measure_leftover(positive, s, weights, same))
    assert r == pytest.approx(rates.rates, abs=1e-12)
    # The plain size is the smaller of Kish's and this one, which is implied by the spread of rows.
    assert (rates.effective_sizes <= sizes * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_any_parts_add_up(seed):
    positive, s, weights, outcome = draw(seed)
    part = np.random.default_rng(seed).integers(0, 7, len(s))
    blocks = [
        measure_leftover(*(a[part == k] for a in (positive, s, weights, outcome))) for k in range(7)
    ]
    total = functools.reduce(operator.add, blocks)
    whole = measure_leftover(positive, s, weights, outcome)
    for name in ("predicted", "first", "second", "fourth"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12)
    member = part < 3
    inside = measure_leftover(positive, s, weights, outcome, member)
    np.testing.assert_allclose(
        (blocks[0] + blocks[1] + blocks[2]).second, inside.second, rtol=1e-12
    )


def test_few_rows_fall_back_on_plain_rates():
    """Four leftovers of .9 among thousands of .001: too few to know their spread."""
    n = 4000
    s = np.tile([1, -1], n // 2)
    positive = np.arange(n) % 8 < 4
    outcome = np.where(positive, 0.999, 0.001)
    positive[:4] = ~positive[:4]
    rates = measure(positive, s, np.ones(n))
    r, sizes = adjusted_rates(rates, measure_leftover(positive, s, np.ones(n), outcome))
    np.testing.assert_array_equal(r, rates.rates)
    np.testing.assert_array_equal(sizes, rates.effective_sizes)


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_the_plain_estimate_and_agree_on_the_sign(seed):
    positive, s, weights, outcome = draw(seed, n=150)
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
