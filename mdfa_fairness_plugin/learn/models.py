"""What models of the features see of rows, and the base learners of one part of the rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mdfa_fairness_plugin.learn.bins import BinnedFeatures
from mdfa_fairness_plugin.learn.cells import Cells
from mdfa_fairness_plugin.learn.levels import LevelAverages, LevelMeans
from mdfa_fairness_plugin.learn.links import Link
from mdfa_fairness_plugin.numerics.basis import QuadraticBasis
from mdfa_fairness_plugin.numerics.rows import RowView

# Bins of the small trees and of the large boosting's.
_FEW_BINS, _MANY_BINS = 63, 255


@dataclass(frozen=True, eq=False)
class Reading:
    """How models see rows: smooth functions of the features, and cells beside the levels."""

    basis: QuadraticBasis
    cells: tuple[Cells, ...] = ()

    def levels(self, rows: RowView) -> np.ndarray:
        """Codes of the levels of rows, shape (n, k), k >= 0."""
        levels = np.empty((len(rows), 0), dtype=np.int32) if rows.levels is None else rows.levels
        if not self.cells:  # no copy of the features
            return levels
        X = rows[:]
        return np.column_stack([levels, *(cells.codes(X) for cells in self.cells)])


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows, and what all models of those in folds share, whatever they tell."""

    rows: RowView
    reading: Reading
    bins: tuple[BinnedFeatures | None, ...]  # few and many

    @classmethod
    def of(cls, X: np.ndarray | RowView, folds: np.ndarray, weight: np.ndarray) -> Shared:
        """Of the rows in folds."""
        rows, learning = view_of(X), np.flatnonzero(folds >= 0)
        seen, own_weight = rows.take(learning)[:], weight[learning]
        bins = (BinnedFeatures.of(seen, own_weight > 0, most) for most in (_FEW_BINS, _MANY_BINS))
        return cls(rows, Reading(QuadraticBasis.fit(seen, own_weight)), tuple(bins))

    def told(self, cells: tuple[Cells, ...]) -> Shared:
        """With cells that models are told besides."""
        return replace(self, reading=replace(self.reading, cells=cells))


class Seen(NamedTuple):
    """What models see of rows: features, smooth functions of them, and codes of levels, if any.

    The large boosting sees no smooth functions; none that is fitted sees features that are in bins.
    """

    X: np.ndarray
    Z: np.ndarray
    levels: np.ndarray  # (n, k), k >= 0
    bins: BinnedFeatures | None = None

    @classmethod
    def of(cls, rows: RowView, reading: Reading) -> Seen:
        """All of these rows, of which models are asked."""
        X = rows[:]
        return cls(X, reading.basis(X), reading.levels(rows))


class Learned:
    """Rows that models learn from, some of which each sees."""

    def __init__(self, shared: Shared, rows: np.ndarray) -> None:
        self._rows = shared.rows.take(rows)
        self._basis, self._bins = shared.reading.basis, shared.bins
        self._levels = shared.reading.levels(self._rows)

    def asked(self, rows: np.ndarray, smooth: bool = True) -> Seen:
        """Rows that the large boosting is asked about, or all others are."""
        # Smooth functions are made anew: of many rows and features they take more memory than anything
        # else would, and to make them for a few a hundredth of an audit's time.
        X = self._rows[rows]
        return Seen(X, self._basis(X if smooth else X[:0]), self._levels[rows])

    def fitted(self, rows: np.ndarray, smooth: bool = True) -> Seen:
        """Rows that it is fitted to, or all others are."""
        bins = self._bins[0 if smooth else 1]
        seen = self.asked(rows if smooth or bins is None else rows[:0], smooth)
        if bins is None:
            return seen
        return Seen(seen.X[:0], seen.Z, self._levels[rows], bins.at(rows))


class Models:
    """Models of one part of the rows, or a constant where all are alike."""

    def __init__(
        self,
        seen: Seen,
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
            ).fit_binned(seen.X, seen.bins, **self._given)
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

    def grow(self, seen: Seen, n_rounds: int) -> None:
        """Let the large boosting grow to so many rounds, on the same rows."""
        if not self._constant:
            large = self._large.set_params(max_iter=n_rounds)
            if seen.bins is None:
                large.fit(_beside(seen.X, self._told), **self._given)
            else:
                large.fit_binned(seen.X, seen.bins.beside(self._told), **self._given)

    def keep(self, n_rounds: int) -> None:
        """Predict by so many rounds, and forget the rows."""
        self._n_rounds, self._given, self._told = n_rounds, {}, np.empty((0, 0))

    def scores(self, seen: Seen, large: bool = False) -> np.ndarray:
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

    def _by_level(self, seen: Seen) -> list[np.ndarray]:
        """Scores of a linear model of levels, and of each category's levels, if any."""
        if self._leveled is None:
            return []
        told = self._tell(seen.levels)
        by_features = self.link.score(self._leveled, _beside(seen.Z, told))
        return [by_features, told[:, : seen.levels.shape[1]]]

    def large_scores(self, seen: Seen, n_rounds: int) -> np.ndarray:
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


def view_of(X: np.ndarray | RowView) -> RowView:
    """Rows of a table, or as they are seen already."""
    return X if isinstance(X, RowView) else RowView(np.asarray(X, dtype=float))
