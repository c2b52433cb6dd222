"""Figure 1d on a few small data sets: what is drawn, and what must hold."""

from __future__ import annotations

from mdfa_fairness_plugin.experiments import figure1d, reproduce


def test_figure1d(check, monkeypatch):
    monkeypatch.setattr(figure1d, "N_ROWS", 1000)
    made = check(reproduce("figure1d", n_splits=2, quick=True))
    assert len(made.panels) == 2
    assert {curve.label for curve in made.panels[0].curves} == {
        "SVM-RBF",
        "SVM-linear",
        "random forest",
        "tree",
        figure1d.OURS,
    }
