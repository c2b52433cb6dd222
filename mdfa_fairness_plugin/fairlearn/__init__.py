"""Fairlearn plug-in: the worst-treated subgroup beside Fairlearn's groups.

Metrics in Fairlearn's form, which need no Fairlearn to run, and ``MDFAMetricFrame``, a
``MetricFrame`` that splits its table by inside and outside the worst-case subgroup.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.columns import (
    Labels,
    Table,
    alignment,
    find_label,
    is_fractional,
    listing,
    python_value,
    read_column,
    read_labels,
    read_table,
)
from mdfa_fairness_plugin.data.encoding import MISSING
from mdfa_fairness_plugin.exceptions import (
    AuditWarning,
    InputError,
    MDFAError,
    NothingToAuditError,
)
from mdfa_fairness_plugin.results import AuditResult

if TYPE_CHECKING:
    from fairlearn.metrics import MetricFrame

    class MDFAMetricFrame(MetricFrame):
        """As seen by type checkers; made on first use from ``_SubgroupFrame``."""

        result_: AuditResult
        auditor_: MDFAuditor
        kept_rows_: np.ndarray


__all__ = [
    "EVENTS",
    "MDFAMetricFrame",
    "audit_predictions",
    "draw_predictions",
    "predictions_hash",
    "unfairness_certificate",
    "worst_case_ratio",
    "worst_case_violation",
]


@dataclass(frozen=True, kw_only=True)
class _Event:
    """What is compared: an outcome, its opposite, and among which rows."""

    opposite: str
    among_positive: bool | None  # rows with this true label; None: all rows


EVENTS: Final[Mapping[str, _Event]] = {
    "selection": _Event(opposite="not selected", among_positive=None),
    "error": _Event(opposite="correct", among_positive=None),
    "false_positive": _Event(opposite="true_negative", among_positive=False),
    "false_negative": _Event(opposite="true_positive", among_positive=True),
    "true_positive": _Event(opposite="false_negative", among_positive=True),
}

_SUBGROUP: Final = "mdfa_subgroup"
_CONTROLS: Final = "control_features"
# Names MetricFrame gives to columns of its own; a feature of that name would overwrite them.
_RESERVED: Final = ("y_true", "y_pred")


# ---------------------------------------------------------------------------------------------
# Metrics


def worst_case_violation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    audit_features: Any,
    sample_weight: Any = None,
    event: str = "selection",
    pos_label: Any = None,
    rows: Any = None,
    random_state: Any = 0,
    **auditor: Any,
) -> float:
    r"""Log ratio of outcome rates in the worst-treated subgroup found.

    The ``delta`` of Section 2.2 of the paper: in the subgroup ``G`` of the audited features where
    some sensitive value gets the event most disproportionately, at equal features,

    .. math:: \delta = \ln \frac{Pr_w[event | S=s, G]}{Pr_w[event | S \neq s, G]}

    measured on rows the search for ``G`` has not seen. Where Fairlearn's
    ``demographic_parity_ratio`` compares everybody, this compares people who are alike.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not looked at for ``event="selection"``, where None will do.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_repeats)
        Predicted labels of any two (or more) kinds; scores are refused. Several columns are
        repeats of a randomised predictor, see ``draw_predictions``: each is audited, and the
        average returned.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
        Each column is audited on its own.
    audit_features : table of shape (n_samples, n_features)
        Who counts as similar is judged by these. The classifier's own features, or others.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    event : {"selection", "error", "false_positive", "false_negative", "true_positive"}
        Outcome compared. "selection": predicted ``pos_label``. "error": prediction and true label
        differ. The others are rates among the rows with one true label, as in equalized odds:
        the label counts as one more audited feature, and the subgroup is searched for where it has
        that value.
    pos_label : label or None, default=None
        Label that means selected. None: 1, where labels are 0 and 1 or -1 and 1.
    rows : array-like of int of shape (n_samples,) or None, default=None
        Positions in ``sensitive_features`` and ``audit_features`` that the predictions belong to.
        For callers that hand on only one value per row, such as ``MetricFrame``.
    random_state : int, RandomState, Generator or None, default=0
        A fixed seed, so that a metric called twice gives one answer.
    **auditor
        Arguments of ``MDFAuditor``. ``outcomes`` is the event unless given; pass the label of
        rejection to compare rejections, whose ratio tells more where nearly all are selected.

    Returns
    -------
    delta : float
        ``inf`` if none of the others in the subgroup has the event, NaN if no group was large
        enough to be measured. The number comes without its interval; ``audit_predictions`` gives
        that, and the verdict.

    Raises
    ------
    InputError
        Naming the argument, what was found and what to do.
    NothingToAuditError
        If all predictions are equal, or the event never (or always) happens.

    Notes
    -----
    Each call is a whole audit, some seconds on 5,000 rows. For several numbers of one audit call
    ``audit_predictions`` once.

    Examples
    --------
    Beside a metric of Fairlearn:

    >>> import numpy as np, mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(
    ...     n_samples=600, delta=1.5, imbalance=0.0, random_state=1
    ... )
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(0, 2, 600)
    >>> settings = {"audit_features": data.X, "learner": "tree", "n_splits": 2}
    >>> violation = worst_case_violation(
    ...     y_true, data.y, sensitive_features=data.sensitive_features, **settings
    ... )
    >>> violation > 0.5
    True

    In ``plot_model_comparison``, with the audited features bound::

        plot_model_comparison(
            x_axis_metric=accuracy_score,
            y_axis_metric=functools.partial(worst_case_violation, audit_features=X),
            axis_labels=("accuracy", "worst case violation"),
            y_true=y_true, y_preds=predictions, sensitive_features=race)

    As a scorer of scikit-learn, through metadata routing::

        sklearn.set_config(enable_metadata_routing=True)
        scorer = make_scorer(worst_case_violation, greater_is_better=False)
        scorer.set_score_request(sensitive_features=True, audit_features=True)
        cross_validate(model, X, y, scoring=scorer,
                       params={"sensitive_features": race, "audit_features": X})

    In a ``MetricFrame`` or in ``make_derived_metric``, which hand on one value per row: the worst
    violation by race in every region, and the difference between regions::

        def by_race(y_true, y_pred, rows):
            return worst_case_violation(y_true, y_pred, rows=rows,
                                        sensitive_features=race, audit_features=X)

        MetricFrame(metrics=by_race, y_true=y_true, y_pred=y_pred, sensitive_features=region,
                    sample_params={"rows": np.arange(len(X))})
        make_derived_metric(metric=by_race, transform="difference", sample_param_names=["rows"])(
            y_true, y_pred, sensitive_features=region, rows=np.arange(len(X)))
    """
    return _average(
        "delta",
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        audit_features=audit_features,
        sample_weight=sample_weight,
        event=event,
        pos_label=pos_label,
        rows=rows,
        random_state=random_state,
        **auditor,
    )


def worst_case_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    audit_features: Any,
    sample_weight: Any = None,
    event: str = "selection",
    pos_label: Any = None,
    rows: Any = None,
    random_state: Any = 0,
    **auditor: Any,
) -> float:
    """Ratio of outcome rates in the worst-treated subgroup found, ``exp(worst_case_violation)``.

    At least 1 where a group is worse off, while Fairlearn's ratios are turned to at most 1.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, audit_features, sample_weight, event, pos_label, rows, \
random_state, **auditor
        As in ``worst_case_violation``, and usable in the same places.

    Returns
    -------
    ratio : float
        The paper's ``DT_G`` (Table 3). Repeats are averaged on the log scale.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(
    ...     n_samples=600, delta=1.5, imbalance=0.0, random_state=1
    ... )
    >>> ratio = worst_case_ratio(
    ...     None,
    ...     data.y,
    ...     sensitive_features=data.sensitive_features,
    ...     audit_features=data.X,
    ...     learner="tree",
    ...     n_splits=2,
    ... )
    >>> ratio > 1.6
    True
    """
    delta = _average(
        "delta",
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        audit_features=audit_features,
        sample_weight=sample_weight,
        event=event,
        pos_label=pos_label,
        rows=rows,
        random_state=random_state,
        **auditor,
    )
    with np.errstate(over="ignore"):
        return float(np.exp(delta))


def unfairness_certificate(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    audit_features: Any,
    sample_weight: Any = None,
    event: str = "selection",
    pos_label: Any = None,
    rows: Any = None,
    random_state: Any = 0,
    **auditor: Any,
) -> float:
    """Strength ``gamma`` of the certificate for the worst-treated subgroup found.

    Joins how many are affected to how unequally (Section 3.1): ``Pr_w[event, G] * (Pr_w[S = s |
    event, G] - 1/2)`` with both sides of equal weight. A certificate is evidence of a violation;
    a small one is no clean bill of health.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, audit_features, sample_weight, event, pos_label, rows, \
