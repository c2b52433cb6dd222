"""How an effect is said of those who get less or more of a number."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from mdfa_fairness_plugin.describe.decimals import alike, amounts, point_places, short, times_places
from mdfa_fairness_plugin.describe.wording import percent
from mdfa_fairness_plugin.records import Judged, Measured
from mdfa_fairness_plugin.records.effects import inverse_of
from mdfa_fairness_plugin.records.searches import AMOUNT, RANK, STEPS, Keyed
from mdfa_fairness_plugin.report.figures import amount_text, ends, in_brackets
from mdfa_fairness_plugin.report.rates import Effect, alike_in, confidence, gets


class Phrase(NamedTuple):
    """What people get of a number: ``get``, ``less`` and ``wage``."""

    verb: str
    direction: str
    what: str

    @classmethod
    def of(cls, search: Keyed) -> Phrase:
        """What is said of a search."""
        if not search.outcome_scale:
            return cls(gets(search), "more often", "")
        verb, direction, what = [*gets(search).split(" ", 2), "", ""][:3]
        return cls(verb, direction, _NUMBER_OF.sub("", what))._of_many()

    @property
    def turned(self) -> Phrase:
        """The other way round."""
        other = _OTHER_WAY.get(self.direction, self.direction)
        return self._replace(direction=other)._of_many()

    def _of_many(self) -> Phrase:
        """Fewer, not less, of what is named in the plural."""
        fewer = self.many and self.direction == "less"
        return self._replace(direction="fewer") if fewer else self

    @property
    def many(self) -> str:
        """Many of what is named in the plural; else empty."""
        head = _AFTER_HEAD.split(self.what.lower())[0]
        plural = head.endswith("s") and not head.endswith(("ss", "us", "is", "as"))
        return "many" if plural or head.endswith(("children", "people", "men")) else ""

    @property
    def taken(self) -> bool:
        """Whether more of it is worse."""
        return self.direction in ("more", "higher")

    def __str__(self) -> str:
        return " ".join(filter(None, self))

    def by(self, size: str) -> str:
        """With how much it is: ``get 1,900 less wage``."""
        return " ".join(filter(None, (self.verb, size, self.direction, self.what)))


_NUMBER_OF: Final = re.compile(r"^(number|count|no\.) of ", re.IGNORECASE)
_AFTER_HEAD: Final = re.compile(r"[ _](?:per|of|in|at|for|on|with|within|to|from|since)[ _]")
# How a mean is said, and what it is counted in.
SCALES: Final = {
    AMOUNT: ("get", ""),
    RANK: ("rank", " of all"),
    STEPS: ("are", " steps above the lowest"),
}
_PAIRS: Final = (("less", "more"), ("lower", "higher"), ("less often", "more often"))
_OTHER_WAY: Final = dict([("fewer", "more"), *_PAIRS, *(pair[::-1] for pair in _PAIRS)])


@dataclass(frozen=True)
class OfMeans(Effect):
    """What is said of a number, whichever way it is compared; ``scale`` is what it is counted in."""

    scale: str = AMOUNT
    of = "means"
    it = "any of it"
    counts = "means"
    few = "it would tell of too few rows, or all but a few have the same number"
    unused = "raw"
    others = ""  # what they are called, if not as the search says
    loss = "Squared error"

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Of means, in names of metrics."""
        return {RANK: "share ranked below ", STEPS: "rank "}.get(self.scale, "")

    def turned(self, search: Any) -> str:
        """What a table says where the group surely gets it the other way round; else nothing."""
        surely = self.ends(search)[1] < self.none
        return f"{Phrase.of(search).turned.direction}; " if surely else ""

    def average(self, value: float) -> str:
        """A mean in a table."""
        return percent(value) if self.scale == RANK else amount_text(value)

    def both(self, search: Any, group: str, others: str) -> str:
        """What both sides get on average."""
        verb, unit = SCALES[self.scale]
        texts = self.sizes(search.rates)
        return f"{group} {verb} {texts[0]} and {others} {texts[1]}{unit} on average"

    def theirs(self, search: Any) -> str:
        """What the others get on average; empty if that is unknown."""
        if any(map(math.isnan, search.rates)):
            return ""
        verb, unit = SCALES[self.scale]
        return f"who {verb} {self.sizes(search.rates)[1]}{unit} on average"

    def sizes(self, means: Sequence[float]) -> list[str]:
        """Write means, with digits enough to tell them apart."""
        return [f"above {percent(x)}" for x in means] if self.scale == RANK else amounts(means)

    def sentence(
        self, search: Judged, start: str, others: str, found: Measured | None = None
    ) -> str:
        """Who gets how much less or more than whom, and what these get on average."""
        found = found or search
        phrase = Phrase.of(search)
        others = f"{self.others or others}{alike_in(search)}"
        if not found.measured and not math.isfinite(found.lower):
            what = " ".join(filter(None, phrase[1:]))
            much = f"how {phrase.many or 'much'} {what} they {phrase.verb}"
            return f"{start}: {much} than {others} {self.lost(found)}."
        if self.value(found) < self.none:
            phrase = phrase.turned
        told = self._compared(found, phrase, others, confidence(search))
        return f"{start} {told}."

    def _compared(self, found: Any, phrase: Phrase, others: str, sure: str) -> str:
        """The sentence from the verb on, of an effect that is known, or its lower end."""
        raise NotImplementedError


