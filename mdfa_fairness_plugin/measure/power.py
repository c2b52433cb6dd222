r"""What a search would have found: one formula, for audits at hand and for those to come.

A plant holds a ``share`` of the people and, looked at by itself, a difference of ``z`` standard errors.
The search does not know where. It looks among cells of equally many people, of each of which the rows
learned from say how unequally it is treated, and keeps those above a cut. Of the plant's cells it finds
a share a, of the others a share b, which add noise alone, so that

.. math:: z \, a \Big/ \sqrt{a + b \frac{1 - q}{q}}

is left, q being the plant's part of all squared residuals. That is held against what the verdict asks
for: the p-value after the choice between region and everybody and after adjustment, the spread for the
search, the interval, the smallest ratio and the fewest people with the outcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from mdfa_fairness_plugin.learn.forest import N_CELLS
from mdfa_fairness_plugin.measure.estimates import Rates
from mdfa_fairness_plugin.measure.means import MeanDifference, Means
from mdfa_fairness_plugin.measure.slopes import Slopes
from mdfa_fairness_plugin.measure.sums import SetSums
from mdfa_fairness_plugin.measure.tests import chosen_p_value, search_spread
from mdfa_fairness_plugin.settings import Settings

# A region must hold this many clusters (rows, if each is one) with the outcome to say anything.
FEWEST_HITS = 10
# Larger log ratios are not told from a thousandfold one, smaller ones not from none.
_LARGEST = math.log(1000.0)
_SMALLEST = 1e-4
# Cuts between cells, in errors of what is known of a cell of the plant; the last keeps everybody.
_CUTS = np.append(np.linspace(6.0, -3.0, 91), -np.inf)
# Shares of the evidence that what is asked for is computed at.
_SHARES = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True, kw_only=True)
class Searching:
    """How a region is looked for and judged.

    ``learned`` are the rows that a region is learned from, for each row it is measured on. ``spread``
    is that of the statistic without a violation; None: ``search_spread`` of ``n_parts``.
    """

    n_parts: int = 5
    learned: float = 0.8
    spread: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Rows with a plant of some mass in them, and what is asked of the search.

    ``sizes`` are effective numbers of rows of both sides, ``rate`` is the outcome's, ``noise`` its mean
    squared distance from what the features tell (None: they tell nothing), ``level`` the test's after
    adjustment for the number of searches; ``least`` is the smallest effect of a violation. Of means
    ``rate`` is that of everybody and ``mass`` a share of the people.
    """

    sizes: tuple[float, float]
    rate: float
    mass: float
    level: float
    noise: float | None = None
    confidence_level: float = 0.95
    least: float = math.log(1.05)
    search: Searching = field(default_factory=Searching)
    kind: type[Rates] = Rates

    @classmethod
    def of(
        cls,
        everybody: SetSums,
        mass: float,
        level: float,
        settings: Settings,
        search: Searching,
        least: float,
    ) -> Plan:
        """A plan of the rows that an audit has."""
        rates = everybody.rates
        with np.errstate(invalid="ignore", divide="ignore"):
            sizes = np.nan_to_num(rates.weight**2 / rates.clustered[0])
            noise = np.mean(everybody.leftover.second / rates.clustered[0])
        if isinstance(rates, Slopes):  # both sides are of one mean, not of a difference
            noise *= sizes.prod() / sizes.sum() ** 2
        return cls(
            sizes=(float(sizes[0]), float(sizes[1])),
            rate=abs(float(np.mean(rates.rates))),
            noise=float(noise),
            mass=mass,
            level=level,
            confidence_level=settings.confidence_level,
            least=least,
            search=search,
            kind=type(rates),
        )

    def planted(self, delta: float) -> _Plant | None:
        """People with an effect of this size; None if there can be none."""
        if not (min(self.sizes) > 0 and self.mass > 0 and delta > 0):
            return None
        if issubclass(self.kind, Means):
            if not (self.noise and (self.rate > 0 or issubclass(self.kind, MeanDifference))):
                return None
            half = math.tanh(delta / 2.0) * self.rate
            half = delta / 2.0 if issubclass(self.kind, MeanDifference) else half
            return _Plant(
                share=min(self.mass, 1.0),
                possible=1.0,
                high=self.rate + half,
                low=self.rate - half,
                others=self.rate,
                inside=self.noise,
                outside=self.noise,
                counted=(1.0, 1.0),
            )
        if not 0 < self.rate < 1:
            return None
        most = self.rate * (1.0 - self.rate)
        noise = most if self.noise is None else min(max(self.noise, 1e-9 * most), most)
        # As if the features left some people no chance of the outcome, and all others the same.
        chance = 1.0 - noise / self.rate
        possible = self.rate / chance
        high = min(2.0 * chance / (1.0 + math.exp(-delta)), 1.0)
        low = high * math.exp(-delta)
        mean = (high + low) / 2.0
        return _Plant(
            share=min(self.mass / mean, possible),
            possible=possible,
            high=high,
            low=low,
            others=chance,
            # Squared residuals, by models that have not seen the plant.
            inside=mean * (1.0 - chance) ** 2 + (1.0 - mean) * chance**2,
            outside=chance * (1.0 - chance),
            counted=(mean, chance),
        )

    def margin(self, delta: float) -> float:
        """Standard errors by which a plant is expected to clear what a violation asks for."""
        plant = self.planted(delta)
        if plant is None:
            return -math.inf
        share, high, low = plant.share, plant.high, plant.low
        rows = share / (1.0 / self.sizes[0] + 1.0 / self.sizes[1])
        others = (plant.possible - share) * plant.outside / (share * plant.inside)
        n_cells = max(N_CELLS * share, 1.0)
        # Cells at its borders hold others too: of a corner of two features, one border of each, which
        # anywhere within a cell leaves it a third of its evidence on average instead of half.
        covered = 1.0 - 1.0 / (6.0 * math.sqrt(n_cells))
        z = (high - low) * math.sqrt(rows / plant.inside) * np.where(np.isinf(_CUTS), 1.0, covered)
        known = z * math.sqrt(self.search.learned / n_cells)
        a, b = ndtr(known - _CUTS), ndtr(-_CUTS * math.sqrt(plant.inside / plant.outside))
        evidence = a + b * others
        kept = a / np.sqrt(evidence)
        # Which of the plant's cells are found is chance too.
        moved = z * kept * (1.0 / a - 0.5 / evidence)
        by_chance = moved * np.sqrt(a * (1.0 - a) / n_cells)
        asked, spread = _asked(self.level, self.confidence_level, self.search)
        part = evidence / (1.0 + others)
        error = np.hypot(np.interp(part, _SHARES, spread), by_chance)
        # Of the effect among everybody found, what is above the smallest that counts.
        company = b * (plant.possible - share) * plant.others
        if issubclass(self.kind, MeanDifference):
            found = a * share * (high - low) / (a * share + b * (plant.possible - share))
        else:
            found = np.log((a * share * high + company) / (a * share * low + company))
        above = z * kept * (1.0 - self.least / found)
        clears = np.minimum(z * kept - np.interp(part, _SHARES, asked), above)
        inside, outside = plant.counted
        hits = sum(self.sizes) * (a * share * inside + b * (plant.possible - share) * outside)
        return float(np.max(np.minimum(clears / error, (hits - FEWEST_HITS) / np.sqrt(hits))))

    def detectable(self, power: float = 0.8) -> float:
        """Smallest delta found with this power; ``inf`` beyond a thousandfold."""
        quantile = float(ndtri(power))
        return first(lambda delta: self.margin(delta) - quantile, _SMALLEST, _LARGEST)

    def stated(self) -> tuple[float, float]:
        """Detectable delta and in what mass: the plan's, twice that, and so on until there is one."""
        plan, most = self, 1.0 if issubclass(self.kind, Means) else self.rate
        while math.isinf(delta := plan.detectable()) and 0 < plan.mass < most:
            plan = replace(plan, mass=min(2.0 * plan.mass, most))
        return delta, self.mass if math.isinf(delta) else plan.mass


