"""``mdfa compare``: columns become models, files are written, mistakes are one line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import mdfa_fairness_plugin


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.integers(18, 80, n),
            "town": rng.choice(["A", "B"], n),
            "sex": rng.choice(["f", "m"], n),
            "paid": rng.choice(["no", "yes"], n),
            "score": np.round(np.linspace(0, 1, n) ** 2, 3),
        }
    )
    odds = np.where((frame.sex == "f") & (frame.age < 50), 0.7, 0.3)
    frame["before"] = np.where(rng.random(n) < odds, "deny", "grant")
    frame["after"] = np.where(rng.random(n) < 0.4, "deny", "grant")
    frame["truth"] = np.where(frame.paid == "yes", "grant", "deny")
    path = tmp_path_factory.mktemp("compare") / "loans.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def quick(monkeypatch):
    """The comparison itself with the quickest search; remembers what it was asked."""
    calls = []
    original = mdfa_fairness_plugin.compare

    def compare(X, models, **options):
        calls.append({"X": X, "models": models, **options})
        return original(X, models, **options, learner="tree", n_folds=2)

    monkeypatch.setattr(mdfa_fairness_plugin, "compare", compare)
    return calls


def test_everything_is_written(table, quick, mdfa, tmp_path):
    names = ("a.html", "a.json", "a.png", "a.xml", "a.csv")
    page, numbers, picture, junit, table_of_models = (tmp_path / name for name in names)
    done = mdfa(
        "compare", table, "--outcomes", "before,after", "--sensitive", "sex", "--true", "truth",
        "--drop", "id,paid,score", "--splits", 1, "--seed", 3,
        "--report", page, "--json", numbers, "--plot", picture,
        "--junit", junit, "--csv", table_of_models, "--fail-above", 0.2,
    )  # fmt: skip
    told = json.loads(numbers.read_text(encoding="utf-8"))
    over = [
        (audit["model"], search["group"])
        for audit in told["audits"]
        for search in audit["audit"]["violations"]
        if search["interval"][0] is not None and search["interval"][0] > 0.2
    ]
    assert done.exit_code == bool(over), done.stderr
    assert done.stderr.count("gate: model ") == len(over) > 0
    suite = ET.parse(junit).getroot()
    assert suite.get("failures") == str(len(over))
    assert {case.get("name").partition(":")[0] for case in suite.iter("testcase")} == {
        "model before",
        "model after",
    }
    (file,) = told["provenance"]["files"]
    assert (file["name"], file["bytes"]) == (table.name, table.stat().st_size)
    assert file["sha256"] in page.read_text(encoding="utf-8")
    command = told["provenance"]["command"]
    assert command.startswith("mdfa compare")
    assert not any(
        file.name in command for file in (page, numbers, picture, junit, table_of_models)
    )
    (call,) = quick
    assert list(call["X"].columns) == ["age", "town"]
    assert list(call["models"]) == ["before", "after"]
    assert call["random_state"] == 3
    assert call["baseline"] == "before"
    assert "COMPARISON OF 2 MODELS ON 400 ROWS" in done.stdout
    assert "AGAINST BEFORE" in done.stdout
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(numbers.read_text(encoding="utf-8"))["models"] == ["before", "after"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    for path in (page, numbers, picture):
        assert f"written: {path}" in done.stderr


def test_choices_reach_the_comparison(table, quick, mdfa, tmp_path):
    csv = tmp_path / "models.csv"
    done = mdfa(
        "compare", table, "--outcomes", "before,after", "--sensitive", "sex", "--baseline", "after",
        "--features", "age", "--group", "f", "--outcome-label", "deny", "--alpha", 0.1,
        "--splits", 0, "--repeats", 1, "--json", "-", "--true", "truth", "--metric", "auc",
        "--scores", "score,id", "--tolerance", 0.02, "--favorable-label", "grant", "--csv", csv,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    (call,) = quick
    frame = pd.read_csv(table)
    assert (call["metric"], call["tolerance"], call["favorable_label"]) == ("auc", 0.02, "grant")
    told = pd.read_csv(csv)
    assert told["model"].tolist() == ["before", "after"]
    assert told["performance"].tolist() == pytest.approx(
        [roc_auc_score(frame["truth"] == "grant", frame[name]) for name in ("score", "id")]
    )
    assert {"selection_ratio", "ratio", "impact_ratio", "finding"} <= set(told.columns)
    assert told["finding"].isna().tolist() == [False, True]
    assert call["groups"] == ["f"]
    assert call["outcomes"] == ["deny"]
    assert (call["n_splits"], call["n_repeats"]) == (0, 1)
    plain = json.loads(done.stdout)
    assert plain["baseline"] == "after"
    assert plain["alpha"] == 0.1
    assert [search["outcome"] for search in plain["searches"]] == ["deny"]


def test_the_command_gives_what_python_gives(table, quick, mdfa, tmp_path):
    frame = pd.read_csv(table).assign(person=np.arange(400) // 2, w=np.arange(400) % 3 + 1)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    done = mdfa(
        "compare", path, "--outcomes", "before,after", "--sensitive", "sex", "--features", "age",
        "--cluster", "person", "--weight", "w", "--weight-type", "frequency", "--splits", 1,
        "--json", "-", "--quiet",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    expected = mdfa_fairness_plugin.compare(
        frame[["age"]],
        {name: frame[name] for name in ("before", "after")},
        sensitive_features=frame[["sex"]],
        sample_weight=frame["w"],
        clusters=frame["person"],
        weight_type="frequency",
        n_splits=1,
        random_state=0,
    )
    found, told = json.loads(done.stdout), json.loads(expected.to_json())
    for one in (found, told):
        del one["provenance"]
    assert found == told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--outcomes", "before", "--sensitive", "sex", "--cluster", "sex"], "each needs its own"),
        (["--outcomes", "before", "--sensitive", "sex", "--cluster", "x"], "--cluster: the table"),
        (["--outcomes", "befor", "--sensitive", "sex"], "Did you mean 'before'?"),
        (
            [
                "--outcomes",
                "before,after",
                "--sensitive",
                "sex",
                "--metric",
                "auc",
                "--scores",
                "score",
            ],
            "--scores: 1 columns were named for 2 models",
        ),
        (
            ["--outcomes", "before,after", "--sensitive", "sex", "--metric", "accuracy"],
            "--true: a metric says how well models do",
        ),
        (["--outcomes", "before", "--sensitive", "sex", "--csv", "a.txt"], "must end in .csv"),
        (["--outcomes", "before,after", "--sensitive", "after"], "each needs its own"),
        (
            ["--outcomes", "before", "--sensitive", "sex", "--baseline", "after"],
            "--baseline: 'after' is not among the columns of --outcomes: before",
        ),
        (["--outcomes", "before", "--sensitive", "sex", "--plot", "x.gif"], "must end in .png"),
        (
            ["--outcomes", "before", "--sensitive", "sex,town", "--group", "f"],
            "--group names values of one --sensitive column",
        ),
        (["--outcomes", "before", "--sensitive", "sex", "--group", "x"], "has no value 'x'"),
        (["--outcomes", "before,paid", "--sensitive", "sex"], "4 different outcomes"),
    ],
)
def test_mistakes_are_one_line_and_status_two(arguments, said, table, mdfa):
    done = mdfa("compare", table, *arguments, "--splits", 0)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_there(mdfa):
    done = mdfa("compare", "--help")
    assert done.exit_code == 0
    for option in ("--outcomes", "--baseline", "--splits", "--true", "--plot", "--group"):
        assert option in done.stdout


def test_a_comparison_is_not_written_twice_to_one_file(tmp_path, mdfa):
    path, out = tmp_path / "in.csv", tmp_path / "out.svg"
    path.write_text("sex,age,a,b\nf,1,x,y\nm,2,y,x\n", encoding="utf-8")
    for one, two in (("--report", "--json"), ("--json", "--plot"), ("--report", "--plot")):
        result = mdfa(
            "compare", path, "--outcomes", "a,b", "--sensitive", "sex", one, out, two, out
        )
        assert result.exit_code == 2
        assert f"{one} and {two}: both would be written to" in result.stderr
    assert not out.exists()
