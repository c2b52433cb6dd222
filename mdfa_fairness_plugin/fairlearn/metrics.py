"""Metrics in Fairlearn's form, which need no Fairlearn to run."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Sized
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mdfa_fairness_plugin.data.containers import read_vector
from mdfa_fairness_plugin.exceptions import nan_if_constant
from mdfa_fairness_plugin.fairlearn.case import (
    BY_ROW,
    Case,
    Column,
    Columns,
    EventName,
    Seed,
    audit_case,
    harm_of,
    hash_of,
    pair,
)
from mdfa_fairness_plugin.records import Harm, ratio_of
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.settings import check_whole, draw_seed


class Predictor(Protocol):
    """Whatever predicts."""

    predict: Callable[..., Any]


def worst_case_violation(
    y_true: Column | None,
    y_pred: Columns,
    *,
    sensitive_features: Columns,
    audit_features: Columns,
    sample_weight: Column | None = None,
    clusters: Column | None = None,
    exposure: Column | None = None,
    event: EventName = "selection",
    pos_label: Hashable | None = None,
    favorable_label: Hashable | None = None,
    rows: ArrayLike | None = None,
    random_state: Seed = 0,
    **auditor: Any,
) -> float:
    r"""Log of how many times more often others get the favourable outcome, where that is worst.

    In the subgroup ``G`` of the audited features where some sensitive value gets the favourable
    outcome most disproportionately seldom, at equal features,

    .. math:: \delta = \ln \frac{Pr_w[favourable | S \neq s, G]}{Pr_w[favourable | S = s, G]}

    measured on rows the search for ``G`` has not seen: above 0 is harm. Both outcomes are searched
    for, the ``delta`` of Section 2.2 of the paper each, and told in this one quantity, so that it can
    be set beside that of another model, or of the same one after a repair. Where Fairlearn's
    ``demographic_parity_ratio`` compares everybody, this compares people who are alike.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels, or numbers. Not looked at for "selection" and "score", where None will do.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_repeats)
        Predicted labels, or numbers for the events that are of numbers. Several columns are
        repeats of a randomised predictor, see ``draw_predictions``: each is audited, and the
        average returned.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
        Each column is audited on its own.
    audit_features : table of shape (n_samples, n_features)
        Who counts as similar is judged by these. The classifier's own features, or others.
    sample_weight, clusters, exposure : array-like of shape (n_samples,) or None, default=None
        As in ``MDFAuditor.fit``: one value per prediction, also where ``rows`` is given.
    event : str, default="selection"
        Outcome compared. Of labels:

        - "selection": predicted ``pos_label``; of 3 to 20 labels without it each is audited.
        - "error": prediction and true label differ.
        - "false_positive", "false_negative", "true_positive": rates among the rows with one true
          label, as in equalized odds: the label counts as one more audited feature, and the subgroup
          is searched for where it has that value.

        Of predictions that are numbers, whose means are compared (see ``worst_case_difference``):

        - "score": the prediction itself.
        - "residual": ``y_true - y_pred``, above 0 where the prediction is too low.
        - "absolute_error": how far the prediction is off.
        - "overprediction": yes or no, whether the prediction is above the truth.
        - "calibration": the truth of people at the same prediction, which joins the audited features
          as "score". Labels, of which ``pos_label`` is "positive", or numbers if
          ``outcome_type="numeric"`` says so.
    pos_label : label or None, default=None
        Label that means selected. None: 1, where labels are 0 and 1 or -1 and 1.
    favorable_label : label or None, default=None
        Prediction that is good for people; None: ``pos_label``, hence 1. **Pass 0 where 1 means
        "high risk".** It decides which side of the event is the favourable outcome: of "selection"
        the label itself; of "false_positive" and "true_positive" the event, if ``pos_label`` is
        favourable, of "false_negative" its opposite; of "error" always to be judged rightly.
        Of numbers and of an order (``ordered``) it is ``favorable="high"``, the default, or
        ``"low"`` that says which predictions are good. Good are then a high (low) score, a residual
        below (above) 0, being overpredicted (or not), at the same score a truth that is lower
        (higher) than that of others, who were rated too low (high); and always a small error.
    rows : array-like of int of shape (n_samples,) or None, default=None
        Positions in ``sensitive_features`` and ``audit_features`` that the predictions belong to.
        For callers that hand on only one value per row, such as ``MetricFrame``.
    random_state : int, RandomState, Generator or None, default=0
        A fixed seed, so that a metric called twice gives one answer; None is seed 0.
    **auditor
        Arguments of ``MDFAuditor``. With ``outcomes`` only some are searched for.

    Returns
    -------
    delta : float
        ``inf`` if nobody of the group gets the favourable outcome there. NaN if no group was large
        enough to be measured; and, with a ``NothingToAuditWarning``, if all predictions are equal or
        the event never (or always) happens, so that searches over models go on. The number comes
        without its interval and verdict: ``worst_case`` has them, and who is worse off. Of numbers
        that are never negative the log ratio of means; others are refused, see
        ``worst_case_difference``.

    Notes
    -----
    Each call is a whole audit, some seconds on 5,000 rows. For several numbers of one audit call
    ``worst_case`` or ``audit_predictions`` once.

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
    options = {"event": event, "rows": rows, "random_state": random_state}
    labels = {"pos_label": pos_label, "favorable_label": favorable_label}
    by_row = {"sample_weight": sample_weight, "clusters": clusters, "exposure": exposure}
    arguments = people | options | labels | by_row | auditor
    return _average("worst_case_violation", "delta", y_true, y_pred, arguments)


