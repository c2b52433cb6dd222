"""Solve: the region of every search, one ground after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import SearchWarning, WarningLog
from mdfa_fairness_plugin.numerics.threads import in_threads
from mdfa_fairness_plugin.search.prepare import prepare, say
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.solvers import SOLVERS
from mdfa_fairness_plugin.settings import Settings

Ask = Callable[[Search], Any]


def solve(
    problem: AuditProblem,
    settings: Settings,
    log: WarningLog,
    parts: tuple[int, ...],
    ask: Ask | None = None,
    *,
    keep_models: bool = False,
    ladder: bool = True,
) -> list[Search]:
    """Find the region of every search that can be made, and ask its models what is wanted of them.

    The models of a ground are let go before those of the next are fitted, or memory would grow with
    every group; those that all searches of a pair of groups and of outcomes share are kept.
    """
    contrasts = [contrast for contrast in problem.contrasts if not contrast.reason]
    n_searches = len(contrasts) * len(problem.outcomes)
    keep_models = keep_models or n_searches <= 4
    say(settings, "%d search%s", n_searches, "" if n_searches == 1 else "es", share=0.0)
    searches: list[Search] = []
    n_made = 0

    def told(n_ready: int) -> None:
        # Models of the features take about half as long as the searches.
        share = 0.95 * (n_ready + 2 * n_made) / (3 * n_searches)
        say(settings, "%d made", n_made, share=share)

    for own in prepare(problem, settings, log, parts, ladder=ladder):
        if own[0].made:
            told(n_made + len(own))
        searches += _solved(own, settings, problem.n_rows, ask, keep_models)
        n_made = sum(search.made for search in searches)
        if own[0].made:
            told(n_made)
    for search in searches:
        if search.made:
            key = search.key
            for note in search.solved.notes:
                log.warn(
                    SearchWarning,
                    f"{key.sensitive_feature}={key.group!r}, outcome {key.outcome!r}: {note}",
                )
    return searches


def _solved(
    searches: list[Search], settings: Settings, n_rows: int, ask: Ask | None, keep_models: bool
) -> list[Search]:
    """Searches on one ground; those for an outcome and its complement share models."""
    if not searches[0].made:
        return searches
    solver = SOLVERS[settings.solver]

    def solved(search: Search) -> Search:
        search = replace(search, solved=solver.solve(search.searched, settings))
        return search if ask is None else replace(search, told=ask(search))

    n_jobs = 1 if solver.threads_of_its_own else settings.n_jobs
    done: dict[int, Search] = {}
    for fitted in {id(search.fitted): search.fitted for search in searches}.values():
        own = [search for search in searches if search.fitted is fitted]
        solver.prepare(own[0].data)
        found = in_threads(solved, ((search,) for search in own), n_jobs, n_rows=n_rows)
        done |= {id(search): one for search, one in zip(own, found, strict=True)}
        fitted.let_go()
    found = [done[id(search)] for search in searches]
    if keep_models:
        return found
    searches[0].side.ground.let_go()
    return [search.without_models() for search in found]
