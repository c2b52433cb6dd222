"""Outcomes: refused where they are missing, scores or all the same; and which are audited."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mdfa_fairness_plugin.data.columns import (
    Labels,
    as_list,
    is_fractional,
    is_real,
    known_label,
    listing,
    read_labels,
)
from mdfa_fairness_plugin.data.spelling import ADVICE, told_apart_by
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditError

# Reason in ``AuditResult.excluded`` of rows without an outcome.
MISSING_OUTCOME = "missing outcome"
# More labels are not audited each by each unless they are named.
MOST_CLASSES = 20
# What can be done about rows without an outcome, where that is an argument.
EXCLUDE = "Pass missing_outcome='exclude' to leave those rows out, counted"


def read_decisions(
    array: Any,
    argument: str,
    what: str = "outcomes",
    *,
    missing: str = "raise",
    numbers: str = "outcome_type='numeric'",
) -> Labels:
    """Decisions of each row, no scores; ``numbers`` is what asks for an audit of numbers."""
    labels = read_labels(array, argument).used()
    n_missing, n_rows = int((labels.codes < 0).sum()), len(labels.codes)
    if missing == "raise" or n_missing == n_rows:
        refuse_missing(n_missing, n_rows, argument, what, EXCLUDE)
    refuse_scores(labels.values, argument, numbers)
    return labels


def refuse_missing(n_missing: int, n_rows: int, argument: str, what: str, advice: str) -> None:
    """Refuse rows without an outcome."""
    if n_missing:
        raise InputError(
            f"{argument}: {n_missing:,} of {n_rows:,} {what} are missing. {advice}, or give them a "
            "label of their own (such as 'no decision')."
        )


def refuse_scores(
    values: tuple[Hashable, ...], argument: str, numbers: str = "outcome_type='numeric'"
) -> None:
    """Refuse outcomes that are no decisions yet."""
    fractional = [value for value in values if is_fractional(value)]
    if fractional:
        raise InputError(
            f"{argument}: scores were given ({len(values):,} values such as {fractional[0]!r}), but "
            "an audit needs decisions. Apply the threshold that decides, as in "
            f"{argument} >= 0.5; or say {numbers} to audit the numbers themselves."
        )


def refuse_constant(values: tuple[Hashable, ...], n_rows: int, argument: str) -> None:
    """Refuse outcomes that are all the same."""
    if len(values) == 1:
        raise all_alike(argument, n_rows, repr(values[0]))


def all_alike(argument: str, n_rows: int, outcome: str) -> NothingToAuditError:
    """Say that everybody has one outcome."""
    return NothingToAuditError(
        f"{argument}: every one of the {n_rows:,} outcomes is {outcome}: nothing to audit. "
        "Pass outcomes that differ between people."
    )


def audited_outcomes(
    asked: Any, found: tuple[Hashable, ...], outcome_type: str = "auto"
) -> tuple[Hashable, ...]:
    """Outcomes to audit, each against the others, in the order in which they were found."""
    if outcome_type == "binary" and len(found) > 2 and asked is None:
        raise InputError(
            f"outcome_type: 'binary' was given, and y has {len(found):,} outcomes: {listing(found)}."
        )
    if asked is None:
        difference, apart = told_apart_by(found)
        several = 2 < len(found) <= MOST_CLASSES and not apart
        numbers = all(is_real(value) for value in found)
        if several and (outcome_type == "multiclass" or not numbers):
            return found
        if several:
            raise InputError(
                f"y: {len(found):,} different numbers were found: {listing(found)}. Say what they are: "
                "outcome_type='numeric' for amounts, outcome_type='multiclass' for labels, "
                f"ordered={list(found)!r} for grades; or name the ones to audit, each against all "
                f"others, as in outcomes=[{found[0]!r}]."
            )
        if len(found) > 2:
            name = "Name"
            if apart:
                name = f"Some differ only in {difference}: {apart}. {ADVICE} Or name"
            raise InputError(
                f"y: {len(found):,} different outcomes were found: {listing(found)}. {name} the ones "
                f"to audit, each against all others, as in outcomes=[{found[0]!r}]; or merge them into "
                "two."
            )
        return found
    labels = as_list(asked)
    if not labels:
        raise InputError(
            f"outcomes: an empty list was given. Pass None for both, or some of {listing(found)}."
        )
    advice = " Name some of these, or pass None for both."
    named = [known_label(own, found, "outcomes", "those found in y", advice) for own in labels]
    return tuple(found[place] for place in sorted(set(map(found.index, named))))
