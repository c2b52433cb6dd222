"""Nuisances of the user's own: predictions as given, or an estimator that the audit cross-fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit, xlogy
from sklearn.base import clone

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.learners import seeded
from mdfa_fairness_plugin.learn.links import LOGIT, Link
from mdfa_fairness_plugin.learn.models import Shared
from mdfa_fairness_plugin.learn.probability import CrossFittedMean, cross_fitted_mean
from mdfa_fairness_plugin.learn.weighted import fit_weighted, takes_weights
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.numerics.threads import in_threads

# Calibrated probabilities beat what they say of themselves by so many standard errors in one set of
# three million; cautious ones of a fixed rule always do.
_BEYOND_CHANCE = 5.0
# Of the log-loss of the audit's models. Forests and boosting out of fold that beat what they say left
# .86 or more (five designs, 2,000 and 6,000 rows); fitted to the same rows they left .09 to .98, and
# less than this in 56 of 72 cases.
_SHARE_LEFT = 0.8
# Of the variance of numbers that are told exactly.
_EXACT = 1e-6


def check_given(argument: str, given: Any, link: Link = LOGIT) -> None:
    """Refuse what is neither an estimator of probabilities, or numbers, nor can be an array of them."""
    if isinstance(given, type):
        name = given.__name__
        raise InputError(
            f"{argument}: an instance expected, the class {name} found; pass {name}()."
        )
    fits, tells = hasattr(given, "fit"), hasattr(given, link.method)
    if fits != tells:
        missing = link.method if fits else "fit"
        raise InputError(
            f"{argument}: {type(given).__name__} has no {missing}. Pass an estimator with fit and "
            f"{link.method}, which is fitted anew without each fold, or the {link.noun} as an array."
        )


@dataclass(frozen=True, eq=False)
class GivenProbability:
    """The user's probabilities, or means, of the rows audited; of others by the audit's own models.

    These are fitted when they are first asked.
    """

    out_of_fold: np.ndarray
    fit: Callable[[], CrossFittedMean]
    link: Link = LOGIT
    loss = math.nan
    lesser = ()  # nothing to compare with
    share = 1.0

    @cached_property
    def own(self) -> CrossFittedMean:
        """The audit's own models."""
        return self.fit()

    def predict(self, X: np.ndarray | RowView) -> np.ndarray:
        """Mean of new rows."""
        return self.own.predict(X)

    def without_models(self) -> GivenProbability:
        """The same, its models not fitted yet."""
        return replace(self)

    def has_seen(self, y: np.ndarray, weight: np.ndarray, few: float) -> bool:
        """Whether what is given seems to come from models that were fitted to the same rows.

        Then it is right more often than it says, or tells the answer exactly, and leaves far less
        open than models do out of fold. Where these tell it of all but ``few``, anybody can.
        """
        return (self._seen if self.link == LOGIT else self._seen_numbers)(y, weight, few)

    def _seen_numbers(self, y: np.ndarray, weight: np.ndarray, few: float) -> bool:
        """Numbers are then nearer to their mean than those they tell, and leave less squared error."""
        p = self.out_of_fold
        left = y - p
        product = weight * (p - np.average(p, weights=weight)) * left
        variance = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        lost = np.average(left**2, weights=weight)
        exact = lost < _EXACT * variance
        if not (exact or product.sum() > _BEYOND_CHANCE * math.sqrt(product @ product)):
            return False
        own = np.average((y - self.own.out_of_fold) ** 2, weights=weight)
        return bool(own > few * variance and lost < _SHARE_LEFT * own)

    def _seen(self, positive: np.ndarray, weight: np.ndarray, few: float) -> bool:
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
    link: Link = LOGIT
    loss = math.nan
    lesser = ()
    share = 1.0

    @classmethod
    def averaged(cls, repeats: Sequence[CrossFittedEstimator]) -> CrossFittedEstimator:
        """Averages over repeats with other folds."""
        return cls(
            out_of_fold=np.mean([one.out_of_fold for one in repeats], axis=0),
            models=tuple(model for one in repeats for model in one.models),
            link=repeats[0].link,
        )

    def predict(self, X: np.ndarray | RowView) -> np.ndarray:
        """Mean of new rows, averaged over the folds' models, or by the model of all folds."""
        return self.link.bounded(self.by_rung(X)[-1].mean(axis=0))

    def by_rung(self, X: np.ndarray | RowView) -> list[np.ndarray]:
        """Mean of new rows by each model, shape (n_models, n_new), on one rung."""
        return [np.array([_told(model, X[:], self.link) for model in self.models])]

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
    y: np.ndarray,
    folds: np.ndarray,
    *,
    seeds: Sequence[int],
    ladder: bool = True,
    link: Link = LOGIT,
    shared: Callable[[], Shared] | None = None,
    **options: Any,
) -> Any:
    """Predict ``E[y | x]`` out of fold by the user's estimator, if it is one, or by our own models.

    Averaged over repeats, of folds of shape (n_repeats, n) and a seed each. What our own models
    share with others of the same rows is asked for if they are fitted.
    """
    repeats: list[Any] = []
    for own, seed in zip(folds, seeds, strict=True):
        given = {"random_state": seed, "link": link, **options}
        if hasattr(estimator, "fit"):
            one: Any = cross_fitted_estimator(estimator, X, y, own, argument=argument, **given)
        else:
            # How far boosting grows, and what lesser models tell, is asked once.
            given["n_rounds"] = repeats[0].n_rounds if repeats else None
            rows = X if shared is None else shared()
            one = cross_fitted_mean(rows, y, own, ladder=ladder and not repeats, **given)
        repeats.append(one)
    return type(repeats[0]).averaged(repeats)


