"""A comparison as it may be printed: without small counts, and what is made from them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mdfa_fairness_plugin.comparison.records import (
    ACCURACY,
    EVERYBODY,
    FALSE_POSITIVE,
    SELECTION,
    TRUE_POSITIVE,
    WORST_CASE,
    Alternative,
    Difference,
    ModelSearch,
    RateRatio,
    Transfer,
)
from mdfa_fairness_plugin.fields import UNKNOWN_PAIR
from mdfa_fairness_plugin.records import AuditRecord, SearchKey, Violation
from mdfa_fairness_plugin.report.copies import of_few
from mdfa_fairness_plugin.report.redaction import redact

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.result import ComparisonResult

# Of a search: what its copy may withhold, and what it tells where its ratio is withheld.
_OF_TABLES: Final = frozenset(
    {"p_value_adjusted", "detectable_delta", "detectable_difference", "detectable_mass"}
)
_OF_THE_SET: Final = ("delta", "interval", "gamma", "mass", "difference", "difference_interval")
# Figures of a row that a difference to the baseline is made of.
_BEHIND: Final[dict[str, set[str]]] = {
    WORST_CASE: {"delta", "difference"},
    EVERYBODY: {"everybody_delta", "everybody_difference"},
    SELECTION: {"selection"},
    TRUE_POSITIVE: {"true_positive"},
    FALSE_POSITIVE: {"false_positive"},
    ACCURACY: {"accuracy"},
}


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
        changes: dict[str, Any] = {
            name: RateRatio(n_rows=own.n_rows, measure=own.measure)
            for name in ("selection", "true_positive", "false_positive")
            if _few(own := getattr(row, name), min_cell)
        }
        small = row.n_rows is not None and 0 < row.n_rows < min_cell
        if small or (printed is not None and printed.n_rows is None):
            changes |= {"n_rows": None, "share": math.nan}
        if printed is not None:
            changes["reason"] = printed.reason
            changes |= {name: getattr(printed, name) for name in _OF_TABLES & printed.withheld}
            if printed.n_rows is not None:
                changes |= {"n_rows": printed.n_rows, "share": printed.share}
        if _closed(printed):
            changes |= {"everybody_delta": math.nan, "everybody_interval": UNKNOWN_PAIR}
            changes["selection"] = RateRatio(measure=row.selection.measure)
            if row.by_difference:
                changes["everybody_difference"] = math.nan
                changes["everybody_difference_interval"] = UNKNOWN_PAIR
        n = row.selection.n_rows or result.n_samples or 0
        if of_few(row.accuracy, n, min_cell):
            changes["accuracy"] = math.nan
        if hidden and printed is not None:
            changes |= {name: getattr(printed, name) for name in _OF_THE_SET}
            changes |= dict.fromkeys(("n_splits_measured", "n_splits_infinite"), 0)
            name = "split_difference" if row.by_difference else "split_ratio"
            changes |= {f"{name}_mean": math.nan, f"{name}_sd": math.nan}
        lost = frozenset(name for name in changes if getattr(row, name) is not changes[name])
        return replace(row, **changes, withheld=lost - {"reason"})

    def transfer_of(one: Transfer) -> Transfer:
        hidden = searches.get((one.subgroup_of, one.search), (None, False))[1]
        # What is not told of everybody in a search is not of those there by another model's.
        own = _closed(searches.get((one.model, one.search), (None, False))[0])
        own = own or (one.subgroup_of == one.model and hidden)
        changes: dict[str, Any] = {"difference": math.nan, "difference_interval": UNKNOWN_PAIR}
        if not own and not math.isinf(one.delta) and not _few(one, min_cell):
            # It is the ratio of the model whose subgroup it is less the one told here.
            return replace(one, **changes, withheld=frozenset(changes)) if hidden else one
        size, ends = ("gap", "gap_interval") if one.by_difference else ("delta", "interval")
        changes[size] = math.nan
        changes |= dict.fromkeys((ends, "rates", "split_rates"), UNKNOWN_PAIR)
        name = "split_difference" if one.by_difference else "split_ratio"
        changes |= {f"{name}_mean": math.nan, f"{name}_sd": math.nan}
        return replace(one, **changes, withheld=frozenset(changes))

    def difference_of(one: Difference) -> Difference:
        both = (r for r in every if r.model in (one.model, one.baseline))
        both = (r for r in both if one.search in (None, r.search))
        lost: dict[str, Any] = {"difference": math.nan, "interval": UNKNOWN_PAIR}
        if not any(row.withheld & _BEHIND.get(one.quantity, set()) for row in both):
            return one
        return replace(one, **lost, withheld=frozenset(lost))

    def alternative_of(one: Alternative) -> Alternative:
        own, base = (worst[model] for model in (one.model, one.baseline))
        changes: dict[str, Any] = {}
        if {"delta"} & (own.withheld | base.withheld) and not math.isnan(one.worst_difference):
            changes |= {"worst_difference": math.nan, "worst_interval": UNKNOWN_PAIR}
        if not math.isnan(one.impact.ratio) and (
            "everybody_delta" in own.withheld or _few(one.impact, min_cell)
        ):
            changes["impact"] = RateRatio()
        return replace(one, **changes, withheld=frozenset(changes))

    worst = {model: row_of(result.worst(model)) for model in result.models}
    every = tuple(map(row_of, result.rows))
    totals = [audit.n_samples for audit in audits.values()]
    split = result.split_delta.copy()
    for transfer in map(transfer_of, result.transfers):
        if transfer.withheld & {"delta", "gap"} and split.size:
            place = result.searches.index(transfer.search)
            models = [result.models.index(m) for m in (transfer.subgroup_of, transfer.model)]
            split[:, place, models[0], models[1]] = math.nan
    return replace(
        result,
        rows=every,
        transfers=tuple(map(transfer_of, result.transfers)),
        differences=tuple(map(difference_of, result.differences)),
        alternatives=tuple(map(alternative_of, result.alternatives)),
        audits=audits,
        split_delta=split,
        warnings=warned.warnings,
        n_samples=None if None in totals else min(totals, default=result.n_samples),
    )


def _closed(printed: Violation | None) -> bool:
    """Whether a search as it may be printed tells nothing of everybody compared by it."""
    whole = None if printed is None else printed.population
    return whole is not None and whole.n_rows != 0 and not whole.measured


def _few(own: RateRatio | Transfer, min_cell: int) -> bool:
    """Whether figures are made of a count of a few."""
    return own.fewest is not None and own.fewest < min_cell
