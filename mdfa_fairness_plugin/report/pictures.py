"""Displays as inline pictures of a page: named, described, in its colours, the same every time."""

from __future__ import annotations

import contextlib
import io
import math
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from markupsafe import Markup

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.decimals import alike, ratio_places
from mdfa_fairness_plugin.describe.wording import for_xml, label_text, percent
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import VIOLATION, AuditRecord, Violation
from mdfa_fairness_plugin.report import displays
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.displays.style import PALETTES
from mdfa_fairness_plugin.report.document import Picture, Table, Value
from mdfa_fairness_plugin.report.effects import effect_of, made
from mdfa_fairness_plugin.report.figures import ratio_or_inf
from mdfa_fairness_plugin.report.findings import FINDINGS
from mdfa_fairness_plugin.report.rates import BOUNDED
from mdfa_fairness_plugin.report.reading import shown_case
from mdfa_fairness_plugin.report.redaction import Redaction
from mdfa_fairness_plugin.report.tables import cell

_MOST_ROWS: Final = 60
_RATIO: Final = ("ratio", "ratio_low", "ratio_high")
_WIDTH: Final = 7.2
# Fits on a phone, in points.
_SMALL: Final = 360
# Features among which those of the map are chosen, where no rule names them.
_MOST_MAPPED: Final = 6
# Colours on light ground, by the stand-in each is drawn in; the page's style sheet turns these into
# those of the reader's theme.
_COLORS: Final = {
    getattr(PALETTES["page"], name): getattr(PALETTES["light"], name)
    for name in ("ink", "muted", "faint", "paper", "first", "second")
}
_NUMBERED: Final = re.compile(r"#0[1-6]0[2-7]0[3-8]\b")
_REFERENCE: Final = re.compile(r"url\(#([\w.-]+)\)")


def pictures(given: AuditRecord, redaction: Redaction, mark: str = "") -> dict[str, Picture]:
    """Draw everything that a result has numbers for, by name; ``mark`` ends the names of parts.

    The result itself is ``given`` for what it knows of every row, propensity and membership, which
    are shown in bins and cells of enough rows; all else is of the copy for printing.
    """
    result = redaction.result
    shown, whole = shown_case(result), redaction.shown
    drawn: dict[str, Picture] = {}

    def add(key: str, title: str, make: Callable[..., Display], *of: Any, **how: Any) -> None:
        """Draw a picture, unless nothing was measured that it could show."""
        with contextlib.suppress(InputError):
            drawn[key] = pictured(make(*of, **how), f"{key}{mark}", title)

    for key, measure in _measures(result).items():
        title = "Every search of this audit" if key == "searches" else f"Searches by {measure}"
        add(key, title, displays.SearchesDisplay.from_result, result, measure=measure)
    if shown is not None and whole is not None:
        case = shown.sensitive_feature, shown.group
        add("amounts", "How much either side has", displays.AmountsDisplay.from_violation, shown)
        if effect_of(shown) is not BOUNDED:  # rates of either side are known
            title = "From the worst subgroup to everybody"
            add("rates", side_title(shown), displays.RatesDisplay.from_violation, shown)
            add("path", title, displays.WorstCasePathDisplay.from_violation, shown)
        add("region", "Where the subgroup lies", _region, given, whole, redaction)
        title = "What sets the subgroup apart"
        add("profile", title, displays.ProfileDisplay.from_violation, shown)
        title = "How alike the groups were made"
        add("love", title, displays.LoveDisplay.from_result, result, case)
    if whole is not None and redaction.overlap_min_rows:
        add(
            "overlap",
            "How far the features tell the groups apart",
            displays.OverlapDisplay.from_violation,
            whole,
            min_rows=redaction.overlap_min_rows,
            left_out=redaction.overlap_left_out,
        )
    return drawn


def side_title(found: Any) -> str:
    """What a picture of what either side gets is called."""
    return f"How {'often' if effect_of(found).of == 'rates' else 'much'} either side gets it"


def _region(given: AuditRecord, case: Violation, redaction: Redaction) -> displays.RegionMapDisplay:
    """Where the rows at hand are inside, by what the rule names or else what differs most."""
    problem = getattr(given.source, "problem", None)
    found = case.verdict == VIOLATION and case.rule != EVERYBODY
    if problem is None or not found or not len(case.membership):
        raise InputError("result: no part of its rows to show.")
    columns = sorted({own.column for every in case.rule_conditions for own in every})
    if not columns and case.profile.index.nlevels == 3:
        apart = case.profile.iloc[:, -1].astype(float).abs()
        most = apart.groupby(level=0).max().nlargest(_MOST_MAPPED).index
        names = [label_text(name) for name in problem.display.columns]
        columns = [i for i, name in enumerate(names) if name in most]
    rows = problem.source_row
    seen = replace(case, membership=case.membership[rows], held_out=case.held_out[rows])
    return displays.RegionMapDisplay.from_violation(
        seen,
        problem.display.iloc[:, columns] if columns else problem.display,
        min_rows=redaction.min_cell,
        in_quarters=redaction.min_cell > 1,
    )


