"""What a comparison finds as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.comparison.records import (
    ACCURACY,
    MEAN_ERROR,
    Alternative,
    Difference,
    ModelSearch,
    Transfer,
)
from mdfa_fairness_plugin.fields import UNKNOWN_PAIR
from mdfa_fairness_plugin.records import SearchKey, ratio_of

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.result import ComparisonResult


def row_frame(result: ComparisonResult, *, every_search: bool = False) -> pd.DataFrame:
    """Give one row per model: its worst case.

    Parameters
    ----------
    every_search : bool, default=False
        One row per model and search.

    Returns
    -------
    DataFrame
        Columns and types are the same for every comparison.
    """
    rows = result.rows if every_search else [result.worst(model) for model in result.models]
    nothing = ModelSearch(model=None, search=_NO_SEARCH)
    return _frame(rows, _row_values, nothing, _row_values_of_numbers)


def transfer_frame(result: ComparisonResult) -> pd.DataFrame:
    """Give one row per search, model whose worst subgroup it is, and model measured there."""
    nothing = Transfer(subgroup_of=None, model=None, search=_NO_SEARCH)
    return _frame(result.transfers, _transfer_values, nothing, _transfer_values_of_numbers)


def difference_frame(result: ComparisonResult) -> pd.DataFrame:
    """Give one row per comparison of a model with the baseline.

    ``difference`` is that of the log ratios (of the accuracies themselves), ``times`` its
    exponential.
    """
    nothing = Difference(model=None, baseline=None, quantity="", search=None)
    differences = result.differences
    return _frame(differences, _difference_values, nothing, lambda one: {"measure": one.measure})


def alternative_frame(result: ComparisonResult) -> pd.DataFrame:
    """Give one row per model, the baseline too, if there is a metric.

    Performance with its difference from the baseline's, impact ratio, ratio at equal features,
    worst case, ``times_as_unequal`` the baseline's worst case, and what is shown:
    ``within_tolerance``, ``less_unequal``, and ``finding``, which is both.
    """
    nothing = ModelSearch(model=None, search=_NO_SEARCH)
    rows = {one.model: result.worst(one.model) for one in result.alternatives}
    return _frame(
        result.alternatives,
        lambda one: _alternative_values(one, rows.get(one.model, nothing)),
        Alternative(model=None, baseline=None),
        lambda one: _alternative_values_of_numbers(one, rows.get(one.model, nothing)),
    )


_NO_SEARCH: Final = SearchKey(sensitive_feature="", group=None, reference=None, outcome=None)


def _search_values(search: SearchKey | None) -> dict[str, Any]:
    return dict.fromkeys(vars(_NO_SEARCH)) if search is None else vars(search)


def _same(one: Any, *names: str) -> dict[str, Any]:
    """Columns that are called as what they hold."""
    return {name: getattr(one, name) for name in names}


def _spanned(name: str, size: float, ends: tuple[float, float]) -> dict[str, float]:
    """A size and its interval."""
    return {name: size, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _ratios(name: str, delta: float, interval: tuple[float, float]) -> dict[str, float]:
    """A ratio and its interval, all given on the log scale."""
    return _spanned(name, ratio_of(delta), (ratio_of(interval[0]), ratio_of(interval[1])))


def _row_values(one: ModelSearch) -> dict[str, Any]:
    return {
        "model": one.model,
        **_search_values(one.search),
        **_same(one, "verdict", "accuracy"),
        **_spanned("selection_ratio", one.selection.ratio, one.selection.ratio_interval),
        **_spanned("tpr_ratio", one.true_positive.ratio, one.true_positive.ratio_interval),
        **_spanned("fpr_ratio", one.false_positive.ratio, one.false_positive.ratio_interval),
        **_ratios("ratio_everybody", one.everybody_delta, one.everybody_interval),
        **_spanned("ratio", one.ratio, one.ratio_interval),
        **_spanned("difference", one.difference, one.difference_interval),
        "ratio_split_mean": one.split_ratio_mean,
        "ratio_split_sd": one.split_ratio_sd,
        **_same(one, "n_splits_measured", "n_splits_infinite"),
        **_same(one, "p_value_adjusted", "standard_deviations"),
        **_same(one, "detectable_ratio", "detectable_delta", "detectable_mass"),
        **_same(one, "gamma", "mass", "n_rows", "share", "rule", "rule_fidelity", "reason"),
    }


def _row_values_of_numbers(one: ModelSearch) -> dict[str, Any]:
    overall, ends = one.selection, one.everybody_difference_interval
    return {
        **_same(one, "measure", "r2", "mean_absolute_error"),
        **_spanned("selection_difference", overall.difference, overall.difference_interval),
        **_spanned("difference_everybody", one.everybody_difference, ends),
        "difference_split_mean": one.split_difference_mean,
        "difference_split_sd": one.split_difference_sd,
        "detectable_difference": one.detectable_difference,
    }


def _transfer_values_of_numbers(one: Transfer) -> dict[str, Any]:
    return {
        "measure": one.measure,
        **_spanned("difference", one.gap, one.gap_interval),
        "difference_split_mean": one.split_difference_mean,
        "difference_split_sd": one.split_difference_sd,
        **_more(one, one.difference, one.difference_interval),
    }


def _alternative_values_of_numbers(one: Alternative, row: ModelSearch) -> dict[str, Any]:
    return {
        "measure": one.measure,
        **_spanned("difference", row.difference, row.difference_interval),
        **_more(one, one.worst_difference, one.worst_interval),
    }


def _more(one: Any, difference: float, ends: tuple[float, float]) -> dict[str, float]:
    """By how much more unequal something is; of ratios there is none."""
    known = one.by_difference
    return _spanned("more_unequal_by", *((difference, ends) if known else (math.nan, UNKNOWN_PAIR)))


def _transfer_values(one: Transfer) -> dict[str, Any]:
    return {
        **_same(one, "subgroup_of", "model"),
        **_search_values(one.search),
        "estimator": one.estimator,
        **_spanned("ratio", one.ratio, one.ratio_interval),
        "rate_group": one.rates[0],
        "rate_reference": one.rates[1],
        "ratio_split_mean": one.split_ratio_mean,
        "ratio_split_sd": one.split_ratio_sd,
        "rate_group_split_mean": one.split_rates[0],
        "rate_reference_split_mean": one.split_rates[1],
        **_times("times_as_unequal", one, one.difference, one.difference_interval),
    }


def _times(name: str, one: Any, size: float, ends: tuple[float, float]) -> dict[str, float]:
    """The exponential of a difference of log ratios; of others there is none."""
    known = one.measure == "ratio"
    return _ratios(name, *((size, ends) if known else (math.nan, UNKNOWN_PAIR)))


def _difference_values(one: Difference) -> dict[str, Any]:
    of_ratios = one.quantity not in (ACCURACY, MEAN_ERROR)
    times = (one.difference, one.interval) if of_ratios else (math.nan, UNKNOWN_PAIR)
    return {
        **_same(one, "model", "baseline", "quantity"),
        **_search_values(one.search),
        **_spanned("difference", one.difference, one.interval),
        **_times("times", one, *times),
    }


def _alternative_values(one: Alternative, row: ModelSearch) -> dict[str, Any]:
    return {
        **_same(one, "model", "baseline"),
        **_same(one, "metric", "tolerance", "confidence_level", "performance"),
        **_spanned("performance_difference", one.performance_difference, one.performance_interval),
        **_search_values(row.search),
        **_spanned("impact_ratio", one.impact.ratio, one.impact.ratio_interval),
        **_ratios("ratio_everybody", row.everybody_delta, row.everybody_interval),
        **_spanned("ratio", row.ratio, row.ratio_interval),
        **_times("times_as_unequal", one, one.worst_difference, one.worst_interval),
        **_same(one, "within_tolerance", "less_unequal", "finding"),
    }


def _frame(
    records: Sequence[Any],
    values_of: Callable[[Any], Any],
    empty: Any,
    of_numbers: Callable[[Any], Any],
) -> pd.DataFrame:
    """Build a table whose columns have one type each, also without rows; labels stay objects.

    Further columns come last if a record is of a difference of means, or has a mean error.
    """

    def told(record: Any) -> dict[str, Any]:
        return {**values_of(record), **(of_numbers(record) if numbers else {})}

    numbers = any(r.by_difference or not math.isnan(getattr(r, "r2", math.nan)) for r in records)
    rows = [told(record) for record in records]
    series = {}
    for name, nothing in told(empty).items():
        dtype = type(nothing) if isinstance(nothing, int | float) else object
        values: np.ndarray = np.empty(len(rows), dtype=dtype)
        for place, row in enumerate(rows):
            values[place] = row[name]
        series[name] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(series)
