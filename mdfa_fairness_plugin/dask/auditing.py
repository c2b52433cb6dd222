"""Survey, learn in this process, measure where the rows lie, conclude."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.auditor import (
    AuditRun,
    Fitted,
    MDFAuditor,
    Measured,
    _draw_seed,
    conclude,
    counts_frame,
)
from mdfa_fairness_plugin.columns import as_list, find_label, listing
from mdfa_fairness_plugin.dask.blocks import Source, open_source
from mdfa_fairness_plugin.dask.measure import (
    CORE,
    EVERYONE,
    REGION,
    RULE,
    Judge,
    Measurement,
    Panel,
    SearchSums,
    SetSums,
    add_measurements,
    measure_block,
)
from mdfa_fairness_plugin.dask.survey import (
    Columns,
    Sample,
    Survey,
    check_survey,
    draw_sample,
    merge_surveys,
    survey_block,
    weight_type_of,
)
from mdfa_fairness_plugin.describe.profile import ROWS
from mdfa_fairness_plugin.describe.rules import EVERYBODY, NOBODY
from mdfa_fairness_plugin.exceptions import (
    FeatureWarning,
    InputError,
    MDFAWarning,
    MissingSensitiveWarning,
    WarningLog,
    WeightWarning,
)
from mdfa_fairness_plugin.features import MISSING, FeatureEncoder
from mdfa_fairness_plugin.inference.estimates import Leftover, estimates_of
from mdfa_fairness_plugin.inference.intervals import delta_interval
from mdfa_fairness_plugin.inference.sensitivity import missing_bounds
from mdfa_fairness_plugin.inference.splitting import HELD_BACK
from mdfa_fairness_plugin.inference.tests import holm, one_sided_p_value
from mdfa_fairness_plugin.probability import CrossFittedProbability
from mdfa_fairness_plugin.problem import AuditProblem, build_problem
from mdfa_fairness_plugin.results import (
    NO_COMPARABLE_ROW,
    AuditResult,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.search import Plan, Predictor
from mdfa_fairness_plugin.worst_case.iterative import IterativePredictor
from mdfa_fairness_plugin.worst_case.level_set import LevelSetPredictor
from mdfa_fairness_plugin.worst_case.orthogonal import CrossFittedDifference, OrthogonalPredictor
from mdfa_fairness_plugin.worst_case.path import Bins, Sweep
from mdfa_fairness_plugin.worst_case.selection import path_thresholds

LEARNED_FROM = "learned from, not measured"
_FEATURE = "A distributed audit"
# Results of this many blocks are merged at a time.
_BRANCHES = 8
_LOCAL = ("threads", "threading", "processes", "sync", "synchronous", "single-threaded")
_NOBODY = np.empty(0, dtype=bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class DaskAuditResult(AuditResult):
    """What a distributed audit found.

    An ``AuditResult`` whose searches hold no row of the data (``membership`` and the like are empty);
    ``membership`` tells who is inside, for the same or other rows.

    Parameters
    ----------
    auditor : MDFAuditor or None
        Fitted: ``auditor.predict`` and ``auditor.decision_function`` take rows in memory, such as a
        partition of a Dask DataFrame.
    regions : tuple of Region or None
        What each search's subgroup is told by.
    """

    auditor: Any = None
    regions: tuple[Region | None, ...] = ()

    def membership(self, data: Any, *, violation: Violation | None = None) -> Any:
        """Tell who is inside a subgroup.

        Parameters
        ----------
        data : DataFrame or Dask DataFrame
            With the audited features.
        violation : Violation or None, default=None
            Search whose subgroup is meant; None: the worst case.

        Returns
        -------
        inside : Series of bool or Dask Series of bool
            Named "mdfa_subgroup". Rows without a comparable row on the other side are outside; all are
            if nothing could be measured.
        """
        chosen = self.worst_case if violation is None else violation
        region = None
        for own, other in zip(self.violations, self.regions, strict=True):
            if own is chosen:
                region = other
        inside = _Inside(region)
        if hasattr(data, "map_partitions"):
            meta = pd.Series([], dtype=bool, name="mdfa_subgroup")
            return data.map_partitions(inside, meta=meta)
        return inside(data)


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """A subgroup as new rows are judged by.

    Parameters
    ----------
    encoder : FeatureEncoder
    predictor : callable
    threshold : float
    propensity : CrossFittedProbability
    limits : tuple of float
    """

    encoder: FeatureEncoder
    predictor: Predictor
    threshold: float
    propensity: CrossFittedProbability
    limits: tuple[float, float]


@dataclass(frozen=True)
class _Inside:
    """Membership of the rows of one frame."""

    region: Region | None

    def __call__(self, frame: pd.DataFrame) -> pd.Series:
        inside = np.zeros(len(frame), dtype=bool)
        region = self.region
        if region is not None and len(frame):
            X = region.encoder.transform(frame)
            e = region.propensity.predict(X)
            inside = (e > region.limits[0]) & (e < region.limits[1])
            inside &= region.predictor(X) >= region.threshold
        return pd.Series(inside, index=frame.index, name="mdfa_subgroup")


def audit_dask(
    ddf: Any,
    *,
    outcome: Hashable,
    sensitive: Any,
    features: Any = None,
    sample_weight: Hashable | None = None,
    client: Any = None,
    scheduler: str | None = None,
    **params: Any,
) -> DaskAuditResult:
    """Audit rows that do not fit in memory, or lie on several machines.

    Parameters
    ----------
    ddf : Dask DataFrame, str, path-like or list of these
        The rows: a frame, or Parquet files as one file, a folder, a pattern such as
        ``"data/part-*.parquet"`` or a list. Only the columns needed are read.
    outcome : name
        Column of the classifier's outcomes.
    sensitive : name or list of names
        Columns whose groups are compared, each on its own.
    features : list of names or None, default=None
        Audited features; None: every other column.
    sample_weight : name or None, default=None
        Column of sample weights.
    client : distributed.Client or None, default=None
        Cluster to compute on. None: the current client if there is one, else threads.
    scheduler : str or None, default=None
        Address of a scheduler to connect to ("tcp://..."), or one of Dask's own: "threads",
        "processes", "synchronous".
    **params
        Of ``MDFAuditor``. ``max_learning_rows`` is how many rows are drawn to learn from;
        ``balance`` cannot be an array.

    Returns
    -------
    result : DaskAuditResult
        As ``audit`` gives, except that no row is named: the searches' ``membership``, ``held_out``,
        ``propensity``, ``side`` and ``left_out`` are empty. ``result.membership(ddf)`` maps the
        subgroup onto rows, ``result.auditor.predict`` onto those of a partition.

    Raises
    ------
    InputError, NothingToAuditError, OverlapError
        As ``audit``, whatever part of the rows the cause is in.
    OptionalDependencyError
        If Dask or, for Parquet, pyarrow is not installed.

    Notes
    -----
    Rows are read twice. The first pass counts values and draws a sample, each combination of sensitive
    values and outcome with its share, by random numbers that depend on the seed and a row's place
    only. An ordinary audit learns from the sample in this process. The second pass judges every other
    row by the models of the whole sample and adds up; what comes back of a partition are sums of a few
    kilobytes. Both passes give the same bytes whatever the workers and their deaths.

    Rows learned from are left out of the figures (``excluded`` counts them), so that everything
    measured was never seen and nothing has to be widened for folds that follow the same luck. The
    figures are not free of what the sample leaves open, though: propensities and outcome models are
    learned from ``max_learning_rows`` rows however many are measured. How much the statistic and delta
    would move with another sample is estimated by leaving out one fold's rows at a time (a jackknife);
    intervals and p-values are widened by it. More than some thousand times the learned rows thus add
    little; raise ``max_learning_rows`` with them.

    The profile, the balance diagnostics and the text and fit of rules describe the sample.

    Up to twice ``max_learning_rows`` rows are audited in memory, as ``audit`` does.

    Examples
    --------
    >>> import dask.dataframe as dd  # doctest: +SKIP
    >>> result = audit_dask(
    ...     dd.read_parquet("decisions/"), outcome="denied", sensitive=["race"], random_state=0
    ... )  # doctest: +SKIP
    >>> inside = result.membership(dd.read_parquet("decisions/"))  # doctest: +SKIP
    """
    started = time.perf_counter()
    auditor = _make_auditor(params)
    source = open_source(ddf)
    columns = _choose_columns(source, outcome, sensitive, features, sample_weight)
    import_optional("dask", extra="dask", feature=_FEATURE)
    seed = _draw_seed(auditor.random_state)
    most = auditor.max_learning_rows
    log = WarningLog()
    with _scheduler(client, scheduler) as where:
        blocks = source.blocks(columns.needed)
        survey = _survey(blocks, columns, most, seed, where)
        n_missing = check_survey(survey, columns, auditor.missing)
        weight_type = "none"
        if columns.weight is not None:
            weight_type = weight_type_of(survey.weights, survey.n_rows, auditor.weight_type)
        if survey.n_present <= 2 * most:
            return _in_memory(survey, auditor, columns, seed)
        sample = draw_sample(survey, most)
        learned = _learn(sample, survey, auditor, columns, weight_type, seed, n_missing, log)
        panel = _panel(learned, survey, columns, sample, weight_type, seed)
        measured = _measure(blocks, panel, where)
    if measured.n_rows != survey.n_rows or measured.n_learned != len(sample.frame):
        raise InputError(
            "ddf: the second reading of the rows gave others than the first. Give data that can be "
            "read twice: write it to Parquet, or fix the seed of what makes it."
        )
    return _Conclusion(learned, panel, survey, measured, log).result(
        auditor, columns, seed, started, len(blocks)
    )


# -- arguments


def _make_auditor(params: dict[str, Any]) -> MDFAuditor:
    known = MDFAuditor().get_params()
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise InputError(
            f"audit_dask: unknown argument(s) {', '.join(unknown)}; those known are outcome, "
            f"sensitive, features, sample_weight, client, scheduler, {', '.join(sorted(known))}."
        )
    auditor = MDFAuditor(**params)
    auditor.check_arguments()
    if auditor.max_learning_rows is None:
        raise InputError(
            "max_learning_rows: a number of rows expected, None found: a distributed audit learns from "
            "a sample that fits in memory."
        )
    balance = auditor.balance
    if not isinstance(balance, str | type) and not hasattr(balance, "fit"):
        raise InputError(
            "balance: an array of weights was given, and the rows it belongs to are not in this "
            "process. Pass a method's name or an object with fit and weights; or multiply the "
            "weights into the column of sample_weight, with balance='none'."
        )
    return auditor


def _choose_columns(
    source: Source, outcome: Hashable, sensitive: Any, features: Any, weight: Hashable | None
) -> Columns:
    known = source.columns
    outcome = _column("outcome", outcome, known)
    chosen = tuple(_column("sensitive", name, known) for name in _names(sensitive))
    if not chosen:
        raise InputError("sensitive: no column was named; name at least one.")
    own = None if weight is None else _column("sample_weight", weight, known)
    roles = {outcome: "outcome", **({} if own is None else {own: "sample_weight"})}
    for name in chosen:
        if name in roles:
            raise InputError(f"sensitive: {name!r} is already the column of {roles[name]}.")
        roles[name] = "sensitive"
    if own == outcome:
        raise InputError(f"sample_weight: {own!r} is already the column of outcome.")
    if features is None:
        audited = tuple(name for name in known if name not in roles)
    else:
        audited = tuple(
            dict.fromkeys(_column("features", name, known) for name in _names(features))
        )
        for name in audited:
            if name in roles:
                raise InputError(f"features: {name!r} is already the column of {roles[name]}.")
    if not audited:
        raise InputError("features: no column is left to audit; name at least one.")
    return Columns(outcome=outcome, sensitive=chosen, features=audited, weight=own)


def _names(given: Any) -> list[Any]:
    return list(dict.fromkeys(as_list(given)))


def _column(argument: str, name: Hashable, known: Sequence[Hashable]) -> Hashable:
    try:
        found = name in known
    except (TypeError, ValueError):
        found = False
    if not found:
        shown = repr(name) if isinstance(name, str | int) else type(name).__name__
        raise InputError(
            f"{argument}: the name of a column expected, {shown} found. The columns are "
            f"{listing(known, 30)}."
        )
    return name


# -- where and how to compute


@contextlib.contextmanager
def _scheduler(client: Any, scheduler: str | None) -> Iterator[Any]:
    """Client, or name of a scheduler of Dask's own; None for what Dask would take."""
    if client is not None and scheduler is not None:
        raise InputError("scheduler: pass either a client or a scheduler, not both.")
    if client is not None:
        if not (hasattr(client, "compute") and hasattr(client, "gather")):
            raise InputError(
                f"client: a distributed.Client expected, {type(client).__name__} found. Pass an "
                "address as scheduler=."
            )
        yield client
    elif scheduler is None:
        yield _current_client()
    elif scheduler in _LOCAL:
        yield scheduler
    elif "://" not in str(scheduler) and ":" not in str(scheduler):
        raise InputError(
            f"scheduler: an address such as 'tcp://10.0.0.1:8786' or one of {', '.join(_LOCAL)} "
            f"expected, {scheduler!r} found."
        )
    else:
        distributed = import_optional("distributed", extra="dask", feature="A Dask cluster")
        try:
            own = distributed.Client(scheduler, timeout="20s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(
                f"scheduler: no Dask scheduler answers at {scheduler!r} ({error})."
            ) from error
        try:
            yield own
        finally:
            own.close()


