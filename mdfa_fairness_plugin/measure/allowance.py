"""What effects may still move as the models of the features get better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mdfa_fairness_plugin.measure.estimates import Leftover, Rates, certificate_strength
from mdfa_fairness_plugin.measure.intervals import (
    delta_interval,
    difference_interval,
    gamma_interval,
)
from mdfa_fairness_plugin.measure.means import MeanDifference, Means
from mdfa_fairness_plugin.measure.sums import RungSums, SetSums, before_told, still_to_come


def rung_effects(own: SetSums) -> tuple[float, ...]:
    """Effect in a set by the models of every rung; of rates half a row more of each outcome and side.

    The reported one is the last but for that.
    """
    kind = type(own.rates)
    best = own.rates.at_same_features(own.leftover).rates
    every = [*(rung.rates(kind) for rung in own.rungs), best]
    if not issubclass(kind, Means):
        sizes = np.maximum(np.nan_to_num(own.rates.effective_sizes), 1.0)
        every = [(rates * sizes + 0.5) / (sizes + 1.0) for rates in every]
    return tuple(float(kind.effect(rates)) for rates in every)


@dataclass(frozen=True)
class Allowance:
    """What an effect may still fall and rise as models get better, and the errors of that."""

    fall: float = 0.0
    rise: float = 0.0
    # How much wider than the ratio's own error, downwards and upwards.
    wider_below: float = 1.0
    wider_above: float = 1.0

    @classmethod
    def of(cls, own: SetSums) -> Allowance:
        """What more rows to learn from would still change in a set, by ``still_to_come``.

        Of what moved beyond chance: the square of a difference is on average as much larger than the
        square of what is behind it as its variance.
        """
        effects, shares = rung_effects(own), [rung.share for rung in own.rungs]
        allowed = cls._until(own, own.rungs, effects)
        if (untold := before_told(shares)) >= 0:
            # Nobody is surer for having been told than before, if models were getting better then.
            before = cls._until(
                own, own.rungs[:untold], effects[: untold + 1], own.rungs[untold + 1 :]
            )
            told = effects[-1] - effects[untold]
            if before.fall > 0:
                allowed = allowed.with_move(before.fall + told, before.wider_below)
            if before.rise > 0:
                allowed = allowed.with_move(told - before.rise, before.wider_above)
        return allowed

    @classmethod
    def _until(
        cls,
        own: SetSums,
        rungs: Sequence[RungSums],
        effects: Sequence[float],
        told: Sequence[RungSums] = (),
    ) -> Allowance:
        """By how effects moved over these rungs to the last one, by chance as much as over others."""
        scale, allowed = own.rates.scale, cls()
        alike = {rung.share: rung for rung in told}
        coming = still_to_come([rung.share for rung in rungs])
        for rung, effect, times in zip(rungs, effects[:-1], coming, strict=True):
            move, rung = effect - effects[-1], alike.get(rung.share, rung)
            beyond = move**2 - rung.variance(own.rates, 1.0, -1.0) / scale**2 if scale > 0 else 0.0
            if not (times > 0 and beyond > 0):
                continue
            variances = [rung.variance(own.rates, 1.0 + far, -far) for far in (times, 0.0)]
            wider = math.sqrt(max(variances[0] / variances[1], 1.0)) if variances[1] > 0 else 1.0
            allowed = allowed.with_move(times * math.copysign(math.sqrt(beyond), move), wider)
        return allowed

    def with_move(self, move: float, wider: float) -> Allowance:
        """The larger of both moves in its direction."""
        if move > self.fall:
            return replace(self, fall=move, wider_below=wider)
        if -move > self.rise:
            return replace(self, rise=-move, wider_above=wider)
        return self

    def interval(
        self, rates: Rates, level: float, spread: float, leftover: Leftover | None
    ) -> tuple[float, float]:
        """Interval on an effect that holds what it may move."""
        low, _ = delta_interval(rates, level, spread * self.wider_below, leftover)
        _, high = delta_interval(rates, level, spread * self.wider_above, leftover)
        return low - self.fall, high + self.rise

    def gamma_interval(
        self, reported: Rates, rates: Rates, level: float, spread: float, leftover: Leftover | None
    ) -> tuple[float, float]:
        """Interval on gamma that holds what the log ratio may move, at the same mass."""
        low, _ = gamma_interval(rates, level, spread * self.wider_below, leftover)
        _, high = gamma_interval(rates, level, spread * self.wider_above, leftover)
        down, up = self._moves(reported, reported.mass)
        return low - down, high + up

    def difference_interval(
        self, reported: Rates, rates: Rates, level: float, spread: float, leftover: Leftover | None
    ) -> tuple[float, float]:
        """Interval on the difference of the rates that holds what the log ratio may move.

        At the same mean of both rates; it contains 0 exactly where that on the log ratio does.
        """
        low, _ = difference_interval(rates, level, spread * self.wider_below, leftover)
        _, high = difference_interval(rates, level, spread * self.wider_above, leftover)
        if isinstance(rates, MeanDifference):
            return low - self.fall, high + self.rise
        down, up = self._moves(reported, 4.0 * abs(float(reported.rates.mean())))
        delta_low, delta_high = self.interval(rates, level, spread, leftover)
        low, high = low - down, high + up
        if not isinstance(rates, Means):
            low, high = max(low, -1.0), min(high, 1.0)
        low = max(low, 0.0) if delta_low > 0 else min(low, 0.0)
        return low, min(high, 0.0) if delta_high < 0 else max(high, 0.0)

    def _moves(self, reported: Rates, size: float) -> tuple[float, float]:
        """How far a certificate of so large a mass may fall and rise."""
        delta = reported.delta
        moved = certificate_strength(size, [delta - self.fall, delta, delta + self.rise])
        return float(moved[1] - moved[0]), float(moved[2] - moved[1])
