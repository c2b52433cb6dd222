"""A result as a page."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.describe.profile import ProfiledSubgroup, profile_subgroups
from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.records import Subgroup, Violation
from mdfa_fairness_plugin.report.html import isolate

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=y>{{ 7 * 7 }}"
VOID = {"meta", "br", "img", "link", "hr", "input"}


def profile_subgroup(display, s, membership, **named):
    """Table of one subgroup."""
    subgroup = ProfiledSubgroup(s=s, membership=membership, **named)
    return profile_subgroups(display, [subgroup])[0]


class Page(HTMLParser):
    """Tags and text of a page; fails if tags do not nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def result(name="Black"):
    display = pd.DataFrame({name: [1.0, 2.0, 3.0, np.nan], "c": [name, "b", "b", name]})
    s = np.array([1, 1, -1, -1])
    profile = profile_subgroup(
        display, s, np.array([True, False, True, True]), group=name, outcome=s > 0
    )
    violation = Violation(
        sensitive_feature=name,
        group=name,
        outcome=name,
        verdict="violation",
        delta=0.6,
        interval=(0.3, 0.9),
        n_rows=3,
        rule=name,
        counts=pd.DataFrame([[1, 2], [3, 4]], index=[name, "others"], columns=[name, "b"]),
        profile=profile,
        population=Subgroup(delta=0.1),
    )
    return AuditResult(
        violations=(violation, Violation(group=name, outcome=name, reason=name)),
        balance={
            (name, name): {
                "method": name,
                "mmd_before": 0.1,
                "mmd_after": None,
                "smd_before": {"a": -0.4, "b": 0.2},
                "effective_sample_size": (300.0, 20.5),
                "share_outside_support": 0.02,
                "n_outside_support": 1,
            }
        },
        excluded={name: 2},
        warnings=(AuditWarning(name, name),),
        provenance={"versions": {"mdfa_fairness_plugin": name}, "seed": name, "input_hash": name},
        n_samples=4,
        outcome_labels=(name,),
        sensitive_names=(name,),
        feature_names=(name,),
    )


@pytest.mark.parametrize("make", [AuditResult.to_html, AuditResult._repr_html_])
def test_text_from_the_data_is_escaped(make):
    text = make(result(HOSTILE))
    page = Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "49" not in page.text
    assert "<script>" in page.text


def test_page_needs_nothing_from_elsewhere():
    text = result().to_html()
    assert text.startswith("<!DOCTYPE html>")
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
    # Pictures refer to their own parts only.
    referred = [v for name, v in page.attributes if name in ("src", "href", "xlink:href")]
    assert all(value.startswith("#") for value in referred)
    assert len(re.findall(r"url\(", text)) == len(re.findall(r"url\(#", text))
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert not re.search(r"https?://", text)


def test_page_says_what_the_summary_says():
    audited = result()
    shown = " ".join(Page(audited.to_html(min_cell=1)).text.split())
    for sentence in re.split(r"\n\n", audited.summary(min_cell=1))[2:5]:
        assert " ".join(sentence.split()) in shown


def test_page_shows_profile_counts_and_balance():
    shown = " ".join(Page(result("race").to_html(min_cell=1)).text.split())
    assert "The subgroup beside the population" in shown
    assert "race, mean 1.50 3.00 1.00 3.00" in shown
    assert "c: b 50 % 50 % 0 % 50 %" in shown
    assert "Rows in the subgroup" in shown
    assert "race = race race 0.1 0.4 300 / 20.5 2 %" in shown


@pytest.mark.parametrize(
    "partial",
    [
        AuditResult(),
        AuditResult(violations=(Violation(group=1, outcome=0),), balance={("a", 1): None}),
        AuditResult(violations=(Violation(group=1, outcome=0, verdict="violation"),)),
        AuditResult(
            violations=(
                Violation(
                    group=1,
                    outcome=0,
                    verdict="violation",
                    profile=pd.DataFrame({"a": ["text", None]}),
                ),
            )
        ),
    ],
)
def test_partial_results_make_a_page(partial):
    page = Page(partial.to_html())
    assert "What this audit could not see" in page.text
    assert not re.search(r"\bnan\b|\bNone\b", page.text)
    Page(partial._repr_html_())


def test_page_is_the_same_every_time():
    assert result().to_html() == result().to_html()


