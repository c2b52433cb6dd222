"""What each feature explains: the ratio without it, beside those with all features equal and none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mdfa_fairness_plugin.describe.wording import count, label_text
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.forest import ForestDisplay
from mdfa_fairness_plugin.report.means import Difference
from mdfa_fairness_plugin.report.rates import RATES, Effect


@dataclass(kw_only=True, eq=False)
class ExplainedDisplay(ForestDisplay):
    """Ratio of one subgroup with each feature left out, the one that moves most first.

    The difference of means, of a search that goes by it.

    Parameters
    ----------
    features : tuple of str
    ratio, ratio_low, ratio_high : ndarray of shape (n_features,)
        Without the feature, and how far chance takes its distance from ``equal``.
    equal, unweighted : float
        Ratio with all features equal, and with none: rates as observed.
    n_omitted : int
        Features left out of the picture, each moving less.
    label : str
        Which search this is.
    """

    features: tuple[str, ...]
    equal: float
    unweighted: float
    n_omitted: int = 0
    label: str = ""
    verdicts: tuple[str, ...] = ()
    _columns: ClassVar = {
        "feature": "features",
        "ratio_without": "ratio",
        "ratio_low": "ratio_low",
        "ratio_high": "ratio_high",
    }
    _arrows_to_left = True
    _height = 1.5
    _row_height = 0.3

    @classmethod
    def from_explained(
        cls, explained: Any, search: int | None = None, *, max_features: int = 12
    ) -> ExplainedDisplay:
        """Take the numbers of one search.

        Parameters
        ----------
        explained : Explained
            As ``result.explained()`` gives it.
        search : int or None, default=None
            Position in ``explained.searches``; None: the audit's worst case.
        max_features : int, default=12
            Most features drawn.

        An ``InputError`` says if there is no such search or its ratio is unknown.
        """
        n = len(explained.searches)
        search = explained.worst if search is None else search
        if search is None:
            raise style.nothing_to_draw("explained", "no search measured a ratio")
        if not 0 <= search < n:
            raise InputError(f"search: a position below {n} expected, {search!r} found.")
        rows = explained.of_search(search)
        if explained.by_difference[search]:
            effect: Effect = Difference()
            equal = float(explained.difference[search])
            observed = float(explained.difference_unweighted[search])
        else:
            effect = RATES
            equal, observed = (
                math.exp(own[search]) for own in (explained.delta, explained.unweighted)
            )
        if not math.isfinite(equal) or (effect.logarithmic and equal == 0):
            raise style.nothing_to_draw("explained", f"the {effect.name} of this search is unknown")
        drawn = rows.iloc[:max_features]
        low, high = (drawn[f"change_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
        feature, group, outcome = explained.searches[search]
        return cls(
            features=tuple(drawn["feature"]),
            effect=effect,
            ratio=drawn[f"{effect.name}_without"].to_numpy(dtype=float),
            ratio_low=equal * low if effect.logarithmic else equal + low,
            ratio_high=equal * high if effect.logarithmic else equal + high,
            equal=equal,
            unweighted=observed,
            n_omitted=len(rows) - len(drawn),
            label=f"{label_text(feature, 18)} = {style.short(group, 18)}: {style.short(outcome, 18)}",
        )

    def _sentence(self) -> str:
        text = (
            f"{self.effect.name.capitalize()} of {self.label} with each feature left out: "
            f"{self._short(self.equal)} with all features equal, {self._short(self.unweighted)} as "
            "observed."
        )
        for i, name in enumerate(style.short_names(self.features, 22)[:3]):
            text += f" Without {name} {self._value(i)}."
        return text

    def _others(self) -> list[np.ndarray]:
        return [np.array([self.equal, self.unweighted])]

    def _draw_beside(
        self, ax: style.Axes, palette: style.Palette, i: int, limits: tuple[float, float]
    ) -> None:
        """Draw the ratio without a feature, filled if it is beyond chance."""
        moved = self.ratio_low[i] > self.equal or self.ratio_high[i] < self.equal
        color = palette.second if moved else palette.first
        self._draw_interval(ax, color, i, limits)
        if limits[0] <= self.ratio[i] <= limits[1]:
            fill = color if moved else palette.paper
            ax.plot([self.ratio[i]], [i], "o", color=color, markerfacecolor=fill, markersize=7)

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        limits = self._limits()
        apart = ["right", "left"] if self.equal <= self.unweighted else ["left", "right"]
        for name, value, line, side in (
            ("all features equal", self.equal, "-", apart[0]),
            ("as observed", self.unweighted, ":", apart[1]),
        ):
            if limits[0] <= value <= limits[1]:
                ax.axvline(value, color=palette.ink, linewidth=1.2, linestyle=line)
                text = f" {name}: {self._short(value)} "
                style.write(ax, value, -0.85, text, ha=side, va="center", color=palette.ink)
        for i in range(len(self.features)):
            self._draw_beside(ax, palette, i, limits)
            style.beside(ax, palette, i, self._value(i))
        style.row_labels(ax, palette, style.short_names(self.features, 28))
        ax.set_ylim(len(self.features) - 0.4, -1.3)
        self._axis(ax, limits)
        note = f"{self.effect.axis} without the feature.  ● moves beyond chance   "
        note += "○ not told from chance"
        if self.n_omitted:
            note += f"\n{count(self.n_omitted, 'feature')} that move it less not drawn"
        style.finish(ax, palette, x=note, to_right=True, title=self.label)
