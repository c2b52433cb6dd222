r"""The region from cross-fitted residuals: where the outcome depends on S beyond x.

With ``m(x) = Pr[Y = y | x]`` and ``e(x) = Pr[S = s | x]`` predicted out of fold, the regression of
``(1{Y=y} - m) / (1{S=s} - e)`` on x with weights ``(1{S=s} - e)^2`` estimates the difference of rates
``tau(x) = p1(x) - p0(x)`` (the R-learner of Nie and Wager 2021). Where a black box always answers the
same its residual is zero, so unlike a search for S among rows with ``Y = y`` it is not led astray by
lucky patches there. From tau, ``p1 = m + (1 - e) tau`` and ``p0 = m - e tau``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor

from mdfa_fairness_plugin.probability import CrossFittedProbability
from mdfa_fairness_plugin.worst_case.path import SearchData, Sweep
from mdfa_fairness_plugin.worst_case.selection import Family, Selection, plateau_thresholds

# Ratios are shrunk by these multiples of the overall rate; None is the difference itself. No single
# one serves both frequent and rare outcomes, so all of them propose regions.
SHRINKAGES = (0.1, 0.25, 0.5, 1.0, 3.0, None)
_N_TREES = 100


def default_learner(n_rows: int, random_state: int) -> ExtraTreesRegressor:
    """Forest of random cuts that finds the region by default.

    Parameters
    ----------
    n_rows : int
        Rows it will be fitted to, which set the leaf size ``0.7 n^0.3``, at least 5.
    random_state : int

    Notes
    -----
    Chosen by overlap with planted regions over seeds at 1,000, 5,000 and 50,000 rows: at 1,000 rows
    .67 / .78 / .79 for delta .5 / 1.5 / 3 against .56 / .74 / .75 of a random forest and .55 / .71 /
    .75 of gradient boosting; smaller exponents are too noisy for weak violations, larger ones blur
    the borders. ``tests/benchmarks/`` keeps the comparison.
    """
    return ExtraTreesRegressor(
        n_estimators=_N_TREES,
        min_samples_leaf=max(5, round(0.7 * n_rows**0.3)),
        random_state=random_state,
        n_jobs=1,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFittedDifference:
    """The difference of rates ``tau(x)`` between S = +1 and S = -1.

    Parameters
    ----------
    out_of_fold : ndarray of shape (n,)
        Rows no part judges get the average over all models.
    models : tuple of estimators
    """

    out_of_fold: np.ndarray
    models: tuple[Any, ...]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Average of the folds' models on new rows."""
        return np.mean([model.predict(X) for model in self.models], axis=0)


def cross_fitted_difference(
    X: np.ndarray,
    residual_s: np.ndarray,
    residual_y: np.ndarray,
    folds: np.ndarray,
    *,
    parts: Sequence[int],
    sample_weight: np.ndarray,
    learner: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> CrossFittedDifference:
    r"""Regress the outcome's residual on that of S, out of fold.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    residual_s, residual_y : ndarray of shape (n,)
        ``1{S=s} - e`` (never zero) and ``1{Y=y} - m``.
    folds : ndarray of int of shape (n,)
        -1 for rows no model may see.
    parts : sequence of int
        Folds to judge, each by a model fitted to the learning rows of the other folds.
    sample_weight : ndarray of shape (n,)
    learner : regressor or None, default=None
        Takes sample weights; None for ``default_learner``.
    random_state : int, default=0
    n_jobs : int or None, default=None

    Returns
    -------
    difference : CrossFittedDifference
    """
    target = residual_y / residual_s
    weight = sample_weight * residual_s**2

    def fit(part: int) -> Any:
        train = (folds >= 0) & (folds != part)
        model = (
            default_learner(int(train.sum()), random_state) if learner is None else clone(learner)
        )
        return model.fit(X[train], target[train], sample_weight=weight[train])

    models = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fit)(part) for part in parts)
    prediction = np.empty(len(X))
    rest = np.ones(len(X), dtype=bool)
    for part, model in zip(parts, models, strict=True):
        rows = folds == part
        rest &= ~rows
        prediction[rows] = model.predict(X[rows])
    fitted = CrossFittedDifference(out_of_fold=prediction, models=tuple(models))
    if rest.any():
        prediction[rest] = fitted.predict(X[rest])
    return fitted


