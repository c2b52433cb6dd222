"""What is found where a violation is planted, and that it is what a table says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.measure.estimates import certificate_strength
from mdfa_fairness_plugin.search.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")


def test_planted_violation_is_found(by_search, planted):
    """Women in town A, denied: ratio 2.6, and both intervals and rule say so."""
    auditor, X, *_ = planted
    worst = auditor.result_.worst_case
    assert (worst.group, worst.outcome, worst.verdict) == ("f", "deny", "violation")
    assert worst.p_value_adjusted < 0.01
    town = (X["town"] == "A").to_numpy()
    share = town[worst.membership].mean()  # of the planted region in the one found
    own = math.log((0.65 * share + 0.25 * (1 - share)) / 0.25)
    # 3.3 standard errors instead of the interval's 1.96: by luck under 1 in 1,000.
    low, high = (worst.delta + 3.3 / 1.96 * (end - worst.delta) for end in worst.interval)
    assert low < own < high
    assert "A" in worst.rule
    # The other side of the same coin: men are granted more, in A by .75 / .35, in all by .75 / .59.
    other = by_search(auditor.result_)["m", "grant"]
    assert other.verdict == "violation"
    assert other.interval[0] < math.log(0.75 / 0.35)
    assert other.interval[1] > math.log(0.75 / 0.59)
    # Nobody is favoured the other way round.
    assert by_search(auditor.result_)["m", "deny"].verdict != "violation"
    assert by_search(auditor.result_)["f", "grant"].verdict != "violation"


def test_planted_regions_overlap_with_those_found(people):
    """Four draws of people: town A and the region found have most of their rows in common."""
    overlaps = []
    for seed in range(1, 5):
        X, y, s = people(1500, seed=seed)
        params = {"groups": ["f"], "outcomes": ["deny"], "random_state": 0}
        (v,) = mdfa.audit(X, y, sensitive_features=s, **params).violations
        town = (X["town"] == "A").to_numpy()
        overlaps.append((v.membership & town).sum() / (v.membership | town).sum())
        assert v.verdict == "violation"
    assert np.mean(overlaps) > 0.85


def test_one_search_per_group_and_outcome(planted):
    auditor, *_ = planted
    found = [(v.group, v.outcome) for v in auditor.result_.violations]
    assert sorted(found) == [("f", "deny"), ("f", "grant"), ("m", "deny"), ("m", "grant")]
    assert set(auditor.result_.balance) == {("sex", "f"), ("sex", "m")}


def test_numbers_follow_from_each_other(planted):
    auditor, *_ = planted
    result = auditor.result_
    for v in result.violations:
        assert v.ratio == pytest.approx(math.exp(v.delta))
        assert v.gamma == pytest.approx(float(certificate_strength(v.mass, v.delta)), abs=1e-12)
        assert v.delta == pytest.approx(math.log(v.rates[0] / v.rates[1]))
        assert v.interval[0] <= v.delta <= v.interval[1]
        assert v.p_value <= v.p_value_adjusted <= min(1, 4 * v.p_value + 1e-12)
        assert v.estimates["doubly_robust"] == v.delta
        sets = (v.population, v.core, v.searched, v.rule_subgroup)
        for own in sets:
            strength = float(certificate_strength(own.mass, own.delta))
            assert own.gamma == pytest.approx(strength, abs=1e-14, nan_ok=True)
            assert own.ratio == pytest.approx(own.rates[0] / own.rates[1], nan_ok=True)
        assert sum(own.measured for own in sets) >= 3
        for own in (v.population, v.searched):
            assert 0 <= own.p_value <= 1
        # Of two the better is reported, and the choice is allowed for.
        reported = v.population if v.share == 1 else v.searched
        assert reported.p_value * (1 - 1e-9) <= v.p_value <= 2 * reported.p_value + 1e-12
        assert v.searched.n_rows == v.n_rows or v.share == 1
        assert v.mass >= 0.9 * v.alpha  # asked for on the rows that chose, measured on others
        assert v.n_rows == v.counts.to_numpy().sum() == (v.membership & v.held_out).sum()
        assert v.share == pytest.approx(v.n_rows / v.held_out.sum())
        assert v.population.n_rows == v.held_out.sum()
        assert v.core.n_rows <= v.n_rows
        # Chosen by its limit, of fewer rows; what is told allows for more.
        assert v.core.delta >= v.delta - 1e-9
        # Everybody is a region too.
        assert v.lower >= v.population.lower - 1e-9
        assert v.path.n_rows[-1] == v.population.n_rows


@pytest.mark.parametrize("evaluation", ["cross_fit", "holdout"])
def test_without_balancing_it_is_a_cross_table(people, audit, evaluation):
    """counts, rates, delta, mass, gamma: all from a crosstab of the rows in the subgroup."""
    X, y, s = people(600, seed=3)
    result = audit(X, y, s, balance="none", evaluation=evaluation)
    for v in result.violations:
        rows = v.membership & v.held_out
        table = pd.crosstab(s[rows], y[rows])
        other = {"f": "m", "m": "f"}[v.group]
        outcomes = list(v.counts.columns)
        assert outcomes[0] == v.outcome
        assert v.counts.index.tolist() == [v.group, "everyone else"]
        np.testing.assert_array_equal(
            v.counts.to_numpy(),
            table.reindex(index=[v.group, other], columns=outcomes, fill_value=0),
        )
        p1, p0 = (v.counts.to_numpy()[i, 0] / v.counts.to_numpy()[i].sum() for i in (0, 1))
        assert v.rates == pytest.approx((p1, p0))
        assert v.delta == pytest.approx(math.log(p1 / p0))
        assert v.estimates["unweighted"] == pytest.approx(v.delta)
        share = np.mean([(rows & (s == g)).sum() / (v.held_out & (s == g)).sum() for g in "fm"])
        assert v.mass == pytest.approx(share * (p1 + p0) / 2)
        assert v.gamma == pytest.approx(share * (p1 - p0) / 4)


def test_balancing_removes_what_the_features_explain(audit):
    """Approval follows income and groups differ in income: everybody's ratio is 1 once balanced."""
    rng = np.random.default_rng(5)
    s = rng.choice(["a", "b"], 1500)
    income = rng.normal(np.where(s == "a", 0.6, 0.0), 1.0)
    y = rng.random(1500) < 1 / (1 + np.exp(-1.5 * income))
    X = pd.DataFrame({"income": income})
    plain = audit(X, y, s, balance="none", groups=["a"], outcomes=[True]).violations[0]
    fair = audit(X, y, s, groups=["a"], outcomes=[True])
    assert plain.population.lower > 0.1
    assert fair.violations[0].population.delta == pytest.approx(0.0, abs=0.1)
    assert fair.violations[0].verdict != "violation"
    before, after = fair.balance["sensitive_feature", "a"], None
    after = abs(before.smd_after["income"])
    assert after < 0.1 < abs(before.smd_before["income"])