def _current_client() -> Any:
    """Client that Dask would use, None if there is none."""
    import sys

    if "distributed" not in sys.modules:  # then nobody has made one
        return None
    distributed = import_optional("distributed", extra="dask", feature="A Dask cluster")
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _compute(task: Any, where: Any) -> Any:
    if where is None or isinstance(where, str):
        return task.compute(scheduler=where or "threads")
    with warnings.catch_warnings():
        # The models are some ten megabytes in one task, and are sent to each worker once.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        return where.compute(task).result()


def _tree(parts: list[Any], merge: Any) -> Any:
    """Merge delayed results in a fixed order, a few at a time."""
    while len(parts) > 1:
        parts = [
            parts[start] if start + 1 == len(parts) else merge(parts[start : start + _BRANCHES])
            for start in range(0, len(parts), _BRANCHES)
        ]
    return parts[0]


def _survey(blocks: list[Any], columns: Columns, n_sample: int, seed: int, where: Any) -> Survey:
    dask = import_optional("dask", extra="dask", feature=_FEATURE)
    if not blocks:
        return Survey()
    first = dask.delayed(_survey_task, pure=False)
    merge = dask.delayed(_merge_task, pure=False)
    parts = [first(block, number, columns, n_sample, seed) for number, block in enumerate(blocks)]
    return _compute(_tree(parts, lambda some: merge(some, n_sample)), where)


