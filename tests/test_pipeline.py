"""What the stages of an audit hand on: every figure from the rows it is made of."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import (
    MDFAWarning,
    MissingSensitiveWarning,
    OverlapError,
    OverlapWarning,
)
from mdfa_fairness_plugin.measure.intervals import log_ratio_interval
from mdfa_fairness_plugin.measure.tests import holm

FAST = {"learner": "tree", "n_splits": 2, "random_state": 0}


def people(n=400, seed=0, extra=0.0):
    """Women are a quarter in town A and half elsewhere; those in A are denied more often by extra."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["A", "B"], n)
    X = pd.DataFrame({"town": town, "age": rng.integers(2, 6, n) * 10.0})
    woman = rng.random(n) < np.where(town == "A", 0.25, 0.5)
    y = rng.random(n) < np.where(woman & (town == "A"), 0.3 + extra, 0.3)
    return X, np.where(y, "deny", "grant"), np.where(woman, "f", "m").astype(object)


def audit(X, y, s, **params):
    return mdfa.audit(X, y, sensitive_features=s, **(FAST | params))


@pytest.fixture(scope="module", params=["cross_fit", "holdout"])
def plain(request):
    """Audits without balancing, of which every figure is a count: with a violation and without."""
    results = []
    for n, extra in ((500, 0.0), (500, 0.5), (1500, 0.5)):
        data = people(n, seed=1, extra=extra)
        results.append((audit(*data, balance="none", evaluation=request.param), *data))
    return results


# -- figures


def interval_of(counts, spread):
    sizes = counts.to_numpy().sum(axis=1)
    low, high = log_ratio_interval(counts.to_numpy()[:, 0] / sizes, sizes, 0.95, spread)
    return float(low), float(high)


def test_intervals_are_those_of_the_counts(plain):
    """Never narrower than those."""
    searched = 0
    for result, *_ in plain:
        for v in result.violations:
            for found in (v, v.population, v.core, v.rule_subgroup):
                if found.n_rows == 0:
                    continue
                usual = interval_of(found.counts, 1)
                searched += found.n_rows < v.population.n_rows
                # Wider for the search, and for what the models may account for.
                assert found.interval[0] <= usual[0] + 1e-9
                assert found.interval[1] >= usual[1] - 1e-9
            if v.rule == "everybody":
                assert v.rule_subgroup.n_rows == v.population.n_rows
    assert searched > 3


def test_p_values_follow_from_the_statistics_of_the_family(plain):
    for result, *_ in plain:
        p = np.array([v.p_value for v in result.violations])
        for v in result.violations:
            assert v.p_value >= norm.sf(v.statistic) * (1 - 1e-9)
        adjusted = np.array([v.p_value_adjusted for v in result.violations])
        # Searches that find one thing in the same people count once.
        assert (adjusted >= p).all()
        assert (adjusted <= holm(p) + 1e-12).all()


def test_rows_are_told_their_side_and_propensity(plain):
    for result, _, _, s in plain:
        for v in result.violations:
            np.testing.assert_array_equal(v.side, np.where(s == v.group, 1, -1))
            assert not v.left_out.any()
        by_key = {(v.group, v.outcome): v for v in result.violations}
        f, m = by_key["f", "deny"], by_key["m", "deny"]
        np.testing.assert_allclose(f.propensity, 1 - m.propensity)
        assert f.propensity[s == "f"].mean() > f.propensity[s == "m"].mean()


def test_three_tenths_of_every_group_and_outcome_are_held_out():
    X, y, s = people(700, seed=3)
    held = audit(X, y, s, evaluation="holdout").violations[0].held_out
    for group in "fm":
        for outcome in ("deny", "grant"):
            rows = (s == group) & (y == outcome)
            assert abs(held[rows].sum() - 0.3 * rows.sum()) < 1


def test_everybody_is_the_answer_for_people_not_seen_before_too():
    """Without a violation; also where a cut was chosen whose region gave way to everybody."""
    n_everybody = 0
    new = pd.DataFrame({"town": ["A", "B", "C"] * 4, "age": np.repeat([20.0, 50.0, 90.0, -5.0], 3)})
    X, y, s = people(300, seed=2)
    for v in audit(X, y, s).violations:
        if v.share < 1:
            continue
        n_everybody += 1
        assert v.membership.all()
        auditor = mdfa.MDFAuditor(**FAST, groups=[v.group], outcomes=[v.outcome])
        auditor.fit(X, y, sensitive_features=s)
        assert auditor.predict(new).all()
    assert n_everybody > 2


def test_provenance_keeps_what_is_short_and_tells_long_arrays_by_their_content():
    X, y, s = people(300)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    told = [
        audit(X, y, s, outcomes=["deny"], balance=given).provenance["parameters"]
        for given in (weights, weights.tolist(), weights[::-1].copy())
    ]
    assert all(one["outcomes"] == ["deny"] for one in told)
    assert told[0]["balance"].startswith("array of shape (300,), sha256 ")
    assert told[0]["balance"] == told[1]["balance"] != told[2]["balance"]


