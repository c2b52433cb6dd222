"""Names, orders, weights and containers that must not matter."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.search.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")


@pytest.mark.parametrize("solver", SOLVERS)
def test_outcomes_may_be_called_anything(audit, assert_same, fast, solver):
    """Also if the names sort the other way round; labels come back as given."""
    _, X, y, s = fast
    one = audit(X, y, s, solver=solver, max_iter=8)
    renamed = y.map({"deny": 1, "grant": 0})
    two = audit(X, renamed, s, solver=solver, max_iter=8)
    assert_same(one, two, outcomes={1: "deny", 0: "grant"})
    assert {type(v.outcome) for v in two.violations} == {int}


def test_names_do_not_matter_where_labels_are_equally_frequent(people, audit, assert_same):
    """Nothing but names tells them apart by number: 150 of each group, each outcome."""
    X, _, _ = people(300, seed=9)
    rng = np.random.default_rng(9)
    s = pd.Series(rng.permutation(np.repeat(["f", "m"], 150)), name="sex")
    y = pd.Series(rng.permutation(np.repeat(["deny", "grant"], 150)), name="decision")
    one = audit(X, y, s)
    assert_same(one, audit(X, y.map({"deny": 1, "grant": 0}), s), outcomes={1: "deny", 0: "grant"})
    assert_same(one, audit(X, y, s.map({"f": 1, "m": 0})), groups={1: "f", 0: "m"})


@pytest.mark.parametrize("solver", SOLVERS)
def test_groups_may_be_called_anything(audit, assert_same, fast, solver):
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
def test_labels_of_any_type_come_back_as_given(audit, assert_same, fast, labels):
    one, X, y, s = fast
    names = {"deny": labels[0], "grant": labels[1]}
    outcome = pd.Series([names[value] for value in y], name="decision")
    two = audit(X, outcome, s)
    assert_same(one, two, outcomes={labels[0]: "deny", labels[1]: "grant"})
    assert {str(v.outcome) for v in two.violations} == {str(label) for label in labels}


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_may_come_in_any_order(
    people, audit, by_search, assert_same_numbers, solver, discrete
):
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
        assert_same_numbers(v, right[key])
        if not skip_rows:
            np.testing.assert_array_equal(v.membership[order], right[key].membership)


def test_three_labels_in_any_order_of_rows_and_names(audit, by_search, assert_same_numbers):
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
        assert_same_numbers(v, right[key])


@pytest.mark.parametrize(
    ("solver", "evaluation"), [*((solver, "cross_fit") for solver in SOLVERS), ("auto", "holdout")]
)
def test_counts_of_rows_act_like_repeated_rows(
    people, audit, by_search, assert_same_numbers, solver, evaluation
):
    """Said to count, a weight of three is three rows and one of zero is none, to the last digit."""
    X, y, s = people(300, seed=5)
    copies = np.random.default_rng(1).integers(0, 4, 300)
    rows = np.repeat(np.arange(300), copies)
    params = {"solver": solver, "evaluation": evaluation, "max_iter": 8}
    params |= {"weight_type": "frequency"}
    weighted = audit(X, y, s, sample_weight=copies, **params)
    repeated = audit(*(part.iloc[rows].reset_index(drop=True) for part in (X, y, s)), **params)
    left, right = by_search(weighted), by_search(repeated)
    for key, v in left.items():
        assert_same_numbers(v, right[key])
        pd.testing.assert_frame_equal(v.profile, right[key].profile)
        # A row is inside if at least half of its copies are.
        inside = np.bincount(rows, right[key].membership, minlength=300)
        kept = copies > 0
        np.testing.assert_array_equal(v.membership[kept], (2 * inside >= copies)[kept])
    assert weighted.n_samples == 300
    assert len(weighted.violations[0].membership) == 300
    assert weighted.excluded["zero weight"] == (copies == 0).sum()


def test_weights_are_rows_for_estimates_and_evidence_only_if_they_count(people, audit, by_search):
    """Ten people a row: the same rates as ten rows, known as well as one row knows them.

    Models are given, so that intervals hold nothing that these may still change.
    """
    X, y, s = people(300, seed=5)
    tens = 10 * np.random.default_rng(1).integers(1, 4, 300)
    known = {"propensity": np.full(300, 0.45), "outcome_probability": np.full(300, 0.7)}
    params = {"balance": "none", "sample_weight": tens, **known}
    stands_for, counts = (
        by_search(audit(X, y, s, weight_type=kind, **params)) for kind in ("sampling", "frequency")
    )
    single = by_search(audit(X, y, s, balance="none", sample_weight=tens / 10, **known))
    for key, v in stands_for.items():
        assert v.population.rates == pytest.approx(counts[key].population.rates)
        assert v.population.delta == pytest.approx(counts[key].population.delta)
        (low, high), (least, most) = v.population.interval, counts[key].population.interval
        assert high - low > 4 * (most - least)  # some square root of 600 by 26
        assert v.p_value == pytest.approx(single[key].p_value)
        assert v.interval == pytest.approx(single[key].interval)


@pytest.mark.parametrize("weighting", ["ones", "sampling"])
def test_zero_weights_act_like_absent_rows(
    audit, make_auditor, by_search, assert_same_numbers, fast, weighting
):
    """Even if the rows hold what would be an error; who they are like is told all the same."""
    _, X, y, s = fast
    kept = np.arange(400) % 5 > 0
    own = np.ones(400) if weighting == "ones" else np.random.default_rng(2).uniform(0.5, 2, 400)
    wild = X.assign(age=X["age"].where(kept, 1e12))
    one = audit(wild, y, s, sample_weight=np.where(kept, own, 0.0))
    two = audit(X[kept], y[kept], s[kept], sample_weight=own[kept])
    left, right = by_search(one), by_search(two)
    for key, v in left.items():
        assert_same_numbers(v, right[key])
        np.testing.assert_array_equal(v.membership[kept], right[key].membership)
        assert not v.held_out[~kept].any()
    assert one.excluded["zero weight"] == 80
    # Rows of no weight are judged like new ones.
    auditor = make_auditor().fit(X[kept], y[kept], s[kept], own[kept])
    told = by_search(one)[auditor.result_.worst_case.group, auditor.result_.worst_case.outcome]
    np.testing.assert_array_equal(told.membership[~kept], auditor.predict(wild[~kept]))
    assert any(v.membership[~kept].any() for v in one.violations)


def test_only_ratios_of_sampling_weights_matter(audit, assert_same, fast):
    _, X, y, s = fast
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 400)
    one = audit(X, y, s, sample_weight=weight)
    assert_same(one, audit(X, y, s, sample_weight=8 * weight))
    equal = audit(X, y, s, sample_weight=np.full(400, 0.7))
    assert_same(audit(X, y, s), equal)


def test_sampling_weights_move_the_rates_to_the_population(people, audit):
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
    found may be a part of the other: the middle of three splits is looked at.
    """
    _, X, y, s = planted
    moved = X.assign(age=X["age"] * 3.15e7 - 1e9)
    overlaps, gaps = [], []
    for seed in range(3):
        one, two = (
            mdfa.audit(features, y, sensitive_features=s, alpha=0.05, random_state=seed).worst_case
            for features in (X, moved)
        )
        assert (two.group, two.outcome) == (one.group, one.outcome)
        both, either = one.membership & two.membership, one.membership | two.membership
        overlaps.append(both.sum() / either.sum())
        gaps.append(abs(two.delta - one.delta))
    assert np.median(overlaps) > 0.99
    assert np.median(gaps) < 1e-6


