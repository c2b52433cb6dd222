"""Copies of records, and of parts of a search, that hold only what may be printed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtri

from mdfa_fairness_plugin.fields import Record, known
from mdfa_fairness_plugin.measure.intervals import PLAINEST
from mdfa_fairness_plugin.measure.limits import ratio_limits
from mdfa_fairness_plugin.records import (
    AuditRecord,
    Measured,
    ModelDependence,
    Spread,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.report.cells import Kept, few_of, rounded

_Kind = TypeVar("_Kind", bound=Record)
_STEPS: Final = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)


def permitted(kind: type[Any], *marks: str) -> list[str]:
    """Fields of a record that say one of these of being printed."""
    return [one.name for one in fields(kind) if one.metadata.get("printable", "never") in marks]


def printed(kind: type[_Kind], record: _Kind, **allowed: Any) -> _Kind:
    """Copy of a record that holds what may always be printed and what is allowed here.

    Only fields that leave it to their cells or to a rule can be allowed; counts that are not are None.
    """
    open_fields = permitted(kind, "cells", "rule")
    refused = set(allowed).difference(open_fields)
    if refused:
        raise ValueError(f"allowed: {', '.join(sorted(refused))} may not be printed.")
    always = {name: getattr(record, name) for name in permitted(kind, "always")}
    counts = [one.name for one in fields(kind) if type(one.default) is int]
    values: dict[str, Any] = dict.fromkeys(counts) | always | allowed
    copy = kind(**values)
    lost = [n for n in open_fields if _is_lost(getattr(record, n), getattr(copy, n))]
    return replace(copy, withheld=frozenset(lost))


def _is_lost(given: Any, kept: Any) -> bool:
    """Whether a copy lacks a number or text that the record has."""
    if given is None:
        return False
    if isinstance(given, tuple) and isinstance(kept, tuple) and len(given) == len(kept):
        return any(map(_is_lost, given, kept))
    if isinstance(given, float):
        return not math.isnan(given) and math.isnan(kept)
    return kept is None or (isinstance(given, str) and bool(given) and not kept)


def made_of_cells(record: Measured) -> dict[str, Any]:
    """Figures of a set without small cells, but for ratios of the counts themselves."""
    told = {name: getattr(record, name) for name in permitted(type(record), "cells")}
    given = told.get("estimates", {})
    if given and math.isnan(record.outcome_sd):
        plain = given.get("unweighted")
        ratios = {name: value for name, value in given.items() if name != "unweighted"}
        told["estimates"] = {} if plain == given.get("hajek") else ratios
    return told


def coarse_rates(record: _Kind) -> _Kind:
    """A search whose rates, and those of its sets, have two digits: its counts are rounded, too."""
    told: dict[str, Any] = {}
    for one in fields(record):
        own = getattr(record, one.name)
        if isinstance(own, Measured):
            told[one.name] = coarse_rates(own)
        elif one.name == "rates" and not getattr(record, "outcome_scale", ""):
            told["rates"] = tuple(float(f"{rate:.2g}") for rate in own)
    return replace(record, **told)


def least(record: Violation, min_cell: int) -> dict[str, Any]:
    """All that is told of a set with few in a cell: what its lower limit is above, whatever that is.

    The same is told of all numbers below ``min_cell``, with as many rows on either side, if limits
    move as those of counts with such weights do; and nothing if that may be chance.
    """
    low = record.interval[0]
    if record.by_difference or not 0 < low < math.inf:
        return {}
    cells, weight = two_outcomes(record.counts), _weights(record)
    depends = record.depends_on_models
    fall = 0.0 if depends is None else depends.allowance

    def limit(counts: np.ndarray, z: float) -> np.ndarray:
        return _lower(counts, weight, z) - fall

    def apart(z: float) -> float:
        return float(limit(cells, z)[0]) - low

    z = float(ndtri((1 + record.confidence_level) / 2))
    if apart(0.0) > 0 > apart(PLAINEST):
        z = float(brentq(apart, 0.0, PLAINEST))
    bound = float(np.minimum(low, limit(_worlds(record, cells, min_cell), z).min()))
    if not bound > 0:
        return {}
    # Limits of a few rows move otherwise: finer steps would tell these numbers apart.
    size = 10.0 ** math.floor(bound / math.log(10.0))
    ratio = size * max((step for step in _STEPS if size * step <= math.exp(bound)), default=1.0)
    return {"interval": (math.log(ratio), math.nan)} if ratio > 1 else {}


def _worlds(record: Violation, cells: np.ndarray, min_cell: int) -> np.ndarray:
    """Counts (4, n) that agree with all that may be printed, with the sizes of both sides."""
    whole = record.population.counts
    others = two_outcomes(whole) - cells if whole.shape == record.counts.shape else 0 * cells
    others = np.maximum(others, 0.0)
    axes = []
    for own, rest in zip(cells, others, strict=True):
        reach = [own[0], own[0]]
        for part, start, sign in ((own, 0.0, 1.0), (rest, own[0] + rest[0], -1.0)):
            few, n = few_of(part, min_cell), float(part.sum())
            if few.any():
                ends = (0.0, n) if few.all() or n < 2 * min_cell - 1 else (0.0, min_cell - 1.0)
                ends = (n - ends[1], n) if few[1] and not few[0] and ends[1] < n else ends
                reach += [start + sign * end for end in ends]
        axes.append(np.arange(max(min(reach), 0.0), min(max(reach), own.sum()) + 1.0))
    group, other = (axis.ravel() for axis in np.meshgrid(*axes))
    return np.stack([group, cells[0].sum() - group, other, cells[1].sum() - other])


def _lower(cells: np.ndarray, weight: np.ndarray, z: float) -> np.ndarray:
    """Lower limit of the log ratio of rates of counts (4, n).

    ``weight`` is by how much more those of each side count who have the outcome.
    """
    group, group_rest, others, others_rest = cells.reshape(4, -1)
    hits, rest = np.array([group, others]), np.array([group_rest, others_rest])
    weighted = weight[:, np.newaxis] * hits
    low: np.ndarray = ratio_limits(weighted / (weighted + rest), hits + rest, z)[0]
    return low


def _weights(record: Violation) -> np.ndarray:
    """By how much more those of each side (2,) count who have the outcome, everybody's of few."""
    weight = np.ones(2)
    for own in (record.population, record):
        if own.counts.shape == record.counts.shape:
            rates, cells = np.array(own.rates), two_outcomes(own.counts)
            known = (cells > 0).all(axis=1) & (rates > 0) & (rates < 1)
            odds = cells[known, 0] / cells[known, 1]
            weight[known] = rates[known] / (1 - rates[known]) / odds
    return weight


