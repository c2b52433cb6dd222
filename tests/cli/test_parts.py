"""``mdfa audit`` of several Parquet files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of 200 people each; outcomes are whole numbers."""
    where = tmp_path_factory.mktemp("parts")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 70, 600), "race": rng.choice(["a", "b"], 600)})
    young = (frame["age"] < 45) & (frame["race"] == "a")
    frame["denied"] = (rng.random(600) < np.where(young, 0.8, 0.3)).astype(int)
    frame["row"] = np.arange(600)
    frame["person"] = rng.integers(0, 300, 600)
    for i in range(3):
        frame.iloc[200 * i : 200 * (i + 1)].to_parquet(where / f"part-{i}.parquet")
    return where


def audit(mdfa, file, *more):
    given = ["--outcome", "denied", "--sensitive", "race", "--drop", "row,person"]
    return mdfa("audit", file, *given, *more)


def test_a_pattern_and_a_folder_are_audited(mdfa, folder):
    by_pattern = audit(mdfa, folder / "part-*.parquet", "--json", "-")
    by_folder = audit(mdfa, folder, "--json", "-")
    assert by_pattern.exit_code == 0, by_pattern.stderr
    found, other = (json.loads(own.stdout) for own in (by_pattern, by_folder))
    assert found["provenance"].pop("command") != other["provenance"].pop("command")
    assert found == other
    files = {own["name"]: own["bytes"] for own in found["provenance"]["files"]}
    assert files == {path.name: path.stat().st_size for path in folder.iterdir()}
    assert found["n_samples"] == 600
    assert found["feature_names"] == ["age"]
    verdicts = {(v["group"], v["outcome"]): v["verdict"] for v in found["violations"]}
    assert verdicts["a", 1] == "violation"


def test_clusters_are_read_from_every_file(mdfa, folder):
    plain = json.loads(audit(mdfa, folder, "--json", "-").stdout)
    own = audit(mdfa, folder, "--json", "-", "--cluster", "person")
    assert own.exit_code == 0, own.stderr
    found = json.loads(own.stdout)
    assert found["feature_names"] == ["age"]
    assert [v["p_value"] for v in found["violations"]] != [
        v["p_value"] for v in plain["violations"]
    ]


def test_labels_are_found_in_any_file(mdfa, folder):
    done = audit(
        mdfa,
        folder,
        "--outcome-label",
        "1",
        "--reference",
        "b",
        "--json",
        "-",
        "--fail-above",
        "0.1",
    )
    assert done.exit_code == 1
    assert "gate:" in done.stderr
    found = json.loads(done.stdout)
    assert [(v["group"], v["outcome"]) for v in found["violations"]] == [("a", 1)]


@pytest.mark.parametrize(
    ("file", "options", "said"),
    [
        ("none-*.parquet", [], ["none-*.parquet", "no file matches"]),
        ("part-*.parquet", ["--outcome", "denid"], ["--outcome", "Did you mean 'denied'?"]),
        ("part-*.parquet", ["--sensitive", "denied"], ["each needs its own"]),
        ("part-*.parquet", ["--outcome-label", "5"], ["--outcome-label", "no value '5'"]),
        ("part-*.parquet", ["--null-draws", "9"], ["--null-draws", "in memory"]),
        ("part-*.parquet", ["--explained"], ["--explained", "in memory"]),
        ("part-*.parquet", ["--decimal", ","], ["--decimal", "in memory"]),
        ("part-*.parquet", ["--scheduler", "nowhere"], ["scheduler:", "tcp://"]),
        ("part-0.parquet", ["--scheduler", "nowhere"], ["scheduler:", "tcp://"]),
    ],
)
def test_mistakes_are_told_in_one_line(mdfa, folder, file, options, said):
    done = audit(mdfa, folder / file, *options)
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    for text in said:
        assert text in done.stderr


def test_a_folder_without_parquet_files(mdfa, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    done = audit(mdfa, tmp_path)
    assert done.exit_code == 2
    assert "holds no file ending in .parquet" in done.stderr


def test_a_scheduler_that_does_not_answer(mdfa, folder, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def refused(address, **options):
        raise OSError(f"Timed out trying to connect to {address}")

    monkeypatch.setattr(distributed, "Client", refused)
    done = audit(mdfa, folder, "--scheduler", "tcp://127.0.0.1:9")
    assert done.exit_code == 2
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in done.stderr
