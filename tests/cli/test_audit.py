"""``mdfa audit``: what it hands to the audit, what it writes, and its exit status."""

import errno
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin import audit
from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.outputs import gate
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.exceptions import Count, InputError, Message, SmallGroupWarning, visible
from mdfa_fairness_plugin.report.junit import Case

ROWS = """\
id,race,sex,age,job,weight,approved
1,a,f,20,none,1,yes
2,a,m,,NA,2,no
3,b,f,40,?,1,yes
4,,m,50,clerk,1,no
"""


@pytest.fixture
def loans(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def audit_arguments(path, *more):
    return ("audit", path, "--outcome", "approved", "--sensitive", "race", *more)


def test_the_table_reaches_the_audit(loans, mdfa, fake_audit):
    result = mdfa(*audit_arguments(loans))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "The summary.\n", "")
    call = fake_audit.call
    assert list(call["X"]) == ["id", "sex", "age", "job", "weight"]
    assert call["y"].tolist() == ["yes", "no", "yes", "no"]
    assert list(call["sensitive_features"]) == ["race"]
    assert call["random_state"] == 0
    assert set(call) == {"X", "y", "sensitive_features", "random_state", "verbose"}


def test_only_empty_cells_are_missing(loans, mdfa, fake_audit):
    mdfa(*audit_arguments(loans))
    X = fake_audit.call["X"]
    assert X["age"].isna().tolist() == [False, True, False, False]
    assert X["job"].tolist() == ["none", "NA", "?", "clerk"]
    assert fake_audit.call["sensitive_features"]["race"].isna().tolist() == [False] * 3 + [True]


def test_other_texts_can_be_called_missing(loans, mdfa, fake_audit):
    mdfa(*audit_arguments(loans, "--na-values", "NA", "--na-values", "?"))
    assert fake_audit.call["X"]["job"].isna().tolist() == [False, True, True, False]


def test_columns_can_be_chosen(loans, mdfa, fake_audit):
    mdfa("audit", loans, "--outcome", "approved", "--sensitive", "race, sex", "--drop", "id,job")
    assert list(fake_audit.call["X"]) == ["age", "weight"]
    assert list(fake_audit.call["sensitive_features"]) == ["race", "sex"]
    mdfa(*audit_arguments(loans, "--features", "age", "--features", "job"))
    assert list(fake_audit.calls[1]["X"]) == ["age", "job"]


def test_a_weight_is_no_feature(loans, mdfa, fake_audit):
    mdfa(*audit_arguments(loans, "--weight", "weight"))
    assert fake_audit.call["sample_weight"].tolist() == [1, 2, 1, 1]
    assert "weight" not in fake_audit.call["X"]


def test_a_cluster_is_no_feature(loans, mdfa, fake_audit):
    mdfa(*audit_arguments(loans, "--cluster", "id"))
    assert fake_audit.call["clusters"].tolist() == [1, 2, 3, 4]
    assert "id" not in fake_audit.call["X"]


@pytest.mark.parametrize("kind", ["sampling", "frequency"])
def test_weights_are_what_they_are_said_to_be(kind, loans, mdfa, fake_audit):
    mdfa(*audit_arguments(loans, "--weight", "weight", "--weight-type", kind))
    assert fake_audit.call["weight_type"] == kind


def test_the_command_gives_what_python_gives(tmp_path, mdfa):
    """Two rows of most people, out of order, with weights that count."""
    data = make_synthetic(n_samples=300, delta=1.5, imbalance=0.0, random_state=0)
    frame = data.X.assign(s=data.sensitive_features, y=data.y)
    rng = np.random.default_rng(0)
    frame["person"] = [f"p{one}" for one in rng.integers(0, 200, len(frame))]
    frame["w"] = rng.integers(1, 3, len(frame))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    given = "--outcome y --sensitive s --weight w --weight-type frequency --cluster person --json -"
    done = mdfa("audit", tmp_path / "rows.csv", *given.split(), "--alpha", ".05")
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(tmp_path / "rows.csv")
    expected = audit(
        table[data.X.columns],
        table["y"],
        sensitive_features=table[["s"]],
        sample_weight=table["w"],
        clusters=table["person"],
        weight_type="frequency",
        alpha=0.05,
        random_state=0,
    )
    told = json.loads(done.stdout)
    asked = {name: told["provenance"].pop(name) for name in ("command", "files", "request")}
    assert told == expected.to_dict()
    assert asked["command"].startswith("mdfa audit")
    assert "--json" not in asked["command"]
    content = (tmp_path / "rows.csv").read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    assert asked["files"] == [{"name": "rows.csv", "bytes": len(content), "sha256": sha256}]


def test_options_reach_the_audit(loans, mdfa, fake_audit):
    options = "--alpha .1 --missing category --balance overlap --confidence .9 --seed 7 --jobs 2"
    options += " --estimator hajek --min-ratio 1.2 --repeats 3"
    result = mdfa(*audit_arguments(loans, *options.split(), "--reference", "b"))
    assert result.exit_code == 0
    call = fake_audit.call
    assert (call["estimator"], call["min_ratio"], call["n_repeats"]) == ("hajek", 1.2, 3)
    assert (call["alpha"], call["missing"], call["balance"]) == (0.1, "category", "overlap")
    assert (call["confidence_level"], call["random_state"], call["n_jobs"]) == (0.9, 7, 2)
    assert call["reference_group"] == "b"
    assert "outcome_names" not in call


def test_names_and_references_are_given_in_pairs(loans, mdfa, fake_audit):
    options = ["--sensitive", "sex", "--reference", "race=b", "--reference", "sex=f"]
    options += ["--outcome-names", "yes=given a loan,no=refused", "--group-names", "f=women"]
    result = mdfa(*audit_arguments(loans, *options, "--group-names", '"m=men, of 18"'))
    assert result.exit_code == 0, result.stderr
    call = fake_audit.call
    assert call["reference_group"] == {"race": "b", "sex": "f"}
    assert call["outcome_names"] == {"yes": "given a loan", "no": "refused"}
    assert call["group_names"] == {"f": "women", "m": "men, of 18"}


