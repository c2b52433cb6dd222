"""What repetitions of an audit share: their checks, their searches, their names."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from math import isnan
from typing import Any

import numpy as np
from joblib import Parallel
from tqdm import tqdm

from mdfa_fairness_plugin.arguments import settled
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.wording import label_text, named, rounded
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning, OverlapError, WarningLog
from mdfa_fairness_plugin.measure.means import MeanDifference
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.pipeline import AuditSource
from mdfa_fairness_plugin.records import AuditRecord, ratio_of
from mdfa_fairness_plugin.search.prepare import judged_parts, prepare
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.solve import solve
from mdfa_fairness_plugin.settings import Settings, check_jobs, check_whole, is_whole

# Sensitive feature, group and outcome of a search.
Named = tuple[str, Hashable, Hashable]


def checked(
    result: AuditRecord,
    number: int,
    name: str,
    random_state: int | None,
    *,
    of_groups: bool = True,
    of_known: bool = True,
) -> tuple[AuditSource, int, int]:
    """What is repeated, how often, and by which seed."""
    source = source_of(result, of_groups=of_groups, of_known=of_known)
    check_whole(name, number, 1)
    if random_state is None:
        return source, int(number), source.settings.seed
    if not is_whole(random_state) or random_state < 0:
        raise InputError(
            f"random_state: a seed of at least 0 or None expected, {random_state!r} found."
        )
    return source, int(number), int(random_state)


def source_of(result: AuditRecord, *, of_groups: bool = True, of_known: bool = True) -> AuditSource:
    """What is repeated; refused of a quantity where it needs groups, of probabilities known ones."""
    if result.source is None:
        raise InputError(
            "result: it does not hold its data, so the audit cannot be repeated; use the result that "
            "MDFAuditor.fit or audit() returned."
        )
    if of_known and result.source.problem.probability is not None:
        raise InputError(
            "result: its groups are known by probability, so that no group can be drawn anew, and "
            "other rows and questions have no bounds yet. Ask audits of rows whose group is known."
        )
    if of_groups and result.source.problem.quantity is not None:
        raise InputError(
            "result: it is of a sensitive quantity, and plants, features left out, sweeps and tables "
            "of groups are about groups. Audit such, made with mdfa_fairness_plugin.to_groups."
        )
    return result.source


def repeat(
    task: Callable[[int], Any], number: int, n_jobs: int | None, progress: bool
) -> list[Any]:
    """Results of all tasks in order, shown as they come."""
    check_jobs(n_jobs)
    done: Iterable[Any] = Parallel(n_jobs=n_jobs, return_as="generator")(
        task(i) for i in range(number)
    )
    if progress:
        done = tqdm(done, total=number, unit="audit")
    return list(done)


@one_blas_thread()
def prepared(problem: AuditProblem, settings: Settings) -> tuple[list[Search], Settings] | None:
    """Every search with its rows and models, by settled settings; None without common ground."""
    with quietly():
        own = settled(settings, problem)
        batches = prepare(problem, own, WarningLog(), judged_parts(problem.n_rows, own))
        return [search for batch in batches for search in batch], own
    return None


@one_blas_thread()
def rerun(
    problem: AuditProblem, settings: Settings, ask: Callable[[Search], Any] | None = None
) -> list[Search] | None:
    """Every search again, its models asked; None if there is no common ground.

    Without lesser models, and what each repeat finds alone, where nothing is asked.
    """
    with quietly():
        own = settled(settings, problem)
        parts, ladder = judged_parts(problem.n_rows, own), ask is not None
        return solve(problem, own, WarningLog(), parts, ask, ladder=ladder)
    return None


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without warnings; what follows is skipped without common ground."""
    with warnings.catch_warnings(), contextlib.suppress(OverlapError):
        warnings.simplefilter("ignore", MDFAWarning)
        yield


def searched(result: AuditRecord) -> tuple[Named, ...]:
    """The searches of an audit."""
    return tuple((v.sensitive_feature, v.group, v.outcome) for v in result.violations)


def scale_of(search: Search) -> float:
    """What an effect of a search is multiplied with to be in units of the outcome."""
    by_difference = issubclass(search.data.kind, MeanDifference)
    return abs(search.data.of.unit) if by_difference else 1.0


def measures_of(result: AuditRecord) -> tuple[str, ...]:
    """What each search compares sides by, "ratio" or "difference", or "slope" of a quantity."""
    return tuple(own.measure if isnan(own.per) else "slope" for own in result.violations)


def effect_text(effect: float, measure: str) -> str:
    """An effect as people read it."""
    if measure != "ratio":
        return f"{measure} {rounded(effect)}"
    return f"ratio {rounded(ratio_of(effect))}"


def untold(known: float) -> str:
    """Why nothing is told of a search, of which something else is known or not."""
    return "not measured" if np.isnan(known) else "withheld, as it would tell of too few rows"


def mean_of_known(values: np.ndarray) -> float:
    """Mean of those that are not NaN; NaN if all are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def search_text(search: Named) -> str:
    """A search as people read it."""
    name, group, outcome = search
    return f"{named(name, group)}, outcome {label_text(outcome)}"
