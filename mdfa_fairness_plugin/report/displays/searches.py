"""Forest plot: the ratio every search of an audit found, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import count
from mdfa_fairness_plugin.records import VIOLATION, AuditRecord
from mdfa_fairness_plugin.report.displays.style import (
    begin,
    finish,
    nothing_to_draw,
    ratio_axis,
    row_labels,
    search_name,
)
from mdfa_fairness_plugin.report.reading import ranked
from mdfa_fairness_plugin.report.sentences import ratio_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 100.0


@dataclass(kw_only=True, eq=False)
class SearchesDisplay:
    """Rate ratio of every search, with its interval, beside that of everybody compared.

    Parameters
    ----------
    labels : tuple of str
        Group and outcome of each search, violations first.
    ratio, ratio_low, ratio_high : ndarray of shape (n_searches,)
        In the subgroup the search kept; NaN where not measured.
    everybody : ndarray of shape (n_searches,)
        Ratio over everybody compared.
    verdicts : tuple of str
    n_omitted : int
        Searches left out of the picture.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    """

    labels: tuple[str, ...]
    ratio: np.ndarray
    ratio_low: np.ndarray
    ratio_high: np.ndarray
    everybody: np.ndarray
    verdicts: tuple[str, ...]
    n_omitted: int = 0

    @classmethod
    def from_result(cls, result: AuditRecord, *, max_searches: int = 24) -> SearchesDisplay:
        """Take the numbers from every search.

        Parameters
        ----------
        result : AuditResult
        max_searches : int, default=24
            Most searches drawn; violations come first.

        Returns
        -------
        display : SearchesDisplay

        Raises
        ------
        InputError
            If no search measured anything.
        """
        found = [v for v in ranked(result.violations) if v.measured or not math.isnan(v.lower)]
        if not found:
            raise nothing_to_draw("result", "no search measured a ratio")
        drawn = found[:max_searches]

        def column(values: Any) -> np.ndarray:
            return np.array(list(values), dtype=float)

        return cls(
            labels=tuple(search_name(v) for v in drawn),
            ratio=column(v.ratio for v in drawn),
            ratio_low=column(v.ratio_interval[0] for v in drawn),
            ratio_high=column(v.ratio_interval[1] for v in drawn),
            everybody=column(v.population.ratio for v in drawn),
            verdicts=tuple(v.verdict for v in drawn),
            n_omitted=len(result.violations) - len(drawn),
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per search."""
        return pd.DataFrame(
            {
                "search": list(self.labels),
                "verdict": list(self.verdicts),
                "ratio": self.ratio,
                "ratio_low": self.ratio_low,
                "ratio_high": self.ratio_high,
                "ratio_everybody": self.everybody,
            }
        )

    @property
    def height(self) -> float:
        """Height of its own figure, in inches."""
        return 1.35 + 0.3 * len(self.labels)

    @property
    def alt_text(self) -> str:
        """What the picture shows, in a sentence."""
        found = sum(verdict == VIOLATION for verdict in self.verdicts)
        text = f"Rate ratios of {count(len(self.labels), 'search', 'searches')} with intervals; "
        text += f"{count(found, 'violation')}."
        for i in range(min(len(self.labels), 3)):
            text += f" {self.labels[i]}, {self._value(i)}."
        return text

    def plot(self, ax: Axes | None = None, *, style: str = "light") -> SearchesDisplay:
        """Draw one row per search.

        Parameters
        ----------
        ax : Axes or None, default=None
            Axes to draw on; None: those of a new figure.
        style : {"light", "dark"}, default="light"

        Returns
        -------
        self : SearchesDisplay
        """
        ax, palette = begin(ax, style, (7.2, self.height))
        low, high = self._limits()
        ax.axvline(1, color=palette.muted, linewidth=0.9, linestyle=(0, (4, 3)))
        for i, verdict in enumerate(self.verdicts):
            color = palette.second if verdict == VIOLATION else palette.first
            ends = (self.ratio_low[i], self.ratio_high[i])
            left = low if math.isnan(ends[0]) else max(ends[0], low)
            right = high if math.isnan(ends[1]) else min(ends[1], high)
            if not (math.isnan(ends[0]) and math.isnan(ends[1])):
                ax.plot([left, right], [i, i], color=color, linewidth=2.2, solid_capstyle="butt")
                if right == high:
                    ax.plot([high], [i], marker=">", color=color, markersize=6, clip_on=False)
                if left == low:
                    ax.plot([low], [i], marker="<", color=color, markersize=6, clip_on=False)
            if math.isfinite(self.ratio[i]) and low <= self.ratio[i] <= high:
                filled = color if verdict == VIOLATION else palette.paper
                ax.plot(
                    [self.ratio[i]],
                    [i],
                    marker="D" if verdict == VIOLATION else "o",
                    color=color,
                    markerfacecolor=filled,
                    markersize=7,
                    markeredgewidth=1.6,
                    zorder=4,
                )
            whole = self.everybody[i]
            if math.isfinite(whole) and low <= whole <= high:
                ax.plot([whole, whole], [i - 0.32, i + 0.32], color=palette.ink, linewidth=1.4)
            ax.annotate(
                self._value(i),
                (1.035, i),
                xycoords=ax.get_yaxis_transform(),
                va="center",
                fontsize=9,
                color=palette.ink,
                annotation_clip=False,
                parse_math=False,
                usetex=False,
            )
        row_labels(ax, palette, self.labels)
        ratio_axis(ax, low, high)
        note = "Rate ratio. ◆ violation   ○ none told from chance   | everybody compared"
        if self.n_omitted:
            note += f"\n{count(self.n_omitted, 'more search', 'more searches')} not drawn"
        finish(ax, palette, x=note, to_right=True)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _limits(self) -> tuple[float, float]:
        values = np.concatenate(
            [self.ratio, self.ratio_low, self.ratio_high, self.everybody, [1.0]]
        )
        values = values[np.isfinite(values) & (values > 0)]
        values = np.clip(values, 1 / _WIDEST, _WIDEST)
        low, high = float(values.min()), float(values.max())
        room = max((high / low) ** 0.06, 1.05)
        return low / room, high * room

    def _value(self, i: int) -> str:
        ratio, low, high = self.ratio[i], self.ratio_low[i], self.ratio_high[i]
        if math.isnan(ratio):
            return "not shown" if math.isnan(low) else f"at least {_ratio(low)}"
        if math.isnan(low):
            return _ratio(ratio)
        return f"{_ratio(ratio)} ({_ratio(low)} to {_ratio(high)})"


def _ratio(value: float) -> str:
    return "∞" if math.isinf(value) else ratio_text(value)
