"""What stays of a search where groups are known by probability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import Count, Message
from mdfa_fairness_plugin.measure.proxies import Rows, bounds_of, rows_to_know
from mdfa_fairness_plugin.measure.sums import REGION
from mdfa_fairness_plugin.records import INSUFFICIENT, NONE_LARGER, VIOLATION, ratio_of
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings


def bounded(
    figures: dict[str, Any], search: Search, problem: AuditProblem, settings: Settings
) -> dict[str, Any]:
    """Figures with bounds over whatever outcome and group have to do with each other.

    Only what is beyond the lower one, and its error, is a violation.
    """
    if problem.probability is None:
        return figures
    rows = rows_of(search, problem)
    spread = search.measured.widening.sets[REGION]
    bounds = bounds_of(rows, settings.confidence_level, spread)
    told = figures | {
        "probability_bounds": bounds.ends,
        "probability_interval": bounds.limits,
        "rows_to_know": rows_to_know(bounds, rows),
    }
    low = bounds.limits[0]
    beyond = low > 0 and bounds.ends[0] >= math.log(settings.least_ratio)
    above = not bounds.limits[1] <= figures["detectable_delta"]
    open_to_both = figures["verdict"] == VIOLATION and not beyond
    if open_to_both or (figures["verdict"] == NONE_LARGER and above):
        fewest = max(int(figures["counts"].to_numpy().min()), 1)
        least, most = (Count(fewest, unit="", said=f"{ratio_of(end):.2g}") for end in bounds.ends)
        told |= {
            "verdict": INSUFFICIENT,
            "reason": Message(
                "the probabilities of the groups allow any ratio between ",
                least,
                " and ",
                most,
                ", and which of them holds cannot be told from these data",
            ),
        }
    return told


def rows_of(search: Search, problem: AuditProblem) -> Rows:
    """Rows of the subgroup, each once, with what both of its copies hold."""
    data = search.data
    held = data.held_out & search.solved.member
    place = data.rows[held]
    row, back = np.unique(problem.source_row[place], return_inverse=True)
    of_group = data.s[held] > 0
    assert problem.probability is not None
    assert data.outcome is not None
    p = problem.probability[place]

    def of(values: np.ndarray, copies: np.ndarray) -> np.ndarray:
        return np.bincount(back[copies], values[copies], len(row))

    def any_of(values: np.ndarray) -> np.ndarray:
        each = np.empty(len(row))
        each[back] = values
        return each

    group, others = of(p, of_group), of(p, ~of_group)
    with np.errstate(
        invalid="ignore", divide="ignore"
    ):  # what a copy would have if it were certain
        weights = [
            np.nan_to_num(of(data.weights[held], copies) / total)
            for copies, total in ((of_group, group), (~of_group, others))
        ]
    cluster = None
    if data.cluster is not None:
        cluster = np.unique(any_of(data.cluster[held]), return_inverse=True)[1]
    return Rows(
        positive=any_of(data.positive[held]) > 0,
        predicted=any_of(data.outcome[held]),
        group=group,
        others=others,
        group_weight=weights[0],
        others_weight=weights[1],
        cluster=cluster,
    )
