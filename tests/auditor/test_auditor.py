"""The whole audit: planted violations, invariances, honest measurement, and every edge."""

from __future__ import annotations

import io
import json
import logging
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.balance import BALANCERS, EntropyBalancing
from mdfa_fairness_plugin.datasets import make_shape, make_synthetic
from mdfa_fairness_plugin.exceptions import (
    InputError,
    MDFAError,
    MissingSensitiveWarning,
    NothingToAuditError,
    OverlapError,
    OverlapWarning,
    SearchWarning,
    SmallGroupWarning,
    WeightWarning,
)
from mdfa_fairness_plugin.learn.learners import LEARNERS
from mdfa_fairness_plugin.measure.estimates import certificate_strength

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")

# A tree and two folds: half a second per audit of 400 rows.
FAST = {"learner": "tree", "n_splits": 2, "random_state": 0}
SOLVERS = ("orthogonal", "level_set", "iterative")
NUMBERS = (
    "delta",
    "interval",
    "gamma",
    "gamma_lemma",
    "mass",
    "n_rows",
    "share",
    "rates",
    "p_value",
    "p_value_adjusted",
    "detectable_delta",
    "verdict",
    "reason",
    "rule_fidelity",
)


def people(n=400, seed=0, violation=2.6, discrete=False):
    """Features of all kinds; women in town A are denied 2.6 times as often as men like them.

    Denials: 65 % of women against 25 % of men in town A, 25 % of everybody elsewhere: among all
    41 % against 25 %. Who is a woman depends on age, a little.
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(2, 6, n) * 10.0 if discrete else rng.uniform(20, 60, n)
    X = pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["A", "B", "C"], n, p=[0.4, 0.3, 0.3]),
            "member": rng.random(n) < 0.5,
        }
    )
    woman = rng.random(n) < np.where(age > 40, 0.4, 0.5)
    rate = np.where(woman & (X["town"] == "A"), 0.25 * violation, 0.25)
    y = pd.Series(np.where(rng.random(n) < rate, "deny", "grant"), name="decision")
    return X, y, pd.Series(np.where(woman, "f", "m"), name="sex")


def audit(X, y, s, sample_weight=None, **params):
    return mdfa.audit(X, y, sensitive_features=s, sample_weight=sample_weight, **(FAST | params))


def by_search(result, groups=None, outcomes=None):
    """Searches under their old names, where labels were called otherwise."""
    groups, outcomes = groups or {}, outcomes or {}
    return {
        (groups.get(v.group, v.group), outcomes.get(v.outcome, v.outcome)): v
        for v in result.violations
    }


def assert_same(one, two, *, groups=None, outcomes=None, rows=None, skip=()):
    """Every number of every search is equal; ``rows``: the first audit's rows in the second."""
    left, right = by_search(one), by_search(two, groups, outcomes)
    assert set(left) == set(right)
    for key, v in left.items():
        w = right[key]
        for name in NUMBERS:
            if name not in skip:
                assert getattr(v, name) == pytest.approx(getattr(w, name), nan_ok=True, abs=0), name
        for name in ("population", "core"):
            assert getattr(v, name).delta == pytest.approx(getattr(w, name).delta, abs=0)
        np.testing.assert_array_equal(v.path.delta, w.path.delta)
        np.testing.assert_array_equal(v.counts.to_numpy(), w.counts.to_numpy())
        order = slice(None) if rows is None else rows
        np.testing.assert_array_equal(v.membership[order], w.membership)
        np.testing.assert_array_equal(v.held_out[order], w.held_out)


@pytest.fixture(scope="module")
def planted():
    """The default audit of people in whom a ratio of 2.6 is planted, and its data."""
    X, y, s = people(1500, seed=1)
    auditor = mdfa.MDFAuditor(random_state=0).fit(X, y, sensitive_features=s)
    return auditor, X, y, s


@pytest.fixture(scope="module")
def fast():
    """A quick audit that others are compared with, and its data."""
    X, y, s = people()
    return audit(X, y, s), X, y, s


# -- what is found, and that it is what a table says


def test_planted_violation_is_found(planted):
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
    assert (worst.membership & town).sum() / (worst.membership | town).sum() > 0.75
    assert "A" in worst.rule
    # The other side of the same coin: men are granted more, in A by .75 / .35, in all by .75 / .59.
    other = by_search(auditor.result_)["m", "grant"]
    assert other.verdict == "violation"
    assert other.interval[0] < math.log(0.75 / 0.35)
    assert other.interval[1] > math.log(0.75 / 0.59)
    # Nobody is favoured the other way round.
    assert by_search(auditor.result_)["m", "deny"].verdict != "violation"
    assert by_search(auditor.result_)["f", "grant"].verdict != "violation"


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
        assert v.estimates["hajek"] == v.delta
        assert v.mass >= 0.9 * result.alpha  # asked for on the rows that chose, measured on others
        assert v.n_rows == v.counts.to_numpy().sum() == (v.membership & v.held_out).sum()
        assert v.share == pytest.approx(v.n_rows / v.held_out.sum())
        assert v.population.n_rows == v.held_out.sum()
        assert v.core.n_rows <= v.n_rows
        assert v.core.lower >= v.lower - 1e-9
        # Everybody is a region too.
        assert v.lower >= v.population.lower - 1e-9
        assert v.path.n_rows[-1] == v.population.n_rows


@pytest.mark.parametrize("evaluation", ["cross_fit", "holdout"])
def test_without_balancing_it_is_a_cross_table(evaluation):
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


def test_balancing_removes_what_the_features_explain():
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


def test_a_group_that_never_gets_the_outcome(fast):
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
def test_outcome_that_is_the_sensitive_value(fast, solver):
    """The greatest violation there is: everybody, rates 1 and 0."""
    _, X, _, s = fast
    found = by_search(audit(X, s, s, solver=solver, max_iter=5))
    assert found["f", "f"].delta == math.inf
    assert found["f", "f"].verdict == "violation"
    assert found["f", "f"].membership.all()
    assert found["f", "f"].rates == (1.0, 0.0)
    assert found["f", "m"].verdict != "violation"


@pytest.mark.parametrize("learner", ["tree", "logistic", "svm_linear", "gradient_boosting"])
@pytest.mark.parametrize("n_positive", [1, 3])
@pytest.mark.parametrize("solver", ["auto", "level_set"])
def test_hardly_any_outcome_is_no_evidence(fast, solver, learner, n_positive):
    _, X, y, s = fast
    rare = np.arange(len(y)) < n_positive
    result = audit(X, rare, s, solver=solver, learner=learner, outcomes=[True])
    for v in result.violations:
        assert v.verdict == "insufficient_evidence"
        assert v.reason


# -- invariances of the whole audit


@pytest.mark.parametrize("solver", SOLVERS)
def test_outcomes_may_be_called_anything(fast, solver):
    """Also if the names sort the other way round; labels come back as given."""
    _, X, y, s = fast
    one = audit(X, y, s, solver=solver, max_iter=8)
    renamed = y.map({"deny": 1, "grant": 0})
    two = audit(X, renamed, s, solver=solver, max_iter=8)
    assert_same(one, two, outcomes={1: "deny", 0: "grant"})
    assert {type(v.outcome) for v in two.violations} == {int}


def test_names_do_not_matter_where_labels_are_equally_frequent():
    """Nothing but names tells them apart by number: 150 of each group, each outcome."""
    X, _, _ = people(300, seed=9)
    rng = np.random.default_rng(9)
    s = pd.Series(rng.permutation(np.repeat(["f", "m"], 150)), name="sex")
    y = pd.Series(rng.permutation(np.repeat(["deny", "grant"], 150)), name="decision")
    one = audit(X, y, s)
    assert_same(one, audit(X, y.map({"deny": 1, "grant": 0}), s), outcomes={1: "deny", 0: "grant"})
    assert_same(one, audit(X, y, s.map({"f": 1, "m": 0})), groups={1: "f", 0: "m"})


