"""What is compared: an event in labels or numbers predicted, among which rows, and at which score."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy import sparse

from mdfa_fairness_plugin.data.amounts import read_numbers
from mdfa_fairness_plugin.data.columns import (
    Labels,
    as_list,
    find_label,
    is_real,
    known_label,
    listing,
    python_value,
    read_column,
)
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.decisions import read_decisions
from mdfa_fairness_plugin.data.spelling import asked_as, merged, respelled
from mdfa_fairness_plugin.data.weights import weight_numbers
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditError
from mdfa_fairness_plugin.settings import check_choice

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
        good = self.positive
        if label is not None:
            good = known_label(label, self.labels, "favorable_label")
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
    check_choice("event", event, tuple(EVENTS))
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
    if len(labels) > 1:
        known_label(pos_label, labels, "pos_label")
    return python_value(pos_label)


# Whether each is a number; the others are told by an event and its opposite.
NUMBER_EVENTS: Final[Mapping[str, Event | None]] = {
    "score": None,
    "residual": None,
    "absolute_error": None,
    "overprediction": Event(opposite="not overpredicted"),
    "calibration": Event(opposite="negative"),
}
# What people get of each.
NUMBER_NAMES: Final = {
    "score": "score",
    "residual": "residual (true minus predicted)",
    "absolute_error": "absolute error",
    "calibration": "outcome at the same score",
}
# The audited feature that predictions become, people at the same score being compared.
SCORE: Final = "score"
_POSITIVE: Final = "positive"
_ENDS: Final = ("high", "low")


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberOccurrence(Occurrence):
    """A number of each row, or what is told of it by an event and its opposite."""

    score: np.ndarray | None = None  # at which people are compared

    def arguments(self, given: Mapping[str, Any], favorable_label: Any = None) -> dict[str, Any]:
        """Arguments of the audit; ``favorable`` says which end of the predictions is good.

        What is good of an event follows: of errors always to have small ones, of residuals and at
        equal scores, where those who are worth more than others were rated too low, the other end.
        """
        if favorable_label is not None:
            raise InputError(
                f"favorable_label: event={self.event!r} is of numbers. Say which predictions are good "
                "for people, as in favorable='high' or 'low'."
            )
        end = given.get("favorable")
        end = _ENDS[0] if end is None else end
        check_choice("favorable", end, _ENDS)
        other = _ENDS[1 - _ENDS.index(end)]
        settings = {name: own for name, own in given.items() if name != "favorable"}
        if self.score is not None:
            inputs = settings.get("decision_inputs")
            settings["decision_inputs"] = [*([] if inputs is None else as_list(inputs)), SCORE]
        if self.outcome.dtype != object:
            turned = {"residual": other, "calibration": other, "absolute_error": "low"}
            own = {"outcome_type": "numeric", "favorable": turned.get(self.event, end)}
            return {"outcome_name": NUMBER_NAMES[self.event]} | settings | own
        if self.event == "overprediction":
            opposite = "not overpredicted"
            named = {self.event: "predicted too high", opposite: "not predicted too high"}
            good = self.event if end == "high" else opposite
        else:
            is_so = f"{self.positive} at the same score"
            named = {_POSITIVE: f"in truth {is_so}", "negative": f"in truth not {is_so}"}
            good = "negative" if end == "high" else _POSITIVE
        names = named | dict(settings.get("outcome_names") or {})
        return settings | {"favorable_label": good, "outcome_names": names}

    def features(self, table: Table) -> Table:
        """Features people are compared by: also the score, for what is compared at the same one."""
        if self.score is None:
            return table
        if SCORE in table.names:
            raise InputError(
                f"{table.argument}: it has a column {SCORE!r}, as predictions are called that people "
                "are compared at. Rename it, or leave it out if it is the same."
            )
        names = (*table.names, SCORE)
        if table.matrix is not None:
            column = sparse.csc_matrix(self.score[:, np.newaxis])
            return replace(table, names=names, matrix=sparse.hstack([table.matrix, column]).tocsc())
        return replace(table, names=names, arrays=[*table.arrays, self.score])


def check_event(event: str) -> None:
    """Refuse what is no event, of labels or of numbers."""
    check_choice("event", event, (*EVENTS, *NUMBER_EVENTS))


def happening(
    y_true: Any, y_pred: Any, event: str, given: Mapping[str, Any], pos_label: Any = None
) -> Occurrence:
    """Any event, of labels or of numbers; ``given`` are an audit's settings."""
    check_event(event)
    if event in NUMBER_EVENTS:
        return number_occurrence(y_true, y_pred, event, given, pos_label)
    outcome_type, declared = given.get("outcome_type", "auto"), given.get("ordered") is not None
    if outcome_type == "numeric":
        raise InputError(
            f"outcome_type: 'numeric' was given, and event={event!r} compares labels. Use "
            "event='score' to audit the numbers themselves, or 'residual' or 'absolute_error' beside "
            "what is true."
        )
    several = "declared" if declared or outcome_type == "multiclass" else "auto"
    several = "" if outcome_type == "binary" else several
    how = {"missing": given.get("missing_outcome", "raise"), "several": several}
    merge = bool(given.get("merge_spellings", False))
    return occurrence(y_true, y_pred, event, pos_label, merge=merge, **how)


