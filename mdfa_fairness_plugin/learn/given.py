"""Nuisances of the user's own: probabilities as given, or an estimator that the audit cross-fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit, xlogy
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.learners import seeded
from mdfa_fairness_plugin.learn.probability import (
    CrossFittedProbability,
    bounded,
    cross_fitted_probability,
)
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.numerics.threads import in_threads

# Calibrated probabilities beat what they say of themselves by so many standard errors in one set of
# three million; cautious ones of a fixed rule always do.
_BEYOND_CHANCE = 5.0
# Of the log-loss of the audit's models. Forests and boosting out of fold that beat what they say left
# .86 or more (five designs, 2,000 and 6,000 rows); fitted to the same rows they left .09 to .98, and
# less than this in 56 of 72 cases.
_SHARE_LEFT = 0.8


def check_given(argument: str, given: Any) -> None:
    """Refuse what is neither an estimator of probabilities nor can be an array of them."""
    if isinstance(given, type):
        name = given.__name__
        raise InputError(
            f"{argument}: an instance expected, the class {name} found; pass {name}()."
        )
    fits, tells = hasattr(given, "fit"), hasattr(given, "predict_proba")
    if fits != tells:
        missing = "predict_proba" if fits else "fit"
        raise InputError(
            f"{argument}: {type(given).__name__} has no {missing}. Pass an estimator with fit and "
            "predict_proba, which is fitted anew without each fold, or the probabilities as an array."
        )


@dataclass(frozen=True, eq=False)
class GivenProbability:
    """The user's probabilities of the rows audited; of others by the audit's own models.

    These are fitted when they are first asked.
    """

    out_of_fold: np.ndarray
    fit: Callable[[], CrossFittedProbability]
    loss = math.nan
    lesser = ()  # nothing to compare with
    share = 1.0

    @cached_property
    def own(self) -> CrossFittedProbability:
        """The audit's own models."""
        return self.fit()

    def predict(self, X: np.ndarray | RowView) -> np.ndarray:
        """Probability of new rows."""
        return self.own.predict(X)

    def without_models(self) -> GivenProbability:
        """The same, its models not fitted yet."""
        return replace(self)

    def has_seen(self, positive: np.ndarray, weight: np.ndarray, few: float) -> bool:
        """Whether the probabilities seem to come from models that were fitted to the same rows.

        Then they are right more often than they say, or tell the answer exactly, and leave far less
        open than models do out of fold. Where these tell it of all but ``few``, anybody can.
        """
        p = self.out_of_fold
        gap, spread = _surprise(p, positive, weight)
        exact = p[positive].min(initial=1.0) > p[~positive].max(initial=0.0)
        if not (exact or gap < -_BEYOND_CHANCE * spread):
            return False
        own = self.own.out_of_fold
        wrong = float(np.average((own > 0.5) != positive, weights=weight))
        return wrong > few and _loss(p, positive, weight) < _SHARE_LEFT * _loss(
            own, positive, weight
        )


