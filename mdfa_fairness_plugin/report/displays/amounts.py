"""How much people have: both sides inside the subgroup and outside it, as boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.subgroups import INSIDE, QUANTILES
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.means import OfMeans, Phrase


@dataclass(kw_only=True, eq=False)
class AmountsDisplay(Display):
    """Quantiles of an outcome that is a number, of both sides inside the subgroup and outside it.

    Parameters
    ----------
    sides : tuple of str
        Who they are, the group first.
    parts : tuple of str
        "inside" or "outside".
    quantiles : ndarray of shape (n_boxes, 5)
        What 10, 25, 50, 75 and 90 % of them do not exceed; NaN where that is withheld.
    effect : OfMeans
        What the outcome is counted in.
    what, label : str
        The outcome, and which search this is.
    """

    sides: tuple[str, ...]
    parts: tuple[str, ...]
    quantiles: np.ndarray
    effect: OfMeans
    what: str = ""
    label: str = ""
    _height = 1.5
    _row_height = 0.34

    @classmethod
    def from_violation(cls, violation: Violation) -> AmountsDisplay:
        """Take the numbers from one search.

        An ``InputError`` says if its outcome is no number, or nothing is known of the amounts.
        """
        effect, frame = effect_of(violation), violation.amounts
        if frame.empty or not isinstance(effect, OfMeans) or frame.index.nlevels != 2:
            raise style.nothing_to_draw("violation", "it has no amounts of an outcome")
        values = frame.reindex(columns=list(QUANTILES)).to_numpy(dtype=float)
        if np.isnan(values).all():
            raise style.nothing_to_draw("violation", "its amounts are withheld")
        lost = np.argwhere(np.isnan(values))
        return cls(
            sides=tuple(style.short(side, 22) for _, side in frame.index),
            parts=tuple(str(part) for part, _ in frame.index),
            quantiles=values,
            effect=effect,
            what=Phrase.of(violation).what.removeprefix("in "),
            label=style.search_name(violation),
            withheld=frozenset((int(i), list(QUANTILES)[j]) for i, j in lost),
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per box."""
        names = pd.DataFrame({"side": self.sides, "part": self.parts})
        return names.join(pd.DataFrame(self.quantiles, columns=list(QUANTILES)))

    def _sentence(self) -> str:
        told = [
            f"{side}, {part}, {self.effect.average(middle)}"
            for side, part, middle in zip(self.sides, self.parts, self.quantiles[:, 2], strict=True)
            if not math.isnan(middle)
        ]
        return f"Medians of {self.what or 'the outcome'} by the subgroup of {self.label}: " + (
            f"{'; '.join(told)}." if told else "withheld."
        )

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        group = self.sides[0]
        for i, (low, first, middle, third, high) in enumerate(self.quantiles):
            color = palette.second if self.sides[i] == group else palette.first
            inside = self.parts[i] == INSIDE
            ax.plot([low, high], [i, i], color=color, linewidth=1.4, solid_capstyle="butt")
            ax.barh(
                i,
                third - first,
                left=first,
                height=0.5,
                color=color if inside else palette.paper,
                alpha=0.45 if inside else 1.0,
                edgecolor=color,
                linewidth=1.4,
                zorder=2,
            )
            ax.plot(
                [middle, middle], [i - 0.25, i + 0.25], color=palette.ink, linewidth=2, zorder=3
            )
            text = "withheld" if math.isnan(middle) else f"median {self.effect.average(middle)}"
            style.beside(ax, palette, i, text)
        style.row_labels(
            ax,
            palette,
            [f"{side}, {part}" for side, part in zip(self.sides, self.parts, strict=True)],
        )
        known = self.quantiles[np.isfinite(self.quantiles)]
        room = 0.04 * float(np.ptp(known)) or 1.0
        limits = float(known.min()) - room, float(known.max()) + room
        style.plain_axis(ax, *limits, self.effect.average)
        note = (
            f"{style.short(self.what, 40) or 'Outcome'}, features as they are.\n"
            "Box: the middle half of the rows; line: all but a tenth at either end"
        )
        style.finish(ax, palette, x=note, to_right=True, title=self.label)
