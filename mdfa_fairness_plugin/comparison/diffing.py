"""Two audits of the same question beside each other, and what changed as a document."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.comparison.changes import (
    ONLY_BEFORE,
    ONLY_NOW,
    STATUSES,
    UNKNOWN,
    WITHIN_ERROR,
    Change,
    changes_between,
    notes_on,
    notes_section,
)
from mdfa_fairness_plugin.comparison.records import EVERYBODY, WORST_CASE
from mdfa_fairness_plugin.describe.decimals import short
from mdfa_fairness_plugin.describe.wording import clean, count, label_text, percent
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fields import UNKNOWN_PAIR, frame_of
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
from mdfa_fairness_plugin.report.junit import Case
from mdfa_fairness_plugin.report.means import Phrase
from mdfa_fairness_plugin.report.plain import in_print, plain_value
from mdfa_fairness_plugin.report.rates import gets
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.reported import Reported
from mdfa_fairness_plugin.results import AuditResult

_FORMAT = "mdfa-diff-result"
_OF: Final = {WORST_CASE: "of the worst case"}


@dataclass(frozen=True, kw_only=True, eq=False)
class DiffResult(Reported):
    """What changed between two audits.

    Parameters
    ----------
    old, new : AuditResult
    changes : tuple of Change
        Two per search of either audit: of its worst case, and of everybody.
    notes : tuple of str
        Whether the same persons may stand in both, and what makes the two not comparable.
    """

    old: AuditResult
    new: AuditResult
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        told = ", ".join(own.status for own in self.changes if own.old_verdict or own.new_verdict)
        return f"DiffResult({told})"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search and quantity; ``times`` is the ratio now over the ratio before.

        If a change is of a difference of means, further columns have it before and now, and ``change``
        is in units of the outcome.
        """
        frame = frame_of(Change, self.changes)
        of = np.array([own.by_difference for own in self.changes], dtype=bool)
        if not of.any():
            return frame
        ratios = [name for name in frame.columns if name.startswith(("times", "ratio_"))]
        frame.loc[of, ratios] = math.nan
        frame["measure"] = pd.Series([own.measure for own in self.changes], dtype=object)
        for name, value, interval in (
            ("difference_before", "old", "old_interval"),
            ("difference_now", "new", "new_interval"),
            ("change", "delta", "interval"),
        ):
            own = [(getattr(one, value), *getattr(one, interval)) for one in self.changes]
            for end, told in zip(("", "_low", "_high"), np.array(own, dtype=float).T, strict=True):
                if name + end != "change":  # which is there
                    frame[name + end] = np.where(of, told, math.nan)
        return frame

    def to_dict(self, *, min_cell: int | None = None) -> dict[str, Any]:
        """Give the changes and notes in plain Python types, ready for strict JSON."""
        changes = self._printed(1 if min_cell is None else min_cell).changes
        plain = {"format": _FORMAT, "changes": plain_value(changes), "notes": [*self.notes]}
        return plain if min_cell is None else in_print(plain, min_cell, rows=False)

    def cases(self, min_cell: int = 1) -> Sequence[Case]:
        """The changes, as gates look at them, with what may be printed of them."""
        return tuple(
            Case(f"change {_OF.get(own.quantity, 'for everybody')}", own, change_sentence, printed)
            for own, printed in zip(self.changes, self._printed(min_cell).changes, strict=True)
        )

    def _page(self, min_cell: int) -> Document:
        return tell(self._printed(min_cell))

    def _printed(self, min_cell: int) -> DiffResult:
        """The changes without the ratios that the pages of the two audits withhold."""
        if min_cell == 1:
            return self
        copies = changes_between(*(redact(own, min_cell).result for own in (self.old, self.new)))
        printed = []
        for own, copy in zip(self.changes, copies, strict=True):
            known = [name for name in ("old", "new") if not math.isnan(getattr(own, name))]
            lost = [name for name in known if math.isnan(getattr(copy, name))]
            if lost:
                hidden: dict[str, Any] = dict.fromkeys((*lost, "delta"), math.nan)
                ends = ("interval", *(f"{name}_interval" for name in lost))
                hidden |= dict.fromkeys(ends, UNKNOWN_PAIR)
                reason = own.reason if own.status in (WITHIN_ERROR, UNKNOWN) else ""
                own = replace(own, **hidden, reason=reason, withheld=frozenset(hidden))
            printed.append(own)
        return replace(self, changes=tuple(printed))


