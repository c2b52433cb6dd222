"""Table 2: the population columns as printed, and the direction of what was found."""

from __future__ import annotations

import pytest

from mdfa_fairness_plugin.experiments import reproduce


def test_table2_population_is_as_printed(data_home, check):
    made = check(reproduce("table2", data_home=data_home, n_splits=2))
    population = [one for one in made.comparisons if one.reading == "population"]
    assert len(population) == 10
    assert all(one.agrees for one in population)
    assert made.find("Ratio of high risk", "population, raw").ours == pytest.approx(2.78, abs=0.01)
    # Algorithm 1's subgroup: few prior offences, and a raw ratio of about the population's.
    for side in ("AA", "Other"):
        inside = made.find(f"Prior Felonies, {side}", "violation, Algorithm 1").ours
        assert inside < made.find(f"Prior Felonies, {side}", "population").ours
