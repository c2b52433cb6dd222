"""Region map: who is inside the subgroup, over one or two of the audited features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe import profile
from mdfa_fairness_plugin.describe.wording import count, label_text, number, percent
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.report.displays import style
from mdfa_fairness_plugin.report.displays.display import Display

# Of each feature, fewer where there are fewer rows to fill the cells.
_MOST_BINS, _FEWEST_BINS = 12, 4
_ROWS_PER_CELL = 25
_MAX_LEVELS = 10
OTHER_LEVELS = "(all others)"
# A share is drawn, and on pages told, in quarters.
_STEPS = 4
_MOST_NAMED = 3
_CORNERS = (1, 2, 2, 2, 79)  # matplotlib's codes of a path: to the first, three lines, closed


@dataclass(kw_only=True, eq=False)
class RegionMapDisplay(Display):
    """Share of the held-out rows inside the subgroup, in each cell of two features or bin of one.

    Parameters
    ----------
    features : tuple of str
        Horizontal and vertical feature; the second empty where one tells who is inside.
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
    in_quarters : bool
        Whether shares are told in quarters, and no rows, as on pages.
    """

    features: tuple[str, str]
    edges: tuple[np.ndarray, np.ndarray]
    n_rows: np.ndarray
    share: np.ndarray
    levels: tuple[tuple[str, ...], tuple[str, ...]] = field(default=((), ()))
    label: str = ""
    in_quarters: bool = False
    _width = 4.0

    @classmethod
    def from_violation(
        cls,
        violation: Violation,
        X: Any,
        features: Sequence[Any] | None = None,
        *,
        min_rows: int = 1,
        in_quarters: bool = False,
    ) -> RegionMapDisplay:
        """Lay the held-out rows out over two features, or one.

        Parameters
        ----------
        violation : Violation
        X : table of shape (n_samples, n_features)
            The audited features, as they were given to the audit.
        features : sequence of one or two column names or None, default=None
            Horizontal and vertical feature; None: the two that tell best who is inside.
        min_rows : int, default=1
            Cells with fewer rows are left blank.
        in_quarters : bool, default=False
            Tell shares in quarters, and no rows, as pages do.

        An ``InputError`` says if the rows do not match the audit's, or a feature is unknown.
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
        inside = violation.membership[held]
        places = range(frame.shape[1]) if features is None else _named(frame, features)
        kinds = dict(zip(places, profile.feature_kinds(frame.iloc[:, list(places)]), strict=True))
        if features is None:
            places = _telling(frame, kinds, held, inside)
        axes = [_laid_out(frame.iloc[held, place], kinds[place]) for place in places]
        names = [label_text(frame.columns[place]) for place in places]
        if len(axes) == 1:
            names.append("")
            axes.append((np.zeros(len(inside), dtype=np.intp), np.array([-0.5, 0.5]), ("",)))
        (x, x_edges, x_levels), (y, y_edges, y_levels) = axes
        known = (x >= 0) & (y >= 0)
        shape = (len(y_edges) - 1, len(x_edges) - 1)
        cell = y[known] * shape[1] + x[known]
        n = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
        hits = np.bincount(cell, inside[known], minlength=shape[0] * shape[1]).reshape(shape)
        share = np.full(shape, np.nan)
        enough = n >= max(min_rows, 1)
        share[enough] = hits[enough] / n[enough]
        if not enough.any():
            raise style.nothing_to_draw("violation", "no cell has rows enough")
        # A level of few people is not even named.
        if x_levels:
            kept = np.flatnonzero(enough.any(axis=0))
            n, share, x_levels = n[:, kept], share[:, kept], tuple(x_levels[i] for i in kept)
            x_edges = x_edges[: len(kept) + 1]
        if y_levels:
            kept = np.flatnonzero(enough.any(axis=1))
            n, share, y_levels = n[kept], share[kept], tuple(y_levels[i] for i in kept)
            y_edges = y_edges[: len(kept) + 1]
        return cls(
            features=(names[0], names[1]),
            edges=(x_edges, y_edges),
            levels=(x_levels, y_levels),
            n_rows=n,
            share=np.round(_STEPS * share) / _STEPS if in_quarters else share,
            label=style.search_name(violation),
            in_quarters=in_quarters,
        )

    @property
    def height(self) -> float:
        """Height of its own figure, in inches: a strip is low."""
        return 1.75 if not self.features[1] else 3.3

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per cell that holds rows."""
        y, x = np.nonzero(~np.isnan(self.share))
        columns: dict[str, Any] = {self.features[0]: [self._bin(0, int(i)) for i in x]}
        if self.features[1]:
            columns[f"{self.features[1]} "] = [self._bin(1, int(i)) for i in y]
        if not self.in_quarters:
            columns["rows"] = self.n_rows[y, x]
        return pd.DataFrame(columns | {"share_inside": self.share[y, x]})

    def _sentence(self) -> str:
        drawn = ~np.isnan(self.share)
        most, n = int((self.share[drawn] >= 0.5).sum()), int(drawn.sum())
        over = " and ".join(filter(None, self.features))
        text = (
            f"Where the subgroup lies by {over}: in {most} of {count(n, 'cell')} at least half of the "
            "rows are in the subgroup"
        )
        y, x = np.unravel_index(np.argsort(-np.nan_to_num(self.share), axis=None), drawn.shape)
        first = list(zip(x, y, strict=True))[: min(most, _MOST_NAMED)]
        names = list(filter(None, self.features))
        cells = [
            ", ".join(
                f"{name} {self._bin(axis, at)}"
                for axis, (name, at) in enumerate(zip(names, place[: len(names)], strict=True))
            )
            for place in first
        ]
        return f"{text}, most where {'; '.join(cells)}." if cells else f"{text}."

    def _draw(self, ax: style.Axes, palette: style.Palette, **options: Any) -> None:
        from matplotlib.patches import Patch, PathPatch
        from matplotlib.path import Path

        steps = np.round(_STEPS * self.share)
        x, y = self.edges
        keys = []
        for step in range(_STEPS + 1):
            face: dict[str, Any] = (
                {"facecolor": palette.first, "alpha": 0.2 + 0.8 * step / _STEPS}
                if step
                else {"facecolor": palette.faint, "alpha": 0.6}
            )
            places = zip(*np.nonzero(steps == step), strict=True)
            ends = ((*x[i : i + 2], *y[j : j + 2]) for j, i in places)
            found = [
                Path([(left, low), (right, low), (right, high), (left, high), (0, 0)], _CORNERS)
                for left, right, low, high in ends
            ]
            if found:
                cells = Path.make_compound_path(*found)
                ax.add_patch(PathPatch(cells, edgecolor=palette.paper, linewidth=0.6, **face))
            keys.append(Patch(edgecolor="none", label=percent(step / _STEPS), **face))
        rows, columns = (np.flatnonzero(~np.isnan(steps).all(axis=own)) for own in (1, 0))
        ax.set_xlim(x[columns[0]], x[columns[-1] + 1])
        ax.set_ylim(y[rows[0]], y[rows[-1] + 1])
        for axis, levels in ((ax.xaxis, self.levels[0]), (ax.yaxis, self.levels[1])):
            if levels:
                names = [style.short(level, 12) for level in levels]
                slant = axis is ax.xaxis and sum(map(len, names)) > 30
                axis.set_ticks(
                    range(len(levels)),
                    labels=names,
                    color=palette.ink,
                    **(style.PLAIN | ({"rotation": 30, "ha": "right"} if slant else {})),
                )
            elif axis is ax.xaxis:
                ax.locator_params(axis="x", nbins=5)
        if not self.features[1]:
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
        legend = ax.figure.legend(
            handles=keys,
            loc="outside lower center",
            ncols=len(keys),
            frameon=False,
            fontsize=9,
            handlelength=1,
            handleheight=1,
            handletextpad=0.3,
            columnspacing=0.9,
            labelcolor=palette.ink,
            title="In the subgroup, of 100 rows there",
            title_fontsize=9,
        )
        legend.get_title().set_color(palette.ink)
        style.finish(
            ax,
            palette,
            x=style.short(self.features[0], 34),
            y=self.features[1] and style.short(self.features[1], 30),
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


def _named(frame: pd.DataFrame, features: Sequence[Any]) -> list[int]:
    """Positions of one or two features."""
    if isinstance(features, str) or len(features) not in (1, 2):
        raise InputError(f"features: one or two column names expected, {features!r} found.")
    names = list(frame.columns)
    for name in features:
        if name not in names:
            known = ", ".join(label_text(name, 20) for name in names[:8])
            raise InputError(f"features: no column {name!r} in X; its columns start with {known}.")
    return [names.index(name) for name in features]


def _telling(
    frame: pd.DataFrame, kinds: dict[int, str], held: np.ndarray, inside: np.ndarray
) -> list[int]:
    """Positions of the two features that tell best who is inside, or of the only one."""
    if len(kinds) < 3:
        best = list(kinds)
    else:
        strength = {i: _strength(frame.iloc[held, i], kinds[i], inside) for i in kinds}
        best = sorted(strength, key=lambda i: -strength[i])[:2]
    # A numeric feature is read best along the horizontal axis.
    return sorted(best, key=lambda i: not profile.is_ordered(kinds[i]))


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
    if profile.is_ordered(kind):
        x = profile.numeric_values(series)
        if kind == "datetime":
            x = 1970 + x / 365.2425
        known = x[np.isfinite(x)]
        values = np.unique(known)
        if 0 < len(values) <= _MAX_LEVELS:
            code = np.searchsorted(values, np.where(np.isfinite(x), x, values[-1]))
            ends = np.arange(len(values) + 1) - 0.5
            return np.where(np.isfinite(x), code, -1), ends, tuple(map(number, values))
        if len(known):
            edges = _bins(known)
            # Values beyond the drawn range belong to the outermost bins.
            code = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
            return np.where(np.isfinite(x), code, -1), edges, ()
    codes, names = profile.level_codes(profile.as_levels(series, kind))
    if len(names) > _MAX_LEVELS:
        codes = np.minimum(codes, _MAX_LEVELS - 1)
        names = [*names[: _MAX_LEVELS - 1], OTHER_LEVELS]
    return codes, np.arange(len(names) + 1) - 0.5, tuple(names)


def _bins(known: np.ndarray) -> np.ndarray:
    """Round ends of bins, more of them where there are more rows."""
    most = int(np.clip(math.sqrt(len(known) / _ROWS_PER_CELL), _FEWEST_BINS, _MOST_BINS))
    low, high = np.quantile(known, [0.005, 0.995])
    if not (math.isfinite(high - low) and high > low):
        low, high = known.min(), known.max()
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(m * unit for m in (1, 2, 5, 10, 20) if m * unit * most >= high - low)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    return step * np.arange(first, last + 1)
