"""People one of whom is explained."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import MDFAWarning


def make_people(n=3000, seed=0, names=("age", "town"), labels=("f", "m"), column="sex"):
    """Women below 40 in town A are refused twice as often as men there; elsewhere all alike."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    town = rng.choice(["A", "B"], n)
    sex = rng.choice(labels, n)
    bad = (age < 40) & (town == "A") & (sex == labels[0])
    refused = rng.random(n) < np.where(bad, 0.75, 0.3)
    X = pd.DataFrame({names[0]: age.astype(float), names[1]: town})
    y = pd.Series(np.where(refused, "refused", "granted"), name="decision")
    return X, y, pd.Series(sex, name=column)


def fit(X, y, s, clusters=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MDFAWarning)
        auditor = mdfa.MDFAuditor(random_state=0, **options)
        return auditor.fit(X, y, sensitive_features=s, clusters=clusters)


@pytest.fixture(scope="session")
def people():
    return make_people


@pytest.fixture(scope="session")
def fitted():
    return fit


@pytest.fixture(scope="session")
def flat():
    """Text without line breaks."""
    return lambda text: re.sub(r"\s+", " ", text)


@pytest.fixture(scope="session")
def data():
    return make_people()


@pytest.fixture(scope="session")
def auditor(data):
    return fit(*data)
