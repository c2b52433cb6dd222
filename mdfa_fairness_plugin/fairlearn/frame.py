"""Fairlearn's ``MetricFrame`` with its table split by the worst-case subgroup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.plans import MISSING
from mdfa_fairness_plugin.data.spelling import merged
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fairlearn.case import CONTROLS, audit_case, pair
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.settings import draw_seed

# Names MetricFrame gives to columns of its own; a feature of that name would overwrite them.
_RESERVED = ("y_true", "y_pred")
# A metric's name (None for a lone metric) and that of one of its sample parameters.
Path = tuple[Any, str]


def _metric_frame() -> Any:
    metrics = import_optional(
        "fairlearn.metrics", extra="fairlearn", feature="mdfa_fairness_plugin.fairlearn"
    )
    return metrics.MetricFrame


MetricFrame: Any = _metric_frame()


class MDFAMetricFrame(MetricFrame):
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
    clusters : array-like of shape (n_samples,) or None, default=None
        Whose row each is, for the audit, as in ``MDFAuditor.fit``. The table knows of rows alone.
    n_boot : int or None, default=None
        Bootstrap draws of the table, the subgroup staying as it is.
    ci_quantiles : list of float or None, default=None
    random_state : int, RandomState, Generator or None, default=0
        Seed of the audit and of the bootstrap; None is seed 0.
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
    >>> data = mdfa.datasets.make_synthetic(600, delta=1.5, imbalance=0.0, random_state=1)
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
        clusters: Any = None,
        n_boot: int | None = None,
        ci_quantiles: list[float] | None = None,
        random_state: Any = 0,
        event: str = "selection",
        pos_label: Any = None,
        subgroup_name: str = "mdfa_subgroup",
        **auditor: Any,
    ) -> None:
        params = _flat_params(metrics, sample_params)
        case = pair(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            audit_features=audit_features,
            sample_weight=_weight_of(params) if sample_weight is None else sample_weight,
            clusters=clusters,
            control_features=control_features,
            others={_param_name(path): value for path, value in params.items()},
        )
        predicted = case.only_repeat()
        merge = bool(auditor.get("merge_spellings", False))
        sensitive = _columns(case.sensitive, auditor.get("missing", "exclude"), merge=merge)
        controls = _controls(case.others.get(CONTROLS))
        _refuse_clashes(sensitive, controls, subgroup_name, params)
        self.auditor_ = audit_case(
            case, event=event, pos_label=pos_label, random_state=random_state, **auditor
        )
        self.result_ = self.auditor_.result_

        level = self.result_.as_control_feature(subgroup_name).to_numpy(dtype=object)
        known = np.array([[value is not None for value in column] for column in sensitive.values()])
        decided = read_labels(predicted, "y_pred").codes >= 0
        self.kept_rows_ = known.all(axis=0) & decided & (level != "not held out")
        kept = np.flatnonzero(self.kept_rows_)

        def table(columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
            return pd.DataFrame(columns, dtype=object).take(kept).reset_index(drop=True)

        true = np.full(len(level), np.nan) if case.y_true is None else case.y_true
        super().__init__(
            metrics=metrics,
            y_true=np.asarray(true.take(kept)),
            y_pred=np.asarray(predicted.take(kept)),
            sensitive_features=table(sensitive),
            control_features=table(controls | {subgroup_name: level}),
            sample_params=_nested_params(metrics, sample_params, case.others, params, kept),
            n_boot=n_boot,
            ci_quantiles=ci_quantiles,
            random_state=draw_seed(random_state),
        )


def _flat_params(metrics: Any, sample_params: Any) -> dict[Path, Any]:
    """Sample parameters by metric and name; what MetricFrame would refuse is left to it."""
    if not isinstance(sample_params, dict):
        return {}
    nested = sample_params if isinstance(metrics, dict) else {None: sample_params}
    return {
        (metric, name): value
        for metric, given in nested.items()
        if isinstance(given, dict)
        for name, value in given.items()
        if value is not None
    }


def _param_name(path: Path) -> str:
    """Name a sample parameter, for messages."""
    metric, name = path
    return f"sample_params[{name!r}]" if metric is None else f"sample_params[{metric!r}][{name!r}]"


def _nested_params(
    metrics: Any,
    given: Any,
    paired: Mapping[str, Table],
    paths: Iterable[Path],
    kept: np.ndarray,
) -> Any:
    """Sample parameters as MetricFrame takes them, for the rows kept."""
    nested: dict[Any, dict[str, Any]] = {}
    for metric, name in paths:
        values = np.asarray(paired[_param_name((metric, name))].array(0).take(kept))
        # An array of the values' own type, as a list of them would give.
        own = np.asarray(values.tolist()) if values.dtype == object else values
        nested.setdefault(metric, {})[name] = own
    if not nested:
        return given
    if isinstance(metrics, dict):
        return {metric: nested.get(metric, params) for metric, params in given.items()}
    return nested[None]


def _weight_of(params: Mapping[Path, Any]) -> Any:
    """Weights the metrics share."""
    weights = [value for (_, name), value in params.items() if name == "sample_weight"]
    first, *others = weights or [None]
    if any(one is not first and not np.array_equal(first, one) for one in others):
        raise InputError(
            "sample_params: the metrics have different sample_weight, so the audit cannot tell "
            "which to use. Pass sample_weight= for the audit."
        )
    return first


def _controls(table: Table | None) -> dict[str, np.ndarray]:
    """Control features by name."""
    controls = {} if table is None else _columns(table, "exclude")
    for name, values in controls.items():
        n_missing = sum(value is None for value in values)
        if n_missing:
            raise InputError(
                f"control_features: {n_missing:,} rows have no value in {name!r}. Fill them, or "
                "drop those rows from every argument."
            )
    return controls


def _columns(table: Table, missing: str, *, merge: bool = False) -> dict[str, np.ndarray]:
    """Values of grouping columns as Python objects, None where missing."""
    columns = {}
    for position, name in enumerate(table.names):
        labels = read_labels(table.array(position), f"{table.argument}: column {name!r}")
        labels = merged(labels) if merge else labels
        values = np.empty(len(labels.values) + 1, dtype=object)
        values[:-1] = labels.values
        column = values[labels.codes]
        absent = labels.codes < 0
        if missing == "category" and absent.any():
            # MetricFrame sorts the values, so they have to be of one type.
            if not all(isinstance(value, str) for value in labels.values):
                column = np.array([str(value) for value in column], dtype=object)
            column[absent] = MISSING
        columns[str(name)] = column
    return columns


def _refuse_clashes(
    sensitive: Iterable[str], controls: Iterable[str], subgroup_name: str, paths: Iterable[Path]
) -> None:
    """Names that would overwrite one another inside MetricFrame."""
    if not isinstance(subgroup_name, str):
        raise InputError(f"subgroup_name: text expected, {subgroup_name!r} found.")
    taken: dict[str, str] = dict.fromkeys(_RESERVED, "MetricFrame's own column of that name")
    for metric, name in paths:
        taken[f"{metric}_{name}"] = f"MetricFrame's column for the sample parameter {name!r}"
    arguments = {
        "sensitive_features": sensitive,
        "control_features": controls,
        "subgroup_name": [subgroup_name],
    }
    for argument, names in arguments.items():
        for name in names:
            if name in taken:
                raise InputError(
                    f"{argument}: the name {name!r} clashes with {taken[name]}. Rename it."
                )
            taken[name] = f"the column of that name in {argument}"
