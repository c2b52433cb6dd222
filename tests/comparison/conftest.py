"""Models whose unequal treatment is known because it was put there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa


def make_models(n=1600, seed=0):
    """Two models equal in the aggregate, unequal in opposite ways where x1 is above or below 0.

    Model A harms the group where x1 > 0 (rate .7 against .3) and favours it by as much elsewhere; B
    does so by x2, and leaves no trace along x1; C treats everybody alike.
    """
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 3)), columns=["x1", "x2", "x3"])
    group = np.where(rng.random(n) < 0.5, "a", "b")
    sign = np.where(group == "a", 1, -1)
    rates = {
        "A": 0.5 + 0.2 * sign * np.sign(X["x1"]),
        "B": 0.5 + 0.2 * sign * np.sign(X["x2"]),
        "C": np.full(n, 0.5),
    }
    outcomes = {name: np.asarray(rng.random(n) < rate).astype(int) for name, rate in rates.items()}
    truth = (rng.random(n) < 0.5).astype(int)
    return SimpleNamespace(
        X=X, group=pd.Series(group, name="group"), outcomes=outcomes, rates=rates, truth=truth
    )


@pytest.fixture(scope="session")
def planted():
    return make_models()


@pytest.fixture(scope="session")
def few():
    """Fewer people, for what holds whatever is found."""
    return make_models(n=500, seed=1)


@pytest.fixture(scope="session")
def compared(planted):
    """One comparison of the planted models, for all that only look at it."""
    return mdfa.compare(
        planted.X,
        planted.outcomes,
        sensitive_features=planted.group,
        y_true=planted.truth,
        groups=["a"],
        n_splits=3,
        random_state=0,
    )