def test_a_group_that_never_gets_the_outcome(audit, by_search, fast):
    """An infinite ratio, of the others, is a result like any other."""
    _, X, y, s = fast
    never = y.where(s == "m", "grant")
    found = by_search(audit(X, never, s))
    assert found["m", "deny"].delta == math.inf
    assert found["m", "deny"].lower > 0
    assert found["m", "deny"].verdict == "violation"
    assert found["f", "deny"].verdict != "violation"
    assert found["f", "grant"].lower > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_outcome_that_is_the_sensitive_value(audit, by_search, fast, solver):
    """The greatest violation there is: everybody, rates 1 and 0."""
    _, X, _, s = fast
    found = by_search(audit(X, s, s, solver=solver, max_iter=5))
    assert found["f", "f"].delta == math.inf
    assert found["f", "f"].verdict == "violation"
    assert found["f", "f"].membership.all()
    assert found["f", "f"].rates == (1.0, 0.0)
    assert found["f", "m"].verdict != "violation"


def test_a_single_two_valued_feature_is_enough(people, audit):
    X, y, s = people(600, seed=5)
    one = (X["town"] == "A").rename("in A").to_frame()
    worst = audit(one, y, s).worst_case
    assert (worst.group, worst.outcome) == ("f", "deny")
    np.testing.assert_array_equal(worst.membership, one["in A"])


def test_after_a_split_the_rule_is_measured_on_the_held_out_rows_that_meet_it():
    """Without weights, its rates are plain shares of these rows."""
    data = make_synthetic(n_samples=3000, delta=1.5, random_state=1)
    s = np.asarray(data.sensitive_features)
    y = np.asarray(data.y)
    auditor = mdfa.MDFAuditor(evaluation="holdout", balance="none", random_state=0)
    auditor.fit(data.X, y, sensitive_features=s)
    for violation, searched in zip(auditor.result_.violations, auditor._searches, strict=True):
        rule = violation.rule_subgroup
        if violation.rule in ("", "everybody"):
            continue
        meets = searched.rule.applies(data.X) & violation.held_out
        own, other = meets & (s == violation.group), meets & (s != violation.group)
        assert rule.n_rows == meets.sum() == violation.rule_rows
        assert rule.rates == pytest.approx(
            ((y[own] == violation.outcome).mean(), (y[other] == violation.outcome).mean())
        )
        assert rule.delta == pytest.approx(math.log(rule.rates[0] / rule.rates[1]))
        assert rule.counts.iloc[0, 0] == (y[own] == violation.outcome).sum()
        assert rule.interval[0] < rule.delta < rule.interval[1]


def test_a_rule_says_nothing_about_a_subgroup_without_one():
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(600, 2)), rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    for violation in mdfa.audit(X, y, sensitive_features=s, random_state=0).violations:
        if violation.rule == "everybody":
            assert violation.rule_subgroup.delta == violation.population.delta
            assert violation.rule_subgroup.n_rows == violation.population.n_rows
        if violation.rule == "":
            assert not violation.rule_subgroup.measured
            assert violation.rule_subgroup.n_rows == 0


def test_the_rule_of_a_planted_box_has_the_planted_ratio():
    """A ratio of two where age is at most 40 and town is A, and nowhere else."""
    rng = np.random.default_rng(2)
    n = 4000
    X = pd.DataFrame(
        {"age": rng.integers(18, 70, n).astype(float), "town": rng.choice(["A", "B"], n)}
    )
    s = rng.choice(["f", "m"], n)
    box = ((X.age <= 40) & (X.town == "A")).to_numpy()
    y = rng.random(n) < np.where(box & (s == "f"), 0.6, 0.3)
    result = mdfa.audit(X, y, sensitive_features=s, random_state=0, groups=["f"], outcomes=[True])
    (violation,) = result.violations
    rule = violation.rule_subgroup
    low, high = rule.interval
    assert low < math.log(2) < high
    assert abs(rule.n_rows - box.sum()) < 0.25 * box.sum()
    assert violation.rule_fidelity > 0.9


def test_e_values_follow_from_the_ratio(planted):
    for v in planted[0].result_.violations:
        for strength, delta in ((v.e_value, v.delta), (v.e_value_limit, v.interval[0])):
            ratio = math.exp(delta)
            expected = 1.0 if ratio <= 1 else ratio + math.sqrt(ratio * (ratio - 1))
            assert strength == pytest.approx(expected)
