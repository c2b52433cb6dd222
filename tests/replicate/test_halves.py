"""The same search on halves of the rows."""

from __future__ import annotations

import numpy as np


def test_halves_of_a_plain_violation_find_the_same_people(planted):
    stable = planted.stability(4)
    worst = planted.violations.index(planted.worst_case)
    assert stable.jaccard.shape == (4, 4)
    assert stable.jaccard[:, worst].min() > 2 * stable.chance[worst]
    assert set(stable.features.index) == {"x1", "x2"}
    assert stable.features.iloc[:, worst].max() == 1.0
    inside = planted.worst_case.membership
    frequency = stable.frequency[worst]
    assert np.nanmean(frequency[inside]) > np.nanmean(frequency[~inside]) + 0.3
    assert "by chance" in stable.summary()
