r"""What a level of a category says of an outcome, as one number: its smoothed log-odds or mean.

A few trees cannot tell hundreds of levels apart by 0/1 columns, and no model those that are pooled.
The rate ``p_i`` of a level of ``n_i`` rows is drawn towards that of all,
``(n_i p_i + a p) / (n_i + a)``: the posterior mean if the rates of levels follow a beta distribution of
strength ``a`` (empirical Bayes); and that of a mean, if means of levels and numbers about them are
normal and ``a`` is the ratio of their variances. The strength is that of smallest loss on rows that
took no part, so rows of one person, who share a fold, do not pass for evidence of their level.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from mdfa_fairness_plugin.learn.links import LOGIT, Link

# Powers of ten among which the strength is looked for: from a level's rate as it is to that of all.
_LEAST, _MOST = -2.0, 6.0


class LevelMeans:
    """Smoothed scores of levels; those of rows learned from are told by rows of other folds."""

    def __init__(self, link: Link = LOGIT) -> None:
        self._link = link

    def fit_transform(
        self, codes: np.ndarray, y: np.ndarray, weight: np.ndarray, folds: np.ndarray
    ) -> np.ndarray:
        """Learn from all rows, and tell each by those of other folds; codes and result (n, k)."""
        weight = weight / weight.mean()
        self._rate = float(np.average(y, weights=weight))
        fold = np.unique(folds, return_inverse=True)[1]
        learned = [self._learn(_tallies(own, y, weight, fold)) for own in codes.T]
        self._tables = [table for _, table in learned]
        told = [of_fold[fold, own] for (of_fold, _), own in zip(learned, codes.T, strict=True)]
        return _columns(told, len(codes))

    def transform(self, codes: np.ndarray) -> np.ndarray:
        """Scores of the levels of other rows; those of all rows where a level is new."""
        return _looked_up(self._tables, codes)

    def _learn(self, tallies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of levels told by the other folds, shape (n_folds, n_levels), and by all."""
        everybody = tallies.sum(axis=1)
        others = everybody[:, np.newaxis] - tallies
        count, total = tallies

        def loss(power: float) -> float:
            told = self._scores(others, power)
            # Exact, so that it does not matter how levels are numbered.
            return math.fsum(self._link.told_loss(told, count, total).flat)

        found = minimize_scalar(
            loss, bounds=(_LEAST, _MOST), method="bounded", options={"xatol": 0.05}
        )
        power = found.x if found.fun < loss(_MOST) else _MOST
        return self._scores(others, power), self._scores(everybody, power)

    def _scores(self, tallies: np.ndarray, power: float) -> np.ndarray:
        count, total = tallies
        strength = 10.0**power
        return self._link.told((total + strength * self._rate) / (count + strength))


class LevelAverages:
    """Averages of a number over the rows of each level, that of all rows where a level is new."""

    def __init__(self, codes: np.ndarray, number: np.ndarray, weight: np.ndarray) -> None:
        everybody = np.average(number, weights=weight)
        self._tables = []
        for own in codes.T:
            size = int(own.max(initial=-1)) + 2
            known = weight * (own >= 0)
            total, count = (np.bincount(own % size, of, size) for of in (known * number, known))
            table = np.full(size, everybody)
            self._tables.append(np.divide(total, count, out=table, where=count > 0))

    def transform(self, codes: np.ndarray) -> np.ndarray:
        """Averages of the levels of rows, shape (n, k)."""
        return _looked_up(self._tables, codes)


def _looked_up(tables: list[np.ndarray], codes: np.ndarray) -> np.ndarray:
    """What tables say of levels; their last place is for those that are missing or new."""
    pairs = zip(tables, codes.T, strict=True)
    return _columns([of[np.where(own < len(of), own, -1)] for of, own in pairs], len(codes))


def _columns(columns: list[np.ndarray], n_rows: int) -> np.ndarray:
    return np.array(columns).reshape(len(columns), n_rows).T


def _tallies(codes: np.ndarray, y: np.ndarray, weight: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Weight of all rows and weighted sum by fold and level, shape (2, n_folds, n_levels + 1).

    The last level, where code -1 looks, is nobody's: rows of unknown level count for none.
    """
    shape = (int(fold.max()) + 1, int(codes.max(initial=-1)) + 2)
    cell = fold * shape[1] + codes % shape[1]
    known = weight * (codes >= 0)
    return np.array(
        [
            np.bincount(cell, amount, shape[0] * shape[1]).reshape(shape)
            for amount in (known, known * y)
        ]
    )
