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
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.tree import ExtraTreeRegressor

from mdfa_fairness_plugin.probability import CrossFittedProbability
from mdfa_fairness_plugin.worst_case.path import SearchData
from mdfa_fairness_plugin.worst_case.selection import Family

# Ratios are shrunk by these multiples of the overall rate; None is the difference itself. No single
# one serves both frequent and rare outcomes, so all of them propose regions.
SHRINKAGES = (0.1, 0.25, 0.5, 1.0, 3.0, None)
# Rows predicted at a time.
_BLOCK_ROWS = 100_000


class MultiscaleForest(RegressorMixin, BaseEstimator):
    """Forest of random cuts read at several leaf sizes: the learner that finds regions by default.

    A fine forest follows the borders of a region where outcomes are nearly certain; where they are
    noisy only large leaves show a difference. One fit gives both: a prediction at a larger leaf size
    is that of the smallest node on the row's way down that has as many rows.

    Parameters
    ----------
    n_estimators : int, default=100
    random_state : int, default=0

    Attributes
    ----------
    leaf_sizes_ : tuple of int
        From ``0.7 n^0.3`` (at least 5) to a fifteenth of the rows.

    Notes
    -----
    Chosen by overlap with planted regions over seeds at 1,000, 5,000 and 50,000 rows: at 1,000 rows
    the fine forest alone had .67 / .78 / .79 for delta .5 / 1.5 / 3 against .56 / .74 / .75 of a
    random forest and .55 / .71 / .75 of gradient boosting. Smaller exponents are too noisy for weak
    violations, larger ones blur the borders.
    """

    def __init__(self, n_estimators: int = 100, random_state: int = 0) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Grow the fine forest.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
        sample_weight : ndarray of shape (n,) or None, default=None

        Returns
        -------
        self
        """
        n = len(X)
        fine = max(5, round(0.7 * n**0.3))
        self.leaf_sizes_ = (fine, max(fine, n // 60), max(fine, n // 15))
        X = np.ascontiguousarray(X, dtype=np.float32)
        y = np.ascontiguousarray(y, dtype=np.float64).reshape(-1, 1)
        # All of up to ten columns are tried at each cut, a third of many: wide tables of indicator
        # columns would otherwise cost several times as much.
        n_tried = min(X.shape[1], max(10, X.shape[1] // 3))
        seeds = np.random.default_rng(self.random_state).integers(2**31 - 1, size=self.n_estimators)
        # Grown one by one: half of an ExtraTreesRegressor's time on small data goes to cloning.
        with config_context(skip_parameter_validation=True):
            self.trees_ = [
                ExtraTreeRegressor(
                    min_samples_leaf=fine, max_features=n_tried, random_state=int(seed)
                )
                .fit(X, y, sample_weight=sample_weight, check_input=False)
                .tree_
                for seed in seeds
            ]
        self.values_ = [_values_by_scale(tree, self.leaf_sizes_) for tree in self.trees_]
        return self

    def predict_scales(self, X) -> np.ndarray:
        """Predict at every leaf size.

        Parameters
        ----------
        X : ndarray of shape (n, d)

        Returns
        -------
        prediction : ndarray of shape (n_scales, n)
        """
        X = np.ascontiguousarray(X, dtype=np.float32)
        total = np.zeros((len(self.leaf_sizes_), len(X)))
        for tree, values in zip(self.trees_, self.values_, strict=True):
            total += values[:, tree.apply(X)]
        return total / len(self.trees_)

    def predict(self, X) -> np.ndarray:
        """Predict at the finest leaf size, rows of shape (n, d)."""
        return self.predict_scales(X)[0]


def _values_by_scale(tree: Any, leaf_sizes: Sequence[int]) -> np.ndarray:
    """Value of every node, or of its nearest ancestor with enough rows; (n_scales, n_nodes)."""
    n_nodes = tree.node_count
    parent = np.zeros(n_nodes, dtype=np.intp)
    for children in (tree.children_left, tree.children_right):
        inner = children >= 0
        parent[children[inner]] = np.flatnonzero(inner)
    values = []
    for size in leaf_sizes:
        node = np.arange(n_nodes)
        while True:
            small = (tree.n_node_samples[node] < size) & (node > 0)
            if not small.any():
                break
            node = np.where(small, parent[node], node)
        values.append(tree.value[node, 0, 0])
    return np.array(values)


def _predict_scales(model: Any, X: np.ndarray) -> np.ndarray:
    """Predictions of shape (n_scales, n); one scale for learners that know no other."""
    if hasattr(model, "predict_scales"):
        return model.predict_scales(X)
    if len(X) == 0:
        return np.zeros((1, 0))
    return np.asarray(model.predict(X), dtype=float)[np.newaxis]


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFittedDifference:
    """The difference of rates ``tau(x)`` between S = +1 and S = -1.

    Parameters
    ----------
    out_of_fold : ndarray of shape (n_scales, n)
        Rows no part judges get the average over all models.
    models : tuple of estimators
    """

    out_of_fold: np.ndarray
    models: tuple[Any, ...]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Average of the folds' models on new rows, shape (n_scales, n)."""
        return np.mean([_predict_scales(model, X) for model in self.models], axis=0)


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
        Takes sample weights; None for ``MultiscaleForest``.
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
        model = MultiscaleForest(random_state=random_state) if learner is None else clone(learner)
        return model.fit(X[train], target[train], sample_weight=weight[train])

    models = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fit)(part) for part in parts)
    judged = [np.flatnonzero(folds == part) for part in parts]
    blocks = [
        (model, rows[start : start + _BLOCK_ROWS])
        for model, rows in zip(models, judged, strict=True)
        for start in range(0, len(rows), _BLOCK_ROWS)
    ]
    pieces = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_predict_scales)(model, X[rows]) for model, rows in blocks
    )
    prediction = np.empty((len(pieces[0]), len(X)))
    for (_, rows), piece in zip(blocks, pieces, strict=True):
        prediction[:, rows] = piece
    fitted = CrossFittedDifference(out_of_fold=prediction, models=tuple(models))
    rest = ~np.isin(folds, parts)
    if rest.any():
        prediction[:, rest] = fitted.predict(X[rest])
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
    choice : Choice
        Scale of the difference and shrinkage of the ratio.
    rate : float
        Overall rate of the audited outcome.
    """

    difference: CrossFittedDifference
    propensity: CrossFittedProbability
    outcome: CrossFittedProbability
    flip_s: bool
    flip_y: bool
    choice: Choice
    rate: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Score rows; larger is worse treated."""
        return self._scores(X, self.difference.predict(X)[self.choice.scale])

    def by_model(self, X: np.ndarray) -> np.ndarray:
        """Scores by each fold's difference, shape (n_models, n)."""
        return np.array(
            [
                self._scores(X, _predict_scales(model, X)[self.choice.scale])
                for model in self.difference.models
            ]
        )

    def _scores(self, X: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self.scores_of(tau, self.propensity.predict(X), self.outcome.predict(X))

    def scores_of(self, tau: np.ndarray, e: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Scores of rows whose difference and nuisances are known, as fitted."""
        return shrunk_ratio(
            *oriented(tau, e, m, flip_s=self.flip_s, flip_y=self.flip_y),
            shrinkage=self.choice.shrinkage,
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


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the scores tried.

    Parameters
    ----------
    scale : int
        Leaf size of the difference, finest first.
    shrinkage : float or None
    """

    scale: int
    shrinkage: float | None

    @property
    def name(self) -> str:
        """How the result names the score."""
        kind = "difference" if self.shrinkage is None else f"ratio shrunk by {self.shrinkage:g}"
        return f"{kind}, scale {self.scale}"

    def scores(self, tau: np.ndarray, e: np.ndarray, m: np.ndarray, rate: float) -> np.ndarray:
        """Score rows, given the difference at every scale and the nuisances, oriented."""
        return shrunk_ratio(tau[self.scale], e, m, shrinkage=self.shrinkage, rate=rate)


def all_choices(n_scales: int) -> list[Choice]:
    """Every score tried, of a difference read at this many leaf sizes."""
    return [
        Choice(scale=scale, shrinkage=shrinkage)
        for scale in range(n_scales)
        for shrinkage in SHRINKAGES
    ]


def orthogonal_families(tau: np.ndarray, e: np.ndarray, m: np.ndarray, rate: float) -> list[Family]:
    """Scores that propose regions, from the difference as this search sees it.

    Parameters
    ----------
    tau : ndarray of shape (n_scales, n)
    e, m : ndarray of shape (n,)
        Out of fold, oriented.
    rate : float
        Overall rate of the outcome.

    Returns
    -------
    families : list of Family
    """
    return [
        Family(name=one.name, scores=one.scores(tau, e, m, rate)) for one in all_choices(len(tau))
    ]


def outcome_rate(data: SearchData) -> float:
    """Overall rate of the audited outcome among the rows compared."""
    return float(np.average(data.positive, weights=data.base))