def test_columns_that_say_nothing_change_nothing(audit, assert_same, fast):
    """Constant, or wholly missing text or numbers are dropped."""
    one, X, y, s = fast
    assert_same(one, audit(X.assign(year=2024, country="NO"), y, s))


def test_index_is_no_matter(audit, assert_same, fast):
    """Identical indexes, duplicates and all, pair rows one by one; so do shuffled unique ones."""
    one, X, y, s = fast
    repeated = pd.Index(np.arange(400) // 7)
    assert_same(one, audit(*(part.set_axis(repeated) for part in (X, y, s))))
    unique = pd.Index(np.random.default_rng(0).permutation(400) * 10)
    X, y, s = (part.set_axis(unique) for part in (X, y, s))
    order = np.random.default_rng(1).permutation(400)
    assert_same(one, audit(X, y.iloc[order], s.iloc[order[::-1]]))


def test_duplicates_in_different_indexes_are_refused(audit, fast):
    _, X, y, s = fast
    index = pd.Index(np.arange(400) // 2)
    with pytest.raises(InputError, match=r"y: .*index"):
        audit(X.set_axis(index), y.set_axis(index[::-1]), s.set_axis(index))


def test_container_is_no_matter(audit, assert_same, fast):
    """pandas, polars, and a mapping of arrays: the same bytes; numpy: the same numbers."""
    one, X, y, s = fast
    as_polars = audit(pl.DataFrame(X), pl.Series("decision", y), pl.Series("sex", s))
    assert as_polars.to_json(rows=True) == one.to_json(rows=True)
    mapping = {name: X[name].to_numpy() for name in X}
    assert audit(mapping, y, s).to_json(rows=True) == one.to_json(rows=True)
    numbers = X.assign(town=X["town"].map({"A": 0.0, "B": 1.0, "C": 2.0})).astype(float)
    framed = audit(numbers, y, s)
    assert_same(framed, audit(numbers.to_numpy(), y.tolist(), s.tolist()))
    assert_same(framed, audit(numbers.to_numpy().tolist(), y.to_numpy(), s.to_numpy()))
    assert_same(framed, audit(sparse.csr_matrix(numbers.to_numpy()), y, s), skip=("rule_fidelity",))


def test_another_audited_column_changes_only_the_adjustment(audit, fast):
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


def test_auditing_less_changes_only_the_adjustment(audit, by_search, fast):
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


def _people_of_all_kinds(people, n=400, seed=3):
    """Numbers, dates, places in an order, gaps, twins, and columns that share all their values."""
    X, y, sex = people(n, seed=seed)
    rng = np.random.default_rng(seed)
    pay = np.round(rng.gamma(3.0, 1000.0, n))
    X = X.assign(
        since=pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        size=pd.Categorical(rng.choice(["s", "m", "l"], n), ["s", "m", "l"], ordered=True),
        gap=np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        pay=pay,
        pay_of_other=rng.permutation(pay),
        twin=X["age"],
        half=rng.permutation(n) < n // 2,
        other_half=rng.permutation(n) < n // 2,
    )
    groups = pd.DataFrame({"sex": sex, "origin": rng.choice(["u", "v", "w"], n)})
    return X, y, groups


# Both are one and the same, so either may be named.
_TWINS = {"twin": "age"}


def _assert_found_alike(one, two, *, features=None, sensitive=None, rows=slice(None)):
    """Equal to the last bit, under the old names; ``rows`` are those of the first by the second."""
    features, sensitive = _TWINS | (features or {}), sensitive or {}

    def old(text):
        for name, before in features.items():
            text = text.replace(name, _TWINS.get(before, before))
        return text

    found = {(v.sensitive_feature, v.group, v.outcome): v for v in one.violations}
    assert len(two.violations) == len(found)
    for w in two.violations:
        name = sensitive.get(w.sensitive_feature, w.sensitive_feature)
        v = found[name, w.group, w.outcome]
        for field in fields(v):
            figure, other = getattr(v, field.name), getattr(w, field.name)
            if field.name in ("sensitive_feature", "profile"):
                continue
            if isinstance(figure, np.ndarray) and len(figure) == one.n_samples:
                np.testing.assert_array_equal(figure[rows], other, err_msg=field.name)
            else:
                _assert_equal(figure, other, field.name, old)
        profiles = [
            own.rename(index=old, level="feature").sort_index().to_numpy()
            for own in (v.profile, w.profile)
        ]
        np.testing.assert_allclose(*profiles, rtol=1e-12)
        balance, other = one.balance[name, v.group], two.balance[w.sensitive_feature, w.group]
        assert balance.mmd_after == other.mmd_after
        renamed = {old(feature): smd for feature, smd in other.smd_after.items()}
        assert {old(feature): smd for feature, smd in balance.smd_after.items()} == renamed


def _assert_equal(one, two, name, said=str):
    if is_dataclass(one):
        for field in fields(one):
            if field.name == "column":  # its place, which is not the same
                continue
            _assert_equal(getattr(one, field.name), getattr(two, field.name), name, said)
    elif isinstance(one, str):
        assert said(one) == said(two), name
    elif isinstance(one, tuple):
        assert len(one) == len(two), name
        for own, other in zip(one, two, strict=True):
            _assert_equal(own, other, name, said)
    elif isinstance(one, pd.DataFrame):
        np.testing.assert_array_equal(one.to_numpy(), two.to_numpy(), err_msg=name)
    else:
        np.testing.assert_equal(one, two, err_msg=name)


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "orthogonal"},
        {"solver": "orthogonal", "learner": "random_forest", "intersections": True},
        {"solver": "level_set", "balance": "entropy"},
        {"solver": "iterative", "balance": "overlap", "max_iter": 8},
    ],
    ids=str,
)
def test_columns_may_come_in_any_order_under_any_names(people, audit, params):
    """Shuffled, renamed, with the rows shuffled too: the same people, figures and rules."""
    X, y, groups = _people_of_all_kinds(people)
    one = audit(X, y, groups, **params)
    rng = np.random.default_rng(0)
    columns = rng.permutation(X.columns)
    _assert_found_alike(one, audit(X[columns], y, groups, **params))
    # The names sort otherwise, and none of them is part of another.
    names = {f"<{place}>": name for place, name in enumerate(columns[::-1])}
    renamed = X[columns].rename(columns={name: new for new, name in names.items()})
    _assert_found_alike(one, audit(renamed, y, groups, **params), features=names)
    rows = rng.permutation(len(y))
    shuffled = (part.iloc[rows].reset_index(drop=True) for part in (renamed, y, groups))
    _assert_found_alike(one, audit(*shuffled, **params), features=names, rows=rows)


