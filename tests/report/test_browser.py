"""The report in a real browser: accessible in both themes, and asking for nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mdfa_fairness_plugin import audit
from mdfa_fairness_plugin.datasets import make_synthetic

CHECK = Path(__file__).parents[2] / ".ci" / "check_page.py"
AXE = os.environ.get("MDFA_AXE_CORE", "")


@pytest.mark.slow
@pytest.mark.skipif(not CHECK.exists(), reason="no .ci/check_page.py here")
@pytest.mark.skipif(
    not (os.environ.get("CHROMIUM") or shutil.which("chromium")), reason="no chromium"
)
@pytest.mark.skipif(not AXE, reason="MDFA_AXE_CORE names no folder of axe-core")
def test_page_is_accessible_and_asks_for_nothing(tmp_path):
    data = make_synthetic(n_samples=1500, delta=1.5, random_state=0)
    page = tmp_path / "page.html"
    audit(data.X, data.y, sensitive_features=data.sensitive_features, random_state=0).to_html(page)
    done = subprocess.run(
        [sys.executable, CHECK, "--axe", AXE, page], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
