"""Several models of the same people: disparate impact beside the worst case."""

from mdfa_fairness_plugin.comparison.again import MeasuredAgain, measure_again
from mdfa_fairness_plugin.comparison.changes import Change
from mdfa_fairness_plugin.comparison.comparing import compare
from mdfa_fairness_plugin.comparison.diffing import DiffResult, diff
from mdfa_fairness_plugin.comparison.records import (
    Alternative,
    Difference,
    ModelSearch,
    RateRatio,
    Transfer,
)
from mdfa_fairness_plugin.comparison.result import ComparisonResult

__all__ = [
    "Alternative", "Change", "ComparisonResult", "DiffResult", "Difference", "MeasuredAgain",
    "ModelSearch", "RateRatio", "Transfer", "compare", "diff", "measure_again",
]  # fmt: skip
