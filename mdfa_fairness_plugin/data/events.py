"""What is compared: an event in the predictions, and among which rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mdfa_fairness_plugin.data.columns import Labels, find_label, is_real, listing, python_value
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.decisions import read_decisions
from mdfa_fairness_plugin.data.spelling import asked_as, merged, respelled
from mdfa_fairness_plugin.data.weights import weight_numbers
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditError

_ZERO_WEIGHT: Final = "zero weight"  # what an audit calls rows without


@dataclass(frozen=True, kw_only=True)
class Event:
    """An outcome by its opposite, and the true label it is a rate among (None: any)."""

    opposite: str
    among_positive: bool | None = None


EVENTS: Final[Mapping[str, Event]] = {
    "selection": Event(opposite="not selected"),
    "error": Event(opposite="correct"),
    "false_positive": Event(opposite="true_negative", among_positive=False),
    "false_negative": Event(opposite="true_positive", among_positive=True),
    "true_positive": Event(opposite="false_negative", among_positive=True),
}


def favorable_event(event: str, positive_is_good: bool = True) -> str:
    """Which of an event and its opposite is good for people; of errors, to be judged rightly."""
    if event == "error":
        return EVENTS[event].opposite
    happens = event != "false_negative"  # the positive label
    return event if happens == positive_is_good else EVENTS[event].opposite


@dataclass(frozen=True, kw_only=True, eq=False)
class Occurrence:
    """Outcome of each row, and the rows it is a rate among (None: all)."""

    event: str
    outcome: Any
    labels: Sequence[Hashable] = ()  # predicted, or true
    among: np.ndarray | None = None
    positive: Hashable = None  # label that means selected, where that matters
    several: bool = False  # whether each of more than two labels is audited

    def arguments(self, given: Mapping[str, Any], favorable_label: Any = None) -> dict[str, Any]:
        """Arguments of the audit: the settings given, and which outcome is good for people."""
        ordered = given.get("ordered") is not None
        if ordered and favorable_label is not None:
            raise InputError("favorable_label: of an order say favorable='high' or 'low' instead.")
        if given.get("merge_spellings", False):
            favorable_label = asked_as(favorable_label, self.labels)
        good = {"favorable": given.get("favorable") or "high"} if ordered else {}
        return dict(given) | good | {"favorable_label": self.favorable(favorable_label)}

    def features(self, table: Table) -> Table:
        """Features people are compared by."""
        return table

    def weights(self, given: Any) -> Any:
        """Sample weights of an audit: zero in rows that the rate is not about."""
        if self.among is None:
            return given
        return np.where(self.among, 1.0 if given is None else weight_numbers(given), 0.0)

    def excluded(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Rows that an audit with these weights left out, by reason."""
        n_other = 0 if self.among is None else int((~self.among).sum())
        if not n_other:
            return dict(counts)
        no = "not " if EVENTS[self.event].among_positive else ""
        n_zero = counts.get(_ZERO_WEIGHT, n_other) - n_other
        others = {reason: count for reason, count in counts.items() if reason != _ZERO_WEIGHT}
        told = {f"true label is {no}{self.positive}": n_other} | others
        return told | {_ZERO_WEIGHT: n_zero} if n_zero else told

    def favorable(self, label: Any = None) -> Hashable:
        """Which outcome is good for people, by the label that is; None: the one that means selected."""
        place = None if label is None else find_label(label, self.labels)
        if label is not None and place is None:
            raise InputError(
                f"favorable_label: {label!r} is not among the labels found: {listing(self.labels)}."
            )
        good = self.positive if place is None else self.labels[place]
        if self.several:
            return good
        if self.event == "error":
            return favorable_event(self.event)
        if good != self.positive and len(self.labels) > 2:
            raise InputError(
                f"favorable_label: with {len(self.labels)} labels it does not say which of "
                f"{self.event!r} and {EVENTS[self.event].opposite!r} is good for people; leave it "
                "out, or pass it as pos_label, too."
            )
        told_by_label = self.event == "selection" and len(self.labels) <= 2
        return good if told_by_label else favorable_event(self.event, good == self.positive)


