"""What every experiment returns: the paper's figures beside ours, the runs, and the curves."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin import provenance
from mdfa_fairness_plugin.report.document import Table
from mdfa_fairness_plugin.report.files import written_beside
from mdfa_fairness_plugin.report.plain import written
from mdfa_fairness_plugin.report.text import lines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

# Okabe and Ito's colours, which people with colour-blindness can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_PUBLISHED_STYLES = (":", "--", "-.")
_COLUMNS = ("quantity", "reading", "paper", "paper_sd", "ours", "ours_sd", "agrees", "why")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One figure of the paper beside ours."""

    quantity: str  # what it is, in the paper's words where there are any
    reading: str = ""  # which reading of the text, method or subset gave ours
    paper: float = math.nan  # as printed; NaN where the paper prints none
    paper_sd: float = math.nan
    ours: float = math.nan  # mean and standard deviation over the splits; NaN where there is none
    ours_sd: float = math.nan
    digits: int = 2  # decimals shown
    why: str = ""  # one line on why they differ; empty only where they agree

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded like the paper's, is the paper's (and the deviation too)."""
        if math.isnan(self.paper) or math.isnan(self.ours):
            return False
        unit = 0.5 * 10.0**-self.digits + 1e-9
        same = abs(self.ours - self.paper) <= unit
        if not math.isnan(self.paper_sd):
            same &= abs(self.ours_sd - self.paper_sd) <= unit
        return same


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """One line of a panel; the paper's is drawn in grey."""

    label: str
    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray | None = None  # half width of the band: one standard deviation
    published: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """One pair of axes, with a grey line at a level such as no bias."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    level: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Reproduction:
    """A table or figure made again.

    Parameters
    ----------
    name : str
        ``"table1"`` ... ``"figure1d"``.
    title : str
    comparisons : tuple of Comparison
    runs : DataFrame
        Every split's numbers.
    settings : dict
        What it takes to get the same numbers again.
    remarks : tuple of str
        What holds up, what does not.
    panels : tuple of Panel
        Of a figure; empty for a table.
    seconds : float
        Wall-clock time taken.
    asked : dict
        Arguments of ``reproduce`` that decide the numbers.
    """

    name: str
    title: str
    comparisons: tuple[Comparison, ...]
    runs: pd.DataFrame
    settings: dict[str, Any]
    remarks: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    seconds: float = math.nan
    asked: dict[str, Any] = field(default_factory=dict)
    axes_: list[Any] = field(default_factory=list, repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Give one row per comparison."""
        rows = [[getattr(one, name) for name in _COLUMNS] for one in self.comparisons]
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def find(self, quantity: str, reading: str = "") -> Comparison:
        """Give the comparison of this quantity and reading; a ``KeyError`` if there is none."""
        for one in self.comparisons:
            if one.quantity == quantity and one.reading == reading:
                return one
        raise KeyError(f"{self.name}: no comparison {quantity!r}, {reading!r}")

    def to_text(self) -> str:
        """Give the paper's figures beside ours, reasons as numbered notes."""
        reasons = list(dict.fromkeys(one.why for one in self.comparisons if one.why))
        rows: list[tuple[str, ...]] = []
        for one in self.comparisons:
            note = "=" if one.agrees else (f"[{reasons.index(one.why) + 1}]" if one.why else "")
            paper = number(one.paper, one.paper_sd, one.digits)
            ours = number(one.ours, one.ours_sd, one.digits)
            rows.append((one.quantity, one.reading, paper, ours, note))
        header = ("", "reading", "paper", "ours", "note")
        table = Table(header=header, rows=tuple(rows), n_text=2, text_last=True)
        lines = [self.title, "=" * len(self.title), "", *lines_of(table)]
        lines.append("")
        lines += ["= as printed in the paper"] if any(c.agrees for c in self.comparisons) else []
        lines += [f"[{i}] {reason}" for i, reason in enumerate(reasons, start=1)]
        lines += ["", *self.remarks] if self.remarks else []
        settings = ", ".join(f"{key} {value}" for key, value in self.settings.items())
        lines += ["", f"({settings}; {self.seconds:.0f} s)"]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain types only; NaN and infinities become None."""
        return _plain(
            {
                "name": self.name,
                "title": self.title,
                "asked": self.asked,
                "settings": self.settings | {"versions": versions()},
                "comparisons": self.to_frame().to_dict(orient="records"),
                "remarks": list(self.remarks),
                "panels": [asdict(panel) for panel in self.panels],
                "runs": self.runs.to_dict(orient="list"),
            }
        )

    def plot(self, axes: Sequence[Axes] | None = None) -> Reproduction:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes or None, default=None
            One per panel; None makes a figure.

        Returns
        -------
        self : Reproduction
            With ``axes_``, the axes drawn on.
        """
        from matplotlib.figure import Figure

        if axes is None:
            figure = Figure(figsize=(6.0 * max(len(self.panels), 1), 4.4), layout="constrained")
            axes = list(figure.subplots(1, max(len(self.panels), 1), squeeze=False)[0])
        for panel, ax in zip(self.panels, axes, strict=True):
            _draw(panel, ax)
        self.axes_[:] = list(axes)
        return self

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the comparisons and runs as CSV, everything as JSON, the text, and figures as PNG.

        Splits that ``reproduce`` kept in the folder are not needed any more, and removed.

        Parameters
        ----------
        folder : path
            Made if it does not exist.

        Returns
        -------
        files : list of Path
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        ends = (".csv", "_runs.csv", ".json", ".txt")
        files = [folder / f"{self.name}{end}" for end in ends]
        for table, path in zip((self.to_frame(), self.runs), files, strict=False):
            with written_beside(path) as part:
                table.to_csv(part, index=False)
        written(self.to_text() + "\n", files[3])
        written(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", files[2])
        if self.panels:
            figure: Figure = self.plot().axes_[0].figure
            files.append(folder / f"{self.name}.png")
            # Without the date or the library's version the same numbers give the same file.
            with written_beside(files[-1]) as part:
                figure.savefig(part, dpi=150, metadata={"Software": None})
        (folder / f"{self.name}.part").unlink(missing_ok=True)
        return files


def stored(name: str, asked: Mapping[str, Any], folder: str | os.PathLike[str]) -> str | None:
    """Text of a reproduction that was written to a folder, if it was asked for the same."""
    place = Path(folder)
    try:
        found = json.loads((place / f"{name}.json").read_text(encoding="utf-8"))
        same = found["asked"] == dict(asked) and found["settings"]["versions"] == versions()
        return (place / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n") if same else None
    except (OSError, ValueError, KeyError):
        return None


def versions() -> dict[str, str]:
    """What made the numbers."""
    found = provenance.versions()
    names = ("mdfa_fairness_plugin", "python", "numpy", "scikit-learn")
    return {name: found[name] for name in names}


def beside(
    quantity: str,
    reading: str,
    ours: float | tuple[float, float],
    paper: float | tuple[float, float] = math.nan,
    *,
    digits: int = 2,
    why: str = "",
) -> Comparison:
    """Put our number beside the paper's, each alone or with its standard deviation."""
    ours = ours if isinstance(ours, tuple) else (ours, math.nan)
    paper = paper if isinstance(paper, tuple) else (paper, math.nan)
    return Comparison(
        quantity=quantity,
        reading=reading,
        paper=float(paper[0]),
        paper_sd=float(paper[1]),
        ours=float(ours[0]),
        ours_sd=float(ours[1]),
        digits=digits,
        why=why,
    )


def curve(label: str, points: Mapping[float, tuple[float, float]]) -> Curve:
    """Curve of a mean and standard deviation at every place."""
    y, spread = np.array(list(points.values()), dtype=float).reshape(-1, 2).T
    return Curve(label=label, x=np.array(list(points), dtype=float), y=y, spread=spread)


def bias_panel(title: str, x_label: str, of: str, curves: Iterable[Curve]) -> Panel:
    """Axes for the bias of what is estimated."""
    y_label, drawn = f"bias of {of} (band: one standard deviation)", tuple(curves)
    return Panel(title=title, x_label=x_label, y_label=y_label, curves=drawn, level=0.0)


def summarise(values: ArrayLike) -> tuple[float, float]:
    """Mean and standard deviation of the finite values; NaN where there are too few."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    mean = float(finite.mean()) if len(finite) else math.nan
    return mean, float(finite.std(ddof=1)) if len(finite) > 1 else math.nan


def biases(runs: pd.DataFrame, column: str, truth: str, by: Any) -> dict[Any, tuple[float, float]]:
    """Mean and standard deviation of an estimate less the truth, by the values of columns."""
    return {key: summarise(own[column] - own[truth]) for key, own in runs.groupby(by)}


def _draw(panel: Panel, ax: Axes) -> None:
    if panel.level is not None:
        ax.axhline(panel.level, color="#999999", linewidth=1.0)
    colours, published_styles = itertools.cycle(_COLOURS), itertools.cycle(_PUBLISHED_STYLES)
    for curve in panel.curves:
        if curve.published:
            style = next(published_styles)
            ax.plot(curve.x, curve.y, style, color="#555555", label=curve.label)
            continue
        colour = next(colours)
        ax.plot(curve.x, curve.y, marker="o", markersize=3.5, color=colour, label=curve.label)
        if curve.spread is not None:
            low, high = curve.y - curve.spread, curve.y + curve.spread
            ax.fill_between(curve.x, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    ax.legend(fontsize=8, frameon=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def number(value: float, deviation: float, digits: int) -> str:
    """Write a number, its standard deviation in parentheses."""
    if math.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text if math.isnan(deviation) else f"{text} ({deviation:.{digits}f})"


def _plain(value: Any) -> Any:
    """Types that strict JSON has; NaN and infinities become None."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
