"""What every display is, in scikit-learn's manner: numbers as attributes, drawn by ``plot``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pandas as pd

from mdfa_fairness_plugin.report.displays.style import Palette, begin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False)
class Display(ABC):
    """Numbers of a picture, with a table, a sentence and a drawing of them.

    Parameters
    ----------
    withheld : frozenset of (int, str)
        Cells of the table, by row and column, that a copy for printing does not hold.

    Attributes
    ----------
    ax_ : Axes
        What ``plot`` has drawn on.
    figure_ : Figure
    """

    withheld: frozenset[tuple[int, str]] = frozenset()
    # Column of the table and the attribute it holds.
    _columns: ClassVar[dict[str, str]] = {}
    _width: ClassVar[float] = 7.2
    _height: ClassVar[float] = 3.4
    _row_height: ClassVar[float] = 0.0

    @property
    def width(self) -> float:
        """Width of its own figure, in inches."""
        return self._width

    @property
    def height(self) -> float:
        """Height of its own figure, in inches."""
        return self._height + self._row_height * max(len(self.to_frame()), 1)

    @property
    def alt_text(self) -> str:
        """What the picture shows, in a sentence."""
        return self._sentence()

    def to_frame(self) -> pd.DataFrame:
        """Give the numbers drawn, one row per thing drawn."""
        return pd.DataFrame({name: getattr(self, of) for name, of in self._columns.items()})

    def plot(self, ax: Axes | None = None, *, style: str = "light") -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : Axes or None, default=None
            Axes to draw on; None: those of a new figure.
        style : {"light", "dark"}, default="light"

        Returns
        -------
        self : Display
        """
        return self._plot(ax, style)

    def _plot(self, ax: Axes | None, style: str, **options: Any) -> Self:
        ax, palette = begin(ax, style, (self._width, self.height))
        self._draw(ax, palette, **options)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @abstractmethod
    def _sentence(self) -> str:
        """Say what the picture shows."""

    @abstractmethod
    def _draw(self, ax: Axes, palette: Palette, **options: Any) -> None:
        """Draw on axes that are made up already."""
