"""The picture of a comparison holds the numbers it draws."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.comparison import ComparisonResult, ModelSearch, RateRatio
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import NONE_LARGER, VIOLATION, SearchKey
from mdfa_fairness_plugin.report.displays import ComparisonDisplay

SEARCH = SearchKey(sensitive_feature="$sex$", group="f", reference="m", outcome="deny")


def result_of(*rows):
    return ComparisonResult(
        models=tuple(row.model for row in rows),
        baseline=rows[0].model,
        searches=(SEARCH,),
        rows=rows,
    )


ROWS = (
    ModelSearch(
        model="plain",
        search=SEARCH,
        verdict=VIOLATION,
        selection=RateRatio(rates=(0.6, 0.3)),
        everybody_delta=math.log(1.5),
        delta=math.log(3),
        interval=(math.log(2), math.log(4)),
        split_ratio_mean=2.5,
        split_ratio_sd=0.5,
    ),
    ModelSearch(
        model="a_{b}$",
        search=SEARCH,
        verdict=NONE_LARGER,
        selection=RateRatio(rates=(0.4, 0.4)),
        delta=math.inf,
        interval=(math.log(0.9), math.inf),
    ),
    ModelSearch(model="none", search=SEARCH, reason="constant"),
)


def test_numbers_are_those_of_the_worst_cases():
    display = ComparisonDisplay.from_result(result_of(*ROWS))
    frame = display.to_frame()
    assert frame["model"].tolist() == ["plain", "a_{b}$", "none"]
    assert frame.loc[0, ["selection_ratio", "ratio_everybody"]].tolist() == pytest.approx([2, 1.5])
    assert frame.loc[0, ["ratio", "ratio_low", "ratio_high"]].tolist() == pytest.approx([3, 2, 4])
    assert np.isinf(frame.loc[1, "ratio"])
    assert (
        "plain: of everybody 2.0 with features not looked at and 1.5 at equal ones, in its worst "
        "subgroup 3.0 (2.0 to 4.0)."
    ) in display.alt_text


@pytest.mark.parametrize("style", ["light", "dark"])
def test_it_draws_what_cannot_be_measured_too(style):
    plt = pytest.importorskip("matplotlib.pyplot")
    display = ComparisonDisplay.from_result(result_of(*ROWS)).plot(style=style)
    display.figure_.canvas.draw()
    texts = [t.get_text() for t in display.ax_.texts]
    assert texts == ["3.0 (2.0 to 4.0)", "∞ (0.90 to ∞)", "not measured"]
    low, high = display.ax_.get_xlim()
    assert 0 < low < 0.9
    assert high > 4
    plt.close(display.figure_)


def test_given_axes_are_used():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    display = ComparisonDisplay.from_result(result_of(ROWS[0])).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    plt.close(figure)


def test_nothing_measured_is_no_picture():
    with pytest.raises(InputError, match="no model could be measured"):
        ComparisonDisplay.from_result(result_of(ROWS[2]))
    assert mdfa.ComparisonResult is ComparisonResult
    assert dataclasses.is_dataclass(ComparisonDisplay)
