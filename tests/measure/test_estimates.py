"""Rates, delta, mass, gamma and what the features leave of them, against tables worked by hand."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from mdfa_fairness_plugin.measure.estimates import (
    adjusted_rates,
    certificate_strength,
    estimates_of,
    lemma_strength,
    log_ratio,
    measure,
    measure_leftover,
)


def all_estimates(positive, s, base, weights, member, m):
    """Delta of one subgroup by every estimator."""
    return estimates_of(
        measure(positive, s, weights, member),
        measure(positive, s, base, member),
        measure_leftover(positive, s, weights, m, member),
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
    m = np.where(x == 0, 0.5, 0.1)
    estimates = all_estimates(y, s, base, weights, everybody, m)
    assert estimates["hajek"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["doubly_robust"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["raw"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["unweighted"] == pytest.approx(math.log(18 / 42), abs=1e-12)


def test_all_estimators_agree_where_nothing_confounds():
    """Without features the doubly robust rates are the rates, whatever the sizes of the sides."""
    positive, s, ones = table([[30, 10], [20, 60]])
    everybody = np.ones(len(s), dtype=bool)
    m = np.full(len(s), positive.mean())
    estimates = all_estimates(positive, s, ones, ones, everybody, m)
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
    estimates = all_estimates(positive, s, ones, ones, member, half)
    assert estimates["hajek"] == pytest.approx(0.0, abs=1e-12)
    assert estimates["raw"] == pytest.approx(math.log(2), abs=1e-12)


def two_towns():
    """Sides, outcomes, people, propensities and ``Pr[Y | x]`` of a table of 100 and 300.

    The group's rate is .2 higher in both: .3 and .1 in town A, where a fifth are of the group, .7 and
    .5 in town B, where half are.
    """
    towns = [(100.0, 0.2, 0.1), (300.0, 0.5, 0.5)]
    rows = [
        (side, hit, n * (e if side > 0 else 1 - e) * (p if hit else 1 - p), e, p0 + 0.2 * e)
        for n, e, p0 in towns
        for side, p in ((1, p0 + 0.2), (-1, p0))
        for hit in (True, False)
    ]
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def test_doubly_robust_rates_are_those_of_the_population_that_right_weights_aim_at():
    """Overlap ``N e (1 - e)`` is 16 in A and 75 in B; everybody is 100 and 300.

    Predicted means are alike on both sides, so nothing moves.
    """
    s, positive, base, e, m = two_towns()
    everybody = np.ones(8, bool)
    overlap = base * np.where(s > 0, 1 - e, e)
    found = all_estimates(positive, s, base, overlap, everybody, m)["doubly_robust"]
    assert found == pytest.approx(math.log((16 * 0.3 + 75 * 0.7) / (16 * 0.1 + 75 * 0.5)))
    inverse = base / np.where(s > 0, e, 1 - e)
    found = all_estimates(positive, s, base, inverse, everybody, m)["doubly_robust"]
    assert found == pytest.approx(math.log((100 * 0.3 + 300 * 0.7) / (100 * 0.1 + 300 * 0.5)))


def test_doubly_robust_rates_without_weights_worked_by_hand():
    """Unweighted, the group is 20 of A and 150 of B: 111 of 170 with the outcome, 98.8 predicted.

    The others are 80 and 150: 83 of 230, and 101.2 predicted. Odds are moved from a side's prediction
    to the mean of both.
    """
    s, positive, base, _, m = two_towns()
    found = all_estimates(positive, s, base, base, np.ones(8, bool), m)
    predicted = np.array([20 * 0.14 + 150 * 0.6, 80 * 0.14 + 150 * 0.6]) / (170, 230)
    rates = np.array([20 * 0.3 + 150 * 0.7, 80 * 0.1 + 150 * 0.5]) / (170, 230)
    odds, expected, both = (p / (1 - p) for p in (rates, predicted, predicted.mean()))
    moved = odds / expected * both
    assert found["doubly_robust"] == pytest.approx(math.log(np.divide(*(moved / (1 + moved)))))
    assert found["hajek"] == pytest.approx(math.log(np.divide(*rates)))
    # At the same features the log ratio is .38 where both sides overlap and .41 of everybody.
    assert 0.38 < found["doubly_robust"] < 0.41 < 0.55 < found["hajek"]


@settings(max_examples=100, deadline=None)
@given(
    rates=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    predicted=st.tuples(st.floats(0.001, 0.999), st.floats(0.001, 0.999)),
)
def test_doubly_robust_rates_stay_rates(rates, predicted):
    """Strictly between 0 and 1, but for sides where nobody or everybody has the outcome."""
    rates, predicted = np.array(rates), np.array(predicted)
    r = adjusted_rates(rates, predicted)
    assert ((r >= 0) & (r <= 1)).all()
    np.testing.assert_array_equal(r[rates == 0], 0)
    np.testing.assert_array_equal(r[rates == 1], 1)
    inside = (rates > 1e-6) & (rates < 1 - 1e-6)
    assert ((r > 0) & (r < 1))[inside].all()
    # On the scale of log-odds as far as the prediction is from that of both sides.
    moved = logit(predicted.mean()) - logit(predicted)
    np.testing.assert_allclose(logit(r[inside]) - logit(rates[inside]), moved[inside], atol=1e-6)


@pytest.mark.parametrize("rates", [(0.0, 1.0), (0.3, 0.3), (0.0, 0.0), (1.0, 0.2)])
@pytest.mark.parametrize("level", [0.001, 0.4, 0.999])
def test_predictions_alike_on_both_sides_move_no_rate(rates, level):
    r = adjusted_rates(np.array(rates), np.array([level, level]))
    np.testing.assert_allclose(r, rates, atol=1e-12)


def test_many_sets_are_moved_as_one_by_one():
    rng = np.random.default_rng(0)
    rates, predicted = rng.random((2, 2, 20))
    rates[:, :3] = 0.0
    many = adjusted_rates(rates, predicted)
    for k in range(20):
        np.testing.assert_array_equal(many[:, k], adjusted_rates(rates[:, k], predicted[:, k]))


@pytest.mark.parametrize("right", ["weights", "outcome", "both"])
def test_rates_are_right_where_weights_or_outcome_models_are(right):
    """Two towns of known truth, 300 samples of 1,000; bounds are four standard errors.

    At equal features everybody's rate is .15 in A and .6 in B, so the log ratio is 0; who is of the
    group follows the town. Wrong weights are none, the wrong model says the same of everybody. The
    plain rates with wrong weights are off by far more than that.
    """
    rng = np.random.default_rng(11)
    found, plain = [], []
    for _ in range(300):
        town = rng.random(1000) < 0.5
        e, m = np.where(town, 0.7, 0.3), np.where(town, 0.6, 0.15)
        s = np.where(rng.random(1000) < e, 1, -1)
        positive = rng.random(1000) < m
        weights = np.ones(1000) if right == "outcome" else np.where(s > 0, 1 - e, e)
        model = np.full(1000, 0.3) if right == "weights" else m
        rates = measure(positive, s, weights)
        own, _ = rates.known(measure_leftover(positive, s, weights, model))
        found.append(own.delta)
        plain.append(rates.delta)
    error = np.std(found) / math.sqrt(300)
    assert np.mean(found) == pytest.approx(0.0, abs=4 * error)
    if right == "outcome":
        assert np.mean(plain) > 50 * error


@pytest.mark.parametrize("right", ["weights", "outcome"])
def test_a_violation_is_measured_right_where_weights_or_outcome_models_are(right):
    """In both towns the group's odds are twice the others'; truth by overlap weights, exactly.

    With a right outcome model and wrong weights the odds of both sides are kept, and the population is
    the sample's: odds twice as high at the same features, .43 to .57 of either town.
    """
    rng = np.random.default_rng(12)
    base = logit(np.array([0.15, 0.6]))
    p0, p1 = expit(base), expit(base + math.log(2))
    found = []
    for _ in range(300):
        town = (rng.random(1000) < 0.5).astype(int)
        e = np.array([0.3, 0.7])[town]
        s = np.where(rng.random(1000) < e, 1, -1)
        positive = rng.random(1000) < np.where(s > 0, p1[town], p0[town])
        weights = np.ones(1000) if right == "outcome" else np.where(s > 0, 1 - e, e)
        m = np.full(1000, 0.3) if right == "weights" else (e * p1[town] + (1 - e) * p0[town])
        rates = measure(positive, s, weights)
        found.append(rates.known(measure_leftover(positive, s, weights, m))[0].delta)
    truth = math.log(p1.mean() / p0.mean())  # both towns overlap alike
    # The model is moved by one step on the scale of log-odds for a whole side: off by about .02.
    slack = 0.0 if right == "weights" else 0.03
    assert np.mean(found) == pytest.approx(truth, abs=slack + 4 * np.std(found) / math.sqrt(300))


def test_doubly_robust_is_unknown_without_rows():
    positive, s, ones = table([[3, 3], [3, 3]])
    half = np.full(12, 0.5)
    estimates = all_estimates(positive, s, ones, ones, np.zeros(12, bool), half)
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

    Predicted means are .5 and .35, so both are moved to .425: the group's 20/40, which is as
    predicted, becomes that; the others' 12/40 has 39/49 of the odds predicted, and keeps them.
    Leftovers are .2 or -.8 where .8 is predicted, .8 or -.2 where .2 is; the model leaves .16 a row of
    the variance, of .25 and .2275.
    """
    s = np.repeat([1, -1], 40)
    outcome = np.concatenate([np.repeat([0.8, 0.2], [20, 20]), np.repeat([0.8, 0.2], [10, 30])])
    positive = np.concatenate(
        [np.arange(20) < 16, np.arange(20) < 4, np.arange(10) < 8, np.arange(30) < 4]
    )
    ones = np.ones(80)
    own, sizes = measure(positive, s, ones).known(measure_leftover(positive, s, ones, outcome))
    odds = 0.425 / 0.575 * 39 / 49
    r = own.rates
    assert r == pytest.approx([0.425, odds / (1 + odds)])
    left = positive - outcome
    for side, rate, size, known in zip((1, -1), r, sizes, (0.25, 0.2275), strict=True):
        mine = left[s == side]
        variance = ((mine - mine.mean()) ** 2).sum() / 40**2
        assert size == pytest.approx(min(rate * (1 - rate) / variance, 40 * known / 0.16))


