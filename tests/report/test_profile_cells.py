"""Which encoded features may be told of, given what their profile withholds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.report.profile_cells import ProfiledFeatures
from mdfa_fairness_plugin.results import AuditResult


def profiled(lines, hidden=()):
    """A profile with these (name, level) lines, of which some are withheld."""
    index = pd.MultiIndex.from_tuples([(*line, "share") for line in lines])
    given = pd.DataFrame(0.5, index=index, columns=[("population", "a"), ("subgroup", "a")])
    printed = given.copy()
    printed.loc[[line in hidden for line in lines]] = np.nan
    return ProfiledFeatures(AuditResult(), given, printed)


@pytest.mark.parametrize(
    ("encoded", "told"),
    [
        ("age", True),
        ("job=clerk", True),
        ("job=smith", True),
        ("town=Ulm", False),  # a line of its feature is withheld
        ("townhall", True),  # another feature, although its name begins alike
        ("town", False),
        ("income", False),  # not in the profile
    ],
)
def test_features_are_found_by_name_and_told_of_where_no_line_is_withheld(encoded, told):
    lines = [("age", ""), ("job", "clerk"), ("job", "smith"), ("town", "Ulm"), ("town", "Bonn")]
    features = profiled([*lines, ("townhall", "")], hidden=[("town", "Ulm")])
    assert features.may_tell_of(encoded) is told
    if "=" not in encoded:
        assert features.may_tell_of_whole(encoded) is told


@pytest.fixture
def steps_for(steps_of):
    """Steps that it takes to ask about every one of so many features."""

    def count(n):
        names = [f"x{place:03}" for place in range(n)]
        features = profiled([(name, "") for name in names])
        return steps_of(lambda: [features.may_tell_of(name) for name in names])

    return count


def test_work_grows_with_the_number_of_features_and_not_with_its_square(steps_for):
    assert steps_for(400) < 1.2 * 8 * steps_for(50)
