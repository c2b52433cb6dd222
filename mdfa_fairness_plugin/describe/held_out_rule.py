"""A rule for a subgroup that was found fold by fold, judged on rows it was not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.rules import (
    EVERYBODY,
    MIN_FIDELITY,
    NOBODY,
    Rule,
    describe_rule,
    rule_fit,
)

# A part with fewer rows inside the subgroup, or outside, is too small to learn a rule from.
_FEWEST_ROWS = 5
# Versions of the rule that are only measured, not printed, are made from at most this many rows.
_ROWS_OF_A_PART = 5_000


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutRule:
    """The rule to print, how well it fits on other rows, and whom it covers when applied blindly.

    Parameters
    ----------
    rule : Rule
        Learned from every row. Its measures of fit are of rules learned in the same way without
        the rows they are measured on.
    covered : ndarray of bool of shape (n_rows,)
        Rows that meet a version of the rule whose making had no access to their outcomes.
    """

    rule: Rule
    covered: np.ndarray


def describe_held_out(
    membership: np.ndarray,
    display: pd.DataFrame,
    parts: np.ndarray,
    *,
    displays: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
    max_conditions: int = 4,
) -> HeldOutRule:
    """Find a short rule for a subgroup whose members were told part by part.

    Parameters
    ----------
    membership : ndarray of bool of shape (n_rows,)
        Whether each row is in the subgroup, by a model that has not seen the rows of its part.
    display : DataFrame of shape (n_rows, n_features)
        Audited features with readable values.
    parts : ndarray of int of shape (n_rows,)
        Part (fold) of each row.
    displays : sequence of DisplayFeature, optional
        Gives each column's ``kind``.
    sample_weight : ndarray of shape (n_rows,), optional
        Sampling weights.
    max_conditions : int, default 4

    Returns
    -------
    HeldOutRule

    Notes
    -----
    A rule learned from all rows may not be judged on them, for two reasons.

    *Fit.* Rows are split in two halves, of whole parts where there are several. Precision, recall
    and fidelity count every row by the rule learned from the other half. If they show that rules
    do not carry over, no rule is given.

    *Outcomes.* The membership of one part comes from a model that saw the outcomes of the others.
    A rule learned from all memberships therefore leans towards rows whose outcomes happened to look
    unequal, and so does a rule learned from all other parts. Only the model of a part knows nothing
    of its outcomes. So each part gets a rule of its own, made from its features and what that model
    says of them, with no more conditions than the printed one. Given the features, ``covered`` is
    then independent of the outcomes, up to the choice of the threshold, exactly as membership is.
    """
    inside = np.asarray(membership, dtype=bool)
    weights = (
        np.ones(len(inside)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    )

    def learned(rows: np.ndarray, longest: int, most: int = 20_000) -> Rule:
        return describe_rule(
            inside[rows],
            display.iloc[rows],
            displays=displays,
            sample_weight=weights[rows],
            max_conditions=longest,
            max_rows=most,
        )

    everyone = np.arange(len(inside))
    rule = learned(everyone, max_conditions)
    if rule.text in ("", EVERYBODY, NOBODY):
        return HeldOutRule(rule=rule, covered=rule.applies(display))

    guessed = np.zeros(len(inside), dtype=bool)
    half = _halves(inside, parts)
    for side in (False, True):
        test = np.flatnonzero(half == side)
        other = learned(np.flatnonzero(half != side), max_conditions, _ROWS_OF_A_PART)
        guessed[test] = other.applies(display.iloc[test])
    fit = rule_fit(guessed, inside, weights)
    if not fit["fidelity"] >= MIN_FIDELITY:
        return HeldOutRule(rule=Rule(), covered=np.zeros(len(inside), dtype=bool))

    covered = np.zeros(len(inside), dtype=bool)
    labels = np.unique(parts)
    for label in labels:
        rows = np.flatnonzero(parts == label)
        n_inside = int(inside[rows].sum())
        if len(labels) == 1:
            own = rule
        elif min(n_inside, len(rows) - n_inside) < _FEWEST_ROWS:
            continue
        else:
            own = learned(rows, rule.n_conditions, _ROWS_OF_A_PART)
        covered[rows] = own.applies(display.iloc[rows])
    return HeldOutRule(rule=replace(rule, **fit), covered=covered)


def _halves(inside: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Two halves: every other part, or every other row inside and outside if there are few parts."""
    _, place = np.unique(parts, return_inverse=True)
    if place.max() >= 3:
        return place % 2 == 1
    half = np.zeros(len(inside), dtype=bool)
    for side in (False, True):
        half[np.flatnonzero(inside == side)[1::2]] = True
    return half
