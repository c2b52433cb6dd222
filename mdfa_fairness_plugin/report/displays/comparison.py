"""Models side by side: the aggregate ratio of each beside its worst subgroup's (Table 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mdfa_fairness_plugin.describe.decimals import alike, ratio_places
from mdfa_fairness_plugin.describe.wording import count
from mdfa_fairness_plugin.records import NONE_LARGER, VIOLATION, ratio_of
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.forest import RATIOS, ForestDisplay
from mdfa_fairness_plugin.report.figures import ratio_text
from mdfa_fairness_plugin.report.findings import FINDINGS


@dataclass(kw_only=True, eq=False)
class ComparisonDisplay(ForestDisplay):
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
    everybody_told : tuple of str
        What is said of ``everybody``.
    split_mean, split_sd : ndarray of shape (n_models,)
        Of the worst subgroup's ratio over repeated splits; NaN without any.
    verdicts : tuple of str
    withheld : frozenset of (int, str)
        Cells of the table, by row and column, that a copy for printing does not hold.
    """

    models: tuple[str, ...]
    searches: tuple[str, ...]
    selection: np.ndarray
    split_mean: np.ndarray
    split_sd: np.ndarray
    everybody_told: tuple[str, ...]
    _width = 7.6
    _columns: ClassVar = {
        "model": "models",
        "search": "searches",
        "verdict": "verdicts",
        "selection_ratio": "selection",
        "ratio_everybody": "everybody",
        **RATIOS,
        "ratio_split_mean": "split_mean",
        "ratio_split_sd": "split_sd",
    }
    _height = 1.6
    _row_height = 0.5

    @classmethod
    def from_result(cls, result: Any) -> ComparisonDisplay:
        """Take the numbers from each model's worst case.

        An ``InputError`` says if no model could be measured.
        """
        rows = [result.worst(model) for model in result.models]
        if all(math.isnan(row.delta) for row in rows):
            raise style.nothing_to_draw("result", "no model could be measured")
        return cls._of(
            rows,
            ("ratio_everybody", rows, "everybody_delta"),
            ("ratio_split_mean", rows, "split_ratio_mean"),
            ("ratio_split_sd", rows, "split_ratio_sd"),
            models=tuple(style.short(row.model, 24) for row in rows),
            searches=tuple(style.search_name(row.search, 14) for row in rows),
            selection=np.array([row.selection.ratio for row in rows]),
            everybody=np.array([ratio_of(row.everybody_delta) for row in rows]),
            everybody_told=tuple(  # as tables have it
                alike(
                    list(map(ratio_of, (row.everybody_delta, *row.everybody_interval))),
                    ratio_places,
                    none=1.0,
                )[0]
                for row in rows
            ),
            split_mean=np.array([row.split_ratio_mean for row in rows]),
            split_sd=np.array([row.split_ratio_sd for row in rows]),
        )

    def _sentence(self) -> str:
        text = f"Rate ratios of {count(len(self.models), 'model')}."
        for i in range(min(len(self.models), 6)):
            whole, equal = self.selection[i], self.everybody_told[i]
            plain = "∞" if math.isinf(whole) else ratio_text(whole)
            text += f" {self.models[i]}: of everybody {plain} with features not looked at"
            text += f" and {equal} at equal ones, in its worst subgroup {self._value(i)}."
        return text

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        limits = self._draw_rows(ax, palette)
        names = [f"{m}\n{s}" for m, s in zip(self.models, self.searches, strict=True)]
        style.row_labels(ax, palette, names)
        style.ratio_axis(ax, *limits)
        note = "Rate ratio of everybody: ❙ features not looked at   | at equal features"
        note += f"\nWorst subgroup: ◆ {FINDINGS[VIOLATION]}   ○ {FINDINGS[NONE_LARGER]}"
        if np.isfinite(self.split_mean).any():
            note += "   × mean and deviation over splits"
        style.finish(ax, palette, x=note + self._note_of_dots())

    def _draw_beside(
        self, ax: style.Axes, palette: style.Palette, i: int, limits: tuple[float, float]
    ) -> None:
        low, high = limits
        mean, sd = self.split_mean[i], np.nan_to_num(self.split_sd[i])
        if low <= mean <= high:
            reach = [max(mean - sd, low), min(mean + sd, high)]
            ax.plot(reach, [i + 0.25, i + 0.25], color=palette.muted, linewidth=1.2)
            ax.plot([mean], [i + 0.25], marker="x", color=palette.muted, markersize=5)
        for value, width in ((self.selection[i], 2.6), (self.everybody[i], 1.2)):
            if low <= value <= high:
                ax.plot([value, value], [i - 0.3, i + 0.1], color=palette.ink, linewidth=width)

    def _others(self) -> list[np.ndarray]:
        return [self.selection, self.everybody, self.split_mean]
