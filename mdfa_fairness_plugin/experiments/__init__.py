"""The paper's tables and figures, each by running code, with the printed figure beside ours."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from pathlib import Path

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.experiments.experiment import Kept, Options, run
from mdfa_fairness_plugin.experiments.reproduction import Comparison, Reproduction
from mdfa_fairness_plugin.settings import check_choice, is_choice, shown

__all__ = ["EXPERIMENTS", "Comparison", "Reproduction", "reproduce"]

EXPERIMENTS = (
    "table1", "table2", "table3", "table4", "figure1a", "figure1b", "figure1c", "figure1d",
)  # fmt: skip


def reproduce(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    n_splits: int = 100,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: bool = False,
    quick: bool = False,
    reading: str = "both",
    keep: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Make one table or figure of the paper again.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``.
    data_home : path or None, default=None
        Folder of COMPAS, Adult, German credit and Crimes; the figures need none.
    n_splits : int, default=100
        Train/test splits; the slow parts and the figures use a stated share of them.
    n_jobs : int or None, default=None
        Splits worked on at a time. The numbers do not depend on it.
    random_state : int, default=0
    progress : bool, default=False
        Whether to show a progress bar on stderr.
    quick : bool, default=False
        Leave out what takes seconds per split: the MMD network, Algorithm 1 with a support vector
        machine, equalized odds in Table 3, and all but a few points of Figures 1a and 1d.
    reading : {"paper", "ours", "both"}, default="both"
        Whose method: the system as published (one network of the joint objective, Algorithm 1; needs
        torch), this package's, or both side by side.
    keep : path or None, default=None
        Folder in which every split is kept as it ends, in ``NAME.part``, until all are made: a call
        that asks for the same takes up what was kept.

    Returns
    -------
    reproduction : Reproduction

    Raises
    ------
    InputError
        Naming ``name`` or ``n_splits``.
    DataNotFoundError
        If a table's data set is not found.
    """
    given = locals()
    del given["name"], given["keep"]
    if not is_choice(name, EXPERIMENTS):
        raise InputError(f"name: one of {', '.join(EXPERIMENTS)} expected, {shown(name)} found.")
    check_choice("reading", reading, ("paper", "ours", "both"))
    if n_splits < 2:
        raise InputError(
            f"n_splits: at least 2 expected, for a standard deviation; {n_splits} found."
        )
    experiment = importlib.import_module(f"mdfa_fairness_plugin.experiments.{name}").EXPERIMENT
    options = Options(**given)
    if keep is not None:
        options = replace(options, kept=Kept(Path(keep) / f"{name}.part", options.asked))
    return run(name, experiment, options)
