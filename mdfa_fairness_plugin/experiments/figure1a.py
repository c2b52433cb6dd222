"""Figure 1a: estimated against planted delta on synthetic data, 1,000 and 5,000 rows (Section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.experiments.assembled import (
    ALPHAS,
    SYSTEM,
    VARIANTS,
    OneThingChanged,
    Published,
    variant_tasks,
)
from mdfa_fairness_plugin.experiments.experiment import Experiment, Options
from mdfa_fairness_plugin.experiments.planted import (
    IMBALANCE,
    assembled_on_planted,
    audit_planted,
    inner_half,
    overlap,
)
from mdfa_fairness_plugin.experiments.published import FIGURE1A, FIGURE1A_DELTAS
from mdfa_fairness_plugin.experiments.reproduction import (
    Comparison,
    Curve,
    Panel,
    beside,
    bias_panel,
    biases,
    curve,
    summarise,
)
from mdfa_fairness_plugin.learn.learners import CrossValidated
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.settings import ALPHA_IN_PAPER

SIZES = (1000, 5000)
# Of the grid of deltas: 0, 0.41, 1.10 and 1.73.
QUICK_POINTS = (0, 2, 5, 7)
# Fifty data sets per point at the default of 100 splits: the error of the mean is then below 0.03.
SETS_PER_SPLIT = 0.5
# Where alpha, auditor class and weights are changed: delta = ln 3.
CHANGED_AT = 5
WHOLE = "whole subgroup"
INNER = "inner half"
KNOWN = "true region known"
MACHINE = f"{SYSTEM} (SVM-RBF on phi)"
# A machine fitted dozens of times per data set.
_SYSTEM_SETS_PER_SPLIT = 0.1
_REASONS = {
    MACHINE: (
        "Algorithm 1 as published, at alpha = 0.05 (the paper does not print its own): few rows of "
        "S = -1 with the outcome are in so small a subgroup, and the estimate moves with the draw"
    ),
    WHOLE: (
        "the subgroup is cut half way up the violation, so it takes in some ground without any; that "
        "pulls the estimate down"
    ),
    INNER: (
        "half of the subgroup's rows, those with the highest out-of-fold scores: less of that ground, "
        "at the price of a wider spread"
    ),
    KNOWN: "not in the paper: what is left with the true region and the true weights is sampling noise",
}


def _runs(options: Options) -> pd.DataFrame:
    n_sets = options.share(SETS_PER_SPLIT)
    points = QUICK_POINTS if options.quick else range(len(FIGURE1A_DELTAS))
    places = [(size, k) for size in SIZES for k in points]
    tasks = [(*place, seed) for place in places for seed in options.seeds(n_sets, *place)]
    n_system = options.share(_SYSTEM_SETS_PER_SPLIT)
    systems = [
        (name, size, k, seed)
        for size, k in places
        for name, seed in variant_tasks(options, options.seeds(n_sets, size, k)[:n_system])
        if name == SYSTEM or k == CHANGED_AT
    ]
    found = options.repeat(_one_system, systems, "Figure 1a, the paper's system")
    sets = options.repeat(_one_set, tasks * options.as_ours, "Figure 1a")
    return pd.DataFrame([*sets, *(row for rows in found for row in rows)])


def _one_system(name: str, size: int, k: int, seed: int) -> list[dict[str, Any]]:
    """The paper's system on one data set: the ratio of line 4 on the rows held out, by alpha."""
    delta = float(FIGURE1A_DELTAS[k])
    alphas = ALPHAS if k == CHANGED_AT else (ALPHA_IN_PAPER,)
    auditor = {"learner": CrossValidated("svm_rbf"), **VARIANTS[name]}
    answers, _ = assembled_on_planted(size, delta, seed, alphas, **auditor)
    row = {"n_rows": size, "k": k, "delta": delta, "seed": seed, "search": name}
    rows = [row | {"alpha": alpha, "estimate": answers.rates(alpha).delta} for alpha in alphas]
    for one in rows:
        if name == SYSTEM and one["alpha"] == ALPHA_IN_PAPER:
            one[MACHINE] = one["estimate"]
    return rows


def _by_alpha(runs: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, Published]]:
    """Runs of the paper's system at one delta, by sample size, and where the figure is drawn."""
    own = runs[runs["k"] == CHANGED_AT]
    if "search" not in own:
        return
    for size, some in own[own["search"].notna()].groupby("n_rows"):
        value, band = (float(one[CHANGED_AT]) for one in FIGURE1A[size])
        title = f"estimate at delta = {FIGURE1A_DELTAS[CHANGED_AT]:.2f}, {size:,} rows"
        yield some, {"estimate": (title, (value, band))}


