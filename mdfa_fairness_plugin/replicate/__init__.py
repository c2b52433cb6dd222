"""The audit repeated: where nothing is to be found, and on half samples."""

from mdfa_fairness_plugin.replicate.halves import Stability, stability
from mdfa_fairness_plugin.replicate.null import NullDistribution, null_distribution

__all__ = ["NullDistribution", "Stability", "null_distribution", "stability"]
