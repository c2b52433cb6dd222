"""Figure 1a on a few small data sets: what is drawn, and what must hold."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from mdfa_fairness_plugin.experiments import figure1a, reproduce


def test_figure1a(check, monkeypatch):
    monkeypatch.setattr(figure1a, "SIZES", (1000,))
    monkeypatch.setattr(figure1a, "QUICK_POINTS", (0, 7))
    made = check(reproduce("figure1a", n_splits=4, quick=True))
    one = made.find("bias at delta = 1.73, 1,000 rows", figure1a.WHOLE)
    assert one.paper == pytest.approx(1.63 - 1.735, abs=0.01)
    assert abs(one.ours) < 1.0
    (panel,) = made.panels
    assert [curve.label for curve in panel.curves] == [
        figure1a.WHOLE,
        figure1a.INNER,
        figure1a.KNOWN,
        "paper",
    ]


def test_one_thing_is_changed_at_one_delta():
    """Means by search and alpha beside where the figure is drawn at ln 3."""
    runs = [
        {
            "n_rows": 1000,
            "k": 5,
            "delta": 1.1,
            "seed": i,
            "search": name,
            "alpha": a,
            "estimate": i + a,
        }
        for name in ("x", "y")
        for a in (0.02, 0.05)
        for i in range(2)
    ]
    table = pd.DataFrame(runs)
    first = next(figure1a._CHANGED.compare(table))
    assert (first.ours, first.paper, first.paper_sd) == (0.52, 1.29, 0.68)
    (line, _) = figure1a._CHANGED.remarks(table)
    assert line == "x: within one published deviation by alpha: nothing."
    (panel,) = figure1a._CHANGED.panels(table)
    assert [curve.label for curve in panel.curves] == ["x", "y", "paper"]
    assert list(figure1a._by_alpha(table.drop(columns="search"))) == []


def test_the_papers_grid_of_deltas():
    """nu = k / 20 in the authors' scale: delta = ln((1 + 2 nu) / (1 - 2 nu))."""
    assert figure1a.FIGURE1A_DELTAS[0] == 0.0
    assert figure1a.FIGURE1A_DELTAS[5] == pytest.approx(math.log(3.0))
    for published, band in figure1a.FIGURE1A.values():
        assert len(published) == len(band) == len(figure1a.FIGURE1A_DELTAS)
