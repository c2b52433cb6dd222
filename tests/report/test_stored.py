"""Results read back from their JSON say what they said; a file that is wrong is refused by name."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult, Violation
from mdfa_fairness_plugin.exceptions import AuditWarning, Count, InputError, Message
from mdfa_fairness_plugin.report.displays import RegionMapDisplay

FIGURE = re.compile(
    r"<figure>(?:(?!</figure>).)*(?:overlap|region)\S*-title.*?</figure>\s*", re.DOTALL
)


@pytest.fixture(scope="module")
def audited():
    """An audit with missing groups, labels of several types and something asked."""
    data = mdfa.datasets.make_synthetic(n_samples=600, delta=1.5, random_state=0)
    sex = pd.Series(np.where(data.sensitive_features == 1, "f", "m"), dtype=object)
    sex[::150] = None
    when = np.where(data.y == 1, np.datetime64("2020-01-31"), np.datetime64("2021-12-01"))
    with pytest.warns(mdfa.exceptions.MissingSensitiveWarning):
        result = mdfa.audit(
            data.X,
            when,
            sensitive_features=sex.rename("sex"),
            learner="tree",
            n_splits=2,
            random_state=0,
            outcomes=(np.datetime64("2020-01-31"),),
            statement={"auditor": "A. Name", "threshold": 0.8},
        )
    answers = result.measure("x1 < 0")
    return mdfa.AuditResult(**{**vars(result), "asked": answers})


@pytest.fixture(scope="module")
def stored(audited, tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "audit.json"
    audited.to_json(path, rows=True)
    return path


def changed(path, place, value, folder):
    """The file with one value changed; ``KeyError`` as value takes it away."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    *way, last = place
    part = whole
    for step in way:
        part = part[step]
    if value is KeyError:
        del part[last]
    else:
        part[last] = value
    other = folder / "changed.json"
    other.write_text(json.dumps(whole), encoding="utf-8")
    return other


def test_what_is_read_back_is_written_and_told_the_same(audited, stored):
    read = AuditResult.from_json(stored)
    assert read.to_json(rows=True) == audited.to_json(rows=True)
    assert read.statement == {"auditor": "A. Name", "threshold": "0.8"}
    assert read.summary() == audited.summary()
    assert read.to_model_card() == audited.to_model_card()
    assert read.to_junit(fail_above=0.1) == audited.to_junit(fail_above=0.1)
    assert FIGURE.sub("", read._repr_html_()) == FIGURE.sub("", audited._repr_html_())
    assert (read.asked[0].counts.to_numpy() == audited.asked[0].counts.to_numpy()).all()
    assert (read.worst_case.membership == audited.worst_case.membership).all()


def test_pages_are_the_same_but_for_the_picture_of_what_is_not_stored(audited, stored):
    page = audited.to_html()
    told = AuditResult.from_json(stored).to_html()
    assert told == FIGURE.sub("", page)
    assert told != page


def test_without_rows_every_report_is_the_same_and_what_needs_them_says_so(
    audited, stored, tmp_path
):
    path = tmp_path / "audit.json"
    text = audited.to_json(path)
    # Of either search two values per row, and of every answer one.
    n_values = 2 * len(audited.violations) + len(audited.asked)
    assert len(stored.read_text()) - len(text) > n_values * audited.n_samples
    read, whole = AuditResult.from_json(path), AuditResult.from_json(stored)
    assert read.to_json() == text
    assert read.summary() == whole.summary()
    assert read.to_html() == whole.to_html()
    assert (whole.as_control_feature() == audited.as_control_feature()).all()
    with pytest.raises(InputError, match=r"holds no rows.*to_json\(rows=True\)"):
        read.as_control_feature()
    with pytest.raises(InputError, match=r"violation: it holds no rows.*to_json\(rows=True\)"):
        RegionMapDisplay.from_violation(read.worst_case, np.zeros((600, 2)))


def test_what_needs_the_data_says_so(stored):
    read = AuditResult.from_json(stored)
    for ask in (lambda: read.measure("x1 < 0"), read.stability, read.explained, read.members):
        with pytest.raises(InputError, match="hold"):
            ask()


def test_counts_in_texts_stay_withheld(tmp_path):
    """A page of a result read back may not print a count that the result's own page does not."""
    text = Message("3 of 200 said no: ", Count(3, of=200, unit="rows"), ".")
    result = AuditResult(
        violations=(Violation(group="a", outcome=1, reason=Message("only ", Count(4))),),
        warnings=(AuditWarning("FeatureWarning", text),),
        n_samples=200,
    )
    result.to_json(tmp_path / "r.json")
    read = AuditResult.from_json(tmp_path / "r.json")
    assert "a withheld number of rows" in read.to_html()
    assert read.to_html() == result.to_html()


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("violations", 0, "delta"), "a", r"violations\[0\]\.delta: a number expected, 'a'"),
        (("violations", 0, "interval"), [1], r"violations\[0\]\.interval: a list of 2 expected"),
        (("violations", 0, "n_rows"), None, r"violations\[0\]\.n_rows: a count expected, None"),
        (("violations", 0, "n_rows"), -3, "a count expected, -3"),
        (("violations", 0, "membership"), "012", "a text of 0 and 1 expected"),
        (("violations", 0, "counts", "values"), [[1]], r"counts\.values: 2 rows of"),
        (("violations", 0, "counts"), KeyError, r"violations\[0\]: 'counts' is missing"),
        (("violations", 0, "verdict"), "fair", "'fair' is not one of violation"),
        (("violations", 0, "group"), {"a": 1}, "a label expected"),
        (("violations",), {"a": 1}, "violations: a list expected"),
        (("messages",), KeyError, "'messages' is missing"),
        (("alpha",), "\x1b[2J", "a number or 'auto' expected"),
        (("provenance", "n_samples"), "<b>", r"provenance\.n_samples: a count expected, '<b>'"),
        (("schema",), "urn:mdfa-fairness-plugin:schema:audit-2", "schema:audit-2', .* expected"),
        (("schema",), KeyError, "no schema is named"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(stored, tmp_path, place, value, said):
    other = changed(stored, place, value, tmp_path)
    with pytest.raises(InputError, match=rf"changed\.json: .*{said}"):
        AuditResult.from_json(other)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": NaN}', "[" * 100_000, "\udce9"])
def test_what_is_no_json_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"other\.json: no "):
        AuditResult.from_json(path)
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        AuditResult.from_json(tmp_path / "none.json")
    with pytest.raises(InputError, match="JSON file expected, what is in one found"):
        AuditResult.from_json('{"schema": "counts that a log should not show"}')


def test_hostile_text_is_text(stored, tmp_path):
    hostile = "</script><script>alert(1)</script>\x1b[2J"
    other = changed(stored, ("violations", 0, "rule"), hostile, tmp_path)
    read = AuditResult.from_json(other)
    assert "<script" not in read.to_html()
    assert "\x1b" not in read.summary() + read.to_model_card() + read.to_junit()
