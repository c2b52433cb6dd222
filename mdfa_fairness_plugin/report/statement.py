"""What those who answer for an audit state of it, as every report prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mdfa_fairness_plugin.describe.wording import clean
from mdfa_fairness_plugin.records.statement import STATED
from mdfa_fairness_plugin.report.document import HTML, PLAIN, Bullets, Section, Table

_NOT_STATED: Final = "not stated"


def statement_section(statement: Mapping[str, str]) -> Section:
    """Everything that can be stated, blanks too; nothing where no statement was given."""
    told = tuple(
        (title, clean(statement.get(key, "")) or _NOT_STATED)
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
