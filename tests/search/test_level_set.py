"""One fit gives the whole path: exact on discrete features, where every rate is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from mdfa_fairness_plugin.learn.learners import LEARNERS
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.features import FeatureMap
from mdfa_fairness_plugin.search.level_set import level_set_families, level_set_scores
from mdfa_fairness_plugin.search.level_sets import Sweep
from mdfa_fairness_plugin.search.selection import Proposals, select_region

RATES = [(0.8, 0.2), (0.6, 0.4), (0.5, 0.5), (0.2, 0.4), (0.9, 0.7)]
SATURATED = DecisionTreeClassifier()


def scores_of(data, learner=SATURATED, parts=(0, 1), n_jobs=None):
    return level_set_scores(
        data,
        learner=learner,
        maps={part: FeatureMap() for part in parts},
        random_state=0,
        n_jobs=n_jobs,
    )


def test_score_is_the_log_ratio_of_rates_cell_by_cell(cells):
    data, x = cells(RATES)
    scores, region = scores_of(data)
    truth = np.log([p1 / p0 for p1, p0 in RATES])
    np.testing.assert_allclose(scores, truth[x], atol=1e-9)
    np.testing.assert_allclose(region.scores(Asked(np.eye(5))), truth, atol=1e-9)


def test_a_threefold_weight_of_one_side_shifts_its_cell_by_log_three(cells):
    """Each side carries half in all, so every cell moves by the same constant besides."""
    data, x = cells(RATES)
    weights = np.where((data.s > 0) & (x == 0), 3.0, 1.0)
    moved = scores_of(type(data)(**{**vars(data), "weights": weights}))[0] - scores_of(data)[0]
    constant = np.log(100 / 140)  # 5 cells of 20 rows, one of them threefold
    np.testing.assert_allclose(moved, constant + np.where(x == 0, np.log(3), 0.0), atol=1e-9)


def test_each_row_is_scored_by_a_model_that_has_not_seen_it(cells):
    """Outcomes of a fold changed at will leave its own scores as they were."""
    data, _ = cells(RATES)
    first = data.folds == 0
    changed = type(data)(**{**vars(data), "value": data.positive ^ (first & (data.s > 0))})
    one, two = scores_of(data)[0], scores_of(changed)[0]
    np.testing.assert_array_equal(one[first], two[first])
    assert not np.array_equal(one[~first], two[~first])


def test_rows_held_back_get_the_average_of_the_models(cells):
    data, _ = cells(RATES, n_folds=3)
    held_back = type(data)(**{**vars(data), "folds": np.where(data.folds == 2, -1, data.folds)})
    scores, region = scores_of(held_back, parts=(0, 1))
    rest = held_back.folds == -1
    np.testing.assert_array_equal(scores[rest], region.scores(Asked(data.X[rest])))


def test_a_fold_without_rows_is_no_obstacle(cells):
    """As of a small comparison among many folds."""
    data, _ = cells(RATES)
    assert np.isfinite(scores_of(data, parts=(0, 1, 2))[0]).all()


def test_jobs_do_not_matter(cells):
    data, _ = cells(RATES)
    np.testing.assert_array_equal(
        scores_of(data, "random_forest")[0], scores_of(data, "random_forest", n_jobs=2)[0]
    )


def test_path_visits_the_cells_in_order_of_their_ratio(cells):
    data, x = cells(RATES)
    scores, _ = scores_of(data)
    order = np.argsort([-p1 / p0 for p1, p0 in RATES])
    sweep = Sweep.of(data, scores)
    for k in range(1, 5):
        inside = np.isin(x, order[:k])
        # Floating point: cut between cells.
        sets = sweep.at([scores[inside].min() - 1e-6])
        assert sets.n_rows[0] == inside.sum()


def test_worst_ratio_among_regions_of_the_mass_is_found(cells):
    """Dinkelbach: the best union of cells is a level set; up to a mass of .1 cell 0 alone."""
    for alpha, expected in ((0.05, {0}), (0.15, {0, 1}), (0.3, {0, 1, 4})):
        data, x = cells(RATES, n_folds=4, alpha=alpha)
        scores, _ = scores_of(data, parts=(0, 1, 2, 3))
        kept = select_region(Proposals(data, level_set_families(scores)))
        assert set(x[kept.member]) == expected


def test_every_twentieth_of_the_rows_is_proposed(cells):
    data, _ = cells([(0.5, 0.5)] * 5)
    scores = np.arange(len(data.s), 0, -1.0)
    (family,) = level_set_families(scores)
    cuts = Sweep.of(data, scores).quantiles(np.array(family.shares))
    assert [(scores >= cut).mean() for cut in cuts] == pytest.approx(np.arange(1, 20) / 20)


@pytest.mark.parametrize("learner", [n for n in LEARNERS if n != "network_features"])
@pytest.mark.parametrize("side", [1, -1])
def test_outcome_of_one_side_only(cells, learner, side):
    """Nobody else has the outcome: a constant score on the right side, no error."""
    data, _ = cells(RATES)
    alone = type(data)(**{**vars(data), "value": data.positive & (data.s == side)})
    scores, region = scores_of(alone, learner)
    assert len(set(scores)) == 1
    assert np.sign(scores[0]) == side
    assert np.sign(region.scores(Asked(data.X[:1])))[0] == side
    assert select_region(Proposals(alone, level_set_families(scores))).member.all()


@pytest.mark.parametrize("learner", ["tree", "logistic", "gradient_boosting"])
def test_outcome_of_nobody(cells, learner):
    """A part without a single row to learn from tells nothing: everybody is alike."""
    data, _ = cells(RATES)
    nobody = type(data)(**{**vars(data), "value": np.zeros(len(data.s), dtype=bool)})
    scores, _ = scores_of(nobody, learner)
    assert len(set(scores)) == 1
