"""Labels that differ in spelling alone: found, named, and taken for one if that is asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.columns import Labels, listing
from mdfa_fairness_plugin.exceptions import Count, Message, SpellingWarning, WarningLog, is_hidden

MERGED = "MergedSpellings"
ADVICE = "Pass merge_spellings=True to take them for one."

# What spellings may differ in, and what takes it away, in this order.
_DIFFERENCES: Mapping[str, Callable[[str], str]] = {
    "invisible characters": lambda text: "".join(c for c in text if not is_hidden(c)),
    "blanks at the ends": str.strip,
    "a dot at the end": lambda text: text.rstrip(".") or text,
    "capital letters": str.casefold,
}
_MOST_LISTED = 5


def twins(values: Sequence[Hashable]) -> list[list[int]]:
    """Places of labels that differ in spelling alone, those of one word together."""
    places: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        if isinstance(value, str):
            places.setdefault(_plain(value), []).append(place)
    return [one for one in places.values() if len(one) > 1]


def told_apart_by(values: Sequence[Hashable]) -> tuple[str, str]:
    """What labels that differ in spelling alone differ in, and which these are; empty if none do."""
    pairs = [[str(values[place]) for place in one] for one in twins(values)]
    if not pairs:
        return "", ""
    found = [
        what  # which must be taken away to make the spellings of each word the same
        for what in _DIFFERENCES
        if any(len({_plain(text, what) for text in one}) > 1 for one in pairs)
    ]
    listed = listing((Message(" and ".join(map(repr, one))) for one in pairs), _MOST_LISTED)
    return ", ".join(found[:-1]) + " and " * (len(found) > 1) + found[-1], listed


def merged(labels: Labels) -> Labels:
    """Labels with every spelling of a word as its commonest."""
    spellings = commonest_spellings(labels.values, labels.counts)
    return labels.called([spellings.get(value, value) for value in labels.values])


def commonest_spellings(
    values: Sequence[Hashable], counts: Sequence[int] | np.ndarray
) -> dict[Hashable, Hashable]:
    """The commonest spelling, the first of equals, of each label that has a better one.

    One with blanks or a dot at its end is the best only where all are such.
    """
    found: dict[Hashable, Hashable] = {}
    for places in twins(values):
        best = max(places, key=lambda one: (_is_bare(str(values[one])), counts[one]))
        found |= {values[one]: values[best] for one in places if one != best}
    return found


def asked_as(asked: Any, known: Iterable[Hashable]) -> Any:
    """Labels asked for, alone or in lists or by name, spelled as the known ones."""
    spelling = {_plain(value): value for value in known if isinstance(value, str)}

    def spelled(one: Any) -> Any:
        if isinstance(one, str):
            return spelling.get(_plain(one), one)
        if isinstance(one, Mapping):
            return {name: spelled(own) for name, own in one.items()}
        return type(one)(map(spelled, one)) if isinstance(one, list | tuple | set) else one

    return spelled(asked)


def respelled(labels: Labels, known: Iterable[Hashable]) -> Labels:
    """Labels spelled as the known ones of the same words."""
    return labels.called(asked_as([*labels.values], known))


def reading_as(spellings: Mapping[Hashable, Hashable], n_rows: int) -> Message:
    """Which spellings are read as which, in how many rows."""
    said = [Message(f"{one!r} as {other!r}") for one, other in spellings.items()]
    return Message(listing(said), " (", Count(n_rows), ")")


def read_spellings(
    columns: Mapping[str, Labels], argument: str, log: WarningLog, *, merge: bool
) -> dict[str, Labels]:
    """Labels of columns, merged if asked; says so, or which are told apart. "" needs no name."""
    out, forms, found = dict(columns), [], []
    for name, labels in columns.items():
        head = f"{name!r}: " if name else ""
        forms += [Message(f"{head}{text!r}") for text in labels.forms]
        used = labels.used()
        if not merge:
            difference, listed = told_apart_by(used.values)
            found += [Message(f"{head}{listed} ({difference})")] * bool(listed)
        elif spellings := commonest_spellings(used.values, used.counts):
            out[name] = merged(used)
            n = int(used.counts[[used.values.index(value) for value in spellings]].sum())
            found.append(Message(head, reading_as(spellings, n)))
    if forms:
        said = f"{argument}: written in two Unicode forms, which look alike, and read as one: "
        log.warn(SpellingWarning, said, listing(forms), ".")
    if found and merge:
        log.note(MERGED, f"{argument}: spellings read as one: ", listing(found), ".")
    elif found:
        said = f"{argument}: labels that differ only in spelling are taken for different ones: "
        log.warn(SpellingWarning, said, listing(found), f". {ADVICE}")
    return out


def _is_bare(text: str) -> bool:
    return text == _plain(text, "capital letters")


def _plain(text: str, keep: str = "") -> str:
    """Text without what spellings differ in, but for one such thing."""
    for what, without in _DIFFERENCES.items():
        if what != keep:
            text = without(text)
    return text
