"""A result as a section of a model card."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.document import Code, Document, Section
from mdfa_fairness_plugin.report.markdown import escape, render
from mdfa_fairness_plugin.report.story import tell

HOSTILE = (
    "<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://e.org/a.png) `c` **b** _i_ "
    "| col | <!-- --> &lt; www.evil.org a@b.org ~~s~~ $x$ # h \\ \n\n# heading\n- item\x1b[0m\u202e"
)


def refused(**fields):
    return Violation(
        **{
            "sensitive_feature": "race",
            "group": "Black",
            "outcome": "no",
            "verdict": "violation",
            "delta": math.log(1.8),
            "interval": (math.log(1.4), math.log(2.3)),
            "n_rows": 1234,
            "rates": (0.142, 0.079),
            "counts": pd.DataFrame(
                [[40, 10], [15, 30]], index=["Black", "else"], columns=["no", "yes"]
            ),
            "p_value_adjusted": 0.002,
            "rule": "age at most 24",
            **fields,
        }
    )


def audit(*violations, **fields):
    return AuditResult(violations=violations, **{"n_samples": 6172, **fields})


def to_markdown(result):
    return result.to_model_card(min_cell=1)


def plain(markdown):
    """Text as a reader sees it: escapes undone."""
    text = re.sub(r"\\([\\`*_\[\]#|~$^])", r"\1", markdown)
    for entity, character in (("&#58;", ":"), ("&#64;", "@"), ("&#46;", "."), ("&lt;", "<")):
        text = text.replace(entity, character)
    return text.replace("&gt;", ">").replace("&amp;", "&")


def test_it_says_what_the_report_says():
    result = audit(refused(), warnings=(AuditWarning("SmallGroup", "few rows"),))
    shown = plain(to_markdown(result))
    for key in ("headline", "verdict", "found", "unseen", "made"):
        for line in tell(result)[key].blocks[0].lines:
            assert line in shown
    assert "few rows" in shown
    assert shown.startswith("## Fairness audit\n")
    assert shown.endswith("\n")


def test_tables_have_as_many_cells_in_every_row():
    lines = to_markdown(audit(refused(), refused(outcome="a|b", group="c|d"))).splitlines()
    tables, current = [], []
    for line in [*lines, ""]:
        if line.startswith("|"):
            current.append(len(re.findall(r"(?<!\\)\|", line)))
        elif current:
            tables.append(current)
            current = []
    assert len(tables) == 2
    assert all(len(set(table)) == 1 for table in tables)


def test_nothing_found_is_no_finding_of_equal_treatment():
    none = refused(verdict="none_larger_than_detectable", detectable_delta=0.3)
    shown = to_markdown(audit(none))
    assert "This is not a finding of equal treatment." in shown
    assert "### Also found" not in shown
    assert to_markdown(AuditResult()).startswith("## Fairness audit")


@pytest.mark.parametrize("field", ["sensitive_feature", "group", "outcome", "rule", "reason"])
def test_hostile_text_has_no_effect(field):
    verdict = "insufficient_evidence" if field == "reason" else "violation"
    markdown = to_markdown(audit(refused(**{field: HOSTILE, "verdict": verdict})))
    assert "<" not in markdown
    assert not {"\x1b", "\u202e"} & set(markdown)
    assert "](" not in markdown.replace("\\]", "")
    assert "http:" not in markdown
    assert "www." not in markdown
    assert "a@b" not in markdown
    headings = [line for line in markdown.splitlines() if re.match(r"#+ ", line)]
    assert all(line.startswith(("## Fairness audit", "### ")) for line in headings)
    assert not re.search(r"(?<!\\)[`_$~]", re.sub(r"&#\d+;", "", markdown))


@pytest.mark.parametrize("seed", range(20))
def test_escaped_text_is_read_back_as_it_was(seed):
    rng = np.random.default_rng(seed)
    signs = list("abc 019\\`*_[]#|~$^<>&:@.-+=()!\"'wWé漢")
    text = "".join(rng.choice(signs, 60))
    assert plain(escape(text)) == text
    assert "\n" not in escape(text + "\nx")


def test_file_and_text_are_the_same(tmp_path):
    result = audit(refused(group="Zoë"))
    path = tmp_path / "card.md"
    text = result.to_model_card(path)
    assert path.read_bytes() == text.encode("utf-8")
    assert text == result.to_model_card()


def test_code_cannot_leave_its_fence():
    block = Code("print()\n```\n# not a heading")
    shown = render(Document("A title", (Section("code", "", (block,)),)))
    assert shown == f"## A title\n\n````\n{block.text}\n````\n"
