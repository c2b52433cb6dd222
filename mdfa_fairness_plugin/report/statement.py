"""What those who answer for an audit state of it, and the files it can be checked by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mdfa_fairness_plugin.describe.wording import clean, count
from mdfa_fairness_plugin.provenance import ReadFile
from mdfa_fairness_plugin.records.statement import STATED
from mdfa_fairness_plugin.report.document import HTML, PLAIN, Bullets, Section, Table

_MOST_FILES: Final = 12
NOT_STATED: Final = "not stated"


def statement_section(statement: Mapping[str, str]) -> Section:
    """Everything that can be stated, blanks too; nothing where no statement was given."""
    told = tuple(
        (title, clean(statement.get(key, "")) or NOT_STATED)
        for key, title in STATED.items()
        if statement
    )
    table = Table(
        header=("What", "Stated"),
        rows=told,
        caption="As given by those who answer for the audit",
        n_text=2,
        media=HTML,
    )
    lines = Bullets(tuple(f"{title}: {text}" for title, text in told), media=PLAIN)
    return Section("statement", "Statement", (table, lines))


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
