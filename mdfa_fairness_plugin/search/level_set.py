r"""Algorithm 1's whole path from one fit: level sets of ``r(x) = Pr_w[S=+1|Y=y,x] / Pr_w[S=-1|Y=y,x]``.

With balanced weights Algorithm 1's iterate ``t`` is, in the limit, ``{r > 1 + xi t / 2}``, and by
Dinkelbach's argument the worst ratio over all regions of mass alpha is a level set of r too. So r is
learned once, as a probabilistic classifier of S among the rows with ``Y = y``, and every iterate is
read off by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from mdfa_fairness_plugin.learn.learners import fit_classifier, log_odds
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.certificate import halves
from mdfa_fairness_plugin.search.features import FeatureMap, maps_of
from mdfa_fairness_plugin.search.level_sets import SearchData
from mdfa_fairness_plugin.search.selection import Family, choose, solved
from mdfa_fairness_plugin.search.solver import Solved, Solver
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelSetRegion:
    """A level set of the log-odds, averaged over the folds' models."""

    models: tuple[tuple[FeatureMap, Any], ...]
    threshold: float = -np.inf
    core_threshold: float = -np.inf

    def scores(self, rows: Asked) -> np.ndarray:
        """Score rows; larger is worse treated."""
        return np.mean(self.by_model(rows), axis=0)

    def by_model(self, rows: Asked) -> np.ndarray:
        """Scores by each fold's model, shape (n_models, n)."""
        return np.array([log_odds(model, mapped(rows.X)) for mapped, model in self.models])

    def unseen(self) -> LevelSetRegion:
        """What judges rows that no model saw: the last part's model."""
        return replace(self, models=self.models[-1:])


class LevelSetSolver(Solver):
    """Level sets of one classifier of S among the rows with the outcome."""

    def solve(self, data: SearchData, settings: Settings) -> Solved:
        """Find the region."""
        scores, region = level_set_scores(
            data,
            learner=settings.learner,
            maps=maps_of(data),
            random_state=settings.seeds["learner"],
            n_jobs=settings.n_jobs,
        )
        chosen = choose(data, lambda rows: level_set_families(scores[rows]), lambda name: scores)
        return solved(data, region, chosen)


def level_set_scores(
    data: SearchData,
    *,
    learner: Any,
    maps: dict[int, FeatureMap],
    random_state: int,
    n_jobs: int | None,
) -> tuple[np.ndarray, LevelSetRegion]:
    """Out-of-fold log-odds of S among rows with the audited outcome, each part seen by its map."""
    labels = list(maps)

    def fit(label: int) -> Any:
        weights = halves(maps[label].weights(data), data.s)
        train = (data.folds >= 0) & (data.folds != label) & data.positive & (weights > 0)
        return fit_classifier(
            learner, maps[label](data.X[train]), data.s[train], weights[train], random_state
        )

    models = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fit)(label) for label in labels)
    region = LevelSetRegion(
        models=tuple((maps[k], model) for k, model in zip(labels, models, strict=True))
    )
    scores = np.empty(len(data.X))
    for label, model in zip(labels, models, strict=True):
        rows = data.folds == label
        if rows.any():
            scores[rows] = log_odds(model, maps[label](data.X[rows]))
    rest = np.flatnonzero(~np.isin(data.folds, labels))
    if len(rest):
        scores[rest] = region.scores(Asked(data.X.take(rest)))
    return scores, region


def level_set_families(scores: np.ndarray) -> list[Family]:
    """Cuts of one score: half way up a plateau, and evenly spaced level sets."""
    shares = tuple(np.linspace(0.05, 0.95, 19).tolist())
    return [Family(name="log odds of the group given the outcome", scores=scores, shares=shares)]
