"""The audit repeated: without a leak, with a plant, on halves, without a feature, where asked."""

from mdfa_fairness_plugin.replicate.asked import group_pairs, measure_asked
from mdfa_fairness_plugin.replicate.groups import group_table
from mdfa_fairness_plugin.replicate.halves import Stability, stability
from mdfa_fairness_plugin.replicate.inside import control_feature, members
from mdfa_fairness_plugin.replicate.null import NullDistribution, null_distribution
from mdfa_fairness_plugin.replicate.plants import PlantedPower, power
from mdfa_fairness_plugin.replicate.sweep import Sweep, sweep
from mdfa_fairness_plugin.replicate.without import Explained, explained

__all__ = [
    "Explained",
    "NullDistribution",
    "PlantedPower",
    "Stability",
    "Sweep",
    "control_feature",
    "explained",
    "group_pairs",
    "group_table",
    "measure_asked",
    "members",
    "null_distribution",
    "power",
    "stability",
    "sweep",
]
