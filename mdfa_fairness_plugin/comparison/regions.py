"""The audit of one model, with its searches row by row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mdfa_fairness_plugin.comparison.bench import Bench
from mdfa_fairness_plugin.measure.sums import REGION, MeasuredRows
from mdfa_fairness_plugin.pipeline import Audit, measured_rows
from mdfa_fairness_plugin.records import SearchKey, Violation
from mdfa_fairness_plugin.replicate.repeats import scale_of
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.search import Search


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionRows:
    """One cross-fitted search, row by row, and what the features tell of the model's answers."""

    rows: MeasuredRows
    places: np.ndarray  # of the rows on the bench
    member: np.ndarray
    violation: Violation
    spread: float  # widening of its intervals, for the search
    # ``Pr[Y = y | x]`` of all rows on the bench by every rung, the best last; NaN if not compared.
    outcomes: tuple[np.ndarray, ...]
    scale: float  # what its effects are multiplied with to be in units of the outcome

    def answered(self, value: np.ndarray, outcomes: Sequence[np.ndarray]) -> MeasuredRows:
        """The same rows with the answers of a model, and what the features tell of these.

        Both of all rows on the bench.
        """
        weights = (*(own for own, _ in self.rows.lesser), self.rows.weights)
        told = tuple(own[self.places] for own in outcomes)
        most = max(len(weights), len(told))
        ladders = (own if len(own) == most else own * most for own in (weights, told))
        *lesser, (_, best) = zip(*ladders, strict=True)
        return replace(self.rows, value=value[self.places], outcome=best, lesser=tuple(lesser))


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelAudit:
    """The audit of one model, or the reason why there is none."""

    result: AuditResult | None = None
    reason: str = ""
    regions: Mapping[SearchKey, RegionRows] = field(default_factory=dict)
    given: Mapping[Hashable, np.ndarray] | None = None  # the user's probabilities by outcome

    def violation(self, key: SearchKey) -> Violation | None:
        """What the audit says of a search."""
        found = () if self.result is None else self.result.violations
        return next((violation for violation in found if violation.key == key), None)


def region_rows(audit: Audit, bench: Bench) -> dict[SearchKey, RegionRows]:
    """The searches of an audit, row by row."""
    problem = audit.problem
    order = np.argsort(problem.source_row, kind="stable")[bench.input_place]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    regions = {}
    for search, violation in zip(audit.searches, audit.violations, strict=True):
        if not search.made:
            continue
        regions[search.key] = RegionRows(
            rows=measured_rows(search, problem),
            places=place[search.rows[search.data.held_out]],
            member=search.held_member,
            violation=violation,
            spread=search.measured.widening.sets[REGION],
            outcomes=_outcomes(search, place),
            scale=scale_of(search),
        )
    return regions


def _outcomes(search: Search, place: np.ndarray) -> tuple[np.ndarray, ...]:
    """``Pr[Y = y | x]`` by every rung, the best last, of all rows on the bench."""
    models = search.data.models
    assert models is not None
    told = []
    for model in (*models.outcome.lesser, models.outcome):
        m = np.full(len(place), np.nan)
        own = model.out_of_fold
        m[place[search.side.ground.compared.rows]] = (
            search.data.whole - own if models.flip_y else own
        )
        told.append(m)
    return tuple(told)
