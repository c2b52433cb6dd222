"""A document as data: sections of blocks, written once and shown by every renderer.

What a medium leaves out, or shows in another place, is said by ``media`` of the block or section.
A block without content is not shown, nor is a section without blocks. Text is clean of control
characters, but not escaped: that is the renderers' part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

from markupsafe import Markup

TEXT: Final = "text"
MARKDOWN: Final = "markdown"
# A page of its own, and the same as one element among others, as notebooks show it.
PAGE: Final = "page"
FRAGMENT: Final = "fragment"
HTML: Final = frozenset({PAGE, FRAGMENT})
PLAIN: Final = frozenset({TEXT, MARKDOWN})
EVERYWHERE: Final = HTML | PLAIN

WITHHELD_TEXT: Final = "withheld"

# What a cell or a number holds: text, or a count; None is a count that may not be shown.
Value = str | int | None


def shown(value: Value) -> str:
    """Write a value; a count that is not given is said to be withheld."""
    if isinstance(value, str):
        return value
    return WITHHELD_TEXT if value is None else f"{value:,d}"


@dataclass(frozen=True, kw_only=True)
class Block:
    """What a section is made of.

    ``kind`` names it for the page's templates, ``content`` the field without which it shows nothing.
    """

    kind: ClassVar[str]
    content: ClassVar[str]
    media: frozenset[str] = EVERYWHERE

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(getattr(self, self.content))


@dataclass(frozen=True)
class Paragraphs(Block):
    """Paragraphs, all with the same role, which renderers may set apart."""

    kind, content = "paragraphs", "lines"
    lines: tuple[str, ...]
    # or "scope", "headline", "strong", "found", "unfound", "now", "note", "made", "person"
    role: str = ""


@dataclass(frozen=True)
class Bullets(Block):
    """A list."""

    kind, content = "bullets", "lines"
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table(Block):
    """A table: leading columns of text, then numbers, and text again at the end if said so."""

    kind, content = "table", "rows"
    header: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    caption: str = ""
    titled: frozenset[str] = EVERYWHERE  # media that print the caption
    n_text: int = 1
    text_last: bool = False
    more: str = ""  # what was left out, if anything

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """Rows as text."""
        return tuple(tuple(map(shown, row)) for row in self.rows)

    def is_text(self, column: int) -> bool:
        """Whether a column holds text, set to the left."""
        return column < self.n_text or (self.text_last and column == len(self.header) - 1)


@dataclass(frozen=True)
class Beside(Block):
    """Tables that stand beside each other where there is room."""

    kind, content = "beside", "tables"
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Numbers(Block):
    """Name and value of the numbers that are read first."""

    kind, content = "numbers", "pairs"
    pairs: tuple[tuple[str, Value], ...]

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Names and values as text."""
        return tuple((name, shown(value)) for name, value in self.pairs)


@dataclass(frozen=True, kw_only=True)
class Picture(Block):
    """A picture with what those who do not see it need: what it shows, and its numbers."""

    kind, content = "picture", "svg"
    key: str  # unique on the page
    title: str
    text: str
    svg: Markup
    table: Table


@dataclass(frozen=True)
class Code(Block):
    """A command or code, to be copied."""

    kind, content = "code", "text"
    text: str


@dataclass(frozen=True)
class Folded(Block):
    """Blocks behind a title that a page opens; where nothing can be opened they follow it."""

    kind, content = "folded", "blocks"
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Section:
    """Blocks under a heading; without a title, or in media not ``titled``, there is no heading.

    On a page, ``place`` says what its first screen shows: above it, first, and beside that; what is
    ``folded`` opens.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    media: frozenset[str] = EVERYWHERE
    titled: frozenset[str] = EVERYWHERE
    place: Literal["above", "first", "beside", "below"] = "below"
    folded: bool = False


@dataclass(frozen=True)
class Document:
    """Sections in the order of every medium."""

    title: str
    sections: tuple[Section, ...]
    part_title: str = ""  # where it is part of another document; empty: the same
    look: str = "audit"  # style sheet

    def __getitem__(self, key: str) -> Section:
        return next(section for section in self.sections if section.key == key)

    def shown(self, medium: str) -> Iterator[Section]:
        """Sections and blocks of one medium, those without content left out."""
        for section in self.sections:
            blocks = tuple(block for block in section.blocks if block and medium in block.media)
            if blocks and medium in section.media:
                title = section.title if medium in section.titled else ""
                yield replace(section, title=title, blocks=blocks)