@pytest.mark.parametrize("solver", SOLVERS)
def test_groups_may_be_called_anything(fast, solver):
    _, X, y, s = fast
    one = audit(X, y, s, solver=solver, max_iter=8)
    two = audit(X, y, s.map({"f": "z", "m": "a"}), solver=solver, max_iter=8)
    assert_same(one, two, groups={"z": "f", "a": "m"})


@pytest.mark.parametrize(
    "labels",
    [
        (True, False),
        (-1.0, 1.0),
        (np.int8(2), np.int8(1)),
        ("", "nan"),
        (pd.Timestamp(0), pd.Timestamp(1)),
    ],
)
def test_labels_of_any_type_come_back_as_given(fast, labels):
    one, X, y, s = fast
    names = {"deny": labels[0], "grant": labels[1]}
    outcome = pd.Series([names[value] for value in y], name="decision")
    two = audit(X, outcome, s)
    assert_same(one, two, outcomes={labels[0]: "deny", labels[1]: "grant"})
    assert {str(v.outcome) for v in two.violations} == {str(label) for label in labels}


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_may_come_in_any_order(solver, discrete):
    """Features of few values, so that many rows tie, included."""
    X, y, s = people(seed=4, discrete=discrete)
    order = np.random.default_rng(0).permutation(len(y))
    one = audit(X, y, s, solver=solver, max_iter=8)
    two = audit(
        *(part.iloc[order].reset_index(drop=True) for part in (X, y, s)), solver=solver, max_iter=8
    )
    # Rows that agree in everything may change places, and with them their folds.
    skip_rows = discrete
    left, right = by_search(one), by_search(two)
    for key, v in left.items():
        for name in NUMBERS:
            assert getattr(v, name) == pytest.approx(getattr(right[key], name), nan_ok=True, abs=0)
        if not skip_rows:
            np.testing.assert_array_equal(v.membership[order], right[key].membership)


