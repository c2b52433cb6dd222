"""What outcomes and groups are called, which outcome is good, and why features are used."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mdfa_fairness_plugin.data.amounts import LESS, MORE
from mdfa_fairness_plugin.data.columns import find_label, known_label, listing
from mdfa_fairness_plugin.data.display import DisplayFeature
from mdfa_fairness_plugin.data.sensitive import UNNAMED
from mdfa_fairness_plugin.exceptions import InputError, did_you_mean
from mdfa_fairness_plugin.records import SearchKey, ratio_of
from mdfa_fairness_plugin.records.searches import AMOUNT
from mdfa_fairness_plugin.settings import Settings

PER_EXPOSURE: Final = " per unit of exposure"
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
    # Whether an outcome is bad for people, by label; empty if it is not known.
    harms: Mapping[Hashable, bool] = field(default_factory=dict)
    amounts: Mapping[Hashable, str] = field(default_factory=dict)  # what is said of a number
    scale: str = ""  # what that is counted in

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
            "outcome_scale": self.scale if key.outcome in self.amounts else "",
            "harm": self.harm(key.outcome),
        }

    def harm(self, outcome: Hashable) -> bool | None:
        """Whether an outcome is bad for people; None if it is not known."""
        if self.harms or self.favorable is None:
            return self.harms.get(outcome)
        return outcome != self.favorable

    def verb(self, outcome: Hashable) -> str:
        """What people with an outcome do, such as ``are refused (approved = 0)``; empty if unnamed."""
        if outcome in self.amounts:
            return self.amounts[outcome]
        which = f"{self.outcome_name} = {outcome}" if self.outcome_name else ""
        if outcome in self.outcome_names:
            return f"are {self.outcome_names[outcome]}{f' ({which})' if which else ''}"
        speaks = isinstance(outcome, str) and outcome.strip().lower() not in _ANSWERS
        says_more = self.outcome_name.strip().lower() != "outcome"  # the outcome "outcome = 0"
        if which and says_more and (self.was_asked or not speaks):
            return f'get the outcome "{which}"'
        return ""

    def impact(self, outcome: Hashable, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Favourable rate of the group over the others', with its interval; NaN if it is not known."""
        told: tuple[float, ...] = (math.nan,) * 3
        if outcome in self.amounts and self.harms:
            told = self._of_means(outcome, figures)
        elif self.harm(outcome) is False:
            told = (figures["delta"], *figures["interval"])
        elif self.harm(outcome) and (len(self.labels) == 2 or self.favorable is None):
            told = figures["otherwise"]
        ratio, low, high = map(ratio_of, told)
        return {"impact_ratio": ratio, "impact_interval": (low, high)}

    def _of_means(self, outcome: Hashable, figures: Mapping[str, Any]) -> tuple[float, ...]:
        """Log ratio of the group's mean to the others', where more is better; else not known."""
        delta, (low, high) = figures["delta"], figures["interval"]
        if outcome == MORE:
            return (math.nan,) * 3 if self.harms[MORE] else (delta, low, high)
        return (-delta, -high, -low) if self.harms.get(outcome) else (math.nan,) * 3


def read_words(asked: Settings, problem: Any, column_name: str) -> Words:
    """Check what the user calls outcomes and groups, and which outcomes are good."""
    labels, columns = problem.outcome_labels, problem.sensitive
    favorable = asked.favorable_label
    if favorable is not None:
        favorable = known_label(favorable, labels, "favorable_label", "the outcomes found")
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
    if problem.quantity is not None:
        (column,) = columns
        what = "of the sensitive quantity" if column.name == UNNAMED else column.name
        usual = {(column.name, own): f"those with {own} {what}" for own in (MORE, LESS)}
        groups = usual | groups
    for own in columns:
        called = {value: text for (name_, value), text in groups.items() if name_ == own.name}
        _refuse_twins(called, own.labels.values, "group_names")
    named = _named(asked.outcome_names, labels or problem.outcomes, "outcome_names")
    _refuse_twins(named, labels, "outcome_names")
    title = " ".join((name or column_name).split())
    return Words(
        outcome_name=title,
        harms=_harms(asked, problem, favorable),
        amounts=_amounts(problem, title, named),
        scale="" if problem.amount is None else problem.amount.scale,
        was_asked=name is not None,
        outcome_names=named,
        group_names=groups,
        labels=tuple(labels),
        favorable=favorable,
    )


