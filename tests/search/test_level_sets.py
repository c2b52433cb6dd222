"""Level sets read off by sorting are what measuring each of them gives."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import replace

import numpy as np
import pytest

from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.search.level_sets import Bins, Sweep, Tally


def random_search(make_search, seed, n=300, decimals=1):
    rng = np.random.default_rng(seed)
    s = rng.choice([-1, 1], n)
    data = make_search(
        np.zeros(n),
        s,
        rng.random(n) < 0.4,
        weights=rng.uniform(0.2, 3.0, n),
        held_out=rng.random(n) < 0.6,
    )
    return data, np.round(rng.normal(size=n), decimals)


@pytest.mark.parametrize("seed", range(5))
def test_every_level_set_is_measured_as_if_alone(make_search, seed):
    """Ties, thresholds between scores and beyond them included; held-out rows only."""
    data, scores = random_search(make_search, seed)
    thresholds = np.r_[np.unique(scores)[::-1], 0.05, -0.333, -np.inf]
    sets = Sweep.of(data, scores).at(thresholds)
    held = data.held_out
    for i, threshold in enumerate(thresholds):
        member = scores[held] >= threshold
        rates = measure(data.positive[held], data.s[held], data.weights[held], member)
        assert sets.delta[i] == pytest.approx(rates.delta, abs=1e-9, nan_ok=True)
        if not math.isnan(rates.mass):
            assert sets.mass[i] == pytest.approx(rates.mass, abs=1e-9)
        low, high = delta_interval(rates, 0.95)
        assert sets.low[i] == pytest.approx(low, abs=1e-9, nan_ok=True)
        assert sets.high[i] == pytest.approx(high, abs=1e-9, nan_ok=True)
        assert sets.n_rows[i] == member.sum()
        sides = data.s[held][member]
        assert sets.fewest[i] == min((sides > 0).sum(), (sides < 0).sum())


def test_nothing_beyond_the_largest_score_and_everybody_at_the_bottom(make_search):
    data, scores = random_search(make_search, 7)
    sets = Sweep.of(data, scores).at([np.inf, -np.inf])
    assert sets.n_rows.tolist() == [0, int(data.held_out.sum())]
    assert math.isnan(sets.delta[0])
    assert sets.mass[0] == 0.0


def test_rows_that_are_not_held_out_change_nothing(make_search):
    data, scores = random_search(make_search, 8)
    wild = np.where(data.held_out, scores, 1e9)
    one, two = Sweep.of(data, scores).at([0.0]), Sweep.of(data, wild).at([0.0])
    assert (one.delta[0], one.n_rows[0]) == (two.delta[0], two.n_rows[0])


def test_held_out_rows_of_learning_folds_decide_or_all_where_there_are_none(make_search):
    held, folds = np.array([True, True, False, False]), np.array([0, -1, 1, -1])
    data = make_search(np.zeros(4), [1, -1, 1, -1], [True] * 4, folds=folds, held_out=held)
    assert data.deciding.tolist() == [True, False, False, False]
    none = replace(data, folds=np.where(held, -1, 0))
    assert none.deciding.tolist() == held.tolist()


def test_quantiles_are_reached_by_the_share_asked_for(make_search):
    """Of ten scores 1 to 10 the top tenth is 10, the top half 6 and more, all of them 1."""
    data = make_search(np.zeros(10), [1, -1] * 5, [True] * 10)
    sweep = Sweep.of(data, np.arange(1.0, 11.0))
    assert sweep.quantiles(np.array([0.1, 0.5, 1.0, 0.0])).tolist() == [10.0, 6.0, 1.0, 10.0]


def test_smallest_set_with_the_mass_and_rows_worked_by_hand(make_search):
    """Pairs of one row per side, all with the outcome: k pairs of ten have mass k / 10."""
    s = np.array([1, -1] * 10)
    data = make_search(np.zeros(20), s, np.ones(20, bool))
    scores = np.repeat(np.arange(10, 0, -1.0), 2)
    sweep = Sweep.of(data, scores)
    assert sweep.smallest(0.3, 1) == 8.0
    assert sweep.smallest(0.31, 1) == 7.0
    assert sweep.smallest(0.1, 4) == 7.0
    assert sweep.smallest(0.3, 11) == -np.inf
    assert sweep.smallest(0.3, 10) == 1.0


def test_mass_out_of_reach_leaves_everybody(make_search):
    data = make_search(np.zeros(4), [1, -1, 1, -1], [True, False, False, False])
    assert Sweep.of(data, np.arange(4.0)).smallest(0.9, 1) == -np.inf


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_any_parts_add_up_to_those_of_all_rows(make_search, seed):
    """One block, three uneven parts, every row by itself: the same path, to the last bit."""
    data, scores = random_search(make_search, seed)
    # Quarters add up exactly in floating point, in any order.
    data = replace(data, weights=np.round(data.weights * 4) / 4, held_out=np.ones(300, bool))
    bins = Bins.of(scores)
    rng = np.random.default_rng(seed)
    paths = []
    for part in (np.zeros(300, int), rng.choice(3, 300, p=[0.7, 0.25, 0.05]), rng.permutation(300)):
        blocks = [
            Tally.of(
                bins.index(scores[part == i]),
                len(bins),
                data.s[part == i],
                data.positive[part == i],
                data.weights[part == i],
                np.zeros(int((part == i).sum()), int),
                1,
            ).total()
            for i in range(part.max() + 1)
        ]
        total = functools.reduce(operator.add, blocks)
        at_once = Tally.of(
            bins.index(scores),
            len(bins),
            data.s,
            data.positive,
            data.weights,
            part,
            part.max() + 1,
        )
        np.testing.assert_array_equal(at_once.total().counts, total.counts)
        np.testing.assert_array_equal((at_once.total(0) + blocks[0]).counts, total.counts)
        paths.append(Sweep(total, bins, 0.95, 1.25).at(np.append(bins.edges, -np.inf)))
    for path in paths[1:]:
        for name in ("delta", "low", "high", "mass", "n_rows", "fewest", "error"):
            np.testing.assert_array_equal(getattr(path, name), getattr(paths[0], name))


def test_many_scores_are_counted_in_bins_of_equal_shares(make_search):
    """20,000 scores in 2,048 bins: a cut is kept to one row in two thousand, and is what it says."""
    rng = np.random.default_rng(0)
    n = 20_000
    s = rng.choice([-1, 1], n)
    data = make_search(np.zeros(n), s, rng.random(n) < 0.4)
    scores = rng.exponential(size=n)
    sweep = Sweep.of(data, scores)
    for wanted in (0.01, 0.7, 3.0):
        cut = sweep.snap(wanted)
        inside = int((scores >= cut).sum())
        assert sweep.at([cut]).n_rows[0] == inside
        assert abs(inside - (scores >= wanted).sum()) <= n / 2000
    (cut,) = sweep.quantiles(np.array([0.3]))
    assert (scores >= cut).mean() == pytest.approx(0.3, abs=1 / 2000)
    assert sweep.snap(-np.inf) == -np.inf
    assert Bins.of(scores).index(np.array([-5.0, 1e9])).tolist() == [0, len(Bins.of(scores)) - 1]
