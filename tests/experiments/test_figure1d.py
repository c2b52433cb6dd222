"""Figure 1d on a few small data sets: what is drawn, and what must hold."""

from __future__ import annotations

import pytest

from mdfa_fairness_plugin.experiments import figure1d, reproduce


def test_figure1d(check, monkeypatch):
    """Algorithm 1 for two classes."""
    pytest.importorskip("torch", reason="the paper's reading has the network")
    monkeypatch.setattr(figure1d, "N_ROWS", 500)
    monkeypatch.setattr(figure1d, "CLASSES", {"tree": "tree", "logistic": "logistic"})
    monkeypatch.setattr(figure1d, "POINTS", (7,))
    made = check(reproduce("figure1d", n_splits=2, reading="paper"))
    assert {curve.label for curve in made.panels[0].curves} == {"tree", "logistic"}
