"""A description is made by the runner: loaded once, repeated with seeds that stay, compared, told."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.experiments.experiment import Experiment, Kept, Options, run
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
        settings={"rows": 3},
    )
    made = run("table9", description, Options(data_home="here", n_splits=4))
    assert loaded == ["here"]
    assert (made.name, made.title) == ("table9", "A title")
    assert made.settings == {"splits": 4, "seed": 0, "reading": "both", "rows": 3}
    assert made.runs["seed"].tolist() == Options().seeds(4)
    assert made.find("q", "r").paper == 10.0
    assert made.find("q", "r").ours == made.runs["value"].mean()
    assert made.remarks == ("4 runs from 10 on.",)
    assert made.panels == ()
    assert made.seconds >= 0.0


def _draw(scale, seed):
    return scale * np.random.default_rng(seed).normal()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_results_come_in_order_for_any_number_of_processes(n_jobs):
    arguments = [(10.0**k, k) for k in range(6)]
    found = Options(n_jobs=n_jobs).repeat(_draw, arguments, "x")
    assert found == [_draw(*one) for one in arguments]


def _draw_unless_last(scale, seed):
    if seed == 3:
        raise KeyboardInterrupt
    return {"value": np.float64(_draw(scale, seed)), "who": [seed, "x", math.inf]}


def test_splits_are_kept_as_they_end_and_taken_up(tmp_path):
    """A run that is killed, even in the middle of a line, loses the split it was at."""
    arguments = [(1.0, k) for k in range(4)]
    file = tmp_path / "x.part"
    with pytest.raises(KeyboardInterrupt):
        Options(kept=Kept(file, {"n": 4})).repeat(_draw_unless_last, arguments, "x")
    file.write_text(file.read_text()[:-5])
    assert len(Kept(file, {"n": 4}).of("x")) == 2
    again = Kept(file, {"n": 4})
    assert again.seconds > 0
    made = []

    def drawn(scale, seed):
        made.append(seed)
        return _draw_unless_last(scale, seed - 10) | {"who": [seed, "x", math.inf]}

    found = Options(kept=again).repeat(drawn, [(1.0, k + 10) for k in range(3)], "x")
    assert made == [12]
    assert found == [
        {"value": _draw(1.0, k), "who": [k + 10 * (k == 2), "x", math.inf]} for k in range(3)
    ]
    assert Kept(file, {"n": 5}).of("x") == []


def test_progress_is_written_to_stderr_alone(capsys):
    Options(progress=True).repeat(_draw, [(1.0, 1)], "a label")
    out, err = capsys.readouterr()
    assert out == ""
    assert "a label" in err
    Options(progress=False).repeat(_draw, [(1.0, 1)], "a label")
    assert capsys.readouterr().err == ""


def test_more_repeats_leave_the_first_seeds_as_they_are():
    three, four = Options(random_state=3), Options(random_state=4)
    assert three.seeds(10)[:4] == three.seeds(4)
    assert len(set(three.seeds(50))) == 50
    assert not set(three.seeds(50)) & set(four.seeds(50))
    assert not set(three.seeds(50)) & set(three.seeds(50, 1))


def test_slow_parts_get_a_share_of_the_splits_and_quick_runs_no_network():
    assert Options(n_splits=100).share(0.2) == 20
    assert Options(n_splits=2).share(0.1) == 2
    assert not Options(quick=True).has_network