def _survey_task(block: Any, number: int, columns: Columns, n_sample: int, seed: int) -> Survey:
    return _on_one_thread(survey_block, block, number, columns, n_sample, seed)


def _merge_task(surveys: list[Survey], n_sample: int) -> Survey:
    return merge_surveys(surveys, n_sample)


def _measure(blocks: list[Any], panel: Panel, where: Any) -> Measurement:
    dask = import_optional("dask", extra="dask", feature=_FEATURE)
    shared = dask.delayed(panel, pure=False, traverse=False)
    task = dask.delayed(_measure_task, pure=False)
    merge = dask.delayed(add_measurements, pure=False)
    parts = [task(block, number, shared) for number, block in enumerate(blocks)]
    return _compute(_tree(parts, merge), where)


def _measure_task(block: Any, number: int, panel: Panel) -> Measurement:
    return _on_one_thread(measure_block, block, number, panel)


def _on_one_thread(function: Any, *arguments: Any) -> Any:
    """Run on one thread: the workers are the parallelism."""
    with threadpool_limits(limits=1):
        return function(*arguments)


# -- learning


@dataclass(frozen=True, kw_only=True, eq=False)
class _Learned:
    """An audit of the rows learned from, before its figures are replaced."""

    problem: AuditProblem
    plan: Plan
    run: AuditRun
    result: AuditResult


