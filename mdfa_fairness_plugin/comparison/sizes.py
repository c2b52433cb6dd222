"""How unequal models are, in words: ratios, and differences of means in units of the outcome."""

from __future__ import annotations

import math
from typing import Final

from mdfa_fairness_plugin.comparison.records import ModelSearch
from mdfa_fairness_plugin.data.amounts import HIGHER, LESS, LOWER, MORE
from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import clean
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NONE_LARGER,
    VIOLATION,
    AuditRecord,
    SearchKey,
    ratio_of,
)
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import Value
from mdfa_fairness_plugin.report.figures import amount_text, ratio_text

_UNKNOWN: Final = (math.nan, math.nan)
_RANKS: Final = {LOWER: "lower", HIGHER: "higher"}


def of_amounts(search: SearchKey, labels: tuple[object, ...]) -> bool:
    """Whether a search is of how much, not of how often; ``labels`` are the comparison's outcomes."""
    return not labels if search.outcome in (LESS, MORE) else search.outcome in _RANKS


def cell(
    effect: float,
    interval: tuple[float, float],
    measure: str,
    *,
    withheld: bool = False,
    signed: bool = False,
) -> Value:
    """A log ratio, or a difference of means, with its interval."""
    low, high = interval
    if math.isnan(effect) and math.isnan(low):
        return None if withheld else ""
    if measure == "difference":
        sign = "+" if signed and effect > 0 else ""
        ends = "" if math.isnan(low) else f" ({amount_text(low)} to {amount_text(high)})"
        if math.isnan(effect):  # the difference itself is withheld
            return f"at least {amount_text(low)}"
        return f"{sign}{amount_text(effect)}{ends}"
    low, high = ratio_of(low), ratio_of(high)
    if math.isnan(effect):
        return f"at least {ratio_cell(low)}"
    shown = ratio_cell(ratio_of(effect))
    return f"{shown} ({ratio_cell(low)}-{ratio_cell(high)})" if not math.isnan(low) else shown


def ratio_cell(ratio: float) -> str:
    """A ratio in a table."""
    if math.isnan(ratio):
        return ""
    return "inf" if math.isinf(ratio) else f"{ratio:.2f}" if ratio < 10 else ratio_text(ratio)


def much(search: SearchKey, effect: float, interval: tuple[float, float], measure: str) -> str:
    """How much more or less a group gets than those it is compared with, as a clause."""
    group, others = say.group_of(search), say.others_of(search)
    low, high = interval
    if measure == "difference":
        span = "" if math.isnan(low) else f" (between {amount_text(low)} and {amount_text(high)})"
        if search.outcome in _RANKS:
            return (
                f"{group} rank {amount_text(effect)}{span} {_RANKS[search.outcome]} than {others}"
            )
        return f"{group} get {amount_text(effect)}{span} {search.outcome} than {others}"
    first, second = (others, group) if search.outcome == LESS else (group, others)
    ends = map(ratio_text, map(ratio_of, interval))
    span = "" if math.isnan(low) else " (between {} and {})".format(*ends)
    return f"{first} get {ratio_text(ratio_of(effect))} times{span} as much as {second}"


def detectable(row: ModelSearch) -> str:
    """What would have been found, as the end of a sentence; empty if nothing would."""
    mass = row.detectable_mass
    share = "" if math.isnan(mass) else f" in a mass of {mass:.2g}"
    if row.by_difference:
        size = f"a difference of {amount_text(row.detectable_difference)}"
        known = math.isfinite(row.detectable_difference)
    else:
        size = f"a ratio of {ratio_text(row.detectable_ratio)}"
        known = math.isfinite(row.detectable_ratio)
    return f"; {size}{share} would have been found" if known else ""


def case_of_amounts(row: ModelSearch, audit: AuditRecord | None) -> str:
    """The worst case of a model whose outcomes are numbers or ranks."""
    search, ends, known = row.search, row.effect_interval, not math.isnan(row.effect)
    if row.verdict == VIOLATION and not known and math.isfinite(ends[0]):
        least = much(search, ends[0], _UNKNOWN, row.measure)
        return (
            f"{least}, or more, in the worst subgroup, at equal features: a disparity beyond chance. "
            "The size itself is withheld: too few people are behind it."
        )
    if row.verdict == NONE_LARGER and not known:
        return "no subgroup told from chance. The largest size measured is withheld."
    if row.verdict == INSUFFICIENT or not known:
        return f"undetermined; {clean(row.reason, 200) or 'nothing was measured'}."
    size = much(search, row.effect, ends, row.measure)
    far = say.deviations(row.standard_deviations)
    far = f" It is {far} standard deviations beyond chance, the search allowed for." if far else ""
    if row.verdict == NONE_LARGER:
        return (
            f"no subgroup told from chance{detectable(row)}. Closest to a disparity beyond chance, by "
            f"its lower limit, at equal features: {size}.{far}"
        )
    if row.rule == EVERYBODY:
        own = (v for v in (audit.violations if audit else ()) if v.key == search)
        text = (
            f"{size} at equal features, among everybody compared: a disparity beyond chance.{far}"
        )
        return " ".join(filter(None, (text, *map(say.beside_sentence, own))))
    place = f"where {clean(row.rule, 300)}" if row.rule else "no short rule describes it"
    return (
        f"{size} in the worst subgroup, at equal features: a disparity beyond chance. The subgroup "
        f"({say.rows_in_brackets(row.n_rows)}): {place}.{far}"
    )
