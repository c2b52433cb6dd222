"""One audit: solve, describe, measure, conclude.

Each step takes searches and returns them with what it adds. Describing comes before measuring since
a rule is one of the sets of rows that are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mdfa_fairness_plugin.arguments import settled
from mdfa_fairness_plugin.balance import BalanceDiagnostics
from mdfa_fairness_plugin.data.leaks import DECISION_INPUTS
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.subgroups import (
    part_described,
    profiles_of,
    rule_of,
    silences_of,
)
from mdfa_fairness_plugin.exceptions import Count, LeakWarning, WarningLog
from mdfa_fairness_plugin.learn.cells import Cells
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.measured import Measured, Widening
from mdfa_fairness_plugin.measure.splitting import HELD_BACK
from mdfa_fairness_plugin.measure.sums import EVERYBODY, SETS, MeasuredRows, SearchSums
from mdfa_fairness_plugin.measure.verdicts import warn_of_models
from mdfa_fairness_plugin.numerics.rows import at, marked
from mdfa_fairness_plugin.numerics.threads import in_threads, one_blas_thread
from mdfa_fairness_plugin.provenance import provenance_of
from mdfa_fairness_plugin.records import NO_COMPARABLE_ROW, Silence, Violation
from mdfa_fairness_plugin.search.bounded import bounded
from mdfa_fairness_plugin.search.input_rows import (
    absent_rows,
    ask_models,
    by_sample,
    overlaps_of,
    scores_of,
)
from mdfa_fairness_plugin.search.outcomes import outcomes_of
from mdfa_fairness_plugin.search.prepare import judged_parts
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.solve import solve
from mdfa_fairness_plugin.settings import Settings, alpha_for


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """What an audit found, search by search, before it is written down as a result."""

    problem: AuditProblem
    asked: Settings
    settings: Settings  # as ``asked``, settled
    searches: list[Search]
    violations: tuple[Violation, ...]
    balance: Mapping[tuple[str, Hashable], BalanceDiagnostics]
    silence: tuple[Silence, ...]

    @property
    def cells(self) -> tuple[Cells, ...]:
        """Cells that models of any ground were told of."""
        made = (search.side.ground for search in self.searches if search.made)
        return tuple({one.key: one for ground in made for one in ground.cells}.values())


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditSource:
    """What a result keeps so that its audit can be repeated."""

    problem: AuditProblem
    settings: Settings
    cells: tuple[Cells, ...] = ()  # that models were told of


# -- the steps


@one_blas_thread()
def run_audit(
    problem: AuditProblem,
    asked: Settings,
    log: WarningLog,
    X: Any = None,
    *,
    keep_one_model: bool = False,
) -> Audit:
    """Find, describe, measure and judge the worst-treated subgroup of every search.

    ``X`` are the features as given, to judge rows without weight by; ``keep_one_model`` asks for a
    model of all rows besides, by which rows that are not here can be judged.
    """
    settings = settled(asked, problem)
    parts = judged_parts(problem.n_rows, settings)
    if keep_one_model and HELD_BACK not in parts:
        parts = (*parts, HELD_BACK)
    absent = absent_rows(problem, X)
    ask = partial(ask_models, problem=problem, absent=absent)
    searches = solve(problem, settings, log, parts, ask, keep_models=keep_one_model)
    _note_large_alpha(searches, problem, settings, log)
    _note_rules(searches, problem, log)
    searches, balance, silence = describe(searches, problem, settings)
    searches = measure(searches, problem, settings)
    violations = judge(searches, problem, settings)
    if not keep_one_model:  # otherwise more rows are still to be judged
        warn_of_models(violations, [search.measured for search in searches], log)
    return Audit(
        problem=problem,
        asked=asked,
        settings=settings,
        searches=searches,
        violations=violations,
        balance=balance,
        silence=silence,
    )


def describe(
    searches: list[Search], problem: AuditProblem, settings: Settings
) -> tuple[list[Search], dict[tuple[str, Hashable], BalanceDiagnostics], tuple[Silence, ...]]:
    """Profiles and rules of all subgroups, balance, and who could not be compared.

    Searches that found the same people share a rule.
    """
    made = [search for search in searches if search.made]
    distinct: list[Search] = []
    whose: list[int] = []  # of the distinct ones, whose rule each has
    for search in made:
        same = (i for i, other in enumerate(distinct) if search.same_people(other))
        whose.append(next(same, len(distinct)))
        if whose[-1] == len(distinct):
            distinct.append(search)
    tasks: list[Callable[[], Any]]
    tasks = [partial(own, made, problem) for own in (profiles_of, _balances, silences_of)]
    tasks += [partial(rule_of, search, search.held_member, problem) for search in distinct]
    profiles, balance, silence, *rules = _in_threads(lambda task: task(), tasks, problem, settings)
    told = iter(zip(profiles, whose, strict=True))
    described = []
    for search in searches:
        if search.made:
            profile, place = next(told)
            search = replace(search, rule=rules[place], profile=profile)
        described.append(search)
    return described, balance, silence


def _balances(
    made: list[Search], problem: AuditProblem
) -> dict[tuple[str, Hashable], BalanceDiagnostics]:
    """How alike the weights of every comparison made both sides."""
    firsts: dict[tuple[str, Hashable], Search] = {}
    for search in made:
        firsts.setdefault((search.key.sensitive_feature, search.key.group), search)
    places = problem.encoder.places_
    return {key: own.side.diagnosed(places, own.data.weighing) for key, own in firsts.items()}


def measure(searches: list[Search], problem: AuditProblem, settings: Settings) -> list[Search]:
    """Count everybody, the region, its core and its rule among the rows held out."""

    def counted(search: Search) -> Search:
        if not search.made:
            return search
        rows = measured_rows(search, problem, ladder=False)
        sets = (*search.held_sets, *(own.searched for own in search.held_alone))
        told = search.told
        sums = SearchSums.of(
            rows,
            sets,
            missing=told.missing,
            n_missing=told.n_missing,
            lesser=_lesser(search),  # one after the other: each is two numbers a row
        ).settled()
        leaks = [own.leak for own in sums.sets]
        whole, seed, shared = leaks[EVERYBODY], settings.seeds["test"], search.shared_evidence(rows)
        tests = (
            search.spread_in(leak, whole, shared=1.0 if i < len(SETS) else shared)
            for i, leak in enumerate(leaks)
        )
        widths = (  # everybody was not searched for
            1.0 if own.all() else search.spread_in(leak, whole, leak.statistic(seed))
            for own, leak in zip(sets, leaks, strict=True)
        )
        measured = Measured(
            key=search.key,
            alpha=search.data.alpha,
            sums=sums,
            widening=Widening(tests=tuple(tests), sets=tuple(widths)),
            hypothesis=search.hypothesis,
            ladder=search.ladder,
            search=search.searching,
            everybody=search.everybody,
            clustered=rows.cluster is not None,
            of=rows.of,
        )
        return replace(search, measured=measured, spread=search.spread_of(rows, settings))

    return _in_threads(counted, searches, problem, settings)


def deltas_and_statistics(
    searches: list[Search], problem: AuditProblem, settings: Settings
) -> np.ndarray:
    """Reported delta of every search, leak statistic of its subgroup, and that of everybody.

    On held-out rows, shape (3, n_searches); NaN if not made.
    """
    found = np.full((3, len(searches)), np.nan)
    for i, search in enumerate(searches):
        if search.made:
            rows, member = measured_rows(search, problem, ladder=False), search.held_member
            sets = (member, np.ones(len(member), dtype=bool))
            found[0, i] = rows.estimates(member, settings.adjusts)[settings.estimator]
            found[1:, i] = [rows.leak(own).statistic(settings.seeds["test"]) for own in sets]
    return found


def _lesser(search: Search) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    held = marked(search.data.held_out)
    return ((weights[held], outcome[held]) for weights, outcome in search.lesser)


def measured_rows(search: Search, problem: AuditProblem, *, ladder: bool = True) -> MeasuredRows:
    """Rows of a search that are held out, as lesser models tell them too or not."""
    data, held = search.data, marked(search.data.held_out)
    assert data.propensity is not None
    assert data.outcome is not None
    return MeasuredRows(
        s=data.s[held],
        value=data.value[held],
        kind=data.kind,
        probability=None if problem.probability is None else problem.probability[data.rows[held]],
        of=data.of,
        dose=None if data.dose is None else data.dose[held],
        y=at(problem.y, data.rows[held]) if data.counted is None else data.counted[held],
        n_outcomes=len(data.of.counted_by or problem.outcome_labels),
        base=data.base[held],
        weights=data.weights[held],
        propensity=data.propensity[held],
        outcome=data.outcome[held],
        cluster=None if data.cluster is None else data.cluster[held],
        lesser=tuple(_lesser(search)) if ladder else (),
        shares=tuple(own.share for own in search.ladder[:-1]),
    )


def judge(
    searches: list[Search], problem: AuditProblem, settings: Settings
) -> tuple[Violation, ...]:
    """Figures, p-values of the family and verdicts."""
    measured = [search.measured for search in searches]
    figures = conclude(measured, settings, problem.outcome_labels)
    n_tests = len({search.hypothesis for search in searches if search.made})

    def violation(search: Search, own: dict[str, Any], overlap: dict[str, Any]) -> Violation:
        named = problem.words.told(search.key)
        if not search.made:
            nobody = np.zeros(problem.n_samples, dtype=bool)
            return Violation(
                **named,
                **search.scale,
                reason=search.reason,
                confidence_level=float(settings.confidence_level),
                membership=nobody,
                held_out=nobody,
            )
        rule = search.rule.rule
        own = bounded(own, search, problem, settings, n_tests)
        return Violation(
            **named,
            **part_described(own, search, problem),
            **overlap,
            spread=search.spread,
            membership=search.told.membership,
            score=scores_of(search, problem),
            held_out=by_sample(search.data.rows[search.data.held_out], problem),
            profile=search.profile,
            rule=rule.text,
            rule_fidelity=rule.fidelity,
            rule_precision=rule.precision,
            rule_recall=rule.recall,
            path=search.solved.path.recorded(),
        )

    each = zip(searches, figures, overlaps_of(searches, problem), strict=True)
    return tuple(in_threads(violation, each, settings.n_jobs, n_rows=problem.n_rows))


def excluded_counts(audit: Audit) -> dict[str, int]:
    """Input rows left out, by reason."""
    counts = dict(audit.problem.excluded)
    for search in audit.searches:
        if search.made:
            n = int(by_sample(search.side.ground.outside, audit.problem).sum())
            key = search.key
            if n:
                counts[f"{NO_COMPARABLE_ROW} ({key.sensitive_feature}={key.group})"] = n
    return counts


def audit_provenance(audit: Audit, seconds: float) -> dict[str, Any]:
    """How the audit was made; timings stay out of reports, which are the same each time."""
    problem, settings = audit.problem, audit.settings
    return provenance_of(
        audit.asked,
        solver=settings.solver,
        balance=settings.balance,
        input_hash=problem.input_hash,
        n_samples=problem.n_samples,
        n_working_rows=problem.n_people,
        n_clusters=None if problem.n_clusters == problem.n_people else problem.n_clusters,
        weight_type=problem.weight_type,
        iterations={
            f"{search.key.sensitive_feature}={search.key.group}, {search.key.outcome}": list(
                search.solved.iterations
            )
            for search in audit.searches
            if search.made and search.solved.iterations
        },
        timings={"total": seconds},
    )


# -- what is said on the way


def _note_large_alpha(
    searches: list[Search], problem: AuditProblem, settings: Settings, log: WarningLog
) -> None:
    """Say if alpha is out of proportion to how rare an outcome is."""
    for search in searches:
        outcome = search.key.outcome
        if problem.is_amount(outcome):
            continue
        has_outcome = problem.has(outcome)
        rate = float(np.average(has_outcome, weights=problem.sample_weight))
        alpha = alpha_for(settings, rate)
        if search.made and alpha > rate / 2:
            leaves = "leaves only subgroups with at least half of those who have it"
            if alpha > rate:
                leaves = "is more than the mass of everybody, so that no subgroup is looked at"
            log.note(
                "LargeAlpha",
                f"outcome {outcome!r} has a rate of {rate:.3g}: alpha={alpha:g} {leaves}; a smaller "
                "alpha looks closer.",
            )


def _note_rules(searches: list[Search], problem: AuditProblem, log: WarningLog) -> None:
    """Say if the features tell an outcome of nearly everybody, though none of them alone."""
    if any(one.category in (LeakWarning.__name__, DECISION_INPUTS) for one in problem.warnings):
        return
    for outcome in outcomes_of(problem):
        made = (s for s in searches if s.made and s.key.outcome == outcome.label)
        search = next(made, None)
        if search is None or search.data.of_means:
            continue
        compared = search.side.ground.compared
        told = search.fitted.model.out_of_fold > 0.5
        answer = problem.answer(outcome.modelled).take(compared.rows)
        wrong = float(np.average(told != answer.positive, weights=answer.weight))
        if wrong <= answer.few:
            n, of = int((told == answer.positive).sum()), len(told)
            log.note(
                "DecidedByRules",
                "Together the audited features tell the outcome of nearly everybody (",
                Count(n, of=of, said=f"{1 - wrong:.1%} of the rows"),
                "), as they do where decisions follow fixed rules. People alike in these features "
                "then nearly always get the same outcome, so there is little for this audit to find. "
                "Whether the rules themselves are justified is another question.",
            )


def _in_threads(
    function: Callable[[Any], Any],
    arguments: Iterable[Any],
    problem: AuditProblem,
    settings: Settings,
) -> list[Any]:
    calls = ((one,) for one in arguments)
    return in_threads(function, calls, settings.n_jobs, n_rows=problem.n_rows)
