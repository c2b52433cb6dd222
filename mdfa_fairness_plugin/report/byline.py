"""Under which title a page is published, by whom, from what and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mdfa_fairness_plugin.describe.wording import clean
from mdfa_fairness_plugin.report.document import HTML, Document, Paragraphs, Section

# What a page is told, how it is written, and the statement's word for it where nothing else is said.
_PARTS: Final = {
    "author": ("By {}", "auditor"),
    "source": ("Source: {}", "data_source"),
    "date": ("{}", "audit_date"),
}


def published(
    document: Document, statement: Mapping[str, str] | None = None, **told: Any
) -> Document:
    """The document with ``title``, ``source``, ``author`` and ``date`` above all else."""
    stated = statement or {}
    title = clean(told.pop("title", None) or "", 300)
    parts = [document.title] if title else []
    for name, (words, key) in _PARTS.items():
        if own := clean(told.get(name) or stated.get(key, ""), 300):
            parts.append(words.format(own))
    if not parts:
        return document
    line = Paragraphs((f"{'. '.join(part.rstrip('.') for part in parts)}.",), "scope")
    sections = (Section("byline", "", (line,), HTML, place="above"), *document.sections)
    return replace(document, title=title or document.title, sections=sections)
