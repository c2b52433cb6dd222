"""A document as a section of another one, such as a model card, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import singledispatch
from typing import Final

from mdfa_fairness_plugin.describe.wording import clean
from mdfa_fairness_plugin.report.document import (
    MARKDOWN,
    Beside,
    Block,
    Bullets,
    Code,
    Document,
    Folded,
    Numbers,
    Paragraphs,
    Picture,
    Table,
)

# Characters that Markdown (with the usual extensions: tables, strike-through, mathematics, links
# made of bare addresses) or HTML would not show as they are.
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
_ESCAPED: Final = frozenset("\\`*_[]#|~$^")
# Beginnings of bare addresses: "http:" and the like, "www."
_SCHEME: Final = re.compile(r"(?<=\w):(?=\S)")
_WEB: Final = re.compile(r"(www)\.", re.IGNORECASE)
# Roles of paragraphs that stay paragraphs; others are shorter to read as a list.
_PARAGRAPHS: Final = {"headline": "**{}**"} | dict.fromkeys(
    ("strong", "found", "unfound", "now", "note", "person"), "{}"
)


def render(document: Document) -> str:
    """Headings of the second and third level; neither Markdown nor HTML in data has an effect."""
    parts = [f"## {escape(document.part_title or document.title)}"]
    for section in document.shown(MARKDOWN):
        parts += [f"### {escape(section.title)}"] if section.title else []
        parts += [part for block in section.blocks for part in parts_of(block)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Write text so that Markdown shows it as it is, on one line."""
    shown = "".join(_ENTITIES.get(c) or (f"\\{c}" if c in _ESCAPED else c) for c in clean(text))
    return _WEB.sub(r"\1&#46;", _SCHEME.sub("&#58;", shown))


@singledispatch
def parts_of(block: Block) -> list[str]:
    """Parts of a block, to be set apart by empty lines."""
    raise TypeError(f"{type(block).__name__}: no block that Markdown has a form for")


@parts_of.register
def _(block: Paragraphs) -> list[str]:
    form = _PARAGRAPHS.get(block.role)
    if form is None:
        return [_listed(block.lines)]
    return [form.format(escape(line)) for line in block.lines]


@parts_of.register
def _(block: Bullets) -> list[str]:
    return [_listed(block.lines)]


@parts_of.register
def _(table: Table) -> list[str]:
    rule = [":---" if table.is_text(i) else "---:" for i in range(len(table.header))]
    rows = [_row(map(escape, row)) for row in table.cells]
    # An empty first cell of the header is kept by Markdown.
    drawn = "\n".join([_row(map(escape, table.header)), _row(rule), *rows])
    titled = table.caption and MARKDOWN in table.titled
    caption = [f"{escape(table.caption)}:"] if titled else []
    return [*caption, drawn, *([escape(table.more)] if table.more else [])]


@parts_of.register
def _(block: Beside) -> list[str]:
    return [part for table in block.tables for part in parts_of(table)]


@parts_of.register
def _(block: Folded) -> list[str]:
    own = [part for one in block.blocks if one for part in parts_of(one)]
    return [f"**{escape(block.title)}**", *own]


@parts_of.register
def _(block: Numbers) -> list[str]:
    return [_listed(f"{name}: {value}" for name, value in block.cells)]


@parts_of.register
def _(picture: Picture) -> list[str]:
    return [f"{escape(picture.title)}: {escape(picture.text)}", *parts_of(picture.table)]


@parts_of.register
def _(block: Code) -> list[str]:
    # A fence longer than any in the text.
    fence = "`" * (1 + max(map(len, re.findall("``+", block.text)), default=2))
    return [f"{fence}\n{block.text}\n{fence}"]


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
