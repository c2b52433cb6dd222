"""Means of numbers: against scipy, by hand, and against what they are of rows one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from mdfa_fairness_plugin.measure.estimates import measure, measure_leftover
from mdfa_fairness_plugin.measure.intervals import (
    delta_interval,
    difference_interval,
    gamma_interval,
    mass_interval,
    standard_errors,
)
from mdfa_fairness_plugin.measure.means import KINDS, MeanDifference, MeanRatio
from mdfa_fairness_plugin.measure.power import Plan
from mdfa_fairness_plugin.search.level_sets import Bins, Sweep, Tally

N = 400


@pytest.fixture
def drawn():
    """Numbers of two sides, what is expected of them, weights and a set."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, N)
    s = np.where(rng.random(N) < 0.4, 1, -1)
    y = 5.0 + 2.0 * x + rng.standard_normal(N) - 0.5 * (s > 0)
    return {
        "y": y,
        "s": s,
        "m": 5.0 + 2.0 * x,
        "w": rng.uniform(0.5, 2.0, N),
        "member": x > -0.5,
        "x": x,
    }


@pytest.mark.parametrize("kind", [MeanDifference, MeanRatio])
def test_estimates_are_those_of_the_rows(drawn, kind):
    y, s, m, w, member = (drawn[name] for name in ("y", "s", "m", "w", "member"))
    rates = measure(y, s, w, member, kind=kind)
    leftover = measure_leftover(y, s, w, m, member)
    own, _ = rates.known(leftover)
    sides = [member & (s == side) for side in (1, -1)]
    p = [np.average(y[rows], weights=w[rows]) for rows in sides]
    q = [np.average(m[rows], weights=w[rows]) for rows in sides]
    expected = [a - b + np.mean(q) for a, b in zip(p, q, strict=True)]
    np.testing.assert_allclose(own.rates, expected, rtol=1e-12)
    by_hand = expected[0] - expected[1]
    if kind is MeanRatio:
        by_hand = math.log(expected[0] / expected[1])
    assert own.delta == pytest.approx(by_hand, abs=1e-12)
    shares = [w[rows].sum() / w[s == side].sum() for rows, side in zip(sides, (1, -1), strict=True)]
    assert own.mass == pytest.approx(np.mean(shares))
    assert math.isnan(own.gamma)
    assert np.isnan(gamma_interval(rates, 0.95, 1.0, leftover)).all()
    low, high = mass_interval(rates, 0.95)
    assert low < own.mass < high


