"""What those who answer for an audit state of it, checked and as text."""

from __future__ import annotations

import datetime
import difflib
import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mdfa_fairness_plugin.exceptions import InputError

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
                f"statement: {key!r} is unknown.{_closest(key, STATED)} What can be stated: "
                f"{', '.join(STATED)}."
            )
    told = {key: _text(given[key], key) for key in STATED if key in given}
    for source in filter(None, told.get("sensitive_source", "").split("; ")):
        if source not in SENSITIVE_SOURCES:
            raise InputError(
                f"statement: sensitive_source: {source!r} was given, one or a list of "
                f"{', '.join(SENSITIVE_SOURCES)} expected.{_closest(source, SENSITIVE_SOURCES)}"
            )
    return {key: text for key, text in told.items() if text}


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


def _closest(name: Any, known: Iterable[str]) -> str:
    # Also of what has little in common with any: the nearest is a better hint than none.
    close = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.4)
    return f" Did you mean {close[0]!r}?" if close else ""
