"""Who is comparable to one person: the nearest rows of either side, and what they got."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.rules import Rule

# Two people drawn at random are at a squared distance of about 2; beyond half of that nobody is
# called comparable.
CALIPER: Final = 1.0
# Rows just outside the subgroup that count as its surroundings, per row inside.
_SURROUNDINGS: Final = 0.5
# First number of nearest rows looked at where small counts may not be shown.
_FIRST_SIZE: Final = 25


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchedRows:
    """One search as an auditor keeps it, to tell later where a person stands.

    Parameters
    ----------
    rows : ndarray of int of shape (n,)
        Working rows compared.
    s : ndarray of shape (n,)
        +1 for the audited group, -1 for those it is compared with.
    positive : ndarray of bool of shape (n,)
        Whether the row has the audited outcome.
    member : ndarray of bool of shape (n,)
        The subgroup, each row judged by a model that has not seen it.
    scores : ndarray of shape (n,)
        Larger is worse treated.
    threshold : float
        The subgroup's smallest score.
    predictor : callable or None
        Scores of new encoded rows, with ``by_model``; None if it was not kept.
    rule : Rule
    """

    rows: np.ndarray
    s: np.ndarray
    positive: np.ndarray
    member: np.ndarray
    scores: np.ndarray
    threshold: float
    predictor: Callable[[np.ndarray], np.ndarray] | None
    rule: Rule


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditedRows:
    """Rows of an audit as an auditor keeps them.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_encoded)
    display : DataFrame of shape (n_rows, n_features)
    y : ndarray of int of shape (n_rows,)
        Position of the outcome in ``AuditResult.outcome_labels``.
    source_row : ndarray of int of shape (n_rows,)
        Row of the user's input each row is.
    searches : tuple of SearchedRows or None
        In the order of ``AuditResult.violations``; None where nothing could be compared.
    """

    X: np.ndarray
    display: pd.DataFrame
    y: np.ndarray
    source_row: np.ndarray
    searches: tuple[SearchedRows | None, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Nearest:
    """Nearest rows of one side.

    Parameters
    ----------
    positions : ndarray of int
        Of the rows offered, nearest first.
    n_within : int
        Rows of this side within the caliper.
    """

    positions: np.ndarray
    n_within: int


def squared_distance(X: np.ndarray, x: np.ndarray, displays: Sequence[Any]) -> np.ndarray:
    """Squared distance to one row, every feature counting alike.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Encoded rows.
    x : ndarray of shape (d,)
    displays : sequence of DisplayFeature
        Say which encoded columns make up a feature.

    Returns
    -------
    distance : ndarray of shape (n,)
        Mean over features of the squared differences in standard deviations, averaged over the
        feature's columns. Two rows drawn at random are at 2 on average, whatever the features.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> squared_distance(
    ...     np.array([[1.0], [3.0]]), np.array([1.0]), [SimpleNamespace(encoded_columns=(0,))]
    ... ).tolist()
    [0.0, 4.0]
    """
    share = np.zeros(X.shape[1])
    for feature in displays:
        columns = list(feature.encoded_columns)
        share[columns] += 1.0 / (len(displays) * len(columns))
    spread = X.std(axis=0)
    varies = spread > 0
    weight = np.zeros(X.shape[1])
    weight[varies] = share[varies] / spread[varies] ** 2
    return ((X - x) ** 2) @ weight


def around(member: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Mark the rows of a subgroup and its surroundings.

    Parameters
    ----------
    member : ndarray of bool of shape (n,)
    scores : ndarray of shape (n,)

    Returns
    -------
    nearby : ndarray of bool of shape (n,)
        Members, and half as many others or more: those of the highest scores, ties included.
    """
    outside = scores[~member]
    n_more = min(math.ceil(_SURROUNDINGS * int(member.sum())), len(outside))
    if n_more == 0:
        return member.copy()
    return member | (scores >= np.partition(outside, -n_more)[-n_more])


def nearest(distance: np.ndarray, offered: np.ndarray, size: int | None = None) -> Nearest:
    """Rows nearest to a person among those offered, within the caliper.

    Parameters
    ----------
    distance : ndarray of shape (n,)
        Squared.
    offered : ndarray of bool of shape (n,)
    size : int or None
        How many; None for all.

    Returns
    -------
    Nearest

    Notes
    -----
    Of rows equally far away, which come first is drawn at random, the same each time: they may be
    sorted by what they got.
    """
    within = np.flatnonzero(offered & (distance <= CALIPER))
    drawn = np.random.default_rng(0).permutation(len(within))
    order = within[np.lexsort((drawn, distance[within]))]
    return Nearest(positions=order[:size], n_within=len(within))


def private_size(
    positive: np.ndarray, sides: Sequence[Nearest], wanted: int, min_cell: int
) -> int | None:
    """Smallest number of nearest rows whose counts may be shown.

    Parameters
    ----------
    positive : ndarray of bool
        Whether each row has the outcome.
    sides : sequence of Nearest
        Every row within the caliper, per side.
    wanted : int
        Rows asked for.
    min_cell : int
        Smallest count shown; 1 or less shows any.

    Returns
    -------
    size : int or None
        At least ``wanted``: that number, or one of 25, 50, 100... such that on either side at least
        ``min_cell`` rows have the outcome and as many do not. None if there is no such number.
    """
    if min_cell <= 1:
        return wanted
    size = max(wanted, _FIRST_SIZE)
    longest = max((len(side.positions) for side in sides), default=0)
    while True:
        cells = []
        for side in sides:
            n = min(size, len(side.positions))
            n_positive = int(positive[side.positions[:size]].sum())
            cells += [n_positive, n - n_positive]
        if min(cells) >= min_cell:
            return size
        if size >= longest:
            return None
        size *= 2
