"""Alternatives in words: how well each model does, and whether it is less unequal."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Final

from mdfa_fairness_plugin.comparison.performance import ACCURACY_METRIC, AUC, ERROR, R2
from mdfa_fairness_plugin.comparison.records import SHOWN, Alternative, ModelSearch
from mdfa_fairness_plugin.comparison.sizes import cell
from mdfa_fairness_plugin.describe.wording import clean, label_text, percent, rounded
from mdfa_fairness_plugin.records import ratio_of
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
from mdfa_fairness_plugin.report.figures import ratio_text

_NAMES: Final = {ACCURACY_METRIC: "Accuracy", AUC: "AUC", R2: "R2", ERROR: "Minus the mean error"}
# What a model's worst case is to that of the baseline, by what both are compared by.
_BESIDE: Final = {"ratio": "Times", "difference": "More than", "none": "Beside"}
_SIZES: Final = {"ratio": "ratio", "difference": "difference", "none": "size"}
_NONE: Final = (math.nan, math.nan)


def alternatives_section(
    alternatives: tuple[Alternative, ...], worst: Callable[[Hashable], ModelSearch]
) -> Section:
    """Every model beside the baseline; nothing without a metric."""
    title = "Less unequal alternatives"
    if not alternatives:
        return Section("alternatives", title, ())
    first = alternatives[0]
    name = _NAMES.get(first.metric) or clean(first.metric, 30)
    impact = any(not math.isnan(one.impact.ratio) for one in alternatives)
    header = ["Model", "Less unequal", "Within tolerance", "Both", name, "Difference"]
    header += ["Impact ratio"] if impact else []
    header += ["Alike", "Worst subgroup", f"{_BESIDE[first.measure]} the baseline's"]
    rows = []
    for one in alternatives:
        row = worst(one.model)
        cells: list[Value] = [label_text(one.model, 24)]
        cells += [one.less_unequal, one.within_tolerance, one.finding]
        cells += [rounded(one.performance), _difference(one)]
        cells += [_impact(one)] if impact else []
        cells += [
            _alike(row),
            _worst(row),
            _times(one),
        ]
        rows.append(tuple(cells))
    caption = f"Each model beside {label_text(first.baseline)}"
    table = Table(header=tuple(header), rows=tuple(rows), caption=caption, n_text=4, media=HTML)
    lines = tuple(_line(one, name, worst(one.model)) for one in alternatives)
    return Section(
        "alternatives",
        title,
        (table, Bullets(lines, media=PLAIN), Paragraphs((_note(first, name),), "note")),
    )


def _line(one: Alternative, name: str, row: ModelSearch) -> str:
    """One model as text."""
    own = label_text(one.model)
    does = f"{name} {rounded(one.performance)}"
    alike, ratio = _alike(row), _worst(row)
    name_of = "difference" if row.by_difference else "ratio"
    size = f"{name_of} at equal features {shown(alike) or 'unknown'}"
    size += f", in the worst subgroup {shown(ratio) or 'unknown'}"
    impact = f", impact ratio {shown(text)}" if (text := _impact(one)) != "" else ""
    if one.model == one.baseline:
        return f"{own} (baseline): {does}{impact}, {size}."
    times = shown(_times(one)) or "an unknown number of"
    told = f"Less unequal: {one.less_unequal}."
    if one.finding:
        told = f"Less unequal within the tolerance: {one.finding}."
        if one.finding != SHOWN:
            told += f" Within it: {one.within_tolerance}; less unequal: {one.less_unequal}."
    return (
        f"{own}: {does} (difference {_difference(one)}){impact}, {size}, {times} "
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


def _alike(row: ModelSearch) -> Value:
    if {"everybody_delta", "everybody_difference"} & row.withheld:
        return None
    if row.by_difference:
        return cell(row.everybody_difference, _NONE, row.measure)
    return _ratio(ratio_of(row.everybody_delta))


def _worst(row: ModelSearch) -> Value:
    if {"delta", "difference"} & row.withheld:
        return None
    return cell(row.effect, _NONE, row.measure) if row.by_difference else _ratio(row.ratio)


def _difference(one: Alternative) -> str:
    if math.isnan(one.performance_difference):
        return ""
    low, high = one.performance_interval
    return f"{one.performance_difference:+.3f} ({low:+.3f} to {high:+.3f})"


def _impact(one: Alternative) -> Value:
    if "impact" in one.withheld:
        return None
    return _spanned(one.impact.ratio, one.impact.ratio_interval)


def _times(one: Alternative) -> Value:
    if "worst_difference" in one.withheld:
        return None
    low, high = one.worst_interval
    if one.measure != "ratio":
        return cell(one.worst_difference, one.worst_interval, "difference", signed=True)
    return _spanned(ratio_of(one.worst_difference), (ratio_of(low), ratio_of(high)))


def _spanned(ratio: float, ends: tuple[float, float]) -> str:
    if math.isnan(ratio):
        return ""
    low, high = (_ratio(end) for end in ends)
    return f"{_ratio(ratio)} ({low} to {high})" if low else _ratio(ratio)


def _ratio(ratio: float) -> str:
    return "" if math.isnan(ratio) else ratio_text(ratio)
