r"""The difference of an outcome's rates between two sides, from cross-fitted residuals.

The regression of ``(1{Y=y} - m) / (1{S=s} - e)`` on x with weights ``(1{S=s} - e)^2`` estimates
``tau(x) = p1(x) - p0(x)`` (the R-learner of Nie and Wager 2021).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mdfa_fairness_plugin.learn.forest import Draw, MultiscaleForest, Ranked
from mdfa_fairness_plugin.learn.weighted import fit_weighted
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.numerics.threads import in_threads

# Trees that judge a row by one split into folds, twice as many by those of several repeats together,
# and by each further split. Of three repeats' people, each found alone by 67 / 40 / 24 trees, overlap
# with a planted region is .59 / .57 / .56 at 1,000 rows (delta .5), and .81 with 40 and 24 at 4,000;
# half of 12 in further splits costs .03 of the overlap of two seeds' people.
_TREES_OF_A_ROW, _FEWEST_TREES, _TREES_OF_OTHERS = 100, 24, 12
# Into folds, of all repeats' trees. With 5, 10 and 20 splits of 200 trees a row in all, the people that
# two seeds find in the arrests overlap by .82, .85 and .86.
_SPLITS_OF_TREES = 20
# From so many rows learned from on there are fewer trees the more rows there are, and each leaves out
# two folds and judges the rows of both. At 4,000 rows that does not cost overlap with a planted region
# (.851 against .845; delta .5), at 1,000 it does (.648 and .663).
MANY_ROWS = 4_000
# Of the more frequent side for each row of the other, which leaves a difference of means 1 + 1/4 of the
# variance that it has with all of them; every tree draws its own. Of a group of 3 % of
# 3,000 rows the best ranked overlap with a planted region by .299 / .301 / .288 with all, four and two
# of them, and by .265 / .260 / .256 where the features all but decide the outcome.
_MOST_OTHERS = 4
# Rows predicted at a time.
_BLOCK_ROWS = 50_000


class Trees(NamedTuple):
    """How many judge a row, as many rows are learned from."""

    of_first: int  # split into folds of each repeat
    of_others: int
    n_splits: int  # of each repeat
    shared: bool  # each leaves out two folds

    @classmethod
    def of(cls, n_rows: int, n_repeats: int = 1) -> Trees:
        """The more rows the fewer, but for the fewest."""
        share = min(MANY_ROWS / max(n_rows, 1), 1.0)
        most = min(_TREES_OF_A_ROW, 2 * _TREES_OF_A_ROW / n_repeats)
        of_first = max(round(share * most), _FEWEST_TREES)
        n_splits = max(int(share * _SPLITS_OF_TREES / n_repeats), 1) if n_repeats > 1 else 1
        return cls(of_first, _TREES_OF_OTHERS, n_splits, n_rows >= MANY_ROWS)


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
    def predictor(self) -> CrossFittedDifference:
        """What judges other rows, alone."""
        return replace(self, out_of_fold=np.empty((0, 0)), averaged_over=())

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
    n_trees: int | None = None,
) -> CrossFittedDifference:
    """Regress the outcome's residual on that of S, out of fold.

    ``residuals`` are ``1{S=s} - e`` (never zero) and ``1{Y=y} - m``. No model sees rows of fold -1;
    ``parts`` are the folds to judge, each by models fitted to learning rows of other folds. A learner
    takes sample weights; None is a ``MultiscaleForest``, ``n_trees`` of which judge a row.

    A given learner is fitted once for every part, to all rows of the other folds. So is the default
    where few rows are learned from. Where many are, each of its trees leaves out two folds (of five
    or more) and judges the rows of both.
    """
    labels = np.unique(folds[folds >= 0]).tolist()
    learning = np.flatnonzero(folds >= 0)
    wanted, _, _, shared = Trees.of(len(learning))
    if learner is None:
        wanted = wanted if n_trees is None else n_trees
        left_out = _left_out(labels, parts, 2 if shared and len(labels) >= 5 else 1)
        n_trees = -(-wanted // min(_judging(left_out, part).sum() for part in parts))
        # Rows that no tree has seen are judged by an even share of every model's trees, and by all of
        # them where there is time: few rows, none held back.
        hurried = shared or len(learning) < len(folds)
        share = -(-wanted // len(left_out)) if hurried else None
    else:
        left_out, share, hurried = [(part,) for part in parts], None, False
    judges = np.array([_judging(left_out, part) for part in parts])
    of_s, of_y = (own[learning] for own in residuals)
    target, weight = of_y / of_s, sample_weight[learning] * of_s**2

    # Trees that judge a row together must not be cut alike.
    seeds = np.random.SeedSequence(random_state).generate_state(len(left_out)) if hurried else None

    ranked = Ranked.of(X[learning]) if learner is None else None

    def fit(place: int) -> Any:
        own = np.flatnonzero(~np.isin(folds[learning], left_out[place]))
        if ranked is None:
            return fit_weighted(clone(learner), X[learning[own]], target[own], weight[own])
        seed = random_state if seeds is None else int(seeds[place] >> 1)
        forest, drawn = MultiscaleForest(n_trees or 0, seed), _fewer_others(of_s[own] > 0)
        return forest.fit(ranked.at(own), target[own], weight[own], drawn)

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


def _fewer_others(side: np.ndarray) -> Draw | None:
    """Draws rows with no more of the frequent side than some times the other, and their weights."""
    few, many = np.flatnonzero(side), np.flatnonzero(~side)
    if len(few) > len(many):
        few, many = many, few
    most = _MOST_OTHERS * len(few)
    if not 0 < most < len(many):
        return None
    times = np.ones(len(side))
    times[many] = len(many) / most

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rows = np.sort(np.concatenate([few, rng.choice(many, most, replace=False)]))
        return rows, times[rows]

    return draw


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
