"""Cut points as round as they may be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe.rounding import simplest_between
from mdfa_fairness_plugin.describe.rules import describe_rule


@pytest.mark.parametrize(
    ("column", "condition", "text"),
    [
        ("priors", lambda x: x == 0, "priors is 0"),
        ("priors", lambda x: x == 1, "priors is 1"),
        ("priors", lambda x: x >= 1, "priors at least 1"),
        ("owed", lambda x: x == 0, "owed is 0"),
        ("owed", lambda x: x == 30.25, "owed is 30.25"),
        ("owed", lambda x: x == 99, "owed is 99"),
        ("year", lambda x: x == 2002, "year is 2002"),
        ("day", lambda x: x == "2020-01-02", "day is 2020-01-02"),
        ("day", lambda x: x == "2020-01-01", "day is 2020-01-01"),
    ],
)
def test_a_condition_that_admits_one_value_names_it(column, condition, text, counts):
    """A count of "at most 0" is a count that "is 0"; so at either end, for any kind of number."""
    display = counts()
    inside = condition(display[column]).to_numpy()
    rule = describe_rule(inside, display)[0]
    assert rule.text == text
    np.testing.assert_array_equal(rule.applies(display), inside)


def test_an_end_that_leaves_nobody_out_is_not_said():
    """All with c = a lie far above the cut, so that one end says it all."""
    rng = np.random.default_rng(0)
    display = pd.DataFrame({"x": rng.normal(size=2000), "c": rng.choice(["a", "b"], 2000)})
    display.loc[display.c == "a", "x"] += 10
    inside = ((display.c == "b") & (display.x < 0.5)).to_numpy()
    rule = describe_rule(inside, display)[0]
    assert rule.text.startswith("x at most 0.")
    assert "between" not in rule.text
    assert rule.fidelity > 0.99


@pytest.mark.parametrize("seed", range(20))
def test_simplest_number_lies_between_and_is_no_longer_than_the_ends(seed):
    rng = np.random.default_rng(seed)
    low = rng.normal() * 10.0 ** rng.integers(-4, 6)
    high = low + rng.exponential() * 10.0 ** rng.integers(-4, 4)
    chosen = simplest_between(low, high)
    assert low <= chosen < high
    assert len(repr(chosen)) <= len(repr(low))


def test_simplest_numbers_people_use():
    assert simplest_between(-0.2, 0.7) == 0.0
    assert simplest_between(24, 25, whole=True) == 24.0
    assert simplest_between(21, 28, whole=True) == 25.0
    assert simplest_between(48_211.0, 51_877.0) == 50_000.0
    assert simplest_between(-7.3, -6.1) == -7.0
    assert simplest_between(2.0, 2.0) == 2.0