def occurrence(
    y_true: Any,
    y_pred: Any,
    event: str,
    pos_label: Any,
    *,
    missing: str = "raise",
    merge: bool = False,
    several: str = "",
) -> Occurrence:
    """Tell in which rows the event happened, and refuse what leaves nothing to compare.

    Rows without a label are refused or have no outcome; spellings of one label are merged if asked.
    ``several`` lets each of more than two labels be audited: "auto" those that are no numbers,
    "declared" any.
    """
    if event not in EVENTS:
        raise InputError(f"event: one of {listing(EVENTS)} expected, {event!r} found.")
    numbers = {"numbers": "event='score'"} if several else {}
    labels = read_decisions(y_pred, "y_pred", "predictions", missing=missing, **numbers)
    labels = merged(labels) if merge else labels
    pos_label = asked_as(pos_label, labels.values) if merge else pos_label
    if event == "selection" and several and pos_label is None and len(labels.values) > 2:
        if several == "auto" and all(map(is_real, labels.values)):
            raise InputError(
                f"y_pred: {len(labels.values):,} different numbers were found: "
                f"{listing(labels.values)}. Say what they are: event='score' for amounts, "
                f"outcome_type='multiclass' for labels, ordered=[...] for grades; or which of them "
                f"means selected, as in pos_label={labels.values[-1]!r}."
            )
        return Occurrence(event=event, outcome=y_pred, labels=labels.values, several=True)
    if event == "selection":
        positive = positive_label(pos_label, labels.values)
        place = find_label(positive, labels.values)
        if place is None or len(labels.values) == 1:
            raise NothingToAuditError(
                f"y_pred: every one of the {len(labels.codes):,} predictions is "
                f"{listing(labels.values, 3)}: nothing to audit. Pass predictions that differ "
                "between people."
            )
        positive, outcome = labels.values[place], y_pred
        if len(labels.values) > 2:
            outcome = np.where(labels.codes == place, event, EVENTS[event].opposite).astype(object)
            outcome[labels.codes < 0] = None
        return Occurrence(event=event, outcome=outcome, labels=labels.values, positive=positive)
    if y_true is None:
        raise InputError(
            f"y_true: None was given; event={event!r} needs true labels. Pass them, or audit "
            "event='selection'."
        )
    truth = read_decisions(y_true, "y_true", "true labels", missing=missing)
    truth = respelled(merged(truth), labels.values) if merge else truth
    values, codes = _joined(labels.values, truth)
    rule, among, positive = EVENTS[event], None, None
    if event == "error":
        happened = codes != labels.codes
    else:
        positive = positive_label(pos_label, values)
        place = find_label(positive, values)
        # A label that nobody has is none of the places.
        place, positive = (-1, positive) if place is None else (place, values[place])
        among = ((codes == place) == rule.among_positive) & (codes >= 0)
        happened = (labels.codes == place) != (event == "false_negative")
        if not among.any():
            other = "" if rule.among_positive else " other than"
            raise NothingToAuditError(
                f"y_true: no row has a true label{other} {positive!r}, so there is no rate of "
                f"event={event!r}."
            )
        among |= codes < 0  # Of these it is not known; they have no outcome.
    known = (labels.codes >= 0) & (codes >= 0)
    seen = happened[known if among is None else known & among]
    if seen.all() or not seen.any():
        only = event if seen.any() else rule.opposite
        raise NothingToAuditError(
            f"y_pred: every one of the {len(seen):,} rows that event={event!r} is about is a case "
            f"of {only!r}: nothing to audit."
        )
    outcome = np.where(happened, event, rule.opposite).astype(object)
    outcome[~known] = None
    return Occurrence(event=event, outcome=outcome, labels=values, among=among, positive=positive)


def _joined(predicted: tuple[Hashable, ...], truth: Labels) -> tuple[list[Hashable], np.ndarray]:
    """Labels predicted or true, and the true ones as places among them."""
    values = list(predicted)
    places = []
    for value in truth.values:
        place = find_label(value, values)
        if place is None:
            place = len(values)
            values.append(value)
        places.append(place)
    n_common = len(predicted) + len(truth.values) - len(values)
    # Two answers of which one has another name on either side are -1 and 1 beside 0 and 1.
    if n_common == 0 or (n_common == 1 and len(predicted) == len(truth.values) == 2):
        found = "no label" if n_common == 0 else "only one label of two"
        raise InputError(
            f"y_true: it has {found} in common with y_pred: {listing(truth.values)} against "
            f"{listing(predicted)}. Give both the same labels."
        )
    return values, np.array([*places, -1], dtype=np.intp)[truth.codes]


def positive_label(
    pos_label: Any, labels: Sequence[Hashable], *, of_score: bool = False
) -> Hashable:
    """Label that means selected, or that a score tells."""
    if pos_label is None:
        for pair in ((0, 1), (-1, 1)):
            if all(find_label(label, pair) is not None for label in labels):
                return 1
        amounts = len(labels) > 2 and all(map(is_real, labels))
        means, other = "means selected", "audit numbers with event='score'"
        if of_score:
            means, other = "the score tells", "compare amounts with outcome_type='numeric'"
        raise InputError(
            f"pos_label: the labels are {listing(labels)}; say which of them {means}, as in "
            f"pos_label={labels[-1]!r}{f'; or {other}' if amounts else ''}."
        )
    if find_label(pos_label, labels) is None and len(labels) > 1:
        raise InputError(
            f"pos_label: {pos_label!r} is not among the labels found: {listing(labels)}."
        )
    return python_value(pos_label)
