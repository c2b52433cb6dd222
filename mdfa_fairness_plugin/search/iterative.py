r"""Algorithm 1 as written: refit the auditor with ever larger weight where the outcome hits others.

Weights go up by ``u xi`` each iteration on rows with ``S != Y`` and ``Y = y``, so that predicting
``c = 1`` pays only where the ratio is ever larger. Its line for ``alpha_t`` says ``y_i = 1`` and means
``y_i = y``. The loop ends at the first iterate whose mass is at most alpha; the answer is the iterate
before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from mdfa_fairness_plugin.learn.learners import fit_classifier
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.search.certificate import coincidence, halves
from mdfa_fairness_plugin.search.features import FeatureMap
from mdfa_fairness_plugin.search.level_sets import LevelSets, SearchData


class IterativePredictor:
    """Share of the folds' answers that contain a row, and how long it stays along their iterates.

    Parameters
    ----------
    runs : list of (FeatureMap, list of classifiers)
        Iterates of each fold, the answer last.
    """

    def __init__(self, runs: list[tuple[FeatureMap, list[Any]]]) -> None:
        self.runs = runs

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Score rows of shape (n, d): at least 1/2 in most folds' answer, less outside.

        Half of the score is the vote of the answers, rounded to a majority; the other half is the
        share of all iterates that contain the row.
        """
        votes, stays = np.zeros(len(X)), np.zeros(len(X))
        for mapped, iterates in self.runs:
            Z = mapped(X)
            inside = [iterate.predict(Z) > 0 for iterate in iterates]
            votes += inside[-1]
            stays += np.mean(inside, axis=0)
        return score_of(votes / len(self.runs), stays / len(self.runs))

    def by_model(self, X: np.ndarray) -> np.ndarray:
        """Scores by each fold's run alone, shape (n_models, n)."""
        return np.array([IterativePredictor([run])(X) for run in self.runs])


def score_of(vote: np.ndarray, stay: np.ndarray) -> np.ndarray:
    """Combine membership (1/2 or more) and the share of iterates that contain a row."""
    return 0.5 * (2.0 * vote >= 1.0) + 0.499 * stay


@dataclass(frozen=True, kw_only=True, eq=False)
class IterativeSearch:
    """What Algorithm 1 returned.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        As ``score_of``, each row judged by its fold's iterates.
    path : LevelSets
        Every iterate, largest first as Algorithm 1 visits them; ``threshold`` is the ratio
        ``1 + xi t / 2`` above which the iterate keeps a row in the limit.
    n_iterations : tuple of int
        Iterations until the mass fell to alpha, per fold.
    stopped : bool
        Whether every fold's run ended by its mass, not by the limit on iterations.
    predictor : IterativePredictor
    """

    scores: np.ndarray
    path: LevelSets
    n_iterations: tuple[int, ...]
    stopped: bool
    predictor: IterativePredictor


def iterative_search(
    data: SearchData,
    *,
    learner: Any,
    maps: dict[int, FeatureMap],
    xi: float,
    max_iter: int,
    random_state: int,
    n_jobs: int | None,
) -> IterativeSearch:
    """Run Algorithm 1 on each learning part and judge the rows it has not seen.

    Parameters
    ----------
    data : SearchData
    learner : str or classifier
        Any that takes sample weights.
    maps : dict of int to FeatureMap
    xi : float
        Step of the weights.
    max_iter : int
    random_state : int
    n_jobs : int or None

    Returns
    -------
    search : IterativeSearch
    """
    labels = list(maps)
    runs = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_run)(data, label, maps[label], learner, xi, max_iter, random_state)
        for label in labels
    )
    longest = max(len(iterates) for iterates, _ in runs)
    inside = np.zeros((longest, len(data.X)), dtype=bool)
    answer = np.zeros(len(data.X), dtype=bool)
    stay = np.zeros(len(data.X))
    predictor = IterativePredictor(
        [(maps[k], iterates) for k, (iterates, _) in zip(labels, runs, strict=True)]
    )
    for label, (iterates, _) in zip(labels, runs, strict=True):
        rows = data.folds == label
        if not rows.any():
            continue
        Z = maps[label](data.X[rows])
        predicted = np.array([iterate.predict(Z) > 0 for iterate in iterates])
        inside[: len(iterates), rows] = predicted
        answer[rows] = predicted[-1]
        stay[rows] = predicted.mean(axis=0)
    scores = score_of(answer.astype(float), stay)
    rest = ~np.isin(data.folds, labels)
    if rest.any():
        scores[rest] = predictor(data.X[rest])
    return IterativeSearch(
        scores=scores,
        path=_path(data, inside, xi),
        n_iterations=tuple(len(iterates) for iterates, _ in runs),
        stopped=all(stopped for _, stopped in runs),
        predictor=predictor,
    )


def _run(
    data: SearchData,
    label: int,
    mapped: FeatureMap,
    learner: Any,
    xi: float,
    max_iter: int,
    random_state: int,
) -> tuple[list[Any], bool]:
    """Iterates of one learning part up to the second to last, and whether the mass ended it."""
    train = (data.folds >= 0) & (data.folds != label)
    Z, s, positive = mapped(data.X[train]), data.s[train], data.positive[train]
    base = halves(data.weights[train], s)
    target = coincidence(s, positive)
    others = (target < 0) & positive
    iterates: list[Any] = []
    for t in range(max_iter):
        weight = base * (1.0 + xi * t * others)
        iterate = fit_classifier(learner, Z, target, weight, random_state)
        member = iterate.predict(Z) > 0
        mass = float((base * (member & positive)).sum() / base.sum())
        if mass <= data.alpha:
            return iterates or [iterate], True
        iterates.append(iterate)
        if not (member & others).any():
            # Nobody else in the region has the outcome: no weight can make it smaller.
            return iterates, True
    return iterates, False


def _path(data: SearchData, inside: np.ndarray, xi: float) -> LevelSets:
    """Held-out measurements of every iterate."""
    rows = data.held_out
    s, positive, weights = data.s[rows], data.positive[rows], data.weights[rows]
    steps = [measure(positive, s, weights, member) for member in inside[:, rows]]
    limits = np.array([delta_interval(step, data.confidence_level) for step in steps])
    counts = np.array(
        [[(member & (s > 0)).sum(), (member & (s < 0)).sum()] for member in inside[:, rows]]
    )
    return LevelSets(
        threshold=1.0 + xi * np.arange(len(steps)) / 2.0,
        delta=np.array([step.delta for step in steps]),
        low=limits[:, 0],
        high=limits[:, 1],
        mass=np.nan_to_num(np.array([step.mass for step in steps])),
        error=np.full(len(steps), np.nan),
        n_rows=counts.sum(axis=1),
        fewest=counts.min(axis=1),
    )
