"""The audit in the manner of ``aif360.sklearn``: a detector and metric functions."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from mdfa_fairness_plugin.aif360.groups import FAVORABLE, PRIVILEGED, UNFAVORABLE, UNPRIVILEGED
from mdfa_fairness_plugin.auditor import audit
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.results import AuditResult


@dataclass(frozen=True, kw_only=True, eq=False)
class MDFAScan:
    """What ``mdfa_scan`` found; unpacks into ``subset, score`` like the answer of ``bias_scan``.

    Parameters
    ----------
    subset : Series of bool of shape (n_samples,)
        Rows in the subgroup treated most unequally, with the index of ``X``: ``X[subset]``.
    score : float
        Log ratio ``delta`` of the outcome's rates there, on held-out rows; NaN if nothing was
        measured.
    rule : str
        Who is in it.
    result : AuditResult
        Everything else: the interval, the p-value, the verdict, the other searches.
    """

    subset: pd.Series
    score: float
    rule: str
    result: AuditResult

    def __iter__(self) -> Iterator[Any]:
        yield self.subset
        yield self.score


def mdfa_scan(
    X: Any,
    y_true: Any = None,
    y_pred: Any = None,
    *,
    prot_attr: Any = None,
    priv_group: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    include_protected: bool | Collection[Hashable] = False,
    **auditor: Any,
) -> MDFAScan:
    """Scan for the subgroup that is treated most unequally.

    In the manner of ``aif360.sklearn.detectors.bias_scan``, but the subset is one of the features
    in which people who differ in the protected attribute alone are treated differently.

    Parameters
    ----------
    X : DataFrame or array of shape (n_samples, n_features)
        Features people are compared by. Protected attributes may be in its index, as in
        ``aif360.sklearn.datasets``, or among its columns.
    y_true : array-like of shape (n_samples,) or None, default=None
        Outcomes of the data. Ignored if ``y_pred`` is given.
    y_pred : array-like of shape (n_samples,) or None, default=None
        Outcomes a classifier predicted, as labels.
    prot_attr : label, array-like of shape (n_samples,) or list of these, default=None
        Protected attributes: names of levels of the index or of columns of ``X``, or values. None:
        every named level of the index of ``X``, or else of the outcomes.
    priv_group : scalar, tuple or None, default=None
        Privileged value, or combination of values; the groups are then ``"privileged"`` and
        ``"unprivileged"``, which is everybody else. None: each value of each attribute is a group.
    pos_label : scalar or None, default=None
        Favorable label; the outcomes are then ``"favorable"`` and ``"unfavorable"``, which is any
        other. None: labels as they are.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    include_protected : bool or collection of column names, default=False
        Columns of ``X`` to compare people by although they are protected attributes: audited, or
        of the name of a level of its index.
    **auditor
        Arguments of ``MDFAuditor``.

    Returns
    -------
    scan : MDFAScan

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> from mdfa_fairness_plugin.aif360 import mdfa_scan
    >>> data = mdfa.datasets.make_synthetic(n_samples=1000, delta=1.5, random_state=0)
    >>> X = data.X.assign(group=data.sensitive_features)
    >>> subset, score = mdfa_scan(X, y_pred=data.y, prot_attr="group", random_state=0)
    >>> score > 0
    True
    """
    y = y_true if y_pred is None else y_pred
    if y is None:
        raise InputError("y_true, y_pred: neither was given; pass the outcomes to audit.")
    argument = "y_true" if y_pred is None else "y_pred"
    outcomes = _aligned(X, y, argument)
    protected, named = _protected(X, (y_true, y_pred), prot_attr)
    if priv_group is not None:
        protected = _two_groups(protected, priv_group)
    if pos_label is not None:
        outcomes = _two_outcomes(outcomes, pos_label, argument)
    index = getattr(X, "index", None)
    table = _without(X, {*named, *_level_names(index)}, include_protected)
    result = audit(
        _positional(table),
        outcomes,
        sensitive_features=protected,
        sample_weight=None
        if sample_weight is None
        else _aligned(X, sample_weight, "sample_weight"),
        **auditor,
    )
    worst = result.worst_case
    inside = np.zeros(len(outcomes), dtype=bool) if worst is None else worst.membership
    return MDFAScan(
        subset=pd.Series(inside, index=index if isinstance(index, pd.Index) else None),
        score=math.nan if worst is None else worst.delta,
        rule="" if worst is None else worst.rule,
        result=result,
    )


def worst_case_violation(
    y_true: Any,
    y_pred: Any = None,
    *,
    X: Any,
    prot_attr: Any = None,
    priv_group: Any = 1,
    pos_label: Any = 1,
    sample_weight: Any = None,
    **auditor: Any,
) -> float:
    """Log ratio ``delta`` of an outcome's rates in the subgroup treated most unequally.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Outcomes of the data. If ``y_pred`` is given only its index is looked at, for protected
        attributes.
    y_pred : array-like of shape (n_samples,) or None, default=None
        Outcomes a classifier predicted, as labels.
    X : DataFrame or array of shape (n_samples, n_features)
        Features people are compared by. If it has more rows than ``y_true``, and a unique index,
        its rows are found by the index of ``y_true``, so that a scorer made with
        ``sklearn.metrics.make_scorer`` can be given all of ``X`` once.
    prot_attr : label, array-like of shape (n_samples,) or list of these, default=None
        As in ``mdfa_scan``.
    priv_group : scalar or tuple, default=1
        Privileged value; everybody else is unprivileged.
    pos_label : scalar, default=1
        Favorable label; any other is unfavorable.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    **auditor
        Arguments of ``MDFAuditor``.

    Returns
    -------
    delta : float
        NaN if nothing was measured. Positive by chance alone without any violation; ``mdfa_scan``
        gives the interval and the verdict.
    """
    arguments = {"priv_group": priv_group, "pos_label": pos_label, "sample_weight": sample_weight}
    return _worst("delta", y_true, y_pred, X=X, prot_attr=prot_attr, **arguments, **auditor)


def worst_case_ratio(
    y_true: Any, y_pred: Any = None, *, X: Any, sample_weight: Any = None, **arguments: Any
) -> float:
    """Ratio ``exp(delta)`` of an outcome's rates in the subgroup treated most unequally.

    Parameters
    ----------
    y_true, y_pred, X, sample_weight, **arguments
        As in ``worst_case_violation``, with the same defaults.

    Returns
    -------
    ratio : float
        NaN if nothing was measured.
    """
    return _worst("ratio", y_true, y_pred, X=X, sample_weight=sample_weight, **arguments)


def unfairness_certificate(
    y_true: Any, y_pred: Any = None, *, X: Any, sample_weight: Any = None, **arguments: Any
) -> float:
    """Strength ``gamma`` of the worst violation's certificate (Section 3.1 of the paper).

    Parameters
    ----------
    y_true, y_pred, X, sample_weight, **arguments
        As in ``worst_case_violation``, with the same defaults.

    Returns
    -------
    gamma : float
        NaN if nothing was measured.
    """
    return _worst("gamma", y_true, y_pred, X=X, sample_weight=sample_weight, **arguments)


def _worst(figure: str, y_true: Any, y_pred: Any, *, X: Any, **arguments: Any) -> float:
    """One figure of the worst violation, on those rows of ``X`` that ``y_true`` is about."""
    found = mdfa_scan(
        _rows_of(X, y_true), y_true, y_pred, **({"priv_group": 1, "pos_label": 1} | arguments)
    )
    worst = found.result.worst_case
    return math.nan if worst is None else float(getattr(worst, figure))


# ---------------------------------------------------------------------------------------------
# Rows


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _aligned(X: Any, values: Any, argument: str) -> Any:
    """Values in the order of the rows of ``X``, without an index."""
    n_rows = _n_rows(X)
    if len(values) != n_rows:
        raise InputError(
            f"{argument}: {len(values):,} rows were given, but X has {n_rows:,}. Pass one per row "
            "of X."
        )
    ours, theirs = getattr(X, "index", None), getattr(values, "index", None)
    if isinstance(ours, pd.Index) and isinstance(theirs, pd.Index) and not ours.equals(theirs):
        if not (ours.is_unique and theirs.is_unique and ours.isin(theirs).all()):
            raise InputError(
                f"{argument}: its index differs from that of X, and rows cannot be paired by it. "
                "Give both the same index, or pass the values alone with .to_numpy()."
            )
        values = values.reindex(ours)
    if isinstance(values, pd.DataFrame):
        values = values.squeeze(axis=1)
    return values.reset_index(drop=True) if isinstance(values, pd.Series) else values


def _rows_of(X: Any, y: Any) -> Any:
    """Rows of ``X`` that ``y`` is about."""
    index = getattr(y, "index", None)
    if (
        isinstance(X, pd.DataFrame)
        and isinstance(index, pd.Index)
        and len(index) < len(X)
        and X.index.is_unique
        and index.isin(X.index).all()
    ):
        return X.loc[index]
    return X


def _positional(table: Any) -> Any:
    return table.reset_index(drop=True) if isinstance(table, pd.DataFrame) else table


# ---------------------------------------------------------------------------------------------
# Protected attributes


def _protected(X: Any, ys: tuple[Any, ...], prot_attr: Any) -> tuple[pd.DataFrame, list[Hashable]]:
    """Protected attributes with a row per row of ``X``, and the names that were looked up."""
    if prot_attr is None:
        return _from_index(X, ys)
    listed = prot_attr if _is_list_of_attributes(prot_attr, X) else [prot_attr]
    columns: dict[str, Any] = {}
    named: list[Hashable] = []
    for place, one in enumerate(listed):
        if _is_label(one):
            values = _look_up(X, ys, one)
            named.append(one)
            name = str(one)
        else:
            values = _aligned(X, one, "prot_attr")
            given = getattr(one, "name", None)
            name = f"prot_attr {place + 1}" if given is None else str(given)
            if given is not None:
                named.append(given)  # a column of the same name in X is the same attribute
        columns[name] = np.asarray(values)
    return pd.DataFrame(columns), named


def _from_index(X: Any, ys: tuple[Any, ...]) -> tuple[pd.DataFrame, list[Hashable]]:
    for one in (X, *ys):
        index = getattr(one, "index", None)
        names = _level_names(index)
        if isinstance(index, pd.Index) and names and len(index) == _n_rows(X):
            return (
                pd.DataFrame(
                    {str(name): np.asarray(index.get_level_values(name)) for name in names}
                ),
                list(names),
            )
    raise InputError(
        "prot_attr: it was not given, and no index has named levels to take protected attributes "
        "from. Pass the name of a column of X, or the values."
    )


def _level_names(index: Any) -> list[Any]:
    """Names of an index's levels; none if it is no pandas index."""
    return [name for name in index.names if name is not None] if isinstance(index, pd.Index) else []


