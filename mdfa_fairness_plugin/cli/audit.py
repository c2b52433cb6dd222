"""``mdfa audit``: one audit of a table in a file, with a gate for continuous integration."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import collected_notes, command_line, progress
from mdfa_fairness_plugin.cli.events import with_event
from mdfa_fairness_plugin.cli.files import files_of
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver, gate
from mdfa_fairness_plugin.cli.parts import audit_parts
from mdfa_fairness_plugin.cli.questions import (
    check_asked,
    restricted,
    told_of_request,
    told_of_rows,
    with_answers,
    with_outcome,
)
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.cli.table import find_columns, read_table
from mdfa_fairness_plugin.report.asked import Answers
from mdfa_fairness_plugin.report.redaction import redact


def run(request: Request) -> int:
    """Audit, deliver, and give the gate's status."""
    check_outputs(request)
    with collected_notes() as notes:
        result = audited(request)
    deliver(
        request,
        result,
        notes,
        page={"min_cell": request.min_cell, "command": command_line(), **request.byline},
        more=_repeated(request, result),
    )
    return gate(request, result)


def audited(request: Request) -> Any:
    """Audit where the rows lie, or in memory."""
    return audit_parts(request) if request.is_spread_out else _audit_file(request)


def _audit_file(request: Request) -> Any:
    """Audit one table in memory."""
    asked, files = request, files_of(request)
    table, request = with_event(*with_outcome(restricted(read_table(request), request), request))
    frame = table.frame
    named = find_columns(table, request, frame.__getitem__)
    check_asked(frame, named, request)
    start = f"auditing {len(frame):,} rows of {request.file.name} ..."
    with progress(start, quiet=request.quiet):
        result = mdfa.audit(**named.rows(frame), verbose=1, **named.settings)
        result = told_of_request(result, asked, named.features, files)
        if request.where is not None:
            result = told_of_rows(result, request.where)
        return with_answers(result, frame, named, request)


def _repeated(request: Request, result: Any) -> Iterator[str]:
    """Summaries of the repetitions asked for, with a progress bar on stderr."""
    how: dict[str, Any] = {"n_jobs": request.n_jobs, "progress": sys.stderr.isatty()}
    if request.null_draws is not None:
        null = result.null_distribution(request.null_draws, **how)
        seen = np.where(_hidden(request, result), np.nan, null.observed_statistics)
        yield f"WITHOUT A DISPARITY\n{replace(null, observed_statistics=seen).summary()}\n"
    if request.n_repeats is not None:
        stable = result.stability(request.n_repeats, **how)
        yield f"ON OTHER PEOPLE\n{stable.summary()}\n"
    if request.group_pairs:
        every = replace(result, asked=(*result.asked, *result.group_pairs()))
        told = redact(every, request.min_cell).result.asked[len(result.asked) :]
        yield f"EVERY PAIR OF GROUPS\n{Answers(told).summary()}\n"
    if request.explained:
        found, hidden = result.explained(**how), _hidden(request, result)
        kept = {n: np.where(hidden, np.nan, getattr(found, n)) for n in ("delta", "difference")}
        yield f"WITHOUT EACH FEATURE\n{replace(found, **kept).summary()}\n"


def _hidden(request: Request, result: Any) -> list[bool]:
    """Of which searches ``--min-cell`` keeps back what was found."""
    told = redact(result, request.min_cell).result.violations
    return [was.measured > own.measured for was, own in zip(result.violations, told, strict=True)]