def test_the_smallest_share_may_be_left_to_the_audit(loans, mdfa, fake_audit):
    assert mdfa(*audit_arguments(loans, "--alpha", "auto")).exit_code == 0
    assert fake_audit.call["alpha"] == "auto"
    assert "n_repeats" not in fake_audit.call
    assert "Default: auto, a tenth" in " ".join(mdfa("audit", "--help").output.split())


@pytest.mark.parametrize(
    ("values", "text", "label"),
    [
        ([0, 1], "1", 1),
        ([0, 1], "1.0", 1),
        ([-1, 1], "-1", -1),
        ([0.0, 1.0], "1", 1.0),
        (["True", "False"], "1", True),
        (["True", "False"], "false", False),
        (["yes", "no"], "yes", "yes"),
        (["<=50K", ">50K"], ">50K", ">50K"),
    ],
)
def test_outcome_labels_are_matched_as_text_or_number(
    values, text, label, tmp_path, mdfa, fake_audit
):
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": [1, 2], "race": ["a", "b"], "approved": values}).to_csv(path, index=False)
    result = mdfa(*audit_arguments(path, f"--outcome-label={text}"))
    assert result.exit_code == 0, result.stderr
    (found,) = fake_audit.call["outcomes"]
    assert found == label
    assert type(found) is type(label)


def test_several_outcome_labels(loans, mdfa, fake_audit):
    mdfa(*audit_arguments(loans, "--outcome-label", "no", "--outcome-label", "yes"))
    assert fake_audit.call["outcomes"] == ["no", "yes"]


def test_a_column_name_may_hold_a_comma(tmp_path, mdfa, fake_audit):
    path = tmp_path / "t.csv"
    names = ["a, b", "c", "y,z", "race"]
    pd.DataFrame([[1, 2, 0, "a"], [3, 4, 1, "b"]], columns=names).to_csv(path, index=False)
    result = mdfa(
        "audit", path, "--outcome", "y,z", "--sensitive", "race", "--features", '"a, b",c'
    )
    assert result.exit_code == 0, result.stderr
    assert list(fake_audit.call["X"]) == ["a, b", "c"]
    mdfa("audit", path, "--outcome", "y,z", "--sensitive", "race", "--features", "a, b")
    assert list(fake_audit.calls[1]["X"]) == ["a, b"]


def test_parquet_holds_the_same_as_csv(loans, tmp_path, mdfa, fake_audit):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(loans, keep_default_na=False, na_values=[""])
    path = tmp_path / "loans.parquet"
    frame.set_index("id").to_parquet(path)
    result = mdfa(*audit_arguments(path))
    assert result.exit_code == 0, result.stderr
    pd.testing.assert_frame_equal(fake_audit.call["X"], frame[list(fake_audit.call["X"])])


@pytest.mark.parametrize(
    ("suffix", "separator", "options"),
    [
        ("tsv", "\t", []),
        ("csv", ";", ["--separator", ";"]),
        ("csv", "\t", ["--separator", r"\t"]),
        ("CSV", ",", []),
    ],
)
def test_other_separators(suffix, separator, options, tmp_path, mdfa, fake_audit):
    path = tmp_path / f"loans.{suffix}"
    path.write_text("\ufeff" + ROWS.replace(",", separator), encoding="utf-8")
    result = mdfa(*audit_arguments(path, *options))
    assert result.exit_code == 0, result.stderr
    assert next(iter(fake_audit.call["X"])) == "id"


def test_files_are_written(loans, tmp_path, mdfa, fake_audit):
    report, numbers = tmp_path / "r.html", tmp_path / "r.json"
    result = mdfa(*audit_arguments(loans, "--report", report, "--json", numbers))
    assert result.exit_code == 0
    assert report.read_text() == "<html>"
    assert numbers.read_text() == "{}\n"
    assert result.stdout == "The summary.\n"


def test_report_is_told_the_smallest_count_and_the_command(loans, mdfa, fake_audit, tmp_path):
    """The command can be run again as it stands; where it wrote to is nobody's business."""
    report = tmp_path / "r.html"
    done = mdfa(
        *audit_arguments(
            loans, "--report", report, "--min-cell", "20", "--seed", "7", "--repeats", 2
        )
    )
    assert done.exit_code == 0, done.stderr
    (page,) = fake_audit.pages
    assert page["min_cell"] == 20
    words = shlex.split(page["command"])
    assert words[:2] == ["mdfa", "audit"]
    assert {"--seed=7", "--repeats=2", "--min-cell=20", "--sensitive=race", str(loans)} <= set(
        words
    )
    assert str(report) not in page["command"]
    mdfa(*audit_arguments(loans, "--report", report))
    assert fake_audit.pages[-1]["min_cell"] == 11


def test_json_on_stdout_stands_alone(loans, mdfa, fake_audit):
    fake_audit.warns = [SmallGroupWarning("small")]
    result = mdfa(*audit_arguments(loans, "--json", "-"))
    assert json.loads(result.stdout) == {}
    assert result.stderr == "note: small\n"


def test_quiet_prints_nothing(loans, mdfa, fake_audit):
    fake_audit.warns = [SmallGroupWarning("small")]
    result = mdfa(*audit_arguments(loans, "--quiet"))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_warnings_become_short_notes_unless_the_summary_has_them(loans, mdfa, fake_audit):
    fake_audit.text = "Caveats: only 3 rows\n  have race = b."
    fake_audit.warns = [
        SmallGroupWarning("only 3 rows have race = b."),
        SmallGroupWarning("too few rows"),
        SmallGroupWarning("too few rows"),
        SmallGroupWarning(Message("few: ", Count(4), ".")),
        RuntimeWarning("overflow in some library"),
    ]
    result = mdfa(*audit_arguments(loans))
    assert result.stderr == "note: too few rows\nnote: few: a withheld number of rows.\n"
    assert "note: few: 4 rows." in mdfa(*audit_arguments(loans, "--min-cell", 1)).stderr