def test_what_is_shown_keeps_the_order_of_the_columns(people, audit):
    X, y, groups = _people_of_all_kinds(people)
    columns = list(X.columns[::-1])
    found = audit(X[columns], y, groups["sex"])
    assert list(found.feature_names) == columns
    told = found.balance["sex", "f"].smd_after
    shown = [re.split("=|: | is ", name)[0] for name in told]
    assert list(dict.fromkeys(shown)) == columns


@pytest.mark.parametrize("discrete", [False, True])
def test_sensitive_columns_may_come_in_any_order_under_any_names(people, audit, discrete):
    """Also where many rows agree in every feature."""
    X, y, sex = people(seed=6, discrete=discrete)
    rng = np.random.default_rng(6)
    groups = pd.DataFrame({"sex": sex, "origin": rng.permutation(np.arange(400) % 2)})
    one = audit(X, y, groups)
    _assert_found_alike(one, audit(X, y, groups[["origin", "sex"]]))
    renamed = groups.set_axis(["z", "a"], axis=1)
    _assert_found_alike(one, audit(X, y, renamed), sensitive={"z": "sex", "a": "origin"})
    assert audit(X, y, groups[["origin", "sex"]]).sensitive_names == ("origin", "sex")


def test_levels_may_be_called_anything(people, audit):
    X, y, groups = _people_of_all_kinds(people)
    one = audit(X, y, groups)
    names = {"A": "z", "B": "yes", "C": "10"}
    two = audit(X.assign(town=X["town"].map(names)), y, groups)
    for v, w in zip(one.violations, two.violations, strict=True):
        np.testing.assert_array_equal(v.membership, w.membership)
        assert (v.delta, v.p_value, v.rule_fidelity) == (w.delta, w.p_value, w.rule_fidelity)


def test_the_answer_is_the_same_each_time_unless_asked_otherwise(people):
    """None is a seed as any other; what draws says so."""
    X, y, s = people(200)
    options = {"sensitive_features": s, "learner": "tree", "n_splits": 2}
    one, two = (mdfa.audit(X, y, **options) for _ in range(2))
    assert one.to_json(rows=True) == two.to_json(rows=True)
    zero = mdfa.audit(X, y, random_state=0, **options)
    _assert_found_alike(one, zero)
    assert one.provenance["seed"] == zero.provenance["seed"] == 0
    rng = np.random.default_rng(0)
    drawn = [mdfa.audit(X, y, random_state=rng, **options).provenance["seed"] for _ in range(2)]
    assert drawn[0] != drawn[1]
