"""Numbers, orders and several classes in words and pictures: right, parsed back, and private."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET

import jsonschema
import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.describe.decimals import amounts
from mdfa_fairness_plugin.records import GroupCounts, ModelDependence, Spread, Subgroup, Violation
from mdfa_fairness_plugin.report.displays import (
    AmountsDisplay,
    ExplainedDisplay,
    SearchesDisplay,
    WorstCasePathDisplay,
)
from mdfa_fairness_plugin.report.effects import effect_cell, effect_of, interval_cell, span_cell
from mdfa_fairness_plugin.report.estimates import moved_sentence, rates_sentences, spread_sentence
from mdfa_fairness_plugin.report.figures import amount_text
from mdfa_fairness_plugin.report.findings import short_verdict, told_verdict
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA, CARD_SCHEMA, load_schema
from mdfa_fairness_plugin.report.sentences import (
    case_sentence,
    impact_sentence,
    paper_terms,
    subgroup_sentence,
    unrecorded_sentence,
)
from mdfa_fairness_plugin.settings import Settings

HOSTILE = "<b>wage&\"'\x1b[2J"
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


def number_of(text: str) -> float:
    return float(text.replace(",", ""))


def numbers_of(text: str) -> list[float]:
    return [number_of(found) for found in NUMBER.findall(text)]


def search(**fields) -> Violation:
    """A search for less of a wage, worked by hand."""
    return Violation(
        **{
            "sensitive_feature": "sex",
            "group": "F",
            "outcome": "less",
            "outcome_text": "get less wage",
            "outcome_scale": "amount",
            "outcome_type": "numeric",
            "measure": "difference",
            "outcome_sd": 4_000.0,
            "difference": 1_904.0,
            "difference_interval": (1_213.0, 2_597.0),
            "rates": (19_108.0, 21_012.0),
            "delta": math.log(21_012 / 19_108),
            "interval": (math.log(1.06), math.log(1.14)),
            "verdict": "violation",
            "n_rows": 200,
            "mass": 0.2,
            **fields,
        }
    )


def by_ratio(**fields) -> Violation:
    return search(measure="ratio", **fields)


def ranked(**fields) -> Violation:
    told = {
        "outcome_text": "rank lower in wage",
        "outcome_scale": "rank",
        "outcome_sd": 0.29,
        "difference": 0.24,
        "difference_interval": (0.2, 0.27),
        "rates": (0.46, 0.7),
    }
    return search(**(told | fields))


def test_a_difference_is_said_in_its_units():
    assert case_sentence(search()) == (
        "In one subgroup that no short rule describes (200 rows), those with sex = F get 1,900 less "
        "wage (1,210 to 2,600, with 95 % confidence) than everyone else with equal audited features, "
        "who get 21,000 on average."
    )
    turned = search(difference=-1_904.0, difference_interval=(-2_597.0, 300.0))
    assert "get 1,900 more wage (300 less to 2,600 more, with" in case_sentence(turned)
    lower = search(difference=math.nan, rates=(math.nan, math.nan))
    assert "get at least 1,210 less wage than everyone else" in case_sentence(lower)
    beyond = search(difference=math.nan, difference_interval=(-400.0, math.nan))
    assert "get at most 400 more wage than everyone else" in case_sentence(beyond)
    nothing = search(difference=math.nan, difference_interval=(math.nan, math.nan))
    assert "how much less wage they get than everyone else" in case_sentence(nothing)
    assert case_sentence(nothing).endswith("could not be measured.")


def test_a_ratio_of_means_says_who_gets_more_times_as_much():
    assert case_sentence(by_ratio()).endswith(
        "those with sex = F get less wage than everyone else with equal audited features, who get 1.10 "
        "times as much (1.06 to 1.14, with 95 % confidence), 21,000 on average."
    )
    more = by_ratio(
        outcome="more", outcome_text="get more stops per unit of exposure", rates=(2.5, 0.9)
    )
    assert case_sentence(more).endswith(
        "those with sex = F get more stops per unit of exposure than everyone else with equal audited "
        "features, who get 0.9 on average: 1.10 times as many (1.06 to 1.14, with 95 % confidence)."
    )
    # A group that does not get less gets more: the other way round, all at least as large.
    other = by_ratio(delta=math.log(0.8), interval=(math.log(0.5), 0.0))
    assert "get more wage" in case_sentence(other)
    assert "1.25 times as much (1.00 to 2.00" in case_sentence(other)
    assert "no ratio can be given" in case_sentence(by_ratio(delta=math.inf))


@pytest.mark.parametrize(
    ("name", "said", "many"),
    [
        ("number of visits", "fewer visits", True),
        ("children", "fewer children", True),
        ("days in prison", "fewer days in prison", True),
        ("hours per week", "fewer hours per week", True),
        ("percentage of claims", "less percentage of claims", False),
        ("bonus", "less bonus", False),
    ],
)
def test_what_is_counted_is_fewer_and_many(name, said, many):
    text = case_sentence(by_ratio(outcome_text=f"get less {name}"))
    assert f"get {said} than everyone else" in text
    assert f"1.10 times as {'many' if many else 'much'} (" in text


def test_ranks_are_shares_of_people_and_steps():
    assert case_sentence(ranked()).endswith(
        "those with sex = F rank 24 percentage points lower in wage (20 to 27, with 95 % confidence) "
        "than everyone else with equal audited features, who rank above 70 % of all on average."
    )
    steps = ranked(
        outcome="lower rank",
        outcome_text="rank lower in grade",
        outcome_scale="steps",
        difference=0.62,
        difference_interval=(0.51, 0.7),
        rates=(1.2, 1.82),
        outcome_sd=1.0,
    )
    assert case_sentence(steps).endswith(
        "those with sex = F rank 0.62 of a step lower in grade (0.51 to 0.70, with 95 % confidence) "
        "than everyone else with equal audited features, who are 1.82 steps above the lowest on "
        "average."
    )
    for own in (ranked(impact_ratio=0.7), steps):
        assert impact_sentence(own) == ""


@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_is_what_is_known(seed):
    """Every number of a sentence, read back, is the one it stands for."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-3, 7)
    own, others = size * rng.uniform(1, 3), size * rng.uniform(3, 5)
    gap = others - own
    found = search(
        difference=gap,
        difference_interval=(0.6 * gap, 1.7 * gap),
        rates=(own, others),
        outcome_sd=size,
    )
    said = numbers_of(case_sentence(found).partition("sex = F")[2])
    value, low, high, level, mean = said
    assert level == 95
    expected = (gap, 0.6 * gap, 1.7 * gap, others)
    assert (value, low, high, mean) == pytest.approx(expected, rel=0.006)
    effect = effect_of(found)
    assert number_of(effect_cell(found, effect)) == pytest.approx(gap, rel=0.006)
    assert numbers_of(interval_cell(found, effect)) == pytest.approx(expected[1:3], rel=0.006)
    told = subgroup_sentence("There", found, found)
    assert numbers_of(told) == pytest.approx(expected[:3], rel=0.006)


