"""What a comparison found, in a sentence, and what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mdfa_fairness_plugin.comparison.records import ModelSearch
from mdfa_fairness_plugin.comparison.sizes import cell, effect_of_row
from mdfa_fairness_plugin.describe.wording import count, label_text, named
from mdfa_fairness_plugin.records import VIOLATION, SearchKey
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import HTML, Paragraphs, Section, shown

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.result import ComparisonResult

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
    withheld = bool({"delta", "difference"} & row.withheld)
    effect = effect_of_row(result, row)
    size = cell(effect, row.effect, row.effect_interval, withheld=withheld)
    rows = say.rows_in_brackets(row.n_rows)
    return f"{label_text(row.model)} ({who(row.search)}, {effect.name} {shown(size)}, {rows})"


def who(search: SearchKey, limit: int = 24) -> str:
    """Name a search: the group, whom it is compared with, and the outcome."""
    text = named(search.sensitive_feature, search.group, limit)
    if search.reference is not None:
        text += f" (vs {label_text(search.reference, limit)})"
    return f"{text}: {label_text(search.outcome, limit)}"