random_state, **auditor
        As in ``worst_case_violation``, and usable in the same places.

    Returns
    -------
    gamma : float

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(
    ...     n_samples=600, delta=1.5, imbalance=0.0, random_state=1
    ... )
    >>> gamma = unfairness_certificate(
    ...     None,
    ...     data.y,
    ...     sensitive_features=data.sensitive_features,
    ...     audit_features=data.X,
    ...     learner="tree",
    ...     n_splits=2,
    ... )
    >>> 0 < gamma < 0.25
    True
    """
    return _average(
        "gamma",
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        audit_features=audit_features,
        sample_weight=sample_weight,
        event=event,
        pos_label=pos_label,
        rows=rows,
        random_state=random_state,
        **auditor,
    )


def audit_predictions(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    audit_features: Any,
    sample_weight: Any = None,
    event: str = "selection",
    pos_label: Any = None,
    rows: Any = None,
    random_state: Any = 0,
    **auditor: Any,
) -> AuditResult:
    """Give the whole audit behind the metrics: interval, verdict, rule, report.

    Parameters
    ----------
    y_true, sensitive_features, audit_features, sample_weight, event, pos_label, rows, \
random_state, **auditor
        As in ``worst_case_violation``.
    y_pred : array-like of shape (n_samples,)
        Predicted labels. They are fixed: whatever predictor made them, these are audited, and
        their hash is kept.

    Returns
    -------
    result : AuditResult
        ``provenance`` also holds ``"event"``, ``"pos_label"`` and ``"predictions_hash"``, which
        ``predictions_hash(y_pred)`` reproduces. Rows without the event's true label are counted in
        ``excluded``.
    """
    case = _pair(
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sensitive_features,
        audit_features=audit_features,
        sample_weight=sample_weight,
        rows=rows,
    )
    return _audit(case, case.only_repeat(), event, pos_label, random_state, auditor).result_


def draw_predictions(
    model: Any, X: Any, *, n_repeats: int = 1, random_state: int = 0, **predict_params: Any
) -> np.ndarray:
    """Predict with fixed seeds, once or repeatedly.

    Fairlearn's ``ExponentiatedGradient`` and ``ThresholdOptimizer`` decide by lot, anew with each
    call. An audit needs predictions that stay; the average over several draws tells what a person
    can expect.

    Parameters
    ----------
    model : object with ``predict``
        A randomised predictor, any other classifier, or a Pipeline that ends in one.
    X : table of shape (n_samples, n_features)
        Handed to ``model.predict``.
    n_repeats : int, default=1
    random_state : int, default=0
        Seed of the first draw; the next ones follow from it. Not handed on to a ``predict`` that
        takes none, whose predictions then are its own affair.
    **predict_params
        Handed to ``model.predict``, such as ``sensitive_features``.

    Returns
    -------
    y_pred : ndarray of shape (n_samples,), or (n_samples, n_repeats) if ``n_repeats`` > 1

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [1], [2]], [0, 1, 1])
    >>> draw_predictions(model, [[0], [1]])
    array([1, 1])
    >>> draw_predictions(model, [[0], [1]], n_repeats=3).shape
    (2, 3)
    """
    if isinstance(n_repeats, bool) or not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise InputError(f"n_repeats: a whole number of at least 1 expected, {n_repeats!r} found.")
    last = model
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    takes_seed = "random_state" in inspect.signature(last.predict).parameters
    draws = []
    for repeat in range(int(n_repeats)):
        params = dict(predict_params)
        if takes_seed:
            # The first draw is the one that predict(..., random_state=random_state) gives.
            spawned = np.random.SeedSequence([random_state, repeat]).generate_state(1)[0]
            params["random_state"] = random_state if repeat == 0 else int(spawned)
        draws.append(np.asarray(model.predict(X, **params)).reshape(len(X), -1)[:, 0])
    return draws[0] if n_repeats == 1 else np.column_stack(draws)


def predictions_hash(y_pred: Any) -> str:
    """SHA-256 of predicted labels in the order given, whatever container holds them.

    Parameters
    ----------
    y_pred : array-like of shape (n_samples,)

    Returns
    -------
    digest : str
        Of the labels' ``repr``, one per line; whole numbers as integers.

    Examples
    --------
    >>> predictions_hash([0, 1, 1]) == predictions_hash(np.array([0.0, 1.0, 1.0]))
    True
    >>> predictions_hash([0, 1, 1]) == predictions_hash([1, 0, 1])
    False
    """
    table = read_table(y_pred, "y_pred", column_name="y_pred")
    if table.n_columns != 1:
        raise InputError(
            f"y_pred: {table.n_columns} columns were given; one label per row is needed."
        )
    return _hash(table.array(0))


# ---------------------------------------------------------------------------------------------
# MetricFrame


class _SubgroupFrame:
    """A ``MetricFrame`` with one more control level: inside or outside the worst-case subgroup.

    Audits the predictions, then tabulates the metrics by sensitive features inside the subgroup
    treated most unequally, and outside it. Everything Fairlearn's ``MetricFrame`` offers works:
    ``by_group``, ``overall``, ``difference``, ``ratio``, ``group_min``, ``group_max``, bootstrap
    intervals, plots. A row's place is told by a model that has not seen the row, so the contrast is
    not flattered by the search.

    Parameters
    ----------
    metrics : callable or dict of str to callable
        As in ``MetricFrame``.
    y_true : array-like of shape (n_samples,) or None
        None if there are predictions only: metrics that look at true labels then fail.
    y_pred : array-like of shape (n_samples,)
        Predicted labels, fixed; their hash is kept in ``result_.provenance``.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
    audit_features : table of shape (n_samples, n_features)
        Features the subgroup is made of, and by which people count as similar.
    control_features : array-like or None, default=None
        As in ``MetricFrame``; the subgroup becomes the last of them. They split the table and not
        the audit: to compare people at equal control features add them to ``audit_features``.
    sample_params : dict or None, default=None
        As in ``MetricFrame``.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the audit. None: the ``"sample_weight"`` in ``sample_params``, if there is one.
    n_boot : int or None, default=None
        Bootstrap draws of the table, the subgroup staying as it is.
    ci_quantiles : list of float or None, default=None
    random_state : int, RandomState, Generator or None, default=0
        Seed of the audit and of the bootstrap.
    event, pos_label
        Outcome audited, as in ``worst_case_violation``. The metrics are any others.
    subgroup_name : str, default="mdfa_subgroup"
        Name of the new control level; its values are "inside" and "outside".
    **auditor
        Arguments of ``MDFAuditor``.

    Attributes
    ----------
    result_ : AuditResult
    auditor_ : MDFAuditor
        Fitted: ``auditor_.predict(X_new)`` tells which new rows are inside.
    kept_rows_ : ndarray of bool of shape (n_samples,)
        Rows in the table: all but those with a missing sensitive value (for ``missing="exclude"``)
        and, for ``evaluation="holdout"``, those the search learned from.

    Raises
    ------
    InputError
        Naming the argument, what was found and what to do.
    NothingToAuditError
        If all predictions are equal, or the event never (or always) happens.

    Notes
    -----
    Where a level is empty (nobody is inside, or everybody) it is not in the table. A row without a
    comparable row in the other groups is outside.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> from mdfa_fairness_plugin.fairlearn import MDFAMetricFrame
    >>> from fairlearn.metrics import selection_rate
    >>> data = mdfa.datasets.make_synthetic(
    ...     n_samples=600, delta=1.5, imbalance=0.0, random_state=1
    ... )
    >>> frame = MDFAMetricFrame(
    ...     metrics=selection_rate,
    ...     y_true=None,
    ...     y_pred=data.y,
    ...     sensitive_features=data.sensitive_features,
    ...     audit_features=data.X,
    ...     learner="tree",
    ...     n_splits=2,
    ... )
    >>> frame.control_levels
    ['mdfa_subgroup']
    >>> rates = frame.difference()
    >>> bool(rates["inside"] > rates["outside"])
    True
    """

    result_: AuditResult
    auditor_: MDFAuditor
    kept_rows_: np.ndarray

    def __init__(
        self,
        *,
        metrics: Any,
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any,
        audit_features: Any,
        control_features: Any = None,
        sample_params: Any = None,
        sample_weight: Any = None,
        n_boot: int | None = None,
        ci_quantiles: list[float] | None = None,
        random_state: Any = 0,
        event: str = "selection",
        pos_label: Any = None,
        subgroup_name: str = _SUBGROUP,
        **auditor: Any,
    ) -> None:
        params = _flat_params(metrics, sample_params)
        if sample_weight is None:
            sample_weight = _weight_of(params)
        case = _pair(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            audit_features=audit_features,
            sample_weight=sample_weight,
            control_features=control_features,
            others={_param_name(path): value for path, value in params.items()},
        )
        y_fixed = case.only_repeat()
        missing = auditor.get("missing", "exclude")
        sensitive = {
            str(name): _group_values(case.sensitive, position, missing)
            for position, name in enumerate(case.sensitive.names)
        }
        controls = _controls(case.others.get(_CONTROLS))
        _refuse_clashes(list(sensitive), list(controls), subgroup_name, metrics, params)
        self.auditor_ = _audit(case, y_fixed, event, pos_label, random_state, auditor)
        self.result_ = self.auditor_.result_

        level = self.result_.as_control_feature(subgroup_name).to_numpy(dtype=object)
        known = np.array([[value is not None for value in column] for column in sensitive.values()])
        self.kept_rows_ = known.all(axis=0) & (level != "not held out")
        kept = np.flatnonzero(self.kept_rows_)
        labels = np.full(case.n_rows, np.nan) if case.y_true is None else case.y_true
        if isinstance(random_state, np.random.Generator):
            random_state = int(random_state.integers(2**31 - 1))
        super().__init__(  # type: ignore[call-arg]
            metrics=metrics,
            y_true=np.asarray(labels.take(kept)),
            y_pred=np.asarray(y_fixed.take(kept)),
            sensitive_features=_features_frame(sensitive, kept),
            control_features=_features_frame(controls | {subgroup_name: level}, kept),
            sample_params=_nested_params(metrics, sample_params, case.others, params, kept),
            n_boot=n_boot,
            ci_quantiles=ci_quantiles,
            random_state=random_state,
        )


@functools.cache
def _metric_frame_class() -> type:
    """Build ``MDFAMetricFrame``, now that Fairlearn is needed."""
    metrics = import_optional(
        "fairlearn.metrics", extra="fairlearn", feature="mdfa_fairness_plugin.fairlearn"
    )
    body = {"__module__": __name__, "__doc__": _SubgroupFrame.__doc__}
    return type("MDFAMetricFrame", (_SubgroupFrame, metrics.MetricFrame), body)


def __getattr__(name: str) -> Any:
    if name == "MDFAMetricFrame":
        return _metric_frame_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def _flat_params(metrics: Any, sample_params: Any) -> dict[Any, Any]:
    """Sample parameters by metric and name; what MetricFrame would refuse is left to it."""
    if not isinstance(sample_params, dict):
        return {}
    if not isinstance(metrics, dict):
        return {(None, name): value for name, value in sample_params.items() if value is not None}
    return {
        (metric, name): value
        for metric, given in sample_params.items()
        if isinstance(given, dict)
        for name, value in given.items()
        if value is not None
    }


def _param_name(path: tuple[Any, str]) -> str:
    """Name a sample parameter, for messages."""
    metric, name = path
    return f"sample_params[{name!r}]" if metric is None else f"sample_params[{metric!r}][{name!r}]"


def _nested_params(
    metrics: Any,
    given: Any,
    paired: Mapping[str, Table],
    params: Mapping[Any, Any],
    kept: np.ndarray,
) -> Any:
    """Sample parameters as MetricFrame takes them, for the rows kept."""
    if not params:
        return given
    nested: dict[Any, dict[Any, Any]] = {}
    for metric, name in params:
        values = paired[_param_name((metric, name))].array(0).take(kept)
        nested.setdefault(metric, {})[name] = _plain_array(values)
    if isinstance(metrics, dict):
        return {metric: nested.get(metric, params_) for metric, params_ in given.items()}
    return nested[None]


def _plain_array(values: Any) -> np.ndarray:
    """Numpy array of the values' own type, as a list of them would give."""
    array = np.asarray(values)
    return np.asarray(array.tolist()) if array.dtype == object else array


