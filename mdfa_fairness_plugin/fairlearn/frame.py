"""Fairlearn's ``MetricFrame`` with a second table, split by the worst-treated subgroup."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.columns import is_fractional, objects, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_vector
from mdfa_fairness_plugin.data.events import NUMBER_EVENTS, check_event
from mdfa_fairness_plugin.data.plans import MISSING
from mdfa_fairness_plugin.data.spelling import merged
from mdfa_fairness_plugin.exceptions import InputError, NothingFoundWarning, WarningLog
from mdfa_fairness_plugin.fairlearn.case import (
    CONTROLS,
    Column,
    Columns,
    EventName,
    Seed,
    Shown,
    audit_case,
    harm_of,
    pair,
    read_groups,
)
from mdfa_fairness_plugin.records import INSUFFICIENT, VIOLATION, Harm
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.settings import draw_seed

# Names MetricFrame gives to columns of its own; a feature of that name would overwrite them.
_RESERVED = ("y_true", "y_pred")
# A metric's name (None for a lone metric) and that of one of its sample parameters.
Path: TypeAlias = tuple[str | None, str]
Metrics: TypeAlias = Callable[..., Any] | dict[str, Callable[..., Any]]
SampleParams: TypeAlias = dict[str, Any] | dict[str, dict[str, Any]]
Figures: TypeAlias = pd.Series | pd.DataFrame
Comparison: TypeAlias = Literal["between_groups", "to_overall"]
OnError: TypeAlias = Literal["raise", "coerce"]


def _metric_frame() -> Any:
    metrics = import_optional(
        "fairlearn.metrics", extra="fairlearn", feature="mdfa_fairness_plugin.fairlearn"
    )
    return metrics.MetricFrame


if TYPE_CHECKING:
    from fairlearn.metrics import MetricFrame
else:
    MetricFrame = _metric_frame()


class MDFAMetricFrame(MetricFrame):
    """A ``MetricFrame`` that also audits, and tabulates inside and outside the worst subgroup.

    Everything of Fairlearn's ``MetricFrame`` is that of the plain one of the same arguments:
    ``overall``, ``by_group``, ``difference``, ``ratio``, ``group_min``, ``group_max``, bootstrap
    intervals, plots. Code written for it runs as it is. Beside it the decisions are audited, and the
    metrics tabulated by sensitive features inside the subgroup where a group gets the favourable
    outcome most disproportionately seldom, and outside it: ``by_subgroup``. A row's place is told by
    a model that has not seen the row, so the contrast is not flattered by the search.

    Parameters
    ----------
    metrics : callable or dict of str to callable
        As in ``MetricFrame``.
    y_true : array-like of shape (n_samples, ...) or None
        None if there are predictions only: metrics that look at true labels then fail.
    y_pred : array-like of shape (n_samples, ...)
        What the metrics are given: labels, scores, several outputs, as in ``MetricFrame``.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
    audit_features : table of shape (n_samples, n_features)
        Features the subgroup is made of, and by which people count as similar.
    control_features : array-like or None, default=None
        As in ``MetricFrame``; in ``by_subgroup`` the subgroup follows them. They split the tables and
        not the audit: to compare people at equal control features add them to ``audit_features``.
    sample_params : dict or None, default=None
        As in ``MetricFrame``.
    decisions : array-like of shape (n_samples,) or None, default=None
        Decisions audited, one label (or number, as the event needs) per row; None: ``y_pred``. Their
        hash is kept in ``audit_result.provenance``.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the audit. None: the ``"sample_weight"`` in ``sample_params``, if there is one.
    clusters, exposure : array-like of shape (n_samples,) or None, default=None
        For the audit, as in ``MDFAuditor.fit``. The table knows of rows alone.
    n_boot : int or None, default=None
        Bootstrap draws of the tables, the subgroup staying as it is.
    ci_quantiles : list of float or None, default=None
    random_state : int, RandomState, Generator or None, default=0
        Seed of the audit and of the bootstrap; None is seed 0.
    event, pos_label, favorable_label
        Outcome audited, and which is favourable (the decision 1 unless said otherwise), as in
        ``worst_case_violation``. The metrics are any others, such as ``mean_absolute_error`` beside
        ``event="absolute_error"``.
    subgroup_name : str, default="mdfa_subgroup"
        Name of the level of ``by_subgroup``; its values are "inside", "outside", and "not comparable"
        for rows without anybody like them on the other side.
    **auditor
        Arguments of ``MDFAuditor``.

    Attributes
    ----------
    audit_result, result_ : AuditResult
        The audit, by either name.
    plain : MetricFrame
        The same figures without the audit.
    subgroup_frame : MetricFrame
        That of ``by_subgroup``, with the subgroup as its last control feature: for its ``overall``,
        ``group_min``, ``group_max`` and bootstrap intervals.
    auditor_ : MDFAuditor
        Fitted: ``auditor_.predict(X_new, frame.worst_case().violation)`` tells which new rows are
        inside; of "calibration" by their "score", too.
    kept_rows_ : ndarray of bool of shape (n_samples,)
        Rows in the tables: all but those with a missing sensitive value (for ``missing="exclude"``)
        or prediction, which ``MetricFrame`` refuses. ``by_subgroup`` is also without the rows the
        search learned from, for ``evaluation="holdout"``.

    Raises
    ------
    NothingToAuditError
        If all decisions are equal, or the event never (or always) happens.

    Warns
    -----
    NothingFoundWarning
        If the audit found no violation that harms a group: the split then is no finding.

    Notes
    -----
    Where a level is empty (nobody is inside, or everybody) it is not in the table.

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
    >>> frame.verdict
    'violation'
    >>> rates = frame.subgroup_difference()
    >>> bool(rates["inside"] > frame.difference() > rates["outside"])
    True
    """

    result_: AuditResult
    auditor_: MDFAuditor
    kept_rows_: np.ndarray
    plain: MetricFrame

    def __init__(
        self,
        *,
        metrics: Metrics,
        y_true: Columns | None,
        y_pred: Columns,
        sensitive_features: Columns,
        audit_features: Columns,
        control_features: Columns | None = None,
        sample_params: SampleParams | None = None,
        decisions: Column | None = None,
        sample_weight: Column | None = None,
        clusters: Column | None = None,
        exposure: Column | None = None,
        n_boot: int | None = None,
        ci_quantiles: list[float] | None = None,
        random_state: Seed = 0,
        event: EventName = "selection",
        pos_label: Hashable | None = None,
        favorable_label: Hashable | None = None,
        subgroup_name: str = "mdfa_subgroup",
        **auditor: Any,
    ) -> None:
        check_event(event)
        params = _flat_params(metrics, sample_params)
        others: dict[str, Any] = {"y_pred": Shown.of(y_pred, "y_pred")}
        if y_true is not None:
            others["y_true"] = Shown.of(y_true, "y_true")
        if control_features is not None:
            others[CONTROLS] = read_groups(control_features, CONTROLS, "control_feature")
        others |= {
            _param_name(path): read_vector(v, _param_name(path)) for path, v in params.items()
        }
        if decisions is None and others["y_pred"].values.squeeze().ndim > 1:
            raise _undecided("several values per row were")
        case = pair(
            y_true=None if event in ("selection", "score") else y_true,  # then of any shape
            y_pred=y_pred if decisions is None else decisions,
            decided_by="y_pred" if decisions is None else "decisions",
            sensitive_features=sensitive_features,
            audit_features=audit_features,
            by_row={
                "sample_weight": _weight_of(params) if sample_weight is None else sample_weight,
                "clusters": clusters,
                "exposure": exposure,
            },
            others=others,
        )
        labels = read_labels(case.only_repeat(), case.y_pred.argument)
        scores = event not in NUMBER_EVENTS and any(map(is_fractional, labels.values))
        if decisions is None and scores:
            raise _undecided("scores were")
        merge = bool(auditor.get("merge_spellings", False))
        sensitive = _columns(case.sensitive, auditor.get("missing", "exclude"), merge=merge)
        controls = _controls(case.others.get(CONTROLS))
        _refuse_clashes(sensitive, controls, subgroup_name, params)
        known = np.array([[value is not None for value in column] for column in sensitive.values()])
        kept_rows = known.all(axis=0) & ((labels.codes >= 0) | (decisions is not None))
        if not kept_rows.any():
            raise InputError(
                f"{case.y_pred.argument}, sensitive_features: no row has a value in all of them, so "
                "that there is nobody to tabulate. Do their indexes belong to these rows?"
            )
        seed = draw_seed(random_state)

        def arguments(rows: np.ndarray, controls: Mapping[str, np.ndarray]) -> dict[str, Any]:
            kept = np.flatnonzero(rows)
            nobody_knows = np.full(len(kept), np.nan)
            shown = {
                name: case.others[name].take(kept).values if name in case.others else nobody_knows
                for name in _RESERVED
            }
            return shown | {
                "metrics": metrics,
                "sensitive_features": _table(sensitive, kept),
                "control_features": _table(controls, kept) if controls else None,
                "sample_params": _nested_params(metrics, sample_params, case.others, params, kept),
                "n_boot": n_boot,
                "ci_quantiles": ci_quantiles,
                "random_state": seed,
            }

        # What MetricFrame refuses is told before the audit.
        super().__init__(**arguments(kept_rows, controls))
        self.plain = MetricFrame.__new__(MetricFrame)
        vars(self.plain).update(vars(self))
        del vars(self.plain)["plain"]
        self.auditor_ = audit_case(
            case,
            event=event,
            pos_label=pos_label,
            favorable_label=favorable_label,
            random_state=seed,
            **auditor,
        )
        self.auditor_.result_ = self.result_ = _warned(self.auditor_.result_)
        self.kept_rows_ = kept_rows
        level = self.result_.as_control_feature().to_numpy(dtype=object)
        told = kept_rows & (level != "not held out")
        try:
            split: MetricFrame | Exception = MetricFrame(
                **arguments(told, controls | {subgroup_name: level})
            )
        except Exception as error:  # raised when asked for, as MetricFrame does with its figures
            split = error.with_traceback(None)
        self._split = split

    @property
    def audit_result(self) -> AuditResult:
        """The audit."""
        return self.result_

    @property
    def verdict(self) -> str:
        """Verdict on the subgroup: a ``"violation"``, or else the split is no finding."""
        harm = self.worst_case()
        return INSUFFICIENT if harm is None else harm.verdict

    def worst_case(self) -> Harm | None:
        """Who gets the favourable outcome less often than others alike, inside the subgroup.

        Returns
        -------
        harm : Harm or None
            As ``mdfa_fairness_plugin.fairlearn.worst_case`` gives it; None if nothing was measured.
        """
        return self.result_.worst_harm

    @property
    def subgroup_frame(self) -> MetricFrame:
        """The table by subgroup, as a ``MetricFrame`` of its own."""
        if isinstance(self._split, Exception):
            raise self._split
        return self._split

    @property
    def by_subgroup(self) -> Figures:
        """Metrics by control features, subgroup and sensitive features, as ``by_group`` has them."""
        return self.subgroup_frame.by_group

    def subgroup_difference(
        self, method: Comparison = "between_groups", errors: OnError = "coerce"
    ) -> Figures:
        """Give ``difference`` inside the subgroup, outside it, and where nobody is comparable."""
        return self.subgroup_frame.difference(method=method, errors=errors)

    def subgroup_ratio(
        self, method: Comparison = "between_groups", errors: OnError = "coerce"
    ) -> Figures:
        """Give ``ratio`` inside the subgroup, outside it, and where nobody is comparable."""
        return self.subgroup_frame.ratio(method=method, errors=errors)


def _undecided(found: str) -> InputError:
    """What is fine for metrics, and not for an audit."""
    return InputError(
        f"y_pred: {found} given, but an audit needs one decision per row. Pass these as decisions=, "
        "such as decisions=y_pred >= 0.5 for scores; or audit numbers as they are, with event='score', "
        "'residual' or 'absolute_error'."
    )


def _warned(result: AuditResult) -> AuditResult:
    """Say that the split is no finding, where there is none."""
    harm = harm_of(result)
    if harm is not None and harm.verdict == VIOLATION:
        return result
    log = WarningLog()
    why = "nothing could be measured" if harm is None else f"verdict {harm.verdict!r}"
    log.warn(
        NothingFoundWarning,
        f"The audit found no violation that harms a group ({why}), so that a difference inside the "
        "subgroup by which a table is split is no finding.",
    )
    return replace(result, warnings=(*result.warnings, *log.records))


def _table(columns: Mapping[str, np.ndarray], rows: np.ndarray) -> pd.DataFrame:
    """Rows of grouping columns."""
    return pd.DataFrame(columns, dtype=object).take(rows).reset_index(drop=True)


def _flat_params(metrics: Metrics, sample_params: SampleParams | None) -> dict[Path, Any]:
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
    metrics: Metrics,
    given: SampleParams | None,
    paired: Mapping[str, Table],
    paths: Iterable[Path],
    kept: np.ndarray,
) -> SampleParams | None:
    """Sample parameters as MetricFrame takes them, for the rows kept."""
    nested: dict[Any, dict[str, Any]] = {}
    for metric, name in paths:
        values = np.asarray(paired[_param_name((metric, name))].array(0).take(kept))
        # An array of the values' own type, as a list of them would give.
        own = np.asarray(values.tolist()) if values.dtype == object else values
        nested.setdefault(metric, {})[name] = own
    if not nested or given is None:
        return given
    if isinstance(metrics, dict):
        return {metric: nested.get(metric, params) for metric, params in given.items()}
    return nested[None]


def _weight_of(params: Mapping[Path, Any]) -> Column | None:
    """Weights the metrics share."""
    weights = [value for (_, name), value in params.items() if name == "sample_weight"]
    first, *others = weights or [None]
    if not all(one is first or _same(first, one) for one in others):
        raise InputError(
            "sample_params: the metrics have different sample_weight, so the audit cannot tell "
            "which to use. Pass sample_weight= for the audit."
        )
    return first


def _same(first: Any, other: Any) -> bool:
    """Whether weights are the same ones, row by row: by index, where both have one."""
    if isinstance(first, pd.Series) and isinstance(other, pd.Series):
        first, other = (one.sort_index(kind="stable") for one in (first, other))
        if not first.index.equals(other.index):
            return False
    return np.array_equal(first, other)


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
        column = objects([*labels.values, None])[labels.codes]
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
