"""What changed between two audits of the same question: immutable records, and how they are made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scipy.special import ndtri

from mdfa_fairness_plugin.comparison.records import EVERYBODY, WORST_CASE
from mdfa_fairness_plugin.describe.wording import clean, label_text, plain_label
from mdfa_fairness_plugin.fields import Column, Record, number, pair, said, text
from mdfa_fairness_plugin.measure.intervals import change_interval, farther
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    VIOLATION,
    AuditRecord,
    Measured,
    SearchKey,
    Violation,
    ratio_of,
)
from mdfa_fairness_plugin.records.effects import Compared
from mdfa_fairness_plugin.records.searches import Keyed
from mdfa_fairness_plugin.report.document import Bullets, Section
from mdfa_fairness_plugin.report.reading import entries

NEW: Final = "new"
GONE: Final = "gone"
LARGER: Final = "larger"
SMALLER: Final = "smaller"
WITHIN_ERROR: Final = "within error"
UNKNOWN: Final = "unknown"
ONLY_NOW: Final = "only now"
ONLY_BEFORE: Final = "only before"
STATUSES: Final = (NEW, GONE, LARGER, SMALLER, WITHIN_ERROR, UNKNOWN, ONLY_NOW, ONLY_BEFORE)

# What both have in common besides the search.
_SAID: Final = ("harm", "outcome_text", "group_text", "reference_text", "outcome_scale", "per")
# Settings that do not decide what a ratio means.
_OF_THE_RUN: Final = frozenset({"random_state", "n_repeats", "device"})


def _times(name: str, table: int, case: int) -> tuple[Column, ...]:
    """Columns of both ends of an interval on the log scale, as ratios."""
    return (
        Column(f"{name}_low", table, case, lambda ends: ratio_of(ends[0])),
        Column(f"{name}_high", table + 1, case + 1, lambda ends: ratio_of(ends[1])),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Change(Keyed, Compared, Record):
    """One ratio of two audits, before and now.

    Parameters
    ----------
    sensitive_feature, group, reference, outcome, outcome_text, group_text, reference_text, harm
        Whose ratio, as for ``Violation``; so is ``outcome_scale``.
    quantity : {"worst case", "everybody"}
        In the worst subgroup that each audit found, who need not be alike, or of everybody compared.
    status : str
        "new" (a violation now, none before), "gone", "larger" or "smaller" where the interval of the
        change is on one side of no change; "within error" where it is not; "unknown" where one of the
        two could not be measured; "only now" and "only before" where one audit had no such search.
    reason : str
        What else there is to say of the status.
    old, new : float
        Log ratio before and now.
    old_interval, new_interval : tuple of float
    old_verdict, new_verdict : str
        As of ``Violation``; of the worst case alone.
    old_rule, new_rule : str
        Who is in the worst subgroup.
    delta : float
        ``new`` less ``old``: the logarithm of the ratio of the ratios.
    interval : tuple of float
        Ends of the interval on ``delta``, for audits of different people.
    confidence_level : float
    measure : {"ratio", "difference", "none"}
        What both audits compare sides by: of a "difference" of means ``old``, ``new`` and ``delta`` are
        in units of the outcome; "none" if one compares by a ratio and the other by a difference.
    per : float
        How much more of a sensitive quantity slopes are for, as they are now; NaN between groups.
    """

    outcome_text: str = text("always")
    group_text: str = text("always")
    reference_text: str = text("always")
    harm: bool | None = field(
        default=None, metadata=said("always", Column("harm", 18, 12, dtype=object))
    )
    quantity: str = text("always", Column("quantity", 5, dtype=object), default=WORST_CASE)
    status: str = text("always", Column("status", 6, 1, dtype=object), default=UNKNOWN)
    reason: str = text("always", Column("reason", 19, 13, dtype=object))
    delta: float = number("always", Column("change", 20, 2), Column("times", 7, 3, ratio_of))
    interval: tuple[float, float] = pair("always", *_times("times", 8, 4))
    old: float = number("always", Column("ratio_before", 10, 6, ratio_of))
    old_interval: tuple[float, float] = pair("always", *_times("ratio_before", 11, 7))
    new: float = number("always", Column("ratio_now", 13, 9, ratio_of))
    new_interval: tuple[float, float] = pair("always", *_times("ratio_now", 14, 10))
    measure: str = field(default="ratio", metadata=said("always", json="told"))
    outcome_scale: str = field(default="", metadata=said("always", json="told"))
    per: float = field(default=math.nan, metadata=said("always", settle=float, json="told"))
    old_verdict: str = text("always", Column("verdict_before", 16, 14, dtype=object))
    new_verdict: str = text("always", Column("verdict_now", 17, 15, dtype=object))
    old_rule: str = text("always", Column("rule_before", 21, 16, dtype=object))
    new_rule: str = text("always", Column("rule_now", 22, 17, dtype=object))
    confidence_level: float = number("always", default=0.95)

    @property
    def verdict(self) -> str:
        """The status, or that there is not enough evidence."""
        return INSUFFICIENT if math.isnan(self.interval[0]) else self.status


def changes_between(old: AuditRecord, new: AuditRecord) -> tuple[Change, ...]:
    """Every search of either audit, its worst case and everybody, in the order of the new one."""
    before = {named_search(own.key): own for own in old.violations}
    now = {named_search(own.key): own for own in new.violations}
    # Intervals of another level are widened to that of the new audit.
    upper, its = ((1 + own.confidence_level) / 2 for own in (new, old))
    widen = float(ndtri(upper) / ndtri(its))
    found: list[Change] = []
    for name in (*now, *(name for name in before if name not in now)):
        found += _of_search(before.get(name), now.get(name), widen, new.confidence_level)
    return tuple(found)


def named_search(key: SearchKey) -> str:
    """A search by what its labels are in JSON, where one of two results comes from a file."""
    parts = (key.sensitive_feature, key.group, key.reference, key.outcome)
    return json.dumps([plain_label(part) for part in parts])


def _of_search(
    old: Violation | None, new: Violation | None, widen: float, level: float
) -> Iterator[Change]:
    shown = new or old
    assert shown is not None
    who = {name: getattr(shown, name) for name in (*SearchKey.__dataclass_fields__, *_SAID)}
    who["confidence_level"] = level
    (was, old_rule), (is_now, new_rule) = (
        ("", "") if own is None else (own.verdict, own.rule) for own in (old, new)
    )
    told = _figures(old, new, widen, (was, is_now)) | {"old_verdict": was, "new_verdict": is_now}
    yield Change(**who, **told, old_rule=old_rule, new_rule=new_rule)
    before, now = (None if own is None else own.population for own in (old, new))
    yield Change(**who, **_figures(before, now, widen), quantity=EVERYBODY)


def _figures(
    old: Measured | None, new: Measured | None, widen: float, verdicts: tuple[str, str] = ("", "")
) -> dict[str, Any]:
    """Both ratios, the change between them, and what to call it."""
    told: dict[str, Any] = {"measure": (new or old or Measured()).measure}
    if old is not None and new is not None and old.measure != new.measure:
        reason = f"sides were compared by the {old.measure} and are by the {new.measure}"
        return {"measure": "none", "status": UNKNOWN, "reason": reason}
    if old is not None:
        per = 1.0 if new is None or math.isnan(new.per) else new.per / old.per
        own, span = per * _point(old), tuple(per * end for end in old.effect_interval)
        wider = tuple(own + widen * (end - own) for end in span)
        told |= {"old": own, "old_interval": wider if math.isfinite(own) else span}
    if new is not None:
        told |= {"new": _point(new), "new_interval": new.effect_interval}
    if old is None or new is None:
        return told | {"status": ONLY_NOW if old is None else ONLY_BEFORE}
    if not (old.measured and new.measured):
        when = [] if old.measured else ["before"]
        when += [] if new.measured else ["now"]
        return told | {"status": UNKNOWN, "reason": f"not measured {' nor '.join(when)}"}
    low, high = change_interval(told["new"], new.effect_interval, told["old"], told["old_interval"])
    was, is_now = (verdict == VIOLATION for verdict in verdicts)
    reason = ""
    if low > 0:
        status = NEW if is_now and not was else LARGER
    elif high < 0:
        status = GONE if was and not is_now else SMALLER
    else:
        status = WITHIN_ERROR
        if was != is_now:
            times = ("now", "before") if is_now else ("before", "now")
            reason = f"beyond chance {times[0]} and not {times[1]}, but chance explains the change"
    was_ends, ends = told["old_interval"], new.effect_interval
    if was_ends[0] > 0 > ends[1] or was_ends[1] < 0 < ends[0]:
        how = farther(ends, was_ends) or "neither surely more nor less"
        reason = f"now the other way round, and {how} unequal than before"
    delta = told["new"] - told["old"]
    return told | {"status": status, "reason": reason, "delta": delta, "interval": (low, high)}


def _point(own: Measured) -> float:
    """The effect, unknown where groups known by probability leave it open."""
    return math.nan if own.left_open else own.effect


# -- whether they can be compared


def notes_on(old: AuditRecord, new: AuditRecord) -> tuple[str, ...]:
    """What makes two audits not comparable, or their people the same, as far as it is known."""
    return (*_of_people(old, new), *_of_questions(old, new))


def notes_section(notes: tuple[str, ...]) -> Section:
    """These as a section of a page."""
    told = Bullets(tuple(clean(own, 2000) for own in notes))
    return Section("notes", "Whether they can be compared", (told,))


def _of_people(old: AuditRecord, new: AuditRecord) -> Iterator[str]:
    hashes = [own.provenance.get("input_hash") for own in (old, new)]
    files = [{one.sha256 for one in own.provenance.get("files", ())[:1]} for own in (old, new)]
    n = len(_labels(old) & _labels(new))
    not_independent = "so the two are not independent, and intervals of changes do not hold"
    if hashes[0] is not None and hashes[0] == hashes[1]:
        yield f"Both audits are of the same rows (their hashes are equal), {not_independent}."
    elif files[0] & files[1]:
        yield f"Both audits read the same file (its hashes are equal), {not_independent}."
    elif n:
        yield (
            "Some labels of rows stand in both audits; if they are persons, the two are not "
            "independent."
        )
    else:
        yield (
            "Whether the same persons stand in both audits is not known; that nobody does is assumed. "
            "Where many do, intervals of changes are mostly too wide, and new rows confirm less."
        )


def _labels(result: AuditRecord) -> set[Any]:
    """Labels of rows, where the data are here and their rows have names."""
    index = None if result.source is None else result.source.problem.index
    return set() if index is None or index.inferred_type == "integer" else set(index)


def _of_questions(old: AuditRecord, new: AuditRecord) -> Iterator[str]:
    for what, name in (
        ("audited features", "feature_names"),
        ("sensitive features", "sensitive_names"),
        ("outcomes", "outcome_labels"),
    ):
        was, is_now = ({label_text(one, 80) for one in getattr(own, name)} for own in (old, new))
        if was != is_now:
            unlike = _only_in_one(was, is_now)
            yield f"The {what} differ, so the ratios are not of the same question ({unlike})."
    before, after = _groups(old), _groups(new)
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield (
                f"The groups of {label_text(name)} differ "
                f"({_only_in_one(before[name], after[name])}), so everyone else is not the same "
                "everyone else."
            )
    told = [_asked(own) for own in (old, new)]
    differ = [
        f"{name} was {label_text(told[0].get(name), 60)} and is {label_text(told[1].get(name), 60)}"
        for name in sorted({*told[0], *told[1]})
        if repr(told[0].get(name)) != repr(told[1].get(name))
    ]
    if differ:
        yield f"The settings differ, so part of a change may be theirs: {'; '.join(differ)}."
    versions = [
        entries(own.provenance, "versions").get("mdfa_fairness_plugin") for own in (old, new)
    ]
    if versions[0] != versions[1]:
        first, second = map(label_text, versions)
        yield f"Made by versions {first} and {second} of the package."


def _only_in_one(was: set[str], is_now: set[str]) -> str:
    told = (("before:", was - is_now), ("now:", is_now - was))
    return "; ".join(f"only {when} {', '.join(sorted(rest))}" for when, rest in told if rest)


def _groups(result: AuditRecord) -> dict[str, set[str]]:
    """Groups of every sensitive feature, as far as they are known."""
    if result.source is not None:
        columns = result.source.problem.sensitive
        return {own.name: {label_text(one, 80) for one in own.labels.values} for own in columns}
    found: dict[str, set[str]] = {}
    for own in result.violations:
        found.setdefault(own.sensitive_feature, set()).add(label_text(own.group, 80))
        if own.reference is not None:
            found[own.sensitive_feature].add(label_text(own.reference, 80))
    return found


def _asked(result: AuditRecord) -> Mapping[str, Any]:
    """Settings that decide what a ratio means, by name."""
    parameters = entries(result.provenance, "parameters")
    told = {name: own for name, own in parameters.items() if name not in _OF_THE_RUN}
    others = ("where", "weight_type", "solver", "balance")
    told |= {name: result.provenance[name] for name in others if name in result.provenance}
    return told | {
        "confidence_level": result.confidence_level,
        "outcome_name": result.outcome_name,
        "favorable_label": plain_label(result.favorable_label),
    }
