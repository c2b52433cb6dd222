"""Why features are used, as whoever asks for an audit states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.display import DisplayFeature
from mdfa_fairness_plugin.exceptions import InputError, did_you_mean

_KEYS: Final = ("reason", "protected")


class StatedReason(NamedTuple):
    """What is stated of a feature."""

    reason: str = ""
    protected: bool = False  # said to measure a protected trait


def read_reasons(given: Any, displays: Sequence[DisplayFeature]) -> dict[str, StatedReason]:
    """What is stated of features by the name they are shown with."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            "feature_reasons: a mapping of features to reasons expected, "
            f"{type(given).__name__} found."
        )
    owner = {str(column): one.name for one in displays for column in one.source_columns}
    owner |= {one.name: one.name for one in displays}
    reasons: dict[str, StatedReason] = {}
    for name, own in given.items():
        if str(name) not in owner:
            raise InputError(
                f"feature_reasons: {name!r} is no audited feature.{did_you_mean(name, owner)} Those "
                f"audited: {listing([one.name for one in displays])}."
            )
        shown = owner[str(name)]
        if shown in reasons:
            raise InputError(
                f"feature_reasons: {name!r} is shown as {shown!r}, of which another reason was given; "
                "give one for all of its columns."
            )
        reasons[shown] = _stated(own, f"feature_reasons[{str(name)!r}]")
    return reasons


def _stated(given: Any, argument: str) -> StatedReason:
    """A reason, or a mapping that has it."""
    told = {"reason": given} if isinstance(given, str) else given
    if not isinstance(told, Mapping):
        raise InputError(
            f'{argument}: a text or {{"reason": ..., "protected": True}} expected, {given!r} found.'
        )
    for key in told:
        if key not in _KEYS:
            raise InputError(
                f"{argument}: {key!r} is unknown.{did_you_mean(key, _KEYS)} Those known: "
                f"{', '.join(_KEYS)}."
            )
    reason, protected = told.get("reason", ""), told.get("protected", False)
    if not isinstance(protected, bool):
        raise InputError(f"{argument}: protected: True or False expected, {protected!r} found.")
    blank = isinstance(reason, str) and not reason.strip()
    if not isinstance(reason, str) or (
        blank and not ("protected" in told and "reason" not in told)
    ):
        raise InputError(f"{argument}: reason: a text expected, {reason!r} found.")
    return StatedReason(" ".join(reason.split()), protected)
