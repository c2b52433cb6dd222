"""Figure 1c: bias of gamma by imbalance and by the weights that balance (Section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from mdfa_fairness_plugin.experiments.experiment import NETWORK_LEFT_OUT, Experiment, Options
from mdfa_fairness_plugin.experiments.formulas import balancing_weights, certify_split
from mdfa_fairness_plugin.experiments.planted import draw_with_mass
from mdfa_fairness_plugin.experiments.published import FIGURE1C, FIGURE1C_MU
from mdfa_fairness_plugin.experiments.reproduction import (
    Comparison,
    Curve,
    Panel,
    beside,
    bias_panel,
    biases,
    curve,
)
from mdfa_fairness_plugin.measure.estimates import certificate_strength

N_ROWS = 5000
DELTA = math.log(3.0)
# Mass of the planted violation; the half disc is sampled up or down to have it, as the authors do.
MASS = 0.1
UNIFORM = "uniform (UW)"
ORACLE = "importance, Section 3.2"
INVERTED = "importance, as published (IS)"
NETWORK = "MMD network"
ENTROPY = "entropy"
# What the paper calls them, and what ``weigh`` does.
PAPER_NAMES = {UNIFORM: "UW", INVERTED: "IS", ORACLE: "IS", NETWORK: "MMD"}
METHODS = {UNIFORM: "none", NETWORK: "mmd_network", ENTROPY: "entropy"}
WEIGHTINGS = (UNIFORM, INVERTED, ORACLE, NETWORK, ENTROPY)
SETS_PER_SPLIT = 0.2
_NETWORK_SETS_PER_SPLIT = 0.1
LEMMA = "Lemma 1"
RAW = "Lemma 1, raw weights"
DEFINITION = "definition"
_REASONS = {
    UNIFORM: (
        "without weights what the features tell about S counts as unfairness; how much depends on the "
        "auditor"
    ),
    INVERTED: (
        "S = +1 weighted by Pr[S = +1 | x] / Pr[S = -1 | x], the inverse of Section 3.2's weights, "
        "which doubles the imbalance in the place of removing it"
    ),
    ORACLE: (
        "Section 3.2's weights with the true propensity: no bias of the published kind, so exact "
        "importance weights were never the trouble"
    ),
    NETWORK: "another network, trained to convergence; its gamma refers to the features of S = -1",
    ENTROPY: "not in the paper: the same aim as the network's, solved as a convex problem",
}


def _runs(options: Options) -> pd.DataFrame:
    n_sets = options.share(SETS_PER_SPLIT)
    n_network = options.share(_NETWORK_SETS_PER_SPLIT)
    tasks = [
        (weighting, float(mu), seed)
        for weighting in WEIGHTINGS
        if weighting != NETWORK or options.has_network
        for k, mu in enumerate(FIGURE1C_MU)
        for seed in options.seeds(n_network if weighting == NETWORK else n_sets, k)
    ]
    return pd.DataFrame(options.repeat(_one_set, tasks, "Figure 1c"))


def _one_set(weighting: str, mu: float, seed: int) -> dict[str, Any]:
    """Gamma of one certificate, and the two true ones."""
    sample = draw_with_mass(N_ROWS, DELTA, mu, MASS, seed)
    s, e = sample.s, sample.propensity
    if weighting == ORACLE:
        weights = np.where(s > 0, (1.0 - e) / e, 1.0)
    elif weighting == INVERTED:
        weights = np.where(s > 0, e / (1.0 - e), 1.0)
    else:
        weights = balancing_weights(METHODS[weighting], sample.X, s, seed)
    tree = DecisionTreeClassifier(max_depth=5)
    found, others = certify_split(sample.X, s, sample.positive, weights, tree, seed)
    # gamma = share (1 - exp(-delta)) / 4, the share being of all rows or under the weights' target,
    # the features of S = -1.
    per_share = (1.0 - math.exp(-DELTA)) / 4.0
    target = (1.0 - e)[sample.region].sum() / (1.0 - e).sum()
    return {
        "weighting": weighting,
        "mu": mu,
        "seed": seed,
        DEFINITION: found.gamma,
        LEMMA: found.gamma_lemma,
        RAW: others[RAW],
        "true, all rows": float(certificate_strength(MASS, DELTA)),
        "true, features of S = -1": float(per_share * target),
    }


def _bias(runs: pd.DataFrame, weighting: str, formula: str) -> dict[float, tuple[float, float]]:
    """Bias by mu: as published (Lemma's forms, against all rows) or by definition (own target)."""
    weighted = formula == DEFINITION and weighting != UNIFORM
    true = "true, features of S = -1" if weighted else "true, all rows"
    return biases(runs[runs["weighting"] == weighting], formula, true, "mu")


def _compare(runs: pd.DataFrame) -> Iterator[Comparison]:
    for weighting in runs["weighting"].unique():
        published = FIGURE1C.get(PAPER_NAMES.get(weighting, ""), [math.nan] * len(FIGURE1C_MU))
        for formula in (RAW, LEMMA, DEFINITION):
            bias = _bias(runs, weighting, formula)
            for (mu, ours), paper in zip(bias.items(), published, strict=True):
                quantity, reading = f"bias of gamma at mu = {mu:+.1f}", f"{weighting}; {formula}"
                yield beside(quantity, reading, ours, paper, digits=4, why=_REASONS[weighting])


def _remarks(runs: pd.DataFrame) -> Iterator[str]:
    if NETWORK not in set(runs["weighting"]):
        yield NETWORK_LEFT_OUT
    for weighting in runs["weighting"].unique():
        worst = {
            formula: max(abs(mean) for mean, _ in _bias(runs, weighting, formula).values())
            for formula in (RAW, LEMMA, DEFINITION)
        }
        listed = ", ".join(f"{value:.4f} by {formula}" for formula, value in worst.items())
        yield f"{weighting}: largest |bias| over mu {listed}."
    far = runs[runs["mu"] == FIGURE1C_MU[-1]]
    everybody, others = far["true, all rows"].mean(), far["true, features of S = -1"].mean()
    yield (
        f"Gamma depends on whose features are taken: at mu = +0.3 it is {everybody:.4f} for all rows, "
        f"the paper's truth, and {others:.4f} for the features of S = -1, at which Section 3.2's "
        f"weights aim. That alone is {others - everybody:+.4f} of the bias published there for MMD "
        f"({FIGURE1C['MMD'][-1]:+.4f})."
    )


def _panels(runs: pd.DataFrame) -> Iterator[Panel]:
    published = [
        Curve(label=f"paper, {name}", x=FIGURE1C_MU, y=values, published=True)
        for name, values in FIGURE1C.items()
    ]
    for formula, title, theirs in (
        (RAW, "Lemma 1 with raw weights, against gamma of all rows (as published)", published),
        (DEFINITION, "by definition, against gamma of the weights' own target", []),
    ):
        ours = [curve(one, _bias(runs, one, formula)) for one in runs["weighting"].unique()]
        yield bias_panel(title, "imbalance mu", "gamma", ours + theirs)


EXPERIMENT = Experiment(
    title="Figure 1c: bias of gamma by imbalance, for several weights",
    runs=_runs,
    compare=_compare,
    remarks=_remarks,
    panels=_panels,
    repeats={"data sets per point": SETS_PER_SPLIT, "for the network": _NETWORK_SETS_PER_SPLIT},
    settings={"rows": N_ROWS, "delta": round(DELTA, 4), "auditor": "tree of depth 5"},
)
