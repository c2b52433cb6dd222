"""The scores tried, from the difference of rates and the nuisances."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.search.level_sets import Sweep
from mdfa_fairness_plugin.search.orthogonal import (
    SHRINKAGES,
    all_choices,
    oriented,
    orthogonal_families,
    outcome_rate,
    shrunk_ratio,
)
from mdfa_fairness_plugin.search.selection import plateau_thresholds


def test_one_function_serves_all_four_searches():
    """Exchanging S or Y turns the difference; exchanging both leaves it."""
    tau, e, m = np.array([0.2]), np.array([0.3]), np.array([0.6])
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=False, flip_y=False)] == [0.2, 0.3, 0.6]
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=True, flip_y=False)] == [-0.2, 0.7, 0.6]
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=False, flip_y=True)] == [-0.2, 0.3, 0.4]
    assert [float(v[0]) for v in oriented(tau, e, m, flip_s=True, flip_y=True)] == [0.2, 0.7, 0.4]


@pytest.mark.parametrize(
    ("flip_s", "flip_y"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_rates_come_back_from_mean_and_difference(flip_s, flip_y):
    """p1 = .6 and p0 = .2 with e = 1/4: m = .3; every orientation gives the ratio it looks for."""
    tau, e, m = oriented(*(np.array([v]) for v in (0.4, 0.25, 0.3)), flip_s=flip_s, flip_y=flip_y)
    p1, p0 = (0.4, 0.8) if flip_y else (0.6, 0.2)
    if flip_s:
        p1, p0 = p0, p1
    assert shrunk_ratio(tau, e, m, shrinkage=1e-12, rate=0.3)[0] == pytest.approx(math.log(p1 / p0))
    assert shrunk_ratio(tau, e, m, shrinkage=None, rate=0.3)[0] == pytest.approx(p1 - p0)


@pytest.mark.parametrize("shrinkage", SHRINKAGES)
def test_scores_are_zero_where_treated_alike_and_grow_with_the_difference(shrinkage):
    tau = np.linspace(-0.5, 0.5, 21)
    score = shrunk_ratio(tau, np.full(21, 0.5), np.full(21, 0.5), shrinkage=shrinkage, rate=0.4)
    assert score[10] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(score) > 0).all()


def test_shrinking_leads_from_ratio_to_difference():
    """.02 against .01 beats .5 against .3 as a ratio, not as a difference."""
    tau, m, e = np.array([0.01, 0.2]), np.array([0.015, 0.4]), np.full(2, 0.5)
    first = shrunk_ratio(tau, e, m, shrinkage=1e-6, rate=0.2)
    last = shrunk_ratio(tau, e, m, shrinkage=3.0, rate=0.2)
    assert first[0] > first[1]
    assert last[0] < last[1]


def test_estimates_beyond_zero_and_one_are_cut():
    score = shrunk_ratio(np.array([2.0]), np.array([0.5]), np.array([0.5]), shrinkage=0.5, rate=0.2)
    assert score[0] == pytest.approx(math.log(1.1 / 0.1))


def test_families_propose_cuts_half_way_up(make_search):
    """A plateau of height .4: the difference's cut is .2; without a difference nothing is cut."""
    n = 400
    s, positive = np.tile([1, -1], n // 2), np.arange(n) % 5 == 0
    data = make_search(np.zeros(n), s, positive)
    assert outcome_rate(data) == pytest.approx(0.2)
    half = np.full(n, 0.5)
    tau = np.array([np.where(np.arange(n) < 100, 0.4, 0.0), np.zeros(n)])
    families = orthogonal_families(tau, half, half, 0.2)
    assert len(families) == 2 * len(SHRINKAGES)
    assert len({family.name for family in families}) == len(families)
    for choice, family in zip(all_choices(2), families, strict=True):
        assert family.name == choice.name
        assert family.thresholds is None
        cuts = plateau_thresholds(Sweep.of(data, family.scores), data.alpha).tolist()
        if choice.scale == 1:
            assert cuts == []
        elif choice.shrinkage is None:
            assert cuts == [pytest.approx(0.2)]
        else:
            top = math.log((0.7 + choice.shrinkage * 0.2) / (0.3 + choice.shrinkage * 0.2))
            assert cuts == [pytest.approx(top / 2)]


def test_scores_tried_are_worked_by_hand():
    """Rates .5 and .1 where .3 have the outcome: a difference of .4, and ratios shrunk towards it."""
    e, m, tau = np.array([0.25]), np.array([0.2]), np.array([[0.4], [0.0]])
    found = {one.name: one.scores[0] for one in orthogonal_families(tau, e, m, 0.3)}
    expected = {
        f"ratio shrunk by {c}": math.log((0.5 + c * 0.3) / (0.1 + c * 0.3))
        for c in (0.1, 0.25, 0.5, 1, 3)
    }
    expected["difference"] = 0.4
    assert found == pytest.approx(
        {f"{name}, scale 0": value for name, value in expected.items()}
        | {f"{name}, scale 1": 0.0 for name in expected}
    )
