"""What the tests of the loaders share."""

from __future__ import annotations

import importlib.util

import pytest
import sklearn.datasets
from sklearn.utils import Bunch


@pytest.fixture
def nothing_installed(monkeypatch):
    """No folder is named, AIF360 is absent and nothing can be fetched."""
    monkeypatch.delenv("MDFA_DATA_HOME", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    def no_network(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)


@pytest.fixture
def openml(monkeypatch):
    """Let openml.org answer with one table, whatever is asked; gives what was asked."""

    def answer(frame):
        asked = []

        def fetch(name, **options):
            asked.append((name, options["version"]))
            return Bunch(frame=frame)

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        return asked

    return answer
