"""What a comparison finds: immutable records, and their tables."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.fields import Record
from mdfa_fairness_plugin.records import INSUFFICIENT, SearchKey, ratio_of

_UNKNOWN_PAIR: Final = (math.nan, math.nan)

# Quantities whose differences are tested, in the order of reports.
WORST_CASE: Final = "worst case"
EVERYBODY: Final = "everybody"
SELECTION: Final = "selection rate"
TRUE_POSITIVE: Final = "true positive rate"
FALSE_POSITIVE: Final = "false positive rate"
ACCURACY: Final = "accuracy"

# Estimator of ratios that no audit gives: rates with weights normalised inside the subgroup.
PLAIN_ESTIMATOR: Final = "hajek"

_FRAME_COLUMNS: Final = (
    ("model", object),
    ("sensitive_feature", object),
    ("group", object),
    ("reference", object),
    ("outcome", object),
    ("verdict", object),
    ("accuracy", float),
    ("selection_ratio", float),
    ("selection_ratio_low", float),
    ("selection_ratio_high", float),
    ("tpr_ratio", float),
    ("tpr_ratio_low", float),
    ("tpr_ratio_high", float),
    ("fpr_ratio", float),
    ("fpr_ratio_low", float),
    ("fpr_ratio_high", float),
    ("ratio_everybody", float),
    ("ratio_everybody_low", float),
    ("ratio_everybody_high", float),
    ("ratio", float),
    ("ratio_low", float),
    ("ratio_high", float),
    ("ratio_split_mean", float),
    ("ratio_split_sd", float),
    ("n_splits_measured", int),
    ("n_splits_infinite", int),
    ("p_value_adjusted", float),
    ("detectable_delta", float),
    ("gamma", float),
    ("mass", float),
    ("n_rows", int),
    ("share", float),
    ("rule", object),
    ("rule_fidelity", float),
    ("reason", object),
)
_TRANSFER_COLUMNS: Final = (
    ("subgroup_of", object),
    ("model", object),
    ("sensitive_feature", object),
    ("group", object),
    ("reference", object),
    ("outcome", object),
    ("estimator", object),
    ("ratio", float),
    ("ratio_low", float),
    ("ratio_high", float),
    ("rate_group", float),
    ("rate_reference", float),
    ("ratio_split_mean", float),
    ("ratio_split_sd", float),
    ("rate_group_split_mean", float),
    ("rate_reference_split_mean", float),
    ("times_as_unequal", float),
    ("times_as_unequal_low", float),
    ("times_as_unequal_high", float),
)
_DIFFERENCE_COLUMNS: Final = (
    ("model", object),
    ("baseline", object),
    ("quantity", object),
    ("sensitive_feature", object),
    ("group", object),
    ("reference", object),
    ("outcome", object),
    ("difference", float),
    ("difference_low", float),
    ("difference_high", float),
    ("times", float),
    ("times_low", float),
    ("times_high", float),
)


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
    gamma, mass, n_rows, share, p_value_adjusted, detectable_delta
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
    p_value_adjusted: float = math.nan
    detectable_delta: float = math.nan
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
        with the same interval; in another's always "hajek".
    delta, interval
        Cross-fitted log ratio of ``model``'s outcomes there.
    rates : tuple of float
        Weighted rates behind it: the group's, the others'.
    difference, difference_interval
        ``delta`` of ``subgroup_of`` less that of ``model``, on the same rows: above zero the
        subgroup is treated more unequally by the model it was found for.
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
    return _frame([_row_values(one) for one in rows], _FRAME_COLUMNS)


def transfer_frame(transfers: Sequence[Transfer]) -> pd.DataFrame:
    """One row per search, model whose worst subgroup it is, and model measured there."""
    return _frame([_transfer_values(one) for one in transfers], _TRANSFER_COLUMNS)


def difference_frame(differences: Sequence[Difference]) -> pd.DataFrame:
    """One row per quantity of a model beside the baseline's."""
    return _frame([_difference_values(one) for one in differences], _DIFFERENCE_COLUMNS)


def _search_values(search: SearchKey | None) -> dict[str, Any]:
    names = ("sensitive_feature", "group", "reference", "outcome")
    return {name: None if search is None else getattr(search, name) for name in names}


def _interval_values(name: str, interval: tuple[float, float]) -> dict[str, float]:
    return {f"{name}_low": ratio_of(interval[0]), f"{name}_high": ratio_of(interval[1])}


def _row_values(one: ModelSearch) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: getattr(one, name) for name, _ in _FRAME_COLUMNS if hasattr(one, name)
    }
    values |= _search_values(one.search)
    values |= _interval_values("ratio", one.interval)
    values |= _interval_values("ratio_everybody", one.everybody_interval)
    values["ratio_everybody"] = ratio_of(one.everybody_delta)
    for name, rates in (
        ("selection_ratio", one.selection),
        ("tpr_ratio", one.true_positive),
        ("fpr_ratio", one.false_positive),
    ):
        values[name] = rates.ratio
        values |= _interval_values(name, rates.interval)
    values["ratio_split_mean"], values["ratio_split_sd"] = one.split_ratio_mean, one.split_ratio_sd
    return values


def _transfer_values(one: Transfer) -> dict[str, Any]:
    return {
        "subgroup_of": one.subgroup_of,
        "model": one.model,
        **_search_values(one.search),
        "estimator": one.estimator,
        "ratio": one.ratio,
        **_interval_values("ratio", one.interval),
        "rate_group": one.rates[0],
        "rate_reference": one.rates[1],
        "ratio_split_mean": one.split_ratio_mean,
        "ratio_split_sd": one.split_ratio_sd,
        "rate_group_split_mean": one.split_rates[0],
        "rate_reference_split_mean": one.split_rates[1],
        "times_as_unequal": ratio_of(one.difference),
        **_interval_values("times_as_unequal", one.difference_interval),
    }


def _difference_values(one: Difference) -> dict[str, Any]:
    is_ratio = one.quantity != ACCURACY
    return {
        "model": one.model,
        "baseline": one.baseline,
        "quantity": one.quantity,
        **_search_values(one.search),
        "difference": one.difference,
        "difference_low": one.interval[0],
        "difference_high": one.interval[1],
        "times": ratio_of(one.difference) if is_ratio else math.nan,
        "times_low": ratio_of(one.interval[0]) if is_ratio else math.nan,
        "times_high": ratio_of(one.interval[1]) if is_ratio else math.nan,
    }


def _frame(records: list[dict[str, Any]], columns: tuple[tuple[str, type], ...]) -> pd.DataFrame:
    """Build a table whose columns have one type each; labels stay objects."""
    series = {}
    for name, dtype in columns:
        values: np.ndarray = np.empty(len(records), dtype=dtype)
        for place, record in enumerate(records):
            values[place] = record[name]
        series[name] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(series)
