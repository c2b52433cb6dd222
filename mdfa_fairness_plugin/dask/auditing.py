"""Survey, learn in this process, measure where the rows lie, conclude."""

from __future__ import annotations

import contextlib
import functools
import logging
import pickle
import sys
import time
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.arguments import checked_settings
from mdfa_fairness_plugin.dask.blocks import Source, open_source
from mdfa_fairness_plugin.dask.concluding import (
    DaskAuditResult,
    Reading,
    concluded,
    distributed,
    located,
)
from mdfa_fairness_plugin.dask.learning import Panel, audit_frame, by_content, learn, panel_of
from mdfa_fairness_plugin.dask.measuring import Measurement, add_measurements, measure_block
from mdfa_fairness_plugin.dask.survey import (
    Columns,
    Sample,
    Survey,
    check_survey,
    draw_sample,
    merge_surveys,
    spellings_of,
    survey_block,
)
from mdfa_fairness_plugin.data.amounts import NEEDS_NUMBERS
from mdfa_fairness_plugin.data.columns import as_list, listing
from mdfa_fairness_plugin.data.given import OUTCOME, PROPENSITY
from mdfa_fairness_plugin.exceptions import InputError, WarningLog
from mdfa_fairness_plugin.records.searches import without_rows
from mdfa_fairness_plugin.results import result_of
from mdfa_fairness_plugin.settings import Settings, draw_seed, is_choice, refuse_unknown, shown

logger = logging.getLogger(__name__)

_FEATURE = "A distributed audit"
# Results of this many blocks are merged at a time.
_BRANCHES = 8
_LOCAL = ("threads", "threading", "processes", "sync", "synchronous", "single-threaded")


