"""Models side by side: the aggregate ratio of each beside its worst subgroup's (Table 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import count
from mdfa_fairness_plugin.records import VIOLATION, ratio_of
from mdfa_fairness_plugin.report.displays.style import (
    begin,
    finish,
    nothing_to_draw,
    ratio_axis,
    row_labels,
    search_name,
    short,
)
from mdfa_fairness_plugin.report.sentences import ratio_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 100.0


@dataclass(kw_only=True, eq=False)
class ComparisonDisplay:
    """Ratio of every model over everybody (``DI``) and in its worst subgroup (``DT_G``).

    Parameters
    ----------
    models : tuple of str
    searches : tuple of str
        Group and outcome of each model's worst case.
    selection : ndarray of shape (n_models,)
        Ratio of the outcome's rates over everybody, features not looked at.
    everybody : ndarray of shape (n_models,)
        The same at equal features.
    ratio, ratio_low, ratio_high : ndarray of shape (n_models,)
        In the worst subgroup, with the ends of its interval.
    split_mean, split_sd : ndarray of shape (n_models,)
        Of the worst subgroup's ratio over repeated splits; NaN without any.
    verdicts : tuple of str

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    """

    models: tuple[str, ...]
    searches: tuple[str, ...]
    selection: np.ndarray
    everybody: np.ndarray
    ratio: np.ndarray
    ratio_low: np.ndarray
    ratio_high: np.ndarray
    split_mean: np.ndarray
    split_sd: np.ndarray
    verdicts: tuple[str, ...]

    @classmethod
    def from_result(cls, result: Any) -> ComparisonDisplay:
        """Take the numbers from each model's worst case.

        Parameters
        ----------
        result : ComparisonResult

        Returns
        -------
        display : ComparisonDisplay

        Raises
        ------
        InputError
            If no model could be measured.
        """
        rows = [result.worst(model) for model in result.models]
        if all(math.isnan(row.delta) for row in rows):
            raise nothing_to_draw("result", "no model could be measured")
        return cls(
            models=tuple(short(row.model, 24) for row in rows),
            searches=tuple(search_name(row.search, 14) for row in rows),
            selection=np.array([row.selection.ratio for row in rows]),
            everybody=np.array([ratio_of(row.everybody_delta) for row in rows]),
            ratio=np.array([row.ratio for row in rows]),
            ratio_low=np.array([row.ratio_interval[0] for row in rows]),
            ratio_high=np.array([row.ratio_interval[1] for row in rows]),
            split_mean=np.array([row.split_ratio_mean for row in rows]),
            split_sd=np.array([row.split_ratio_sd for row in rows]),
            verdicts=tuple(row.verdict for row in rows),
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per model."""
        return pd.DataFrame(
            {
                "model": list(self.models),
                "search": list(self.searches),
                "verdict": list(self.verdicts),
                "selection_ratio": self.selection,
                "ratio_everybody": self.everybody,
                "ratio": self.ratio,
                "ratio_low": self.ratio_low,
                "ratio_high": self.ratio_high,
                "ratio_split_mean": self.split_mean,
                "ratio_split_sd": self.split_sd,
            }
        )

    @property
    def alt_text(self) -> str:
        """What the picture shows, in a sentence."""
        text = f"Rate ratios of {count(len(self.models), 'model')}."
        for i in range(min(len(self.models), 6)):
            text += f" {self.models[i]}: over everybody {_ratio(self.selection[i])}, "
            text += f"in its worst subgroup {self._value(i)}."
        return text

    @property
    def height(self) -> float:
        """Height that the rows need, in inches."""
        return 1.6 + 0.5 * len(self.models)

    def plot(self, ax: Axes | None = None, *, style: str = "light") -> ComparisonDisplay:
        """Draw one row per model.

        Parameters
        ----------
        ax : Axes or None, default=None
            Axes to draw on; None: those of a new figure.
        style : {"light", "dark"}, default="light"

        Returns
        -------
        self : ComparisonDisplay
        """
        ax, palette = begin(ax, style, (7.6, self.height))
        low, high = self._limits()
        ax.axvline(1, color=palette.muted, linewidth=0.9, linestyle=(0, (4, 3)))
        for i, verdict in enumerate(self.verdicts):
            violation = verdict == VIOLATION
            color = palette.second if violation else palette.first
            ends = self.ratio_low[i], self.ratio_high[i]
            if not all(math.isnan(end) for end in ends):
                left = low if math.isnan(ends[0]) else max(ends[0], low)
                right = high if math.isnan(ends[1]) else min(ends[1], high)
                ax.plot([left, right], [i, i], color=color, linewidth=2.2, solid_capstyle="butt")
                if right == high:
                    ax.plot([high], [i], marker=">", color=color, markersize=6, clip_on=False)
            if low <= self.ratio[i] <= high:
                ax.plot(
                    [self.ratio[i]],
                    [i],
                    marker="D" if violation else "o",
                    color=color,
                    markerfacecolor=color if violation else palette.paper,
                    markersize=7,
                    markeredgewidth=1.6,
                    zorder=4,
                )
            mean, sd = self.split_mean[i], np.nan_to_num(self.split_sd[i])
            if low <= mean <= high:
                reach = [max(mean - sd, low), min(mean + sd, high)]
                ax.plot(reach, [i + 0.25, i + 0.25], color=palette.muted, linewidth=1.2)
                ax.plot([mean], [i + 0.25], marker="x", color=palette.muted, markersize=5)
            for value, width in ((self.selection[i], 2.6), (self.everybody[i], 1.2)):
                if low <= value <= high:
                    ax.plot([value, value], [i - 0.3, i + 0.1], color=palette.ink, linewidth=width)
            ax.annotate(
                self._value(i),
                (1.02, i),
                xycoords=ax.get_yaxis_transform(),
                va="center",
                fontsize=9,
                color=palette.ink,
                annotation_clip=False,
                parse_math=False,
                usetex=False,
            )
        row_labels(
            ax, palette, [f"{m}\n{s}" for m, s in zip(self.models, self.searches, strict=True)]
        )
        ratio_axis(ax, low, high)
        note = "Rate ratio. ❙ over everybody   | at equal features   ◆ worst subgroup, a violation"
        note += "\n○ worst subgroup, none told from chance"
        if np.isfinite(self.split_mean).any():
            note += "   × mean and deviation over splits"
        finish(ax, palette, x=note)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _limits(self) -> tuple[float, float]:
        values = np.concatenate(
            [
                *(self.ratio, self.ratio_low, self.ratio_high, self.selection, self.everybody),
                self.split_mean,
                [1.0],
            ]
        )
        values = values[np.isfinite(values) & (values > 0)]
        values = np.clip(values, 1 / _WIDEST, _WIDEST)
        low, high = float(values.min()), float(values.max())
        room = max((high / low) ** 0.06, 1.05)
        return low / room, high * room

    def _value(self, i: int) -> str:
        ratio, low, high = self.ratio[i], self.ratio_low[i], self.ratio_high[i]
        if math.isnan(ratio):
            return "not measured"
        if math.isnan(low):
            return _ratio(ratio)
        return f"{_ratio(ratio)} ({_ratio(low)} to {_ratio(high)})"


def _ratio(value: float) -> str:
    return "∞" if math.isinf(value) else ratio_text(value)
