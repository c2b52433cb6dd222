"""A document as plain text."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable
from functools import singledispatch
from typing import Final

from mdfa_fairness_plugin.report.document import (
    TEXT,
    Beside,
    Block,
    Bullets,
    Code,
    Document,
    Numbers,
    Paragraphs,
    Picture,
    Table,
)

_WIDTH: Final = 88


def render(document: Document) -> str:
    """Lines of at most 88 characters, tables and code apart."""
    parts = [[document.title.upper(), "=" * len(document.title)]]
    for section in document.shown(TEXT):
        lines = [line for block in section.blocks for line in lines_of(block)]
        if section.title:
            lines.insert(0, section.title.upper())
        elif lines and not lines[0]:
            del lines[0]
        parts.append(lines)
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


@singledispatch
def lines_of(block: Block) -> list[str]:
    """Lines of a block; one with a name of its own begins with an empty line."""
    raise TypeError(f"{type(block).__name__}: no block that text has a form for")


@lines_of.register
def _(block: Paragraphs) -> list[str]:
    return _wrapped(block.lines)


@lines_of.register
def _(block: Bullets) -> list[str]:
    return _wrapped(block.lines, "- ")


@lines_of.register
def _(table: Table) -> list[str]:
    cells = [table.header, *table.cells]
    widths = [max(columns_of(row[i]) for row in cells) for i in range(len(table.header))]
    lines = [
        "  ".join(_padded(cell, widths[i], table.is_text(i)) for i, cell in enumerate(row)).rstrip()
        for row in cells
    ]
    lines.insert(1, "-" * max(map(columns_of, lines)))
    if table.caption and TEXT in table.titled:
        lines = ["", f"{table.caption}:", *lines]
    return [*lines, table.more] if table.more else lines


@lines_of.register
def _(block: Beside) -> list[str]:
    return [line for table in block.tables for line in lines_of(table)]


@lines_of.register
def _(block: Numbers) -> list[str]:
    return [f"{name}: {value}" for name, value in block.cells]


@lines_of.register
def _(picture: Picture) -> list[str]:
    return ["", f"{picture.title}:", *_wrapped([picture.text])]


@lines_of.register
def _(block: Code) -> list[str]:
    return ["", *block.text.splitlines()]


def _wrapped(paragraphs: Iterable[str], bullet: str = "") -> list[str]:
    """Lines of paragraphs, no longer than a page is wide."""
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += textwrap.wrap(
            paragraph,
            _WIDTH,
            initial_indent=bullet,
            subsequent_indent=" " * len(bullet),
            break_on_hyphens=False,
        )
    return lines


def columns_of(text: str) -> int:
    """Columns a text takes where every letter is as wide."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _padded(text: str, width: int, to_left: bool) -> str:
    space = " " * (width - columns_of(text))
    return text + space if to_left else space + text