@dataclass(frozen=True, kw_only=True, eq=False)
class OrthogonalPredictor:
    """Scores of new rows from the fitted difference and nuisances.

    Parameters
    ----------
    difference, propensity, outcome
        Fitted for one orientation of S and Y.
    flip_s, flip_y : bool
        Whether this search looks at the opposite orientation.
    shrinkage : float or None
    rate : float
        Overall rate of the audited outcome.
    """

    difference: CrossFittedDifference
    propensity: CrossFittedProbability
    outcome: CrossFittedProbability
    flip_s: bool
    flip_y: bool
    shrinkage: float | None
    rate: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Score rows; larger is worse treated."""
        return shrunk_ratio(
            *oriented(
                self.difference.predict(X),
                self.propensity.predict(X),
                self.outcome.predict(X),
                flip_s=self.flip_s,
                flip_y=self.flip_y,
            ),
            shrinkage=self.shrinkage,
            rate=self.rate,
        )


def oriented(
    tau: np.ndarray, e: np.ndarray, m: np.ndarray, *, flip_s: bool, flip_y: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nuisances and difference as the search sees them: one function serves all four searches.

    Parameters
    ----------
    tau, e, m : ndarray of shape (n,)
    flip_s, flip_y : bool
        Audit the other S value, the other outcome.

    Returns
    -------
    tau, e, m : ndarray of shape (n,)
    """
    return (
        -tau if flip_s != flip_y else tau,
        1.0 - e if flip_s else e,
        1.0 - m if flip_y else m,
    )


def shrunk_ratio(
    tau: np.ndarray, e: np.ndarray, m: np.ndarray, *, shrinkage: float | None, rate: float
) -> np.ndarray:
    r"""Score between a ratio and a difference, :math:`\ln((p_1 + c b) / (p_0 + c b))`.

    Parameters
    ----------
    tau, e, m : ndarray of shape (n,)
    shrinkage : float or None
        ``c``; None gives the difference itself.
    rate : float
        ``b``, the overall rate of the outcome.

    Returns
    -------
    score : ndarray of shape (n,)
        Zero where both S values are treated alike.
    """
    if shrinkage is None:
        return tau
    p1 = np.clip(m + (1.0 - e) * tau, 0.0, 1.0)
    p0 = np.clip(m - e * tau, 0.0, 1.0)
    return np.log((p1 + shrinkage * rate) / (p0 + shrinkage * rate))


def orthogonal_families(
    data: SearchData, tau: np.ndarray, e: np.ndarray, m: np.ndarray
) -> list[Family]:
    """Scores that propose regions, from the difference as this search sees it.

    Parameters
    ----------
    data : SearchData
    tau, e, m : ndarray of shape (n,)
        Out of fold, oriented.

    Returns
    -------
    families : list of Family
    """
    rate = outcome_rate(data)
    families = []
    for shrinkage in SHRINKAGES:
        scores = shrunk_ratio(tau, e, m, shrinkage=shrinkage, rate=rate)
        thresholds = plateau_thresholds(Sweep(data, scores), data.alpha)
        name = "difference" if shrinkage is None else f"ratio shrunk by {shrinkage:g}"
        families.append(Family(name=name, scores=scores, thresholds=thresholds))
    return families


def outcome_rate(data: SearchData) -> float:
    """Overall rate of the audited outcome among the rows compared."""
    return float(np.average(data.positive, weights=data.base))


def shrinkage_of(selection: Selection, families: list[Family]) -> float | None:
    """Shrinkage of the score a selection was made on."""
    return SHRINKAGES[[family.name for family in families].index(selection.family)]
