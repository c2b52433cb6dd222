"""An experiment as a description, and the runner that makes a table or figure of any of them."""

from __future__ import annotations

import importlib.util
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

from mdfa_fairness_plugin.experiments.reproduction import Comparison, Panel, Reproduction, versions

NETWORK_LEFT_OUT = "MMD network: left out (a quick run, or torch is not installed)."

_Result = TypeVar("_Result")


class Kept:
    """Results of single splits in a file, one a line, for a run that is killed to be taken up.

    Results are dicts and lists of numbers and text. Lines made for something else, or by other
    versions, are written over.
    """

    def __init__(self, file: Path, asked: Mapping[str, Any]) -> None:
        self.file = file
        self.seconds = 0.0  # that what was kept took
        self._since = time.perf_counter()
        self._found: dict[str, list[Any]] = {}
        first = {"asked": dict(asked), "versions": versions()}
        lines = list(_lines(file))
        if lines[:1] == [first]:
            for line in lines[1:]:
                self._found.setdefault(line["label"], []).append(line["result"])
                self.seconds += line["seconds"]
        # Once more: a line cut short would spoil the next.
        self.file.write_text("".join(json.dumps(line) + "\n" for line in [first, *lines[1:]]))

    def of(self, label: str) -> list[Any]:
        """Results under a label, in order."""
        return [*self._found.get(label, ())]

    def add(self, label: str, result: Any) -> Any:
        """Keep a result; gives it as it will be read."""
        before, self._since = self._since, time.perf_counter()
        line = {"label": label, "seconds": self._since - before, "result": result}
        text = json.dumps(line, default=lambda value: value.tolist())
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")
        return json.loads(text)["result"]


def _lines(file: Path) -> Iterator[Any]:
    """Lines up to one that was cut short."""
    if not file.exists():
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


@dataclass(frozen=True, kw_only=True)
class Options:
    """What ``reproduce`` was asked for, with its arguments."""

    data_home: str | os.PathLike[str] | None = None
    n_splits: int = 100
    n_jobs: int | None = None
    random_state: int = 0
    progress: bool = False
    quick: bool = False
    reading: str = "both"
    kept: Kept | None = None  # what was made of the same before, and where more is kept

    @property
    def asked(self) -> dict[str, Any]:
        """What decides the numbers."""
        return {one: getattr(self, one) for one in ("n_splits", "random_state", "quick", "reading")}

    @property
    def as_in_paper(self) -> bool:
        """Whether the paper's own system takes part."""
        return self.reading != "ours" and self.has_network

    @property
    def as_ours(self) -> bool:
        """Whether the package's own methods take part."""
        return self.reading != "paper"

    @property
    def has_network(self) -> bool:
        """Whether the MMD network takes part."""
        return not self.quick and importlib.util.find_spec("torch") is not None

    def share(self, share: float) -> int:
        """Number of repeats that are a share of the splits; two for a standard deviation."""
        return max(round(share * self.n_splits), 2)

    def seeds(self, n: int, *place: int) -> list[int]:
        """Seeds of ``n`` repeats at one place of a design; more leave the first as they are."""
        children = np.random.SeedSequence((self.random_state, *place)).spawn(n)
        return [int(child.generate_state(1)[0] >> 1) for child in children]

    def repeat(
        self, task: Callable[..., _Result], arguments: Sequence[tuple[Any, ...]], label: str
    ) -> list[_Result]:
        """Call ``task``, which other processes can import, once per tuple, but for what was kept."""
        found = [] if self.kept is None else self.kept.of(label)
        calls = (delayed(_quietly)(task, one) for one in arguments[len(found) :])
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(calls)
        shown = {"desc": label, "leave": False, "disable": not self.progress}
        for one in tqdm(results, total=len(arguments), initial=len(found), **shown):
            found.append(one if self.kept is None else self.kept.add(label, one))
        return found


def _quietly(task: Callable[..., _Result], arguments: tuple[Any, ...]) -> _Result:
    """Without the warnings of single splits; what they would say is in the numbers."""
    with warnings.catch_warnings(action="ignore"):
        return task(*arguments)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table or figure: how its numbers are made, and how they stand beside the paper's.

    ``runs`` makes every split's numbers of the options; what follows reads them. Where there is data
    to ``load`` first, all are given it as a last argument. ``repeats`` are what is counted by its
    share of the splits, ``settings`` what else it takes to get the same numbers again.
    """

    title: str
    runs: Callable[..., pd.DataFrame]
    compare: Callable[..., Iterable[Comparison]]
    remarks: Callable[..., Iterable[str]]
    repeats: Mapping[str, float] = field(default_factory=lambda: {"splits": 1.0})
    settings: Mapping[str, Any] = field(default_factory=dict)
    load: Callable[[Options], Any] | None = None
    panels: Callable[[pd.DataFrame], Iterable[Panel]] = lambda runs: ()


def run(name: str, experiment: Experiment, options: Options) -> Reproduction:
    """Make a table or figure as its description says."""
    started = time.perf_counter()
    before = 0.0 if options.kept is None else options.kept.seconds
    data = () if experiment.load is None else (experiment.load(options),)
    runs = experiment.runs(options, *data)
    counts = {counted: options.share(share) for counted, share in experiment.repeats.items()}
    return Reproduction(
        name=name,
        title=experiment.title,
        comparisons=tuple(experiment.compare(runs, *data)),
        runs=runs,
        settings={
            **counts,
            "seed": options.random_state,
            "reading": options.reading,
            **experiment.settings,
        },
        remarks=tuple(experiment.remarks(runs, *data)),
        panels=tuple(experiment.panels(runs)),
        asked=options.asked,
        seconds=time.perf_counter() - started + before,
    )
