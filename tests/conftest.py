"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Tests run two at a time: threads of their own would only get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def data_home() -> Path:
    """Folder of the real data sets; tests that need it are skipped where it is not given."""
    named = os.environ.get("MDFA_DATA_HOME")
    if not named:
        pytest.skip("MDFA_DATA_HOME is not set: no folder of real data sets")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"MDFA_DATA_HOME is not a folder: {named}")
    return folder
