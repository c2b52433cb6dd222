"""A document as plain text."""

from __future__ import annotations

import pytest

from mdfa_fairness_plugin.report import lines, text
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
        f"- {'word ' * 14}word\n"
        "  word word word word word\n"
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


SEARCHES = Table(
    header=("Who", "Outcome", "Ratio", "Between", "Rows", "Finding"),
    rows=(
        ("colour = Black", "not released", "1.9", "1.6 to 2.3", 2765, "beyond chance"),
        (
            "sex = a group with a long name",
            "released",
            "0.97",
            "0.77 to 1.2",
            None,
            "none above 8.9",
        ),
    ),
    caption="All searches",
    n_text=2,
    text_last=True,
)


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_tables_fit_a_terminal_and_keep_every_word(columns):
    with text.as_wide_as(columns):
        told = text.lines_of(SEARCHES)
    assert max(map(lines.columns_of, told)) <= columns
    said = " ".join(told).split()
    for row in (SEARCHES.header, *SEARCHES.cells):
        for cell in row:
            # Numbers stay whole; texts are broken between words.
            assert cell in "\n".join(told) or all(word in said for word in cell.split())
    if columns == 120:
        assert told == text.lines_of(SEARCHES)


def test_where_columns_do_not_fit_the_first_stand_again_before_the_rest():
    with text.as_wide_as(40):
        told = text.lines_of(SEARCHES)
    heads = [line for line in told if line.startswith("Who")]
    assert len(heads) > 1
    assert sum("1.6 to 2.3" in line for line in told) == 1


def test_long_lines_are_folded_under_their_first_word():
    assert lines.folded("- one two three\nfour", 11) == "- one two\n  three\nfour"
    assert lines.folded("- one two three", None) == "- one two three"
    assert lines.folded("sure p < 0.001", 12) == "sure\np < 0.001"