@dataclass(frozen=True)
class RatioOfMeans(OfMeans):
    """How many times as much one side gets on average."""

    beside = "Difference"
    loss = "Loss"  # squared error, or log-loss where the number is nothing or one amount
    titles = ("Ratio of means", "Difference of means")
    axis = "Ratio of means"
    plural = "Ratios of means"

    def alike(self, values: Sequence[float]) -> list[str]:
        """Write effects that are read together with the same decimals."""
        return alike(values, times_places, none=self.none)

    def larger(self, value: float) -> str:
        """What would have been found."""
        return f"ratio of means of {self.text(value)}"

    def beside_text(self, found: Measured) -> str:
        """The difference of the means."""
        return Difference(scale=self.scale).told(found)[0]

    def beside_span(self, found: Measured) -> str:
        """The same with its interval; empty if it is unknown."""
        return Difference(scale=self.scale).spanned(found)

    def _compared(self, found: Any, phrase: Phrase, others: str, sure: str) -> str:
        """With who gets more times as much, the group or the others."""
        ratio, (low, high) = found.ratio, found.ratio_interval
        if math.isinf(found.delta):
            who = self.theirs(found)
            return (
                f"{phrase} here than {others}, {who}: no ratio can be given, as one side gets none"
            )
        if ratio < 1:
            ratio, high, low = map(inverse_of, (ratio, low, high))
        size, least, most = short(self.alike((ratio, low, high)))
        as_much = "as high" if self.scale == RANK else f"as {phrase.many or 'much'}"
        if not found.measured:
            text = f"at least {least} times {as_much}, {sure}"
        else:
            text = in_brackets(f"{size} times {as_much}", least, most, sure)
        theirs = self.theirs(found)
        if phrase.taken:
            return f"{phrase} than {others}{f', {theirs}' if theirs else ''}: {text}"
        whose = f", {theirs.removeprefix(f'who {phrase.verb} ')}" if theirs else ""
        return f"{phrase} than {others}, who {phrase.verb} {text}{whose}"


