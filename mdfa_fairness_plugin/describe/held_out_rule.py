"""A rule for a subgroup that was found fold by fold, judged on rows it was not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.bins import Features
from mdfa_fairness_plugin.describe.cells import unequal
from mdfa_fairness_plugin.describe.conditions import EVERYBODY, NOBODY, Rule, rule_fit
from mdfa_fairness_plugin.describe.rules import MIN_FIDELITY, describe_rule

# A part with fewer rows inside the subgroup, or outside, is too small to learn a rule from.
_FEWEST_ROWS = 5
# Versions of the rule that are only measured, not printed, are made from at most this many rows.
_ROWS_OF_A_PART = 5_000


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutRule:
    """The rule to print, how well it fits on other rows, and whom it covers when applied blindly."""

    rule: Rule  # learned from every row; its fit is of rules learned without the rows measured on
    covered: np.ndarray  # bool: meets a version of the rule made without access to the outcomes
    n_printed: int  # rows that meet the rule as printed
    # Where no rule fits: the best there is, which tells of other people too.
    instead: HeldOutRule | None = None

    @property
    def told(self) -> HeldOutRule:
        """The rule that is told, or the one in its place."""
        return self if self.instead is None else self.instead


def describe_held_out(
    membership: np.ndarray,
    display: pd.DataFrame,
    parts: np.ndarray,
    *,
    told: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    displays: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
) -> HeldOutRule:
    """Find a short rule for a subgroup whose members were told by models of other parts (folds).

    *Fit* of a rule may not be judged on the rows it is learned from: every row counts by a rule of
    the other half of the rows. If these show that rules do not carry over, no rule is given.

    *Outcomes.* Only the model of a part knows nothing of its outcomes; a rule learned from all
    memberships, or from those of all other parts, leans towards rows whose outcomes happened to look
    unequal. So each part gets a rule of its own, from its features and what that model says of them
    (``told``, where ``membership`` is an average over repeats), with no more conditions than the
    printed one. Given the features, ``covered`` is then independent of the outcomes, up to the choice
    of the threshold, as the membership of one repeat is.
    """
    inside = np.asarray(membership, dtype=bool)
    told = inside if told is None else told
    weights = unequal(sample_weight)
    positions = np.arange(len(inside)) if rows is None else rows
    cut = Features(display, displays)  # the same for all

    def learned(
        chosen: np.ndarray | slice, members: np.ndarray, **limits: Any
    ) -> tuple[Rule, np.ndarray]:
        return describe_rule(
            members[chosen],
            display,
            rows=positions[chosen],
            sample_weight=None if weights is None else weights[chosen],
            cut=cut,
            # Better than chance: whether it fits is asked on other rows.
            **{"min_fidelity": 0.5} | limits,
        )

    rule, covered = learned(slice(None), inside)
    n_printed = int(covered.sum())
    if rule.text in ("", EVERYBODY, NOBODY):
        return HeldOutRule(rule=rule, covered=covered, n_printed=n_printed)

    guessed = np.zeros(len(inside), dtype=bool)
    half = _halves(inside, parts)
    for test in (~half, half):
        other, _ = learned(~test, inside, max_rows=_ROWS_OF_A_PART)
        guessed[test] = other.applies(display, positions[test])
    fit = rule_fit(guessed, inside, weights)
    fits = min(rule.fidelity, fit["fidelity"]) >= MIN_FIDELITY
    labels = np.unique(parts)
    if len(labels) > 1:
        covered = np.zeros_like(inside)
        for label in labels:
            own = parts == label
            n_inside = int((told & own).sum())
            if min(n_inside, int(own.sum()) - n_inside) >= _FEWEST_ROWS:
                limits = {"max_conditions": rule.n_conditions, "max_rows": _ROWS_OF_A_PART}
                _, covered[own] = learned(own, told, **limits)
    found = HeldOutRule(rule=replace(rule, **fit), covered=covered, n_printed=n_printed)
    if fits:
        return found
    return HeldOutRule(rule=Rule(), covered=np.zeros_like(inside), n_printed=0, instead=found)


def _halves(inside: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Two halves: every other part, or every other row inside and outside if there are few parts."""
    labels = np.unique(parts)
    if len(labels) > 3:
        return np.isin(parts, labels[1::2])
    half = np.zeros(len(inside), dtype=bool)
    for side in (False, True):
        half[np.flatnonzero(inside == side)[1::2]] = True
    return half
