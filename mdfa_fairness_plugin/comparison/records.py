"""What a comparison finds: immutable records, and their tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.fields import Record
from mdfa_fairness_plugin.records import INSUFFICIENT, SearchKey, deviations_of, ratio_of

_UNKNOWN_PAIR: Final = (math.nan, math.nan)

# Quantities whose differences are tested, in the order of reports.
WORST_CASE: Final = "worst case"
EVERYBODY: Final = "everybody"
SELECTION: Final = "selection rate"
TRUE_POSITIVE: Final = "true positive rate"
FALSE_POSITIVE: Final = "false positive rate"
ACCURACY: Final = "accuracy"

# What can be said of an alternative: it holds, it does not, or the rows cannot tell.
SHOWN: Final = "shown"
NOT_SHOWN: Final = "not shown"
UNDECIDED: Final = "undecided"

# Estimators of a model's ratio in another's subgroup: rates at the same features, where its audit
# says what the features tell of its outcomes; else rates with weights normalised inside the subgroup.
ADJUSTED_ESTIMATOR: Final = "doubly_robust"
PLAIN_ESTIMATOR: Final = "hajek"

# Columns of the tables that hold labels and text, and those that hold whole numbers; all others hold
# real ones.
_TEXT: Final = (
    "model",
    "baseline",
    "subgroup_of",
    "quantity",
    "sensitive_feature",
    "group",
    "reference",
    "outcome",
    "estimator",
    "verdict",
    "rule",
    "reason",
    "metric",
    "within_tolerance",
    "less_unequal",
    "finding",
)
_WHOLE: Final = ("n_splits_measured", "n_splits_infinite", "n_rows")


@dataclass(frozen=True, kw_only=True)
class RateRatio:
    """Ratio of a rate between the group and those it is compared with, features not looked at.

    Parameters
    ----------
    rates : tuple of float
        The group's, the others'.
    interval : tuple of float
        Ends of the interval on the logarithm of the ratio.
    n_rows : int
        Rows the rates were measured on.
    """

    rates: tuple[float, float] = _UNKNOWN_PAIR
    interval: tuple[float, float] = _UNKNOWN_PAIR
    n_rows: int = 0

    @property
    def ratio(self) -> float:
        """The group's rate over the others'; infinite where only the group's is not zero."""
        group, others = self.rates
        if others > 0:
            return group / others
        return math.inf if group > 0 else math.nan

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval on the ratio."""
        return ratio_of(self.interval[0]), ratio_of(self.interval[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelSearch(Record):
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
    everybody_interval: tuple[float, float] = _UNKNOWN_PAIR
    delta: float = math.nan
    interval: tuple[float, float] = _UNKNOWN_PAIR
    difference: float = math.nan
    difference_interval: tuple[float, float] = _UNKNOWN_PAIR
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

    @property
    def detectable_ratio(self) -> float:
        """As in ``Violation``."""
        return ratio_of(self.detectable_delta)

    @property
    def standard_deviations(self) -> float:
        """As in ``Violation``."""
        return deviations_of(self.p_value_adjusted)

    @property
    def ratio(self) -> float:
        """The paper's ``DT_G``, cross-fitted."""
        return ratio_of(self.delta)

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval on the ratio."""
        return ratio_of(self.interval[0]), ratio_of(self.interval[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfer(Record):
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
        other models' subgroups.
    split_ratio_mean, split_ratio_sd : float
        Of the ratio over held-out rows of the splits.
    split_rates : tuple of float
        Means of both rates over the splits.
    """

    subgroup_of: Hashable
    model: Hashable
    search: SearchKey
    estimator: str = PLAIN_ESTIMATOR
    delta: float = math.nan
    interval: tuple[float, float] = _UNKNOWN_PAIR
    rates: tuple[float, float] = _UNKNOWN_PAIR
    difference: float = math.nan
    difference_interval: tuple[float, float] = _UNKNOWN_PAIR
    split_ratio_mean: float = math.nan
    split_ratio_sd: float = math.nan
    split_rates: tuple[float, float] = _UNKNOWN_PAIR

    @property
    def ratio(self) -> float:
        """Rate ratio of ``model``'s outcomes in the subgroup."""
        return ratio_of(self.delta)

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval on the ratio."""
        return ratio_of(self.interval[0]), ratio_of(self.interval[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternative(Record):
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
        below zero the worst case is less unequal.
    """

    model: Hashable
    baseline: Hashable
    metric: str = ""
    tolerance: float = math.nan
    confidence_level: float = math.nan
    performance: float = math.nan
    performance_difference: float = math.nan
    performance_interval: tuple[float, float] = _UNKNOWN_PAIR
    impact: RateRatio = field(default_factory=RateRatio)
    worst_difference: float = math.nan
    worst_interval: tuple[float, float] = _UNKNOWN_PAIR

    @property
    def within_tolerance(self) -> str:
        """Whether the metric is at most so much less: "shown", "not shown", "undecided", or empty."""
        if math.isnan(self.tolerance) or self.model == self.baseline:
            return ""
        low, high = self.performance_interval
        return (
            SHOWN if low >= -self.tolerance else NOT_SHOWN if high < -self.tolerance else UNDECIDED
        )

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
class Difference:
    """A model against the baseline, measured on the same rows.

    Parameters
    ----------
    model, baseline : hashable
    quantity : str
        "worst case", "everybody" (at equal features), "selection rate", "true positive rate",
        "false positive rate" or "accuracy".
    search : SearchKey or None
        None for the accuracy.
    difference : float
        Of the log ratios, the model's less the baseline's; of the accuracies themselves.
    interval : tuple of float
        Paired over rows; NaN where a ratio is infinite or unknown.
    """

    model: Hashable
    baseline: Hashable
    quantity: str
    search: SearchKey | None
    difference: float = math.nan
    interval: tuple[float, float] = _UNKNOWN_PAIR


