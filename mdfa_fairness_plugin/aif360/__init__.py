"""The audit as one more metric of an AIF360 pipeline.

Same datasets, same group lists, same explainers. AIF360 is imported when a name that needs it is
first used, and the messages it logs about its own missing parts are kept away.

Examples
--------
>>> from mdfa_fairness_plugin.aif360 import MDFADatasetMetric  # doctest: +SKIP
>>> metric = MDFADatasetMetric(
...     dataset, unprivileged_groups=[{"sex": 0}], privileged_groups=[{"sex": 1}]
... )  # doctest: +SKIP
>>> metric.worst_case_ratio(), metric.disparate_impact()  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mdfa_fairness_plugin.aif360.datasets import load_adult, load_compas, load_german
from mdfa_fairness_plugin.aif360.detectors import compare_detectors
from mdfa_fairness_plugin.aif360.functions import (
    unfairness_certificate,
    worst_case_difference,
    worst_case_ratio,
    worst_case_violation,
)
from mdfa_fairness_plugin.aif360.scan import MDFAScan, mdfa_scan

if TYPE_CHECKING:
    from mdfa_fairness_plugin.aif360.explainers import MDFAJSONExplainer, MDFATextExplainer
    from mdfa_fairness_plugin.aif360.metrics import MDFAClassificationMetric, MDFADatasetMetric

# Subclasses of AIF360's own.
_HOMES = {
    "MDFAClassificationMetric": "metrics",
    "MDFADatasetMetric": "metrics",
    "MDFAJSONExplainer": "explainers",
    "MDFATextExplainer": "explainers",
}

__all__ = [
    "MDFAClassificationMetric", "MDFADatasetMetric", "MDFAJSONExplainer", "MDFAScan",
    "MDFATextExplainer", "compare_detectors", "load_adult", "load_compas", "load_german",
    "mdfa_scan", "unfairness_certificate", "worst_case_difference", "worst_case_ratio",
    "worst_case_violation",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
