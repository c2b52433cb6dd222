"""What people are compared at equal values of, and what of it is only held in part."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.exceptions import Count, Message, WarningLog

# Category of the notices that reports say next to the features.
NOT_HELD_EQUAL = "NotHeldEqual"
# Columns in which nobody differs, or nothing is known of anybody.
_ALIKE = ("constant", "wholly missing")
_MOST = 10


def pooled(name: Hashable, levels: Count, n_rows: int, of: int) -> Message:
    """Levels that count as one."""
    return Message(f"{name!r}: ", levels, " count as one (", _share(n_rows, of), ")")


def merged(name: Hashable, level: str, n_rows: int, of: int) -> Message:
    """Levels too rare to stand alone even together, which count as a frequent one."""
    return Message(f"{name!r}: rare levels count as {level!r} (", _share(n_rows, of), ")")


def left_unread(name: Hashable, n_rows: int, of: int) -> Message:
    """Texts of several meanings that are all missing."""
    return Message(f"{name!r}: texts that are no quantity are missing (", _share(n_rows, of), ")")


def note_unequal(in_part: Sequence[Message], dropped: dict[Hashable, str], log: WarningLog) -> None:
    """Keep what is not held equal: features in part, and columns that are left out."""
    for one in in_part[:_MOST]:
        log.note(NOT_HELD_EQUAL, one)
    if len(in_part) > _MOST:
        log.note(NOT_HELD_EQUAL, f"{len(in_part) - _MOST:,} more features in part")
    out = [f"{name!r} ({reason})" for name, reason in dropped.items() if reason not in _ALIKE]
    if out:
        log.note(NOT_HELD_EQUAL, f"left out in all rows: {listing(map(Message, out))}")


def _share(n_rows: int, of: int) -> Count:
    return Count(n_rows, of=of, said=f"{100 * n_rows / of:.2g} % of rows")
