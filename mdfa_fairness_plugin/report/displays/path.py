"""The worst-case path: how unequal the treatment is as the region grows (Section 3.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import rounded
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import Violation, ratio_of
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.rates import RATES, Effect
from mdfa_fairness_plugin.settings import is_choice, shown

_LARGEST_DRAWN = math.log(1e6)


@dataclass(kw_only=True, eq=False)
class WorstCasePathDisplay(Display):
    """How much more often the group gets the outcome, as the region grows from the worst outwards.

    Parameters
    ----------
    mass : ndarray of shape (n_steps,)
        Weighted ``Pr[Y = y, x in G]`` of each region.
    delta, interval_low, interval_high : ndarray of shape (n_steps,)
        Held-out log ratio of outcome rates and the ends of its interval.
    kept : tuple of float
        Mass, delta, and the ends of the interval of the subgroup that the search kept.
    everybody : tuple of float
        The same for everybody compared.
    label : str
        Which search this is.
    confidence_level : float
    effect : Effect
        What the search goes by: if by a difference, that is in the place of delta.
    size : float
        What is much: a log ratio of 1, or a standard deviation of a number.
    """

    mass: np.ndarray
    delta: np.ndarray
    interval_low: np.ndarray
    interval_high: np.ndarray
    kept: tuple[float, float, float, float]
    everybody: tuple[float, float, float, float]
    label: str = ""
    confidence_level: float = 0.95
    effect: Effect = RATES
    size: float = 1.0
    _height = 3.6

    @classmethod
    def from_violation(cls, violation: Violation) -> WorstCasePathDisplay:
        """Take the numbers from one search.

        An ``InputError`` says if no step of the path could be measured.
        """
        path, whole, effect = violation.path.to_frame(), violation.population, effect_of(violation)
        numbers = path[["delta", "interval_low", "interval_high"]].to_numpy(dtype=float)
        if not np.isfinite(numbers[:, 0]).any():
            raise style.nothing_to_draw("violation", "no region of its path was measured")
        size = 1.0 if effect.logarithmic else violation.outcome_sd
        delta, low, high = size * numbers.T
        return cls(
            mass=path["mass"].to_numpy(dtype=float),
            delta=delta,
            interval_low=low,
            interval_high=high,
            kept=(violation.mass, violation.effect, *violation.effect_interval),
            everybody=(whole.mass, whole.effect, *whole.effect_interval),
            effect=effect,
            size=size,
            label=style.search_name(violation),
            confidence_level=violation.confidence_level,
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn: mass, ratio and its interval, one row per region."""
        name = self.effect.name
        columns = {"mass": self.mass, name: self.delta}
        columns |= {f"{name}_low": self.interval_low, f"{name}_high": self.interval_high}
        frame = pd.DataFrame(columns)
        if not self.effect.logarithmic:
            return frame
        with np.errstate(over="ignore"):
            frame.iloc[:, 1:] = np.exp(frame.iloc[:, 1:])
        return frame

    def _sentence(self) -> str:
        drawn = np.isfinite(self.delta) & np.isfinite(self.mass)
        if not drawn.any():
            return "No region of the path was measured."
        mass = self.mass[drawn]
        text = (
            f"{self.effect.axis} of {self.label} in {int(drawn.sum())} nested subgroups, of masses "
            f"from {rounded(float(mass.min()), 2)} to {rounded(float(mass.max()), 2)}."
        )
        marks = [("Everybody compared", self.everybody)]
        if self.kept[:2] != self.everybody[:2]:
            marks.insert(0, ("The kept subgroup", self.kept))
        for name, (_, delta, low, high) in marks:
            if math.isfinite(delta):
                text += f" {name}: {self.effect.name} {self._spoken(delta, low, high)}."
        return text

    def plot(
        self, ax: style.Axes | None = None, *, scale: str = "ratio", style: str = "light"
    ) -> WorstCasePathDisplay:
        """Draw the path as ``Display.plot`` does.

        ``scale`` "delta" takes the logarithm of ratios; it is of no consequence for differences.
        """
        if not is_choice(scale, ("ratio", "delta")):
            raise InputError(f"scale: 'ratio' or 'delta' expected, {shown(scale)} found.")
        return self._plot(ax, style, scale=scale)

    def _draw(
        self, ax: style.Axes, palette: style.Palette, *, scale: str = "ratio", **options: Any
    ) -> None:

        logarithmic = self.effect.logarithmic

        def unit(value: Any) -> Any:
            if not logarithmic:
                return value
            bounded = np.clip(value, -_LARGEST_DRAWN, _LARGEST_DRAWN)
            return np.exp(bounded) if scale == "ratio" else bounded

        mass, delta, low, high = self._line()
        widest = float(np.max(mass, initial=0.0))
        bottom, top = self._limits(delta, low, high)
        banded = ~(np.isnan(low) | np.isnan(high))
        ax.fill_between(
            mass[banded],
            unit(np.maximum(low[banded], bottom)),
            unit(np.minimum(high[banded], top)),
            color=palette.first,
            alpha=0.22,
            linewidth=0,
        )
        ax.plot(mass, unit(delta), color=palette.first, linewidth=1.6)
        ax.axhline(unit(0.0), color=palette.muted, linewidth=0.9, linestyle=(0, (4, 3)))
        self._mark(ax, palette, unit, (bottom, top), widest)
        if not logarithmic:
            style.plain_axis(ax, bottom, top, self.effect.plain, which="y")
        elif scale == "ratio":
            style.ratio_axis(ax, float(unit(bottom)), float(unit(top)), which="y")
        else:
            ax.set_ylim(bottom, top)
        ax.set_xlim(left=0, right=max(widest, 1e-9) * 1.02)
        level = f"{100 * self.confidence_level:.3g} % interval"
        having = " and have the outcome" if self.effect == RATES else ""
        name = self.effect.axis if scale == "ratio" or not logarithmic else "delta"
        style.finish(
            ax,
            palette,
            x=f"Mass: share of all that is compared that is in the subgroup{having}",
            y=f"{name}, {level}",
            title=self.label,
        )

    def _line(self) -> tuple[np.ndarray, ...]:
        """Mass, delta and ends of the interval of everything drawn, smallest region first."""
        marks = np.array([self.kept, self.everybody], dtype=float)
        # A path may hold the marked regions already.
        marks = marks[~np.isin(marks[:, 0], self.mass)]
        steps = np.column_stack([self.mass, self.delta, self.interval_low, self.interval_high])
        points = np.vstack([steps, marks])
        points = points[np.isfinite(points[:, :2]).all(axis=1)]
        points = points[np.argsort(points[:, 0], kind="stable")]
        return tuple(points.T)

    def _limits(self, delta: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
        """Ends of the axis: all points, and the bands of all but the smallest regions."""
        marked = [v for v in (*self.kept[1:], *self.everybody[1:]) if math.isfinite(v)]
        width = high - low
        usual = np.isfinite(width)
        if usual.any():
            usual &= width <= 2.5 * np.median(width[usual])
        values = np.concatenate([delta, low[usual], high[usual], marked, [0.0]])
        largest = _LARGEST_DRAWN if self.effect.logarithmic else math.inf
        values = np.clip(values, -largest, largest)
        bottom, top = float(values.min()), float(values.max())
        room = 0.08 * max(top - bottom, 0.2 * self.size)
        return bottom - room, top + 2.2 * room

    def _mark(
        self, ax: Any, palette: Any, unit: Any, limits: tuple[float, float], widest: float
    ) -> None:
        """Mark the kept region and everybody, each named beside its point."""
        same = self.kept[:2] == self.everybody[:2]
        points = [("everybody", "o", self.everybody, palette.ink)]
        if not same:
            points.append(("kept subgroup", "D", self.kept, palette.second))
        for name, marker, (mass, delta, low, high), color in points:
            if not (math.isfinite(mass) and math.isfinite(delta)):
                continue
            if math.isfinite(low) and math.isfinite(high):
                ends = unit(np.clip([low, high], *limits))
                ax.plot([mass, mass], ends, color=color, linewidth=2.0)
            ax.plot([mass], [unit(delta)], marker=marker, color=color, markersize=7, zorder=5)
            right = mass > 0.55 * widest
            top = min(high if math.isfinite(high) else delta, limits[1])
            style.write(
                ax,
                mass,
                float(unit(top)),
                f"{name}: {self._spoken(delta, low, high)}",
                offset=(4 if right else -2, 5),
                ha="right" if right else "left",
                va="bottom",
                color=color,
                fontweight="bold",
            )

    def _spoken(self, delta: float, low: float, high: float) -> str:
        own = (delta, low, high)
        value, *ends = map(ratio_of, own) if self.effect.logarithmic else own
        return self.effect.spoken(value, (ends[0], ends[1]))