def test_three_labels_in_any_order_of_rows_and_names():
    """Groups of equal size and ties all over: names still do not matter."""
    n = 360
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"x": rng.integers(0, 4, n).astype(float), "z": rng.integers(0, 3, n) * 1.0})
    s = pd.Series(np.repeat(["a", "b", "c"], n // 3), name="g")
    y = pd.Series(rng.random(n) < 0.5)
    one = audit(X, y, s)
    order = rng.permutation(n)
    names = {"a": "r", "b": "q", "c": "p"}
    two = audit(*(v.iloc[order].reset_index(drop=True) for v in (X, y, s.map(names))))
    left, right = by_search(one), by_search(two, {v: k for k, v in names.items()})
    for key, v in left.items():
        for name in NUMBERS:
            assert getattr(v, name) == pytest.approx(getattr(right[key], name), nan_ok=True, abs=0)


@pytest.mark.parametrize(
    ("solver", "evaluation"), [*((solver, "cross_fit") for solver in SOLVERS), ("auto", "holdout")]
)
def test_integer_weights_act_like_repeated_rows(solver, evaluation):
    """A weight of three is three rows and a weight of zero is none, to the last digit."""
    X, y, s = people(300, seed=5)
    copies = np.random.default_rng(1).integers(0, 4, 300)
    rows = np.repeat(np.arange(300), copies)
    params = {"solver": solver, "evaluation": evaluation, "max_iter": 8}
    weighted = audit(X, y, s, sample_weight=copies, **params)
    repeated = audit(*(part.iloc[rows].reset_index(drop=True) for part in (X, y, s)), **params)
    left, right = by_search(weighted), by_search(repeated)
    for key, v in left.items():
        for name in NUMBERS:
            assert getattr(v, name) == pytest.approx(getattr(right[key], name), nan_ok=True, abs=0)
        pd.testing.assert_frame_equal(v.profile, right[key].profile)
        # A row is inside if at least half of its copies are.
        inside = np.bincount(rows, right[key].membership, minlength=300)
        kept = copies > 0
        np.testing.assert_array_equal(v.membership[kept], (2 * inside >= copies)[kept])
    assert weighted.n_samples == 300
    assert len(weighted.violations[0].membership) == 300
    assert weighted.excluded["zero weight"] == (copies == 0).sum()


@pytest.mark.parametrize("weighting", ["ones", "sampling"])
def test_zero_weights_act_like_absent_rows(fast, weighting):
    """Even if the rows hold what would be an error; who they are like is told all the same."""
    _, X, y, s = fast
    kept = np.arange(400) % 5 > 0
    own = np.ones(400) if weighting == "ones" else np.random.default_rng(2).uniform(0.5, 2, 400)
    wild = X.assign(age=X["age"].where(kept, 1e12))
    one = audit(wild, y, s, sample_weight=np.where(kept, own, 0.0))
    two = audit(X[kept], y[kept], s[kept], sample_weight=own[kept])
    left, right = by_search(one), by_search(two)
    for key, v in left.items():
        for name in NUMBERS:
            assert getattr(v, name) == pytest.approx(getattr(right[key], name), nan_ok=True, abs=0)
        np.testing.assert_array_equal(v.membership[kept], right[key].membership)
        assert not v.held_out[~kept].any()
    assert one.excluded["zero weight"] == 80
    # Rows of no weight are judged like new ones.
    auditor = mdfa.MDFAuditor(**FAST).fit(X[kept], y[kept], s[kept], own[kept])
    told = by_search(one)[auditor.result_.worst_case.group, auditor.result_.worst_case.outcome]
    np.testing.assert_array_equal(told.membership[~kept], auditor.predict(wild[~kept]))
    assert any(v.membership[~kept].any() for v in one.violations)


def test_only_ratios_of_sampling_weights_matter(fast):
    _, X, y, s = fast
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 400)
    one = audit(X, y, s, sample_weight=weight)
    assert_same(one, audit(X, y, s, sample_weight=8 * weight))
    equal = audit(X, y, s, sample_weight=np.full(400, 0.7))
    assert_same(audit(X, y, s), equal)


def test_sampling_weights_move_the_rates_to_the_population():
    """Denied men counted threefold: their rate goes from p to 3p / (1 + 2p)."""
    X, y, s = people(800, seed=6)
    weight = np.where((s == "m") & (y == "deny"), 3.0, 1.0)
    params = {"balance": "none", "groups": ["f"], "outcomes": ["deny"], "weight_type": "sampling"}
    plain = audit(X, y, s, **params).violations[0].population
    moved = audit(X, y, s, sample_weight=weight, **params).violations[0].population
    p = plain.rates[1]
    assert moved.rates[1] == pytest.approx(3 * p / (1 + 2 * p))
    assert moved.rates[0] == pytest.approx(plain.rates[0])


def test_shifting_and_scaling_features_hardly_matters(planted):
    """Years or seconds since any day: the same people, the same ratio.

    Rounding may turn the choice between two regions that nearly tie, so for some splits the one
    found is a part of the other: the middle of five splits is looked at.
    """
    _, X, y, s = planted
    moved = X.assign(age=X["age"] * 3.15e7 - 1e9)
    overlaps, gaps = [], []
    for seed in range(5):
        one, two = (
            mdfa.audit(features, y, sensitive_features=s, random_state=seed).worst_case
            for features in (X, moved)
        )
        assert (two.group, two.outcome) == (one.group, one.outcome)
        both, either = one.membership & two.membership, one.membership | two.membership
        overlaps.append(both.sum() / either.sum())
        gaps.append(abs(two.delta - one.delta))
    assert np.median(overlaps) > 0.95
    assert np.median(gaps) < 0.05


def test_columns_that_say_nothing_change_nothing(fast):
    """Constant, or wholly missing text or numbers are dropped."""
    one, X, y, s = fast
    assert_same(one, audit(X.assign(year=2024, country="NO"), y, s))


def test_index_is_no_matter(fast):
    """Identical indexes, duplicates and all, pair rows one by one; so do shuffled unique ones."""
    one, X, y, s = fast
    repeated = pd.Index(np.arange(400) // 7)
    assert_same(one, audit(*(part.set_axis(repeated) for part in (X, y, s))))
    unique = pd.Index(np.random.default_rng(0).permutation(400) * 10)
    X, y, s = (part.set_axis(unique) for part in (X, y, s))
    order = np.random.default_rng(1).permutation(400)
    assert_same(one, audit(X, y.iloc[order], s.iloc[order[::-1]]))


def test_duplicates_in_different_indexes_are_refused(fast):
    _, X, y, s = fast
    index = pd.Index(np.arange(400) // 2)
    with pytest.raises(InputError, match=r"y: .*index"):
        audit(X.set_axis(index), y.set_axis(index[::-1]), s.set_axis(index))


def test_container_is_no_matter(fast):
    """pandas, polars, and a mapping of arrays: the same bytes; numpy: the same numbers."""
    one, X, y, s = fast
    as_polars = audit(pl.DataFrame(X), pl.Series("decision", y), pl.Series("sex", s))
    assert as_polars.to_json() == one.to_json()
    mapping = {name: X[name].to_numpy() for name in X}
    assert audit(mapping, y, s).to_json() == one.to_json()
    numbers = X.assign(town=X["town"].map({"A": 0.0, "B": 1.0, "C": 2.0})).astype(float)
    framed = audit(numbers, y, s)
    assert_same(framed, audit(numbers.to_numpy(), y.tolist(), s.tolist()))
    assert_same(framed, audit(numbers.to_numpy().tolist(), y.to_numpy(), s.to_numpy()))
    assert_same(framed, audit(sparse.csr_matrix(numbers.to_numpy()), y, s), skip=("rule_fidelity",))


def test_another_audited_column_changes_only_the_adjustment(fast):
    """Each sensitive column is audited on its own; Holm's family grows."""
    one, X, y, s = fast
    other = pd.Series(np.random.default_rng(4).choice(["u", "v"], 400), name="origin")
    both = audit(X, y, pd.DataFrame({"sex": s, "origin": other}))
    assert both.sensitive_names == ("sex", "origin")
    assert len(both.violations) == 8
    for v in one.violations:
        w = next(w for w in both.violations if (w.group, w.outcome) == (v.group, v.outcome))
        assert w.sensitive_feature == "sex"
        assert (w.delta, w.interval, w.p_value) == (v.delta, v.interval, v.p_value)
        np.testing.assert_array_equal(v.membership, w.membership)
        assert w.p_value_adjusted >= v.p_value_adjusted


def test_auditing_less_changes_only_the_adjustment(fast):
    one, X, y, s = fast
    full = by_search(one)
    for params, keys in (
        ({"groups": ["f"]}, [("f", "deny"), ("f", "grant")]),
        ({"outcomes": "deny"}, [("f", "deny"), ("m", "deny")]),
        ({"groups": {"sex": ["m"]}, "outcomes": ["grant"]}, [("m", "grant")]),
    ):
        found = by_search(audit(X, y, s, **params))
        assert sorted(found) == keys
        for key, v in found.items():
            assert (v.delta, v.p_value, v.gamma) == (
                full[key].delta,
                full[key].p_value,
                full[key].gamma,
            )
            assert v.p_value_adjusted <= full[key].p_value_adjusted
    single = audit(X, y, s, groups=["m"], outcomes=["grant"]).violations[0]
    assert single.p_value_adjusted == single.p_value


# -- same seed, same answer


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bytes_for_the_same_seed_and_any_number_of_jobs(solver):
    X, y, s = people(300, seed=7)
    params = {"solver": solver, "max_iter": 8, "outcomes": ["deny"]}
    one = audit(X, y, s, **params)
    assert audit(X, y, s, **params).to_json() == one.to_json()
    assert audit(X, y, s, **params, n_jobs=2, verbose=1).to_json() == one.to_json()
    assert audit(X, y, s, **params | {"random_state": 1}).to_json() != one.to_json()


def test_default_audit_gives_the_same_bytes_again(planted):
    auditor, X, y, s = planted
    again = clone(auditor).set_params(n_jobs=2).fit(X, y, sensitive_features=s)
    assert again.result_.to_json() == auditor.result_.to_json()
    np.testing.assert_array_equal(again.decision_function(X), auditor.decision_function(X))


def test_any_audit_can_be_repeated_from_its_provenance(fast):
    _, X, y, s = fast
    for state in (None, np.random.RandomState(5)):
        one = audit(X, y, s, random_state=state)
        two = audit(X, y, s, random_state=one.provenance["seed"])
        assert_same(one, two)


def test_generators_give_one_audit_after_another(fast):
    """Equal generators agree; one generator moves on."""
    _, X, y, s = fast
    rng = np.random.default_rng(6)
    one, two = audit(X, y, s, random_state=rng), audit(X, y, s, random_state=rng)
    assert one.provenance["seed"] != two.provenance["seed"]
    assert_same(one, audit(X, y, s, random_state=np.random.default_rng(6)))


def test_global_random_state_is_neither_used_nor_touched(fast):
    one, X, y, s = fast
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert_same(one, audit(X, y, s))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_provenance_says_how_it_was_made(planted):
    auditor, X, *_ = planted
    made = auditor.result_.provenance
    assert made["seed"] == 0
    assert made["n_samples"] == made["n_working_rows"] == len(X)
    assert made["solver"] == "orthogonal"
    assert made["balance"] == "overlap"
    assert made["versions"]["mdfa_fairness_plugin"] == mdfa.__version__
    assert made["parameters"]["alpha"] == 0.05
    assert set(made["parameters"]) == set(auditor.get_params()) - {"n_jobs", "verbose"}
    json.loads(auditor.result_.to_json())


def test_inputs_are_left_as_they_were(fast):
    _, X, y, s = fast
    copies = X.copy(), y.copy(), s.copy()
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    before = weight.copy()
    audit(X, y, s, sample_weight=weight)
    pd.testing.assert_frame_equal(X, copies[0])
    pd.testing.assert_series_equal(y, copies[1])
    pd.testing.assert_series_equal(s, copies[2])
    np.testing.assert_array_equal(weight, before)


# -- as an estimator


def test_arguments_are_kept_and_cloned():
    params = {"alpha": 0.1, "learner": RandomForestRegressor(5), "balance": np.ones(3), "xi": 0.3}
    auditor = mdfa.MDFAuditor(**params)
    for name, value in params.items():
        assert getattr(auditor, name) is value
    copy = clone(auditor)
    assert copy.alpha == 0.1
    assert copy.learner is not auditor.learner
    assert auditor.set_params(alpha=0.2, learner__n_estimators=7) is auditor
    assert (auditor.alpha, auditor.learner.n_estimators) == (0.2, 7)
    with pytest.raises(ValueError, match="nonsense"):
        auditor.set_params(nonsense=1)


def test_fit_leaves_the_arguments_alone(fast):
    """Estimators and balancing objects given are copied, not fitted in place."""
    _, X, y, s = fast
    learner, weigher = RandomForestRegressor(3), EntropyBalancing(random_state=0)
    auditor = mdfa.MDFAuditor(learner=learner, balance=weigher, n_splits=2, random_state=0)
    before = auditor.get_params(deep=False)
    auditor.fit(X, y, sensitive_features=s)
    after = auditor.get_params(deep=False)
    assert all(before[name] is after[name] for name in before)
    assert not hasattr(learner, "estimators_")
    assert learner.random_state is None
    assert not [name for name in vars(weigher) if name.endswith("_")]


def test_not_fitted_yet(fast):
    _, X, *_ = fast
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(mdfa.MDFAuditor(), method)(X)


def test_prediction_is_the_extent_of_the_worst_case(planted):
    auditor, X, *_ = planted
    inside = auditor.predict(X)
    assert inside.dtype == bool
    score = auditor.decision_function(X)
    assert score.shape == (1500,)
    assert score[inside].min() > score[~inside].max()
    membership = auditor.result_.worst_case.membership
    assert (inside == membership).mean() > 0.85
    new, *_ = people(500, seed=99)
    town = (new["town"] == "A").to_numpy()
    assert (auditor.predict(new) == town).mean() > 0.85


@pytest.mark.parametrize("solver", SOLVERS)
def test_prediction_survives_pickling_and_every_container(solver):
    X, y, s = people(300, seed=7)
    auditor = mdfa.MDFAuditor(solver=solver, max_iter=8, outcomes="deny", groups=["f"], **FAST)
    auditor.fit(X, y, sensitive_features=s)
    inside, score = auditor.predict(X), auditor.decision_function(X)
    back = pickle.loads(pickle.dumps(auditor))
    np.testing.assert_array_equal(back.decision_function(X), score)
    assert back.result_.to_json() == auditor.result_.to_json()
    np.testing.assert_array_equal(back.predict(X[["member", "town", "age"]]), inside)
    np.testing.assert_array_equal(back.predict(pl.DataFrame(X)), inside)
    np.testing.assert_array_equal(back.predict(X.iloc[:1]), inside[:1])
    np.testing.assert_array_equal(back.predict(X.assign(extra=1)), inside)
    with pytest.raises(InputError, match="town"):
        back.predict(X.drop(columns="town"))


def test_new_rows_may_hold_new_levels_and_gaps(planted):
    auditor, X, *_ = planted
    odd = X.head(3).assign(town=["Z", None, "A"], age=[np.nan, 1e9, 30.0])
    assert auditor.predict(odd).shape == (3,)
    assert np.isfinite(auditor.decision_function(odd)).all()


def test_fitting_again_forgets_the_first_fit(fast):
    _, X, y, s = fast
    auditor = mdfa.MDFAuditor(**FAST).fit(X, y, sensitive_features=s)
    assert auditor.n_features_in_ == 3
    assert auditor.feature_names_in_.tolist() == ["age", "town", "member"]
    auditor.fit(X[["age"]].to_numpy(), y, sensitive_features=s)
    assert auditor.n_features_in_ == 1
    assert not hasattr(auditor, "feature_names_in_")
    assert auditor.predict(np.array([[30.0]])).shape == (1,)


def test_one_call_is_the_same_as_two(fast):
    one, X, y, s = fast
    auditor = mdfa.MDFAuditor(**FAST)
    assert auditor.fit(X, y, s) is auditor
    assert auditor.result_.to_json() == one.to_json()


def test_nothing_is_printed_and_progress_is_logged(fast, capsys, caplog):
    _, X, y, s = fast
    with caplog.at_level(logging.INFO, logger="mdfa_fairness_plugin"):
        audit(X, y, s, outcomes="deny")
        assert not [r for r in caplog.records if "search" in r.message]
        audit(X, y, s, outcomes="deny", verbose=1)
    assert [r for r in caplog.records if "search" in r.message]
    assert capsys.readouterr() == ("", "")


def test_result_says_everything_in_every_form(fast, tmp_path):
    one, *_ = fast
    assert len(one.to_frame()) == 4
    assert "deny" in one.summary()
    assert json.loads(one.to_json(tmp_path / "r.json")) == one.to_dict()
    assert "<html" in one.to_html(tmp_path / "r.html")
    pickle.loads(pickle.dumps(one)).summary()


# -- evaluation


@pytest.mark.parametrize("solver", SOLVERS)
def test_holdout_measures_three_tenths(solver):
    X, y, s = people(600, seed=8)
    result = audit(X, y, s, evaluation="holdout", solver=solver, max_iter=8)
    for v in result.violations:
        assert v.held_out.sum() == pytest.approx(180, abs=4)
        assert v.n_rows == (v.membership & v.held_out).sum() <= v.held_out.sum()
        assert v.population.n_rows == v.held_out.sum()
        assert v.membership.shape == (600,)
        assert v.membership[~v.held_out].any()
    held = [v.held_out for v in result.violations]
    assert all((h == held[0]).all() for h in held)


def test_cross_fitting_measures_everybody(fast):
    one, *_ = fast
    assert all(v.held_out.all() for v in one.violations)


def test_holdout_finds_what_is_planted():
    X, y, s = people(2000, seed=9)
    worst = mdfa.audit(X, y, sensitive_features=s, evaluation="holdout", random_state=0).worst_case
    assert worst.verdict == "violation"
    assert worst.interval[0] < math.log(2.6) < worst.interval[1]


@pytest.mark.parametrize("estimator", ["hajek", "raw", "unweighted", "doubly_robust"])
def test_any_estimator_can_be_the_one_reported(fast, estimator):
    one, X, y, s = fast
    result = audit(X, y, s, estimator=estimator)
    for v, w in zip(result.violations, one.violations, strict=True):
        assert v.delta == v.estimates[estimator]
        assert v.estimates == w.estimates
        for end in (0, 1):
            assert v.interval[end] - w.interval[end] == pytest.approx(v.delta - w.delta, abs=1e-12)
        assert v.interval[0] <= v.delta <= v.interval[1]


def test_estimators_agree_roughly(planted):
    auditor, *_ = planted
    values = list(auditor.result_.worst_case.estimates.values())
    assert max(values) - min(values) < 0.3


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_direction_is_judged_by_its_own_propensity(solver):
    """A quarter is of group b and gets the outcome three times as often: two estimates agree."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(1000, 2))
    s = np.where(rng.random(1000) < 1 / (1 + np.exp(1.2 - 0.7 * x[:, 0])), "b", "a")
    y = rng.random(1000) < np.where(s == "b", 0.6, 0.2)
    for v in audit(x, y, s, solver=solver, max_iter=3).violations:
        assert v.estimates["doubly_robust"] == pytest.approx(v.estimates["hajek"], abs=0.2)


def test_alpha_is_the_smallest_mass(fast):
    """Larger alpha, larger regions; the mass is Pr[Y = y, G], never below alpha."""
    _, X, y, s = fast
    for alpha in (0.02, 0.1, 0.25):
        for v in audit(X, y, s, alpha=alpha).violations:
            assert v.mass >= alpha - 1e-9 or v.n_rows == 400


def test_higher_confidence_gives_wider_intervals(fast):
    one, X, y, s = fast
    wide = audit(X, y, s, confidence_level=0.99)
    for v, w in zip(one.violations, wide.violations, strict=True):
        assert w.confidence_level == 0.99
        low, high = w.population.interval
        assert low < v.population.interval[0]
        assert high > v.population.interval[1]


# -- every learner, solver and way of balancing


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("learner", ["auto", *(n for n in LEARNERS if n != "network_features")])
def test_every_learner_with_every_solver(learner, solver):
    """Each finds people who are treated unequally, more of them in town A than elsewhere."""
    X, y, s = people(400, seed=2)
    params = {"learner": learner, "solver": solver, "max_iter": 3, "groups": ["f"]}
    if (learner, solver) == ("svm_rbf", "orthogonal"):
        with pytest.raises(InputError, match=r"learner: .*solver='level_set'"):
            audit(X, y, s, **params)
        return
    result = audit(X, y, s, outcomes="deny", **params)
    assert result.provenance["solver"] == solver
    found = result.worst_case
    assert found.delta > 0.3
    town = (X["town"] == "A").to_numpy()
    assert found.membership[town].mean() >= found.membership[~town].mean()


@pytest.mark.parametrize(
    ("learner", "solver"),
    [("auto", "orthogonal"), ("tree", "orthogonal"), ("svm_rbf", "level_set")],
)
def test_solver_follows_from_the_learner(fast, learner, solver):
    _, X, y, s = fast
    result = audit(X, y, s, learner=learner, groups=["f"], outcomes="deny")
    assert result.provenance["solver"] == solver


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "iterative"])
def test_network_features(solver):
    pytest.importorskip("torch")
    X, y, s = people(400, seed=2)
    params = {"learner": "network_features", "solver": solver, "max_iter": 8}
    result = audit(X, y, s, groups=["f"], outcomes="deny", **params)
    assert result.provenance["solver"] == ("level_set" if solver == "auto" else solver)
    assert result.worst_case.delta > 0


@pytest.mark.parametrize(
    ("learner", "solver"),
    [
        (RandomForestClassifier(20, min_samples_leaf=10), "level_set"),
        (LogisticRegression(), "level_set"),
        (RandomForestRegressor(20, min_samples_leaf=10), "orthogonal"),
        (LinearRegression(), "orthogonal"),
    ],
)
def test_scikit_learn_estimators_choose_their_solver(fast, learner, solver):
    _, X, y, s = fast
    result = audit(X, y, s, learner=learner, groups=["f"], outcomes="deny")
    assert result.provenance["solver"] == solver
    assert (
        result.to_json() == audit(X, y, s, learner=learner, groups=["f"], outcomes="deny").to_json()
    )


@pytest.mark.parametrize("balance", [m for m in BALANCERS if m != "mmd_network"])
def test_every_way_of_balancing_finds_what_is_planted(balance):
    X, y, s = people(500, seed=2)
    result = audit(X, y, s, balance=balance, groups=["f"], outcomes="deny")
    assert result.balance["sex", "f"].method == balance
    assert result.provenance["balance"] == balance
    worst = result.worst_case
    assert worst.verdict == "violation"
    # Everybody's ratio is known too.
    assert worst.population.interval[0] < math.log(0.41 / 0.25) < worst.population.interval[1]


@pytest.mark.slow
def test_network_balancing_finds_what_is_planted():
    pytest.importorskip("torch")
    X, y, s = people(500, seed=2)
    result = audit(X, y, s, balance="mmd_network", groups=["f"], outcomes="deny")
    assert result.balance["sex", "f"].method == "mmd_network"
    low, high = result.worst_case.population.interval
    assert low < math.log(0.41 / 0.25) < high


def test_given_weights_are_those_used():
    """Rates inside are the weighted ones; an array, a list and a Series are the same."""
    X, y, s = people(400, seed=2)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    params = {"groups": ["f"], "outcomes": "deny"}
    result = audit(X, y, s, balance=weights, **params)
    v = result.worst_case
    for group, rate in zip("fm", v.rates, strict=True):
        rows = v.membership & (s == group).to_numpy()
        assert rate == pytest.approx(np.average(y[rows] == "deny", weights=weights[rows]))
    assert result.balance["sex", "f"].method == "given"
    assert result.provenance["balance"] == "given"
    for other in (weights.tolist(), pd.Series(weights)):
        assert_same(result, audit(X, y, s, balance=other, **params))
    assert_same(
        audit(X, y, s, balance="none", **params), audit(X, y, s, balance=np.ones(400), **params)
    )


def test_given_weights_follow_their_rows():
    """Rows shuffled together with their weights, some repeated, some absent."""
    X, y, s = people(300, seed=2)
    rng = np.random.default_rng(0)
    weights, copies = rng.uniform(0.5, 2.0, 300), rng.integers(0, 3, 300)
    one = audit(X, y, s, sample_weight=copies, balance=weights)
    rows = rng.permutation(np.repeat(np.arange(300), copies))
    two = audit(
        *(part.iloc[rows].reset_index(drop=True) for part in (X, y, s)), balance=weights[rows]
    )
    for key, v in by_search(one).items():
        assert v.delta == by_search(two)[key].delta


def test_an_object_can_balance():
    class Uniform:
        def fit(self, X, s, sample_weight=None):
            return self

        def weights(self, X, s):
            return np.ones(len(s))

    X, y, s = people(400, seed=2)
    params = {"groups": ["f"], "outcomes": "deny"}
    result = audit(X, y, s, balance=Uniform(), **params)
    assert result.balance["sex", "f"].method == "Uniform"
    plain = audit(X, y, s, balance="none", **params)
    assert_same(plain, audit(X, y, s, balance=np.ones(400), **params))
    (one,), (other,) = plain.violations, result.violations
    assert other.population.delta == one.population.delta
    # An object means to balance: what its weights leave of imbalance is allowed for.
    assert other.population.interval != one.population.interval


def test_as_in_paper():
    auditor = mdfa.MDFAuditor.as_in_paper()
    assert isinstance(auditor, mdfa.MDFAuditor)
    settings = auditor.get_params()
    paper = {
        "balance": "mmd_network",
        "learner": "network_features",
        "solver": "iterative",
        "evaluation": "holdout",
    }
    assert {name: settings[name] for name in paper} == paper
    other = mdfa.MDFAuditor.as_in_paper(learner="random_forest", alpha=0.02).get_params()
    assert (other["learner"], other["alpha"], other["balance"]) == (
        "random_forest",
        0.02,
        "mmd_network",
    )
    with pytest.raises(TypeError):
        mdfa.MDFAuditor.as_in_paper(nonsense=1)


@pytest.mark.slow
def test_the_papers_audit_runs():
    pytest.importorskip("torch")
    X, y, s = people(500, seed=2)
    auditor = mdfa.MDFAuditor.as_in_paper(
        max_iter=8, groups=["f"], outcomes="deny", random_state=0
    ).fit(X, y, sensitive_features=s)
    v = auditor.result_.worst_case
    assert v.delta > 0
    assert v.held_out.sum() == pytest.approx(150, abs=4)
    assert auditor.predict(X).shape == (500,)
    again = pickle.loads(pickle.dumps(auditor))
    np.testing.assert_array_equal(again.predict(X), auditor.predict(X))


def test_a_cut_short_algorithm_1_says_so():
    """With two iterations the mass cannot have fallen to alpha, which the result tells."""
    X, y, s = people(400)
    with pytest.warns(SearchWarning, match="max_iter=2 iterations"):
        result = audit(X, y, s, solver="iterative", max_iter=2, groups=["f"], outcomes="deny")
    assert any("max_iter" in warning.message for warning in result.warnings)


# -- groups, outcomes, missing values


def three_groups(n=600, seed=3):
    X, y, s = people(n, seed=seed)
    rng = np.random.default_rng(10_000 + seed)
    return X, y, s, pd.Series(rng.choice(["n", "s", "w"], n, p=[0.5, 0.3, 0.2]), name="origin")


def test_each_of_three_groups_is_compared_with_everybody_else():
    X, y, _, origin = three_groups()
    result = audit(X, y, origin)
    assert sorted({v.group for v in result.violations}) == ["n", "s", "w"]
    for v in result.violations:
        assert v.reference is None
        assert v.population.n_rows == 600
        assert v.population.counts.index.tolist() == [v.group, "everyone else"]
        own = (origin == v.group).to_numpy()
        assert v.population.counts.to_numpy()[0].sum() == own.sum()
        assert v.population.counts.loc[v.group, v.outcome] == (y[own] == v.outcome).sum()


@pytest.mark.parametrize("reference", ["n", {"origin": "n"}])
def test_reference_group_is_whom_the_others_are_compared_with(reference):
    X, y, _, origin = three_groups()
    result = audit(X, y, origin, reference_group=reference)
    assert sorted({v.group for v in result.violations}) == ["s", "w"]
    for v in result.violations:
        assert v.reference == "n"
        compared = origin.isin([v.group, "n"]).to_numpy()
        np.testing.assert_array_equal(v.held_out, compared)
        assert v.counts.index.tolist() == [v.group, "n"]
        assert v.population.n_rows == compared.sum()
        # Who is like them is told of the third group too.
        assert v.membership[~compared].any() == v.membership[compared].any()


def test_several_columns_and_their_combinations():
    X, y, s, origin = three_groups(900)
    result = audit(X, y, pd.DataFrame({"sex": s, "origin": origin}), intersections=True)
    assert result.sensitive_names == ("sex", "origin", "sex & origin")
    groups = {(v.sensitive_feature, v.group) for v in result.violations}
    assert ("sex & origin", ("f", "w")) in groups
    assert len(groups) == 2 + 3 + 6
    v = next(v for v in result.violations if v.group == ("f", "w"))
    own = ((s == "f") & (origin == "w")).to_numpy()
    assert v.population.counts.to_numpy()[0].sum() == own.sum()
    assert v.population.counts.index.tolist() == [("f", "w"), "everyone else"]
    assert "('f', 'w')" not in result.summary() or "f" in result.summary()
    assert len(result.to_frame()) == 22
    result.to_html()


def test_more_than_two_outcomes_are_each_against_the_rest():
    X, y, s = people(600, seed=4)
    third = np.random.default_rng(0).random(600) < 0.25
    y = y.where(~third, "wait")
    with pytest.raises(InputError, match=r"y: 3 different outcomes.*outcomes="):
        audit(X, y, s)
    result = audit(X, y, s, outcomes=["deny", "wait"])
    assert result.outcome_labels == ("deny", "grant", "wait")
    found = by_search(result)
    assert sorted(found) == [("f", "deny"), ("f", "wait"), ("m", "deny"), ("m", "wait")]
    assert result.worst_case is found["f", "deny"]
    assert found["f", "deny"].counts.columns.tolist() == ["deny", "grant", "wait"]
    assert found["f", "wait"].counts.columns.tolist() == ["wait", "deny", "grant"]
    rows = found["f", "deny"].membership & (s == "f").to_numpy()
    assert found["f", "deny"].counts.loc["f", "deny"] == (y[rows] == "deny").sum()
    assert found["f", "wait"].verdict != "violation"


def test_rows_without_a_sensitive_value_are_left_out_and_counted():
    X, y, s = people(800, seed=1, violation=3.0)
    s = s.mask(np.arange(800) % 8 == 0)
    with pytest.warns(MissingSensitiveWarning, match="100"):
        result = audit(X, y, s, learner="auto", outcomes="deny")
    assert sum(result.excluded.values()) == 100
    assert any(w.category == "MissingSensitiveWarning" for w in result.warnings)
    missing = s.isna().to_numpy()
    for v in result.violations:
        np.testing.assert_array_equal(v.held_out, ~missing)
        assert v.n_rows == (v.membership & ~missing).sum()
    # Whether they are like the people in the subgroup can be told.
    town = (X["town"] == "A").to_numpy()
    found = by_search(result)["f", "deny"].membership
    assert found[missing & town].mean() > found[missing & ~town].mean()


def test_missing_may_be_a_group_or_an_error():
    X, y, s = people(400)
    s = s.mask(np.arange(400) % 8 == 0)
    result = audit(X, y, s, missing="category")
    assert "(missing)" in {v.group for v in result.violations}
    assert all(v.held_out.all() for v in result.violations)
    with pytest.raises(InputError, match=r"sensitive_features: .*50"):
        audit(X, y, s, missing="raise")


def test_groups_too_small_are_listed_not_audited():
    X, y, s = people(400)
    s = s.mask(np.arange(400) < 7, "x")
    with pytest.warns(SmallGroupWarning, match="7"):
        result = audit(X, y, s)
    found = by_search(result)
    assert found["x", "deny"].verdict == "insufficient_evidence"
    assert "7" in found["x", "deny"].reason
    assert math.isnan(found["x", "deny"].delta)
    assert not found["x", "deny"].membership.any()
    assert ("sex", "x") not in result.balance
    # It counts among everybody else, and it is no part of the family of tests.
    assert found["f", "deny"].population.n_rows == 400
    assert found["f", "deny"].p_value_adjusted <= 4 * found["f", "deny"].p_value + 1e-12
    assert "x" in result.summary()


def test_no_group_large_enough():
    X, y, s = people(40)
    with pytest.warns(SmallGroupWarning):
        auditor = mdfa.MDFAuditor(**FAST).fit(X, y, sensitive_features=s)
    assert auditor.result_.worst_case is None
    assert {v.verdict for v in auditor.result_.violations} == {"insufficient_evidence"}
    assert not auditor.predict(X).any()
    assert (auditor.decision_function(X) == 0).all()
    auditor.result_.summary()
    auditor.result_.to_json()
    auditor.result_.to_html()


@pytest.mark.parametrize("evaluation", ["cross_fit", "holdout"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_group", [12])
def test_groups_of_a_few_rows_do_not_break_the_audit(n_group, solver, evaluation):
    """Where the least size is set to ten the answer is too little evidence, or a measurement."""
    X, y, _ = people(200)
    s = np.where(np.arange(200) < n_group, "few", "many")
    try:
        result = audit(X, y, s, solver=solver, evaluation=evaluation, min_group_size=10, max_iter=8)
    except OverlapError:
        return
    for v in result.violations:
        assert v.verdict == "insufficient_evidence" or math.isfinite(v.detectable_delta)
    result.summary()
    result.to_json()


# -- common support


def test_features_that_tell_the_group_cannot_be_audited():
    """x = s, up to noise: the error says why and what to do."""
    rng = np.random.default_rng(0)
    s = rng.choice([0, 1], 400)
    X = pd.DataFrame({"proxy": s + rng.normal(scale=0.01, size=400)})
    with pytest.raises(OverlapError) as caught:
        audit(X, rng.random(400) < 0.5, s)
    message = str(caught.value)
    assert message.startswith("sensitive_features: ")
    assert "400 of 400 rows" in message
    assert "coarser features" in message
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, MDFAError)


def half_overlap(n=800):
    """Beyond x = 0 everybody is of group 1; below, half are."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    s = np.where(X["x"] > 0, 1, rng.integers(0, 2, n))
    return X, rng.random(n) < 0.4, s


def test_rows_without_comparable_rows_are_left_out_and_counted():
    X, y, s = half_overlap()
    with pytest.warns(OverlapWarning, match="no comparable row"):
        result = audit(X, y, s)
    outside = result.violations[0].held_out ^ True
    n_out = int(outside.sum())
    assert (X["x"][outside] > -0.5).all()
    assert outside[X["x"] > 0.3].all()
    for group in (0, 1):
        assert result.balance["sensitive_feature", group].n_outside_support == n_out
        assert result.balance["sensitive_feature", group].share_outside_support == pytest.approx(
            n_out / 800
        )
    assert n_out in result.excluded.values()
    for v in result.violations:
        assert not v.membership[outside].any()
        assert v.population.n_rows == 800 - n_out
    assert any(w.category == "OverlapWarning" for w in result.warnings)


def test_rows_without_comparable_rows_may_be_refused():
    X, y, s = half_overlap()
    with pytest.raises(OverlapError, match="overlap='trim'"):
        audit(X, y, s, overlap="refuse")


def test_one_column_without_overlap_does_not_stop_the_others():
    X, y, s = people(400)
    young = pd.Series(np.where(X["age"] < 40, "young", "old"), name="life")
    result = audit(X, y, pd.DataFrame({"sex": s, "life": young}))
    life = [v for v in result.violations if v.sensitive_feature == "life"]
    assert len(life) == 4
    for v in life:
        assert v.verdict == "insufficient_evidence"
        assert "no comparable row" in v.reason
        assert not v.reason.startswith("sensitive_features")
    assert result.worst_case.sensitive_feature == "sex"


# -- what cannot be audited, said readably

X0, Y0, S0 = people(120)


@pytest.mark.parametrize(
    ("X", "y", "s", "error", "message"),
    [
        (X0, np.ones(120), S0, NothingToAuditError, "y: .*nothing to audit"),
        (X0, Y0, np.zeros(120), InputError, "sensitive_features: "),
        (X0, None, S0, InputError, "y: "),
        (X0, Y0, None, InputError, "sensitive_features: None"),
        (X0, Y0[:70], S0, InputError, "y: 70 rows .* X has 120"),
        (X0, Y0, S0[:70], InputError, "sensitive_features: 70 rows .* X has 120"),
        (X0, Y0, "sex", MDFAError, "sensitive_features: "),
        (X0, "decision", S0, MDFAError, "y: "),
        (X0.head(0), [], [], InputError, "X: "),
        (X0.head(1), ["a"], ["b"], InputError, "X: "),
        (X0[[]], Y0, S0, InputError, "X: "),
        (None, Y0, S0, MDFAError, "X: "),
        (X0["age"].to_numpy(), Y0, S0, InputError, "X: "),
        (X0.assign(age=1.0)[["age"]], Y0, S0, InputError, "X: "),
        (X0.assign(age=np.inf), Y0, S0, InputError, "X: .*age"),
        (X0, Y0.where(Y0 == "deny"), S0, InputError, "y: .*missing"),
        (X0, np.linspace(0, 1, 120), S0, InputError, "y: .*scores"),
        (X0, Y0, X0["age"], InputError, "sensitive_features: .*age"),
    ],
)
def test_unusable_input_is_named(X, y, s, error, message):
    with pytest.raises(error, match=f"(?s)^{message}"):
        audit(X, y, s)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("alpha", 0),
        ("alpha", 1),
        ("alpha", -0.1),
        ("alpha", math.nan),
        ("alpha", "small"),
        ("alpha", True),
        ("alpha", None),
        ("confidence_level", 95),
        ("confidence_level", 0.0),
        ("n_splits", 1),
        ("n_splits", 2.5),
        ("n_splits", True),
        ("n_splits", 10_000),
        ("solver", "fast"),
        ("solver", None),
        ("solver", ["orthogonal"]),
        ("learner", "forest"),
        ("learner", 3),
        ("learner", None),
        ("learner", ["tree"]),
        ("learner", KNeighborsRegressor()),
        ("learner", LogisticRegression),
        ("balance", "ipw"),
        ("balance", None),
        ("balance", 2.0),
        ("balance", np.ones(3)),
        ("balance", np.full(120, np.nan)),
        ("balance", -np.ones(120)),
        ("balance", np.zeros(120)),
        ("balance", ["a"] * 120),
        ("balance", EntropyBalancing),
        ("evaluation", "bootstrap"),
        ("estimator", "ipw"),
        ("missing", "drop"),
        ("overlap", "ignore"),
        ("weight_type", "counts"),
        ("xi", 0),
        ("xi", -0.1),
        ("xi", math.inf),
        ("xi", "small"),
        ("max_iter", 0),
        ("max_iter", 1.5),
        ("min_group_size", 0),
        ("min_group_size", 2.5),
        ("random_state", -1),
        ("random_state", 1.5),
        ("random_state", "seed"),
        ("random_state", True),
        ("n_jobs", 0),
        ("n_jobs", "all"),
        ("groups", []),
        ("groups", ["x"]),
        ("groups", {"age": ["f"]}),
        ("reference_group", "x"),
        ("reference_group", {"age": "f"}),
        ("outcomes", []),
        ("outcomes", ["maybe"]),
    ],
)
def test_arguments_that_make_no_sense_are_named(argument, value):
    """Every message begins with the argument; found at once, before anything is fitted."""
    with pytest.raises(MDFAError, match=f"^{argument}: "):
        audit(X0, Y0, S0, **{argument: value})


def test_solver_and_learner_that_do_not_fit_together_are_named():
    with pytest.raises(InputError, match=r"learner: .*regressor"):
        audit(X0, Y0, S0, solver="orthogonal", learner=LogisticRegression())
    with pytest.raises(InputError, match=r"learner: .*classifier"):
        audit(X0, Y0, S0, solver="level_set", learner=LinearRegression())


def test_learner_of_no_kind_is_named():
    """It looks like an estimator, but scikit-learn cannot tell which."""

    class Bare:
        def get_params(self, deep=True):
            return {}

        def fit(self, X, y, sample_weight=None):
            return self

    for solver in ("auto", "orthogonal", "level_set"):
        with pytest.raises(InputError, match=r"learner: .*(Bare is|Bare is not)"):
            audit(X0, Y0, S0, solver=solver, learner=Bare())


@pytest.mark.parametrize("device", ["cuda:99", "nonsense"])
def test_devices_that_are_not_there_are_named(device):
    pytest.importorskip("torch")
    with pytest.raises(MDFAError, match=r"^device: "):
        audit(X0, Y0, S0, balance="mmd_network", device=device)


@pytest.mark.parametrize(
    "weight", [-np.ones(120), np.full(120, np.nan), np.zeros(120), np.ones(3), ["a"] * 120]
)
def test_unusable_weights_are_named(weight):
    with pytest.raises(MDFAError, match=r"^sample_weight: "):
        audit(X0, Y0, S0, sample_weight=weight)


def test_unknown_arguments_list_the_known_ones():
    with pytest.raises(InputError, match=r"nonsense.*alpha"):
        audit(X0, Y0, S0, nonsense=1)


def test_warnings_point_at_the_users_line():
    X, y, s = people(200)
    with pytest.warns(SmallGroupWarning) as caught:
        audit(X, y, s.mask(np.arange(200) < 5, "x"))
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("n_splits", [25, 45])
def test_many_folds_and_few_rows(n_splits):
    """Some fold may hold nobody of a small comparison."""
    X, y, s = people(90)
    s = s.where(np.arange(90) % 3 > 0, "x")
    result = audit(
        X,
        y,
        s,
        n_splits=n_splits,
        reference_group="x",
        min_group_size=10,
        outcomes="deny",
        groups="f",
    )
    assert all(math.isfinite(v.population.delta) for v in result.violations)


def test_features_may_outnumber_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 200))
    with io.StringIO() as _:
        result = audit(X, rng.random(120) < 0.5, rng.integers(0, 2, 120), overlap="trim")
    assert len(result.violations) == 4


