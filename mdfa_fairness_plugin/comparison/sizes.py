"""How unequal models are, in the words and numbers of their audits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mdfa_fairness_plugin.comparison.records import OF_THE_AUDIT, ModelSearch
from mdfa_fairness_plugin.data.amounts import HIGHER, LESS, LOWER, MORE
from mdfa_fairness_plugin.describe.decimals import short
from mdfa_fairness_plugin.describe.wording import count, label_text, named
from mdfa_fairness_plugin.fields import UNKNOWN_PAIR
from mdfa_fairness_plugin.records import VIOLATION, SearchKey, Violation
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import HTML, Paragraphs, Section, Value, shown
from mdfa_fairness_plugin.report.effects import effect_by
from mdfa_fairness_plugin.report.figures import in_brackets
from mdfa_fairness_plugin.report.rates import RATES, Effect

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.result import ComparisonResult


def search_of(result: ComparisonResult, row: ModelSearch) -> Violation:
    """A model's search as its audit tells it, with the figures of the comparison."""
    audit = result.audits.get(row.model)
    found = (own for own in (audit.violations if audit else ()) if own.key == row.search)
    search = next(found, None) or Violation(**vars(row.search), outcome_scale="")
    own: dict[str, Any] = {name: getattr(row, name) for name in OF_THE_AUDIT}
    return replace(search, **own, withheld=search.withheld | row.withheld)


def effect_in(result: ComparisonResult, search: SearchKey, measure: str) -> Effect:
    """What models are compared by in a search."""
    labels, outcome = result.outcome_labels, search.outcome
    if labels if outcome in (LESS, MORE) else outcome not in (LOWER, HIGHER):
        return RATES
    every = (own for audit in result.audits.values() for own in audit.violations)
    scale = next((own.outcome_scale for own in every if own.key == search), "")
    return effect_by(measure, scale)


def effect_of_row(result: ComparisonResult, row: ModelSearch) -> Effect:
    """What a model is compared by in a search."""
    return effect_in(result, row.search, row.measure)


def cell(
    effect: Effect,
    size: float,
    interval: tuple[float, float] = UNKNOWN_PAIR,
    *,
    withheld: bool = False,
    signed: bool = False,
) -> Value:
    """A log ratio, or a difference of means, with its interval, all with the same decimals."""
    if math.isnan(size) and math.isnan(interval[0]):
        return None if withheld else ""
    value, low, high = short(effect.alike([*map(effect.from_scale, (size, *interval))]))
    if not value:  # the effect itself is withheld
        return f"at least {effect.in_cell(low)}"
    sign = "+" if signed and size > 0 else ""
    return in_brackets(f"{sign}{effect.in_cell(value)}", low, high)


def worst_cell(row: ModelSearch, effect: Effect, ends: tuple[float, float] = UNKNOWN_PAIR) -> Value:
    """How unequal a model's worst case is; None if that is withheld."""
    withheld = bool({"delta", "difference"} & row.withheld)
    return cell(effect, row.effect, ends, withheld=withheld)


def everybody_cell(row: ModelSearch, effect: Effect) -> Value:
    """How unequal everybody is at equal features; None if that is withheld."""
    size, ends, name = row.everybody_delta, row.everybody_interval, "everybody_delta"
    if row.by_difference:
        size, ends = row.everybody_difference, row.everybody_difference_interval
        name = "everybody_difference"
    if math.isnan(size):
        return None if name in row.withheld else ""
    return str(cell(effect, size, ends)).partition(" (")[0]


def signed_difference(size: float, ends: tuple[float, float]) -> str:
    """A difference of shares with its interval; empty if it is not known."""
    return "" if math.isnan(size) else f"{size:+.3f} ({ends[0]:+.3f} to {ends[1]:+.3f})"


def both(effect: Effect, first: float, second: float) -> tuple[str, str]:
    """Two effects that are read together."""
    one, two = effect.alike([*map(effect.from_scale, (first, second))])
    return effect.with_unit(one, first), effect.with_unit(two, second)


_NOW: Final = (
    "What now: before one model is chosen, look at the worst subgroup of each beside its ratio over "
    "everybody. Then measure the chosen one where nobody has looked, with mdfa measure."
)


def headline(result: ComparisonResult) -> Section:
    """In which models a disparity was found, of whom, and what to do with that."""
    rows = [result.worst(model) for model in result.models]
    found = [_found(result, row) for row in rows if row.verdict == VIOLATION]
    models = count(len(rows), "model")
    text = f"Unequal beyond chance in {len(found)} of {models}: {'; '.join(found)}."
    if not found:
        text = (
            f"Nothing was found unequal beyond chance in {models}; no finding of equal treatment."
        )
    told = Paragraphs((text,), "headline"), Paragraphs((_NOW,), "now")
    return Section("headline", "", told, HTML, place="above")


def _found(result: ComparisonResult, row: ModelSearch) -> str:
    effect = effect_of_row(result, row)
    size = worst_cell(row, effect, row.effect_interval)
    rows = say.rows_in_brackets(row.n_rows)
    whom = f'{_group(row.search, 24)}, outcome "{label_text(row.search.outcome)}"'
    return f"{label_text(row.model)} ({whom}: {effect.name} {shown(size)}, {rows})"


def who(search: SearchKey, limit: int = 24) -> str:
    """Name a search: the group, whom it is compared with, and the outcome."""
    return f"{_group(search, limit)}: {label_text(search.outcome, limit)}"


def _group(search: SearchKey, limit: int) -> str:
    text = named(search.sensitive_feature, search.group, limit)
    if search.reference is not None:
        text += f" (vs {label_text(search.reference, limit)})"
    return text
