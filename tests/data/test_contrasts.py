"""Each sensitive value against those it is compared with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    MissingSensitiveWarning,
    SmallGroupWarning,
)

N_ROWS = 300


def test_each_value_against_everybody_else(data, sizes):
    X, y, A = data
    problem = build_problem(X, y, A["race"])
    assert [contrast.group for contrast in problem.contrasts] == ["A", "B", "C"]
    assert [sizes(contrast) for contrast in problem.contrasts] == [(150, 150), (90, 210), (60, 240)]
    assert {contrast.reference for contrast in problem.contrasts} == {None}
    assert {contrast.reason for contrast in problem.contrasts} == {None}


def test_each_value_against_a_reference(data, by_group, sizes):
    X, y, A = data
    problem = build_problem(X, y, A["race"], reference_group="A")
    assert {group: sizes(one) for group, one in by_group(problem).items()} == {
        "B": (90, 150),
        "C": (60, 150),
    }
    contrast = by_group(problem)["C"]
    assert contrast.reference == "A"
    race = A["race"].to_numpy()[problem.source_row]
    assert (contrast.s[race == "B"] == 0).all()
    assert not contrast.rows[race == "B"].any()


def test_each_column_alone(data):
    X, y, A = data
    problem = build_problem(X, y, A)
    assert [(c.sensitive_feature, c.group) for c in problem.contrasts] == [
        ("race", "A"),
        ("race", "B"),
        ("race", "C"),
        ("sex", "f"),
        ("sex", "m"),
    ]


def test_intersections_come_after_the_columns(data, by_group, sizes):
    X, y, A = data
    problem = build_problem(X, y, A, intersections=True)
    joint = by_group(problem, "race & sex")
    assert list(joint) == [(race, sex) for race in "ABC" for sex in "fm"]
    assert sizes(joint["B", "m"]) == (45, 255)
    assert len(problem.contrasts) == 3 + 2 + 6
    race = A["race"].to_numpy()[problem.source_row]
    sex = A["sex"].to_numpy()[problem.source_row]
    np.testing.assert_array_equal(joint["B", "m"].s, np.where((race == "B") & (sex == "m"), 1, -1))


def test_intersections_leave_out_rows_missing_in_either_column(data, by_group, sizes):
    X, y, A = data
    A.loc[:9, "race"] = None
    A.loc[5:19, "sex"] = None
    with pytest.warns(MissingSensitiveWarning):
        problem = build_problem(X, y, A, intersections=True)
    assert {sum(sizes(one)) for one in by_group(problem, "race").values()} == {290}
    assert {sum(sizes(one)) for one in by_group(problem, "sex").values()} == {285}
    assert {sum(sizes(one)) for one in by_group(problem, "race & sex").values()} == {280}


def test_only_combinations_that_occur_are_listed(data, rng, by_group):
    X, y, _ = data
    A = pd.DataFrame({f"a{i}": rng.integers(0, 12, N_ROWS) for i in range(4)})
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, A, intersections=True)
    joint = by_group(problem, "a0 & a1 & a2 & a3")
    assert len(joint) == len(A.drop_duplicates())
    assert all(one.reason for one in joint.values())


def test_intersections_of_one_column_are_that_column(data):
    X, y, A = data
    assert len(build_problem(X, y, A["sex"], intersections=True).contrasts) == 2


def test_groups_can_be_chosen(data, by_group, sizes):
    X, y, A = data
    assert list(by_group(build_problem(X, y, A["race"], groups=["C", "A"]))) == ["A", "C"]
    assert list(by_group(build_problem(X, y, A["race"], groups="B"))) == ["B"]
    problem = build_problem(X, y, A, groups={"race": ["B"]})
    assert list(by_group(problem)) == ["B", "f", "m"]
    assert list(by_group(build_problem(X, y, A, groups=["B", "m"]))) == ["B", "m"]
    chosen = build_problem(X, y, A["race"], groups=["B"], reference_group="A")
    assert [sizes(one) for one in chosen.contrasts] == [(90, 150)]


def test_choices_hold_for_intersections(data, by_group):
    X, y, A = data
    problem = build_problem(X, y, A, intersections=True, groups={"race": ["B"]})
    assert list(by_group(problem, "race & sex")) == [("B", "f"), ("B", "m")]
    problem = build_problem(X, y, A, intersections=True, groups=[("B", "f")])
    assert list(by_group(problem)) == [("B", "f")]
    problem = build_problem(X, y, A, intersections=True, groups={"race & sex": [("B", "f")]})
    assert list(by_group(problem, "race & sex")) == [("B", "f")]
    assert list(by_group(problem, "sex")) == ["f", "m"]


def test_references_hold_for_intersections(data, by_group, sizes):
    X, y, A = data
    reference = {"race": "A", "sex": "m"}
    problem = build_problem(X, y, A, intersections=True, reference_group=reference)
    joint = by_group(problem, "race & sex")
    assert ("A", "m") not in joint
    assert joint["B", "f"].reference == ("A", "m")
    assert sizes(joint["B", "f"]) == (45, 75)
    problem = build_problem(X, y, A, intersections=True, reference_group="A")
    assert {one.reference for one in by_group(problem, "race").values()} == {"A"}
    assert {one.reference for one in by_group(problem, "sex").values()} == {None}
    assert {one.reference for one in by_group(problem, "race & sex").values()} == {None}
    problem = build_problem(X, y, A, intersections=True, reference_group=("A", "m"))
    assert by_group(problem, "race & sex")["C", "m"].reference == ("A", "m")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["Z"]}, "groups: 'Z' is not among .* 'race': 'A', 'B', 'C'; 'sex': 'f', 'm'"),
        ({"groups": ["A", 1]}, "groups: 1 is not among"),
        ({"groups": []}, "groups: an empty list"),
        ({"groups": {"age": ["A"]}}, "groups: 'age' is not a sensitive feature. Found: 'race'"),
        ({"groups": {"sex": ["A"]}}, "groups: 'A' is not among the values of 'sex': 'f', 'm'"),
        ({"reference_group": "Z"}, "reference_group: 'Z' is not among"),
        ({"reference_group": {"sex": "Z"}}, "reference_group: 'Z' is not among the values of"),
    ],
)
def test_unknown_choices_are_refused_with_those_found(data, options, message):
    X, y, A = data
    with pytest.raises(InputError, match=message):
        build_problem(X, y, A, **options)


def test_a_reference_against_itself_is_nothing_to_compare(data):
    X, y, A = data
    with pytest.raises(InputError, match="groups: nothing is left to compare"):
        build_problem(X, y, A["sex"], groups="m", reference_group="m")


def test_small_groups_are_listed_with_a_reason(data, by_group, sizes):
    X, y, A = data
    race = A["race"].where(A.index >= 12, "Other")
    with pytest.warns(SmallGroupWarning, match=r"1 of 4 groups of 'race' .*insufficient evidence"):
        problem = build_problem(X, y, race)
    small = by_group(problem)["Other"]
    assert small.reason == "only 12 rows have race='Other'; at least 30 are needed"
    assert sizes(small) == (12, 288)
    assert by_group(problem)["A"].reason is None
    assert by_group(build_problem(X, y, race, min_group_size=12))["Other"].reason is None


def test_a_small_reference_is_a_reason(data, by_group):
    X, y, A = data
    race = A["race"].where(A.index >= 12, "Other")
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, race, reference_group="Other")
    assert all("race='Other'" in contrast.reason for contrast in problem.contrasts)
    rare = pd.Series(["a"] * 290 + ["b"] * 10)
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, rare)
    assert "only 10 rows have another sensitive_feature" in by_group(problem)["a"].reason


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.Series(pd.Categorical(values, ["A", "B", "C", "never"]), name="race"),
        lambda values: pl.Series("race", list(values), dtype=pl.Enum(["A", "B", "C", "never"])),
    ],
)
def test_a_level_no_one_has_is_listed(data, make, by_group, sizes):
    X, y, A = data
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, make(A["race"]))
    never = by_group(problem)["never"]
    assert sizes(never) == (0, 300)
    assert never.reason == "no row has race='never'; at least 30 are needed"


def test_a_contrast_with_one_outcome_is_listed(data, by_group):
    X, _, A = data
    y = np.where(A["race"] == "C", np.arange(N_ROWS) % 2, 0)
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, A["race"], reference_group="A")
    assert by_group(problem)["B"].reason == "all 240 rows compared have the outcome 0"
    assert by_group(problem)["C"].reason is None


def test_many_small_groups_make_one_short_warning(data):
    X, y, _ = data
    names = pd.Series([f"v{i % 100}" for i in range(N_ROWS)], name="village")
    with pytest.warns(SmallGroupWarning) as caught:
        problem = build_problem(X, y, names)
    assert len(caught) == 1
    assert len(str(caught[0].message)) < 700
    assert len(problem.contrasts) == 100


def test_many_values_take_no_more_work_each_than_few(rng, steps_of, peak_of):
    def checking(n_rows, n_values):
        names = [f"v{i % n_values}" for i in range(n_rows)]
        X, y = rng.normal(size=(n_rows, 2)), rng.integers(0, 2, n_rows)

        def work():
            with pytest.warns(SmallGroupWarning):
                problem = build_problem(X, y, names)
            assert len(problem.contrasts) == n_values

        return work

    checking(1000, 200)()
    assert steps_of(checking(10_000, 1500)) < 3.3 * steps_of(checking(10_000, 500))
    # Who is compared takes a byte a row and value.
    assert peak_of(checking(10_000, 1500)) < 1.5 * 10_000 * 1500


def test_values_beyond_memory_are_refused(rng):
    n_rows = 60_000
    names = [f"v{i}" for i in range(n_rows)]
    with pytest.raises(InputError, match="sensitive_features: 60,000 groups over 60,000 rows"):
        build_problem(rng.normal(size=(n_rows, 1)), rng.integers(0, 2, n_rows), names)
