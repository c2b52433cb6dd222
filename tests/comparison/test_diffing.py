"""What changed between two audits, by hand where a hand can; and the command that says it."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult, Subgroup, Violation
from mdfa_fairness_plugin.cli import main
from mdfa_fairness_plugin.comparison.diffing import change_sentence
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.intervals import change_interval

HOSTILE = "</script><script>\x1b[2J"


def case(delta, half, verdict="violation", **fields):
    low, high = (half, half) if isinstance(half, float) else half
    own = {"sensitive_feature": "sex", "group": "f", "outcome": 1, **fields}
    return Violation(
        **own,
        delta=delta,
        interval=(delta - low, delta + high),
        verdict=verdict,
        rule="age below 25",
    )


def audit(*cases, **fields):
    provenance = {"input_hash": "a" * 64, "parameters": {"alpha": 0.05}}
    provenance |= fields.pop("provenance", {})
    return AuditResult(violations=cases, provenance=provenance, **fields)


def worst(old, new, **fields):
    """The change of one search's worst case."""
    told = {"provenance": {"input_hash": "b" * 64}}
    return mdfa.diff(audit(old, **fields), audit(new, **told)).changes[0]


def test_a_change_by_hand():
    """Halves of .3 and .4 make one of .5; e to the .2 is 1.22."""
    change = worst(case(0.5, 0.3), case(0.7, 0.4))
    assert change.delta == pytest.approx(0.2)
    assert change.interval == pytest.approx((-0.3, 0.7))
    assert change.status == "within error"


def test_a_lopsided_interval_counts_by_its_own_side():
    """Down go the new one's lower and the old one's upper half: 5 of 3 and 4; up 13 of 12 and 5."""
    change = worst(case(0.0, (5.0, 4.0)), case(20.0, (3.0, 12.0)))
    assert change.interval == pytest.approx((15.0, 33.0))


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (case(0.1, 0.2, "none_larger_than_detectable"), case(1.0, 0.2), "new"),
        (case(1.0, 0.2), case(0.1, 0.2, "none_larger_than_detectable"), "gone"),
        (case(0.5, 0.1), case(1.0, 0.1), "larger"),
        (case(1.0, 0.1), case(0.5, 0.1), "smaller"),
        (case(0.3, 0.29), case(0.3, 0.31, "none_larger_than_detectable"), "within error"),
        (case(math.nan, 0.1, "insufficient_evidence"), case(0.5, 0.1), "unknown"),
        (case(0.5, 0.1), case(math.inf, (math.inf, 1.0)), "within error"),
    ],
)
def test_what_a_change_is_called(old, new, status):
    """A verdict that flips is not news unless the change is beyond error."""
    change = worst(old, new)
    assert change.status == status
    assert change.delta == pytest.approx(new.delta - old.delta, nan_ok=True)


@pytest.mark.parametrize(
    ("now", "how"), [(-1.5, "more"), (-0.5, "less"), (-1.1, "neither surely more nor less")]
)
def test_what_turns_round_is_said(now, how):
    change = worst(case(1.0, 0.1), case(now, 0.1, "none_larger_than_detectable"))
    assert change.reason == f"now the other way round, and {how} unequal than before"
    assert worst(case(1.0, 0.1), case(-0.05, 0.1)).reason == ""


def test_levels_that_differ_are_made_alike():
    """An interval of 68.27 % is one standard error, of 95 % 1.96 of them."""
    one = math.erf(1 / math.sqrt(2))
    change = worst(case(0.0, 0.1), case(0.0, 0.0), confidence_level=one)
    assert change.interval == pytest.approx((-0.196, 0.196), abs=1e-4)


def test_intervals_cover_the_change_of_independent_estimates():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(2, 2000)) * [[0.1], [0.2]]
    held = 0
    for a, b in errors.T:
        b += 1.0
        low, high = change_interval(b, (b - 0.392, b + 0.392), a, (a - 0.196, a + 0.196))
        held += low <= 1 <= high
    assert held / 2000 == pytest.approx(0.95, abs=0.015)


def test_everybody_is_told_beside_the_worst_case():
    old = case(0.5, 0.1, population=Subgroup(label="everybody", delta=0.1, interval=(0.0, 0.2)))
    new = case(0.5, 0.1, population=Subgroup(label="everybody", delta=0.5, interval=(0.4, 0.6)))
    told = mdfa.diff(audit(old), audit(new)).to_frame()
    assert told.quantity.tolist() == ["worst case", "everybody"]
    assert told.status.tolist() == ["within error", "larger"]
    assert told.times.tolist() == pytest.approx([1.0, math.exp(0.4)])


def test_searches_are_matched_by_name_and_the_rest_is_listed():
    old = audit(case(0.5, 0.1), case(0.5, 0.1, group="x"))
    new = audit(case(0.5, 0.1, group="y"), case(0.5, 0.1))
    frame = mdfa.diff(old, new).to_frame()
    told = frame[frame.quantity == "worst case"].set_index("group").status.to_dict()
    assert told == {"y": "only now", "f": "within error", "x": "only before"}
    with pytest.raises(InputError, match="no search in common"):
        mdfa.diff(audit(case(0.5, 0.1, group="x")), new)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Both audits are of the same rows"),
        ({"provenance": {"input_hash": "b"}}, "is not known; that nobody does is assumed"),
        ({"feature_names": ("age", "town")}, "audited features differ.*only now: age, town"),
        ({"outcome_labels": (0, 1)}, "outcomes differ"),
        ({"provenance": {"parameters": {"alpha": 0.1}}}, "alpha was 0.05 and is 0.1"),
        ({"favorable_label": 1}, "favorable_label was .missing. and is 1"),
        ({"provenance": {"versions": {"mdfa_fairness_plugin": "9"}}}, "versions .missing. and 9"),
    ],
)
def test_what_makes_audits_not_comparable_is_said(fields, said):
    told = mdfa.diff(audit(case(0.5, 0.1)), audit(case(0.5, 0.1), **fields)).notes
    assert re.search(said, " ".join(told))


def test_it_is_said_where_everyone_else_is_somebody_else():
    old = audit(case(0.5, 0.1), case(0.5, 0.1, group="x"))
    new = audit(case(0.5, 0.1), case(0.5, 0.1, group="y"))
    told = " ".join(mdfa.diff(old, new).notes)
    assert "differ (only before: x; only now: y), so everyone else is not the same" in told
    with pytest.raises(InputError, match="path: the path of a JSON file expected, int found"):
        mdfa.diff(old, 3)


def test_files_and_results_give_the_same(tmp_path):
    """Labels of a file are text where those of a result are dates."""
    when = pd.Timestamp("2020-01-31")
    old, new = (audit(case(d, 0.1, group=(when, 1), outcome=when)) for d in (0.2, 1.0))
    old.to_json(tmp_path / "old.json")
    new.to_json(tmp_path / "new.json")
    of_files = mdfa.diff(tmp_path / "old.json", tmp_path / "new.json")
    mixed = mdfa.diff(tmp_path / "old.json", new)
    assert mixed.changes[0].status == "larger"
    assert mixed.summary() == of_files.summary() == mdfa.diff(old, new).summary()


def test_pages_escape_and_withhold():
    """Three women of ten: their ratio is not printed, nor what gives it away."""
    counts = pd.DataFrame([[3, 40], [50, 60]], index=["f", "m"], columns=[0, 1])
    old = audit(replace(case(0.5, 0.1, group=HOSTILE), counts=counts, n_rows=153))
    new = audit(case(1.25, 0.1, group=HOSTILE))
    changed = mdfa.diff(old, new)
    page = changed.to_html()
    assert "<script" not in page
    assert "\x1b" not in changed.summary()
    assert "withheld" in page
    assert "2.1" in changed.to_html(min_cell=1)  # exp(.75)
    assert "2.1" not in page + changed._repr_html_()
    assert "By Ombuds" in changed.to_html(title="Two years", author="Ombuds")
    assert "larger, by numbers that are withheld." in " ".join(changed.summary().split())
    assert 'name="change for everybody: ' in changed.to_junit()
    with pytest.raises(
        mdfa.exceptions.InputError, match=r"min_cell: .* at least 1 expected, 0 found"
    ):
        changed.to_json(min_cell=0)


def test_the_command_has_a_gate_and_test_cases(tmp_path):
    audit(case(0.2, 0.05)).to_json(tmp_path / "old.json")
    audit(case(1.0, 0.05, harm=True)).to_json(tmp_path / "new.json")
    junit, page = tmp_path / "d.xml", tmp_path / "d.html"
    files = [str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    run = CliRunner().invoke(
        main, ["diff", *files, "--fail-above", "0.5", "--junit", str(junit), "--report", str(page)]
    )
    assert run.exit_code == 1, run.output
    assert "gate: change of the worst case: sex = f" in run.output
    assert "1 larger" in run.output
    suite = ET.parse(junit).getroot()
    assert suite.get("failures") == "1"
    assert suite.get("skipped") == "1"  # everybody was not measured
    assert "larger" in page.read_text(encoding="utf-8")
    turned = CliRunner().invoke(main, ["diff", *reversed(files), "--fail-above", "0.5", "-q"])
    assert turned.exit_code == 0, turned.output
    (tmp_path / "bad.json").write_text(json.dumps({"schema": HOSTILE}))
    bad = CliRunner().invoke(main, ["diff", files[0], str(tmp_path / "bad.json")])
    assert bad.exit_code == 2
    assert "bad.json: no result of an audit" in bad.output
    assert "\x1b" not in bad.output


def test_differences_of_means_change_by_hand():
    """4 (3 to 5) after 1 (0 to 2): 3 more, by the root of one and one on either side."""
    who = {"group": "f", "outcome": "less", "outcome_type": "numeric", "measure": "difference"}
    who["outcome_scale"] = "amount"
    old, new = (
        mdfa.AuditResult(
            violations=(
                mdfa.Violation(
                    **who, difference=own, difference_interval=(own - 1, own + 1), verdict=verdict
                ),
            )
        )
        for own, verdict in ((1.0, "none_larger_than_detectable"), (4.0, "violation"))
    )
    diff = mdfa.diff(old, new)
    line = diff.to_frame().iloc[0]
    assert line["status"] == "new"
    assert line[["difference_before", "difference_now", "change"]].tolist() == [1.0, 4.0, 3.0]
    assert line["change_low"] == pytest.approx(3.0 - math.sqrt(2.0))
    assert np.isnan(line["times"])
    assert (
        "those with sensitive_feature = f get 4 less of the outcome than everyone else, before 1"
        in (" ".join(diff.summary().split()))
    )
    ratio = mdfa.AuditResult(
        violations=(mdfa.Violation(group="f", outcome="less", delta=0.5, interval=(0.2, 0.8)),)
    )
    of_means = replace(ratio.violations[0], outcome_scale="amount")
    (means, _) = mdfa.diff(*2 * (replace(ratio, violations=(of_means,)),)).changes
    said = (
        "everyone else gets 1.65 times as much of the outcome as those with sensitive_feature = f,"
    )
    assert said in change_sentence(means)
    first = mdfa.diff(ratio, new).changes[0]
    assert (first.status, first.measure) == ("unknown", "none")
    assert first.reason == "sides were compared by the ratio and are by the difference"


def test_slopes_change_by_hand():
    """2 for each 10 (0 to 4) after .1 for each 1 (-.1 to .3): 1 more, by the root of 8 either way."""
    who = {
        "sensitive_feature": "age",
        "group": "more",
        "reference": "less",
        "measure": "difference",
    }

    def changed(**asked):
        old, new = (
            Violation(
                **who | asked,
                difference=size,
                difference_interval=(size - half, size + half),
                per=per,
                verdict=verdict,
            )
            for size, half, per, verdict in (
                (0.1, 0.2, 1.0, "none_larger_than_detectable"),
                (2.0, 2.0, 10.0, "none_larger_than_detectable"),
            )
        )
        return mdfa.diff(audit(old), audit(new))

    wage = {"outcome": "less", "outcome_type": "numeric", "outcome_scale": "amount"}
    change = changed(**wage).changes[0]
    assert (change.old, change.new, change.per) == (1.0, 2.0, 10.0)
    assert change.interval == pytest.approx((1.0 - math.sqrt(8.0), 1.0 + math.sqrt(8.0)))
    assert "get 2 less of the outcome for each 10 of age than" in change_sentence(change)
    diff = changed(outcome="no", outcome_type="binary")
    said = 'get the outcome "no" 200 percentage points more often for each 10 of age than'
    assert said in change_sentence(diff.changes[0])
    assert "a change of 100 percentage points (" in change_sentence(diff.changes[0])
    assert np.isnan(diff.to_frame()["times"]).all()


def test_less_by_a_negative_number_is_more():
    def of(difference, error):
        told = {"outcome_text": "get less wage", "outcome_scale": "amount", "measure": "difference"}
        return Violation(
            group="f", outcome="less", difference=difference, outcome_sd=1.0,
            difference_interval=(difference - error, difference + error), **told,
        )  # fmt: skip

    change = worst(of(3.0, 1.0), of(-8.0, 1.0))
    text = change_sentence(change)
    assert "get 8 more wage than" in text
    assert "before 3 less, a change of 11.0 (9.6 to 12.4" in text


def test_what_bounds_leave_open_has_no_point():
    open_one = replace(case(0.4, 0.9), probability_bounds=(-0.2, 1.1))
    change = worst(case(0.1, 0.1), open_one)
    assert math.isnan(change.new)
    assert change.status == "within error"
    known = worst(case(0.1, 0.1), replace(open_one, n_known=40, interval=(0.3, 0.5)))
    assert (known.new, known.status) == (0.4, "larger")
