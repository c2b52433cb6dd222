"""Every group beside every other: the ratio among everybody compared, without a search."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.amounts import as_labels
from mdfa_fairness_plugin.data.columns import Labels
from mdfa_fairness_plugin.data.contrasts import Contrast, build_contrasts
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.exceptions import MDFAWarning, OverlapError, WarningLog
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.records import AskedSubgroup, AuditRecord
from mdfa_fairness_plugin.replicate.asked import answer_of, measured_in
from mdfa_fairness_plugin.replicate.repeats import prepared, source_of
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings


def group_pairs(result: AuditRecord) -> tuple[AskedSubgroup, ...]:
    """Measure every group beside every other one, for every outcome, among all rows of the two.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    answers : tuple of AskedSubgroup
        One per sensitive column, ordered pair of its values and outcome; ``p_value_adjusted`` is over
        all of them, a pair and its mirror counting once. Combinations of columns take no part.

    Raises
    ------
    InputError
        If the result does not hold its data.
    OverlapError
        If no two groups share enough ground.

    Notes
    -----
    What an audit with each value as ``reference_group`` says of everybody; nothing is searched for.
    """
    source = source_of(result)
    problem, settings = source.problem, source.settings
    contrasts: list[Contrast] = []
    answers = Labels(codes=problem.y, values=problem.outcome_labels)
    if not problem.outcome_labels:
        assert problem.amount is not None
        answers = as_labels(problem.amount.values * problem.amount.unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MDFAWarning)
        for column in problem.sensitive:
            for reference in column.labels.used().values:
                if isinstance(reference, tuple):
                    continue
                contrasts += build_contrasts(
                    [column],
                    answers.codes,
                    answers.values,
                    groups=None,
                    reference_group={column.name: reference},
                    intersections=False,
                    min_group_size=settings.min_group_size,
                    cluster=problem.cluster,
                    log=WarningLog(),
                )
    found = measured_of_all(replace(problem, contrasts=tuple(contrasts)), settings)
    if found is None:
        raise OverlapError("result: no two groups share enough ground to be compared.")
    everybody = np.ones(problem.n_rows, dtype=bool)
    return tuple(
        answer_of(search, own, everybody, problem, label=EVERYBODY, rule=EVERYBODY)
        for search, own in found
    )


def measured_of_all(
    problem: AuditProblem, settings: Settings
) -> list[tuple[Search, dict[str, Any]]] | None:
    """Every search of a problem with the figures of all its rows; None without common ground."""
    ready = prepared(problem, settings)
    if ready is None:
        return None
    searches, settled, _ = ready
    everybody = np.ones(problem.n_rows, dtype=bool)
    measured = [measured_in(search, everybody, problem) for search in searches]
    return list(zip(searches, conclude(measured, settled, problem.outcome_labels), strict=True))