class _Plant(NamedTuple):
    """People treated unequally, and all others whom the search may take for such."""

    share: float  # of all people
    possible: float  # those who may have the outcome at all
    high: float  # rate or mean of the group there, and of those it is compared with
    low: float
    others: float  # elsewhere
    inside: float  # squared residuals
    outside: float
    counted: tuple[float, float]  # of a person there and elsewhere, as one who has the outcome


def named_detectable(
    ends: tuple[float, float], level: float, settings: Settings, smallest: float
) -> float:
    """Smallest delta found with 80 % power in a set named beforehand, by its interval's ends."""
    least = float(ndtri(0.5 + settings.confidence_level / 2.0))
    error = (ends[1] - ends[0]) / (2.0 * least)
    asked = max(least, float(-ndtri(level))) * error
    found = max(asked, smallest) + float(ndtri(0.8)) * error
    return up_to_thousandfold(found)


def up_to_thousandfold(delta: float) -> float:
    """A detectable delta as it is stated."""
    return delta if delta <= _LARGEST else math.inf


def first(enough: Callable[[float], float], low: float, high: float) -> float:
    """Where a growing function of a positive number gets to zero; ``inf`` beyond ``high``."""
    if enough(low) >= 0:
        return low
    if not enough(high) >= 0:
        return math.inf
    return math.exp(brentq(lambda x: enough(math.exp(x)), math.log(low), math.log(high), xtol=1e-9))


@lru_cache(maxsize=256)
def _asked(
    level: float, confidence_level: float, search: Searching
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest statistic of a violation and the spread of one there, by its share of the evidence."""
    least = float(ndtri(0.5 + confidence_level / 2.0))
    asked, spread = np.empty((2, len(_SHARES)))
    for i, share in enumerate(_SHARES):
        quantile = max(least, _chosen_quantile(level, math.sqrt(share)))
        without = search_spread(search.n_parts, min(max(share, _SHARES[1] / 2), 1.0))
        if search.spread is not None:
            without = search.spread if share < 1 else 1.0
        asked[i] = quantile * without
        spread[i] = search.spread or search_spread(search.n_parts, share, asked[i])
    return asked, spread


def _chosen_quantile(level: float, correlation: float) -> float:
    """Statistic whose ``chosen_p_value`` is the level."""
    one, two = float(-ndtri(level)), float(-ndtri(level / 2.0))
    if correlation == 1.0:
        return one
    return float(brentq(lambda z: chosen_p_value(z, correlation) - level, one, two + 1e-9))
