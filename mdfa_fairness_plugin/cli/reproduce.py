"""``mdfa reproduce``: the paper's tables and figures, its numbers beside ours."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mdfa_fairness_plugin.cli.console import (
    CommandError,
    collected_notes,
    complain,
    say,
    show_notes,
)

# As mdfa_fairness_plugin.experiments.EXPERIMENTS, which is slow to import.
_NAMES = (
    "table1",
    "table2",
    "table3",
    "table4",
    "figure1a",
    "figure1b",
    "figure1c",
    "figure1d",
)


@click.command(
    "reproduce",
    epilog="Example: mdfa reproduce table2 --data-home data --splits 20 --out results",
)
@click.argument("name", type=click.Choice([*_NAMES, "all"]), metavar="NAME")
@click.option(
    "--data-home",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of COMPAS, Adult, German credit and Crimes. Default: MDFA_DATA_HOME. The figures "
    "need none.",
)
@click.option(
    "--splits",
    type=click.IntRange(min=2),
    default=100,
    show_default=True,
    help="Train/test splits. The slow parts, and the figures, use a stated share of them.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write NAME.csv, NAME_runs.csv, NAME.json and, for a figure, NAME.png to this folder.",
)
@click.option("--jobs", "n_jobs", type=int, metavar="N", help="Processors to use; -1 for all.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Same seed, same answer.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Leave out what takes seconds per split: the MMD network, Algorithm 1 with a support vector "
    "machine, equalized odds in Table 3, and most points of Figures 1a and 1d.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def reproduce_command(
    name: str,
    data_home: Path | None,
    splits: int,
    out: Path | None,
    n_jobs: int | None,
    seed: int,
    quick: bool,
    quiet: bool,
) -> None:
    """Make a table or figure of the paper again: the paper's number, ours, and why they differ.

    NAME is table1, table2, table3, table4, figure1a, figure1b, figure1c, figure1d or all.
    """
    if n_jobs == 0:
        raise CommandError("--jobs: a number other than 0 expected.")
    if out is not None:
        _prepare(out)
    from mdfa_fairness_plugin.experiments import reproduce

    for number, one in enumerate(_NAMES if name == "all" else (name,)):
        with collected_notes() as notes:
            reproduction = reproduce(
                one,
                data_home=data_home,
                n_splits=splits,
                n_jobs=n_jobs,
                random_state=seed,
                progress=not quiet,
                quick=quick,
            )
        text = reproduction.to_text()
        say(("\n\n" if number else "") + text)
        show_notes(notes, text)
        if out is not None:
            for path in reproduction.write(out):
                complain(f"written: {path}")


def _prepare(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before the work is done rather than after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--out: {str(folder)!r} cannot be made ({error.strerror}).") from error
    if not os.access(folder, os.W_OK):
        raise CommandError(f"--out: {str(folder)!r} cannot be written to.")
