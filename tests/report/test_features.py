"""Reasons for features: as stated, with what each feature tells."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import jsonschema
import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import AuditedFeature
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA, load_schema

N = 400
# Of 100 with the group's value 80 have the flag, of 300 others 60; the coin is the same for both.
GROUP = np.repeat(["p", "q"], [100, 300])
FLAG = np.repeat([1, 0, 1, 0], [80, 20, 60, 240])
COIN = np.tile([0, 1], N // 2)
REASONS = {
    "flag": {"reason": "a licence that the work needs", "protected": True},
    "town": "<b>where</b> the shop is",
}
HOSTILE = "</td><script>alert(1)</script>\x1b[2J"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": FLAG, "coin": COIN, "town": rng.choice(["A", "B"], N)})
    return X, rng.random(N) < np.where(GROUP == "p", 0.6, 0.4)


def audit(rows, reasons=REASONS):
    X, y = rows
    return mdfa.audit(
        X, y, sensitive_features=GROUP, feature_reasons=reasons, learner="tree", n_splits=2
    )


@pytest.fixture(scope="module")
def audited(rows):
    return audit(rows)


@pytest.fixture(scope="module")
def explained(audited):
    return audited.explained()


def test_a_feature_tells_the_group_as_often_as_the_table_says(audited):
    """The flag tells 80 % of one side and 80 % of the other; the coin is a guess."""
    told = {own.feature: own for own in audited.features}
    assert list(told) == ["flag", "coin", "town"]
    n = len(audited.violations)
    assert told["flag"].tells == pytest.approx((0.8,) * n)
    assert told["coin"].tells == pytest.approx((0.5,) * n)
    assert (told["flag"].reason, told["flag"].protected) == (REASONS["flag"]["reason"], True)
    assert (told["coin"].reason, told["coin"].protected) == ("", False)
    assert all(math.isnan(x) for own in audited.features for x in own.ratio_without)


def test_the_ratio_without_a_feature_is_what_explained_measured(audited, explained):
    result = audited.with_explained(explained)
    frame = explained.to_frame()
    for own in result.features:
        ratios = frame.loc[frame["feature"] == own.feature, "ratio_without"]
        np.testing.assert_allclose(own.ratio_without, ratios)
    assert math.isnan(audited.features[0].ratio_without[0])
    other = dataclasses.replace(explained, searches=explained.searches[:1])
    with pytest.raises(InputError, match=r"^explained: it is of another audit"):
        audited.with_explained(other)


def test_reports_say_what_was_stated_and_what_is_told(audited, explained):
    result = audited.with_explained(explained)
    place = result.violations.index(result.worst_case)
    text = " ".join(result.summary().split())
    without = f"{result.features[0].ratio_without[place]:.1f}"
    assert (
        "flag: a licence that the work needs; measures a protected trait, as stated; tells the group: "
        f"80 %; ratio without it: {without}"
    ) in text
    assert "coin: not stated; tells the group: 50 %" in text
    assert "for others to judge" in text
    assert "a licence that the work needs" in result.to_model_card()
    page = result.to_html()
    assert "&lt;b&gt;where&lt;/b&gt; the shop is" in page
    for header in ("Reason stated", "Protected trait", "Tells the group", "Ratio without it"):
        assert header in page
    assert "ratio without it" not in audited.summary()


def test_nothing_is_said_unless_it_was_stated_or_measured(rows, audited, explained):
    plain = audit(rows, None)
    assert plain.features == ()
    assert "features" not in plain.to_dict()
    assert "REASONS FOR FEATURES" not in plain.summary()
    assert "feature_reasons" not in audited.provenance["parameters"]
    assert plain.worst_case.delta == audited.worst_case.delta
    told = plain.with_explained(explained)
    assert {own.reason for own in told.features} == {""}
    assert "ratio without it" in told.summary()


def test_json_has_it_by_the_schema_and_is_read_back(audited, explained, tmp_path):
    result = audited.with_explained(explained)
    path = tmp_path / "audit.json"
    told = json.loads(result.to_json(path))
    jsonschema.Draft202012Validator(load_schema(AUDIT_SCHEMA)).validate(told)
    assert told["features"][0]["protected"] is True
    read = AuditResult.from_json(path)
    assert read.to_json() == result.to_json()
    assert read.summary() == result.summary()
    assert read.to_model_card() == result.to_model_card()
    with pytest.raises(InputError, match=r"^result: it does not hold its data"):
        dataclasses.replace(read, features=()).with_explained(explained)
    told["features"][1]["tells"].pop()
    path.write_text(json.dumps(told))
    with pytest.raises(InputError, match=r"features\[1\]: two numbers of every search expected"):
        AuditResult.from_json(path)
    told["features"][1]["tells"].append(0.5)
    told["features"][0]["reason"] = HOSTILE
    path.write_text(json.dumps(told))
    page = AuditResult.from_json(path).to_html()
    assert "<script>alert" not in page
    assert "\x1b" not in page


def test_what_a_feature_tells_is_withheld_where_its_profile_is(audited, explained):
    """As the profile's numbers for few people would tell of them, so would a share made of these."""
    result = audited.with_explained(explained)
    few = result.to_html(min_cell=150)
    section = few[few.index("Reasons for features") :]
    table = section[: section.index("</table>")]
    assert "80 %" not in table
    assert "withheld" in table
    assert "a licence that the work needs" in table


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["flag"], "feature_reasons: a mapping of features to reasons expected, list found"),
        (
            {"twon": "a"},
            r"'twon' is no audited feature\. Did you mean 'town'\? Those audited: 'flag'",
        ),
        ({"flag": 3}, r"feature_reasons\['flag'\]: a text or .* expected, 3 found"),
        ({"flag": " "}, r"feature_reasons\['flag'\]: reason: a text expected, ' ' found"),
        ({"flag": {}}, r"reason: a text expected, '' found"),
        ({"flag": {"reason": None}}, r"reason: a text expected, None found"),
        ({"flag": {"protect": True}}, r"'protect' is unknown\. Did you mean 'protected'\?"),
        ({"flag": {"reason": "a", "protected": "yes"}}, r"True or False expected, 'yes' found"),
    ],
)
def test_bad_reasons_are_refused_by_name(rows, reasons, said):
    with pytest.raises(InputError, match=said):
        audit(rows, reasons)


def test_columns_shown_as_one_feature_have_one_reason(rows):
    X, y = rows
    hot = pd.get_dummies(X["town"], prefix="town", dtype=int).assign(coin=COIN)
    with pytest.raises(InputError, match="'town_B' is shown as 'town', of which another reason"):
        audit((hot, y), {"town_A": "a", "town_B": "b"})


def test_many_features_are_cut_after_those_with_a_reason():
    own = [AuditedFeature(feature=f"x{i}") for i in range(60)]
    own[55] = AuditedFeature(feature="x55", reason="a reason")
    page = AuditResult(features=tuple(own)).to_html(min_cell=1)
    names = re.findall(r"\bx\d+\b", page[page.index("Reasons for features") :])
    assert names[0] == "x55"
    assert len(names) == 41
    assert "and 19 more, of which nothing was stated" in page
