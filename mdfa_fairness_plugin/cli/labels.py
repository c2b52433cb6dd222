"""Finds labels and their names where a command line has them as text."""

from __future__ import annotations

import csv
import math
import shlex
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import pandas as pd

from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.data.columns import composed
from mdfa_fairness_plugin.exceptions import did_you_mean

# Values of a column.
Values: TypeAlias = Callable[[Hashable], pd.Series]

_MAX_LISTED = 30


def find_labels(
    texts: Sequence[str], columns: Sequence[Hashable], values: Values, option: str
) -> list[Hashable]:
    """Values that texts stand for, looked up in all of the columns."""
    if not texts:
        return []
    found = pd.concat([values(column) for column in columns], ignore_index=True)
    found.name = ", ".join(str(column) for column in columns)
    return [find_label(text, found, option) for text in texts]


def find_outcomes(
    request: Request, columns: Sequence[Hashable], values: Values
) -> dict[str, list[Hashable] | None]:
    """Which outcomes are audited, and in which order labels are; None for what was not said."""
    order = [text for one in request.ordered for text in split_list(one)]
    asked: list[Hashable] = list(request.outcome_label)
    if not (request.is_numeric or order):
        asked = find_labels(request.outcome_label, columns, values, "--outcome-label")
    ordered = find_labels(order, columns, values, "--ordered")
    return {"outcomes": asked or None, "ordered": ordered or None}


def find_favorable(
    request: Request, columns: Sequence[Hashable], values: Values
) -> Hashable | None:
    """Outcome that ``--favorable-label`` means; None for none."""
    if request.favorable_label is None:
        return None
    if request.is_numeric or request.ordered:
        raise CommandError(
            "--favorable-label: of numbers and orders say which end is good: --favorable high or low."
        )
    return find_labels((request.favorable_label,), columns, values, "--favorable-label")[0]


def find_names(
    texts: Sequence[str], columns: Sequence[Hashable], values: Values, option: str
) -> dict[Hashable, str]:
    """Names by label, of texts such as ``1=refused,0=approved``."""
    names = {}
    for pair in (pair for text in texts for pair in split_list(text)):
        label, mark, name = pair.rpartition("=")
        if not mark:
            raise CommandError(
                f"{option}: {pair!r} was given; pairs such as {option} '1=refused,0=approved' expected."
            )
        (own,) = find_labels([label.strip()], columns, values, option)
        names[own] = name.strip()
    return names


def find_reference(request: Request, sensitive: Sequence[Hashable], values: Values) -> Any:
    """Sensitive values that ``--reference`` means, by column if it says so; None for none."""
    found: dict[Hashable, Hashable] = {}
    by_name = {composed(str(column)): column for column in sensitive}
    for text in map(composed, request.reference):
        plain = len(sensitive) == 1 and len(request.reference) == 1
        marks = [place for place, character in enumerate(text) if character == "="]
        named = [place for place in marks if text[:place].strip() in by_name]
        if plain and (not named or text in map(str, values(sensitive[0]).dropna().unique())):
            return find_label(text, values(sensitive[0]), "--reference")
        if not named:
            example = f"--reference {shlex.quote(f'{sensitive[0]}={text}')}"
            raise CommandError(
                f"--reference: {text!r} was given; which column's value it is has to be said, as in "
                f"{example}."
            )
        column = by_name[text[: named[0]].strip()]
        if column in found:
            raise CommandError(f"--reference: two values are given for column {str(column)!r}.")
        value = text[named[0] + 1 :].strip()
        found[column] = find_label(value, values(column), "--reference")
    return found or None


def find_label(text: str, values: pd.Series, option: str) -> Hashable:
    """Value of a column that a text stands for: the same when printed, or the same number."""
    labels = list(values.dropna().unique())
    text = composed(text)
    same = [label for label in labels if composed(str(label)) == text]
    if not same:
        same = [label for label in labels if _as_number(label) == _as_number(text)]
    if not same:
        shown = [str(label) for label in labels]
        raise CommandError(
            f"{option}: column {str(values.name)!r} has no value {text!r}.{did_you_mean(text, shown)} "
            f"Its values: {listed(shown)}."
        )
    label = same[0]
    return label.item() if hasattr(label, "item") else label


def _as_number(value: Any) -> float | str:
    """Read a value as the number it stands for (true and false too), else as its text."""
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        number = float(text)
    except ValueError:
        return text
    return text if math.isnan(number) else number


def split_list(text: str) -> list[str]:
    """Parts of a text such as ``A,B``; one with a comma stands in quotes."""
    return next(csv.reader([text], skipinitialspace=True))


def listed(names: Iterable[str]) -> str:
    """Write names one after another, as many as one reads."""
    every = list(names)
    more = f" and {len(every) - _MAX_LISTED} more" if len(every) > _MAX_LISTED else ""
    return ", ".join(every[:_MAX_LISTED]) + more