def _is_label(value: Any) -> bool:
    return isinstance(value, Hashable) and not hasattr(value, "__array__")


def _is_list_of_attributes(value: Any, X: Any) -> bool:
    """Whether a list holds attributes rather than the values of one."""
    if not isinstance(value, list | tuple):
        return False
    if all(_is_label(one) for one in value):
        return len(value) != _n_rows(X)
    return True


def _look_up(X: Any, ys: tuple[Any, ...], label: Any) -> Any:
    indexes = [getattr(one, "index", None) for one in (X, *ys)]
    for index in indexes:
        if isinstance(index, pd.Index) and label in index.names and len(index) == _n_rows(X):
            return index.get_level_values(label)
    columns = _columns(X)
    if label in columns:
        if isinstance(X, pd.DataFrame):
            return X[label].to_numpy()
        return nw.from_native(X, eager_only=True).get_column(str(label)).to_numpy()
    levels = [name for index in indexes for name in _level_names(index)]
    known = [repr(name) for name in dict.fromkeys([*levels, *columns])]
    raise InputError(
        f"prot_attr: {label!r} is neither a level of an index nor a column of X. Found: "
        f"{', '.join(known) or 'no names at all'}. Pass one of them, or the values."
    )


def _columns(X: Any) -> list[Hashable]:
    columns = getattr(X, "columns", None)
    return [] if columns is None else list(columns)


