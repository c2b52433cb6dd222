"""What people read: findings in words of statistics, and none of law or praise."""

from __future__ import annotations

import dataclasses
import html
import math
import re

import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NONE_LARGER,
    VIOLATION,
    AskedSubgroup,
    Subgroup,
)
from mdfa_fairness_plugin.report.findings import CLOSING, FINDINGS

# "Fairness" is the name of the field, and "violation" that of a verdict for programs.
FORBIDDEN = re.compile(
    r"complian|\bfair\b|\bunfair\b|\bpass(es|ed)?\b|discriminat|worst[- ]treated|violat|verdict"
)
COUNTS = pd.DataFrame([[300, 200], [100, 400]], index=["f", "everyone else"], columns=["no", "yes"])


def search(verdict, **fields):
    sets = {"interval": (0.4, 0.9), "n_rows": 1000, "counts": COUNTS}
    return mdfa.Violation(
        sensitive_feature="sex",
        outcome="no",
        verdict=verdict,
        rates=(0.6, 0.3),
        p_value=0.001,
        p_value_adjusted=0.002,
        detectable_delta=0.3,
        share=0.5,
        population=Subgroup(label="everybody", delta=0.2, **sets | {"n_rows": 2000}),
        rule_subgroup=Subgroup(label="rule", delta=0.6, **sets),
        **{"group": "f", "delta": 0.7} | {"rule": "age at most 30"} | sets | fields,
    )


def audit(*searches):
    asked = tuple(
        AskedSubgroup(label="age < 25", rule="age < 25", group="f", outcome="no", verdict=verdict)
        for verdict in FINDINGS
    )
    return mdfa.AuditResult(violations=searches, n_samples=2000, asked=asked)


RESULTS = {
    VIOLATION: audit(
        search(VIOLATION),
        search(VIOLATION, group="m", harm=False),
        search(
            INSUFFICIENT, group="x", interval=(-0.1, 0.9), reason="only 3 rows have the outcome"
        ),
    ),
    NONE_LARGER: audit(
        search(NONE_LARGER, interval=(-0.1, 0.9)),
        search(NONE_LARGER, group="m", interval=(-0.9, -0.1), delta=-0.5),
    ),
    INSUFFICIENT: audit(search(INSUFFICIENT, reason="the interval on the ratio includes 1")),
    "part": audit(
        search(
            VIOLATION,
            rule="everybody",
            n_rows=2000,
            core=Subgroup(
                label="core", delta=1.0, interval=(0.7, 1.3), n_rows=300, beside=True,
                rule="age at most 20", rule_fidelity=0.9, counts=COUNTS,
            ),
        )
    ),
}  # fmt: skip


def words(text):
    """What is read of a page, a card or a test case: no markup, no styles."""
    text = re.sub(r"(?s)<style.*?</style>|<pre.*?</pre>|<[^>]*>", " ", text)
    return " ".join(html.unescape(text).split()).replace("\\", "")


@pytest.mark.parametrize("kind", RESULTS)
def test_reports_speak_of_disparities_and_leave_the_judgement_to_others(kind):
    result = RESULTS[kind]
    page, card = result.to_html(min_cell=1), result.to_model_card(min_cell=1)
    for text in map(words, (result.summary(), page, card)):
        assert FORBIDDEN.search(text.lower()) is None, FORBIDDEN.search(text.lower())
        assert CLOSING in text
        assert FINDINGS.get(kind, FINDINGS[VIOLATION]) in text.lower()


def test_test_cases_do_too():
    """But for the verdict by its name, which is a property of each."""
    text = re.sub(
        r'<property name="verdict" value="\w+" />', "", RESULTS[VIOLATION].to_junit(fail_above=0.1)
    )
    assert FORBIDDEN.search(text.lower()) is None
    assert "Finding: unequal beyond chance" in text
    assert "undetermined: only 3 rows have the outcome" in text


def test_verdicts_keep_their_names_for_programs():
    assert {v.verdict for r in RESULTS.values() for v in r.violations} == set(FINDINGS)
    assert RESULTS[VIOLATION].to_frame()["verdict"][0] == VIOLATION
    empty = dataclasses.replace(RESULTS[VIOLATION], violations=(), asked=())
    assert "No finding." in empty.summary()
    assert not math.isnan(RESULTS[VIOLATION].worst_case.delta)
