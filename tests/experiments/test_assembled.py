"""The paper's system on one split, and what is told along alpha."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.experiments.assembled import (
    SYSTEM,
    VARIANTS,
    OneThingChanged,
    assemble,
    variant_tasks,
)
from mdfa_fairness_plugin.experiments.experiment import Options
from mdfa_fairness_plugin.experiments.formulas import draw_train


def test_one_run_answers_at_every_alpha():
    """The answer at an alpha is that of a run which ends there; rows learned from are not measured."""
    data = make_synthetic(800, 2.0, 0.2, random_state=0)
    s, positive = data.sensitive_features.to_numpy(), data.y.to_numpy() == 1
    given = (data.X.to_numpy(), s, positive, 3)
    params = {"learner": "tree", "phi": False, "balance": "entropy"}
    found = assemble(*given, alphas=(0.05, 0.1, 0.2), **params)
    assert (found.held_out == ~draw_train(800, 3)).all()
    alone = assemble(*given, alphas=(0.1,), **params)
    np.testing.assert_array_equal(found.inside[0.1], alone.inside[0.1])
    assert found.among_all(0.2).sum() >= found.among_all(0.05).sum()
    assert not (found.among_all(0.2) & ~found.held_out).any()
    assert found.rates(0.05).delta > 0.3


RUNS = pd.DataFrame(
    {"search": ["x"] * 4, "alpha": [0.01, 0.01, 0.05, 0.05], "age": [40.0, 44.0, 50.0, 51.0]}
)
PUBLISHED = {"age": ("Age", (49.0, 2.0)), "alpha": ("no deviation", (0.0, math.nan))}


def test_along_alpha_worked_by_hand():
    changed = OneThingChanged(parts=lambda runs: [(runs, PUBLISHED)], why="why")
    first, second, *_ = sorted(changed.compare(RUNS), key=lambda one: one.quantity != "Age")
    assert (first.reading, first.ours, first.paper) == ("x, alpha = 0.01", 42.0, 49.0)
    assert second.ours == 50.5
    (line,) = changed.remarks(RUNS)
    assert line == "x: within one published deviation by alpha: Age at 0.05; nothing else."
    panel, _ = changed.panels(RUNS)
    ours, paper = panel.curves
    assert ours.y.tolist() == [42.0, 50.5]
    assert paper.published
    assert paper.y == pytest.approx([49.0, 49.0])


def test_what_is_changed_in_the_system_is_run_on_fewer_splits(monkeypatch):
    monkeypatch.setattr(Options, "has_network", True)
    tasks = variant_tasks(Options(reading="paper"), range(20))
    assert [name for name, _ in tasks].count(SYSTEM) == 20
    for name in VARIANTS.keys() - {SYSTEM}:
        assert [seed for own, seed in tasks if own == name] == [0, 1, 2, 3]
    assert variant_tasks(Options(reading="ours"), range(20)) == []
