"""An order of rows and a hash that depend on their content alone."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data.order import Ranking
from mdfa_fairness_plugin.data.problem import build_problem

N_ROWS = 240


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
    assert problem.source_row[:8].tolist() == [41, 1, 42, 40, 17, 24, 58, 39]


def test_polars_lists_and_mappings_equal_pandas(sample, assert_same):
    X, y, sex = sample()
    expected = build_problem(X, y, sex)
    frame = pl.DataFrame({name: X[name].to_list() for name in X})
    assert_same(build_problem(frame, pl.Series(y), pl.Series("sex", sex.to_list())), expected)
    assert_same(
        build_problem(frame, pl.DataFrame({"y": y}), pl.DataFrame({"sex": sex.to_list()})), expected
    )
    assert_same(build_problem(dict(X.items()), y.tolist(), {"sex": sex.tolist()}), expected)
    assert_same(build_problem(X, pd.DataFrame({"y": y}), sex.to_frame()), expected)


def test_numpy_equals_pandas_under_the_same_names(rng, sample, assert_same):
    values = rng.normal(size=(100, 2))
    _, y, sex = sample(n_rows=100)
    expected = build_problem(pd.DataFrame(values, columns=["x0", "x1"]), y, sex)
    assert_same(build_problem(values, y, sex), expected)
    renamed = build_problem(values, y, sex.to_numpy(dtype=object))
    assert_same(renamed, expected, hashes=False)
    assert renamed.contrasts[0].sensitive_feature == "sensitive_feature"
    assert_same(build_problem(sparse.csr_array(values), y, sex), expected, hashes=False)


def test_hashes_tell_contents_apart(sample):
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


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(seed, discrete, sample, assert_same):
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


@pytest.mark.parametrize("size", [3, 4, 5])
def test_clusters_of_rows_that_are_alike_keep_their_order(size):
    rng = np.random.default_rng(size)
    n = 1_200
    X = pd.DataFrame({"a": rng.integers(0, 2, n), "b": rng.integers(0, 3, n)})
    sex = pd.Series(rng.choice(["f", "m"], n), name="sex")
    y = rng.integers(0, 2, n)
    clusters = np.arange(n) // size

    def held(order):
        problem = build_problem(X.iloc[order], y[order], sex.iloc[order], clusters=clusters[order])
        labels = problem.sensitive[0].labels.codes
        return np.column_stack([problem.X, problem.y, labels, problem.cluster])

    expected = held(np.arange(n))
    for _ in range(3):
        np.testing.assert_array_equal(held(rng.permutation(n)), expected)


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
def test_the_names_of_outcomes_do_not_matter(name, balanced, sample):
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
def test_the_names_of_sensitive_values_do_not_matter(seed, sample):
    X, y, _ = sample(seed, discrete=True)
    race = np.random.default_rng(seed + 100).integers(0, 3, N_ROWS)
    expected = build_problem(X, y, race)
    other = build_problem(X, y, np.array(["z", "a", "m"])[race])
    np.testing.assert_array_equal(other.y, expected.y)
    where = {contrast.group: contrast.s for contrast in other.contrasts}
    for contrast, name in zip(expected.contrasts, ["z", "a", "m"], strict=True):
        np.testing.assert_array_equal(where[name], contrast.s)


@pytest.mark.parametrize("n_columns", [1, 3, 150])
@pytest.mark.parametrize("n_values", [2, 40, 10**6])
def test_rows_are_sorted_by_their_features(rng, n_columns, n_values, sample):
    values = rng.integers(0, n_values, (500, n_columns)).astype(float)
    _, y, _ = sample(n_rows=500)
    problem = build_problem(values, y, ["f", "m"] * 250)
    values = values[:, [int(name[1:]) for name in problem.feature_names]]
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
    rank = Ranking(n_rows)
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


def _numbered(levels):
    """Codes in the order in which they first appear."""
    return pd.factorize(levels[:, 0])[0]


@pytest.mark.parametrize("change", ["rows", "names", "both"])
def test_pooled_levels_lie_alike_whatever_the_rows_order_and_their_names(change, rng, assert_same):
    # Little else tells rows apart, so that their order is that of the branches in most places.
    branch = np.repeat(np.arange(60), [12] * 20 + [3] * 40)
    X = pd.DataFrame({"branch": [f"b{i}" for i in branch], "shift": rng.integers(0, 2, 360)})
    y, sex = rng.integers(0, 2, 360), pd.Series(rng.choice(["f", "m"], 360), name="sex")
    expected = build_problem(X, y, sex)
    assert expected.X.shape == (360, 22)
    assert len(np.unique(expected.levels)) == 60
    if change != "rows":
        X = X.assign(branch=rng.permutation([f"town {i}" for i in range(60)])[branch])
    if change != "names":
        shuffled = rng.permutation(360)
        X, y, sex = X.iloc[shuffled], y[shuffled], sex.iloc[shuffled]
    found = build_problem(X, y, sex)
    assert_same(found, expected, hashes=False)
    np.testing.assert_array_equal(_numbered(found.levels), _numbered(expected.levels))
