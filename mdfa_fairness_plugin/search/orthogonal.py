r"""The region from cross-fitted residuals: where the outcome depends on S beyond x.

With ``m(x) = Pr[Y = y | x]`` and ``e(x) = Pr[S = s | x]`` predicted out of fold, the regression of
``(1{Y=y} - m) / (1{S=s} - e)`` on x with weights ``(1{S=s} - e)^2`` estimates the difference of rates
``tau(x) = p1(x) - p0(x)`` (the R-learner of Nie and Wager 2021). Where a black box always answers the
same its residual is zero, so unlike a search for S among rows with ``Y = y`` it is not led astray by
lucky patches there. From tau, ``p1 = m + (1 - e) tau`` and ``p0 = m - e tau``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.tree import ExtraTreeRegressor

from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.numerics.threads import in_threads
from mdfa_fairness_plugin.search.level_sets import SearchData
from mdfa_fairness_plugin.search.selection import Family

# Ratios are shrunk by these multiples of the overall rate; None is the difference itself. No single
# one serves both frequent and rare outcomes, so all of them propose regions.
SHRINKAGES = (0.1, 0.25, 0.5, 1.0, 3.0, None)
# Trees that judge a row where few rows are learned from, and where many are.
_TREES_OF_A_ROW = 100
_TREES_OF_ONE_IN_MANY = 24
# From so many rows learned from on.
_MANY_ROWS = 10_000
# Rows predicted at a time.
_BLOCK_ROWS = 50_000


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
        # All of up to a hundred columns are tried at each cut, a third of more. With a third of 100, 98
        # of them noise, overlap with the planted region falls from .76 / .87 / .89 to .58 / .74 / .79
        # (10,000 rows, delta .5 / 1.5 / 3).
        n_tried = min(X.shape[1], max(100, X.shape[1] // 3))
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

    def predict_scales(self, X, n_trees: int | None = None) -> np.ndarray:
        """Predict at every leaf size.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        n_trees : int or None, default=None
            Ask the first of the trees only.

        Returns
        -------
        prediction : ndarray of shape (n_scales, n)
        """
        X = np.ascontiguousarray(X, dtype=np.float32)
        total = np.zeros((len(self.leaf_sizes_), len(X)))
        asked = list(zip(self.trees_, self.values_, strict=True))[:n_trees]
        for tree, values in asked:
            leaves = tree.apply(X)
            for own, by_node in zip(total, values, strict=True):
                own += by_node.take(leaves)
        return total / len(asked)

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


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFittedDifference:
    """The difference of rates ``tau(x)`` between S = +1 and S = -1.

    Parameters
    ----------
    out_of_fold : ndarray of shape (n_scales, n)
        Rows no part judges get the average over all models.
    models : tuple of estimators
        Each fitted to the rows of some folds.
    judges : ndarray of bool of shape (n_parts, n_models)
        The models that have seen none of a part's rows and are averaged for it.
    n_trees : int or None
        Trees asked of each model by rows none of them has seen; None: everything they know.
    """

    out_of_fold: np.ndarray
    models: tuple[Any, ...]
    judges: np.ndarray
    n_trees: int | None = None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Average of all models on new rows, shape (n_scales, n)."""
        return _average(self.models, X, self.n_trees)

    def unseen(self) -> CrossFittedDifference:
        """What judges rows that were not learned from, alone: the last part's models."""
        asked = tuple(m for m, judging in zip(self.models, self.judges[-1], strict=True) if judging)
        return CrossFittedDifference(
            out_of_fold=np.empty((0, 0)),
            models=asked,
            judges=np.ones((1, len(asked)), dtype=bool),
            n_trees=self.n_trees,
        )

    def by_part(self, X: np.ndarray) -> np.ndarray:
        """What each part's models say on average, shape (n_parts, n_scales, n)."""
        each = np.array([_predict_scales(model, X) for model in self.models])
        return np.array([each[judging].mean(axis=0) for judging in self.judges])


