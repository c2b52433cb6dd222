r"""Predictions for rows not fitted to: :math:`Pr[S = s | x]`, :math:`Pr[Y = y | x]`, :math:`E[Y | x]`.

Both nuisances of the orthogonal search (Section 3.2 for the first) are cross-fitted by the same
ladder of learners: a few trees of four leaves; trees of eight beside a logistic regression on the
features, their squares and products; and these beside a boosting that grows as long as it predicts
held-out rows better. Each rung is combined by a logistic regression with non-negative coefficients:
smooth trends, thresholds, categories and rules are caught by the last, and the result is calibrated.
Of several repeats the first alone is asked for lesser rungs.
Of a number, all regressions are of least squares (see ``links``).
What models of both miss alike they are told as levels of a category are (see ``cells``). What a result
owes to the models shows in what moves from rung to rung.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mdfa_fairness_plugin.learn.bins import BinnedFeatures
from mdfa_fairness_plugin.learn.cells import Cells
from mdfa_fairness_plugin.learn.levels import LevelAverages, LevelMeans
from mdfa_fairness_plugin.learn.links import IDENTITY, LOGIT, Link
from mdfa_fairness_plugin.learn.links import PROBABILITY_FLOOR as PROBABILITY_FLOOR
from mdfa_fairness_plugin.numerics.basis import QuadraticBasis
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.numerics.threads import in_threads

# Rounds after which the large boosting is asked whether it still gets better.
_ROUNDS = (12, 25, 50, 100, 200)

# Bins of the small trees and of the large boosting's.
_FEW_BINS, _MANY_BINS = 63, 255

_CHUNK_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Reading:
    """How models see rows: smooth functions of the features, and cells beside the levels."""

    basis: QuadraticBasis
    cells: tuple[Cells, ...] = ()


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows, and what all models of those in folds share, whatever they tell."""

    rows: RowView
    reading: Reading
    bins: tuple[BinnedFeatures | None, ...]  # few and many

    @classmethod
    def of(cls, X: np.ndarray | RowView, folds: np.ndarray, weight: np.ndarray) -> Shared:
        """Of the rows in folds."""
        rows, learning = _view(X), np.flatnonzero(folds >= 0)
        seen, own_weight = rows.take(learning)[:], weight[learning]
        bins = (BinnedFeatures.of(seen, own_weight > 0, most) for most in (_FEW_BINS, _MANY_BINS))
        return cls(rows, Reading(QuadraticBasis.fit(seen, own_weight)), tuple(bins))

    def told(self, cells: tuple[Cells, ...]) -> Shared:
        """With cells that models are told besides."""
        return replace(self, reading=replace(self.reading, cells=cells))


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFittedMean:
    """Predictions for the rows given and a predictor for new ones, by the best models."""

    # Each row's mean by models fitted without its fold; of rows in no fold (-1) by one of all.
    out_of_fold: np.ndarray
    reading: Reading
    models: tuple[Any, ...]
    coefficients: np.ndarray  # (n_models, n_coefficients)
    loss: float = np.nan  # out of fold, a row: logarithmic in nats, or squared error
    # Of the rows that could be learned from; 0 of the best that were not told what they missed.
    share: float = 1.0
    n_rounds: int = 0  # of the large boosting
    # Likewise by lesser models, the least first; they share ``models``.
    lesser: tuple[CrossFittedMean, ...] = ()
    link: Link = LOGIT
    # Of a lesser one of the first repeat alone: the best one of that, and of all repeats.
    best_of: tuple[CrossFittedMean, CrossFittedMean] | None = None

    def predict(self, X: np.ndarray | RowView) -> np.ndarray:
        """Mean of new rows, averaged over the folds' models, or by the model of all folds."""
        [mean] = _averages(self.models, self.reading, X, [self.coefficients])
        if self.best_of is not None:
            mean = self.link.moved(mean, *(best.predict(X) for best in self.best_of))
        return self.link.bounded(mean)

    @classmethod
    def averaged(cls, repeats: Sequence[CrossFittedMean]) -> CrossFittedMean:
        """Averages over repeats with other folds, of the same rows.

        Lesser ones are of the first repeat: as far from the average as they are from the best there.
        """
        first = repeats[0]
        if len(repeats) == 1:
            return first
        best = replace(
            first,
            out_of_fold=np.mean([one.out_of_fold for one in repeats], axis=0),
            models=tuple(model for one in repeats for model in one.models),
            coefficients=np.concatenate([one.coefficients for one in repeats]),
            loss=float(np.mean([one.loss for one in repeats])),
            lesser=(),
        )
        both = replace(first, lesser=()), best
        return replace(best, lesser=tuple(one._moved(*both) for one in first.lesser))

    def _moved(self, first: CrossFittedMean, best: CrossFittedMean) -> CrossFittedMean:
        """As far from the best one of all repeats as from that of the first."""
        mean = self.link.moved(self.out_of_fold, first.out_of_fold, best.out_of_fold)
        return replace(
            self,
            out_of_fold=self.link.bounded(mean),
            loss=self.loss + best.loss - first.loss,
            best_of=(first, best),
        )

    def beside(self, untold: CrossFittedMean) -> CrossFittedMean:
        """With the ladder of models that were not told of cells before that of those that were."""
        told = tuple(one for one in self.lesser if one.share < 1) or self.lesser
        return replace(self, lesser=(*untold.lesser, replace(untold, lesser=(), share=0.0), *told))

    def without_models(self) -> CrossFittedMean:
        """What was predicted alone."""
        lesser = tuple(one.without_models() for one in self.lesser)
        return replace(self, models=(), lesser=lesser, best_of=None)

    @cached_property
    def unseen(self) -> CrossFittedMean:
        """The predictor alone."""
        return replace(
            self,
            out_of_fold=np.empty(0),
            lesser=tuple(one.unseen for one in self.lesser),
            best_of=self.best_of and (self.best_of[0].unseen, self.best_of[1].unseen),
        )

    def by_rung(self, X: np.ndarray | RowView) -> list[np.ndarray]:
        """Mean of new rows on every rung by each fold's models, whose mean ``predict`` gives.

        Each of shape (n_models, n_new), or (1, n_new) of rungs of the first repeat alone; the best
        last, not bounded.
        """
        rungs = (*self.lesser, self)
        seen = {rung.reading: _Seen.of(_view(X), rung.reading) for rung in rungs}
        scores: dict[_Models, np.ndarray] = {}

        def told(rung: CrossFittedMean) -> np.ndarray:
            each = []
            for model, own in zip(rung.models, rung.coefficients, strict=True):
                if model not in scores:
                    scores[model] = model.scores(seen[rung.reading], large=own[-1] > 0)
                each.append(_combine(scores[model], own, model.link))
            if rung.best_of is None:
                return np.array(each)
            best = [rung.link.bounded(told(one).mean(axis=0)) for one in rung.best_of]
            return rung.link.moved(np.mean(each, axis=0), *best)[np.newaxis]

        # The best first: of its models it asks the most.
        return [told(rung) for rung in reversed(rungs)][::-1]


