"""Who is comparable to one person."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mdfa_fairness_plugin.person.comparators import (
    CALIPER,
    around,
    nearest,
    private_size,
    squared_distance,
)


def feature(*columns):
    return SimpleNamespace(encoded_columns=columns)


def test_distance_worked_by_hand():
    """Ages 20, 30, 40 (deviation 8.16) and a town of two columns (deviation 0.47 each)."""
    X = np.array([[20.0, 1, 0], [30, 1, 0], [40, 0, 1]])
    found = squared_distance(X, X[0], [feature(0), feature(1, 2)])
    age = np.array([0, 100, 400]) / (200 / 3)
    town = np.array([0, 0, 1]) / (2 / 9)
    np.testing.assert_allclose(found, (age + town) / 2)


@pytest.mark.parametrize("d", [1, 4, 20])
def test_two_people_at_random_are_at_two_whatever_the_features(d):
    rng = np.random.default_rng(d)
    X = np.hstack([rng.normal(size=(3000, d)) * 7, np.eye(5)[rng.integers(0, 5, 3000)]])
    displays = [*(feature(i) for i in range(d)), feature(*range(d, d + 5))]
    pairs = [squared_distance(X, X[i], displays).mean() for i in range(40)]
    assert np.mean(pairs) == pytest.approx(2.0, abs=0.4)


def test_units_constant_columns_and_how_a_category_is_coded_do_not_matter():
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=200), rng.integers(0, 2, 200)
    one = np.column_stack([x, c])
    two = np.column_stack([1000 * x + 5, c, 1 - c, np.ones(200)])
    np.testing.assert_allclose(
        squared_distance(one, one[3], [feature(0), feature(1)]),
        squared_distance(two, two[3], [feature(0), feature(1, 2)]),
    )


def test_nearest_come_in_order_and_stay_within_the_caliper():
    distance = np.array([0.5, 0.0, CALIPER, CALIPER + 1e-9, 0.2])
    offered = np.array([True, False, True, True, True])
    assert nearest(distance, offered).tolist() == [4, 0, 2]
    assert len(nearest(distance, np.zeros(5, dtype=bool))) == 0


def test_surroundings_are_half_as_many_of_the_highest_scores():
    member = np.array([True, True, False, False, False])
    scores = np.array([9.0, 8.0, 1.0, 3.0, 2.0])
    assert around(member, scores).tolist() == [True, True, False, True, False]
    assert not around(np.zeros(5, dtype=bool), scores).any()


def test_rows_that_tie_in_score_are_all_in_the_surroundings_or_none():
    member = np.array([True, True, False, False, False])
    assert around(member, np.array([9.0, 8.0, 3.0, 3.0, 2.0])).tolist() == [True] * 4 + [False]


def test_rows_sorted_by_what_they_got_do_not_favour_an_outcome():
    """A thousand people alike, those with the outcome first: of the nearest, half have it."""
    positive = np.repeat([True, False], 500)
    found = nearest(np.zeros(1000), np.ones(1000, dtype=bool))
    assert positive[found[:200]].mean() == pytest.approx(0.5, abs=0.1)
    np.testing.assert_array_equal(found, nearest(np.zeros(1000), np.ones(1000, dtype=bool)))


def sides(n):
    return [np.arange(k * n, (k + 1) * n) for k in (0, 1)]


def test_counts_grow_until_none_is_small():
    """Every tenth has the outcome: 11 of either kind need 110 people, so the next size is 200."""
    positive = np.arange(2000) % 10 == 0
    assert private_size(positive, sides(1000), 5, 11) == 200
    assert private_size(positive, sides(1000), 300, 11) == 300
    assert private_size(positive, sides(1000), 5, 1) == 5
    assert private_size(positive, sides(1000), 5, 0) == 5


def test_counts_that_stay_small_give_no_size():
    assert private_size(np.zeros(2000, dtype=bool), sides(1000), 5, 11) is None
    assert private_size(np.arange(40) % 2 == 0, sides(20), 5, 11) is None
    assert private_size(np.arange(44) % 2 == 0, sides(22), 5, 11) == 25
    assert private_size(np.arange(44) % 2 == 0, sides(22), 5, 11, sides(22)) is None
    none = [np.empty(0, dtype=int)] * 2
    assert private_size(np.zeros(3, dtype=bool), none, 5, 11) is None


def test_people_come_once_with_the_nearest_of_their_rows():
    distance = np.array([0.5, 0.0, 0.3, 0.4, 0.2])
    cluster = np.array([0, 1, 1, 0, 2])
    everybody = np.ones(5, dtype=bool)
    assert nearest(distance, everybody, cluster).tolist() == [1, 4, 3]
    assert nearest(distance, np.arange(5) != 1, cluster).tolist() == [4, 2, 3]
