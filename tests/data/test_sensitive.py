"""Sensitive columns become contrasts, each value against those it is compared with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakedFeatureWarning,
    MissingSensitiveWarning,
    SmallGroupWarning,
)

N_ROWS = 300
RACES = np.array(["A", "B", "C"], dtype=object)


@pytest.fixture
def rng():
    return np.random.default_rng(20190810)


@pytest.fixture
def data(rng):
    """Features, outcome, and two sensitive columns worked out by hand: 150, 90, 60 by 150, 150."""
    X = pd.DataFrame({"age": rng.normal(size=N_ROWS), "visits": rng.integers(0, 9, N_ROWS)})
    y = rng.integers(0, 2, N_ROWS)
    A = pd.DataFrame({"race": np.repeat(RACES, [150, 90, 60]), "sex": ["f", "m"] * 150})
    return X, y, A


def by_group(problem, column=None):
    return {
        contrast.group: contrast
        for contrast in problem.contrasts
        if column is None or contrast.sensitive_feature == column
    }


def sizes(contrast):
    return int((contrast.s == 1).sum()), int((contrast.s == -1).sum())


# -- contrasts


def test_each_value_against_everybody_else(data):
    X, y, A = data
    problem = build_problem(X, y, A["race"])
    assert [contrast.group for contrast in problem.contrasts] == ["A", "B", "C"]
    assert [sizes(contrast) for contrast in problem.contrasts] == [(150, 150), (90, 210), (60, 240)]
    assert {contrast.reference for contrast in problem.contrasts} == {None}
    assert {contrast.reason for contrast in problem.contrasts} == {None}


def test_each_value_against_a_reference(data):
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


def test_intersections_come_after_the_columns(data):
    X, y, A = data
    problem = build_problem(X, y, A, intersections=True)
    joint = by_group(problem, "race & sex")
    assert list(joint) == [(race, sex) for race in "ABC" for sex in "fm"]
    assert sizes(joint["B", "m"]) == (45, 255)
    assert len(problem.contrasts) == 3 + 2 + 6
    race = A["race"].to_numpy()[problem.source_row]
    sex = A["sex"].to_numpy()[problem.source_row]
    np.testing.assert_array_equal(joint["B", "m"].s, np.where((race == "B") & (sex == "m"), 1, -1))


def test_intersections_leave_out_rows_missing_in_either_column(data):
    X, y, A = data
    A.loc[:9, "race"] = None
    A.loc[5:19, "sex"] = None
    with pytest.warns(MissingSensitiveWarning):
        problem = build_problem(X, y, A, intersections=True)
    assert {sum(sizes(one)) for one in by_group(problem, "race").values()} == {290}
    assert {sum(sizes(one)) for one in by_group(problem, "sex").values()} == {285}
    assert {sum(sizes(one)) for one in by_group(problem, "race & sex").values()} == {280}


def test_only_combinations_that_occur_are_listed(data, rng):
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


@pytest.mark.parametrize(
    "sensitive",
    [
        lambda A: A,
        lambda A: A.to_numpy(),
        lambda A: A.to_numpy().tolist(),
        lambda A: dict(A.items()),
        lambda A: pl.DataFrame({name: A[name].to_list() for name in A}),
        lambda A: A.astype("category"),
        lambda A: A.astype("string"),
    ],
)
def test_containers_of_several_columns(data, sensitive):
    X, y, A = data
    expected = build_problem(X, y, A)
    problem = build_problem(X, y, sensitive(A))
    for one, other in zip(problem.contrasts, expected.contrasts, strict=True):
        assert one.group == other.group
        np.testing.assert_array_equal(one.s, other.s)


def test_names_of_columns_without_names(data):
    X, y, A = data
    names = [c.sensitive_feature for c in build_problem(X, y, A.to_numpy()).contrasts]
    assert list(dict.fromkeys(names)) == ["sensitive_feature_0", "sensitive_feature_1"]
    for one in (A["race"].to_numpy(), A["race"].tolist(), A["race"].rename(None)):
        assert build_problem(X, y, one).contrasts[0].sensitive_feature == "sensitive_feature"


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([0, 1], [0, 1]),
        (np.array([0, 1], dtype=np.int8), [0, 1]),
        (np.array([False, True]), [False, True]),
        ([1.0, 2.5], [1.0, 2.5]),
        ([1, "a"], [1, "a"]),
        (np.array(["x", "y"]), ["x", "y"]),
        (pd.array([1, 2], dtype="Int64"), [1, 2]),
        (pd.Categorical(["young", "old"], ["young", "old"], ordered=True), ["young", "old"]),
        (pd.to_datetime(["2020", "2021"]), [pd.Timestamp("2020"), pd.Timestamp("2021")]),
        (pd.cut([1, 9], [0, 5, 10]), [pd.Interval(0, 5), pd.Interval(5, 10)]),
    ],
)
def test_values_come_back_as_they_were_given(data, values, groups):
    X, y, _ = data
    sensitive = pd.Series(values).repeat(150).reset_index(drop=True)
    found = [contrast.group for contrast in build_problem(X, y, sensitive).contrasts]
    assert found == groups
    assert [type(value) for value in found] == [type(value) for value in groups]


def test_a_sensitive_column_may_have_any_name(data):
    X, y, A = data
    problem = build_problem(X, y, A["sex"].rename("y_pred"))
    assert problem.contrasts[0].sensitive_feature == "y_pred"
    assert build_problem(X, y, A["sex"].rename("age")).feature_names == ("age", "visits")


# -- choosing


def test_groups_can_be_chosen(data):
    X, y, A = data
    assert list(by_group(build_problem(X, y, A["race"], groups=["C", "A"]))) == ["A", "C"]
    assert list(by_group(build_problem(X, y, A["race"], groups="B"))) == ["B"]
    problem = build_problem(X, y, A, groups={"race": ["B"]})
    assert list(by_group(problem)) == ["B", "f", "m"]
    assert list(by_group(build_problem(X, y, A, groups=["B", "m"]))) == ["B", "m"]
    chosen = build_problem(X, y, A["race"], groups=["B"], reference_group="A")
    assert [sizes(one) for one in chosen.contrasts] == [(90, 150)]


def test_choices_hold_for_intersections(data):
    X, y, A = data
    problem = build_problem(X, y, A, intersections=True, groups={"race": ["B"]})
    assert list(by_group(problem, "race & sex")) == [("B", "f"), ("B", "m")]
    problem = build_problem(X, y, A, intersections=True, groups=[("B", "f")])
    assert list(by_group(problem)) == [("B", "f")]
    problem = build_problem(X, y, A, intersections=True, groups={"race & sex": [("B", "f")]})
    assert list(by_group(problem, "race & sex")) == [("B", "f")]
    assert list(by_group(problem, "sex")) == ["f", "m"]


def test_references_hold_for_intersections(data):
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


# -- small and absent groups


def test_small_groups_are_listed_with_a_reason(data):
    X, y, A = data
    race = A["race"].where(A.index >= 12, "Other")
    with pytest.warns(SmallGroupWarning, match=r"1 of 4 groups of 'race' .*insufficient evidence"):
        problem = build_problem(X, y, race)
    small = by_group(problem)["Other"]
    assert small.reason == "only 12 row(s) have race='Other'; at least 30 are needed"
    assert sizes(small) == (12, 288)
    assert by_group(problem)["A"].reason is None
    assert by_group(build_problem(X, y, race, min_group_size=12))["Other"].reason is None


def test_a_small_reference_is_a_reason(data):
    X, y, A = data
    race = A["race"].where(A.index >= 12, "Other")
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, race, reference_group="Other")
    assert all("race='Other'" in contrast.reason for contrast in problem.contrasts)
    rare = pd.Series(["a"] * 290 + ["b"] * 10)
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, rare)
    assert "only 10 row(s) have another sensitive_feature" in by_group(problem)["a"].reason


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.Series(pd.Categorical(values, ["A", "B", "C", "never"]), name="race"),
        lambda values: pl.Series("race", list(values), dtype=pl.Enum(["A", "B", "C", "never"])),
    ],
)
def test_a_level_no_one_has_is_listed(data, make):
    X, y, A = data
    with pytest.warns(SmallGroupWarning):
        problem = build_problem(X, y, make(A["race"]))
    never = by_group(problem)["never"]
    assert sizes(never) == (0, 300)
    assert never.reason == "no row has race='never'; at least 30 are needed"


def test_a_contrast_with_one_outcome_is_listed(data):
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


# -- measurements


def test_a_measurement_is_refused_with_the_advice_to_bin(data, rng):
    X, y, _ = data
    income = pd.Series(rng.normal(size=N_ROWS), name="income")
    for values in (income, income.tolist(), pl.Series("income", income), income.astype(object)):
        with pytest.raises(
            InputError, match=r"sensitive_features: .*300 different numbers.*pandas\.cut"
        ):
            build_problem(X, y, values)
    with pytest.raises(InputError, match=r"'income' holds .*different numbers"):
        build_problem(X, y, pd.Series(np.arange(N_ROWS), name="income"))
    with pytest.raises(InputError, match="different dates"):
        build_problem(X, y, pd.Series(pd.date_range("2020", periods=N_ROWS)))
    assert len(build_problem(X, y, pd.qcut(income, 4)).contrasts) == 4


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.SmallGroupWarning")
def test_numbers_of_few_values_are_groups(data):
    X, y, _ = data
    codes = np.arange(N_ROWS)
    assert len(build_problem(X, y, codes % 50).contrasts) == 50
    assert len(build_problem(X, y, (codes % 50).astype(float)).contrasts) == 50
    assert len(build_problem(X, y, codes % 20 + 0.5).contrasts) == 20
    assert len(build_problem(X, y, pd.Series(codes % 60).astype("category")).contrasts) == 60


# -- missing values


def with_gaps(A):
    A = A.copy()
    A.loc[:39, "race"] = None
    return A


@pytest.mark.parametrize(
    "make",
    [
        lambda s: s,
        lambda s: s.astype("string"),
        lambda s: s.astype("category"),
        lambda s: s.to_list(),
        lambda s: s.astype(object).where(s.notna(), pd.NaT).rename("sensitive_feature"),
        lambda s: s.map({"A": 1.0, "B": 2.0, "C": 3.0}),
        lambda s: s.map({"A": 1, "B": 2, "C": 3}).astype("Int64"),
        lambda s: pl.Series("race", [None if pd.isna(v) else v for v in s]),
    ],
)
def test_missing_values_are_not_compared_and_counted(data, make):
    X, y, A = data
    values = make(with_gaps(A)["race"])
    with pytest.warns(MissingSensitiveWarning, match="sensitive_features: 40 rows have no value"):
        problem = build_problem(X, y, values)
    assert [sizes(one) for one in problem.contrasts] == [(110, 150), (90, 170), (60, 200)]
    (count,) = problem.excluded.values()
    assert count == 40
    assert next(iter(problem.excluded)).startswith("missing sensitive value (")
    assert (problem.contrasts[0].s[problem.source_row < 40] == 0).all()
    assert problem.n_rows == N_ROWS


def test_missing_values_are_counted_per_column(data):
    X, y, A = data
    A = with_gaps(A)
    A.loc[:2, "sex"] = None
    with pytest.warns(MissingSensitiveWarning):
        problem = build_problem(X, y, A)
    assert problem.excluded == {
        "missing sensitive value (race)": 40,
        "missing sensitive value (sex)": 3,
    }
    assert sum(sizes(by_group(problem)["f"])) == 297


def test_missing_counts_are_input_rows_whatever_their_weight(data):
    X, y, A = data
    weight = np.full(N_ROWS, 3)
    weight[:10] = 0
    with pytest.warns(MissingSensitiveWarning, match="30 rows"):
        problem = build_problem(X, y, with_gaps(A)["race"], sample_weight=weight)
    assert problem.excluded == {"zero weight": 10, "missing sensitive value (race)": 30}


def test_missing_values_can_be_a_group(data):
    X, y, A = data
    problem = build_problem(X, y, with_gaps(A)["race"], missing="category")
    assert sizes(by_group(problem)["(missing)"]) == (40, 260)
    assert problem.excluded == {}
    named = with_gaps(A)["race"].astype(object)
    named[:20] = "(missing)"
    problem = build_problem(X, y, named, missing="category")
    assert sizes(by_group(problem)["(missing)"]) == (40, 260)


def test_missing_values_can_be_an_error(data):
    X, y, A = data
    with pytest.raises(InputError, match="sensitive_features: 40 rows have no value in 'race'"):
        build_problem(X, y, with_gaps(A), missing="raise")


def test_text_that_says_nan_is_a_value(data):
    X, y, A = data
    for text in ("nan", "?", "NA", ""):
        problem = build_problem(X, y, A["race"].where(A.index >= 40, text))
        assert sizes(by_group(problem)[text]) == (40, 260)


@pytest.mark.parametrize("values", [["a"] * N_ROWS, [None] * N_ROWS, ["a", None] * 150])
@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.MissingSensitiveWarning")
def test_one_value_is_nothing_to_compare(data, values):
    X, y, A = data
    with pytest.raises(InputError, match="sensitive_features: nothing to compare in 'b'"):
        build_problem(X, y, {"sex": A["sex"], "b": values})


# -- leaks


@pytest.mark.parametrize(
    "copy",
    [
        lambda sex: sex,
        lambda sex: sex.map({"f": 1, "m": 0}),
        lambda sex: sex == "m",
        lambda sex: sex.map({"f": "woman", "m": "man"}).astype("category"),
        lambda sex: sex.map({"f": 3.5, "m": None}),
    ],
)
def test_a_feature_that_repeats_the_sensitive_one_is_dropped(data, copy):
    X, y, A = data
    expected = build_problem(X, y, A["sex"])
    with pytest.warns(LeakedFeatureWarning, match=r"X: dropped 'copied', which repeat.* 'sex'"):
        problem = build_problem(X.assign(copied=copy(A["sex"])), y, A["sex"])
    assert problem.feature_names == ("age", "visits")
    np.testing.assert_array_equal(problem.X, expected.X)
    assert "copied" in problem.encoder.feature_names_in_


def test_one_hot_copies_are_dropped(data):
    X, y, A = data
    dummies = pd.get_dummies(A["race"], prefix="race")
    with pytest.warns(LeakedFeatureWarning) as caught:
        problem = build_problem(X.join(dummies), y, A["race"])
    assert len(caught) == 1
    assert "'race_A', 'race_B', 'race_C'" in str(caught[0].message)
    assert problem.feature_names == ("age", "visits")


def test_a_copy_is_recognised_where_the_sensitive_value_is_known(data):
    X, y, A = data
    race = with_gaps(A)["race"]
    copied = A["race"].map({"A": 0, "B": 5, "C": 9})
    with pytest.warns((LeakedFeatureWarning, MissingSensitiveWarning)):
        problem = build_problem(X.assign(copied=copied), y, race)
    assert problem.feature_names == ("age", "visits")


def test_a_feature_that_nearly_repeats_the_sensitive_one_stays(data):
    X, y, A = data
    nearly = (A["sex"] == "m").astype(int)
    nearly[0] = 1 - nearly[0]
    assert "nearly" in build_problem(X.assign(nearly=nearly), y, A["sex"]).feature_names


def test_every_sensitive_column_is_searched_for(data):
    X, y, A = data
    with pytest.warns(LeakedFeatureWarning) as caught:
        problem = build_problem(X.join(A), y, A)
    assert len(caught) == 2
    assert problem.feature_names == ("age", "visits")


def test_nothing_but_the_sensitive_feature_is_refused(data):
    _, y, A = data
    with (
        pytest.warns(LeakedFeatureWarning),
        pytest.raises(InputError, match=r"X: no feature is left .*'sex' .repeats the sensitive"),
    ):
        build_problem(A[["sex"]], y, A["sex"])


def test_a_sparse_copy_is_dropped(data):
    X, y, A = data
    values = np.column_stack([X.to_numpy(), A["sex"] == "m"]).astype(float)
    with pytest.warns(LeakedFeatureWarning, match="X: dropped 'x2'"):
        problem = build_problem(sparse.csr_array(values), y, A["sex"])
    assert problem.feature_names == ("x0", "x1")
