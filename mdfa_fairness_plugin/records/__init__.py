"""What is found: immutable records of every search, and of one audit."""

from __future__ import annotations

from mdfa_fairness_plugin.records.asked import NOT_CONFIRMED, AskedSubgroup
from mdfa_fairness_plugin.records.audits import (
    NO_COMPARABLE_ROW,
    AuditRecord,
    Silence,
    harmful,
    ranked,
)
from mdfa_fairness_plugin.records.columns import AuditedFeature, GroupCounts
from mdfa_fairness_plugin.records.effects import deviations_of, ratio_of
from mdfa_fairness_plugin.records.harm import Harm, worst_harm
from mdfa_fairness_plugin.records.searches import (
    INSUFFICIENT,
    NONE_LARGER,
    VERDICTS,
    VIOLATION,
    Judged,
    SearchKey,
    Violation,
)
from mdfa_fairness_plugin.records.sets import (
    Measured,
    ModelDependence,
    Spread,
    Subgroup,
    WorstCasePath,
)

__all__ = [
    "INSUFFICIENT",
    "NONE_LARGER",
    "NOT_CONFIRMED",
    "NO_COMPARABLE_ROW",
    "VERDICTS",
    "VIOLATION",
    "AskedSubgroup",
    "AuditRecord",
    "AuditedFeature",
    "GroupCounts",
    "Harm",
    "Judged",
    "Measured",
    "ModelDependence",
    "SearchKey",
    "Silence",
    "Spread",
    "Subgroup",
    "Violation",
    "WorstCasePath",
    "deviations_of",
    "harmful",
    "ranked",
    "ratio_of",
    "worst_harm",
]