@dataclass(frozen=True)
class Difference(OfMeans):
    """How much less or more one side gets on average."""

    name = figure = "difference"
    none = 0.0
    fields = ("difference", "difference_interval")
    beside_field = "delta"
    least = "min_difference"
    logarithmic = False
    titles = ("Difference of means", "Ratio of means")
    plural = "Differences of means"

    @property
    def axis(self) -> str:  # type: ignore[override]
        """What it is and what it is counted in, along an axis."""
        return {
            RANK: "Difference in percentage points of rows ranked below",
            STEPS: "Difference of mean ranks, in steps",
        }.get(self.scale, "Difference of means")

    @property
    def beside(self) -> str:  # type: ignore[override]
        """A ratio of means, which ranks have none of."""
        return "" if self.scale in (RANK, STEPS) else "Ratio"

    def from_scale(self, effect: float) -> float:
        """From the scale that estimates add up on."""
        return effect

    def alike(self, values: Sequence[float]) -> list[str]:
        """Write effects that are read together with the same decimals."""
        if self.scale == RANK:
            return alike([100.0 * value for value in values], point_places, none=0.0)
        return amounts(values, 2 if self.scale == STEPS else 3)

    def moved(self, value: float, start: float, end: float) -> float:
        """An effect moved as far as another one, from where that starts to its end."""
        return value + end - start

    def fall(self, allowance: float, search: Measured) -> str:
        """Write by how much it may still fall."""
        hardly = search.outcome_sd / 1000.0
        return f"{self.text(hardly)} at most" if allowance < hardly else self.text(allowance)

    def give(self, text: str, value: float, search: Keyed) -> str:
        """What other splits find, written so."""
        size = self.size(value).removeprefix(self.plain(value))
        return f"find {text}{size} {Phrase.of(search).direction}{self.each}"

    def with_unit(self, text: str, value: float) -> str:
        """What was written in a sentence, with what it is counted in."""
        if self.scale == RANK:
            return f"{text} percentage points"
        return _steps(text, value) if self.scale == STEPS else text

    def text(self, value: float) -> str:
        """Write it in a sentence."""
        return f"{self.size(value)}{self.each}"

    def size(self, value: float) -> str:
        """Write it with what it is counted in."""
        return self.with_unit(self.plain(value), value)

    def in_cell(self, text: str) -> str:
        """What was written in a table, with what it is counted in."""
        return f"{text} {_CELL_UNITS[self.scale]}".rstrip() if text else ""

    def beside_text(self, found: Measured) -> str:
        """The ratio of the means, where they have one."""
        known = self.beside and math.isfinite(found.delta)
        return _RATIO.told(found)[0] if known else ""

    def beside_span(self, found: Measured) -> str:
        """The same with its interval; empty if it is unknown."""
        return _RATIO.spanned(found) if self.beside_text(found) else ""

    def _compared(self, found: Any, phrase: Phrase, others: str, sure: str) -> str:
        """With how much less or more the group gets."""
        value, (low, high) = found.difference, self.ends(found)
        if not found.measured:
            least = "at least" if low >= 0 else "at most"
            own = phrase if low >= 0 else phrase.turned
            size = own.by(f"{least} {self.size(abs(low))}")
            return f"{size}{self.each} than {others}, {sure}"
        if value < 0:
            value, low, high = -value, -high, -low
        size, least, most = short(self.alike((value, low, high)))
        if low < 0:  # it reaches to the other side of no difference
            least = f"{least.removeprefix('-')} {phrase.turned.direction}"
            most += f" {phrase.direction}" if math.isfinite(high) else ""
        span = f" ({ends(least, most)}, {sure})" if least else ""
        whose = f", {theirs}" if (theirs := self.theirs(found)) else ""
        return f"{phrase.by(self.with_unit(size, value))}{self.each}{span} than {others}{whose}"


_RATIO: Final = RatioOfMeans()
_CELL_UNITS: Final = {AMOUNT: "", RANK: "points", STEPS: "steps"}


@dataclass(frozen=True)
class Slope(Difference):
    """How much less or more goes with so much more of a sensitive quantity."""

    per: float = 1.0
    quantity: str = ""  # what it is called
    name = "slope"
    of = "slopes"
    titles = ("Slope", "")
    plural = "Slopes"
    beside = ""
    losses = "Squared error, quantity"
    others = "others"  # those with less of it

    @property
    def each(self) -> str:  # type: ignore[override]
        """How much of it, in all its digits."""
        is_short = float(f"{self.per:.3g}") == self.per
        each = f" for each {amount_text(self.per) if is_short else f'{self.per:,.15g}'}"
        return f"{each} of {self.quantity}" if self.quantity else each

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Of slopes, in names of metrics."""
        return ""

    @property
    def axis(self) -> str:  # type: ignore[override]
        """What it is and what it is counted in, along an axis."""
        units = {RANK: ", in percentage points", STEPS: ", in steps"}
        return f"Slope{units.get(self.scale, '')}{self.each}"


def _steps(text: str, value: float) -> str:
    """Steps from one outcome of an order to the next."""
    if 0 < abs(value) < 1:
        return f"{text} of a step"
    return f"{text} {'step' if text == '1' else 'steps'}"
