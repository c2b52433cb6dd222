"""Copies of single parts of a search that hold only what tells of no few people."""

from __future__ import annotations

import math

import numpy as np

from mdfa_fairness_plugin.fields import known
from mdfa_fairness_plugin.records import (
    AuditRecord,
    ModelDependence,
    Spread,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.report.cells import Kept, rounded
from mdfa_fairness_plugin.report.copies import of_few, printed


def overlap(
    given: AuditRecord, shown: Violation | None, kept: Kept, min_cell: int
) -> tuple[bool, bool]:
    """Whether the overlap histogram may be drawn, and with the rows left out."""
    if shown is None or len(shown.side) == 0:
        return False, False
    if not kept.has_table:
        return True, False
    totals = all(kept.told(("rows of all", side)) for side in (0, 1))
    left = [int((shown.left_out & (shown.side == side)).sum()) for side in (1, -1)]
    reasons = [r for r in given.excluded if "comparable" in r]
    told = all(kept.told(("excluded", reason)) for reason in reasons)
    return totals, told and not any(0 < n < min_cell for n in left)


def rule_rows(violation: Violation, min_cell: int) -> int | None:
    """Whom the rule as printed holds for: roughly if a few make the difference to another size."""
    n, own = known(violation.rule_rows), known(violation.rule_subgroup.n_rows)
    if 0 < n < min_cell:
        return None
    others = (own, known(violation.n_rows), known(violation.population.n_rows))
    return rounded(n, min_cell) if any(0 < abs(n - m) < min_cell for m in others) else n


def missing_elsewhere(result: AuditRecord, violation: Violation, n_missing: int) -> int:
    """Rows without a value outside the subgroup, where some are inside."""
    total = sum(
        known(n)
        for reason, n in result.excluded.items()
        if "missing" in reason and violation.sensitive_feature in reason
    )
    return total - n_missing if n_missing > 0 else 0


def dependence(
    violation: Violation, *, closed: bool, everybody: bool
) -> tuple[ModelDependence | None, int]:
    """How the ratio moved, where the ratio itself may be printed, and how many numbers are withheld.

    A loss over everybody tells how many have the outcome where no model tells it.
    """
    given = violation.depends_on_models
    if given is None:
        return None, 0
    names = ("propensity_losses", "outcome_losses")
    losses = {name: getattr(given, name) for name in names}
    n_losses = 0
    if closed or everybody:
        n_losses = sum(map(len, losses.values()))
        losses = {name: (math.nan,) * len(own) for name, own in losses.items()}
    if not closed:
        told = {**_effects(given), **losses, "allowance": given.allowance}
        return printed(ModelDependence, given, **told), n_losses
    lost, n = _no_effects(given)
    return printed(ModelDependence, given, **lost, **losses), n + 1 + n_losses


def _effects(given: ModelDependence | Spread) -> dict[str, tuple[float, ...]]:
    return {"ratios": given.ratios, "differences": given.differences}


def _no_effects(given: ModelDependence | Spread) -> tuple[dict[str, tuple[float, ...]], int]:
    """As many as there are, none of them known."""
    lost = {name: (math.nan,) * len(own) for name, own in _effects(given).items()}
    return lost, sum(map(len, lost.values()))


def spread(violation: Violation, min_cell: int, *, closed: bool) -> tuple[Spread | None, int]:
    """What other splits find, likewise, unless it tells of a few people; and how many are withheld.

    An infinite ratio, or none at all, tells of an empty cell among the people of another split.
    """
    given = violation.spread
    if given is None:
        return None, 0
    whole = all(0 < ratio < math.inf for ratio in given.ratios)
    if closed or not (whole and all(map(math.isfinite, given.differences))):
        return printed(Spread, given, **_no_effects(given)[0]), 3
    few = of_few(given.shared, known(violation.n_rows), min_cell)
    shared = math.nan if few else given.shared
    return printed(Spread, given, **_effects(given), shared=shared), int(few)


def spaced_path(violation: Violation, min_cell: int) -> WorstCasePath:
    """Regions that differ from each other and from the marked ones by enough rows and cases."""
    path = violation.path
    n = len(path)
    if n == 0 or len(path.mass) != n or len(path.n_rows) != n:
        return WorstCasePath()
    total = known(violation.population.n_rows)
    rows = np.asarray(path.n_rows, dtype=float)
    cases = np.asarray(path.mass, dtype=float) * total
    anchors = [(0.0, 0.0), (float(total), violation.population.mass * total)]
    anchors.append((float(known(violation.n_rows)), violation.mass * total))
    chosen: list[int] = []
    apart = 2 * min_cell
    for i in np.argsort(-rows, kind="stable"):
        if not np.isfinite(path.delta[i]) or not np.isfinite(cases[i]):
            continue
        spots = [*anchors, *((rows[k], cases[k]) for k in chosen)]
        gaps = [(abs(rows[i] - r), abs(cases[i] - c)) for r, c in spots if not math.isnan(c)]
        if all(r >= apart and c >= apart for r, c in gaps):
            chosen.append(int(i))
    chosen.sort()
    low, high = np.asarray(path.interval_low), np.asarray(path.interval_high)
    return WorstCasePath(
        delta=np.asarray(path.delta)[chosen],
        mass=np.asarray(path.mass)[chosen],
        interval_low=low[chosen] if len(low) == n else low,
        interval_high=high[chosen] if len(high) == n else high,
    )