class _SampleLog(WarningLog):
    """Says of what a check of the sample finds that it was found there."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self._where = f"in the {n_rows:,} rows learned from: "

    def warn(self, category: type[MDFAWarning], message: str) -> None:
        if category is not MissingSensitiveWarning:  # told of all rows
            super().warn(category, self._where + message)

    def note(self, category: str, message: str) -> None:
        super().note(category, self._where + message)


def _audit_frame(
    frame: pd.DataFrame,
    columns: Columns,
    auditor: MDFAuditor,
    seed: int,
    log: WarningLog,
    *,
    keep_one_model: bool,
) -> _Learned:
    """Audit rows in memory."""
    X = frame[list(columns.features)]
    problem = build_problem(
        X,
        frame[columns.outcome],
        frame[list(columns.sensitive)],
        sample_weight=None if columns.weight is None else frame[columns.weight],
        weight_type=auditor.weight_type,
        outcomes=auditor.outcomes,
        groups=auditor.groups,
        reference_group=auditor.reference_group,
        missing=auditor.missing,
        intersections=auditor.intersections,
        min_group_size=auditor.min_group_size,
        log=log,
    )
    plan = auditor.plan(problem, seed)
    if keep_one_model and HELD_BACK not in plan.parts:
        # One more model, of all rows: the one that other rows are judged by.
        plan = replace(plan, parts=(*plan.parts, HELD_BACK))
    run = AuditRun(problem, plan, auditor, log)
    run.run()
    return _Learned(
        problem=problem, plan=plan, run=run, result=run.result(X, seed, time.perf_counter())
    )


def _learn(
    sample: Sample,
    survey: Survey,
    auditor: MDFAuditor,
    columns: Columns,
    weight_type: str,
    seed: int,
    n_missing: dict[str, int],
    log: WarningLog,
) -> _Learned:
    """Audit the sample."""
    frame = sample.frame
    if auditor.missing == "exclude":
        for name, count in n_missing.items():
            if count:
                log.warn(
                    MissingSensitiveWarning,
                    f"sensitive_features: {count:,} rows have no value in {name!r} and are not "
                    "compared. Pass missing='category' to audit them as a group.",
                )
    if weight_type == "none":
        columns = replace(columns, weight=None)
    elif weight_type == "sampling" and auditor.weight_type == "auto" and survey.weights.whole:
        log.warn(
            WeightWarning,
            f"sample_weight: whole numbers summing to {survey.weights.total:,.0f} over "
            f"{survey.n_rows:,} rows are read as sampling weights, not as counts of repeated rows. "
            "Pass weight_type='frequency' if each counts rows, or weight_type='sampling' to confirm.",
        )
    learning_type = weight_type
    if weight_type == "frequency" and frame[columns.weight].sum() > 2 * auditor.max_learning_rows:
        # Every copy would be a row of its own in memory.
        learning_type = "sampling"
    learner = auditor.unfitted().set_params(
        max_learning_rows=None,
        random_state=seed,
        weight_type="auto" if learning_type == "none" else learning_type,
    )
    return _audit_frame(frame, columns, learner, seed, _SampleLog(len(frame)), keep_one_model=True)


def _panel(
    learned: _Learned,
    survey: Survey,
    columns: Columns,
    sample: Sample,
    weight_type: str,
    seed: int,
) -> Panel:
    problem, plan = learned.problem, learned.plan
    names = [column.name for column in problem.sensitive]
    labels = tuple(column.labels.values for column in problem.sensitive)
    slim = _Slim()
    judges = []
    for i in range(len(learned.run.found)):
        fitted = learned.run.fitted(i)
        if fitted is not None:
            column = names.index(fitted.contrast.sensitive_feature)
            judges.append(_judge(fitted, column, labels[column], problem, plan, slim))
    n_columns = len(columns.sensitive)
    return Panel(
        columns=columns
        if weight_type != "none" or survey.weights.n_zero
        else replace(columns, weight=None),
        labels=labels,
        outcomes=problem.outcome_labels,
        parts=tuple((i,) if i < n_columns else tuple(range(n_columns)) for i in range(len(names))),
        missing=MISSING if learned.run.auditor.missing == "category" else None,
        weight_type=weight_type,
        mean_weight=survey.weights.total / survey.n_present if columns.weight is not None else 1.0,
        cut=sample.cut,
        seed=seed,
        encoder=problem.encoder,
        judges=tuple(judges),
    )


def _judge(
    fitted: Fitted,
    column: int,
    values: tuple[Hashable, ...],
    problem: AuditProblem,
    plan: Plan,
    slim: _Slim,
) -> Judge:
    contrast = fitted.contrast
    core = fitted.threshold if fitted.core_threshold is None else fitted.core_threshold
    edges = np.concatenate([Bins.of(fitted.scores).edges, [-np.inf, fitted.threshold, core]])
    group = find_label(contrast.group, values)
    reference = None if contrast.reference is None else find_label(contrast.reference, values)
    assert group is not None
    return Judge(
        column=column,
        group=group,
        reference=-1 if reference is None else reference,
        outcome=problem.outcome_labels.index(fitted.outcome),
        propensity=slim.probability(fitted.propensity),
        outcome_model=slim.probability(fitted.outcome_model),
        flip_s=fitted.flip_s,
        flip_y=fitted.flip_y,
        limits=fitted.limits,
        predictor=slim.predictor(fitted.predictor),
        threshold=fitted.threshold,
        core_threshold=core,
        bins=Bins(edges=np.unique(edges), exact=False),
        method=plan.balance if isinstance(plan.balance, str) else "given",
        balancer=fitted.balancer,
        scales=fitted.scales,
        rule=fitted.rule,
    )


class _Slim:
    """Models without what only the rows learned from need, shared where they were shared."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def probability(self, model: CrossFittedProbability) -> CrossFittedProbability:
        if id(model) not in self._made:
            self._made[id(model)] = replace(model, out_of_fold=np.empty(0))
        return self._made[id(model)]

    def predictor(self, predictor: Any) -> Predictor:
        """The predictor with the models of all rows learned from, the last ones, alone."""
        if isinstance(predictor, OrthogonalPredictor):
            difference = predictor.difference
            if id(difference) not in self._made:
                self._made[id(difference)] = CrossFittedDifference(
                    out_of_fold=np.empty((0, 0)), models=difference.models[-1:]
                )
            return replace(
                predictor,
                difference=self._made[id(difference)],
                propensity=self.probability(predictor.propensity),
                outcome=self.probability(predictor.outcome),
            )
        if isinstance(predictor, LevelSetPredictor):
            return LevelSetPredictor(predictor.models[-1:])
        assert isinstance(predictor, IterativePredictor)
        return IterativePredictor(predictor.runs[-1:])


