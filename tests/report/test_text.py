"""A document as plain text."""

from __future__ import annotations

from mdfa_fairness_plugin.report import text
from mdfa_fairness_plugin.report.document import (
    HTML,
    Bullets,
    Document,
    Paragraphs,
    Section,
    Table,
)


def test_a_document_is_laid_out_as_drawn_here():
    people = Table(
        header=("Who", "People", "Verdict"),
        rows=(("東京", 1234, "none"), ("Oslo", None, "found")),
        caption="Counted",
        text_last=True,
        more="and 2 more",
    )
    document = Document(
        "A title",
        (
            Section("first", "", (Paragraphs(("One.", "Two."), "scope"),)),
            Section("second", "What is so", (Bullets(("word " * 20,)), people)),
            Section("third", "", (Table(header=("a",), rows=(("b",),), caption="c", titled=HTML),)),
        ),
    )
    assert text.render(document) == (
        "A TITLE\n"
        "=======\n"
        "\n"
        "One.\n"
        "Two.\n"
        "\n"
        "WHAT IS SO\n"
        f"- {'word ' * 16}word\n"
        "  word word word\n"
        "\n"
        "Counted:\n"
        "Who     People  Verdict\n"
        "-----------------------\n"
        "東京     1,234  none\n"
        "Oslo  withheld  found\n"
        "and 2 more\n"
        "\n"
        "a\n"
        "-\n"
        "b"
    )
