"""What numbers of an audit mean: legends of its table, and what its outcome is if it is a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from mdfa_fairness_plugin.data.words import PER_EXPOSURE
from mdfa_fairness_plugin.describe.wording import label_text, percent
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NONE_LARGER,
    VIOLATION,
    AuditRecord,
    Violation,
)
from mdfa_fairness_plugin.records.searches import RANK, STEPS
from mdfa_fairness_plugin.report.document import HTML, Bullets, Section
from mdfa_fairness_plugin.report.effects import beside_title, effect_of, effects_of
from mdfa_fairness_plugin.report.findings import FINDINGS, POWER
from mdfa_fairness_plugin.report.means import Difference, RatioOfMeans, Slope
from mdfa_fairness_plugin.report.rates import Bounded, Effect
from mdfa_fairness_plugin.report.reading import entries

_MOST_LISTED: Final = 12
_UNITS: Final = {
    RANK: "in percentage points of all rows ranked below",
    STEPS: "in steps from one outcome to the next",
}
_FAVORABLE: Final = {  # of a number, and of an order
    "high": ("; more of it is favourable", "; higher is favourable"),
    "low": ("; less of it is favourable", "; lower is favourable"),
}
_BESIDE: Final = {
    "": "",
    "Points": "Points: difference of the rates, in percentage points. ",
    "Difference": "Difference: of the means. ",
    "Ratio": "Ratio: of the means, at least 1 where the difference is at least 0. ",
}


def effects_legend(violations: Sequence[Violation]) -> str:
    """What the column of effects holds."""
    return "; ".join(
        f"{effect.name.capitalize()}: in the worst subgroup, {_meaning(effect)}"
        for effect in effects_of(violations)
    )


def _meaning(effect: Effect) -> str:
    """What an effect is."""
    if not isinstance(effect, Difference):
        return _MEANS[type(effect)]
    unit = _UNITS.get(effect.scale, "in units of the outcome")
    if isinstance(effect, Slope) and effect.scale == RANK:
        unit = "in percentage points"
    return f"{_MEANS[type(effect)]}{effect.each}, {unit}, below 0 the other way round"


def beside_legend(violations: Sequence[Violation]) -> str:
    """What the column beside it holds, if there is one."""
    return _BESIDE[beside_title(violations)]


def largest_detectable(searches: Sequence[Violation]) -> str:
    """What these searches would have found, by everything that they go by, the largest of each."""
    sizes: dict[Effect, float] = {}
    for search in searches:
        effect = effect_of(search)
        if math.isfinite(size := effect.detectable(search)):
            sizes[effect] = max(size, sizes.get(effect, -math.inf))
    return " or a ".join(effect.larger(size) for effect, size in sizes.items())


def one_sided(violations: Sequence[Violation]) -> str:
    """Why p is high beside intervals on one side of no difference; empty if there is none."""
    told = ""
    if any(v.as_observed for v in violations):
        told = "p is of what is left at equal features, which nothing else here is. "
    if not any(effect_of(v).turned(v) and v.p_value_adjusted > 0.5 for v in violations):
        return told
    return told + (
        "p is one-sided: it asks whether the group gets more often (or less, or more) what the search "
        "is about, so it is near 1 where it is surely the other way round. "
    )


def words_section(searches: Sequence[Violation]) -> Section:
    """What words of a report mean."""
    effects = effects_of(searches)
    at = "whatever the" if any(search.as_observed for search in searches) else "at equal"
    sizes = [(own.name.capitalize(), f"{at} features, {_meaning(own)}") for own in effects]
    words = (*_WORDS[:4], *sizes, *_WORDS[4:])
    lines = tuple(f"{word}: {meaning}." for word, meaning in dict(words).items())
    return Section("words", "What the words mean", (Bullets(lines),), HTML, folded=True)


_OFTEN: Final = "how many times as often one side gets the outcome as the other"
_MEANS: Final = {
    Effect: _OFTEN,
    Bounded: f"{_OFTEN}, as far as rows of known group tell it, or from the least to the most that "
    "probabilities allow; between: with chance",
    RatioOfMeans: "how many times as much one side gets as the other on average, the others where the "
    "group gets less, and below 1 the other way round",
    Difference: "how much less or more one side gets than the other on average",
    Slope: "how much less or more goes with it",
}
_WORDS: Final = (
    ("Row", "one line of the data, such as one decision; counts and shares are of rows"),
    ("Subgroup", "the rows that a search marked, each by models that had not seen its outcome"),
    (
        "Rule",
        "a short description of a subgroup; where a sentence begins with it, its numbers are of the "
        "rows that meet it, in the subgroup or not",
    ),
    (
        "Equal features",
        "both sides are weighted, and corrected by models, so that the features listed first have the "
        "same values on both, as nearly as can be",
    ),
    (
        "Interval",
        "the numbers in brackets: with the confidence said they hold the true one, the search and "
        "the models being allowed for, each search by itself",
    ),
    ("p", "how often chance alone would show as much, adjusted over all searches"),
    (
        FINDINGS[VIOLATION].capitalize(),
        "chance does not explain the difference, and it is as large as asked for; where the outcome is "
        "the favourable one, an advantage beyond chance. No word of law",
    ),
    (
        FINDINGS[NONE_LARGER].capitalize(),
        f"chance may explain what was found, and the rows leave open no more than what {POWER} is told "
        "for. No finding of equal treatment",
    ),
    (
        POWER,
        "what a search would have found with 80 % probability in the smallest subgroups that it looked "
        "at; smaller ones may be there",
    ),
    (FINDINGS[INSUFFICIENT].capitalize(), "the rows tell neither"),
    (
        "Mass",
        "share of all that is compared, by weight, that is in the subgroup and has the outcome",
    ),
)


def number_sentence(result: AuditRecord) -> str:
    """What the outcome is if it is a number or an order; empty if it is neither."""
    given = entries(result.provenance, "parameters")
    of_number, of_order = _FAVORABLE.get(str(given.get("favorable")), ("", ""))
    if given.get("outcome_type") == "numeric":
        name = label_text(result.outcome_name, 80) if result.outcome_name else "a number"
        if any(own.outcome_text.endswith(PER_EXPOSURE) for own in result.violations):
            name += PER_EXPOSURE
        return f"Outcome: {name}{_read(given.get('robust'))}{of_number}."
    ordered = given.get("ordered")
    if not isinstance(ordered, list | tuple):
        return ""
    names = ", ".join(label_text(one) for one in ordered[:_MOST_LISTED])
    more = f" and {len(ordered) - _MOST_LISTED} more" if len(ordered) > _MOST_LISTED else ""
    return f"Their order, from the lowest: {names}{more}{of_order}."


def quantity_sentence(case: Violation | None) -> str:
    """What more and less of a sensitive quantity are; empty between groups."""
    if case is None or math.isnan(case.per):
        return ""
    return (
        f"More and less of {label_text(case.sensitive_feature)} are more and less than people with the "
        "same features have on average. Where the features tell it there is nothing to see; and slopes "
        "are of straight lines, so that what rises and falls again may be missed."
    )


def _read(robust: Any) -> str:
    """How numbers are taken."""
    if robust == RANK:
        return ", by the share of all rows that rank below"
    if isinstance(robust, float):
        return f", {percent(robust)} of the rows at either end moved in"
    return ""
