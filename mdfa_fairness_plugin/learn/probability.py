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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mdfa_fairness_plugin.learn.links import IDENTITY, LOGIT, Link
from mdfa_fairness_plugin.learn.links import PROBABILITY_FLOOR as PROBABILITY_FLOOR
from mdfa_fairness_plugin.learn.models import Learned, Models, Reading, Seen, Shared, view_of
from mdfa_fairness_plugin.numerics.basis import as_weights
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.numerics.threads import in_threads

# Rounds after which the large boosting is asked whether it still gets better.
_ROUNDS = (12, 25, 50, 100, 200)

# Numbers and rows judged at a time: 50 trees of 31 leaves judge rows of 100 features in half of the
# time where these stay in the processor's cache.
_CHUNK_NUMBERS, _CHUNK_ROWS = 2**19, 20_000


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
        [mean] = _averages([(self.models, self.coefficients)], self.reading, X)
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
        seen = {rung.reading: Seen.of(view_of(X), rung.reading) for rung in rungs}
        scores: dict[Models, np.ndarray] = {}

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
    weight = as_weights(sample_weight, len(y))
    shared = X if isinstance(X, Shared) else Shared.of(X, folds, weight)
    X, reading = shared.rows, shared.reading
    learning = np.flatnonzero(folds >= 0)
    own_y, own_weight, own_folds = np.asarray(y)[learning], weight[learning], folds[learning]
    link = link.fitted(own_y, own_weight)
    own_y = link.target(own_y)
    seen = Learned(shared, learning)
    held = [np.flatnonzero(own_folds == label) for label in np.unique(own_folds)]
    trained = [np.flatnonzero(own_folds != label) for label in np.unique(own_folds)]
    # Rows in no fold are judged by a model of all folds.
    others = np.flatnonzero(folds < 0)
    if len(others):
        trained.append(np.arange(len(learning)))
    share, half_trained = _halves(own_folds, bool(len(others)))

    def each(do: Callable[..., Any], *given: Sequence[Any]) -> list[Any]:
        return in_threads(do, zip(*given, strict=False), n_jobs, n_rows=len(learning))

    def fit(rows: np.ndarray, least: bool = ladder) -> Models:
        own = (own_y[rows], own_weight[rows], own_folds[rows])
        return Models(seen.fitted(rows), *own, random_state, least, link)

    def judged(
        models: Sequence[Models], ask: Callable[[Models, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """What each fold's models say of the rows held out, in the order of the rows."""
        said = each(ask, models, held)
        return np.concatenate(said)[np.argsort(np.concatenate(held), kind="stable")]

    def large(models: Sequence[Models], n_rounds: int) -> np.ndarray:
        return judged(
            models,
            lambda model, rows: model.large_scores(seen.asked(rows, False), n_rounds),
        )

    def rungs(
        several: Sequence[tuple[Sequence[Models], _Combined, float]],
    ) -> list[CrossFittedMean]:
        """Of models, how they are combined, and the share of the rows that they learned from."""
        which = slice(-1, None) if len(others) else slice(None)
        asked = [
            (own[which], np.tile(by.coefficients, (len(own[which]), 1))) for own, by, _ in several
        ]
        told = np.empty((len(several), len(X)))
        told[:, learning] = [by.out_of_fold for _, by, _ in several]
        if len(others):
            told[:, others] = _averages(asked, reading, X.take(others), n_jobs)
        return [
            CrossFittedMean(
                out_of_fold=link.bounded(mean),
                reading=reading,
                models=tuple(own),
                coefficients=coefficients,
                loss=by.loss,
                share=share,
                n_rounds=grown_to,
                link=link,
            )
            for mean, (own, coefficients), (_, by, share) in zip(told, asked, several, strict=True)
        ]

    models: list[Models] = each(fit, trained)
    scores = judged(models, lambda model, rows: model.scores(seen.asked(rows)))
    every = range(1, scores.shape[1])
    uses = (range(1), every[:-1]) if ladder else (every[:-1],)
    lesser = [_Combined.of(scores, own_y, own_weight, use, link) for use in uses]
    best, grown_to, n_grown, last = lesser[-1], 0, 0, math.inf
    for rounds in _ROUNDS if n_rounds is None else (n_rounds,) * (n_rounds > 0):
        if rounds > n_grown:
            # To the second step at once: every fit asks the trees there are anew.
            n_grown = max(rounds, _ROUNDS[1]) if n_rounds is None else rounds
            each(
                lambda model, rows, n=n_grown: model.grow(seen.fitted(rows, False), n),
                models,
                trained,
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
    several: list[tuple[Sequence[Models], _Combined, float]] = []
    if ladder:
        several += [(models, own, 1.0) for own in lesser]
    if ladder and half_trained:
        half: list[Models] = each(lambda rows: fit(rows, least=False), half_trained)
        scores = judged(half, lambda model, rows: model.scores(seen.asked(rows)))
        if grown_to:
            each(
                lambda model, rows: model.grow(seen.fitted(rows, False), grown_to),
                half,
                half_trained,
            )
            scores[:, -1] = large(half, grown_to)
        for model in half:
            model.keep(grown_to)
        use = every if grown_to else every[:-1]
        own = _Combined.of(scores, own_y, own_weight, use, link)
        several.append((half, own, share))
    *less, most = rungs([*several, (models, best, 1.0)])
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


def _averages(
    several: Sequence[tuple[Sequence[Models], np.ndarray]],
    reading: Reading,
    X: np.ndarray | RowView,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Average mean by models and their coefficients, (n_models, n_coefficients), for several of both.

    In chunks, as the basis is many times as wide as X; models that are in several are asked once.
    """
    pairs = [list(zip(models, own, strict=True)) for models, own in several]
    large = {model for own in pairs for model, by in own if by[-1] > 0}

    view = view_of(X)
    at_once = min(max(_CHUNK_NUMBERS // max(view.shape[1], 1), 1), _CHUNK_ROWS)

    def judge(start: int) -> np.ndarray:
        some = np.arange(start, min(start + at_once, len(view)))
        seen, told = Seen.of(view.take(some), reading), np.zeros((len(several), len(some)))
        scores: dict[Models, np.ndarray] = {}
        for mean, own in zip(told, pairs, strict=True):
            for model, by in own:
                if model not in scores:
                    scores[model] = model.scores(seen, large=model in large)
                mean += _combine(scores[model], by, model.link)
            mean /= len(own)
        return told

    starts = range(0, len(view), at_once)
    pieces = in_threads(judge, ((start,) for start in starts), n_jobs, n_rows=len(X))
    return np.hstack([np.empty((len(several), 0)), *pieces])


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
