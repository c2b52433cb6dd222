"""An experiment as a description, and the runner that makes a table or figure of any of them."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mdfa_fairness_plugin.experiments.repetition import repeat, spawn_seeds
from mdfa_fairness_plugin.experiments.reproduction import Comparison, Panel, Reproduction

NETWORK_LEFT_OUT = "MMD network: left out (a quick run, or torch is not installed)."


@dataclass(frozen=True, kw_only=True)
class Options:
    """What ``reproduce`` was asked for, with its arguments."""

    data_home: str | os.PathLike[str] | None = None
    n_splits: int = 100
    n_jobs: int | None = None
    random_state: int = 0
    progress: bool = False
    quick: bool = False

    @property
    def has_network(self) -> bool:
        """Whether the MMD network takes part."""
        return not self.quick and importlib.util.find_spec("torch") is not None

    def share(self, share: float) -> int:
        """Number of repeats that are a share of the splits; two for a standard deviation."""
        return max(round(share * self.n_splits), 2)

    def seeds(self, n: int, *place: int) -> list[int]:
        """Seeds of ``n`` repeats at one place of a design."""
        return spawn_seeds(self.random_state, n, *place)

    def repeat(
        self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], label: str
    ) -> list[Any]:
        """Call ``task`` once per tuple of arguments; see ``repetition.repeat``."""
        return repeat(task, arguments, n_jobs=self.n_jobs, progress=self.progress, label=label)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table or figure: how its numbers are made, and how they stand beside the paper's.

    ``runs`` makes every split's numbers of the options; what follows reads them. Where there is data
    to ``load`` first, both are given it as a second argument.
    """

    title: str
    runs: Callable[..., pd.DataFrame]
    compare: Callable[..., Iterable[Comparison]]
    remarks: Callable[..., Iterable[str]]
    settings: Callable[[Options], dict[str, Any]]
    load: Callable[[Options], Any] | None = None
    panels: Callable[[pd.DataFrame], Iterable[Panel]] | None = None


def run(name: str, experiment: Experiment, options: Options) -> Reproduction:
    """Make a table or figure as its description says."""
    started = time.perf_counter()
    data = () if experiment.load is None else (experiment.load(options),)
    runs = experiment.runs(options, *data)
    return Reproduction(
        name=name,
        title=experiment.title,
        comparisons=tuple(experiment.compare(runs, *data)),
        runs=runs,
        settings=experiment.settings(options),
        remarks=tuple(experiment.remarks(runs, *data)),
        panels=() if experiment.panels is None else tuple(experiment.panels(runs)),
        seconds=time.perf_counter() - started,
    )
