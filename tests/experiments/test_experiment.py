"""A description is made by the runner: loaded once, repeated, compared, and told."""

from __future__ import annotations

from functools import partial

import pandas as pd

from mdfa_fairness_plugin.experiments.experiment import Experiment, Options, run
from mdfa_fairness_plugin.experiments.reproduction import beside, summarise


def _add(data, seed):
    return {"seed": seed, "value": data + seed % 3}


def test_data_are_loaded_once_and_given_to_what_reads_them():
    loaded = []

    def load(options):
        loaded.append(options.data_home)
        return 10.0

    def runs(options, data):
        tasks = [(seed,) for seed in options.seeds(options.n_splits)]
        return pd.DataFrame(options.repeat(partial(_add, data), tasks, "x"))

    description = Experiment(
        title="A title",
        load=load,
        runs=runs,
        compare=lambda runs, data: [beside("q", "r", summarise(runs["value"]), data, why="why")],
        remarks=lambda runs, data: [f"{len(runs)} runs from {data:.0f} on."],
        settings=lambda options: {"splits": options.n_splits},
    )
    made = run("table9", description, Options(data_home="here", n_splits=4))
    assert loaded == ["here"]
    assert (made.name, made.title, made.settings) == ("table9", "A title", {"splits": 4})
    assert made.runs["seed"].tolist() == Options().seeds(4)
    assert made.find("q", "r").paper == 10.0
    assert made.find("q", "r").ours == made.runs["value"].mean()
    assert made.remarks == ("4 runs from 10 on.",)
    assert made.panels == ()
    assert made.seconds >= 0.0


def test_slow_parts_get_a_share_of_the_splits_and_quick_runs_no_network():
    assert Options(n_splits=100).share(0.2) == 20
    assert Options(n_splits=2).share(0.1) == 2
    assert not Options(quick=True).has_network