def test_interval_is_nearly_welchs():
    """Of many normal numbers with nothing expected of them."""
    rng = np.random.default_rng(0)
    s = np.where(np.arange(3_000) % 3 == 0, 1, -1)
    y = rng.normal(2.0, np.where(s > 0, 1.0, 2.0))
    ones, level = np.ones(len(y)), np.full(len(y), y.mean())
    rates = measure(y, s, ones, kind=MeanDifference)
    found = difference_interval(rates, 0.95, 1.0, measure_leftover(y, s, ones, level))
    welch = stats.ttest_ind(y[s > 0], y[s < 0], equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(found, welch, rtol=2e-3)
    assert delta_interval(rates, 0.95, 1.0, measure_leftover(y, s, ones, level)) == found


def test_students_quantile_to_first_order():
    for freedom in (10.0, 30.0, 200.0):
        low, _ = MeanDifference.limits(
            np.array([0.0, 0.0]), np.array([[1.0, 0.0], [freedom, np.inf]]), 1.96
        )
        assert -low == pytest.approx(stats.t.ppf(stats.norm.cdf(1.96), freedom), rel=0.02)


def test_outliers_leave_few_degrees_of_freedom():
    rng = np.random.default_rng(1)
    s = np.where(np.arange(1_000) % 2, 1, -1)
    for y, least, most in (
        (rng.standard_normal(1_000), 300, 510),
        (rng.lognormal(0, 1.5, 1_000), 1, 60),
    ):
        ones = np.ones(len(y))
        rates = measure(y, s, ones, kind=MeanDifference)
        _, known = rates.known(measure_leftover(y, s, ones, np.full(len(y), y.mean())))
        assert ((known[1] > least) & (known[1] < most)).all()


@pytest.mark.parametrize("kind", ["difference", "ratio"])
def test_less_is_more_of_minus_the_number(drawn, kind):
    y, s, m, w, member = (drawn[name] for name in ("y", "s", "m", "w", "member"))
    more = measure(y, s, w, member, kind=KINDS[kind])
    less = measure(-y, s, w, member, kind=KINDS[kind])
    over, under = (measure_leftover(own, s, w, e, member) for own, e in ((y, m), (-y, -m)))
    assert less.at_same_features(under).delta == pytest.approx(-more.at_same_features(over).delta)
    up, down = delta_interval(more, 0.9, 1.2, over), delta_interval(less, 0.9, 1.2, under)
    np.testing.assert_allclose(up, (-down[1], -down[0]))
    z = standard_errors(more, over), standard_errors(less, under)
    assert z[0] == pytest.approx(-z[1], abs=1e-6)


def test_interval_ends_where_the_standard_errors_say(drawn):
    rates = measure(drawn["y"], drawn["s"], drawn["w"], None, kind=MeanDifference)
    leftover = measure_leftover(drawn["y"], drawn["s"], drawn["w"], drawn["m"])
    for least in (-0.4, 0.0, 0.3):
        z = standard_errors(rates, leftover, least)
        low, high = delta_interval(rates, 0.95, abs(z) / stats.norm.ppf(0.975), leftover)
        assert (low if z > 0 else high) == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("kind", [MeanDifference, MeanRatio])
def test_level_sets_are_what_is_measured_in_them(drawn, kind, clustered):
    y, s, m, w, x = (drawn[name] for name in ("y", "s", "m", "w", "x"))
    cluster = np.arange(N) // 2 if clustered else None
    score = np.repeat(x[::2], 2).round(2)  # a cluster's rows have one score
    bins, nobody = Bins.of(score), np.zeros(N, dtype=np.intp)
    tally = Tally.of_means(
        bins.index(score), len(bins), s, y, w, nobody, 1, predicted=m, cluster=cluster
    )
    sweep = Sweep(tally.total(), bins, 0.95, 1.0, kind)
    cuts = np.array([0.5, 0.0, -0.6])
    found = sweep.at(cuts)
    for i, cut in enumerate(cuts):
        member = score >= cut
        rates = measure(y, s, w, member, cluster, kind)
        own, known = rates.known(measure_leftover(y, s, w, m, member, cluster))
        assert found.delta[i] == pytest.approx(own.delta, abs=1e-12)
        assert found.mass[i] == pytest.approx(own.mass, abs=1e-12)
        if clustered:
            continue  # of clusters on both sides bins know no more than a bound
        low, high = kind.limits(own.rates, np.array([known[0], [np.inf, np.inf]]), 1.959964)
        assert found.low[i] == pytest.approx(low, rel=0.03, abs=0.01)
        assert found.high[i] == pytest.approx(high, rel=0.03, abs=0.01)
    halves = [
        Tally.of_means(
            bins.index(score)[half],
            len(bins),
            s[half],
            y[half],
            w[half],
            nobody[half],
            1,
            predicted=m[half],
            cluster=None,
        )
        for half in (slice(None, 200), slice(200, None))
    ]
    if not clustered:
        np.testing.assert_allclose((halves[0] + halves[1]).counts, tally.counts)


def test_detectable_difference_worked_for_a_set_of_everybody():
    """Of a plant that is everybody only its own error counts, as for a test of two means."""
    plan = Plan(
        sizes=(500.0, 500.0), rate=0.0, mass=1.0, level=0.05, noise=1.0, least=0.0,
        kind=MeanDifference,
    )  # fmt: skip
    found = plan.detectable()
    # Two-sided 5 % by the choice between everybody and a part, and 80 % power.
    error = math.sqrt(2 / 500)
    assert (1.645 + 0.84) * error < found < (2.6 + 0.84) * error
    larger = [
        Plan(
            sizes=(n, n), rate=0.0, mass=0.1, level=0.05, noise=1.0, least=0.0, kind=MeanDifference
        ).detectable()
        for n in (200.0, 2_000.0, 20_000.0)
    ]
    assert larger[0] > larger[1] > larger[2] > 0
