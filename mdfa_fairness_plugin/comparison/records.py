"""What a comparison finds: immutable records, and their tables."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from mdfa_fairness_plugin.fields import UNKNOWN_PAIR, Record, said
from mdfa_fairness_plugin.records import INSUFFICIENT, SearchKey, Violation, ratio_of
from mdfa_fairness_plugin.records.effects import Compared, Effect, Tested

# Quantities whose differences are tested, in the order of reports.
WORST_CASE: Final = "worst case"
EVERYBODY: Final = "everybody"
SELECTION: Final = "selection rate"
TRUE_POSITIVE: Final = "true positive rate"
FALSE_POSITIVE: Final = "false positive rate"
ACCURACY: Final = "accuracy"
MEAN_ERROR: Final = "mean absolute error"

# What can be said of an alternative: it holds, it does not, or the rows cannot tell.
SHOWN: Final = "shown"
NOT_SHOWN: Final = "not shown"
UNDECIDED: Final = "undecided"

# Estimators of a model's ratio in another's subgroup: rates at the same features, where its audit
# says what the features tell of its outcomes; else rates with weights normalised inside the subgroup.
ADJUSTED_ESTIMATOR: Final = "doubly_robust"
PLAIN_ESTIMATOR: Final = "hajek"


def _fewest() -> Any:
    """Field of the smallest count that figures are made of, which is in no report; None: not known."""
    return field(default=None, metadata=said("never", json="no"))


def _told(default: Any) -> Any:
    """Field of comparisons of numbers and orders, in JSON where it says something."""
    return field(default=default, metadata=said("always", json="told"))


@dataclass(frozen=True, kw_only=True)
class RateRatio(Compared):
    """Ratio of a rate or mean between the group and those it is compared with, features not looked at.

    Parameters
    ----------
    rates : tuple of float
        The group's, the others'; of numbers means in units of the outcome.
    interval : tuple of float
        Ends of the interval on the logarithm of the ratio.
    n_rows : int
        Rows the rates were measured on.
    measure : {"ratio", "difference"}
        What both sides are compared by.
    less : bool
        Whether less is searched for, so that the ratio is the others' mean over the group's.
    difference, difference_interval
        How much more the group gets, or less where that is searched for; NaN of a ratio.
    fewest : int or None
        Fewest rows of one side with or without the outcome, of numbers of one side.
    """

    rates: tuple[float, float] = UNKNOWN_PAIR
    interval: tuple[float, float] = UNKNOWN_PAIR
    n_rows: int = 0
    measure: str = _told("ratio")
    less: bool = _told(False)
    difference: float = _told(math.nan)
    difference_interval: tuple[float, float] = _told(UNKNOWN_PAIR)
    fewest: int | None = _fewest()

    @property
    def ratio(self) -> float:
        """The group's rate over the others'; infinite where only the group's is not zero."""
        if self.by_difference:
            return math.nan
        group, others = reversed(self.rates) if self.less else self.rates
        if others > 0:
            return group / others
        return math.inf if group > 0 else math.nan

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval on the ratio."""
        return ratio_of(self.interval[0]), ratio_of(self.interval[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelSearch(Tested, Record):
    """One model in one search: aggregate ratios beside the worst case.

    Parameters
    ----------
    model : hashable
    search : SearchKey
    verdict, reason : str
        As in ``Violation``.
    accuracy : float
        Of the model, over everybody whose true label is known; NaN without true labels.
    selection : RateRatio
        Of the outcome's rate over everybody: the ratio of disparate impact, ``DI``.
    true_positive, false_positive : RateRatio
        Of the rate of the outcome among those whose true label it is, and among the others.
    everybody_delta, everybody_interval
        Log ratio among everybody compared, at equal features.
    delta, interval
        Log ratio in the worst subgroup, ``ln DT_G``: cross-fitted, over every row, with an interval
        that is valid after the search.
    difference, difference_interval
        Of the rates behind it.
    gamma, mass, n_rows, share, p_value_adjusted, detectable_delta, detectable_mass
        As in ``Violation``.
    rule, rule_fidelity
        Who is in the worst subgroup.
    split_ratio_mean, split_ratio_sd : float
        Of ``DT_G`` over the repeated 70/30 splits, those with an infinite ratio left out.
    n_splits_measured, n_splits_infinite : int
        Splits whose ratio is finite, and infinite (nobody else there had the outcome).
    measure : {"ratio", "difference"}
        What both sides are compared by, as in ``Violation``.
    everybody_difference, everybody_difference_interval
        Where that is the difference of means: of everybody compared, in units of the outcome.
    split_difference_mean, split_difference_sd : float
        Likewise over the splits.
    detectable_difference : float
        As in ``Violation``.
    r2, mean_absolute_error : float
        Of numbers, by the true ones; NaN without them.
    """

    model: Hashable
    search: SearchKey
    verdict: str = INSUFFICIENT
    reason: str = ""
    accuracy: float = math.nan
    selection: RateRatio = field(default_factory=RateRatio)
    true_positive: RateRatio = field(default_factory=RateRatio)
    false_positive: RateRatio = field(default_factory=RateRatio)
    everybody_delta: float = math.nan
    everybody_interval: tuple[float, float] = UNKNOWN_PAIR
    delta: float = math.nan
    interval: tuple[float, float] = UNKNOWN_PAIR
    difference: float = math.nan
    difference_interval: tuple[float, float] = UNKNOWN_PAIR
    p_value_adjusted: float = math.nan
    detectable_delta: float = math.nan
    detectable_mass: float = math.nan
    gamma: float = math.nan
    mass: float = math.nan
    n_rows: int | None = 0
    share: float = math.nan
    rule: str = ""
    rule_fidelity: float = math.nan
    split_ratio_mean: float = math.nan
    split_ratio_sd: float = math.nan
    n_splits_measured: int = 0
    n_splits_infinite: int = 0
    measure: str = _told("ratio")
    everybody_difference: float = _told(math.nan)
    everybody_difference_interval: tuple[float, float] = _told(UNKNOWN_PAIR)
    split_difference_mean: float = _told(math.nan)
    split_difference_sd: float = _told(math.nan)
    detectable_difference: float = _told(math.nan)
    r2: float = _told(math.nan)
    mean_absolute_error: float = _told(math.nan)


# Figures of a row that are those of the model's audit.
_BOTH = [one for one in ModelSearch.__dataclass_fields__ if one in Violation.__dataclass_fields__]
OF_THE_AUDIT: Final = tuple(name for name in _BOTH if name != "withheld")


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfer(Effect, Record):
    """One model's outcomes inside the worst subgroup that was found for another.

    Parameters
    ----------
    subgroup_of : hashable
        Model whose worst subgroup it is.
    model : hashable
        Model whose outcomes are measured there.
    search : SearchKey
    estimator : str
        Behind ``delta``: in a model's own subgroup the audit's, so that it is what the audit says,
        with the same interval; in another's "doubly_robust" too if that is the audit's and there is
        an audit of ``model``, otherwise "hajek".
    delta, interval
        Cross-fitted log ratio of ``model``'s outcomes there.
    rates : tuple of float
        Rates behind it: the group's, the others'.
    difference, difference_interval
        ``delta`` of ``subgroup_of`` less that of ``model``, on the same rows: above zero the
        subgroup is treated more unequally by the model it was found for. Both by the estimator of
        other models' subgroups; of differences of means that of their differences, in units of the
        outcome.
    split_ratio_mean, split_ratio_sd : float
        Of the ratio over held-out rows of the splits.
    split_rates : tuple of float
        Means of both rates over the splits.
    measure : {"ratio", "difference"}
        What both sides are compared by, as in ``Violation``.
    gap, gap_interval
        Where that is the difference of means: how much more of ``model``'s outcomes the group gets
        there, or less where that is searched for.
    split_difference_mean, split_difference_sd : float
        Of that over the splits.
    fewest : int or None
        Fewest rows of one side with or without the outcome there, of numbers of one side.
    """

    subgroup_of: Hashable
    model: Hashable
    search: SearchKey
    estimator: str = PLAIN_ESTIMATOR
    delta: float = math.nan
    interval: tuple[float, float] = UNKNOWN_PAIR
    rates: tuple[float, float] = UNKNOWN_PAIR
    difference: float = math.nan
    difference_interval: tuple[float, float] = UNKNOWN_PAIR
    split_ratio_mean: float = math.nan
    split_ratio_sd: float = math.nan
    split_rates: tuple[float, float] = UNKNOWN_PAIR
    measure: str = _told("ratio")
    gap: float = _told(math.nan)
    gap_interval: tuple[float, float] = _told(UNKNOWN_PAIR)
    split_difference_mean: float = _told(math.nan)
    split_difference_sd: float = _told(math.nan)
    fewest: int | None = _fewest()

    @property
    def effect(self) -> float:
        """What both sides are compared by: ``delta``, or ``gap``."""
        return self.gap if self.by_difference else self.delta

    @property
    def effect_interval(self) -> tuple[float, float]:
        """Interval on ``effect``."""
        return self.gap_interval if self.by_difference else self.interval


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternative(Compared, Record):
    """A model as an alternative to the baseline: how well it does, and how unequal it is.

    Parameters
    ----------
    model, baseline : hashable
    metric : str
    tolerance : float
        How much less the metric may be than the baseline's; NaN if none was given.
    confidence_level : float
        Of the intervals, which hold for all alternatives at once.
    performance : float
        The metric, higher being better.
    performance_difference, performance_interval
        Less that of the baseline, on the same rows.
    impact : RateRatio
        Of favourable rates, the group's over the others', in the model's worst case.
    worst_difference, worst_interval
        Log ratio of the model's worst case less that of the baseline's worst case, whoever is in them:
        below zero the worst case is less unequal. Likewise of differences of means, in units of the
        outcome; NaN where one is a ratio and the other a difference.
    measure : {"ratio", "difference", "none"}
        What that is the difference of; "none" if the two worst cases have no common measure.
    """

    model: Hashable
    baseline: Hashable
    metric: str = ""
    tolerance: float = math.nan
    confidence_level: float = math.nan
    performance: float = math.nan
    performance_difference: float = math.nan
    performance_interval: tuple[float, float] = UNKNOWN_PAIR
    impact: RateRatio = field(default_factory=RateRatio)
    worst_difference: float = math.nan
    worst_interval: tuple[float, float] = UNKNOWN_PAIR
    measure: str = _told("ratio")

    @property
    def within_tolerance(self) -> str:
        """Whether the metric is at most so much less: "shown", "not shown", "undecided", or empty."""
        if math.isnan(self.tolerance) or self.model == self.baseline:
            return ""
        (low, high), least = self.performance_interval, -self.tolerance
        return SHOWN if low >= least else NOT_SHOWN if high < least else UNDECIDED

    @property
    def less_unequal(self) -> str:
        """Whether the worst case is less unequal: "shown", "not shown", "undecided", or empty."""
        if self.model == self.baseline:
            return ""
        low, high = self.worst_interval
        return SHOWN if high < 0.0 else NOT_SHOWN if low >= 0.0 else UNDECIDED

    @property
    def finding(self) -> str:
        """Less unequal within the tolerance: both are shown, one is shown not to hold, or neither."""
        both = (self.within_tolerance, self.less_unequal)
        if "" in both:
            return ""
        return NOT_SHOWN if NOT_SHOWN in both else UNDECIDED if UNDECIDED in both else SHOWN


@dataclass(frozen=True, kw_only=True, eq=False)
class Difference(Compared, Record):
    """A model against the baseline, measured on the same rows.

    Parameters
    ----------
    model, baseline : hashable
    quantity : str
        "worst case", "everybody" (at equal features), "selection rate", "true positive rate",
        "false positive rate" or "accuracy"; of numbers the last is "mean absolute error".
    search : SearchKey or None
        None for the accuracy or error.
    difference : float
        Of the log ratios, the model's less the baseline's; of the accuracies, errors, or differences
        of means themselves.
    interval : tuple of float
        Paired over rows; NaN where a ratio is infinite or unknown.
    measure : {"ratio", "difference"}
        What the sides of the search are compared by.
    """

    model: Hashable
    baseline: Hashable
    quantity: str
    search: SearchKey | None
    difference: float = math.nan
    interval: tuple[float, float] = UNKNOWN_PAIR
    measure: str = _told("ratio")
