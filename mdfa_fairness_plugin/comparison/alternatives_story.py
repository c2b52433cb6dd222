"""Alternatives in words: how well each model does, and whether it is less unequal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from mdfa_fairness_plugin.comparison.performance import ACCURACY_METRIC, AUC, ERROR, R2
from mdfa_fairness_plugin.comparison.records import SHOWN, Alternative
from mdfa_fairness_plugin.comparison.sizes import (
    cell,
    effect_of_row,
    everybody_cell,
    signed_difference,
    worst_cell,
)
from mdfa_fairness_plugin.describe.decimals import ratios_text
from mdfa_fairness_plugin.describe.wording import clean, label_text, percent, rounded
from mdfa_fairness_plugin.report.document import (
    HTML,
    PLAIN,
    Bullets,
    Paragraphs,
    Section,
    Table,
    Value,
    shown,
)
from mdfa_fairness_plugin.report.figures import in_brackets
from mdfa_fairness_plugin.report.rates import RATES, Effect

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.result import ComparisonResult

_NAMES: Final = {ACCURACY_METRIC: "Accuracy", AUC: "AUC", R2: "R2", ERROR: "Minus the mean error"}
# What a model's worst case is to that of the baseline, by what both are compared by.
_BESIDE: Final = {"ratio": "Times", "difference": "More than", "none": "Beside"}
_SIZES: Final = {"ratio": "ratio", "difference": "difference", "none": "size"}


def alternatives_section(result: ComparisonResult) -> Section:
    """Every model beside the baseline; nothing without a metric."""
    title, alternatives = "Less unequal alternatives", result.alternatives
    if not alternatives:
        return Section("alternatives", title, ())
    first = alternatives[0]
    name = _NAMES.get(first.metric) or clean(first.metric, 30)
    impact = any(not math.isnan(one.impact.ratio) for one in alternatives)
    header = ["Model", "Less unequal", "Within tolerance", "Both", name, "Difference"]
    header += ["Impact ratio"] if impact else []
    header += ["Everybody", "Worst subgroup", f"{_BESIDE[first.measure]} the baseline's"]
    rows = []
    for one in alternatives:
        row = result.worst(one.model)
        effect = effect_of_row(result, row)
        cells: list[Value] = [label_text(one.model, 24)]
        cells += [one.less_unequal, one.within_tolerance, one.finding]
        difference = signed_difference(one.performance_difference, one.performance_interval)
        cells += [rounded(one.performance), difference]
        cells += [_impact(one)] if impact else []
        cells += [everybody_cell(row, effect), worst_cell(row, effect), _times(one, effect)]
        rows.append(tuple(cells))
    caption = f"Each model beside {label_text(first.baseline)}"
    table = Table(header=tuple(header), rows=tuple(rows), caption=caption, n_text=4, media=HTML)
    lines = tuple(_line(result, one, name) for one in alternatives)
    return Section(
        "alternatives",
        title,
        (table, Bullets(lines, media=PLAIN), Paragraphs((_note(first, name),), "note")),
    )


def _line(result: ComparisonResult, one: Alternative, name: str) -> str:
    """One model as text."""
    own, row = label_text(one.model), result.worst(one.model)
    effect = effect_of_row(result, row)
    does = f"{name} {rounded(one.performance)}"
    difference = signed_difference(one.performance_difference, one.performance_interval)
    size = f"{effect.name} for everybody {shown(everybody_cell(row, effect)) or 'unknown'}"
    size += f", in the worst subgroup {shown(worst_cell(row, effect)) or 'unknown'}"
    impact = f", impact ratio {shown(text)}" if (text := _impact(one)) != "" else ""
    if one.model == one.baseline:
        return f"{own} (baseline): {does}{impact}, {size}."
    times = shown(_times(one, effect)) or "an unknown number of"
    told = f"Less unequal: {one.less_unequal}."
    if one.finding:
        told = f"Less unequal within the tolerance: {one.finding}."
        if one.finding != SHOWN:
            told += f" Within it: {one.within_tolerance}; less unequal: {one.less_unequal}."
    return (
        f"{own}: {does} (difference {difference}){impact}, {size}, {times} "
        f"{_BESIDE[one.measure].lower()} the baseline's. "
        f"{told}"
    )


def _note(one: Alternative, name: str) -> str:
    """How to read the table."""
    level = percent(one.confidence_level)
    tolerance = ""
    if not math.isnan(one.tolerance):
        tolerance = (
            f" Tolerance: {name} less than the baseline's by {rounded(one.tolerance)} at most."
        )
    return (
        f"Less unequal: the {_SIZES[one.measure]} of the model's worst case, whoever is in it, is "
        f"below that of the baseline's worst case. Shown: the whole {level} interval of the paired "
        "difference says so; not shown: it says the opposite; undecided: the rows cannot tell."
        f"{tolerance} Intervals of differences hold for all alternatives at once. Which alternative "
        "has to be taken is for others to judge."
    )


def _impact(one: Alternative) -> Value:
    if "impact" in one.withheld:
        return None
    value, *span = ratios_text((one.impact.ratio, *one.impact.ratio_interval))
    return in_brackets(value, *span) if value else ""


def _times(one: Alternative, effect: Effect) -> Value:
    withheld, signed = "worst_difference" in one.withheld, one.measure != "ratio"
    effect = effect if one.measure in ("ratio", "difference") else RATES
    size, interval = one.worst_difference, one.worst_interval
    return cell(effect, size, interval, withheld=withheld, signed=signed)