def cross_fitted_estimator(
    estimator: Any,
    X: np.ndarray | RowView,
    y: np.ndarray,
    folds: np.ndarray,
    *,
    argument: str,
    link: Link = LOGIT,
    sample_weight: np.ndarray,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> CrossFittedEstimator:
    """Predict ``E[y | x]`` out of fold by clones of an estimator; no model sees fold -1.

    A seed that was left open is ``random_state``.
    """
    link = link.fitted(y[folds >= 0], sample_weight[folds >= 0])
    weighs = takes_weights(estimator)
    labels = np.unique(folds[folds >= 0])
    trained = [(folds >= 0) & (folds != label) for label in labels]
    judged = [folds == label for label in labels]
    if (folds < 0).any():  # judged by a model of all folds
        trained.append(folds >= 0)
        judged.append(folds < 0)

    def fit(train: np.ndarray) -> Any:
        own = y[train]
        if len(np.unique(own)) == 1:
            return float(own[0])
        model = clone(estimator, safe=False)
        if hasattr(model, "get_params"):
            model = seeded(model, random_state)
        own = own.astype(int if own.dtype == bool else float)
        try:
            if weighs:
                return fit_weighted(model, X[train], own, sample_weight[train])
            return model.fit(X[train], own)
        except Exception as error:
            raise InputError(
                f"{argument}: {type(estimator).__name__} could not be fitted to the encoded features "
                f"({type(error).__name__}: {error}). Pass the {link.noun} as an array instead."
            ) from error

    models = in_threads(fit, ((train,) for train in trained), n_jobs, n_rows=len(folds))
    mean = np.empty(len(folds))
    for model, rows in zip(models, judged, strict=True):
        mean[rows] = _told(model, X[rows], link)
    if not np.isfinite(mean).all():
        raise InputError(
            f"{argument}: {type(estimator).__name__} gives {int((~np.isfinite(mean)).sum())} "
            f"{link.noun} that are {link.unfit}."
        )
    kept = models[-1:] if len(models) > len(labels) else models
    return CrossFittedEstimator(out_of_fold=link.bounded(mean), models=tuple(kept), link=link)


def _told(model: Any, X: np.ndarray, link: Link) -> np.ndarray:
    if isinstance(model, float):
        return np.full(len(X), model)
    if len(X) == 0:
        return np.empty(0)
    # A copy: some standardise their rows in place.
    told = np.asarray(getattr(model, link.method)(X.copy()), dtype=float)
    return told[:, 1] if link.method == "predict_proba" else np.ravel(told)