def audit_dask(
    ddf: Any,
    *,
    outcome: Hashable,
    sensitive: Any,
    features: Any = None,
    sample_weight: Hashable | None = None,
    clusters: Hashable | None = None,
    exposure: Hashable | None = None,
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
    clusters : name or None, default=None
        Column of ids that say whose row each is (a person, household, firm), as ``clusters`` of
        ``audit``. None: every row is another person's, unless it repeats others, see below.
    exposure : name or None, default=None
        Column that counts are divided by, as ``exposure`` of ``audit``.
    client : distributed.Client or None, default=None
        Cluster to compute on. None: the current client if there is one, else threads.
    scheduler : str or None, default=None
        Address of a scheduler to connect to ("tcp://..."), or one of Dask's own: "threads",
        "processes", "synchronous".
    **params
        Of ``MDFAuditor``. ``max_learning_rows`` is how many rows are drawn to learn from;
        ``balance`` cannot be an array. ``n_repeats="auto"`` goes by the number of all rows, each of
        which the models of every repeat judge.

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
    row by the models of the whole sample and adds up; what comes back of a partition are sums of less
    than a megabyte. Both passes give the same bytes whatever the workers and their deaths.

    Rows learned from are left out of the figures (``excluded`` counts them), so that everything
    measured was never seen and nothing has to be widened for folds that follow the same luck. The
    figures are not free of what the sample leaves open, though: propensities and outcome models are
    learned from ``max_learning_rows`` rows however many are measured. How much the statistic and delta
    would move with another sample is estimated by leaving out one fold's rows at a time (a jackknife);
    intervals and p-values are widened by it. More than some thousand times the learned rows thus add
    little; raise ``max_learning_rows`` with them.

    With ``clusters`` the sample takes clusters, the rows of each as far as the shares allow, and every
    row of a cluster that has one in the sample is left out of the figures. Errors go by cluster,
    whichever partitions its rows lie in: of up to 2,048 clusters exactly, of more by sums of as many
    groups that a hash of the ids makes, which tell a standard error to 1.6 %. Clusters as large as the
    sample leave few to learn from; raise ``max_learning_rows`` with their size.

    Without ``clusters``, rows that repeat others exactly, in features and groups, are looked for in
    the sample only: a small part of many rows may hold no two of one person. If it holds copies that
    chance does not explain, and these are most of its equal rows, the audit is made again, by a third
    reading, with equal rows as one cluster's among all rows; a ``RepeatedRowsWarning`` says so. Where
    more of the equal rows may be so by chance, it says that the rows measured count one by one.
    ``weight_type="frequency"`` says that each row counts.

    The profile, the balance diagnostics and the text and fit of rules describe the sample. There is
    no ``Violation.spread`` where a sample is learned from.

    Outcomes that are numbers are in units of the standard deviation of all rows, which the first pass
    finds. With ``robust`` they are placed among the numbers of the rows learned from, or moved in at
    their quantiles. Mean ranks of ordered outcomes are in steps.

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
    settings = _settings(params)
    source = open_source(ddf)
    if exposure is not None and settings.outcome_type != "numeric":
        raise InputError(NEEDS_NUMBERS)
    single = {"sample_weight": sample_weight, "clusters": clusters, "exposure": exposure}
    columns = _choose_columns(source, outcome, sensitive, features, single)
    columns = replace(columns, numeric=settings.outcome_type == "numeric")
    import_optional("dask", extra="dask", feature=_FEATURE)
    settings = settings.reseeded(draw_seed(settings.random_state))
    most, seed = settings.max_learning_rows, settings.seed
    assert most is not None
    log = WarningLog()
    level = logging.INFO if settings.verbose else logging.DEBUG
    with _scheduler(client, scheduler) as where, _counted(level):
        blocks = source.blocks(columns.needed)
        logger.log(level, "reading all rows", extra={"about": True})
        survey = _survey(blocks, columns, most, seed, where)
        n_missing = check_survey(survey, columns, settings)
        weight_type = "none"
        if columns.weight is not None:
            weight_type = survey.weights.weight_type(settings.weight_type)
        if survey.n_present <= 2 * most:
            return _in_memory(survey, settings, columns, started)
        if settings.merge_spellings and (spellings := spellings_of(survey, columns, log)):
            columns = replace(columns, spellings=spellings)
            survey = _survey(blocks, columns, most, seed, where)
        sample = draw_sample(survey, most)
        logger.log(level, "learning from %d rows", len(sample.frame), extra={"about": True})
        learning = time.perf_counter()
        audit, learned_log = learn(sample, survey, settings, columns, weight_type, n_missing, log)
        equal = by_content(audit, learned_log, sample, columns, weight_type, log)
        if equal is not None:
            columns = equal  # the audit again; what is missing was told
            survey = _survey(blocks, columns, most, seed, where)
            sample = draw_sample(survey, most)
            audit, learned_log = learn(sample, survey, settings, columns, weight_type, {}, log)
        panel = panel_of(audit, survey, columns, sample, weight_type)
        logger.log(level, "measuring %d rows", survey.n_present, extra={"about": True})
        measured = _measure(blocks, panel, where)
    if measured.n_rows != survey.n_rows or not _same_sample(measured, survey, sample, columns):
        raise InputError(
            "ddf: the second reading of the rows gave others than the first. Give data that can be "
            "read twice: write it to Parquet, or fix the seed of what makes it."
        )
    if measured.n_measured == 0:
        raise InputError(
            f"clusters: every cluster has a row among the {len(sample.frame):,} learned from, so none "
            "is left to measure. Lower max_learning_rows."
        )
    reading = Reading(
        columns=columns,
        survey=survey,
        audit=audit,
        sample=result_of(audit, learned_log, time.perf_counter() - learning),
        panel=panel,
        measured=measured,
    )
    return concluded(reading, settings, log, started, len(blocks))


# -- arguments


def _settings(params: dict[str, Any]) -> Settings:
    """Arguments of the audit, checked."""
    own = "outcome, sensitive, features, sample_weight, clusters, exposure, client, scheduler, "
    refuse_unknown("audit_dask", params, Settings.names(), first=own)
    settings = checked_settings(**params)
    if settings.max_learning_rows is None:
        raise InputError(
            "max_learning_rows: a number of rows expected, None found: a distributed audit learns from "
            "a sample that fits in memory."
        )
    if settings.sensitive_type == "numeric":
        raise InputError(
            "sensitive_type: a distributed audit compares groups. Audit a sample in memory, or make "
            "groups with mdfa_fairness_plugin.to_groups."
        )
    balance = settings.balance
    if not isinstance(balance, str | type) and not hasattr(balance, "fit"):
        raise InputError(
            "balance: an array of weights was given, and the rows it belongs to are not in this "
            "process. Pass a method's name or an object with fit and weights; or multiply the "
            "weights into the column of sample_weight, with balance='none'."
        )
    for name in (PROPENSITY, OUTCOME):
        given = getattr(settings, name)
        if given is not None and not hasattr(given, "fit"):
            raise InputError(
                f"{name}: probabilities were given row by row, and the rows they belong to are not in "
                "this process. Pass an estimator, which is fitted to the rows learned from."
            )
    return settings


def _choose_columns(
    source: Source,
    outcome: Hashable,
    sensitive: Any,
    features: Any,
    named: Mapping[str, Hashable | None],
) -> Columns:
    known = source.columns
    outcome = _column("outcome", outcome, known)
    chosen = tuple(_column("sensitive", name, known) for name in _names(sensitive))
    if not chosen:
        raise InputError("sensitive: no column was named; name at least one.")
    roles = {outcome: "outcome"}
    single = [
        (role, _column(role, name, known)) for role, name in named.items() if name is not None
    ]
    asked = [] if features is None else _names(features)
    audited = tuple(_column("features", name, known) for name in asked)
    others = (("sensitive", chosen), ("features", audited))
    for role, name in (*single, *((role, name) for role, names in others for name in names)):
        if name in roles:
            raise InputError(f"{role}: {name!r} is already the column of {roles[name]}.")
        roles[name] = role
    if features is None:
        audited = tuple(name for name in known if name not in roles)
    if not audited:
        raise InputError("features: no column is left to audit; name at least one.")
    return Columns(
        outcome=outcome,
        sensitive=chosen,
        features=audited,
        weight=named["sample_weight"],
        cluster=named["clusters"],
        exposure=named["exposure"],
    )


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
    elif is_choice(scheduler, _LOCAL):
        yield scheduler
    elif hasattr(scheduler, "__array__") or ":" not in str(scheduler):
        raise InputError(
            f"scheduler: an address such as 'tcp://10.0.0.1:8786' or one of {', '.join(_LOCAL)} "
            f"expected, {shown(scheduler)} found."
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
    if "distributed" not in sys.modules:  # then nobody has made one
        return None
    distributed = import_optional("distributed", extra="dask", feature="A Dask cluster")
    try:
        return distributed.get_client()
    except ValueError:
        return None


@contextlib.contextmanager
def _counted(level: int) -> Iterator[None]:
    """Tell how many pieces of work are done, where Dask's own schedulers do them."""

    def told(key: Any, result: Any, graph: Any, state: Any, worker: Any) -> None:
        done = len(state["finished"])
        total = done + sum(len(state[name]) for name in ("ready", "waiting", "running"))
        logger.log(level, "%d of %d pieces", done, total, extra={"share": done / total})

    callbacks = import_optional("dask.callbacks", extra="dask", feature=_FEATURE)
    with callbacks.Callback(posttask=told):
        yield


def _over_blocks(
    blocks: list[Any], task: Any, arguments: tuple[Any, ...], merge: Any, where: Any
) -> Any:
    """Merge what a task gives for every block with its number, in a fixed order, a few at a time."""
    dask = import_optional("dask", extra="dask", feature=_FEATURE)
    task, merge = (dask.delayed(one, pure=False) for one in (task, merge))
    parts = [task(block, number, *arguments) for number, block in enumerate(blocks)]
    while len(parts) > 1:
        parts = [
            parts[start] if start + 1 == len(parts) else merge(parts[start : start + _BRANCHES])
            for start in range(0, len(parts), _BRANCHES)
        ]
    return _compute(parts[0], where)


def _compute(task: Any, where: Any) -> Any:
    if where is None:
        return task.compute()
    if isinstance(where, str):
        return task.compute(scheduler=where)
    with warnings.catch_warnings():
        # The models are some ten megabytes in one task, and are sent to each worker once. Data
        # placed on workers beforehand would be lost with them; a task is done again.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        return where.compute(task).result()


def _survey(blocks: list[Any], columns: Columns, n_sample: int, seed: int, where: Any) -> Survey:
    if not blocks:
        return Survey()
    merge = functools.partial(merge_surveys, n_sample=n_sample)
    return _over_blocks(blocks, survey_block, (columns, n_sample, seed), merge, where)


def _same_sample(measured: Measurement, survey: Survey, sample: Sample, columns: Columns) -> bool:
    """Whether the second reading met the rows learned from, and those not, unchanged."""
    if measured.digest != survey.digest:
        return False
    if not columns.clustered:
        return measured.n_learned == len(sample.frame)
    n_present = measured.n_learned + measured.n_measured
    return measured.n_learned >= len(sample.frame) and n_present == survey.n_present


def _measure(blocks: list[Any], panel: Panel, where: Any) -> Measurement:
    dask = import_optional("dask", extra="dask", feature=_FEATURE)
    if where is None or isinstance(where, str):
        shared = dask.delayed(panel, pure=False, traverse=False)
    else:
        protocol = import_optional(
            "distributed.protocol.pickle", extra="dask", feature="A Dask cluster"
        )
        # As bytes: the scheduler has no use for the models themselves.
        shared = dask.delayed(pickle.loads, pure=False)(protocol.dumps(panel, protocol=5))
    return _over_blocks(blocks, measure_block, (shared,), add_measurements, where)


def _in_memory(
    survey: Survey, settings: Settings, columns: Columns, started: float
) -> DaskAuditResult:
    """Audit of rows that are few enough, the way ``audit`` does it."""
    frame = draw_sample(survey, survey.n_present).frame
    log = WarningLog()
    audit = audit_frame(frame, columns, settings, log, keep_one_model=False)
    result = result_of(audit, log, time.perf_counter() - started)
    encoder = audit.problem.encoder
    return distributed(
        result,
        settings,
        encoder,
        columns,
        violations=tuple(map(without_rows, result.violations)),
        excluded=survey.left_out | dict(result.excluded),
        n_samples=survey.n_rows,
        regions=tuple(located(search, encoder) for search in audit.searches),
    )
