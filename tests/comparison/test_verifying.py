"""An audit beside its files, and beside itself made again."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from mdfa_fairness_plugin import AuditResult, Violation
from mdfa_fairness_plugin.comparison.verifying import (
    Verification,
    audits_compared,
    files_compared,
    versions_compared,
)
from mdfa_fairness_plugin.provenance import ReadFile, versions


def file(name, content="a", size=1):
    return ReadFile(name=name, bytes=size, sha256=content * 64)


def said(findings):
    return [(own.said.partition(":")[0].partition(" (")[0], own.same) for own in findings]


def test_files_are_matched_by_content_then_by_name_then_by_what_is_left():
    a, b, c = file("a.csv"), file("b.csv", "b"), file("c.csv", "c")
    assert said(files_compared([a, b], [b, a])) == [("The same", True)] * 2
    assert said(files_compared([a, b], [replace(b, name="z.csv")])) == [
        ("The same", True),
        ("Not given, so not verified", True),
    ]
    assert said(files_compared([a, b], [replace(c, name="b.csv"), a])) == [
        ("The same", True),
        ("Differs", False),
    ]
    assert said(files_compared([a], [c])) == [("Differs", False)]
    assert said(files_compared([a, b], [c])) == [
        ("Not among the files that were read", False),
        ("Not given, so not verified", True),
        ("Not given, so not verified", True),
    ]


def test_versions_that_changed_came_or_went_are_named():
    then, now = {"numpy": "1", "old": "1", "python": "3"}, {"numpy": "2", "new": "1", "python": "3"}
    assert [own.said for own in versions_compared(then, now)] == [
        "new: nothing then, 1 now.",
        "numpy: 1 then, 2 now.",
        "old: 1 then, nothing now.",
    ]
    assert said(versions_compared(now, now)) == [("The same", True)]


def test_processors_that_round_otherwise_are_named_and_audits_of_before_did_not_say():
    here = {"linear algebra": "openblas Haswell"}
    (other,) = versions_compared({"linear algebra": "openblas SkylakeX"}, here)
    assert "SkylakeX then, openblas Haswell now. Others round otherwise" in other.said
    assert not other.same
    (unsaid,) = versions_compared({}, here)
    assert unsaid.same


def test_every_audit_names_its_linear_algebra():
    assert versions()["linear algebra"].split()[0] in ("openblas", "mkl", "blis", "unknown")


@pytest.fixture(scope="module")
def audit():
    case = Violation(
        sensitive_feature="sex",
        group="f",
        outcome=1,
        delta=0.5,
        interval=(0.2, math.inf),
        membership=[True, False],
    )
    made = {"input_hash": "h", "seed": 1, "versions": {"numpy": "1"}, "timings": {"total": 1.0}}
    return AuditResult(violations=(case,), n_samples=2, provenance=made)


def with_case(audit, **fields):
    return replace(audit, violations=(replace(audit.violations[0], **fields),))


def test_an_audit_made_again_differs_where_it_differs(audit):
    told = json.loads(audit.to_json())
    assert all(own.same for own in audits_compared(told, audit))
    # The last bits are another processor's; versions and timings are told elsewhere.
    last = with_case(audit, delta=0.5 * (1 + 1e-12))
    last = replace(last, provenance={**audit.provenance, "versions": {"numpy": "2"}})
    assert all(own.same for own in audits_compared(told, last))
    first, *rest = audits_compared(told, with_case(audit, delta=0.5 * (1 + 1e-6)))
    assert first.same
    places = [own.said.partition(":")[0] for own in rest if not own.same]
    assert places == ["violations[0].delta", "violations[0].ratio"]
    other = replace(audit, n_samples=3, provenance={**audit.provenance, "input_hash": "g"})
    lines = [own.said for own in audits_compared(told, other)]
    assert lines == [
        "Other rows were audited (their hashes differ, 2 rows then and 3 now).",
        "n_samples: 2 then, 3 now.",
    ]


def test_rows_are_compared_where_they_were_written(audit):
    turned = with_case(audit, membership=[False, True])
    assert all(own.same for own in audits_compared(json.loads(audit.to_json()), turned))
    lines = [own.said for own in audits_compared(json.loads(audit.to_json(rows=True)), turned)]
    assert lines[1:] == ['violations[0].membership: "10" then, "01" now.']


def test_hostile_names_are_neutralised_and_long_lists_cut(audit):
    nasty = "\x1b[2J" + "x" * 500
    told = json.loads(audit.to_json())
    told["provenance"]["parameters"] = {f"{nasty}{i}": i for i in range(20)}
    again = tuple(audits_compared(told, audit))
    found = Verification(
        files=tuple(files_compared([file("a")], [file(nasty, "b")])),
        versions=tuple(versions_compared({nasty: nasty}, {})),
        again=again,
    )
    text = found.summary()
    assert not found.same
    assert "\x1b" not in text
    assert text.count("parameters") <= 12 < len(told["provenance"]["parameters"])