def test_a_single_two_valued_feature_is_enough():
    X, y, s = people(600, seed=5)
    one = (X["town"] == "A").rename("in A").to_frame()
    worst = audit(one, y, s).worst_case
    assert (worst.group, worst.outcome) == ("f", "deny")
    np.testing.assert_array_equal(worst.membership, one["in A"])


# -- calibration, seeded


@pytest.mark.slow
def test_nothing_is_found_where_nothing_was_planted():
    """60 audits of four searches each at 5 %: violations in at most a tenth, p-values spread out."""
    found, p_values = 0, []
    for seed in range(60):
        X, y, s = people(400, seed=1000 + seed, violation=1.0)
        result = audit(X, y, s, random_state=seed)
        found += any(v.verdict == "violation" for v in result.violations)
        p_values += [v.p_value for v in result.violations]
    assert found <= 6
    assert np.mean(p_values) > 0.4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "n", "tolerance"),
    [("level", 1500, 0.25), ("xor", 1500, 0.25), ("boxes", 4000, 0.35)],
)
def test_planted_deltas_are_estimated(shape, n, tolerance):
    """On average over five seeds the estimate is close to what was planted."""
    error = []
    for seed in range(5):
        data = make_shape(shape, n_samples=n, imbalance=0.05, random_state=seed)
        result = mdfa.audit(
            data.X,
            data.y,
            sensitive_features=data.sensitive_features,
            groups=[1],
            outcomes=[1],
            random_state=seed,
        )
        error.append(result.violations[0].delta - data.delta)
    assert np.mean(error) == pytest.approx(0.0, abs=tolerance)


