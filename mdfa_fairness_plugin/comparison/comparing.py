"""The comparison: repeated splits, one full audit per model, and what follows from both."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.arguments import checked_settings, problem_of
from mdfa_fairness_plugin.comparison.answers import Answers, read_answers
from mdfa_fairness_plugin.comparison.bench import Bench, ModelAudit, answered_by, region_rows
from mdfa_fairness_plugin.comparison.measuring import figures_of
from mdfa_fairness_plugin.comparison.performance import read_metric
from mdfa_fairness_plugin.comparison.result import ComparisonResult
from mdfa_fairness_plugin.comparison.splits import run_splits
from mdfa_fairness_plugin.data.columns import find_label, listing, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_table
from mdfa_fairness_plugin.data.spelling import asked_as
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning, OverlapError, WarningLog
from mdfa_fairness_plugin.pipeline import run_audit
from mdfa_fairness_plugin.provenance import describe_parameter
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.results import result_of
from mdfa_fairness_plugin.settings import Settings, check_whole, draw_seed, refuse_unknown

logger = logging.getLogger(__name__)

# A feature that agrees with a model on more of the rows looks like a model's answers.
_ALIKE = 0.9
_AMONG_FEATURES = "AnswersAmongFeatures"
# Rows that tell a column of few labels from others.
_HEAD_ROWS = 1_000

# Arguments of MDFAuditor that mean something else here, or are settled.
_SETTLED = {
    "evaluation": "the comparison makes both kinds, a cross-fitted audit and repeated 70/30 splits",
    "n_splits": "here it is the number of repeated splits; n_folds is that of the folds",
    "sensitive_type": "models are compared by groups, which to_groups makes of numbers",
    "per": "it is for a sensitive quantity, and models are compared by groups",
}


def compare(
    X,
    outcomes_by_model,
    *,
    sensitive_features,
    y_true=None,
    sample_weight=None,
    clusters=None,
    exposure=None,
    model_features=None,
    n_splits=100,
    n_folds=5,
    baseline=None,
    metric=None,
    scores=None,
    tolerance=None,
    random_state=None,
    n_jobs=None,
    verbose=0,
    progress=False,
    **params,
) -> ComparisonResult:
    r"""Compare models by how unequally they treat their worst-treated subgroup.

    A model that was repaired to treat two groups alike in the aggregate may still treat small
    groups unequally, and may treat others unequally than it did before (Section 4.3, Table 3).

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Audited features, by which people count as similar.
    outcomes_by_model : mapping of name to array-like of shape (n_samples,) or fitted model
        Outcomes of each model, or anything with ``predict``; or a DataFrame with a column of
        outcomes per model. Models whose ``predict`` takes ``sensitive_features`` or a
        ``random_state`` are given them.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
    y_true : array-like of shape (n_samples,) or None, default=None
        True labels in the models' coding, for accuracy and for ratios of true and false positive
        rates, or true numbers, for the mean absolute error and R2; rows where it is missing are left
        out of these alone.
    sample_weight, clusters : array-like of shape (n_samples,) or None, default=None
        As for ``MDFAuditor.fit``. Rows of a cluster also share a side of every split.
    exposure : array-like of shape (n_samples,) or None, default=None
        Of models that predict counts, as for ``MDFAuditor.fit``: counts, and true ones, are divided by
        it, and rows count by it.
    model_features : table, dict of model name to table, or None, default=None
        What fitted models predict on, if that is not ``X``.
    n_splits : int, default=100
        Repeated 70/30 splits, the same for every model; 0 for none.
    n_folds : int, default=5
        Folds of each model's cross-fitted audit, and of nuisances within a split.
    baseline : model name or None, default=None
        Model the others are compared with; None: the first.
    metric : {"accuracy", "auc"}, {"r2", "neg_mean_absolute_error"}, callable or None, default=None
        How well models do by ``y_true``, of labels or of numbers; higher is better. A function is
        called with the true labels and a model's outcomes (its scores, if there are any), and
        ``sample_weight=`` if rows have weights. Adds ``alternatives``: is a model less unequal than
        the baseline, within a tolerance?
    scores : mapping of model name to array-like of float of shape (n_samples,), or None, default=None
        For "auc" and functions: higher where the larger of two labels is likelier, such as predicted
        probabilities.
    tolerance : float or None, default=None
        How much less than the baseline's the metric may be; None: no finding.
    random_state : int, RandomState, Generator or None, default=None
        As for ``MDFAuditor``.
    n_jobs : int or None, default=None
        Splits (and folds of the audits) at a time.
    verbose : int, default=0
        Above 0 logs each stage and split at level INFO.
    progress : bool or callable, default=False
        True shows a progress bar of the splits on the standard error stream; a function is called
        as ``progress(done, total)`` after each.
    **params
        Of ``MDFAuditor``: ``alpha``, ``outcomes``, ``groups``, ``reference_group``, ``balance``...
        ``outcome_probability`` is an estimator or a mapping of each model to its array.

    Returns
    -------
    result : ComparisonResult

    Raises
    ------
    InputError, NothingToAuditError, OverlapError
        Naming the argument, or the model, what was found and what to do. A single model that
        answers everybody alike is no error: its row says so.

    Notes
    -----
    ``DT_G`` comes twice. Over repeated splits, as the paper reports it: mean and standard deviation
    of the ratio on the 30 % held out. As the splits share rows, that deviation says how much one
    split's answer varies, not how well the mean is known. The interval is that of one cross-fitted
    audit of each model, exactly what ``audit`` gives for it.

    With ``outcome_type="numeric"`` models predict numbers, compared by the difference or ratio of means
    as an audit does; with ``ordered`` grades, by cuts and mean ranks; with
    ``outcome_type="multiclass"`` three to twenty labels.

    Differences are those of the cross-fitted log ratios, or of differences of means. Both are, to
    first order, sums over the same rows, so the variance of the difference is the sum of squares of
    the rows' differences (of those of a cluster, summed); it is widened for the search like the
    audit's own intervals, and holds what the difference may still move as the models of the features
    get better. On two models with planted violations (1,000 rows, 70 draws each) 95 % intervals
    covered the true difference inside the subgroups found in 69 draws where the violations lay in
    different places, and in all where one model had half of the other's
    (``tests/benchmarks/paired_differences.py``).

    An alternative is "shown" to be less unequal within the tolerance if both are: its metric is less
    by the tolerance at most, and the log ratio of its worst case, whoever is in it, below that of the
    baseline's worst case. It is "not shown" if one of them is shown not to hold, "undecided" else.
    Shown is what the whole paired interval says; intervals hold for all alternatives at once
    (Bonferroni). That of a function is of a grouped jackknife. Which less discriminatory alternative
    has to be taken is for others to judge.

    References
    ----------
    X. Gitiaux and H. Rangwala, "Multi-Differential Fairness Auditor for Black Box Classifiers",
    IJCAI 2019, Section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=1000, delta=1.5, random_state=0)
    >>> blind = np.where(data.X.iloc[:, 0] > 0, 1, 0)
    >>> result = mdfa.compare(
    ...     data.X,
    ...     {"as found": data.y, "by one feature": blind},
    ...     sensitive_features=data.sensitive_features,
    ...     decision_inputs=["x1"],
    ...     n_splits=2,
    ...     random_state=0,
    ... )
    >>> result.to_frame()["verdict"].tolist()
    ['violation', 'none_larger_than_detectable']
    """
    started = time.perf_counter()
    check_whole("n_splits", n_splits, 0)
    log = WarningLog()
    seed = draw_seed(random_state)
    settings = _settings(
        params, n_splits=n_folds, random_state=seed, n_jobs=n_jobs, verbose=verbose
    ).reseeded(seed)
    if sensitive_features is None:
        raise InputError(
            "sensitive_features: None was given; pass the column(s) whose groups are compared."
        )
    by_row = {"sample_weight": sample_weight, "clusters": clusters}
    rows = {"X": X, "sensitive_features": sensitive_features, **by_row}
    answers = read_answers(
        outcomes_by_model,
        X=X,
        sensitive_features=sensitive_features,
        by_row=by_row | {"exposure": exposure},
        y_true=y_true,
        model_features=model_features,
        settings=settings,
        log=log,
    )
    if answers.weight is not None:
        rows["sample_weight"] = answers.weight
        measure = "ratio" if settings.measure == "auto" else settings.measure
        settings = replace(settings, measure=measure)
    if settings.merge_spellings:
        settings = replace(settings, outcomes=asked_as(settings.outcomes, answers.labels))
    baseline = answers.models[0] if baseline is None else baseline
    if baseline not in answers.models:
        listed = ", ".join(map(repr, answers.models))
        raise InputError(f"baseline: {baseline!r} is not among the models: {listed}.")
    metric = read_metric(metric, scores, tolerance, answers)
    outcome_probability = _of_models(settings.outcome_probability, answers.models)
    _note_answers(X, answers, log)
    level = logging.INFO if verbose else logging.DEBUG
    with _GatheredWarnings(log):
        bench = _bench(rows, answers, settings)
        # First, as what they refuse need not wait for the splits.
        audits = _audits(rows, bench, outcome_probability, level)
        how = {"n_jobs": n_jobs, "level": level, "progress": progress}
        splits = run_splits(bench, audits, n_splits, **how)
    return ComparisonResult(
        models=answers.models,
        baseline=baseline,
        searches=bench.keys,
        **figures_of(bench, audits, splits, baseline, metric),
        audits={model: audit.result for model, audit in audits.items() if audit.result is not None},
        split_delta=splits.delta,
        n_splits=splits.n_splits,
        alpha=settings.alpha,
        confidence_level=float(settings.confidence_level),
        n_samples=bench.problem.n_samples,
        outcome_labels=answers.labels,
        warnings=log.records,
        statement=settings.statement or {},
        provenance={
            "seed": seed,
            "n_splits": int(n_splits),
            "n_folds": int(n_folds),
            "parameters": {
                name: describe_parameter(params[name])
                for name in sorted(params.keys() - {"statement"})
            },
            "input_hash": bench.problem.input_hash,
            "n_clusters": bench.problem.n_clusters,
            "timings": {"total": time.perf_counter() - started},
        },
    )


def _settings(params: Mapping[str, Any], *, n_splits: Any, **own: Any) -> Settings:
    """Settings of one model's audit, checked."""
    for name, reason in _SETTLED.items():
        if name in params:
            raise InputError(
                f"{name}: it cannot be given for the audits of a comparison; {reason}."
            )
    refuse_unknown("compare", params, [name for name in Settings.names() if name not in _SETTLED])
    check_whole("n_folds", n_splits, 2)
    return checked_settings(**params, n_splits=n_splits, **own)


