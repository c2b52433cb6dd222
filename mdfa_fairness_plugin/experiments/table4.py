"""Table 4: who is in the worst subgroup of Adult, for LC and Red-LC (Section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pandas as pd
from sklearn.utils import Bunch

from mdfa_fairness_plugin.datasets import load_adult
from mdfa_fairness_plugin.experiments import published
from mdfa_fairness_plugin.experiments.assembled import (
    ALPHAS,
    DEFAULT,
    OneThingChanged,
    Published,
    variant_tasks,
)
from mdfa_fairness_plugin.experiments.experiment import Experiment, Options
from mdfa_fairness_plugin.experiments.profiles import Profile
from mdfa_fairness_plugin.experiments.repaired import Case, build_cases
from mdfa_fairness_plugin.experiments.reproduction import Comparison, beside
from mdfa_fairness_plugin.settings import ALPHA_IN_PAPER

MODELS = ("LC", "Red-LC")
# A full audit of 16,281 rows per split: half of the splits.
SPLITS_SHARE = 0.5
_BY_ALPHA = (
    "the classifiers are done properly; at every alpha, by either auditor, the women in G are better "
    "educated and older than all women and work more, and are younger than published"
)
_PROFILE = Profile(sides=("F", "M"), titles=published.TABLE4_ROWS)
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
    own = variant_tasks(options, seeds) + [(DEFAULT, seed) for seed in seeds if options.as_ours]
    tasks = [(search, model, seed) for search, seed in own for model in data.case.outcomes]
    found = options.repeat(partial(_one_split, *data), tasks, "Table 4")
    return pd.DataFrame([row for rows in found for row in rows])


def _one_split(case: Case, coded: Bunch, name: str, model: str, seed: int) -> list[dict[str, Any]]:
    """Means in G among the rows held out, by gender; of the paper's system at every alpha."""
    who = (case.X, case.outcomes[model], case.sensitive, case.group)
    alphas = (ALPHA_IN_PAPER,) if name == DEFAULT else ALPHAS
    return _PROFILE.of_split(coded.X, *who, name, seed, alphas, model=model)


def _by_alpha(runs: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, Published]]:
    """Runs of the paper's system on one model's answers, and the women's means published."""
    for model, own in runs[runs["search"] != DEFAULT].groupby("model", sort=False):
        means = published.TABLE4_VIOLATION[str(model)]
        titles = {one: f"{title}, F, {model}" for one, title in published.TABLE4_ROWS.items()}
        yield own, {f"{one} F": (title, means[one][0]) for one, title in titles.items()}


_CHANGED = OneThingChanged(parts=_by_alpha, why=_BY_ALPHA)


def _population(coded: Bunch) -> Iterator[Comparison]:
    women = coded.sensitive_features["sex"] == "Female"
    return _PROFILE.of_population(coded.X, women, published.TABLE4_POPULATION)


def _compare(runs: pd.DataFrame, data: _Data) -> Iterator[Comparison]:
    yield from _population(data.coded)
    for model, own in runs[runs["search"] == DEFAULT].groupby("model", sort=False):
        yield from _PROFILE.of_subgroup(
            own, str(model), published.TABLE4_VIOLATION[str(model)], _REASON
        )
    yield from _CHANGED.compare(runs)
    for model, reason in data.case.absent.items():
        yield beside("all rows", f"violation, {model}", math.nan, why=reason)


def _remarks(runs: pd.DataFrame, data: _Data) -> Iterator[str]:
    for (search, model, alpha), own in runs.groupby(["search", "model", "alpha"], sort=False):
        ratio, raw = own["ratio_balanced"].mean(), own["ratio_unweighted"].mean()
        yield (
            f"{search}, {model}, alpha {alpha}: G holds {own['share'].mean():.0%} of the rows; "
            f"balanced ratio {ratio:.2f} (raw {raw:.2f})."
        )
    yield from _CHANGED.remarks(runs)


EXPERIMENT = Experiment(
    title="Table 4: the worst subgroup of Adult, women against men",
    load=_load,
    runs=_runs,
    compare=_compare,
    remarks=_remarks,
    panels=_CHANGED.panels,
    repeats={"splits": SPLITS_SHARE},
)