@pytest.mark.parametrize("seed", range(3))
def test_predictions_that_say_nothing_change_nothing(predicted_rows, seed):
    positive, s, weights, _ = predicted_rows(seed)
    rates = measure(positive, s, weights)
    same = np.full(len(s), 0.37)
    own, sizes = rates.known(measure_leftover(positive, s, weights, same))
    assert own.rates == pytest.approx(rates.rates, abs=1e-12)
    np.testing.assert_allclose(sizes, rates.effective_sizes)


@pytest.mark.parametrize("seed", range(5))
def test_gamma_is_the_strength_of_mass_and_delta_at_the_same_features(predicted_rows, seed):
    positive, s, weights, outcome = predicted_rows(seed)
    member = np.random.default_rng(seed).random(400) < 0.4
    own, _ = measure(positive, s, weights, member).known(
        measure_leftover(positive, s, weights, outcome, member)
    )
    assert own.gamma == pytest.approx(own.mass * (expit(own.delta) - 0.5), abs=1e-15)
    assert own.mass == pytest.approx(own.share * own.rates.mean())


@pytest.mark.parametrize("seed", range(3))
def test_exchanging_sides_or_outcomes_turns_adjusted_rates(predicted_rows, seed):
    positive, s, weights, outcome = predicted_rows(seed)

    def rates_and_sizes(positive, s, m, scale=1.0):
        left = measure_leftover(positive, s, scale * weights, m)
        own, sizes = measure(positive, s, scale * weights).known(left)
        return np.array([own.rates, sizes])

    one = rates_and_sizes(positive, s, outcome)
    np.testing.assert_allclose(rates_and_sizes(positive, -s, outcome), one[:, ::-1])
    other = rates_and_sizes(~positive, s, 1 - outcome)
    np.testing.assert_allclose(other, [1 - one[0], one[1]])
    np.testing.assert_allclose(rates_and_sizes(positive, s, outcome, 5.0), one)


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_any_parts_add_up(predicted_rows, seed):
    positive, s, weights, outcome = predicted_rows(seed)
    part = np.random.default_rng(seed).integers(0, 7, len(s))
    blocks = [
        measure_leftover(*(a[part == k] for a in (positive, s, weights, outcome))) for k in range(7)
    ]
    total = functools.reduce(operator.add, blocks)
    whole = measure_leftover(positive, s, weights, outcome)
    for name in ("predicted", "expected", "first", "second", "fourth"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12)
    member = part < 3
    inside = measure_leftover(positive, s, weights, outcome, member)
    np.testing.assert_allclose(
        (blocks[0] + blocks[1] + blocks[2]).second, inside.second, rtol=1e-12
    )


def test_few_leftovers_are_known_by_the_models_word():
    """Four leftovers of .999 among thousands of .001: too few to know their spread.

    The model leaves .000999 of a variance of a quarter, of 2,000 rows.
    """
    n = 4000
    s = np.tile([1, -1], n // 2)
    positive = np.arange(n) % 8 < 4
    outcome = np.where(positive, 0.999, 0.001)
    positive[:4] = ~positive[:4]
    rates = measure(positive, s, np.ones(n))
    own, sizes = rates.known(measure_leftover(positive, s, np.ones(n), outcome))
    np.testing.assert_allclose(own.rates, rates.rates, atol=1e-9)
    np.testing.assert_allclose(sizes, 2000 * 0.25 / 0.000999, rtol=1e-6)