def _bench(rows: Mapping[str, Any], answers: Answers, settings: Settings) -> Bench:
    """What all models share.

    Rows are put in an order that depends on what every model answered, not on which of them comes
    first, so the splits are the same however the models are ordered.
    """
    patterns = answers.patterns
    one = [next(pattern for pattern in patterns if pattern is not None)]
    # What is said of outcomes is of no pattern.
    nothing = ("outcome_probability", "favorable_label", "favorable", "outcome_names", "ordered")
    plain: dict[str, Any] = dict.fromkeys(("outcome_type", "measure", "min_difference"), "auto")
    plain |= dict.fromkeys((*nothing, "robust")) | {"outcomes": one, "told": ""}
    problem = problem_of(y=patterns, settings=settings, **plain, **rows)
    answered = {model: answered_by(model, problem, answers, settings) for model in answers.models}
    outcomes = tuple(one.label for one in answered[answers.models[0]])
    keys = tuple(
        SearchKey(
            sensitive_feature=contrast.sensitive_feature,
            group=contrast.group,
            reference=contrast.reference,
            outcome=outcome,
        )
        for contrast in problem.contrasts
        for outcome in outcomes
    )
    return Bench(
        problem=problem,
        answers=answers,
        settings=settings,
        outcomes=outcomes,
        keys=keys,
        answered=answered,
    )


