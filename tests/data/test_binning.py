"""Groups of numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import InputError

AGES = [17, 18, 24, 25, 44, 45, 90]


@pytest.mark.parametrize(
    ("values", "bins", "groups"),
    [
        (
            AGES,
            [18, 25, 45],
            ["under 18", *["18 to 24"] * 2, *["25 to 44"] * 2, *["45 or more"] * 2],
        ),
        ([1.5, 2.0, 2.5], [2, 2.5], ["under 2", "2 to under 2.5", "2.5 or more"]),
        ([1, 2, 3], [2, 3], ["under 2", "2", "3 or more"]),
        ([1, None, 30], [18, 25, 45], ["under 18", None, "25 to 44"]),
        (["1,5", "2,5", "3,5"], [2], ["under 2", "2 or more", "2 or more"]),
        (range(1, 9), 4, ["under 3"] * 2 + ["3 to 4"] * 2 + ["5 to 6"] * 2 + ["7 or more"] * 2),
    ],
)
def test_groups_are_named_by_their_ends(values, bins, groups):
    found = mdfa.to_groups(values, bins)
    assert [None if pd.isna(one) else one for one in found] == groups
    assert found.cat.ordered
    assert set(found.cat.categories) == {one for one in groups if one}


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_about_equal_size(seed):
    """No cut between the numbers comes nearer to a third of them."""
    numbers = np.random.default_rng(seed).integers(0, 40, 500)
    below = np.cumsum(mdfa.to_groups(numbers, 3).value_counts(sort=False))[:2] / 500
    possible = np.array([(numbers < cut).mean() for cut in range(40)])
    for share, found in zip((1 / 3, 2 / 3), below, strict=True):
        assert abs(found - share) == pytest.approx(np.abs(possible - share).min())


def test_ties_make_fewer_groups():
    assert mdfa.to_groups([0] * 90 + [1] * 10, 4).value_counts().to_dict() == {
        "under 1": 90,
        "1 or more": 10,
    }


def test_names_and_index_are_kept():
    ages = pd.Series(AGES, index=list("abcdefg"), name="age")
    found = mdfa.to_groups(ages, [25])
    assert found.index.equals(ages.index)
    assert found.name == "age"
    assert mdfa.to_groups(pl.Series("age", AGES), [25]).name == "age"


@pytest.mark.parametrize(
    ("values", "bins", "message"),
    [
        (AGES, [25, 18], "bins: ascending numbers"),
        (AGES, [], "bins: ascending numbers"),
        (AGES, 1, "bins: a whole number of groups of at least 2"),
        (AGES, "25", "bins: ascending numbers or a number of groups"),
        ([3] * 9, 4, "bins: 4 groups of about equal size cannot be made"),
        (["a", "b"], [1], "values: numbers expected, categorical values found"),
        ([None, None], [1], "values: no number is known"),
    ],
)
def test_what_makes_no_groups_is_refused(values, bins, message):
    with pytest.raises(InputError, match=message):
        mdfa.to_groups(values, bins)


@pytest.mark.parametrize("kind", [int, float, str])
def test_many_numbers_are_no_groups_of_people(data, kind):
    """Ages are asked to be grouped, of any type and however few are missing; codes are not."""
    X, y, _ = data
    age = pd.Series(np.arange(300) % 42 + 18, name="age").astype(kind)
    with pytest.raises(
        InputError, match=r"to_groups\(age, \[28, 39, 49\]\) or to_groups\(age, 4\)"
    ):
        build_problem(X, y, age)
    groups = mdfa.to_groups(age, [28, 39, 49])
    assert len(build_problem(X, y, groups).contrasts) == 4
    with pytest.warns(UserWarning, match="age"):
        assert len(build_problem(X, y, age.astype("category")).contrasts) == 42