CrossFittedProbability = CrossFittedMean
bounded = LOGIT.bounded


def cross_fitted_probability(
    X: np.ndarray | RowView | Shared, positive: np.ndarray, folds: np.ndarray, **options: Any
) -> CrossFittedMean:
    """Predict :math:`Pr[positive | x]` out of fold, within [.001, .999], as ``cross_fitted_mean``."""
    return cross_fitted_mean(X, positive, folds, link=LOGIT, **options)


def cross_fitted_mean(
    X: np.ndarray | RowView | Shared,
    y: np.ndarray,
    folds: np.ndarray,
    *,
    link: Link = IDENTITY,
    sample_weight: np.ndarray | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    ladder: bool = True,
    n_rounds: int | None = None,
) -> CrossFittedMean:
    """Predict :math:`E[Y | x]` out of fold; no model sees rows of fold -1.

    Without the ladder by the best models alone, which are the same. ``n_rounds`` of the large boosting
    are as many as lower the loss, if they are not given, or none if it is not worth its coefficient.
    The number of rounds and the combination's four coefficients (and two or more where `X` has levels
    beside it) see every row. With so few of them, what leaks from a row's own label into its prediction
    is of the order of five over the number of rows.
    """
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    shared = X if isinstance(X, Shared) else Shared.of(X, folds, weight)
    X, reading = shared.rows, shared.reading
    learning = np.flatnonzero(folds >= 0)
    own_y, own_weight, own_folds = np.asarray(y)[learning], weight[learning], folds[learning]
    link = link.fitted(own_y, own_weight)
    own_y = link.target(own_y)
    seen = _Seen.of(X.take(learning), reading, shared.bins)
    held = [np.flatnonzero(own_folds == label) for label in np.unique(own_folds)]
    trained = [np.flatnonzero(own_folds != label) for label in np.unique(own_folds)]
    # Rows in no fold are judged by a model of all folds.
    others = np.flatnonzero(folds < 0)
    if len(others):
        trained.append(np.arange(len(learning)))
    share, half_trained = _halves(own_folds, bool(len(others)))

    def each(do: Callable[..., Any], *given: Sequence[Any]) -> list[Any]:
        return in_threads(do, zip(*given, strict=False), n_jobs, n_rows=len(learning))

    def fit(rows: np.ndarray, least: bool = ladder) -> _Models:
        own = (own_y[rows], own_weight[rows], own_folds[rows])
        return _Models(seen.at(rows), *own, random_state, least, link)

    def judged(
        models: Sequence[_Models], ask: Callable[[_Models, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """What each fold's models say of the rows held out, in the order of the rows."""
        said = each(ask, models, held)
        return np.concatenate(said)[np.argsort(np.concatenate(held), kind="stable")]

    def large(models: Sequence[_Models], n_rounds: int) -> np.ndarray:
        return judged(
            models,
            lambda model, rows: model.large_scores(seen.at(rows, False), n_rounds),
        )

    def rungs(
        models: Sequence[_Models], several: Sequence[_Combined], share: float
    ) -> list[CrossFittedMean]:
        models = models[-1:] if len(others) else models
        coefficients = [np.tile(own.coefficients, (len(models), 1)) for own in several]
        told = np.empty((len(several), len(X)))
        told[:, learning] = [own.out_of_fold for own in several]
        if len(others):
            told[:, others] = _averages(models, reading, X.take(others), coefficients, n_jobs)
        return [
            CrossFittedMean(
                out_of_fold=link.bounded(mean),
                reading=reading,
                models=tuple(models),
                coefficients=by,
                loss=own.loss,
                share=share,
                n_rounds=grown_to,
                link=link,
            )
            for mean, by, own in zip(told, coefficients, several, strict=True)
        ]

    models: list[_Models] = each(fit, trained)
    scores = judged(models, lambda model, rows: model.scores(seen.at(rows)))
    every = range(1, scores.shape[1])
    uses = (range(1), every[:-1]) if ladder else (every[:-1],)
    lesser = [_Combined.of(scores, own_y, own_weight, use, link) for use in uses]
    best, grown_to, n_grown, last = lesser[-1], 0, 0, math.inf
    for rounds in _ROUNDS if n_rounds is None else (n_rounds,) * (n_rounds > 0):
        if rounds > n_grown:
            # To the second step at once: every fit asks the trees there are anew.
            n_grown = max(rounds, _ROUNDS[1]) if n_rounds is None else rounds
            each(
                lambda model, rows, n=n_grown: model.grow(seen.at(rows, False), n), models, trained
            )
        scores[:, -1] = large(models, rounds)
        grown = _Combined.of(scores, own_y, own_weight, every, link)
        if n_rounds is not None or grown.loss < best.loss:
            best, grown_to = grown, rounds
        if rounds == n_grown and not (grown.coefficients[-1] > 0 and grown.loss < last):
            break
        last = grown.loss
    if n_rounds is None and not link.worth(best.loss, lesser[-1].loss, own_weight):
        best, grown_to = lesser[-1], 0
    for model in models:
        model.keep(grown_to)
    *less, most = rungs(models, [*lesser, best] if ladder else [best], 1.0)
    if ladder and half_trained:
        half: list[_Models] = each(lambda rows: fit(rows, least=False), half_trained)
        scores = judged(half, lambda model, rows: model.scores(seen.at(rows)))
        if grown_to:
            each(lambda model, rows: model.grow(seen.at(rows, False), grown_to), half, half_trained)
            scores[:, -1] = large(half, grown_to)
        for model in half:
            model.keep(grown_to)
        use = every if grown_to else every[:-1]
        own = _Combined.of(scores, own_y, own_weight, use, link)
        less += rungs(half, [own], share)
    return replace(most, lesser=tuple(less))


def _halves(folds: np.ndarray, others: bool) -> tuple[float, list[np.ndarray]]:
    """Half of the folds that each fold's models learn from, whole as people's rows share one.

    What share of them that is, and their rows; none of one fold alone.
    """
    labels = np.unique(folds).tolist()
    n = (len(labels) - 1) // 2
    if n == 0:
        return 1.0, []
    following = [[labels[(i + 1 + k) % len(labels)] for k in range(n)] for i in range(len(labels))]
    if others:
        following.append(labels[:n])
    return n / (len(labels) - 1), [np.flatnonzero(np.isin(folds, own)) for own in following]


class _Seen(NamedTuple):
    """What models see of rows: features, smooth functions of them, and codes of levels, if any."""

    X: np.ndarray
    Z: np.ndarray
    levels: np.ndarray  # (n, k), k >= 0
    bins: tuple[BinnedFeatures | None, ...] = (None, None)  # of rows that models are fitted to

    @classmethod
    def of(cls, rows: RowView, reading: Reading, *bins: Any) -> _Seen:
        """All of these rows."""
        X, levels = rows[:], rows.levels
        if levels is None:
            levels = np.empty((len(X), 0), dtype=np.int32)
        levels = np.column_stack([levels, *(cells.codes(X) for cells in reading.cells)])
        return cls(X, reading.basis(X), levels, *bins)

    def at(self, rows: np.ndarray, smooth: bool = True) -> _Seen:
        """Some of the rows, as trees see them or all models do."""
        bins = tuple(own and own.at(rows) for own in self.bins)
        Z = self.Z[rows if smooth else rows[:0]]
        return _Seen(self.X[rows], Z, self.levels[rows], bins)


class _Models:
    """Models of one part of the rows, or a constant where all are alike."""

    def __init__(
        self,
        seen: _Seen,
        y: np.ndarray,
        weight: np.ndarray,
        folds: np.ndarray,
        seed: int,
        least: bool,
        link: Link,
    ) -> None:
        self.link = link
        self._level, self._constant = link.level(y, weight)
        self._n_rounds = 0
        if self._constant:
            return
        self._given = {"y": y, "sample_weight": None if np.ptp(weight) == 0 else weight}
        self._smooth = link.smooth(seen.Z, y, weight) if seen.Z.shape[1] else None
        # Few, small trees: 15 rounds tell as much as 25 at a rate of .15 (96 models of rules, noise and
        # real people, of 1,000 to 12,000 rows: log-loss the same within .0001 on average).
        self._few = [
            _boosting(
                link,
                seed,
                max_leaf_nodes=leaves,
                max_iter=15,
                learning_rate=0.25,
                max_bins=_FEW_BINS,
            ).fit_binned(seen.X, seen.bins[0], **self._given)
            for leaves in ((4, 8) if least else (8,))
        ]
        # Log-losses are within .003 of those of twice as many rounds at a rate of .1, on signs, trees,
        # steps and the paper's data, at half of the time. Of few rows 16 leaves tell as much as 31
        # (.0005 more on the mean of 49 designs of 1,000 to 16,000 rows), at four fifths; of 40,000
        # .005 less where outcomes are nearly certain. With 63 bins boards of 16,000 lose .06.
        leaves = min(max(len(y) // 1_000, 16), 31)
        self._large = _boosting(
            link,
            seed,
            max_leaf_nodes=leaves,
            learning_rate=0.2,
            max_bins=_MANY_BINS,
            warm_start=True,
        )
        # Each row's levels are told by the other folds, or by other rows where one fold is all; beside
        # is what the features make of their rows, so that levels are not credited with that too.
        folds = folds if np.ptp(folds) else np.arange(len(folds)) % 5
        self._means = LevelMeans(link)
        told = self._means.fit_transform(seen.levels, y, weight, folds)
        self._expected = LevelAverages(seen.levels, self._smooth_scores(seen.Z), weight)
        self._told = np.hstack([told, self._expected.transform(seen.levels)])
        self._leveled = None
        if self._told.shape[1]:
            self._leveled = link.smooth(_beside(seen.Z, self._told), y, weight)

    def grow(self, seen: _Seen, n_rounds: int) -> None:
        """Let the large boosting grow to so many rounds, on the same rows."""
        if not self._constant:
            large, bins = self._large.set_params(max_iter=n_rounds), seen.bins[1]
            bins = bins and bins.beside(self._told)
            large.fit_binned(_beside(seen.X, self._told), bins, **self._given)

    def keep(self, n_rounds: int) -> None:
        """Predict by so many rounds, and forget the rows."""
        self._n_rounds, self._given, self._told = n_rounds, {}, np.empty((0, 0))

    def scores(self, seen: _Seen, large: bool = False) -> np.ndarray:
        """Scores of every model, shape (n, n_models), the best last.

        Those of the least come first, zero if there is none; so are those of the large boosting unless
        they are used.
        """
        n, n_levels = seen.levels.shape
        if self._constant or n == 0:
            return np.full((n, 5 + n_levels if n_levels else 4), self._level)
        few = [self.link.score(model, seen.X) for model in self._few]
        return np.column_stack(
            [
                few[0] if len(few) > 1 else np.zeros(n),
                self._smooth_scores(seen.Z),
                few[-1],
                *self._by_level(seen),
                self.large_scores(seen, self._n_rounds) if large else np.zeros(n),
            ]
        )

    def _smooth_scores(self, Z: np.ndarray) -> np.ndarray:
        return np.zeros(len(Z)) if self._smooth is None else self.link.score(self._smooth, Z)

    def _tell(self, levels: np.ndarray) -> np.ndarray:
        """What is known of levels beside the features, shape (n, 2 k)."""
        return np.hstack([self._means.transform(levels), self._expected.transform(levels)])

    def _by_level(self, seen: _Seen) -> list[np.ndarray]:
        """Scores of a linear model of levels, and of each category's levels, if any."""
        if self._leveled is None:
            return []
        told = self._tell(seen.levels)
        by_features = self.link.score(self._leveled, _beside(seen.Z, told))
        return [by_features, told[:, : seen.levels.shape[1]]]

    def large_scores(self, seen: _Seen, n_rounds: int) -> np.ndarray:
        """Scores of the large boosting after so many rounds, (n,)."""
        if self._constant or len(seen.X) == 0:
            return np.full(len(seen.X), self._level)
        stages = self.link.staged(self._large, _beside(seen.X, self._tell(seen.levels)))
        return np.ravel(next(itertools.islice(stages, n_rounds - 1, None)))


def _beside(features: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Features, and what is told of levels beside them if there is anything."""
    return np.hstack([features, told]) if told.shape[1] else features


def _boosting(link: Link, seed: int, **how: Any) -> Any:
    return link.boosting(
        min_samples_leaf=20,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
        **how,
    )


def _averages(
    models: Sequence[_Models],
    reading: Reading,
    X: np.ndarray | RowView,
    several: Sequence[np.ndarray],
    n_jobs: int | None = None,
) -> np.ndarray:
    """Average mean by all models for several combinations, each (n_models, n_coefficients).

    In chunks: the basis is many times as wide as X.
    """

    def judge(start: int) -> np.ndarray:
        some = np.arange(start, min(start + _CHUNK_ROWS, len(view)))
        seen, told = _Seen.of(view.take(some), reading), np.zeros((len(several), len(some)))
        for i, model in enumerate(models):
            scores = model.scores(seen, large=any(own[i, -1] > 0 for own in several))
            for mean, own in zip(told, several, strict=True):
                mean += _combine(scores, own[i], model.link)
        return told

    view = _view(X)
    starts = range(0, len(X), _CHUNK_ROWS)
    pieces = in_threads(judge, ((start,) for start in starts), n_jobs, n_rows=len(X))
    return np.hstack([np.empty((len(several), 0)), *pieces]) / max(len(models), 1)


def _view(X: np.ndarray | RowView) -> RowView:
    return X if isinstance(X, RowView) else RowView(np.asarray(X, dtype=float))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Combined:
    """Scores ``a + b . scores`` with ``b >= 0`` of smallest weighted loss."""

    coefficients: np.ndarray  # zero for models that are not used
    out_of_fold: np.ndarray
    loss: float

    @classmethod
    def of(
        cls, scores: np.ndarray, y: np.ndarray, weight: np.ndarray, use: Sequence[int], link: Link
    ) -> _Combined:
        """Combine some of the models' scores, told out of fold."""
        used = link.clipped(scores[:, list(use)])
        best, loss = link.combine(used, y, weight / weight.sum())
        coefficients = np.zeros(1 + scores.shape[1])
        coefficients[[0, *(1 + np.array(use))]] = best
        return cls(
            coefficients=coefficients,
            out_of_fold=_combine(scores, coefficients, link),
            loss=loss,
        )


def _combine(scores: np.ndarray, coefficients: np.ndarray, link: Link) -> np.ndarray:
    return link.mean(coefficients[0] + link.clipped(scores) @ coefficients[1:])
