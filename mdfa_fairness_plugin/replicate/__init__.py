"""The audit repeated: where nothing is to be found, on half samples, and without each feature."""

from mdfa_fairness_plugin.replicate.halves import Stability, stability
from mdfa_fairness_plugin.replicate.null import NullDistribution, null_distribution
from mdfa_fairness_plugin.replicate.without import Explained, explained

__all__ = [
    "Explained",
    "NullDistribution",
    "Stability",
    "explained",
    "null_distribution",
    "stability",
]
