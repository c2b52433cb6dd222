"""The comparison: aggregate ratios, repeated splits, one full audit per model, paired differences."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.comparison.answers import Answers, read_answers
from mdfa_fairness_plugin.comparison.result import (
    ACCURACY,
    EVERYBODY,
    FALSE_POSITIVE,
    PLAIN_ESTIMATOR,
    SELECTION,
    TRUE_POSITIVE,
    WORST_CASE,
    ComparisonResult,
    Difference,
    ModelSearch,
    RateRatio,
    Search,
    Transfer,
    search_of,
)
from mdfa_fairness_plugin.comparison.splits import Splits, run_splits
from mdfa_fairness_plugin.data.columns import as_list, find_label, listing, read_labels, read_table
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    MDFAWarning,
    OverlapError,
    WarningLog,
)
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.influence import (
    log_ratio_influence,
    mean_influence,
    paired_interval,
)
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.pipeline import AuditRun, describe_parameter
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.settings import check_whole, draw_seed

logger = logging.getLogger(__name__)

# A feature that agrees with a model on more of the rows looks like a model's answers.
_ALIKE = 0.9
# Rows that tell a column of few labels from others.
_HEAD_ROWS = 1_000

# Arguments of MDFAuditor that mean something else here, or are settled.
_SETTLED = {
    "evaluation": "the comparison makes both kinds, a cross-fitted audit and repeated 70/30 splits",
    "n_splits": "here it is the number of repeated splits; n_folds is that of the folds",
}


def compare(
    X,
    outcomes_by_model,
    *,
    sensitive_features,
    y_true=None,
    sample_weight=None,
    model_features=None,
    n_splits=100,
    n_folds=5,
    baseline=None,
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
        rates; rows where it is missing are left out of these alone.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    model_features : table, dict of model name to table, or None, default=None
        What fitted models predict on, if that is not ``X``.
    n_splits : int, default=100
        Repeated 70/30 splits, the same for every model; 0 for none.
    n_folds : int, default=5
        Folds of each model's cross-fitted audit, and of nuisances within a split.
    baseline : model name or None, default=None
        Model the others are compared with; None: the first.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same result for any ``n_jobs``.
    n_jobs : int or None, default=None
        Splits (and folds of the audits) at a time.
    verbose : int, default=0
        Above 0 logs each stage and split at level INFO.
    progress : bool or callable, default=False
        True shows a progress bar of the splits on the standard error stream; a function is called
        as ``progress(done, total)`` after each.
    **params
        Of ``MDFAuditor``: ``alpha``, ``outcomes``, ``groups``, ``reference_group``, ``balance``...

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

    Differences are those of the cross-fitted log ratios. Both are, to first order, sums over the
    same rows, so the variance of the difference is the sum of squares of the rows' differences;
    it is widened for the search like the audit's own intervals. On two models with planted violations
    (1,000 rows, 70 draws each) 95 % intervals covered the true difference inside the subgroups found
    in 96 % where the violations lay in different places, and in 97 % where one model had half of the
    other's (``tests/benchmarks/paired_differences.py``).

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
    auditor = _auditor(params, n_folds=n_folds, seed=seed, n_jobs=n_jobs, verbose=verbose)
    if sensitive_features is None:
        raise InputError(
            "sensitive_features: None was given; pass the column(s) whose groups are compared."
        )
    answers = read_answers(
        outcomes_by_model,
        X=X,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        y_true=y_true,
        model_features=model_features,
        outcomes=auditor.outcomes,
        seed=seed,
    )
    baseline = _check_baseline(baseline, answers.models)
    _note_answers(X, answers, log)
    level = logging.INFO if verbose else logging.DEBUG
    with _GatheredWarnings(log):
        bench = _Bench(X, answers, sensitive_features, sample_weight, auditor)
        splits = bench.split(
            n_splits=n_splits, seed=seed, n_jobs=n_jobs, level=level, progress=progress
        )
        bench.audit(level)
    result = bench.result(splits, baseline)
    provenance = {
        "seed": seed,
        "n_splits": int(n_splits),
        "n_folds": int(n_folds),
        "parameters": {name: describe_parameter(params[name]) for name in sorted(params)},
        "input_hash": bench.problem.input_hash,
        "timings": {"total": time.perf_counter() - started},
    }
    return replace(result, warnings=log.records, provenance=provenance)


def _auditor(
    params: Mapping[str, Any], *, n_folds: Any, seed: int, n_jobs: Any, verbose: Any
) -> _OpenAuditor:
    """Auditor of one model, its arguments checked."""
    for name, reason in _SETTLED.items():
        if name in params:
            raise InputError(
                f"{name}: it cannot be given for the audits of a comparison; {reason}."
            )
    known = set(MDFAuditor().get_params()) - set(_SETTLED)
    unknown = sorted(set(params) - known)
    if unknown:
        raise InputError(
            f"compare: unknown argument(s) {', '.join(unknown)}; those known are "
            f"{', '.join(sorted(known))}."
        )
    check_whole("n_folds", n_folds, 2)
    auditor = _OpenAuditor(
        **params, n_splits=n_folds, random_state=seed, n_jobs=n_jobs, verbose=verbose
    )
    auditor.check_arguments()
    return auditor


def _check_baseline(baseline: Any, models: tuple[Hashable, ...]) -> Hashable:
    if baseline is None:
        return models[0]
    if baseline not in models:
        raise InputError(
            f"baseline: {baseline!r} is not among the models: "
            f"{', '.join(repr(one) for one in models)}."
        )
    return baseline


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


class _OpenAuditor(MDFAuditor):
    """Auditor that keeps its searches: a comparison is made row by row."""

    def _keep_worst(self, audit: AuditRun) -> None:
        super()._keep_worst(audit)
        self._audit = audit


@dataclass(frozen=True, kw_only=True, eq=False)
class _Region:
    """One cross-fitted search, its rows in the order of the input (repeated rows kept apart)."""

    s: np.ndarray  # 0 where not compared or not held out
    weights: np.ndarray
    member: np.ndarray
    delta: float  # by the estimator asked for
    interval: tuple[float, float]  # the audit's own
    rates: tuple[float, float]
    spread: float  # widening of its intervals, for the search


class _Bench:
    """Everything the models share, and the steps of the comparison."""

    def __init__(
        self,
        X: Any,
        answers: Answers,
        sensitive_features: Any,
        sample_weight: Any,
        auditor: _OpenAuditor,
    ) -> None:
        self._X = X
        self._answers = answers
        self._sensitive_features = sensitive_features
        self._sample_weight = sample_weight
        self._auditor = auditor
        # Rows are put in an order that depends on what every model answered, not on which of them
        # comes first, so the splits are the same however the models are ordered.
        self.problem = build_problem(
            X,
            answers.patterns,
            sensitive_features,
            sample_weight=sample_weight,
            weight_type=auditor.weight_type,
            outcomes=[int(answers.patterns[0])],
            groups=auditor.groups,
            reference_group=auditor.reference_group,
            missing=auditor.missing,
            intersections=auditor.intersections,
            min_group_size=auditor.min_group_size,
        )
        self.outcomes = _audited(answers, auditor.outcomes)
        self.searches = tuple(
            Search(
                sensitive_feature=contrast.sensitive_feature,
                group=contrast.group,
                reference=contrast.reference,
                outcome=answers.labels[outcome],
            )
            for contrast in self.problem.contrasts
            for outcome in self.outcomes
        )
        self.audits: dict[Hashable, AuditResult] = {}
        self.reasons: dict[Hashable, str] = {}
        self._regions: dict[tuple[int, Search], _Region] = {}
        self._order = np.argsort(self.problem.source_row, kind="stable")

    # -- the two kinds of audit

    def split(
        self,
        *,
        n_splits: int,
        seed: int,
        n_jobs: int | None,
        level: int,
        progress: bool | Callable[[int, int], Any],
    ) -> Splits | None:
        """Make the repeated splits."""
        if n_splits == 0:
            return None
        problem, answers = self.problem, self._answers
        codes = answers.codes[:, problem.source_row]
        positives = np.stack([codes == outcome for outcome in self.outcomes])
        usable = np.array([not answers.constant(m) for m in range(len(answers.models))])
        sensible = np.array([not contrast.reason for contrast in problem.contrasts])
        searched = np.broadcast_to(
            sensible[:, np.newaxis, np.newaxis] & usable,
            (len(sensible), len(self.outcomes), len(usable)),
        )
        holdout = MDFAuditor(**(self._auditor.get_params(deep=False) | {"evaluation": "holdout"}))

        return run_splits(
            problem,
            positives,
            searched,
            holdout.plan(problem, seed),
            n_splits=n_splits,
            n_folds=self._auditor.n_splits,
            binary=len(answers.labels) == 2,
            seed=seed,
            n_jobs=n_jobs,
            level=level,
            progress=progress,
        )

    def audit(self, level: int) -> None:
        """Audit every model once, cross-fitted."""
        refused: list[OverlapError] = []
        for number, model in enumerate(self._answers.models):
            logger.log(level, "auditing %s", model)
            reason = self._answers.constant(number)
            own = self._answers.codes[number]
            present = [outcome for outcome in self.outcomes if (own == outcome).any()]
            if not reason and not present:
                reason = "it gives nobody the audited outcome"
            if reason:
                self.reasons[model] = reason
                continue
            try:
                self._audit_one(number, model, present)
            except OverlapError as error:
                refused.append(error)
                self.reasons[model] = error.reason
        if refused and not self.audits:
            raise refused[0]

    def _audit_one(self, number: int, model: Hashable, present: list[int]) -> None:
        labels = self._answers.labels
        auditor = _OpenAuditor(**self._auditor.get_params(deep=False))
        if len(present) < len(self.outcomes):
            auditor.outcomes = [labels[outcome] for outcome in present]
        coded = np.empty(len(labels), dtype=object)
        coded[:] = labels
        auditor.fit(
            self._X,
            coded[self._answers.codes[number]],
            sensitive_features=self._sensitive_features,
            sample_weight=self._sample_weight,
        )
        self.audits[model] = auditor.result_
        audit = auditor._audit
        order = np.argsort(audit.problem.source_row, kind="stable")
        for i, violation in enumerate(auditor.result_.violations):
            found = audit.found[i]
            if found is None:
                continue
            data = found.data
            n_rows = audit.problem.n_rows
            s, weights = np.zeros(n_rows, dtype=np.int8), np.zeros(n_rows)
            member = np.zeros(n_rows, dtype=bool)
            s[found.rows] = np.where(data.held_out, data.s, 0)
            weights[found.rows] = data.weights
            member[found.rows] = found.member
            self._regions[number, search_of(violation)] = _Region(
                s=s[order],
                weights=weights[order],
                member=member[order],
                delta=violation.delta,
                interval=violation.interval,
                rates=violation.rates,
                spread=audit.spread(i, found.member[data.held_out]),
            )

    # -- what follows from them

    def result(self, splits: Splits | None, baseline: Hashable) -> ComparisonResult:
        """Put everything together."""
        models = self._answers.models
        rows = tuple(
            self._row(number, place, splits)
            for number in range(len(models))
            for place in range(len(self.searches))
        )
        transfers = tuple(
            self._transfer(a, b, place, splits)
            for place in range(len(self.searches))
            for a in range(len(models))
            for b in range(len(models))
        )
        result = ComparisonResult(
            models=models,
            baseline=baseline,
            searches=self.searches,
            rows=rows,
            transfers=transfers,
            audits=self.audits,
            split_delta=np.empty((0, len(self.searches), len(models), len(models)))
            if splits is None
            else splits.delta,
            n_splits=0 if splits is None else splits.n_splits,
            alpha=float(self._auditor.alpha),
            confidence_level=float(self._auditor.confidence_level),
            n_samples=self.problem.n_samples,
            outcome_labels=self._answers.labels,
        )
        return replace(result, differences=self._differences(result))

    def _positive(self, number: int, search: Search) -> np.ndarray:
        """Whether a model gave each row the outcome, in the order of the regions."""
        outcome = self._answers.labels.index(search.outcome)
        return self._answers.codes[number][self.problem.source_row[self._order]] == outcome

    def _row(self, number: int, place: int, splits: Splits | None) -> ModelSearch:
        model, search = self._answers.models[number], self.searches[place]
        ratios = {
            quantity: self._rate_ratio(number, place, quantity)
            for quantity in (SELECTION, TRUE_POSITIVE, FALSE_POSITIVE)
        }
        row = ModelSearch(
            model=model,
            search=search,
            reason=self.reasons.get(model, ""),
            accuracy=self._accuracy(number),
            selection=ratios[SELECTION],
            true_positive=ratios[TRUE_POSITIVE],
            false_positive=ratios[FALSE_POSITIVE],
        )
        violation = self._violation(model, search)
        if violation is not None:
            row = replace(
                row,
                verdict=violation.verdict,
                reason=violation.reason,
                everybody_delta=violation.population.delta,
                everybody_interval=violation.population.interval,
                delta=violation.delta,
                interval=violation.interval,
                p_value_adjusted=violation.p_value_adjusted,
                detectable_delta=violation.detectable_delta,
                gamma=violation.gamma,
                mass=violation.mass,
                n_rows=violation.n_rows,
                share=violation.share,
                rule=violation.rule,
                rule_fidelity=violation.rule_fidelity,
            )
        elif not row.reason:
            row = replace(row, reason=f"the model gives nobody the outcome {search.outcome!r}")
        if splits is not None:
            delta = splits.delta[:, place, number, number]
            mean, sd = _moments(delta)
            row = replace(
                row,
                split_ratio_mean=mean,
                split_ratio_sd=sd,
                n_splits_measured=int(np.isfinite(delta).sum()),
                n_splits_infinite=int(np.isinf(delta).sum()),
            )
        return row

    def _violation(self, model: Hashable, search: Search) -> Violation | None:
        audit = self.audits.get(model)
        if audit is None:
            return None
        return next((v for v in audit.violations if search_of(v) == search), None)

    def _transfer(self, a: int, b: int, place: int, splits: Splits | None) -> Transfer:
        search, models = self.searches[place], self._answers.models
        out = Transfer(subgroup_of=models[a], model=models[b], search=search)
        region = self._regions.get((a, search))
        if region is not None:
            held = region.s != 0
            s, weights, member = region.s[held], region.weights[held], region.member[held]
            own, other = self._positive(a, search)[held], self._positive(b, search)[held]
            rates = measure(other, s, weights, member)
            difference = measure(own, s, weights, member).delta - rates.delta
            if a == b:
                # What the audit says of the model, estimator, interval and all.
                out = replace(
                    out,
                    estimator=self._auditor.estimator,
                    delta=region.delta,
                    interval=region.interval,
                    rates=region.rates,
                )
            else:
                out = replace(
                    out,
                    estimator=PLAIN_ESTIMATOR,
                    delta=rates.delta,
                    interval=delta_interval(rates, self._auditor.confidence_level, region.spread),
                    rates=(float(rates.rates[0]), float(rates.rates[1])),
                )
            out = replace(
                out,
                difference=difference,
                difference_interval=paired_interval(
                    difference,
                    log_ratio_influence(own, s, weights, member),
                    log_ratio_influence(other, s, weights, member),
                    self._auditor.confidence_level,
                    region.spread,
                ),
            )
        if splits is not None:
            mean, sd = _moments(splits.delta[:, place, a, b])
            rates_ = splits.rate[:, place, a, b], splits.reference_rate[:, place, a, b]
            out = replace(
                out,
                split_ratio_mean=mean,
                split_ratio_sd=sd,
                split_rates=(_mean(rates_[0]), _mean(rates_[1])),
            )
        return out

    # -- aggregate rates, features not looked at

    def _subset(self, number: int, place: int, quantity: str) -> tuple[np.ndarray, ...] | None:
        """Positive, s and weights over the input rows a rate is made of; s is 0 elsewhere."""
        problem = self.problem
        contrast = problem.contrasts[place // len(self.outcomes)]
        outcome = self.outcomes[place % len(self.outcomes)]
        s = contrast.s
        if quantity in (TRUE_POSITIVE, FALSE_POSITIVE):
            if self._answers.truth is None:
                return None
            truth = self._answers.truth[problem.source_row]
            has_outcome = truth == outcome
            among = has_outcome if quantity == TRUE_POSITIVE else (truth >= 0) & ~has_outcome
            s = np.where(among, s, 0)
        if not ((s > 0).any() and (s < 0).any()):
            return None
        positive = self._answers.codes[number][problem.source_row] == outcome
        return positive, s, problem.sample_weight

    def _rate_ratio(self, number: int, place: int, quantity: str) -> RateRatio:
        subset = self._subset(number, place, quantity)
        if subset is None:
            return RateRatio()
        positive, s, weights = subset
        rows = s != 0
        rates = measure(positive[rows], s[rows], weights[rows])
        return RateRatio(
            rates=(float(rates.rates[0]), float(rates.rates[1])),
            interval=delta_interval(rates, self._auditor.confidence_level),
            n_rows=int(rows.sum()),
        )

    def _correct(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Whether a model was right, and the weights, over rows whose true label is known."""
        assert self._answers.truth is not None
        source = self.problem.source_row
        truth = self._answers.truth[source]
        known = truth >= 0
        correct = self._answers.codes[number][source][known] == truth[known]
        return correct.astype(float), self.problem.sample_weight[known]

    def _accuracy(self, number: int) -> float:
        if self._answers.truth is None or not (self._answers.truth >= 0).any():
            return np.nan
        correct, weights = self._correct(number)
        return float(np.average(correct, weights=weights))

    # -- differences

    def _differences(self, result: ComparisonResult) -> tuple[Difference, ...]:
        models = self._answers.models
        base = models.index(result.baseline)
        out = []
        for number in range(len(models)):
            if number == base:
                continue
            out += [
                self._difference(number, base, place, quantity)
                for place in range(len(self.searches))
                for quantity in (WORST_CASE, EVERYBODY, SELECTION, TRUE_POSITIVE, FALSE_POSITIVE)
            ]
            out.append(self._accuracy_difference(number, base))
        return tuple(out)

    def _difference(self, number: int, base: int, place: int, quantity: str) -> Difference:
        models, search = self._answers.models, self.searches[place]
        out = Difference(
            model=models[number], baseline=models[base], quantity=quantity, search=search
        )
        if quantity in (WORST_CASE, EVERYBODY):
            regions = [self._regions.get((one, search)) for one in (number, base)]
            if regions[0] is None or regions[1] is None:
                return out
            deltas, influences, spread = [], [], 1.0
            for one, region in zip((number, base), regions, strict=True):
                assert region is not None
                positive = self._positive(one, search)
                if quantity == WORST_CASE:
                    member, delta = region.member, region.delta
                    spread = max(spread, region.spread)
                else:
                    member, held = None, region.s != 0
                    delta = measure(positive[held], region.s[held], region.weights[held]).delta
                deltas.append(delta)
                influences.append(log_ratio_influence(positive, region.s, region.weights, member))
        else:
            subsets = [self._subset(one, place, quantity) for one in (number, base)]
            if subsets[0] is None or subsets[1] is None:
                return out
            deltas, influences, spread = [], [], 1.0
            for subset in subsets:
                assert subset is not None
                positive, s, weights = subset
                rows = s != 0
                deltas.append(measure(positive[rows], s[rows], weights[rows]).delta)
                influences.append(log_ratio_influence(positive, s, weights))
        difference = deltas[0] - deltas[1]
        if not np.isfinite(difference):
            return out
        interval = paired_interval(
            difference, influences[0], influences[1], self._auditor.confidence_level, spread
        )
        return replace(out, difference=difference, interval=interval)

    def _accuracy_difference(self, number: int, base: int) -> Difference:
        models = self._answers.models
        out = Difference(
            model=models[number], baseline=models[base], quantity=ACCURACY, search=None
        )
        if self._answers.truth is None or not (self._answers.truth >= 0).any():
            return out
        correct, weights = self._correct(number)
        others, _ = self._correct(base)
        difference = float(np.average(correct - others, weights=weights))
        interval = paired_interval(
            difference,
            mean_influence(correct, weights),
            mean_influence(others, weights),
            self._auditor.confidence_level,
        )
        return replace(out, difference=difference, interval=interval)


