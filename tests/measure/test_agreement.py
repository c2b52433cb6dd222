"""Test, interval and verdict are one statement: small tables of every kind, and sizes that matter."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure import leak
from mdfa_fairness_plugin.measure.allowance import Allowance, rung_effects
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.estimates import measure, measure_leftover
from mdfa_fairness_plugin.measure.intervals import PLAINEST, delta_interval, standard_errors
from mdfa_fairness_plugin.measure.measured import Measured, Widening
from mdfa_fairness_plugin.measure.sums import (
    EVERYBODY,
    REGION,
    MeasuredRows,
    RungOf,
    SearchSums,
    still_to_come,
)
from mdfa_fairness_plugin.measure.tests import search_spread
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.settings import Settings

KEY = SearchKey(sensitive_feature="sex", group="f", reference=None, outcome=1)
SPREAD = search_spread(5)
RUNG = RungOf(propensity_loss=0.6, outcome_loss=0.5, share=1.0)


def draw_rows(rng, n_lesser=2):
    """Few rows of any kind: rare outcomes and empty cells, weights, clusters, lesser models."""
    n = int(rng.integers(30, 150))
    s = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1, -1)
    s[:2] = 1, -1
    rates = np.array([rng.choice([0.0, 0.1, 0.4, 0.9, 1.0]), rng.choice([0.0, 0.1, 0.4, 0.9])])
    positive = rng.random(n) < np.where(s > 0, *rates)
    base = rng.choice([np.ones(n), rng.uniform(0.2, 3.0, n), rng.lognormal(0, 1.5, n)])
    e, outcome = rng.uniform(0.1, 0.9, n), rng.uniform(0.01, 0.99, n)
    overlap = base * np.where(s > 0, 1 - e, e)
    cluster = np.sort(rng.integers(0, n // 2, n)) if rng.random() < 0.4 else None
    return MeasuredRows(
        s=s,
        value=positive,
        y=positive.astype(np.intp),
        n_outcomes=2,
        base=base,
        weights=overlap,
        propensity=e,
        outcome=outcome,
        cluster=cluster,
        lesser=tuple(
            (overlap * rng.uniform(0.5, 1.5, n), rng.uniform(0.01, 0.99, n))
            for _ in range(n_lesser)
        ),
    )


def search_of(rows, member, *, everybody=False, hypothesis=0):
    """One search; the region found is ``member``, the one reported everybody if said so."""
    whole = np.ones(len(rows.s), dtype=bool)
    reported = whole if everybody else member
    sets = (whole, reported, member, reported, member)
    return Measured(
        key=KEY,
        alpha=0.05,
        sums=SearchSums.of(rows, sets, missing=np.zeros((2, 2)), n_missing=0),
        widening=Widening(
            tests=tuple(1.0 if own.all() else SPREAD for own in sets),
            sets=tuple(1.0 if own.all() else SPREAD for own in sets),
        ),
        hypothesis=hypothesis,
        ladder=(RUNG,) * (len(rows.lesser) + 1),
        everybody=everybody,
        clustered=rows.cluster is not None,
    )


@pytest.fixture(autouse=True)
def few_redraws(monkeypatch):
    """Where few rows carry a sum it is compared with fewer draws, which takes less time."""
    monkeypatch.setattr(leak, "_N_REDRAWS", 199)


@pytest.mark.parametrize("estimator", ["doubly_robust", "hajek", "raw", "unweighted"])
def test_no_violation_stands_beside_an_interval_through_one(estimator):
    """300 tables; nor does a p-value below half of what the interval leaves out."""
    rng = np.random.default_rng(17)
    settings = Settings(estimator=estimator, outcomes=[1])
    seen = {"violation": 0, "empty": 0, "infinite": 0, "small p": 0}
    for _ in range(300):
        rows = draw_rows(rng, n_lesser=int(rng.integers(0, 3)))
        member = rng.random(len(rows.s)) < rng.choice([0.3, 0.6, 1.0])
        one = search_of(rows, member, everybody=bool(rng.random() < 0.5))
        (found,) = conclude([one], settings, (0, 1))
        low, high = found["interval"]
        seen["empty"] += math.isnan(found["delta"])
        seen["infinite"] += math.isinf(found["delta"])
        if math.isnan(found["delta"]):
            assert found["verdict"] == "insufficient_evidence"
            continue
        assert low <= found["delta"] <= high
        ends = found["difference_interval"]
        if not math.isnan(found["difference"]):  # no rates lead to a ratio of counts
            assert -1 <= ends[0] <= found["difference"] <= ends[1] <= 1
        # One of them holds 0 where the other does, if both are of the same rates.
        if estimator in ("doubly_robust", "hajek"):
            assert (ends[0] > 0, ends[1] < 0) == (low > 0, high < 0)
        seen["small p"] += found["p_value"] < 0.025
        if found["p_value"] < 0.025 - 1e-9:
            assert low > 0
        if found["verdict"] == "violation":
            seen["violation"] += 1
            assert low > 0
            assert found["p_value_adjusted"] < 0.05
            assert found["delta"] >= math.log(1.05)
    assert min(seen.values()) >= 5, seen


def test_every_set_of_a_search_has_gamma_of_its_mass_and_delta():
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(40):
        rows = draw_rows(rng)
        one = search_of(rows, rng.random(len(rows.s)) < 0.6)
        (found,) = conclude([one], Settings(), (0, 1))
        sets = [found[name] for name in ("population", "core", "rule_subgroup", "searched")]
        figures = [(found["mass"], found["delta"], found["gamma"])]
        for mass, delta, gamma in figures + [(own.mass, own.delta, own.gamma) for own in sets]:
            if not math.isnan(delta):
                compared += 1
                assert gamma == pytest.approx(mass * (expit(delta) - 0.5), abs=1e-14)
    assert compared > 100


@pytest.mark.parametrize("known", [False, True], ids=["rates", "at the same features"])
def test_standard_errors_and_intervals_are_inverse(known):
    """The interval whose quantile is the number of standard errors above a value ends there."""
    rng = np.random.default_rng(5)
    infinite = 0
    for _ in range(150):
        rows = draw_rows(rng)
        rates = measure(rows.value, rows.s, rows.weights, None, rows.cluster)
        leftover = None
        if known:
            leftover = measure_leftover(
                rows.value, rows.s, rows.weights, rows.outcome, None, rows.cluster
            )
        least = float(rng.choice([0.0, 0.3, -0.5]))
        z = standard_errors(rates, leftover, least)
        if math.isnan(z):
            assert math.isnan(delta_interval(rates, 0.95, 1.0, leftover)[0])
            continue
        infinite += math.isinf(rates.delta)
        if abs(z) in (0.0, PLAINEST):
            continue
        # As a spread of the usual interval, whose quantile is 1.96.
        spread = abs(z) / norm.ppf(0.975)
        low, high = delta_interval(rates, 0.95, spread, leftover)
        assert (low if z > 0 else high) == pytest.approx(least, abs=1e-6)
        # A narrower interval leaves it out, and a wider one does not.
        for factor, beyond in ((0.99, True), (1.01, False)):
            low, high = delta_interval(rates, 0.95, factor * spread, leftover)
            assert (low > least if z > 0 else high < least) == beyond
    assert infinite >= 10


@pytest.mark.parametrize("hits", [(12, 0), (5, 0), (40, 10), (10, 40), (0, 12), (7, 7)])
def test_standard_errors_of_plain_tables(hits):
    """Zero of 40 among the others: an infinite ratio has as many as its lower end says."""
    s = np.repeat([1, -1], 40)
    positive = np.concatenate([np.arange(40) < k for k in hits])
    z = standard_errors(measure(positive, s, np.ones(80)))
    assert math.copysign(1, z) == math.copysign(1, hits[0] - hits[1]) or z == 0.0
    assert standard_errors(measure(positive, -s, np.ones(80))) == pytest.approx(-z)
    low, high = delta_interval(measure(positive, s, np.ones(80)), 0.95)
    assert (z > norm.ppf(0.975)) == (low > 0)
    assert (z < -norm.ppf(0.975)) == (high < 0)


def test_nobody_with_the_outcome_has_no_standard_errors():
    s = np.repeat([1, -1], 40)
    assert math.isnan(standard_errors(measure(np.zeros(80, bool), s, np.ones(80))))
    assert standard_errors(measure(np.ones(80, bool), s, np.ones(80))) == 0.0


# -- what the models may still change


def weighted_table(n, rates, shares, weights=(1.0, 1.0)):
    """``n`` rows of either side in two cells of equal size, with rates by side and cell.

    Weights of a lesser model are ``1 + share`` in the second cell for the group and ``1 - share`` for
    the others, and the other way round in the first.
    """
    s = np.repeat([1, -1], n)
    cell = np.tile(np.arange(n) % 2, 2)
    hits = [np.arange(n // 2) < round(rates[side][k] * n / 2) for side in (0, 1) for k in (0, 1)]
    positive = np.zeros(2 * n, dtype=bool)
    for k, hit in enumerate(hits):
        positive[(s == (1, -1)[k // 2]) & (cell == k % 2)] = hit
    sign = np.where(cell == 1, 1.0, -1.0) * s
    level = np.full(2 * n, float(np.mean(rates)))
    ones = np.ones(2 * n)
    rows = MeasuredRows(
        s=s,
        value=positive,
        y=positive.astype(np.intp),
        n_outcomes=2,
        base=ones,
        weights=ones,
        propensity=0.5 * ones,
        outcome=level,
        lesser=tuple((1.0 + share * sign, level) for share in shares),
    )
    return search_of(rows, np.ones(2 * n, dtype=bool), everybody=True), rows


def beyond_chance(rows, k):
    """Move of the log ratio from rung k to the best, less its variance, and how much wider; by row."""
    n = len(rows.s) // 2
    weights, level = rows.lesser[k]

    def log_ratio(own):
        rates = [
            np.average(rows.value[rows.s == side], weights=own[rows.s == side]) for side in (1, -1)
        ]
        return math.log(np.divide(*((np.array(rates) * n + 0.5) / (n + 1))))

    left = rows.value - level
    share = [
        np.where(rows.s > 0, *(1 / own[rows.s == k].sum() for k in (1, -1))) * own * left
        for own in (weights, np.ones(2 * n))
    ]
    variance = ((share[0] - share[1]) ** 2).sum() / rows.value.mean() ** 2
    move = log_ratio(weights) - log_ratio(np.ones(2 * n))
    wider = ((2 * share[1] - share[0]) ** 2).sum() / (share[1] ** 2).sum()
    return move, math.sqrt(max(move**2 - variance, 0.0)), math.sqrt(max(wider, 1.0))


FLAT = ((0.2, 0.6), (0.2, 0.6))


@pytest.mark.parametrize(
    ("shares", "falls", "rises"),
    [
        ((0.5,), 0, None),
        ((-0.5,), None, 0),
        ((0.5, 0.2), 0, None),
        ((0.2, 0.5), 1, None),
        ((0.5, -0.2), 0, 1),
        ((-0.3, -0.6), None, 1),
        ((0.0, 0.0), None, None),
        ((), None, None),
    ],
)
def test_allowance_worked_row_by_row(shares, falls, rises):
    """The furthest rung above counts downwards, the furthest below upwards; equal ones not at all.

    With shares of a half the lesser rates are .5 and .3, and the best .4 and .4.
    """
    one, rows = weighted_table(2000, FLAT, shares)
    found = one.allowance(EVERYBODY)
    moves = [beyond_chance(rows, k) for k in range(len(shares))]
    for own, k, wider in (
        (found.fall, falls, found.wider_below),
        (found.rise, rises, found.wider_above),
    ):
        assert own == pytest.approx(0.0 if k is None else moves[k][1], abs=1e-12)
        assert wider == pytest.approx(1.0 if k is None else moves[k][2])
    if shares[:1] == (0.5,):
        assert found.fall == pytest.approx(math.log(0.5 / 0.3), abs=0.01)
    ratios = rung_effects(one.sums.everybody)
    assert len(ratios) == len(shares) + 1
    assert ratios[-1] == 0.0


def test_models_of_half_of_the_rows_tell_what_is_to_come_and_lesser_ones_do_not():
    """A bias that falls with the root of the rows leaves 1 / (sqrt(2) - 1) times what moved."""
    times = 1 / (math.sqrt(2) - 1)
    assert still_to_come((1.0, 1.0, 0.5)) == pytest.approx((0.0, 0.0, times))
    assert still_to_come((1.0, 1.0)) == (1.0, 1.0)
    assert still_to_come(()) == ()
    one, rows = weighted_table(2000, FLAT, (0.5, 0.2))
    own = one.sums.everybody
    lesser, half = own.rungs
    found = Allowance.of(replace(own, rungs=(lesser, replace(half, share=0.5))))
    assert found.fall == pytest.approx(times * beyond_chance(rows, 1)[1])


def test_interval_test_and_verdict_allow_for_what_comes_off():
    """Rates of .5 to .3 by lesser models, .45 to .35 by the best: the same may come off again."""
    one, rows = weighted_table(4000, ((0.25, 0.65), (0.15, 0.55)), (0.25,))
    own = one.sums.everybody
    allowed = one.allowance(EVERYBODY)
    _, fall, wider = beyond_chance(rows, 0)
    assert fall == pytest.approx(math.log(0.5 / 0.3) - math.log(0.45 / 0.35), abs=0.01)
    (found,) = conclude([one], Settings(), (0, 1))
    low, _ = delta_interval(own.rates, 0.95, wider, own.leftover)
    assert found["interval"][0] == pytest.approx(low - fall)
    assert found["interval"][1] == delta_interval(own.rates, 0.95, 1.0, own.leftover)[1]
    z = standard_errors(own.rates, own.leftover, fall) / wider
    assert found["p_value"] >= norm.sf(z) * (1 - 1e-9)
    # What is left is nothing: it rests on the models.
    assert found["verdict"] == "insufficient_evidence"
    assert "from 1.67 to 1.29" in found["reason"]
    assert "models" in found["reason"]
    depends = found["depends_on_models"]
    assert depends.ratios == pytest.approx((0.5 / 0.3, 0.45 / 0.35), rel=1e-3)
    assert depends.allowance == allowed.fall
    assert depends.decisive
    # Models that are equally good leave it a violation, and so do those that found less.
    for shares in ((), (0.0,), (-0.25,)):
        other, _ = weighted_table(4000, ((0.25, 0.65), (0.15, 0.55)), shares)
        (found,) = conclude([other], Settings(), (0, 1))
        assert found["verdict"] == "violation"
        assert found["interval"][0] == pytest.approx(
            delta_interval(own.rates, 0.95, 1.0, own.leftover)[0]
        )
        assert found["depends_on_models"] is None or not found["depends_on_models"].decisive


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_allowance_is_the_bias_of_lesser_models_beyond_chance(share):
    """1,000 draws of 300 a side: its mean square is the square of the bias.

    Lesser weights of ``1 +- share`` in cells of rates .2 and .6 make rates .42 to .38, log ratio .1;
    those of rows vary by chance too. Where the bias is none the allowance is what chance leaves above
    its variance: ``E[(z^2 - 1)+] = 2 phi(1)`` of that, half of it downwards.
    """
    rng = np.random.default_rng(8)
    n, runs = 300, 1000
    s = np.repeat([1, -1], n)
    cell = np.tile(np.arange(n) % 2, 2)
    noise = rng.choice([0.5, 1.5], (runs, 2 * n)) if share == 0 else np.ones((runs, 2 * n))
    m = np.full(2 * n, 0.4)
    ones = np.ones(2 * n)
    squares, variances = [], []
    for k in range(runs):
        positive = rng.random(2 * n) < np.where(cell == 1, 0.6, 0.2)
        weights = noise[k] * (1 + share * np.where(cell == 1, 1, -1) * s)
        rows = MeasuredRows(
            s=s,
            value=positive,
            y=positive.astype(np.intp),
            n_outcomes=2,
            base=ones,
            weights=ones,
            propensity=0.5 * ones,
            outcome=m,
            lesser=((weights, m),),
        )
        one = search_of(rows, ones > 0, everybody=True)
        allowed = one.allowance(EVERYBODY)
        squares.append((allowed.fall**2, allowed.rise**2))
        own = one.sums.everybody
        variances.append(own.rungs[0].variance(own.rates, 1.0, -1.0) / own.rates.rates.mean() ** 2)
    falls, rises = np.array(squares).T
    if share:
        error = falls.std() / math.sqrt(runs)
        assert falls.mean() == pytest.approx(math.log(0.42 / 0.38) ** 2, abs=4 * error)
        assert rises.mean() < 0.01 * falls.mean()
    else:
        expected = norm.pdf(1) * np.mean(variances)
        for own in (falls, rises):
            assert own.mean() == pytest.approx(expected, abs=4 * own.std() / math.sqrt(runs))
            assert np.mean(own > 0) == pytest.approx(norm.sf(1), abs=4 * 0.37 / math.sqrt(runs))


# -- size beside significance


@pytest.mark.parametrize("given", [0.99, 0, -1, math.inf, math.nan, "1.1", True, None])
def test_bad_least_ratios_are_refused(given):
    with pytest.raises(InputError, match=r"^min_ratio: 'auto' or a number of at least 1 expected"):
        Settings.checked(min_ratio=given)


def test_least_ratio_is_a_twentieth_by_default_and_as_given():
    assert Settings.checked().least_ratio == 1.05
    assert Settings.checked(min_ratio=1).least_ratio == 1.0
    assert Settings.checked(min_ratio=1.25).least_ratio == 1.25


@pytest.mark.parametrize(
    ("min_ratio", "verdict"), [("auto", "none_larger_than_detectable"), (1, "violation")]
)
def test_a_ratio_of_next_to_one_is_no_violation_however_sure(min_ratio, verdict):
    """1.01 of half a million people on either side: 2,020 and 2,000 of 4,000, 128 times over."""
    s = np.repeat([1, -1], 4000)
    positive = np.concatenate([np.arange(4000) < k for k in (2020, 2000)])
    ones = np.ones(8000)
    rows = MeasuredRows(
        s=s,
        value=positive,
        y=positive.astype(np.intp),
        n_outcomes=2,
        base=ones,
        weights=ones,
        propensity=ones / 2,
        outcome=ones / 2,
    )
    one = search_of(rows, ones > 0, everybody=True)
    one = replace(one, sums=functools.reduce(operator.add, [one.sums.settled()] * 128))
    (found,) = conclude([one], Settings.checked(min_ratio=min_ratio), (0, 1))
    assert found["p_value_adjusted"] < 1e-6
    assert found["delta"] == pytest.approx(math.log(1.01))
    assert found["interval"][0] > 0
    assert found["verdict"] == verdict
    assert found["reason"] == (
        "" if min_ratio == 1 else "the ratio is beyond chance but below 1.05 (min_ratio)"
    )


def test_sums_of_parts_conclude_the_same():
    """Rows by lesser models add up as all others do."""
    rng = np.random.default_rng(2)
    rows = draw_rows(rng)
    rows = replace(rows, cluster=None)
    n = len(rows.s)
    part = np.arange(n) % 3

    def of(some):
        return SearchSums.of(
            MeasuredRows(
                **{
                    **{
                        k: v[some] if isinstance(v, np.ndarray) else v
                        for k, v in vars(rows).items()
                    },
                    "lesser": tuple((w[some], m[some]) for w, m in rows.lesser),
                }
            ),
            (np.ones(some.sum(), dtype=bool),) * 5,
            missing=np.zeros((2, 2)),
            n_missing=0,
        )

    whole = search_of(rows, np.ones(n, dtype=bool), everybody=True)
    total = replace(whole, sums=functools.reduce(operator.add, [of(part == k) for k in range(3)]))
    assert rung_effects(total.sums.region) == pytest.approx(rung_effects(whole.sums.region))
    one, two = whole.allowance(REGION), total.allowance(REGION)
    assert vars(one) == pytest.approx(vars(two))