def row_frame(rows: Sequence[ModelSearch]) -> pd.DataFrame:
    """One row per model and search."""
    return _frame(rows, _row_values, ModelSearch(model=None, search=_NO_SEARCH))


def transfer_frame(transfers: Sequence[Transfer]) -> pd.DataFrame:
    """One row per search, model whose worst subgroup it is, and model measured there."""
    nothing = Transfer(subgroup_of=None, model=None, search=_NO_SEARCH)
    return _frame(transfers, _transfer_values, nothing)


def difference_frame(differences: Sequence[Difference]) -> pd.DataFrame:
    """One row per quantity of a model beside the baseline's."""
    nothing = Difference(model=None, baseline=None, quantity="", search=None)
    return _frame(differences, _difference_values, nothing)


def alternative_frame(
    alternatives: Sequence[Alternative], worst: Callable[[Hashable], ModelSearch]
) -> pd.DataFrame:
    """One row per model, with its worst case."""
    nothing = ModelSearch(model=None, search=_NO_SEARCH)
    rows = {one.model: worst(one.model) for one in alternatives}
    return _frame(
        alternatives,
        lambda one: _alternative_values(one, rows.get(one.model, nothing)),
        Alternative(model=None, baseline=None),
    )


_NO_SEARCH: Final = SearchKey(sensitive_feature="", group=None, reference=None, outcome=None)


def _search_values(search: SearchKey | None) -> dict[str, Any]:
    names = ("sensitive_feature", "group", "reference", "outcome")
    return {name: None if search is None else getattr(search, name) for name in names}


def _ratio_values(name: str, ratio: float, interval: tuple[float, float]) -> dict[str, float]:
    """A ratio and its interval, given on the log scale."""
    return {
        name: ratio,
        f"{name}_low": ratio_of(interval[0]),
        f"{name}_high": ratio_of(interval[1]),
    }


