"""One search once its rows are counted: what it is concluded from."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

from scipy.special import ndtr

from mdfa_fairness_plugin.measure.allowance import Allowance
from mdfa_fairness_plugin.measure.estimates import Leftover, Rates
from mdfa_fairness_plugin.measure.means import MeanDifference, Means
from mdfa_fairness_plugin.measure.power import Searching
from mdfa_fairness_plugin.measure.sums import EVERYBODY, SEARCHED, SETS, RungOf, SearchSums, ValueOf
from mdfa_fairness_plugin.measure.tests import chosen_p_value
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.records.effects import DELTA_OF_DEVIATION
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class Widening:
    """How much wider than for a set named beforehand: statistics without a violation, and intervals.

    ``tests`` is of the p-values and ``sets`` of the intervals in every set that is measured.
    """

    tests: tuple[float, ...]
    sets: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """One search, counted."""

    key: SearchKey
    alpha: float  # smallest mass searched for
    sums: SearchSums
    widening: Widening
    hypothesis: Hashable  # the same for searches that look for one thing from two sides
    ladder: tuple[RungOf, ...] = ()  # of models, the best last
    search: Searching | None = field(default_factory=Searching)  # None: a set named beforehand
    everybody: bool = False  # reported in the place of what the search proposed
    clustered: bool = False  # whether somebody has several rows
    of: ValueOf = field(default_factory=ValueOf)

    @property
    def kind(self) -> type[Rates]:
        """What sides are compared by."""
        return type(self.sums.everybody.rates)

    @property
    def of_means(self) -> bool:
        """Whether the outcome is a number."""
        return issubclass(self.kind, Means)

    @property
    def alike(self) -> bool:
        """Whether everybody in the subgroup has the same number."""
        rates = self.sums.region.rates
        return isinstance(rates, Means) and rates.alike

    @property
    def measure(self) -> str:
        """Whether sides are compared by a ratio or by a difference."""
        return "difference" if issubclass(self.kind, MeanDifference) else "ratio"

    def as_log_ratio(self, effect: float) -> float:
        """The log ratio that says as much (Chinn 2000): .91 standard deviations of the outcome."""
        return DELTA_OF_DEVIATION * effect if self.measure == "difference" else effect

    def least(self, settings: Settings) -> float:
        """Smallest effect of a violation."""
        if issubclass(self.kind, MeanDifference):
            return settings.least_difference(abs(self.of.unit))
        return math.log(settings.least_ratio)

    @property
    def single(self) -> bool:
        """Whether nothing was repeated."""
        return len(self.sums.sets) == len(SETS)

    @property
    def proposed(self) -> range | tuple[int, ...]:
        """Places of what every repeat proposed, or of what the only one did."""
        return range(len(SETS), len(self.sums.sets)) or (SEARCHED,)

    @property
    def chosen(self) -> bool:
        """Whether everybody and a part of them stood to choice."""
        return self.sums.sets[SEARCHED].n_rows < self.sums.everybody.n_rows

    def p_value(self, z: float) -> float:
        """Of what is reported so many standard errors beyond chance, a part or everybody by choice."""
        if math.isnan(z) or not self.chosen:
            return float(ndtr(-z))
        whole, part = (self.sums.sets[place].leak.squares for place in (EVERYBODY, SEARCHED))
        # Rows of a part are rows of the whole.
        return chosen_p_value(z, math.sqrt(min(part / whole, 1.0)) if whole > 0 else 1.0)

    def leftover(self, place: int, settings: Settings) -> Leftover | None:
        """What the features leave of the outcome in a set; None if it is not to be taken out."""
        return self.sums.sets[place].leftover if settings.adjusts else None

    def rates(self, place: int, settings: Settings) -> Rates:
        """Rates of a set as they are reported."""
        return self.sums.sets[place].rates.at_same_features(self.leftover(place, settings))

    def allowance(self, place: int) -> Allowance:
        """What the models may still change in a set."""
        return Allowance.of(self.sums.sets[place])
