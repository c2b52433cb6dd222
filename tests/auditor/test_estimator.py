"""The auditor as an estimator: arguments kept, fitting, prediction, pickling."""

from __future__ import annotations

import json
import logging
import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.balance import EntropyBalancing
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.search.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off")


def test_arguments_are_kept_and_cloned():
    params = {"alpha": 0.1, "learner": RandomForestRegressor(5), "balance": np.ones(3), "xi": 0.3}
    auditor = mdfa.MDFAuditor(**params)
    for name, value in params.items():
        assert getattr(auditor, name) is value
    copy = clone(auditor)
    assert copy.alpha == 0.1
    assert copy.learner is not auditor.learner
    assert auditor.set_params(alpha=0.2, learner__n_estimators=7) is auditor
    assert (auditor.alpha, auditor.learner.n_estimators) == (0.2, 7)
    with pytest.raises(ValueError, match="nonsense"):
        auditor.set_params(nonsense=1)


def test_fit_leaves_the_arguments_alone(fast):
    """Estimators and balancing objects given are copied, not fitted in place."""
    _, X, y, s = fast
    learner, weigher = RandomForestRegressor(3), EntropyBalancing(random_state=0)
    auditor = mdfa.MDFAuditor(learner=learner, balance=weigher, n_splits=2, random_state=0)
    before = auditor.get_params(deep=False)
    auditor.fit(X, y, sensitive_features=s)
    after = auditor.get_params(deep=False)
    assert all(before[name] is after[name] for name in before)
    assert not hasattr(learner, "estimators_")
    assert learner.random_state is None
    assert not [name for name in vars(weigher) if name.endswith("_")]


def test_not_fitted_yet(fast):
    _, X, *_ = fast
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(mdfa.MDFAuditor(), method)(X)


def test_prediction_is_the_extent_of_the_worst_case(people, planted):
    auditor, X, *_ = planted
    inside = auditor.predict(X)
    assert inside.dtype == bool
    score = auditor.decision_function(X)
    assert score.shape == (1500,)
    assert score[inside].min() > score[~inside].max()
    membership = auditor.result_.worst_case.membership
    assert (inside == membership).mean() > 0.85
    new, *_ = people(500, seed=99)
    town = (new["town"] == "A").to_numpy()
    assert (auditor.predict(new) == town).mean() > 0.85
    result = auditor.result_
    np.testing.assert_array_equal(auditor.predict(X, result.worst_case), inside)
    mirror = next(v for v in result.violations if (v.group, v.outcome) == ("m", "grant"))
    assert mirror.verdict == "violation"
    assert (auditor.predict(new, mirror) == town).mean() > 0.85
    unfound = next(v for v in result.violations if v.verdict != "violation")
    with pytest.raises(InputError, match="violation: this search found nothing"):
        auditor.predict(new, unfound)
    with pytest.raises(InputError, match="violation: a search of this auditor's own result_"):
        auditor.predict(new, Violation(group="f", outcome="deny"))


@pytest.mark.parametrize("solver", SOLVERS)
def test_prediction_survives_pickling_and_every_container(people, make_auditor, solver):
    X, y, s = people(300, seed=7)
    auditor = make_auditor(solver=solver, max_iter=8, outcomes="deny", groups=["f"])
    auditor.fit(X, y, sensitive_features=s)
    inside, score = auditor.predict(X), auditor.decision_function(X)
    back = pickle.loads(pickle.dumps(auditor))
    np.testing.assert_array_equal(back.decision_function(X), score)
    assert back.result_.to_json(rows=True) == auditor.result_.to_json(rows=True)
    np.testing.assert_array_equal(back.predict(X[["member", "town", "age"]]), inside)
    np.testing.assert_array_equal(back.predict(pl.DataFrame(X)), inside)
    np.testing.assert_array_equal(back.predict(X.iloc[:1]), inside[:1])
    np.testing.assert_array_equal(back.predict(X.assign(extra=1)), inside)
    with pytest.raises(InputError, match="town"):
        back.predict(X.drop(columns="town"))


def test_new_rows_may_hold_new_levels_and_gaps(planted):
    auditor, X, *_ = planted
    odd = X.head(3).assign(town=["Z", None, "A"], age=[np.nan, 1e9, 30.0])
    assert auditor.predict(odd).shape == (3,)
    assert np.isfinite(auditor.decision_function(odd)).all()


def test_fitting_again_forgets_the_first_fit(make_auditor, fast):
    _, X, y, s = fast
    auditor = make_auditor().fit(X, y, sensitive_features=s)
    assert auditor.n_features_in_ == 3
    assert auditor.feature_names_in_.tolist() == ["age", "town", "member"]
    auditor.fit(X[["age"]].to_numpy(), y, sensitive_features=s)
    assert auditor.n_features_in_ == 1
    assert not hasattr(auditor, "feature_names_in_")
    assert auditor.predict(np.array([[30.0]])).shape == (1,)


def test_one_call_is_the_same_as_two(make_auditor, fast):
    one, X, y, s = fast
    auditor = make_auditor()
    assert auditor.fit(X, y, s) is auditor
    assert auditor.result_.to_json(rows=True) == one.to_json(rows=True)


def test_nothing_is_printed_and_progress_is_logged(audit, fast, capsys, caplog):
    _, X, y, s = fast
    with caplog.at_level(logging.INFO, logger="mdfa_fairness_plugin"):
        audit(X, y, s, outcomes="deny")
        assert not [r for r in caplog.records if "search" in r.message]
        audit(X, y, s, outcomes="deny", verbose=1)
    assert [r for r in caplog.records if "search" in r.message]
    assert capsys.readouterr() == ("", "")


def test_result_says_everything_in_every_form(fast, tmp_path):
    one, *_ = fast
    assert len(one.to_frame()) == 4
    assert "deny" in one.summary()
    assert json.loads(one.to_json(tmp_path / "r.json")) == one.to_dict()
    assert "<html" in one.to_html(tmp_path / "r.html")
    pickle.loads(pickle.dumps(one)).summary()
