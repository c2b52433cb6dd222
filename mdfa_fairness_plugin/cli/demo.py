"""``mdfa demo``: an audit of real decisions that works offline."""

from __future__ import annotations

from pathlib import Path

import click

from mdfa_fairness_plugin.cli.console import (
    check_writable,
    collected_notes,
    command_line,
    min_cell_option,
    progress,
    say,
    show_notes,
)


@click.command("demo")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Write the whole report to this page.",
)
@min_cell_option
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answer.")
def demo_command(report: Path | None, min_cell: int, seed: int) -> None:
    """Audit who was released: 5,226 arrests, Black and White people compared like with like.

    The data, arrests in Toronto for possession of marijuana, come with the package scikit-lego
    (pip install 'mdfa-fairness-plugin[demo]'), so nothing is downloaded.
    """
    if report is not None:
        check_writable(report, "--report")

    import mdfa_fairness_plugin as mdfa
    from mdfa_fairness_plugin.datasets import load_arrests

    data = load_arrests()
    with collected_notes() as notes, progress("auditing 5,226 arrests ...", quiet=False):
        result = mdfa.audit(
            data.X, data.y, sensitive_features=data.sensitive_features, random_state=seed
        )
    if report is not None:
        result.to_html(report, min_cell=min_cell, command=command_line())
    summary = result.summary()
    say(f"{len(data.X):,} arrests for possession of marijuana in Toronto: released or not?\n")
    say(summary)
    show_notes(notes, summary)
    if report is not None:
        say(f"\nReport: {report}")
