"""Metrics of the worst case in the manner of ``aif360.sklearn.metrics``."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import pandas as pd

from mdfa_fairness_plugin.aif360.question import figure_of
from mdfa_fairness_plugin.aif360.rows import index_of
from mdfa_fairness_plugin.aif360.scan import Asked
from mdfa_fairness_plugin.exceptions import InputError, nan_if_constant

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mdfa_fairness_plugin.aif360.groups import Protection, Table


def worst_case_violation(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    audit_features: Table | None = None,
    event: str = "selection",
    prot_attr: Protection = None,
    priv_group: Hashable = 1,
    pos_label: Hashable = 1,
    sample_weight: ArrayLike | None = None,
    clusters: Hashable | ArrayLike | None = None,
    exposure: Hashable | ArrayLike | None = None,
    **auditor: Any,
) -> float:
    """Log of ``worst_case_ratio``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Outcomes of the data. If ``y_pred`` is given they are the true labels of an ``event``, and
        their index may hold the protected attributes.
    y_pred : array-like of shape (n_samples,) or None, default=None
        Outcomes a model predicted: labels, or numbers for an event that is of numbers.
    audit_features : DataFrame or array of shape (n_samples, n_features)
        Features people are compared by, with a row for each of ``y_true``. A DataFrame with a unique
        index may have more: its rows are then found by the index of ``y_true``. (``X``: deprecated.)
    event : str, default="selection"
        As in ``MDFAClassificationMetric``; of numbers those of a ``RegressionDataset``.
    prot_attr : label, array-like of shape (n_samples,) or list of these, default=None
        As in ``mdfa_scan``.
    priv_group : scalar or tuple, default=1
        Privileged value; everybody else is unprivileged.
    pos_label : scalar, default=1
        Favorable label; any other is unfavorable.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    clusters, exposure : label, array-like of shape (n_samples,) or None, default=None
        As in ``mdfa_scan``.
    **auditor
        Arguments of ``MDFAuditor``.

    Returns
    -------
    delta : float
        About 0 or less where nobody is harmed, larger is worse; positive by chance alone without any
        violation: ``mdfa_scan`` gives the interval and the verdict. NaN if nothing was measured, and
        with a warning if all outcomes are alike.

    Examples
    --------
    As a scorer of scikit-learn, through metadata routing, which data with protected attributes in a
    repeating index need (those of ``aif360.sklearn.datasets``)::

        sklearn.set_config(enable_metadata_routing=True)
        scorer = make_scorer(worst_case_violation, greater_is_better=False, prot_attr="sex")
        scorer.set_score_request(audit_features=True)
        cross_val_score(model, X, y, scoring=scorer, params={"audit_features": X})

    Without routing, if the index of ``X`` and ``y`` is unique::

        make_scorer(worst_case_violation, greater_is_better=False, prot_attr="sex", audit_features=X)
    """
    given = locals()
    return _figure("worst_case_violation", **given.pop("auditor"), **given)


def worst_case_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    audit_features: Table | None = None,
    sample_weight: ArrayLike | None = None,
    **arguments: Any,
) -> float:
    """How many times more often the others get the favorable outcome than the group harmed most.

    In the region of the features where that is worst, at equal features, measured on rows the search
    has not seen. Its inverse is the disparate impact there.

    Arguments are those of ``worst_case_violation``, with the same defaults.

    Returns
    -------
    ratio : float
        About 1 or less where nobody is harmed, larger is worse; NaN as ``worst_case_violation``.
    """
    arguments |= {"audit_features": audit_features, "sample_weight": sample_weight}
    return _figure("worst_case_ratio", y_true, y_pred, **arguments)


def worst_case_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    audit_features: Table | None = None,
    sample_weight: ArrayLike | None = None,
    **arguments: Any,
) -> float:
    """By how much less of a number the group harmed most gets than the others (or more of it).

    Arguments are those of ``worst_case_violation``, with the same defaults.

    Returns
    -------
    difference : float
        In units of the number; of labels the difference of the rates of the favorable one. Above 0 is
        harm; NaN as ``worst_case_violation``.
    """
    arguments |= {"audit_features": audit_features, "sample_weight": sample_weight}
    return _figure("worst_case_difference", y_true, y_pred, **arguments)


def unfairness_certificate(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    audit_features: Table | None = None,
    sample_weight: ArrayLike | None = None,
    **arguments: Any,
) -> float:
    """Strength ``gamma`` of the certificate of the worst case (Section 3.1 of the paper).

    Arguments are those of ``worst_case_violation``, with the same defaults.

    Returns
    -------
    gamma : float
        At most 1/4; NaN as ``worst_case_violation``. Numbers have none and are refused.
    """
    arguments |= {"audit_features": audit_features, "sample_weight": sample_weight}
    return _figure("unfairness_certificate", y_true, y_pred, **arguments)


def _figure(metric: str, y_true: Any, y_pred: Any, **given: Any) -> float:
    """One figure of the worst case, on those rows of the features that ``y_true`` is about."""
    arguments = {"priv_group": 1, "pos_label": 1} | given
    X = _rows_of(_features(arguments), y_pred if y_true is None else y_true)
    labels = {"y_true": y_true, "y_pred": y_pred}
    asked = Asked.of(argument="audit_features", X=X, **labels, **arguments)
    return nan_if_constant(lambda: figure_of(asked.answer()[-1].worst_harm, metric))


def _features(arguments: dict[str, Any]) -> Any:
    """Take the audited features out of the arguments, by either name."""
    features, old = arguments.pop("audit_features"), arguments.pop("X", None)
    if old is not None:
        warnings.warn(
            "X: this argument is called audit_features now; the old name will go.",
            FutureWarning,
            stacklevel=4,
        )
    if features is None and old is None:
        raise InputError("audit_features: pass the features that people are compared by.")
    if features is not None and old is not None:
        raise InputError("audit_features, X: both were given; X is the old name of audit_features.")
    return old if features is None else features


def _rows_of(features: Any, y: Any) -> Any:
    """Rows of the features that ``y`` is about, in its order: by index, unless one has none."""
    n_rows, n, index = _length(features), _length(y), index_of(y)
    if index is None or not isinstance(features, pd.DataFrame):
        if n >= n_rows:
            return features
        why = "one of them has no index"
    elif index.equals(features.index):
        return features
    elif not features.index.is_unique:
        why = "its index repeats"
    elif not index.isin(features.index).all():
        why = "its index does not have all labels of that of y_true"
    else:
        return features.loc[index]
    raise InputError(
        f"audit_features: it has {n_rows:,} rows and y_true {n:,}, and which belong together cannot be "
        f"told, as {why}. Let scikit-learn hand on the same rows of both: "
        "sklearn.set_config(enable_metadata_routing=True), scorer.set_score_request("
        "audit_features=True) and params={'audit_features': X}; or give X and y a unique index, such "
        "as X.set_index(np.arange(len(X)), append=True)."
    )


def _length(rows: Any) -> int:
    shape = getattr(rows, "shape", None)
    if shape:
        return int(shape[0])
    return len(next(iter(rows.values()), ())) if isinstance(rows, dict) else len(rows)
