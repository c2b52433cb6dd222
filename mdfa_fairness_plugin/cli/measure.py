"""``mdfa measure``: what an audit found, measured on new rows, with a gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mdfa_fairness_plugin.cli.console import CommandError, collected_notes, progress
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver, gate
from mdfa_fairness_plugin.cli.questions import file_hash, restricted, with_outcome
from mdfa_fairness_plugin.cli.request import RECORDED, Request
from mdfa_fairness_plugin.cli.table import find_columns, read_table
from mdfa_fairness_plugin.comparison import measure_again
from mdfa_fairness_plugin.exceptions import renaming
from mdfa_fairness_plugin.report.stored import stored_part
from mdfa_fairness_plugin.results import AuditResult


def run(request: Request) -> int:
    """Measure, deliver, and give the gate's status."""
    check_outputs(request)
    old = AuditResult.from_json(request.from_file)
    asked = _asked(request, old)
    table, asked = with_outcome(restricted(read_table(asked), asked), asked)
    frame = table.frame
    named = find_columns(table, asked, frame.__getitem__)
    start = f"measuring {len(frame):,} rows of {request.file.name} ..."
    with (
        collected_notes() as notes,
        progress(start, quiet=request.quiet),
        renaming({"X": str(request.file), "old": str(request.from_file)}),
    ):
        rows = named.rows(frame)
        result = measure_again(old, **rows, name=request.from_file, **named.settings)
    deliver(request, result, notes, page={"min_cell": request.min_cell})
    return gate(request, result.cases)


def _asked(request: Request, old: AuditResult) -> Request:
    """What was asked of the old rows, asked of the new ones."""
    given: Any = old.provenance.get("request")
    if not isinstance(given, dict) or "outcome" not in given:
        raise CommandError(
            f"{request.from_file}: it does not say which columns were audited; it has to be written by "
            "mdfa audit --json. In Python: mdfa_fairness_plugin.comparison.measure_again."
        )
    told = {name: own for name, own in given.items() if name != "file_hash"}
    if given.get("file_hash") is not None and given["file_hash"] == file_hash(request.file):
        raise CommandError(
            f"{request.file}: this is the file that {request.from_file} is an audit of; rows that a "
            "rule was found in cannot confirm it. Give new ones."
        )
    own = stored_part(request.from_file, Request, told, "provenance.request", RECORDED)
    return replace(own, file=request.file, n_jobs=request.n_jobs, quiet=request.quiet)
