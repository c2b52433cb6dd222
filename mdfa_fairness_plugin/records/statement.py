"""What those who answer for an audit state of it, checked and as text."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Mapping
from typing import Any, Final

from mdfa_fairness_plugin.exceptions import InputError, did_you_mean

# What can be stated, and what reports call it.
STATED: Final = {
    "system": "System",
    "version": "Version of the system",
    "purpose": "Purpose",
    "data_source": "Source of the data",
    "data_from": "Data from",
    "data_to": "Data to",
    "data_kind": "Kind of data",
    "sensitive_source": "Source of the sensitive features",
    "auditor": "Auditor",
    "relationship": "Relationship of the auditor",
    "audit_date": "Date of the audit",
    "threshold": "Threshold set in advance",
    "threshold_date": "Threshold set on",
    "signed_by": "Signed by",
    "notice": "Notice",
}
# Also of what has little in common with any: the nearest is a better hint than none.
_ALIKE: Final = 0.4
# A threshold set after the audit was not set in advance.
_IN_ORDER: Final = (("data_from", "data_to"), ("threshold_date", "audit_date"))
SENSITIVE_SOURCES: Final = ("self-reported", "observed", "proxy")


def checked_statement(given: Any) -> dict[str, str]:
    """A statement as text by key, in the order of reports; empty if none was given."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            f"statement: a mapping of what is stated expected, {type(given).__name__} found; it may "
            f"hold {', '.join(STATED)}."
        )
    for key in given:
        if key not in STATED:
            raise InputError(
                f"statement: {key!r} is unknown.{did_you_mean(key, STATED, _ALIKE)} What can be "
                f"stated: {', '.join(STATED)}."
            )
    told = {key: _text(given[key], key) for key in STATED if key in given}
    for source in filter(None, told.get("sensitive_source", "").split("; ")):
        if source not in SENSITIVE_SOURCES:
            meant = did_you_mean(source, SENSITIVE_SOURCES, _ALIKE)
            raise InputError(
                f"statement: sensitive_source: {source!r} was given, one or a list of "
                f"{', '.join(SENSITIVE_SOURCES)} expected.{meant}"
            )
    for first, last in _IN_ORDER:
        dates = [_date(told.get(key, "")) for key in (first, last)]
        if dates[0] and dates[1] and dates[0] > dates[1]:
            raise InputError(
                f"statement: {first}: {dates[0]} is later than {last}, {dates[1]}; correct one of them."
            )
    return {key: text for key, text in told.items() if text}


def _date(text: str) -> datetime.date | None:
    """The date that a text begins with, if any."""
    try:
        return datetime.date.fromisoformat(text[:10])
    except ValueError:
        return None


def _text(given: Any, key: str) -> str:
    """A text, date or number, or several of them, as text; blank for None."""
    if given is None:
        return ""
    if isinstance(given, str):
        return given.strip()
    if isinstance(given, datetime.date | datetime.time):
        return str(given)
    if isinstance(given, list | tuple):
        return "; ".join(filter(None, (_text(one, key) for one in given)))
    if isinstance(given, numbers.Real) and not isinstance(given, bool) and math.isfinite(given):
        return str(given)
    raise InputError(
        f"statement: {key}: a text, a date, a number or a list of these expected, {given!r} found."
    )