def _row_values(one: ModelSearch) -> dict[str, Any]:
    same = (
        "p_value_adjusted",
        "standard_deviations",
        "detectable_ratio",
        "detectable_delta",
        "detectable_mass",
        "gamma",
        "mass",
        "n_rows",
        "share",
    )
    return {
        "model": one.model,
        **_search_values(one.search),
        "verdict": one.verdict,
        "accuracy": one.accuracy,
        **_ratio_values("selection_ratio", one.selection.ratio, one.selection.interval),
        **_ratio_values("tpr_ratio", one.true_positive.ratio, one.true_positive.interval),
        **_ratio_values("fpr_ratio", one.false_positive.ratio, one.false_positive.interval),
        **_ratio_values("ratio_everybody", ratio_of(one.everybody_delta), one.everybody_interval),
        **_ratio_values("ratio", one.ratio, one.interval),
        "difference": one.difference,
        "difference_low": one.difference_interval[0],
        "difference_high": one.difference_interval[1],
        "ratio_split_mean": one.split_ratio_mean,
        "ratio_split_sd": one.split_ratio_sd,
        "n_splits_measured": one.n_splits_measured,
        "n_splits_infinite": one.n_splits_infinite,
        **{name: getattr(one, name) for name in same},
        "rule": one.rule,
        "rule_fidelity": one.rule_fidelity,
        "reason": one.reason,
    }


def _transfer_values(one: Transfer) -> dict[str, Any]:
    return {
        "subgroup_of": one.subgroup_of,
        "model": one.model,
        **_search_values(one.search),
        "estimator": one.estimator,
        **_ratio_values("ratio", one.ratio, one.interval),
        "rate_group": one.rates[0],
        "rate_reference": one.rates[1],
        "ratio_split_mean": one.split_ratio_mean,
        "ratio_split_sd": one.split_ratio_sd,
        "rate_group_split_mean": one.split_rates[0],
        "rate_reference_split_mean": one.split_rates[1],
        **_ratio_values("times_as_unequal", ratio_of(one.difference), one.difference_interval),
    }


def _difference_values(one: Difference) -> dict[str, Any]:
    known = one.quantity != ACCURACY
    unknown = (math.nan, math.nan)
    return {
        "model": one.model,
        "baseline": one.baseline,
        "quantity": one.quantity,
        **_search_values(one.search),
        "difference": one.difference,
        "difference_low": one.interval[0],
        "difference_high": one.interval[1],
        **_ratio_values(
            "times",
            ratio_of(one.difference) if known else math.nan,
            one.interval if known else unknown,
        ),
    }


def _alternative_values(one: Alternative, row: ModelSearch) -> dict[str, Any]:
    same = ("metric", "tolerance", "confidence_level", "performance", "performance_difference")
    return {
        "model": one.model,
        "baseline": one.baseline,
        **{name: getattr(one, name) for name in same},
        "performance_difference_low": one.performance_interval[0],
        "performance_difference_high": one.performance_interval[1],
        **_search_values(row.search),
        **_ratio_values("impact_ratio", one.impact.ratio, one.impact.interval),
        **_ratio_values("ratio_everybody", ratio_of(row.everybody_delta), row.everybody_interval),
        **_ratio_values("ratio", row.ratio, row.interval),
        **_ratio_values("times_as_unequal", ratio_of(one.worst_difference), one.worst_interval),
        "within_tolerance": one.within_tolerance,
        "less_unequal": one.less_unequal,
        "finding": one.finding,
    }


def _frame(records: Sequence[Any], values_of: Callable[[Any], Any], empty: Any) -> pd.DataFrame:
    """Build a table whose columns have one type each, also without rows; labels stay objects."""
    rows = [values_of(record) for record in records]
    series = {}
    for name in values_of(empty):
        dtype: type = object if name in _TEXT else int if name in _WHOLE else float
        values: np.ndarray = np.empty(len(rows), dtype=dtype)
        for place, row in enumerate(rows):
            values[place] = row[name]
        series[name] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(series)
