"""Who is comparable to one person: the nearest rows of either side, and what they got."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.cells import values_counted
from mdfa_fairness_plugin.fields import Rounded, is_exact
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.profile_cells import tells_of_few

# Two people drawn at random are at a squared distance of about 2; beyond half of that nobody is
# called comparable.
CALIPER: Final = 1.0
# Rows just outside the subgroup that count as its surroundings, per row inside.
_SURROUNDINGS: Final = 0.5
# First number of nearest rows looked at where small counts may not be shown.
_FIRST_SIZE: Final = 25


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparators:
    """The people of one side who are most like the person, and what they got.

    Parameters
    ----------
    label : str
        Who they are.
    n : int or None
        How many were counted; None if that may not be shown.
    n_outcome : int or None
        How many of them got the audited outcome; None of an outcome that is a number.
    rate : float
        ``n_outcome / n``, or how much they got on average; NaN if nobody was counted or it may not be
        shown.
    suppressed : bool
        Whether the counts are too small to be shown.
    records : DataFrame
        Features, outcome and distance of the nearest; empty unless records were asked for.
    """

    label: str
    n: int | None = None
    n_outcome: int | None = None
    rate: float = math.nan
    suppressed: bool = False
    records: pd.DataFrame = field(default_factory=pd.DataFrame)


def squared_distance(X: np.ndarray, x: np.ndarray, displays: Sequence[Any]) -> np.ndarray:
    """Squared distance (n,) of rows (n, d) to one row (d,), every feature counting alike."""
    return ((X - x) ** 2) @ distance_weights(X, displays)


def distance_weights(X: np.ndarray, displays: Sequence[Any]) -> np.ndarray:
    """Weight (d,) of every column's squared difference in a squared distance.

    The mean over features of the squared differences in standard deviations, averaged over the
    feature's columns: two rows drawn at random are at 2 on average, whatever the features.
    """
    share = np.zeros(X.shape[1])
    for feature in displays:
        columns = list(feature.encoded_columns)
        share[columns] += 1.0 / (len(displays) * len(columns))
    spread = X.std(axis=0)
    varies = spread > 0
    weight = np.zeros(X.shape[1])
    weight[varies] = share[varies] / spread[varies] ** 2
    return weight


def numbered(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Names; those that look alike, or like one that is taken, are numbered."""
    told = list(taken)
    for name in names:
        n = 1
        while (key := name if n == 1 else f"{name} ({n})") in told:
            n += 1
        told.append(key)
    return told[len(taken) :]


def around(member: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Members, and half as many others or more: those of the highest scores, ties included."""
    outside = scores[~member]
    n_more = min(math.ceil(_SURROUNDINGS * int(member.sum())), len(outside))
    if n_more == 0:
        return member.copy()
    return member | (scores >= np.partition(outside, -n_more)[-n_more])


def nearest(
    distance: np.ndarray, offered: np.ndarray, cluster: np.ndarray | None = None
) -> np.ndarray:
    """Positions of the rows offered within the caliper of a squared distance, nearest first.

    Of the rows of a cluster only the nearest.
    """
    within = np.flatnonzero(offered & (distance <= CALIPER))
    # Rows may be sorted by what they got: of those equally far, which come first is drawn at random,
    # the same each time.
    drawn = np.random.default_rng(0).permutation(len(within))
    found = within[np.lexsort((drawn, distance[within]))]
    if cluster is None:
        return found
    return found[np.sort(np.unique(cluster[found], return_index=True)[1])]


def private_size(
    outcome: np.ndarray,
    sides: Sequence[np.ndarray],
    wanted: int,
    min_cell: int,
    wholes: Sequence[np.ndarray] = (),
) -> int | None:
    """Smallest number of nearest rows whose counts may be shown; ``sides`` has all within the caliper.

    At least ``wanted``: that number, or one of 25, 50, 100... such that on either side at least
    ``min_cell`` rows have the outcome and as many do not; or, of amounts, that the mean tells of no
    fewer. Those of either side who are left, of ``wholes``, are as many, too: else all but a few of a
    group would be counted. None if there is no such number.
    """
    if min_cell <= 1:
        return wanted
    size = max(wanted, _FIRST_SIZE)
    longest = max(map(len, sides))
    while True:
        chosen = [side[:size] for side in sides]
        left = [np.setdiff1d(*pair) for pair in zip(wholes, chosen, strict=False)]
        if all(_enough(outcome[rows], min_cell) for rows in (*chosen, *left)):
            return size
        if size >= longest:
            return None
        size *= 2


def _enough(outcome: np.ndarray, min_cell: int) -> bool:
    if outcome.dtype == bool:
        return min(outcome.sum(), (~outcome).sum()) >= min_cell
    return len(outcome) >= min_cell and not tells_of_few(values_counted(outcome), min_cell)


def counted(
    label: str, distance: np.ndarray, outcome: np.ndarray, records: pd.DataFrame | None, name: str
) -> Comparators:
    """Count people, nearest first, by whether they got the outcome; ``records`` shows each of them.

    Of amounts the mean is taken.
    """
    if len(distance) == 0:
        return Comparators(label=label, n=0)
    shown = pd.DataFrame()
    if records is not None:
        got = pd.DataFrame({f"outcome {name}": outcome, "distance": np.sqrt(distance)})
        shown = pd.concat([records.reset_index(drop=True), got], axis=1)
    return Comparators(
        label=label,
        n=len(distance),
        n_outcome=int(outcome.sum()) if outcome.dtype == bool else None,
        rate=float(outcome.mean()),
        records=shown,
    )


def in_subgroup(told: Violation, i: int, label: str) -> Comparators:
    """Counts and rate of one side in the subgroup, of a search as it may be printed."""
    if told.counts.empty or not math.isnan(told.per):  # a slope has no rates of its sides
        return Comparators(label=label)
    cells = told.counts.iloc[i].tolist()
    if "rates" in told.withheld or None in cells:
        return Comparators(label=label, suppressed=True)
    n = sum(cells) if all(map(is_exact, cells)) else Rounded(sum(cells))
    hits = None if told.outcome_scale else cells[0]
    return Comparators(label=label, n=n, n_outcome=hits, rate=told.rates[i])