@pytest.mark.parametrize(
    ("searches", "threshold", "status"),
    [
        ([("violation", 0.4)], 0.3, 1),
        ([("violation", 0.4)], 0.4, 0),
        ([("violation", 0.1), ("violation", 0.4)], 0.3, 1),
        ([("none_larger_than_detectable", 0.4)], 0.3, 1),
        ([("insufficient_evidence", float("nan"))], 0, 0),
        ([], 0, 0),
    ],
)
def test_gate(searches, threshold, status, loans, mdfa, fake_audit):
    fake_audit.searches = searches
    result = mdfa(*audit_arguments(loans, "--fail-above", threshold, "--quiet"))
    assert result.exit_code == status
    assert ("gate: race = a, outcome 1: lower bound of delta 0.400" in result.stderr) == (
        status == 1
    )


def test_a_gate_without_evidence_says_so(loans, mdfa, fake_audit):
    fake_audit.searches = [("insufficient_evidence", float("nan")), ("violation", 0.1)]
    result = mdfa(*audit_arguments(loans, "--fail-above", 0.2))
    assert "1 of 2 searches had too little evidence" in result.stderr


def test_a_gate_on_the_favourable_outcome_alone_is_refused():
    cases = [Case("", SimpleNamespace(harm=False, interval=(0.4, 0.6)), str)]
    with pytest.raises(CommandError, match="--fail-above: nothing can trip it"):
        gate(Request(fail_above=0.1), SimpleNamespace(cases=lambda min_cell: cases))


def test_without_a_gate_a_violation_is_status_0(loans, mdfa, fake_audit):
    assert mdfa(*audit_arguments(loans)).exit_code == 0


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "ten"])
def test_a_gate_that_could_not_trip_is_refused(value, loans, mdfa, fake_audit):
    result = mdfa(*audit_arguments(loans, f"--fail-above={value}"))
    assert result.exit_code == 2
    assert "--fail-above" in result.stderr


def check_error(result, *parts):
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--outcome", "aproved"], ["--outcome", "'aproved'", "Did you mean 'approved'?", "race"]),
        (["--sensitive", "race,gender"], ["--sensitive", "no column 'gender'", "sex"]),
        (["--features", "AGE"], ["Did you mean 'age'?"]),
        (["--drop", "x"], ["--drop", "no column 'x'"]),
        (["--weight", "w"], ["--weight", "no column 'w'"]),
        (["--weight", "weight", "--weight-type", "auto"], ["--weight-type", "'sampling'"]),
        (["--cluster", "person"], ["--cluster", "no column 'person'"]),
        (["--cluster", "approved"], ["'approved' is given for two of", "--cluster"]),
        (["--cluster", "race"], ["'race' is given for two of"]),
        (["--cluster", "weight", "--weight", "weight"], ["'weight' is given for two of"]),
        (["--cluster", "id", "--features", "id"], ["'id' is already the column of --cluster"]),
        (["--features", "age,race"], ["'race' is already the column of --sensitive"]),
        (["--sensitive", "approved"], ["'approved' is given for two of"]),
        (["--drop", "id,sex,age,job,weight"], ["no column is left"]),
        (["--outcome-label", "Yes"], ["no value 'Yes'", "Did you mean 'yes'?", "yes, no"]),
        (["--outcome-label", "1"], ["no value '1'", "Its values: yes, no"]),
        (["--reference", "c"], ["--reference", "no value 'c'"]),
        (["--sensitive", "sex", "--reference", "f"], ["'f' was given", "--reference race=f."]),
        (["--reference", "race=c"], ["--reference", "'race' has no value 'c'"]),
        (["--reference", "race=a", "--reference", "race=b"], ["two values", "column 'race'"]),
        (["--outcome-names", "no"], ["--outcome-names: 'no' was given", "1=refused"]),
        (["--outcome-names", "maybe=unsure"], ["--outcome-names", "no value 'maybe'"]),
        (["--group-names", "f=women"], ["--group-names", "column 'race' has no value 'f'"]),
        (["--alpha", "1.5"], ["--alpha", "1.5"]),
        (["--balance", "magic"], ["--balance", "'overlap'"]),
        (["--estimator", "magic"], ["--estimator", "'doubly_robust'"]),
        (["--min-ratio", "0.9"], ["--min-ratio", "0.9"]),
        (["--min-ratio", "nan"], ["--min-ratio", "must be a number"]),
        (["--repeats", "0"], ["--repeats", "0"]),
        (["--repeats", "auto"], ["--repeats", "auto"]),
        (["--report", "no/such/folder/r.html"], ["--report", "folder", "does not exist"]),
        (["--json", "no/such/folder/r.json"], ["--json", "does not exist"]),
        (["--frobnicate"], ["--frobnicate"]),
    ],
)
def test_input_errors(options, parts, loans, mdfa, fake_audit):
    check_error(mdfa(*audit_arguments(loans, *options)), *parts)
    assert fake_audit.calls == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cluster", "age"], "--cluster: 1 of 4 rows have no value"),
        (["--weight", "age"], "--weight: 1 of 4 weights are missing"),
        (["--weight", "half", "--weight-type", "frequency"], "Pass --weight-type sampling if"),
    ],
)
def test_errors_of_the_audit_name_the_option(options, message, loans, mdfa):
    pd.read_csv(loans).assign(half=0.5).to_csv(loans, index=False)
    done = mdfa(*audit_arguments(loans, "--drop", "id", *options))
    check_error(done)
    assert message in " ".join(done.stderr.split())


