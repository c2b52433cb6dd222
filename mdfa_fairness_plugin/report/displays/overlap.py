"""Overlap histogram: how far the features tell the groups apart, and who was left out for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import count, percent
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.reading import names_of_sides


@dataclass(kw_only=True, eq=False)
class OverlapDisplay(Display):
    """Rows of the two sides by their propensity, the chance of the group given the features.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins of the propensity.
    group, others : ndarray of shape (n_bins,)
        Rows of each side in each bin.
    group_left_out, others_left_out : ndarray of shape (n_bins,)
        Of these, rows left out for want of a comparable row on the other side.
    names : tuple of str
        What the two sides are called.
    """

    edges: np.ndarray
    group: np.ndarray
    others: np.ndarray
    group_left_out: np.ndarray
    others_left_out: np.ndarray
    names: tuple[str, str] = ("the group", "the others")

    @classmethod
    def from_violation(
        cls, violation: Violation, *, n_bins: int = 25, min_rows: int = 1, left_out: bool = True
    ) -> OverlapDisplay:
        """Count the rows of one search by their propensity.

        Parameters
        ----------
        violation : Violation
        n_bins : int, default=25
            Most bins.
        min_rows : int, default=1
            Neighbouring bins are joined until none holds fewer rows than this, unless it holds
            none.
        left_out : bool, default=True
            Whether to count the rows left out too.

        Raises
        ------
        InputError
            If the search compared nobody, or ``min_rows`` leaves fewer than three bins.
        """
        e, side = violation.propensity, violation.side
        compared = np.isfinite(e) & (side != 0) if len(e) == len(side) else np.zeros(0, dtype=bool)
        if not compared.any():
            raise style.nothing_to_draw("violation", "no rows were compared")
        if not left_out:
            compared &= ~violation.left_out
        e, group = e[compared], side[compared] > 0
        out = violation.left_out[compared]
        fine = np.linspace(0, 1, n_bins + 1)

        def counts(mask: np.ndarray) -> np.ndarray:
            return np.histogram(e[mask], bins=fine)[0]

        parts = np.array(
            [counts(group & ~out), counts(~group & ~out), counts(group & out), counts(~group & out)]
        )
        edges, parts = joined(fine, parts, min_rows)
        if len(edges) < 4 and n_bins >= 4:
            raise style.nothing_to_draw(
                "violation", f"bins of {min_rows} rows leave too few of them"
            )
        own, rest, own_out, rest_out = parts
        return cls(
            edges=edges,
            group=own + own_out,
            others=rest + rest_out,
            group_left_out=own_out,
            others_left_out=rest_out,
            names=names_of_sides(violation),
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per bin."""
        names = ("group", "others", "group_left_out", "others_left_out")
        ends = {"propensity_from": self.edges[:-1], "propensity_to": self.edges[1:]}
        return pd.DataFrame(ends | {name: getattr(self, name) for name in names})

    def _sentence(self) -> str:
        both = (self.group > 0) & (self.others > 0)
        total = (self.group + self.others).sum()
        share = float((self.group + self.others)[both].sum() / total) if total else float("nan")
        text = (
            f"Histogram of the propensity for {self.names[0]} and {self.names[1]}: "
            f"{percent(share)} of the rows lie where both have some."
        )
        out = int(self.group_left_out.sum() + self.others_left_out.sum())
        return f"{text} {count(out, 'row')} left out." if out else text

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        left, width = self.edges[:-1], np.diff(self.edges)
        # Joined bins are wider: heights are shares of the side per unit of propensity.
        heights = []
        for values, gone, sign, color in (
            (self.group, self.group_left_out, 1, palette.second),
            (self.others, self.others_left_out, -1, palette.first),
        ):
            scale = sign / max(float(values.sum()), 1.0) / width
            bars: dict[str, Any] = {"align": "edge", "edgecolor": palette.paper, "linewidth": 0.6}
            kept = (values - gone) * scale
            ax.bar(left, kept, width, color=color, **bars)
            some = gone > 0
            ax.bar(
                left[some],
                (gone * scale)[some],
                width[some],
                bottom=kept[some],
                align="edge",
                facecolor="none",
                edgecolor=palette.ink,
                linewidth=0.8,
                hatch="////",
            )
            heights.append(float(np.max(np.abs(values * scale), initial=0.0)))
        top = max(*heights, 1e-9)
        ax.axhline(0, color=palette.ink, linewidth=0.9)
        ax.set_xlim(0, 1)
        ax.set_ylim(-1.28 * top, 1.28 * top)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        for name, color, y, side in (
            (f"▲ {style.short(self.names[0], 44)}", palette.second, 1.26, "top"),
            (f"▼ {style.short(self.names[1], 44)}", palette.first, -1.26, "bottom"),
        ):
            place: dict[str, Any] = {"va": side, "ha": "left", "fontweight": "bold"}
            style.write(ax, 0.01, y * top, name, color=color, **place)
        note = "Propensity: chance of belonging to the group, given the features"
        out = int(self.group_left_out.sum() + self.others_left_out.sum())
        if out:
            note += f"\n{count(out, 'row')} hatched: nobody comparable on the other side, left out"
        style.finish(ax, palette, x=note, y="Share of each side")


def joined(edges: np.ndarray, parts: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Join neighbouring bins until no part of any bin holds between 1 and ``least`` - 1 rows.

    Shapes: ``edges`` (n_bins + 1,), ``parts`` (n_parts, n_bins).
    """
    ends, columns = [edges[0]], []
    waiting = np.zeros(len(parts), dtype=parts.dtype)
    for i in range(parts.shape[1]):
        waiting = waiting + parts[:, i]
        if not ((waiting > 0) & (waiting < least)).any():
            ends.append(edges[i + 1])
            columns.append(waiting)
            waiting = np.zeros_like(waiting)
    # What is left over goes into the last bin.
    if waiting.any() or ends[-1] != edges[-1]:
        while columns and ((waiting > 0) & (waiting < least)).any():
            waiting = waiting + columns.pop()
            ends.pop()
        ends.append(edges[-1])
        columns.append(waiting)
    return np.array(ends), np.array(columns).T
