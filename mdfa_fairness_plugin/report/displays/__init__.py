"""Pictures of a result, in scikit-learn's manner: numbers as attributes, drawn by ``plot``."""

from mdfa_fairness_plugin.report.displays.amounts import AmountsDisplay
from mdfa_fairness_plugin.report.displays.comparison import ComparisonDisplay
from mdfa_fairness_plugin.report.displays.explained import ExplainedDisplay
from mdfa_fairness_plugin.report.displays.love import LoveDisplay
from mdfa_fairness_plugin.report.displays.null import NullDistributionDisplay
from mdfa_fairness_plugin.report.displays.overlap import OverlapDisplay
from mdfa_fairness_plugin.report.displays.path import WorstCasePathDisplay
from mdfa_fairness_plugin.report.displays.profile import ProfileDisplay
from mdfa_fairness_plugin.report.displays.rates import RatesDisplay
from mdfa_fairness_plugin.report.displays.region import RegionMapDisplay
from mdfa_fairness_plugin.report.displays.searches import SearchesDisplay
from mdfa_fairness_plugin.report.displays.sweep import SweepDisplay

__all__ = [
    "AmountsDisplay",
    "ComparisonDisplay",
    "ExplainedDisplay",
    "LoveDisplay",
    "NullDistributionDisplay",
    "OverlapDisplay",
    "ProfileDisplay",
    "RatesDisplay",
    "RegionMapDisplay",
    "SearchesDisplay",
    "SweepDisplay",
    "WorstCasePathDisplay",
]