def _loss(p: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    return float(np.average(-np.log(np.where(positive, p, 1.0 - p)), weights=weight))


def _surprise(p: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Log-loss beyond what the probabilities themselves expect, and its standard error."""
    expected = -xlogy(p, p) - xlogy(1.0 - p, 1.0 - p)
    gap = weight @ (-np.log(np.where(positive, p, 1.0 - p)) - expected)
    return float(gap), math.sqrt(float(weight**2 @ (p * (1.0 - p) * logit(p) ** 2)))


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFittedEstimator:
    """Predictions of the user's estimator, fitted without each row's fold; a predictor for new rows."""

    out_of_fold: np.ndarray
    models: tuple[Any, ...]
    loss = math.nan
    lesser = ()
    share = 1.0

    @classmethod
    def averaged(cls, repeats: Sequence[CrossFittedEstimator]) -> CrossFittedEstimator:
        """Averages over repeats with other folds."""
        return cls(
            out_of_fold=np.mean([one.out_of_fold for one in repeats], axis=0),
            models=tuple(model for one in repeats for model in one.models),
        )

    def predict(self, X: np.ndarray | RowView) -> np.ndarray:
        """Probability of new rows, averaged over the folds' models, or by the model of all folds."""
        return bounded(self.by_rung(X)[-1].mean(axis=0))

    def by_rung(self, X: np.ndarray | RowView) -> np.ndarray:
        """Probability of new rows by each model, on one rung: shape (1, n_models, n_new)."""
        return np.array([[_told(model, X[:]) for model in self.models]])

    def without_models(self) -> CrossFittedEstimator:
        """What was predicted alone."""
        return replace(self, models=())

    @cached_property
    def unseen(self) -> CrossFittedEstimator:
        """The predictor alone."""
        return replace(self, out_of_fold=np.empty(0))


def repeated_probability(
    estimator: Any,
    argument: str,
    X: np.ndarray | RowView,
    positive: np.ndarray,
    folds: np.ndarray,
    *,
    seeds: Sequence[int],
    ladder: bool = True,
    **options: Any,
) -> Any:
    """Predict ``Pr[positive | x]`` out of fold by the user's estimator, if it is one, or by our own.

    Averaged over repeats, of folds of shape (n_repeats, n) and a seed each.
    """
    repeats: list[Any] = []
    for own, seed in zip(folds, seeds, strict=True):
        given = {"random_state": seed, **options}
        if hasattr(estimator, "fit"):
            one: Any = cross_fitted_estimator(
                estimator, X, positive, own, argument=argument, **given
            )
        else:
            # How far boosting grows is asked once.
            given["n_rounds"] = repeats[0].n_rounds if repeats else None
            one = cross_fitted_probability(X, positive, own, ladder=ladder, **given)
        repeats.append(one)
    return type(repeats[0]).averaged(repeats)


def cross_fitted_estimator(
    estimator: Any,
    X: np.ndarray | RowView,
    positive: np.ndarray,
    folds: np.ndarray,
    *,
    argument: str,
    sample_weight: np.ndarray,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> CrossFittedEstimator:
    """Predict ``Pr[positive | x]`` out of fold by clones of an estimator; no model sees fold -1.

    A seed that was left open is ``random_state``.
    """
    weighs = has_fit_parameter(estimator, "sample_weight")
    labels = np.unique(folds[folds >= 0])
    trained = [(folds >= 0) & (folds != label) for label in labels]
    judged = [folds == label for label in labels]
    if (folds < 0).any():  # judged by a model of all folds
        trained.append(folds >= 0)
        judged.append(folds < 0)

    def fit(train: np.ndarray) -> Any:
        own = positive[train]
        if own.all() or not own.any():
            return float(own.all())
        model = clone(estimator, safe=False)
        if hasattr(model, "get_params"):
            model = seeded(model, random_state)
        options = {"sample_weight": sample_weight[train]} if weighs else {}
        try:
            return model.fit(X[train], own.astype(int), **options)
        except Exception as error:
            raise InputError(
                f"{argument}: {type(estimator).__name__} could not be fitted to the encoded features "
                f"({type(error).__name__}: {error}). Pass the probabilities as an array instead."
            ) from error

    models = in_threads(fit, ((train,) for train in trained), n_jobs, n_rows=len(folds))
    probability = np.empty(len(folds))
    for model, rows in zip(models, judged, strict=True):
        probability[rows] = _told(model, X[rows])
    if not np.isfinite(probability).all():
        raise InputError(
            f"{argument}: {type(estimator).__name__} gives {int((~np.isfinite(probability)).sum())} "
            "probabilities that are no numbers."
        )
    kept = models[-1:] if len(models) > len(labels) else models
    return CrossFittedEstimator(out_of_fold=bounded(probability), models=tuple(kept))


def _told(model: Any, X: np.ndarray) -> np.ndarray:
    if isinstance(model, float):
        return np.full(len(X), model)
    if len(X) == 0:
        return np.empty(0)
    return np.asarray(model.predict_proba(X), dtype=float)[:, 1]
