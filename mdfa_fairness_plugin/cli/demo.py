"""``mdfa demo``: an audit of real decisions that works offline."""

from __future__ import annotations

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import collected_notes, command_line, progress, say
from mdfa_fairness_plugin.cli.files import read_statement
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.datasets import load_arrests, load_wages

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
            statement=read_statement(request.statement),
            **settings,
        )
    if not request.quiet:
        say(f"{told.format(len(data.X))}\n")
    deliver(request, result, notes, command=command_line())
