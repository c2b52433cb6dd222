"""``mdfa demo``: an audit of real decisions that works offline."""

from __future__ import annotations

import sys

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import (
    asked_columns,
    collected_notes,
    columns_of,
    command_line,
    progress,
    say,
    show_notes,
)
from mdfa_fairness_plugin.cli.files import read_statement
from mdfa_fairness_plugin.cli.outputs import check_outputs, in_print, refuse_unwritten, write
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.datasets import load_arrests, load_wages
from mdfa_fairness_plugin.report.text import as_wide_as

# What is audited, in words, and how.
_ARRESTS: tuple[str, dict[str, str]] = (
    "{:,} arrests for possession of marijuana in Toronto: released or not?",
    {},
)
_WAGES: tuple[str, dict[str, str]] = (
    "Hourly wages of {:,} men in the USA in 1976, in dollars: who gets less?",
    {"outcome_type": "numeric", "favorable": "high"},
)


def run(request: Request) -> None:
    """Audit the arrests and say what was found."""
    check_outputs(request)
    data = load_wages() if request.numeric else load_arrests()
    told, settings = _WAGES if request.numeric else _ARRESTS
    start = f"auditing {len(data.X):,} rows ..."
    with collected_notes() as notes, progress(start, quiet=request.quiet):
        result = mdfa.audit(
            data.X,
            data.y,
            sensitive_features=data.sensitive_features,
            random_state=request.seed,
            verbose=1,
            statement=read_statement(request),
            **settings,
        )
    failed = write(
        request,
        result,
        page={"min_cell": request.min_cell, "command": command_line(), **request.byline},
    )
    if not request.quiet:
        with as_wide_as(columns_of(sys.stdout) or asked_columns()):
            summary = result.summary(min_cell=request.min_cell)
        say(f"{told.format(len(data.X))}\n")
        say(summary)
        show_notes(in_print(notes, request), summary)
    refuse_unwritten(failed)
    if request.report is not None and not request.quiet:
        say(f"\nReport: {request.report}")
