"""Table 4: who is in the worst subgroup of Adult, for LC and Red-LC (Section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from mdfa_fairness_plugin.auditor import audit
from mdfa_fairness_plugin.datasets import load_adult
from mdfa_fairness_plugin.experiments.experiment import Experiment, Options
from mdfa_fairness_plugin.experiments.profiles import Profile
from mdfa_fairness_plugin.experiments.published import (
    TABLE4_POPULATION,
    TABLE4_ROWS,
    TABLE4_VIOLATION,
)
from mdfa_fairness_plugin.experiments.repaired import Case, build_cases
from mdfa_fairness_plugin.experiments.reproduction import Comparison, beside
from mdfa_fairness_plugin.settings import ALPHA_IN_PAPER

MODELS = ("LC", "Red-LC")
# A full audit of 16,281 rows per split: one in five of the splits.
SPLITS_SHARE = 0.2
_PROFILE = Profile(sides=("F", "M"), titles=TABLE4_ROWS)
_REASON = (
    "other classifier and search; level of education and occupation are codes in alphabetical order, "
    "whose means say little"
)


class _Data(NamedTuple):
    """The audited case, and its rows with text as codes; the paper lost the first."""

    case: Case
    coded: Bunch


def _load(options: Options) -> _Data:
    case = build_cases(("Adult",), MODELS, options)["Adult"]
    return _Data(case, load_adult(options.data_home, subset="test", as_in_paper=True))


def _runs(options: Options, data: _Data) -> pd.DataFrame:
    seeds = options.seeds(options.share(SPLITS_SHARE))
    tasks = [(model, seed) for model in data.case.outcomes for seed in seeds]
    return pd.DataFrame(options.repeat(partial(_one_split, *data), tasks, "Table 4"))


def _one_split(case: Case, coded: Bunch, model: str, seed: int) -> dict[str, Any]:
    """Means in G among the rows held out, by gender."""
    result = audit(
        case.X,
        case.outcomes[model],
        sensitive_features=case.sensitive,
        groups=[case.group],
        outcomes=[1],
        alpha=ALPHA_IN_PAPER,
        evaluation="holdout",
        random_state=seed,
    )
    (found,) = result.violations
    # The coded table lacks the first row.
    inside = (found.membership & found.held_out)[1:]
    women = (case.sensitive == case.group).to_numpy()[1:]
    return {
        "model": model,
        "seed": seed,
        **_PROFILE.means(coded.X, inside, women),
        "share": float(inside.sum() / found.held_out.sum()),
        "ratio_balanced": found.ratio,
        "ratio_unweighted": float(np.exp(found.estimates["unweighted"])),
        "everybody_balanced": found.population.ratio,
    }


def _population(coded: Bunch) -> Iterator[Comparison]:
    women = coded.sensitive_features["sex"] == "Female"
    return _PROFILE.of_population(coded.X, women, TABLE4_POPULATION)


def _compare(runs: pd.DataFrame, data: _Data) -> Iterator[Comparison]:
    yield from _population(data.coded)
    for model, own in runs.groupby("model", sort=False):
        yield from _PROFILE.of_subgroup(own, str(model), TABLE4_VIOLATION[str(model)], _REASON)
    for model, reason in data.case.absent.items():
        yield beside("all rows", f"violation, {model}", math.nan, why=reason)


def _remarks(runs: pd.DataFrame, data: _Data) -> Iterator[str]:
    for model, own in runs.groupby("model", sort=False):
        ratio, raw, everybody = (
            own[column].mean()
            for column in ("ratio_balanced", "ratio_unweighted", "everybody_balanced")
        )
        yield (
            f"{model}: G holds {own['share'].mean():.0%} of the rows; balanced ratio {ratio:.2f} "
            f"(raw {raw:.2f}), everybody {everybody:.2f}."
        )


EXPERIMENT = Experiment(
    title="Table 4: the worst subgroup of Adult, women against men",
    load=_load,
    runs=_runs,
    compare=_compare,
    remarks=_remarks,
    repeats={"splits": SPLITS_SHARE},
)
