r"""Algorithm 1's whole path from one fit: level sets of ``r(x) = Pr_w[S=+1|Y=y,x] / Pr_w[S=-1|Y=y,x]``.

With balanced weights Algorithm 1's iterate ``t`` is, in the limit, ``{r > 1 + xi t / 2}``, and by
Dinkelbach's argument the worst ratio over all regions of mass alpha is a level set of r too. So r is
learned once, as a probabilistic classifier of S among the rows with ``Y = y``, and every iterate is
read off by sorting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed

from mdfa_fairness_plugin.learn.learners import fit_classifier, log_odds
from mdfa_fairness_plugin.search.certificate import halves
from mdfa_fairness_plugin.search.features import FeatureMap
from mdfa_fairness_plugin.search.level_sets import SearchData
from mdfa_fairness_plugin.search.selection import Family


class LevelSetPredictor:
    """Average log-odds over the folds' models; larger is worse treated.

    Parameters
    ----------
    models : list of (FeatureMap, classifier)
    """

    def __init__(self, models: list[tuple[FeatureMap, Any]]) -> None:
        self.models = models

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Score rows of shape (n, d)."""
        return np.mean(self.by_model(X), axis=0)

    def by_model(self, X: np.ndarray) -> np.ndarray:
        """Scores by each fold's model, shape (n_models, n)."""
        return np.array([log_odds(model, mapped(X)) for mapped, model in self.models])


def level_set_scores(
    data: SearchData,
    *,
    learner: Any,
    maps: dict[int, FeatureMap],
    random_state: int,
    n_jobs: int | None,
) -> tuple[np.ndarray, LevelSetPredictor]:
    """Out-of-fold log-odds of S among rows with the audited outcome.

    Parameters
    ----------
    data : SearchData
    learner : str or classifier
    maps : dict of int to FeatureMap
        Features each fold's model sees.
    random_state : int
    n_jobs : int or None

    Returns
    -------
    scores : ndarray of shape (n,)
    predictor : LevelSetPredictor
    """
    weights = halves(data.weights, data.s)
    labels = list(maps)

    def fit(label: int) -> Any:
        train = (data.folds >= 0) & (data.folds != label) & data.positive & (weights > 0)
        return fit_classifier(
            learner, maps[label](data.X[train]), data.s[train], weights[train], random_state
        )

    models = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fit)(label) for label in labels)
    predictor = LevelSetPredictor([(maps[k], m) for k, m in zip(labels, models, strict=True)])
    scores = np.empty(len(data.X))
    for label, model in zip(labels, models, strict=True):
        rows = data.folds == label
        if rows.any():
            scores[rows] = log_odds(model, maps[label](data.X[rows]))
    rest = ~np.isin(data.folds, labels)
    if rest.any():
        scores[rest] = predictor(data.X[rest])
    return scores, predictor


def level_set_families(scores: np.ndarray) -> list[Family]:
    """Cuts of one score: half way up a plateau, and evenly spaced level sets.

    Parameters
    ----------
    scores : ndarray of shape (n,)

    Returns
    -------
    families : list of one Family
    """
    shares = tuple(np.linspace(0.05, 0.95, 19).tolist())
    return [Family(name="log odds of the group given the outcome", scores=scores, shares=shares)]
