"""What is concluded from sums: every figure of a table worked by hand, every verdict and why."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from mdfa_fairness_plugin.measure.conclude import _Tested, conclude, figures_of
from mdfa_fairness_plugin.measure.estimates import Rates, counts_frame
from mdfa_fairness_plugin.measure.intervals import delta_interval, gamma_interval, mass_interval
from mdfa_fairness_plugin.measure.means import MeanDifference, MeanRatio
from mdfa_fairness_plugin.measure.measured import Measured, Widening
from mdfa_fairness_plugin.measure.power import Plan
from mdfa_fairness_plugin.measure.slopes import Slopes
from mdfa_fairness_plugin.measure.sums import REGION, SEARCHED, MeasuredRows, RungOf, SearchSums
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.settings import Settings

KEY = SearchKey(sensitive_feature="sex", group="f", reference=None, outcome="no")
LABELS = ("yes", "no")
SETTINGS = Settings(balance="none")
WIDENING = Widening(tests=(1.0, 1.4, 1.4, 1.4, 1.4), sets=(1.0, 1.4, 1.4, 1.4, 1.4))


def table(hits, inside, everybody=(500, 500), outside_hits=(0, 0)):
    """Rows of the group, then of the others: those inside first, those with the outcome first."""
    s = np.repeat([1, -1], everybody)
    member = np.concatenate([np.arange(n) < k for n, k in zip(everybody, inside, strict=True)])
    positive = np.concatenate(
        [
            (np.arange(n) < hit) | ((np.arange(n) >= k) & (np.arange(n) < k + more))
            for n, k, hit, more in zip(everybody, inside, hits, outside_hits, strict=True)
        ]
    )
    return positive, s, member


def rows_of(positive, s):
    """Rows of known, equal chances and weights of one."""
    half = np.full(len(s), 0.5)
    ones = np.ones(len(s))
    return MeasuredRows(
        s=s,
        value=positive,
        y=positive.astype(np.intp),
        n_outcomes=2,
        base=ones,
        weights=ones,
        propensity=half,
        outcome=half,
    )


def measured(hits=(40, 20), inside=(100, 100), **changes):
    """Sums of a table where 120 of the group and 80 of the others have the outcome in all."""
    positive, s, member = table(hits, inside, outside_hits=(120 - hits[0], 80 - hits[1]))
    return counted(positive, s, member, **changes)


def counted(positive, s, member, **changes):
    return counted_rows(rows_of(positive, s), member, **changes)


def counted_rows(rows, member, *, alone=(), **changes):
    """``alone`` is what each repeat proposed, if there are several."""
    everybody = np.ones(len(member), dtype=bool)
    sums = SearchSums.of(
        rows,
        (everybody, member, member, member, member, *alone),
        missing=np.zeros((2, 2)),
        n_missing=0,
    )
    sums = replace(sums, **changes)
    more = (1.4,) * len(alone)
    widening = Widening(tests=WIDENING.tests + more, sets=WIDENING.sets + more)
    return Measured(key=KEY, alpha=0.05, sums=sums, widening=widening, hypothesis=0)


def figures(one, settings=SETTINGS, *, adjusted=0.01, level=0.05 / 4):
    """Figures of one search of four, at a given p-value that needs no allowance."""
    test = _Tested.of(one, settings)
    return figures_of(one, test, settings, (level, level), (adjusted, adjusted), LABELS)


def test_the_test_of_repeats_is_of_the_mean_of_what_each_proposed():
    """Whatever their average has found; one that cannot be measured counts as no evidence."""
    positive, s, member = table((40, 20), (100, 100), outside_hits=(80, 40))
    one, two = (np.roll(member, k) for k in (70, 60))
    nobody = np.zeros(1000, dtype=bool)
    single = [_Tested.of(counted(positive, s, own), SETTINGS) for own in (one, two)]
    z = norm.isf([test.sets[SEARCHED] for test in single])
    assert z[0] > z[1] > 0
    for alone, mean in (((one, two), z.mean()), ((one, one), z[0]), ((one, nobody), z[0] / 2)):
        test = _Tested.of(counted(positive, s, member, alone=alone), SETTINGS)
        assert norm.isf(test.sets[SEARCHED]) == pytest.approx(mean)
        # What is chosen beside everybody is of the same size in all three.
        assert (test.p_value == pytest.approx(single[0].p_value)) == (mean == z[0])
    # Everybody was not searched for.
    whole = replace(counted(positive, s, member, alone=(one, two)), everybody=True)
    once = replace(counted(positive, s, member), everybody=True)
    assert _Tested.of(whole, SETTINGS).p_value == _Tested.of(once, SETTINGS).p_value


def test_figures_of_a_table_worked_by_hand():
    """40 and 20 of 100 inside, among 500 each of whom 120 and 80 have the outcome."""
    given = measured()
    found = figures(given)
    region = given.sums.region.rates
    assert (found["verdict"], found["reason"]) == ("violation", "")
    assert found["delta"] == pytest.approx(math.log(2))
    assert found["rates"] == pytest.approx((0.4, 0.2))
    assert found["mass"] == pytest.approx(0.2 * 0.3)
    assert found["gamma"] == pytest.approx(0.2 * 0.2 / 4)
    # The region holds a fifth of either side, so Lemma 1 says the same.
    assert found["gamma_lemma"] == pytest.approx(0.2 * 0.2 / 4)
    assert (found["n_rows"], found["share"]) == (200, 0.2)
    assert all(math.isnan(end) for end in found["missing_bounds"])
    assert found["e_value"] == pytest.approx(2 + math.sqrt(2))
    assert found["estimates"]["hajek"] == pytest.approx(math.log(2))
    assert found["counts"].to_numpy().tolist() == [[40, 60], [20, 80]]
    assert found["counts"].columns.tolist() == ["no", "yes"]
    assert found["interval"] == delta_interval(region, 0.95, 1.4)
    assert found["gamma_interval"] == gamma_interval(region, 0.95, 1.4)
    assert found["mass_interval"] == mass_interval(region, 0.95, 1.4)
    low = math.exp(found["interval"][0])
    assert found["e_value_limit"] == pytest.approx(low + math.sqrt(low * (low - 1)))
    plan = Plan(sizes=(500.0, 500.0), rate=0.2, noise=0.25, mass=0.05, level=0.05 / 4)
    assert (found["detectable_delta"], found["detectable_mass"]) == (plan.detectable(), 0.05)


@pytest.mark.parametrize("estimator", ["raw", "unweighted"])
def test_another_estimate_moves_the_interval_and_the_bounds_along(estimator):
    """ln 2 of 40 in 500 against 20 in 500, or weights of 2 for the others' outcomes taken off.

    What has no interval of its own takes that of the rates, moved to where it is: from ln (40 / 100)
    / (20 / 80), or from that of weighted ones.
    """
    positive, s, member = table((40, 20), (100, 80), outside_hits=(80, 60))
    rows = rows_of(positive, s)
    weights = np.where(positive & (s < 0), 2.0, 1.0) if estimator == "unweighted" else rows.weights
    given = counted_rows(
        replace(rows, weights=weights),
        member,
        missing=np.array([[5.0, 6.0], [7.0, 8.0]]),
        n_missing=13,
    )
    one = figures(given)
    other = figures(given, replace(SETTINGS, estimator=estimator))
    assert one["delta"] == pytest.approx(math.log(0.4 / (0.25 if estimator == "raw" else 40 / 100)))
    assert other["delta"] == pytest.approx(math.log(2 if estimator == "raw" else 0.4 / 0.25))
    shift = other["delta"] - one["delta"]
    for name in ("interval", "missing_bounds"):
        assert other[name] == pytest.approx([end + shift for end in one[name]])
    for name in ("gamma", "mass", "gamma_interval", "mass_interval"):
        assert other[name] == one[name]
    # Its own rates lead to the ratio, of everybody too; none lead to one of counts.
    balanced = replace(SETTINGS, estimator=estimator, balance="overlap")
    assert figures(given, balanced)["as_observed"] == (estimator == "unweighted")
    assert other["as_observed"]  # nothing balances
    for found in (other, vars(other["population"])) if estimator == "unweighted" else ():
        own, others = found["rates"]
        assert math.log(own / others) == pytest.approx(found["delta"])
        assert found["difference"] == pytest.approx(own - others)
    assert np.isnan(other["rates"]).all() == (estimator == "raw")
    # So is the ratio of not having it: .6 over .75.
    if estimator == "unweighted":
        assert other["otherwise"][0] == pytest.approx(math.log(0.6 / 0.75))


def test_bounds_of_unknown_sides_worked_by_hand():
    """All with the outcome on the others' side and all without on the group's, and the reverse."""
    given = measured(missing=np.array([[5.0, 6.0], [7.0, 8.0]]), n_missing=13)
    assert figures(given)["missing_bounds"] == pytest.approx(
        (math.log((40 / 106) / (27 / 107)), math.log((45 / 105) / (20 / 108)))
    )


def test_an_estimate_without_end_leaves_the_interval_where_it_is():
    given = measured((20, 0), missing=np.array([[5.0, 6.0], [7.0, 8.0]]), n_missing=13)
    one = figures(given)
    other = figures(given, replace(SETTINGS, estimator="raw"))
    assert other["delta"] == math.inf
    assert (other["interval"], other["missing_bounds"]) == (one["interval"], one["missing_bounds"])


@pytest.mark.parametrize(
    ("hits", "adjusted", "verdict", "reason"),
    [
        ((40, 20), 0.049, "violation", ""),
        ((40, 20), 0.051, "none_larger_than_detectable", ""),
        ((20, 40), 0.001, "none_larger_than_detectable", ""),
        ((20, 20), 0.001, "none_larger_than_detectable", ""),
        ((20, 0), 0.001, "violation", ""),
        ((7, 3), 0.001, "insufficient_evidence", "the interval on the ratio includes 1"),
        ((7, 2), 0.001, "insufficient_evidence", "only 9 rows of the subgroup have the outcome"),
        ((0, 0), 0.001, "insufficient_evidence", "nobody in the subgroup has the outcome"),
        ((40, 20), math.nan, "insufficient_evidence", "nobody in the subgroup has the outcome"),
    ],
)
def test_verdicts_and_their_reasons(hits, adjusted, verdict, reason):
    """A p-value below 5 % and an interval above one, in at least ten rows with the outcome."""
    found = figures(measured(hits), adjusted=adjusted)
    assert found["verdict"] == verdict
    assert found["reason"].startswith(reason)
    assert bool(found["reason"]) == bool(reason)


def test_what_could_not_have_been_found_is_no_all_clear():
    """Sixteen rows a side, half with the outcome: nothing in a mass of one in a thousand.

    Among all of them some ratio would be found; among seven a side, five with the outcome, none.
    """
    positive, s, _ = table((8, 8), (16, 16), everybody=(16, 16))
    found = figures(
        replace(counted(positive, s, np.ones(32, dtype=bool)), alpha=0.001), adjusted=0.5
    )
    assert (found["verdict"], found["reason"]) == ("none_larger_than_detectable", "")
    assert (found["alpha"], found["detectable_mass"]) == (0.001, 0.5)
    assert 1 < found["detectable_delta"] < math.log(1000)
    positive, s, _ = table((5, 5), (7, 7), everybody=(7, 7))
    for adjusted in (0.5, 0.01):
        few = replace(counted(positive, s, np.ones(14, dtype=bool)), alpha=0.001)
        found = figures(few, adjusted=adjusted)
        assert found["verdict"] == "insufficient_evidence"
        assert "even a thousandfold ratio have been told from chance with 80 %" in found["reason"]
        assert (found["detectable_delta"], found["detectable_mass"]) == (math.inf, 0.001)


def test_counts_have_the_audited_outcome_first():
    counts = np.array([[1, 2, 3], [4, 5, 6]])
    labels = ("a", "b", "c")
    found = counts_frame(counts, replace(KEY, group=("f", "w"), outcome="b"), labels)
    assert found.index.tolist() == [("f", "w"), "everyone else"]
    assert found.columns.tolist() == ["b", "a", "c"]
    assert found.to_numpy().tolist() == [[2, 1, 3], [5, 4, 6]]
    pair = replace(KEY, reference="m", outcome="a")
    assert counts_frame(counts, pair, labels).index.tolist() == ["f", "m"]


def of_everybody(hits=(80, 25), inside=(100, 100), everybody=True, **changes):
    """Everybody reported, of whom 120 and 80 have the outcome, ``hits`` of them in the part."""
    one = measured(hits, inside)
    whole, part, *_ = one.sums.sets
    sums = replace(one.sums, sets=(whole, whole if everybody else part, whole, whole, part))
    return replace(one, sums=sums, everybody=everybody, **changes)


@pytest.mark.parametrize(
    ("given", "settings", "told"),
    [
        ({}, {}, True),
        ({"everybody": False}, {}, False),
        # A ratio of 1.6 that is more than chance, and one of 1.4, below the 1.5 of everybody.
        ({"hits": (96, 60), "inside": (100, 100)}, {}, True),
        ({"hits": (84, 60), "inside": (100, 100)}, {}, False),
        ({"hits": (9, 0)}, {}, False),  # too few
        ({"hits": (20, 8)}, {}, False),  # the interval includes 1
        ({}, {"min_ratio": 3.5}, False),
    ],
)
def test_a_part_is_told_beside_everybody_if_it_is_a_violation_too(given, settings, told):
    found = figures(of_everybody(**given), replace(SETTINGS, **settings))
    assert found["searched"].beside == told
    assert not any(found[name].beside for name in ("population", "core", "rule_subgroup"))


def test_what_a_part_is_told_by_allows_for_the_family_and_the_three_sets():
    """Just above and just below a third of the level that the search has."""
    one = of_everybody((40, 15))
    p_value = figures(one)["searched"].p_value
    assert 1e-3 < p_value < 0.02
    assert figures(one, level=3.001 * p_value)["searched"].beside
    assert not figures(one, level=2.999 * p_value)["searched"].beside


def test_a_part_without_a_difference_is_rarely_told_however_plain_everybodys_is():
    """At most a third of the level in theory, 1 in 60: over 7 of 80 has a chance of 1 in 10,000."""
    rng = np.random.default_rng(0)
    n_told = 0
    for _ in range(80):
        inside = rng.binomial(150, 0.3, 2)
        outside = rng.binomial(350, (0.5, 0.45))
        positive, s, member = table(inside, (150, 150), outside_hits=outside)
        one = counted(positive, s, member)
        whole, part, *_ = one.sums.sets
        sums = replace(one.sums, sets=(whole, whole, whole, whole, part))
        plain = replace(WIDENING, tests=(1.0,) * 5, sets=(1.0,) * 5)
        one = replace(one, sums=sums, everybody=True, widening=plain)
        n_told += figures(one, level=0.05)["searched"].beside
    assert n_told <= 7


def drawn(kind, rng):
    """Forty to 400 rows, equal or not, of which lesser models tell more, less or the same."""
    n = int(rng.integers(40, 400))
    s = np.where(rng.random(n) < 0.5, 1, -1)
    unequal, mean = rng.choice([0.0, 0.5, 1.5]), rng.choice([0.15, 0.5])
    value = mean * np.exp(unequal * (s - 1) / 2 + 0.5 * rng.standard_normal(n))
    value = rng.random(n) < value if kind is Rates else value
    lesser = np.clip(mean + rng.choice([-0.3, -0.1, 0.0, 0.1]) * s * mean, 0.01, 0.99)
    rows = replace(
        rows_of(value, s),
        y=np.zeros(n, dtype=np.intp),
        outcome=np.full(n, mean),
        kind=kind,
        lesser=((np.ones(n), lesser),),
        shares=(0.5,),
    )
    rows = replace(rows, dose=rng.uniform(0.2, 1.0, n)) if kind is Slopes else rows
    ladder = tuple(RungOf(propensity_loss=0.7, outcome_loss=0.7, share=own) for own in (0.5, 1.0))
    one = counted_rows(rows, rng.random(n) < rng.choice([0.1, 0.7, 1.0]))
    return replace(one, ladder=ladder, alpha=rng.choice([0.05, 0.8]))


@pytest.mark.parametrize("kind", [Rates, MeanRatio, MeanDifference, Slopes])
def test_none_larger_is_said_of_no_interval_that_holds_larger_ones(kind):
    """Of many tables; what models may still hide would not have been found either."""
    rng, verdicts, beyond = np.random.default_rng(0), [], 0
    settings = replace(SETTINGS, estimator="doubly_robust")
    for i in range(16):
        one = drawn(kind, rng)
        (found,) = conclude([one], settings, LABELS)
        by_difference = one.measure == "difference"
        detectable = found["detectable_difference" if by_difference else "detectable_delta"]
        _, high = found["difference_interval" if by_difference else "interval"]
        verdicts.append(found["verdict"])
        if verdicts[-1] == "none_larger_than_detectable":
            assert high <= detectable < math.inf
        elif "would have been found" in found["reason"]:
            assert high > detectable
            beyond += 1
        if i < 4:
            least = one.least(settings)
            plan = Plan.of(one.sums.everybody, one.alpha, 0.05, settings, one.search, least)
            assert detectable == pytest.approx(plan.stated()[0] + one.allowance(REGION).rise)
    assert beyond
    assert "none_larger_than_detectable" in verdicts
