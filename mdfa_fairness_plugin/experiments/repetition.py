"""The same task for many seeds: side by side, with a progress bar, the same for every ``n_jobs``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from mdfa_fairness_plugin.balance.balancer import weigh
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.measure.splitting import HOLDOUT_SHARE, draw_folds

_Result = TypeVar("_Result")


def spawn_seeds(random_state: int, n: int, *place: int) -> list[int]:
    """Seeds of ``n`` repeats at one place of a design; more repeats leave the first as they are."""
    children = np.random.SeedSequence((random_state, *place)).spawn(n)
    return [int(child.generate_state(1)[0] >> 1) for child in children]


def draw_train(n_rows: int, seed: int) -> np.ndarray:
    """Mark 70 % of the rows at random, the paper's split (Section 3.4)."""
    order = np.random.default_rng(seed).permutation(n_rows)
    train = np.ones(n_rows, dtype=bool)
    train[order[: round(HOLDOUT_SHARE * n_rows)]] = False
    return train


def balancing_weights(method: str, X: np.ndarray, s: np.ndarray, seed: int) -> np.ndarray:
    """Weights by a method's name, the propensity predicted out of five folds."""
    folds = draw_folds(s, 5, np.random.default_rng(seed))
    propensity = cross_fitted_probability(X, s > 0, folds, random_state=seed).out_of_fold
    return weigh(X, s, method, propensity=propensity, random_state=seed).weights


def repeat(
    task: Callable[..., _Result],
    arguments: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None,
    progress: bool,
    label: str,
) -> list[_Result]:
    """Call ``task``, which other processes must be able to import, once per tuple, in order."""
    calls = (delayed(_quietly)(task, one) for one in arguments)
    results = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    bar = tqdm(
        results,
        total=len(arguments),
        desc=label,
        file=sys.stderr,
        disable=not progress,
        leave=False,
    )
    return list(bar)


def _quietly(task: Callable[..., _Result], arguments: tuple[Any, ...]) -> _Result:
    """Without the warnings of single splits; what they would say is in the numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task(*arguments)
