"""Searches told row by row, in the order in which the user gave the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.numerics.rows import Asked, RowView
from mdfa_fairness_plugin.search.search import Search


def by_sample(rows: np.ndarray, problem: AuditProblem) -> np.ndarray:
    """Mark the input rows that working rows are."""
    mask = np.zeros(problem.n_samples, dtype=bool)
    mask[problem.source_row[rows]] = True
    return mask


def overlaps_of(searches: list[Search], problem: AuditProblem) -> list[dict[str, np.ndarray]]:
    """Propensity and side of the rows, and which were left out; searches of one side share them."""
    overlaps: list[dict[str, np.ndarray]] = []
    shown: dict[str, np.ndarray] = {}
    last = None
    for search in searches:
        if search.made and search.side is not last:
            last = search.side
            rows, sides, e = last.overlap()
            given = problem.source_row[rows]
            propensity = np.full(problem.n_samples, np.nan)
            side = np.zeros(problem.n_samples, dtype=np.int8)
            propensity[given], side[given] = e, sides
            left_out = by_sample(last.ground.outside, problem)
            for shared in (propensity, side, left_out):
                shared.flags.writeable = False
            shown = {"propensity": propensity, "side": side, "left_out": left_out}
        overlaps.append(shown if search.made else {})
    return overlaps


def membership(search: Search, problem: AuditProblem, absent: RowView | None = None) -> np.ndarray:
    """Who of the input rows is inside: out of fold where compared, by the models' average elsewhere.

    Rows without common support are outside: the audit cannot speak about them. A row that stands
    for several is inside if at least half of them are.
    """
    region = search.region
    inside = search.working(search.solved.member, problem.n_rows)
    known = (search.data.rows, search.side.ground.outside)
    other = np.setdiff1d(np.arange(problem.n_rows), np.concatenate(known))
    if len(other):
        inside[other] = region.scores(Asked(problem.encoded.take(other))) >= region.threshold
    copies = np.bincount(problem.source_row, minlength=problem.n_samples)
    hits = np.bincount(problem.source_row, inside, minlength=problem.n_samples)
    told = (copies > 0) & (2 * hits >= copies)
    if absent is not None:
        told[copies == 0] = region.scores(Asked(absent)) >= region.threshold
    return told


def scores_of(search: Search, problem: AuditProblem) -> np.ndarray:
    """Scores of the input rows compared, out of fold; NaN elsewhere, a mean for several copies."""
    rows = problem.source_row[search.data.rows]
    n = np.bincount(rows, minlength=problem.n_samples)
    total = np.bincount(rows, search.scores, minlength=problem.n_samples)
    with np.errstate(invalid="ignore"):
        return (total / n).astype(np.float32)


def absent_rows(problem: AuditProblem, X: Any) -> RowView | None:
    """Encoded rows of zero weight, which membership is still told for; None if unusable."""
    present = np.bincount(problem.source_row, minlength=problem.n_samples)
    absent = np.flatnonzero(present == 0)
    if len(absent) == 0 or X is None:
        return None
    try:
        return problem.encoder.rows(X).take(absent)
    except InputError:
        return None
