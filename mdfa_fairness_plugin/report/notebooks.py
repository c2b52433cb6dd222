"""Results and their parts as notebooks show them: with pictures, and without small counts."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import AuditRecord, Subgroup, Violation, WorstCasePath
from mdfa_fairness_plugin.records.views import shown_by
from mdfa_fairness_plugin.report import html
from mdfa_fairness_plugin.report.copies import made_of_cells, no_counts, printed, thin
from mdfa_fairness_plugin.report.displays import RatesDisplay, WorstCasePathDisplay
from mdfa_fairness_plugin.report.displays.display import Display
from mdfa_fairness_plugin.report.displays.style import search_name
from mdfa_fairness_plugin.report.document import Block, Document, Numbers, Section
from mdfa_fairness_plugin.report.effects import effect_cell, effect_of, interval_cell
from mdfa_fairness_plugin.report.pictures import pictured, pictures, side_title
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.story import tell
from mdfa_fairness_plugin.report.tables import frame_table

# As pages have it unless told otherwise.
MIN_CELL: Final = 11
# Sections that speak of one search.
_OF_A_SEARCH: Final = frozenset(
    ("headline", "verdict", "rates", "numbers", "found", "models", "people", "path", "profile")
)


def mark_of(*figures: Any) -> str:
    """What sets the parts of pictures of these figures apart from others in the same notebook."""
    return f"-{zlib.crc32(repr(figures).encode()):x}"


def fragment_of(result: AuditRecord) -> str:
    """A result with what its page says and shows."""
    redaction = redact(result, MIN_CELL)
    copy = redaction.result  # of exact figures a mark would tell
    mark = mark_of(copy.provenance.get("input_hash"), [own.delta for own in copy.violations])
    drawn = pictures(result, redaction, mark)
    return html.render_fragment(tell(redaction.result, drawn=drawn))


def _search(search: Violation) -> str:
    alone = AuditRecord(violations=(search,), confidence_level=search.confidence_level)
    redaction = redact(alone, MIN_CELL)
    (copy,) = redaction.result.violations
    mark = mark_of(copy.delta, copy.difference, copy.interval, copy.n_rows)
    told = tell(redaction.result, drawn=pictures(alone, redaction, mark))
    sections = tuple(own for own in told.sections if own.key in _OF_A_SEARCH)
    return html.render_fragment(replace(told, title=search_name(search, 40), sections=sections))


def _subgroup(given: Subgroup) -> str:
    few, n, counts = thin(given.counts, MIN_CELL), given.n_rows, given.counts
    own = printed(
        type(given),
        given,
        **({} if few else made_of_cells(given)),
        n_rows=None if n is None or 0 < n < MIN_CELL else n,
        counts=no_counts(counts) if few else counts,
    )
    effect = effect_of(own)
    pairs = (
        (effect.titles[0], effect_cell(own, effect)),
        ("Between", interval_cell(own, effect)),
        ("Rows", own.n_rows),
    )
    sides = tuple(map(str, given.counts.index)) if len(given.counts) == 2 else ("group", "others")
    rates = np.asarray(own.rates, dtype=float)
    picture = _picture(
        partial(RatesDisplay, labels=sides, rate=rates, effect=effect, ratio=effect.told(own)[0]),
        "rates",
        side_title(own),
        mark_of(own.rates, own.n_rows),
    )
    numbers = Numbers(tuple((name, value) for name, value in pairs if value != ""))
    table = frame_table(own.counts, "Rows by outcome")
    return _fragment(given.label or "A set of rows", numbers, *picture, table)


def _path(given: WorstCasePath) -> str:
    n_rows, mass = (np.max(own, initial=0) for own in (given.n_rows, given.mass))
    whole = Subgroup(n_rows=int(n_rows), mass=float(mass))
    alone = Violation(group="", outcome="", path=given, population=whole)
    spaced = redact(AuditRecord(violations=(alone,)), MIN_CELL).result.violations[0]
    title = "From the worst subgroup to everybody"

    def draw() -> Display:
        return replace(WorstCasePathDisplay.from_violation(spaced), label="one search")

    return _fragment(title, *_picture(draw, "path", title, mark_of(spaced.path.delta.tolist())))


def _picture(make: Callable[[], Display], key: str, title: str, mark: str) -> tuple[Block, ...]:
    try:
        return (pictured(make(), f"{key}{mark}", title),)
    except InputError:
        return ()


def _fragment(title: str, *blocks: Block) -> str:
    return html.render_fragment(Document(title, (Section("shown", "", blocks),)))


shown_by(Violation, _search)
shown_by(Subgroup, _subgroup)
shown_by(WorstCasePath, _path)