def test_names_written_from_right_to_left_do_not_turn_their_neighbours():
    page = result("שלום עולם").to_html(min_cell=1)
    assert '"<bdi>' in page.replace("&#34;", '"')
    assert "<bdi>שלום עולם</bdi>" in page
    assert isolate("<b> 3 عربي 4") == "&lt;b&gt; 3 <bdi>عربي</bdi> 4"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sure (p < 0.001, adjusted)", "sure (p~&lt;~0.001, adjusted)"),
        ("p = 0.012", "p~=~0.012"),
        ("< 0.001", "&lt;~0.001"),
        ("4 %", "4~%"),
        ("amp < 3", "amp &lt; 3"),
    ],
)
def test_numbers_stay_on_one_line_with_what_they_are(text, told):
    assert isolate(text).replace("\u00a0", "~") == told


def test_wide_tables_are_cut_and_say_so():
    display = pd.DataFrame(np.arange(480.0).reshape(4, 120) ** 0.5)
    display.columns = [f"f{i}" for i in range(120)]
    s = np.array([1, 1, -1, -1])
    profile = profile_subgroup(display, s, s > 0, group="a")
    violation = Violation(group="a", outcome=1, verdict="violation", delta=0.5, profile=profile)
    page = Page(AuditResult(violations=(violation,)).to_html(min_cell=1))
    assert "211 more rows, less different, not shown" in page.text


def test_what_an_unrecorded_feature_would_have_to_do_is_told():
    told = Violation(
        group="a", outcome=1, verdict="violation", delta=0.7, e_value=3.4, e_value_limit=1.9
    )
    text = " ".join(AuditResult(violations=(told,)).summary().split())
    assert "A feature 3.4 times as common among those with sensitive_feature = a" in text
    assert "makes the outcome 3.4 times as likely, could explain all of the ratio" in text
    assert "if both numbers are smaller it could not" in text
    assert "than chance explains, 1.9 for both is enough." in text
    # The two numbers given as enough are, by the bound of VanderWeele and Ding: a b / (a + b - 1).
    first, second = map(float, re.search(r"smaller: (\S+) and (\S+) are enough", text).groups())
    ratio = 3.4**2 / (2 * 3.4 - 1)
    assert ratio <= first * second / (first + second - 1) < 1.05 * ratio
    assert second < 3.4 < first
    chance = AuditResult(violations=(replace(told, e_value_limit=1.0),)).summary()
    assert "As chance alone might explain it too" in " ".join(chance.split())
    # Nothing explains all of an infinite ratio; its limit may be explained.
    never = AuditResult(violations=(replace(told, delta=math.inf, e_value=math.inf),)).summary()
    assert "1.9 times as likely, could bring the ratio in the subgroup down to what chance" in (
        " ".join(never.split())
    )
    assert "Could something" not in (
        AuditResult(violations=(replace(told, e_value=math.inf, e_value_limit=math.inf),)).summary()
    )


def test_four_fifths_are_of_favourable_rates_and_no_verdict():
    """Refused 70 % against 60 %: hired .75 times as often. Without a good side nothing is said."""
    told = Violation(
        group="a",
        outcome=0,
        verdict="violation",
        delta=math.log(7 / 6),
        interval=(math.log(1.02), math.log(1.3)),
        harm=True,
        impact_ratio=0.75,
        impact_interval=(0.6, 0.9),
    )
    text = " ".join(AuditResult(violations=(told,)).summary().split())
    assert "0.75 times (0.60 to 0.90) as often as to everyone else" in text
    assert "no legal judgement" in text
    unsaid = replace(told, harm=None, impact_ratio=math.nan, impact_interval=(math.nan, math.nan))
    assert "four-fifths" not in AuditResult(violations=(unsaid,)).summary()


def test_rows_of_unknown_group_and_their_bounds_are_told():
    told = Violation(
        sensitive_feature="race",
        group="a",
        outcome=1,
        verdict="violation",
        delta=0.7,
        n_missing=40,
        missing_bounds=(math.log(1.2), math.log(3)),
    )
    text = " ".join(AuditResult(violations=(told,)).summary().split())
    assert "40 rows in the subgroup told of first have no known race." in text
    assert "between 1.2 and 3.0" in text


def test_fragment_has_no_document_around_it():
    tags = Page(result()._repr_html_()).tags
    assert not {"html", "head", "body"} & set(tags)
    assert tags[:2] == ["style", "div"]


def test_a_page_says_what_it_is_published_as():
    """What is told goes before what the statement says; without either nothing is added."""
    plain, stated = result(), replace(result(), statement={"auditor": "A. <Auditor>"})
    told = Page(stated.to_html(title="Who is kept", source="Police records.", date="2026-02-01"))
    assert "Who is kept" in told.text
    line = "Audit of 4 rows. By A. <Auditor>. Source: Police records. 2026-02-01."
    assert line in told.text
    assert "By B. Source" not in Page(stated.to_html(author="B")).text
    assert "By B." in Page(stated.to_html(author="B")).text
    assert plain.to_html(title="") == plain.to_html()
