"""Table 1: gamma by its definition and by the other formulas."""

from __future__ import annotations

from mdfa_fairness_plugin.experiments import reproduce, table1


def test_table1_by_definition_and_by_the_other_formulas(data_home, check, monkeypatch):
    methods = {name: table1.METHODS[name] for name in (table1.SECTION_32, "no weights")}
    monkeypatch.setattr(table1, "METHODS", methods)
    features = {table1.ALL_FEATURES: table1.FEATURE_SETS[table1.ALL_FEATURES]}
    monkeypatch.setattr(table1, "FEATURE_SETS", features)
    made = check(reproduce("table1", data_home=data_home, n_splits=3))

    def ours(direction, formula, weighting=table1.SECTION_32):
        return made.find(f"{direction}; {table1.ALL_FEATURES}", f"{formula}; {weighting}").ours

    assert 0.005 < ours("race", "definition") < 0.013
    assert 0.005 < ours("gender, S = Male", "definition") < 0.013
    assert ours("gender, S = Female", "definition") < 0.002
    # Without weights the imbalance inside G enters Lemma 1's form only.
    assert ours("race", "Lemma 1", "no weights") > 1.5 * ours("race", "definition", "no weights")
    assert ours("race", "ratio x accuracy") > 3 * ours("race", "ratio x mass")


def test_the_network_gets_a_share_of_the_splits():
    tasks = list(table1._tasks(list(range(40)), list(table1.METHODS)))
    network = [task for task in tasks if task[0] == table1.NETWORK]
    assert {task[3] for task in network} == {0, 1, 2, 3}
