"""What a comparison returns: immutable records, and ways to print and store them."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import AuditWarning, InputError
from mdfa_fairness_plugin.records import INSUFFICIENT, ratio_of
from mdfa_fairness_plugin.results import AuditResult

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
class Search:
    """One question of an audit: where ``group`` gets ``outcome`` more often than others alike.

    Parameters
    ----------
    sensitive_feature : str
    group : hashable
    reference : hashable or None
        Value compared with; None for everybody else.
    outcome : hashable
    """

    sensitive_feature: str
    group: Hashable
    reference: Hashable | None
    outcome: Hashable


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
class ModelSearch:
    """One model in one search: aggregate ratios beside the worst case.

    Parameters
    ----------
    model : hashable
    search : Search
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
    search: Search
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
    n_rows: int = 0
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
class Transfer:
    """One model's outcomes inside the worst subgroup that was found for another.

    Parameters
    ----------
    subgroup_of : hashable
        Model whose worst subgroup it is.
    model : hashable
        Model whose outcomes are measured there.
    search : Search
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
    search: Search
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
    search : Search or None
        None for the accuracy.
    difference : float
        Of the log ratios, the model's less the baseline's; of the accuracies themselves.
    interval : tuple of float
        Paired over rows; NaN where a ratio is infinite or unknown.
    """

    model: Hashable
    baseline: Hashable
    quantity: str
    search: Search | None
    difference: float = math.nan
    interval: tuple[float, float] = _UNKNOWN_PAIR


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonResult:
    """Several models of the same people: aggregate ratios beside the worst case.

    Parameters
    ----------
    models : tuple
        Names, as the user gave them and in that order.
    baseline : hashable
        Model the others are compared with.
    searches : tuple of Search
    rows : tuple of ModelSearch
        One per model and search.
    transfers : tuple of Transfer
        One per search, model whose subgroup it is, and model measured there.
    differences : tuple of Difference
        Every other model against the baseline.
    audits : dict of model to AuditResult
        The cross-fitted audit of each model, what ``audit`` returns for it alone; models that could
        not be audited are not in it.
    split_delta : ndarray of shape (n_splits, n_searches, n_models, n_models)
        ``[i, k, a, b]``: held-out log ratio of the outcomes of model ``b`` inside the subgroup
        found for model ``a``, in split ``i`` and search ``k``.
    n_splits : int
    alpha, confidence_level : float
    n_samples : int
    outcome_labels : tuple
    warnings : tuple of AuditWarning
    provenance : dict
    """

    models: tuple[Hashable, ...]
    baseline: Hashable
    searches: tuple[Search, ...] = ()
    rows: tuple[ModelSearch, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    differences: tuple[Difference, ...] = ()
    audits: Mapping[Hashable, AuditResult] = field(default_factory=dict)
    split_delta: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0, 0)))
    n_splits: int = 0
    alpha: float = 0.05
    confidence_level: float = 0.95
    n_samples: int = 0
    outcome_labels: tuple[Hashable, ...] = ()
    warnings: tuple[AuditWarning, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        worst = ", ".join(f"{m!r}: {self.worst(m).ratio:.3g}" for m in self.models)
        return f"ComparisonResult({self.n_samples} rows; worst ratios {worst})"

    def _repr_html_(self) -> str:
        from mdfa_fairness_plugin.comparison.story import render_fragment

        return render_fragment(self)

    def row(self, model: Hashable, search: Search) -> ModelSearch:
        """Give one model in one search."""
        self._check_model(model)
        for one in self.rows:
            if one.model == model and one.search == search:
                return one
        raise InputError(f"search: {search!r} was not made; those made are {self.searches!r}.")

    def worst(self, model: Hashable) -> ModelSearch:
        """Give a model's worst case: what the audit of it alone names as such.

        Where nothing could be measured it is the first search, with the reason.
        """
        self._check_model(model)
        own = [one for one in self.rows if one.model == model]
        audit = self.audits.get(model)
        case = None if audit is None else audit.worst_case
        if case is not None:
            for one in own:
                if one.search == search_of(case):
                    return one
        return own[0]

    def transfer(self, subgroup_of: Hashable, model: Hashable, search: Search) -> Transfer:
        """Give one model's outcomes inside the worst subgroup of another."""
        self._check_model(subgroup_of)
        self._check_model(model)
        for one in self.transfers:
            if (one.subgroup_of, one.model, one.search) == (subgroup_of, model, search):
                return one
        raise InputError(f"search: {search!r} was not made; those made are {self.searches!r}.")

    def transfer_matrix(self, search: Search | None = None, *, split: bool = False) -> pd.DataFrame:
        """Ratio of every model's outcomes inside every model's worst subgroup.

        Parameters
        ----------
        search : Search or None, default=None
            None: each row in the search that is that model's worst case.
        split : bool, default=False
            Means over the held-out rows of the splits, in the place of the cross-fitted ratio.

        Returns
        -------
        matrix : DataFrame of shape (n_models, n_models)
            Row: whose subgroup. Column: whose outcomes. A repair that moves harm has a large ratio
            on the diagonal where the baseline's column has a small one.
        """
        values = np.full((len(self.models), len(self.models)), np.nan)
        for i, owner in enumerate(self.models):
            asked = self.worst(owner).search if search is None else search
            for j, model in enumerate(self.models):
                one = self.transfer(owner, model, asked)
                values[i, j] = one.split_ratio_mean if split else one.ratio
        names = pd.Index(list(self.models), dtype=object, tupleize_cols=False)
        return pd.DataFrame(
            values, index=names.rename("worst subgroup of"), columns=names.rename("outcomes of")
        )

    def to_frame(self, *, every_search: bool = False) -> pd.DataFrame:
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
        shown = self.rows if every_search else [self.worst(model) for model in self.models]
        return _frame([_row_values(one) for one in shown], _FRAME_COLUMNS)

    def transfer_frame(self) -> pd.DataFrame:
        """Give one row per search, model whose worst subgroup it is, and model measured there."""
        return _frame([_transfer_values(one) for one in self.transfers], _TRANSFER_COLUMNS)

    def difference_frame(self) -> pd.DataFrame:
        """Give one row per comparison of a model with the baseline.

        ``difference`` is that of the log ratios (of the accuracies themselves), ``times`` its
        exponential.
        """
        return _frame([_difference_values(one) for one in self.differences], _DIFFERENCE_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Give everything in plain Python types, ready for strict JSON."""
        from mdfa_fairness_plugin.comparison.story import to_plain

        return to_plain(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Give strict JSON, the same bytes for the same result.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.

        Returns
        -------
        str
        """
        from mdfa_fairness_plugin.comparison.story import to_json
        from mdfa_fairness_plugin.report.plain import written

        text = to_json(self)
        return written(text, path)

    def summary(self) -> str:
        """Tell what was found in a page of plain text."""
        from mdfa_fairness_plugin.comparison.story import summarise

        return summarise(self)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, min_cell: int = 11) -> str:
        """Give one self-contained page: no scripts, nothing fetched.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.
        min_cell : int, default=11
            Counts of people below this are not printed, nor a model's ratio in its own subgroup
            that is made from one; 1 prints all.

        Returns
        -------
        str

        Raises
        ------
        InputError
            If ``min_cell`` is no whole number of at least 1.
        """
        from mdfa_fairness_plugin.comparison.story import render_page
        from mdfa_fairness_plugin.report.plain import written

        text = render_page(self, min_cell=min_cell)
        return written(text, path)

    def _check_model(self, model: Hashable) -> None:
        if model not in self.models:
            raise InputError(
                f"model: {model!r} is not among those compared: "
                f"{', '.join(repr(one) for one in self.models)}."
            )


def search_of(violation: Any) -> Search:
    """Give the search a violation comes from."""
    return Search(
        sensitive_feature=violation.sensitive_feature,
        group=violation.group,
        reference=violation.reference,
        outcome=violation.outcome,
    )


def _search_values(search: Search | None) -> dict[str, Any]:
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
