"""Searches told row by row, in the order in which the user gave the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

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
            if problem.probability is not None:
                # Of those who may be of either side neither is told.
                told = np.bincount(given, sides * problem.probability[rows], problem.n_samples)
                side = np.sign(np.trunc(told)).astype(np.int8)
            left_out = by_sample(last.ground.outside, problem) | search.told.beyond
            for shared in (propensity, side, left_out):
                shared.flags.writeable = False
            shown = {"propensity": propensity, "side": side, "left_out": left_out}
        overlaps.append(shown if search.made else {})
    return overlaps


class Told(NamedTuple):
    """What only the models of a search can tell."""

    membership: np.ndarray  # (n_samples,); who of the input rows is inside
    beyond: np.ndarray  # (n_samples,); rows on neither side that are like nobody compared
    # Weights of rows of unknown side in the region, (2, 2): as either side, with the outcome and
    # without; and how many they are.
    missing: np.ndarray
    n_missing: int


def ask_models(search: Search, problem: AuditProblem, absent: RowView | None = None) -> Told:
    """Ask the models; ``absent`` are encoded rows without weight."""
    return Told(*membership(search, problem, absent), *_missing(search, problem))


def membership(
    search: Search, problem: AuditProblem, absent: RowView | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Who of the input rows is inside: out of fold where compared, by the models' average elsewhere.

    And who, elsewhere, is like nobody compared.

    Rows without common support are outside: the audit cannot speak about them. A row that stands
    for several is inside if at least half of them are.
    """
    region, ground = search.region, search.side.ground
    below, above = ground.limits
    inside = search.working(search.solved.member, problem.n_rows)
    beyond = np.zeros(problem.n_samples, dtype=bool)
    known = np.concatenate((search.data.rows, ground.outside))
    other = np.delete(np.arange(problem.n_rows), known)

    def judged(rows: RowView) -> tuple[np.ndarray, np.ndarray]:
        asked = Asked(rows)  # the region may want the propensity, too
        e = asked.predict(ground.fitted_propensity)
        return region.scores(asked) >= region.threshold, (e <= below) | (e >= above)

    if len(other):
        inside[other], beyond[problem.source_row[other]] = judged(problem.encoded.take(other))
    copies = np.bincount(problem.source_row, minlength=problem.n_samples)
    hits = np.bincount(problem.source_row, inside, minlength=problem.n_samples)
    told = (copies > 0) & (2 * hits >= copies)
    if absent is not None:
        told[copies == 0], beyond[copies == 0] = judged(absent)
    return told, beyond


def _missing(search: Search, problem: AuditProblem) -> tuple[np.ndarray, int]:
    """Of rows of unknown side in the region."""
    side, data = search.side, search.data
    ground = side.ground
    column = next(c for c in problem.sensitive if c.name == search.key.sensitive_feature)
    rows = np.flatnonzero(column.labels.codes < 0)
    if problem.quantity is not None:  # any number might be missing
        return np.zeros((2, 2)), 0
    if len(rows):
        e = ground.fitted_propensity.predict(problem.encoded.take(rows))
        comparable = (e >= ground.propensity.min()) & (e <= ground.propensity.max())
        rows, e = rows[comparable], e[comparable]
    if len(rows):
        inside = search.region.scores(Asked(problem.encoded.take(rows))) >= search.region.threshold
        rows, e = rows[inside], e[inside]
    if len(rows) == 0:
        return np.zeros((2, 2)), 0
    # Where some rows were kept for evaluation, only their share of the unknown counts.
    share = float(data.base[data.held_out].sum() / data.base.sum())
    positive = problem.has(search.key.outcome)[rows]
    weights = [
        share * problem.sample_weight[rows] * own
        for own in side.weights_if(data.weighing, problem.X[rows], rows, e)
    ]
    sums = np.array([[own[positive].sum(), own[~positive].sum()] for own in weights])
    return sums, len(np.unique(problem.source_row[rows]))


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
