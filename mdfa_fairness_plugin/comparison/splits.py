"""Repeated 70/30 splits: every model's worst subgroup on the same held-out rows (Table 3)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import OverlapError, WarningLog
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.splitting import HELD_BACK, draw_folds, draw_holdout
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.search.ground import (
    Ground,
    OutcomeModels,
    Plan,
    digest,
    orientation,
    rarer,
    search,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class Splits:
    """Held-out measurements of every split; NaN where there was nothing to measure.

    Parameters
    ----------
    delta : ndarray of shape (n_splits, n_searches, n_models, n_models)
        ``delta[i, k, a, b]``: log ratio of the outcomes of model ``b`` inside the subgroup that was
        found for model ``a``. The diagonal is each model's own worst case.
    rate, reference_rate : ndarray of the same shape
        Weighted outcome rates of the group, and of those it is compared with.
    gamma, mass : ndarray of shape (n_splits, n_searches, n_models)
        Of each model's own worst subgroup.
    everybody : ndarray of shape (n_splits, n_searches, n_models)
        Log ratio among everybody held out, at equal features.
    """

    delta: np.ndarray
    rate: np.ndarray
    reference_rate: np.ndarray
    gamma: np.ndarray
    mass: np.ndarray
    everybody: np.ndarray

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.delta)


def run_splits(
    problem: AuditProblem,
    positives: np.ndarray,
    searched: np.ndarray,
    plan: Plan,
    *,
    n_splits: int,
    n_folds: int,
    binary: bool,
    seed: int,
    n_jobs: int | None,
    level: int = logging.DEBUG,
    progress: bool | Callable[[int, int], Any] = False,
) -> Splits:
    """Search and measure on repeated splits, the same for every model.

    Parameters
    ----------
    problem : AuditProblem
        Rows, features and contrasts, common to all models.
    positives : ndarray of bool of shape (n_outcomes, n_models, n_rows)
        Whether each model gave each row the audited outcome.
    searched : ndarray of bool of shape (n_contrasts, n_outcomes, n_models)
        Searches to make. Searches are numbered contrast by contrast, outcome by outcome.
    plan : Plan
        For a hold-out.
    n_splits, n_folds : int
        Splits; folds of the learning rows that nuisances are predicted across.
    binary : bool
        Whether the models give two outcomes, so that one is the other's complement.
    seed : int
    n_jobs : int or None
        Splits at a time.
    level : int, default=logging.DEBUG
        At which each split is logged.
    progress : bool or callable, default=False
        True shows a progress bar on the standard error stream; a function is called as
        ``progress(done, total)`` after each split.

    Returns
    -------
    splits : Splits

    Notes
    -----
    What depends on features and sensitive values alone (split, propensity, common support, weights)
    is made once per split and serves every model. Neither profiles, rules nor tests are made.
    """
    # A branch of the seed's tree that no stage of an audit uses.
    children = np.random.SeedSequence(seed, spawn_key=(len(plan.seeds),)).spawn(n_splits)
    work = (
        delayed(_one_split)(problem, positives, searched, plan, n_folds, binary, child)
        for child in children
    )
    parts: list[Splits] = []
    for part in tqdm(
        _run(work, n_splits, n_jobs), total=n_splits, unit="split", disable=progress is not True
    ):
        parts.append(part)
        logger.log(level, "split %d of %d", len(parts), n_splits)
        if callable(progress):
            progress(len(parts), n_splits)
    return Splits(
        **{
            field.name: np.stack([getattr(part, field.name) for part in parts])
            for field in fields(Splits)
        }
    )


def _run(work: Any, n_splits: int, n_jobs: int | None) -> Iterator[Splits]:
    if n_jobs in (None, 1) or n_splits == 1:
        for function, arguments, options in work:
            yield function(*arguments, **options)
        return
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(work)


@one_blas_thread()
def _one_split(
    problem: AuditProblem,
    positives: np.ndarray,
    searched: np.ndarray,
    plan: Plan,
    n_folds: int,
    binary: bool,
    child: np.random.SeedSequence,
) -> Splits:
    state = child.generate_state(len(plan.seeds))
    seeds = {stage: int(word >> 1) for stage, word in zip(plan.seeds, state, strict=True)}
    plan = replace(plan, seeds=seeds, n_jobs=None)
    n_contrasts, n_outcomes, n_models = searched.shape
    shape = (n_contrasts * n_outcomes, n_models)
    out = Splits(
        delta=np.full((*shape, n_models), np.nan),
        rate=np.full((*shape, n_models), np.nan),
        reference_rate=np.full((*shape, n_models), np.nan),
        gamma=np.full(shape, np.nan),
        mass=np.full(shape, np.nan),
        everybody=np.full(shape, np.nan),
    )
    by_column: dict[str, list[int]] = {}
    for number, contrast in enumerate(problem.contrasts):
        by_column.setdefault(contrast.sensitive_feature, []).append(number)
    for numbers in by_column.values():
        folds = _folds(problem, numbers, n_folds, plan.seeds["folds"])
        outcomes = OutcomeModels(problem, folds, plan)
        grounds: dict[bytes, Ground | None] = {}
        for number in numbers:
            contrast = problem.contrasts[number]
            if not searched[number].any():
                continue
            sign = orientation(contrast.s)
            s = sign * contrast.s
            key = digest(s)
            if key not in grounds:
                grounds[key] = _ground(problem, contrast.rows, s, folds, plan, outcomes)
            ground = grounds[key]
            if ground is None:
                continue
            weights = ground.weighed(sign < 0, WarningLog()).weights
            for outcome in range(n_outcomes):
                _measure_models(
                    ground,
                    weights,
                    positives[outcome],
                    searched[number, outcome],
                    flip_s=sign < 0,
                    binary=binary,
                    plan=plan,
                    out=out,
                    place=number * n_outcomes + outcome,
                )
    return out


def _folds(problem: AuditProblem, numbers: Sequence[int], n_folds: int, seed: int) -> np.ndarray:
    """Folds of 70 % of the rows, the others held back; even within every sensitive value.

    Unlike an audit's, they do not look at outcomes, which differ from model to model.
    """
    rng = np.random.default_rng(seed)
    strata = np.zeros(problem.n_rows, dtype=np.intp)
    for value, number in enumerate(numbers, start=1):
        strata[problem.contrasts[number].s > 0] = value
    learning = ~draw_holdout(strata, rng)
    folds = np.full(problem.n_rows, HELD_BACK, dtype=np.intp)
    folds[learning] = draw_folds(strata[learning], n_folds, rng)
    return folds


def _ground(
    problem: AuditProblem,
    rows: np.ndarray,
    s: np.ndarray,
    folds: np.ndarray,
    plan: Plan,
    outcomes: OutcomeModels,
) -> Ground | None:
    try:
        return Ground(problem, rows, s, folds, plan, outcomes)
    except OverlapError:
        return None


def _measure_models(
    ground: Ground,
    weights: np.ndarray,
    positives: np.ndarray,
    searched: np.ndarray,
    *,
    flip_s: bool,
    binary: bool,
    plan: Plan,
    out: Splits,
    place: int,
) -> None:
    """Search for every model, then measure all models in every subgroup found."""
    held = ground.folds == HELD_BACK
    s = (-ground.s if flip_s else ground.s)[held]
    total_weights = ground.base * weights
    own_weights = total_weights[held]
    answers = positives[:, ground.rows][:, held]
    for a in np.flatnonzero(searched):
        positive = positives[a]
        compared = positive[ground.rows]
        if compared.all() or not compared.any():
            continue
        found = search(
            ground,
            total_weights,
            positive,
            rare=rarer(positive) if binary else positive,
            flip_s=flip_s,
            plan=plan,
        )
        member = found.member[held]
        for b in range(len(positives)):
            rates = measure(answers[b], s, own_weights, member)
            out.delta[place, a, b] = rates.delta
            out.rate[place, a, b], out.reference_rate[place, a, b] = rates.rates
            if a == b:
                out.gamma[place, a], out.mass[place, a] = rates.gamma, rates.mass
                out.everybody[place, a] = measure(answers[b], s, own_weights).delta
