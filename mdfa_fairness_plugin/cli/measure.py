"""``mdfa measure``: what an audit found, measured on new rows, with a gate."""

from __future__ import annotations

from dataclasses import replace

from mdfa_fairness_plugin.cli.console import CommandError, collected_notes, progress
from mdfa_fairness_plugin.cli.events import rows_asked
from mdfa_fairness_plugin.cli.files import files_in
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver, gate
from mdfa_fairness_plugin.cli.questions import request_of
from mdfa_fairness_plugin.cli.request import WRITTEN, Request
from mdfa_fairness_plugin.comparison import measure_again
from mdfa_fairness_plugin.exceptions import renaming
from mdfa_fairness_plugin.results import AuditResult


def run(request: Request) -> int:
    """Measure, deliver, and give the gate's status."""
    check_outputs(request)
    old = AuditResult.from_json(request.from_file)
    asked = _asked(request, old)
    frame, named, _ = rows_asked(asked)
    start = f"measuring {len(frame):,} rows of {request.file.name} ..."
    with (
        collected_notes() as notes,
        progress(start, quiet=request.quiet),
        renaming({"X": str(request.file), "old": str(request.from_file)}),
    ):
        rows = named.rows(frame)
        result = measure_again(old, **rows, name=request.from_file, **named.settings)
    deliver(request, result, notes)
    return gate(request, result)


def _asked(request: Request, old: AuditResult) -> Request:
    """What was asked of the old rows, asked of the new ones."""
    own = request_of(old, request.from_file)
    if own.sensitive_probabilities:
        raise CommandError(
            "--sensitive-probabilities: groups known by probability are bounded in audits alone; audit "
            "the new rows, or measure rows whose group is known."
        )
    read = {one.sha256 for one in old.provenance.get("files", ())}
    if any(one.sha256 in read for one in files_in(request.file)):
        raise CommandError(
            f"{request.file}: this is the file that {request.from_file} is an audit of; rows that a "
            "rule was found in cannot confirm it. Give new ones."
        )
    usual = Request()
    of_file = {name: getattr(request, name) for name in (*WRITTEN, "drop_missing_outcomes")}
    said = {name: value for name, value in of_file.items() if value != getattr(usual, name)}
    own = replace(own, **said)
    return replace(own, file=request.file, n_jobs=request.n_jobs, quiet=request.quiet)
