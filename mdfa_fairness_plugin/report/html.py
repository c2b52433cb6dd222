"""A document as one self-contained page, and as a fragment for notebooks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import jinja2
from markupsafe import Markup, escape

from mdfa_fairness_plugin.report.document import FRAGMENT, PAGE, Document, Section
from mdfa_fairness_plugin.report.lines import IN_P_VALUE

_LETTERS: Final = (
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
# Blanks at which no line ends.
_TOGETHER: Final = re.compile(rf" (?=%)|(?<=^<) (?=\d)|{IN_P_VALUE}")
# Words written from right to left, with the blanks and digits between them.
_RIGHT_TO_LEFT: Final = re.compile(rf"{_LETTERS}(?:[\s\d'…-]*{_LETTERS})*")


def render_page(document: Document) -> str:
    """A page that needs no script and fetches nothing; every text drawn from data is escaped."""
    return _rendered(document, PAGE)


def render_fragment(document: Document) -> str:
    """The document as one element, with its style, for notebooks."""
    return _rendered(document, FRAGMENT)


def isolate(text: str) -> Markup:
    """Escape a text, and keep names written from right to left from turning their neighbours."""
    parts, end, text = [Markup()], 0, _TOGETHER.sub("\u00a0", text)
    for match in _RIGHT_TO_LEFT.finditer(text):
        parts += [escape(text[end : match.start()]), Markup("<bdi>{}</bdi>").format(match.group())]
        end = match.end()
    return Markup().join([*parts, escape(text[end:])])


def _rendered(document: Document, medium: str) -> str:
    places: dict[str, list[Section]] = {name: [] for name in ("above", "first", "beside", "below")}
    for section in document.shown(medium):
        places[section.place].append(section)
    return _templates().get_template(f"{medium}.html").render(document=document, places=places)


@lru_cache(maxsize=1)
def _templates() -> jinja2.Environment:
    """Templates of the package, with escaping on."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("mdfa_fairness_plugin.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["isolate"] = isolate
    return made