# -- conclusions


def _without_rows(violation: Violation) -> Violation:
    """Without what is told row by row."""
    return replace(
        violation,
        membership=_NOBODY,
        held_out=_NOBODY,
        left_out=_NOBODY,
        propensity=np.empty(0),
        side=np.empty(0, dtype=np.int8),
    )


def _in_memory(survey: Survey, auditor: MDFAuditor, columns: Columns, seed: int) -> DaskAuditResult:
    """Audit of rows that are few enough, the way ``audit`` does it."""
    frame = draw_sample(survey, survey.n_present).frame
    log = WarningLog()
    learned = _audit_frame(frame, columns, auditor, seed, log, keep_one_model=False)
    result = learned.result
    n_zero = survey.weights.n_zero
    values = {name: getattr(result, name) for name in result.__dataclass_fields__}
    values |= {
        "violations": tuple(_without_rows(violation) for violation in result.violations),
        "excluded": ({"zero weight": n_zero} if n_zero else {}) | dict(result.excluded),
        "n_samples": survey.n_rows,
        "source": None,
    }
    regions = [
        None if fitted is None else _region(learned, fitted, fitted.predictor, fitted.propensity)
        for fitted in map(learned.run.fitted, range(len(learned.run.found)))
    ]
    return _finished(DaskAuditResult(**values, regions=tuple(regions)), auditor, learned, columns)


