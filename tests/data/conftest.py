"""Fixtures shared by the tests of this folder."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.encoding import FeatureEncoder


@pytest.fixture
def rng():
    return np.random.default_rng(20190810)


@pytest.fixture
def data(rng):
    """Features, outcome, and two sensitive columns worked out by hand: 150, 90, 60 by 150, 150."""
    X = pd.DataFrame({"age": rng.normal(size=300), "visits": rng.integers(0, 9, 300)})
    y = rng.integers(0, 2, 300)
    race = np.repeat(np.array(["A", "B", "C"], dtype=object), [150, 90, 60])
    return X, y, pd.DataFrame({"race": race, "sex": ["f", "m"] * 150})


@pytest.fixture
def sample():
    """Features, outcome and sensitive feature; `discrete` features tie often."""

    def draw(seed=0, n_rows=240, *, discrete=False):
        rng = np.random.default_rng(seed)
        age = rng.integers(0, 3, n_rows) if discrete else rng.normal(size=n_rows)
        X = pd.DataFrame({"age": age, "town": rng.choice(["A", "B", "C"], n_rows)})
        y = rng.integers(0, 2, n_rows)
        sex = pd.Series(rng.choice(["f", "m"], n_rows, p=[0.4, 0.6]), name="sex")
        return X, y, sex

    return draw


@pytest.fixture
def by_group():
    """Contrasts of a problem by their group."""

    def find(problem, column=None):
        return {
            contrast.group: contrast
            for contrast in problem.contrasts
            if column is None or contrast.sensitive_feature == column
        }

    return find


@pytest.fixture
def sizes():
    """Rows in the group of a contrast and in its reference."""
    return lambda contrast: (int((contrast.s == 1).sum()), int((contrast.s == -1).sum()))


@pytest.fixture
def assert_same():
    """Two problems hold the same evidence."""

    def check(left, right, *, hashes=True):
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

    return check


@pytest.fixture
def encode():
    """Fit an encoder, and give what it makes of the rows fitted to."""

    def fit(X, **options):
        encoder = FeatureEncoder(**options).fit(X)
        return encoder, pd.DataFrame(encoder.transform(X), columns=list(encoder.encoded_names_))

    return fit