def test_outputs_never_replace_the_input(loans, mdfa, fake_audit):
    check_error(mdfa(*audit_arguments(loans, "--json", loans)), "is the input")
    assert loans.read_text() == ROWS


def test_missing_file(tmp_path, mdfa):
    check_error(mdfa(*audit_arguments(tmp_path / "none.csv")), "none.csv", "does not exist")


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("t.csv", b"", ["the file is empty"]),
        ("t.csv", b"race,approved,x\n", ["no rows below its header"]),
        ("t.csv", b"race,approved\na,1,2\nb,0,3\n", ["more cells than the header"]),
        ("t.csv", b"income;race\n1,5;a\n2,5;b\n", ["one column", "--separator ';'"]),
        ("t.csv", b"race,approved,x\na,1\nb,0,3,4,5,6\n", ["cannot be read as CSV"]),
        ("t.csv", b"race;approved\na;1\nb;0\n", ["found one column", "--separator"]),
        ("t.csv", "race,approved,x\né,1,2\n".encode("latin-1"), ["utf-8", "--encoding latin-1"]),
        ("t.csv", "race,approved\na,1\n".encode("utf-16"), ["utf-8", "--encoding utf-16"]),
        ("t.csv.gz", b"race,approved\na,1\n", ["cannot be read as CSV"]),
        ("t.parquet", b"race,approved\na,1\n", ["cannot be read as Parquet"]),
        ("t.xlsx", b"PK", [".csv, .tsv or .parquet"]),
        ("table", b"race,approved\na,1\n", [".csv, .tsv or .parquet"]),
    ],
)
def test_unreadable_files(name, content, parts, tmp_path, mdfa, fake_audit):
    path = tmp_path / name
    path.write_bytes(content)
    check_error(mdfa(*audit_arguments(path)), name, *parts)


def test_encoding_can_be_named(tmp_path, mdfa, fake_audit):
    path = tmp_path / "t.csv"
    path.write_bytes("race,approved,x\né,1,2\n".encode("latin-1"))
    assert mdfa(*audit_arguments(path, "--encoding", "latin-1")).exit_code == 0
    check_error(mdfa(*audit_arguments(path, "--encoding", "klingon")), "--encoding", "klingon")
    check_error(mdfa(*audit_arguments(path, "--separator", "||")), "--separator", "one character")


def test_repeated_column_names_matter_only_where_named(tmp_path, mdfa, fake_audit):
    path = tmp_path / "t.csv"
    path.write_text("race,score,score,approved,race.1\na,1,2,0,5\nb,1,2,1,6\n")
    assert mdfa(*audit_arguments(path)).exit_code == 0
    check_error(
        mdfa(*audit_arguments(path, "--features", "score")), "more than one column", "'score'"
    )


def test_parquet_without_pyarrow(tmp_path, mdfa, fake_audit, monkeypatch):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    check_error(mdfa(*audit_arguments(path)), "pyarrow", "mdfa-fairness-plugin[parquet]")