@pytest.mark.slow
def test_a_violation_is_a_ratio_not_a_difference():
    """Rates .03 and .09 in a quarter, .30 and .36 elsewhere: the quarter is the worst case.

    Its mass is .015, so alpha must be below that for the quarter to be a region at all.
    """
    errors, overlaps = [], []
    for seed in range(3):
        data = make_shape("quarter", n_samples=20_000, imbalance=0.05, random_state=seed)
        v = mdfa.audit(
            data.X,
            data.y,
            sensitive_features=data.sensitive_features,
            groups=[1],
            outcomes=[1],
            alpha=0.01,
            random_state=seed,
        ).violations[0]
        region = np.asarray(data.region)
        overlaps.append((v.membership & region).sum() / (v.membership | region).sum())
        errors.append(v.delta - data.delta)
    assert np.mean(overlaps) >= 0.6
    assert abs(np.mean(errors)) <= 0.25


@pytest.mark.slow
def test_the_papers_half_disc_is_found():
    """IoU above one half and delta within .4, half of the seeds at least, at 2,000 rows."""
    good = 0
    for seed in range(4):
        data = make_synthetic(2000, delta=1.5, imbalance=0.05, random_state=seed)
        v = mdfa.audit(
            data.X,
            data.y,
            sensitive_features=data.sensitive_features,
            groups=[1],
            outcomes=[1],
            random_state=seed,
        ).violations[0]
        overlap = (v.membership & data.region).sum() / (v.membership | data.region).sum()
        good += overlap > 0.5 and abs(v.delta - 1.5) < 0.4
    assert good >= 2


