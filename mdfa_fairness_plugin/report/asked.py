"""What was asked of a result: told in sentences and a table, as far as it may be printed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import clean, label_text, named
from mdfa_fairness_plugin.fields import figures, known
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NOT_CONFIRMED,
    VIOLATION,
    AskedSubgroup,
    AuditRecord,
    Violation,
    harmful,
)
from mdfa_fairness_plugin.records.searches import Keyed
from mdfa_fairness_plugin.report import document as doc
from mdfa_fairness_plugin.report import text
from mdfa_fairness_plugin.report.copies import Guard, made_of_cells, printed
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.findings import FINDINGS, told_verdict
from mdfa_fairness_plugin.report.sentences import case_sentence
from mdfa_fairness_plugin.report.tables import search_columns

_WIDTH: Final = 80  # of a table as text
_LEAST: Final = 12  # of its first column


class Answers(tuple[AskedSubgroup, ...]):
    """What was asked at once: a tuple of ``AskedSubgroup`` that tells of itself."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """Give one row per question and search; ``asked`` is what was asked."""
        return pd.DataFrame([{"asked": own.label, **figures(own, "table")} for own in self])

    def summary(self) -> str:
        """Tell the answers in plain text, and what confirms none of them."""
        return text.render(doc.Document("", (asked_section(self),))).lstrip("\n")


def asked_section(answers: tuple[AskedSubgroup, ...], note: str = NOT_CONFIRMED) -> doc.Section:
    """Every question with its answers."""
    if not answers:
        return doc.Section("asked", "", ())
    by_question: dict[str, list[AskedSubgroup]] = {}
    for own in answers:
        by_question.setdefault(own.label, []).append(own)
    told = tuple(_told(own) for own in by_question.values())
    by_table: dict[tuple[str, str], list[AskedSubgroup]] = {}
    for own in harmful(answers):
        by_table.setdefault((clean(own.label, 400), label_text(own.outcome)), []).append(own)
    tables = (
        _table(f'{question}, outcome "{outcome}"', group)
        for (question, outcome), group in by_table.items()
    )
    return doc.Section(
        "asked", "What was asked", (doc.Bullets(told), *tables, doc.Paragraphs((note,), "note"))
    )


def _table(caption: str, answers: list[AskedSubgroup]) -> doc.Table:
    """Every group by one outcome, among the rows of one question."""
    effect = effect_of(answers[0])
    columns = search_columns(answers)
    header = tuple(one.title for one in columns)
    numbers = [tuple(one.write(own, effect) for one in columns) for own in answers]
    widths = [
        max(len(doc.shown(cell)) for cell in column)
        for column in zip(header, *numbers, strict=True)
    ]
    room = _WIDTH - sum(widths) - 2 * len(widths)
    return doc.Table(
        header=("Who", *header),
        rows=tuple((who_cell(own, room), *row) for own, row in zip(answers, numbers, strict=True)),
        caption=caption,
        text_last=True,
    )


def who_cell(own: Keyed, room: int = 40) -> str:
    """Group and whom it is compared with; without the column's name where there is no room for it."""
    beside = "" if own.reference is None else f" (vs {label_text(own.reference, 16)})"
    who = f"{named(own.sensitive_feature, own.group, 40)}{beside}"
    room = max(room, _LEAST)
    return who if len(who) <= room else clean(f"{label_text(own.group, 16)}{beside}", room)


def _told(answers: list[AskedSubgroup]) -> str:
    """The answer with the highest lower limit, which is the one for the group treated worse."""
    known_ones = [own for own in answers if not math.isnan(own.lower) and own.harm is not False]
    known_ones = known_ones or [own for own in answers if not math.isnan(own.lower)]
    if not known_ones:
        first = next((own for own in answers if own.verdict == VIOLATION), answers[0])
        if first.withheld & set(effect_of(first).fields):
            return (
                f"{clean(first.label, 400)}: {told_verdict(first)}; by how much is withheld, as it "
                "would tell of too few rows."
            )
        why = clean(first.reason, 200).rstrip(". ") or "nothing could be measured"
        return f"{clean(first.label, 400)}: {FINDINGS[INSUFFICIENT]} ({why})."
    worst = max(known_ones, key=lambda own: own.lower)
    why = clean(worst.reason, 300).rstrip(". ")
    finding = f"Finding: {told_verdict(worst)}{': ' if why else ''}{why}."
    return f"{case_sentence(worst)} {finding}"


def _beside(own: AskedSubgroup, answers: Sequence[AskedSubgroup]) -> set[int]:
    """Sizes of up to three other sets together, none of which shares a row with this or another."""
    others = [one for one in answers if one is not own and one.key == own.key]

    def apart(some: Sequence[AskedSubgroup]) -> bool:
        every = [own.membership, *(one.membership for one in some)]
        return (
            len({len(rows) for rows in every}) > 1 or int(np.sum(every, axis=0).max(initial=0)) < 2
        )

    each = (some for k in (1, 2, 3) for some in itertools.combinations(others, k))
    return {sum(known(one.n_rows) for one in some) for some in each if apart(some)}


def printable_asked(
    result: AuditRecord, first: Violation | None, guard: Guard, masked: Callable[[str], str]
) -> tuple[AskedSubgroup, ...]:
    """What may be printed: estimates that tell of no few people; no sizes that differ by few."""
    whole = {own.key: own.population for own in result.violations if own.population.measured}
    sizes = {known(own.n_rows) for own in result.asked} | {0}
    sizes |= {known(own.n_rows) for own in whole.values()}
    sizes |= {known(first.n_rows)} if first is not None else set()

    def copy(own: AskedSubgroup) -> AskedSubgroup:
        n = known(own.n_rows)
        sums = {0, *_beside(own, result.asked)}
        others = sizes - {n}
        few = any(0 < abs(n + more - other) < guard.min_cell for more in sums for other in others)
        everybody = [whole[own.key]] if own.key in whole else []
        closed = guard.closed(own, *everybody) or own.sensitive_feature in guard.few
        allowed = {} if closed else made_of_cells(own)
        if not few:
            allowed["share"] = own.share
        return printed(
            AskedSubgroup, own, **allowed, n_rows=None if few else n, reason=masked(own.reason)
        )

    return tuple(map(copy, result.asked))
