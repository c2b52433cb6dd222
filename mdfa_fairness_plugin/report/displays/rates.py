"""Two rates: how often either side gets the outcome, at the same features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mdfa_fairness_plugin.describe.wording import named, percent
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.effects import effect_of

_LONGEST = 34


@dataclass(kw_only=True, eq=False)
class RatesDisplay(Display):
    """Rates of the outcome in the subgroup, of the group and of those it is compared with.

    Parameters
    ----------
    labels : tuple of str
        The group, and the others.
    rate : ndarray of shape (2,)
        Share of each side's people who get the outcome, both with the same features.
    outcome : str
        What is counted.
    """

    labels: tuple[str, ...]
    rate: np.ndarray
    outcome: str = ""
    _columns: ClassVar = {"side": "labels", "share": "rate"}
    _height = 0.75
    _row_height = 0.32

    @classmethod
    def from_violation(cls, violation: Violation) -> RatesDisplay:
        """Take the rates from a search.

        Parameters
        ----------
        violation : Violation

        Returns
        -------
        display : RatesDisplay

        Raises
        ------
        InputError
            If no rates were measured, or a copy for printing does not hold them.
        """
        rate = np.asarray(violation.rates, dtype=float)
        if effect_of(violation).of != "rates" or not np.isfinite(rate).all():
            raise style.nothing_to_draw("violation", "its rates are not known")
        who = named(violation.sensitive_feature, violation.group, _LONGEST)
        others = "everyone else"
        if violation.reference is not None:
            others = named(violation.sensitive_feature, violation.reference, _LONGEST)
        outcome = style.short(violation.outcome, _LONGEST)
        return cls(labels=(style.short(who, _LONGEST), others), rate=rate, outcome=outcome)

    def _sentence(self) -> str:
        sides = " and ".join(
            f"{percent(r)} of {who}" for r, who in zip(self.rate, self.labels, strict=True)
        )
        return f"Outcome {self.outcome} in the subgroup, at the same features: {sides}."

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        colors = [palette.second, palette.first]
        # As exact as they are printed: a length can be measured.
        drawn = np.round(self.rate, 2)
        ax.barh(range(len(drawn)), drawn, height=0.62, color=colors)
        style.row_labels(ax, palette, self.labels)
        for i, rate in enumerate(self.rate):
            style.write(
                ax, drawn[i], i, percent(rate), offset=(5, 0), va="center", color=palette.ink
            )
        ax.set_xlim(0, max(1.15 * float(drawn.max()), 0.05))
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)
        style.finish(ax, palette, x=f"{self.outcome}: so many of 100, at the same features")