# --- the rule as a subgroup of its own ---


def test_after_a_split_the_rule_is_measured_on_the_held_out_rows_that_meet_it():
    """Without weights, its rates are plain shares of these rows."""
    data = make_synthetic(n_samples=3000, delta=1.5, random_state=1)
    s = np.asarray(data.sensitive_features)
    y = np.asarray(data.y)
    auditor = mdfa.MDFAuditor(evaluation="holdout", balance="none", random_state=0)
    auditor.fit(data.X, y, sensitive_features=s)
    for violation, searched in zip(
        auditor.result_.violations, auditor._audited.searches, strict=True
    ):
        rule = violation.rule_subgroup
        if violation.rule in ("", "everybody"):
            continue
        meets = searched.rule.applies(data.X) & violation.held_out
        own, other = meets & (s == violation.group), meets & (s != violation.group)
        assert rule.n_rows == meets.sum()
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


@pytest.mark.slow
def test_rules_found_on_noise_rarely_have_an_interval_above_zero():
    """60 audits of four searches; 2.5 % nominal, 6 % allowed (15 of 240)."""
    above = 0
    for seed in range(60):
        rng = np.random.default_rng(90_000 + seed)
        X, y, s = rng.normal(size=(1000, 4)), rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
        for violation in mdfa.audit(X, y, sensitive_features=s, random_state=seed).violations:
            above += violation.rule_subgroup.interval[0] > 0
    assert above <= 15


