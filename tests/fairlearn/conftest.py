"""Predictions with a planted violation, shared by the plug-in's tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa

N = 600
# Half a second an audit instead of some: what is tested is the plumbing.
QUICK = {"learner": "tree", "n_splits": 2, "n_repeats": 1}


class Case:
    """Planted violation: group 1 is selected e^1.5 times as often in a half disc."""

    def __init__(self):
        data = mdfa.datasets.make_synthetic(N, delta=1.5, imbalance=0.0, random_state=1)
        rng = np.random.default_rng(0)
        self.X, self.y_pred, self.s = data.X, data.y, data.sensitive_features
        self.y_true = pd.Series(rng.integers(0, 2, N), name="truth")
        self.other = pd.Series(rng.choice(["u", "v", "w"], N), name="other")
        self.region = pd.Series(rng.choice(["north", "south"], N), name="region")
        self.weight = rng.uniform(0.5, 2.0, N)

    @property
    def arguments(self):
        return {"sensitive_features": self.s, "audit_features": self.X, **QUICK}


@pytest.fixture(scope="session")
def case():
    return Case()


@pytest.fixture(scope="session")
def audited(case):
    """What others are compared with: the case as it is."""
    from mdfa_fairness_plugin.fairlearn import audit_predictions

    return audit_predictions(case.y_true, case.y_pred, **case.arguments)
