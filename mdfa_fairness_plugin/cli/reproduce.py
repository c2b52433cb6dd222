"""``mdfa reproduce``: the paper's tables and figures, its numbers beside ours."""

from __future__ import annotations

import os
from pathlib import Path

from mdfa_fairness_plugin import experiments
from mdfa_fairness_plugin.cli import console
from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.request import Request


def run(request: Request) -> None:
    """Make one experiment again, or all of them."""
    if request.n_jobs == 0:
        raise CommandError("--jobs: a number other than 0 expected.")
    if request.out is not None:
        _prepare(request.out)
    names = experiments.EXPERIMENTS if request.name == "all" else (request.name,)
    for number, name in enumerate(names):
        with console.collected_notes() as notes:
            reproduction = experiments.reproduce(
                name,
                data_home=request.data_home,
                n_splits=request.splits,
                n_jobs=request.n_jobs,
                random_state=request.seed,
                progress=not request.quiet,
                quick=request.quick,
            )
        text = reproduction.to_text()
        console.say(("\n\n" if number else "") + text)
        console.show_notes(notes, text)
        if request.out is not None:
            for path in reproduction.write(request.out):
                console.complain(f"written: {path}")


def _prepare(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before the work is done rather than after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--out: {str(folder)!r} cannot be made ({error.strerror}).") from error
    if not os.access(folder, os.W_OK):
        raise CommandError(f"--out: {str(folder)!r} cannot be written to.")
