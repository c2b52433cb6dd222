"""``--event``: an outcome made from what was answered and what was true."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import pandas as pd

from mdfa_fairness_plugin.cli.console import CommandError, complain
from mdfa_fairness_plugin.cli.labels import find_favorable, find_labels, find_names
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.cli.table import Table
from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.events import EVENTS, favorable_event, occurrence


def with_event(table: Table, request: Request) -> tuple[Table, Request]:
    """The outcome that ``--event`` asks for, as one more column, and the rows it is a rate among."""
    event, truth = request.event, request.truth
    if event is None and truth is not None:
        raise CommandError(
            "--true: true labels are for --event, as in --event false_negative. To keep them from the "
            f"features, pass --drop {truth}."
        )
    if event is None:
        return table, request
    roles = table.roles({"--outcome": request.outcome, "--true": truth})
    (answered,), others = roles["--outcome"], roles["--true"]
    deciding = (answered, *others)
    for option, names in (("--features", request.features), ("--sensitive", request.sensitive)):
        for column in table.columns(names, option):
            if column in deciding:
                raise CommandError(f"{option}: {str(column)!r} decides the event {event!r}.")
    frame, answers = table.frame, table.frame[answered]
    own_truth = frame[others[0]] if others else None
    as_answered = _as_answered(own_truth, answers, request)
    found = occurrence(
        as_answered,
        answers,
        event,
        _positive(request, answers),
        missing="exclude" if request.drop_missing_outcomes else "raise",
        merge=request.merge_spellings,
    )
    if event == "selection":
        asked = replace(request, outcome_label=(str(found.positive),))
        return table, replace(asked, drop=(*request.drop, *map(str, others)))
    name = f"{request.outcome_name or request.outcome} against {truth}"
    asked = replace(
        request,
        outcome=name,
        outcome_name=None,
        outcome_label=(event,),
        event_names=_names(request, answers, found.positive),
        favorable_label=_favorable(request, answers, found.positive),
        decided_by=(*request.decided_by, *map(str, deciding)),
        drop=(*request.drop, *map(str, deciding)),
    )
    frame = frame.assign(**{name: found.outcome})
    if found.among is None:
        return replace(table, frame=frame), asked
    # What is not known stays, to be counted with those left out.
    inside = found.among | frame[name].isna().to_numpy()
    sign = "==" if EVENTS[event].among_positive else "!="
    label = found.positive
    if as_answered is not own_truth:
        label = int(label == request.outcome)
    rows = f"{truth} {sign} {label}"
    if not request.quiet:
        complain(f"note: --event: {inside.sum():,} of {len(inside):,} rows are audited: {rows}")
    told = f"({request.where}) and {rows}" if request.where else rows
    return replace(table, frame=frame[inside]), replace(asked, where=told)


def _positive(request: Request, answers: pd.Series) -> Hashable | None:
    """Answer whose events are asked for; of a condition, unless it is said, that it holds."""
    labels = find_labels(
        request.outcome_label, [request.outcome], lambda _: answers, "--outcome-label"
    )
    if labels is None:
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
    given = (
        find_names(request.outcome_names, [request.outcome], lambda _: answers, "--outcome-names")
        or {}
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
