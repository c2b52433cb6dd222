"""Profile plot: which features set the subgroup apart (the paper's Tables 2 and 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.profile import DIFFERENCE, OUTCOME, PARTS, ROWS
from mdfa_fairness_plugin.describe.wording import count, percent
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.figures import told_apart


@dataclass(kw_only=True, eq=False)
class ProfileDisplay(Display):
    """Features of the subgroup beside those of everybody compared, the most different first.

    Parameters
    ----------
    features, levels : tuple of str
        Feature, and level where it is categorical.
    subgroup, population : ndarray of shape (n_features,)
        Mean or share in the subgroup, and among everybody compared, both sides taken together.
    difference : ndarray of shape (n_features,)
        Subgroup less those outside it, in standard deviations.
    statistics : tuple of str
        ``"mean"``, ``"mean (year)"`` or ``"share"``.
    n_omitted : int
        Rows left out of the picture, each less different.
    label : str
        Which search this is.
    """

    features: tuple[str, ...]
    levels: tuple[str, ...]
    subgroup: np.ndarray
    population: np.ndarray
    difference: np.ndarray
    statistics: tuple[str, ...]
    n_omitted: int = 0
    label: str = ""
    _columns: ClassVar = {
        "feature": "features",
        "level": "levels",
        "statistic": "statistics",
        "subgroup": "subgroup",
        "everybody": "population",
        "difference": "difference",
    }
    _height = 1.35
    _row_height = 0.28

    @classmethod
    def from_violation(cls, violation: Violation, *, max_features: int = 12) -> ProfileDisplay:
        """Take the numbers from the profile of one search.

        Parameters
        ----------
        violation : Violation
        max_features : int, default=12
            Most rows drawn.

        An ``InputError`` says if the search has no profile.
        """
        table = separation(violation.profile)
        if table.empty:
            raise style.nothing_to_draw("violation", "its subgroup was not described")
        drawn = table.iloc[:max_features]
        return cls(
            features=tuple(drawn["feature"]),
            levels=tuple(drawn["level"]),
            subgroup=drawn["subgroup"].to_numpy(dtype=float),
            population=drawn["population"].to_numpy(dtype=float),
            difference=drawn["difference"].to_numpy(dtype=float),
            statistics=tuple(drawn["statistic"]),
            n_omitted=len(table) - len(drawn),
            label=style.search_name(violation),
        )

    def _sentence(self) -> str:
        parts = [f"{name} {self._values(i)}" for i, name in enumerate(self._names()[:3])]
        return (
            f"What sets the subgroup of {self.label} apart from everybody compared: "
            f"{'; '.join(parts)}."
        )

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        n = len(self.features)
        ax.axvline(0, color=palette.muted, linewidth=0.9)
        known = np.abs(self.difference[np.isfinite(self.difference)])
        # Of a level that only the subgroup has the difference is infinite.
        reach = max(0.1, float(np.max(known, initial=0.0))) * 1.12
        for i, value in enumerate(self.difference):
            end = float(np.clip(value, -reach, reach))
            marker = "o" if end == value else ">" if value > 0 else "<"
            ax.plot([0, end], [i, i], color=palette.first, linewidth=1.8)
            ax.plot([end], [i], marker, color=palette.first, markersize=6.5, clip_on=False)
            style.beside(ax, palette, i, self._values(i))
        style.row_labels(ax, palette, self._names())
        ax.set_xlim(-reach, reach)
        ax.set_ylim(n - 0.4, -1.2)
        grey: dict[str, Any] = {"va": "center", "color": palette.muted}
        style.write(ax, -reach, -0.85, "← less", ha="left", **grey)
        style.write(ax, reach, -0.85, "more →", ha="right", **grey)
        note = "Subgroup less those outside it, in standard deviations"
        note += "\nRight: value in the subgroup against value for everybody compared"
        if self.n_omitted:
            note += f"\n{count(self.n_omitted, 'less different row')} not drawn"
        style.finish(ax, palette, x=note, to_right=True, title=self.label)

    def _names(self) -> list[str]:
        """Feature, and its level, of every row."""
        features = style.short_names(self.features, 22)
        return [
            f"{feature}: {style.short(level, 14)}" if level else f"{feature}, mean"
            for feature, level in zip(features, self.levels, strict=True)
        ]

    def _values(self, i: int) -> str:
        """Subgroup against everybody, with digits enough to tell them apart."""
        pair = [float(self.subgroup[i]), float(self.population[i])]
        if self.statistics[i] == "share":
            return " against ".join(map(percent, pair))
        return " against ".join(told_apart(pair))


def separation(profile: pd.DataFrame) -> pd.DataFrame:
    """Put the subgroup beside everybody, feature by feature, the most different first.

    Population means both sides taken together, by their rows. Features whose numbers are not all
    known are left out, and the outcome is, which is no feature.
    """
    names = ["feature", "level", "statistic", "subgroup", "population", "difference"]
    empty = pd.DataFrame({name: pd.Series(dtype=object) for name in names})
    if profile.empty or profile.index.nlevels != 3 or DIFFERENCE not in list(profile.columns):
        return empty
    parts = [str(label[0]) for label in profile.columns]
    numbers = profile.to_numpy(dtype=float)
    population, subgroup = (
        numbers[:, np.array([p == part for p in parts], dtype=bool)] for part in PARTS
    )
    apart = numbers[:, [tuple(label) for label in profile.columns].index(DIFFERENCE)]
    keys = [tuple(str(part) for part in key) for key in profile.index]
    if keys[0][0] != ROWS:
        return empty
    rows = []
    for i, (feature, level, statistic) in enumerate(keys):
        is_outcome = (
            i == 1 and level == "" and (statistic == "share" or feature.startswith(OUTCOME))
        )
        if i == 0 or is_outcome or not (statistic == "share" or statistic.startswith("mean")):
            continue
        own, everybody = (_together(x[i], x[0]) for x in (subgroup, population))
        if not (math.isnan(own) or math.isnan(everybody) or math.isnan(apart[i])):
            rows.append((feature, level, statistic, own, everybody, apart[i]))
    if not rows:
        return empty
    table = pd.DataFrame(rows, columns=names)
    # Of two levels that add up to all, one says it.
    size = table.groupby("feature", sort=False)["level"].transform("size")
    level = table["level"].to_numpy(dtype=object) != ""
    twin = (size.to_numpy() == 2) & level & table.duplicated("feature").to_numpy()
    table = table[~twin]
    order = np.argsort(-np.abs(table["difference"].to_numpy(dtype=float)), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _together(values: np.ndarray, n: np.ndarray) -> float:
    """Mean over both sides, by their rows; a side without rows has no say."""
    there = ~(n == 0)
    total = float(n[there].sum())
    return float((values[there] * n[there]).sum() / total) if total > 0 else math.nan