def number_occurrence(
    y_true: Any, y_pred: Any, event: str, given: Mapping[str, Any], pos_label: Any = None
) -> NumberOccurrence:
    """Compare predictions, or them with what is true, row by row; ``given`` are an audit's settings."""
    missing, outcome_type = given.get("missing_outcome", "raise"), given.get("outcome_type", "auto")
    own = {"overprediction": ("auto", "binary"), "calibration": ("auto", "binary", "numeric")}
    known = own.get(event, ("auto", "numeric"))
    if outcome_type not in known:
        raise InputError(
            f"outcome_type: {outcome_type!r} was given, and event={event!r} knows {listing(known)}. "
            "Leave it out."
        )
    predicted = _numbers(y_pred, "y_pred", event, missing)
    if event == "score":
        return NumberOccurrence(event=event, outcome=predicted)
    if y_true is None:
        raise InputError(
            f"y_true: None was given; event={event!r} compares predictions with what is true. Pass "
            "it, or audit event='score'."
        )
    if event == "calibration" and outcome_type != "numeric":
        return _calibration(y_true, predicted, pos_label, given)
    true = _numbers(y_true, "y_true", event, missing)
    if event == "calibration":
        outcome = np.where(np.isnan(predicted), np.nan, true)
        return NumberOccurrence(event=event, outcome=outcome, score=predicted)
    residual = true - predicted
    if event != "overprediction":
        outcome = np.abs(residual) if event == "absolute_error" else residual
        return NumberOccurrence(event=event, outcome=outcome)
    return NumberOccurrence(event=event, outcome=_told(residual < 0, np.isnan(residual), event))


def _calibration(
    y_true: Any, predicted: np.ndarray, pos_label: Any, given: Mapping[str, Any]
) -> NumberOccurrence:
    """True labels at the same score."""
    missing = given.get("missing_outcome", "raise")
    truth = read_decisions(y_true, "y_true", "true labels", missing=missing)
    if given.get("merge_spellings", False):
        truth = merged(truth)
        pos_label = asked_as(pos_label, truth.values)
    positive = positive_label(pos_label, truth.values, of_score=True)
    place = find_label(positive, truth.values)
    unknown = (truth.codes < 0) | np.isnan(predicted)
    outcome = _told(truth.codes == place, unknown, "calibration", _POSITIVE, "y_true")
    return NumberOccurrence(
        event="calibration", outcome=outcome, score=predicted, positive=truth.values[place or 0]
    )


def _told(
    happened: np.ndarray,
    unknown: np.ndarray,
    event: str,
    name: str | None = None,
    argument: str = "y_pred",
) -> np.ndarray:
    """An event or its opposite, by name; refused where all rows have the same."""
    rule = NUMBER_EVENTS[event]
    assert rule is not None
    outcome = np.where(happened, name or event, rule.opposite).astype(object)
    outcome[unknown] = None
    seen = happened[~unknown]
    if seen.all() or not seen.any():
        raise NothingToAuditError(
            f"{argument}: every one of the {len(seen):,} rows is a case of "
            f"{outcome[~unknown][0]!r}: nothing to audit."
        )
    return outcome


def _numbers(array: Any, argument: str, event: str, missing: str) -> np.ndarray:
    """A column as numbers; NaN where it has none."""
    column = read_column(array, argument)
    if column.numbers is None:
        found = column.labels.values
        raise InputError(
            f"{argument}: event={event!r} needs numbers, and {listing(found, 3)} was found. Pass "
            "numbers, or audit labels with event='selection'."
        )
    return read_numbers(array, argument, missing)
