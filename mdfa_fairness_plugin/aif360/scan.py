"""The audit in the manner of ``aif360.sklearn``: a detector and metric functions."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.aif360.groups import FAVORABLE, PRIVILEGED, UNFAVORABLE, UNPRIVILEGED
from mdfa_fairness_plugin.auditor import audit
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.decisions import refuse_scores
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.exceptions import InputError, WarningLog, renaming
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
    clusters: Any = None,
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
    clusters : label, array-like of shape (n_samples,) or None, default=None
        Whose row each is, as in ``MDFAuditor.fit``: values, or the level of the index or column of
        ``X`` that has them; people are then not compared by it.
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
    people = _People(X, y_true, y_pred)
    outcomes = people.values(y, argument)
    protected, named = people.protected(prot_attr)
    if priv_group is not None:
        protected = _two_groups(protected, priv_group)
    if pos_label is not None:
        outcomes = _two_outcomes(outcomes, pos_label, argument)
    weight = None if sample_weight is None else people.values(sample_weight, "sample_weight")
    whose = None if clusters is None else people.looked_up(clusters, "clusters")
    if _is_label(clusters):
        named = named | {clusters}
    table = people.without(named, include_protected)
    with renaming({"y": argument, "sensitive_features": "prot_attr"}):
        result = audit(
            table,
            outcomes,
            sensitive_features=protected,
            sample_weight=weight,
            clusters=whose,
            **auditor,
        )
    worst = result.worst_case
    inside = np.zeros(len(outcomes), dtype=bool) if worst is None else worst.membership
    return MDFAScan(
        subset=pd.Series(inside, index=people.index),
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
    clusters: Any = None,
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
    clusters : label, array-like of shape (n_samples,) or None, default=None
        As in ``mdfa_scan``.
    **auditor
        Arguments of ``MDFAuditor``.

    Returns
    -------
    delta : float
        NaN if nothing was measured. Positive by chance alone without any violation; ``mdfa_scan``
        gives the interval and the verdict.
    """
    arguments = {"priv_group": priv_group, "pos_label": pos_label, "prot_attr": prot_attr}
    by_row = {"sample_weight": sample_weight, "clusters": clusters}
    return _worst("delta", y_true, y_pred, X=X, **arguments, **by_row, **auditor)


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


def _rows_of(X: Any, y: Any) -> Any:
    """Rows of ``X`` that ``y`` is about."""
    index = _index_of(y)
    if (
        isinstance(X, pd.DataFrame)
        and index is not None
        and len(index) < len(X)
        and X.index.is_unique
        and index.isin(X.index).all()
    ):
        return X.loc[index]
    return X


class _People:
    """Rows of ``X``, and what other arguments say of them."""

    def __init__(self, X: Any, *outcomes: Any) -> None:
        self._table = read_table(X, "X")
        self._columns = list(self._table.names) if self._table.named else []
        self._pairing = Pairing(WarningLog())
        self._pairing.lead(self._table)
        self.index = _index_of(X)
        indexes = [_index_of(one) for one in (X, *outcomes)]
        self._indexes = [one for one in indexes if one is not None]

    def values(self, given: Any, argument: str) -> Any:
        """One value per row of ``X``, in their order."""
        column = read_vector(given, argument)
        check_length(column, self._table.n_rows, "X")
        return self._pairing.align(column).array(0)

    def protected(self, prot_attr: Any) -> tuple[pd.DataFrame, set[Hashable]]:
        """Protected attributes, and the names that stand for them."""
        if prot_attr is None:
            prot_attr = self._first_levels()
        elif not self._is_list_of_attributes(prot_attr):
            prot_attr = [prot_attr]
        columns: dict[str, np.ndarray] = {}
        named = set(_level_names(self.index))
        for place, one in enumerate(prot_attr, start=1):
            name = one if _is_label(one) else getattr(one, "name", None)
            if name is not None:
                named.add(name)  # A column of the same name in X is the same attribute.
            values = np.asarray(self.looked_up(one, "prot_attr"))
            columns[f"prot_attr {place}" if name is None else str(name)] = values
        return pd.DataFrame(columns), named

    def without(self, named: set[Hashable], include: bool | Collection[Hashable]) -> Table:
        """``X`` without the columns that are protected attributes, but for those asked for."""
        if include is True:
            include = self._columns
        wanted = {include} if isinstance(include, str) else set(include or ())
        unknown = [name for name in wanted if name not in self._columns]
        if unknown:
            raise InputError(
                f"include_protected: {listing(unknown)} is no column of X. Found: "
                f"{_listed(self._columns)}."
            )
        drop = named.intersection(self._columns) - wanted
        table = self._table
        places = [place for place, name in enumerate(table.names) if name not in drop]
        names = tuple(table.names[place] for place in places)
        matrix = None if table.matrix is None else table.matrix[:, places]
        arrays = [table.arrays[place] for place in places] if matrix is None else []
        # Rows are in order already, whatever their index.
        return Table("X", names, arrays, table.n_rows, None, table.named, matrix)

    def _first_levels(self) -> list[Hashable]:
        for index in self._indexes:
            if _level_names(index) and len(index) == self._table.n_rows:
                return _level_names(index)
        raise InputError(
            "prot_attr: it was not given, and no index has named levels to take protected "
            "attributes from. Pass the name of a column of X, or the values."
        )

    def looked_up(self, given: Any, argument: str) -> Any:
        """One value per row: those given, or those of a level of an index or column of ``X``."""
        if not _is_label(given):
            return self.values(given, argument)
        label = given
        for index in self._indexes:
            if label in index.names and len(index) == self._table.n_rows:
                return index.get_level_values(label)
        if label in self._columns:
            return self._table.array(self._columns.index(label))
        levels = [name for index in self._indexes for name in _level_names(index)]
        raise InputError(
            f"{argument}: {label!r} is neither a level of an index nor a column of X. Found: "
            f"{_listed([*levels, *self._columns])}. Pass one of them, or the values."
        )

    def _is_list_of_attributes(self, value: Any) -> bool:
        """Whether a list holds attributes rather than the values of one."""
        if not isinstance(value, list | tuple):
            return False
        return len(value) != self._table.n_rows or not all(_is_label(one) for one in value)


def _index_of(rows: Any) -> pd.Index | None:
    index = getattr(rows, "index", None)
    return index if isinstance(index, pd.Index) else None


def _level_names(index: pd.Index | None) -> list[Hashable]:
    return [] if index is None else [name for name in index.names if name is not None]


def _is_label(value: Any) -> bool:
    return isinstance(value, Hashable) and not hasattr(value, "__array__")


def _listed(names: Sequence[Hashable]) -> str:
    return listing(dict.fromkeys(names)) if names else "no names at all"


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
            found = listing(dict.fromkeys(protected[name].dropna()))
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
    values = pd.Series(np.asarray(y))
    refuse_scores(tuple(dict.fromkeys(values.dropna())), argument)
    favorable = (values == pos_label).to_numpy(dtype=bool, na_value=False)
    if not favorable.any():
        found = listing(dict.fromkeys(values.dropna()))
        raise InputError(
            f"pos_label: {pos_label!r} is not among the labels of {argument}: {found}. Pass the "
            "favorable label."
        )
    out = np.where(favorable, FAVORABLE, UNFAVORABLE).astype(object)
    out[values.isna().to_numpy()] = None
    return out
