"""A result as a section of a model card, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from mdfa_fairness_plugin.describe.wording import clean
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.report.redaction import cells_sentence, redact
from mdfa_fairness_plugin.report.story import Table, tell

# Characters that Markdown (with the usual extensions: tables, strike-through, mathematics, links
# made of bare addresses) or HTML would not show as they are.
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
_ESCAPED: Final = frozenset("\\`*_[]#|~$^")
# Beginnings of bare addresses: "http:" and the like, "www."
_SCHEME: Final = re.compile(r"(?<=\w):(?=\S)")
_WEB: Final = re.compile(r"(www)\.", re.IGNORECASE)


def to_markdown(result: AuditRecord, *, min_cell: int = 1) -> str:
    """Write a section of a model card.

    Parameters
    ----------
    result : AuditResult
    min_cell : int, default=1
        Counts below this are not printed, nor is what would give them away; 1 prints all.

    Returns
    -------
    str
        Markdown with headings of the second and third level. Text drawn from the data shows as
        text: neither Markdown nor HTML in it has an effect.
    """
    redaction = redact(result, min_cell)
    story = tell(redaction.result)
    lines = ["## Fairness audit", ""]
    lines += [f"**{escape(story.headline)}**", "", escape(story.verdict), ""]
    lines += _listed(story.scope)
    if story.details:
        lines += ["### What was found", "", *_listed(story.details)]
    if story.counts is not None:
        lines += ["Rows in the subgroup:", "", *drawn(story.counts)]
    if story.also:
        lines += ["### Also found", "", *_listed(story.also)]
    if story.searches.rows:
        note = "Ratio: times as often in the worst subgroup; All: the same for everybody compared."
        lines += ["### All searches", "", *drawn(story.searches), note, ""]
    lines += ["### What this audit could not see", "", *_listed(story.unseen)]
    if story.warnings:
        lines += ["### Warnings", "", *_listed(story.warnings)]
    made = [*story.made, cells_sentence(redaction, "card")] if min_cell > 1 else story.made
    lines += ["### How it was made", "", *_listed(made)]
    return "\n".join(lines).rstrip("\n") + "\n"


def escape(text: str) -> str:
    r"""Write text so that Markdown shows it as it is, on one line.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> escape("a_b|c <b>")
    'a\\_b\\|c &lt;b&gt;'
    """
    shown = "".join(_ENTITIES.get(c) or (f"\\{c}" if c in _ESCAPED else c) for c in clean(text))
    return _WEB.sub(r"\1&#46;", _SCHEME.sub("&#58;", shown))


def _listed(lines: Iterable[str]) -> list[str]:
    items = [f"- {escape(line)}" for line in lines]
    return [*items, ""] if items else []


def drawn(table: Table) -> list[str]:
    """Draw a table; an empty first header cell is kept by Markdown."""
    last = len(table.header) - 1
    left = [i < table.n_text or (i == last and table.text_last) for i in range(last + 1)]
    rule = [":---" if own else "---:" for own in left]
    lines = [_row(map(escape, table.header)), _row(rule)]
    lines += [_row(map(escape, row)) for row in table.rows]
    more = [escape(table.more), ""] if table.more else []
    return [*lines, "", *more]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
