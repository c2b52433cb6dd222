"""Whose row each is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.clusters import read_clusters
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import InputError, SmallGroupWarning

N_ROWS = 240


def _alike(cluster):
    """Whether two rows are of one cluster, for all pairs."""
    return cluster[:, np.newaxis] == cluster


@pytest.mark.parametrize(
    "given",
    [[7, 3, 7], ["b", "a", "b"], pd.Categorical(["b", "a", "b"]), [1.5, "x", 1.5], [True, 2, True]],
)
def test_ids_of_any_kind_tell_whose_row_it_is(given):
    np.testing.assert_array_equal(read_clusters(pd.Series(given).array), [0, 1, 0])


def test_an_id_is_one_person_as_text_or_number():
    given = np.array(["7", "a", 7, 7.0, "8", "a", 8], dtype=object)
    np.testing.assert_array_equal(read_clusters(given), [0, 1, 0, 0, 2, 1, 2])


def test_ids_of_their_own_are_no_clusters(sample, assert_same):
    X, y, sex = sample()
    one_each = build_problem(X, y, sex, clusters=np.arange(N_ROWS))
    assert one_each.cluster is None
    assert_same(one_each, build_problem(X, y, sex))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([None, *range(239)], r"clusters: 1 of 240 rows have no value"),
        ([np.nan, 1.0] * 120, r"clusters: 120 of 240 rows have no value"),
        ([1] * 240, r"clusters: all rows are of one cluster"),
        (range(239), r"clusters: 239 rows were given, but X has 240"),
        (np.ones((240, 2)), r"clusters: 2 columns were given"),
        (pd.Series(range(240), index=range(1, 241)), r"clusters: its index differs from that of X"),
        ([[1]] * 239 + [[1, 2]], r"clusters"),
    ],
)
def test_bad_clusters_are_refused_by_name(given, message, sample):
    X, y, sex = sample()
    with pytest.raises(InputError, match=message):
        build_problem(X, y, sex, clusters=given)


def test_clusters_follow_their_index_and_their_rows(rng, sample):
    X, y, sex = sample()
    people = pd.Series(rng.integers(0, 150, N_ROWS))
    expected = build_problem(X, y, sex, clusters=people)
    np.testing.assert_array_equal(
        _alike(expected.cluster), _alike(people.to_numpy()[expected.source_row])
    )
    by_index = build_problem(X, y, sex, clusters=people.sample(frac=1, random_state=0))
    np.testing.assert_array_equal(by_index.cluster, expected.cluster)
    renamed = build_problem(X, y, sex, clusters="p" + people.astype(str))
    np.testing.assert_array_equal(renamed.cluster, expected.cluster)
    order = rng.permutation(N_ROWS)
    shuffled = build_problem(X.iloc[order], y[order], sex.iloc[order], clusters=people.iloc[order])
    np.testing.assert_array_equal(shuffled.cluster, expected.cluster)
    np.testing.assert_array_equal(order[shuffled.source_row], expected.source_row)


def test_rows_without_weight_are_nobodys(sample):
    X, y, sex = sample()
    people = [None, *(np.arange(1, N_ROWS) // 2)]
    problem = build_problem(X, y, sex, clusters=people, sample_weight=[0] + [1] * (N_ROWS - 1))
    assert problem.cluster.max() == N_ROWS // 2 - 1


def test_a_side_of_few_people_is_not_audited(sample):
    X, y, sex = sample()
    place = sex.groupby(sex).cumcount().to_numpy()
    people = np.where(sex == sex.iloc[0], place % 29, 1000 + place)
    with pytest.warns(SmallGroupWarning, match=r"only 29 cluster"):
        problem = build_problem(X, y, sex, clusters=people)
    for contrast in problem.contrasts:
        assert "only 29 clusters have" in contrast.reason
        assert "at least 30 are needed" in contrast.reason