def _measures(result: AuditRecord) -> dict[str, str | None]:
    """What searches go by, with a picture for each: cuts of an order by ratio, ranks by difference."""
    found = sorted({own.measure for own in made(result.violations)}, reverse=True)
    return {"searches": found[0] if found else None} | {f"searches_{m}": m for m in found[1:]}


def pictured(display: Display, key: str, title: str) -> Picture:
    """Draw a display, with the numbers behind it."""
    text = display.alt_text
    return Picture(
        key=key,
        title=title,
        text=text,
        svg=draw(display, key, title, text),
        table=numbers_table(display.to_frame(), display.withheld),
    )


def draw(display: Display, key: str, title: str, text: str) -> Markup:
    """Draw a display as an inline picture in the page's colours, to be read out as ``text``.

    ``key`` is the prefix of its identifiers, unique on the page. The same numbers give the same
    bytes, whatever settings of matplotlib the user has.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        # Old names among the defaults, and glyphs that the measuring font lacks: the reader's
        # own fonts write the text.
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": f"mdfa-{key}"})
        size = min(display.width, _WIDTH), display.height
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        display.plot(figure.subplots(), style="page")
        file = io.BytesIO()
        blank = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=blank)
    return _inline(file.getvalue().decode("utf-8"), key, title, text)


def _inline(document: str, key: str, title: str, text: str) -> Markup:
    """Turn a document of its own into an element of a page."""
    root = ElementTree.fromstring(for_xml(document))
    for parent in root.iter():
        # Its rules would hold for the whole page.
        for child in list(parent):
            if _local(child.tag) in ("style", "metadata"):
                parent.remove(child)
    referred = set()
    for element in root.iter():
        for value in element.attrib.values():
            referred.update(_REFERENCE.findall(value))
            if value.startswith("#"):
                referred.add(value[1:])
    for element in root.iter():
        element.tag = _local(element.tag)
        element.tail = None
        if element.tag != "text":
            element.text = None
        attributes: dict[str, str] = {}
        for name, value in element.attrib.items():
            name = _local(name)
            if name == "id":
                if value not in referred:
                    continue
                value = f"{key}-{value}"
            elif name == "href":
                value = f"#{key}-{value[1:]}"
            else:
                value = _REFERENCE.sub(rf"url(#{key}-\1)", value)
                value = _NUMBERED.sub(lambda m: _COLORS.get(m.group(), m.group()), value)
                if name == "style":
                    attributes |= _presented(value)
                    continue
                if name == "d":
                    value = " ".join(value.split())
                if value.startswith("rotate(-0 "):
                    continue
            attributes.setdefault(name, value)
        element.attrib = attributes
    width = float(root.attrib["viewBox"].split()[2])
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-labelledby": f"{key}-title {key}-text",
        "class": "picture small" if width < _SMALL else "picture",
    }
    paper = PALETTES["light"].paper
    root.insert(0, ElementTree.Element("rect", width="100%", height="100%", fill=paper))
    for tag, name, words in (("desc", "text", text), ("title", "title", title)):
        element = ElementTree.Element(tag, id=f"{key}-{name}")
        element.text = for_xml(words)
        root.insert(0, element)
    # Every text went through the serialiser, which escapes it.
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _presented(style: str) -> dict[str, str]:
    """Declarations of a style as attributes, which hold where a page may have no style of its own."""
    pairs = (one.split(":", 1) for one in style.split(";") if ":" in one)
    told = {name.strip(): value.strip() for name, value in pairs}
    return {name: value for name, value in told.items() if name != "font-family"}


def _local(name: Any) -> str:
    return str(name).rpartition("}")[2]


def numbers_table(
    frame: pd.DataFrame, withheld: Collection[tuple[int, str]] = frozenset()
) -> Table:
    """Put the numbers behind a picture into text; ``withheld`` are cells by row and column."""
    rows = []
    for i, row in enumerate(frame.head(_MOST_ROWS).to_dict("records")):
        told = {name: value for name, value in row.items() if (i, name) not in withheld}
        texts = {name: _cell(value, str(name)) for name, value in told.items()} | _together(told)
        if told.get("ratio_everybody") == told.get("ratio", math.nan):
            texts["ratio_everybody"] = texts["ratio"]
        rows.append(tuple(map(texts.get, frame.columns)))
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    more = len(frame) - len(rows)
    return Table(
        header=tuple(
            "finding" if name == "verdict" else str(name).strip().replace("_", " ")
            for name in frame.columns
        ),
        rows=tuple(rows),
        n_text=[*numeric, True].index(True),
        more=f"and {more:,d} more rows" if more > 0 else "",
    )


def _together(told: Mapping[Any, Any]) -> dict[Any, Value]:
    """A ratio and what is known of its interval, with the same decimals."""
    known = {name: told[name] for name in _RATIO if math.isfinite(told.get(name, math.nan))}
    return dict(zip(known, alike(list(known.values()), ratio_places, none=1.0), strict=True))


def _cell(value: Any, name: str) -> Value:
    known = isinstance(value, float | np.floating) and not math.isnan(value)
    if known and name.startswith("ratio"):
        return ratio_or_inf(float(value))
    if known and name.startswith("share"):
        return percent(float(value))
    if name == "verdict":
        return FINDINGS.get(str(value), str(value))
    return "" if value == "" else cell(value)
