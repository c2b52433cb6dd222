"""Records of a whole audit, and of the people it could not speak of."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import pandas as pd

from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.fields import Record, frame_of, number, said, several, text, whole
from mdfa_fairness_plugin.records.asked import AskedSubgroup
from mdfa_fairness_plugin.records.columns import AuditedFeature, GroupCounts
from mdfa_fairness_plugin.records.harm import Harm, worst_harm
from mdfa_fairness_plugin.records.searches import VIOLATION, Violation

_Told = TypeVar("_Told", Violation, AskedSubgroup)

# Reason in ``AuditResult.excluded`` of rows outside common support.
NO_COMPARABLE_ROW: Final = "no comparable row"


def by_reason(excluded: Mapping[str, Any]) -> dict[str, Any]:
    """Rows left out in an order that JSON keeps."""
    return dict(sorted(excluded.items()))


def _asked(alpha: Any) -> float | str:
    return alpha if isinstance(alpha, str) else float(alpha)


@dataclass(frozen=True, kw_only=True, eq=False)
class Silence(Record):
    """Where an audit cannot speak: rows with no comparable row on the other side.

    Parameters
    ----------
    sensitive_feature : str
    group : hashable
        Value compared with the others, or with ``reference``.
    reference : hashable or None
    n_rows : int
        Rows left out.
    n_group : int
        Of these, rows of the group itself.
    share : float
        ``n_rows`` over the rows that were to be compared.
    rule : str
        Who they are, in words; empty if no short rule describes them.
    rule_fidelity, rule_precision, rule_recall : float
        Agreement of the rule with the rows left out, as for a subgroup's rule.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    sensitive_feature: str = field(metadata=said("always"))
    group: Hashable = field(metadata=said("always"))
    reference: Hashable | None = field(default=None, metadata=said("always"))
    n_rows: int | None = whole("rule")
    n_group: int | None = whole("rule")
    share: float = number("rule")
    rule: str = text("rule")
    rule_fidelity: float = number("rule")
    rule_precision: float = number("rule")
    rule_recall: float = number("rule")


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditRecord(Record):
    """Everything one audit found, and what it could not see: what reports read (``AuditResult``)."""

    violations: tuple[Violation, ...] = several("rule")
    balance: Mapping[tuple[str, Hashable], Any] = field(default_factory=dict, metadata=said("rule"))
    excluded: Mapping[str, int | None] = field(
        default_factory=dict, metadata=said("rule", settle=by_reason)
    )
    silence: tuple[Silence, ...] = several("rule")
    groups: tuple[GroupCounts, ...] = several("rule")
    asked: tuple[AskedSubgroup, ...] = several("rule")
    features: tuple[AuditedFeature, ...] = several("rule")
    warnings: tuple[AuditWarning, ...] = several("rule")
    provenance: Mapping[str, Any] = field(default_factory=dict, metadata=said("rule"))
    alpha: float | str = field(default="auto", metadata=said("always", settle=_asked))
    confidence_level: float = number("always", default=0.95)
    n_samples: int | None = whole("rule")
    outcome_labels: tuple[Hashable, ...] = several("always")
    outcome_name: str = text("always")
    favorable_label: Hashable | None = field(default=None, metadata=said("always", json="label"))
    sensitive_names: tuple[str, ...] = several("always")
    feature_names: tuple[str, ...] = several("always")
    statement: Mapping[str, str] = field(default_factory=dict, metadata=said("always"))
    source: Any = field(default=None, metadata=said("never", json="no"))

    @property
    def worst_case(self) -> Violation | None:
        """Worst violation by its lower confidence bound, or None if nothing was measured.

        Searches whose verdict is ``"violation"`` come before all others, so look at its
        ``verdict`` before calling it a violation. With a favourable label it is about harm, unless
        nothing but advantage was searched for.
        """
        known = [
            v
            for v in ranked(self.violations)
            if math.isfinite(v.lower) or not math.isnan(v.probability_bounds[0])
        ]
        return next(iter(harmful(known)), None)

    @property
    def worst_harm(self) -> Harm | None:
        """Who gets the favourable outcome less often, and how much, where that is worst.

        In one quantity whatever was searched for: how many times more often the others get the
        favourable outcome. None without ``favorable_label``, or if nothing was measured.
        """
        groups: dict[str, set[Hashable]] = {}
        named = [(own.sensitive_feature, own.group) for own in self.violations]
        named += [(own.sensitive_feature, own.group) for own in self.groups if own.known]
        for feature, group in named:
            groups.setdefault(feature, set()).add(group)
        return worst_harm(self.violations, self.favorable_label, groups)

    def __repr__(self) -> str:
        n = len(self.violations)
        head = f"AuditResult({n} search{'' if n == 1 else 'es'}, {self.n_samples} rows; worst: "
        return f"{head}{self.worst_case!r})"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search, scalar columns only.

        Returns
        -------
        DataFrame of shape (n_searches, n_columns)
            Columns and types are the same for every audit.
        """
        return frame_of(Violation, self.violations)


def harmful(violations: Sequence[_Told]) -> Sequence[_Told]:
    """Searches that are not about advantage; all of them if nothing else was searched for."""
    return [v for v in violations if v.harm is not False] or violations


def ranked(violations: Iterable[Violation]) -> list[Violation]:
    """Searches by what holds up: violations first; in each part the highest lower limit first.

    Intervals above 1 thus stand before those that include it, and what is unknown comes last. Ties go
    by the name of the sensitive feature, and then by its values, in whose order searches are made.
    Advantage comes after all harm.
    """

    def key(violation: Violation) -> tuple[bool, bool, bool, float, str]:
        good = violation.harm is False
        unknown = math.isnan(violation.lower)
        place = 0.0 if unknown else -violation.lower
        name = str(violation.sensitive_feature)
        return good, violation.verdict != VIOLATION, unknown, place, name

    return sorted(violations, key=key)