# -- unknown sensitive values


def filled_ratio(sides, asked, hit, share, with_outcome):
    """Log ratio with the outcome's rows of those asked about on this side, the rest on the other."""
    rates = []
    for number, (rows, weight) in enumerate(sides):
        filled = asked & (hit == (number == with_outcome))
        total = weight[rows].sum() + share * weight[filled].sum()
        rates.append((weight[rows & hit].sum() + share * weight[filled & hit].sum()) / total)
    return math.log(rates[0] / rates[1])


@pytest.mark.parametrize("evaluation", ["cross_fit", "holdout"])
@pytest.mark.parametrize("balance", ["overlap", "propensity", "none"])
def test_unknown_values_are_filled_in_with_the_weights_of_either_side(balance, evaluation):
    """The largest ratio: who was denied is of the group, who was not of the others.

    Each weighs what people like them weigh on that side; after a split, the share that was held out.
    """
    X, y, s = people(900, seed=4)
    X = X[["town"]]
    unknown = np.arange(900) % 20 == 0
    base = np.where(np.arange(900) % 3 == 0, 2.5, 1.0)
    s[unknown] = None
    with pytest.warns(MissingSensitiveWarning):
        result = mdfa.audit(
            X,
            y,
            sensitive_features=s,
            sample_weight=base,
            balance=balance,
            evaluation=evaluation,
            **FAST,
        )
    for v in result.violations:
        known, e = v.held_out & v.membership, v.propensity.copy()
        for town in "AB":
            like = (X["town"] == town).to_numpy()
            e[like & unknown] = np.nanmean(e[like])
        group, others = {
            "overlap": (base * (1 - e), base * e),
            "propensity": (base * (1 - e) / e, base),
            "none": (base, base),
        }[balance]
        share = base[v.held_out].sum() / base[~unknown].sum()
        asked = unknown & v.membership
        assert v.n_missing == asked.sum()
        sides = ((known & (v.side > 0), group), (known & (v.side < 0), others))
        bounds = [
            filled_ratio(sides, asked, y == v.outcome, share, with_outcome)
            for with_outcome in (1, 0)
        ]
        assert v.missing_bounds == pytest.approx(tuple(bounds), abs=0.01)


def test_unknown_values_of_people_without_counterpart_are_not_filled_in():
    """People of town C are all men: whatever the unknown ones of them are, none is compared."""
    X, y, s = people(500, seed=7)
    alone, unknown = np.arange(500) < 25, np.arange(500) % 25 == 0
    X["town"] = np.where(alone | (np.arange(500) == 475), "C", X["town"])
    s[alone] = "m"
    s[unknown] = None
    with pytest.warns((MissingSensitiveWarning, OverlapWarning)):
        result = audit(X, y, s)
    for v in result.violations:
        asked = unknown & v.membership & (X["town"] != "C").to_numpy()
        assert v.n_missing == asked.sum() > 0


# -- the smallest mass


def test_the_smallest_mass_is_a_tenth_of_the_weight_of_those_who_have_the_outcome():
    """Of the rows compared in that search; a search that cannot be made has none."""
    X, y, s = people(500, seed=3)
    s[:40], s[40:45] = "x", "y"
    weight = np.where(y == "deny", 0.7, 1.4)
    with pytest.warns(MDFAWarning):
        result = audit(X, y, s, reference_group="m", sample_weight=weight, overlap="trim")
    made = [v for v in result.violations if v.reason == "" or v.measured]
    assert {v.group for v in made} == {"f", "x"}
    for v in result.violations:
        compared = (v.side != 0) & ~v.left_out
        if v.group == "y":
            assert math.isnan(v.alpha)
        else:
            rate = np.average(y[compared] == v.outcome, weights=weight[compared])
            assert v.alpha == pytest.approx(min(rate / 10, 0.05))
            assert v.path.mass.max() > v.alpha
    assert result.alpha == "auto"
    assert {v.alpha for v in audit(X, y, s, alpha=0.1, groups=["f"]).violations} == {0.1}


# -- notes and warnings


@pytest.mark.parametrize(
    ("alpha", "noted"),
    [(0.1, ""), (0.11, "leaves only subgroups with at least half"), (0.3, "no subgroup is looked")],
)
def test_a_mass_of_more_than_half_of_the_outcome_is_noted(alpha, noted):
    X, _, s = people(400, seed=5)
    y = np.where(np.arange(400) % 5 == 0, "deny", "grant")
    result = audit(X, y, s, alpha=alpha, outcomes=["deny"])
    notes = [w.message for w in result.warnings if w.category == "LargeAlpha"]
    assert bool(notes) == bool(noted)
    assert all("a rate of 0.2" in message and noted in message for message in notes)