def test_columns_without_a_name_and_row_numbers_are_remarked(tmp_path, mdfa, fake_audit):
    n = 40
    table = pd.DataFrame(
        {
            "case": [f"c{i}" for i in range(n)],
            "age": [i % 20 for i in range(n)],
            "race": ["a", "b"] * (n // 2),
            "approved": [0, 1, 1, 0] * (n // 4),
        }
    )
    table.to_csv(tmp_path / "t.csv")
    result = mdfa(*audit_arguments(tmp_path / "t.csv"))
    assert list(fake_audit.call["X"]) == ["case", "age"]
    assert "'Unnamed: 0' has no name" in result.stderr
    assert "add --drop case" in result.stderr
    assert mdfa(*audit_arguments(tmp_path / "t.csv", "-q")).stderr == ""


def test_errors_of_the_audit_are_one_message(loans, mdfa, fake_audit):
    fake_audit.raises = InputError("y: 3 rows have no outcome. Drop them.")
    result = mdfa(*audit_arguments(loans))
    check_error(result)
    assert result.stderr == "Error: --outcome: 3 rows have no outcome. Drop them.\n"


def test_a_crash_does_not_look_like_a_tripped_gate(loans, mdfa, fake_audit):
    fake_audit.raises = ZeroDivisionError("division by zero")
    check_error(mdfa(*audit_arguments(loans)), "unexpected ZeroDivisionError: division by zero")
    shown = mdfa("--debug", *audit_arguments(loans))
    assert shown.exit_code == 2
    assert "Traceback" in shown.stderr


def test_an_interruption_does_not_look_like_a_tripped_gate(loans, mdfa, fake_audit):
    fake_audit.raises = KeyboardInterrupt()
    result = mdfa(*audit_arguments(loans))
    assert result.exit_code == 130
    assert result.stderr.strip() == "Interrupted."


# From here on the real audit runs, in a process of its own where streams matter.


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A planted violation of ratio e^2 in a table whose names are not ASCII."""
    data = make_synthetic(800, delta=2.0, random_state=0)
    group = data.sensitive_features.map({1: "größer", -1: "kleiner"})
    table = data.X.assign(gruppe=group, approved=data.y)
    path = tmp_path_factory.mktemp("planted") / "planted.csv"
    table.to_csv(path, index=False)
    return path


def run_mdfa(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "mdfa_fairness_plugin.cli", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        timeout=600,
        check=False,
    )


def test_the_whole_way(planted, tmp_path):
    """The gate is one of three: tripped, the numbers are the ones in the files."""
    numbers, report = tmp_path / "a.json", tmp_path / "a.html"
    arguments = ["audit", planted, "--outcome", "approved", "--sensitive", "gruppe"]
    done = run_mdfa(*arguments, "--json", numbers, "--report", report, "--fail-above", "0.5")
    assert done.returncode == 1, done.stderr.decode()
    assert done.stdout.decode("utf-8").strip()
    assert b"gate: gruppe = gr" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b".py:" not in done.stderr
    found = json.loads(numbers.read_text(encoding="utf-8"))
    lower = [search["interval"][0] for search in found["violations"]]
    assert np.nanmax(np.array(lower, dtype=float)) > 0.5
    assert "größer" in report.read_text(encoding="utf-8")


def test_repetitions_are_told_after_the_summary(planted):
    arguments = ["audit", planted, "--outcome", "approved", "--sensitive", "gruppe"]
    arguments += ["--repeats", 1]
    done = run_mdfa(*arguments, "--null-draws", 2, "--stability", 2, "--explained")
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.decode("utf-8")
    assert "repeated 2 times" in said
    assert "2 half samples" in said
    parts = ["WITHOUT A DISPARITY", "ON OTHER PEOPLE", "WITHOUT EACH FEATURE"]
    assert sorted(parts, key=said.index) == parts
    assert "at equal features" in said[said.index(parts[-1]) :]
    assert done.stderr == b""  # bars are for terminals
    # Numbers for machines stay alone on stdout.
    done = run_mdfa(*arguments, "--null-draws", 1, "--json", "-")
    json.loads(done.stdout)


def test_a_terminal_without_unicode_is_no_crash(planted):
    arguments = ["audit", planted, "--outcome", "approved", "--sensitive", "gruppe"]
    arguments += ["--repeats", 1]
    done = run_mdfa(*arguments, PYTHONIOENCODING="ascii", LANG="C", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr.decode()
    assert b"gr\\xf6\\xdfer" in done.stdout
    assert done.stdout.isascii()


def test_same_seed_same_bytes(planted):
    arguments = ["audit", planted, "--outcome", "approved", "--sensitive", "gruppe", "--json", "-"]
    arguments += ["--repeats", 2]
    first, again = run_mdfa(*arguments), run_mdfa(*arguments)
    assert first.returncode == 0
    assert first.stdout == again.stdout


def test_test_cases_are_written_with_the_gate_also_where_it_trips(
    loans, tmp_path, mdfa, fake_audit
):
    path = tmp_path / "mdfa.xml"
    result = mdfa(*audit_arguments(loans, "--junit", path, "--fail-above", "0.2"))
    assert result.exit_code == 1
    assert path.read_text() == "<gate>0.2</gate>"
    assert f"written: {path}" in result.stderr
    result = mdfa(*audit_arguments(loans, "--junit", path))
    assert result.exit_code == 0
    assert path.read_text() == "<gate>None</gate>"


def test_test_cases_may_not_go_over_the_input_or_nowhere(loans, tmp_path, mdfa, fake_audit):
    for path in (loans, tmp_path / "no" / "mdfa.xml"):
        result = mdfa(*audit_arguments(loans, "--junit", path))
        assert result.exit_code == 2
        assert "--junit" in result.stderr
    assert not fake_audit.calls


def test_gate_messages_are_safe_for_a_terminal(loans, mdfa, fake_audit, monkeypatch):
    from types import SimpleNamespace

    hostile = SimpleNamespace(
        sensitive_feature="race\x1b[2J",
        group="a\x1b[2J\n",
        outcome="\u202eyes",
        verdict="violation",
        interval=(0.4, 2.0),
    )
    fake_audit.searches = []
    monkeypatch.setattr(
        "mdfa_fairness_plugin.audit",
        lambda *args, **kwargs: replace(
            fake_audit(*args, **kwargs),
            cases=lambda min_cell: [Case("", hostile, str)],
            summary=lambda min_cell: "",
        ),
        raising=False,
    )
    result = mdfa(*audit_arguments(loans, "--fail-above", "0.2"))
    assert result.exit_code == 1
    assert "gate: race" in result.stderr
    assert not {"\x1b", "\u202e"} & set(result.stderr)


@pytest.mark.parametrize(
    ("one", "two"), [("--report", "--json"), ("--json", "--junit"), ("--report", "--junit")]
)
def test_one_file_is_not_written_twice(loans, tmp_path, mdfa, fake_audit, one, two):
    path = tmp_path / "out"
    (tmp_path / "sub").mkdir()
    for other in (path, tmp_path / "sub" / ".." / "out"):
        result = mdfa(*audit_arguments(loans, one, path, two, other))
        check_error(result, f"{one} and {two}: both would be written to")
    assert not fake_audit.calls
    assert mdfa(*audit_arguments(loans, one, path, two, tmp_path / "other")).exit_code == 0


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 9 GiB"),
        ImportError("x.so: failed to map segment"),
    ],
)
def test_out_of_memory_is_no_tripped_gate(loans, mdfa, fake_audit, error):
    fake_audit.raises = error
    result = mdfa(*audit_arguments(loans, "--fail-above", "0.1"))
    check_error(result, "Error: out of memory", "--features", "Parquet")
    assert "report" not in result.stderr


def test_out_of_memory_while_saying_so_is_no_tripped_gate(loans, mdfa, fake_audit, monkeypatch):
    def complain(text):
        raise MemoryError

    fake_audit.raises = MemoryError()
    monkeypatch.setattr("mdfa_fairness_plugin.cli.complain", complain)
    assert mdfa(*audit_arguments(loans, "--fail-above", "0.1")).exit_code == 2


def test_a_full_disk_is_named_and_what_else_was_asked_for_is_done(
    loans, tmp_path, mdfa, fake_audit, monkeypatch
):
    """The old file is whole, later files are written, and the summary is said."""
    page, table = tmp_path / "page.html", tmp_path / "audit.json"
    page.write_text("old")

    def full(self, path, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(type(fake_audit), "_to_html", full)
    result = mdfa(*audit_arguments(loans, "--report", page, "--json", table))
    assert result.exit_code == 2
    assert f"cannot write '{page}' (No space left on device)" in result.stderr
    assert f"written: {table}" in result.stderr
    assert f"written: {page}" not in result.stderr
    assert result.stdout.startswith("The summary.")
    assert page.read_text() == "old"
    assert table.read_text() == "{}\n"


@pytest.mark.parametrize("odd", ["\x1b[31mred", "a\u202eb", "\u200bzero"])
def test_nothing_unseen_reaches_the_terminal(tmp_path, mdfa, odd):
    """Of names of files and columns, of values and options, whoever writes the message."""
    path = tmp_path / f"{odd}.csv"
    frame = pd.DataFrame({odd: ["f", "m"] * 60, "age": range(120), "y": ["no", "yes", odd] * 40})
    frame.to_csv(path, index=False)
    options = ("--outcome", "y", "--sensitive", odd)
    for words in (
        ("audit", path, "--outcome", odd, "--sensitive", "sex"),
        ("audit", path, *options, "--ordered", f"no,yes,{odd}?"),
        ("audit", path, *options, "--outcome-label", f"{odd}?"),
        ("audit", path, *options, "--outcome-label", "no", "--report", tmp_path / odd / "r.html"),
        ("audit", tmp_path / f"{odd}.txt.no", *options),
        ("audit", path, f"--{odd}"),
        (odd,),
    ):
        result = mdfa(*words)
        assert result.exit_code == 2
        assert result.stderr == visible(result.stderr)
        assert "\ufffd" in result.stderr or ascii(odd)[1:-1] in result.stderr


def test_errors_name_the_option_and_not_the_argument(tmp_path, mdfa):
    path = tmp_path / "three.csv"
    frame = pd.DataFrame({"sex": ["f", "m"] * 60, "age": range(120), "y": ["a b", "c", "d"] * 40})
    many = frame.assign(y=[f"a {i % 30:02d}" for i in range(120)])
    many.to_csv(path, index=False)
    result = mdfa("audit", path, "--outcome", "y", "--sensitive", "sex")
    check_error(result, "--outcome-label 'a 00'")
    assert "outcomes=" not in result.stderr
    with_two = frame.assign(z=["a b", "d", "c"] * 40)
    with_two.to_csv(path, index=False)
    result = mdfa("compare", path, "--outcomes", "y,z", "--sensitive", "sex")
    check_error(result, "--outcomes: 3 different outcomes", "--outcome-label")
    assert "outcomes_by_model: " not in result.stderr
    assert "in outcomes" not in result.stderr


def test_missing_outcomes_and_spellings_name_the_options_that_help(tmp_path, mdfa, fake_audit):
    path = tmp_path / "people.csv"
    frame = pd.DataFrame(
        {"sex": ["f", "m"] * 60, "age": range(120), "y": ["no", "yes", "yes."] * 40}
    )
    frame.to_csv(path, index=False)
    options = ("audit", path, "--outcome", "y", "--sensitive", "sex")
    assert mdfa(*options, "--drop-missing-outcomes", "--merge-spellings").exit_code == 0
    assert fake_audit.call["missing_outcome"] == "exclude"
    assert fake_audit.call["merge_spellings"] is True
    assert mdfa(*options).exit_code == 0
    assert not {"missing_outcome", "merge_spellings"} & set(fake_audit.calls[1])


def test_errors_about_missing_outcomes_and_spellings_name_options(tmp_path, mdfa):
    path = tmp_path / "people.csv"
    frame = pd.DataFrame(
        {"sex": ["f", "m"] * 60, "age": range(120), "y": ["no", "yes", "yes."] * 40}
    )
    options = ("audit", path, "--outcome", "y", "--sensitive", "sex")
    frame.to_csv(path, index=False)
    check_error(mdfa(*options), "a dot at the end: 'yes' and 'yes.'. Pass --merge-spellings")
    frame.assign(y=frame["y"].mask(frame.index < 7)).to_csv(path, index=False)
    check_error(mdfa(*options), "7 of 120 outcomes are missing. Pass --drop-missing-outcomes")


# -- features that tell the outcome


@pytest.fixture
def scored(tmp_path):
    """400 people, let go above 50 points; and what was said to them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "points": rng.uniform(0, 100, 400)})
    frame["sex"] = rng.choice(["f", "m"], 400)
    frame["free"] = np.where(frame["points"] > 50, "yes", "no")
    frame["letter"] = np.where(frame["points"] > 50, "A", "B")
    path = tmp_path / "scored.csv"
    frame.to_csv(path, index=False)
    return ("audit", path, "--outcome", "free", "--sensitive", "sex")


