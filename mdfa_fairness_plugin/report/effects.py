"""What a search goes by, and how that stands in tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from mdfa_fairness_plugin.data.sensitive import UNNAMED
from mdfa_fairness_plugin.describe.wording import label_text
from mdfa_fairness_plugin.fields import UNKNOWN_PAIR
from mdfa_fairness_plugin.records import Measured
from mdfa_fairness_plugin.records.searches import AMOUNT, RANK
from mdfa_fairness_plugin.report.means import SCALES, Difference, RatioOfMeans, Slope
from mdfa_fairness_plugin.report.rates import BOUNDED, RATES, Effect


def is_number(found: Any) -> bool:
    """Whether a search or set of rows is about more or less of a number."""
    known = (getattr(found, name, math.nan) for name in ("outcome_sd", "per"))
    return bool(getattr(found, "outcome_scale", "")) or not all(map(math.isnan, known))


def effect_of(search: Any) -> Effect:
    """What both sides of a search are compared by."""
    if search is None or not is_number(search):
        low, high = getattr(search, "probability_bounds", UNKNOWN_PAIR)
        return BOUNDED if low < high else RATES
    per, scale = getattr(search, "per", math.nan), getattr(search, "outcome_scale", "")
    if not math.isnan(per):  # of yes and no in percentage points
        quantity = label_text(getattr(search, "sensitive_feature", ""), 40)
        quantity = "the sensitive quantity" if quantity == UNNAMED else quantity
        return Slope(scale=scale if scale in SCALES else RANK, per=per, quantity=quantity)
    return effect_by(search.measure, scale)


def effect_by(measure: str, scale: str) -> Effect:
    """What numbers of a scale are compared by."""
    scale = scale if scale in SCALES else AMOUNT
    return Difference(scale=scale) if measure == "difference" else RatioOfMeans(scale=scale)


def effects_of(searches: Iterable[Any]) -> list[Effect]:
    """What the searches of an audit go by, each once, in their order."""
    return list(dict.fromkeys(map(effect_of, made(searches)))) or [RATES]


def made(searches: Iterable[Any]) -> list[Any]:
    """Searches that could be made; all of them if none could."""
    given = list(searches)
    return [own for own in given if own.measured or own.n_rows != 0] or given


def effect_title(searches: Iterable[Any]) -> str:
    """What a column of effects is called."""
    names = {effect.name for effect in effects_of(searches)}
    return "Effect" if len(names) > 1 else names.pop().capitalize()


def beside_title(searches: Sequence[Any]) -> str:
    """What a column of the same in other words is called; empty if there is none."""
    told = [effect for one in searches if (effect := effect_of(one)).beside_text(one)]
    every = told or effects_of(searches)
    return next((effect.beside for effect in every if effect.beside), "")


def effect_cell(found: Measured, effect: Effect) -> str | None:
    """An effect in a table; empty if it is unknown, None if it is withheld."""
    text = effect.told(found)[0]
    return effect.in_cell(text) if text or effect.fields[0] not in found.withheld else None


def interval_cell(found: Measured, effect: Effect) -> str | None:
    """Its interval in a table; empty if it is unknown, None if it is withheld."""
    _, low, high = effect.told(found)
    if not low:
        return None if effect.fields[1] in found.withheld else ""
    return span_cell(low, high, effect)


def span_cell(low: str, high: str, effect: Effect) -> str:
    """Both ends of an interval as they were written, in a table; empty without a lower one."""
    if not low or high not in ("", "inf"):
        return f"{low} to {effect.in_cell(high)}" if low else ""
    return "" if low == "inf" else f"at least {effect.in_cell(low)}"


def beside_cell(found: Measured, effect: Effect) -> str | None:
    """The same in other words; empty if it is unknown, None if it is withheld."""
    return None if effect.beside_field in found.withheld else effect.beside_text(found)
