r"""The difference of an outcome's rates between two sides, from cross-fitted residuals.

The regression of ``(1{Y=y} - m) / (1{S=s} - e)`` on x with weights ``(1{S=s} - e)^2`` estimates
``tau(x) = p1(x) - p0(x)`` (the R-learner of Nie and Wager 2021).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from mdfa_fairness_plugin.learn.forest import MultiscaleForest
from mdfa_fairness_plugin.learn.weighted import fit_weighted
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.numerics.threads import in_threads

# Trees that judge a row where few rows are learned from, and where many are.
_TREES_OF_A_ROW = 100
_TREES_OF_ONE_IN_MANY = 24
# From so many rows learned from on.
MANY_ROWS = 10_000
# Rows predicted at a time.
_BLOCK_ROWS = 50_000


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFittedDifference:
    """The difference of rates ``tau(x)`` between S = +1 and S = -1, at several scales."""

    # (n_scales, n); rows no part judges get the average over all models.
    out_of_fold: np.ndarray
    models: tuple[Any, ...]  # each fitted to the rows of some folds
    # (n_parts, n_models); those that have seen none of a part's rows and are averaged for it.
    judges: np.ndarray
    # Trees asked of each model by rows none of them has seen; None: everything they know.
    n_trees: int | None = None
    # Of each one averaged, if there are several.
    averaged_over: tuple[CrossFittedDifference, ...] = ()

    def predict(self, X: np.ndarray | RowView) -> np.ndarray:
        """Average of all models on new rows, shape (n_scales, n)."""
        return _average(self.models, X[:], self.n_trees)

    @cached_property
    def average(self) -> CrossFittedDifference:
        """The same without what it is an average of."""
        return replace(self, averaged_over=())

    @property
    def first(self) -> CrossFittedDifference:
        """By one split into folds: no model has seen any outcome of a fold that it judges."""
        return self.averaged_over[0].first if self.averaged_over else self

    @classmethod
    def averaged(cls, repeats: Sequence[CrossFittedDifference]) -> CrossFittedDifference:
        """Average over repeats with other folds, of the same rows."""
        first = repeats[0]
        if len(repeats) == 1:
            return first
        return replace(
            first,
            out_of_fold=np.mean([one.out_of_fold for one in repeats], axis=0),
            averaged_over=tuple(repeats),
            models=tuple(model for one in repeats for model in one.models),
            judges=np.hstack([one.judges for one in repeats]),
        )

    @cached_property
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
    residuals: tuple[np.ndarray, np.ndarray],
    folds: np.ndarray,
    *,
    parts: Sequence[int],
    sample_weight: np.ndarray,
    learner: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    n_averaged: int = 1,
) -> CrossFittedDifference:
    """Regress the outcome's residual on that of S, out of fold.

    ``residuals`` are ``1{S=s} - e`` (never zero) and ``1{Y=y} - m``. No model sees rows of fold -1;
    ``parts`` are the folds to judge, each by models fitted to learning rows of other folds. A learner
    takes sample weights; None is a ``MultiscaleForest``. ``n_averaged`` is over how many splits into
    folds the result will be averaged.

    A given learner is fitted once for every part, to all rows of the other folds. So is the default
    where fewer than 10,000 rows are learned from. Beyond, each of its trees leaves out two folds (of
    five or more) and judges the rows of both, 24 trees a row or a few more: 60 trees of three fifths
    of the rows do the work of 500 of four fifths, at a tenth of the time. Overlap with the planted
    region, delta 1.5, 48 shared trees against 100 of one's own: .878 / .895 at 5,000 rows, .921 / .928
    at 10,000, .948 / .949 at 20,000 (2 features), .964 / .965 at 50,000 (10 features). Fewer shared
    trees, 24 / 30 / 40: .945 / .947 / .946 at 20,000 rows of 2 features, .954 / .956 at 50,000 of 10
    and .956 / .956 / .957 of 20.
    """
    labels = np.unique(folds[folds >= 0]).tolist()
    learning = np.flatnonzero(folds >= 0)
    if learner is None:
        many = len(learning) >= MANY_ROWS
        left_out = _left_out(labels, parts, 2 if many and len(labels) >= 5 else 1)
        wanted = _TREES_OF_ONE_IN_MANY if many else _TREES_OF_A_ROW
        # What is averaged shares twice as many trees.
        wanted = min(wanted, -(-2 * wanted // n_averaged))
        n_trees = -(-wanted // min(_judging(left_out, part).sum() for part in parts))
        # Rows that no tree has seen are judged by an even share of every model's trees, and by all of
        # them where there is time: few rows, none held back.
        hurried = many or len(learning) < len(folds)
        share = -(-wanted // len(left_out)) if hurried else None
    else:
        left_out, n_trees, share, hurried = [(part,) for part in parts], 0, None, False
    judges = np.array([_judging(left_out, part) for part in parts])
    of_s, of_y = (own[learning] for own in residuals)
    target, weight = of_y / of_s, sample_weight[learning] * of_s**2

    def fit(place: int) -> Any:
        own = ~np.isin(folds[learning], left_out[place])
        model = (
            # First trees that judge a row together must not be cut alike.
            MultiscaleForest(n_trees, random_state=random_state + (place if hurried else 0))
            if learner is None
            else clone(learner)
        )
        return fit_weighted(model, X[learning[own]], target[own], weight[own])

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