def _weight_of(params: Mapping[Any, Any]) -> Any:
    """Weights the metrics share."""
    weights = [value for (_, name), value in params.items() if name == "sample_weight"]
    if not weights:
        return None
    first = np.asarray(weights[0])
    for other in weights[1:]:
        if other is not weights[0] and not np.array_equal(first, np.asarray(other)):
            raise InputError(
                "sample_params: the metrics have different sample_weight, so the audit cannot tell "
                "which to use. Pass sample_weight= for the audit."
            )
    return weights[0]


def _controls(table: Table | None) -> dict[str, np.ndarray]:
    """Control features by name."""
    if table is None:
        return {}
    controls: dict[str, np.ndarray] = {}
    for position, name in enumerate(table.names):
        values = _group_values(table, position, "exclude")
        n_missing = sum(value is None for value in values)
        if n_missing:
            raise InputError(
                f"control_features: {n_missing:,} rows have no value in {name!r}. Fill them, or "
                "drop those rows from every argument."
            )
        controls[str(name)] = values
    return controls


def _group_values(table: Table, position: int, missing: str) -> np.ndarray:
    """Values of a grouping column as Python objects, None where missing."""
    labels = read_labels(
        table.array(position), f"{table.argument}: column {table.names[position]!r}"
    )
    values = np.empty(len(labels.values) + 1, dtype=object)
    values[:-1] = labels.values
    out = values[labels.codes]
    absent = labels.codes < 0
    if missing == "category" and absent.any():
        # MetricFrame sorts the values, so they have to be of one type.
        if not all(isinstance(value, str) for value in labels.values):
            out = np.array([str(value) for value in out], dtype=object)
        out[absent] = MISSING
    return out