# -- where the audit cannot speak, and what it cannot know


@pytest.fixture(scope="module")
def positive_overlap():
    """Only people with a positive ``a`` are of both groups."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=1500), "b": rng.integers(0, 4, 1500)})
    s = np.where(X["a"] > 0, rng.choice(["p", "q"], 1500), "q")
    return X, rng.integers(0, 2, 1500), s


def test_half_an_overlap_is_described(positive_overlap):
    X, y, s = positive_overlap
    with pytest.warns(OverlapWarning, match="no comparable row"):
        result = audit(X, y, s)
    assert {entry.group for entry in result.silence} == {"p", "q"}
    outside = int((X["a"] <= 0).sum())
    for entry in result.silence:
        assert entry.n_rows == pytest.approx(outside, rel=0.03)
        assert entry.share == pytest.approx(outside / 1500, rel=0.03)
        assert entry.rule == "a at most 0"
        assert entry.rule_recall > 0.95
        assert entry.n_group == (0 if entry.group == "p" else entry.n_rows)
    assert "a at most 0" in result.summary()
    assert result.excluded


def test_most_of_the_rows_outside_is_refused():
    rng = np.random.default_rng(2)
    a = rng.normal(size=1200)
    s = np.where(a > 0.8, rng.choice(["p", "q"], 1200), np.where(a > -0.3, "p", "q"))
    with pytest.raises(OverlapError, match="too little to speak for the whole"):
        audit(pd.DataFrame({"a": a}), rng.integers(0, 2, 1200), s)


def test_unknown_sensitive_values_are_bounded():
    """Every filling of a few unknown values lies inside the bounds; the estimate does too."""
    X, y, s = people(500, seed=4)
    s = s.astype(object)
    s[np.random.default_rng(0).choice(500, 12, replace=False)] = None
    with pytest.warns(MissingSensitiveWarning):
        result = audit(X, y, s, balance="none")
    for v in result.violations:
        low, high = v.missing_bounds
        if v.share < 1:
            assert v.n_missing <= 12
        else:
            assert v.n_missing == 12
        if v.n_missing == 0:
            assert math.isnan(low)
            continue
        assert low <= v.delta <= high
        # With everybody in the region the extremes can be written down.
        if v.share == 1 and v.n_missing == 12:
            table = v.counts.to_numpy()
            unknown = pd.isna(s).to_numpy()
            hits = int((y[unknown] == v.outcome).sum())
            top = (table[0, 0] + hits) / (table[0].sum() + hits)
            bottom = table[1, 0] / (table[1].sum() + 12 - hits)
            assert high == pytest.approx(math.log(top / bottom))
    assert all(v.n_missing == 0 for v in audit(*people(400, seed=4)).violations)


def test_e_values_follow_from_the_ratio(planted):
    for v in planted[0].result_.violations:
        for strength, delta in ((v.e_value, v.delta), (v.e_value_limit, v.interval[0])):
            ratio = math.exp(delta)
            expected = 1.0 if ratio <= 1 else ratio + math.sqrt(ratio * (ratio - 1))
            assert strength == pytest.approx(expected)


def test_learning_from_a_sample_measures_everybody():
    X, y, s = people(3000, seed=6)
    capped = audit(X, y, s, max_learning_rows=1000)
    again = audit(X, y, s, max_learning_rows=1000)
    for v, w in zip(capped.violations, again.violations, strict=True):
        assert v.held_out.all()
        assert v.population.n_rows == 3000
        assert v.delta == w.delta
    worst = by_search(capped)["f", "deny"]
    assert worst.verdict == "violation"
    everything = audit(X, y, s, max_learning_rows=None)
    same = audit(X, y, s, max_learning_rows=3000)
    assert_same(everything, same)


@pytest.mark.parametrize("heavy", [1e2, 1e3, 1e5])
def test_one_heavy_weight_is_no_evidence(heavy):
    """A row that outweighs all others teaches the models its own labels: nothing can be said."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.5, 500)
    weights[7] = heavy
    with pytest.warns(WeightWarning, match="worth only"):
        result = audit(
            pd.DataFrame(rng.normal(size=(500, 2))),
            rng.integers(0, 2, 500),
            rng.choice(["p", "q"], 500),
            sample_weight=weights,
            weight_type="sampling",
        )
    assert {v.verdict for v in result.violations} == {"insufficient_evidence"}
    assert all("equally weighted rows" in v.reason for v in result.violations)
