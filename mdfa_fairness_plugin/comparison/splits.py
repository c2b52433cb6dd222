"""Repeated 70/30 splits: every model's worst subgroup on the same held-out rows (Table 3)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from mdfa_fairness_plugin.arguments import settled
from mdfa_fairness_plugin.comparison.bench import Bench, ModelAudit
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import OverlapError, WarningLog
from mdfa_fairness_plugin.measure.means import MeanDifference
from mdfa_fairness_plugin.measure.splitting import HELD_BACK, draw_holdout
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.search.ground import Side
from mdfa_fairness_plugin.search.outcomes import Outcome
from mdfa_fairness_plugin.search.prepare import Grounds, by_column, folds_of, side_of, value_of
from mdfa_fairness_plugin.search.solvers import SOLVERS
from mdfa_fairness_plugin.settings import STAGES, Settings, stage_seeds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Splits:
    """Held-out measurements of every split; NaN where there was nothing to measure."""

    # (n_splits, n_searches, n_models, n_models); ``delta[i, k, a, b]``: log ratio of the outcomes
    # of model ``b`` inside the subgroup that was found for model ``a``, or their difference in units
    # of the outcome. The diagonal is each model's own worst case.
    delta: np.ndarray
    rate: np.ndarray  # outcome rates or means of the group, and of those it is compared with
    reference_rate: np.ndarray
    by_difference: tuple[bool, ...]  # of each search

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.delta)

    def own(self, model: int, search: int) -> dict[str, Any]:
        """Fields of a ``ModelSearch``."""
        if not self.n_splits:
            return {}
        delta = self.delta[:, search, model, model]
        return {
            **self._moments(delta, search),
            "n_splits_measured": int(np.isfinite(delta).sum()),
            "n_splits_infinite": int(np.isinf(delta).sum()),
        }

    def transferred(self, owner: int, model: int, search: int) -> dict[str, Any]:
        """Fields of a ``Transfer``."""
        if not self.n_splits:
            return {}
        rates = (own[:, search, owner, model] for own in (self.rate, self.reference_rate))
        return {
            **self._moments(self.delta[:, search, owner, model], search),
            "split_rates": tuple(_mean(own) for own in rates),
        }

    def _moments(self, delta: np.ndarray, search: int) -> dict[str, float]:
        """Mean and standard deviation of what is finite; NaN without any (with one, no deviation)."""
        by_difference = self.by_difference[search]
        known = delta[np.isfinite(delta)]
        known = known if by_difference else np.exp(known)
        name = "split_difference" if by_difference else "split_ratio"
        return {
            f"{name}_mean": float(known.mean()) if len(known) else np.nan,
            f"{name}_sd": float(known.std(ddof=1)) if len(known) > 1 else np.nan,
        }


def run_splits(
    bench: Bench,
    audits: Mapping[Hashable, ModelAudit],
    n_splits: int,
    *,
    n_jobs: int | None,
    level: int,
    progress: bool | Callable[[int, int], Any],
) -> Splits:
    """Search and measure on repeated splits, the same for every model.

    What depends on features and sensitive values alone (split, propensity, common support, weights)
    is made once per split and serves every model. Neither profiles, rules nor tests are made.
    """
    n_models = len(bench.answers.models)
    by_difference = tuple(bench.measure(key) == "difference" for key in bench.keys)
    if n_splits == 0:
        nothing = np.empty((0, len(bench.keys), n_models, n_models))
        return Splits(nothing, nothing, nothing, by_difference)
    settings = settled(replace(bench.settings, evaluation="holdout", n_jobs=None), bench.problem)
    # A branch of the seed's tree that no stage of an audit uses.
    children = np.random.SeedSequence(settings.seed, spawn_key=(len(STAGES),)).spawn(n_splits)
    models = [(bench.answered[model], audits[model].given) for model in bench.answers.models]
    outcomes = [
        [answered[place].with_given(given.get(label)) for answered, given in models]
        for place, label in enumerate(bench.outcomes)
    ]
    seeds = (stage_seeds(child.generate_state(len(STAGES))) for child in children)
    asked = (replace(settings, own_seeds=own) for own in seeds)
    work = (delayed(_one_split)(bench.problem, outcomes, own) for own in asked)
    logger.log(level, "measuring all models on other splits", extra={"about": True})
    parts: list[np.ndarray] = []
    found = Parallel(n_jobs=n_jobs if n_splits > 1 else 1, return_as="generator")(work)
    for part in tqdm(found, total=n_splits, unit="split", disable=progress is not True):
        parts.append(part)
        share = len(parts) / n_splits
        logger.log(level, "split %d of %d", len(parts), n_splits, extra={"share": share})
        if callable(progress):
            progress(len(parts), n_splits)
    delta, rate, reference_rate = np.stack(parts, axis=1)
    return Splits(delta, rate, reference_rate, by_difference)


@one_blas_thread()
def _one_split(problem: AuditProblem, outcomes: list[list[Outcome]], asked: Settings) -> np.ndarray:
    """Search for every model on one split, and measure all in every subgroup found; as ``Splits``."""
    n_models = len(outcomes[0])
    measured: list[np.ndarray] = []
    for contrasts in by_column(problem.contrasts):
        # Unlike an audit's, these folds do not look at outcomes, which differ from model to model.
        rng = np.random.default_rng(asked.seeds["folds"])
        strata = value_of(problem, contrasts)
        learning = ~draw_holdout(strata, rng, problem.unit)
        folds = folds_of(learning, strata, asked.n_splits, rng, problem.unit)
        grounds = Grounds(problem, contrasts, folds[np.newaxis], (HELD_BACK,), asked)
        for contrast in contrasts:
            ground = OverlapError() if contrast.reason else grounds.of(contrast)
            if isinstance(ground, OverlapError):
                measured += [np.full((3, n_models, n_models), np.nan)] * len(outcomes)
                continue
            side = side_of(contrast, ground, WarningLog())
            measured += [_measure_models(side, of_models, asked) for of_models in outcomes]
    return np.stack(measured, axis=1)


def _measure_models(side: Side, outcomes: list[Outcome], settings: Settings) -> np.ndarray:
    """Delta and rates of every model in every model's subgroup, shape (3, n_models, n_models)."""
    ground = side.ground
    found = np.full((3, len(outcomes), len(outcomes)), np.nan)
    answers = [side.facing(own) for own in outcomes]
    for a, own in enumerate(answers):
        if (own.value == own.value[0]).all():
            continue
        member = SOLVERS[settings.solver].solve(own, settings).member & ground.held_out
        for b, other in enumerate(answers):
            rates = other.reported_rates(member)
            unit = abs(other.of.unit) if isinstance(rates, MeanDifference) else 1.0
            found[:, a, b] = unit * rates.delta, *(other.of.unit * rates.rates)
    return found


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan
