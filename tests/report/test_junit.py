"""A result as test cases for continuous integration."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.junit import trips

HOSTILE = "]]><failure>&amp;\"'\x00\x1b[2J\n\u202e\ufffe\uffff\ud800" + "z" * 3000


def search(lower, **fields):
    return Violation(
        **{
            "sensitive_feature": "race",
            "group": "Black",
            "outcome": "no",
            "verdict": "violation",
            "delta": lower + 0.2,
            "interval": (lower, lower + 0.4),
            "p_value_adjusted": 0.01,
            "n_rows": 120,
            "rule": "age at most 24",
            **fields,
        }
    )


def blind(**fields):
    return Violation(
        **{
            "sensitive_feature": "race",
            "group": "Other",
            "outcome": "no",
            "reason": "only 12 rows have race='Other'",
            **fields,
        }
    )


def suite(result, fail_above=None):
    """The one suite, after the checks that hold for every file."""
    root = ET.fromstring(result.to_junit(fail_above=fail_above, min_cell=1).encode("utf-8"))
    assert root.tag == "testsuites"
    (found,) = root
    assert found.tag == "testsuite"
    cases = found.findall("testcase")
    assert [child.tag for child in found] == ["properties"] + ["testcase"] * len(cases)
    for element in (root, found):
        assert element.get("tests") == str(len(cases))
        assert element.get("failures") == str(len(found.findall("testcase/failure")))
        assert element.get("skipped") == str(len(found.findall("testcase/skipped")))
        assert element.get("errors") == "0"
    for case in cases:
        assert set(case.attrib) == {"classname", "name"}
        assert [child.tag for child in case][:1] == ["properties"]
        assert len(case) <= 2
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names)
    return found


def properties(element):
    return {p.get("name"): p.get("value") for p in element.find("properties")}


def test_one_case_per_search_with_its_figures():
    result = AuditResult(violations=(search(0.3), blind()), n_samples=500, provenance={"seed": 7})
    found = suite(result)
    first, second = found.findall("testcase")
    assert first.get("classname") == "mdfa.race"
    assert first.get("name") == 'race = Black compared with everyone else, outcome "no"'
    figures = properties(first)
    assert figures["verdict"] == "violation"
    assert float(figures["delta"]) == 0.5
    assert float(figures["delta_low"]) == 0.3
    assert figures["ratio"] == "1.65"  # in as many digits as a page has
    assert figures["n_rows"] == "120"
    assert figures["rule"] == "age at most 24"
    assert properties(found)["seed"] == "7"
    assert "fail_above" not in properties(found)
    assert second.find("skipped").get("message") == ("undetermined: only 12 rows have race='Other'")
    assert "delta" not in properties(second)


@pytest.mark.parametrize(
    ("fail_above", "failed"),
    [(None, 0), (0.0, 2), (0.2, 1), (0.3, 0), (math.inf, 0), (-1.0, 3)],
)
def test_a_search_fails_where_its_lower_limit_is_above_the_gate(fail_above, failed):
    """Limits of 0.3, 0.1 and -0.5; one that equals the gate is not above it."""
    result = AuditResult(violations=(search(0.3), search(0.1, outcome=1), search(-0.5, outcome=2)))
    assert len(suite(result, fail_above).findall("testcase/failure")) == failed
    if fail_above is not None:
        assert sum(trips(v, fail_above) for v in result.violations) == failed


def test_a_failure_says_why():
    failure = suite(AuditResult(violations=(search(0.3),)), 0.2).find("testcase/failure")
    assert failure.get("message") == "lower confidence limit of delta 0.300 is above 0.2"
    assert (
        "where age at most 24 (120 rows), those with race = Black get the outcome" in failure.text
    )


def test_the_gate_goes_before_little_evidence_as_on_the_command_line():
    unsure = search(0.3, verdict="insufficient_evidence", reason="few rows")
    (case,) = suite(AuditResult(violations=(unsure,)), 0.2).findall("testcase")
    assert case.find("failure") is not None
    assert case.find("skipped") is None


def test_unknown_and_infinite_figures():
    odd = search(0.5, delta=math.inf, interval=(0.5, math.inf), p_value_adjusted=None)
    figures = properties(suite(AuditResult(violations=(odd,))).find("testcase"))
    chance = search(0.5, p_value_adjusted=1.0)
    assert math.isinf(chance.standard_deviations)
    assert (
        "-inf" not in properties(suite(AuditResult(violations=(chance,))).find("testcase")).values()
    )
    assert figures["delta"] == figures["delta_high"] == figures["ratio"] == "inf"
    assert "p_value_adjusted" not in figures
    unknown = search(0.5, interval=(math.nan, math.nan))
    assert not trips(unknown, 0.0)
    assert not suite(AuditResult(violations=(unknown,)), 0.0).findall("testcase/failure")


def test_searches_that_look_alike_are_told_apart():
    alike = (search(0.1, group=1), search(0.1, group="1"), search(0.1, group=1.0))
    names = {case.get("name") for case in suite(AuditResult(violations=alike)).iter("testcase")}
    assert len(names) == 3


def test_an_audit_without_searches_is_an_empty_suite():
    assert len(suite(AuditResult())) == 1


def test_hostile_text_stays_text():
    odd = search(0.3, sensitive_feature=HOSTILE, group=HOSTILE, outcome=HOSTILE, rule=HOSTILE)
    result = AuditResult(
        violations=(odd, blind(reason=HOSTILE)), provenance={"seed": HOSTILE, "input_hash": HOSTILE}
    )
    text = result.to_junit(fail_above=0.2, min_cell=1)
    found = suite(result, 0.2)  # parses, and has nothing that was not meant
    assert {e.tag for e in found.iter()} == {
        "testsuite", "properties", "property", "testcase", "failure", "skipped",
    }  # fmt: skip
    assert not {"\x00", "\x1b", "\u202e", "\ufffe", "\uffff"} & set(text)
    assert max(map(len, text.splitlines())) < 8000
    text.encode("utf-8")


def test_file_and_text_are_the_same(tmp_path):
    result = AuditResult(violations=(search(0.3),))
    path = tmp_path / "mdfa.xml"
    text = result.to_junit(path, fail_above=0.2)
    assert path.read_bytes() == text.encode("utf-8")
    assert text == result.to_junit(fail_above=0.2)
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<testsuites')


@pytest.mark.parametrize("fail_above", ["0.2", math.nan, True])
def test_a_gate_that_is_no_number_is_refused(fail_above):
    with pytest.raises(InputError, match="fail_above: a number or None expected"):
        AuditResult().to_junit(fail_above=fail_above)
