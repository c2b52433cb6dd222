"""Influences: sums that reproduce known variances, and intervals that pair rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.measure.estimates import measure, measure_leftover
from mdfa_fairness_plugin.measure.influence import (
    Effect,
    effect_of,
    mean_influence,
    paired_interval,
)
from mdfa_fairness_plugin.measure.means import MeanDifference, MeanRatio


def log_ratio_influence(*of):
    return effect_of(*of).influence


def people(seed, n=400):
    rng = np.random.default_rng(seed)
    s = rng.choice([-1, 0, 1], n, p=[0.4, 0.2, 0.4])
    return s, rng.random(n) < 0.4, rng.uniform(0.5, 2, n), rng.random(n) < 0.6


def test_variance_of_a_table_worked_by_hand():
    """30 of 40 against 10 of 40: the delta method gives 1/30 - 1/40 + 1/10 - 1/40."""
    s = np.repeat([1, 1, -1, -1], [30, 10, 10, 30])
    y = np.repeat([True, False, True, False], [30, 10, 10, 30])
    psi = log_ratio_influence(y, s, np.ones(80))
    assert psi.sum() == pytest.approx(0, abs=1e-12)
    assert (psi**2).sum() == pytest.approx(1 / 30 - 1 / 40 + 1 / 10 - 1 / 40)


@pytest.mark.parametrize("seed", range(3))
def test_influence_is_the_derivative_of_delta(seed):
    """Weighing one row a little more moves delta by its influence."""
    s, y, w, member = people(seed)
    psi = log_ratio_influence(y, s, w, member)

    def delta(weights):
        rows = s != 0
        return measure(y[rows], s[rows], weights[rows], member[rows]).delta

    step = 1e-6
    for row in range(0, len(s), 37):
        more = w.copy()
        more[row] *= 1 + step
        assert (delta(more) - delta(w)) / step == pytest.approx(psi[row], abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_influence_at_the_same_features_is_the_derivative_of_that_delta(seed):
    s, y, w, member = people(seed)
    m = np.random.default_rng(seed + 5).uniform(0.1, 0.8, len(s))
    found = effect_of(y, s, w, member, m)

    def delta(weights):
        own = (y, s, weights)
        rows = (s != 0) & member
        own = tuple(one[rows] for one in own)
        return measure(*own).known(measure_leftover(*own, m[rows]))[0].delta

    assert found.delta == pytest.approx(delta(w))
    assert found.influence.sum() == pytest.approx(0, abs=1e-12)
    step = 1e-6
    for row in range(0, len(s), 37):
        more = w.copy()
        more[row] *= 1 + step
        assert (delta(more) - delta(w)) / step == pytest.approx(found.influence[row], abs=1e-5)


@pytest.mark.parametrize("sign", [1, -1], ids=["more", "less"])
@pytest.mark.parametrize("kind", [MeanDifference, MeanRatio])
def test_influence_on_means_is_what_leaving_a_row_out_changes(kind, sign):
    """Jackknife of n rows: n - 1 times what is missing without one; means of minus the number, too."""
    s, _, w, member = people(7, 300)
    rng = np.random.default_rng(8)
    value, m = sign * rng.lognormal(0.0, 0.5, 300), sign * rng.uniform(0.5, 2.0, 300)
    rows = (s != 0) & member

    for outcome in (None, m):
        found = effect_of(value, s, w, member, outcome, kind)

        def effect(kept, outcome=outcome):
            own = (value[kept], s[kept], w[kept])
            left = None if outcome is None else measure_leftover(*own, outcome[kept])
            return measure(*own, kind=kind).known(left)[0].delta

        assert found.delta == pytest.approx(effect(rows))
        assert found.influence.sum() == pytest.approx(0, abs=1e-12)
        assert not found.influence[~rows].any()
        for row in np.flatnonzero(rows)[::13]:
            without = rows.copy()
            without[row] = False
            assert found.delta - effect(without) == pytest.approx(found.influence[row], rel=0.05)


def test_a_difference_of_means_worked_by_hand():
    """1, 3 against 2, 2: the variance of each mean is its squares over the squared size."""
    own = effect_of(
        *map(np.array, ([1.0, 3, 2, 2], [1, 1, -1, -1], [1.0] * 4)), kind=MeanDifference
    )
    assert own.delta == 0.0
    np.testing.assert_allclose(own.influence, [-0.5, 0.5, 0, 0])
    none = effect_of(np.zeros(4), np.array([1, 1, -1, -1]), np.ones(4), kind=MeanRatio)
    assert np.isnan(none.influence).all()


def test_features_that_tell_nothing_change_nothing_and_those_that_tell_all_leave_nothing():
    s, y, w, member = people(0)
    plain, same = effect_of(y, s, w, member), effect_of(y, s, w, member, np.full(len(s), 0.3))
    assert same.delta == pytest.approx(plain.delta)
    np.testing.assert_allclose(same.influence, plain.influence, atol=1e-12)
    known = effect_of(y, s, w, member, np.where(y, 0.999, 0.001))
    assert known.variance() < 0.1 * plain.variance()
    # Where everybody of one side has the outcome its influence is that of the other side alone.
    all_have = effect_of(y | (s > 0), s, w, member, np.full(len(s), 0.3))
    assert np.isfinite(all_have.influence).all()
    assert not all_have.influence[s > 0].any()


@pytest.mark.parametrize("seed", range(3))
def test_rows_outside_have_none(seed):
    s, y, w, member = people(seed)
    psi = log_ratio_influence(y, s, w, member)
    assert not psi[~member].any()
    assert not psi[s == 0].any()
    np.testing.assert_array_equal(
        log_ratio_influence(y, s, w, np.ones(len(s), bool)), log_ratio_influence(y, s, w)
    )


def test_no_influence_where_the_ratio_is_not_defined():
    s = np.array([1, 1, -1, -1])
    y = np.array([True, False, False, False])
    assert np.isnan(log_ratio_influence(y, s, np.ones(4))).all()
    assert np.isnan(paired_interval(math.inf, np.full(4, np.nan), np.zeros(4), 0.95)).all()


def test_mean_influence_gives_the_standard_error_of_a_mean():
    values = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    psi = mean_influence(values, np.full(5, 3.0))
    assert (psi**2).sum() == pytest.approx(values.var() / 5)


def test_pairing_narrows_the_interval_of_models_that_agree():
    """Two models that differ on few rows: the difference is known better than either."""
    rng = np.random.default_rng(0)
    s = rng.choice([-1, 1], 2000)
    y = rng.random(2000) < 0.4
    other = np.where(rng.random(2000) < 0.05, ~y, y)
    a, b = (log_ratio_influence(one, s, np.ones(2000)) for one in (y, other))
    low, high = paired_interval(0.1, a, b, 0.95)
    alone = 1.959964 * math.sqrt((a**2).sum() + (b**2).sum())
    assert high - low < 0.5 * 2 * alone
    assert (low + high) / 2 == pytest.approx(0.1)
    assert paired_interval(0.0, a, a, 0.95) == (0.0, 0.0)
    wide = paired_interval(0.1, a, b, 0.95, spread=1.25)
    assert wide[1] - wide[0] == pytest.approx(1.25 * (high - low))


def test_what_moves_as_models_get_better_may_move_as_far_again():
    """By hand: a difference of .5 that was .9 by lesser models, all but without noise."""
    own, nothing = np.full(100, 1e-4), np.zeros(100)

    def interval(*moves):
        moved = [Effect(move, np.full(100, noise)) for move, noise in moves]
        return paired_interval(0.5, own, nothing, 0.95, moves=moved)

    low, high = interval()
    assert interval((0.4, 0.0)) == pytest.approx((low - 0.4, high))
    assert interval((-0.4, 0.0), (0.1, 0.0)) == pytest.approx((low - 0.1, high + 0.4))
    # A move that its own noise explains is none: 100 rows of .05 have a standard deviation of .5.
    assert interval((0.4, 0.05)) == (low, high)
    # 2 x best - lesser has three times the noise of the best if a lesser one's is its negative.
    wider = interval((0.4, -2e-4))
    assert wider[0] == pytest.approx(0.5 - math.sqrt(0.16 - 4e-6) - 3 * (0.5 - low))


def test_intervals_on_differences_of_fixed_regions_cover():
    """400 draws of two models' outcomes in two overlapping sets, with the truth known."""
    rng = np.random.default_rng(1)
    n, hits = 500, 0
    for _ in range(400):
        s = rng.choice([-1, 1], n)
        x = rng.random(n)
        luck = rng.random(n)
        rates = np.where(s > 0, 0.6, 0.4), np.where(s > 0, 0.5, 0.4)
        first, second = luck < rates[0], luck < rates[1]
        sets = x < 0.6, x > 0.3
        deltas = [
            measure(y, s, np.ones(n), g).delta for y, g in zip((first, second), sets, strict=True)
        ]
        low, high = paired_interval(
            deltas[0] - deltas[1],
            log_ratio_influence(first, s, np.ones(n), sets[0]),
            log_ratio_influence(second, s, np.ones(n), sets[1]),
            0.95,
        )
        hits += low <= math.log(0.6 / 0.4) - math.log(0.5 / 0.4) <= high
    # Three standard errors of a share of 400.
    assert hits / 400 == pytest.approx(0.95, abs=0.033)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_one_person_are_one_term(seed):
    """Every row twice is known no better than once; rows of their own are no clusters."""
    s, y, w, member = people(seed)
    other = np.random.default_rng(seed + 9).random(len(s)) < 0.4

    def interval(copies, cluster):
        twice = [np.repeat(one, copies) for one in (s, w, member)]
        influences = [log_ratio_influence(np.repeat(one, copies), *twice) for one in (y, other)]
        return paired_interval(0.1, *influences, 0.95, cluster=cluster)

    once = interval(1, None)
    assert interval(1, np.arange(len(s))) == once
    assert interval(2, np.repeat(np.arange(len(s)), 2)) == pytest.approx(once)
    assert interval(2, None) == pytest.approx(0.1 + (np.array(once) - 0.1) / math.sqrt(2))


def test_spread_of_a_difference_between_models_of_people_with_several_rows():
    """One to four rows a person with mostly one answer: the interval is as wide as draws differ."""
    rng = np.random.default_rng(0)
    differences, widths, naive = [], [], []
    for _ in range(400):
        cluster = np.repeat(np.arange(300), rng.integers(1, 5, 300))
        s = rng.choice([-1, 1], 300)[cluster]
        weights = rng.uniform(0.5, 2, 300)[cluster]
        models = [
            np.where(
                rng.random(len(s)) < 0.9, (rng.random(300) < 0.5)[cluster], rng.random(len(s)) < 0.5
            )
            for _ in range(2)
        ]
        a, b = (log_ratio_influence(one, s, weights) for one in models)
        own, other = (measure(one, s, weights).delta for one in models)
        differences.append(own - other)
        widths.append(np.ptp(paired_interval(0.0, a, b, 0.95, cluster=cluster)))
        naive.append(np.ptp(paired_interval(0.0, a, b, 0.95)))
    expected = 2 * 1.96 * np.std(differences)
    assert np.mean(widths) == pytest.approx(expected, rel=0.1)
    assert np.mean(naive) < 0.75 * expected
