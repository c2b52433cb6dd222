"""Two rates or means: what either side gets, at the same features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.records import Measured, Violation
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.document import WITHHELD_TEXT
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.figures import percentage, rates_text
from mdfa_fairness_plugin.report.means import OfMeans, Phrase, Slope
from mdfa_fairness_plugin.report.rates import RATES, Effect
from mdfa_fairness_plugin.report.reading import names_of_sides
from mdfa_fairness_plugin.report.sentences import by_rule

_LONGEST = 24


@dataclass(kw_only=True, eq=False)
class RatesDisplay(Display):
    """Rates of the outcome in the subgroup, of the group and of those it is compared with; or means.

    Parameters
    ----------
    labels : tuple of str
        The group, and the others.
    rate : ndarray of shape (2,)
        Share of each side's people who get the outcome, both with the same features; of numbers the
        mean. NaN where that is withheld.
    outcome : str
        What is counted.
    effect : Effect
        Whether these are rates or means, and how they are written.
    ratio : str
        Their quotient as it is written beside them, if it is.
    where : str
        Of which rows they are.
    alike : str
        Whether features were made equal.
    """

    labels: tuple[str, ...]
    rate: np.ndarray
    outcome: str = ""
    effect: Effect = RATES
    ratio: str = ""
    where: str = "in the subgroup"
    alike: str = "at the same features"
    _width = 4.0
    _height = 0.55
    _row_height = 0.5

    @classmethod
    def from_violation(cls, violation: Violation) -> RatesDisplay:
        """Take the rates from a search.

        An ``InputError`` says if no rates were measured.
        """
        ruled = by_rule(violation)
        own: Measured = violation if ruled is None else ruled
        where = "in the subgroup" if ruled is None else "where the rule holds"
        where = "among everybody" if violation.rule == EVERYBODY else where
        rate = np.asarray(own.rates, dtype=float)
        known, effect = bool(np.isfinite(rate).all()), effect_of(violation)
        if isinstance(effect, Slope) or not (known or "rates" in own.withheld):
            raise style.nothing_to_draw("violation", "its rates are not known")
        outcome = style.short(violation.outcome, 2 * _LONGEST)
        if isinstance(effect, OfMeans):
            outcome = style.short(Phrase.of(violation).what.removeprefix("in "), 2 * _LONGEST)
        lost = frozenset((i, _column(effect)) for i in range(0 if known else 2))
        return cls(
            labels=names_of_sides(violation, _LONGEST),
            rate=rate,
            outcome=outcome,
            effect=effect,
            ratio=effect.told(own)[0],
            where=where,
            alike="as observed" if violation.as_observed else "at the same features",
            withheld=lost,
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per side."""
        return pd.DataFrame({"side": self.labels, _column(self.effect): self.rate})

    def _texts(self) -> list[str]:
        """Both as they are written."""
        if np.isnan(self.rate).any():
            return [WITHHELD_TEXT] * 2
        own, others = map(float, self.rate)
        if isinstance(self.effect, OfMeans):
            return [self.effect.average(own), self.effect.average(others)]
        return rates_text((own, others), self.ratio, percentage)

    def _sentence(self) -> str:
        sides = " and ".join(
            f"{text} of {who}" for text, who in zip(self._texts(), self.labels, strict=True)
        )
        what = "Outcome" if self.effect.of == "rates" else "Mean of"
        sides = f"both {self.effect.of} withheld" if WITHHELD_TEXT in self._texts() else sides
        return f"{what} {self.outcome}".rstrip() + f" {self.where}, {self.alike}: {sides}."

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        colors = [palette.second, palette.first]
        # As exact as they are printed: a length can be measured.
        drawn, texts = np.nan_to_num(self.rate), self._texts()
        if self.effect.of == "rates" and np.isfinite(self.rate).all():
            drawn = np.array([float(text.removesuffix(" %")) / 100 for text in texts])
        ax.barh(range(len(drawn)), drawn, height=0.5, color=colors)
        for i, (text, who) in enumerate(zip(texts, self.labels, strict=True)):
            style.write(ax, 0, i - 0.3, who, offset=(0, 2), va="bottom", color=palette.ink)
            place = max(drawn[i], 0)
            style.write(ax, place, i, text, offset=(5, 0), va="center", color=palette.ink)
        low, high = min(float(drawn.min()), 0.0), max(float(drawn.max()), 0.0)
        ax.set_xlim(1.05 * low, high + 0.25 * ((high - low) or 1.0))
        ax.set_ylim(len(drawn) - 0.6, -0.75)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[["bottom", "left"]].set_visible(False)
        how = "so many of 100" if self.effect.of == "rates" else "mean"
        note = ": ".join(filter(None, (self.outcome, f"{how}, {self.alike}")))
        style.finish(ax, palette, x=note)


def _column(effect: Effect) -> str:
    return "share" if effect.of == "rates" else "mean"
