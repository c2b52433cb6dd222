"""Synthetic data with a planted violation, audited or drawn with a chosen mass (Section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mdfa_fairness_plugin.auditor import audit
from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.experiments.assembled import Answers, assemble
from mdfa_fairness_plugin.fields import known
from mdfa_fairness_plugin.records import Violation

IMBALANCE = 0.2


def audit_planted(n_rows: int, delta: float, seed: int, **settings: Any) -> tuple[Bunch, Violation]:
    """Data with a violation ``delta``, and what an audit of S = +1 and outcome 1 finds."""
    data = make_synthetic(n_rows, delta, IMBALANCE, random_state=seed)
    who = {"sensitive_features": data.sensitive_features, "groups": [1], "outcomes": [1]}
    return data, audit(data.X, data.y, random_state=seed, **who, **settings).violations[0]


def assembled_on_planted(
    n_rows: int, delta: float, seed: int, alphas: Sequence[float], **settings: Any
) -> tuple[Answers, np.ndarray]:
    """What the paper's system answers on such data, and the half disc among the rows held out."""
    data = make_synthetic(n_rows, delta, IMBALANCE, random_state=seed)
    s, positive = data.sensitive_features.to_numpy(), data.y.to_numpy() == 1
    answers = assemble(data.X.to_numpy(), s, positive, seed, alphas=alphas, **settings)
    return answers, data.region[answers.held_out]


def inner_half(found: Violation) -> float:
    """Delta of the half of a subgroup's rows that its search scores highest; NaN without a path."""
    path = found.path
    if len(path) == 0:
        return math.nan
    return float(path.delta[np.argmin(np.abs(path.n_rows - known(found.n_rows) / 2))])


def smallest_above(found: Violation, alpha: float) -> float:
    """Delta of the smallest region of the path with more mass than ``alpha``.

    That is what Algorithm 1 returns: its second to last iterate. NaN where no region has the mass.
    """
    path = found.path
    mass = np.where(path.mass > alpha, path.mass, np.inf)
    return float(path.delta[np.argmin(mass)]) if np.isfinite(mass).any() else math.nan


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the rows of two regions that both hold."""
    return float((one & other).sum() / (one | other).sum())


def draw_with_mass(n_rows: int, delta: float, mu: float, mass: float, seed: int) -> Bunch:
    """Synthetic data in which the half disc has a chosen mass ``Pr[Y = +1, x in G]``.

    The mass is counted with both S values equally frequent in the half disc. Arrays of ``n_rows``:
    ``X`` (of two columns), ``s``, ``positive``, ``region``, ``propensity``.
    """
    # In the half disc S = +1 always gets the outcome and S = -1 at the rate exp(-delta).
    share = 2.0 * mass / (1.0 + math.exp(-delta))
    data = make_synthetic(4 * n_rows, delta, mu, random_state=seed)
    rng = np.random.default_rng(seed)
    n_inside = round(share * n_rows)
    inside = rng.choice(np.flatnonzero(data.region), n_inside, replace=False)
    outside = rng.choice(np.flatnonzero(~data.region), n_rows - n_inside, replace=False)
    rows = rng.permutation(np.concatenate([inside, outside]))
    return Bunch(
        X=data.X.to_numpy()[rows],
        s=data.sensitive_features.to_numpy()[rows],
        positive=data.y.to_numpy()[rows] == 1,
        region=data.region[rows],
        propensity=data.propensity[rows],
    )
