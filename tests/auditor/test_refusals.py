"""What cannot be audited, said readably."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.balance import EntropyBalancing
from mdfa_fairness_plugin.exceptions import (
    InputError,
    MDFAError,
    NothingToAuditError,
    SmallGroupWarning,
)

_RNG = np.random.default_rng(0)
X0 = pd.DataFrame(
    {
        "age": _RNG.uniform(20, 60, 120),
        "town": _RNG.choice(["A", "B", "C"], 120),
        "member": _RNG.random(120) < 0.5,
    }
)
Y0 = pd.Series(_RNG.choice(["deny", "grant"], 120), name="decision")
S0 = pd.Series(_RNG.choice(["f", "m"], 120), name="sex")


@pytest.mark.parametrize(
    ("X", "y", "s", "error", "message"),
    [
        (X0, np.ones(120), S0, NothingToAuditError, "y: .*nothing to audit"),
        (X0, Y0, np.zeros(120), InputError, "sensitive_features: "),
        (X0, None, S0, InputError, "y: "),
        (X0, Y0, None, InputError, "sensitive_features: None"),
        (X0, Y0[:70], S0, InputError, "y: 70 rows .* X has 120"),
        (X0, Y0, S0[:70], InputError, "sensitive_features: 70 rows .* X has 120"),
        (X0, Y0, "sex", MDFAError, "sensitive_features: "),
        (X0, "decision", S0, MDFAError, "y: "),
        (X0.head(0), [], [], InputError, "X: "),
        (X0.head(1), ["a"], ["b"], InputError, "X: "),
        (X0[[]], Y0, S0, InputError, "X: "),
        (None, Y0, S0, MDFAError, "X: "),
        (X0["age"].to_numpy(), Y0, S0, InputError, "X: "),
        (X0.assign(age=1.0)[["age"]], Y0, S0, InputError, "X: "),
        (X0.assign(age=np.inf), Y0, S0, InputError, "X: .*age"),
        (X0, Y0.where(Y0 == "deny"), S0, InputError, "y: .*missing"),
        (X0, np.linspace(0, 1, 120), S0, InputError, "y: .*scores"),
        (X0, Y0, X0["age"], InputError, "sensitive_features: .*age"),
    ],
)
def test_unusable_input_is_named(audit, X, y, s, error, message):
    with pytest.raises(error, match=f"(?s)^{message}"):
        audit(X, y, s)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("alpha", 0),
        ("alpha", 1),
        ("alpha", -0.1),
        ("alpha", math.nan),
        ("alpha", "small"),
        ("alpha", True),
        ("alpha", None),
        ("confidence_level", 95),
        ("confidence_level", 0.0),
        ("n_splits", 1),
        ("n_splits", 2.5),
        ("n_splits", True),
        ("n_splits", 10_000),
        ("n_repeats", 0),
        ("n_repeats", True),
        ("n_repeats", 2.5),
        ("n_repeats", "many"),
        ("solver", "fast"),
        ("solver", None),
        ("solver", ["orthogonal"]),
        ("learner", "forest"),
        ("learner", 3),
        ("learner", None),
        ("learner", ["tree"]),
        ("learner", KNeighborsRegressor()),
        ("learner", LogisticRegression),
        ("balance", "ipw"),
        ("balance", None),
        ("balance", 2.0),
        ("balance", np.ones(3)),
        ("balance", np.full(120, np.nan)),
        ("balance", -np.ones(120)),
        ("balance", np.zeros(120)),
        ("balance", ["a"] * 120),
        ("balance", EntropyBalancing),
        ("evaluation", "bootstrap"),
        ("estimator", "ipw"),
        ("missing", "drop"),
        ("overlap", "ignore"),
        ("weight_type", "counts"),
        ("xi", 0),
        ("xi", -0.1),
        ("xi", math.inf),
        ("xi", "small"),
        ("max_iter", 0),
        ("max_iter", 1.5),
        ("min_group_size", 0),
        ("min_group_size", 2.5),
        ("random_state", -1),
        ("random_state", 1.5),
        ("random_state", "seed"),
        ("random_state", True),
        ("n_jobs", 0),
        ("n_jobs", "all"),
        ("groups", []),
        ("groups", ["x"]),
        ("groups", {"age": ["f"]}),
        ("reference_group", "x"),
        ("reference_group", {"age": "f"}),
        ("outcomes", []),
        ("outcomes", ["maybe"]),
    ],
)
def test_arguments_that_make_no_sense_are_named(audit, argument, value):
    """Every message begins with the argument; found at once, before anything is fitted."""
    with pytest.raises(MDFAError, match=f"^{argument}: "):
        audit(X0, Y0, S0, **{argument: value})


def test_solver_and_learner_that_do_not_fit_together_are_named(audit):
    with pytest.raises(InputError, match=r"learner: .*regressor"):
        audit(X0, Y0, S0, solver="orthogonal", learner=LogisticRegression())
    with pytest.raises(InputError, match=r"learner: .*classifier"):
        audit(X0, Y0, S0, solver="level_set", learner=LinearRegression())


def test_learner_of_no_kind_is_named(audit):
    """It looks like an estimator, but scikit-learn cannot tell which."""

    class Bare:
        def get_params(self, deep=True):
            return {}

        def fit(self, X, y, sample_weight=None):
            return self

    for solver in ("auto", "orthogonal", "level_set"):
        with pytest.raises(InputError, match=r"learner: .*(Bare is|Bare is not)"):
            audit(X0, Y0, S0, solver=solver, learner=Bare())


@pytest.mark.parametrize("device", ["cuda:99", "nonsense"])
def test_devices_that_are_not_there_are_named(audit, device):
    pytest.importorskip("torch")
    with pytest.raises(MDFAError, match=r"^device: "):
        audit(X0, Y0, S0, balance="mmd_network", device=device)


@pytest.mark.parametrize(
    "weight", [-np.ones(120), np.full(120, np.nan), np.zeros(120), np.ones(3), ["a"] * 120]
)
def test_unusable_weights_are_named(audit, weight):
    with pytest.raises(MDFAError, match=r"^sample_weight: "):
        audit(X0, Y0, S0, sample_weight=weight)


def test_unknown_arguments_list_the_known_ones(audit):
    with pytest.raises(InputError, match=r"nonsense.*alpha"):
        audit(X0, Y0, S0, nonsense=1)


def test_warnings_point_at_the_users_line(people):
    X, y, s = people(200)
    with pytest.warns(SmallGroupWarning) as caught:
        mdfa.audit(
            X, y, sensitive_features=s.mask(np.arange(200) < 5, "x"), learner="tree", n_splits=2
        )
    assert {warning.filename for warning in caught} == {__file__}


def test_fewer_clusters_than_folds_are_insufficient_evidence(people):
    X, y, s = people(200, seed=0)
    with pytest.warns(SmallGroupWarning):
        result = mdfa.audit(X, y, sensitive_features=s, clusters=np.arange(200) % 3)
    for v in result.violations:
        assert v.verdict == "insufficient_evidence"
        assert "only 3 clusters have" in v.reason


def test_more_folds_than_half_the_clusters_are_refused(people):
    X, y, s = people(400, seed=0)
    home = (np.arange(400) // 2 % 40) + 40 * (s == s.iloc[0]).to_numpy()
    with pytest.raises(InputError, match=r"n_splits: 45 folds of 80 clusters leave nothing"):
        mdfa.audit(X, y, sensitive_features=s, clusters=home, n_splits=45)
