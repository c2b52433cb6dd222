"""``mdfa card``: where one person of an audited table stands."""

from __future__ import annotations

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import CommandError, collected_notes, progress
from mdfa_fairness_plugin.cli.events import rows_asked
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver
from mdfa_fairness_plugin.cli.request import Request


def run(request: Request) -> None:
    """Audit, and write the card of the row asked for."""
    check_outputs(request)
    frame, named, request = rows_asked(request)
    n_rows, file = len(frame), request.file.name
    if request.row >= n_rows:
        raise CommandError(
            f"--row: {request.row} was given, but the last row of {file} is {n_rows - 1}; the first "
            "is 0."
        )
    start = f"auditing {n_rows:,} rows of {file} ..."
    with collected_notes() as notes, progress(start, quiet=request.quiet):
        auditor = mdfa.MDFAuditor(verbose=1, **named.settings).fit(**named.rows(frame))
        card = auditor.explain_row(
            None,
            row=request.row,
            n_comparators=request.n_comparators,
            show_records=request.show_records,
            min_cell=request.min_cell,
        )
    deliver(request, card, notes, printable=True)
