"""Algorithm 1 step by step: which rows gain weight, when it stops, which iterate it returns."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.features import FeatureMap
from mdfa_fairness_plugin.search.iterative import IterativeSolver, score_of
from mdfa_fairness_plugin.search.level_set import level_set_scores
from mdfa_fairness_plugin.settings import Settings

RATES = [(0.8, 0.2), (0.6, 0.4), (0.5, 0.5), (0.2, 0.4), (0.9, 0.7)]


class Shrinking(ClassifierMixin, BaseEstimator):
    """At iterate ``t``, read off its weights, predicts +1 on the cells from ``t`` on."""

    seen: ClassVar = []

    def __init__(self, xi=0.5):
        self.xi = xi

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([-1, 1])
        self.t_ = round((sample_weight.max() / sample_weight.min() - 1) / self.xi)
        Shrinking.seen.append((np.asarray(y).copy(), sample_weight.copy()))
        return self

    def predict(self, X):
        return np.where(X @ np.arange(X.shape[1]) >= self.t_, 1, -1)


def run(data, learner, *, xi=0.5, max_iter=100, parts=(0, 1), n_jobs=None):
    settings = Settings(
        learner=learner, xi=xi, max_iter=max_iter, n_jobs=n_jobs, own_seeds={"learner": 0}
    )
    return IterativeSolver().solve(replace(data, parts=parts), settings)


@pytest.mark.parametrize(
    ("alpha", "answer"),
    # Everybody has the outcome, so cells t to 7 have mass (8 - t) / 8: 1, 7/8, ... The first mass
    # of at most alpha ends the loop and the iterate before it is the answer.
    [(0.51, 3), (0.5, 3), (0.49, 4), (0.26, 5), (0.25, 5), (0.05, 7)],
)
def test_the_second_to_last_iterate_is_the_answer(cells, alpha, answer):
    data, x = cells([(1.0, 1.0)] * 8, alpha=alpha)
    found = run(data, Shrinking())
    np.testing.assert_array_equal(found.scores >= 0.5, x >= answer)
    assert not found.notes
    assert found.iterations == (answer + 1, answer + 1)
    np.testing.assert_array_equal(
        found.region.scores(Asked(np.eye(8))) >= 0.5, np.arange(8) >= answer
    )


def test_a_first_iterate_too_small_is_all_there_is(cells):
    data, _ = cells([(1.0, 1.0)] * 8 + [(0.0, 0.0)] * 8, alpha=0.6)
    found = run(data, Shrinking())
    assert not found.notes
    assert (found.scores >= 0.5).all()
    assert found.iterations == (1, 1)
    # Everybody is the answer for a row that the iterate itself would leave out, too.
    new = Asked(-np.eye(16)[1:2])
    assert found.region.scores(new)[0] < 0.5
    assert found.region.scores(new)[0] >= found.region.threshold


def test_the_limit_on_iterations_gives_the_last_one_and_says_so(cells):
    data, x = cells([(1.0, 1.0)] * 8, alpha=0.1)
    found = run(data, Shrinking(), max_iter=3)
    assert found.notes
    np.testing.assert_array_equal(found.scores >= 0.5, x >= 2)


def test_a_region_that_cannot_shrink_ends_the_loop(cells):
    """Nobody else has the outcome in cell 0, so no weight can drive it out: the answer."""
    data, x = cells([(0.8, 0.0), (0.5, 0.5), (0.4, 0.4)], alpha=0.01)
    found = run(data, DecisionTreeClassifier(), max_iter=60)
    assert not found.notes
    assert max(found.iterations) < 60
    np.testing.assert_array_equal(found.scores >= 0.5, x == 0)


def test_weight_goes_to_others_with_the_outcome_and_to_nobody_else(cells):
    """The t-th fit weighs rows with S = -1 and Y = y by 1 + xi t, all others as before."""
    data, _ = cells([(0.5, 0.5)] * 8, alpha=0.2)
    Shrinking.seen.clear()
    run(data, Shrinking(), parts=(0,))
    train = data.folds != 0
    s, positive = data.s[train], data.positive[train]
    assert len(Shrinking.seen) > 3
    for t, (y, weight) in enumerate(Shrinking.seen):
        np.testing.assert_array_equal(y, np.where((s > 0) == positive, 1, -1))
        expected = np.where((s < 0) & positive, 1 + 0.5 * t, 1.0)
        np.testing.assert_allclose(weight, expected)


def test_balancing_weights_are_kept_and_each_side_carries_half(cells):
    data, x = cells([(0.5, 0.5)] * 8, alpha=0.2, weights=None)
    weights = np.where(data.s > 0, 5.0, 1.0) * (1 + x)
    Shrinking.seen.clear()
    run(type(data)(**{**vars(data), "weights": weights}), Shrinking(), parts=(0,), max_iter=1)
    _, weight = Shrinking.seen[0]
    s = data.s[data.folds != 0]
    assert weight[s > 0].sum() == pytest.approx(weight[s < 0].sum())
    assert weight.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(weight / weight.min(), (1 + x)[data.folds != 0])


def test_iterates_are_the_level_sets_of_the_rate_ratio(cells):
    """G_t = {x : p1 / p0 > 1 + xi t / 2}, exactly, where every cell is balanced."""
    data, x = cells(RATES, alpha=0.01)
    xi = 0.13  # no ratio of the cells is met exactly
    found = run(data, DecisionTreeClassifier(), xi=xi)
    ratio = np.array([p1 / p0 for p1, p0 in RATES])
    np.testing.assert_allclose(found.path.threshold, 1 + xi * np.arange(len(found.path.mass)) / 2)
    for _, iterates in found.region.runs:
        for step, iterate in enumerate(iterates):
            inside = iterate.predict(np.eye(5)) > 0
            np.testing.assert_array_equal(inside, ratio > 1 + xi * step / 2)
    # The last one standing is the cell of the largest ratio.
    assert set(x[found.scores >= 0.5]) == {0}


def test_path_measures_every_iterate(cells):
    """Cells 0, 1, 4 to begin with: mean rates 23/30 and 13/30, mass 3/5 of their mean."""
    data, _ = cells(RATES, alpha=0.01)
    path = run(data, DecisionTreeClassifier(), xi=0.13).path
    assert path.delta[0] == pytest.approx(np.log(23 / 13))
    assert path.mass[0] == pytest.approx(0.6 * 18 / 30)
    assert path.n_rows[0] == 3 * 80
    assert path.delta[-1] == pytest.approx(np.log(4))
    assert path.mass[-1] == pytest.approx(0.2 * 0.5)
    assert (np.diff(path.n_rows) <= 0).all()
    assert (path.low <= path.delta).all()
    assert (path.fewest * 2 == path.n_rows).all()


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_level_sets_of_one_fit(make_search, seed):
    """On drawn data of any propensity iterate t is {r > 1 + xi t / 2}, with r learned once.

    Exactly so with weights that balance every cell; nearly so with the true propensity's.
    """
    rng = np.random.default_rng(seed)
    n, xi = 6000, 0.2
    cell, fold = rng.integers(0, 6, n), rng.integers(0, 2, n)
    propensity = np.linspace(0.3, 0.7, 6)[cell]
    s = np.where(rng.random(n) < propensity, 1, -1)
    ratio = np.array([0.6, 0.9, 1.25, 1.7, 2.2, 2.8])
    positive = rng.random(n) < 0.3 * np.where(s > 0, ratio[cell], 1.0)
    odds = np.empty(n)
    for rows in ((cell == k) & (fold == f) for k in range(6) for f in range(2)):
        odds[rows] = (s[rows] < 0).sum() / (s[rows] > 0).sum()
    for own, agreement in ((odds, 1.0), ((1 - propensity) / propensity, 0.8)):
        weights = np.where(s > 0, own, 1.0)
        data = make_search(np.eye(6)[cell], s, positive, alpha=0.08, weights=weights, folds=fold)
        found = run(data, DecisionTreeClassifier(), xi=xi)
        scores, _ = level_set_scores(
            data,
            learner=DecisionTreeClassifier(),
            maps={part: FeatureMap() for part in (0, 1)},
            random_state=0,
            n_jobs=None,
        )
        common, either = 0, 0
        for part, (_, iterates) in enumerate(found.region.runs):
            rows = fold == part
            for t, iterate in enumerate(iterates):
                inside = iterate.predict(data.X[rows]) > 0
                # What the fold's own model would keep: r with each side carrying half of its part.
                level = scores[rows] > np.log(1 + xi * t / 2) + shift(data, part)
                common += (inside & level).sum()
                either += (inside | level).sum()
        assert common / either >= agreement
        assert ratio[cell[found.scores >= 0.5]].mean() > 2.1


def shift(data, part):
    """Log odds of the sides' halves over everybody against those over the part learned from."""
    train = data.folds != part
    sums = [
        [data.weights[rows & (data.s == side)].sum() for side in (1, -1)]
        for rows in (train, np.ones(len(train), dtype=bool))
    ]
    return np.log(sums[0][0] / sums[0][1]) - np.log(sums[1][0] / sums[1][1])