def test_less_of_many_is_fewer():
    stops = search(outcome_text="get less stops per unit of exposure")
    assert "get 1,900 fewer stops per unit of exposure" in case_sentence(stops)
    more = search(
        outcome="more",
        outcome_text="get more stops",
        difference=-1_904.0,
        difference_interval=(-2_597.0, -1_213.0),
    )
    assert "get 1,900 fewer stops" in case_sentence(more)
    assert "1,900 less wage" in case_sentence(search())
    assert "1,900 less status" in case_sentence(search(outcome_text="get less status"))


def test_raw_means_lead_to_the_difference():
    """By 2,100 as the rows are, and 1,900 at equal features; of ratios 1.12 and 1.10."""
    first, _ = rates_sentences(
        search(estimates={"unweighted": 2_100.0, "hajek": 1_950.0}), Settings()
    )
    assert (
        "those with sex = F get 19,100 and everyone else 21,000 on average. As the rows are, the "
        "difference is 2,100; at the same features it is 1,900."
    ) in first
    ratio = rates_sentences(by_ratio(estimates={"unweighted": math.log(1.12)}), Settings())[0]
    assert "As the rows are, the ratio is 1.12; at the same features it is 1.10." in ratio
    assert "As the rows are" not in rates_sentences(search(), Settings())[0]


