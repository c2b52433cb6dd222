"""Table 4: the population columns as printed."""

from __future__ import annotations

from mdfa_fairness_plugin.datasets import load_adult
from mdfa_fairness_plugin.experiments import table4


def test_table4_population_is_as_printed(data_home):
    coded = load_adult(data_home, subset="test", as_in_paper=True)
    population = list(table4._population(coded))
    assert len(population) == 10
    assert all(one.agrees for one in population)