def test_a_row_is_judged_by_the_iterates_of_the_other_fold(cells):
    data, _ = cells(RATES)
    first = data.folds == 0
    changed = type(data)(**{**vars(data), "value": data.positive ^ first})
    tree = DecisionTreeClassifier(max_depth=3)
    one, two = run(data, tree).scores, run(changed, tree).scores
    np.testing.assert_array_equal(one[first], two[first])
    assert not np.array_equal(one[~first], two[~first])


def test_rows_held_back_are_judged_by_the_vote(cells):
    data, _ = cells(RATES, n_folds=3)
    held_back = type(data)(**{**vars(data), "folds": np.where(data.folds == 2, -1, data.folds)})
    found = run(held_back, DecisionTreeClassifier())
    rest = held_back.folds == -1
    np.testing.assert_array_equal(found.scores[rest], found.region.scores(Asked(data.X[rest])))


def test_a_fold_without_rows_is_no_obstacle(cells):
    """As of a small comparison among many folds."""
    data, _ = cells(RATES)
    found = run(data, DecisionTreeClassifier(), parts=(0, 1, 2), max_iter=3)
    assert np.isfinite(found.scores).all()


def test_jobs_do_not_matter(cells):
    data, _ = cells(RATES)
    one = run(data, "tree", max_iter=5)
    two = run(data, "tree", max_iter=5, n_jobs=2)
    np.testing.assert_array_equal(one.scores, two.scores)


def test_scores_put_members_above_everybody_else():
    stay = np.linspace(0, 1, 11)
    assert (score_of(np.ones(11), stay) >= 0.5).all()
    assert (score_of(np.zeros(11), stay) < 0.5).all()
    assert (np.diff(score_of(np.zeros(11), stay)) > 0).all()
    assert score_of(np.array([0.5]), np.array([0.0]))[0] >= 0.5


@pytest.mark.parametrize("learner", ["tree", "logistic", "svm_linear", "svm_rbf"])
def test_outcome_that_repeats_the_sensitive_value(cells, learner):
    """Then S Y is +1 for everyone, one label only: everybody is the answer."""
    data, _ = cells(RATES)
    same = type(data)(**{**vars(data), "value": data.s > 0})
    found = run(same, learner, max_iter=3)
    assert (found.scores >= 0.5).all()
    assert np.isposinf(found.path.delta).all()
