"""``mdfa reproduce``: the paper's tables and figures, its numbers beside ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from mdfa_fairness_plugin import experiments
from mdfa_fairness_plugin.cli import console
from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.experiments.reproduction import stored
from mdfa_fairness_plugin.report.text import as_wide_as


def run(request: Request) -> None:
    """Make one experiment again, or all of them."""
    if request.n_jobs == 0:
        raise CommandError("--jobs: a number other than 0 expected.")
    if request.out is not None:
        _prepare(request.out)
    names = experiments.EXPERIMENTS if request.name == "all" else (request.name,)
    asked: dict[str, Any] = {
        "n_splits": request.splits,
        "random_state": request.seed,
        "quick": request.quick,
        "reading": request.reading,
    }
    spent: list[float] = []
    for number, name in enumerate(names):
        before = "\n\n" if number else ""
        known = None if request.out is None else stored(name, asked, request.out)
        if known is not None:
            console.say(before + known)
            console.complain(f"{name}: as it was written to {str(request.out)!r} before")
            continue
        with console.collected_notes() as notes:
            reproduction = experiments.reproduce(
                name,
                data_home=request.data_home,
                n_jobs=request.n_jobs,
                progress=not request.quiet and sys.stderr.isatty(),
                keep=request.out,
                **asked,
            )
        with as_wide_as(console.columns_of(sys.stdout)):
            text = reproduction.to_text()
        console.say(before + text)
        console.show_notes(notes, text)
        if request.out is not None:
            for path in reproduction.write(request.out):
                console.complain(f"written: {path}")
        spent.append(reproduction.seconds)
        left = len(names) - number - 1
        if left and not request.quiet:
            minutes = sum(spent) / len(spent) * left / 60.0
            console.complain(f"{number + 1} of {len(names)} done; about {minutes:.0f} min to go")


def _prepare(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before the work is done rather than after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--out: {str(folder)!r} cannot be made ({error.strerror}).") from error
    if not os.access(folder, os.W_OK):
        raise CommandError(f"--out: {str(folder)!r} cannot be written to.")