def diff(
    old: AuditResult | str | os.PathLike[str], new: AuditResult | str | os.PathLike[str]
) -> DiffResult:
    """Tell what changed between two audits: what is new, gone, larger, smaller or within error.

    Parameters
    ----------
    old, new : AuditResult or path-like
        Results, or files that ``to_json`` or ``mdfa audit --json`` wrote, for the same groups and
        outcomes.

    Returns
    -------
    diff : DiffResult

    Raises
    ------
    InputError
        If a file cannot be read, or the two have no search in common.

    Notes
    -----
    The interval of a change is made from those of the two ratios, on the log scale, by
    the method of variance estimates recovery: an end lies the root of the sum of two squared
    distances away, those of each ratio from its own end (Zou and Donner, Statistics in Medicine 27,
    2008), differences of means in units of the outcome. It is for audits of different people. A
    verdict that flips while this interval holds no change is within error.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> result = mdfa.AuditResult(
    ...     violations=(
    ...         mdfa.Violation(group="f", outcome=1, delta=0.5, interval=(0.2, 0.8)),
    ...     )
    ... )
    >>> mdfa.diff(result, result).to_frame()["status"].tolist()
    ['within error', 'unknown']
    """
    audits = [
        own if isinstance(own, AuditResult) else AuditResult.from_json(own) for own in (old, new)
    ]
    changes = changes_between(*audits)
    if not any(own.old_verdict and own.new_verdict for own in changes):
        raise InputError(
            "old, new: the two audits have no search in common; audits of the same sensitive features, "
            "groups and outcomes are needed."
        )
    return DiffResult(old=audits[0], new=audits[1], changes=changes, notes=notes_on(*audits))


_READING: Final = (
    "Worst case: the {size} in the worst subgroup that each audit found, not always the same rows; "
    "everybody: of all who are compared. Change: the {size} now {over} the {size} before, with an "
    "interval made from the two intervals. Each interval is by itself: where nothing changed, one in "
    "twenty (at 95 %) lies on one side of {none} all the same. Whether an old finding holds is asked "
    "by measuring its rule on new rows: mdfa measure NEW.csv --from OLD.json."
)


def tell(result: DiffResult) -> Document:
    """Put the changes into words."""
    worst = [own for own in result.changes if own.quantity == WORST_CASE]
    told = [own for own in worst if own.status not in (WITHIN_ERROR, UNKNOWN) or own.reason]
    return Document(
        "What changed between two audits",
        (
            Section("headline", "", (Paragraphs((_headline(result),), "headline"),)),
            notes_section(result.notes),
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
    # Of a difference told by the other direction, less by -8 being more by 8.
    shown = change.old if change.status == ONLY_BEFORE else change.new
    turned = change.by_difference and shown < 0
    before, now, *moves = (change.old, change.new, change.delta, *change.interval)
    if turned:
        before, now, moves = -before, -now, [-moves[0], -moves[2], -moves[1]]
    old, new = effect.alike([*map(effect.from_scale, (before, now))])
    size, *span = short(effect.alike([*map(effect.from_scale, moves)]))
    if not math.isnan(change.per) and size:
        new, size = effect.with_unit(new, now), effect.with_unit(size, moves[0])
    if change.by_difference:
        if before < 0:
            phrase = Phrase.of(change)
            other = phrase if turned else phrase.turned
            old = f"{old.removeprefix('-')} {other.direction}"
        moved = in_brackets(f", before {old}, a change of {size}", span[0], span[1], level)
    else:
        moved = in_brackets(f", {size} times as much", span[0], span[1], level) if size else ""
        moved = f", before {old}{moved}"
    if change.status in (ONLY_NOW, ONLY_BEFORE):
        text = _said(change, new if change.status == ONLY_NOW else old, turned)
        return f"{what}, {text}; searched for {change.status}."
    if not size and (change.by_difference or not math.isinf(change.old)):
        get = "" if change.by_difference else f" {gets(change)}"
        lost = ", by numbers that are withheld" if change.withheld else ""
        return f"{what}, {say.group_of(change)}{get}: {change.status}{lost}{why}."
    return f"{what}, {_said(change, new, turned)}{moved}: {change.status}{why}."


def _said(change: Change, size: str, turned: bool) -> str:
    """Who gets how much more, how many times as much, or how much more often, than whom."""
    who, others = say.group_of(change), say.others_of(change)
    if change.by_difference:
        size = "an unknown amount" if size == "unknown" else size
        phrase = Phrase.of(change).turned if turned else Phrase.of(change)
        return f"{who} {phrase.by(size)}{effect_of(change).each} than {others}"
    size = "an unknown number of" if size == "unknown" else size
    if change.outcome_scale:  # of those who get less the others' mean is over theirs
        phrase = Phrase.of(change)
        one, other = (who, others) if phrase.taken else (others, who)
        much = f"{size} times as {phrase.many or 'much'} {phrase.what}".rstrip()
        verb = f"{phrase.verb}s" if one == "everyone else" else phrase.verb
        return f"{one} {verb} {much} as {other}"
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
