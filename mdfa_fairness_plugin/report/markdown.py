"""A document as a section of another one, such as a model card, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from mdfa_fairness_plugin.describe.wording import clean
from mdfa_fairness_plugin.report import document as doc

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


def render(document: doc.Document) -> str:
    """Headings of the second and third level; neither Markdown nor HTML in data has an effect."""
    parts = [f"## {escape(document.part_title or document.title)}"]
    for section in document.shown(doc.MARKDOWN):
        parts += [f"### {escape(section.title)}"] if section.title else []
        parts += [part for block in section.blocks for part in parts_of(block)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Write text so that Markdown shows it as it is, on one line."""
    shown = "".join(_ENTITIES.get(c) or (f"\\{c}" if c in _ESCAPED else c) for c in clean(text))
    return _WEB.sub(r"\1&#46;", _SCHEME.sub("&#58;", shown))


def parts_of(block: doc.Block) -> list[str]:
    """Parts of a block, to be set apart by empty lines."""
    match block:
        case doc.Paragraphs() if block.role in _PARAGRAPHS:
            return [_PARAGRAPHS[block.role].format(escape(line)) for line in block.lines]
        case doc.Paragraphs() | doc.Bullets():
            return [_listed(block.lines)]
        case doc.Table():
            return _table(block)
        case doc.Beside():
            return [part for table in block.tables for part in parts_of(table)]
        case doc.Folded():
            own = [part for one in block.blocks if one for part in parts_of(one)]
            return [f"**{escape(block.title)}**", *own]
        case doc.Numbers():
            return [_listed(f"{name}: {value}" for name, value in block.cells)]
        case doc.Picture():
            return [f"{escape(block.title)}: {escape(block.text)}", *parts_of(block.table)]
        case doc.Code():
            # A fence longer than any in the text.
            fence = "`" * (1 + max(map(len, re.findall("``+", block.text)), default=2))
            return [f"{fence}\n{block.text}\n{fence}"]
    raise TypeError(f"{type(block).__name__}: no block that Markdown has a form for")


def _table(table: doc.Table) -> list[str]:
    """A table with its caption above it, and below it what was left out."""
    rule = [":---" if table.is_text(i) else "---:" for i in range(len(table.header))]
    # An empty first cell of the header is kept by Markdown.
    head, *rows = ([*map(escape, row)] for row in (table.header, *table.cells))
    titled = table.caption and doc.MARKDOWN in table.titled
    caption = [f"{escape(table.caption)}:"] if titled else []
    drawn = "\n".join(map(_row, (head, rule, *rows)))
    return [*caption, drawn, *([escape(table.more)] if table.more else [])]


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
