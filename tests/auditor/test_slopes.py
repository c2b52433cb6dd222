"""Audits of a sensitive quantity, from the user's side."""

from __future__ import annotations

import json
from decimal import Decimal

import jsonschema
import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.describe.wording import rounded
from mdfa_fairness_plugin.exceptions import InputError, SmallGroupWarning
from mdfa_fairness_plugin.person.find import GROUP
from mdfa_fairness_plugin.replicate.null import chances_of, without_leak
from mdfa_fairness_plugin.report.displays import NullDistributionDisplay
from mdfa_fairness_plugin.report.means import Slope
from mdfa_fairness_plugin.report.schema import CARD_SCHEMA, load_schema

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
    assert [n for n, own in worst.estimates.items() if not np.isnan(own)] == ["doubly_robust"]
    assert worst.detectable_difference > 0
    (known,) = found.measure(region, violation=worst)
    low, high = known.difference_interval
    assert low < 80 < high


def test_sentences_say_what_the_slope_is_for(found, refused):
    text = " ".join(found.summary().split())
    assert "those with more age get" in text
    assert "less wage for each 10 of age (" in text
    assert "than others with equal audited features" in text
    assert "mass" not in text
    text = " ".join(refused.summary().split())
    assert "those with more age" in text
    assert "percentage points more often for each 10 of age (" in text
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
        assert v.reason.startswith("only 10 rows")
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
        ({"estimator": "hajek"}, "estimator: "),
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


@pytest.mark.parametrize("ask", ["power", "explained", "group_table"])
def test_questions_about_groups_are_refused(found, ask):
    with pytest.raises(InputError, match="sensitive quantity"):
        getattr(found, ask)()


def test_cards_and_pairs_set_those_with_more_beside_those_with_less(aged):
    """The nearest who have more than people like them are paid less where a is above 0."""
    X, y, age = aged
    auditor = mdfa.MDFAuditor(per=10, **NUMBERS).fit(X, y, sensitive_features=age)
    card = auditor.explain_row({"a": 0.5, "b": 0.2}, outcome=1000.0)
    assert (card.side, card.inside, card.violation) == ("unknown", True, auditor.result_.worst_case)
    older, younger = card.nearest
    assert (older.label, younger.label) == ("those with more age", "those with less age")
    assert older.rate < younger.rate - 50
    assert [side.n for side in card.subgroup] == [None, None]
    text = " ".join(card.summary().split())
    size = f"{card.violation.difference:.1f} less wage for each 10 of age ("
    assert f"In the subgroup, those with more age get {size}" in text
    assert "More and less of age are more and less than people with the same features have" in text
    told = json.loads(card.to_json())
    jsonschema.validate(told, load_schema(CARD_SCHEMA))
    assert told["search"]["per"] == 10.0
    assert told["search"]["difference"] == float(f"{card.violation.difference:.3g}")
    # An audited person is on the side of their own residual.
    side = auditor.result_.worst_case.side
    for row in range(5):
        own = auditor.explain_row(None, row=row)
        more = side[row] > 0
        assert (own.side == GROUP) == (own.violation.group == ("more" if more else "less"))
        assert f"Person: one of those with {'more' if more else 'less'} age;" in " ".join(
            own.summary().split()
        )
    with pytest.raises(InputError, match=r"^sensitive: 30 was given, and this audit is of a sens"):
        auditor.explain_row(X.iloc[[0]], sensitive=30)
    pairs = auditor.result_.pairs(20)
    assert pairs["sensitive_value"].tolist() == pytest.approx(age[pairs.index].tolist())
    apart = pairs.groupby("pair")[["sensitive_value", "outcome"]].agg(lambda own: -np.diff(own)[0])
    assert (apart["sensitive_value"] > 0).mean() > 0.9
    assert (apart["outcome"] < 0).all()


def test_signs_drawn_anew_leave_no_slope_and_halves_find_it_again(aged, found):
    null = found.null_distribution(9)
    place = found.violations.index(found.worst_case)
    assert null.p_values[place] == 0.1
    assert np.abs(np.median(null.draws[:, place])) < 10 < found.worst_case.difference
    assert null.spreads == pytest.approx(np.ones(4), abs=0.5)
    told = null.summary()
    assert "the signs of what features do not tell" in told
    assert "as clear a slope" in told
    assert f"slope {rounded(null.observed[place])}" in told
    assert "difference" not in told
    drawn = NullDistributionDisplay.from_null(null, place)
    assert drawn.to_frame().columns.tolist() == ["slope"]
    assert "Histogram of slope" in drawn.alt_text
    assert found.stability(2).jaccard[:, place].min() > 0.6


def test_redrawn_quantities_keep_their_mean_their_spread_and_their_clusters(aged):
    X, y, age = aged
    whose = np.arange(N) // 2
    missing = age.mask(age > 60)
    with pytest.warns(mdfa.exceptions.MissingSensitiveWarning):
        result = mdfa.audit(X, y, sensitive_features=missing, clusters=whose, **NUMBERS)
    problem = result.source.problem
    (expected,) = chances_of(result.source, 0)
    drawn = without_leak(problem, [expected], np.random.default_rng(0))
    known = ~np.isnan(problem.quantity.values)
    before, after = ((own.quantity.values - expected)[known] for own in (problem, drawn))
    np.testing.assert_allclose(np.abs(after), np.abs(before))
    sign = np.sign(before * after)
    assert 0.4 < np.mean(sign > 0) < 0.6
    for own in np.unique(problem.cluster[known]):
        assert len(set(sign[problem.cluster[known] == own])) == 1
    one, other = drawn.contrasts
    np.testing.assert_array_equal(one.s, -other.s)
    np.testing.assert_array_equal(one.s != 0, known)
    np.testing.assert_array_equal(one.quantity, -other.quantity)
