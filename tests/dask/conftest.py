"""Planted data in partitions, and quick audits of them."""

from __future__ import annotations

import numpy as np
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.dask import audit_dask

N_LEARNED = 800
# Trees instead of forests: these tests are about sums, not about finding regions.
QUICK = {"learner": "tree", "n_splits": 3, "max_learning_rows": N_LEARNED, "random_state": 0}
NAMES = {"outcome": "denied", "sensitive": "race"}


def make_frame(n_rows=6_000, seed=0, delta=1.5):
    """Planted data as one frame: two numbers, a town, race and the decision."""
    data = mdfa.datasets.make_synthetic(n_samples=n_rows, delta=delta, random_state=seed)
    frame = data.X.reset_index(drop=True)
    rng = np.random.default_rng(seed)
    frame["town"] = rng.choice(["A", "B", "C"], n_rows)
    frame["race"] = np.where(np.asarray(data.sensitive_features) > 0, "black", "white")
    frame["denied"] = np.where(np.asarray(data.y) > 0, "yes", "no")
    return frame


def audit_quickly(data, scheduler="synchronous", **arguments):
    return audit_dask(data, scheduler=scheduler, **(NAMES | QUICK | arguments))


def audit_frame(frame, n_partitions=6, **arguments):
    dd = pytest.importorskip("dask.dataframe")
    return audit_quickly(dd.from_pandas(frame, npartitions=n_partitions, sort=False), **arguments)


@pytest.fixture(scope="session")
def n_learned():
    """Rows that a quick audit learns from."""
    return N_LEARNED


@pytest.fixture(scope="session")
def quick():
    """Arguments of a quick audit, but for the names of columns."""
    return QUICK


@pytest.fixture(scope="session")
def made():
    """Draw planted data."""
    return make_frame


@pytest.fixture(scope="session")
def audit_source():
    """Audit a source of rows quickly."""
    return audit_quickly


@pytest.fixture(scope="session")
def run():
    """Audit a frame quickly, cut into partitions."""
    return audit_frame


@pytest.fixture(scope="session")
def frame():
    return make_frame()


@pytest.fixture(scope="session")
def result(frame):
    return audit_frame(frame)


@pytest.fixture(scope="session")
def at_the_end():
    """The frame with other values in its last rows."""

    def change(frame, column, value, n=1):
        changed = frame.copy()
        changed.loc[changed.index[-n:], column] = value
        return changed

    return change