_CHANGED = OneThingChanged(
    parts=_by_alpha,
    why="the paper does not print its alpha: it is changed alone, and so are auditor class and weights",
)


def _one_set(size: int, k: int, seed: int) -> dict[str, Any]:
    """Audit one data set for S = +1 and outcome 1, and measure what was found."""
    delta = float(FIGURE1A_DELTAS[k])
    data, found = audit_planted(size, delta, seed, alpha=ALPHA_IN_PAPER)
    s = data.sensitive_features.to_numpy()
    true_weights = np.where(s > 0, 1.0 - data.propensity, data.propensity)
    known = measure(data.y.to_numpy() == 1, s, true_weights, data.region)
    return {
        **{"n_rows": size, "k": k, "delta": delta, "seed": seed},
        **{WHOLE: found.delta, INNER: inner_half(found), KNOWN: known.delta},
        "overlap with the true region": overlap(found.membership, data.region),
    }


def _compare(runs: pd.DataFrame) -> Iterator[Comparison]:
    for size, own in runs.groupby("n_rows", sort=False):
        published, bands = FIGURE1A[size]
        for column, why in _columns(own).items():
            for (k, delta), bias in biases(own, column, "delta", ["k", "delta"]).items():
                quantity = f"bias at delta = {delta:.2f}, {size:,} rows"
                paper = math.nan if column == KNOWN else (published[k] - delta, bands[k])
                yield beside(quantity, column, bias, paper, why=why)
    yield from _CHANGED.compare(runs)


def _columns(runs: pd.DataFrame) -> dict[str, str]:
    """Estimates there are, and why they differ."""
    return {one: _REASONS[one] for one in _REASONS if one in runs and runs[one].notna().any()}


def _remarks(runs: pd.DataFrame) -> Iterator[str]:
    for size, own in runs[runs["delta"] <= 2.0].groupby("n_rows", sort=False):
        if KNOWN not in own:
            continue
        known = pd.DataFrame(biases(own, KNOWN, "delta", "k")).loc[0]
        for column in (WHOLE, INNER):
            points = pd.DataFrame(biases(own, column, "delta", "k"))
            bias, spread = points.loc[0], points.loc[1]
            largest, paired = bias.abs().max(), (bias - known).abs().max()
            yield (
                f"{size:,} rows, {column}: largest |bias| up to delta = 2 is {largest:.3f} "
                f"({paired:.3f} against the true region's estimate on the same data), standard "
                f"deviation {spread.min():.2f} to {spread.max():.2f}."
            )
    if MACHINE in runs:
        for size, own in runs[runs[MACHINE].notna()].groupby("n_rows", sort=False):
            published, bands = FIGURE1A[size]
            found = {k: summarise(some[MACHINE])[0] for k, some in own.groupby("k")}
            drawn = [k for k in np.flatnonzero(bands > 0) if k in found]
            near = sum(abs(found[k] - published[k]) <= bands[k] for k in drawn)
            yield f"{size:,} rows, {MACHINE}: in the paper's band at {near} of {len(drawn)} points."
    yield from _CHANGED.remarks(runs)
    lost = int(np.isinf(runs[WHOLE]).sum()) if WHOLE in runs else 0
    if lost:
        yield (
            f"In {lost} of {len(runs)} data sets the estimate is not finite (nobody of S = -1 in the "
            "subgroup has the outcome); they are left out of the means."
        )


def _panels(runs: pd.DataFrame) -> Iterator[Panel]:
    for size, own in runs.groupby("n_rows", sort=False):
        curves = [curve(column, biases(own, column, "delta", "delta")) for column in _columns(own)]
        published, _ = FIGURE1A[size]
        drawn = np.isfinite(published)
        x = FIGURE1A_DELTAS[drawn]
        curves.append(Curve(label="paper", x=x, y=published[drawn] - x, published=True))
        yield bias_panel(f"{size:,} rows", "planted delta", "the estimate", curves)
    yield from _CHANGED.panels(runs)


EXPERIMENT = Experiment(
    title="Figure 1a: estimated against planted violation, by sample size",
    runs=_runs,
    compare=_compare,
    remarks=_remarks,
    panels=_panels,
    repeats={
        "data sets per point": SETS_PER_SPLIT,
        "of the paper's system": _SYSTEM_SETS_PER_SPLIT,
    },
    settings={"mu": IMBALANCE},
)
