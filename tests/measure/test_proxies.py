"""Bounds where groups are known by probability: exact cells, all joint distributions, certainty."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.measure.proxies import Rows, bounds_of, corrected_of, rows_to_know

# Cells of people alike: share of the people, probability of the group, rate of the outcome.
CELLS = ((0.4, 0.9, 0.8), (0.3, 0.2, 0.1), (0.2, 0.5, 0.5), (0.1, 0.05, 0.9))
N = 20_000


def rows_of(cells, weights=(1.0, 1.0), n=N):
    """Rows with exactly these shares and rates, and what a perfect model says of them."""
    parts = []
    for share, p, rate in cells:
        size = round(share * n)
        y = np.arange(size) < round(rate * size)
        parts.append((y, np.full(size, rate), np.full(size, p)))
    y, m, p = (np.concatenate(own) for own in zip(*parts, strict=True))
    ones = np.ones(len(y))
    return Rows(y, m, p, 1.0 - p, weights[0] * ones, weights[1] * ones)


def log_ratio(cells, both):
    """Log ratio if these shares of each cell have both outcome and group."""
    share, p, rate = np.array(cells).T
    both = np.asarray(both)
    group = share @ both / (share @ p)
    others = share @ (rate - both) / (share @ (1.0 - p))
    return math.log(group / others)


def test_bounds_are_the_extremes_of_all_joint_distributions():
    share, p, rate = np.array(CELLS).T
    least, most = np.maximum(0.0, p + rate - 1.0), np.minimum(p, rate)
    low, high = bounds_of(rows_of(CELLS), 0.95).ends
    assert low == pytest.approx(log_ratio(CELLS, least), abs=1e-9)
    assert high == pytest.approx(log_ratio(CELLS, most), abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(200):
        both = least + rng.random(len(share)) * (most - least)
        assert low - 1e-9 <= log_ratio(CELLS, both) <= high + 1e-9


def test_certain_groups_leave_the_ratio_alone():
    cells = ((0.3, 1.0, 0.6), (0.3, 0.0, 0.2), (0.4, 1.0, 0.3))
    bounds = bounds_of(rows_of(cells), 0.95)
    truth = math.log((0.3 * 0.6 + 0.4 * 0.3) / 0.7 / 0.2)
    assert bounds.ends == (pytest.approx(truth), pytest.approx(truth))
    # Its limits are those of a ratio of two rates.
    error = math.sqrt((1 - 3 / 7) / (3 / 7) / (0.7 * N) + 0.8 / 0.2 / (0.3 * N))
    assert bounds.limits[0] == pytest.approx(truth - 1.959964 * error, abs=1e-4)
    assert bounds.limits[1] == pytest.approx(truth + 1.959964 * error, abs=1e-4)
    assert rows_to_know(bounds, rows_of(cells)) == 0


def test_bad_models_only_widen_bounds():
    rng = np.random.default_rng(1)
    good = rows_of(CELLS)
    low, high = bounds_of(good, 0.95).ends
    for _ in range(20):
        wild = good._replace(predicted=rng.random(len(good.group)))
        wider = bounds_of(wild, 0.95).ends
        assert wider[0] <= low + 0.02
        assert wider[1] >= high - 0.02


def test_exchanging_sides_mirrors_bounds():
    one = rows_of(CELLS, weights=(0.7, 1.3))
    y, m, p, q, w, v, *_ = one
    other = Rows(y, m, q, p, v, w)
    up, down = bounds_of(one, 0.9), bounds_of(other, 0.9)
    np.testing.assert_allclose(up.ends, (-down.ends[1], -down.ends[0]))
    np.testing.assert_allclose(up.limits, (-down.limits[1], -down.limits[0]))


def test_clusters_of_copies_count_once():
    one = rows_of(CELLS, n=1_000)
    twice = Rows(*(np.repeat(own, 2) for own in one[:6]), np.repeat(np.arange(1_000), 2))
    np.testing.assert_allclose(bounds_of(twice, 0.95).limits, bounds_of(one, 0.95).limits)


def test_nobody_with_the_outcome_has_no_bounds():
    rows = rows_of(CELLS)
    nothing = np.zeros(len(rows.group))
    bounds = bounds_of(rows._replace(positive=nothing > 0, predicted=nothing), 0.95)
    assert math.isnan(bounds.ends[0])


def drawn(seed, *, known_if, n=800, apart=1.0):
    """Rows of two groups with rates of .6 and .2, a proxy that knows less, and some known groups."""
    rng = np.random.default_rng(seed)
    s = rng.random(n) < 0.4
    signal = rng.standard_normal(n) + apart * s
    p = 1.0 / (1.0 + np.exp(-(apart * signal - apart**2 / 2 + math.log(0.4 / 0.6))))
    y = rng.random(n) < np.where(s, 0.6, 0.2)
    known = rng.random(n) < known_if[y.astype(int)]
    group = np.where(known, s, p)
    ones = np.ones(n)
    return Rows(y, 0.36 * ones, group, 1.0 - group, ones, ones, told=p), s


@pytest.mark.parametrize("known_if", [np.array([0.25, 0.25]), np.array([0.1, 0.5])])
def test_corrected_intervals_hold_the_truth(known_if):
    z, delta = [], []
    for seed in range(300):
        rows, _ = drawn(seed, known_if=known_if)
        own = corrected_of(rows, adjusts=False)
        delta.append(own.delta)
        z.append((own.delta - math.log(3.0)) / own.error)
    assert np.median(delta) == pytest.approx(math.log(3.0), abs=0.05)
    assert 0.92 < np.mean(np.abs(z) < 1.959964) < 0.99


def test_as_many_known_rows_as_asked_for_leave_less_open_than_the_bounds():
    for apart in (2.0, 3.0):
        bare, _ = drawn(0, known_if=np.zeros(2), n=5_000, apart=apart)
        bounds = bounds_of(bare._replace(told=None), 0.95)
        share = rows_to_know(bounds, bare) / len(bare.group)
        told = [drawn(i, known_if=np.full(2, share), n=5_000, apart=apart)[0] for i in range(8)]
        made = [own for own in (corrected_of(own, adjusts=False) for own in told) if own]
        widths = [2.0 * 1.959964 * own.error for own in made]
        assert 0.5 < np.median(widths) / np.ptp(bounds.ends) < 1.1


def test_all_groups_known_are_the_rates_themselves():
    rows, s = drawn(0, known_if=np.ones(2))
    own = corrected_of(rows, adjusts=False)
    rates = rows.positive[s].mean(), rows.positive[~s].mean()
    np.testing.assert_allclose(own.rates, rates)
    error = sum((1 - r) / r / n for r, n in zip(rates, (s.sum(), (~s).sum()), strict=True))
    assert own.error == pytest.approx(math.sqrt(error))
    turned = rows._replace(
        group=rows.others, others=rows.group, told=1.0 - rows.told, predicted=rows.predicted
    )
    again = corrected_of(turned, adjusts=True)
    assert again.delta == pytest.approx(-corrected_of(rows, adjusts=True).delta)


def test_few_known_groups_correct_nothing():
    rows, _ = drawn(0, known_if=np.array([0.5, 0.02]))
    assert corrected_of(rows, adjusts=False) is None
