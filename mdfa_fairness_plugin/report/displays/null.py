"""Null distribution: what the same search finds where there is nothing to find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import count, label_text, rounded
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.figures import ratio_text
from mdfa_fairness_plugin.report.sentences import p_text


@dataclass(kw_only=True, eq=False)
class NullDistributionDisplay(Display):
    """Delta found when the sensitive value is redrawn given the features, and the delta observed.

    The difference of means or the slope, in units of the outcome, of a search that goes by it.

    Parameters
    ----------
    draws : ndarray of shape (n_draws,)
        Delta that the same search found in each redrawn audit.
    observed : float
        Delta that it found in the data.
    p_value : float
    label : str
        Which search this is.
    measure : {"ratio", "difference", "slope"}
        What the search goes by.
    """

    draws: np.ndarray
    observed: float
    p_value: float
    label: str = ""
    measure: str = "ratio"
    _height = 3.2

    @classmethod
    def from_null(cls, null: Any, search: int | None = None) -> NullDistributionDisplay:
        """Take the numbers of one search.

        Parameters
        ----------
        null : NullDistribution
            With ``searches``, ``observed``, ``draws`` and ``p_values``.
        search : int or None, default=None
            Position in ``null.searches``; None: the one with the smallest p-value.

        An ``InputError`` says if there is no such search or it has no draws.
        """
        p = np.asarray(null.p_values, dtype=float)
        if search is None:
            if len(p) == 0:
                raise style.nothing_to_draw("null", "it has no search")
            search = int(np.nanargmin(p)) if np.isfinite(p).any() else 0
        if not -len(p) <= search < len(p):
            raise InputError(f"search: a position below {len(p)} expected, {search!r} found.")
        draws = np.asarray(null.draws, dtype=float)[:, search]
        draws = draws[~np.isnan(draws)]
        if len(draws) == 0:
            raise style.nothing_to_draw("null", "no draw of this search was measured")
        feature, group, outcome = null.searches[search]
        label = f"{label_text(feature, 18)} = {style.short(group, 18)}: {style.short(outcome, 18)}"
        return cls(
            draws=draws,
            observed=float(np.asarray(null.observed, dtype=float)[search]),
            p_value=float(p[search]),
            label=label,
            measure=null.measures[search],
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn: the draws, in order of size."""
        return pd.DataFrame({self._what: np.sort(self.draws)})

    @property
    def _what(self) -> str:
        return "delta" if self.measure == "ratio" else self.measure

    def _sentence(self) -> str:
        finite = self.draws[np.isfinite(self.draws)]
        middle = rounded(float(np.median(finite))) if len(finite) else "unknown"
        return (
            f"Histogram of {self._what} in {count(len(self.draws), 'redrawn audit')} of {self.label}, "
            f"median {middle}; observed {rounded(self.observed)}, {p_text(self.p_value)}."
        )

    def plot(
        self, ax: style.Axes | None = None, *, n_bins: int = 30, style: str = "light"
    ) -> NullDistributionDisplay:
        """Draw the histogram and the observed value as ``Display.plot`` does."""
        return self._plot(ax, style, n_bins=n_bins)

    def _draw(
        self, ax: style.Axes, palette: style.Palette, *, n_bins: int = 30, **options: Any
    ) -> None:
        finite = self.draws[np.isfinite(self.draws)]
        observed = self.observed if math.isfinite(self.observed) else math.nan
        known = np.concatenate([finite, [observed] if not math.isnan(observed) else []])
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        room = 0.06 * max(high - low, 0.1)
        low, high = low - room, high + room
        n, edges = np.histogram(finite, bins=min(n_bins, max(5, len(finite) // 3)))
        ax.bar(
            edges[:-1],
            n,
            np.diff(edges),
            align="edge",
            color=palette.first,
            edgecolor=palette.paper,
            linewidth=0.6,
        )
        top = float(max(n.max(initial=0), 1))
        ax.set_ylim(0, 1.3 * top)
        ax.set_xlim(low, high)
        middle = float(np.median(finite)) if len(finite) else low
        where: dict[str, Any] = {"va": "bottom", "fontweight": "bold"}
        style.write(
            ax,
            middle,
            1.02 * top,
            f"{count(len(self.draws), 'redraw')}, nothing to find",
            ha="left" if middle < (low + high) / 2 else "right",
            color=palette.first,
            **where,
        )
        if not math.isnan(observed):
            ax.plot([observed, observed], [0, 1.12 * top], color=palette.second, linewidth=2.4)
            size = rounded(observed, 2)
            if self.measure == "ratio":
                size = f"{size} (ratio {ratio_text(math.exp(min(observed, 700)))})"
            style.write(
                ax,
                observed,
                1.14 * top,
                f"observed: {size}, {p_text(self.p_value)}",
                ha="right" if observed > (low + high) / 2 else "left",
                color=palette.second,
                **where,
            )
        note = f"{self._what} found by the same search with the "
        if self.measure == "slope":
            note += "sign of what features do not tell of the quantity redrawn"
        else:
            note += "sensitive value redrawn, given the features"
        lost = len(self.draws) - len(finite)
        if lost:
            note += f"\n{count(lost, 'infinite draw')} not drawn"
        style.finish(ax, palette, x=note, y="Draws", title=self.label)
