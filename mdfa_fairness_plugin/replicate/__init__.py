"""The audit repeated: where nothing is to be found, and on half samples."""

from mdfa_fairness_plugin.replicate.repeating import (
    NullDistribution,
    Stability,
    null_distribution,
    stability,
)

__all__ = ["NullDistribution", "Stability", "null_distribution", "stability"]
