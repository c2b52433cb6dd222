"""How every picture looks: colours for light and dark ground, text from data as plain text."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mdfa_fairness_plugin.describe.wording import label_text, named
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.report.lines import columns_of
from mdfa_fairness_plugin.settings import is_choice, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# For every text: a "$" in a name is a dollar, never the start of a formula.
PLAIN: Final[dict[str, Any]] = {"parse_math": False, "usetex": False}
_TICKS: Final = (
    *(10.0**k for k in range(-6, -1)),
    *(0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 2, 3, 5, 7),
    *(10, 20, 50, 100, 200, 500),
    *(10.0**k for k in range(3, 9)),
)
_MOST_TICKS: Final = 7
_LONG_NAME: Final = 38
_SHORTEST: Final = 11


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Colours of one style; ``first`` and ``second`` carry meaning.

    These two are told apart by every kind of colour vision (Okabe and Ito 2008) and by lightness.
    """

    ink: str  # text and outlines
    muted: str  # secondary text
    faint: str  # grid lines and fills
    paper: str  # background
    first: str
    second: str
    paint: bool = True  # whether the background is painted


PALETTES: Final = {
    "light": Palette(
        ink="#1b1b1b",
        muted="#595959",
        faint="#d4d4d4",
        paper="#ffffff",
        first="#0072b2",
        second="#b84e00",
    ),
    "dark": Palette(
        ink="#f0f0f0",
        muted="#b4b4b4",
        faint="#4a4a4a",
        paper="#161616",
        first="#56b4e9",
        second="#e69f00",
    ),
    # Stand-ins that the page turns into its own colours, which follow the reader's theme.
    "page": Palette(
        ink="#010203",
        muted="#020304",
        faint="#030405",
        paper="#040506",
        first="#050607",
        second="#060708",
        paint=False,
    ),
}


def begin(ax: Axes | None, style: str, size: tuple[float, float]) -> tuple[Axes, Palette]:
    """Give axes to draw on, those of a new figure of a size in inches if None, and their colours."""
    if not is_choice(style, PALETTES):
        raise InputError(f"style: 'light' or 'dark' expected, {shown(style)} found.")
    palette = PALETTES[style]
    if ax is None:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=size, layout="constrained")
        if palette.paint:
            figure.set_facecolor(palette.paper)
    if palette.paint:
        ax.set_facecolor(palette.paper)
    else:
        ax.patch.set_visible(False)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(palette.muted)
    ax.tick_params(colors=palette.muted, labelcolor=palette.ink, labelsize=9)
    return ax, palette


def finish(
    ax: Axes, palette: Palette, *, x: str = "", y: str = "", title: str = "", to_right: bool = False
) -> None:
    """Name the axes and the picture; ``to_right`` lets a long name reach below the row labels."""
    place: dict[str, Any] = {"x": 1.0, "ha": "right"} if to_right else {}
    ax.set_xlabel(x, color=palette.ink, fontsize=9.5, **place, **PLAIN)
    ax.set_ylabel(y, color=palette.ink, fontsize=9.5, **PLAIN)
    if title:
        ax.set_title(
            title, loc="left", color=palette.ink, fontsize=10.5, fontweight="bold", **PLAIN
        )


def write(ax: Axes, x: float, y: float, text: str, **options: Any) -> Any:
    """Put text at a point, or an ``offset`` in points away; other options are of ``annotate``."""
    offset = options.pop("offset", (0, 0))
    return ax.annotate(
        text,
        (x, y),
        xytext=offset,
        textcoords="offset points",
        annotation_clip=False,
        **{"fontsize": 9, **PLAIN, **options},
    )


def beside(ax: Axes, palette: Palette, i: int, text: str, x: float = 1.02) -> None:
    """Put text to the right of a row."""
    ax.annotate(
        text,
        (x, i),
        xycoords=ax.get_yaxis_transform(),
        va="center",
        fontsize=9,
        color=palette.ink,
        annotation_clip=False,
        **PLAIN,
    )


def row_labels(ax: Axes, palette: Palette, labels: Sequence[str]) -> None:
    """Name the rows of a picture, first at the top."""
    ax.set_yticks(range(len(labels)), labels=list(labels), color=palette.ink, fontsize=9, **PLAIN)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.spines["left"].set_visible(False)


def ratio_axis(ax: Axes, low: float, high: float, *, which: str = "x") -> None:
    """Set a logarithmic axis from one ratio to another, with few and round ticks."""
    from matplotlib.ticker import NullLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    span = math.log(high / low)
    kept: list[float] = []
    # 1 means "as often", so it is there if any is; the rest keep their distance.
    for tick in sorted(ticks, key=lambda t: (t != 1, _roundness(t))):
        near = (abs(math.log(tick / other)) for other in kept)
        if min(near, default=math.inf) > span / _MOST_TICKS:
            kept.append(tick)
    kept.sort()
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(kept, labels=[f"{tick:,.6g}" if tick < 1e6 else f"{tick:.0e}" for tick in kept])


def plain_axis(
    ax: Axes, low: float, high: float, write: Callable[[float], str], *, which: str = "x"
) -> None:
    """Set a linear axis, with few and round ticks."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    axis.set_major_locator(MaxNLocator(_MOST_TICKS - 1))
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))


def _roundness(tick: float) -> float:
    digits = f"{tick:.3g}".replace(".", "").strip("0")
    return len(digits) + (0 if digits in ("1", "2", "5") else 0.5) + abs(math.log10(tick)) / 100


def short(label: object, limit: int = 26) -> str:
    """Write a label on one line, short by the columns it takes rather than by its characters."""
    text = label_text(label, limit)
    while limit > 4 and columns_of(text) > limit:
        limit -= 1
        text = label_text(label, limit)
    # Combining marks pile up above and below a line without limit.
    return "".join(
        c
        for i, c in enumerate(text)
        if i < 2 or not all(map(unicodedata.combining, text[i - 2 : i + 1]))
    )


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """Shorten names so that those that differ still do, where their start is the same."""
    shown = [short(name, limit) for name in names]
    for text in {text for text in shown if shown.count(text) > 1}:
        places = [i for i, other in enumerate(shown) if other == text]
        alike = [names[i] for i in places]
        if len(set(alike)) == 1:
            continue
        letters = zip(*alike, strict=False)
        same = next((i for i, seen in enumerate(letters) if len(set(seen)) > 1), 0)
        start = max(same - 8, 0)
        for i in places:
            rest = names[i][start:]
            rest = rest if len(rest) < limit else f"{rest[: limit - 2]}…"
            shown[i] = short(f"…{rest}" if start else rest, limit)
    return shown


def search_name(violation: Any, limit: int = 18) -> str:
    """Name a search: the group, whom it is compared with, and the outcome."""
    who = named(short(violation.sensitive_feature, limit), short(violation.group, limit))
    if violation.reference is not None:
        who = f"{who} (vs {short(violation.reference, limit)})"
    name = f"{who}: {short(violation.outcome, limit)}"
    too_long = len(name) > _LONG_NAME and limit > _SHORTEST
    return search_name(violation, _SHORTEST) if too_long else name


def nothing_to_draw(display: str, reason: str) -> InputError:
    """Say why there is no picture."""
    return InputError(f"{display}: {reason}, so there is nothing to draw.")
