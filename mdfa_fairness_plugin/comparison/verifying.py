"""Whether an audit is of these files, and whether it gives the same when it is made again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mdfa_fairness_plugin.describe.wording import clean, count
from mdfa_fairness_plugin.provenance import LINEAR_ALGEBRA, ReadFile
from mdfa_fairness_plugin.report import text
from mdfa_fairness_plugin.report.document import Bullets, Document, Paragraphs, Section
from mdfa_fairness_plugin.report.plain import as_json
from mdfa_fairness_plugin.report.statement import file_text
from mdfa_fairness_plugin.results import AuditResult

_MOST_LISTED: Final = 12
_MOST_LETTERS: Final = 60  # of one value
# Sums of other threads differ in their last bits.
_ROUNDING: Final = 1e-9
# Told by themselves, or what an audit made again may say otherwise.
_NOT_COMPARED: Final = ("command", "files", "request", "versions")
_GONE: Final = "nothing"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that was verified: what is said of it, and whether it is as it was."""

    said: str
    same: bool


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Findings on the files, on the versions of packages, and on the audit if it was made again."""

    files: tuple[Finding, ...]
    versions: tuple[Finding, ...]
    again: tuple[Finding, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return all(own.same for own in (*self.files, *self.versions, *self.again))

    def summary(self) -> str:
        """Tell in plain text what is the same and what is not."""
        titles = ("Files", "Versions", "The audit made again")
        parts = tuple(zip(titles, (self.files, self.versions, self.again), strict=True))
        unlike = [title for title, told in parts if not all(own.same for own in told)]
        headline = f"What differs: {', '.join(unlike).lower()}." if unlike else "Nothing differs."
        if not self.again:
            headline += " The numbers were not verified: --again makes the audit again."
        sections = (
            Section(title, title, (Bullets(tuple(own.said for own in told)),))
            for title, told in parts
        )
        first = Section("headline", "", (Paragraphs((headline,)),))
        return text.render(Document("Verification of an audit", (first, *sections)))


def files_compared(then: Sequence[ReadFile], now: Sequence[ReadFile]) -> Iterator[Finding]:
    """Files given beside those that were read: by content, by name, or the one that is left."""
    left, others = list(then), []
    for own in now:
        match = next((one for one in left if one.sha256 == own.sha256), None)
        if match is None:
            others.append(own)
            continue
        left.remove(match)
        called = "" if match.name == own.name else f" (called {clean(match.name, 200)} then)"
        yield Finding(said=f"The same{called}: {file_text(own)}.", same=True)
    for own in others:
        match = next((one for one in left if one.name == own.name), None)
        if match is None and len(left) == len(others) == 1:
            match = left[0]
        if match is None:
            yield Finding(said=f"Not among the files that were read: {file_text(own)}.", same=False)
            continue
        left.remove(match)
        yield Finding(said=f"Differs: {file_text(match)} then; {file_text(own)} now.", same=False)
    for own in left:
        yield Finding(said=f"Not given, so not verified: {file_text(own)}.", same=True)


def versions_compared(then: Mapping[str, Any], now: Mapping[str, str]) -> Iterator[Finding]:
    """Versions of packages then and now."""
    names = sorted({*then, *now})
    changed = [name for name in names if then.get(name) != now.get(name)]
    for name in changed:
        told = (clean(own.get(name, _GONE), _MOST_LETTERS) for own in (then, now))
        said = "{}: {} then, {} now.".format(clean(name, _MOST_LETTERS), *told)
        if name == LINEAR_ALGEBRA:
            said += " Others round otherwise, so that an audit made again may find other people."
        # Audits of before did not keep that.
        yield Finding(said=said, same=name == LINEAR_ALGEBRA and name not in then)
    if not changed:
        listed = ", ".join(f"{name} {now[name]}" for name in names)
        yield Finding(said=f"The same: {listed}.", same=True)


def audits_compared(then: Mapping[str, Any], again: AuditResult) -> Iterator[Finding]:
    """The JSON of an audit beside the audit made again: its rows, then every value."""
    rows = any("membership" in own for own in then["violations"])
    now = json.loads(as_json(again.to_dict(rows=rows)))
    old, new = (_compared(own) for own in (then, now))
    hashes = [own.get("provenance", {}).get("input_hash") for own in (then, now)]
    if hashes[0] == hashes[1]:
        yield Finding(said="The same rows were audited (their hashes are equal).", same=True)
    else:
        n = [own.get("n_samples") for own in (then, now)]
        sizes = "" if n[0] == n[1] else f", {_short(n[0])} rows then and {_short(n[1])} now"
        yield Finding(said=f"Other rows were audited (their hashes differ{sizes}).", same=False)
    found = list(_differences(old, new))
    for line in found[:_MOST_LISTED]:
        yield Finding(said=line, same=False)
    if len(found) > _MOST_LISTED:
        more = count(len(found) - _MOST_LISTED, "more value")
        yield Finding(said=f"{more} differ.", same=False)
    if not found:
        yield Finding(said="Every value is the same.", same=True)


def _compared(told: Mapping[str, Any]) -> dict[str, Any]:
    """What should be the same, in an order that has what is read first in front."""
    made = {k: v for k, v in told["provenance"].items() if k not in _NOT_COMPARED}
    made.pop("input_hash", None)  # told by itself
    rest = {k: v for k, v in told.items() if k not in ("violations", "provenance")}
    return {"violations": told["violations"], "provenance": made, **rest}


def _differences(then: Any, now: Any, where: str = "") -> Iterator[str]:
    """Each value that differs, by its place."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*then, *now)):
            place = f"{where}.{key}" if where else key
            yield from _differences(then.get(key, _GONE), now.get(key, _GONE), place)
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for i, pair in enumerate(zip(then, now, strict=True)):
            yield from _differences(*pair, f"{where}[{i}]")
    elif not _same(then, now, where):
        yield f"{clean(where, 200)}: {_short(then)} then, {_short(now)} now."


def _same(then: Any, now: Any, where: str) -> bool:
    if isinstance(then, float) and isinstance(now, float | int):
        least = 0.0 if "p_value" in where else _ROUNDING  # the smallest p says most
        return math.isclose(then, now, rel_tol=_ROUNDING, abs_tol=least)
    return bool(then == now)


def _short(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False), _MOST_LETTERS)
