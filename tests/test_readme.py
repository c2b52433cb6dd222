"""Walks through the README that ask something of a result: they run as they are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli import main

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
# What a walk begins with, and options of the commands that belong to it.
WALKS = (
    "**See who they are, as rows**",
    "**Say which outcome is good",
    "**Ask about a group you have in mind.**",
    "**Ask what another cut would do**",
    "**Next month, ask what changed.**",
)
TOOLKIT = "errors instead of answers; so does"  # AIF360's block follows
COMMANDS = ("--members", "--favorable-label", "--measure", '--outcome "')

FAST = ["--repeats", "1", "--learner", "tree"]


@pytest.fixture(scope="module")
def arrests():
    pytest.importorskip("sklego", reason="scikit-lego is not installed")
    data = mdfa.datasets.load_arrests()
    rows = np.sort(np.random.default_rng(0).choice(len(data.X), 800, replace=False))
    return (
        data.X.iloc[rows],
        data.y.iloc[rows],
        data.sensitive_features.iloc[rows],
        data.frame.iloc[rows],
    )


@pytest.fixture(scope="module")
def namespace(arrests):
    """What the README has made before its walks, of fewer rows."""
    X, y, A, _ = arrests
    result = mdfa.audit(X, y, sensitive_features=A, learner="tree", n_splits=2, n_repeats=1)
    return {"mdfa": mdfa, "X": X, "y": y, "A": A, "result": result, "worst": result.worst_case}


@pytest.mark.parametrize("start", WALKS)
def test_walks_run(start, namespace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", README[README.index(start) :], re.DOTALL)
    exec(compile(code.group(1), start, "exec"), dict(namespace))


def test_aif360s_lines_run(namespace):
    pytest.importorskip("aif360", reason="AIF360 is not installed")
    code = re.search(r"```python\n(.*?)```", README[README.index(TOOLKIT) :], re.DOTALL)
    assert len(code.group(1).splitlines()) < 10
    told = dict(namespace, released=(namespace["y"] == "released").astype(int))
    exec(compile(code.group(1), TOOLKIT, "exec"), told)
    assert told["metric"].worst_case().outcome == "favorable"


def test_next_month_runs(arrests, tmp_path, monkeypatch):
    """Half of the rows are March's, the others April's."""
    monkeypatch.chdir(tmp_path)
    frame = arrests[-1]
    frame[::2].to_csv("arrests.csv", index=False)
    frame[1::2].to_csv("april.csv", index=False)
    lines = [line for line in README.splitlines() if "march.json" in line]
    audit, verify, measure, diff = (line for line in lines if line.startswith("mdfa "))
    of_april = audit.replace("arrests.csv", "april.csv").replace("march.json", "april.json")
    lines = ((audit, FAST), (of_april, FAST), (verify, []), (measure, []), (diff, []))
    for line, more in lines:
        done = CliRunner().invoke(main, [*shlex.split(line)[1:], *more])
        assert done.exit_code in ((0,) if line == verify else (0, 1)), done.output


@pytest.mark.parametrize("option", COMMANDS)
def test_commands_run(option, arrests, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrests[-1].to_csv("arrests.csv", index=False)
    lines = [
        line for line in README.splitlines() if line.startswith("mdfa audit") and option in line
    ]
    assert lines
    for line in lines:
        done = CliRunner().invoke(main, [*shlex.split(line, comments=True)[1:], "--repeats", "1"])
        assert done.exit_code in (0, 1), done.output
