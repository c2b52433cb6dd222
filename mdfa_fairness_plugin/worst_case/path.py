r"""Level sets of a score and what is measured in each (Section 3.3, Algorithm 1's every iterate).

At the population level the regions Algorithm 1 visits are the nested level sets of one function of
``x``, so a search is a score, and its whole path is read off by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.inference.estimates import Rates, log_ratio
from mdfa_fairness_plugin.inference.intervals import log_ratio_interval


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchData:
    """Arrays of one (group, outcome) search, the comparable rows only.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    s : ndarray of shape (n,)
        In {-1, +1}; +1 is the audited group.
    positive : ndarray of bool of shape (n,)
        Whether the row has the audited outcome.
    base, weights : ndarray of shape (n,)
        Sampling weights, and those times the balancing weights.
    folds : ndarray of int of shape (n,)
        Learning fold of each row; -1 for rows kept for evaluation only.
    held_out : ndarray of bool of shape (n,)
        Rows that estimates are made on: judged by a model that has not seen them.
    alpha : float
        Smallest mass of a region.
    confidence_level : float
    spread : float, default=1.0
        Widens the intervals of regions that were searched for; everybody's stays as it is.
    """

    X: np.ndarray
    s: np.ndarray
    positive: np.ndarray
    base: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    held_out: np.ndarray
    alpha: float
    confidence_level: float
    spread: float = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelSets:
    """Measurements of the sets ``{score >= threshold}``, one per threshold.

    Parameters
    ----------
    threshold, delta, low, high, mass : ndarray of shape (n_sets,)
    error : ndarray of shape (n_sets,)
        Standard error of delta; finite with empty cells too, half a row being added to each.
    n_rows : ndarray of int of shape (n_sets,)
    fewest : ndarray of int of shape (n_sets,)
        Rows of the S value that has fewer of them.
    """

    threshold: np.ndarray
    delta: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mass: np.ndarray
    error: np.ndarray
    n_rows: np.ndarray
    fewest: np.ndarray


class Sweep:
    """Cumulative weighted counts of the held-out rows, largest score first.

    Parameters
    ----------
    data : SearchData
    scores : ndarray of shape (n,)
        Larger is worse treated.
    """

    def __init__(self, data: SearchData, scores: np.ndarray) -> None:
        rows = np.flatnonzero(data.held_out)
        order = rows[np.argsort(-scores[rows], kind="stable")]
        self._scores = scores[order]
        self._confidence_level = data.confidence_level
        self._widening = data.spread
        weights = data.weights[order]
        positive = data.positive[order]
        sides = [data.s[order] > 0, data.s[order] < 0]
        self._count = _cumulate([side.astype(float) for side in sides])
        self._weight = _cumulate([weights * side for side in sides])
        self._squares = _cumulate([weights**2 * side for side in sides])
        self._hits = _cumulate([weights * (side & positive) for side in sides])
        self._spread = _cumulate([weights**2 * (side & positive) for side in sides])

    def at(self, thresholds: np.ndarray) -> LevelSets:
        """Measure the level sets of these thresholds.

        Parameters
        ----------
        thresholds : array-like of shape (n_sets,)

        Returns
        -------
        sets : LevelSets
        """
        thresholds = np.asarray(thresholds, dtype=float)
        ends = np.searchsorted(-self._scores, -thresholds, side="right")
        total = self._weight[:, -1:]
        rates = Rates(
            weight=self._weight[:, ends],
            squares=self._squares[:, ends],
            hits=self._hits[:, ends],
            spread=self._spread[:, ends],
            total=total,
        )
        r = rates.rates
        sizes = rates.effective_sizes
        spread = np.where(np.isneginf(thresholds), 1.0, self._widening)
        low, high = log_ratio_interval(r, sizes, self._confidence_level, spread)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (rates.weight / total).mean(axis=0)
        count = self._count[:, ends]
        return LevelSets(
            threshold=thresholds,
            delta=log_ratio(r[0], r[1]),
            low=low,
            high=high,
            mass=np.nan_to_num(share * r.mean(axis=0)),
            error=_standard_error(r, sizes),
            n_rows=count.sum(axis=0).astype(np.intp),
            fewest=count.min(axis=0).astype(np.intp),
        )

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """Scores that the given shares of the held-out rows reach."""
        positions = np.ceil(np.asarray(shares) * len(self._scores)).astype(np.intp) - 1
        return self._scores[np.clip(positions, 0, len(self._scores) - 1)]

    def smallest(self, alpha: float, fewest: int) -> float:
        """Give the largest threshold whose set has the mass and the rows asked for.

        Parameters
        ----------
        alpha : float
        fewest : int
            Rows of each S value.

        Returns
        -------
        threshold : float
            ``-inf`` if only everybody (or nobody) reaches both.
        """
        total = self._weight[:, -1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (self._weight / total).mean(axis=0)
            mass = np.nan_to_num(share * (self._hits / self._weight).mean(axis=0))
        enough = (mass >= alpha) & (self._count.min(axis=0) >= fewest)
        if not enough.any():
            return -np.inf
        # The first end from which on the set is large enough: mass need not be monotone.
        first = int(np.argmax(enough))
        return float(self._scores[max(first - 1, 0)])


def _standard_error(rates: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Of the log ratio, with half a row added to each cell."""
    padded = (np.nan_to_num(rates) * sizes + 0.5) / (sizes + 1.0)
    return np.sqrt(((1.0 - padded) / (padded * (sizes + 1.0))).sum(axis=0))


def _cumulate(columns: list[np.ndarray]) -> np.ndarray:
    """Running sums with a leading zero, shape (2, n + 1)."""
    values = np.stack(columns)
    return np.concatenate([np.zeros((2, 1)), np.cumsum(values, axis=1)], axis=1)
