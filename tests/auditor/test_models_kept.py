"""Models are let go between searches, and found once more, the same, where they are asked for."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import pipeline
from mdfa_fairness_plugin.exceptions import MissingSensitiveWarning


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 1200
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    S = pd.Series(rng.choice(list("ABCD"), n), name="group").mask(rng.random(n) < 0.05)
    inside = (X["a"] > 0) & (S == "A")
    y = (rng.random(n) < np.where(inside, 0.8, 0.3)).astype(int)
    return X, y, S


def fitted(data, **params):
    X, y, S = data
    params = {"n_splits": 2, "random_state": 0, "missing": "exclude", **params}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingSensitiveWarning)
        return mdfa.MDFAuditor(**params).fit(X, y, sensitive_features=S)


@pytest.fixture(scope="module")
def let_go(data):
    return fitted(data, learner="tree")


@pytest.fixture(scope="module")
def keeping(data):
    """The same audit when nothing is let go."""

    def solve(*args, **kwargs):
        return pipeline_solve(*args, **{**kwargs, "keep_models": True})

    pipeline_solve = pipeline.solve
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "solve", solve)
        return fitted(data, learner="tree")


def regions(auditor):
    return [search.solved.region for search in auditor._searches]


def test_an_audit_of_several_groups_keeps_no_models(let_go, keeping):
    assert all(region is None for region in regions(let_go))
    assert any(region is not None for region in regions(keeping))
    for search in let_go._searches:
        if search.side is not None:
            assert "difference" not in search.fitted.__dict__


def test_two_values_share_models_which_are_kept(data):
    X, y, S = data
    two = fitted((X, y, S == "A"), learner="tree")
    assert two._judge.solved.region is not None


def test_results_are_the_same(let_go, keeping):
    assert let_go.result_.to_json(rows=True) == keeping.result_.to_json(rows=True)
    for one, other in zip(let_go.result_.violations, keeping.result_.violations, strict=True):
        np.testing.assert_array_equal(one.membership, other.membership)


def test_new_rows_are_judged_as_with_models_that_were_kept(data, let_go, keeping):
    new = data[0].sample(200, random_state=1) + 0.1
    assert 0 < let_go.predict(new).sum() < 200
    np.testing.assert_array_equal(let_go.decision_function(new), keeping.decision_function(new))
    copied = pickle.loads(pickle.dumps(let_go))
    np.testing.assert_array_equal(copied.predict(new), keeping.predict(new))


def test_a_card_is_the_same(let_go, keeping):
    person = {"a": 0.5, "b": 0.0}
    cards = [one.explain_row(person, sensitive="A", outcome=1) for one in (let_go, keeping)]
    assert cards[0].to_json() == cards[1].to_json()
