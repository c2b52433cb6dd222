"""The subgroup beside the population."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe.profile import profile_subgroup

DISPLAY = pd.DataFrame(
    {
        "age": [20.0, 30.0, 40.0, 50.0, np.nan, 99.0],
        "sex": ["F", "M", "M", "(missing)", "F", "F"],
    }
)
S = np.array([1, 1, -1, -1, -1, 0])
INSIDE = np.array([True, False, True, True, True, True])


def test_profile_matches_a_table_worked_by_hand():
    table = profile_subgroup(
        DISPLAY,
        S,
        INSIDE,
        group="A",
        outcome=np.array([1, 0, 1, 0, 0, 1], dtype=bool),
        outcome_name="high risk",
    )
    assert table.columns.tolist() == [
        ("population", "A"),
        ("population", "everyone else"),
        ("subgroup", "A"),
        ("subgroup", "everyone else"),
        ("difference", "standardised"),
    ]
    nan = np.nan
    # Inside: rows 0, 2, 3, 4 (ages 20, 40, 50; F, M, missing, F); outside: row 1 (30; M).
    age = (110 / 3 - 30) / np.sqrt((1400 / 9 + 0) / 2)
    female = 0.5 / np.sqrt(0.25 / 2)
    male = -0.75 / np.sqrt(0.25 * 0.75 / 2)
    missing = 0.25 / np.sqrt(0.25 * 0.75 / 2)
    expected = {
        ("(rows)", "", "count"): [2, 3, 1, 3, nan],
        ("high risk", "", "share"): [1 / 2, 1 / 3, 1, 1 / 3, 0.5 / np.sqrt(0.25 / 2)],
        # The sexes differ most (2.4 standard deviations), so they come before age.
        ("sex", "F", "share"): [1 / 2, 1 / 3, 1, 1 / 3, female],
        ("sex", "M", "share"): [1 / 2, 1 / 3, 0, 1 / 3, male],
        ("sex", "(missing)", "share"): [0, 1 / 3, 0, 1 / 3, missing],
        ("age", "", "mean"): [25, 45, 20, 45, age],
        ("age", "", "sd"): [np.sqrt(50), np.sqrt(50), nan, np.sqrt(50), nan],
        ("age", "(missing)", "share"): [0, 1 / 3, 0, 1 / 3, missing],
    }
    assert table.index.tolist() == list(expected)
    np.testing.assert_allclose(table.to_numpy(), np.array(list(expected.values())), atol=1e-12)


def test_rows_taking_no_part_do_not_matter():
    kept = S != 0
    full = profile_subgroup(DISPLAY, S, INSIDE, group="A")
    part = profile_subgroup(DISPLAY[kept], S[kept], INSIDE[kept], group="A")
    pd.testing.assert_frame_equal(full, part)


def test_equal_weights_give_the_usual_mean_and_deviation():
    rng = np.random.default_rng(0)
    display = pd.DataFrame({"x": rng.normal(size=50)})
    s = np.repeat([1, -1], 25)
    inside = np.ones(50, dtype=bool)
    table = profile_subgroup(display, s, inside, group=1, sample_weight=np.full(50, 3.0))
    assert table.loc[("x", "", "mean")].iloc[0] == pytest.approx(display["x"][:25].mean())
    assert table.loc[("x", "", "sd")].iloc[0] == pytest.approx(display["x"][:25].std())


def test_weights_shift_shares():
    display = pd.DataFrame({"c": ["a", "b", "a", "b"]})
    s = np.array([1, 1, -1, -1])
    weight = np.array([3.0, 1.0, 1.0, 1.0])
    table = profile_subgroup(display, s, np.ones(4, dtype=bool), group=1, sample_weight=weight)
    assert table.loc[("c", "a", "share")].tolist()[:4] == [0.75, 0.5, 0.75, 0.5]


def test_an_empty_subgroup_is_unknown_not_an_error():
    table = profile_subgroup(DISPLAY, S, np.zeros(6, dtype=bool), group="A")
    assert table["subgroup"].loc[("(rows)", "", "count")].tolist() == [0, 0]
    assert table["subgroup"].iloc[1:].isna().all(axis=None)
    assert not table["population"].iloc[1].isna().any()


def test_rare_levels_are_added_up_and_shares_sum_to_one():
    rng = np.random.default_rng(0)
    display = pd.DataFrame({"town": rng.integers(0, 40, size=500).astype(str)})
    s = rng.choice([-1, 1], size=500)
    table = profile_subgroup(display, s, s > -2, group=1, max_levels=5)
    towns = table.loc["town"]
    assert len(towns) == 5
    assert towns.index.get_level_values("level")[-1] == "(all other values)"
    np.testing.assert_allclose(towns.iloc[:, :4].sum(), 1.0)


def test_features_that_set_the_subgroup_apart_come_first():
    rng = np.random.default_rng(0)
    display = pd.DataFrame(
        {
            "noise": rng.normal(size=400),
            "age": rng.normal(size=400),
            "town": rng.choice(["a", "b"], 400),
        }
    )
    inside = ((display.age > 0) & (display.town == "a")).to_numpy()
    s = rng.choice([-1, 1], size=400)
    table = profile_subgroup(display, s, inside, group=1)
    assert table.index.get_level_values("feature").unique().tolist() == [
        "(rows)",
        "town",
        "age",
        "noise",
    ]
    difference = table[("difference", "standardised")]
    inner, outer = display.age[inside], display.age[~inside]
    pooled = np.sqrt((inner.var(ddof=0) + outer.var(ddof=0)) / 2)
    assert difference.loc[("age", "", "mean")] == pytest.approx(
        (inner.mean() - outer.mean()) / pooled
    )
    assert difference.loc[("town", "a", "share")] == -difference.loc[("town", "b", "share")]


def test_a_difference_without_spread_is_infinite_and_without_others_unknown():
    display = pd.DataFrame({"x": [1.0, 1.0, 0.0, 0.0]})
    s = np.array([1, -1, 1, -1])
    inside = np.array([True, True, False, False])
    difference = ("difference", "standardised")
    assert (
        profile_subgroup(display, s, inside, group=1)[difference].loc[("x", "", "mean")] == np.inf
    )
    everybody = profile_subgroup(display, s, np.ones(4, dtype=bool), group=1)
    assert everybody[difference].isna().all()


def test_booleans_are_yes_and_no_however_they_are_stored():
    s = np.array([1, 1, -1, -1])
    inside = np.ones(4, dtype=bool)
    plain = profile_subgroup(pd.DataFrame({"works": [True, False, True, True]}), s, inside, group=1)
    coded = profile_subgroup(
        pd.DataFrame({"works": [1.0, 0.0, 1.0, 1.0]}),
        s,
        inside,
        group=1,
        displays=[SimpleNamespace(kind="boolean")],
    )
    pd.testing.assert_frame_equal(plain, coded)
    assert plain.loc[("works", "yes", "share")].tolist()[:4] == [0.5, 1.0, 0.5, 1.0]


def test_dates_are_averaged_as_years():
    display = pd.DataFrame({"when": pd.to_datetime(["2000-01-01", "2002-01-01", None, None])})
    s = np.array([1, 1, -1, -1])
    table = profile_subgroup(display, s, np.ones(4, dtype=bool), group=1)
    means = table.loc[("when", "", "mean (year)")]
    assert means.iloc[0] == pytest.approx(2001.0, abs=0.01)
    assert np.isnan(means.iloc[1])


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, 2, None, 4], dtype="Int64"),
        pd.array([1.0, 2.0, None, 4.0], dtype="Float64"),
        np.array([1.0, 2.0, np.nan, 4.0]),
    ],
)
def test_nullable_numbers_are_numbers(column):
    s = np.array([1, 1, 1, -1])
    table = profile_subgroup(pd.DataFrame({"x": column}), s, np.ones(4, dtype=bool), group=1)
    assert table.loc[("x", "", "mean")].tolist()[:4] == [1.5, 4.0, 1.5, 4.0]


def test_one_and_the_text_one_are_told_apart():
    table = profile_subgroup(DISPLAY, S, INSIDE, group=1, reference="1")
    assert table.columns.get_level_values(1)[:2].tolist() == ["1", "'1'"]


def test_duplicate_and_odd_names_are_kept():
    display = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["x", "x"])
    display.columns = pd.Index(["x\n", ("a", 1)], dtype=object)
    table = profile_subgroup(display, np.array([1, 1, -1, -1]), np.ones(4, dtype=bool), group=1)
    assert table.index.get_level_values("feature").unique().tolist() == ["(rows)", "'x '", "a & 1"]
