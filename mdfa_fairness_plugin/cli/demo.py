"""``mdfa demo``: an audit of real decisions that works offline."""

from __future__ import annotations

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import (
    collected_notes,
    command_line,
    progress,
    say,
    show_notes,
)
from mdfa_fairness_plugin.cli.files import read_statement
from mdfa_fairness_plugin.cli.outputs import check_outputs, refuse_unwritten, write
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.datasets import load_arrests


def run(request: Request) -> None:
    """Audit the arrests and say what was found."""
    check_outputs(request)
    data = load_arrests()
    with collected_notes() as notes, progress("auditing 5,226 arrests ...", quiet=False):
        result = mdfa.audit(
            data.X,
            data.y,
            sensitive_features=data.sensitive_features,
            random_state=request.seed,
            statement=read_statement(request),
        )
    failed = write(request, result, page={"min_cell": request.min_cell, "command": command_line()})
    summary = result.summary()
    say(f"{len(data.X):,} arrests for possession of marijuana in Toronto: released or not?\n")
    say(summary)
    show_notes(notes, summary)
    refuse_unwritten(failed)
    if request.report is not None:
        say(f"\nReport: {request.report}")