def worst_case_ratio(
    y_true: Column | None, y_pred: Columns, *, sample_weight: Column | None = None, **arguments: Any
) -> float:
    """How many times more often others get the favourable outcome, where that is worst.

    ``exp(worst_case_violation)``: above 1 is harm, while Fairlearn's ratios are turned to at most 1.
    Its inverse is the disparate impact in the subgroup. The favourable outcome is predicted 1 unless
    ``favorable_label`` says otherwise.

    Takes the arguments of ``worst_case_violation``, needs the same, and is usable in the same places.

    Returns
    -------
    ratio : float
        Repeats are averaged on the log scale; NaN as there.
    """
    arguments["sample_weight"] = sample_weight
    return ratio_of(_average("worst_case_ratio", "delta", y_true, y_pred, arguments))


def worst_case_difference(
    y_true: Column | None, y_pred: Columns, *, sample_weight: Column | None = None, **arguments: Any
) -> float:
    """By how much less of a number a group gets than others alike, where that is worst.

    In units of the number, and of the region that ``worst_case`` gives: by how much the mean of the
    group harmed most is below that of the others, or above it where less is good. Of labels by how
    much the rate of the favourable outcome is below.

    Takes the arguments of ``worst_case_violation``, needs the same, and is usable in the same places.

    Returns
    -------
    difference : float
        Above 0 is harm. NaN as there.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(600, delta=1.5, imbalance=0.0, random_state=1)
    >>> people = {"sensitive_features": data.sensitive_features, "audit_features": data.X}
    >>> wage = 2000 + 500 * data.y
    >>> worst_case_difference(None, wage, event="score", **people, learner="tree", n_splits=2) > 100
    True
    """
    arguments["sample_weight"] = sample_weight
    return _average("worst_case_difference", "difference", y_true, y_pred, arguments)


def unfairness_certificate(
    y_true: Column | None, y_pred: Columns, *, sample_weight: Column | None = None, **arguments: Any
) -> float:
    """Strength ``gamma`` of the certificate for the worst-treated subgroup found.

    Joins how many are affected to how unequally (Section 3.1): ``Pr_w[y, G] * (Pr_w[S = s | y, G] -
    1/2)`` with both sides of equal weight, where ``y`` is the outcome, favourable or not, of the
    search that ``worst_case`` gives. A certificate is evidence of a violation; a small one is no
    clean bill of health.

    Takes the arguments of ``worst_case_violation``, needs the same, and is usable in the same places.

    Returns
    -------
    gamma : float
        NaN as there. Numbers have none and are refused.
    """
    arguments["sample_weight"] = sample_weight
    return _average("unfairness_certificate", "gamma", y_true, y_pred, arguments)