def test_amounts_have_one_rule_of_decimals():
    told = [amount_text(x) for x in (6_051.4, 1_234_567.0, 0.0, 1.25, 0.01234, -605.2, 1.234e-6)]
    assert told == ["6,050", "1,230,000", "0", "1.25", "0.0123", "-605", "0.00000123"]
    # Means that differ never look the same.
    assert amounts((2_368_110.0, 2_373_620.0)) == ["2,368,000", "2,374,000"]
    assert amounts((5.0, 5.0)) == ["5", "5"]
    assert amounts((1e-12, 0, 1.5e-11)) == ["0.100e-11", "0.000e-11", "1.500e-11"]
    assert amounts((6_469.80713, 6_469.80714)) == ["6,470", "6,470"]


def test_tables_have_no_bare_inf():
    effect = effect_of(Violation(group="f", outcome=1))
    assert effect.in_cell("inf") == "infinite"
    spans = [
        span_cell(*own, effect) for own in (("2", "inf"), ("inf", "inf"), ("2", "3"), ("", "3"))
    ]
    assert spans == ["at least 2", "", "2 to 3", ""]


def test_findings_and_terms_are_of_numbers():
    none = "none_larger_than_detectable"
    unseen = search(verdict=none, detectable_difference=1_204.0)
    assert told_verdict(unseen) == "not found unequal (80 % power at 1,200)"
    other_way = search(verdict=none, difference_interval=(-300.0, -10.0))
    assert short_verdict(other_way) == "more; not found unequal"
    assert short_verdict(search(verdict=none, reason="the difference is small")) == (
        "below min_difference"
    )
    assert paper_terms(search()) == (
        "In the method's terms: difference = 0.476 standard deviations, mass = 0.2 of all that "
        "is compared, by weight."
    )
    explained = unrecorded_sentence(search(e_value=2.4, e_value_limit=1.9))
    assert (
        "makes a low outcome 2.4 times as likely, could explain all of the difference" in explained
    )
    assert explained.endswith("made a ratio by Chinn's conversion.")
    models = ModelDependence(
        differences=(2_300.0, 1_904.0),
        propensity_losses=(0.6, 0.5),
        outcome_losses=(0.9, 0.8),
        shares=(1.0, 1.0),
        allowance=210.0,
    )
    assert numbers_of(moved_sentence(search(depends_on_models=models))) == [2_300, 1_900, 210]
    spread = Spread(differences=(1_500.0, 2_200.0), shared=0.6)
    assert spread_sentence(search(spread=spread)) == (
        "Other splits of the same rows find 1,500 to 2,200 less; 60 % of the subgroup is found by all "
        "of them."
    )


# -- audits of every kind


