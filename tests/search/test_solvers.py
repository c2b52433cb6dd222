"""Every registered solver works in memory, in Dask, in a comparison and on a card."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.solvers import SOLVERS

QUICK = {"learner": "tree", "n_splits": 2, "random_state": 0}


@pytest.fixture(scope="module")
def planted():
    return mdfa.datasets.make_synthetic(n_samples=900, delta=1.5, random_state=3)


@pytest.fixture(scope="module", params=list(SOLVERS))
def auditor(request, planted):
    auditor = mdfa.MDFAuditor(solver=request.param, **QUICK)
    return auditor.fit(planted.X, planted.y, sensitive_features=planted.sensitive_features)


def test_it_runs_in_memory_and_judges_new_rows(auditor, planted):
    worst = auditor.result_.worst_case
    assert worst.measured
    assert auditor.result_.provenance["solver"] == auditor.solver
    score = auditor.decision_function(planted.X)
    np.testing.assert_array_equal(
        auditor.predict(planted.X), score >= auditor._judge.region.threshold
    )


def test_it_explains_a_row(auditor, planted):
    """An audited person by the model that had not seen them, others by the average of all."""
    audited = auditor.explain_row(None, row=5)
    assert audited.inside == audited.violation.membership[5]
    worst = auditor.result_.worst_case
    card = auditor.explain_row(planted.X.iloc[5], sensitive=worst.group, outcome=worst.outcome)
    assert card.violation is worst
    assert card.inside == auditor.predict(planted.X.iloc[[5]])[0]
    assert card.n_models >= card.n_models_inside


def test_its_region_can_be_pickled_and_goes_without_the_rows_learned_from(auditor, planted):
    region = auditor._judge.region
    X = auditor._encoder.transform(planted.X)
    back = pickle.loads(pickle.dumps(region.unseen()))
    assert (back.threshold, back.core_threshold) == (region.threshold, region.core_threshold)
    scores = back.scores(Asked(X))
    assert scores.shape == (len(X),)
    assert region.by_model(Asked(X)).shape[1] == len(X)


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_runs_in_dask(solver):
    dd = pytest.importorskip("dask.dataframe")
    from mdfa_fairness_plugin.dask import audit_dask

    data = mdfa.datasets.make_synthetic(n_samples=1500, delta=1.5, random_state=4)
    frame = data.X.assign(group=np.asarray(data.sensitive_features), denied=np.asarray(data.y))
    result = audit_dask(
        dd.from_pandas(frame, npartitions=2, sort=False),
        outcome="denied",
        sensitive="group",
        solver=solver,
        scheduler="synchronous",
        max_learning_rows=500,
        **QUICK,
    )
    worst = result.worst_case
    assert worst.measured
    # Everybody's ratio has nothing to do with how the region is found.
    memory = mdfa.audit(
        data.X, data.y, sensitive_features=data.sensitive_features, solver=solver, **QUICK
    )
    for one, other in zip(result.violations, memory.violations, strict=True):
        low, high = one.population.interval
        assert low < other.population.delta < high
    inside = result.membership(frame, violation=worst)
    assert inside.sum() > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_runs_in_a_comparison(solver, planted):
    result = mdfa.compare(
        planted.X,
        {"as found": planted.y, "all alike": np.where(planted.X.iloc[:, 0] > 0, 1, 0)},
        sensitive_features=planted.sensitive_features,
        decision_inputs=planted.X.columns[:1],
        solver=solver,
        learner="tree",
        n_splits=1,
        n_folds=2,
        random_state=0,
    )
    assert np.isfinite(result.split_delta).any()
    worst = result.worst("as found")
    assert worst.n_splits_measured + worst.n_splits_infinite == 1


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_estimators_that_standardise_in_place_change_no_rows(solver, planted):
    def told(*, copy):
        own = Ridge() if solver == "orthogonal" else LogisticRegression()
        learner, propensity = (
            make_pipeline(StandardScaler(copy=copy), model) for model in (own, LogisticRegression())
        )
        auditor = mdfa.MDFAuditor(
            solver=solver,
            learner=learner,
            propensity=propensity,
            n_splits=2,
            n_repeats=1,
            random_state=0,
        )
        X = planted.X + 3.0
        auditor.fit(X, planted.y, sensitive_features=planted.sensitive_features)
        first = auditor.decision_function(X[:50] + 0.1)
        np.testing.assert_array_equal(auditor.decision_function(X[:50] + 0.1), first)
        return auditor.result_.to_frame(), first

    frame, scores = told(copy=True)
    other, own_scores = told(copy=False)
    assert frame.equals(other)
    np.testing.assert_array_equal(own_scores, scores)