def test_a_verdict_rests_on_the_rows_of_the_subgroup():
    """Nine of thirty women in town A are denied and no man; 24 people elsewhere say nothing of A."""
    cells = [("A", "f", 30, 9), ("A", "m", 30, 0), ("B", "f", 120, 12), ("B", "m", 120, 12)]
    rows = [(t, s, i < hits) for t, s, n, hits in cells for i in range(n)]
    town, s, denied = (np.array(column) for column in zip(*rows, strict=True))
    (v,) = audit(
        pd.DataFrame({"town": town}),
        denied,
        s,
        solver="iterative",
        xi=0.3,
        alpha=0.01,
        balance="none",
        groups=["f"],
        outcomes=[True],
    ).violations
    np.testing.assert_array_equal(v.membership, town == "A")
    assert v.verdict == "insufficient_evidence"
    assert v.reason == "only 9 rows of the subgroup have the outcome; at least 10 are needed"


@pytest.mark.parametrize(("n_alone", "warned"), [(15, False), (20, True)])
def test_rows_without_counterpart_are_a_warning_from_a_twentieth_on(n_alone, warned):
    """People of town C are all of one group; their rule is told where they are ten or more."""
    X, y, s = people(400, seed=6)
    X["town"] = np.where(np.arange(400) < n_alone, "C", X["town"])
    s[:n_alone] = "m"
    if warned:
        with pytest.warns(OverlapWarning, match=f"{n_alone} of 400 rows .5 %"):
            result = audit(X, y, s)
    else:
        result = audit(X, y, s)
    with pytest.raises(OverlapError, match=f"{n_alone} of 400 rows"):
        audit(X, y, s, overlap="refuse")
    for v in result.violations:
        np.testing.assert_array_equal(v.left_out, X["town"] == "C")
        assert not v.membership[:n_alone].any()
    assert {entry.group: entry.n_group for entry in result.silence} == {"f": 0, "m": n_alone}
    for entry in result.silence:
        assert entry.n_rows == n_alone
        assert entry.share == pytest.approx(n_alone / 400)
        assert entry.rule == "town is C"
    assert sorted(n for n in result.excluded.values()) == [n_alone, n_alone]


# -- what is decided by the features


def notes_of(X, y, **params):
    rng = np.random.default_rng(1)
    s = rng.choice(["f", "m"], len(X))
    result = audit(X, y, s, **params)
    return [w for w in result.warnings if w.category in ("DecidedByRules", "DecisionInputs")]


def test_rules_of_several_features_are_a_fact_and_no_warning():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"home": rng.integers(0, 2, 2000), "job": rng.integers(0, 2, 2000)})
    X["age"] = rng.integers(18, 80, 2000)
    (note,) = notes_of(X, X["home"] & X["job"])
    assert note.category == "DecidedByRules"
    assert note.message.startswith("Together the audited features tell the outcome of nearly every")
    assert notes_of(X, rng.integers(0, 2, 2000)) == []
    # A quarter have the outcome: of a fortieth it may be open.
    for wrong, n_notes in ((0.01, 1), (0.06, 0)):
        assert len(notes_of(X, (X["home"] & X["job"]) ^ (rng.random(2000) < wrong))) == n_notes


def test_a_feature_said_to_be_an_input_is_noted_in_the_place_of_rules():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.normal(size=900), "age": rng.integers(18, 80, 900)})
    (note,) = notes_of(X, (X["income"] > 0.5).astype(int), decision_inputs=["income"])
    assert note.category == "DecisionInputs"


def test_the_feature_that_tells_the_group_is_named():
    rng = np.random.default_rng(0)
    n = 2000
    s, age, y = rng.random(n) < 0.4, rng.integers(18, 80, n), rng.integers(0, 2, n)
    size = np.where(s, 180, 160) + rng.normal(0, 4, n)
    with pytest.raises(
        OverlapError, match=r"The feature 'size' alone tells the side of 9. % of the r"
    ):
        audit(pd.DataFrame({"age": age, "size": size}), y, s)
    place = np.where(rng.random(n) < 0.97, s, ~s) * 50 + rng.integers(0, 50, n)
    with pytest.warns(OverlapWarning, match="'place' alone tells the side of 9[67] % of the rows"):
        audit(pd.DataFrame({"age": age, "place": place}), y, s)


def test_of_features_that_tell_the_group_together_the_best_is_named_beside_a_guess():
    """The sum tells the group; each part little more than that most are not in it."""
    rng = np.random.default_rng(0)
    n = 2000
    s, y, a = rng.random(n) < 0.4, rng.integers(0, 2, n), rng.normal(0, 3, n)
    X = pd.DataFrame({"a": a, "b": 4 * s - a + rng.normal(0, 0.1, n), "c": rng.normal(size=n)})
    with pytest.raises(
        OverlapError,
        match=r"feature 'b' alone tells the side of [67]\d % of the rows \(a guess 59 %",
    ):
        audit(X, y, s)
