"""Classifiers that AIF360 or Fairlearn make more equal in the aggregate (Section 4.3, Table 3).

Thin wrappers with one interface, so that ``compare`` can audit what each repair leaves unequal:
``fit(X, y, sensitive_features=...)`` and ``predict(X, sensitive_features=...)``, where ``X`` is a table
of numbers and text; ``report_`` says what was changed. Nothing is computed here that the toolkits
compute: each wrapper encodes the table, calls the toolkit's own class, and fits a logistic classifier
where one is needed.
"""

from mdfa_fairness_plugin.repairs.classifier import LogisticClassifier
from mdfa_fairness_plugin.repairs.features import (
    DecorrelatedClassifier,
    DisparateImpactClassifier,
    ReweighingClassifier,
)
from mdfa_fairness_plugin.repairs.names import REPAIRS, make_repair
from mdfa_fairness_plugin.repairs.postprocessing import (
    CalibratedOddsClassifier,
    EqualizedOddsClassifier,
    RejectOptionClassifier,
    ThresholdClassifier,
)
from mdfa_fairness_plugin.repairs.reductions import (
    MOMENTS,
    GridSearchClassifier,
    ReductionClassifier,
)
from mdfa_fairness_plugin.repairs.report import RepairReport

__all__ = [
    "MOMENTS",
    "REPAIRS",
    "CalibratedOddsClassifier",
    "DecorrelatedClassifier",
    "DisparateImpactClassifier",
    "EqualizedOddsClassifier",
    "GridSearchClassifier",
    "LogisticClassifier",
    "ReductionClassifier",
    "RejectOptionClassifier",
    "RepairReport",
    "ReweighingClassifier",
    "ThresholdClassifier",
    "make_repair",
]
