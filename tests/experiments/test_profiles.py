"""Means by side, worked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.experiments.profiles import Profile

PROFILE = Profile(sides=("F", "M"), titles={"age": "Age"})
TABLE = pd.DataFrame({"age": [20.0, 30.0, 40.0, 60.0]})
IS_GROUP = pd.Series([True, True, False, False])


def test_means_of_a_subgroup_by_side():
    inside = np.array([False, True, True, True])
    assert PROFILE.means(TABLE, inside, IS_GROUP.to_numpy()) == {"age F": 30.0, "age M": 50.0}


def test_everybody_beside_the_paper():
    women, men = PROFILE.of_population(TABLE, IS_GROUP, {"age": ((25.0, 7.07), (50.0, 10.0))})
    assert (women.quantity, women.reading, women.ours) == ("Age, F", "population", 25.0)
    assert women.ours_sd == pytest.approx(np.sqrt(50.0))
    assert women.agrees
    assert (men.ours, men.agrees) == (50.0, False)


def test_splits_beside_the_paper():
    runs = pd.DataFrame({"age F": [20.0, 22.0], "age M": [30.0, np.nan]})
    published = {"age": ((21.0, 1.41), (31.0, 0.5))}
    women, men = PROFILE.of_subgroup(runs, "a search", published, "because")
    assert (women.reading, women.ours, women.agrees) == ("violation, a search", 21.0, True)
    assert (men.ours, men.paper, men.paper_sd, men.why) == (30.0, 31.0, 0.5, "because")
