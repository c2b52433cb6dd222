"""Find the subgroup a black-box classifier discriminates against most.

``MDFAuditor`` and ``audit`` take features, outcomes and sensitive columns and return an
``AuditResult``. Names are imported when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mdfa_fairness_plugin import datasets, exceptions
    from mdfa_fairness_plugin.auditor import MDFAuditor, audit
    from mdfa_fairness_plugin.certifying import certify
    from mdfa_fairness_plugin.comparison import ComparisonResult, DiffResult, compare, diff
    from mdfa_fairness_plugin.data.quantities import to_groups, to_quantities
    from mdfa_fairness_plugin.planning import (
        detectable_difference,
        detectable_ratio,
        rows_by_theorem,
        rows_needed,
    )
    from mdfa_fairness_plugin.records import Silence, Subgroup, Violation, WorstCasePath
    from mdfa_fairness_plugin.results import AuditResult

_HOMES = {
    "MDFAuditor": "auditor",
    "audit": "auditor",
    "certify": "certifying",
    "AuditResult": "results",
    "ComparisonResult": "comparison",
    "compare": "comparison",
    "DiffResult": "comparison",
    "diff": "comparison",
    "detectable_difference": "planning",
    "detectable_ratio": "planning",
    "rows_by_theorem": "planning",
    "rows_needed": "planning",
    "Silence": "records",
    "Subgroup": "records",
    "Violation": "records",
    "WorstCasePath": "records",
    "to_groups": "data.quantities",
    "to_quantities": "data.quantities",
}
_MODULES = ("datasets", "exceptions")

__all__ = [
    "AuditResult", "ComparisonResult", "DiffResult", "MDFAuditor", "Silence", "Subgroup",
    "Violation", "WorstCasePath", "__version__", "audit", "certify", "compare", "datasets",
    "detectable_difference", "detectable_ratio", "diff", "exceptions", "rows_by_theorem",
    "rows_needed", "to_groups", "to_quantities",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
