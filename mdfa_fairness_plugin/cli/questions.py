"""Expressions on the command line: which rows are audited, and which are asked about."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.cli.console import CommandError, command_line, show_notes
from mdfa_fairness_plugin.cli.outputs import in_print
from mdfa_fairness_plugin.cli.request import RECORDED, Request
from mdfa_fairness_plugin.cli.table import Columns, Table
from mdfa_fairness_plugin.data.containers import read_table
from mdfa_fairness_plugin.data.expressions import Columns as ColumnsByName
from mdfa_fairness_plugin.data.expressions import parse
from mdfa_fairness_plugin.data.questions import columns_of
from mdfa_fairness_plugin.data.written import Marks
from mdfa_fairness_plugin.exceptions import Count, Message, renaming
from mdfa_fairness_plugin.provenance import ReadFile
from mdfa_fairness_plugin.report.stored import stored_part
from mdfa_fairness_plugin.results import AuditResult

# Every scheduler gives the same.
_ANY_SCHEDULER: Final = "threads"
# What no name of a column that was misspelt has.
_CONDITION: Final = re.compile(r"[<>=≤≥≠]| in | is ")


def restricted(table: Table, request: Request) -> Table:
    """The rows that ``--where`` asks for."""
    if request.where is None:
        return table
    with renaming({"where": "--where"}):
        inside = parse(request.where).told(_columns_of(table.frame, request)).holds
    if not inside.any():
        raise CommandError(f"--where: no row of {request.file} meets {request.where!r}.")
    return audited_rows(table, inside, request, "--where: ", " are audited")


def audited_rows(
    table: Table, inside: np.ndarray, request: Request, before: str, after: str
) -> Table:
    """Some rows of a table; says how many they are."""
    if not request.quiet:
        n = Count(int(inside.sum()), of=len(inside))
        show_notes(in_print([Message(before, n, after)], request))
    return replace(table, frame=table.frame[inside])


def _columns_of(frame: pd.DataFrame, request: Request) -> ColumnsByName:
    """Columns as conditions read them, numbers and dates as they are said to be written."""
    marks = Marks.checked(request.decimal, request.thousands, request.date_format)
    return columns_of(read_table(frame, "where"), marks)


def with_outcome(table: Table, request: Request) -> tuple[Table, Request]:
    """The outcome that ``--outcome`` writes as a condition, as one more column."""
    text = request.outcome
    if text in map(str, table.frame.columns) or not _CONDITION.search(text):
        return table, request
    with renaming({"where": "--outcome"}):
        expression = parse(text)
        told = expression.told(_columns_of(table.frame, request))
    for option, columns in table.roles(request, "features", "sensitive").items():
        both = set(expression.names).intersection(map(str, columns))
        if both:
            raise CommandError(f"{option}: {both.pop()!r} decides the outcome {text!r}.")
    answers = np.full(len(table.frame), None, dtype=object)
    answers[told.holds], answers[told.fails] = expression.sides
    name = expression.sides[0]
    frame = table.frame.assign(**{name: answers})
    return replace(table, frame=frame), request.decided(name, expression.names)


def told_of_request(
    result: Any,
    request: Request,
    features: Sequence[Hashable],
    files: Sequence[ReadFile],
    where: str | None = None,
) -> Any:
    """The result with what was asked, of which files: other rows can be asked the same."""
    told = request.recorded
    told["features"] = tuple(map(str, features))
    told.pop("drop", None)
    if request.scheduler is not None:
        told["scheduler"] = _ANY_SCHEDULER
    rows = {} if where is None else {"where": " ".join(where.split())}
    return told_of_files(result, files, request=told, **rows)


def told_of_files(result: Any, files: Sequence[ReadFile], **more: Any) -> Any:
    """The result with what was read, by which command."""
    made = {"files": tuple(files), "command": command_line(), **more}
    return replace(result, provenance={**result.provenance, **made})


def request_of(result: AuditResult, path: Path) -> Request:
    """What was asked of the rows of a result that was read from a file."""
    given: Any = result.provenance.get("request")
    if not isinstance(given, dict) or "outcome" not in given:
        raise CommandError(
            f"{path}: it does not say which columns were audited; it has to be written by mdfa audit "
            "--json. In Python: mdfa_fairness_plugin.comparison.measure_again."
        )
    own = stored_part(path, Request, given, "provenance.request", RECORDED)
    # A file may come from anybody: what it names is not connected to.
    return replace(own, scheduler=None if own.scheduler is None else _ANY_SCHEDULER)


def check_asked(frame: pd.DataFrame, named: Columns, request: Request) -> None:
    """Refuse, before the audit, what ``--measure`` cannot ask."""
    if not request.measure:
        return
    with renaming({"where": "--measure"}):
        columns = _columns_of(frame, request)
        for text in request.measure:
            expression = parse(text)
            told = {str(named.outcome), *request.decided_by}.intersection(expression.names)
            if told:
                raise CommandError(
                    f"--measure: {told.pop()!r} is the outcome, which is what is compared; "
                    "name columns that were there before it."
                )
            expression.told(columns)


def with_answers(result: Any, frame: pd.DataFrame, named: Columns, request: Request) -> Any:
    """The result with what ``--measure`` asked."""
    if not request.measure:
        return result
    taken = {str(one) for one in (named.outcome, *named.features, *request.decided_by)}
    others = frame[[column for column in frame.columns if str(column) not in taken]]
    with renaming({"where": "--measure"}):
        asked = result.measure(list(request.measure), extra=None if others.empty else others)
    return replace(result, asked=asked)
