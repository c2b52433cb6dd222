"""How the worst ratio moves with the cut of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mdfa_fairness_plugin.describe.wording import count, label_text, number
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.forest import RATIOS, ForestDisplay


@dataclass(kw_only=True, eq=False)
class SweepDisplay(ForestDisplay):
    """Ratio of the worst case at every threshold, with its interval, beside that of everybody.

    Parameters
    ----------
    thresholds : tuple of str
    labels : tuple of str
        Group and outcome that are worst there.
    ratio, ratio_low, ratio_high, everybody : ndarray of shape (n_thresholds,)
    name : str
        Of the score.
    """

    thresholds: tuple[str, ...]
    labels: tuple[str, ...]
    name: str = ""
    _arrows_to_left = True
    _columns: ClassVar = {
        "threshold": "thresholds",
        "worst": "labels",
        **RATIOS,
        "ratio_everybody": "everybody",
    }
    _height = 1.4
    _row_height = 0.3

    @classmethod
    def from_sweep(cls, sweep: Any) -> SweepDisplay:
        """Take the numbers of a sweep.

        Parameters
        ----------
        sweep : Sweep
            As ``result.sweep(...)`` gives it.

        An ``InputError`` says if nothing was measured at any threshold.
        """
        found = sweep.worst()
        if found.empty:
            raise style.nothing_to_draw("sweep", "no threshold measured a ratio")
        numbers = ("ratio", "ratio_low", "ratio_high", "ratio_everybody")
        ratio, low, high, everybody = (found[name].to_numpy(dtype=float) for name in numbers)
        who = zip(found["group"], found["outcome"], strict=True)
        return cls(
            thresholds=tuple(number(one) for one in found["threshold"]),
            labels=tuple(f"{style.short(group, 14)}: {style.short(got, 16)}" for group, got in who),
            ratio=ratio,
            ratio_low=low,
            ratio_high=high,
            everybody=everybody,
            verdicts=("",) * len(found),
            name=label_text(sweep.name, 24),
        )

    def _sentence(self) -> str:
        known = self.ratio[np.isfinite(self.ratio)]
        ends = f"{known.min():.2f} to {known.max():.2f}" if len(known) else "unknown"
        text = f"Worst rate ratio at {count(len(self.thresholds), 'cut')} of {self.name}: {ends}."
        for i in range(min(len(self.thresholds), 3)):
            text += f" At least {self.thresholds[i]}: {self.labels[i]}, {self._value(i)}."
        return text

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        limits = self._draw_rows(ax, palette)
        names = zip(self.thresholds, self.labels, strict=True)
        style.row_labels(ax, palette, [f"≥ {cut}   {label}" for cut, label in names])
        style.ratio_axis(ax, *limits)
        note = (
            f"Rate ratio of the worst case at each cut of {self.name}.   | everybody compared\n"
            "Each cut has its own audit; which one looks best is no finding"
        )
        style.finish(ax, palette, x=note, to_right=True)