def _region(
    learned: _Learned, fitted: Fitted, predictor: Predictor, propensity: CrossFittedProbability
) -> Region:
    return Region(
        encoder=learned.problem.encoder,
        predictor=predictor,
        threshold=fitted.threshold,
        propensity=propensity,
        limits=fitted.limits,
    )


def _finished(
    result: DaskAuditResult, auditor: MDFAuditor, learned: _Learned, columns: Columns
) -> DaskAuditResult:
    """Give the result its auditor, fitted."""
    worst = result.worst_case
    region = None if worst is None else result.regions[result.violations.index(worst)]
    found = replace(result, auditor=auditor)
    auditor.attach(
        found,
        learned.problem.encoder,
        None if region is None else region.predictor,
        np.inf if region is None else region.threshold,
        [str(name) for name in columns.features],
    )
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Search:
    """One search's sums, and what its figures are widened by."""

    judge: Judge
    sums: SearchSums
    statistic: float
    test_spread: float


class _Conclusion:
    """The result of a distributed audit from the merged sums."""

    def __init__(
        self,
        learned: _Learned,
        panel: Panel,
        survey: Survey,
        measured: Measurement,
        log: WarningLog,
    ) -> None:
        self.learned = learned
        self.panel = panel
        self.survey = survey
        self.measured = measured
        self.log = log
        self.level = learned.plan.confidence_level
        self.fitted = [learned.run.fitted(i) for i in range(len(learned.run.found))]
        pairs = iter(zip(panel.judges, measured.searches, strict=True))
        self.searches = [
            None if fitted is None else self._search(*next(pairs)) for fitted in self.fitted
        ]

    def _search(self, judge: Judge, sums: SearchSums) -> _Search:
        statistic = sums.leak.statistic(self.learned.plan.seeds["test"])
        with np.errstate(invalid="ignore", divide="ignore"):
            each = sums.leak_by_model[:, 0] / np.sqrt(sums.leak_by_model[:, 1])
        return _Search(
            judge=judge,
            sums=sums,
            statistic=statistic,
            test_spread=math.sqrt(1.0 + jackknife_variance(each)),
        )

    def result(
        self, auditor: MDFAuditor, columns: Columns, seed: int, started: float, n_blocks: int
    ) -> DaskAuditResult:
        """Figures of every search, tested as a family."""
        learned, survey, measured = self.learned, self.survey, self.measured
        p_values = np.array(
            [
                np.nan if one is None else one_sided_p_value(one.statistic, one.test_spread)
                for one in self.searches
            ]
        )
        adjusted = holm(p_values)
        n_tests = max(int((~np.isnan(p_values)).sum()), 1)
        violations: list[Violation] = []
        regions: list[Region | None] = []
        for i, search in enumerate(self.searches):
            given = _without_rows(learned.result.violations[i])
            fitted = self.fitted[i]
            if search is None or fitted is None:
                reason = f"among the {self._n_learned:,} rows learned from, {given.reason}"
                violations.append(replace(given, reason=reason))
                regions.append(None)
                continue
            violations.append(
                self._violation(given, search, p_values[i], adjusted[i], n_tests, auditor.estimator)
            )
            regions.append(
                _region(learned, fitted, search.judge.predictor, search.judge.propensity)
            )
        self._warn_of_unseen()
        sample = learned.result
        result = DaskAuditResult(
            violations=tuple(violations),
            balance=self._balance(),
            excluded=self._excluded(columns),
            silence=self._silence(),
            warnings=(*self.log.records, *sample.warnings),
            provenance=self._provenance(auditor, seed, started, n_blocks),
            alpha=sample.alpha,
            confidence_level=sample.confidence_level,
            n_samples=survey.n_rows,
            outcome_labels=sample.outcome_labels,
            sensitive_names=sample.sensitive_names,
            feature_names=sample.feature_names,
            regions=tuple(regions),
        )
        assert measured.n_learned == self._n_learned
        return _finished(result, auditor, learned, columns)

    @property
    def _n_learned(self) -> int:
        return self.learned.problem.n_samples

    def _violation(
        self,
        given: Violation,
        search: _Search,
        p_value: float,
        adjusted: float,
        n_tests: int,
        estimator: str,
    ) -> Violation:
        """One search with the figures of all rows in the place of the sample's."""
        judge, sums = search.judge, search.sums
        everyone, region = sums.sets[EVERYONE], sums.sets[REGION]
        estimates = estimates_of(region.rates, sums.plain[1], sums.robust)
        n_missing, bounds = sums.n_missing, (math.nan, math.nan)
        if n_missing:
            bounds = missing_bounds(
                region.rates, np.array([True, False]), sums.missing[0], sums.missing[1]
            )
        fields = conclude(
            Measured(
                population=everyone.rates,
                region=region.rates,
                leftover=self._leftover(region),
                estimates=estimates,
                missing_bounds=bounds,
                n_compared=int(everyone.counts.sum()),
                n_rows=int(region.counts.sum()),
                n_hits=int(region.counts[:, judge.outcome].sum()),
            ),
            estimator=estimator,
            alpha=self.learned.plan.alpha,
            confidence_level=self.level,
            adjusted=adjusted,
            n_tests=n_tests,
            spread=self._spread(search, REGION),
            test_spread=search.test_spread,
        )
        rule = judge.rule
        covered = sums.sets[EVERYONE] if rule.text == EVERYBODY else sums.sets[RULE]
        rule_subgroup = Subgroup(label="rule")
        if rule.text and rule.text != NOBODY and covered.counts.sum():
            place = EVERYONE if rule.text == EVERYBODY else RULE
            rule_subgroup = self._subgroup("rule", given, search, place)
        return replace(
            given,
            **fields,
            n_missing=n_missing,
            counts=self._counts(given, region),
            statistic=search.statistic,
            p_value=p_value,
            p_value_adjusted=adjusted,
            profile=_with_totals(given.profile, sums),
            path=self._path(search),
            population=self._subgroup("everybody", given, search, EVERYONE),
            core=self._subgroup("core", given, search, CORE),
            rule_subgroup=rule_subgroup,
        )

    def _leftover(self, own: SetSums) -> Leftover | None:
        return own.leftover if self.learned.plan.balances else None

    def _spread(self, search: _Search, place: int) -> float:
        """How much wider intervals in a set are for what the sample leaves open of the weights."""
        sums = search.sums
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = sums.rates_by_model[:, place, 1] / sums.rates_by_model[:, place, 0]
            each = np.log(rates[:, 0]) - np.log(rates[:, 1])
        variance = jackknife_variance(each)
        own = sums.sets[place]
        low, high = delta_interval(own.rates, self.level, 1.0, self._leftover(own))
        error = (high - low) / (2.0 * norm.ppf(0.5 + self.level / 2.0))
        if not (np.isfinite(error) and error > 0):
            return 1.0
        return math.sqrt(1.0 + variance / error**2)

    def _subgroup(self, label: str, given: Violation, search: _Search, place: int) -> Subgroup:
        own = search.sums.sets[place]
        rates = own.rates
        return Subgroup(
            label=label,
            delta=rates.delta,
            interval=delta_interval(
                rates, self.level, self._spread(search, place), self._leftover(own)
            ),
            gamma=rates.gamma,
            mass=rates.mass,
            n_rows=int(own.counts.sum()),
            rates=(float(rates.rates[0]), float(rates.rates[1])),
            counts=self._counts(given, own),
        )

    def _counts(self, given: Violation, own: SetSums) -> pd.DataFrame:
        labels = self.learned.problem.outcome_labels
        return counts_frame(own.counts, given.group, given.reference, labels, given.outcome)

    def _path(self, search: _Search) -> WorstCasePath:
        sweep = Sweep(
            search.sums.tally, search.judge.bins, self.level, self._spread(search, REGION)
        )
        sets = sweep.at(path_thresholds(sweep, search.judge.threshold))
        return WorstCasePath(
            delta=sets.delta,
            mass=sets.mass,
            n_rows=sets.n_rows,
            threshold=sets.threshold,
            interval_low=sets.low,
            interval_high=sets.high,
        )

    def _by_contrast(self) -> dict[tuple[Any, ...], SearchSums]:
        """Sums of one search of every pair compared."""
        found: dict[tuple[Any, ...], SearchSums] = {}
        for violation, search in zip(self.learned.result.violations, self.searches, strict=True):
            if search is not None:
                key = (violation.sensitive_feature, violation.group, violation.reference)
                found.setdefault(key, search.sums)
        return found

    def _balance(self) -> dict[tuple[str, Hashable], Any]:
        """Diagnostics of the sample, with the share of all rows that could not be compared."""
        balance = dict(self.learned.result.balance)
        for (name, group, _), sums in self._by_contrast().items():
            if (name, group) in balance:
                balance[name, group] = replace(
                    balance[name, group],
                    n_outside_support=int(sums.outside[:, 0].sum()),
                    share_outside_support=_share_outside(sums),
                )
        return balance

    def _silence(self) -> tuple[Any, ...]:
        sums = self._by_contrast()
        told = []
        for one in self.learned.result.silence:
            own = sums[one.sensitive_feature, one.group, one.reference]
            told.append(
                replace(
                    one,
                    n_rows=int(own.outside[:, 0].sum()),
                    n_group=int(own.outside[0, 0]),
                    share=_share_outside(own),
                )
            )
        return tuple(told)

    def _excluded(self, columns: Columns) -> dict[str, int]:
        counts = {"zero weight": self.survey.weights.n_zero}
        if self.learned.run.auditor.missing == "exclude":
            for position, name in enumerate(columns.sensitive):
                counts[f"missing sensitive value ({name})"] = sum(
                    n for stratum, n in self.survey.counts.items() if stratum[position] is None
                )
        counts[LEARNED_FROM] = self._n_learned
        for (name, group, _), sums in self._by_contrast().items():
            counts[f"{NO_COMPARABLE_ROW} ({name}={group})"] = int(sums.outside[:, 0].sum())
        return {reason: count for reason, count in counts.items() if count}

    def _warn_of_unseen(self) -> None:
        if self.measured.unseen:
            found = ", ".join(
                f"{name!r} ({count:,} rows)" for name, count in self.measured.unseen.items()
            )
            self.log.warn(
                FeatureWarning,
                f"X: some rows have values that the {self._n_learned:,} rows learned from do not have: "
                f"{found}. New labels are read as the rare ones are, missing numbers as the median. "
                "A larger max_learning_rows tells them apart.",
            )

    def _provenance(
        self, auditor: MDFAuditor, seed: int, started: float, n_blocks: int
    ) -> dict[str, Any]:
        given = dict(self.learned.result.provenance)
        parameters = dict(given["parameters"])
        for name in ("max_learning_rows", "weight_type"):
            parameters[name] = getattr(auditor, name)
        state = auditor.random_state
        parameters["random_state"] = (
            state if state is None or isinstance(state, int) else type(state).__name__
        )
        return given | {
            "parameters": parameters,
            "seed": seed,
            "n_samples": self.survey.n_rows,
            "n_working_rows": self.measured.n_measured,
            "weight_type": self.panel.weight_type,
            "n_learned_rows": self._n_learned,
            "n_partitions": n_blocks,
            "timings": {"total": time.perf_counter() - started},
        }


def jackknife_variance(values: np.ndarray) -> float:
    """Variance over samples of what was computed without each of several parts of one.

    Parameters
    ----------
    values : ndarray of shape (n_parts,)

    Returns
    -------
    variance : float
        0 if fewer than two values are finite.
    """
    values = values[np.isfinite(values)]
    n = len(values)
    return float((n - 1) / n * ((values - values.mean()) ** 2).sum()) if n > 1 else 0.0


def _share_outside(sums: SearchSums) -> float:
    return float(sums.outside[:, 1].sum() / sums.weight) if sums.weight else 0.0


def _with_totals(profile: pd.DataFrame, sums: SearchSums) -> pd.DataFrame:
    """Profile of the sample, its counts and outcome rates those of all rows measured."""
    table = profile.copy()
    if len(table) < 2 or table.index[0][0] != ROWS:
        return table
    counts = [own.counts.sum(axis=1) for own in (sums.sets[EVERYONE], sums.sets[REGION])]
    table.iloc[0, :4] = np.concatenate(counts).astype(float)
    table.iloc[1, :4] = np.concatenate([rates.rates for rates in sums.plain])
    return table
