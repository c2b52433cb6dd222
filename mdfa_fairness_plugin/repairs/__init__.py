"""Classifiers that AIF360 or Fairlearn make more equal in the aggregate (Section 4.3, Table 3).

Thin wrappers with one interface, so that ``compare`` can audit what each repair leaves unequal:
``fit(X, y, sensitive_features=...)`` and ``predict(X, sensitive_features=...)``, where ``X`` is a table
of numbers and text; ``report_`` says what was changed. Nothing is computed here that the toolkits
compute: each wrapper encodes the table, calls the toolkit's own class, and fits a logistic classifier
where one is needed.
"""

from __future__ import annotations

from typing import Any

from mdfa_fairness_plugin.exceptions import InputError, did_you_mean
from mdfa_fairness_plugin.repairs.classifier import LogisticClassifier
from mdfa_fairness_plugin.repairs.features import (
    DecorrelatedClassifier,
    DisparateImpactClassifier,
    ReweighingClassifier,
)
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
from mdfa_fairness_plugin.settings import is_choice, shown

__all__ = [
    "MOMENTS", "REPAIRS", "CalibratedOddsClassifier", "DecorrelatedClassifier",
    "DisparateImpactClassifier", "EqualizedOddsClassifier", "GridSearchClassifier",
    "LogisticClassifier", "ReductionClassifier", "RejectOptionClassifier", "RepairReport",
    "ReweighingClassifier", "ThresholdClassifier", "make_repair",
]  # fmt: skip

REPAIRS: dict[str, tuple[type[LogisticClassifier], dict[str, Any]]] = {
    "LC": (LogisticClassifier, {}),
    "DI-LC": (DisparateImpactClassifier, {}),
    "Reweighing-LC": (ReweighingClassifier, {}),
    "Decorrelated-LC": (DecorrelatedClassifier, {}),
    "Red-LC": (ReductionClassifier, {}),
    **{
        f"Red-LC ({name.replace('_', ' ')})": (ReductionClassifier, {"constraint": name})
        for name in MOMENTS
        if name != "demographic_parity"
    },
    "Grid-LC": (GridSearchClassifier, {}),
    "Threshold-LC": (ThresholdClassifier, {}),
    "Reject-LC": (RejectOptionClassifier, {}),
    "EqOdds-LC": (EqualizedOddsClassifier, {}),
    "CalOdds-LC": (CalibratedOddsClassifier, {}),
}


def make_repair(name: str, **options: Any) -> LogisticClassifier:
    """Make a classifier by the name it has in tables.

    Parameters
    ----------
    name : str
        "LC"; of its features and weights, "DI-LC", "Reweighing-LC" (AIF360) and "Decorrelated-LC"
        (Fairlearn); while it is fitted, "Red-LC" and "Red-LC (equalized odds)", "(true positive rate
        parity)", "(false positive rate parity)" or "(error rate parity)", and "Grid-LC" (Fairlearn);
        of its answers, "Threshold-LC" (Fairlearn), "Reject-LC", "EqOdds-LC" and "CalOdds-LC" (AIF360).
    **options
        - ``estimator``: classifier fitted to the encoded table, which takes sample weights; None, the
          default, is ``LogisticRegression``. Repairs of answers need its ``predict_proba``.
        - ``random_state``: an int or None, for estimators and repairs that draw at random. None is 0,
          so that the same rows get the same answers.
        - ``repair_level`` of DI-LC: 0 leaves the features as they are, 1, the default, makes the
          distributions equal.
        - ``alpha`` of Decorrelated-LC: 0 leaves the features as they are, 1, the default, takes all
          correlation out.
        - ``constraint`` of Red-LC and Grid-LC, a key of ``repairs.MOMENTS``, by default
          "demographic_parity"; of Threshold-LC any that ``ThresholdOptimizer`` takes.
        - ``eps`` of Red-LC, default .01: how far a group's rate may be from everybody's;
          ``max_iter``, default 50.
        - ``constraint_weight``, default .5, and ``grid_size``, default 30, of Grid-LC.
        - ``metric_name``, default "Statistical parity difference", ``metric_bound``, default .05,
          ``num_class_thresh`` and ``num_ROC_margin`` of Reject-LC.
        - ``cost_constraint`` of CalOdds-LC: "weighted", the default, "fnr" or "fpr".

    Returns
    -------
    classifier : LogisticClassifier
        Or one of its repaired kinds; not fitted. Once it is, ``report_`` says what it changed.

    Examples
    --------
    >>> make_repair("Red-LC", random_state=0)
    ReductionClassifier(random_state=0)
    """
    if not is_choice(name, REPAIRS):
        raise InputError(
            f"name: one of {', '.join(map(repr, REPAIRS))} expected, {shown(name)} found."
            f"{did_you_mean(name, REPAIRS)}"
        )
    kind, settings = REPAIRS[name]
    return kind(**(settings | options))
