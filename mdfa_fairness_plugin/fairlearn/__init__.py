"""Fairlearn plug-in: the worst-treated subgroup beside Fairlearn's groups.

Metrics in Fairlearn's form, which need no Fairlearn to run, and ``MDFAMetricFrame``, a
``MetricFrame`` with a second table, inside and outside the subgroup treated worst. Of two outcomes
the favourable one is predicted 1, unless ``favorable_label`` says otherwise; of predictions that are
numbers high ones are favourable, unless ``favorable`` does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mdfa_fairness_plugin.data.events import EVENTS, NUMBER_EVENTS
from mdfa_fairness_plugin.fairlearn.metrics import (
    audit_predictions,
    draw_predictions,
    predictions_hash,
    unfairness_certificate,
    worst_case,
    worst_case_difference,
    worst_case_ratio,
    worst_case_violation,
)

if TYPE_CHECKING:
    from mdfa_fairness_plugin.fairlearn.frame import MDFAMetricFrame

__all__ = [
    "EVENTS",
    "NUMBER_EVENTS",
    "MDFAMetricFrame",
    "audit_predictions",
    "draw_predictions",
    "predictions_hash",
    "unfairness_certificate",
    "worst_case",
    "worst_case_difference",
    "worst_case_ratio",
    "worst_case_violation",
]


def __getattr__(name: str) -> Any:
    if name == "MDFAMetricFrame":  # Its module needs Fairlearn.
        return importlib.import_module(f"{__name__}.frame").MDFAMetricFrame
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