def two_outcomes(counts: pd.DataFrame) -> np.ndarray:
    """Rows of both sides (2, 2) with the outcome searched for, which comes first, and without."""
    cells = counts.to_numpy(dtype=float)
    return np.column_stack([cells[:, 0], cells[:, 1:].sum(axis=1)])


@dataclass(frozen=True, kw_only=True)
class Guard:
    """Which sets of rows have estimates from which a few people could be counted."""

    min_cell: int
    untold: frozenset[tuple[Any, ...]] = frozenset()  # tables that are not all printed
    few: frozenset[str] = frozenset()  # sensitive features with a group that few amounts are of

    def closed(self, own: Measured, *wholes: Measured) -> bool:
        """Whether a set has a small cell, or what is left of one that it is part of has."""
        return not self.untold.isdisjoint((cells_of(own), table_of(own))) or self.tells(
            own, *wholes
        )

    def tells(self, own: Measured, *wholes: Measured) -> bool:
        """Whether it does so by itself, and not with what is told of others."""
        cells = own.counts.to_numpy(dtype=float)
        pairs = (w.counts.to_numpy(dtype=float) for w in wholes if w.counts.shape == cells.shape)
        left = [w - cells for w in pairs if (w >= cells).all()]
        return any(thin(one, self.min_cell) for one in (cells, *left))


def cells_of(own: Measured) -> tuple[float, ...]:
    """Cells of a table, whichever side and outcome it is told from; empty if they are not known."""
    cells = own.counts.to_numpy(dtype=float)
    return tuple(sorted(cells.ravel())) if cells.size else (-1.0,)


def table_of(own: Measured) -> tuple[Any, ...]:
    """The same with the names of its sides, which another table of the same cells has not."""
    return (tuple(sorted(map(str, own.counts.index))), *cells_of(own))


def of_few(share: float, n: int, min_cell: int) -> bool:
    """Whether a share of so many rows, or the rest of them, is of too few people."""
    return 0.5 <= min(share, 1 - share) * n < min_cell


def thin(counts: pd.DataFrame | np.ndarray, min_cell: int) -> bool:
    """Whether any cell by sensitive value and outcome is too small to print."""
    cells = np.asarray(counts, dtype=float)
    return bool(cells.size and few_of(cells, min_cell).any())


def no_counts(counts: pd.DataFrame) -> pd.DataFrame:
    """Counts of which each is withheld."""
    nothing = np.full(counts.shape, None, dtype=object)
    return pd.DataFrame(nothing, index=counts.index, columns=counts.columns)


def rough_counts(counts: pd.DataFrame, min_cell: int) -> pd.DataFrame:
    """Rounded counts, so that sets which differ by a few people do not tell of these."""
    told = counts.astype(object)  # pandas makes plain numbers of what map gives
    for place, n in np.ndenumerate(counts.to_numpy()):
        told.iloc[place] = rounded(n, min_cell)
    return told


# -- parts of a search, where they tell of no few people


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