def test_inputs_of_the_decision_reach_the_audit(loans, mdfa, fake_audit):
    mdfa(*audit_arguments(loans, "--decision-input", "job,age", "--decision-input", "sex"))
    assert fake_audit.call["decision_inputs"] == ["job", "age", "sex"]
    done = mdfa(*audit_arguments(loans, "--decision-input", "jobs"))
    assert "--decision-input: the table has no column 'jobs'. Did you mean 'job'?" in done.stderr


def test_a_repeated_outcome_is_refused_in_terms_of_the_command_line(scored, mdfa):
    done = mdfa(*scored)
    assert done.exit_code == 2
    assert "X: 'letter' repeat(s) the outcome" in done.stderr
    assert done.stderr.endswith(
        "if the decision was made from it, name it with --decision-input.\n"
    )
    assert mdfa(*scored, "--decision-input", "letter,points").exit_code == 0
    done = mdfa(*scored, "--drop", "letter", "--decision-input", "letter")
    assert "Error: --decision-input: 'letter' is no feature; the features are 'age'" in done.stderr


def test_a_leak_is_the_first_thing_said(scored, mdfa):
    done = mdfa(*scored, "--drop", "letter")
    assert done.exit_code == 0
    assert "'points' decides the outcome alone." in " ".join(done.stdout.split()[:20])
    assert "decides" not in done.stderr


