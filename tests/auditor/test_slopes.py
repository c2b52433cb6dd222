"""Audits of a sensitive quantity, from the user's side."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError, SmallGroupWarning
from mdfa_fairness_plugin.report.means import Slope

N = 600
FAST = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}
SLOPES = {**FAST, "sensitive_type": "numeric"}
NUMBERS = {**SLOPES, "outcome_type": "numeric", "favorable": "high"}


@pytest.fixture(scope="module")
def aged():
    """Wages fall by 8 a year of age where a is above 0; age goes with a, and leans to the young."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, N), "b": rng.uniform(-1, 1, N)})
    beyond = rng.gamma(2.0, 6.0, N) - 12.0
    age = pd.Series(40 + 10 * X["a"] + beyond, name="age")
    y = 1_000 + 100 * X["b"] + 60 * rng.standard_normal(N) - 8 * beyond * (X["a"] > 0)
    return X, y.rename("wage"), age


@pytest.fixture(scope="module")
def found(aged):
    X, y, age = aged
    return mdfa.audit(X, y, sensitive_features=age, per=10, **NUMBERS)


@pytest.fixture(scope="module")
def refused(aged):
    """Yes and no, by the same ages."""
    X, y, age = aged
    return mdfa.audit(
        X,
        pd.Series(np.where(y > y.median(), "no", "yes"), name="refused"),
        sensitive_features=age,
        per=10,
        favorable_label="no",
        **SLOPES,
    )


def test_planted_slope_is_found_and_told(aged, found):
    worst, region = found.worst_case, aged[0]["a"].to_numpy() > 0
    assert (worst.group, worst.reference, worst.outcome) == ("more", "less", "less")
    assert (worst.verdict, worst.harm, worst.per) == ("violation", True, 10.0)
    assert (worst.membership & region).sum() / (worst.membership | region).sum() > 0.6
    low, high = worst.difference_interval
    assert 40 < low < worst.difference < high < 110
    unknown = [
        worst.ratio,
        worst.mass,
        worst.gamma,
        *worst.rates,
        worst.impact_ratio,
        worst.e_value,
    ]
    assert np.isnan(unknown).all()
    assert worst.detectable_difference > 0
    (known,) = found.measure(region, violation=worst)
    low, high = known.difference_interval
    assert low < 80 < high


def test_sentences_say_what_the_slope_is_for(found, refused):
    text = " ".join(found.summary().split())
    assert "those with more age get" in text
    assert "less wage for each 10 (" in text
    assert "than others with equal audited features" in text
    assert "mass" not in text
    text = " ".join(refused.summary().split())
    assert "those with more age" in text
    assert "percentage points more often for each 10 (" in text
    assert "Slope" in text
    assert refused.worst_case.outcome_type == "binary"
    others = "than those with less age with equal audited features: not found unequal"
    assert f'those with more age get the outcome \\"refused = no\\" more often {others}' in (
        refused.to_cyclonedx().replace("Those", "those")
    )
    assert f"more age get more wage {others}" in found.to_cyclonedx()


def test_yes_and_no_are_two_searches_seen_from_either_side(refused):
    told = {(v.group, v.outcome): v for v in refused.violations}
    assert len(told) == 4
    for outcome, other in (("yes", "no"), ("no", "yes")):
        one, mirrored = told["more", outcome], told["less", other]
        assert one.difference == pytest.approx(mirrored.difference)
        assert one.p_value == pytest.approx(mirrored.p_value)
        assert np.array_equal(one.membership, mirrored.membership)


def test_units_and_order_of_rows_change_nothing(aged, found):
    X, y, age = aged
    order = np.random.default_rng(1).permutation(N)
    other = mdfa.audit(
        X.iloc[order], y.iloc[order], sensitive_features=12 * age.iloc[order], per=120, **NUMBERS
    )
    assert np.array_equal(other.worst_case.membership, found.worst_case.membership[order])
    assert other.worst_case.difference == pytest.approx(found.worst_case.difference)


@pytest.mark.parametrize(
    ("per", "text"),
    [(1e-3, "0.001"), (2.5, "2.5"), (12_345.678, "12,345.678"), (4e6, "4,000,000")],
)
def test_what_slopes_are_for_is_told_in_full(per, text):
    assert Slope(per=per).each == f" for each {text}"


def test_few_values_far_off_are_too_few_to_measure_by(aged):
    X, y, age = aged
    result = mdfa.audit(X, y, sensitive_features=age.where(age.index > 0, 1e6), **NUMBERS)
    assert {own.verdict for own in result.violations} == {"insufficient_evidence"}
    assert all("rests on what 1.0 people have" in own.reason for own in result.violations)


