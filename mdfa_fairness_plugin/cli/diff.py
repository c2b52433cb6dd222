"""``mdfa diff``: what changed between two audits, with a gate for continuous integration."""

from __future__ import annotations

from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver, gate
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.comparison import diff


def run(request: Request) -> int:
    """Compare, deliver, and give the gate's status."""
    check_outputs(request)
    result = diff(request.file, request.new_file)
    deliver(request, result, [])
    return gate(request, result)
