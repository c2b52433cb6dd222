"""Region map: who is inside the subgroup, over two of the audited features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.profile import (
    as_levels,
    feature_kinds,
    is_ordered,
    level_codes,
    numeric_values,
)
from mdfa_fairness_plugin.describe.wording import label_text, number
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display

_N_BINS = 16
_MAX_LEVELS = 10
OTHER_LEVELS = "(all others)"


@dataclass(kw_only=True, eq=False)
class RegionMapDisplay(Display):
    """Share of the held-out rows inside the subgroup, in each cell of two features.

    Parameters
    ----------
    features : tuple of str
        Horizontal and vertical feature.
    edges : tuple of ndarray
        Ends of the bins of each feature; for a categorical feature -0.5, 0.5, 1.5...
    levels : tuple of tuple of str
        Levels of each feature in order, empty for a numeric feature.
    n_rows : ndarray of shape (n_vertical, n_horizontal)
        Held-out rows in each cell.
    share : ndarray of shape (n_vertical, n_horizontal)
        Share of them inside the subgroup; NaN where a cell has too few rows.
    label : str
        Which search this is.
    """

    features: tuple[str, str]
    edges: tuple[np.ndarray, np.ndarray]
    n_rows: np.ndarray
    share: np.ndarray
    levels: tuple[tuple[str, ...], tuple[str, ...]] = field(default=((), ()))
    label: str = ""
    _height = 4.6

    @classmethod
    def from_violation(
        cls,
        violation: Violation,
        X: Any,
        features: Sequence[Any] | None = None,
        *,
        min_rows: int = 1,
    ) -> RegionMapDisplay:
        """Lay the held-out rows out over two features.

        Parameters
        ----------
        violation : Violation
        X : table of shape (n_samples, n_features)
            The audited features, as they were given to the audit.
        features : sequence of two column names or None, default=None
            Horizontal and vertical feature; None: the two that tell best who is inside.
        min_rows : int, default=1
            Cells with fewer rows are left blank.

        Returns
        -------
        display : RegionMapDisplay

        Raises
        ------
        InputError
            If the rows do not match the audit's, or a feature is unknown.
        """
        frame = _as_frame(X)
        if not len(violation.membership):
            raise InputError(
                "violation: it holds no rows; use one of an audit in memory, or of JSON written with "
                "to_json(rows=True)."
            )
        if len(frame) != len(violation.membership):
            raise InputError(
                f"X: the {len(violation.membership):,} rows of the audit expected, "
                f"{len(frame):,} found."
            )
        held = np.asarray(violation.held_out, dtype=bool)
        if not held.any():
            raise style.nothing_to_draw("violation", "it measured no rows")
        frame, inside = frame.loc[held].reset_index(drop=True), violation.membership[held]
        kinds = feature_kinds(frame)
        columns = _chosen(frame, kinds, inside, features)
        axes = [_laid_out(frame.iloc[:, column], kinds[column]) for column in columns]
        (x, x_edges, x_levels), (y, y_edges, y_levels) = axes
        known = (x >= 0) & (y >= 0)
        shape = (len(y_edges) - 1, len(x_edges) - 1)
        cell = y[known] * shape[1] + x[known]
        n = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
        hits = np.bincount(cell, inside[known], minlength=shape[0] * shape[1]).reshape(shape)
        share = np.full(shape, np.nan)
        enough = n >= max(min_rows, 1)
        share[enough] = hits[enough] / n[enough]
        return cls(
            features=(
                label_text(frame.columns[columns[0]]),
                label_text(frame.columns[columns[1]]),
            ),
            edges=(x_edges, y_edges),
            levels=(x_levels, y_levels),
            n_rows=n,
            share=share,
            label=style.search_name(violation),
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per cell that holds rows."""
        y, x = np.nonzero(~np.isnan(self.share))
        return pd.DataFrame(
            {
                self.features[0]: [self._bin(0, int(i)) for i in x],
                f"{self.features[1]} ": [self._bin(1, int(i)) for i in y],
                "rows": self.n_rows[y, x],
                "share_inside": self.share[y, x],
            }
        )

    def _sentence(self) -> str:
        drawn = ~np.isnan(self.share)
        most = int((self.share[drawn] >= 0.5).sum())
        return (
            f"Share of rows inside the subgroup of {self.label} over {self.features[0]} and "
            f"{self.features[1]}: at least half in {most} of {int(drawn.sum())} cells."
        )

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        colors = LinearSegmentedColormap.from_list("share", [palette.faint, palette.first])
        mesh = ax.pcolormesh(
            self.edges[0],
            self.edges[1],
            np.ma.masked_invalid(self.share),
            cmap=colors,
            vmin=0,
            vmax=1,
            edgecolor=palette.paper,
            linewidth=0.6,
        )
        for axis, levels in ((ax.xaxis, self.levels[0]), (ax.yaxis, self.levels[1])):
            if levels:
                names = [style.short(level, 16) for level in levels]
                slant = axis is ax.xaxis and sum(map(len, names)) > 60
                axis.set_ticks(
                    range(len(levels)),
                    labels=names,
                    color=palette.ink,
                    **(style.PLAIN | ({"rotation": 30, "ha": "right"} if slant else {})),
                )
        bar = ax.figure.colorbar(mesh, ax=ax, ticks=[0, 0.25, 0.5, 0.75, 1], shrink=0.85)
        bar.ax.set_yticklabels(["0 %", "25 %", "50 %", "75 %", "100 %"], color=palette.ink)
        bar.ax.tick_params(labelsize=9, colors=palette.muted, labelcolor=palette.ink)
        bar.set_label("Inside the subgroup", color=palette.ink, fontsize=9.5)
        bar.outline.set_visible(False)
        style.finish(
            ax,
            palette,
            x=style.short(self.features[0], 60),
            y=style.short(self.features[1], 40),
            title=self.label,
        )

    def _bin(self, axis: int, i: int) -> str:
        if self.levels[axis]:
            return self.levels[axis][i]
        low, high = self.edges[axis][i : i + 2]
        return f"{number(float(f'{low:.4g}'))} to {number(float(f'{high:.4g}'))}"


