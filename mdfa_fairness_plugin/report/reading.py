"""Reading a result: which search is told first, and its balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mdfa_fairness_plugin.data.held import NOT_HELD_EQUAL
from mdfa_fairness_plugin.describe.wording import clean, label_text, named, plain_label
from mdfa_fairness_plugin.exceptions import AuditWarning, LeakWarning
from mdfa_fairness_plugin.records import VIOLATION, AuditRecord, Violation, ranked
from mdfa_fairness_plugin.records.searches import Keyed


def shown_case(result: AuditRecord) -> Violation | None:
    """Search told first: a violation, of harm if there is one, else the worst case."""
    found = (v for v in ranked(result.violations) if v.verdict == VIOLATION)
    return next(found, result.worst_case)


def place_of(result: AuditRecord, search: Violation | None) -> int | None:
    """Position of a search in a result; None if it is none of its own."""
    return next((i for i, own in enumerate(result.violations) if own is search), None)


def leaks(warnings: Sequence[AuditWarning]) -> tuple[str, ...]:
    """What may leave an audit nothing to find, to be told before anything else."""
    return tuple(clean(w.message) for w in warnings if w.category == LeakWarning.__name__)


def held_in_part(warnings: Sequence[AuditWarning]) -> tuple[str, ...]:
    """What people are not compared at equal values of, or only in part."""
    notes = [clean(w.message) for w in warnings if w.category == NOT_HELD_EQUAL]
    return (f"Not held equal, or only in part: {'; '.join(notes)}.",) if notes else ()


def names_of_sides(search: Keyed, limit: int = 40) -> tuple[str, str]:
    """Names of the group of a search and of those it is compared with."""
    feature, reference = search.sensitive_feature, search.reference
    others = "everyone else" if reference is None else named(feature, reference, limit)
    return named(feature, search.group, limit), others


def comparison(key: Any) -> tuple[Any, Any]:
    """Sensitive feature and group of a key of ``AuditResult.balance``."""
    return key if isinstance(key, tuple) and len(key) == 2 else ("group", key)


def diagnostics(value: Any) -> dict[str, Any]:
    """The diagnostics of one balance as a dictionary, empty if there are none."""
    found = value.to_dict() if hasattr(value, "to_dict") else value
    return dict(found) if isinstance(found, Mapping) else {}


def entries(provenance: Mapping[str, Any], name: str) -> dict[Any, Any]:
    """What provenance lists under a name, such as versions; empty if it lists nothing."""
    found = provenance.get(name)
    return {k: _recorded(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def _recorded(value: Any) -> Any:
    """A value as JSON keeps it, so that a report says the same of a result read back."""
    if isinstance(value, Mapping):
        return {
            k if isinstance(k, str) else label_text(k, None): _recorded(v) for k, v in value.items()
        }
    # An object stays for its type to be told.
    return value if " at 0x" in str(value) else plain_label(value)