def _of_models(given: Any, models: tuple[Hashable, ...]) -> dict[Hashable, Any]:
    """Each model's ``outcome_probability``; an estimator serves all of them."""
    if given is None or hasattr(given, "fit"):
        return dict.fromkeys(models, given)
    if isinstance(given, Mapping) and set(given) == set(models):
        return dict(given)
    if len(models) == 1:
        return {models[0]: given}
    raise InputError(
        "outcome_probability: every model has probabilities of its own. Pass an estimator, or a "
        f"mapping of each model to its array: {listing(models)}."
    )


def _audits(
    rows: Mapping[str, Any], bench: Bench, outcome_probability: Mapping[Hashable, Any], level: int
) -> dict[Hashable, ModelAudit]:
    """Audit every model once, cross-fitted."""
    answers = bench.answers
    audits: dict[Hashable, ModelAudit] = {}
    refused: list[OverlapError] = []
    for number, model in enumerate(answers.models, start=1):
        about = ("auditing %s, model %d of %d", model, number, len(answers.models))
        logger.log(level, *about, extra={"about": True})
        present, reason = _present(bench, model)
        try:
            audits[model] = ModelAudit(reason=reason)
            if not reason:
                audits[model] = _audit_one(rows, bench, model, present, outcome_probability[model])
        except OverlapError as error:
            refused.append(error)
            audits[model] = ModelAudit(reason=error.reason)
    if refused and not any(audit.result for audit in audits.values()):
        raise refused[0]
    return audits