def test_decimals_are_numbers(aged):
    X, y, age = aged
    one, other = (
        mdfa.audit(X, y, sensitive_features=age.round(1).map(kind), **NUMBERS).worst_case
        for kind in (float, lambda own: Decimal(str(own)))
    )
    assert one.difference == other.difference


def test_groups_of_zero_and_one_are_told_as_by_a_difference(aged):
    X, y, age = aged
    old = (age > age.median()).astype(int)
    slope = mdfa.audit(X, y, sensitive_features=old, **NUMBERS)
    groups = mdfa.audit(X, y, sensitive_features=old, **FAST, outcome_type="numeric")
    told = [
        next(v.population for v in result.violations if (v.group, v.outcome) == (group, "less"))
        for result, group in ((slope, "more"), (groups, 1))
    ]
    width = np.diff(told[1].difference_interval)[0]
    assert told[0].difference == pytest.approx(told[1].difference, abs=0.2 * width)
    assert np.diff(told[0].difference_interval)[0] == pytest.approx(width, rel=0.2)


def test_missing_ages_are_not_compared_and_results_are_read_back(aged, tmp_path):
    X, y, age = aged
    with pytest.warns(mdfa.exceptions.MissingSensitiveWarning):
        result = mdfa.audit(X, y, sensitive_features=age.mask(age > 65), **NUMBERS)
    n_missing = int((age > 65).sum())
    assert result.excluded == {"missing sensitive value (age)": n_missing}
    assert result.violations[0].population.n_rows == N - n_missing
    path = tmp_path / "result.json"
    text = result.to_json(path)
    again = mdfa.AuditResult.from_json(path)
    assert again.to_json() == text
    assert again.summary() == result.summary()


def test_searches_that_were_not_made_say_what_they_would_have_told(aged, tmp_path):
    """Twenty known ages are too few to compare, and no feature repeats them."""
    X, y, age = aged
    with pytest.warns(SmallGroupWarning), pytest.warns(match=r"not compared\.$"):
        few = mdfa.audit(X, y, sensitive_features=age[:20].reindex(X.index), per=10, **NUMBERS)
    assert few.to_frame().shape[0] == len(few.violations) == 4
    few.to_json(tmp_path / "few.json")
    for v in (*few.violations, mdfa.AuditResult.from_json(tmp_path / "few.json").violations[0]):
        assert v.reason.startswith("only 10 row(s)")
        assert (v.measure, v.outcome_type, v.per) == ("difference", "numeric", 10.0)
        assert v.outcome_sd > 0
    assert "  Slope  " in few.summary()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solver": "level_set"}, "solver: sensitive_type='numeric' compares a quantity"),
        ({"measure": "ratio"}, "measure: "),
        ({"groups": ["more"]}, "groups: "),
        ({"balance": "entropy"}, "balance: "),
        ({"learner": "svm_rbf"}, "learner: it classifies"),
        ({"per": 0}, "per: a positive number"),
        ({"sensitive_type": "auto", "per": 10}, "per: it says how much more"),
        ({"sensitive_type": "auto"}, "or compare them as they are with sensitive_type='numeric'"),
    ],
)
def test_what_has_no_meaning_is_refused(aged, given, message):
    X, y, age = aged
    with pytest.raises(InputError, match=message):
        mdfa.audit(X, y, sensitive_features=age, **{**NUMBERS, **given})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda age: age.astype(str), "needs numbers, and 'age' holds"),
        (lambda age: age.astype(str).where(age.index != 3, "?"), "'age' holds '\\?'. mdfa_fair"),
        (lambda age: age.mask(age > 65, np.inf), "holds inf"),
        (lambda age: 3 + 1e-12 * age, "hardly varies"),
        (lambda age: 1e200 * age, "is too large to be squared"),
        (lambda age: pd.DataFrame({"u": age, "v": -age}), "takes one column, 2 found"),
    ],
)
def test_columns_that_are_no_quantity_are_refused(aged, change, message):
    X, y, age = aged
    with pytest.raises(InputError, match=message):
        mdfa.audit(X, y, sensitive_features=change(age), **NUMBERS)


@pytest.mark.parametrize("ask", ["null_distribution", "explained", "group_table", "pairs"])
def test_questions_about_groups_are_refused(found, ask):
    with pytest.raises(InputError, match="sensitive quantity"):
        getattr(found, ask)()
