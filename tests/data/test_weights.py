"""Weights count rows or say how many people a row stands for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.data.weights import WeightSums
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError, WarningLog
from mdfa_fairness_plugin.settings import Settings

N_ROWS = 240


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_counts_of_rows_act_like_repeated_rows(seed, discrete, sample):
    X, y, sex = sample(seed, discrete=discrete)
    X.loc[::7, "age"] = np.nan
    copies = np.random.default_rng(seed).integers(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), copies)
    weighted = build_problem(X, y, sex, sample_weight=copies, weight_type="frequency")
    repeated = build_problem(
        X.iloc[rows].reset_index(drop=True),
        y[rows],
        sex.iloc[rows].reset_index(drop=True),
        weight_type="frequency",
    )
    assert weighted.weight_type == "frequency"
    assert weighted.excluded == {"zero weight": int((copies == 0).sum())}
    assert weighted.n_samples == N_ROWS
    assert repeated.weight_type == "none"
    for name in ("X", "y", "sample_weight"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))
    np.testing.assert_array_equal(weighted.contrasts[0].s, repeated.contrasts[0].s)
    pd.testing.assert_frame_equal(weighted.display, repeated.display)
    np.testing.assert_array_equal(
        X["age"].to_numpy()[weighted.source_row], X["age"].to_numpy()[rows][repeated.source_row]
    )


@pytest.mark.parametrize("scale", [1, 0.37])
def test_rows_of_weight_zero_are_absent(rng, scale, sample, assert_same):
    """Whatever they hold: a missing outcome, an infinite value, a level no other row has."""
    X, y, sex = sample()
    weight = scale * rng.integers(1, 4, N_ROWS)
    expected = build_problem(X, y, sex, sample_weight=weight)
    extra = pd.DataFrame({"age": [np.inf, 0.0], "town": ["Z", "A"]})
    with_zeros = build_problem(
        pd.concat([X, extra], ignore_index=True),
        [*y.tolist(), None, "undecided"],
        [*sex, None, "x"],
        sample_weight=[*weight, 0, 0],
    )
    assert_same(with_zeros, expected, hashes=False)
    assert with_zeros.excluded == {"zero weight": 2}
    assert with_zeros.n_samples == N_ROWS + 2


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([-1.0] + [1.0] * 239, "1 of 240 weights are negative, the first at row 0"),
        ([1.0, np.nan] + [1.0] * 238, "1 of 240 weights are missing, the first at row 1"),
        ([1.0, None] + [1.0] * 238, "1 of 240 weights are missing, the first at row 1"),
        ([np.inf] + [1.0] * 239, "1 of 240 weights are infinite"),
        ([0] * 240, "every weight is zero"),
        (["1"] * 240, "categorical values were given"),
        (pd.date_range("2020", periods=240), "datetime values were given"),
        (np.ones((240, 2)), "2 columns"),
    ],
)
def test_weights_are_checked(weight, message, sample):
    X, y, sex = sample()
    with pytest.raises(InputError, match=f"sample_weight: .*{message}"):
        build_problem(X, y, sex, sample_weight=weight)
    with pytest.raises(InputTypeError, match=r"sample_weight: 2\.0 was given"):
        build_problem(X, y, sex, sample_weight=2.0)


def test_sampling_weights_have_mean_one(rng, sample):
    X, y, sex = sample()
    weight = rng.random(N_ROWS) * 1000
    weight[:10] = 0
    problem = build_problem(X, y, sex, sample_weight=weight)
    assert problem.weight_type == "sampling"
    assert problem.sample_weight.mean() == pytest.approx(1)
    assert problem.n_rows == N_ROWS - 10
    np.testing.assert_allclose(
        problem.sample_weight, weight[problem.source_row] / weight[10:].mean()
    )


@pytest.mark.parametrize("factor", [1e-300, 7.3, 1e300])
def test_the_unit_of_sampling_weights_does_not_matter(rng, factor, sample):
    X, y, sex = sample()
    weight = rng.random(N_ROWS) + 0.1
    expected = build_problem(X, y, sex, sample_weight=weight)
    other = build_problem(X, y, sex, sample_weight=weight * factor, weight_type="sampling")
    np.testing.assert_allclose(other.sample_weight, expected.sample_weight, rtol=1e-12)


def test_weights_of_one_are_none(sample, assert_same):
    X, y, sex = sample()
    expected = build_problem(X, y, sex)
    for ones in (np.ones(N_ROWS), np.ones(N_ROWS, int), [True] * N_ROWS, pl.Series([1] * N_ROWS)):
        assert_same(build_problem(X, y, sex, sample_weight=ones), expected)


def test_whole_weights_are_sampling_weights_unless_they_are_said_to_count(sample):
    X, y, sex = sample()
    weight = 1 + np.arange(N_ROWS) % 5
    log = WarningLog()
    problem = build_problem(X, y, sex, sample_weight=weight, log=log)
    assert problem.weight_type == "sampling"
    assert problem.n_rows == N_ROWS
    (note,) = [one for one in log.records if one.category == "WholeWeights"]
    assert "weight_type='frequency'" in note.message
    counted = build_problem(X, y, sex, sample_weight=weight, weight_type="frequency")
    assert counted.n_rows == weight.sum()
    fractions = build_problem(X, y, sex, sample_weight=weight / 7)
    np.testing.assert_allclose(fractions.sample_weight, problem.sample_weight, rtol=1e-12)
    assert not [one for one in fractions.warnings if one.category == "WholeWeights"]


def test_equal_weights_are_none(sample, assert_same):
    X, y, sex = sample()
    assert_same(build_problem(X, y, sex, sample_weight=[3] * N_ROWS), build_problem(X, y, sex))


def test_the_old_word_for_sampling_still_works(sample):
    with pytest.warns(FutureWarning, match=r"weight_type='auto' means 'sampling'"):
        assert Settings.checked(weight_type="auto").weight_type == "sampling"


def test_counts_must_be_whole(sample):
    X, y, sex = sample()
    with pytest.raises(InputError, match=r"sample_weight: .*needs whole numbers, and 1\.5 was"):
        build_problem(X, y, sex, sample_weight=[1.5] * N_ROWS, weight_type="frequency")
    problem = build_problem(X, y, sex, sample_weight=[2] * N_ROWS, weight_type="sampling")
    assert (problem.weight_type, problem.n_rows) == ("none", N_ROWS)


@pytest.mark.parametrize("cut", [0, 1, 4])
def test_sums_of_blocks_are_those_of_all_rows(cut):
    values = np.array([0.0, 2.0, 0.5, np.nan, -1.0, np.inf, 3.0])
    whole = WeightSums.of(values)
    assert WeightSums.of(values[:cut]) + WeightSums.of(values[cut:]) == whole
    assert whole == WeightSums(
        n_rows=7,
        n_zero=1,
        n_wrong={"missing": 1, "infinite": 1, "negative": 1},
        total=5.5,
        least=0.5,
        most=3.0,
        fraction=0.5,
    )


@pytest.mark.parametrize(
    ("values", "asked", "weight_type"),
    [
        ([1, 1, 0], "sampling", "none"),
        ([3, 3, 0], "sampling", "none"),
        ([1, 1, 0], "frequency", "frequency"),
        ([2, 1, 0], "sampling", "sampling"),
        ([2, 1.5], "sampling", "sampling"),
        ([1_000_000, 1], "sampling", "sampling"),
        ([1_000_000, 1], "frequency", "frequency"),
    ],
)
def test_what_weights_are(values, asked, weight_type):
    assert WeightSums.of(np.array(values, dtype=float)).weight_type(asked) == weight_type


def test_wrong_weights_are_placed_where_they_are_at_hand():
    values = np.array([1.0, 2.0, -1.0])
    with pytest.raises(InputError, match=r"1 of 3 weights are negative, the first at row 2\. "):
        WeightSums.of(values).weight_type("sampling", values)
    with pytest.raises(InputError, match=r"1 of 3 weights are negative\. "):
        WeightSums.of(values).weight_type("sampling")


def test_counts_beyond_all_memory_are_refused(sample):
    X, y, sex = sample()
    with pytest.raises(InputError, match=r"sample_weight: counts that sum"):
        build_problem(X, y, sex, sample_weight=[10**15] * N_ROWS, weight_type="frequency")
