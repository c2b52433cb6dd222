"""Table 4: who is in the worst subgroup of Adult, for LC and Red-LC (Section 4.3)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.datasets import load_adult
from mdfa_fairness_plugin.experiments.published import (
    TABLE4_POPULATION,
    TABLE4_ROWS,
    TABLE4_VIOLATION,
)
from mdfa_fairness_plugin.experiments.repaired import Case, build_cases
from mdfa_fairness_plugin.experiments.repetition import repeat, spawn_seeds
from mdfa_fairness_plugin.experiments.reproduction import Comparison, Reproduction, summarise

MODELS = ("LC", "Red-LC")
# A full audit of 16,281 rows per split: one in five of the splits.
SPLITS_SHARE = 0.2
_SIDES = ("F", "M")
_REASON = (
    "other classifier and search; level of education and occupation are codes in alphabetical order, "
    "whose means say little"
)


def run(
    *,
    data_home: str | os.PathLike[str] | None = None,
    n_splits: int = 100,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: bool = False,
    quick: bool = False,
) -> Reproduction:
    """Make Table 4 again; see ``reproduce``."""
    started = time.perf_counter()
    n_own = max(round(SPLITS_SHARE * n_splits), 2)
    case = build_cases(
        ("Adult",),
        MODELS,
        data_home=data_home,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )["Adult"]
    # The same rows as ``case``, text as codes; the paper lost the first.
    coded = load_adult(data_home, subset="test", as_in_paper=True)
    seeds = spawn_seeds(random_state, n_own)
    results = repeat(
        partial(_one_split, case, coded.X),
        [(model, seed) for model in case.outcomes for seed in seeds],
        n_jobs=n_jobs,
        progress=progress,
        label="Table 4",
    )
    runs = pd.DataFrame(results)
    return Reproduction(
        name="table4",
        title="Table 4: the worst subgroup of Adult, women against men",
        comparisons=(*_population(coded), *_violation(runs), *_absent(case)),
        runs=runs,
        settings={"splits": n_own, "seed": random_state},
        remarks=tuple(_remarks(runs)),
        seconds=time.perf_counter() - started,
    )


def _one_split(case: Case, coded: pd.DataFrame, model: str, seed: int) -> dict[str, Any]:
    """Means in G among the rows held out, by gender."""
    auditor = MDFAuditor(groups=[case.group], outcomes=[1], evaluation="holdout", random_state=seed)
    auditor.fit(case.X, case.outcomes[model], sensitive_features=case.sensitive)
    (found,) = auditor.result_.violations
    # The coded table lacks the first row.
    inside = (found.membership & found.held_out)[1:]
    women = (case.sensitive == case.group).to_numpy()[1:]
    row: dict[str, Any] = {"model": model, "seed": seed}
    for side, rows in zip(_SIDES, (inside & women, inside & ~women), strict=True):
        row |= {f"{feature} {side}": coded.loc[rows, feature].mean() for feature in TABLE4_ROWS}
    return row | {
        "share": float(inside.sum() / found.held_out.sum()),
        "ratio_balanced": found.ratio,
        "ratio_unweighted": float(np.exp(found.estimates["unweighted"])),
        "everybody_balanced": found.population.ratio,
    }


def _population(coded: Any) -> Iterator[Comparison]:
    women = coded.sensitive_features["sex"] == "Female"
    table = coded.X.groupby(women).agg(["mean", "std"])
    for feature, title in TABLE4_ROWS.items():
        for i, side in enumerate(_SIDES):
            yield Comparison(
                quantity=f"{title}, {side}",
                reading="population",
                paper=TABLE4_POPULATION[feature][i][0],
                paper_sd=TABLE4_POPULATION[feature][i][1],
                ours=float(table.loc[side == "F", (feature, "mean")]),
                ours_sd=float(table.loc[side == "F", (feature, "std")]),
            )


def _violation(runs: pd.DataFrame) -> Iterator[Comparison]:
    for model, own in runs.groupby("model", sort=False):
        for feature, title in TABLE4_ROWS.items():
            for i, side in enumerate(_SIDES):
                published = TABLE4_VIOLATION[str(model)][feature][i]
                mean, deviation = summarise(own[f"{feature} {side}"])
                yield Comparison(
                    quantity=f"{title}, {side}",
                    reading=f"violation, {model}",
                    paper=published[0],
                    paper_sd=published[1],
                    ours=mean,
                    ours_sd=deviation,
                    why=_REASON,
                )


def _absent(case: Case) -> Iterator[Comparison]:
    for model, reason in case.absent.items():
        yield Comparison(quantity="all rows", reading=f"violation, {model}", why=reason)


def _remarks(runs: pd.DataFrame) -> Iterator[str]:
    for model, own in runs.groupby("model", sort=False):
        ratio, raw, everybody = (
            own[column].mean()
            for column in ("ratio_balanced", "ratio_unweighted", "everybody_balanced")
        )
        yield (
            f"{model}: G holds {own['share'].mean():.0%} of the rows; balanced ratio {ratio:.2f} "
            f"(raw {raw:.2f}), everybody {everybody:.2f}."
        )
