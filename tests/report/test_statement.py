"""What is stated of an audit: checked, printed by every report as given, blanks too."""

from __future__ import annotations

import datetime
import json
import re

import pytest

from mdfa_fairness_plugin import AuditResult, MDFAuditor, Violation
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records.statement import STATED, checked_statement
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA, CARD_SCHEMA, load_schema
from mdfa_fairness_plugin.settings import Settings

NASTY = "<script>alert(1)</script>\x1b[2J & | more"
GIVEN = {
    "system": NASTY,
    "audit_date": datetime.date(2026, 2, 1),
    "threshold": 0.8,
    "sensitive_source": ["self-reported", "observed"],
    "signed_by": ["A. Name", "B. Name"],
    "notice": "",
    "purpose": None,
}


@pytest.fixture(scope="module")
def stated():
    return AuditResult(
        violations=(Violation(group="f", outcome=1),), statement=checked_statement(GIVEN)
    )


def test_a_statement_is_text_in_the_order_of_reports():
    assert checked_statement(GIVEN) == {
        "system": NASTY,
        "sensitive_source": "self-reported; observed",
        "audit_date": "2026-02-01",
        "threshold": "0.8",
        "signed_by": "A. Name; B. Name",
    }
    assert list(checked_statement(GIVEN)) == [key for key in STATED if GIVEN.get(key)]
    assert checked_statement(None) == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sytem": "x"}, r"'sytem' is unknown\. Did you mean 'system'\?.*signed_by"),
        ({"sensitive_source": "observd"}, r"'observd' was given.*Did you mean 'observed'\?"),
        ({"sensitive_source": ["proxy", "guess"]}, "'guess' was given, one or a list of self-rep"),
        ({"system": True}, "system: a text, a date, a number .* True found"),
        ({"version": {"a": 1}}, "version: a text"),
        (
            {"threshold_date": "2026-03-01", "audit_date": datetime.date(2026, 2, 1)},
            "threshold_date: 2026-03-01 is later than audit_date, 2026-02-01; correct",
        ),
        ("text", "a mapping of what is stated expected, str found"),
    ],
)
def test_what_cannot_be_stated_is_named_with_the_nearest(given, said):
    with pytest.raises(InputError, match=rf"^statement: .*{said}"):
        Settings.checked(statement=given)


def test_every_report_prints_it_and_what_is_not_stated(stated):
    page, card, text = stated.to_html(), stated.to_model_card(), stated.summary()
    n_blank = len(STATED) - 5
    for told in (page, card, text, stated._repr_html_()):
        assert told.count("not stated") == n_blank
        for part in (*STATED.values(), "self-reported; observed", "2026-02-01", "A. Name; B. Name"):
            assert part in re.sub(r"\s+", " ", told)
        assert "\x1b" not in told
    assert "<script" not in page + card
    assert "&lt;script&gt;alert(1)" in page


def test_without_a_statement_nothing_is_printed():
    result = AuditResult(violations=(Violation(group="f", outcome=1),))
    assert "tated" not in result.summary() + result.to_html().partition("<body>")[2]
    assert "statement" not in json.loads(result.to_json())


def test_json_keeps_it_and_a_wrong_file_is_refused(stated, tmp_path):
    path = tmp_path / "audit.json"
    told = json.loads(stated.to_json(path))
    assert told["statement"] == stated.statement
    assert AuditResult.from_json(path).to_json() == stated.to_json()
    for wrong in ({"sytem": "x"}, {"system": 3}, []):
        path.write_text(json.dumps(told | {"statement": wrong}), encoding="utf-8")
        with pytest.raises(InputError, match=r"audit\.json: statement"):
            AuditResult.from_json(path)


@pytest.mark.parametrize("name", [AUDIT_SCHEMA, CARD_SCHEMA])
def test_schemas_know_what_can_be_stated(name):
    assert load_schema(name)["properties"]["statement"]["propertyNames"]["enum"] == list(STATED)


def test_a_statement_decides_nothing_that_is_found():
    assert "statement" not in Settings().parameters
    assert MDFAuditor(statement=GIVEN).get_params()["statement"] is GIVEN
