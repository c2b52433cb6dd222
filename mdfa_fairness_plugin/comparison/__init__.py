"""Several models of the same people: disparate impact beside the worst case."""

from mdfa_fairness_plugin.comparison.comparing import compare
from mdfa_fairness_plugin.comparison.result import (
    ComparisonResult,
    Difference,
    ModelSearch,
    RateRatio,
    Search,
    Transfer,
)

__all__ = [
    "ComparisonResult",
    "Difference",
    "ModelSearch",
    "RateRatio",
    "Search",
    "Transfer",
    "compare",
]
