"""What the searches of one comparison share, whichever side is asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.learn.difference import cross_fitted_difference
from mdfa_fairness_plugin.learn.learners import make_regressor
from mdfa_fairness_plugin.search import ground
from mdfa_fairness_plugin.search.ground import orientation
from mdfa_fairness_plugin.search.outcomes import rarer


def test_rarer_side_is_plus_one_however_labels_are_called():
    s = np.array([1, 1, 1, 0, -1])
    assert orientation(s) == -1
    assert orientation(-s) == 1


def test_a_tie_goes_to_the_first_row_compared():
    """So both labelings of the same rows are turned to the same orientation."""
    s = np.array([0, -1, 1, 1, -1])
    assert orientation(s) == -1
    assert orientation(-s) == 1
    np.testing.assert_array_equal(orientation(s) * s, orientation(-s) * -s)


@pytest.mark.parametrize(
    ("positive", "turned"),
    [([1, 0, 0], False), ([0, 1, 1], True), ([1, 0, 0, 1], False), ([0, 1, 1, 0], True)],
)
def test_models_are_fitted_to_the_rarer_outcome_or_that_of_the_first_row(positive, turned):
    positive = np.array(positive, dtype=bool)
    np.testing.assert_array_equal(rarer(positive), ~positive if turned else positive)
    np.testing.assert_array_equal(rarer(~positive), rarer(positive))


@pytest.mark.parametrize("evaluation", ["cross_fit", "holdout"])
def test_a_learner_is_told_how_many_rows_it_learns_from(monkeypatch, evaluation):
    """Leaves grow with them: everybody who is compared, or who was not kept for evaluation."""
    told = []
    monkeypatch.setattr(
        ground,
        "make_regressor",
        lambda learner, n_rows, seed: told.append(n_rows) or make_regressor(learner, n_rows, seed),
    )
    rng = np.random.default_rng(0)
    s, y = rng.choice(["f", "m"], 200), rng.random(200) < 0.4
    (v,) = mdfa.audit(
        rng.normal(size=(200, 2)),
        y,
        sensitive_features=s,
        learner="tree",
        n_splits=2,
        evaluation=evaluation,
        groups=["f"],
        outcomes=[True],
        random_state=0,
    ).violations
    assert set(told) == {200 if evaluation == "cross_fit" else (~v.held_out).sum()}


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.MDFAWarning")
def test_trees_of_every_repeat_are_shared_by_more_splits_into_folds(monkeypatch):
    """Twenty in all, of which the first of each repeat is by the models' folds; clusters stay whole."""
    seen = []

    def spy(X, residuals, folds, **options):
        seen.append((folds, options["random_state"], options["n_trees"]))
        options["learner"] = DecisionTreeRegressor(max_depth=2)  # quick
        return cross_fitted_difference(X, residuals, folds, **options)

    monkeypatch.setattr(ground, "cross_fitted_difference", spy)
    rng = np.random.default_rng(0)
    result = mdfa.audit(
        rng.normal(size=(300, 2)),
        rng.random(300) < 0.4,
        sensitive_features=rng.choice(["f", "m"], 300),
        clusters=np.arange(300) // 2,
        n_repeats=2,
        n_splits=2,
        groups=["f"],
        outcomes=[True],
        propensity={"f": np.full(300, 0.5)},
        outcome_probability={True: np.full(300, 0.4)},
        random_state=0,
    )
    folds, seeds, trees = zip(*seen, strict=True)
    assert trees == (24, *[12] * 9) * 2
    assert len({own.tobytes() for own in folds}) == len(set(seeds)) == 20
    for own in folds:
        assert (pd.Series(own).groupby(result.source.problem.cluster).nunique() == 1).all()
    assert len(result.violations[0].spread.ratios) == 2
