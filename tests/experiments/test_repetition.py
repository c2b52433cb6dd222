"""Repeats: the same answers for every number of processes, and seeds that stay."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.experiments.repetition import draw_train, repeat, spawn_seeds


def _draw(scale, seed):
    return scale * np.random.default_rng(seed).normal()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_results_come_in_order_for_any_number_of_processes(n_jobs):
    arguments = [(10.0**k, k) for k in range(6)]
    found = repeat(_draw, arguments, n_jobs=n_jobs, progress=False, label="x")
    assert found == [_draw(*one) for one in arguments]


def test_progress_is_written_to_stderr_alone(capsys):
    repeat(_draw, [(1.0, 1)], n_jobs=None, progress=True, label="a label")
    out, err = capsys.readouterr()
    assert out == ""
    assert "a label" in err
    repeat(_draw, [(1.0, 1)], n_jobs=None, progress=False, label="a label")
    assert capsys.readouterr().err == ""


def test_more_repeats_leave_the_first_seeds_as_they_are():
    assert spawn_seeds(3, 10)[:4] == spawn_seeds(3, 4)
    assert len(set(spawn_seeds(3, 50))) == 50
    assert not set(spawn_seeds(3, 50)) & set(spawn_seeds(4, 50))
    assert not set(spawn_seeds(3, 50)) & set(spawn_seeds(3, 50, 1))


def test_seventy_of_a_hundred_rows_are_learned_from():
    train = draw_train(1000, 5)
    assert train.sum() == 700
    assert not np.array_equal(train, draw_train(1000, 6))
