"""The command itself: quick, and quiet about broken pipes."""

import os
import re
import subprocess
import sys
from typing import get_args

import pytest

import mdfa_fairness_plugin
from mdfa_fairness_plugin.balance import BALANCERS
from mdfa_fairness_plugin.cli import asked, main
from mdfa_fairness_plugin.cli.console import asked_columns
from mdfa_fairness_plugin.learn.learners import LEARNERS
from mdfa_fairness_plugin.report.document import Paragraphs
from mdfa_fairness_plugin.report.text import as_wide_as, lines_of
from mdfa_fairness_plugin.search.solvers import SOLVERS
from mdfa_fairness_plugin.settings import Estimator

SCRIPT = "import sys; from mdfa_fairness_plugin.cli import main; main(sys.argv[1:])"


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["demo", "--help"]])
def test_help(arguments, mdfa):
    result = mdfa(*arguments)
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_version(mdfa):
    result = mdfa("--version")
    assert result.exit_code == 0
    assert mdfa_fairness_plugin.__version__ in result.stdout


@pytest.mark.parametrize("arguments", [["frobnicate"], ["audit"], ["--frobnicate"]])
def test_usage_errors_are_status_2(arguments, mdfa):
    result = mdfa(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_help_lists_every_command(mdfa):
    for name in main.commands:
        assert re.search(rf"^  {name} ", mdfa("--help").stdout, re.MULTILINE)


def test_help_imports_nothing_slow():
    """pandas and scikit-learn take a second or more; help should be there at once."""
    code = (
        "import sys\n"
        "from mdfa_fairness_plugin.cli import main\n"
        "main(['audit', '--help'], standalone_mode=False)\n"
        "slow = {'numpy', 'pandas', 'scipy', 'sklearn', 'matplotlib', 'torch'} & set(sys.modules)\n"
        "print('imported:', sorted(slow))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.endswith("imported: []\n")


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    """As in ``mdfa audit ... | head``: no traceback, and the status is still the audit's."""
    table = tmp_path / "t.csv"
    table.write_text("race,approved,x\na,1,2\nb,0,3\n")
    code = (
        "import dataclasses, sys\n"
        "import mdfa_fairness_plugin\n"
        "told = dict(violations=(), asked=(), provenance={})\n"
        "told['summary'] = lambda **given: 'line\\n' * 100_000\n"
        "result = dataclasses.make_dataclass('Result', told)(**told)\n"
        "mdfa_fairness_plugin.audit = lambda *args, **kwargs: result\n" + SCRIPT
    )
    arguments = ["audit", str(table), "--outcome", "approved", "--sensitive", "race"]
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=write_end, stderr=subprocess.PIPE
    )
    os.close(write_end)
    os.close(read_end)
    _, errors = process.communicate(timeout=120)
    assert errors == b""
    assert process.returncode == 0


def test_progress_is_for_terminals_only(tmp_path):
    """On a terminal one line is rewritten, with a clock, and then cleared; a pipe sees none of it."""
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    code = (
        "import logging\n"
        "from mdfa_fairness_plugin.cli.console import progress, say\n"
        "logger = logging.getLogger('mdfa_fairness_plugin.somewhere')\n"
        "with progress('starting', quiet=False):\n"
        "    logger.info('%d searches', 4, extra={'share': 0.0})\n"
        "    logger.info('fold %d', 3, extra={'share': 0.5})\n"
        "say('- ' + 'word ' * 20)\n"
    )
    ours, theirs = pty.openpty()
    told = {"check": True, "timeout": 120, "env": os.environ | {"COLUMNS": "60"}}
    subprocess.run([sys.executable, "-c", code], stdout=theirs, stderr=theirs, **told)
    os.close(theirs)
    shown, _, said = os.read(ours, 10_000).rpartition(b"\r\x1b[2K")
    os.close(ours)
    assert b"starting" in shown
    assert b"starting: 4 searches, fold 3 (0 s, about 1 s left)" in shown
    first, second = said.splitlines()
    assert len(first) <= 60
    assert second.startswith(b"  word")
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, **told)
    assert piped.stderr == b""
    assert len(piped.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("told", "columns"), [("60", 60), ("9", 40), ("0", None), ("wide", None), ("", None)]
)
def test_files_are_as_wide_as_asked(told, columns, monkeypatch):
    """And else their prose is 80 wide, and tables are whole."""
    monkeypatch.setenv("COLUMNS", told)
    assert asked_columns() == columns
    with as_wide_as(asked_columns()):
        lines = lines_of(Paragraphs(("word " * 40,)))
    assert max(map(len, lines)) <= (columns or 80)


def test_every_way_to_balance_can_be_asked_for():
    """The command line has a list of its own, as the registry is slow to import."""
    assert ("auto", *BALANCERS) == asked.BALANCES


def test_every_solver_and_learner_can_be_asked_for():
    assert ("auto", *SOLVERS) == asked.SOLVERS
    assert {"auto", *LEARNERS} == set(asked.LEARNERS)


def test_every_estimate_can_be_asked_for():
    assert set(asked.ESTIMATORS) == set(get_args(Estimator))