def worst_case(y_true: Column | None, y_pred: Columns, **arguments: Any) -> Harm | None:
    """Who gets the favourable outcome less often than others alike, and how much, where it is worst.

    Arguments are those of ``audit_predictions``.

    Returns
    -------
    harm : Harm or None
        ``group``, ``reference``, ``outcome`` (the favourable one: predicted 1 unless
        ``favorable_label`` says otherwise), ``ratio`` with ``interval``, ``difference`` with
        ``difference_interval``, ``delta``, ``gamma``, ``verdict``, ``disparate_impact``, and the
        search as ``violation``; look at ``verdict`` before calling it a violation. None if nothing
        was measured.

    Raises
    ------
    NothingToAuditError
        As ``audit_predictions``.
    """
    return harm_of(_audit("worst_case", y_true, y_pred, arguments))


def audit_predictions(y_true: Column | None, y_pred: Columns, **arguments: Any) -> AuditResult:
    """Give the whole audit behind the metrics: interval, verdict, rule, report.

    Parameters
    ----------
    y_true, **arguments
        As in ``worst_case_violation``.
    y_pred : array-like of shape (n_samples,)
        Predictions. They are fixed: whatever predictor made them, these are audited, and their hash
        is kept.

    Returns
    -------
    result : AuditResult
        ``worst_harm`` is what ``worst_case`` gives. ``provenance`` also holds ``"event"``,
        ``"pos_label"`` and ``"predictions_hash"``, which ``predictions_hash(y_pred)`` reproduces.
        Rows without the event's true label are counted in ``excluded``. With a ``pos_label`` among
        more than two labels the outcomes are "selection" and "not selected".

    Raises
    ------
    NothingToAuditError
        If all predictions are equal, or the event never (or always) happens.
    """
    return _audit("audit_predictions", y_true, y_pred, arguments)


def _audit(
    caller: str, y_true: Column | None, y_pred: Columns, arguments: dict[str, Any]
) -> AuditResult:
    """Audit the one prediction of each row."""
    case, options = _split(caller, y_true, y_pred, arguments)
    case.only_repeat()
    return audit_case(case, **options).result_


def _average(
    caller: str, figure: str, y_true: Column | None, y_pred: Columns, arguments: dict[str, Any]
) -> float:
    """Mean over repeats of one figure of the worst case; NaN where nothing was measured."""
    case, options = _split(caller, y_true, y_pred, arguments)

    def mean() -> float:
        harms = [
            harm_of(audit_case(case, repeat, **options).result_)
            for repeat in range(case.y_pred.n_columns)
        ]
        figures = [math.nan if harm is None else harm.figure(figure, caller) for harm in harms]
        return float(np.mean(figures))

    return nan_if_constant(mean)


def _split(
    caller: str, y_true: Column | None, y_pred: Columns, arguments: dict[str, Any]
) -> tuple[Case, dict[str, Any]]:
    """Arguments with a value per row, paired, and the others."""
    for name in ("sensitive_features", "audit_features"):
        if name not in arguments:
            raise TypeError(f"{caller}() missing required keyword-only argument: {name!r}")
    names = ("sensitive_features", "audit_features", "rows")
    people, by_row = (
        {name: arguments.pop(name) for name in own if name in arguments} for own in (names, BY_ROW)
    )
    return pair(y_true=y_true, y_pred=y_pred, by_row=by_row, **people), arguments


def draw_predictions(
    model: Predictor, X: Sized, *, n_repeats: int = 1, random_state: Seed = 0, **predict_params: Any
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
    random_state : int, RandomState, Generator or None, default=0
        Seed of the first draw, None is 0; the next ones follow from it. Not handed on to a ``predict``
        that takes none, whose predictions then are its own affair.
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
    check_whole("n_repeats", n_repeats, 1)
    last: Any = model
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    takes_seed = "random_state" in inspect.signature(last.predict).parameters
    seed = draw_seed(random_state)
    draws = []
    for repeat in range(int(n_repeats)):
        params = dict(predict_params)
        if takes_seed:
            # The first draw is the one that predict(..., random_state=random_state) gives.
            spawned = np.random.SeedSequence([seed, repeat]).generate_state(1)[0]
            params["random_state"] = seed if repeat == 0 else int(spawned)
        draws.append(np.asarray(model.predict(X, **params)).reshape(len(X), -1)[:, 0])
    return draws[0] if n_repeats == 1 else np.column_stack(draws)


def predictions_hash(y_pred: Column) -> str:
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