@pytest.fixture(scope="module")
def asked_of(tmp_path_factory):
    """A table with a column beside the features, by which rows can be asked for."""
    data = make_synthetic(n_samples=500, delta=1.5, random_state=0)
    path = tmp_path_factory.mktemp("asked") / "rows.csv"
    frame = data.X.assign(group=data.sensitive_features, got=data.y, office=np.arange(500) % 2)
    frame.to_csv(path, index=False)
    return path, frame


def asking(path, *more):
    some = ("--outcome", "got", "--sensitive", "group", "--drop", "office", "--repeats", 1)
    return ("audit", path, *some, *more)


def test_rows_asked_for_are_measured_and_told(asked_of, mdfa, tmp_path):
    path, frame = asked_of
    files = {name: tmp_path / f"told.{name}" for name in ("html", "json", "xml")}
    result = mdfa(
        *asking(path, "--measure", "x1 < 0 and x2 < 0", "--measure", "office == 1 and x1 < 0"),
        *("--where", "x1 > -1.5", "--report", files["html"], "--json", files["json"]),
        *("--junit", files["xml"], "--min-cell", 1),
    )
    assert result.exit_code == 0, result.stderr
    n = int((frame["x1"] > -1.5).sum())
    assert f"note: --where: {n} of 500 rows are audited" in result.stderr
    told = json.loads(files["json"].read_text())
    assert (told["n_samples"], told["provenance"]["where"]) == (n, "x1 > -1.5")
    assert {own["label"] for own in told["asked"]} == {
        "x1 < 0 and x2 < 0",
        "office == 1 and x1 < 0",
    }
    inside = (frame["x1"] < 0) & (frame["office"] == 1)
    n_asked, n_left_out = int((inside & (frame["x1"] > -1.5)).sum()), sum(told["excluded"].values())
    assert n_asked - n_left_out <= told["asked"][-1]["n_rows"] <= n_asked
    assert "Only rows where x1 > -1.5." in result.stdout
    assert "not confirmed" in result.stdout
    assert "Only rows where x1 &gt; -1.5." in files["html"].read_text()
    assert "where office == 1 and x1 &lt; 0: group" in files["xml"].read_text()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--measure", "got == 1"), "--measure: 'got' is the outcome"),
        (("--measure", "offfice == 1"), "--measure: there is no column 'offfice'. Did you mean"),
        (("--measure", "__import__('os')"), "--measure: "),
        (("--measure", "x" * 10_000), "--measure: the expression has 10,000 characters"),
        (("--where", "x1 <"), "--where: the expression ends too early"),
        (("--where", "x1 > 99"), "--where: no row of"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_audit(asked_of, mdfa, fake_audit, more, says):
    result = mdfa(*asking(asked_of[0], *more))
    assert (result.exit_code, fake_audit.calls) == (2, [])
    assert says in result.stderr
    assert len(result.stderr) < 700


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"score": rng.integers(0, 11, 300), "x": rng.normal(size=300).round(3)})
    frame["race"] = rng.choice(["a", "b"], 300)
    frame.loc[0, "score"] = np.nan
    frame.to_csv(path, index=False)
    return path, frame


def test_an_outcome_may_be_a_condition(scores, mdfa, fake_audit):
    """Both answers in words; what it is made from is no feature; a gap stays one."""
    path, frame = scores
    asked = ("audit", path, "--outcome", "score>=7", "--sensitive", "race")
    result = mdfa(*asked, "--outcome-label", "score < 7")
    assert result.exit_code == 0, result.stderr
    call = fake_audit.call
    assert call["y"].name == "score >= 7"
    assert call["y"].isna().tolist() == frame["score"].isna().tolist()
    assert (call["y"] == "score >= 7").tolist() == (frame["score"] >= 7).tolist()
    assert call["outcomes"] == ["score < 7"]
    assert list(call["X"]) == ["x"]
    assert mdfa(*asked, "--features", "score,x").exit_code == 2
    wrong = mdfa("audit", path, "--outcome", "scor >= 7", "--sensitive", "race")
    assert "--outcome: there is no column 'scor'. Did you mean 'score'" in wrong.stderr
    wrong = mdfa("audit", path, "--outcome", "scor", "--sensitive", "race")
    assert "--outcome: the table has no column 'scor'. Did you mean 'score'" in wrong.stderr
    wrong = mdfa(*asked, "--measure", "score > 3")
    assert "--measure: 'score' is the outcome" in wrong.stderr


def test_a_column_called_like_a_condition_is_that_column(tmp_path, mdfa, fake_audit):
    path = tmp_path / "odd.csv"
    path.write_text("race,a>1,x\n" + "\n".join(f"{'ab'[i % 2]},{i % 3 % 2},{i}" for i in range(9)))
    assert mdfa("audit", path, "--outcome", "a>1", "--sensitive", "race", "-q").exit_code == 0
    assert fake_audit.call["y"].tolist() == [i % 3 % 2 for i in range(9)]


def test_the_good_outcome_is_matched_as_text_or_number_and_named(scores, mdfa, fake_audit):
    path, _ = scores
    asked = ("audit", path, "--outcome", "score >= 7", "--sensitive", "race")
    result = mdfa(*asked, "--favorable-label", "score >= 7", "--outcome-name", "test passed")
    assert result.exit_code == 0, result.stderr
    call = fake_audit.call
    assert (call["favorable_label"], call["outcome_name"]) == ("score >= 7", "test passed")
    assert "no value 'x'" in mdfa(*asked, "--favorable-label", "x").stderr


