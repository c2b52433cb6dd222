"""What notebooks show: the page's words and pictures, and no count that it withholds."""

from __future__ import annotations

import re

import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.records import views
from mdfa_fairness_plugin.report.redaction import redact

QUICK = {"learner": "tree", "n_splits": 2, "n_repeats": 1}


@pytest.fixture(scope="module")
def audited():
    data = make_synthetic(500, delta=1.5, imbalance=0.0, random_state=1)
    return mdfa.audit(data.X, data.y, sensitive_features=data.sensitive_features, **QUICK)


def numbers(text):
    return re.findall(r"<td>([^<]*)</td>", text)


def test_every_record_is_shown_with_its_picture(audited):
    case = audited.worst_case
    assert case.verdict == "violation"
    shown = (audited, case, case.population, case.core, case.path)
    pages = [own._repr_html_() for own in shown]
    for page in pages:
        assert page.startswith("<style>")
        assert 'class="picture' in page
    ids = [set(re.findall(r' id="([^"]+)"', page)) for page in pages]
    assert all(not a & b for i, a in enumerate(ids) for b in ids[:i])


def test_small_counts_are_withheld_as_on_the_page(audited):
    """Fewer than eleven others inside have the outcome: neither they nor a ratio made of them."""
    case = audited.worst_case
    few = [n for n in case.counts.to_numpy().ravel().tolist() if n < 11]
    assert few
    copies = redact(audited, 11).result.violations
    told = next(own for own in copies if own.key == case.key)
    assert None in told.counts.to_numpy()
    assert "withheld" in audited._repr_html_()
    for page in (case._repr_html_(), case.searched._repr_html_()):
        (table,) = re.findall("<caption>Rows [^<]*</caption>.*?</table>", page, re.DOTALL)[:1]
        assert "withheld" in table
        assert not {str(n) for n in few} & set(numbers(table))


def test_every_search_opens_with_its_names_in_full():
    data = make_synthetic(500, random_state=1)
    name = "a district whose name goes on for longer than any table has room for, number "
    groups = data.sensitive_features.map(lambda s: f"{name}{s}")
    page = mdfa.audit(data.X, data.y, sensitive_features=groups, **QUICK).to_html()
    opened = re.findall(r"<summary>([^<]*): [^<]*</summary>(.*?)</details>", page, re.DOTALL)
    assert len(opened) == 4
    assert {f"{name}{s}" in who for who, _ in opened for s in (-1, 1)} == {True, False}
    for _, told in opened:
        assert "<caption>Rows by outcome</caption>" in told
        assert re.search(r": [\d,]+ of 1,?0+ against [\d,]+ of 1,?0+", told) or "withheld" in told
        assert "times as often" in told or "is withheld, as it would tell" in told
    # But for the search told first counts are in tens: a few people more or less do not show.
    others = [told for _, told in opened[1:]]
    tens = [n for told in others for n in re.findall(r"<td>about ([\d,]+)</td>", told)]
    assert tens
    assert all(n.endswith("0") for n in tens)
    assert not [n for told in others for n in numbers(told) if n.isdigit()]


def test_records_know_of_no_report(audited, monkeypatch):
    monkeypatch.setattr(views, "_VIEWS", {})
    assert audited.worst_case._repr_html_() is None
