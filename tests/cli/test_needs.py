"""Options that would do nothing are refused before any file is read."""

import pytest

from mdfa_fairness_plugin.cli import main
from mdfa_fairness_plugin.cli.needs import _NEEDS

AUDIT = ("--outcome", "free", "--sensitive", "sex")
MODELS = ("--outcomes", "a,b", "--sensitive", "sex")
TABLE, PARQUET = "t.csv", "t.parquet"
JSON = ("--json", "-")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("audit", TABLE, *AUDIT, "--title", "T"), "--title: it stands on the page"),
        (("audit", TABLE, *AUDIT, *JSON, "--author", "A"), "--author: it stands on the page"),
        (("card", TABLE, *AUDIT, "--row", "1", "--source", "S"), "--source: it stands on the page"),
        (("compare", TABLE, *MODELS, "--date", "D"), "--date: it stands on the page"),
        (("demo", "--title", "T"), "--title: it stands on the page"),
        (("audit", TABLE, *AUDIT, "--allow-rows"), "--allow-rows: it lets --pairs write rows"),
        (("audit", TABLE, *AUDIT, "--pairs", "p.csv"), "--pairs: it writes rows of single people"),
        (("audit", TABLE, *AUDIT, "--device", "cpu"), "--device: only the MMD network"),
        (("card", TABLE, *AUDIT, "--row", "1", "--device", "cpu"), "--device: only the MMD"),
        (("audit", TABLE, *AUDIT, "--scheduler", "x"), "--scheduler: a cluster reads Parquet"),
        (("audit", PARQUET, *AUDIT, "--separator", ";"), "--separator: it says how a CSV"),
        (("compare", PARQUET, *MODELS, "--encoding", "ascii"), "--encoding: it says how a CSV"),
        (("audit", "*.parquet", *AUDIT, "--true", "y"), "--true: true labels are for --event"),
        (("audit", "*.parquet", *AUDIT, "--bins", "a=q4"), "--bins: the rows have to be in memory"),
        (
            ("audit", TABLE, *AUDIT, "--stability", "9", "-q"),
            "--stability: what it finds is printed",
        ),
        (("audit", TABLE, *AUDIT, "--explained", "-q"), "--explained: what it finds is printed"),
        (("audit", TABLE, *AUDIT, "--withhold"), "--withhold: it is about --json"),
        (("compare", TABLE, *MODELS, "--withhold"), "--withhold: it is about --json"),
        (("verify", "t.json", TABLE, "--jobs", "2"), "--jobs: only --again computes"),
        (
            ("audit", TABLE, *AUDIT, "--true", "y", "--event", "error", "--outcome-label", "1"),
            "--outcome-label: an error is one whatever",
        ),
        (
            ("audit", TABLE, *AUDIT, "--event", "absolute_error", "--favorable", "high"),
            "--favorable: a small error is good",
        ),
        (
            ("audit", TABLE, *AUDIT, "--group-table", "g.csv"),
            "--group-table: it tells who gets the favourable outcome",
        ),
        (
            ("audit", TABLE, *AUDIT, "--group-table", "g.csv", "--ordered", "a,b,c"),
            "--group-table: it counts who gets the favourable outcome",
        ),
    ],
)
def test_what_would_do_nothing_is_refused(asked, said, mdfa, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (TABLE, PARQUET, "t.json"):
        (tmp_path / name).touch()
    done = mdfa(*asked)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_needs_are_of_options_that_there_are():
    known = {one.name for command in main.commands.values() for one in command.params}
    assert {name for names, _, _ in _NEEDS for name in names} <= known
