"""P-values and their adjustment, against what is known of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from mdfa_fairness_plugin.measure.tests import (
    chosen_p_value,
    holm,
    search_spread,
)


@pytest.mark.parametrize(
    ("n_parts", "variance"),
    [
        (2, 1 + 1 / math.pi),
        (3, 1 + 2 / (math.pi * math.sqrt(3))),
        (5, 1 + 4 / (math.pi * math.sqrt(7))),
        (10, 1 + 9 / (math.pi * math.sqrt(17))),
    ],
)
def test_spread_of_a_searched_region_worked_by_hand(n_parts, variance):
    assert search_spread(n_parts) ** 2 == pytest.approx(variance)


def test_rows_kept_aside_are_judged_in_two_halves_at_least():
    assert search_spread(0) == search_spread(1) == search_spread(2)


@pytest.mark.parametrize(
    ("n_parts", "share"), [(2, 0.5), (5, 0.5), (10, 0.5), (5, 0.2), (5, 0.05), (10, 0.2)]
)
def test_spread_of_a_searched_region_is_that_of_its_cells(n_parts, share):
    """Simulated: 200 cells of coins, each inside for a part if the others' sum is among the largest.

    Of 4,000 draws a standard deviation has an error of .011 of itself; bounds are four of these. Each
    part's own statistic is standard normal.
    """
    rng = np.random.default_rng(n_parts)
    sums = rng.normal(size=(4000, n_parts, 200))
    least = math.sqrt(n_parts - 1) * norm.isf(share)
    inside = sums.sum(axis=1, keepdims=True) - sums > least
    z = (sums * inside).sum(axis=(1, 2)) / np.sqrt(inside.sum(axis=(1, 2)))
    assert z.std() == pytest.approx(search_spread(n_parts, share), rel=4 / math.sqrt(2 * 4000))
    own = (sums * inside)[:, 0].sum(axis=1) / np.sqrt(inside[:, 0].sum(axis=1))
    assert own.std() == pytest.approx(1.0, rel=4 / math.sqrt(2 * 4000))


def test_where_the_leak_is_plain_and_of_everybody_there_is_no_spread():
    """One cell with a leak of z: inside for nearly every draw, so luck has no say."""
    rng = np.random.default_rng(1)
    for z, expected in ((1.0, 0.2), (3.0, 0.2)):
        sums = rng.normal(size=(400_000, 5)) + z / math.sqrt(5)
        least = math.sqrt(4) * norm.isf(expected)
        inside = sums.sum(axis=1, keepdims=True) - sums > least
        errors = ((sums - z / math.sqrt(5)) * inside).sum(axis=1)
        assert errors.var() / inside.mean() / 5 == pytest.approx(
            search_spread(5, expected, z) ** 2, rel=0.02
        )
    assert search_spread(5, 1.0) == 1.0
    assert search_spread(5, 0.2, 5.0) == pytest.approx(1.0, abs=0.001)


# -- the larger of two statistics


@pytest.mark.parametrize("correlation", [0.0, 0.25, 0.5, 0.9, 0.999])
def test_orthant_probabilities_are_sheppards(correlation):
    """Both above zero: 1/4 + asin(r) / (2 pi), a third of all at one half."""
    expected = 0.25 + math.asin(correlation) / (2 * math.pi)
    assert chosen_p_value(0.0, correlation) == pytest.approx(1 - expected, abs=1e-9)


@pytest.mark.parametrize("z", [-3.0, 0.0, 1.6, 3.0, 8.0, 20.0])
def test_statistics_that_are_one_or_have_nothing_in_common(z):
    p = norm.sf(z)
    assert chosen_p_value(z, 1.0) == pytest.approx(p, rel=1e-12)
    assert chosen_p_value(z, 0.0) == pytest.approx(2 * p - p**2, rel=1e-6)


@pytest.mark.parametrize("z", [0.5, 1.96, 2.6])
@pytest.mark.parametrize("correlation", [0.2, 0.7, 0.95])
def test_the_larger_of_two_statistics_as_drawn(z, correlation):
    """400,000 pairs; bounds are four standard errors."""
    one, two = np.random.default_rng(0).normal(size=(2, 400_000))
    other = correlation * one + math.sqrt(1 - correlation**2) * two
    drawn = np.mean(np.maximum(one, other) >= z)
    error = math.sqrt(drawn * (1 - drawn) / 400_000)
    assert chosen_p_value(z, correlation) == pytest.approx(drawn, abs=4 * error)


def test_a_chosen_p_value_is_between_one_test_and_two_and_falls_with_both():
    values = np.array(
        [[chosen_p_value(z, r) for r in (0, 0.5, 0.9, 0.99, 1)] for z in np.linspace(-2, 9, 12)]
    )
    single = norm.sf(np.linspace(-2, 9, 12))[:, None]
    assert (values >= single * (1 - 1e-9)).all()
    assert (values <= 2 * single * (1 + 1e-9)).all()
    assert (np.diff(values, axis=0) < 0).all()
    assert (np.diff(values, axis=1) <= 1e-9 * single).all()


# -- families


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.04, 0.01, 0.03, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.02, 0.02], [0.04, 0.04]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.03], [0.03]),
        ([np.nan, 0.03, np.nan, 0.001], [np.nan, 0.03, np.nan, 0.002]),
        ([np.nan], [np.nan]),
        ([], []),
    ],
)
def test_holms_adjustment_worked_by_hand(given, expected):
    np.testing.assert_allclose(holm(np.array(given)), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "names", "expected"),
    [
        # Two hypotheses, each seen from two sides: factors 2 and 1.
        ([0.01, 0.02, 0.03, 0.04], "abab", [0.02, 0.02, 0.06, 0.04]),
        # The smaller of a pair tests its hypothesis, and the larger has the same factor.
        ([0.04, 0.01, 0.01, 0.04], "abba", [0.04, 0.02, 0.02, 0.04]),
        ([0.03, 0.5], "aa", [0.03, 0.5]),
        ([0.03, 0.02, 0.2], "aab", [0.06, 0.04, 0.2]),
        # What comes later is never adjusted to less than what came before.
        ([0.03, 0.9, 0.031], "aab", [0.06, 1.0, 0.06]),
        ([0.01, 0.02, 0.03, 0.04], "abcd", [0.04, 0.06, 0.06, 0.06]),
        ([np.nan, 0.03, 0.001, np.nan], "abab", [np.nan, 0.03, 0.002, np.nan]),
        ([np.nan, 0.03], "ab", [np.nan, 0.03]),
        ([0.03, np.nan], [None, None], [0.03, np.nan]),
        ([], "", []),
    ],
)
def test_searches_for_one_thing_count_once(given, names, expected):
    np.testing.assert_allclose(holm(np.array(given), list(names)), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_hypotheses_keep_order_and_names_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    p, names = rng.random(12) ** 3, rng.integers(0, 5, 12)
    adjusted = holm(p, names.tolist())
    assert (adjusted >= p).all()
    np.testing.assert_array_equal(adjusted, holm(p, [f"h{-name}" for name in names]))
    order = rng.permutation(12)
    np.testing.assert_allclose(holm(p[order], names[order].tolist()), adjusted[order])
    firsts = np.array([p[names == name].min() for name in np.unique(names)])
    expected = holm(firsts)
    for name, least, one in zip(np.unique(names), firsts, expected, strict=True):
        own = names == name
        assert adjusted[own][p[own] == least] == pytest.approx(one)


def test_a_pair_of_mirrored_tests_keeps_the_family_wise_error():
    """Two hypotheses, each tested from both of its sides by the same two-sided p-value."""
    p = np.repeat(np.random.default_rng(5).random((4000, 2)), 2, axis=1)
    share = np.mean([(holm(row, list("aabb")) < 0.05).any() for row in p])
    assert share == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values_keep_the_order_and_are_never_smaller(seed):
    p = np.random.default_rng(seed).random(9) ** 3
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    assert (adjusted <= np.minimum(1, 9 * p) + 1e-12).all()


def test_holm_keeps_the_family_wise_error():
    """Four independent tests of true nulls, 20,000 families: at most 5 % have a rejection."""
    p = np.random.default_rng(3).random((4000, 4))
    share = np.mean([(holm(row) < 0.05).any() for row in p])
    assert share == pytest.approx(0.05, abs=0.012)
