"""How an effect is said of those who have an outcome or not; what is said of means builds on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mdfa_fairness_plugin.describe.wording import clean, label_text, percent
from mdfa_fairness_plugin.records import AskedSubgroup, Measured, Violation, ratio_of
from mdfa_fairness_plugin.records.searches import Keyed
from mdfa_fairness_plugin.report.figures import (
    between,
    points,
    points_text,
    ratio_or_inf,
    ratio_text,
    told_apart,
)


def gets(search: Keyed) -> str:
    """What the group does more often, such as ``get the outcome "yes"``; of a number more of."""
    said = clean(search.outcome_text, 120)
    if search.outcome_scale:
        return said or f"get {label_text(search.outcome)} of the outcome"
    return said or f'get the outcome "{label_text(search.outcome)}"'


def confidence(search: Violation | AskedSubgroup) -> str:
    """How sure an interval is."""
    return f"with {percent(search.confidence_level)} confidence"


@dataclass(frozen=True)
class Effect:
    """How many times as often one side has the outcome as the other; also what others build on."""

    name = "ratio"
    of = "rates"
    none = 1.0  # of no difference
    fields = ("delta", "interval")
    beside = "Points"  # what the same is in other words, as a column
    beside_field = "difference"
    least = "min_ratio"
    it = "this outcome"
    unit = ""  # of means, in names of metrics
    axis = "Rate ratio"
    plural = "Rate ratios"
    logarithmic = True
    titles = ("Rate ratio", "Difference of rates")  # of numbers that are read first
    counts = "counts"  # what is weighted
    unused = ""  # an estimator that says nothing of it
    loss = "Log-loss"  # of models of the outcome
    losses = "Log-loss, group"  # of those of the sensitive column

    def value(self, found: Any) -> float:
        """The effect in a set of rows."""
        return float(found.ratio)

    def ends(self, found: Any) -> tuple[float, float]:
        """Its interval."""
        low, high = found.ratio_interval
        return low, high

    def detectable(self, search: Any) -> float:
        """The smallest that would have been told from chance."""
        return float(search.detectable_ratio)

    def every(self, found: Any) -> tuple[float, ...]:
        """By every split or model."""
        return tuple(found.ratios)

    def text(self, value: float) -> str:
        """Write it in a sentence."""
        return ratio_text(value)

    def plain(self, value: float) -> str:
        """Write it without what it is counted in."""
        return ratio_text(value)

    def cell(self, value: float) -> str:
        """Write it in a table."""
        return ratio_or_inf(value)

    def between(self, low: float, high: float) -> str:
        """Its interval in brackets; empty if it is unknown."""
        return between(low, high).removesuffix(" times")

    def ends_cell(self, low: float, high: float) -> str:
        """Its interval in a table."""
        return f"{ratio_or_inf(low)} to {ratio_or_inf(high)}"

    def larger(self, value: float) -> str:
        """Than what a disparity was not larger."""
        return f"{ratio_text(value)} times as often"

    def from_scale(self, effect: float) -> float:
        """From the scale that estimates add up on."""
        return ratio_of(effect)

    def rungs(self, values: Sequence[float]) -> list[str]:
        """Write what ever better models give."""
        return [f"{value:.2f}" for value in values]

    def apart(self, values: Sequence[float]) -> list[str]:
        """Write effects to be compared, with digits enough to see the difference."""
        return told_apart(values)

    def fall(self, allowance: float, search: Measured) -> str:
        """Write by how much it may still fall."""
        return f"factor of {ratio_text(ratio_of(allowance))}"

    def give(self, text: str, value: float, search: Keyed) -> str:
        """What other splits find, written so."""
        return f"give {text}"

    def beside_text(self, found: Measured) -> str:
        """The same in other words: rates in percentage points."""
        return points(found.difference)

    def beside_span(self, found: Measured) -> str:
        """The same with its interval; empty if it is unknown."""
        return points_text(found.difference, found.difference_interval)

    def spoken(self, value: float, ends: tuple[float, float]) -> str:
        """Write it with its interval where there is little room."""
        low, high = ends
        if math.isnan(low) or math.isnan(high):
            return self.plain(value)
        return f"{self.plain(value)} ({self.plain(low)} to {self.plain(high)})"

    def turned(self, search: Any) -> str:
        """What a table says of a group that surely does not get more of it; else nothing."""
        return "less often; " if self.ends(search)[1] < self.none else ""

    def short(self, search: Any) -> str:
        """The effect and its interval in a line."""
        low, high = search.ratio_interval
        return f"{search.ratio:.3g} times as often ({low:.3g} to {high:.3g}"

    def sentence(self, search: Violation | AskedSubgroup, start: str, others: str) -> str:
        """Who gets which outcome how much more often than whom; ``start`` says where and who."""
        get = gets(search)
        do = "are" if get.startswith("are ") else "do"
        span = between(*search.ratio_interval)
        if search.delta == math.inf:
            text = (
                f"{start} {get} and {others} with equal audited features never {do} here, so that no "
                "ratio can be given"
            )
        elif search.delta == -math.inf:
            text = (
                f"{start} never {get} here, while some of {others} with equal audited features {do}"
            )
        elif search.measured:
            text = (
                f"{start} {get} {ratio_text(search.ratio)} times as often as {others} with equal "
                "audited features"
            )
        elif math.isfinite(search.lower):
            # The estimate itself is withheld: it would tell of too few people.
            return (
                f"{start} {get} at least {ratio_text(search.ratio_interval[0])} times as "
                f"often as {others} with equal audited features, {confidence(search)}."
            )
        else:
            return (
                f"{start}: how much more often they {get} than {others} with equal audited features "
                f"{self.lost(search)}."
            )
        if span and (size := points_text(search.difference, search.difference_interval)):
            span = f"{span}, a difference of {size}"
        return f"{text}: {span}, {confidence(search)}." if span else f"{text}."

    def lost(self, search: Measured) -> str:
        """Why an effect is not told."""
        if self.fields[0] in search.withheld:
            return "is withheld, as too few people are behind it"
        return "could not be measured"


RATES: Final = Effect()
