"""The outcome has a name and a good side: harm leads, its mirror is a line."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult, Violation
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.report.junit import trips
from mdfa_fairness_plugin.report.sentences import impact_sentence

FAST = {"learner": "tree", "n_splits": 2, "n_repeats": 1}
NAMES = {
    "favorable_label": 1,
    "outcome_names": {0: "refused a loan", 1: "given a loan"},
    "group_names": {"f": "women", "m": "men"},
}


@pytest.fixture(scope="module")
def loans():
    """Women are approved less often, .4 against .8: so men get the good outcome twice as often."""
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 3, n)})
    sex = pd.Series(rng.choice(["f", "m"], n), name="sex")
    y = pd.Series((rng.random(n) < np.where(sex == "f", 0.4, 0.8)).astype(int), name="approved")
    own = {"propensity": np.full(n, 0.5), "outcome_probability": np.full(n, 0.6)}
    return (X, y), {"sensitive_features": sex, **own, **FAST}


@pytest.fixture(scope="module")
def plain(loans):
    return mdfa.audit(*loans[0], **loans[1])


@pytest.fixture(scope="module")
def told(loans):
    return mdfa.audit(*loans[0], **loans[1], **NAMES)


def found(result, group, outcome):
    return next(v for v in result.violations if (v.group, v.outcome) == (group, outcome))


def test_without_a_favourable_label_nothing_is_harm(plain):
    assert {v.harm for v in plain.violations} == {None}
    assert all(np.isnan(v.impact_ratio) for v in plain.violations)
    # The largest ratio leads: refused women, .6 against .2.
    assert (plain.worst_case.group, plain.worst_case.outcome) == ("f", 0)
    assert plain.favorable_label is None
    assert "Favourable" not in plain.summary()


def test_harm_leads_and_its_mirror_is_no_second_violation(loans, plain, told):
    assert [v.harm for v in told.violations] == [v.outcome == 0 for v in told.violations]
    for one, other in zip(plain.violations, told.violations, strict=True):
        assert (one.delta, one.interval, one.p_value_adjusted, one.verdict) == (
            other.delta, other.interval, other.p_value_adjusted, other.verdict,
        )  # fmt: skip
    assert (told.worst_case.group, told.worst_case.outcome) == ("f", 0)
    # Were refusal the good outcome, approved men would be those who are harmed.
    other = mdfa.audit(*loans[0], **loans[1], favorable_label=0)
    assert (other.worst_case.group, other.worst_case.outcome) == ("m", 1)
    assert other.worst_case.delta < plain.worst_case.delta
    text = " ".join(told.summary().split())
    assert "Advantage, which is others' harm seen from the other side: Men are given a loan" in text
    assert text.count("unequal beyond chance") == 2  # the finding, and its row of the table
    assert "advantage" in text[text.index("ALL SEARCHES") :]


def test_the_gate_is_about_harm(loans, plain, told):
    assert [trips(v, 0.1) for v in told.violations] == [
        v.harm and trips(other, 0.1)
        for v, other in zip(told.violations, plain.violations, strict=True)
    ]
    assert 'failures="1"' in told.to_junit(fail_above=0.1)
    assert 'failures="2"' in plain.to_junit(fail_above=0.1)
    # With women ahead in the good outcome, only men's harm is left to trip it.
    only = dataclasses.replace(
        told, violations=tuple(v for v in told.violations if v.harm is False)
    )
    assert 'failures="0"' in only.to_junit(fail_above=0.1)


def test_impact_is_the_favourable_rate_over_the_others(plain, told):
    for group, other in (("f", "m"), ("m", "f")):
        harm, good = found(told, group, 0), found(told, group, 1)
        own, others = harm.rates
        assert harm.impact_ratio == pytest.approx((1 - own) / (1 - others))
        assert good.impact_ratio == pytest.approx(good.ratio)
        assert harm.key.group != other
        assert good.impact_interval == good.ratio_interval
        assert harm.impact_interval[0] < harm.impact_ratio < harm.impact_interval[1]
    case = found(told, "f", 0)
    assert case.impact_ratio == pytest.approx(0.5, abs=0.12)
    # Not what dividing the unfavourable rates the other way round gives.
    assert abs(case.impact_ratio - 1 / case.ratio) > 0.1
    low, high = case.impact_interval
    assert (
        f"The favourable outcome goes to women {case.impact_ratio:.2f} times ({low:.2f} to {high:.2f}) "
        "as often as to everyone else"
    ) in " ".join(told.summary().split())
    assert "number is below 0.8;" in impact_sentence(case)
    assert "number is above 1.25, one over 0.8;" in impact_sentence(found(told, "m", 1))
    assert "four-fifths" not in plain.summary()
    frame = told.to_frame().query("group == 'f' and outcome == 0")
    assert frame[["impact_low", "impact_high"]].to_numpy().tolist() == [[low, high]]


def test_sentences_say_what_the_outcome_and_the_groups_are_called(told, plain, loans):
    start = " ".join(told.summary().split())
    assert "Outcomes of approved: 0, 1. Favourable: 1." in start
    assert "omen are refused a loan (approved = 0) " in start
    assert 'get the outcome "approved = 0"' in " ".join(plain.summary().split())
    worded = (loans[0][0], loans[0][1].map({0: "not approved", 1: "approved"}))
    plainer = mdfa.audit(*worded, **{k: v for k, v in loans[1].items() if "prob" not in k})
    assert 'get the outcome "not approved"' in " ".join(plainer.summary().split())
    named = mdfa.audit(*loans[0], **loans[1], outcome_name="loan approved")
    assert 'get the outcome "loan approved = 0"' in " ".join(named.summary().split())
    data = json.loads(told.to_json())
    assert (data["outcome_name"], data["favorable_label"]) == ("approved", 1)
    answer = next(a for a in told.measure("b == 1") if a.harm and a.group == "f")
    assert "omen are refused a loan (approved = 0)" in " ".join(
        told.measure("b == 1").summary().split()
    )
    assert answer.outcome_text == "are refused a loan (approved = 0)"


@pytest.mark.parametrize(
    ("delta", "says"),
    [
        (
            np.inf,
            "women are refused a loan and everyone else with equal audited features never are",
        ),
        (-np.inf, "women never are refused a loan here, while some of everyone else"),
        (np.nan, "how much more often they are refused a loan than everyone else"),
    ],
)
def test_where_no_ratio_can_be_given_names_are_used_too(delta, says):
    own = Violation(
        group="f", outcome=0, delta=delta, n_rows=40, rule="a > 1", verdict="violation",
        interval=(0.5, np.inf) if delta == np.inf else (np.nan, np.nan), group_text="women",
        outcome_text="are refused a loan", harm=True,
    )  # fmt: skip
    assert says in " ".join(AuditResult(violations=(own,), n_samples=90).summary().split())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"favorable_label": 2}, "favorable_label: 2 is not among the outcomes found: 0, 1"),
        ({"favorable_label": "1"}, "favorable_label: '1' is not among"),
        ({"outcome_names": {3: "x"}}, "outcome_names: 3 is not among the labels found"),
        ({"outcome_names": ["a", "b"]}, "outcome_names: a mapping of labels to names expected"),
        ({"outcome_names": {0: " "}}, "outcome_names: 0 is to be called ' '"),
        ({"outcome_name": 7}, "outcome_name: a text expected, 7 found"),
        ({"group_names": {"x": "people"}}, "group_names: 'x' is not among the labels found"),
        ({"group_names": {"race": {"f": "x"}}}, "group_names: 'race' is no sensitive column"),
        (
            {"group_names": {"f": "all", "m": "all"}},
            "group_names: 'f' is to be called 'all', which",
        ),
        ({"group_names": {"f": "m"}}, "group_names: 'f' is to be called 'm', which is what 'm'"),
        ({"outcome_names": {0: "1"}}, "outcome_names: 0 is to be called '1', which is what 1"),
        ({"group_names": {"sex": {"x": "y"}}}, "group_names\\['sex'\\]: 'x' is not among"),
    ],
)
def test_names_of_what_is_not_there_are_refused(loans, given, says):
    with pytest.raises(InputError, match=f"^{says}"):
        mdfa.audit(*loans[0], **loans[1], **given)


def test_groups_may_be_named_by_column(loans):
    names = {"sex": {"f": "women"}}
    result = mdfa.audit(*loans[0], **loans[1], group_names=names)
    assert found(result, "f", 0).group_text == "women"
    assert found(result, "m", 0).group_text == ""


def test_of_three_outcomes_all_but_the_good_one_are_harm(loans):
    X, _ = loans[0]
    y = pd.Series(np.arange(len(X)) % 3, name="grade")
    settings = {k: v for k, v in loans[1].items() if "prob" not in k}
    result = mdfa.audit(X, y, outcomes=[0, 1], favorable_label=2, **settings)
    assert {v.harm for v in result.violations} == {True}
    assert all(np.isnan([v.impact_ratio, *v.impact_interval]).all() for v in result.violations)


def number(group, harm, difference, width, **more):
    """A search of a number that may be negative, told by hand."""
    ends = (difference - width, difference + width)
    own = {"outcome": "less" if harm else "more", "harm": harm, "group": group, "rates": (1.0, 3.0)}
    return Violation(
        **(own | {"difference": difference, "difference_interval": ends, "outcome_sd": 2.0}),
        measure="difference", outcome_type="numeric", verdict="violation", **more,
    )  # fmt: skip


def test_harm_by_a_number_needs_no_ratio_and_goes_by_the_lower_limit():
    """A larger difference that is known less well, or none, does not lead."""
    sure, wide = number("a", True, 2.0, 0.5), number("b", True, 4.0, 3.0)
    result = AuditResult(violations=(wide, sure), n_samples=90)
    harm = result.worst_harm
    assert (harm.violation, harm.group, harm.reference) == (sure, "a", "b")
    assert (harm.outcome, harm.direction, harm.rates) == ("more", "less", (1.0, 3.0))
    assert (harm.difference, harm.difference_interval) == (2.0, (1.5, 2.5))
    assert np.isnan([harm.ratio, harm.delta, harm.disparate_impact]).all()
    for name in ("ratio", "delta", "gamma"):
        with pytest.raises(InputError, match=r"^metric: it is not defined of"):
            harm.figure(name, "metric")
    # What a group gets more of the others get less of; where less is good they are better off.
    mirror = AuditResult(violations=(number("a", False, 2.0, 0.5), wide), n_samples=90).worst_harm
    assert (mirror.group, mirror.reference, mirror.rates) == ("b", "a", (3.0, 1.0))
    low = number("a", True, 2.0, 0.5, outcome_text="get more")
    low = dataclasses.replace(low, outcome="more")
    told = AuditResult(violations=(low,), n_samples=90).worst_harm
    assert (told.group, told.outcome, told.direction) == ("a", "less", "more")
    assert AuditResult(violations=(dataclasses.replace(low, harm=None),)).worst_harm is None
    steps = dataclasses.replace(sure, outcome="lower rank", outcome_scale="steps", delta=0.5)
    told = AuditResult(violations=(steps,), n_samples=90).worst_harm
    assert told.outcome == "higher rank"
    with pytest.raises(InputError, match=r"^worst_case_ratio: .* of steps of an order"):
        told.figure("ratio", "worst_case_ratio")


def test_differences_and_ratios_are_ranked_by_limits_that_say_as_much():
    """One standard deviation says as much as a log ratio of .91 (Chinn 2000)."""

    def ratio(low):
        return Violation(
            group="c", outcome="below B", harm=True, verdict="violation", delta=1.0,
            interval=(low, 2.0), impact_ratio=0.4, impact_interval=(0.1, float(np.exp(-low))),
            counts=pd.DataFrame(columns=["below B", "B or higher"]),
        )  # fmt: skip

    half = number("a", True, 1.5, 0.5)  # lower limit: half a deviation, .455
    for low, leads in ((0.40, "a"), (0.50, "c")):
        harm = AuditResult(violations=(half, ratio(low)), n_samples=90).worst_harm
        assert harm.group == leads
    assert (harm.outcome, harm.direction) == ("B or higher", "less often")
