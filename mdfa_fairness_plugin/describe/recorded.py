"""What is told of every feature and of every group, whatever a search finds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mdfa_fairness_plugin.data.contrasts import Contrast
from mdfa_fairness_plugin.data.leaks import Answer, tellers
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.data.words import StatedReason
from mdfa_fairness_plugin.describe.cells import values_counted
from mdfa_fairness_plugin.records import AuditedFeature, GroupCounts, Violation

_GUESS = 0.5


def features_of(problem: AuditProblem, searches: Sequence[Violation]) -> tuple[AuditedFeature, ...]:
    """Features in their order, with what they tell in each of these searches."""
    told = {
        (one.sensitive_feature, one.group, one.reference): _told(problem, one)
        for one in problem.contrasts
    }
    of_search = [told[own.sensitive_feature, own.group, own.reference] for own in searches]
    names = [display.name for display in problem.encoder.displays_]
    stated = [problem.reasons.get(name, StatedReason()) for name in names]
    return tuple(
        AuditedFeature(
            feature=name,
            reason=own.reason,
            protected=own.protected,
            tells=tuple(one.get(name, math.nan) for one in of_search),
            ratio_without=(math.nan,) * len(searches),
        )
        for name, own in zip(names, stated, strict=True)
    )


def _told(problem: AuditProblem, contrast: Contrast) -> dict[str, float]:
    """How well each feature tells the sides of a comparison, which count alike."""
    weight = np.zeros(problem.n_rows)
    for side in (1, -1):
        rows = contrast.s == side
        if not rows.any():
            return {}
        own = problem.sample_weight[rows]
        weight[rows] = own / own.sum()
    rows = np.flatnonzero(contrast.rows)
    answer = Answer(contrast.s > 0, weight * len(rows) / 2.0, problem.unit)
    told = tellers(problem.display, rows, answer)
    return {name: max(share, _GUESS) for name, share in told.items()}


def groups_of(problem: AuditProblem) -> tuple[GroupCounts, ...]:
    """Groups of each feature in the order of values, then the unknown of each; a quantity has none."""
    if problem.quantity is not None:
        return ()
    told = [_counted(problem, column) for column in problem.sensitive]
    known = [own for groups in told for own in groups[:-1]]
    return (*known, *(groups[-1] for groups in told))


def _counted(problem: AuditProblem, column: SensitiveFeature) -> list[GroupCounts]:
    """Groups of one feature, and those without a value after them."""
    labels, n_outcomes = column.labels.used(), len(problem.outcome_labels) or 1
    places = np.where(labels.codes < 0, len(labels.values), labels.codes)
    shape = (len(labels.values) + 1, n_outcomes)
    cells, n_cells = places * n_outcomes + problem.y, shape[0] * n_outcomes
    counts = np.bincount(cells, problem.probability, n_cells).reshape(shape)  # or as many expected
    counts = np.rint(counts).astype(int)
    weights = np.bincount(cells, problem.sample_weight, n_cells).reshape(shape)
    amounts = None if problem.outcome_labels or problem.amount is None else problem.amount.told
    with np.errstate(invalid="ignore"):
        rates = weights / weights.sum(axis=1, keepdims=True)
        if amounts is not None:
            given = problem.sample_weight * amounts
            rates = np.bincount(cells, given, n_cells).reshape(shape) / weights
    return [
        GroupCounts(
            sensitive_feature=column.name,
            group=value,
            known=place < len(labels.values),
            counts=tuple(counts[place].tolist()),
            rates=tuple(rates[place].tolist()),
            share=counts[place].sum() / max(counts.sum(), 1),
            counted=() if amounts is None else values_counted(amounts[places == place]),
        )
        for place, value in enumerate((*labels.values, None))
    ]
