"""What a rule says, and whom it covers."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.describe import cells
from mdfa_fairness_plugin.describe.conditions import Condition, rule_fit
from mdfa_fairness_plugin.describe.rules import describe_rule


def test_missing_values_given_as_none_are_a_level():
    display = pd.DataFrame({"c": pd.Series(["a", None, "b", None] * 50, dtype=object)})
    rule = describe_rule(display["c"].isna().to_numpy(), display)[0]
    assert rule.text == "c is missing"
    assert rule.applies(display).tolist() == display["c"].isna().tolist()


def test_hostile_names_are_neutralised():
    display = pd.DataFrame({"a\x1b[2J\nname" + "x" * 200: ["u\x1b", "v"] * 50})
    text = describe_rule(np.tile([True, False], 50), display)[0].text
    assert text.isprintable()
    assert len(text) < 120


def test_a_named_value_means_just_that_value_in_new_rows(counts):
    display = counts()
    rule = describe_rule((display.priors == 0).to_numpy(), display)[0]
    new = display.iloc[:3].copy()
    new["priors"] = [-1.0, 0.0, 1.0]
    assert rule.applies(new).tolist() == [False, True, False]


def test_what_both_alternatives_ask_for_is_said_once(counts):
    display = counts(4000)
    inside = (display.year <= 2000) & ((display.priors >= 3) | (display.owed == 99))
    rule = describe_rule(inside.to_numpy(), display)[0]
    assert rule.text == "year at most 2000 and (owed is 99, or priors at least 3)"
    np.testing.assert_array_equal(rule.applies(display), inside)


def test_names_that_could_be_read_as_the_sentence_are_quoted():
    display = pd.DataFrame({"job": ["clerk or cook", "clerk"] * 50})
    rule = describe_rule(np.tile([True, False], 50), display)[0]
    assert rule.text == "job is 'clerk or cook'"


@pytest.mark.parametrize("weighted", [False, True])
def test_fit_is_its_definition_in_blocks(weighted, monkeypatch):
    monkeypatch.setattr(cells, "_BLOCK", 70)
    rng = np.random.default_rng(0)
    covered, inside = rng.random((2, 1000)) < [[0.3], [0.4]]
    w = rng.lognormal(size=1000) if weighted else np.ones(1000)
    fit = rule_fit(covered, inside, w if weighted else None)
    share = {"precision": (inside, covered), "recall": (covered, inside)}
    for name, (x, rows) in share.items():
        assert fit[name] == pytest.approx(np.average(x[rows], weights=w[rows]))
    rejected = np.average(~covered[~inside], weights=w[~inside])
    assert fit["fidelity"] == pytest.approx((fit["recall"] + rejected) / 2)


@pytest.mark.parametrize(
    ("kind", "whole", "low", "high", "text"),
    [
        ("days", True, -math.inf, 390, "x at most 390 days"),
        ("days", True, 0, math.inf, "x at least 1 day"),
        ("days", True, 29, 60, "x from 30 to 60 days"),
        ("days", True, 0, 1, "x is 1 day"),
        ("hours", False, 1.5, math.inf, "x above 1.5 hours"),
        ("hours", False, 1.5, 3, "x between 1.5 and 3 hours"),
        ("time", False, -math.inf, 8.25, "x until 08:15"),
        ("time", False, 8.25, 17, "x after 08:15 and until 17:00"),
        ("time", False, 20.505, math.inf, "x after 20:30:18"),
        ("numeric", True, -math.inf, 390, "x at most 390"),
    ],
)
def test_quantities_have_their_unit(kind, whole, low, high, text):
    assert Condition(column=0, name="x", kind=kind, whole=whole, low=low, high=high).text == text


AGE = np.arange(18, 75)
DURATIONS = {
    "tenure at most 390": AGE * 10,
    "tenure after 2018-12-04": pd.Timestamp("2020-01-01") - pd.to_timedelta(AGE * 10, unit="D"),
    "tenure at most 390 days": pd.to_timedelta(AGE * 10, unit="D"),
    "tenure at most 390 days ": [datetime.timedelta(days=int(age) * 10) for age in AGE],
    "tenure at most 39 hours": pd.to_timedelta(AGE, unit="h"),
    "tenure until 09:45": [datetime.time(age // 4, age % 4 * 15) for age in AGE.tolist()],
}


@pytest.mark.parametrize(("text", "values"), DURATIONS.items())
def test_a_duration_is_a_quantity(text, values):
    """Who is below 40 is told alike in any of these types."""
    rows = np.repeat(np.arange(len(AGE)), 8)
    X = pd.DataFrame({"tenure": pd.Series(values)[rows].reset_index(drop=True)})
    encoder = FeatureEncoder().fit(X)
    display = encoder.display_frame(X)
    inside = AGE[rows] < 40
    rule, covered = describe_rule(inside, display, displays=encoder.displays_)
    assert rule.text == text.strip()
    np.testing.assert_array_equal(covered, inside)
