"""``mdfa reproduce``: names, files and refusals."""

from __future__ import annotations

import pandas as pd
import pytest

from mdfa_fairness_plugin import experiments
from mdfa_fairness_plugin.cli import commands
from mdfa_fairness_plugin.experiments import EXPERIMENTS, Comparison, Reproduction


@pytest.fixture
def fake(monkeypatch):
    """Stands in for the experiments and remembers what it was asked."""
    calls = []

    def reproduce(name, **arguments):
        calls.append((name, arguments))
        one = Comparison(quantity="q", paper=1.0, ours=2.0, why="because")
        return Reproduction(
            name=name,
            title=f"Title of {name}",
            comparisons=(one,),
            runs=pd.DataFrame({"seed": [0]}),
            settings={},
            asked={key: arguments[key] for key in ("n_splits", "random_state", "quick", "reading")},
            seconds=60.0,
        )

    monkeypatch.setattr(experiments, "reproduce", reproduce)
    return calls


def test_names_are_those_of_the_experiments():
    assert commands.EXPERIMENTS == EXPERIMENTS


def test_one_experiment(mdfa, fake, tmp_path):
    out = tmp_path / "a" / "b"
    result = mdfa(
        "reproduce", "table2", "--splits", 7, "--seed", 3, "--jobs", 2, "--data-home", tmp_path,
        "--out", out, "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stdout.startswith("Title of table2\n")
    assert "[1] because" in result.stdout
    assert (out / "table2.csv").exists()
    assert (out / "table2.json").exists()
    ((name, arguments),) = fake
    assert name == "table2"
    assert arguments == {
        "data_home": tmp_path,
        "n_splits": 7,
        "n_jobs": 2,
        "random_state": 3,
        "progress": False,
        "quick": False,
        "reading": "both",
        "keep": out,
    }


def test_a_run_is_taken_up_where_it_ended(mdfa, fake, tmp_path):
    """What was written and asked for alike stays; the time to go is said after each."""
    given = ("--splits", 3, "--reading", "paper", "--out", tmp_path)
    mdfa("reproduce", "table2", *given, "--quiet")
    again = mdfa("reproduce", "all", *given)
    assert [name for name, _ in fake] == ["table2", *(n for n in EXPERIMENTS if n != "table2")]
    assert "Title of table2" in again.stdout
    assert "table2: as it was written" in again.stderr
    assert "1 of 8 done; about 7 min to go" in again.stderr
    mdfa("reproduce", "table2", "--splits", 4, "--out", tmp_path, "--quiet")
    assert len(fake) == 9


def test_all_of_them(mdfa, fake):
    result = mdfa("reproduce", "all")
    assert result.exit_code == 0
    assert tuple(name for name, _ in fake) == EXPERIMENTS
    assert fake[0][1]["n_splits"] == 100


@pytest.mark.parametrize(
    "arguments",
    [
        ("table5",),
        ("table1", "--splits", "1"),
        ("table1", "--jobs", "0"),
        ("table1", "--data-home", "/no/such/folder"),
    ],
)
def test_usage_errors(mdfa, fake, arguments):
    result = mdfa("reproduce", *arguments)
    assert result.exit_code == 2
    assert not fake
    assert "Traceback" not in result.output


def test_a_folder_that_cannot_be_made_is_refused_first(mdfa, fake, tmp_path):
    (tmp_path / "file").write_text("")
    result = mdfa("reproduce", "table1", "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 2
    assert not fake


def test_missing_data_is_one_line(mdfa, tmp_path, monkeypatch):
    monkeypatch.delenv("MDFA_DATA_HOME", raising=False)
    result = mdfa("reproduce", "table2", "--data-home", tmp_path, "--quiet")
    assert result.exit_code == 2
    assert "COMPAS" in result.stderr
    assert "Traceback" not in result.stderr
