"""How well a draft of a rule covers the rows it is looked for on."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.describe.conditions import Condition
from mdfa_fairness_plugin.describe.sample import Feature, Sample, phi

N, N_MEMBERS = 200, 80


@pytest.fixture
def x():
    return np.random.default_rng(0).integers(0, 10, N).astype(float)


@pytest.fixture
def colour():
    return np.random.default_rng(1).integers(0, 3, N)


@pytest.fixture
def sample(x, colour):
    levels = ("blue", "green", "red")
    features = [
        Feature(column=2, name="x", kind="numeric", values=x, codes=x.astype(int), n_bins=10),
        Feature(
            column=5, name="c", kind="categorical", values=(colour, levels), codes=colour, n_bins=3
        ),
    ]
    weights = np.random.default_rng(2).integers(1, 4, N).astype(float)
    return Sample(features, N_MEMBERS, weights)


LOW = Condition(column=2, name="x", kind="numeric", high=4.0)
HIGH = Condition(column=2, name="x", kind="numeric", low=7.0)
RED = Condition(column=5, name="c", kind="categorical", levels=("red",))


def test_a_draft_covers_rows_that_meet_all_of_one_alternative(sample, x, colour):
    rule = [[LOW, RED], [HIGH]]
    np.testing.assert_array_equal(sample.covered(rule), (x <= 4) & (colour == 2) | (x > 7))
    np.testing.assert_array_equal(sample.covered(rule, (0, 1)), (x <= 4) | (x > 7))
    assert sample.covered(rule, (1, 0)).all()  # an alternative that asks for nothing
    assert not sample.covered([]).any()


def test_the_score_is_the_correlation_of_repeated_rows(sample):
    inside = np.arange(N) < N_MEMBERS
    covered = sample.covered([[LOW, RED]])
    marks = np.repeat(np.vstack([covered, inside]), sample.weights.astype(int), axis=1)
    assert sample.score(covered) == pytest.approx(np.corrcoef(marks)[0, 1])
    weight = sample.weights[:N_MEMBERS].sum(), sample.weights[N_MEMBERS:].sum()
    assert sample.totals == pytest.approx(weight)


def test_everybody_and_nobody_have_no_correlation():
    hits, misses = np.array([0.0, 3.0, 3.0, 0.0]), np.array([0.0, 7.0, 0.0, 7.0])
    assert phi(hits, misses, 3.0, 7.0).tolist() == [0.0, 0.0, 1.0, -1.0]
