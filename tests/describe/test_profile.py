"""The subgroup beside the population."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe import cells
from mdfa_fairness_plugin.describe.profile import (
    ProfiledSubgroup,
    profile_subgroups,
)

DISPLAY = pd.DataFrame(
    {
        "age": [20.0, 30.0, 40.0, 50.0, np.nan, 99.0],
        "sex": ["F", "M", "M", "(missing)", "F", "F"],
    }
)
S = np.array([1, 1, -1, -1, -1, 0])
INSIDE = np.array([True, False, True, True, True, True])


def profile_subgroup(
    display, s, membership, *, displays=None, sample_weight=None, max_levels=12, **named
):
    """Table of one subgroup."""
    subgroup = ProfiledSubgroup(s=s, membership=membership, **named)
    options = {"displays": displays, "sample_weight": sample_weight, "max_levels": max_levels}
    return profile_subgroups(display, [subgroup], **options)[0]


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


def everything(n=2000, seed=0):
    """A frame of every kind of column, with missing values."""
    rng = np.random.default_rng(seed)
    display = pd.DataFrame(
        {
            "score": rng.normal(size=n),
            "age": rng.integers(18, 60, n).astype(float),
            "owed": np.round(rng.lognormal(8, 1, n), 2),
            "income": rng.lognormal(10, 0.5, n),
            "priors": rng.poisson(1, n),
            "town": rng.choice([*"abcdefgh"], n),
            "works": rng.random(n) < 0.6,
            "arrived": pd.Timestamp("2001-01-01")
            + pd.to_timedelta(rng.integers(0, 3000, n), unit="D"),
        }
    )
    display.loc[rng.random(n) < 0.1, ["income", "arrived"]] = None
    display.loc[rng.random(n) < 0.05, "town"] = None
    return display


def some_subgroups(display, n_subgroups=4, seed=1):
    rng = np.random.default_rng(seed)
    n = len(display)
    return [
        ProfiledSubgroup(
            s=rng.choice([-1, 0, 1], n),
            membership=rng.random(n) < 0.1 + 0.3 * (display.age > 40 - number),
            group=f"group {number}",
            outcome=rng.random(n) < 0.3,
        )
        for number in range(n_subgroups)
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_those_of_a_plain_group_by(weighted):
    display = everything()
    (given,) = some_subgroups(display, 1)
    weights = np.random.default_rng(2).lognormal(size=len(display)) if weighted else None
    table = profile_subgroup(
        display,
        given.s,
        given.membership,
        group="A",
        reference="B",
        outcome=given.outcome,
        sample_weight=weights,
    )
    frame = display.assign(
        w=1.0 if weights is None else weights,
        inside=given.membership,
        s=given.s,
        arrived=1970 + (display.arrived - pd.Timestamp("1970-01-01")).dt.days / 365.2425,
        **{"audited outcome": given.outcome},
    )[given.s != 0]
    cells_of_rows = {
        ("population", "A"): frame[frame.s == 1],
        ("population", "B"): frame[frame.s == -1],
        ("subgroup", "A"): frame[(frame.s == 1) & frame.inside],
        ("subgroup", "B"): frame[(frame.s == -1) & frame.inside],
    }

    def mean(x, w):
        return np.average(x, weights=w)

    def apart(x, w, inside):
        sides = [(x[rows], w[rows]) for rows in (inside, ~inside)]
        means = [mean(*side) for side in sides]
        spread = [mean((x - m) ** 2, w) for (x, w), m in zip(sides, means, strict=True)]
        return (means[0] - means[1]) / np.sqrt(sum(spread) / 2)

    seen = set()
    for (name, level, statistic), row in table.iterrows():
        if name == "(rows)":
            assert row.tolist()[:4] == [len(rows) for rows in cells_of_rows.values()]
            continue
        number = statistic != "share"

        def values(rows, name=name, level=level, number=number):
            column = rows[name]
            if number:
                return column[column.notna()].astype(float)
            if level == "(missing)":
                return column.isna().astype(float)
            wanted = {"yes": True, "no": False, "": True}.get(level, level)
            return (column == wanted).astype(float)

        for part, rows in cells_of_rows.items():
            x = values(rows)
            w = rows.w[x.index]
            if statistic.startswith("sd"):
                expected = np.sqrt(
                    (w * (x - mean(x, w)) ** 2).sum() / (w.sum() - (w**2).sum() / w.sum())
                )
            else:
                expected = mean(x, w)
            assert row[part] == pytest.approx(expected, rel=1e-9)
        difference = row[("difference", "standardised")]
        if statistic.startswith("sd"):
            assert np.isnan(difference)
        else:
            x = values(frame)
            expected = apart(x, frame.w[x.index], frame.inside[x.index])
            assert difference == pytest.approx(expected, rel=1e-9)
        seen.add(name)
    assert seen == {*display.columns, "audited outcome"}


def test_values_are_counted_as_pandas_counts_them():
    display = everything()
    (given,) = some_subgroups(display, 1)
    table = profile_subgroup(display, given.s, given.membership, group="A")
    inside, s = given.membership, given.s
    everybody = np.ones(len(s), dtype=bool)
    sets = [(s == side) & part for part in (everybody, inside, ~inside) for side in (1, -1)]
    names = ["score", "age", "owed", "income", "priors", "arrived"]
    assert list(table.attrs["values"]) == names
    for name in names:
        expected = []
        for rows in sets:
            counts = display[name][rows].value_counts()
            expected.append((len(counts), int(counts.sum() - counts.max()), int(counts.min())))
        assert table.attrs["values"][name] == expected


@pytest.mark.parametrize("most_cells", [1, 40, 512])
@pytest.mark.parametrize("weighted", [False, True])
def test_subgroups_described_together_are_as_if_described_alone(most_cells, weighted, monkeypatch):
    monkeypatch.setattr(cells, "_MOST_CELLS", most_cells)
    monkeypatch.setattr(cells, "_MOST_ENTRIES", 1000)
    monkeypatch.setattr(cells, "_BLOCK", 300)
    display = everything()
    given = some_subgroups(display)
    weights = np.random.default_rng(2).lognormal(size=len(display)) if weighted else None
    together = profile_subgroups(
        display, (one for one in given), sample_weight=weights, max_levels=4
    )
    assert len(together) == len(given)
    for table, one in zip(together, given, strict=True):
        alone = profile_subgroup(
            display,
            one.s,
            one.membership,
            group=one.group,
            outcome=one.outcome,
            sample_weight=weights,
            max_levels=4,
        )
        pd.testing.assert_frame_equal(table, alone, rtol=1e-12)
        assert table.attrs == alone.attrs


def test_a_common_offset_costs_no_digits():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1000, 3000) / 1024  # exact at any of these offsets
    s, inside = rng.choice([-1, 1], 3000), rng.random(3000) < 0.2
    near, far = (
        profile_subgroup(pd.DataFrame({"x": x + offset}), s, inside, group=1)
        for offset in (0.0, 2.0**31)
    )
    np.testing.assert_allclose(
        far.loc[("x", "", "mean")].iloc[:4] - 2.0**31,
        near.loc[("x", "", "mean")].iloc[:4],
        atol=1e-6,
    )
    np.testing.assert_allclose(
        far.loc[("x", "", "sd")].iloc[:4], near.loc[("x", "", "sd")].iloc[:4], rtol=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_sets_nobody_apart(weighted):
    """Sums of tenths round differently inside and outside."""
    rng = np.random.default_rng(0)
    display = pd.DataFrame({"x": np.full(1000, 0.1)})
    s, inside = rng.choice([-1, 1], 1000), rng.random(1000) < 0.2
    weights = rng.lognormal(size=1000) if weighted else None
    table = profile_subgroup(display, s, inside, group=1, sample_weight=weights)
    assert table.loc[("x", "", "mean")].tolist() == [0.1, 0.1, 0.1, 0.1, 0.0]
    assert table.loc[("x", "", "sd")].tolist()[:4] == [0.0] * 4
    display.loc[inside, "x"] = 0.3
    table = profile_subgroup(display, s, inside, group=1, sample_weight=weights)
    assert table.loc[("x", "", "mean")].iloc[-1] == np.inf


def test_a_level_that_everybody_inside_has_is_a_share_of_one_whatever_the_weights():
    rng = np.random.default_rng(0)
    s, inside = rng.choice([-1, 1], 1000), rng.random(1000) < 0.2
    display = pd.DataFrame({"c": np.where(inside, "a", "b")})
    table = profile_subgroup(
        display, s, inside, group=1, sample_weight=rng.lognormal(size=1000), max_levels=3
    )
    assert table.loc[("c", "a", "share")].tolist()[2:] == [1.0, 1.0, np.inf]
    assert table.loc[("c", "b", "share")].tolist()[2:] == [0.0, 0.0, -np.inf]


def test_no_rows_are_unknown_not_an_error():
    table = profile_subgroup(everything().iloc[:0], np.zeros(0), np.zeros(0, dtype=bool), group=1)
    assert table.iloc[0].tolist()[:4] == [0.0] * 4
    assert table.iloc[1:].isna().all(axis=None)
    assert table.attrs["values"]["age"] == [(0, 0, 0)] * 6
