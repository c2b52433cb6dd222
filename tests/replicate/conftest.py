"""Results that are repeated: a planted violation, nothing, one data set in two orders."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa

# Said, since some of it is repeated in other processes.
FAST = {"random_state": 0, "learner": "tree", "n_splits": 3, "n_repeats": 1}


@pytest.fixture(scope="session")
def quick():
    """Arguments of a quick audit."""
    return FAST


@pytest.fixture(scope="session")
def planted():
    data = mdfa.datasets.make_synthetic(n_samples=1500, delta=1.5, random_state=1)
    return mdfa.audit(data.X, data.y, sensitive_features=data.sensitive_features, **FAST)


@pytest.fixture(scope="session")
def nothing():
    """Outcomes that see one feature only, groups that lean on it."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
    s = np.where(rng.random(600) < 1 / (1 + np.exp(-X["a"])), "p", "q")
    y = (rng.random(600) < 1 / (1 + np.exp(-2 * X["a"]))).astype(int)
    return mdfa.audit(X, y, sensitive_features=s, **FAST)


@pytest.fixture(scope="session")
def shuffled():
    """One data set, its rows in another order and its labels called otherwise; integer weights."""
    rng = np.random.default_rng(5)
    n = 400
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": rng.integers(0, 3, n)})
    s = rng.choice(["p", "q"], n, p=[0.4, 0.6])
    y = rng.integers(0, 2, n)
    order = rng.permutation(n)
    names = {"p": "zz", "q": "aa"}
    one = mdfa.audit(X, y, sensitive_features=s, **FAST)
    two = mdfa.audit(
        X.iloc[order].reset_index(drop=True),
        np.array(["no", "yes"])[y[order]],
        sensitive_features=[names[value] for value in s[order]],
        **FAST,
    )
    same = {("p", 0): ("zz", "no"), ("p", 1): ("zz", "yes")}
    same |= {("q", 0): ("aa", "no"), ("q", 1): ("aa", "yes")}
    place = {(v.group, v.outcome): j for j, v in enumerate(two.violations)}
    return one, two, [place[same[v.group, v.outcome]] for v in one.violations], order
