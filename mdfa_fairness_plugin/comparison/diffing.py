"""Two audits of the same question beside each other: last month's and this month's."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.comparison.changes import Change, changes_between, notes_on
from mdfa_fairness_plugin.comparison.changes_story import change_sentence, tell
from mdfa_fairness_plugin.comparison.records import WORST_CASE
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fields import UNKNOWN_PAIR, frame_of
from mdfa_fairness_plugin.report.document import Document
from mdfa_fairness_plugin.report.junit import Case
from mdfa_fairness_plugin.report.plain import in_print, plain_value
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.reported import Reported
from mdfa_fairness_plugin.results import AuditResult

_FORMAT = "mdfa-diff-result"
_OF: Final = {WORST_CASE: "of the worst case"}


@dataclass(frozen=True, kw_only=True, eq=False)
class DiffResult(Reported):
    """What changed between two audits.

    Parameters
    ----------
    old, new : AuditResult
    changes : tuple of Change
        Two per search of either audit: of its worst case, and of everybody.
    notes : tuple of str
        Whether the same persons may stand in both, and what makes the two not comparable.
    """

    old: AuditResult
    new: AuditResult
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        told = ", ".join(own.status for own in self.changes if own.old_verdict or own.new_verdict)
        return f"DiffResult({told})"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search and quantity; ``times`` is the ratio now over the ratio before.

        If a change is of a difference of means, further columns have it before and now, and ``change``
        is in units of the outcome.
        """
        frame = frame_of(Change, self.changes)
        of = np.array([own.by_difference for own in self.changes], dtype=bool)
        if not of.any():
            return frame
        ratios = [name for name in frame.columns if name.startswith(("times", "ratio_"))]
        frame.loc[of, ratios] = math.nan
        frame["measure"] = pd.Series([own.measure for own in self.changes], dtype=object)
        for name, value, ends in (
            ("difference_before", "old", "old_interval"),
            ("difference_now", "new", "new_interval"),
            ("change", "delta", "interval"),
        ):
            own = [(getattr(one, value), *getattr(one, ends)) for one in self.changes]
            for column, told in zip(
                (name, f"{name}_low", f"{name}_high"), zip(*own, strict=True), strict=True
            ):
                if column != "change":
                    frame[column] = np.where(of, np.array(told, dtype=float), math.nan)
        return frame

    def to_dict(self, *, min_cell: int | None = None) -> dict[str, Any]:
        """Give the changes and notes in plain Python types, ready for strict JSON."""
        changes = self._printed(min_cell or 1).changes
        plain = {"format": _FORMAT, "changes": plain_value(changes), "notes": [*self.notes]}
        return plain if min_cell is None else in_print(plain, min_cell, rows=False)

    def cases(self, min_cell: int = 1) -> Sequence[Case]:
        """The changes, as gates look at them, with what may be printed of them."""
        return tuple(
            Case(f"change {_OF.get(own.quantity, 'for everybody')}", own, change_sentence, printed)
            for own, printed in zip(self.changes, self._printed(min_cell).changes, strict=True)
        )

    def _page(self, min_cell: int) -> Document:
        return tell(self._printed(min_cell))

    def _printed(self, min_cell: int) -> DiffResult:
        """The changes without the ratios that the pages of the two audits withhold."""
        if min_cell == 1:
            return self
        copies = changes_between(*(redact(own, min_cell).result for own in (self.old, self.new)))
        printed = []
        for own, copy in zip(self.changes, copies, strict=True):
            lost = {
                name
                for name in ("old", "new")
                if math.isnan(getattr(copy, name)) and not math.isnan(getattr(own, name))
            }
            if lost:
                hidden: dict[str, Any] = dict.fromkeys((*lost, "delta"), math.nan)
                hidden |= dict.fromkeys(
                    (*(f"{name}_interval" for name in lost), "interval"), UNKNOWN_PAIR
                )
                own = replace(own, **hidden, withheld=frozenset(hidden))
            printed.append(own)
        return replace(self, changes=tuple(printed))


def diff(
    old: AuditResult | str | os.PathLike[str], new: AuditResult | str | os.PathLike[str]
) -> DiffResult:
    """Tell what changed between two audits: what is new, gone, larger, smaller or within error.

    Parameters
    ----------
    old, new : AuditResult or path-like
        Results, or files that ``to_json`` or ``mdfa audit --json`` wrote, for the same groups and
        outcomes.

    Returns
    -------
    diff : DiffResult

    Raises
    ------
    InputError
        If a file cannot be read, or the two have no search in common.

    Notes
    -----
    The interval of a change is made from those of the two ratios, on the log scale, by
    the method of variance estimates recovery: an end lies the root of the sum of two squared
    distances away, those of each ratio from its own end (Zou and Donner, Statistics in Medicine 27,
    2008), differences of means in units of the outcome. It is for audits of different people. A
    verdict that flips while this interval holds no change is within error.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> result = mdfa.AuditResult(
    ...     violations=(
    ...         mdfa.Violation(group="f", outcome=1, delta=0.5, interval=(0.2, 0.8)),
    ...     )
    ... )
    >>> mdfa.diff(result, result).to_frame()["status"].tolist()
    ['within error', 'unknown']
    """
    audits = [
        own if isinstance(own, AuditResult) else AuditResult.from_json(own) for own in (old, new)
    ]
    changes = changes_between(*audits)
    if not any(own.old_verdict and own.new_verdict for own in changes):
        raise InputError(
            "old, new: the two audits have no search in common; audits of the same sensitive features, "
            "groups and outcomes are needed."
        )
    return DiffResult(old=audits[0], new=audits[1], changes=changes, notes=notes_on(*audits))