def cross_fitted_difference(
    X: np.ndarray | RowView,
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
    X : ndarray or RowView of shape (n, d)
    residual_s, residual_y : ndarray of shape (n,)
        ``1{S=s} - e`` (never zero) and ``1{Y=y} - m``.
    folds : ndarray of int of shape (n,)
        -1 for rows no model may see.
    parts : sequence of int
        Folds to judge, each by models fitted to learning rows of other folds.
    sample_weight : ndarray of shape (n,)
    learner : regressor or None, default=None
        Takes sample weights; None for ``MultiscaleForest``.
    random_state : int, default=0
    n_jobs : int or None, default=None

    Returns
    -------
    difference : CrossFittedDifference

    Notes
    -----
    A given learner is fitted once for every part, to all rows of the other folds. So is the default
    where fewer than 10,000 rows are learned from. Beyond, each of its trees leaves out two folds (of
    five or more) and judges the rows of both, 24 trees a row or a few more: 60 trees of three fifths of
    the rows do the work of 500 of four fifths, at a tenth of the time. Overlap with the planted
    region, delta 1.5, 48 shared trees against 100 of one's own: .878 / .895 at 5,000 rows, .921 / .928
    at 10,000, .948 / .949 at 20,000 (2 features), .964 / .965 at 50,000 (10 features). Fewer shared
    trees, 24 / 30 / 40: .945 / .947 / .946 at 20,000 rows of 2 features, .954 / .956 at 50,000 of 10
    and .956 / .956 / .957 of 20.
    """
    labels = np.unique(folds[folds >= 0]).tolist()
    learning = np.flatnonzero(folds >= 0)
    if learner is None:
        many = len(learning) >= _MANY_ROWS
        left_out = _left_out(labels, parts, 2 if many and len(labels) >= 5 else 1)
        wanted = _TREES_OF_ONE_IN_MANY if many else _TREES_OF_A_ROW
        n_trees = -(-wanted // min(_judging(left_out, part).sum() for part in parts))
        # Rows that no tree has seen are judged by an even share of every model's trees, and by all of
        # them where there is time: few rows, none held back.
        hurried = many or len(learning) < len(folds)
        share = -(-wanted // len(left_out)) if hurried else None
    else:
        left_out, n_trees, share, hurried = [(part,) for part in parts], 0, None, False
    judges = np.array([_judging(left_out, part) for part in parts])
    target = residual_y[learning] / residual_s[learning]
    weight = sample_weight[learning] * residual_s[learning] ** 2

    def fit(place: int) -> Any:
        own = ~np.isin(folds[learning], left_out[place])
        model = (
            # First trees that judge a row together must not be cut alike.
            MultiscaleForest(n_trees, random_state=random_state + (place if hurried else 0))
            if learner is None
            else clone(learner)
        )
        return model.fit(X[learning[own]], target[own], sample_weight=weight[own])

    models = tuple(
        in_threads(fit, ((place,) for place in range(len(left_out))), n_jobs, n_rows=len(learning))
    )
    blocks: list[tuple[np.ndarray, tuple[Any, ...], int | None]] = []
    for part, judging in zip(parts, judges, strict=True):
        asked = tuple(model for model, own in zip(models, judging, strict=True) if own)
        rows = np.flatnonzero(folds == part)
        most = share if part not in labels else None
        blocks += [(some, asked, most) for some in _blocks(rows)]
    blocks += [(some, models, share) for some in _blocks(np.flatnonzero(~np.isin(folds, parts)))]

    def judge(rows: np.ndarray, asked: tuple[Any, ...], most: int | None) -> np.ndarray:
        return _average(asked, X[rows], most)

    pieces = in_threads(judge, blocks, n_jobs, n_rows=len(X))
    prediction = np.empty((len(pieces[0]), len(X)))
    for (rows, *_), piece in zip(blocks, pieces, strict=True):
        prediction[:, rows] = piece
    return CrossFittedDifference(
        out_of_fold=prediction, models=models, judges=judges, n_trees=share
    )


def _left_out(labels: Sequence[int], parts: Sequence[int], together: int) -> list[tuple[int, ...]]:
    """Folds that each of the default's models leaves out; none where only other rows are judged."""
    return list(itertools.combinations(labels, together if set(parts) & set(labels) else 0))


def _judging(left_out: Sequence[tuple[int, ...]], part: int) -> np.ndarray:
    """Which models may judge a part: those without it, or all if none has seen it."""
    without = np.array([part in folds for folds in left_out])
    return without if without.any() else np.ones(len(left_out), dtype=bool)


def _blocks(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[start : start + _BLOCK_ROWS] for start in range(0, len(rows), _BLOCK_ROWS)]


def _predict_scales(model: Any, X: np.ndarray, n_trees: int | None = None) -> np.ndarray:
    """Predictions of shape (n_scales, n); one scale for learners that know no other."""
    if isinstance(model, MultiscaleForest):
        return model.predict_scales(X, n_trees)
    if len(X) == 0:
        return np.zeros((1, 0))
    # A copy: several models may be asked about the same rows, and some standardise theirs in place.
    return np.asarray(model.predict(X.copy()), dtype=float)[np.newaxis]


def _average(models: Sequence[Any], X: np.ndarray, n_trees: int | None) -> np.ndarray:
    total = _predict_scales(models[0], X, n_trees)
    for model in models[1:]:
        total += _predict_scales(model, X, n_trees)
    return total / len(models)


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
        """Scores by each part's difference, shape (n_parts, n)."""
        return np.array(
            [self._scores(X, tau[self.choice.scale]) for tau in self.difference.by_part(X)]
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
        """Score rows, given the difference at this scale and the nuisances, oriented."""
        return shrunk_ratio(tau, e, m, shrinkage=self.shrinkage, rate=rate)


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
        Family(name=one.name, scores=one.scores(tau[one.scale], e, m, rate))
        for one in all_choices(len(tau))
    ]


def outcome_rate(data: SearchData) -> float:
    """Overall rate of the audited outcome among the rows compared."""
    return float(np.average(data.positive, weights=data.base))
