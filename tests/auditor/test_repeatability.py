"""The same seed gives the same answer, and nothing else is touched."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.search.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bytes_for_the_same_seed_and_any_number_of_jobs(people, audit, solver):
    X, y, s = people(300, seed=7)
    params = {"solver": solver, "max_iter": 8, "outcomes": ["deny"]}
    one = audit(X, y, s, **params)
    assert audit(X, y, s, **params).to_json(rows=True) == one.to_json(rows=True)
    assert audit(X, y, s, **params, n_jobs=2, verbose=1).to_json(rows=True) == one.to_json(
        rows=True
    )
    assert audit(X, y, s, **params | {"random_state": 1}).to_json(rows=True) != one.to_json(
        rows=True
    )


def test_default_audit_gives_the_same_bytes_again(planted):
    auditor, X, y, s = planted
    again = clone(auditor).set_params(n_jobs=2).fit(X, y, sensitive_features=s)
    assert again.result_.to_json(rows=True) == auditor.result_.to_json(rows=True)
    np.testing.assert_array_equal(again.decision_function(X), auditor.decision_function(X))


def test_any_audit_can_be_repeated_from_its_provenance(audit, assert_same, fast):
    _, X, y, s = fast
    for state in (None, np.random.RandomState(5)):
        one = audit(X, y, s, random_state=state)
        two = audit(X, y, s, random_state=one.provenance["seed"])
        assert_same(one, two)


def test_generators_give_one_audit_after_another(audit, assert_same, fast):
    """Equal generators agree; one generator moves on."""
    _, X, y, s = fast
    rng = np.random.default_rng(6)
    one, two = audit(X, y, s, random_state=rng), audit(X, y, s, random_state=rng)
    assert one.provenance["seed"] != two.provenance["seed"]
    assert_same(one, audit(X, y, s, random_state=np.random.default_rng(6)))


def test_global_random_state_is_neither_used_nor_touched(audit, assert_same, fast):
    one, X, y, s = fast
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert_same(one, audit(X, y, s))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_provenance_says_how_it_was_made(planted):
    auditor, X, *_ = planted
    made = auditor.result_.provenance
    assert made["seed"] == 0
    assert made["n_samples"] == made["n_working_rows"] == len(X)
    assert made["solver"] == "orthogonal"
    assert made["balance"] == "overlap"
    assert made["versions"]["mdfa_fairness_plugin"] == mdfa.__version__
    assert made["parameters"]["alpha"] == "auto"
    assert set(made["parameters"]) == set(auditor.get_params()) - {
        "feature_reasons",
        "n_jobs",
        "statement",
        "verbose",
    }
    json.loads(auditor.result_.to_json(rows=True))


def test_inputs_are_left_as_they_were(audit, fast):
    _, X, y, s = fast
    copies = X.copy(), y.copy(), s.copy()
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    before = weight.copy()
    audit(X, y, s, sample_weight=weight)
    pd.testing.assert_frame_equal(X, copies[0])
    pd.testing.assert_series_equal(y, copies[1])
    pd.testing.assert_series_equal(s, copies[2])
    np.testing.assert_array_equal(weight, before)