def _audited(answers: Answers, outcomes: Any) -> tuple[int, ...]:
    """Positions of the outcomes to audit."""
    if outcomes is None:
        return tuple(range(len(answers.labels)))
    asked = as_list(outcomes)
    places = [find_label(label, answers.labels) for label in asked]
    if not asked or None in places:
        wrong = repr(asked[places.index(None)]) if asked else "an empty list"
        raise InputError(
            f"outcomes: {wrong} was given; the models' outcomes are {listing(answers.labels)}. Name "
            "some of these, or pass None for both."
        )
    return tuple(sorted({place for place in places if place is not None}))


def _note_answers(X: Any, answers: Answers, log: WarningLog) -> None:
    """Say which features look like another model's answers: people alike in them are no test."""
    table = read_table(X, "X")
    for position, name in enumerate(table.names):
        values = table.array(position)
        if pd.Series(values[:_HEAD_ROWS]).nunique() > len(answers.labels):
            continue
        labels = read_labels(values, f"X: column {name!r}").used()
        places = [find_label(value, answers.labels) for value in labels.values]
        if len(places) < 2 or None in places:
            continue
        codes = np.array([*places, -1], dtype=np.intp)[labels.codes]
        for model, own in zip(answers.models, answers.codes, strict=True):
            agreed = float(np.mean(codes == own))
            # Two rare things agree on most rows whatever they are.
            chance = sum(
                float(np.mean(codes == k) * np.mean(own == k)) for k in range(len(answers.labels))
            )
            if agreed > _ALIKE and chance < 1 and (agreed - chance) / (1 - chance) > 0.5:
                log.note(
                    "AnswersAmongFeatures",
                    f"X: column {name!r} holds the labels of the outcomes and agrees with the model "
                    f"{model!r} on {agreed:.0%} of the rows: it looks like another model's answers, "
                    "or the true labels. If so, leave it out of the features, and compare it as a "
                    "model of its own.",
                )
                break


def _moments(delta: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of the finite ratios; NaN without any (with one, no deviation)."""
    ratio = np.exp(delta[np.isfinite(delta)])
    mean = float(ratio.mean()) if len(ratio) else np.nan
    return mean, float(ratio.std(ddof=1)) if len(ratio) > 1 else np.nan


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan
