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
from mdfa_fairness_plugin.describe.wording import clean, count, label_text, percent, rounded
from mdfa_fairness_plugin.records import ratio_of
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
from mdfa_fairness_plugin.report.figures import between, ratio_or_inf
from mdfa_fairness_plugin.report.means import Phrase
from mdfa_fairness_plugin.report.rates import gets

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.diffing import DiffResult

_READING: Final = (
    "Worst case: the {size} in the worst subgroup that each audit found, not always the same people; "
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
    who = f"{what}, {say.group_of(change)} {gets(change)}"
    if change.by_difference:
        return f"{what}, {_difference_sentence(change)}"
    if change.status in (ONLY_NOW, ONLY_BEFORE):
        value = change.new if change.status == ONLY_NOW else change.old
        often = "an unknown number of" if math.isnan(value) else ratio_or_inf(ratio_of(value))
        return f"{who} {often} times as often as {say.others_of(change)}; searched for {change.status}."
    why = f" ({clean(change.reason, 200)})" if change.reason else ""
    if math.isnan(change.delta) and not math.isinf(change.old):
        return f"{who}: {change.status}{why}."
    was, now = (ratio_or_inf(ratio_of(own)) for own in (change.old, change.new))
    span = between(*map(ratio_of, change.interval))
    times = (
        ""
        if math.isnan(change.delta)
        else f", {ratio_or_inf(ratio_of(change.delta))} times as much"
    )
    level = f" with {percent(change.confidence_level)} confidence" if span else ""
    return (
        f"{who} {now} times as often as {say.others_of(change)}, before {was}{times}"
        f"{f' ({span}{level})' if span else ''}: {change.status}{why}."
    )


def _by(change: Change, value: float) -> str:
    size = "an unknown amount" if math.isnan(value) else rounded(value)
    phrase = Phrase.of(change).by(size)
    return f"{say.group_of(change)} {phrase} than {say.others_of(change)}"


def _difference_sentence(change: Change) -> str:
    """One change of a difference of means in words."""
    if change.status in (ONLY_NOW, ONLY_BEFORE):
        value = change.new if change.status == ONLY_NOW else change.old
        return f"{_by(change, value)}; searched for {change.status}."
    why = f" ({clean(change.reason, 200)})" if change.reason else ""
    if math.isnan(change.delta):
        return f"{say.group_of(change)}: {change.status}{why}."
    low, high = change.interval
    level = percent(change.confidence_level)
    return (
        f"{_by(change, change.new)}, before {rounded(change.old)}, a "
        f"change of {rounded(change.delta)} (between {rounded(low)} and {rounded(high)} with {level} "
        f"confidence): {change.status}{why}."
    )


def _table(result: DiffResult) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            who_cell(own),
            label_text(own.outcome, 16),
            "all" if own.quantity == EVERYBODY else "worst",
            *_ratio(own.old, own, "old"),
            *_ratio(own.new, own, "new"),
            *_ratio(own.delta, own, "delta"),
            None if "interval" in own.withheld else _span(own),
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


def _ratio(value: float, own: Change, name: str) -> tuple[Value]:
    if name in own.withheld:
        return (None,)
    if math.isnan(value):
        return ("",)
    return (rounded(value) if own.by_difference else ratio_or_inf(ratio_of(value)),)


def _span(own: Change) -> str:
    low, high = own.interval
    if math.isnan(low) or math.isnan(high):
        return ""
    if own.by_difference:
        return f"{rounded(low)} to {rounded(high)}"
    return f"{ratio_or_inf(ratio_of(low))} to {ratio_or_inf(ratio_of(high))}"