def _features_frame(columns: Mapping[str, np.ndarray], kept: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.Series(values[kept], dtype=object) for name, values in columns.items()}
    )


def _refuse_clashes(
    sensitive: list[str],
    controls: list[str],
    subgroup_name: str,
    metrics: Any,
    params: Mapping[Any, Any],
) -> None:
    """Names that would overwrite one another inside MetricFrame."""
    if not isinstance(subgroup_name, str):
        raise InputError(f"subgroup_name: text expected, {subgroup_name!r} found.")
    taken: dict[str, str] = dict.fromkeys(_RESERVED, "MetricFrame's own column of that name")
    for metric, name in params:
        taken[f"{metric}_{name}"] = f"MetricFrame's column for the sample parameter {name!r}"
    for argument, names in (
        ("sensitive_features", sensitive),
        ("control_features", controls),
        ("subgroup_name", [subgroup_name]),
    ):
        for name in names:
            if name in taken:
                raise InputError(
                    f"{argument}: the name {name!r} clashes with {taken[name]}. Rename it."
                )
            taken[name] = f"the column of that name in {argument}"


# ---------------------------------------------------------------------------------------------
# From Fairlearn's arguments to an audit


@dataclass(frozen=True, kw_only=True, eq=False)
class _Case:
    """Arguments with their rows paired, in the order of ``audit_features``."""

    features: Any
    sensitive: Table
    y_true: Any  # 1-D array, or None
    y_pred: Table  # one column per repeat
    given: Table  # the same in the order given, which is the one hashed
    sample_weight: Any
    others: dict[str, Table]
    notes: tuple[AuditWarning, ...]

    @property
    def n_rows(self) -> int:
        return self.y_pred.n_rows

    def only_repeat(self) -> Any:
        """Give the predictions, if there are no repeats."""
        if self.y_pred.n_columns != 1:
            raise InputError(
                f"y_pred: {self.y_pred.n_columns} columns were given; one label per row is needed. "
                "Audit repeats of a randomised predictor one at a time, or average over them with "
                "worst_case_violation and the like."
            )
        return self.y_pred.array(0)


