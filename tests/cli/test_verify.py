"""``mdfa verify``: one changed byte, one changed row, another version, another number."""

from __future__ import annotations

import hashlib
import json
import os
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.cli import main
from mdfa_fairness_plugin.cli.files import files_in
from mdfa_fairness_plugin.datasets import make_synthetic


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """An audit of a file with a statement and a question, on the command line."""
    folder = tmp_path_factory.mktemp("chain")
    data = make_synthetic(n_samples=200, delta=1.5, random_state=0)
    frame = data.X[["x1", "x2"]].assign(s=data.sensitive_features, y=data.y, own=1)
    frame.to_csv(folder / "rows.csv", index=False)
    (folder / "said.toml").write_text('auditor = "A. Name"\n', encoding="utf-8")
    asked = "--outcome y --sensitive s --drop own --outcome-label 1 --learner tree --repeats 1"
    files = ("--statement", folder / "said.toml", "--json", folder / "audit.json")
    more = ("--where", "x1 < 1", "--measure", "x2 > 0", "--report", folder / "r.html", "-q")
    words = ("audit", folder / "rows.csv", *asked.split(), "--seed", 3, *files, *more)
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return SimpleNamespace(
        folder=folder,
        json=folder / "audit.json",
        table=folder / "rows.csv",
        statement=folder / "said.toml",
    )


def changed(chain, tmp_path, change):
    """The JSON with one change."""
    told = json.loads(chain.json.read_text(encoding="utf-8"))
    change(told)
    (tmp_path / "audit.json").write_text(json.dumps(told), encoding="utf-8")
    return tmp_path / "audit.json"


def flat(result):
    return " ".join(result.output.split())


def test_json_and_page_hold_the_chain(chain):
    told = json.loads(chain.json.read_text(encoding="utf-8"))
    made, content = told["provenance"], [chain.table.read_bytes(), chain.statement.read_bytes()]
    assert [own["name"] for own in made["files"]] == ["rows.csv", "said.toml"]
    assert [own["bytes"] for own in made["files"]] == [len(own) for own in content]
    hashes = [hashlib.sha256(own).hexdigest() for own in content]
    assert [own["sha256"] for own in made["files"]] == hashes
    page = (chain.folder / "r.html").read_text(encoding="utf-8")
    assert all(own in page for own in hashes)
    assert "mdfa audit" in made["command"]
    assert "audit.json" not in made["command"]
    assert "mdfa audit" in AuditResult.from_json(chain.json).to_html()
    assert "membership" not in told["violations"][0]


def test_the_same_is_the_same_also_made_again(chain, mdfa):
    done = mdfa("verify", chain.json, chain.table, chain.statement, "--again")
    assert done.exit_code == 0, done.output
    assert "Nothing differs." in done.output
    assert flat(done).count("The same: ") == 3
    assert "Every value is the same." in done.output
    alone = mdfa("verify", chain.json, chain.table)
    assert alone.exit_code == 0
    assert "Not given, so not verified: said.toml" in flat(alone)


def test_a_changed_statement_and_a_changed_p_are_found(chain, mdfa, tmp_path):
    def other(told):
        told["statement"]["auditor"] = "B. Name"

    told = changed(chain, tmp_path, other)
    done = mdfa("verify", told, chain.table, chain.statement, "--again")
    assert done.exit_code == 1
    assert 'statement.auditor: "B. Name" then, "A. Name" now' in flat(done)
    done = mdfa("verify", told, chain.table, "--again")
    assert "The statement was not verified: its file was not given." in flat(done)
    assert "The numbers were not verified" in flat(mdfa("verify", told, chain.table))

    def smaller(told):
        told["violations"][0]["p_value"] = 1e-12

    done = mdfa("verify", changed(chain, tmp_path, smaller), chain.table, "--again")
    assert "violations[0].p_value: " in flat(done)


def test_one_changed_byte_one_changed_row_and_another_version_are_found(chain, mdfa, tmp_path):
    content = chain.table.read_bytes()
    table, n = tmp_path / "rows.csv", len(content)
    table.write_bytes(content + b"\n")
    done = mdfa("verify", chain.json, table)
    assert done.exit_code == 1
    assert "What differs: files. " in done.output
    assert f"Differs: rows.csv, {n:,} bytes" in flat(done)
    assert f"rows.csv, {n + 1:,} bytes" in flat(done)

    lines = content.decode().splitlines(keepends=True)
    row = next(i for i, line in enumerate(lines) if line.startswith("-"))  # x1 below 1
    table.write_text("".join(lines[:row] + lines[row + 1 :]), encoding="utf-8")
    done = mdfa("verify", chain.json, table, "--again")
    assert done.exit_code == 1
    assert "Other rows were audited (their hashes differ, 1" in flat(done)
    assert "violations[0]." in done.output
    assert "What differs: files, the audit made again." in done.output

    def version(told):
        told["provenance"]["versions"]["numpy"] = "0.1"

    done = mdfa("verify", changed(chain, tmp_path, version), chain.table)
    assert done.exit_code == 1
    assert "numpy: 0.1 then, " in done.output
    quiet = mdfa("verify", tmp_path / "audit.json", chain.table, "-q")
    assert (quiet.exit_code, quiet.output) == (1, "")


def test_what_cannot_be_verified_is_said(chain, mdfa, tmp_path):
    def no_files(told):
        del told["provenance"]["files"]

    done = mdfa("verify", changed(chain, tmp_path, no_files), chain.table)
    assert done.exit_code == 2
    assert "does not say which files were read" in done.stderr

    def wrong(told):
        told["provenance"]["files"][0]["bytes"] = "many"

    done = mdfa("verify", changed(chain, tmp_path, wrong), chain.table)
    assert done.exit_code == 2
    assert "provenance.files[0].bytes: a count expected, 'many' found" in done.stderr
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    done = mdfa("verify", chain.json, other, chain.statement, "--again")
    assert done.exit_code == 1
    assert "Differs: rows.csv" in done.output
    assert "It cannot be made of these files" in done.output
    assert mdfa("verify", chain.json, chain.table, other, chain.statement).exit_code == 1
    assert mdfa("verify", chain.json, tmp_path / "none.csv").exit_code == 2


def test_files_of_a_folder_are_told_by_where_they_lie(tmp_path):
    for name in ("a/part-0.parquet", "b/part-0.parquet"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(name.encode())
    names = ["a/part-0.parquet", "b/part-0.parquet"]
    assert [own.name for own in files_in(tmp_path)] == names
    assert [own.name for own in files_in(tmp_path / "*" / "*.parquet")] == names
    assert [own.name for own in files_in(tmp_path / "a" / "*.parquet")] == ["part-0.parquet"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_file_has_no_hash(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert files_in(tmp_path / "pipe.csv") == ()