def _present(bench: Bench, model: Hashable) -> tuple[list[Hashable], str]:
    """Outcomes that a model gives somebody, or why it cannot be audited."""
    answers = bench.answers
    if reason := answers.constant(model):
        return [], reason
    if answers.numbers is not None:
        return list(bench.outcomes), ""
    codes = answers.codes[answers.models.index(model)]
    absent = [label for place, label in enumerate(answers.labels) if not (codes == place).any()]
    if bench.settings.ordered is not None:
        reason = f"it gives nobody {listing(absent)}, which the order has" if absent else ""
        return list(bench.outcomes), reason
    present = [outcome for outcome in bench.outcomes if outcome not in absent]
    return present, "" if present else "it gives nobody the audited outcome"


def _audit_one(
    rows: Mapping[str, Any],
    bench: Bench,
    model: Hashable,
    present: list[Hashable],
    outcome_probability: Any,
) -> ModelAudit:
    settings = replace(bench.settings, outcome_probability=outcome_probability)
    if len(present) < len(bench.outcomes):
        settings = replace(settings, outcomes=present)
    started, log = time.perf_counter(), WarningLog()
    own = {"y": bench.answers.of(model), "told": f"the outcome of {model!r}"}
    problem = problem_of(settings=settings, log=log, **own, **rows)
    audit = run_audit(problem, settings, log, rows["X"])
    result = result_of(audit, log, time.perf_counter() - started)
    by_label = audit.problem.given.outcome or {}
    given = {label: own[bench.problem.source_row] for label, own in by_label.items()}
    return ModelAudit(result=result, regions=region_rows(audit, bench), given=given)


class _GatheredWarnings:
    """Hold warnings back while every model is read and audited, then give each out once."""

    def __init__(self, log: WarningLog) -> None:
        self._log = log

    def __enter__(self) -> None:
        self._catching = warnings.catch_warnings(record=True)
        self._caught = self._catching.__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *error: Any) -> None:
        self._catching.__exit__(*error)
        said: set[str] = set()
        for one in self._caught or ():
            text = f"{one.category.__name__}: {one.message}"
            if text in said:
                continue
            said.add(text)
            if isinstance(one.message, MDFAWarning):
                self._log.warn(type(one.message), one.message.args[0])
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _note_answers(X: Any, answers: Answers, log: WarningLog) -> None:
    """Say which features look like another model's answers: people alike in them are no test."""
    table = read_table(X, "X")
    labels = answers.numbers is None
    alike, what = (_like_labels, "labels") if labels else (_like_numbers, "numbers")
    for position, name in enumerate(table.names):
        if found := alike(table, position, answers):
            log.note(
                _AMONG_FEATURES,
                f"X: column {name!r} {found} of the rows: it looks like another model's answers, or "
                f"the true {what}. If so, leave it out of the features, and compare it as a model of "
                "its own.",
            )


def _like_labels(table: Table, position: int, answers: Answers) -> str:
    """With which model a column of labels agrees, and how often; empty if with none."""
    values = table.array(position)
    if pd.Series(values[:_HEAD_ROWS]).nunique() > len(answers.labels):
        return ""
    labels = read_labels(values, f"X: column {table.names[position]!r}").used()
    places = [find_label(value, answers.labels) for value in labels.values]
    if len(places) < 2 or None in places:
        return ""
    codes = np.array([*places, -1], dtype=np.intp)[labels.codes]
    for model, own in zip(answers.models, answers.codes, strict=True):
        agreed = float(np.mean(codes == own))
        # Two rare things agree on most rows whatever they are.
        labelled = range(len(answers.labels))
        chance = sum(float(np.mean(codes == k) * np.mean(own == k)) for k in labelled)
        if agreed > _ALIKE and chance < 1 and (agreed - chance) / (1 - chance) > 0.5:
            told = f"agrees with the model {model!r} on {100 * agreed:.0f} %"
            return f"holds the labels of the outcomes and {told}"
    return ""


def _like_numbers(table: Table, position: int, answers: Answers) -> str:
    """The same of numbers, which are alike if they are equal."""
    column = table.typed(position)
    for model in () if column.labels is not None else answers.models:
        agreed = float(np.mean(column.numbers == answers.of(model)))
        if agreed > _ALIKE:
            return f"equals the numbers of the model {model!r} in {100 * agreed:.0f} %"
    return ""
