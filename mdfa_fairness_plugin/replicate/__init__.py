"""The audit repeated: without a leak, with a plant, on half samples, and without each feature."""

from mdfa_fairness_plugin.replicate.halves import Stability, stability
from mdfa_fairness_plugin.replicate.null import NullDistribution, null_distribution
from mdfa_fairness_plugin.replicate.plants import PlantedPower, power
from mdfa_fairness_plugin.replicate.without import Explained, explained

__all__ = [
    "Explained",
    "NullDistribution",
    "PlantedPower",
    "Stability",
    "explained",
    "null_distribution",
    "power",
    "stability",
]
