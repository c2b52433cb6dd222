"""Rows of one person are one piece of evidence: sums, sizes, intervals and the leak statistic."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.measure.estimates import measure, measure_leftover
from mdfa_fairness_plugin.measure.intervals import delta_interval, gamma_interval, mass_interval
from mdfa_fairness_plugin.measure.leak import LeakSums


def test_sums_over_clusters_worked_by_hand():
    """Group: person 0 with weights 1, 2 (the first has the outcome), person 1 with weight 4."""
    positive = np.array([True, False, True, False, True])
    s, weights = np.array([1, 1, 1, -1, -1]), np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    rates = measure(positive, s, weights, cluster=np.array([0, 0, 1, 2, 2]))
    np.testing.assert_array_equal(rates.weight, [7, 8])
    np.testing.assert_array_equal(rates.squares, [1 + 4 + 16, 9 + 25])
    np.testing.assert_array_equal(
        rates.clustered, [[9 + 16, 64], [1 + 16, 25], [1 * 3 + 4 * 4, 5 * 8]]
    )
    outcome = np.array([0.5, 0.5, 0.25, 0.0, 0.5])
    left = measure_leftover(positive, s, weights, outcome, cluster=np.array([0, 0, 1, 2, 2]))
    # w d: .5 - 1 = -.5 and 3 in the group; 0 + 2.5 among the others.
    np.testing.assert_allclose(left.first, [-0.5 * 3 + 3 * 4, 2.5 * 8])
    np.testing.assert_allclose(left.second, [0.25 + 9, 6.25])
    np.testing.assert_allclose(left.fourth, [0.0625 + 81, 6.25**2])


@pytest.mark.parametrize("seed", range(5))
def test_everybody_twice_is_known_no_better(predicted_rows, seed):
    """Two rows a person: every size, interval and test of one row each."""
    positive, s, weights, outcome = predicted_rows(seed)
    twice = np.repeat(np.arange(400), 2)
    e = np.random.default_rng(seed).uniform(0.2, 0.8, 400)
    member = e > 0.35
    one = measure(positive, s, weights, member)
    two = measure(positive[twice], s[twice], weights[twice], member[twice], twice)
    np.testing.assert_allclose(two.rates, one.rates)
    np.testing.assert_allclose(two.effective_sizes, one.effective_sizes)
    left = measure_leftover(positive, s, weights, outcome, member)
    both = measure_leftover(
        positive[twice], s[twice], weights[twice], outcome[twice], member[twice], twice
    )
    moved, known = one.known(left)
    again, as_well = two.known(both)
    np.testing.assert_allclose(again.rates, moved.rates)
    np.testing.assert_allclose(as_well, known)
    np.testing.assert_allclose(
        delta_interval(two, 0.95, 1.2, both), delta_interval(one, 0.95, 1.2, left)
    )
    np.testing.assert_allclose(mass_interval(two, 0.95), mass_interval(one, 0.95))
    np.testing.assert_allclose(
        gamma_interval(two, 0.95, 1.0, both), gamma_interval(one, 0.95, 1.0, left)
    )
    for some in (member, member & (np.arange(400) < 60)):  # many terms, and few
        z = LeakSums.of(positive, s, e, outcome, weights, some).statistic()
        again = LeakSums.of(
            positive[twice], s[twice], e[twice], outcome[twice], weights[twice], some[twice], twice
        ).statistic()
        assert again == pytest.approx(z, rel=1e-6)


def test_clusters_of_one_row_are_rows(predicted_rows):
    positive, s, weights, outcome = predicted_rows(0)
    own = np.random.default_rng(0).permutation(400)
    plain, alone = (measure(positive, s, weights, None, who) for who in (None, own))
    np.testing.assert_allclose(alone.clustered, plain.clustered)
    np.testing.assert_allclose(alone.effective_sizes, plain.effective_sizes)
    half, everybody = np.full(400, 0.5), np.ones(400, dtype=bool)
    one, two = (
        LeakSums.of(positive, s, half, outcome, weights, everybody, who) for who in (None, own)
    )
    assert (two.total, two.squares) == pytest.approx((one.total, one.squares))
    assert two.statistic() == pytest.approx(one.statistic())


def test_rows_that_hardly_agree_are_nearly_as_many_as_they_are():
    """1,000 firms of 10 people each, outcomes independent: sizes are those of the rows."""
    rng = np.random.default_rng(0)
    n, firm = 10_000, np.repeat(np.arange(1_000), 10)
    rates = measure(rng.random(n) < 0.3, rng.choice([-1, 1], n), np.ones(n), None, firm)
    # Of a variance estimated from 1,000 firms: one in ten thousand beyond four in sqrt(2 / 1000).
    np.testing.assert_allclose(rates.effective_sizes, 5_000, rtol=4 * np.sqrt(2 / 1_000) + 0.02)


@pytest.mark.parametrize("varies", [False, True], ids=["one side each", "both sides"])
def test_errors_and_statistics_are_as_wide_as_they_say(varies):
    """Outcomes shared within households of 1 to 6; S is the household's, or each person's.

    Over 1,000 draws the standard deviation of z has an error of .022; bounds are four of these.
    Delta's is compared with what the sizes say.
    """
    rng = np.random.default_rng(1)
    statistics, deltas, errors = [], [], []
    for _ in range(1_000):
        home = np.repeat(np.arange(150), rng.integers(1, 7, 150))
        n = len(home)
        shared = (rng.random(150) < 0.4)[home]
        positive = np.where(rng.random(n) < 0.7, shared, rng.random(n) < 0.4)
        side = rng.choice([-1, 1], n) if varies else rng.choice([-1, 1], 150)[home]
        ones, everybody = np.ones(n), np.ones(n, dtype=bool)
        statistics.append(
            LeakSums.of(positive, side, ones / 2, ones * 0.4, ones, everybody, home).statistic()
        )
        rates = measure(positive, side, ones, None, home)
        r, sizes = rates.rates, rates.effective_sizes
        deltas.append(rates.delta)
        errors.append(np.sqrt(((1 - r) / (r * sizes)).sum()))
    # Where few terms carry z all of a household's rows on a side are redrawn as one: too narrow if S
    # is each person's.
    assert (0.7 if varies else 0.911) < np.std(statistics) < 1.089
    assert np.mean(statistics) == pytest.approx(0.0, abs=4 / np.sqrt(1_000))
    # Sides that share households err alike, which sizes of each alone leave out: too wide, not too
    # narrow.
    least = 0.5 if varies else 0.92
    assert least < np.std(deltas) / np.mean(errors) < 1.08
