"""Folds of an audit, in every repeat of its cross-fitting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.arguments import settled
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.search.prepare import audit_folds
from mdfa_fairness_plugin.settings import Settings

N = 600


def folds_of(clusters=None, **options):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=N)})
    s, y = rng.integers(0, 2, N), rng.integers(0, 2, N)
    problem = build_problem(X, y, s, clusters=clusters)
    settings = settled(Settings.checked(**options), problem)
    return problem, audit_folds(problem, problem.contrasts, settings)


def test_the_first_folds_are_those_of_an_audit_without_repeats_and_others_are_drawn_anew():
    problem, several = folds_of(n_repeats=4)
    _, once = folds_of(n_repeats=1)
    assert several.shape == (4, N)
    np.testing.assert_array_equal(several[:1], once)
    # Two rows of one fold are in one again as often as chance has it: one in five.
    for other in several[1:]:
        pairs = several[0][:, None] == several[0]
        again = (other[:, None] == other)[pairs & ~np.eye(N, dtype=bool)]
        assert again.mean() == pytest.approx(0.2, abs=0.02)
    for own in several:
        for label in (0, 1):
            counts = np.bincount(own[problem.y == label])
            assert np.ptp(counts) <= 2


def test_clusters_stay_whole_in_every_repeat():
    who = np.random.default_rng(1).integers(0, 120, N)
    problem, several = folds_of(clusters=who, n_repeats=3, n_splits=3)
    own = who[problem.source_row]
    for folds in several:
        assert (pd.Series(folds).groupby(own).nunique() == 1).all()
    assert not np.array_equal(several[0], several[1])


@pytest.mark.parametrize("options", [{"max_learning_rows": 200}, {"evaluation": "holdout"}])
def test_all_repeats_learn_from_the_same_rows(options):
    _, several = folds_of(n_repeats=3, **options)
    learning = several >= 0
    assert 0 < learning[0].sum() < N
    np.testing.assert_array_equal(learning, np.tile(learning[0], (3, 1)))
    assert not np.array_equal(several[0], several[1])


@pytest.mark.repeats
def test_three_repeats_unless_others_are_asked_for_or_nothing_is_cross_fitted():
    assert [len(folds_of(**own)[1]) for own in ({}, {"n_repeats": 2})] == [3, 2]
    for own in ({"evaluation": "holdout"}, {"solver": "level_set"}, {"solver": "iterative"}):
        assert len(folds_of(**own)[1]) == 1
