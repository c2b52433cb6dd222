"""How an effect is said of those who have an outcome or not; what is said of means builds on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mdfa_fairness_plugin.describe.decimals import alike, ratio_places, short
from mdfa_fairness_plugin.describe.wording import clean, label_text, percent
from mdfa_fairness_plugin.records import Judged, Measured, ratio_of
from mdfa_fairness_plugin.records.searches import Keyed
from mdfa_fairness_plugin.report.figures import (
    ends,
    frequency,
    in_brackets,
    points,
    points_text,
    rates_text,
    ratio_text,
)


def gets(search: Keyed) -> str:
    """What the group does more often, such as ``get the outcome "yes"``; of a number more of."""
    said = clean(search.outcome_text, 120)
    if search.outcome_scale:
        return said or f"get {label_text(search.outcome)} of the outcome"
    return said or f'get the outcome "{label_text(search.outcome)}"'


def confidence(search: Judged) -> str:
    """How sure an interval is."""
    return f"with {percent(search.confidence_level)} confidence"


def alike_in(search: Judged) -> str:
    """In what those compared with are alike, after their name."""
    return " whatever their features" if search.as_observed else " with equal audited features"


@dataclass(frozen=True)
class Effect:
    """How many times as often one side has the outcome as the other; also what others build on."""

    name = figure = "ratio"  # what it is called, and what it is read from
    of = "rates"
    none = 1.0  # of no difference
    fields = ("delta", "interval")
    beside = "Points"  # what the same is in other words, as a column
    beside_field = "difference"
    least = "min_ratio"
    it = "this outcome"
    unit = ""  # of means, in names of metrics
    each = ""  # of slopes, what they are for
    axis = "Rate ratio"
    plural = "Rate ratios"
    logarithmic = True
    titles = ("Rate ratio", "Difference of rates")  # of numbers that are read first
    counts = "counts"  # what is weighted
    few = "it would tell of too few rows"  # why it may be withheld
    unused = ""  # an estimator that says nothing of it
    loss = "Log-loss"  # of models of the outcome
    losses = "Log-loss, group"  # of those of the sensitive column

    def value(self, found: Any) -> float:
        """The effect in a set of rows."""
        return float(getattr(found, self.figure))

    def ends(self, found: Any) -> tuple[float, float]:
        """Its interval."""
        low, high = getattr(found, f"{self.figure}_interval")
        return low, high

    def detectable(self, search: Any) -> float:
        """The smallest that would have been told from chance with 80 % probability."""
        return float(getattr(search, f"detectable_{self.figure}", math.nan))

    def every(self, found: Any) -> tuple[float, ...]:
        """By every split or model."""
        return tuple(getattr(found, f"{self.figure}s"))

    def by_rung(self, found: Any) -> tuple[float, ...]:
        """By ever better models of the features, as far apart as they are; the best is reported."""
        every, own = self.every(found.depends_on_models), self.value(found)
        if not math.isfinite(own):
            return every
        return tuple(self.moved(value, every[-1], own) for value in every)

    def moved(self, value: float, start: float, end: float) -> float:
        """An effect moved as far as another one, from where that starts to its end."""
        return value * end / start

    def alike(self, values: Sequence[float]) -> list[str]:
        """Write effects that are read together with the same decimals."""
        return alike(values, ratio_places, none=self.none)

    def told(self, found: Any) -> list[str]:
        """The effect in a set of rows and both ends of its interval, empty where unknown."""
        return short(self.alike((self.value(found), *self.ends(found))))

    def text(self, value: float) -> str:
        """Write it in a sentence."""
        return self.with_unit(self.plain(value), value)

    def with_unit(self, text: str, value: float) -> str:
        """What was written in a sentence, with what it is counted in."""
        return text

    def plain(self, value: float) -> str:
        """Write it without what it is counted in."""
        return self.alike((value,))[0]

    def cell(self, value: float) -> str:
        """Write it in a table."""
        return self.in_cell(short(self.alike((value,)))[0])

    def in_cell(self, text: str) -> str:
        """What was written in a table, with what it is counted in."""
        return "infinite" if text == "inf" else text

    def spanned(self, found: Any) -> str:
        """The effect in a set of rows with its interval in brackets."""
        value, low, high = self.told(found)
        return in_brackets(f"{self.with_unit(value, self.value(found))}{self.each}", low, high)

    def larger(self, value: float) -> str:
        """What would have been found."""
        return f"{self.name} of {self.text(value)}"

    def from_scale(self, effect: float) -> float:
        """From the scale that estimates add up on."""
        return ratio_of(effect)

    def fall(self, allowance: float, search: Measured) -> str:
        """Write by how much it may still fall."""
        if allowance < 0.001:
            return "factor of 1.001 at most"
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

    def spoken(self, value: float, limits: tuple[float, float]) -> str:
        """Write it with its interval where there is little room."""
        texts = short(self.alike((value, *limits)))
        return f"{texts[0]} ({texts[1]} to {texts[2]})" if all(texts) else self.plain(value)

    def turned(self, search: Any) -> str:
        """What a table says of a group that surely does not get more of it; else nothing."""
        return "less often; " if self.ends(search)[1] < self.none else ""

    def sentence(
        self, search: Judged, start: str, others: str, found: Measured | None = None
    ) -> str:
        """Who gets which outcome how much more often than whom, in the search's rows or ``found``.

        ``start`` says where and who. Both rates follow, in so many of a hundred.
        """
        found, get = found or search, gets(search)
        do = "are" if get.startswith("are ") else "do"
        others = f"{others}{alike_in(search)}"
        value, low, high = self.told(found)
        if found.delta == math.inf:
            text = f"{start} {get} and {others} never {do} here, so that no ratio can be given"
        elif found.delta == -math.inf:
            text = f"{start} never {get} here, while some of {others} {do}"
        elif found.measured:
            text = f"{start} {get} {value} times as often as {others}"
        elif low:
            # The estimate itself is withheld: it would tell of too few rows.
            return f"{start} {get} at least {low} times as often as {others}, {confidence(search)}."
        else:
            return f"{start}: how much more often they {get} than {others} {self.lost(found)}."
        if span := ends(low, high):
            text = f"{text} ({span}, {confidence(search)})"
        return f"{text}{self._frequencies(found, value)}."

    def _frequencies(self, found: Measured, ratio: str) -> str:
        """Both rates, in so many of a hundred or more; empty if they are unknown."""
        if any(map(math.isnan, found.rates)):
            return ""
        whole_points = f"{100.0 * (found.rates[0] - found.rates[1]):.0f}"
        own, other = rates_text(found.rates, ratio, frequency, whole_points, most=2)
        return f": {own} against {other}"

    def lost(self, found: Measured) -> str:
        """Why an effect is not told."""
        if self.fields[0] in found.withheld:
            return f"is withheld, as {self.few}"
        return "could not be measured"


@dataclass(frozen=True)
class Bounded(Effect):
    """The same where groups are known by probability: what is known is between which ratios it lies."""

    beside = ""

    def told(self, found: Any) -> list[str]:
        """From which ratio to which it may be, and both limits."""
        if not found.left_open:
            return super().told(found)
        ends = map(ratio_of, found.probability_bounds)
        low, high, *limits = short(self.alike((*ends, *self.ends(found))))
        least, most = found.probability_bounds
        if math.isinf(least) and math.isinf(most):
            return ["any number of", "", ""]
        if math.isinf(most):
            return [f"{low} or more", *limits]
        told = low if low == high else f"{low} to {high}"
        return [f"at most {high}" if math.isinf(least) else told, *limits]

    def in_cell(self, text: str) -> str:
        """What was written in a table."""
        return "any" if text == "any number of" else super().in_cell(text)

    def give(self, text: str, value: float, search: Keyed) -> str:
        """What other splits find if nothing is left open."""
        return f"give {text} by the weighted estimate"

    def beside_text(self, found: Measured) -> str:
        """Nothing: both rates may be others."""
        return ""

    def beside_span(self, found: Measured) -> str:
        """Nothing: both rates may be others."""
        return ""

    def _frequencies(self, found: Any, ratio: str) -> str:
        """What it is if nothing is left open, in the place of rates that may be others."""
        if not found.left_open:
            return super()._frequencies(found, ratio)
        return (
            ", whatever outcome and group have to do with each other beyond the probabilities; "
            f"{ratio_text(found.ratio)} times if they have nothing to do with each other"
        )


RATES: Final = Effect()
BOUNDED: Final = Bounded()
