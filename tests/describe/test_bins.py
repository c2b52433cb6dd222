"""The best condition on each feature."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe.bins import Bins, Features
from mdfa_fairness_plugin.describe.sample import Sample


def phi(covered, inside, weights):
    """Correlation of two marks, each row counted as often as its weight says."""
    if covered.all() or not covered.any():
        return 0.0
    marks = np.repeat(np.vstack([covered, inside]).astype(float), weights, axis=1)
    return float(np.corrcoef(marks)[0, 1])


def searched_features(n, rng):
    """Features of few values of every kind, rows with members first."""
    display = pd.DataFrame(
        {
            "few": rng.integers(0, 5, n).astype(float),
            "gaps": rng.choice([-1.5, 0.25, 8.0], n),
            "missing": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 4, n)),
            "colour": rng.choice(["red", "green", "blue", "black", "grey"], n),
            "works": rng.random(n) < 0.5,
        }
    )
    return display, Features(display).at(np.arange(n))


def test_parts_of_the_rows_are_cut_where_all_are():
    """Levels stand as these rows have them; no bin is of a level that none of them has."""
    display, _ = searched_features(60, np.random.default_rng(0))
    cut, part, words = Features(display), np.arange(7, 19)[::-1], {True: "yes", False: "no"}
    for whole, own in zip(cut.at(np.arange(60)), cut.at(part), strict=True):
        if own.numeric:
            assert np.array_equal(own.codes, whole.codes[part])
            assert np.array_equal(own.numbers, display.iloc[part, own.column], equal_nan=True)
            assert own.has_missing == display.iloc[part, own.column].isna().any()
        else:
            read = [own.levels[code] for code in own.codes]
            assert read == [words.get(level, level) for level in display.iloc[part, own.column]]
            assert own.levels == tuple(dict.fromkeys(read))


def every_condition(display, feature):
    """Rows that each condition on a feature covers, with the cost of its words."""
    x = display.iloc[:, feature.column]
    if feature.kind != "numeric":
        levels = sorted(x.unique(), key=str)
        for which in range(1, 2 ** len(levels) - 1):
            named = [level for i, level in enumerate(levels) if which >> i & 1]
            listed = min(len(named), len(levels) - len(named)) if len(levels) > 2 else 1
            yield x.isin(named).to_numpy(), 0.01 + 0.003 * (listed - 1)
        return
    known = np.unique(x[x.notna()])
    for low in range(len(known)):
        for high in range(low, len(known)):
            run = x.between(known[low], known[high]).to_numpy()
            two_ends = low > 0 and high < len(known) - 1
            for missing in (False, True) if x.isna().any() else (False,):
                if run.all() or (missing and high - low == len(known) - 1):
                    continue
                yield run | (missing & x.isna().to_numpy()), 0.01 + 0.005 * (two_ends or missing)
    if x.isna().any():
        yield x.isna().to_numpy(), 0.01


@pytest.mark.parametrize("seed", range(6))
def test_the_best_condition_is_the_best_of_all(seed):
    """All features of several sets of rows at once, against every condition one by one."""
    rng = np.random.default_rng(seed)
    n, n_members = 120, 50
    display, features = searched_features(n, rng)
    weights = rng.integers(1, 4, n)
    inside = np.arange(n) < n_members
    sets = [np.ones(n, dtype=bool), rng.random(n) < 0.6, rng.random(n) < 0.3]
    bins = Bins(Sample(features, n_members, weights.astype(float)), range(len(features)))
    totals = float(weights[inside].sum()), float(weights[~inside].sum())
    choices = bins.best(sets, (0.0, 0.0), totals)
    for i, rows in enumerate(sets):
        for j, feature in enumerate(features):
            condition = choices.condition(i, j)
            values = feature.values if feature.numeric else (feature.codes, feature.levels)
            covered = condition.met_by(values) & rows
            assert choices.raw[i, j] == pytest.approx(phi(covered, inside, weights))
            best = max(
                phi(meets & rows, inside, weights) - cost
                for meets, cost in every_condition(display, feature)
            )
            assert choices.raw[i, j] - choices.cost[i, j] == pytest.approx(best)
