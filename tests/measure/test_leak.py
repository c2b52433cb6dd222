"""Leaks against sums worked by hand, redraws and their calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

from mdfa_fairness_plugin.measure.leak import LeakSums


def everywhere(n):
    return np.ones(n, dtype=bool)


def test_statistic_worked_by_hand():
    """400 rows, nuisances 1/2: 240 residual products of 1/4 and 160 of -1/4: 20 over sqrt(25)."""
    s = np.tile([1, -1], 200)
    positive = np.where(np.arange(400) < 240, s > 0, s < 0)
    half = np.full(400, 0.5)
    z = LeakSums.of(positive, s, half, half, np.ones(400), everywhere(400)).statistic()
    assert z == pytest.approx(20 / 5, abs=1e-12)
    # Without the rows that disagree: 60 over sqrt(15).
    z = LeakSums.of(positive, s, half, half, np.ones(400), np.arange(400) < 240).statistic()
    assert z == pytest.approx(60 / math.sqrt(15), abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(8, 6), (12, 7), (20, 17), (40, 26)])
def test_few_rows_are_compared_with_all_that_could_have_been(n, k):
    """Every outcome counts alike and S is a coin: the chance of k heads or more in n tosses."""
    s = np.where(np.arange(n) < k, 1, -1)
    half = np.full(n, 0.5)
    z = LeakSums.of(np.ones(n, bool), s, half, half, np.ones(n), everywhere(n)).statistic()
    assert norm.sf(z) == pytest.approx(binom.sf(k - 1, n, 0.5), abs=4.5 * 0.5 / 100)


def test_a_rare_outcome_in_a_large_region_is_compared_with_redraws_too():
    """Nine of ten with the outcome are of the group, where one half is expected: 11 in 1,024."""
    n = 4000
    positive = np.arange(n) < 10
    s = np.where(np.arange(n) % 2 == 0, 1, -1)
    s[:10] = np.where(np.arange(10) < 9, 1, -1)
    e, m = np.full(n, 0.5), np.full(n, 0.0)
    z = LeakSums.of(positive, s, e, m, np.ones(n), everywhere(n)).statistic()
    assert norm.sf(z) == pytest.approx(11 / 1024, abs=4.5 * math.sqrt(0.01 / 10_000))


def test_what_no_redraw_reaches_is_still_told_apart():
    """All of 30, all of 60 rows with the outcome: chances of 2^-30 and 2^-60, never overstated."""
    for n in (30, 60):
        half = np.full(n, 0.5)
        z = LeakSums.of(
            np.ones(n, bool), np.ones(n), half, half, np.ones(n), everywhere(n)
        ).statistic()
        assert 2.0**-n * (1 - 1e-6) <= norm.sf(z) <= 2.0 ** -(0.9 * n)


def test_every_outcome_the_groups_and_none_the_others_is_as_rare_as_can_be():
    """Leftovers of both signs, S a coin: of 2^40 ways to draw it one is as extreme."""
    positive = np.arange(40) < 20
    s, half, m = np.where(positive, 1, -1), np.full(40, 0.5), np.full(40, 0.75)
    z = LeakSums.of(positive, s, half, m, np.ones(40), everywhere(40)).statistic()
    assert 2.0**-40 * (1 - 1e-6) <= norm.sf(z) <= 2.0**-30


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_the_rows_add_up_to_all_of_them(seed):
    """Rows no longer kept are told by their variance, and by the bound on their sum."""
    rng = np.random.default_rng(seed)
    n = 1500
    positive, s = rng.random(n) < 0.1, rng.choice([-1, 1], n)
    e, m = rng.uniform(0.2, 0.8, (2, n))
    base = rng.uniform(0.5, 2.0, n)
    whole = LeakSums.of(positive, s, e, m, base, everywhere(n))
    parts = [
        LeakSums.of(positive, s, e, m, base, rows)
        for rows in np.arange(n) // 500 == [[0], [1], [2]]
    ]
    total = sum((part.shortened() for part in parts[1:]), start=parts[0].shortened()).shortened()
    for name in ("total", "squares", "fourths"):
        assert getattr(total, name) == pytest.approx(getattr(whole, name))
    assert len(total.leftover) < 500
    kept = total.leftover**2
    assert total.bound + kept.sum() == pytest.approx((whole.leftover**2).sum())
    assert total.variance + (
        kept * total.propensity * (1 - total.propensity)
    ).sum() == pytest.approx((whole.leftover**2 * e * (1 - e)).sum())
    # Kept are those that matter most.
    assert np.abs(total.leftover).min() >= np.sort(np.abs(whole.leftover))[-len(kept)] - 1e-9


def test_rows_no_longer_kept_still_count_beyond_all_redraws():
    """Sixty rows decide; what 5,000 light ones may add is bounded as well as if they were kept."""
    n = 5060
    base = np.where(np.arange(n) < 60, 1.0, 0.05)
    s = np.where((np.arange(n) < 60) | (np.arange(n) % 2 == 0), 1, -1)
    half = np.full(n, 0.5)
    sums = LeakSums.of(np.ones(n, bool), s, half, half, base, everywhere(n))
    assert sums.statistic() > 5.0  # beyond what 9,999 redraws tell
    assert sums.shortened().statistic() == pytest.approx(sums.statistic(), abs=0.01)


def test_no_rows_no_statistic():
    z = LeakSums.of(
        np.ones(3, bool), np.ones(3), *([np.full(3, 0.5)] * 2), np.ones(3), ~everywhere(3)
    ).statistic()
    assert math.isnan(z)


@pytest.mark.parametrize("n", [50, 600])
@pytest.mark.parametrize("seed", range(3))
def test_exchanging_sides_or_outcomes_turns_the_sign(n, seed):
    """Exactly where rows are many; where they are few, up to the draws that tie."""
    rng = np.random.default_rng(seed)
    positive, s = rng.random(n) < 0.5, rng.choice([-1, 1], n)
    e, m = rng.uniform(0.2, 0.8, (2, n))
    base, member = rng.uniform(0.5, 2.0, n), rng.random(n) < 0.7
    z = LeakSums.of(positive, s, e, m, base, member).statistic()
    turned = pytest.approx(-z, abs=0.01 if n == 50 else 1e-12)
    assert LeakSums.of(positive, -s, 1 - e, m, base, member).statistic() == turned
    assert LeakSums.of(~positive, s, e, 1 - m, base, member).statistic() == turned
    assert LeakSums.of(~positive, -s, 1 - e, 1 - m, base, member).statistic() == pytest.approx(
        z, abs=1e-12
    )
    assert LeakSums.of(positive, s, e, m, 5 * base, member).statistic() == pytest.approx(
        z, abs=1e-9
    )


@pytest.mark.parametrize(("n", "runs"), [(800, 3000), (60, 600)])
def test_statistic_is_standard_normal_without_a_leak(n, runs):
    """True nuisances, features that move both: mean 0, spread 1, within four standard errors."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=n)
    e, m = expit(x), expit(0.5 - x)
    z = np.array(
        [
            LeakSums.of(
                rng.random(n) < m,
                np.where(rng.random(n) < e, 1, -1),
                e,
                m,
                np.ones(n),
                everywhere(n),
            ).statistic(run)
            for run in range(runs)
        ]
    )
    assert z.mean() == pytest.approx(0.0, abs=4 / math.sqrt(runs))
    assert z.std() == pytest.approx(1.0, abs=4 / math.sqrt(2 * runs))
    alarms = np.mean(norm.sf(z) < 0.05)
    assert alarms == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / runs))


def test_a_leak_kept_short_has_the_same_statistic():
    """Of a rare outcome only the rows that carry the sum have to be kept."""
    rng = np.random.default_rng(0)
    n = 5_000
    e, m = rng.uniform(0.2, 0.8, n), rng.uniform(0.001, 0.01, n)
    s = np.where(rng.random(n) < e, 1, -1)
    positive = rng.random(n) < m
    everyone = np.ones(n, dtype=bool)
    whole = LeakSums.of(positive, s, e, m, np.ones(n), everyone)
    assert whole.squares**2 / whole.fourths < 100  # the case in which rows are redrawn
    parts = [
        LeakSums.of(*(a[i::7] for a in (positive, s, e, m, np.ones(n), everyone))).shortened()
        for i in range(7)
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = (merged + part).shortened()
    assert len(merged.leftover) == 300
    assert merged.statistic() == pytest.approx(whole.statistic(), abs=0.02)
