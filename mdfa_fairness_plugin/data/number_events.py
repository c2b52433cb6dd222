"""Events of predictions that are numbers: what is compared, and at which score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy import sparse

from mdfa_fairness_plugin.data.amounts import read_numbers
from mdfa_fairness_plugin.data.columns import as_list, find_label, listing, read_column
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.decisions import read_decisions
from mdfa_fairness_plugin.data.events import EVENTS, Event, Occurrence, occurrence, positive_label
from mdfa_fairness_plugin.data.spelling import asked_as, merged
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditError
from mdfa_fairness_plugin.settings import check_choice

# Whether each is a number; the others are told by an event and its opposite.
NUMBER_EVENTS: Final[Mapping[str, Event | None]] = {
    "score": None,
    "residual": None,
    "absolute_error": None,
    "overprediction": Event(opposite="not overpredicted"),
    "calibration": Event(opposite="negative"),
}
# What people get of each.
_NAMES: Final = {
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
        end = given.get("favorable") or _ENDS[0]
        check_choice("favorable", end, _ENDS)
        other = _ENDS[1 - _ENDS.index(end)]
        settings = {name: own for name, own in given.items() if name != "favorable"}
        if self.score is not None:
            inputs = settings.get("decision_inputs")
            settings["decision_inputs"] = [*([] if inputs is None else as_list(inputs)), SCORE]
        if self.outcome.dtype != object:
            turned = {"residual": other, "calibration": other, "absolute_error": "low"}
            own = {"outcome_type": "numeric", "favorable": turned.get(self.event, end)}
            return {"outcome_name": _NAMES[self.event]} | settings | own
        if self.event == "overprediction":
            opposite = "not overpredicted"
            named = {self.event: "predicted too high", opposite: "not predicted too high"}
            good = self.event if end == "high" else opposite
        else:
            named = {
                _POSITIVE: f"in truth {self.positive} at the same score",
                "negative": f"in truth not {self.positive} at the same score",
            }
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


def happening(
    y_true: Any, y_pred: Any, event: str, given: Mapping[str, Any], pos_label: Any = None
) -> Occurrence:
    """Any event, of labels or of numbers; ``given`` are an audit's settings."""
    if event in NUMBER_EVENTS:
        return number_occurrence(y_true, y_pred, event, given, pos_label)
    if event not in EVENTS:
        raise InputError(
            f"event: one of {listing([*EVENTS, *NUMBER_EVENTS])} expected, {event!r} found."
        )
    outcome_type, declared = given.get("outcome_type", "auto"), given.get("ordered") is not None
    if outcome_type == "numeric":
        raise InputError(
            f"outcome_type: 'numeric' was given, and event={event!r} compares labels. Use "
            "event='score' to audit the numbers themselves, or 'residual' or 'absolute_error' beside "
            "what is true."
        )
    several = "declared" if declared or outcome_type == "multiclass" else "auto"
    return occurrence(
        y_true,
        y_pred,
        event,
        pos_label,
        missing=given.get("missing_outcome", "raise"),
        merge=bool(given.get("merge_spellings", False)),
        several="" if outcome_type == "binary" else several,
    )


def number_occurrence(
    y_true: Any, y_pred: Any, event: str, given: Mapping[str, Any], pos_label: Any = None
) -> NumberOccurrence:
    """Compare predictions, or them with what is true, row by row; ``given`` are an audit's settings."""
    missing = given.get("missing_outcome", "raise")
    _check_type(event, given.get("outcome_type", "auto"))
    predicted = _numbers(y_pred, "y_pred", event, missing)
    if event == "score":
        return NumberOccurrence(event=event, outcome=predicted)
    if y_true is None:
        raise InputError(
            f"y_true: None was given; event={event!r} compares predictions with what is true. Pass "
            "it, or audit event='score'."
        )
    if event == "calibration" and given.get("outcome_type") != "numeric":
        return _calibration(y_true, predicted, pos_label, given)
    true = _numbers(y_true, "y_true", event, missing)
    if event == "calibration":
        return NumberOccurrence(event=event, outcome=_known(true, predicted), score=predicted)
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


def _check_type(event: str, outcome_type: Any) -> None:
    own = {"overprediction": ("auto", "binary"), "calibration": ("auto", "binary", "numeric")}
    known = own.get(event, ("auto", "numeric"))
    if outcome_type not in known:
        raise InputError(
            f"outcome_type: {outcome_type!r} was given, and event={event!r} knows {listing(known)}. "
            "Leave it out."
        )


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


def _known(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Values of rows that also have the other."""
    return np.where(np.isnan(other), np.nan, values)
