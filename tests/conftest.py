"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path

import pytest

# Tests run two at a time: threads of their own would only get in each other's way. Said before numpy
# is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from mdfa_fairness_plugin import settings
from mdfa_fairness_plugin.learn import difference

FOR_USERS = (
    (settings, "_MOST_REPEATS", settings._MOST_REPEATS),
    (difference, "_TREES_OF_A_ROW", difference._TREES_OF_A_ROW),
)


@pytest.fixture(scope="session", autouse=True)
def cross_fitted_once():
    """By default an audit costs a quarter: most tests are about other things than its repeats.

    Fixtures that live longer than a test, and tests without the mark ``repeats``, ask for more of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "_MOST_REPEATS", 1)
        patch.setattr(difference, "_TREES_OF_A_ROW", 24)
        yield


@pytest.fixture(autouse=True)
def repeated_as_for_users(request, monkeypatch):
    """The default of users for tests marked ``repeats``."""
    if request.node.get_closest_marker("repeats"):
        for module, name, value in FOR_USERS:
            monkeypatch.setattr(module, name, value)


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


@pytest.fixture
def steps_of():
    """Count the steps of Python that a call takes: no busy machine adds to them."""

    def count(work):
        steps = 0

        def trace(frame, event, argument):
            nonlocal steps
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            steps += event == "opcode"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(before)
        return steps

    return count


@pytest.fixture
def peak_of():
    """Count the bytes that a call holds at most, arrays included."""

    def count(work):
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return count
