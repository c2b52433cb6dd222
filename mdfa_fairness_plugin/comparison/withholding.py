"""A comparison as it may be printed: without small counts, and what is made from them."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Final

from mdfa_fairness_plugin.comparison.records import Alternative, ModelSearch, RateRatio, Transfer
from mdfa_fairness_plugin.records import AuditRecord, SearchKey, Violation
from mdfa_fairness_plugin.report.redaction import redact

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.result import ComparisonResult

_UNKNOWN: Final = (math.nan, math.nan)


def as_printed(result: ComparisonResult, min_cell: int) -> ComparisonResult:
    """Withhold small counts, and what a model's audit withholds because of them."""
    warned = redact(AuditRecord(warnings=result.warnings), min_cell).result
    if min_cell == 1:
        return result
    audits: Any = {m: redact(audit, min_cell).result for m, audit in result.audits.items()}

    # The audits' searches as they may be printed, and whether the ratio of each is withheld.
    searches: dict[tuple[Any, SearchKey], tuple[Violation | None, bool]] = {
        (model, given.key): (printed, given.measured and not printed.measured)
        for model, audit in audits.items()
        for printed, given in zip(audit.violations, result.audits[model].violations, strict=True)
    }

    def row_of(row: ModelSearch) -> ModelSearch:
        printed, hidden = searches.get((row.model, row.search), (None, False))
        changes: dict[str, Any] = {}
        small = row.n_rows is not None and 0 < row.n_rows < min_cell
        if small or (printed is not None and printed.n_rows is None):
            changes |= {"n_rows": None, "share": math.nan}
        if printed is not None:
            changes["reason"] = printed.reason
            if math.isnan(printed.detectable_mass):
                changes["detectable_mass"] = math.nan
        whole = None if printed is None else printed.population
        if whole is not None and whole.n_rows != 0 and not whole.measured:
            changes |= {"everybody_delta": math.nan, "everybody_interval": _UNKNOWN}
            if row.by_difference:
                changes["everybody_difference"] = math.nan
                changes["everybody_difference_interval"] = _UNKNOWN
        if hidden:
            least = (row.effect_interval[0], math.nan)
            changes |= {"delta": math.nan, "interval": _UNKNOWN if row.by_difference else least}
            changes |= {"gamma": math.nan, "mass": math.nan, "difference": math.nan}
            changes["difference_interval"] = least if row.by_difference else _UNKNOWN
            name = "split_difference" if row.by_difference else "split_ratio"
            changes |= {f"{name}_mean": math.nan, f"{name}_sd": math.nan}
        return dataclasses.replace(row, **changes, withheld=frozenset(changes) - {"reason"})

    def transfer_of(one: Transfer) -> Transfer:
        hidden = searches.get((one.model, one.search), (None, False))[1]
        own = one.subgroup_of == one.model and hidden
        if not own and not math.isinf(one.delta):
            return one
        size, ends = "delta", "interval"
        if one.by_difference:
            size, ends = "gap", "gap_interval"
        low = getattr(one, ends)[0]
        changes: dict[str, Any] = {size: math.nan, "difference": math.nan, "rates": _UNKNOWN}
        changes[ends] = (low if math.isfinite(low) else math.nan, math.nan)
        return dataclasses.replace(one, **changes, withheld=frozenset(changes))

    def alternative_of(one: Alternative) -> Alternative:
        own, base = (worst[model] for model in (one.model, one.baseline))
        changes: dict[str, Any] = {}
        if {"delta"} & (own.withheld | base.withheld) and not math.isnan(one.worst_difference):
            changes |= {"worst_difference": math.nan, "worst_interval": (math.nan, math.nan)}
        if "everybody_delta" in own.withheld and not math.isnan(one.impact.ratio):
            changes["impact"] = RateRatio()
        return dataclasses.replace(one, **changes, withheld=frozenset(changes))

    worst = {model: row_of(result.worst(model)) for model in result.models}
    totals = [audit.n_samples for audit in audits.values()]
    return dataclasses.replace(
        result,
        rows=tuple(map(row_of, result.rows)),
        transfers=tuple(map(transfer_of, result.transfers)),
        alternatives=tuple(map(alternative_of, result.alternatives)),
        audits=audits,
        warnings=warned.warnings,
        n_samples=None if None in totals else result.n_samples,
    )
