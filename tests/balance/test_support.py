"""Common support: which rows it leaves out, and what it says."""

import numpy as np
import pytest

from mdfa_fairness_plugin.balance.support import (
    check_support,
    common_support,
    effective_sample_size,
)
from mdfa_fairness_plugin.exceptions import OverlapError
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability


def _groups(*counts_and_propensity):
    """Rows from (number of S = +1, number of S = -1, propensity)."""
    s = np.concatenate([np.repeat([1, -1], [a, b]) for a, b, _ in counts_and_propensity])
    e = np.concatenate([np.full(a + b, p) for a, b, p in counts_and_propensity])
    return e, s


def test_nothing_is_outside_where_groups_are_alike():
    e, s = _groups((100, 100, 0.5))
    assert common_support(e, s).all()
    noise = np.random.default_rng(0).normal(0, 0.02, size=200)
    assert common_support(e + noise, s).all()


def test_everything_is_outside_where_features_tell_the_group():
    """However timid the model: it only has to rank the groups apart."""
    e, s = _groups((500, 0, 0.93), (0, 500, 0.07))
    assert not common_support(e, s).any()


def test_rows_beyond_the_other_group_are_outside():
    """20 rows at 0.99 with three comparable ones, out of a thousand on each side."""
    e, s = _groups((980, 997, 0.5), (20, 3, 0.99))
    inside = common_support(e, s)
    assert inside[e == 0.5].all()
    assert not inside[e == 0.99].any()


@pytest.mark.parametrize(("comparable", "enough"), [(10, True), (9, False)])
def test_ten_comparable_rows_are_enough(comparable, enough):
    e, s = _groups((1_980, 2_000 - comparable, 0.5), (20, comparable, 0.99))
    assert common_support(e, s)[e == 0.99].all() == enough


def test_groups_below_a_thousand_rows_need_fewer():
    """One in a hundred of 500 is five."""
    e, s = _groups((480, 495, 0.5), (20, 5, 0.99))
    assert common_support(e, s).all()
    e, s = _groups((480, 496, 0.5), (20, 4, 0.99))
    assert not common_support(e, s)[e == 0.99].any()


def test_a_rare_group_is_not_cut_off_for_being_rare():
    """Propensities vary by chance around the group's share of 2 %."""
    _, s = _groups((40, 1960, 0.02))
    e = 0.02 + np.random.default_rng(0).uniform(-0.01, 0.01, size=2_000)
    assert common_support(e, s).all()


def test_the_rule_is_symmetric_in_the_groups():
    rng = np.random.default_rng(4)
    e = rng.beta(0.4, 0.4, size=2_000)
    s = np.where(rng.random(2_000) < e, 1, -1)
    inside = common_support(e, s)
    assert 0 < (~inside).sum() < 1_000
    assert (common_support(1 - e, -s) == inside).all()


def test_integer_weights_act_like_repeated_rows():
    rng = np.random.default_rng(5)
    e = rng.beta(0.4, 0.4, size=500)
    s = np.where(rng.random(500) < e, 1, -1)
    copies = rng.integers(1, 5, size=500)
    weighted = common_support(e, s, copies)
    repeated = common_support(np.repeat(e, copies), np.repeat(s, copies))
    assert (np.repeat(weighted, copies) == repeated).all()


@pytest.mark.parametrize("seed", range(8))
def test_support_by_its_definition_row_by_row(seed):
    """With ties, weights of different sizes and propensities of 0 and 1."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 1_500))
    e = np.round(rng.beta(0.3, 0.3 + seed % 2, size=n), int(rng.integers(1, 4)))
    s = np.where(rng.random(n) < 0.1 + 0.8 * e, 1, -1)
    weight = rng.exponential(size=n) if seed % 3 else np.ones(n)
    total = {side: weight[s == side].sum() for side in (1, -1)}
    expected = []
    for own in e:
        with np.errstate(divide="ignore"):
            ratio = np.divide(own, 1 - own) / (total[1] / total[-1])
        above = weight[(s == -1) & (e >= own)].sum()
        below = weight[(s == 1) & (e <= own)].sum()
        high = ratio > 9 and above < np.clip(0.01 * total[-1], 3, 10)
        low = ratio < 1 / 9 and below < np.clip(0.01 * total[1], 3, 10)
        expected.append(not (high or low))
    assert common_support(e, s, weight).tolist() == expected


def test_one_group_alone_has_no_support():
    assert not common_support(np.full(5, 0.9), np.ones(5)).any()


def test_refusal_names_counts_share_and_ways_out():
    e, s = _groups((980, 997, 0.5), (20, 3, 0.99))
    with pytest.raises(OverlapError, match="23 of 2000 rows") as caught:
        check_support(e, s, policy="refuse")
    message = str(caught.value)
    for part in ("1.1 %", "20 of the 1000 rows of the group", "overlap='trim'", "coarser"):
        assert part in message


def test_refusing_puts_up_with_nobody_outside():
    assert check_support(*_groups((50, 50, 0.5)), policy="refuse").mask.all()


def test_trimming_counts_what_it_leaves_out():
    e, s = _groups((980, 997, 0.5), (20, 3, 0.99))
    found = check_support(e, s)
    assert found.n_outside == 23
    assert found.share_outside == pytest.approx(23 / 2000)
    assert found.mask.sum() == 1977


def test_trimming_refuses_when_too_little_is_left():
    """The features equal the sensitive attribute."""
    rng = np.random.default_rng(6)
    s = rng.choice([-1, 1], 600)
    X = np.column_stack([s, rng.normal(size=600)]).astype(float)
    e = cross_fitted_probability(X, s > 0, np.arange(600) % 5).out_of_fold
    with pytest.raises(OverlapError, match="would keep only") as caught:
        check_support(e, s, policy="trim")
    assert isinstance(caught.value, ValueError)


def test_effective_sample_size_in_closed_form():
    assert effective_sample_size(np.ones(7)) == pytest.approx(7.0)
    assert effective_sample_size(np.array([1.0, 0.0, 0.0])) == pytest.approx(1.0)
    assert effective_sample_size(np.array([3.0, 1.0])) == pytest.approx(16 / 10)
    assert effective_sample_size(np.zeros(3)) == 0.0
