"""A document as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from mdfa_fairness_plugin.report import document as doc
from mdfa_fairness_plugin.report.lines import at_spaces, columns_of

_WIDTH: Final = 80
_WIDEST: Final = 120  # of tables in files
# Columns of the terminal that is written to; None: a file.
_COLUMNS: ContextVar[int | None] = ContextVar("_COLUMNS", default=None)
# A column of text is made narrower down to this, or to its longest word.
_LEAST: Final = 12


@contextmanager
def as_wide_as(columns: int | None) -> Iterator[None]:
    """Lay out what is written meanwhile, tables too, for a terminal of so many columns."""
    before = _COLUMNS.set(columns)
    try:
        yield
    finally:
        _COLUMNS.reset(before)


def render(document: doc.Document) -> str:
    """Lines of at most 80 characters, of tables 120, or as wide as the terminal; code as it is."""
    parts = [[document.title.upper(), "=" * len(document.title)]]
    for section in document.shown(doc.TEXT):
        lines = [line for block in section.blocks for line in lines_of(block)]
        if section.title:
            lines.insert(0, section.title.upper())
        elif lines and not lines[0]:
            del lines[0]
        parts.append(lines)
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def lines_of(block: doc.Block) -> list[str]:
    """Lines of a block; one with a name of its own begins with an empty line."""
    match block:
        case doc.Paragraphs():
            return _wrapped(block.lines)
        case doc.Bullets():
            return _wrapped(block.lines, "- ")
        case doc.Table():
            return _table(block)
        case doc.Beside():
            return [line for table in block.tables for line in lines_of(table)]
        case doc.Folded():
            own = [line for one in block.blocks if one for line in lines_of(one)]
            return ["", *_wrapped([f"{block.title}:"]), *own]
        case doc.Numbers():
            return [f"{name}: {value}" for name, value in block.cells]
        case doc.Picture():
            return ["", f"{block.title}:", *_wrapped([block.text])]
        case doc.Code():
            return ["", *block.text.splitlines()]
    raise TypeError(f"{type(block).__name__}: no block that text has a form for")


def _table(table: doc.Table) -> list[str]:
    """Lines of a table, its columns in several parts where there is no room for all."""
    room = _COLUMNS.get() or _WIDEST
    cells = [table.header, *table.cells]
    lines = (
        ["", *_wrapped([f"{table.caption}:"])] if table.caption and doc.TEXT in table.titled else []
    )
    for number, places in enumerate(_parts(table, cells, room)):
        lines += [""] if number else []
        lines += _grid(table, [[row[i] for i in places] for row in cells], places, room)
    return [*lines, *_wrapped([table.more])] if table.more else lines


def _grid(table: doc.Table, cells: list[list[str]], places: Sequence[int], room: int) -> list[str]:
    """Lines of some columns of a table, a rule below the first row."""
    texts = [table.is_text(i) for i in places]
    columns = [*zip(*cells, strict=True)]
    widths = [max(map(columns_of, column)) for column in columns]
    least = [*map(_least, columns, texts)]
    while sum(widths) + 2 * len(widths) - 2 > room and widths != least:
        spare = [width - small for width, small in zip(widths, least, strict=True)]
        widths[max(range(len(widths)), key=lambda i: (spare[i] > 0, widths[i]))] -= 1
    lines: list[str] = []
    for row in cells:
        stacks = [
            [own] if columns_of(own) <= width else at_spaces(own, width)
            for own, width in zip(row, widths, strict=True)
        ]
        for level in range(max(map(len, stacks))):
            line = [own[level] if level < len(own) else "" for own in stacks]
            aligned = map(_padded, line, widths, texts)
            lines.append("  ".join(aligned).rstrip())
        if row is cells[0]:
            n_head = len(lines)
    lines.insert(n_head, "-" * max(map(columns_of, lines)))
    return lines


def _least(column: Sequence[str], is_text: bool) -> int:
    """How narrow a column may be: numbers stay whole, words too unless they are very long."""
    head, *body = column
    words = [*head.split(), *(body if not is_text else (w for own in body for w in own.split()))]
    longest = max(map(columns_of, words), default=0)
    return min(longest, 2 * _LEAST) if is_text else longest


def _parts(table: doc.Table, cells: Sequence[Sequence[str]], room: int) -> list[list[int]]:
    """Columns that stand beside each other, the first again in each part, as far as there is room."""
    columns = list(zip(*cells, strict=True))
    least = [_least(own, table.is_text(i)) + 2 for i, own in enumerate(columns)]
    keys = [*range(min(table.n_text, len(columns) - 1))]
    parts = [keys.copy()]
    for place in range(len(keys), len(columns)):
        used = sum(least[i] for i in parts[-1]) + least[place] - 2
        if used > room and len(parts[-1]) > len(keys):
            parts.append(keys.copy())
        parts[-1].append(place)
    return parts


def _wrapped(paragraphs: Iterable[str], bullet: str = "") -> list[str]:
    """Lines of paragraphs, no longer than a page is wide."""
    width = min(_WIDTH, _COLUMNS.get() or _WIDTH)
    inset = " " * len(bullet)
    return [line for own in paragraphs for line in at_spaces(bullet + own, width, inset)]


def _padded(text: str, width: int, to_left: bool) -> str:
    space = " " * (width - columns_of(text))
    return text + space if to_left else space + text
