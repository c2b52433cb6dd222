"""Features of any type become a matrix without gaps that can be read back."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data import encoding as features
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.exceptions import (
    FeatureWarning,
    InputError,
    ParsedTextWarning,
    WarningLog,
)

NAN = float("nan")


def notes_of(X, **options):
    log = WarningLog()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeatureWarning)
        FeatureEncoder(**options).fit(X, log)
    return {record.category: record.message for record in log.records}


def test_numbers_stay_as_they_are(rng, encode):
    values = rng.normal(size=(50, 3))
    encoder, out = encode(values)
    assert encoder.encoded_names_ == ("x0", "x1", "x2")
    np.testing.assert_array_equal(out, values)


def test_a_missing_number_is_the_median_and_an_indicator(encode):
    encoder, out = encode(pd.DataFrame({"age": [10, 20, 90, None]}))
    assert encoder.encoded_names_ == ("age", "age is missing")
    assert out["age"].tolist() == [10, 20, 90, 20]
    assert out["age is missing"].tolist() == [0, 0, 0, 1]
    assert (
        "'age' (1)" in notes_of(pd.DataFrame({"age": [10, 20, 90, None]}))["MissingFeatureValues"]
    )


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "int64[pyarrow]", "object"])
def test_nullable_types_equal_floats_with_nan(dtype, encode):
    values = pd.Series([1, 0, 1, None, 0, 1], dtype=dtype)
    _, out = encode(pd.DataFrame({"x": values}))
    _, expected = encode(pd.DataFrame({"x": [1, 0, 1, NAN, 0, 1]}))
    pd.testing.assert_frame_equal(out, expected)


def test_a_missing_boolean_is_the_commoner_value_and_an_indicator(encode):
    encoder, out = encode(pd.DataFrame({"x": [True, False, None]}, dtype="boolean"))
    assert out["x"].tolist() == [1, 0, 1]
    assert encoder.displays_[0].kind == "boolean"


def test_zero_one_numbers_are_boolean(encode):
    encoder, _ = encode(pd.DataFrame({"x": [1, 0, 1, 0], "z": [1, 2, 1, 2]}))
    assert [feature.kind for feature in encoder.displays_] == ["boolean", "numeric"]


def test_infinite_values_are_refused_by_name():
    X = pd.DataFrame({"a": [1.0, 2, 3], "income": [1.0, np.inf, -np.inf]})
    with pytest.raises(InputError, match="X: column 'income' has 2 infinite"):
        FeatureEncoder().fit(X)
    encoder = FeatureEncoder().fit(X.assign(income=[1, 2, 3]))
    with pytest.raises(InputError, match="'income' has 2 infinite"):
        encoder.transform(X)


def test_a_constant_number_with_gaps_keeps_its_indicator(encode):
    encoder, out = encode(pd.DataFrame({"x": [5, 5, None, None]}))
    assert encoder.encoded_names_ == ("x is missing",)
    assert out["x is missing"].tolist() == [0, 0, 1, 1]


def test_constant_columns_are_dropped_with_a_notice(encode):
    X = pd.DataFrame({"a": [1, 2, 3], "k": 7, "t": "same"})
    encoder, out = encode(X)
    assert list(out) == ["a"]
    assert encoder.dropped_ == {"k": "constant", "t": "constant"}
    assert "2 constant column(s) dropped: 'k', 't'" in notes_of(X)["DroppedFeature"]


@pytest.mark.parametrize("dtype", ["float", "object", "category", "string", "datetime64[ns]"])
def test_a_column_without_any_value_is_dropped_with_a_warning(dtype):
    X = pd.DataFrame({"a": [1, 2, 3], "gone": pd.Series([None] * 3, dtype=dtype)})
    with pytest.warns(FeatureWarning, match=r"X: 1 column.* no value at all .*'gone'"):
        encoder = FeatureEncoder().fit(X)
    assert encoder.encoded_names_ == ("a",)


def test_nothing_left_says_why():
    with pytest.raises(InputError, match=r"X: no feature is left to audit: 'k' \(constant\)"):
        FeatureEncoder().fit(pd.DataFrame({"k": [1, 1, 1]}))


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_an_empty_table_is_refused(shape):
    with pytest.raises(InputError, match=f"X: {shape[0]} rows and {shape[1]} columns"):
        FeatureEncoder().fit(np.zeros(shape))


def test_dates_and_durations_are_days(encode):
    X = pd.DataFrame(
        {
            "when": pd.to_datetime(["2020-01-01", "2020-01-03", None, "2020-01-02"]),
            "long": pd.to_timedelta(["1 day", "36 hours", "2 days", None]),
        }
    )
    encoder, out = encode(X)
    first = out["when"][0]
    assert (out["when"] - first).tolist() == [0, 2, 1, 1]
    assert out["when is missing"].tolist() == [0, 0, 1, 0]
    assert out["long"].tolist() == [1, 1.5, 2, 1.5]
    assert [feature.kind for feature in encoder.displays_] == ["datetime", "hours"]
    shown = encoder.display_frame(X)
    assert shown["when"].tolist()[1] == pd.Timestamp("2020-01-03")
    assert pd.isna(shown["when"][2])
    assert shown["long"].tolist()[:3] == [24, 36, 48]


def test_labels_become_one_column_per_level(encode):
    colours = ["red", "blue", None, "red"] * 5
    encoder, out = encode(pd.DataFrame({"colour": colours}))
    assert list(out) == ["colour=blue", "colour=red", "colour=(missing)"]
    assert out.sum().tolist() == [5, 10, 5]
    assert (out.sum(axis=1) == 1).all()
    assert encoder.displays_[0].levels == ("blue", "red", "(missing)")


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_the_type_of_text_does_not_matter(dtype):
    colours = pd.Series(["red", "blue", None, "red"] * 5, dtype=object)
    expected = FeatureEncoder().fit(pd.DataFrame({"c": colours}))
    encoder = FeatureEncoder().fit(pd.DataFrame({"c": colours.astype(dtype)}))
    assert encoder.encoded_names_ == expected.encoded_names_
    np.testing.assert_array_equal(
        encoder.transform(pd.DataFrame({"c": colours})),
        expected.transform(pd.DataFrame({"c": colours.astype(dtype)})),
    )


def test_unused_levels_are_ignored():
    values = pd.Categorical(["a", "b"] * 10, categories=["a", "b", "never"])
    assert FeatureEncoder().fit(pd.DataFrame({"x": values})).encoded_names_ == ("x=a", "x=b")


def test_an_ordered_categorical_is_its_place(encode):
    values = ["low", "high", None, "mid"] * 5
    dtype = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    X = pd.DataFrame({"risk": pd.Series(values).astype(dtype)})
    encoder, out = encode(X)
    assert list(out) == ["risk", "risk is missing"]
    assert out["risk"][:4].tolist() == [0, 2, 1, 1]
    feature = encoder.displays_[0]
    assert (feature.kind, feature.ordered) == ("categorical", True)
    assert feature.levels == ("low", "mid", "high", "(missing)")
    assert encoder.display_frame(X)["risk"][:4].tolist() == ["low", "high", "(missing)", "mid"]


def test_unused_places_of_an_order_change_nothing(encode):
    values = ["low", "high"] * 5
    narrow = pd.CategoricalDtype(["low", "high"], ordered=True)
    wide = pd.CategoricalDtype(["least", "low", "mid", "high"], ordered=True)
    _, out = encode(pd.DataFrame({"x": pd.Series(values).astype(narrow)}))
    encoder, same = encode(pd.DataFrame({"x": pd.Series(values).astype(wide)}))
    pd.testing.assert_frame_equal(out, same)
    new = pd.DataFrame({"x": pd.Categorical(["mid"], dtype=wide)})
    assert encoder.transform(new).item() == 0.5


def test_a_number_and_its_text_are_two_levels(encode):
    values = np.empty(40, dtype=object)
    values[:] = [1, "1"] * 20
    _encoder, out = encode({"x": values})
    assert list(out) == ["x=1", "x='1'"]
    assert out.sum().tolist() == [20, 20]


def test_rare_levels_are_pooled(encode):
    values = ["a"] * 50 + ["b"] * 40 + list("cdefghijkl")
    X = pd.DataFrame({"x": values})
    encoder, out = encode(X)
    assert list(out) == ["x=a", "x=b", "x=(other levels)"]
    assert out.sum().tolist() == [50, 40, 10]
    assert encoder.display_frame(X)["x"].value_counts().to_dict() == {
        "a": 50,
        "b": 40,
        "(other levels)": 10,
    }
    assert "'x': 10 of 12 levels count as one (10 % of rows)" in notes_of(X)["NotHeldEqual"]


def test_levels_beyond_the_most_are_pooled(rng, encode):
    X = pd.DataFrame({"x": rng.permutation(np.repeat([f"v{i:02}" for i in range(50)], 20))})
    _, out = encode(X, max_levels=30)
    assert out.shape[1] == 31
    assert out["x=(other levels)"].sum() == 20 * 20


def test_a_pool_of_too_few_joins_the_most_frequent_level_and_is_shown_apart(encode):
    X = pd.DataFrame({"x": ["a"] * 20 + ["b"] * 30 + ["c"]})
    encoder, out = encode(X)
    assert list(out) == ["x=a", "x=b"]
    assert out.iloc[-1].tolist() == [0, 1]
    assert encoder.display_frame(X)["x"].tolist()[-1] == "(other levels)"
    assert "(other levels)" in encoder.displays_[0].levels
    assert "'x': rare levels count as 'b' (2 % of rows)" in notes_of(X)["NotHeldEqual"]


def test_what_comes_again_and_again_in_dates_has_columns_of_its_own(encode):
    days = pd.Series(pd.date_range("2023-12-31 18:00", periods=500, freq="36h"))
    days[7] = pd.NaT
    encoder, out = encode(pd.DataFrame({"day": days, "x": range(500)}))
    parts = ["day", "day: weekday", "day: month", "day: hour", "day is missing", "x"]
    assert sorted(out) == sorted(parts)
    known = days.notna()
    assert (out["day: weekday"] == days.dt.day_of_week)[known].all()
    assert (out["day: month"] == days.dt.month - 1)[known].all()
    assert (out["day: hour"] == days.dt.hour)[known].all()
    assert encoder.displays_[0].kind == "datetime"
    assert len(encoder.displays_) == 2


@pytest.mark.parametrize(
    ("days", "parts"),
    [
        (pd.date_range("2024-01-01", periods=7), []),
        (pd.date_range("2024-01-01", periods=300), ["day: weekday"]),
        (pd.date_range("2024-01-01", periods=60, freq="7D"), ["day: month"]),
        (pd.date_range("2024-01-01", periods=40, freq="h"), ["day: hour"]),
    ],
)
def test_parts_of_dates_that_never_come_again_say_no_more_than_the_date(encode, days, parts):
    _, out = encode(pd.DataFrame({"day": days}))
    assert sorted(out) == sorted(["day", *parts])


def wide(rng, n_levels):
    """Two columns of many levels: two rows each, and a few rows of most."""
    return pd.DataFrame(
        {
            "zip": rng.permutation(np.tile([f"z{i}" for i in range(n_levels)], 2)),
            "town": [f"t{i % n_levels}" for i in rng.zipf(1.6, size=2 * n_levels)],
            "age": rng.normal(size=2 * n_levels),
        }
    )


def test_many_levels_take_no_more_work_each_than_few(rng, steps_of, peak_of):
    def encoding(n_levels):
        X = wide(rng, n_levels)

        def work():
            with pytest.warns(FeatureWarning, match=r"no level has enough rows"):
                encoder = FeatureEncoder().fit(X)
            encoder.transform(X)
            encoder.display_frame(X)

        return work

    encoding(300)()
    assert steps_of(encoding(1500)) < 3 * steps_of(encoding(500))
    # 31 columns of a town's rows, twice; a column of every level would be 1,500.
    assert peak_of(encoding(1500)) < 3000 * 31 * 8 * 2


def test_a_wide_categorical_singles_no_one_out(rng):
    X = wide(rng, 1500)
    with pytest.warns(FeatureWarning, match=r"no level has enough rows .*'zip'"):
        encoder = FeatureEncoder().fit(X)
    out = encoder.transform(X)
    shown = encoder.display_frame(X)
    levels = [i for i, name in enumerate(encoder.encoded_names_) if name.startswith("town=")]
    assert 2 < len(levels) <= 31
    assert out[:, levels].sum(axis=0).min() >= encoder.min_level_count_ == 15
    assert (out[:, levels].sum(axis=1) == 1).all()
    assert shown["town"].value_counts().min() >= 15


def test_numbers_stored_as_text_are_numbers(rng):
    X = pd.DataFrame({"income": rng.integers(0, 10**6, 1000).astype(str), "a": range(1000)})
    with pytest.warns(ParsedTextWarning, match="'income' \\(numbers"):
        encoder = FeatureEncoder().fit(X)
    assert encoder.encoded_names_ == ("income", "a")


@pytest.mark.parametrize(("n_rows", "count"), [(100, 5), (199, 5), (200, 10), (2001, 11)])
def test_the_fewest_rows_of_a_level(n_rows, count):
    assert FeatureEncoder().fit(np.arange(n_rows).reshape(-1, 1)).min_level_count_ == count


def test_encoded_names_are_unique(encode):
    X = pd.DataFrame({"c": ["a", "b"] * 15, "c=a": range(30), "c is missing": range(30)})
    X["d"] = [1, None, 3] * 10
    X["d is missing"] = range(30)
    encoder, _ = encode(X)
    assert len(set(encoder.encoded_names_)) == len(encoder.encoded_names_)


def mixed_frame(n_rows=300):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "visits": rng.integers(0, 5, n_rows),
            "member": rng.random(n_rows) < 0.5,
            "town": rng.choice(["A", "B", "C"], n_rows),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 999, n_rows), unit="D"),
        }
    )


def odd_frame(n_rows=5_000):
    """Every kind of column, with gaps, an order and columns one-hot encoded before."""
    rng = np.random.default_rng(6)
    colour = rng.integers(0, 3, n_rows)
    X = mixed_frame(n_rows)
    X["risk"] = pd.Categorical(
        rng.choice(["low", "mid", "high", None], n_rows), ["low", "mid", "high"], ordered=True
    )
    X["street"] = rng.choice([*"abcdefgh", None], n_rows)
    X["member"] = X["member"].astype("boolean").mask(rng.random(n_rows) < 0.1)
    X["lasting"] = pd.to_timedelta(rng.integers(0, 99, n_rows), unit="h")
    for place in range(3):
        X[f"colour={place}"] = (colour == place).astype(int)
    return X


@pytest.mark.parametrize("kind", ["frame", "numbers", "sparse"])
def test_rows_by_position_equal_the_rows_of_the_whole(kind, rng):
    X = odd_frame()
    if kind == "numbers":
        X = rng.normal(size=(5_000, 3))
    elif kind == "sparse":
        X = sparse.random(5_000, 12, density=0.2, random_state=rng)
    encoder = FeatureEncoder().fit(X)
    whole, shown = encoder.transform(X), encoder.display_frame(X)
    for name, column in zip(encoder.encoded_names_, encoder.encoded_columns(X), strict=True):
        place = encoder.encoded_names_.index(name)
        np.testing.assert_array_equal(column.astype(float), whole[:, place])
    rows = rng.permutation(5_000)[:4_500]
    some = encoder.transform(X, rows=rows)
    assert some.flags.c_contiguous
    np.testing.assert_array_equal(some, whole[rows])
    expected = shown.iloc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(encoder.display_frame(X, rows=rows), expected)
    pd.testing.assert_frame_equal(encoder.display_frame(X, rows=rows, encoded=some), expected)
    pd.testing.assert_frame_equal(encoder.display_frame(X, encoded=whole), shown)


@pytest.mark.parametrize("n_rows", [1, 2, 5, 100, 1_001])
def test_the_median_is_that_of_numpy(n_rows, rng):
    for values in (rng.normal(size=n_rows), rng.integers(0, 3, n_rows).astype(float)):
        assert features._median(values) == np.median(values)


def test_polars_equals_pandas(encode):
    X = mixed_frame()
    other = pl.DataFrame({name: X[name].to_list() for name in X})
    encoder, out = encode(X)
    same, also_out = encode(other)
    pd.testing.assert_frame_equal(out, also_out)
    assert encoder.displays_ == same.displays_
    pd.testing.assert_frame_equal(
        encoder.display_frame(X).astype(str), same.display_frame(other).astype(str)
    )


def test_object_arrays_lists_and_mappings_equal_pandas():
    X = mixed_frame()
    expected = FeatureEncoder().fit(X).transform(X)
    rows = X.astype(object).to_numpy()
    for other in (rows, rows.tolist(), {name: X[name] for name in X}):
        np.testing.assert_array_equal(FeatureEncoder().fit(other).transform(other), expected)


def test_the_input_is_left_alone():
    X = mixed_frame()
    copy = X.copy(deep=True)
    encoder = FeatureEncoder().fit(X)
    shown = encoder.display_frame(X)
    shown.iloc[:, 0] = -1.0
    pd.testing.assert_frame_equal(X, copy)
    values = np.arange(10.0).reshape(-1, 1)
    shown = FeatureEncoder().fit(values).display_frame(values)
    shown.iloc[:, 0] = 0
    assert values[3, 0] == 3


def test_sparse_equals_dense(rng):
    dense = rng.random((100, 4)) * (rng.random((100, 4)) < 0.3)
    for make in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        matrix = make(dense)
        encoder = FeatureEncoder().fit(matrix)
        np.testing.assert_array_equal(encoder.transform(matrix), dense)
        np.testing.assert_array_equal(encoder.transform(dense), dense)


def test_rare_sparse_columns_are_dropped_without_densifying(rng, peak_of):
    n_rows, n_columns = 3000, 20_000
    common = sparse.random(n_rows, 5, density=0.2, random_state=rng)
    rare = sparse.random(n_rows, n_columns, density=0.0002, random_state=rng)
    matrix, log, encoder = sparse.hstack([common, rare]), WarningLog(), FeatureEncoder()
    # A thirtieth of the dense matrix.
    assert peak_of(lambda: encoder.fit(matrix, log)) < n_rows * n_columns * 8 / 30
    assert encoder.encoded_names_ == ("x0", "x1", "x2", "x3", "x4")
    assert "20,000 of 20,005 sparse columns" in log.records[0].message


def test_a_sparse_matrix_too_large_when_dense_is_refused(rng, monkeypatch):
    monkeypatch.setattr(features, "_LARGEST_DENSE_BYTES", 1000)
    matrix = sparse.random(300, 20, density=0.5, random_state=rng)
    with pytest.raises(InputError, match=r"X: a sparse matrix with 20 columns .*TruncatedSVD"):
        FeatureEncoder().fit(matrix)


def test_explicit_zeros_and_gaps_of_a_sparse_matrix():
    dense = np.tile([[0.0, 1.0], [2.0, 0.0], [NAN, 3.0]], (5, 1))
    matrix = sparse.csr_array(dense)
    matrix.data[matrix.data == 3] = 0
    encoder = FeatureEncoder().fit(matrix)
    assert encoder.encoded_names_ == ("x0", "x0 is missing", "x1")
    assert encoder.transform(matrix)[:3].tolist() == [[0, 0, 1], [2, 0, 0], [1, 1, 0]]


def test_transform_finds_columns_by_name():
    X = mixed_frame()
    encoder = FeatureEncoder().fit(X)
    shuffled = X[list(X)[::-1]].assign(extra=1)
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(X))


def test_transform_names_the_columns_that_are_missing():
    X = mixed_frame()
    encoder = FeatureEncoder().fit(X)
    with pytest.raises(InputError, match=r"X: 2 column.* missing: 'age', 'town'"):
        encoder.transform(X.drop(columns=["town", "age"]))


def test_columns_left_out_are_not_needed_again():
    X = mixed_frame().assign(constant=1, leak=0)
    encoder = FeatureEncoder().fit(X, exclude={"leak": "repeats sex"})
    assert encoder.dropped_ == {"leak": "repeats sex", "constant": "constant"}
    assert encoder.feature_names_in_ == tuple(X)
    np.testing.assert_array_equal(encoder.transform(mixed_frame()), encoder.transform(X))


def test_transform_counts_the_columns_of_an_array():
    encoder = FeatureEncoder().fit(np.eye(4))
    with pytest.raises(InputError, match=r"X has 3 features, but .* is expecting 4 features"):
        encoder.transform(np.eye(3))


def test_levels_not_seen_before_are_other_levels_or_nothing():
    X = pd.DataFrame({"many": ["a"] * 10 + list("bcdefghijk"), "few": ["a", "b"] * 10})
    encoder = FeatureEncoder().fit(X)
    new = pd.DataFrame({"many": ["new", None], "few": ["new", None]})
    out = pd.DataFrame(encoder.transform(new), columns=list(encoder.encoded_names_))
    assert out["many=(other levels)"].tolist() == [1, 1]
    assert out[["few=a", "few=b"]].to_numpy().tolist() == [[0, 0], [0, 0]]
    assert encoder.display_frame(new).to_numpy().tolist() == [
        ["(other levels)", "(other levels)"],
        ["(missing)", "(missing)"],
    ]


def test_a_gap_where_none_was_is_the_median():
    encoder = FeatureEncoder().fit(pd.DataFrame({"x": [1, 2, 9]}))
    assert encoder.transform(pd.DataFrame({"x": [NAN]})).item() == 2


def test_a_column_that_changes_type_is_refused():
    encoder = FeatureEncoder().fit(pd.DataFrame({"x": [1, 2, 9]}))
    with pytest.raises(InputError, match=r"column 'x' was numeric .* is categorical now"):
        encoder.transform(pd.DataFrame({"x": ["a"]}))


def test_encoders_can_be_pickled():
    X = mixed_frame()
    encoder = FeatureEncoder().fit(X)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
    assert again.displays_ == encoder.displays_


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(seed):
    X = mixed_frame()
    order = np.random.default_rng(seed).permutation(len(X))
    expected = FeatureEncoder().fit(X).transform(X)[order]
    shuffled = X.iloc[order]
    np.testing.assert_array_equal(FeatureEncoder().fit(shuffled).transform(shuffled), expected)


def test_values_that_fitting_has_not_seen_are_counted():
    """New labels, and gaps where there was none; pooled labels and known gaps are no news."""
    fitted = pd.DataFrame(
        {
            "town": ["A", "B"] * 30 + ["rare"],
            "age": [*range(60), None],
            "height": range(61),
            "size": pd.Categorical(["S", "L"] * 30 + ["S"], ["S", "M", "L"], ordered=True),
        }
    )
    encoder = FeatureEncoder().fit(fitted)
    new = pd.DataFrame(
        {
            "town": ["A", "Z", None, "rare"],
            "age": [1.0, None, None, 2.0],
            "height": [None, 1.0, None, 2.0],
            "size": pd.Categorical(["S", "M", "XL", None], ["S", "M", "L", "XL"], ordered=True),
        }
    )
    assert encoder.unseen(fitted) == {}
    assert encoder.unseen(new) == {"town": 2, "height": 2, "size": 2}


def test_levels_that_share_a_column_have_codes_of_their_own(encode):
    towns = ["A"] * 40 + ["B"] * 40 + [f"rare {i}" for i in range(20)]
    X = pd.DataFrame({"age": np.arange(100.0), "town": towns})
    encoder, _ = encode(X)
    levels = encoder.levels(X)
    assert levels.dtype == np.int32
    assert levels.shape == (100, 1)
    assert len(np.unique(levels)) == len(np.unique(towns)) == 22
    assert levels.min() == 0
    new = pd.DataFrame({"age": [1.0, 2.0, 3.0], "town": ["rare 3", "elsewhere", None]})
    assert encoder.levels(new).ravel().tolist() == [levels[83, 0], -1, -1]
    rows = encoder.rows(new)
    np.testing.assert_array_equal(rows.levels, encoder.levels(new))
    np.testing.assert_array_equal(rows[:], encoder.transform(new))
    own = np.array([90, 2])
    np.testing.assert_array_equal(encoder.levels(X, rows=own), levels[own])


def test_features_whose_levels_all_have_columns_need_no_codes(encode):
    X = pd.DataFrame({"age": np.arange(100.0), "town": ["A", "B", "C", None] * 25})
    encoder, _ = encode(X)
    assert encoder.levels(X) is None
    assert encoder.rows(X).levels is None


def test_levels_of_a_column_that_is_dropped_for_rare_ones_are_told_apart_unless_nearly_unique(rng):
    X = pd.DataFrame({"age": rng.normal(size=4_000)})
    X["branch"] = [f"b{i % 400}" for i in range(4_000)]
    X["id"] = [f"p{i // 2}" for i in range(4_000)]
    with pytest.warns(FeatureWarning, match=r"'branch', 'id'.*those of 'branch' all the same"):
        encoder = FeatureEncoder().fit(X)
    assert encoder.encoded_names_ == ("age",)
    assert list(encoder.dropped_) == ["branch", "id"]
    levels = encoder.levels(X)
    assert levels.shape == (4_000, 1)
    assert len(np.unique(levels)) == 400
    np.testing.assert_array_equal(levels[:400], levels[400:800])
    np.testing.assert_array_equal(encoder.rows(X.drop(columns="id"))[:], X[["age"]])
