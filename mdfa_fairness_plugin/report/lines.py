"""Lines of text, by the columns they take."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from typing import Final

# Blanks at which no line ends: in a p-value, and between a number and its unit.
IN_P_VALUE: Final = r"(?<=\bp) (?=[<=] \d)|(?<=\bp [<=]) (?=\d)"
_TOGETHER: Final = re.compile(rf"(?<=\d) (?=%|percentage points|times\b|rows?\b)|{IN_P_VALUE}")


def folded(text: str, columns: int | None) -> str:
    """Text whose longer lines are folded at spaces, those of lists under their first word."""
    if columns is None:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        if columns_of(line) <= columns:
            lines.append(line)
        else:
            inset = " " * (len(line) - len(line.lstrip(" -")))
            lines += at_spaces(line, columns, inset)
    return "\n".join(lines)


def at_spaces(text: str, width: int, inset: str = "") -> list[str]:
    """Lines of a text, broken between words, but not between a number and its unit."""
    bound = _TOGETHER.sub("\u00a0", text)
    lines = textwrap.wrap(bound, width, subsequent_indent=inset, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def columns_of(text: str) -> int:
    """Columns a text takes where every letter is as wide."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
