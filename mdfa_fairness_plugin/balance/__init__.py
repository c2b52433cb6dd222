"""Balance: weights that make the features of two groups alike (Section 3.2)."""

from mdfa_fairness_plugin.balance.balancing import (
    METHODS,
    Balance,
    BalanceDiagnostics,
    Weighing,
    balance,
    diagnose,
    weigh,
)
from mdfa_fairness_plugin.balance.entropy import EntropyBalancing
from mdfa_fairness_plugin.balance.kernel_matching import KernelMeanMatching
from mdfa_fairness_plugin.balance.mmd import median_bandwidth, mmd
from mdfa_fairness_plugin.balance.network import MMDNetwork
from mdfa_fairness_plugin.balance.overlap import (
    Support,
    check_support,
    effective_sample_size,
    support,
)
from mdfa_fairness_plugin.balance.propensity import (
    cross_fitted_propensity,
    draw_folds,
    odds_weights,
    overlap_weights,
)

__all__ = [
    "METHODS",
    "Balance",
    "BalanceDiagnostics",
    "EntropyBalancing",
    "KernelMeanMatching",
    "MMDNetwork",
    "Support",
    "Weighing",
    "balance",
    "check_support",
    "cross_fitted_propensity",
    "diagnose",
    "draw_folds",
    "effective_sample_size",
    "median_bandwidth",
    "mmd",
    "odds_weights",
    "overlap_weights",
    "support",
    "weigh",
]
