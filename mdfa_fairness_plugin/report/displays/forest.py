"""Forest plot: one row per ratio with its interval, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.fields import Record
from mdfa_fairness_plugin.records import VIOLATION
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.document import WITHHELD_TEXT
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.rates import RATES, Effect

_WIDEST: Final = 100.0
# Columns of what every row shows.
RATIOS: Final = {name: name for name in ("ratio", "ratio_low", "ratio_high")}
# How a display calls a violation whose group gets a favourable outcome more often.
ADVANTAGE: Final = "advantage"


@dataclass(kw_only=True, eq=False)
class ForestDisplay(Display):
    """Ratios with intervals and verdicts; everybody's is drawn beside each.

    Of searches that go by a difference, ``ratio`` and its ends are that.
    """

    ratio: np.ndarray
    ratio_low: np.ndarray
    ratio_high: np.ndarray
    everybody: np.ndarray = field(default_factory=lambda: np.empty(0))
    verdicts: tuple[str, ...]
    effect: Effect = RATES
    _unmeasured: ClassVar[str] = "not measured"
    _values_at: ClassVar[float] = 1.02
    _arrows_to_left: ClassVar[bool] = False

    @classmethod
    def _of(
        cls, records: Sequence[Any], *others: tuple[str, Sequence[Record], str], **values: Any
    ) -> Self:
        """Take ratios from a record per row, and mark cells that records withhold.

        ``others`` are more columns that may be withheld, each with the records and the field read.
        """
        effect = effect_of(records[0])
        low, high = np.array([effect.ends(record) for record in records]).T
        made = cls(
            effect=effect,
            ratio=np.array([effect.value(record) for record in records]),
            ratio_low=low,
            ratio_high=high,
            verdicts=tuple(map(_told, records)),
            **values,
        )
        field, interval = effect.fields
        ends = [(name, records, interval) for name in ("ratio_low", "ratio_high")]
        frame = made.to_frame()
        made.withheld = frozenset(
            (i, made.column(name))
            for name, of, read in [("ratio", records, field), *ends, *others]
            for i, record in enumerate(of)
            if read in record.withheld and math.isnan(frame[made.column(name)][i])
        )
        return made

    def column(self, name: str) -> str:
        """Name of a column of the table."""
        return name.replace("ratio", self.effect.name)

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per thing drawn."""
        return super().to_frame().rename(columns=self.column)

    def _others(self) -> list[np.ndarray]:
        """Give what else the axis must reach."""
        return [self.everybody]

    def _draw_beside(
        self, ax: style.Axes, palette: style.Palette, i: int, limits: tuple[float, float]
    ) -> None:
        """Draw what else stands in a row."""
        whole = self.everybody[i]
        if limits[0] <= whole <= limits[1]:
            ax.plot([whole, whole], [i - 0.32, i + 0.32], color=palette.ink, linewidth=1.4)

    def _draw_rows(self, ax: style.Axes, palette: style.Palette) -> tuple[float, float]:
        """Draw every row; give the ends of the axis."""
        low, high = self._limits()
        ax.axvline(self.effect.none, color=palette.muted, linewidth=0.9, linestyle=(0, (4, 3)))
        for i, verdict in enumerate(self.verdicts):
            violation = verdict == VIOLATION
            color = palette.second if violation else palette.first
            self._draw_interval(ax, color, i, (low, high))
            if low <= self.ratio[i] <= high:
                ax.plot(
                    [self.ratio[i]],
                    [i],
                    marker="D" if violation or verdict == ADVANTAGE else "o",
                    color=color,
                    markerfacecolor=color if violation else palette.paper,
                    markersize=7,
                    markeredgewidth=1.6,
                    zorder=4,
                )
            self._draw_beside(ax, palette, i, (low, high))
            style.beside(ax, palette, i, self._value(i), self._values_at)
        return low, high

    def _draw_interval(
        self, ax: style.Axes, color: str, i: int, limits: tuple[float, float]
    ) -> None:
        """Draw an interval; an arrow says that it goes on, dots that its end is withheld."""
        low, high = limits
        ends = self.ratio_low[i], self.ratio_high[i]
        if all(map(math.isnan, ends)):
            return
        left = low if math.isnan(ends[0]) else max(ends[0], low)
        right = high if math.isnan(ends[1]) else min(ends[1], high)
        if (i, self.column("ratio_high")) in self.withheld:
            ax.plot([left, right], [i, i], color=color, linewidth=2.2, linestyle=(0, (1, 1.5)))
            ax.plot([left], [i], marker="|", color=color, markersize=9, markeredgewidth=2.2)
            return
        ax.plot([left, right], [i, i], color=color, linewidth=2.2, solid_capstyle="butt")
        if right == high:
            ax.plot([high], [i], marker=">", color=color, markersize=6, clip_on=False)
        if left == low and self._arrows_to_left:
            ax.plot([low], [i], marker="<", color=color, markersize=6, clip_on=False)

    def _limits(self) -> tuple[float, float]:
        values = np.concatenate(
            [self.ratio, self.ratio_low, self.ratio_high, *self._others(), [self.effect.none]]
        )
        if not self.effect.logarithmic:
            values = values[np.isfinite(values)]
            low, high = float(values.min()), float(values.max())
            room = 0.06 * (high - low) or 1.0
            return low - room, high + room
        values = values[np.isfinite(values) & (values > 0)]
        values = np.clip(values, 1 / _WIDEST, _WIDEST)
        low, high = float(values.min()), float(values.max())
        room = max((high / low) ** 0.06, 1.05)
        return low / room, high * room

    def _value(self, i: int) -> str:
        ratio, low, high = self.ratio[i], self.ratio_low[i], self.ratio_high[i]
        if math.isnan(ratio) and not math.isnan(low):
            return f"at least {self._short(low)}"
        if math.isnan(ratio):
            known = (i, self.column("ratio")) in self.withheld
            return WITHHELD_TEXT if known else self._unmeasured
        if math.isnan(low):
            return self._short(ratio)
        if not (math.isfinite(ratio) and math.isfinite(high)):
            return f"{self._short(ratio)} ({self._short(low)} to {self._short(high)})"
        return self.effect.spoken(ratio, (low, high))

    def _short(self, value: float) -> str:
        return "∞" if math.isinf(value) else self.effect.plain(value)

    def _axis(self, ax: style.Axes, limits: tuple[float, float]) -> None:
        """Set the axis of the effects."""
        if self.effect.logarithmic:
            style.ratio_axis(ax, *limits)
        else:
            style.plain_axis(ax, *limits, self.effect.plain)

    def _note_of_dots(self) -> str:
        """What dots mean, if there are any."""
        dotted = any(column == self.column("ratio_high") for _, column in self.withheld)
        return "\n··· upper end withheld: it would tell of too few rows" if dotted else ""


def _told(record: Any) -> str:
    """A verdict; what more of the favourable outcome is."""
    advantage = record.verdict == VIOLATION and getattr(record, "harm", None) is False
    return ADVANTAGE if advantage else record.verdict