def _as_frame(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    if hasattr(X, "toarray"):
        return pd.DataFrame(X.toarray()).rename(columns=lambda i: f"x{i}")
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(f"X: a table expected, an array of {array.ndim} dimension(s) found.")
    return pd.DataFrame(array).rename(columns=lambda i: f"x{i}").infer_objects()


def _chosen(
    frame: pd.DataFrame, kinds: list[str], inside: np.ndarray, features: Sequence[Any] | None
) -> list[int]:
    """Positions of the two features."""
    if features is not None:
        if isinstance(features, str) or len(features) != 2:
            raise InputError(f"features: two column names expected, {features!r} found.")
        names = list(frame.columns)
        for name in features:
            if name not in names:
                known = ", ".join(label_text(name, 20) for name in names[:8])
                raise InputError(
                    f"features: no column {name!r} in X; its columns start with {known}."
                )
        return [names.index(name) for name in features]
    if frame.shape[1] < 2:
        raise InputError("X: a map needs two features, one found.")
    strength = [_strength(frame.iloc[:, i], kinds[i], inside) for i in range(frame.shape[1])]
    best = sorted(range(len(strength)), key=lambda i: -strength[i])[:2]
    # A numeric feature is read best along the horizontal axis.
    return sorted(best, key=lambda i: not is_ordered(kinds[i]))


def _strength(series: pd.Series, kind: str, inside: np.ndarray) -> float:
    """Share of the variance of membership that bins of the feature account for."""
    codes, edges, _ = _laid_out(series, kind)
    codes = np.where(codes < 0, len(edges) - 1, codes)
    n = np.bincount(codes, minlength=len(edges))
    hits = np.bincount(codes, inside, minlength=len(edges))
    overall = inside.mean()
    variance = overall * (1 - overall)
    if variance == 0:
        return 0.0
    shares = hits[n > 0] / n[n > 0]
    explained = float((n[n > 0] * (shares - overall) ** 2).sum() / n.sum() / variance)
    # Bins explain something by chance alone.
    return explained - (int((n > 0).sum()) - 1) / max(len(codes), 1)


def _laid_out(series: pd.Series, kind: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Bin of each row (-1 if unknown), ends of the bins, and levels of a categorical feature."""
    if is_ordered(kind):
        x = numeric_values(series)
        if kind == "datetime":
            x = 1970 + x / 365.2425
        known = x[np.isfinite(x)]
        if len(known):
            edges = _bins(known)
            # Values beyond the drawn range belong to the outermost bins.
            code = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
            return np.where(np.isfinite(x), code, -1), edges, ()
    codes, names = level_codes(as_levels(series, kind))
    if len(names) > _MAX_LEVELS:
        codes = np.minimum(codes, _MAX_LEVELS - 1)
        names = [*names[: _MAX_LEVELS - 1], OTHER_LEVELS]
    return codes, np.arange(len(names) + 1) - 0.5, tuple(names)


def _bins(known: np.ndarray) -> np.ndarray:
    values = np.unique(known)
    if len(values) <= _N_BINS:
        if len(values) == 1:
            return np.array([values[0] - 0.5, values[0] + 0.5])
        middle = (values[1:] + values[:-1]) / 2
        first, last = values[0] - (middle[0] - values[0]), values[-1] + (values[-1] - middle[-1])
        return np.concatenate([[first], middle, [last]])
    low, high = np.quantile(known, [0.005, 0.995])
    if not (math.isfinite(high - low) and high > low):
        low, high = values[0], values[-1]
    return np.linspace(low, high, _N_BINS + 1)
