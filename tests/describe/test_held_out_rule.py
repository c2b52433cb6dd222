"""The rule of a subgroup that was found fold by fold."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe.held_out_rule import describe_held_out
from mdfa_fairness_plugin.describe.rules import describe_rule


def people(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "score": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
        }
    )


def folds(n, k=5):
    return np.arange(n) % k


def test_a_plain_rule_is_found_by_every_fold_and_fits_held_out():
    display = people()
    inside = ((display.age < 40) & (display.colour == "red")).to_numpy()
    found = describe_held_out(inside, display, folds(1000))
    assert found.rule.text == "age at most 39 and colour is red"
    assert found.rule.precision > 0.95
    assert found.rule.recall > 0.95
    assert (found.covered == inside).mean() > 0.98


def test_the_printed_rule_is_the_one_of_all_rows():
    display = people()
    inside = (display.score > 0.4).to_numpy() ^ (np.arange(1000) % 19 == 0)
    held_out = describe_held_out(inside, display, folds(1000))
    plain = describe_rule(inside, display)[0]
    assert held_out.rule.alternatives == plain.alternatives
    assert held_out.rule.text == plain.text
    assert held_out.n_printed == plain.applies(display).sum() != held_out.covered.sum()


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_that_only_fits_its_own_rows_is_not_given(seed):
    """Few rows and many features: noise has a rule in its own rows, but not in others."""
    rng = np.random.default_rng(seed)
    display = pd.DataFrame(rng.normal(size=(60, 15))).add_prefix("x")
    inside = rng.random(60) < 0.3
    assert describe_rule(inside, display)[0].fidelity > 0.7  # what would have been printed
    found = describe_held_out(inside, display, folds(60))
    assert found.rule.text == "" or found.rule.fidelity < 0.75
    if not found.rule.text:
        assert math.isnan(found.rule.fidelity)
        assert not found.covered.any()


def test_fit_held_out_is_below_fit_on_the_rows_learned_from():
    gaps = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        display = people(200, seed)
        inside = (display.score + rng.normal(size=200) > 0.5).to_numpy()
        own = describe_rule(inside, display)[0].fidelity
        gaps.append(own - describe_held_out(inside, display, folds(200)).rule.fidelity)
    assert np.nanmean(gaps) > 0.02


@pytest.mark.parametrize("parts", [2, 5])
def test_what_other_parts_models_say_does_not_change_whom_the_rule_covers(parts):
    """Only the model of a part knows nothing of its outcomes, so only that one counts there."""
    display = people()
    part = folds(1000, parts)
    inside = (display.score > 0.5).to_numpy()
    shifted = np.where(part == 0, inside, display.score > 0.8)
    one = describe_held_out(inside, display, part)
    two = describe_held_out(shifted, display, part)
    assert one.rule.n_conditions == two.rule.n_conditions == 1
    np.testing.assert_array_equal(one.covered[part == 0], two.covered[part == 0])
    assert (one.covered != two.covered)[part != 0].any()


def test_rows_are_covered_by_what_was_told_of_them_and_the_printed_rule_is_of_the_members():
    """Members are averages over repeats; only the first knows nothing of the outcomes of a part."""
    display = people()
    members = (display.score > 0.5).to_numpy()
    told = (display.score > 0.2).to_numpy()
    found = describe_held_out(members, display, folds(1000), told=told)
    of_members = describe_held_out(members, display, folds(1000))
    assert found.rule == of_members.rule
    assert found.rule.n_conditions == 1
    np.testing.assert_array_equal(
        found.covered, describe_held_out(told, display, folds(1000)).covered
    )
    other = np.where(folds(1000) == 0, told, members)
    again = describe_held_out(members, display, folds(1000), told=other)
    own = folds(1000) == 0
    np.testing.assert_array_equal(again.covered[own], found.covered[own])
    np.testing.assert_array_equal(again.covered[~own], of_members.covered[~own])


def test_everybody_nobody_and_tiny_parts():
    display = people(40)
    everybody = describe_held_out(np.ones(40, dtype=bool), display, folds(40))
    assert everybody.rule.text == "everybody"
    assert everybody.covered.all()
    nobody = describe_held_out(np.zeros(40, dtype=bool), display, folds(40))
    assert nobody.rule.text == "nobody"
    assert not nobody.covered.any()
    one = np.zeros(40, dtype=bool)
    one[3] = True
    assert not describe_held_out(one, display, folds(40)).covered.any()


def test_rules_in_one_held_out_part_are_the_printed_rule():
    """After a 70/30 split the model saw none of the rows, so one rule serves for all."""
    display = people()
    inside = (display.score > 0.5).to_numpy() ^ (np.arange(1000) % 23 == 0)
    found = describe_held_out(inside, display, np.full(1000, -1))
    np.testing.assert_array_equal(found.covered, found.rule.applies(display))


def noise_search(seed, n=500):
    """Region of each fold by a smooth of the other folds' residual products, on pure noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    s, y = rng.choice([-1, 1], size=(2, n))
    part = np.arange(n) % 5
    near = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * 0.3**2))
    near *= part[:, None] != part[None]
    score = near @ (s * y) / near.sum(axis=1)
    return pd.DataFrame(X, columns=["u", "v"]), s * y, score >= np.quantile(score, 0.7), part


def test_on_noise_the_rule_measures_nothing_while_a_rule_of_all_rows_does():
    """Without a violation the products have mean zero in any set chosen without them."""
    z: dict[str, list[float]] = {"all rows": [], "held out": []}
    for seed in range(40):
        display, product, inside, part = noise_search(seed)
        found = describe_held_out(inside, display, part)
        if not found.rule.text:
            continue
        for name, rows in (
            ("all rows", found.rule.applies(display)),
            ("held out", found.covered),
        ):
            z[name].append(product[rows].sum() / math.sqrt(max(rows.sum(), 1)))
    assert len(z["held out"]) >= 25
    assert np.mean(z["all rows"]) > 0.8
    # Standard error of the mean: 1.2 / sqrt(40), about 0.19.
    assert abs(np.mean(z["held out"])) < 0.5
    assert np.std(z["held out"]) < 1.5


@pytest.mark.parametrize("n_parts", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_a_frame_are_described_as_a_frame_of_these_rows(n_parts, weighted):
    display = people(3000)
    rng = np.random.default_rng(1)
    inside = ((display.age < 40) & (display.colour == "red")).to_numpy() ^ (rng.random(3000) < 0.1)
    rows = np.sort(rng.choice(3000, 1500, replace=False))
    weights = rng.lognormal(size=1500) if weighted else None
    part = folds(1500, n_parts) - 1
    taken = describe_held_out(inside[rows], display.iloc[rows], part, sample_weight=weights)
    passed = describe_held_out(inside[rows], display, part, rows=rows, sample_weight=weights)
    assert taken.rule == passed.rule
    np.testing.assert_array_equal(taken.covered, passed.covered)
    assert passed.covered.any()
