"""Balance: weights that make the features of two groups alike (Section 3.2)."""

from mdfa_fairness_plugin.balance.balancer import BALANCERS, Balancer, weigh
from mdfa_fairness_plugin.balance.diagnostics import BalanceDiagnostics
from mdfa_fairness_plugin.balance.entropy import EntropyBalancing
from mdfa_fairness_plugin.balance.kernel_matching import KernelMeanMatching
from mdfa_fairness_plugin.balance.network import MMDNetwork

__all__ = [
    "BALANCERS",
    "BalanceDiagnostics",
    "Balancer",
    "EntropyBalancing",
    "KernelMeanMatching",
    "MMDNetwork",
    "weigh",
]
