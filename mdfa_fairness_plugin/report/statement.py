"""What those who answer for an audit state of it, who publishes it, and what it can be checked by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mdfa_fairness_plugin.describe.wording import clean, count
from mdfa_fairness_plugin.provenance import ReadFile
from mdfa_fairness_plugin.records.statement import STATED
from mdfa_fairness_plugin.report import document as doc

_MOST_FILES: Final = 12
NOT_STATED: Final = "not stated"


def statement_section(statement: Mapping[str, str]) -> doc.Section:
    """Everything that can be stated, blanks too; nothing where no statement was given."""
    told = tuple(
        (title, clean(statement.get(key, "")) or NOT_STATED)
        for key, title in STATED.items()
        if statement
    )
    table = doc.Table(
        header=("What", "Stated"),
        rows=told,
        caption="As given by those who answer for the audit",
        n_text=2,
        media=doc.HTML,
    )
    lines = doc.Bullets(tuple(f"{title}: {text}" for title, text in told), media=doc.PLAIN)
    return doc.Section("statement", "Statement", (table, lines))


def files_sentences(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """Which files were read."""
    files = provenance.get("files", ())
    told = tuple(f"Read: {file_text(own)}." for own in files[:_MOST_FILES])
    if len(files) > _MOST_FILES:
        told += (f"Read: {count(len(files) - _MOST_FILES, 'more file')}, which the JSON lists.",)
    return told


def file_text(own: ReadFile) -> str:
    """A file by name, size and hash."""
    return f"{clean(own.name, 200)}, {count(own.bytes, 'byte')}, SHA-256 {clean(own.sha256, 80)}"


# -- who publishes it

# What a page is told, how it is written, and the statement's word for it where nothing else is said.
_PARTS: Final = {
    "author": ("By {}", "auditor"),
    "source": ("Source: {}", "data_source"),
    "date": ("{}", "audit_date"),
}


def published(
    document: doc.Document, statement: Mapping[str, str] | None = None, **told: Any
) -> doc.Document:
    """The document with ``title``, ``source``, ``author`` and ``date`` above all else."""
    stated = statement or {}
    title = clean(told.pop("title", None) or "", 300)
    parts = [document.title] if title else []
    for name, (words, key) in _PARTS.items():
        if own := clean(told.get(name) or stated.get(key, ""), 300):
            parts.append(words.format(own))
    if not parts:
        return document
    line = doc.Paragraphs((f"{'. '.join(part.rstrip('.') for part in parts)}.",), "scope")
    sections = (doc.Section("byline", "", (line,), doc.HTML, place="above"), *document.sections)
    return replace(document, title=title or document.title, sections=sections)
