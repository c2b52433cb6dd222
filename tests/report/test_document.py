"""A section written once appears in every medium, and a withheld count is said to be withheld."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markupsafe import Markup

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.report import html, markdown, text
from mdfa_fairness_plugin.report.document import (
    FRAGMENT,
    HTML,
    MARKDOWN,
    PAGE,
    TEXT,
    Beside,
    Block,
    Bullets,
    Code,
    Document,
    Folded,
    Numbers,
    Paragraphs,
    Picture,
    Section,
    Table,
)
from mdfa_fairness_plugin.report.story import tell

RENDER = {
    TEXT: text.render,
    MARKDOWN: markdown.render,
    PAGE: html.render_page,
    FRAGMENT: html.render_fragment,
}
TABLE = Table(header=("Who", "Rows"), rows=(("those marked", 1234), ("others", None)))
EVERY_KIND = (
    Paragraphs(("a sentence marked",)),
    Bullets(("an item marked",)),
    TABLE,
    Beside((TABLE, TABLE)),
    Numbers((("what is marked", 1234), ("what is not", None))),
    Picture(key="p", title="Marked", text="marked", svg=Markup("<svg></svg>"), table=TABLE),
    Code("code marked"),
    Folded("What is marked", (Paragraphs(("a sentence",)), TABLE)),
)


def document_of(*blocks, **fields):
    return Document("Title", (Section("new", "A new section", blocks, **fields),))


def with_section(section):
    """An audit's document with one section more."""
    told = tell(AuditResult(n_samples=10))
    return replace(told, sections=(*told.sections, section))


@pytest.mark.parametrize("medium", RENDER)
def test_a_section_written_once_appears_in_every_medium(medium):
    """One function that returns a section is all that a new one takes."""
    rows = (("women", 12), ("men", None))
    section = Section(
        "new",
        "Who was asked",
        (Paragraphs(("Everyone was.",)), Table(header=("Who", "People"), rows=rows)),
    )
    shown = RENDER[medium](with_section(section))
    assert "who was asked" in shown.lower()
    assert "Everyone was." in shown
    assert "women" in shown
    assert "withheld" in shown
    assert "-1" not in shown
    assert "None" not in shown


@pytest.mark.parametrize("medium", RENDER)
@pytest.mark.parametrize("block", EVERY_KIND, ids=lambda block: block.kind)
def test_every_kind_of_block_is_shown_in_every_medium(medium, block):
    shown = RENDER[medium](document_of(block))
    assert "marked" in shown
    if block.kind in ("table", "beside", "numbers"):
        assert "1,234" in shown
        assert "withheld" in shown


def test_no_kind_is_forgotten():
    assert {type(block) for block in EVERY_KIND} == set(Block.__subclasses__())


@pytest.mark.parametrize("medium", RENDER)
@pytest.mark.parametrize(
    "empty",
    [Paragraphs(()), Bullets(()), Table(header=("a",), rows=()), Beside(()), Numbers(()), Code("")],
    ids=lambda block: block.kind,
)
def test_what_holds_nothing_is_not_shown(medium, empty):
    assert "new section" not in RENDER[medium](document_of(empty)).lower()


@pytest.mark.parametrize("medium", RENDER)
def test_media_are_said_by_the_data(medium):
    only_pages = document_of(Paragraphs(("for pages",), media=HTML), Paragraphs(("for all",)))
    shown = RENDER[medium](only_pages)
    assert ("for pages" in shown) == (medium in HTML)
    assert "for all" in shown
    untitled = RENDER[medium](document_of(Paragraphs(("for all",)), titled=frozenset({TEXT})))
    assert ("new section" in untitled.lower()) == (medium == TEXT)
    elsewhere = RENDER[medium](document_of(Paragraphs(("for all",)), media=frozenset({MARKDOWN})))
    assert ("for all" in elsewhere) == (medium == MARKDOWN)
