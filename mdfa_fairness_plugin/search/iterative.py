r"""Algorithm 1 as written: refit the auditor with ever larger weight where the outcome hits others.

Weights go up by ``u xi`` each iteration on rows with ``S != Y`` and ``Y = y``, so that predicting
``c = 1`` pays only where the ratio is ever larger. Its line for ``alpha_t`` says ``y_i = 1`` and means
``y_i = y``. The loop ends at the first iterate whose mass is at most alpha; the answer is the iterate
before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from mdfa_fairness_plugin.learn.learners import fit_classifier, members, settled_learner
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.certificate import coincidence, halves
from mdfa_fairness_plugin.search.features import FeatureMap, maps_of
from mdfa_fairness_plugin.search.level_sets import LevelSets, SearchData
from mdfa_fairness_plugin.search.solver import Solved, Solver
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class IterativeRegion:
    """Share of the folds' answers that contain a row, and how long it stays along their iterates.

    ``runs`` are the iterates of each fold, the answer last, with the features they see.
    """

    runs: tuple[tuple[FeatureMap, list[Any]], ...]
    threshold: float = 0.5
    core_threshold: float = 0.5

    def scores(self, rows: Asked) -> np.ndarray:
        """Score rows: at least 1/2 in most folds' answer, less outside.

        Half of the score is the vote of the answers, rounded to a majority; the other half is the
        share of all iterates that contain the row.
        """
        votes, stays = np.zeros(len(rows)), np.zeros(len(rows))
        for mapped, iterates in self.runs:
            Z = mapped(rows.X)
            inside = [members(iterate, Z) for iterate in iterates]
            votes += inside[-1]
            stays += np.mean(inside, axis=0)
        return score_of(votes / len(self.runs), stays / len(self.runs))

    def by_model(self, rows: Asked) -> np.ndarray:
        """Scores by each fold's run alone, shape (n_models, n)."""
        return np.array([replace(self, runs=(run,)).scores(rows) for run in self.runs])

    def unseen(self) -> IterativeRegion:
        """What judges rows that no model saw: the last part's run."""
        return replace(self, runs=self.runs[-1:])


def score_of(vote: np.ndarray, stay: np.ndarray) -> np.ndarray:
    """Combine membership (1/2 or more) and the share of iterates that contain a row."""
    return 0.5 * (2.0 * vote >= 1.0) + 0.499 * stay


class IterativeSolver(Solver):
    """Algorithm 1 on each learning part; it makes its choice on the learning rows alone."""

    def solve(self, data: SearchData, settings: Settings) -> Solved:
        """Find the region, and judge the rows that a part has not seen."""
        maps = maps_of(data)
        labels = list(maps)
        runs = Parallel(n_jobs=settings.n_jobs, prefer="threads")(
            delayed(_run)(data, label, maps[label], settings) for label in labels
        )
        region = IterativeRegion(
            runs=tuple((maps[k], iterates) for k, (iterates, _) in zip(labels, runs, strict=True))
        )
        longest = max(len(iterates) for iterates, _ in runs)
        inside = np.zeros((longest, len(data.X)), dtype=bool)
        answer = np.zeros(len(data.X), dtype=bool)
        stay = np.zeros(len(data.X))
        for label, (iterates, _) in zip(labels, runs, strict=True):
            rows = data.folds == label
            if not rows.any():
                continue
            Z = maps[label](data.X[rows])
            predicted = np.array([members(iterate, Z) for iterate in iterates])
            inside[: len(iterates), rows] = predicted
            answer[rows] = predicted[-1]
            stay[rows] = predicted.mean(axis=0)
        scores = score_of(answer.astype(float), stay)
        rest = np.flatnonzero(~np.isin(data.folds, labels))
        if len(rest):
            scores[rest] = region.scores(Asked(data.X.take(rest)))
        member = scores >= region.threshold
        if member[data.held_out].all():
            # Everybody is the answer for other rows too.
            region = replace(region, threshold=-np.inf, core_threshold=-np.inf)
        cut_off = (
            f"Algorithm 1 was cut off after max_iter={settings.max_iter} iterations, before the mass "
            "had fallen to alpha, so the subgroup is larger than the worst case. Raise max_iter or xi."
        )
        return Solved(
            region=region,
            threshold=region.threshold,
            proposed=region.threshold,
            scores=scores,
            member=member,
            core=member,
            path=_path(data, inside, settings.xi),
            searched=member & data.held_out,
            iterations=tuple(len(iterates) for iterates, _ in runs),
            notes=() if all(stopped for _, stopped in runs) else (cut_off,),
        )


def _run(
    data: SearchData, label: int, mapped: FeatureMap, settings: Settings
) -> tuple[list[Any], bool]:
    """Iterates of one learning part up to the second to last, and whether the mass ended it."""
    train = (data.folds >= 0) & (data.folds != label)
    s = data.s[train]
    iterates, _, stopped = run_algorithm_1(
        mapped(data.X[train]),
        s,
        data.positive[train],
        halves(mapped.weights(data)[train], s),
        alpha=data.alpha,
        learner=settings.learner,
        xi=settings.xi,
        max_iter=settings.max_iter,
        seed=settings.seeds["learner"],
    )
    return iterates, stopped


def run_algorithm_1(
    Z: np.ndarray,
    s: np.ndarray,
    positive: np.ndarray,
    base: np.ndarray,
    *,
    alpha: float,
    learner: Any,
    xi: float,
    max_iter: int,
    seed: int,
) -> tuple[list[Any], list[float], bool]:
    """Iterates up to the second to last, their masses, and whether the mass ended it.

    ``base`` are weights of which each S value has half.
    """
    target = coincidence(s, positive)
    others = (target < 0) & positive
    iterates: list[Any] = []
    masses: list[float] = []
    for t in range(max_iter):
        weights = base * (1.0 + xi * t * others)
        iterate = fit_classifier(learner, Z.copy(), target, weights, seed)
        learner = settled_learner(learner, iterate)
        member = members(iterate, Z)
        mass = float((base * (member & positive)).sum() / base.sum())
        if mass <= alpha and iterates:
            return iterates, masses, True
        iterates.append(iterate)
        masses.append(mass)
        # Where nobody else in the region has the outcome no weight can make it smaller.
        if mass <= alpha or not (member & others).any():
            return iterates, masses, True
    return iterates, masses, False


def _path(data: SearchData, inside: np.ndarray, xi: float) -> LevelSets:
    """Held-out measurements of every iterate."""
    rows = data.held_out
    s, held = data.s[rows], data.take(np.flatnonzero(rows))
    steps = [held.rates(member) for member in inside[:, rows]]
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