class _Pairing:
    """The index rows are paired by: that of the first argument that has one."""

    def __init__(self) -> None:
        self.index: pd.Index | None = None
        self.owner = ""
        self.notes: list[AuditWarning] = []

    def align(self, table: Table) -> Table:
        if table.index is None:
            return table
        if self.index is None:
            self.index, self.owner = table.index, table.argument
            return table
        order = alignment(table.index, self.index, table.argument, self.owner)
        if order is None:
            return table
        text = f"{table.argument}: its rows were put in the order of {self.owner}, by index."
        self.notes.append(AuditWarning("AlignedIndex", text))
        return table.take(order)


def _pair(
    *,
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    audit_features: Any,
    sample_weight: Any,
    rows: Any = None,
    control_features: Any = None,
    others: dict[str, Any] | None = None,
) -> _Case:
    """Read the arguments and pair their rows: by index where there is one, else by position."""
    features = read_table(audit_features, "audit_features")
    sensitive = _read_groups(sensitive_features, "sensitive_features", "sensitive_feature")
    given = read_table(y_pred, "y_pred", column_name="y_pred")
    columns = {"y_true": y_true, "sample_weight": sample_weight} | (others or {})
    tables = {
        name: read_table(value, name, column_name=name)
        for name, value in columns.items()
        if value is not None
    }
    if control_features is not None:
        tables[_CONTROLS] = _read_groups(control_features, _CONTROLS, "control_feature")
    pairing = _Pairing()
    _check_length(sensitive, features)
    pairing.align(features)
    sensitive = pairing.align(sensitive)
    source = audit_features
    if rows is not None:
        places = _positions(rows, features.n_rows)
        source = features = features.take(places)
        sensitive = sensitive.take(places)
        notes = pairing.notes
        pairing = _Pairing()
        pairing.notes = notes
    aligned = {}
    for table in (given, *tables.values()):
        _check_length(table, features, by_rows=rows is not None)
    predictions = pairing.align(given)
    for name, table in tables.items():
        if table.n_columns != 1 and name != _CONTROLS:
            raise InputError(
                f"{name}: {table.n_columns} columns were given; one value per row is needed."
            )
        aligned[name] = pairing.align(table)
    true, weight = aligned.pop("y_true", None), aligned.pop("sample_weight", None)
    return _Case(
        features=source,
        sensitive=sensitive,
        y_true=None if true is None else true.array(0),
        y_pred=predictions,
        given=given,
        sample_weight=None if weight is None else weight.array(0),
        others=aligned,
        notes=tuple(pairing.notes),
    )


