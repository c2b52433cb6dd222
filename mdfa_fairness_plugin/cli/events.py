"""``--event``: an outcome made from what was answered and what was true."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import pandas as pd

from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.labels import find_favorable, find_label, find_labels, find_names
from mdfa_fairness_plugin.cli.questions import audited_rows, restricted, with_outcome
from mdfa_fairness_plugin.cli.request import Request, given
from mdfa_fairness_plugin.cli.table import Columns, Table, as_numbers, find_columns, read_table
from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.events import (
    EVENTS,
    NUMBER_EVENTS,
    NumberOccurrence,
    favorable_event,
    happening,
)


def with_event(table: Table, request: Request) -> tuple[Table, Request]:
    """The outcome that ``--event`` asks for, as one more column, and the rows it is a rate among."""
    event, truth = request.event, request.truth
    if event is None:
        return table, request
    if event in NUMBER_EVENTS:
        return _of_numbers(table, request)
    roles = table.roles(request, "outcome", "truth")
    (answered,), others = roles["--outcome"], roles["--true"]
    deciding = (answered, *others)
    _refuse_deciding(table, request, deciding)
    answers = table.frame[answered]
    own_truth = table.frame[others[0]] if others else None
    as_answered = _as_answered(own_truth, answers, request)
    settings = request.settings | given(ordered=request.ordered or None)
    found = happening(as_answered, answers, event, settings, _positive(request, answers))
    if event == "selection":
        asked = request
        if not found.several:
            asked = replace(request, outcome_label=(str(found.positive),))
        return table, replace(asked, drop=(*request.drop, *map(str, others)))
    name = f"{request.outcome_name or request.outcome} against {truth}"
    asked = request.decided(
        name,
        deciding,
        outcome_name=None,
        outcome_label=(event,),
        event_names=_names(request, answers, found.positive),
        favorable_label=_favorable(request, answers, found.positive),
    )
    table = replace(table, frame=table.frame.assign(**{name: found.outcome}))
    if found.among is None:
        return table, asked
    # What is not known stays, to be counted with those left out.
    inside = found.among | table.frame[name].isna().to_numpy()
    sign = "==" if EVENTS[event].among_positive else "!="
    label = found.positive
    if as_answered is not own_truth:
        label = int(label == request.outcome)
    rows = f"{truth} {sign} {label}"
    told = f"({request.where}) and {rows}" if request.where else rows
    table = audited_rows(table, inside, request, "--event: ", f" are audited: {rows}")
    return table, replace(asked, where=told)


def rows_asked(request: Request) -> tuple[pd.DataFrame, Columns, Request]:
    """The rows of a file that are asked of, what is named of them, and the request of their columns."""
    table, request = with_event(*with_outcome(restricted(read_table(request), request), request))
    return table.frame, find_columns(table, request, table.frame.__getitem__), request


def _refuse_deciding(table: Table, request: Request, deciding: Sequence[Hashable]) -> None:
    """Refuse to compare people by what the event is made of."""
    for option, columns in table.roles(request, "features", "sensitive").items():
        for column in columns:
            if column in deciding:
                raise CommandError(
                    f"{option}: {str(column)!r} decides the event {request.event!r}."
                )


def _of_numbers(table: Table, request: Request) -> tuple[Table, Request]:
    """An event of predictions that are numbers; what is compared at equal scores has these as feature.

    Without ``--favorable`` nothing but a small error is known to be good.
    """
    event = str(request.event)
    columns = [own for some in table.roles(request, "outcome", "truth").values() for own in some]
    frame = table.frame.copy()
    read = as_numbers(frame, columns, request)
    answered, truth = read[columns[0]], read[columns[1]] if len(columns) > 1 else None
    # Of calibration it names a true label.
    labels = truth is not None and event == "calibration" and not request.is_numeric
    positive = find_labels(
        request.outcome_label if labels else (), columns[1:], read.__getitem__, "--outcome-label"
    )
    found = happening(truth, answered, event, request.settings, positive[0] if positive else None)
    assert isinstance(found, NumberOccurrence)
    told = found.arguments(request.settings, request.favorable_label)
    said = request.favorable is not None or event == "absolute_error"
    at_score = found.score is not None
    deciding = columns[1:] if at_score else columns
    _refuse_deciding(table, request, deciding)
    against = f" against {request.truth}" if request.truth else ""
    name = f"{event} of {request.outcome}" if event == "score" else f"{request.outcome}{against}"
    asked = request.decided(
        name,
        deciding,
        outcome_name=told.get("outcome_name"),
        outcome_type=told.get("outcome_type"),
        outcome_label=() if labels else request.outcome_label,
        favorable=told.get("favorable") if said else None,
        favorable_label=told.get("favorable_label") if said else None,
    )
    frame[name] = found.outcome
    if names := told.get("outcome_names"):
        said_names = find_names(request.outcome_names, [name], frame.__getitem__, "--outcome-names")
        asked = replace(asked, event_names=names | said_names)
    if at_score:
        own = str(columns[0])
        frame[columns[0]] = found.score
        features = request.features and (*request.features, own)
        asked = replace(asked, features=features, decision_input=(*request.decision_input, own))
    return replace(table, frame=frame), asked


def _positive(request: Request, answers: pd.Series) -> Hashable | None:
    """Answer whose events are asked for; of a condition, unless it is said, that it holds."""
    labels = [find_label(text, answers, "--outcome-label") for text in request.outcome_label]
    if not labels:
        return request.outcome if request.decided_by else None
    if len(labels) > 1:
        raise CommandError(
            "--outcome-label: with --event one answer is expected, several are given."
        )
    return labels[0]


def _as_answered(truth: pd.Series | None, answers: pd.Series, request: Request) -> pd.Series | None:
    """True labels; beside a condition, 1 and 0 say whether it should have held."""
    if truth is None:
        return None
    known = set(read_labels(truth.array, "y_true").used().values)
    opposite = [one for one in answers.dropna().unique() if one != request.outcome]
    if not (request.decided_by and known <= {0, 1} and opposite):
        return truth
    return truth.map({1: request.outcome, 0: opposite[0]}.get)


def _favorable(request: Request, answers: pd.Series, positive: Hashable) -> str | None:
    """Which of the event and its opposite is the good one."""
    good = find_favorable(request, [request.outcome], lambda _: answers)
    event = str(request.event)
    opposite = EVENTS[event].opposite
    if good is None:
        return None
    if event == "error" or (good != positive and answers.nunique() > 2):
        raise CommandError(
            f"--favorable-label: it does not say which of {event!r} and {opposite!r} is good for "
            "people; leave it out."
        )
    return favorable_event(event, good == positive)


def _names(request: Request, answers: pd.Series, positive: Hashable) -> dict[Hashable, str]:
    """What sentences call the event and its opposite: whose answers were wrong, or right."""
    given = find_names(
        request.outcome_names, [request.outcome], lambda _: answers, "--outcome-names"
    )
    which = "" if request.decided_by else f"{request.outcome_name or request.outcome} = "
    labels = [positive, *(one for one in answers.dropna().unique() if one != positive)]
    called = [given.get(label, f'given "{which}{label}"') for label in labels]
    selected = called[0]
    other = called[1] if len(called) == 2 else f"not {selected}"
    every: dict[Hashable, str] = {
        "error": "wrongly judged",
        "correct": "rightly judged",
        "false_positive": f"wrongly {selected}",
        "true_negative": f"rightly {other}",
        "false_negative": f"wrongly {other}",
        "true_positive": f"rightly {selected}",
    }
    return {name: every[name] for name in (str(request.event), EVENTS[str(request.event)].opposite)}
