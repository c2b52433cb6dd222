"""What changed between two audits as a document."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from mdfa_fairness_plugin.comparison.changes import (
    ONLY_BEFORE,
    ONLY_NOW,
    STATUSES,
    UNKNOWN,
    WITHIN_ERROR,
    Change,
)
from mdfa_fairness_plugin.comparison.records import EVERYBODY, WORST_CASE
from mdfa_fairness_plugin.describe.decimals import short
from mdfa_fairness_plugin.describe.wording import clean, count, label_text, percent
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.asked import who_cell
from mdfa_fairness_plugin.report.document import (
    HTML,
    Bullets,
    Document,
    Paragraphs,
    Section,
    Table,
    Value,
)
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.figures import ends, in_brackets
from mdfa_fairness_plugin.report.means import Phrase
from mdfa_fairness_plugin.report.rates import gets

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.diffing import DiffResult

_READING: Final = (
    "Worst case: the {size} in the worst subgroup that each audit found, not always the same rows; "
    "everybody: of all who are compared. Change: the {size} now {over} the {size} before, with an "
    "interval made from the two intervals. Each interval is by itself: where nothing changed, one in "
    "twenty (at 95 %) lies on one side of {none} all the same. Whether an old finding holds is asked "
    "by measuring its rule on new rows: mdfa measure NEW.csv --from OLD.json."
)


def tell(result: DiffResult) -> Document:
    """Put the changes into words."""
    told = [
        own
        for own in result.changes
        if own.quantity == WORST_CASE and (own.status not in (WITHIN_ERROR, UNKNOWN) or own.reason)
    ]
    return Document(
        "What changed between two audits",
        (
            Section("headline", "", (Paragraphs((_headline(result),), "headline"),)),
            Section(
                "notes",
                "Whether they can be compared",
                (Bullets(tuple(clean(own, 2000) for own in result.notes)),),
            ),
            Section("changed", "What changed", (Bullets(tuple(map(change_sentence, told))),)),
            Section("searches", "All searches", (_table(result),)),
            Section("reading", "How to read this", (Paragraphs((_reading(result),), "made"),)),
        ),
    )


def _reading(result: DiffResult) -> str:
    of = {own.by_difference for own in result.changes}
    if of == {True}:
        return _READING.format(size="difference", over="less", none="0")
    if True in of:
        return _READING.format(size="ratio or difference", over="over or less", none="no change")
    return _READING.format(size="ratio", over="over", none="1")


def _headline(result: DiffResult) -> str:
    n = Counter(own.status for own in result.changes if own.quantity == WORST_CASE)
    parts = [f"{n[status]} {status}" for status in STATUSES if n[status]]
    return f"Worst cases of {count(sum(n.values()), 'search', 'searches')}: {', '.join(parts)}."


def change_sentence(change: Change) -> str:
    """One change in words."""
    what = (
        "In the worst subgroup found" if change.quantity == WORST_CASE else "For everybody compared"
    )
    effect, why = effect_of(change), f" ({clean(change.reason, 200)})" if change.reason else ""
    level = f"with {percent(change.confidence_level)} confidence"
    old, new = effect.alike([*map(effect.from_scale, (change.old, change.new))])
    size, *span = short(effect.alike([*map(effect.from_scale, (change.delta, *change.interval))]))
    if not math.isnan(change.per) and size:
        new, size = effect.with_unit(new, change.new), effect.with_unit(size, change.delta)
    if change.by_difference:
        moved = in_brackets(f", before {old}, a change of {size}", span[0], span[1], level)
    else:
        moved = in_brackets(f", {size} times as much", span[0], span[1], level) if size else ""
        moved = f", before {old}{moved}"
    if change.status in (ONLY_NOW, ONLY_BEFORE):
        text = _said(change, new if change.status == ONLY_NOW else old)
        return f"{what}, {text}; searched for {change.status}."
    if not size and (change.by_difference or not math.isinf(change.old)):
        get = "" if change.by_difference else f" {gets(change)}"
        lost = ", by numbers that are withheld" if change.withheld else ""
        return f"{what}, {say.group_of(change)}{get}: {change.status}{lost}{why}."
    return f"{what}, {_said(change, new)}{moved}: {change.status}{why}."


def _said(change: Change, size: str) -> str:
    """Who gets how much more, or how much more often, than whom."""
    who, others = say.group_of(change), say.others_of(change)
    if change.by_difference:
        size = "an unknown amount" if size == "unknown" else size
        return f"{who} {Phrase.of(change).by(size)}{effect_of(change).each} than {others}"
    size = "an unknown number of" if size == "unknown" else size
    return f"{who} {gets(change)} {size} times as often as {others}"


def _table(result: DiffResult) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            who_cell(own),
            label_text(own.outcome, 16),
            "all" if own.quantity == EVERYBODY else "worst",
            *_sizes(own),
            own.status,
        )
        for own in result.changes
    ]
    return Table(
        header=("Who", "Outcome", "Of", "Before", "Now", "Change", "Between", "Status"),
        rows=tuple(rows),
        caption="Ratios before and now, for every group with every outcome",
        titled=HTML,
        n_text=3,
        text_last=True,
    )


def _sizes(own: Change) -> tuple[Value, ...]:
    """Before, now, and the change with its interval; None is withheld."""
    effect = effect_of(own)
    old, new = short(effect.alike([*map(effect.from_scale, (own.old, own.new))]))
    delta, *span = short(effect.alike([*map(effect.from_scale, (own.delta, *own.interval))]))
    told = {"old": old, "new": new, "delta": delta, "interval": ends(*span) if all(span) else ""}
    return tuple(None if name in own.withheld else text for name, text in told.items())
