"""Figures 1a to 1d on a few small data sets: what is drawn, and what must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.experiments import (
    figure1a,
    figure1b,
    figure1c,
    figure1d,
    reproduce,
)
from mdfa_fairness_plugin.experiments.along_path import inner_half, smallest_above
from mdfa_fairness_plugin.records import Violation, WorstCasePath


@pytest.fixture
def found():
    path = WorstCasePath(
        delta=np.array([1.2, 1.0, 0.8, 0.3]),
        mass=np.array([0.01, 0.06, 0.1, 0.4]),
        n_rows=np.array([10, 50, 100, 400]),
        threshold=np.array([4.0, 3.0, 2.0, 1.0]),
    )
    return Violation(
        sensitive_feature="s", group=1, reference=None, outcome=1, n_rows=110, path=path
    )


def test_points_of_a_path(found):
    assert inner_half(found) == 1.0
    assert smallest_above(found, 0.05) == 1.0
    assert smallest_above(found, 0.06) == 0.8
    assert math.isnan(smallest_above(found, 0.5))


def test_paths_without_steps_have_no_points():
    empty = Violation(sensitive_feature="s", group=1, reference=None, outcome=1)
    assert math.isnan(inner_half(empty))
    assert math.isnan(smallest_above(empty, 0.05))


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


def test_the_papers_grid_of_deltas():
    """nu = k / 20 in the authors' scale: delta = ln((1 + 2 nu) / (1 - 2 nu))."""
    assert figure1a.FIGURE1A_DELTAS[0] == 0.0
    assert figure1a.FIGURE1A_DELTAS[5] == pytest.approx(math.log(3.0))
    for published, band in figure1a.FIGURE1A.values():
        assert len(published) == len(band) == len(figure1a.FIGURE1A_DELTAS)


def test_figure1b(check, monkeypatch):
    """The forest's level sets follow Algorithm 1 up to noise, and both climb."""
    monkeypatch.setattr(figure1b, "N_ROWS", 1500)
    monkeypatch.setattr(figure1b, "N_STEPS", 12)
    made = check(reproduce("figure1b", n_splits=2))
    assert (
        made.find("|delta of Algorithm 1 - delta of the level set|", "same forest, same t").ours
        < 0.35
    )
    delta, mass = made.panels
    for curve in delta.curves:
        assert curve.y[-1] > curve.y[0]
    for curve in mass.curves:
        assert curve.y[-1] < curve.y[0]


def test_figure1c(check, monkeypatch):
    """Published importance weights are the inverse of the right ones, and far off."""
    monkeypatch.setattr(figure1c, "N_ROWS", 2000)
    made = check(reproduce("figure1c", n_splits=20, quick=True))

    def worst(weighting):
        return max(
            abs(one.ours)
            for one in made.comparisons
            if one.reading == f"{weighting}; {figure1c.LEMMA}"
        )

    assert worst(figure1c.INVERTED) > 2.0 * worst(figure1c.ORACLE)
    assert worst(figure1c.UNIFORM) > worst(figure1c.ENTROPY)
    assert made.find("bias of gamma at mu = +0.3", "entropy; definition").why
    assert len(made.panels) == 2


def test_figure1d(check, monkeypatch):
    monkeypatch.setattr(figure1d, "N_ROWS", 1000)
    made = check(reproduce("figure1d", n_splits=4, quick=True))
    assert len(made.panels) == 2
    assert {curve.label for curve in made.panels[0].curves} == {
        "SVM-RBF",
        "SVM-linear",
        "random forest",
        "tree",
        figure1d.OURS,
    }
