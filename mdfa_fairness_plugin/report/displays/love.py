"""Love plot: how unlike the groups were before weighting, and how alike after (Section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mdfa_fairness_plugin.describe.wording import count, label_text, named, rounded
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.reading import comparison, diagnostics, names_of_sides


@dataclass(kw_only=True, eq=False)
class LoveDisplay(Display):
    """Standardised mean difference of each feature between the groups, before and after weighting.

    Parameters
    ----------
    names : tuple of str
        Encoded features, most different before first.
    before, after : ndarray of shape (n_features,)
        Difference of the group's mean and the others', in standard deviations.
    n_omitted : int
        Features left out of the picture, each less different before than those in it.
    label : str
        Which groups are compared.
    """

    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    n_omitted: int = 0
    label: str = ""
    _columns: ClassVar = {"feature": "names", "before": "before", "after": "after"}
    _height = 1.3
    _row_height = 0.25

    @classmethod
    def from_result(
        cls,
        result: AuditRecord,
        comparison_key: tuple[str, Hashable] | None = None,
        *,
        max_features: int = 20,
    ) -> LoveDisplay:
        """Take the numbers from the diagnostics of one comparison.

        Parameters
        ----------
        result : AuditResult
        comparison_key : tuple of (str, hashable) or None, default=None
            Key of ``result.balance``; None: that of the worst case.
        max_features : int, default=20
            Most features drawn.

        An ``InputError`` says if the key is unknown or no differences were recorded.
        """
        if not result.balance:
            raise style.nothing_to_draw("result", "no groups were compared")
        if comparison_key is not None and comparison_key not in result.balance:
            known = ", ".join(repr(k) for k in list(result.balance)[:6])
            raise InputError(f"comparison_key: one of {known} expected, {comparison_key!r} found.")
        worst = result.worst_case
        wanted = [comparison_key, None if worst is None else (worst.sensitive_feature, worst.group)]
        key = next((k for k in wanted if k in result.balance), next(iter(result.balance)))
        assert key is not None
        found = diagnostics(result.balance[key])
        before, after = found.get("smd_before"), found.get("smd_after")
        if not isinstance(before, Mapping) or not before:
            raise style.nothing_to_draw("result", "no mean differences were recorded")
        after = after if isinstance(after, Mapping) else {}
        every = (
            (label_text(str(name), None), _number(value), _number(after.get(name)))
            for name, value in before.items()
        )
        rows = [row for row in _distinct(every) if not math.isnan(row[1])]
        rows.sort(key=lambda row: -abs(row[1]))
        drawn = rows[:max_features]
        own = (v for v in result.violations if (v.sensitive_feature, v.group) == key)
        others = next((names_of_sides(v, 22)[1] for v in own), "those compared with it")
        return cls(
            names=tuple(name for name, _, _ in drawn),
            before=np.array([value for _, value, _ in drawn], dtype=float),
            after=np.array([value for _, _, value in drawn], dtype=float),
            n_omitted=len(rows) - len(drawn),
            label=f"{named(*comparison(key), 22)} against {others}",
        )

    def _sentence(self) -> str:
        text = (
            f"Standardised mean differences of {count(len(self.names), 'feature')}, {self.label}."
        )
        for when, values in (("Before", self.before), ("after", self.after)):
            known = np.abs(values[np.isfinite(values)])
            if len(known):
                text += (
                    f" {when.capitalize()} weighting the largest is {rounded(float(known.max()))}."
                )
        return text

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        n = len(self.names)
        rows = np.arange(n)
        ax.axvspan(-0.1, 0.1, color=palette.faint, alpha=0.45, linewidth=0)
        ax.axvline(0, color=palette.muted, linewidth=0.9)
        for row, start, end in zip(rows, self.before, self.after, strict=True):
            if math.isfinite(end):
                ax.plot([start, end], [row, row], color=palette.faint, linewidth=1.6, zorder=2)
        ax.plot(
            self.before,
            rows,
            "o",
            markerfacecolor="none",
            color=palette.second,
            markersize=6.5,
            zorder=3,
        )
        ax.plot(self.after, rows, "o", color=palette.first, markersize=6.5, zorder=4)
        style.row_labels(ax, palette, style.short_names(self.names, 28))
        known = np.concatenate([self.before, self.after])
        reach = max(0.15, float(np.max(np.abs(known[np.isfinite(known)]), initial=0.0))) * 1.1
        ax.set_xlim(-reach, reach)
        if n:
            ax.set_ylim(n - 0.4, -1.3)
            kind: dict[str, Any] = {"va": "center", "fontweight": "bold"}
            for text, color, side in (
                ("○ before weighting", palette.second, "left"),
                ("● after weighting", palette.first, "right"),
            ):
                place = -reach if side == "left" else reach
                style.write(ax, place, -0.9, text, color=color, ha=side, **kind)
        note = "Standardised mean difference (grey: below 0.1, usually taken as alike)"
        if self.n_omitted:
            note += f"\n{count(self.n_omitted, 'feature')} less different before not drawn"
        style.finish(ax, palette, x=note, to_right=True, title=self.label)


def _distinct(rows: Iterable[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Of two levels that mirror each other (``citizen=No`` and ``citizen=Yes``), keep the first."""
    kept: list[tuple[str, float, float]] = []
    seen: dict[str, list[tuple[float, float]]] = {}
    for name, before, after in rows:
        stem, sign, _ = name.partition("=")
        others = seen.setdefault(stem if sign else name, [])
        mirrored = any(
            math.isclose(before, -b, abs_tol=1e-9) and math.isclose(after, -a, abs_tol=1e-9)
            for b, a in others
        )
        others.append((before, after))
        if not (sign and mirrored):
            kept.append((name, before, after))
    return kept


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float | np.number) else math.nan
