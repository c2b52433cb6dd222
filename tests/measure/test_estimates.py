"""Rates, delta, mass, gamma and what the features leave of them, against tables worked by hand."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdfa_fairness_plugin.measure.estimates import (
    adjusted_rates,
    certificate_strength,
    estimates_of,
    lemma_strength,
    log_ratio,
    measure,
    measure_leftover,
    robust_sums,
)


def all_estimates(positive, s, base, weights, member, e, m):
    """Delta of one subgroup by every estimator."""
    return estimates_of(
        measure(positive, s, weights, member),
        measure(positive, s, base, member),
        robust_sums(positive, s, base, member, e, m),
    )


def by_lemma(positive, s, weights, member):
    """Gamma of one subgroup by Lemma 1."""
    return lemma_strength(measure(positive, s, weights), measure(positive, s, weights, member))


def table(counts):
    """Rows of a 2 x 2 table: [[S+ Y+, S+ Y-], [S- Y+, S- Y-]]."""
    (a, b), (c, d) = counts
    s = np.repeat([1, 1, -1, -1], [a, b, c, d])
    positive = np.repeat([True, False, True, False], [a, b, c, d])
    return positive, s, np.ones(a + b + c + d)


def random_rows(seed, n=200):
    rng = np.random.default_rng(seed)
    s = rng.choice([-1, 1], n)
    s[:2] = 1, -1
    return rng.random(n) < 0.4, s, rng.uniform(0.1, 3.0, n), rng.random(n) < 0.5


def test_table_worked_by_hand():
    """30 of 40 against 10 of 40: ratio 3, mass 1/2, gamma 1/2 (3/4 - 1/2) = 1/8."""
    rates = measure(*table([[30, 10], [10, 30]]))
    assert rates.rates.tolist() == [0.75, 0.25]
    assert rates.delta == pytest.approx(math.log(3), abs=1e-12)
    assert rates.share == 1.0
    assert rates.mass == pytest.approx(0.5, abs=1e-12)
    assert rates.gamma == pytest.approx(0.125, abs=1e-12)
    assert rates.effective_sizes.tolist() == [40.0, 40.0]


def test_subset_worked_by_hand():
    """G holds half of both sides; inside, 8 of 10 against 2 of 10: mass 1/4, gamma 3/40."""
    positive, s, _ = table([[8, 2], [2, 8]])
    positive, s = np.r_[positive, np.zeros(20, bool)], np.r_[s, np.repeat([1, -1], 10)]
    member = np.r_[np.ones(20, bool), np.zeros(20, bool)]
    rates = measure(positive, s, np.ones(40), member)
    assert rates.delta == pytest.approx(math.log(4), abs=1e-12)
    assert rates.share == pytest.approx(0.5, abs=1e-12)
    assert rates.mass == pytest.approx(0.25, abs=1e-12)
    assert rates.gamma == pytest.approx(0.075, abs=1e-12)
    assert measure(positive, s, np.ones(40)).share == 1.0


def test_weights_remove_confounding_worked_by_hand():
    """Both groups have rates .5 in A and .1 in B, but live in A to 20 % and 80 %.

    Observed, 18 % stand against 42 %. Weighted by Pr[S = -1 | x] / Pr[S = +1 | x], 4 in A and 1/4
    in B, the group has 42 % too.
    """
    cells = [(1, 0, 10, 10), (1, 1, 8, 72), (-1, 0, 40, 40), (-1, 1, 2, 18)]
    s = np.concatenate([np.full(hit + miss, side) for side, _, hit, miss in cells])
    x = np.concatenate([np.full(hit + miss, cell) for _, cell, hit, miss in cells])
    y = np.concatenate([np.r_[np.ones(hit, bool), np.zeros(m, bool)] for *_, hit, m in cells])
    weights = np.where(s > 0, np.where(x == 0, 4.0, 0.25), 1.0)
    everybody, base = np.ones(len(s), dtype=bool), np.ones(len(s))
    rates = measure(y, s, weights)
    assert rates.rates == pytest.approx([0.42, 0.42], abs=1e-12)
    assert rates.delta == pytest.approx(0.0, abs=1e-12)
    e = np.where(x == 0, 0.2, 0.8)
    m = np.where(x == 0, 0.5, 0.1)
    estimates = all_estimates(y, s, base, weights, everybody, e, m)
    assert estimates["hajek"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["doubly_robust"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["raw"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["unweighted"] == pytest.approx(math.log(18 / 42), abs=1e-12)


def test_all_estimators_agree_where_nothing_confounds():
    """Without features the doubly robust rates are the rates, whatever the sizes of the sides."""
    positive, s, ones = table([[30, 10], [20, 60]])
    everybody = np.ones(len(s), dtype=bool)
    e, m = np.full(len(s), (s > 0).mean()), np.full(len(s), positive.mean())
    estimates = all_estimates(positive, s, ones, ones, everybody, e, m)
    assert set(estimates) == {"hajek", "raw", "unweighted", "doubly_robust"}
    for value in estimates.values():
        assert value == pytest.approx(math.log(3), abs=1e-12)


def test_raw_counts_mistake_an_unbalanced_subgroup_for_a_violation():
    """Rates are equal in G, but G holds half of the group and a quarter of the others."""
    positive, s, _ = table([[10, 10], [5, 5]])
    positive = np.r_[positive, np.zeros(50, bool)]
    s = np.r_[s, np.repeat([1, -1], [20, 30])]
    member = np.arange(80) < 30
    ones, half = np.ones(80), np.full(80, 0.5)
    estimates = all_estimates(positive, s, ones, ones, member, half, half)
    assert estimates["hajek"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["raw"] == pytest.approx(math.log(2), abs=1e-12)


def test_doubly_robust_rates_are_the_overlap_weighted_ones():
    """Two towns and their true nuisances; the group's rate is .2 higher in both.

    Overlap ``N e (1 - e)`` is 16 in A and 75 in B, so the rates are (16 .3 + 75 .7) / 91 against
    (16 .1 + 75 .5) / 91. Rows stand for as many people as a table of 100 and 300 has.
    """
    towns = [(100.0, 0.2, 0.1), (300.0, 0.5, 0.5)]
    rows = [
        (side, hit, n * (e if side > 0 else 1 - e) * (p if hit else 1 - p), e, p0 + 0.2 * e)
        for n, e, p0 in towns
        for side, p in ((1, p0 + 0.2), (-1, p0))
        for hit in (True, False)
    ]
    s, positive, base, e, m = (np.array(column) for column in zip(*rows, strict=True))
    sums = robust_sums(positive, s, base, np.ones(8, bool), e, m)
    assert sums == pytest.approx([91, 91 * 0.2, 91, 16 * 0.14 + 75 * 0.6, 16 * 0.2 + 75 * 0.5])
    found = all_estimates(positive, s, base, base, np.ones(8, bool), e, m)["doubly_robust"]
    assert found == pytest.approx(math.log((16 * 0.3 + 75 * 0.7) / (16 * 0.1 + 75 * 0.5)))


@pytest.mark.parametrize(
    ("covariance", "delta"), [(0.5, math.log(0.55 / 0.05)), (0.7, math.inf), (-0.7, -math.inf)]
)
def test_doubly_robust_rates_end_at_zero(covariance, delta):
    """Half are of the group and .3 have the outcome: rates .3 plus and minus half the difference."""
    rates = measure(*table([[3, 7], [3, 7]]))
    sums = np.array([1.0, covariance, 1.0, 0.3, 0.5])
    assert estimates_of(rates, rates, sums)["doubly_robust"] == pytest.approx(delta)


def test_doubly_robust_is_unknown_without_rows():
    positive, s, ones = table([[3, 3], [3, 3]])
    half = np.full(12, 0.5)
    estimates = all_estimates(positive, s, ones, ones, np.zeros(12, bool), half, half)
    assert all(math.isnan(value) for value in estimates.values())


# -- gamma


@settings(max_examples=50, deadline=None)
@given(group=st.floats(0.01, 1.0), others=st.floats(0.01, 1.0), share=st.floats(0.01, 1.0))
def test_strength_from_mass_and_delta_is_the_difference_of_rates(group, others, share):
    """mass (e^d / (1 + e^d) - 1/2) = share (p1 - p0) / 4."""
    mass = share * (group + others) / 2
    strength = certificate_strength(mass, log_ratio(group, others))
    assert strength == pytest.approx(share * (group - others) / 4, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_gamma_of_any_subgroup_is_its_certificate_strength(seed):
    rates = measure(*random_rows(seed))
    assert rates.gamma == pytest.approx(
        float(certificate_strength(rates.mass, rates.delta)), abs=1e-12
    )


def test_strength_limits():
    """Nobody else has the outcome: half of the mass. Equal rates: none. The wrong way: negative."""
    np.testing.assert_allclose(
        certificate_strength([0.2, 0.2, 0.2], [math.inf, 0.0, -math.inf]), [0.1, 0.0, -0.1]
    )


@pytest.mark.parametrize("seed", range(5))
def test_lemma_is_the_definition_plus_imbalance_inside_the_subgroup(seed):
    """Pr[c = SY] - 1 + rho = 2 (a - b) + Pr[G, S = -1] - Pr[G, S = +1], each side half."""
    positive, s, weights, member = random_rows(seed)
    half = np.where(s > 0, weights / weights[s > 0].sum(), weights / weights[s < 0].sum()) / 2
    a = half[(s > 0) & positive & member].sum()
    b = half[(s < 0) & positive & member].sum()
    imbalance = half[(s < 0) & member].sum() - half[(s > 0) & member].sum()
    assert by_lemma(positive, s, weights, member) == pytest.approx(
        (2 * (a - b) + imbalance) / 4, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
def test_lemma_and_definition_agree_where_the_subgroup_is_balanced(seed):
    positive, s, weights, member = random_rows(seed)
    # Rescaled so that G holds four tenths of the weight of either side.
    for side in (1, -1):
        for inside, share in ((True, 0.4), (False, 0.6)):
            rows = (s == side) & (member == inside)
            weights[rows] *= share / weights[rows].sum()
    assert by_lemma(positive, s, weights, member) == pytest.approx(
        measure(positive, s, weights, member).gamma, abs=1e-12
    )


# -- limits and invariances


@pytest.mark.parametrize(
    ("counts", "delta"),
    [
        ([[5, 5], [0, 10]], math.inf),
        ([[0, 10], [5, 5]], -math.inf),
        ([[0, 10], [0, 10]], math.nan),
        ([[10, 0], [10, 0]], 0.0),
        ([[5, 5], [0, 0]], math.nan),
        ([[0, 0], [5, 5]], math.nan),
    ],
)
def test_empty_cells_give_limits_and_no_warning(counts, delta):
    positive, s, weights = table(counts)
    found = measure(np.r_[positive, True, True], np.r_[s, 1, -1], np.r_[weights, 0.0, 0.0]).delta
    assert found == pytest.approx(delta, nan_ok=True)


def test_empty_subgroup_has_no_rates():
    positive, s, weights = table([[5, 5], [5, 5]])
    rates = measure(positive, s, weights, np.zeros(20, bool))
    assert math.isnan(rates.delta)
    assert math.isnan(rates.mass)
    assert rates.share == 0.0
    assert rates.effective_sizes.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(5))
def test_integer_weights_act_like_repeated_rows(seed):
    """A weight of three and three copies are the same evidence on delta, mass and gamma."""
    positive, s, _, member = random_rows(seed)
    copies = np.random.default_rng(seed).integers(1, 5, size=200)
    weighted = measure(positive, s, copies.astype(float), member)
    rows = np.repeat(np.arange(200), copies)
    repeated = measure(positive[rows], s[rows], np.ones(len(rows)), member[rows])
    for name in ("delta", "mass", "gamma", "share"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-12)
    # ... but not on precision: weights of single rows are worth no more than the rows there are.
    assert (weighted.effective_sizes < repeated.effective_sizes).all()


@pytest.mark.parametrize("seed", range(5))
def test_scale_of_either_sides_weights_is_no_matter(seed):
    positive, s, weights, member = random_rows(seed)
    one = measure(positive, s, weights, member)
    two = measure(positive, s, np.where(s > 0, 7.0, 0.5) * weights, member)
    for name in ("delta", "mass", "gamma", "share"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), abs=1e-12)
    np.testing.assert_allclose(one.effective_sizes, two.effective_sizes, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_exchanging_the_sides_turns_the_signs(seed):
    positive, s, weights, member = random_rows(seed)
    one, two = measure(positive, s, weights, member), measure(positive, -s, weights, member)
    assert one.delta == pytest.approx(-two.delta, abs=1e-12)
    assert one.gamma == pytest.approx(-two.gamma, abs=1e-12)
    assert one.mass == pytest.approx(two.mass, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_effective_size_is_at_most_kishs(seed):
    positive, s, weights, member = random_rows(seed)
    rates = measure(positive, s, weights, member)
    for side, size in zip((1, -1), rates.effective_sizes, strict=True):
        own = weights[member & (s == side)]
        assert 0 < size <= own.sum() ** 2 / (own**2).sum() + 1e-9


def test_heavy_rows_with_the_outcome_shrink_the_effective_size():
    """If the few heavy rows have the outcome the rate is less sure than Kish's size says."""
    positive = np.r_[np.ones(50, bool), np.zeros(450, bool)]
    weights = np.r_[np.full(50, 10.0), np.ones(450)]
    sides = np.r_[np.ones(500), -np.ones(500)]
    rates = measure(np.tile(positive, 2), sides, np.tile(weights, 2))
    kish = weights.sum() ** 2 / (weights**2).sum()
    p = 500 / 950
    variance = (50 * 100 * (1 - p) ** 2 + 450 * p**2) / 950**2
    assert rates.effective_sizes == pytest.approx([min(kish, p * (1 - p) / variance)] * 2)


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
def test_predictions_that_say_nothing_change_nothing(predicted_rows, seed):
    positive, s, weights, _ = predicted_rows(seed)
    rates = measure(positive, s, weights)
    same = np.full(len(s), 0.37)
    r, sizes = adjusted_rates(rates, measure_leftover(positive, s, weights, same))
    assert r == pytest.approx(rates.rates, abs=1e-12)
    # The plain size is the smaller of Kish's and this one, which is implied by the spread of rows.
    assert (rates.effective_sizes <= sizes * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_any_parts_add_up(predicted_rows, seed):
    positive, s, weights, outcome = predicted_rows(seed)
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
