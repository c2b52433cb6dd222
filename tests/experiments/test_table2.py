"""Table 2: the population columns as printed, and the direction of what was found."""

from __future__ import annotations

import pytest

from mdfa_fairness_plugin.experiments import assembled, reproduce, table2


def test_table2_by_algorithm_1(data_home, check, monkeypatch):
    """The population as printed; the smaller alpha, the fewer people and the larger the raw ratio."""
    pytest.importorskip("torch", reason="the paper's reading has the network")
    entropy = f"{assembled.FOREST}, entropy weights"
    monkeypatch.setattr(assembled, "VARIANTS", {entropy: assembled.VARIANTS[entropy]})
    made = check(reproduce("table2", data_home=data_home, n_splits=2, reading="paper"))
    population = [one for one in made.comparisons if one.reading == "population"]
    assert len(population) == 10
    assert all(one.agrees for one in population)
    assert made.find("Ratio of high risk", "population, raw").ours == pytest.approx(2.78, abs=0.01)
    by_alpha = made.runs.groupby("alpha")
    assert by_alpha["share"].mean().is_monotonic_increasing
    assert by_alpha["ratio_unweighted"].mean().iloc[[0, -1]].is_monotonic_decreasing
    assert [panel.title for panel in made.panels] == [title for title, _ in table2._ALONG.values()]
