"""``mdfa audit``: one audit of a table in a file, with a gate for continuous integration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import CommandError, collected_notes, command_line, progress
from mdfa_fairness_plugin.cli.options import Request
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver, gate
from mdfa_fairness_plugin.cli.parts import audit_parts
from mdfa_fairness_plugin.cli.table import find_columns, read_table


def run(request: Request) -> int:
    """Audit, deliver, and give the gate's status."""
    check_outputs(request)
    in_memory = (request.null_draws, request.n_repeats, request.explained, request.na_values)
    if request.is_spread_out and any(in_memory):
        raise CommandError(
            "--null-draws, --stability, --explained and --na-values need the rows in memory, so they "
            "cannot be used with several files or a scheduler."
        )
    with collected_notes() as notes:
        result = audit_parts(request) if request.is_spread_out else _audit_file(request)
    deliver(
        request,
        result,
        notes,
        page={"min_cell": request.min_cell, "command": command_line()},
        more=_repeated(request, result),
    )
    return gate(request, result.violations)


def _audit_file(request: Request) -> Any:
    """Audit one table in memory."""
    table = read_table(request)
    frame = table.frame
    named = find_columns(table, request, frame.__getitem__)
    start = f"auditing {len(frame):,} rows of {request.file.name} ..."
    with progress(start, quiet=request.quiet):
        return mdfa.audit(**named.rows(frame), **named.settings)


def _repeated(request: Request, result: Any) -> Iterator[str]:
    """Summaries of the repetitions asked for, with a progress bar on stderr."""
    how: dict[str, Any] = {"n_jobs": request.n_jobs, "progress": True}
    if request.null_draws is not None:
        null = result.null_distribution(request.null_draws, **how)
        yield f"WITHOUT A VIOLATION\n{null.summary()}\n"
    if request.n_repeats is not None:
        stable = result.stability(request.n_repeats, **how)
        yield f"ON OTHER PEOPLE\n{stable.summary()}\n"
    if request.explained:
        yield f"WITHOUT EACH FEATURE\n{result.explained(**how).summary()}\n"