def _without(X: Any, named: set[Hashable], include: bool | Collection[Hashable]) -> Any:
    """``X`` without the columns that are protected attributes, but for those asked for."""
    if include is True:
        return X
    wanted = {include} if isinstance(include, str) else set(include or ())
    columns = _columns(X)
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        raise InputError(
            f"include_protected: {', '.join(map(repr, unknown))} is no column of X. Found: "
            f"{', '.join(map(repr, columns)) or 'no names at all'}."
        )
    drop = [name for name in columns if name in named and name not in wanted]
    if not drop:
        return X
    if isinstance(X, pd.DataFrame):
        return X.drop(columns=drop)
    return nw.to_native(nw.from_native(X, eager_only=True).drop(*map(str, drop)))


def _two_groups(protected: pd.DataFrame, priv_group: Any) -> pd.DataFrame:
    """Privileged and unprivileged, which is everybody else whose attributes are known."""
    n_attributes = protected.shape[1]
    values = priv_group if isinstance(priv_group, tuple) else (priv_group,)
    if len(values) != n_attributes:
        raise InputError(
            f"priv_group: {priv_group!r} has {len(values)} value(s) for the {n_attributes} "
            f"protected attribute(s) {', '.join(map(repr, protected.columns))}. Pass a tuple with "
            "one for each, or name a single attribute as prot_attr."
        )
    privileged = np.ones(len(protected), dtype=bool)
    for name, value in zip(protected.columns, values, strict=True):
        hits = (protected[name] == value).to_numpy(dtype=bool, na_value=False)
        if not hits.any():
            found = ", ".join(map(repr, list(dict.fromkeys(protected[name].dropna()))[:10]))
            raise InputError(
                f"priv_group: {value!r} is not among the values of {name!r}: {found}. Pass the "
                "privileged value."
            )
        privileged &= hits
    if not privileged.any():
        raise InputError(
            f"priv_group: no row has the combination {priv_group!r} of "
            f"{', '.join(map(repr, protected.columns))}. Pass one that occurs."
        )
    column = np.where(privileged, PRIVILEGED, UNPRIVILEGED).astype(object)
    column[protected.isna().any(axis=1).to_numpy()] = None
    return pd.DataFrame({" & ".join(protected.columns): pd.Series(column, dtype=object)})


def _two_outcomes(y: Any, pos_label: Any, argument: str) -> np.ndarray:
    """Favorable and unfavorable; missing outcomes stay missing."""
    values = pd.Series(np.asarray(y)).reset_index(drop=True)
    if values.dtype.kind == "f" and (values.dropna() % 1 != 0).any():
        raise InputError(
            f"{argument}: numbers such as {values[values % 1 != 0].iloc[0]:g} are scores, not "
            "labels. Turn them into labels with a threshold first, as in scores >= 0.5."
        )
    favorable = (values == pos_label).to_numpy(dtype=bool, na_value=False)
    if not favorable.any():
        found = ", ".join(map(repr, list(dict.fromkeys(values.dropna()))[:10]))
        raise InputError(
            f"pos_label: {pos_label!r} is not among the labels of {argument}: {found}. Pass the "
            "favorable label."
        )
    out = np.where(favorable, FAVORABLE, UNFAVORABLE).astype(object)
    out[values.isna().to_numpy()] = None
    return out
