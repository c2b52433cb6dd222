"""What outcomes and groups are called in sentences, and which outcome is the good one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mdfa_fairness_plugin.data.columns import find_label, listing
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import SearchKey, ratio_of
from mdfa_fairness_plugin.settings import Settings

# Labels that answer a question, and mean nothing without its name.
_ANSWERS: Final = frozenset({"yes", "no", "y", "n", "true", "false", "t", "f"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Words:
    """Names of outcomes and groups, by label; and the favourable outcome, if it is known."""

    outcome_name: str = ""
    was_asked: bool = False  # whether the outcome was given that name, or has it from its column
    outcome_names: Mapping[Hashable, str] = field(default_factory=dict)
    group_names: Mapping[tuple[str, Hashable], str] = field(default_factory=dict)
    labels: tuple[Hashable, ...] = ()
    favorable: Hashable | None = None

    def told(self, key: SearchKey) -> dict[str, Any]:
        """Fields of a search: who, what, and how that is said."""
        column = key.sensitive_feature
        return {
            "sensitive_feature": column,
            "group": key.group,
            "reference": key.reference,
            "outcome": key.outcome,
            "outcome_text": self.verb(key.outcome),
            "group_text": self.group_names.get((column, key.group), ""),
            "reference_text": self.group_names.get((column, key.reference), ""),
            "harm": None if self.favorable is None else key.outcome != self.favorable,
        }

    def verb(self, outcome: Hashable) -> str:
        """What people with an outcome do, such as ``are refused (approved = 0)``; empty if unnamed."""
        which = f"{self.outcome_name} = {outcome}" if self.outcome_name else ""
        if outcome in self.outcome_names:
            return f"are {self.outcome_names[outcome]}{f' ({which})' if which else ''}"
        speaks = isinstance(outcome, str) and outcome.strip().lower() not in _ANSWERS
        if which and (self.was_asked or not speaks):
            return f'get the outcome "{which}"'
        return ""

    def impact(self, outcome: Hashable, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Favourable rate of the group over the others', with its interval; NaN if it is not known."""
        told = (math.nan,) * 3
        if self.favorable is not None and outcome == self.favorable:
            told = (figures["delta"], *figures["interval"])
        elif self.favorable is not None and len(self.labels) == 2:
            told = figures["otherwise"]
        ratio, low, high = map(ratio_of, told)
        return {"impact_ratio": ratio, "impact_interval": (low, high)}


def read_words(
    asked: Settings,
    labels: Sequence[Hashable],
    columns: Sequence[SensitiveFeature],
    column_name: str,
) -> Words:
    """Check what the user calls outcomes and groups."""
    favorable = None
    if asked.favorable_label is not None:
        place = find_label(asked.favorable_label, labels)
        if place is None:
            raise InputError(
                f"favorable_label: {asked.favorable_label!r} is not among the outcomes found: "
                f"{listing(labels)}."
            )
        favorable = labels[place]
    name = asked.outcome_name
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise InputError(f"outcome_name: a text expected, {name!r} found.")
    groups: dict[tuple[str, Hashable], str] = {}
    given = asked.group_names
    if isinstance(given, Mapping) and any(isinstance(own, Mapping) for own in given.values()):
        known = {column.name: column for column in columns}
        for column, own in given.items():
            if str(column) not in known:
                raise InputError(
                    f"group_names: {column!r} is no sensitive column; those are {listing(known)}."
                )
            values = known[str(column)].labels.values
            names = _named(own, values, f"group_names[{column!r}]")
            groups |= {(str(column), value): text for value, text in names.items()}
    elif given is not None:
        every = [value for column in columns for value in column.labels.values]
        names = _named(given, every, "group_names")
        groups = {(own.name, value): text for own in columns for value, text in names.items()}
    for own in columns:
        called = {value: text for (name_, value), text in groups.items() if name_ == own.name}
        _refuse_twins(called, own.labels.values, "group_names")
    named = _named(asked.outcome_names, labels, "outcome_names")
    _refuse_twins(named, labels, "outcome_names")
    return Words(
        outcome_name=" ".join((name or column_name).split()),
        was_asked=name is not None,
        outcome_names=named,
        group_names=groups,
        labels=tuple(labels),
        favorable=favorable,
    )


def _named(given: Any, labels: Sequence[Hashable], argument: str) -> dict[Hashable, str]:
    """Names by label as it was found."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            f"{argument}: a mapping of labels to names expected, {type(given).__name__} found."
        )
    names: dict[Hashable, str] = {}
    for label, text in given.items():
        place = find_label(label, labels)
        if place is None:
            raise InputError(
                f"{argument}: {label!r} is not among the labels found: {listing(labels)}."
            )
        if not (isinstance(text, str) and text.strip()):
            raise InputError(f"{argument}: {label!r} is to be called {text!r}; a text is needed.")
        names[labels[place]] = " ".join(text.split())
    return names


def _refuse_twins(names: Mapping[Hashable, str], labels: Sequence[Hashable], argument: str) -> None:
    """Two that are called the same, or one by the label of another, could not be told apart."""
    for label, text in names.items():
        for other in labels:
            if other != label and text in (names.get(other), str(other)):
                raise InputError(
                    f"{argument}: {label!r} is to be called {text!r}, which is what {other!r} is "
                    "called; names have to tell them apart."
                )
