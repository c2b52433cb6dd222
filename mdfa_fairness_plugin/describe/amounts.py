"""How much people have inside a subgroup and outside it, by sensitive value."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.cells import values_counted
from mdfa_fairness_plugin.describe.profile import VALUES, side_labels
from mdfa_fairness_plugin.search.search import Search

EVERYBODY: Final = "everybody"
INSIDE: Final = "inside"
OUTSIDE: Final = "outside"
ROWS: Final = "rows"
# Share of people who have at most as much, by column.
QUANTILES: Final = {"q10": 0.1, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q90": 0.9}


def amounts_of(search: Search, problem: AuditProblem) -> pd.DataFrame:
    """Rows measured and their quantiles, by part and sensitive value; empty of yes and no.

    With what is counted of its values among everybody, inside and outside, of either side.
    """
    key, held = search.key, search.data.held_out
    if problem.amount is None or not problem.is_amount(key.outcome):
        return pd.DataFrame()
    rows, inside, s = search.rows[held], search.held_member, search.s[held]
    values, weight = problem.amount.told[rows], problem.sample_weight[rows]
    found, counted = {}, []
    for part, member in ((EVERYBODY, inside | True), (INSIDE, inside), (OUTSIDE, ~inside)):
        for side, label in zip((1, -1), side_labels(key.group, key.reference), strict=True):
            own = member & (s == side)
            counted.append(values_counted(values[own]))
            if own.any() and part != EVERYBODY:
                found[part, label] = [int(own.sum()), *_quantiles(values[own], weight[own])]
    frame = pd.DataFrame.from_dict(found, orient="index", columns=[ROWS, *QUANTILES])
    frame = frame.set_axis(pd.MultiIndex.from_tuples(list(found)), axis=0)
    frame.attrs[VALUES] = {ROWS: tuple(counted)}
    return frame


def _quantiles(values: np.ndarray, weight: np.ndarray) -> list[float]:
    """Smallest values that so many people do not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    # Sums of weights that come to a share may miss it by a rounding error.
    at = np.searchsorted(reached, np.array([*QUANTILES.values()]) * reached[-1] * (1 - 1e-12))
    return values[order][np.minimum(at, len(values) - 1)].tolist()