def people(n: int = 600):
    """Women over 40 are paid 6,000 less."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.integers(18, 66, n), "town": rng.choice(["A", "B"], n)})
    women = rng.random(n) < 0.45
    wage = 15_000 + 200 * X["age"] + rng.normal(0, 3_000, n)
    wage -= 6_000 * (women & (X["age"] > 40))
    return X, wage.round(), pd.Series(np.where(women, "F", "M"), name="sex"), rng


@pytest.fixture(scope="module")
def audited():
    X, wage, sex, rng = people()
    grade = np.array(["low", "mid", "top"])[np.digitize(wage, [20_000, 26_000])]
    exposure = rng.uniform(0.5, 3.0, len(X))
    stops = rng.poisson(np.where((sex == "F") & (X["age"] > 40), 2.6, 0.9) * exposure)
    often = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}

    def fitted(y, name, **options):
        exposed = {"exposure": exposure} if name == "stops" else {}
        auditor = mdfa.MDFAuditor(**often, **options)
        return auditor.fit(X, pd.Series(y, name=name), sensitive_features=sex, **exposed)

    numeric = {"outcome_type": "numeric", "favorable": "high"}
    return {
        "difference": fitted(wage, "wage", **numeric),
        "ratio": fitted(wage, "wage", measure="ratio", **numeric),
        "rank": fitted(wage, HOSTILE, robust="rank", **numeric),
        "exposure": fitted(stops, "stops", outcome_type="numeric", favorable="low"),
        "ordered": fitted(grade, "grade", ordered=["low", "mid", "top"], favorable="high"),
        "classes": fitted(grade, "grade"),
    }


KINDS = ("difference", "ratio", "rank", "exposure", "ordered", "classes")
OF_NUMBERS = KINDS[:4]
# What is said of yes and no alone.
OF_OUTCOMES = re.compile("times as often|this outcome|four-fifths|Rate ratio|rates of|counts only")


@pytest.mark.parametrize("kind", KINDS)
def test_documents_of_every_kind(audited, kind):
    result = audited[kind].result_
    # Of an order with a grade that few have no mean is printed.
    page, card = result.to_html(min_cell=1 if kind == "ordered" else 11), result.to_model_card()
    documents = (result.summary(), card, page, result.to_cyclonedx(), result.to_junit())
    for told in documents:
        assert not re.search(r"\bfair\b", told)
        assert "\x1b" not in told
        if kind in OF_NUMBERS:
            assert not OF_OUTCOMES.search(told), OF_OUTCOMES.search(told)
    assert "<b>" not in page
    assert ("&lt;b&gt;wage" in page) == (kind == "rank")
    assert ET.fromstring(documents[-1]).attrib["tests"] == str(len(result.violations))
    assert {"searches_difference"} & set(re.findall(r'id="([\w]+)-title"', page)) == (
        {"searches_difference"} if kind == "ordered" else set()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_json_of_every_kind_fits_the_schema_and_comes_back(audited, kind, tmp_path):
    result, path = audited[kind].result_, tmp_path / "audit.json"
    text = result.to_json(path, rows=True)
    jsonschema.Draft202012Validator(load_schema(AUDIT_SCHEMA)).validate(json.loads(text))
    back = AuditResult.from_json(path)
    assert back.to_json(rows=True) == text
    assert back.summary() == result.summary()
    told = set(re.findall(r'"(\w+)":', text))
    of_numbers = {"outcome_scale", "outcome_sd", "amounts"}
    assert told & of_numbers == (set() if kind == "classes" else of_numbers)


def test_the_family_of_an_order_is_told_together(audited):
    result = audited["ordered"].result_
    table = result.summary(min_cell=1).partition("ALL SEARCHES")[2]
    assert table.splitlines()[1].split()[:3] == ["Who", "Outcome", "Effect"]
    assert re.search(r"sex = F +lower rank +0\.\d+ steps +0\.\d+ to \d\.?\d* steps", table)
    assert re.search(r"sex = F +below (mid|top) +[\d.]+ +[\d.]+ to [\d.]+ ", table)
    low = next(v for v in result.violations if v.outcome == "lower rank")
    assert len(SearchesDisplay.from_result(result, measure="difference").labels) == 4
    assert low.outcome_scale == "steps"
    assert "rank lower in grade" in low.outcome_text


def test_a_group_too_small_to_search_changes_no_heading(tmp_path):
    """Two sensitive columns, of which one has a value of few people."""
    X, wage, sex, _ = people(300)
    groups = pd.DataFrame({"sex": sex, "town": np.where(np.arange(300) < 8, "C", X["town"])})
    often = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}
    with pytest.warns(mdfa.exceptions.SmallGroupWarning):
        result = mdfa.audit(
            X[["age"]], wage, sensitive_features=groups, outcome_type="numeric", **often
        )
    assert any(v.group == "C" and not v.measured for v in result.violations)
    table = result.summary().partition("ALL SEARCHES")[2]
    assert table.splitlines()[1].split()[:3] == ["Who", "Outcome", "Difference"]
    assert "searches-title" in result.to_html()
    text = result.to_json(tmp_path / "audit.json")
    assert AuditResult.from_json(tmp_path / "audit.json").to_json() == text


def test_pictures_show_the_numbers_of_the_records(audited):
    result = audited["difference"].result_
    worst = result.worst_case
    searches = SearchesDisplay.from_result(result)
    frame = searches.to_frame()
    assert frame.loc[0, "difference"] == worst.difference
    assert searches._limits()[0] < 0 < searches._limits()[1]
    path = WorstCasePathDisplay.from_violation(worst)
    assert path.kept == (worst.mass, worst.difference, *worst.difference_interval)
    last = path.to_frame()["difference"].iloc[-1]
    assert last == pytest.approx(worst.population.difference, rel=0.1)
    boxes = AmountsDisplay.from_violation(worst)
    _, wage, sex, _ = people()
    inside = worst.membership & worst.held_out & (sex == "F").to_numpy()
    own = dict(zip(zip(boxes.parts, boxes.sides, strict=True), boxes.quantiles, strict=True))
    exact = np.quantile(wage[inside], [0.1, 0.25, 0.5, 0.75, 0.9], method="inverted_cdf")
    assert own["inside", "F"] == pytest.approx(exact)
    assert f"{amount_text(exact[2])}" in boxes.alt_text


@pytest.mark.parametrize("kind", OF_NUMBERS)
def test_a_card_speaks_of_amounts(audited, kind):
    auditor = audited[kind]
    worst = auditor.result_.worst_case
    row = int(np.flatnonzero(worst.membership & (worst.side == 1))[0])
    card = auditor.explain_row(None, row=row)
    jsonschema.Draft202012Validator(load_schema(CARD_SCHEMA)).validate(json.loads(card.to_json()))
    told = " ".join(card.summary().split())
    assert not OF_OUTCOMES.search(told)
    assert "\x1b" not in told
    assert "Mean, same features" in told
    assert "means of the nearest 25 of sex = F and 25 of everyone else differ by" in told
    assert card.inside
    assert card.has_outcome is None
    assert [side.rate for side in card.subgroup] == list(worst.rates)
    pairs = auditor.result_.pairs(n=2)
    assert pd.api.types.is_float_dtype(pairs["outcome"].infer_objects())
    if kind == "difference":
        wage = people()[1]
        assert card.received == wage[row]
        assert f"wage {wage[row]:,.0f};" in told
        with pytest.raises(mdfa.exceptions.InputError, match=r"^outcome: .*pass one of the two"):
            auditor.explain_row(None, row=row, outcome=wage[row] + 1)


def test_a_card_of_an_order_is_of_a_cut_that_the_person_is_in(audited):
    auditor = audited["ordered"]
    grades = np.digitize(people()[1], [20_000, 26_000])
    row = int(np.flatnonzero((grades == 0) & (people()[2] == "F"))[0])
    card = auditor.explain_row(None, row=row)
    assert card.received == "low"
    assert card.violation.outcome in ("below mid", "below top", "lower rank")
    assert card.has_outcome in (True, None)


def test_what_a_feature_explains_is_told_in_units(audited):
    result = audited["difference"].result_
    explained = result.explained()
    place = result.violations.index(result.worst_case)
    told = result.with_explained(explained)
    age = next(own for own in told.features if own.feature == "age")
    without = explained.of_search(place).set_index("feature").loc["age", "difference_without"]
    assert age.difference_without[place] == without
    assert f"difference without it: {amount_text(without)}" in told.summary()
    picture = ExplainedDisplay.from_explained(explained)
    assert picture.equal == pytest.approx(result.worst_case.difference)
    assert picture.to_frame().columns.tolist()[1:2] == ["difference_without"]
    assert set(picture.ratio) == set(explained.difference_without[:, place])


# -- what may be printed


def test_few_people_have_no_mean_that_is_printed():
    """Of a side of five nothing is kept of its mean."""
    few = pd.DataFrame([[5], [300]], index=["F", "everyone else"], columns=["rows"])
    many = pd.DataFrame([[150], [400]], index=few.index, columns=few.columns)
    whole = Subgroup(
        label="everybody",
        counts=many,
        n_rows=550,
        difference=500.0,
        difference_interval=(100.0, 900.0),
        measure="difference",
        outcome_sd=4_000.0,
        rates=(1.0, 2.0),
    )
    frame = pd.DataFrame(
        [[5, 1.0, 2.0, 3.0, 4.0, 5.0], [30, 19_111.0, 20_111.0, 21_111.0, 22_111.0, 23_111.0]],
        index=pd.MultiIndex.from_tuples([("inside", "F"), ("inside", "everyone else")]),
        columns=["rows", "q10", "q25", "q50", "q75", "q90"],
    )
    spread = Spread(differences=(1_500.0, 2_200.0), shared=0.6)
    own = search(counts=few, population=whole, n_rows=305, amounts=frame, spread=spread)
    copy = redact(AuditResult(violations=(own,), n_samples=550), 11).result.violations[0]
    lost = (copy.difference, copy.delta, *copy.difference_interval)
    assert all(map(math.isnan, (*lost, *copy.rates, *copy.spread.differences)))
    assert copy.population.difference == 500.0
    # A quarter of 30 is too few beyond a quartile; the median is nobody's own value.
    assert copy.amounts.isna().to_numpy().sum() == 9
    assert copy.amounts.loc[("inside", "everyone else"), "q50"] == 21_100.0
    assert "rows" not in copy.amounts
    why = "as it would tell of too few rows, or all but a few have the same number."
    assert f"is withheld, {why}" in case_sentence(copy)


def test_means_that_count_rare_values_are_withheld():
    """A mean of zeros and ones is a count."""
    groups = tuple(
        GroupCounts(
            sensitive_feature="sex",
            group=name,
            counts=(300,),
            rates=(rate,),
            share=0.5,
            counted=counted,
        )
        for name, rate, counted in (("F", 0.01, (2, 3, 3)), ("M", 21_000.0, (280, 295, 1)))
    )
    result = AuditResult(violations=(), groups=groups, n_samples=600)
    women, men = redact(result, 11).result.groups
    assert math.isnan(women.rates[0])
    assert (women.counts, women.counted) == ((300,), ())
    assert men.rates == (21_000.0,)


def test_counts_of_numbers_that_differ_by_few_are_withheld():
    """398 men compared of 400: the two who were not would be told by the difference."""
    groups = tuple(
        GroupCounts(
            sensitive_feature="sex",
            group=name,
            counts=(n,),
            rates=(2.0,),
            share=0.5,
            counted=(90, 90, 1),
        )
        for name, n in (("F", 150), ("M", 400))
    )
    counts = pd.DataFrame([[150], [398]], index=["F", "everyone else"], columns=["rows"])
    whole = Subgroup(label="everybody", counts=counts, n_rows=548, measure="difference")
    own = search(counts=counts - 60, population=whole, n_rows=428)
    result = AuditResult(violations=(own,), groups=groups, n_samples=550)
    assert all(one.counts == (None,) for one in redact(result, 11).result.groups)


@pytest.mark.parametrize(
    ("bounds", "said", "cell"),
    [
        ((-math.inf, math.inf), "any number of times as often", "any"),
        ((-math.inf, 0.0), "at most 1.00 times as often", "at most 1.00"),
        ((0.0, math.inf), "1.00 or more times as often", "1.00 or more"),
        ((0.0, math.log(2.0)), "1.00 to 2.00 times as often", "1.00 to 2.00"),
    ],
)
def test_bounds_are_told_as_far_as_they_say_anything(bounds, said, cell):
    own = Violation(
        sensitive_feature="sex", group="F", outcome="no", delta=0.5, probability_bounds=bounds,
        interval=bounds, rates=(0.5, 0.3),
    )  # fmt: skip
    assert said in case_sentence(own)
    assert effect_cell(own, effect_of(own)) == cell
