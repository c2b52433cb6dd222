"""Encoded features as people read them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.encoding import FeatureEncoder


def test_one_hot_columns_are_shown_as_one_feature(rng, encode):
    colours = rng.choice(["red", "green", "blue"], size=200)
    X = pd.get_dummies(pd.DataFrame({"colour": colours, "age": rng.normal(size=200)}))
    encoder, out = encode(X)
    assert list(out) == list(X)
    feature = encoder.displays_[1]
    assert (feature.name, feature.kind) == ("colour", "categorical")
    assert feature.levels == ("blue", "green", "red")
    assert feature.encoded_columns == (1, 2, 3)
    assert feature.source_columns == ("colour_blue", "colour_green", "colour_red")
    assert encoder.display_frame(X)["colour"].tolist() == colours.tolist()


@pytest.mark.parametrize("separator", ["=", "_", ": "])
@pytest.mark.parametrize("dtype", [bool, int, float, "Int64"])
def test_one_hot_columns_of_any_spelling(rng, separator, dtype, encode):
    colours = rng.choice(["red", "dark_green"], size=100)
    X = pd.get_dummies(pd.Series(colours), prefix="hair_colour", prefix_sep=separator, dtype=dtype)
    encoder, _ = encode(X)
    assert [(feature.name, feature.levels) for feature in encoder.displays_] == [
        ("hair_colour", ("dark_green", "red"))
    ]


def test_rows_in_no_level_are_shown_as_none(encode):
    X = pd.DataFrame({"c=a": [1, 0, 0] * 10, "c=b": [0, 1, 0] * 10})
    encoder, _ = encode(X)
    assert encoder.displays_[0].levels == ("a", "b", "(none)")
    assert encoder.display_frame(X)["c"][:3].tolist() == ["a", "b", "(none)"]
    both = X.head(2).assign(**{"c=a": 1, "c=b": [1, 0]})
    assert encoder.display_frame(both)["c"].tolist() == ["(several)", "a"]


def test_columns_that_only_share_a_prefix_stay_apart(rng, encode):
    X = pd.DataFrame(
        {
            "has_car": rng.integers(0, 2, 100),
            "has_house": rng.integers(0, 2, 100),
            "is_old": [1] + [0] * 99,
            "is_new": [0] * 99 + [1],
            "age_group": rng.normal(size=100),
        }
    )
    encoder, _ = encode(X)
    assert [feature.name for feature in encoder.displays_] == list(X)


def test_a_one_hot_group_does_not_take_the_name_of_a_column(encode):
    X = pd.DataFrame({"c": range(30), "c_a": [1, 0] * 15, "c_b": [0, 1] * 15})
    encoder, _ = encode(X)
    assert [feature.name for feature in encoder.displays_] == ["c", "c (one-hot)"]


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


def test_gaps_new_to_the_encoder_are_shown_as_gaps():
    """The matrix has the median there, so the numbers shown cannot be its own."""
    encoder = FeatureEncoder().fit(pd.DataFrame({"a": [1.0, 2, 3], "b": [0.5, 1, 2]}))
    new = pd.DataFrame({"a": [7.0, np.nan], "b": [1.0, 2.0]})
    encoded = encoder.transform(new)
    shown = encoder.display_frame(new, encoded=encoded)
    assert encoded[1, 0] == 2
    assert np.isnan(shown["a"][1])
    assert np.shares_memory(shown["b"], encoded)
    assert not np.shares_memory(shown["a"], encoded)


def test_names_that_are_not_text_are_kept_for_display(encode):
    X = pd.DataFrame({0: [1, 2, 3], ("a", "b"): [3, 1, 2]})
    encoder, out = encode(X)
    assert list(out) == ["0", "('a', 'b')"]
    assert encoder.feature_names_in_ == (0, ("a", "b"))
    assert encoder.displays_[0].source_columns == (0,)


def test_every_encoded_column_belongs_to_one_display(encode):
    X = mixed_frame().assign(**{"h=a": [1, 0, 0] * 100, "h=b": [0, 1, 0] * 100})
    encoder, out = encode(X)
    columns = [column for feature in encoder.displays_ for column in feature.encoded_columns]
    assert sorted(columns) == list(range(out.shape[1]))
    names = {feature.name: feature for feature in encoder.displays_}
    assert list(encoder.display_frame(X)) == list(names)
