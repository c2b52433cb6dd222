"""What the user passed becomes a problem, or an error that says what to do."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data.problem import _Ranking, build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    InputTypeError,
    MDFAWarning,
    NothingToAuditError,
    WarningLog,
    WeightWarning,
)

N_ROWS = 240


@pytest.fixture
def rng():
    return np.random.default_rng(20190810)


def sample(seed=0, n_rows=N_ROWS, *, discrete=False):
    """Features, outcome and sensitive feature; `discrete` features tie often."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, n_rows) if discrete else rng.normal(size=n_rows)
    X = pd.DataFrame({"age": age, "town": rng.choice(["A", "B", "C"], n_rows)})
    y = rng.integers(0, 2, n_rows)
    sex = pd.Series(rng.choice(["f", "m"], n_rows, p=[0.4, 0.6]), name="sex")
    return X, y, sex


def assert_same(left, right, *, hashes=True):
    """Two problems hold the same evidence."""
    np.testing.assert_array_equal(left.X, right.X)
    np.testing.assert_array_equal(left.y, right.y)
    np.testing.assert_array_equal(left.sample_weight, right.sample_weight)
    assert left.weight_type == right.weight_type
    assert len(left.contrasts) == len(right.contrasts)
    for one, other in zip(left.contrasts, right.contrasts, strict=True):
        np.testing.assert_array_equal(one.s, other.s)
        assert one.reason == other.reason
    if hashes:
        assert left.input_hash == right.input_hash


# -- the whole


def test_a_problem_holds_the_rows_it_was_given():
    X, y, sex = sample()
    problem = build_problem(X, y, sex)
    source = problem.source_row
    assert sorted(source) == list(range(N_ROWS))
    assert problem.n_samples == problem.n_rows == N_ROWS
    assert problem.outcome_labels == problem.outcomes == (0, 1)
    assert problem.feature_names == ("age", "town=A", "town=B", "town=C")
    np.testing.assert_array_equal(problem.X[:, 0], X["age"].to_numpy()[source])
    np.testing.assert_array_equal(problem.y, y[source])
    assert problem.display["town"].tolist() == X["town"].iloc[source].tolist()
    assert problem.display.index.equals(pd.RangeIndex(N_ROWS))
    np.testing.assert_array_equal(problem.encoder.transform(X)[source], problem.X)
    first, second = problem.contrasts
    assert (first.sensitive_feature, first.group, first.reference) == ("sex", "f", None)
    np.testing.assert_array_equal(first.s, np.where(sex.iloc[source] == "f", 1, -1))
    np.testing.assert_array_equal(second.s, -first.s)
    assert first.rows.all()
    assert problem.excluded == {}
    assert problem.weight_type == "none"
    assert (problem.sample_weight == 1).all()


def test_types_are_as_promised():
    X, y, sex = sample()
    problem = build_problem(X, y, sex)
    assert problem.X.dtype == np.float64
    assert problem.X.flags.c_contiguous
    assert problem.y.dtype == np.intp
    assert problem.source_row.dtype == np.intp
    assert problem.sample_weight.dtype == np.float64
    assert problem.contrasts[0].s.dtype == np.int8
    assert len(problem.input_hash) == 64


def test_the_input_is_left_alone():
    X, y, sex = sample()
    copies = X.copy(deep=True), y.copy(), sex.copy(deep=True)
    problem = build_problem(X, y, sex)
    problem.X[:] = -1
    problem.display.iloc[:, 1] = "elsewhere"
    pd.testing.assert_frame_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    pd.testing.assert_series_equal(sex, copies[2])


