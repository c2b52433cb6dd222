"""Every group of the sensitive features, counted."""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.describe.cells import values_counted
from mdfa_fairness_plugin.records import GroupCounts


def groups_of(problem: AuditProblem) -> tuple[GroupCounts, ...]:
    """Groups of each feature in the order of their values; last, of every feature, the unknown.

    A quantity has none.
    """
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
    counts = np.bincount(cells, minlength=n_cells).reshape(shape)
    if problem.probability is not None:  # as many as are expected
        counts = (
            np.rint(np.bincount(cells, problem.probability, n_cells)).astype(int).reshape(shape)
        )
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