def test_who_is_inside_is_written_as_rows(asked_of, mdfa, tmp_path):
    path, frame = asked_of
    csv, parquet = tmp_path / "members.csv", tmp_path / "members.parquet"
    some = ("--where", "x1 > -1.5", "--learner", "tree", "--solver", "level_set", "-q")
    assert mdfa(*asking(path, "--members", csv, *some)).exit_code == 0
    assert mdfa(*asking(path, "--members", parquet, *some)).exit_code == 0
    told = pd.read_csv(csv)
    kept = frame.index[frame["x1"] > -1.5]
    assert told["row"].tolist() == kept.tolist() * 4
    again = pd.read_parquet(parquet)
    assert again["inside"].tolist() == told["inside"].tolist()
    assert again["group"].tolist() == told["group"].astype(str).tolist()
    wrong = mdfa(*asking(path, "--members", tmp_path / "members.xlsx"))
    assert "must end in .csv or .parquet" in wrong.stderr


def test_every_group_is_written_as_a_table(loans, mdfa, fake_audit, tmp_path):
    csv = tmp_path / "groups.csv"
    fake_audit.groups = pd.DataFrame(
        {
            "category": ["a", ("a", 1), "Unknown"],
            "reference": [None, ("b", 0), None],
            "n": [3, 2, 0],
        }
    )
    asked = audit_arguments(loans, "--group-table", csv)
    done = mdfa(*asked, "--favorable-label", "yes")
    assert (done.exit_code, done.stderr) == (0, f"written: {csv}\n")
    assert csv.read_text() == "category,reference,n\na,,3\na & 1,b & 0,2\nUnknown,,0\n"
    wrong = audit_arguments(loans, "--group-table", tmp_path / "g.xlsx", "--favorable-label", "yes")
    assert "--group-table: 'g.xlsx' must end in .csv" in mdfa(*wrong).stderr


def test_pairs_are_written_where_single_people_may_be_seen(loans, mdfa, fake_audit, tmp_path):
    csv = tmp_path / "pairs.csv"
    fake_audit.paired = pd.DataFrame(
        {"pair": [1, 1], "sensitive_value": [("a", 1), "b"], "age": [30, 31]}, index=[7, 2]
    )
    asked = audit_arguments(loans, "--pairs", csv)
    refused = mdfa(*asked)
    assert refused.exit_code == 2
    assert "--min-cell 11 keeps back" in refused.stderr
    assert "--allow-rows" in refused.stderr
    assert not csv.exists()
    for allowed in (("--allow-rows",), ("--min-cell", "1")):
        done = mdfa(*asked, *allowed)
        assert (done.exit_code, done.stderr) == (0, f"written: {csv}\n")
        assert csv.read_text() == "row,pair,sensitive_value,age\n7,1,a & 1,30\n2,1,b,31\n"
    wrong = audit_arguments(loans, "--pairs", tmp_path / "pairs.xlsx", "--allow-rows")
    assert "--pairs: 'pairs.xlsx' must end in .csv" in mdfa(*wrong).stderr


def test_settings_of_the_search_reach_the_audit(loans, mdfa, fake_audit):
    some = ("--sensitive", "sex", "--intersections", "--solver", "level_set", "--learner", "tree")
    some += ("--representation", "phi", "--complexity", "cross_validated", "--device", "cpu")
    assert mdfa(*audit_arguments(loans, *some)).exit_code == 0
    call = fake_audit.call
    asked = {"intersections": True, "solver": "level_set", "learner": "tree", "device": "cpu"}
    asked |= {"representation": "phi", "complexity": "cross_validated"}
    assert {name: call[name] for name in asked} == asked


def test_what_is_withheld_is_in_no_output(tmp_path, mdfa):
    """Seven of 220 others were refused; only JSON without --withhold tells them."""
    frame = pd.DataFrame({"sex": ["f"] * 180 + ["m"] * 220, "age": np.tile([30, 50, 40, 60], 100)})
    frame["approved"] = np.where(frame.index.isin([*range(80), *range(180, 187)]), "no", "yes")
    table, outputs = tmp_path / "loans.csv", {}
    frame.to_csv(table, index=False)
    for more in ((), ("--withhold",)):
        files = [tmp_path / f"{name}{len(more)}" for name in ("json", "junit", "cyclonedx")]
        asked = [part for path in files for part in (f"--{path.name[:-1]}", path)]
        asked += ["--sensitive", "sex", "--outcome-label", "no", "--learner", "tree", *more]
        result = mdfa(
            "audit", table, "--outcome", "approved", "--group-pairs", "--explained", *asked
        )
        assert result.exit_code == 0, result.output
        outputs[more] = [result.stdout, *(path.read_text(encoding="utf-8") for path in files)]
    plain, told = (json.loads(own[1]) for own in outputs.values())
    assert [[80, 100], [7, 213]] in [v["counts"]["values"] for v in plain["violations"]]
    assert [[80, 100], [None, 220]] in [v["counts"]["values"] for v in told["violations"]]
    ratio = max(v["ratio"] for v in plain["violations"])
    texts = [outputs[()][0], *outputs[()][2:], *outputs[("--withhold",)]]
    new = tmp_path / "new.csv"
    frame.assign(age=frame["age"] + 1).to_csv(new, index=False)
    for words in (
        ("measure", new, "--from", tmp_path / "json0"),
        ("diff", *2 * [tmp_path / "json0"]),
    ):
        again = mdfa(*words, "--json", "-", "--fail-above", 0.1, "--withhold")
        assert "withheld" in mdfa(*words).stdout
        assert json.loads(again.stdout)["min_cell"] == 11
        texts += [again.stdout, again.stderr]
    for text in texts:
        assert f"{ratio:.4g}" not in text
        assert not re.search(r"\b213\b", text)