def _harms(asked: Settings, problem: Any, favorable: Hashable | None) -> dict[Hashable, bool]:
    """Which outcomes are bad for people, if it was said which are good."""
    end = asked.favorable
    if problem.cuts and favorable is not None:
        lowest, *_, highest = asked.ordered
        ends = {"low": lowest, "high": highest}
        told = [name for name, label in ends.items() if find_label(label, (favorable,)) == 0]
        if not told or end not in (None, *told):
            raise InputError(
                f"favorable_label: {favorable!r} is not the good end of the order {lowest!r} to "
                f"{highest!r}. Say favorable='high' or 'low' instead."
            )
        end = told[0]
    if end is None:
        return {} if favorable is None else {one: one != favorable for one in problem.outcomes}
    high = end == "high"
    less, more = problem.amount.directions
    harms = {less: high, more: not high}
    return harms | {label: high != cut.above for label, cut in problem.cuts.items()}


def _amounts(problem: Any, name: str, named: Mapping[Hashable, str]) -> dict[Hashable, str]:
    """What people get of a number, by outcome, such as ``get less wage``."""
    if problem.amount is None:
        return {}
    amount = problem.amount
    per = PER_EXPOSURE if amount.per else ""
    if amount.scale != AMOUNT:
        where = f" in {name or 'counts'}{per}" if name or per else ""
        ranks = (f"rank lower{where}", f"rank higher{where}")
        return dict(zip(amount.directions, ranks, strict=True))
    what = name or "of the outcome"
    return {one: f"get {one} {named.get(one) or what}{per}" for one in (LESS, MORE)}


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
        known = known_label(label, labels, argument)
        if not (isinstance(text, str) and text.strip()):
            raise InputError(f"{argument}: {label!r} is to be called {text!r}; a text is needed.")
        names[known] = " ".join(text.split())
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


_KEYS: Final = ("reason", "protected")


class StatedReason(NamedTuple):
    """What is stated of a feature."""

    reason: str = ""
    protected: bool = False  # said to measure a protected trait


def read_reasons(given: Any, displays: Sequence[DisplayFeature]) -> dict[str, StatedReason]:
    """What is stated of features by the name they are shown with."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            "feature_reasons: a mapping of features to reasons expected, "
            f"{type(given).__name__} found."
        )
    owner = {str(column): one.name for one in displays for column in one.source_columns}
    owner |= {one.name: one.name for one in displays}
    reasons: dict[str, StatedReason] = {}
    for name, own in given.items():
        if str(name) not in owner:
            raise InputError(
                f"feature_reasons: {name!r} is no audited feature.{did_you_mean(name, owner)} Those "
                f"audited: {listing([one.name for one in displays])}."
            )
        shown = owner[str(name)]
        if shown in reasons:
            raise InputError(
                f"feature_reasons: {name!r} is shown as {shown!r}, of which another reason was given; "
                "give one for all of its columns."
            )
        reasons[shown] = _stated(own, f"feature_reasons[{str(name)!r}]")
    return reasons


def _stated(given: Any, argument: str) -> StatedReason:
    """A reason, or a mapping that has it."""
    told = {"reason": given} if isinstance(given, str) else given
    if not isinstance(told, Mapping):
        raise InputError(
            f'{argument}: a text or {{"reason": ..., "protected": True}} expected, {given!r} found.'
        )
    for key in told:
        if key not in _KEYS:
            raise InputError(
                f"{argument}: {key!r} is unknown.{did_you_mean(key, _KEYS)} Those known: "
                f"{', '.join(_KEYS)}."
            )
    reason, protected = told.get("reason", ""), told.get("protected", False)
    if not isinstance(protected, bool):
        raise InputError(f"{argument}: protected: True or False expected, {protected!r} found.")
    blank = isinstance(reason, str) and not reason.strip()
    only_protected = "protected" in told and "reason" not in told
    if not isinstance(reason, str) or (blank and not only_protected):
        raise InputError(f"{argument}: reason: a text expected, {reason!r} found.")
    return StatedReason(" ".join(reason.split()), protected)