def _check_length(table: Table, features: Table, *, by_rows: bool = False) -> None:
    if table.n_rows != features.n_rows:
        anchor = "rows" if by_rows else "audit_features"
        raise InputError(
            f"{table.argument}: {table.n_rows:,} rows were given, but {anchor} has "
            f"{features.n_rows:,}. Pass one per row of {anchor}."
        )


def _read_groups(data: Any, argument: str, base: str) -> Table:
    """Read grouping columns; those without a name get ``base_0`` and so on, as in Fairlearn."""
    table = read_table(data, argument, column_name=f"{base}_0")
    if not table.named and table.n_columns > 1:
        names: tuple[str, ...] = tuple(f"{base}_{place}" for place in range(table.n_columns))
    else:
        names = tuple(str(name) for name in table.names)
    return replace(table, names=names)


def _positions(rows: Any, n_rows: int) -> np.ndarray:
    places = np.asarray(rows)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise InputError(
            f"rows: whole-number positions, one per prediction, are needed; an array of shape "
            f"{places.shape} and dtype {places.dtype} was given."
        )
    wrong = (places < 0) | (places >= n_rows)
    if wrong.any():
        raise InputError(
            f"rows: position {int(places[wrong][0])} was given, but audit_features has {n_rows:,} "
            "rows, counted from 0."
        )
    return places.astype(np.intp)


