"""The paper's numbers beside ours: when they agree, what is printed, and what is written."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.experiments import EXPERIMENTS, reproduce
from mdfa_fairness_plugin.experiments.reproduction import (
    Comparison,
    Curve,
    Panel,
    Reproduction,
    summarise,
)


@pytest.fixture
def made():
    comparisons = (
        Comparison(quantity="a", reading="r", paper=1.08, ours=1.0786),
        Comparison(quantity="b", paper=3.0, paper_sd=0.2, ours=2.0, ours_sd=0.3, why="because"),
        Comparison(quantity="c", ours=math.inf, why="because"),
    )
    x = np.array([0.0, 1.0])
    curve = Curve(label="ours", x=x, y=x, spread=np.array([0.1, math.nan]))
    paper = Curve(label="paper", x=x, y=x, published=True)
    return Reproduction(
        name="tableX",
        title="A title",
        comparisons=comparisons,
        runs=pd.DataFrame({"seed": [1, 2], "value": [0.5, math.nan]}),
        settings={"splits": 2},
        remarks=("It holds.",),
        panels=(Panel(title="t", x_label="x", y_label="y", curves=(curve, paper), level=0.0),),
    )


@pytest.mark.parametrize(
    ("paper", "paper_sd", "ours", "ours_sd", "expected"),
    [
        (1.08, math.nan, 1.0786, math.nan, True),
        (1.08, math.nan, 1.0851, math.nan, False),
        (4.44, 5.58, 4.438, 5.579, True),
        (4.44, 5.58, 4.438, 5.59, False),
        (math.nan, math.nan, 1.0, math.nan, False),
        (1.0, math.nan, math.nan, math.nan, False),
    ],
)
def test_agreement_is_to_the_digits_printed(paper, paper_sd, ours, ours_sd, expected):
    one = Comparison(quantity="q", paper=paper, paper_sd=paper_sd, ours=ours, ours_sd=ours_sd)
    assert one.agrees is expected


def test_text_marks_what_agrees_and_numbers_the_reasons_once(made):
    lines = made.to_text().splitlines()
    assert lines[0] == "A title"
    (first,) = [line for line in lines if line.startswith("a")]
    assert first.split() == ["a", "r", "1.08", "1.08", "="]
    (second,) = [line for line in lines if line.startswith("b")]
    assert second.split() == ["b", "3.00", "(0.20)", "2.00", "(0.30)", "[1]"]
    assert [line for line in lines if line.startswith("[")] == ["[1] because"]
    assert "It holds." in lines


def test_files_hold_the_same_numbers(made, tmp_path):
    files = made.write(tmp_path / "new")
    assert [path.name for path in files] == [
        "tableX.csv",
        "tableX_runs.csv",
        "tableX.json",
        "tableX.txt",
        "tableX.png",
    ]
    table = pd.read_csv(files[0])
    assert table["agrees"].tolist() == [True, False, False]
    assert table["ours_sd"].tolist()[1] == 0.3
    assert pd.read_csv(files[1])["seed"].tolist() == [1, 2]
    stored = json.loads(files[2].read_text(encoding="utf-8"))
    assert stored["comparisons"][2]["ours"] is None  # infinity is no JSON
    assert stored["panels"][0]["curves"][0]["spread"] == [0.1, None]
    assert stored["settings"]["splits"] == 2
    assert files[3].read_text(encoding="utf-8") == made.to_text() + "\n"
    assert files[4].read_bytes().startswith(b"\x89PNG")


def test_writing_again_gives_the_same_bytes(made, tmp_path):
    first, second = (made.write(tmp_path / name) for name in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_comparison_is_found_by_name(made):
    assert made.find("a", "r").paper == 1.08
    with pytest.raises(KeyError, match="no comparison 'a'"):
        made.find("a")


def test_summary_leaves_infinite_values_out():
    assert summarise([1.0, 3.0, math.inf, math.nan]) == (2.0, pytest.approx(math.sqrt(2.0)))
    mean, deviation = summarise([math.inf])
    assert math.isnan(mean)
    assert math.isnan(deviation)


def test_unknown_names_and_too_few_splits_are_refused():
    with pytest.raises(InputError, match="name: one of table1"):
        reproduce("table5")
    with pytest.raises(InputError, match="n_splits: at least 2"):
        reproduce(EXPERIMENTS[0], n_splits=1)
