"""Metrics in Fairlearn's form, which need no Fairlearn to run."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.containers import read_vector
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fairlearn.case import Case, audit_case, hash_of, pair
from mdfa_fairness_plugin.records import ratio_of
from mdfa_fairness_plugin.results import AuditResult


def worst_case_violation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    audit_features: Any,
    sample_weight: Any = None,
    clusters: Any = None,
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
    sample_weight, clusters : array-like of shape (n_samples,) or None, default=None
        As in ``MDFAuditor.fit``: one value per prediction, also where ``rows`` is given.
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
        A fixed seed, so that a metric called twice gives one answer; None is seed 0.
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
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(600, delta=1.5, imbalance=0.0, random_state=1)
    >>> people = {"sensitive_features": data.sensitive_features, "audit_features": data.X}
    >>> worst_case_violation(None, data.y, **people, learner="tree", n_splits=2) > 0.5
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
    people = {"sensitive_features": sensitive_features, "audit_features": audit_features}
    options = {"event": event, "pos_label": pos_label, "rows": rows, "random_state": random_state}
    by_row = {"sample_weight": sample_weight, "clusters": clusters}
    arguments = people | options | by_row | auditor
    return _average("worst_case_violation", "delta", y_true, y_pred, arguments)


def worst_case_ratio(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, **arguments: Any
) -> float:
    """Ratio of outcome rates in the worst-treated subgroup found, ``exp(worst_case_violation)``.

    At least 1 where a group is worse off, while Fairlearn's ratios are turned to at most 1.

    Parameters
    ----------
    y_true, y_pred, sample_weight, **arguments
        As in ``worst_case_violation``, with the same arguments needed, and usable in the same
        places.

    Returns
    -------
    ratio : float
        The paper's ``DT_G`` (Table 3). Repeats are averaged on the log scale.
    """
    arguments["sample_weight"] = sample_weight
    return ratio_of(_average("worst_case_ratio", "delta", y_true, y_pred, arguments))


def unfairness_certificate(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, **arguments: Any
) -> float:
    """Strength ``gamma`` of the certificate for the worst-treated subgroup found.

    Joins how many are affected to how unequally (Section 3.1): ``Pr_w[event, G] * (Pr_w[S = s |
    event, G] - 1/2)`` with both sides of equal weight. A certificate is evidence of a violation;
    a small one is no clean bill of health.

    Parameters
    ----------
    y_true, y_pred, sample_weight, **arguments
        As in ``worst_case_violation``, with the same arguments needed, and usable in the same
        places.

    Returns
    -------
    gamma : float
    """
    arguments["sample_weight"] = sample_weight
    return _average("unfairness_certificate", "gamma", y_true, y_pred, arguments)


def _average(
    caller: str, figure: str, y_true: Any, y_pred: Any, arguments: dict[str, Any]
) -> float:
    """Mean over repeats of one figure of the worst case; NaN where nothing was measured."""
    case, options = _split(caller, y_true, y_pred, arguments)
    values = []
    for repeat in range(case.y_pred.n_columns):
        worst = audit_case(case, repeat, **options).result_.worst_case
        values.append(np.nan if worst is None else getattr(worst, figure))
    return float(np.mean(values))


def _split(
    caller: str, y_true: Any, y_pred: Any, arguments: dict[str, Any]
) -> tuple[Case, dict[str, Any]]:
    """Arguments with a value per row, paired, and the others."""
    for name in ("sensitive_features", "audit_features"):
        if name not in arguments:
            raise TypeError(f"{caller}() missing required keyword-only argument: {name!r}")
    names = ("sensitive_features", "audit_features", "sample_weight", "clusters", "rows")
    by_row = {name: arguments.pop(name) for name in names if name in arguments}
    return pair(y_true=y_true, y_pred=y_pred, **by_row), arguments


def audit_predictions(y_true: Any, y_pred: Any, **arguments: Any) -> AuditResult:
    """Give the whole audit behind the metrics: interval, verdict, rule, report.

    Parameters
    ----------
    y_true, **arguments
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
    case, options = _split("audit_predictions", y_true, y_pred, arguments)
    case.only_repeat()
    return audit_case(case, **options).result_


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
    return hash_of(read_vector(y_pred, "y_pred").array(0))