def _average(statistic: str, y_true: Any, y_pred: Any, **arguments: Any) -> float:
    """Mean over repeats of one number of the worst case; NaN where nothing was measured."""
    settings = dict(arguments)
    names = ("sensitive_features", "audit_features", "sample_weight", "rows")
    case = _pair(y_true=y_true, y_pred=y_pred, **{name: settings.pop(name) for name in names})
    event, pos_label = settings.pop("event"), settings.pop("pos_label")
    random_state = settings.pop("random_state")
    values = []
    for repeat in range(case.y_pred.n_columns):
        predicted = case.y_pred.array(repeat)
        audited = _audit(case, predicted, event, pos_label, random_state, settings, repeat)
        worst = audited.result_.worst_case
        values.append(np.nan if worst is None else getattr(worst, statistic))
    return float(np.mean(values))


def _audit(
    case: _Case,
    predicted: Any,
    event: str,
    pos_label: Any,
    random_state: Any,
    settings: dict[str, Any],
    repeat: int = 0,
) -> MDFAuditor:
    """Audit the event; the result also says which predictions were audited."""
    known = MDFAuditor().get_params()
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise InputError(
            f"unknown argument(s) {', '.join(unknown)}; those of MDFAuditor are "
            f"{', '.join(sorted(known))}."
        )
    outcome, audited, among, positive = _outcome(case.y_true, predicted, event, pos_label)
    weight = case.sample_weight
    if among is not None:
        weight = _masked(weight, among)
    auditor = MDFAuditor(**({"outcomes": [audited], "random_state": random_state} | settings))
    with _own_names():
        auditor.fit(case.features, outcome, sensitive_features=case.sensitive, sample_weight=weight)
    result = auditor.result_
    excluded = dict(result.excluded)
    if among is not None and not among.all():
        n_other = int((~among).sum())
        n_zero = excluded.pop("zero weight", n_other) - n_other
        no = "not " if EVENTS[event].among_positive else ""
        excluded = {f"true label is {no}{positive}": n_other} | excluded
        if n_zero:
            excluded["zero weight"] = n_zero
    auditor.result_ = replace(
        result,
        excluded=excluded,
        warnings=(*case.notes, *result.warnings),
        provenance=dict(result.provenance)
        | {
            "event": event,
            "pos_label": positive,
            "predictions_hash": _hash(case.given.array(repeat)),
        },
    )
    return auditor


@contextmanager
def _own_names() -> Iterator[None]:
    """Call the audited features by the name they have here, in errors of the stages below."""
    try:
        yield
    except MDFAError as error:
        if error.argument != "X":
            raise
        raise error.renamed("audit_features") from error


def _masked(weight: Any, among: np.ndarray) -> Any:
    """Weights that are zero outside ``among``, so that those rows are absent."""
    if weight is None:
        return among.astype(np.float64)
    numbers = read_column(weight, "sample_weight").numbers
    return weight if numbers is None else np.where(among, numbers, 0.0)