def test_numbers_are_shown_from_the_matrix_itself(rng):
    """In one piece if all are; a column with gaps, a date and text are made from the input."""
    _, y, sex = sample()
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=["a", "b", "c"])
    problem = build_problem(X.assign(b=rng.random(N_ROWS) < 0.5), y, sex)
    assert all(np.shares_memory(problem.display[name], problem.X) for name in "abc")
    with pytest.raises(ValueError, match="read-only"):
        problem.display.iloc[0, 0] = -1.0
    expected = problem.encoder.display_frame(X.assign(b=problem.X[:, 1])).dtypes
    assert (problem.display.dtypes == expected).all()
    X["gaps"] = np.where(rng.random(N_ROWS) < 0.1, np.nan, X["a"])
    X["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, N_ROWS), unit="D")
    X["town"] = rng.choice(["A", "B"], N_ROWS)
    X["whole"] = rng.integers(0, 50, N_ROWS)
    problem = build_problem(X, y, sex)
    shared = {name for name in X if np.shares_memory(problem.display[name], problem.X)}
    assert shared == {"a", "b", "c", "whole"}
    expected = problem.encoder.display_frame(X).iloc[problem.source_row].reset_index(drop=True)
    pd.testing.assert_frame_equal(problem.display, expected)


@pytest.mark.parametrize(("kind", "limit"), [(float, 1.6), (int, 1.8)])
def test_the_matrix_is_the_only_copy_of_the_features(rng, kind, limit):
    n_rows = 100_000
    X = pd.DataFrame({f"x{place}": rng.normal(size=n_rows) for place in range(20)})
    X = X if kind is float else (100 * X).astype("int64")
    y, sex = rng.integers(0, 2, n_rows), rng.integers(0, 2, n_rows)
    build_problem(X[:300], y[:300], sex[:300])  # what is loaded or made once
    tracemalloc.start()
    problem = build_problem(X, y, sex)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem.X.shape == X.shape
    assert peak < limit * problem.X.nbytes
    assert kept < 1.3 * problem.X.nbytes


def test_hash_and_order_are_those_that_earlier_results_hold():
    """Results store the hash, so that an audit can be told to be of the same data."""
    i = np.arange(60)
    X = pd.DataFrame(
        {
            "age": (i * 7 % 23).astype(float),
            "pay": np.where(i % 9 == 0, np.nan, (i * i % 41) / 8 - 1.0),
            "zero": np.where(i % 3, 0.0, -0.0) + (i % 5 == 0),
            "town": np.array(list("abc"))[i % 3],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(i * 5 % 17, unit="D"),
        }
    )
    problem = build_problem(X, i % 7 < 3, pd.Series(np.where(i % 4 < 2, "f", "m"), name="sex"))
    assert problem.input_hash == (
        "70d3a9d72512557dc63ab11f30b9d75ed9b1aa063701771de2c6cd75d676afea"
    )
    assert problem.source_row[:8].tolist() == [0, 46, 23, 10, 56, 33, 43, 20]


# -- containers


def test_polars_lists_and_mappings_equal_pandas():
    X, y, sex = sample()
    expected = build_problem(X, y, sex)
    frame = pl.DataFrame({name: X[name].to_list() for name in X})
    assert_same(build_problem(frame, pl.Series(y), pl.Series("sex", sex.to_list())), expected)
    assert_same(
        build_problem(frame, pl.DataFrame({"y": y}), pl.DataFrame({"sex": sex.to_list()})), expected
    )
    assert_same(build_problem(dict(X.items()), y.tolist(), {"sex": sex.tolist()}), expected)
    assert_same(build_problem(X, pd.DataFrame({"y": y}), sex.to_frame()), expected)


def test_numpy_equals_pandas_under_the_same_names(rng):
    values = rng.normal(size=(100, 2))
    _, y, sex = sample(n_rows=100)
    expected = build_problem(pd.DataFrame(values, columns=["x0", "x1"]), y, sex)
    assert_same(build_problem(values, y, sex), expected)
    renamed = build_problem(values, y, sex.to_numpy(dtype=object))
    assert_same(renamed, expected, hashes=False)
    assert renamed.contrasts[0].sensitive_feature == "sensitive_feature"
    assert_same(build_problem(sparse.csr_array(values), y, sex), expected, hashes=False)


def test_hashes_tell_contents_apart():
    X, y, sex = sample()
    expected = build_problem(X, y, sex).input_hash
    flipped = y.copy()
    flipped[0] = 1 - flipped[0]
    moved = X.assign(age=X["age"].where(X.index > 0, 0.123))
    others = [
        build_problem(moved, y, sex),
        build_problem(X.rename(columns={"age": "years"}), y, sex),
        build_problem(X, flipped, sex),
        build_problem(X, y.astype(bool), sex),
        build_problem(X, y, sex.replace({"f": "woman"})),
        build_problem(X, y, sex.rename("gender")),
        build_problem(X, y, sex, sample_weight=X["age"].abs()),
    ]
    hashes = {problem.input_hash for problem in others}
    assert len(hashes) == len(others)
    assert expected not in hashes
    assert build_problem(X.astype({"age": float}), y.astype(float), sex).input_hash == expected


# -- invariances


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(seed, discrete):
    X, y, sex = sample(seed, discrete=discrete)
    weight = np.random.default_rng(seed).random(N_ROWS)
    order = np.random.default_rng(seed + 100).permutation(N_ROWS)
    expected = build_problem(X, y, sex, sample_weight=weight)
    shuffled = build_problem(
        X.iloc[order], y[order], sex.iloc[order].to_numpy(), sample_weight=weight[order]
    )
    assert_same(shuffled, expected, hashes=False)
    if not discrete:
        np.testing.assert_array_equal(order[shuffled.source_row], expected.source_row)


def relabellings(y):
    text = np.array(["deny", "grant"], dtype=object)
    return {
        "reversed": 1 - y,
        "plus minus one": 2 * y - 1,
        "one two": y + 1,
        "bool": y.astype(bool),
        "float": y.astype(float),
        "int8": y.astype(np.int8),
        "text": text[y],
        "other text": np.array(["zzz", "aaa"])[y],
        "string": pd.Series(text[y], dtype="string"),
        "categorical": pd.Series(pd.Categorical(text[y], categories=["x", "grant", "deny"])),
        "Int64": pd.Series(y, dtype="Int64"),
        "boolean": pd.Series(y.astype(bool), dtype="boolean"),
        "numpy scalars": [np.int64(value) for value in y],
        "decimals": [Decimal(int(value)) for value in y],
        "polars": pl.Series(text[y].tolist()),
        "polars enum": pl.Series(text[y].tolist(), dtype=pl.Enum(["grant", "deny", "x"])),
    }


@pytest.mark.parametrize("name", list(relabellings(np.array([0, 1]))))
@pytest.mark.parametrize("balanced", [False, True])
def test_the_names_of_outcomes_do_not_matter(name, balanced):
    X, y, sex = sample(3, discrete=True)
    if balanced:
        y = np.random.default_rng(1).permutation(np.repeat([0, 1], N_ROWS // 2))
    expected = build_problem(X, y, sex)
    other = build_problem(X, relabellings(y)[name], sex)
    np.testing.assert_array_equal(other.X, expected.X)
    np.testing.assert_array_equal(other.contrasts[0].s, expected.contrasts[0].s)
    same, opposite = other.y == expected.y, other.y == 1 - expected.y
    assert same.all() or opposite.all()
    assert len(other.outcome_labels) == 2


@pytest.mark.parametrize("seed", range(3))
def test_the_names_of_sensitive_values_do_not_matter(seed):
    X, y, _ = sample(seed, discrete=True)
    race = np.random.default_rng(seed + 100).integers(0, 3, N_ROWS)
    expected = build_problem(X, y, race)
    other = build_problem(X, y, np.array(["z", "a", "m"])[race])
    np.testing.assert_array_equal(other.y, expected.y)
    where = {contrast.group: contrast.s for contrast in other.contrasts}
    for contrast, name in zip(expected.contrasts, ["z", "a", "m"], strict=True):
        np.testing.assert_array_equal(where[name], contrast.s)


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_integer_weights_act_like_repeated_rows(seed, discrete):
    X, y, sex = sample(seed, discrete=discrete)
    X.loc[::7, "age"] = np.nan
    copies = np.random.default_rng(seed).integers(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), copies)
    weighted = build_problem(X, y, sex, sample_weight=copies)
    repeated = build_problem(
        X.iloc[rows].reset_index(drop=True), y[rows], sex.iloc[rows].reset_index(drop=True)
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
def test_rows_of_weight_zero_are_absent(rng, scale):
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


# -- outcomes


def test_labels_come_back_as_they_were_given():
    X, y, sex = sample()
    problem = build_problem(X, np.array(["deny", "grant"])[y], sex)
    assert problem.outcome_labels == ("deny", "grant")
    assert all(type(label) is str for label in problem.outcome_labels)
    assert [type(label) for label in build_problem(X, y == 1, sex).outcome_labels] == [bool, bool]
    assert build_problem(X, y.astype(float), sex).outcome_labels == (0.0, 1.0)


def test_scores_need_a_threshold(rng):
    X, _, sex = sample()
    for scores in (rng.random(N_ROWS), pl.Series(rng.random(N_ROWS)), rng.random(N_ROWS).tolist()):
        with pytest.raises(InputError, match=r"y: scores were given .*y >= 0\.5"):
            build_problem(X, scores, sex)
    with pytest.raises(InputError, match="y: scores"):
        build_problem(X, [Decimal("0.5"), Decimal("0.7")] * (N_ROWS // 2), sex)


@pytest.mark.parametrize("value", [0, "deny", True, None])
def test_a_constant_outcome_is_nothing_to_audit(value):
    X, _, sex = sample()
    error = InputError if value is None else NothingToAuditError
    with pytest.raises(error, match="y: "):
        build_problem(X, [value] * N_ROWS, sex)


def test_nothing_to_audit_names_the_outcome():
    X, _, sex = sample()
    with pytest.raises(
        NothingToAuditError, match="y: every one of the 240 outcomes is 0: nothing to audit"
    ):
        build_problem(X, np.zeros(N_ROWS, int), sex)


@pytest.mark.parametrize(
    "y",
    [
        [None] + [0, 1] * 119 + [0],
        pd.Series([None] + [0, 1] * 119 + [0], dtype="Int64"),
        [float("nan")] + [0.0, 1.0] * 119 + [0.0],
        pd.Series([None] + ["a", "b"] * 119 + ["a"]),
        pl.Series([None] + [0, 1] * 119 + [0]),
    ],
)
def test_missing_outcomes_are_refused(y):
    X, _, sex = sample()
    with pytest.raises(InputError, match=r"y: 1 of 240 outcomes are missing. Drop those rows"):
        build_problem(X, y, sex)


def test_more_than_two_outcomes_must_be_chosen(rng):
    X, _, sex = sample()
    y = rng.choice(["deny", "grant", "refer"], N_ROWS)
    with pytest.raises(InputError, match=r"y: 3 different .* 'deny', 'grant', 'refer'.*outcomes="):
        build_problem(X, y, sex)
    for asked in ("deny", ["deny"], ("deny",), np.array(["deny"]), pd.Series(["deny"])):
        problem = build_problem(X, y, sex, outcomes=asked)
        assert problem.outcomes == ("deny",)
        assert problem.outcome_labels == ("deny", "grant", "refer")
    assert build_problem(X, y, sex, outcomes=["refer", "deny"]).outcomes == ("deny", "refer")


def test_outcomes_are_found_whatever_their_number_type():
    X, y, sex = sample()
    assert build_problem(X, y, sex, outcomes=np.float64(1)).outcomes == (1,)
    assert build_problem(X, y == 1, sex, outcomes=[True]).outcomes == (True,)


def test_unknown_outcomes_are_refused_with_those_found():
    X, y, sex = sample()
    for asked in ("1", 2, [0, 2]):
        with pytest.raises(InputError, match=r"outcomes: .* is not among those found in y: 0, 1"):
            build_problem(X, y, sex, outcomes=asked)
    with pytest.raises(InputError, match="outcomes: an empty list"):
        build_problem(X, y, sex, outcomes=[])


# -- shapes


def test_lengths_are_compared_first():
    X, y, sex = sample()
    with pytest.raises(InputError, match="y: 239 rows were given, but X has 240"):
        build_problem(X, y[1:], sex)
    with pytest.raises(InputError, match="sensitive_features: 239 rows were given, but X has 240"):
        build_problem(X, y, sex.iloc[1:])
    with pytest.raises(InputError, match="sample_weight: 2 rows were given, but X has 240"):
        build_problem(X, y, sex, sample_weight=[1, 2])


def test_column_names_are_not_looked_up():
    X, y, _ = sample()
    with pytest.raises(InputError, match=r"sensitive_features: .*pass the columns, as in X\[\["):
        build_problem(X, y, ["town"])
    with pytest.raises(InputTypeError, match="sensitive_features: 'town' was given"):
        build_problem(X, y, "town")


def test_one_dimensional_features_are_refused():
    X, y, sex = sample()
    with pytest.raises(InputError, match="X: a one-dimensional"):
        build_problem(X["age"], y, sex)


def test_empty_input_is_refused():
    with pytest.raises(InputError, match="X: it has no rows"):
        build_problem(np.zeros((0, 2)), [], [])
    with pytest.raises(InputError, match="X: it has no columns"):
        build_problem(pd.DataFrame(index=range(3)), [0, 1, 0], ["a", "b", "a"])
    with pytest.raises(InputError, match="X: 1 row"):
        build_problem([[1]], [0], ["a"])
    with pytest.raises(InputError, match="y: 2 columns"):
        build_problem([[1], [2]], [[0, 1], [1, 0]], ["a", "b"])
    with pytest.raises(InputError, match="sensitive_features: it has no columns"):
        build_problem([[1], [2]], [0, 1], pd.DataFrame(index=[0, 1]))


@pytest.mark.parametrize(
    ("option", "value"),
    [("missing", "drop"), ("weight_type", "none"), ("min_group_size", 0), ("min_group_size", 2.5)],
)
def test_options_are_checked(option, value):
    X, y, sex = sample()
    with pytest.raises((InputError, InputTypeError), match=f"{option}: {value!r}"):
        build_problem(X, y, sex, **{option: value})


# -- indexes


def test_equal_index_sets_are_aligned_to_the_features():
    X, y, sex = sample()
    X.index = y_index = pd.Index([f"p{i}" for i in range(N_ROWS)])
    y = pd.Series(y, index=y_index)
    sex.index = y_index
    weight = pd.Series(np.linspace(0.5, 1.5, N_ROWS), index=y_index)
    expected = build_problem(X, y, sex, sample_weight=weight)
    other = build_problem(
        X,
        y.sample(frac=1, random_state=0),
        sex.iloc[::-1],
        sample_weight=weight.sort_values(ascending=False),
    )
    assert_same(other, expected)
    notes = [record.message for record in other.warnings if record.category == "AlignedIndex"]
    assert [note.partition(":")[0] for note in notes] == [
        "y",
        "sensitive_features",
        "sample_weight",
    ]


def test_without_an_index_rows_are_paired_by_position():
    X, y, sex = sample()
    expected = build_problem(X, y, sex)
    relabelled = X.set_axis(np.arange(N_ROWS)[::-1], axis=0)
    assert_same(build_problem(relabelled, y, sex.to_numpy(dtype=object)), expected, hashes=False)


def test_features_without_an_index_follow_the_outcome():
    X, y, sex = sample()
    values = X[["age"]].to_numpy()
    expected = build_problem(values, pd.Series(y), sex)
    assert_same(build_problem(values, pd.Series(y), sex.iloc[::-1]), expected)


def test_repeated_labels_are_fine_if_all_indexes_are_the_same():
    X, y, sex = sample()
    index = pd.Index([0] * N_ROWS)
    expected = build_problem(X, y, sex)
    X.index = sex.index = index
    assert_same(build_problem(X, pd.Series(y, index=index), sex), expected)


@pytest.mark.parametrize("argument", ["y", "sensitive_features", "sample_weight"])
def test_different_indexes_are_refused_by_name(argument):
    X, y, sex = sample()
    arguments = {
        "y": pd.Series(y),
        "sensitive_features": sex,
        "sample_weight": pd.Series(np.ones(N_ROWS)),
    }
    arguments[argument] = arguments[argument].set_axis(np.arange(N_ROWS) + 1)
    with pytest.raises(InputError, match=f"{argument}: its index differs from that of X: 1 of 240"):
        build_problem(X, **arguments)
    arguments[argument] = arguments[argument].set_axis([0] * N_ROWS)
    with pytest.raises(InputError, match=f"{argument}: .* that of {argument} has repeated labels"):
        build_problem(X, **arguments)


# -- weights


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
def test_weights_are_checked(weight, message):
    X, y, sex = sample()
    with pytest.raises(InputError, match=f"sample_weight: .*{message}"):
        build_problem(X, y, sex, sample_weight=weight)
    with pytest.raises(InputTypeError, match=r"sample_weight: 2\.0 was given"):
        build_problem(X, y, sex, sample_weight=2.0)


def test_sampling_weights_have_mean_one(rng):
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
def test_the_unit_of_sampling_weights_does_not_matter(rng, factor):
    X, y, sex = sample()
    weight = rng.random(N_ROWS) + 0.1
    expected = build_problem(X, y, sex, sample_weight=weight)
    other = build_problem(X, y, sex, sample_weight=weight * factor, weight_type="sampling")
    np.testing.assert_allclose(other.sample_weight, expected.sample_weight, rtol=1e-12)


def test_weights_of_one_are_none():
    X, y, sex = sample()
    expected = build_problem(X, y, sex)
    for ones in (np.ones(N_ROWS), np.ones(N_ROWS, int), [True] * N_ROWS, pl.Series([1] * N_ROWS)):
        assert_same(build_problem(X, y, sex, sample_weight=ones), expected)


def test_whole_weights_too_many_to_count_rows_are_sampling_weights():
    X, y, sex = sample()
    weight = np.full(N_ROWS, 5000) + np.arange(N_ROWS)
    with pytest.warns(WeightWarning, match=r"sample_weight: .*weight_type='frequency'"):
        problem = build_problem(X, y, sex, sample_weight=weight)
    assert problem.weight_type == "sampling"
    assert problem.n_rows == N_ROWS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        confirmed = build_problem(X, y, sex, sample_weight=weight, weight_type="sampling")
        counted = build_problem(X, y, sex, sample_weight=weight, weight_type="frequency")
    np.testing.assert_array_equal(confirmed.sample_weight, problem.sample_weight)
    assert counted.n_rows == weight.sum()


def test_counts_must_be_whole():
    X, y, sex = sample()
    with pytest.raises(InputError, match=r"sample_weight: .*needs whole numbers, and 1\.5 was"):
        build_problem(X, y, sex, sample_weight=[1.5] * N_ROWS, weight_type="frequency")
    problem = build_problem(X, y, sex, sample_weight=[2] * N_ROWS, weight_type="sampling")
    assert (problem.weight_type, problem.n_rows) == ("sampling", N_ROWS)


# -- warnings


def test_warnings_point_here_and_are_kept():
    X, y, sex = sample()
    sex[:5] = None
    log = WarningLog()
    with pytest.warns(MDFAWarning) as caught:
        problem = build_problem(X, y, sex, log=log)
    assert caught[0].filename == __file__
    assert problem.warnings == log.records
    assert problem.warnings[0].category == "MissingSensitiveWarning"


# -- size


@pytest.mark.parametrize(
    ("kind", "n_bytes"), [("continuous", 20 * 16), ("binary", 20 * 16), ("text", 3 * 16 + 300)]
)
def test_checking_takes_no_steps_and_few_copies_of_every_row(rng, steps_of, peak_of, kind, n_bytes):
    """Twenty times the rows take the same steps, and never more than two copies of the encoded ones.

    So a million rows take seconds. Text has its codes besides.
    """

    def checking(n_rows):
        if kind == "text":
            X = {f"c{i}": rng.choice(np.array(list("abcdef"), object), n_rows) for i in range(3)}
        elif kind == "binary":
            X = rng.integers(0, 2, (n_rows, 20))
        else:
            X = rng.normal(size=(n_rows, 20))
        y, race = rng.integers(0, 2, n_rows), rng.integers(0, 4, n_rows)
        return lambda: build_problem(X, y, race)

    checking(1000)()
    assert steps_of(checking(20_000)) < 1.2 * steps_of(checking(1000))
    assert peak_of(checking(20_000)) < 20_000 * n_bytes


@pytest.mark.parametrize("n_columns", [1, 3, 150])
@pytest.mark.parametrize("n_values", [2, 40, 10**6])
def test_rows_are_sorted_by_their_features(rng, n_columns, n_values):
    values = rng.integers(0, n_values, (500, n_columns)).astype(float)
    _, y, _ = sample(n_rows=500)
    problem = build_problem(values, y, ["f", "m"] * 250)
    np.testing.assert_array_equal(problem.X, values[np.lexsort(values.T[::-1])])


def _keys(kind, n_rows, rng):
    """Columns that tie in different ways."""
    whole = rng.integers(0, 2, size=(n_rows, 90)).T
    measured = np.round(rng.normal(size=(3, n_rows)), 2)
    return {
        "distinct": [rng.normal(size=n_rows)],
        "few values": list(whole.astype(float)),
        "few values of few rows": list(
            whole.astype(float)[:, rng.integers(0, min(9, n_rows), n_rows)]
        ),
        "bool": list(whole.astype(bool)),
        "measured twice": list(np.tile(rng.normal(size=(4, n_rows // 2 + 1)), 2)[:, :n_rows]),
        "few ties": [np.where(rng.random(n_rows) < 0.1, 0.0, one) for one in measured],
        "both zeros": [np.where(whole[0] == 1, 0.0, -0.0), *measured, np.zeros(n_rows)],
        "whole, then measured": [*whole[:3], *measured, *whole[3:6]],
        "many products": list(rng.integers(0, 40, size=(40, n_rows)) // 39),
        "constant": [np.ones(n_rows), np.zeros(n_rows, dtype=bool)],
    }[kind]


@pytest.mark.parametrize("n_rows", [2, 37, 3_000])
@pytest.mark.parametrize(
    "kind",
    [
        "distinct",
        "few values",
        "few values of few rows",
        "bool",
        "measured twice",
        "few ties",
        "both zeros",
        "whole, then measured",
        "many products",
        "constant",
    ],
)
def test_the_order_is_lexicographic_and_stable(kind, n_rows, rng):
    keys = _keys(kind, n_rows, rng)
    rank = _Ranking(n_rows)
    for key in keys:
        rank.refine(key)
    # Adding 0.0 makes one zero of the two.
    rows = np.column_stack([key + 0.0 for key in keys])
    order = np.lexsort(rows.T[::-1])
    assert rank.order().tolist() == order.tolist()
    _, expected = np.unique(rows, axis=0, return_inverse=True)
    assert rank.dense().tolist() == expected.ravel().tolist()
    if rank.complete:
        assert len(np.unique(expected)) == n_rows


def test_problems_can_be_pickled():
    X, y, sex = sample()
    problem = build_problem(X, y, sex)
    assert_same(pickle.loads(pickle.dumps(problem)), problem)
