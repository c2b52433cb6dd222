"""The system of Section 3.4 on one split: one network, Algorithm 1, read off at every alpha."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from mdfa_fairness_plugin.balance import EntropyBalancing, MMDNetwork
from mdfa_fairness_plugin.experiments.experiment import Options
from mdfa_fairness_plugin.experiments.formulas import draw_train
from mdfa_fairness_plugin.experiments.reproduction import (
    Comparison,
    Curve,
    Panel,
    beside,
    curve,
    summarise,
)
from mdfa_fairness_plugin.learn.learners import CrossValidated
from mdfa_fairness_plugin.measure.estimates import Rates, measure
from mdfa_fairness_plugin.search.certificate import coincidence, halves
from mdfa_fairness_plugin.search.iterative import run_algorithm_1

SYSTEM = "the paper's system"
DEFAULT = "default search"
FOREST = "forest of depth 2 on the features"
# Section 3.4's auditor sees phi.
_LOGISTIC = CrossValidated("logistic")
_SHALLOW = {"learner": RandomForestClassifier(n_estimators=50, max_depth=2), "phi": False}
# The system, then one thing changed at a time: the auditor class (the authors' code has a forest), and
# the weights besides.
VARIANTS: dict[str, dict[str, Any]] = {
    SYSTEM: {},
    FOREST: _SHALLOW,
    f"{FOREST}, entropy weights": {**_SHALLOW, "balance": "entropy"},
}
# The mass at which Algorithm 1 stops, which the paper does not print: from a fifth to twice the usual.
ALPHAS = (0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What Algorithm 1 answers at every alpha, on the rows held out."""

    held_out: np.ndarray  # (n,); of all rows
    inside: Mapping[float, np.ndarray]  # of the rows held out, by alpha
    s: np.ndarray
    positive: np.ndarray
    weights: np.ndarray

    def rates(self, alpha: float, *, weighted: bool = True) -> Rates:
        """Rates on both sides of the subgroup at an alpha."""
        weights = self.weights if weighted else np.ones(len(self.s))
        return measure(self.positive, self.s, weights, self.inside[alpha])

    def among_all(self, alpha: float) -> np.ndarray:
        """Rows of the subgroup among all rows."""
        rows = np.zeros(len(self.held_out), dtype=bool)
        rows[np.flatnonzero(self.held_out)[self.inside[alpha]]] = True
        return rows


def assemble(
    X: np.ndarray,
    s: np.ndarray,
    positive: np.ndarray,
    seed: int,
    *,
    alphas: Sequence[float],
    learner: Any = _LOGISTIC,
    phi: bool = True,
    balance: str = "mmd_network",
    xi: float = 0.2,
) -> Answers:
    """Learn on 70 % of the rows; all weights and answers on the others are predictions."""
    train = draw_train(len(s), seed)
    label = coincidence(s, positive)
    if balance == "entropy":
        balancer: Any = EntropyBalancing(random_state=seed).fit(X[train], s[train])
    else:
        balancer = MMDNetwork(random_state=seed)
        balancer.fit(X[train], s[train], label=label[train] if phi else None)
    Z, weights, test = balancer.features(X) if phi else X, balancer.weights(X, s), ~train
    learned = (Z[train], s[train], positive[train], halves(weights[train], s[train]))
    how = {"alpha": min(alphas), "learner": learner, "xi": xi, "max_iter": 500, "seed": seed}
    iterates, masses, _ = run_algorithm_1(*learned, **how)
    below = {alpha: np.flatnonzero(np.array(masses) <= alpha) for alpha in alphas}
    # The answer is the iterate before the first that is as small as alpha.
    step = {alpha: max(one[0] - 1, 0) if len(one) else -1 for alpha, one in below.items()}
    inside = {alpha: iterates[k].predict(Z[test]) > 0 for alpha, k in step.items()}
    own = {"s": s[test], "positive": positive[test], "weights": weights[test]}
    return Answers(held_out=test, inside=inside, **own)


def numbers(table: pd.DataFrame) -> np.ndarray:
    """Features as numbers, a column per level of text."""
    return pd.get_dummies(table, dtype=float).to_numpy(dtype=float)


Published = Mapping[str, tuple[str, tuple[float, float]]]


@dataclass(frozen=True, kw_only=True)
class OneThingChanged:
    """What the system and its variants give at every alpha, beside the paper's values.

    ``parts`` are runs, one row a split, search and alpha, with the columns that have a published value.
    """

    parts: Callable[[pd.DataFrame], Iterable[tuple[pd.DataFrame, Published]]]
    why: str

    def compare(self, runs: pd.DataFrame) -> Iterator[Comparison]:
        """Means over the splits by search and alpha."""
        for own, published in self.parts(runs):
            for key, some in own.groupby(["search", "alpha"], sort=False):
                name, alpha = map(str, key)
                for column, (title, paper) in published.items():
                    reading = f"{name}, alpha = {alpha}"
                    yield beside(title, reading, summarise(some[column]), paper, why=self.why)

    def remarks(self, runs: pd.DataFrame) -> Iterator[str]:
        """At which alphas the mean is within one standard deviation published."""
        told: dict[str, list[str]] = {}
        for own, published in self.parts(runs):
            for name, some in own.groupby("search", sort=False):
                near = told.setdefault(str(name), [])
                for column, (title, (mean, deviation)) in published.items():
                    found = {a: summarise(one[column])[0] for a, one in some.groupby("alpha")}
                    at = [str(a) for a, value in found.items() if abs(value - mean) <= deviation]
                    near += [f"{title} at {', '.join(at)}"] if at else []
        for name, near in told.items():
            listed = "; ".join([*near, "nothing else" if near else "nothing"])
            yield f"{name}: within one published deviation by alpha: {listed}."

    def panels(self, runs: pd.DataFrame) -> Iterator[Panel]:
        """Curves over alpha with the published value drawn in."""
        for own, published in self.parts(runs):
            for column, (title, (mean, _)) in published.items():
                curves = []
                for name, some in own.groupby("search", sort=False):
                    points: Any = {a: summarise(one[column]) for a, one in some.groupby("alpha")}
                    curves.append(curve(str(name), points))
                x = np.array(sorted(own["alpha"].unique()), dtype=float)
                curves.append(Curve(label="paper", x=x, y=np.full(len(x), mean), published=True))
                yield Panel(title=title, x_label="alpha", y_label=title, curves=tuple(curves))


def variant_tasks(options: Options, seeds: Sequence[int], least: int = 2) -> list[tuple[str, int]]:
    """Names and seeds: the system on every seed, what is changed in it on a fifth of them."""
    if not options.as_in_paper:
        return []
    few = seeds[: max(len(seeds) // 5, least)]
    return [(name, seed) for name in VARIANTS for seed in (seeds if name == SYSTEM else few)]