def _outcome(
    y_true: Any, predicted: Any, event: str, pos_label: Any
) -> tuple[Any, Hashable, np.ndarray | None, Hashable]:
    """Outcome per row, the label audited, the rows it is a rate among, and the positive label."""
    if event not in EVENTS:
        raise InputError(f"event: one of {listing(EVENTS)} expected, {event!r} found.")
    labels = _decisions(predicted, "y_pred")
    if event == "selection":
        positive = _positive(pos_label, labels.values)
        place = find_label(positive, labels.values)
        if place is None or len(labels.values) == 1:
            raise NothingToAuditError(
                f"y_pred: every one of the {len(labels.codes):,} predictions is "
                f"{listing(labels.values, 3)}: nothing to audit. Pass predictions that differ "
                "between people."
            )
        return predicted, labels.values[place], None, labels.values[place]
    if y_true is None:
        raise InputError(
            f"y_true: None was given; event={event!r} needs true labels. Pass them, or audit "
            "event='selection'."
        )
    truth = _decisions(y_true, "y_true")
    values = list(labels.values)
    codes = np.array(
        [_place_in(value, values) for value in truth.values], dtype=np.intp
    )  # appends what y_pred lacks
    if len(values) == len(labels.values) + len(truth.values):
        raise InputError(
            f"y_true: it has no label in common with y_pred: {listing(truth.values)} against "
            f"{listing(labels.values)}. Give both the same labels."
        )
    true_codes = codes[truth.codes]
    rule = EVENTS[event]
    if event == "error":
        happened, among, positive = true_codes != labels.codes, None, None
    else:
        positive = _positive(pos_label, tuple(values))
        place = find_label(positive, values)
        if place is None:
            place = len(values)  # nobody has it
        else:
            positive = values[place]
        among = (true_codes == place) if rule.among_positive else (true_codes != place)
        selected = labels.codes == place
        happened = ~selected if event == "false_negative" else selected
        if not among.any():
            other = "" if rule.among_positive else " other than"
            raise InputError(
                f"y_true: no row has a true label{other} {positive!r}, so there is no rate of "
                f"event={event!r}."
            )
    seen = happened if among is None else happened[among]
    if seen.all() or not seen.any():
        only = event if seen.any() else rule.opposite
        raise NothingToAuditError(
            f"y_pred: every one of the {len(seen):,} rows that event={event!r} is about is a case "
            f"of {only!r}: nothing to audit."
        )
    return np.where(happened, event, rule.opposite).astype(object), event, among, positive


def _place_in(value: Hashable, values: list[Hashable]) -> int:
    place = find_label(value, values)
    if place is None:
        values.append(value)
        place = len(values) - 1
    return place


def _decisions(array: Any, argument: str) -> Labels:
    """Labels of decisions: none missing, no scores."""
    labels = read_labels(array, argument).used()
    n_missing = int((labels.codes < 0).sum())
    what = "predictions" if argument == "y_pred" else "true labels"
    if n_missing:
        raise InputError(
            f"{argument}: {n_missing:,} of {len(labels.codes):,} {what} are missing. Drop those "
            "rows from every argument, or give them a label of their own."
        )
    fractional = [value for value in labels.values if is_fractional(value)]
    if fractional:
        raise InputError(
            f"{argument}: scores were given ({len(labels.values):,} values such as "
            f"{fractional[0]!r}), but an audit needs decisions. Apply the threshold that decides, "
            f"as in {argument} >= 0.5."
        )
    return labels


def _positive(pos_label: Any, labels: tuple[Hashable, ...]) -> Hashable:
    """Label that means selected."""
    if pos_label is None:
        for pair in ((0, 1), (-1, 1)):
            if all(find_label(label, pair) is not None for label in labels):
                return 1
        raise InputError(
            f"pos_label: the labels are {listing(labels)}; say which of them means selected, as in "
            f"pos_label={labels[-1]!r}."
        )
    if find_label(pos_label, labels) is None and len(labels) > 1:
        raise InputError(
            f"pos_label: {pos_label!r} is not among the labels found: {listing(labels)}."
        )
    return python_value(pos_label)


def _hash(array: Any) -> str:
    labels = read_labels(array, "y_pred")
    texts = [*(_text(value) for value in labels.values), "None"]
    return hashlib.sha256("\n".join(texts[code] for code in labels.codes).encode()).hexdigest()


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value == np.floor(value) and np.isfinite(value)
    return repr(int(value) if whole else value)
