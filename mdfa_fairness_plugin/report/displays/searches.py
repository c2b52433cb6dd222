"""The ratio every search of an audit found, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mdfa_fairness_plugin.describe.wording import count
from mdfa_fairness_plugin.records import NONE_LARGER, VIOLATION, AuditRecord, ranked
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.forest import ADVANTAGE, RATIOS, ForestDisplay
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.findings import FINDINGS
from mdfa_fairness_plugin.report.rates import RATES
from mdfa_fairness_plugin.settings import check_choice


@dataclass(kw_only=True, eq=False)
class SearchesDisplay(ForestDisplay):
    """Rate ratio of every search, with its interval, beside that of everybody compared.

    Of searches that compare means, their ratio or difference.

    Parameters
    ----------
    labels : tuple of str
        Group and outcome of each search, violations first.
    ratio, ratio_low, ratio_high : ndarray of shape (n_searches,)
        In the subgroup the search kept; NaN where not measured. The difference where they go by it.
    everybody : ndarray of shape (n_searches,)
        The same over everybody compared.
    effect : Effect
        What they go by.
    verdicts : tuple of str
        ``"advantage"`` for violations whose group gets a favourable outcome more often.
    n_omitted : int
        Searches left out of the picture.
    withheld : frozenset of (int, str)
        Cells of the table, by row and column, that a copy for printing does not hold.
    """

    labels: tuple[str, ...]
    n_omitted: int = 0
    _unmeasured = "not shown"
    _values_at = 1.035
    _arrows_to_left = True
    _columns: ClassVar = {
        "search": "labels",
        "verdict": "verdicts",
        **RATIOS,
        "ratio_everybody": "everybody",
    }
    _height = 1.5
    _row_height = 0.3

    @classmethod
    def from_result(
        cls, result: AuditRecord, *, max_searches: int = 24, measure: str | None = None
    ) -> SearchesDisplay:
        """Take the numbers from every search.

        Parameters
        ----------
        result : AuditResult
        max_searches : int, default=24
            Most searches drawn; violations come first.
        measure : {"ratio", "difference"} or None, default=None
            Those that go by it; None: by that of the worst case.

        An ``InputError`` says if no search measured anything.
        """
        check_choice("measure", measure, (None, "ratio", "difference"))
        found = [v for v in ranked(result.violations) if v.measured or not math.isnan(v.lower)]
        measure = found[0].measure if found and measure is None else measure
        found = [v for v in found if v.measure == measure]
        if not found:
            raise style.nothing_to_draw("result", "no search measured a ratio")
        drawn = found[:max_searches]
        whole, effect = [v.population for v in drawn], effect_of(drawn[0])
        return cls._of(
            drawn,
            ("ratio_everybody", whole, effect.fields[0]),
            labels=tuple(style.search_name(v) for v in drawn),
            everybody=np.array([effect.value(part) for part in whole]),
            n_omitted=sum(v.measure == measure for v in result.violations) - len(drawn),
        )

    def _sentence(self) -> str:
        n = count(len(self.labels), "search", "searches")
        more = f", {self.n_omitted:,d} more not drawn; of those drawn," if self.n_omitted else ";"
        text = f"{self.effect.plural} of {n} with intervals{more} "
        text += f"{self.verdicts.count(VIOLATION):,d} {FINDINGS[VIOLATION]}"
        if ADVANTAGE in self.verdicts:
            text += f", {count(self.verdicts.count(ADVANTAGE), 'advantage')}"
        text += "."
        for i in range(min(len(self.labels), 3)):
            text += f" {self.labels[i]}, {self._value(i)}."
        return text

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        limits = self._draw_rows(ax, palette)
        style.row_labels(ax, palette, self.labels)
        self._axis(ax, limits)
        good = "◇ advantage   " if ADVANTAGE in self.verdicts else ""
        gap = " " if self.effect == RATES else "\n"
        note = (
            f"{self.effect.axis}.{gap}◆ {FINDINGS[VIOLATION]}   {good}\n"
            f"○ {FINDINGS[NONE_LARGER]}   | everybody compared"
        )
        if self.n_omitted:
            note += f"\n{count(self.n_omitted, 'more search', 'more searches')} not drawn"
        style.finish(ax, palette, x=note + self._note_of_dots(), to_right=True)
