"""The auditor's features are the rows themselves, or the last layer of the network that also weighs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.balance import MMDNetwork
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.search.features import FeatureMap, maps_of

SMALL = {"regularisation_grid": (0.1,), "n_splits": 2, "max_epochs": 4, "n_restarts": 1}
# Networks are small here and few rows audited; what is found is not looked at.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Algorithm 1 was cut off"),
    pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.ModelDependenceWarning"),
]


def test_without_a_network_rows_are_left_as_they_are():
    X = np.arange(6.0).reshape(3, 2)
    assert FeatureMap()(X) is X


@pytest.fixture
def fits(monkeypatch):
    """Networks in the order in which they were fitted, and the rows they were fitted to."""
    pytest.importorskip("torch")
    made, fit = [], MMDNetwork.fit

    def counted(self, X, s, *args, **kwargs):
        made.append((self, len(X), kwargs.get("label")))
        return fit(self, X, s, *args, **kwargs)

    monkeypatch.setattr(MMDNetwork, "fit", counted)
    return made


def _audited(**params):
    data = mdfa.datasets.make_synthetic(400, 2.0, 0.2, random_state=0)
    balance = MMDNetwork(max_weight=7.0, **SMALL)
    auditor = mdfa.MDFAuditor.as_in_paper(
        **({"balance": balance, "random_state": 3, "max_iter": 3} | params)
    )
    return data, auditor.fit(data.X, data.y, sensitive_features=data.sensitive_features)


def test_the_paper_fits_one_network_per_search(fits):
    """Four searches, four fits, each to the rows learned from alone, with the settings asked for."""
    data, auditor = _audited()
    assert len(fits) == 4
    for network, n_rows, label in fits:
        assert n_rows == pytest.approx(275, abs=6)
        assert set(label) == {-1, 1}
        assert (network.max_weight, network.n_restarts, network.random_state) == (
            7.0,
            1,
            fits[0][0].random_state,
        )
    assert auditor.result_.violations[-1].held_out.sum() == pytest.approx(120, abs=6)
    # Rows held out have the weights predicted by the network whose features the models see.
    seen = [one.solved.region for one in auditor._searches if one.solved.region is not None]
    assert seen
    networks = [network for network, _, _ in fits]
    assert all(region.runs[0][0].network in networks for region in seen)
    again = pickle.loads(pickle.dumps(auditor))
    np.testing.assert_array_equal(again.predict(data.X), auditor.predict(data.X))
    assert auditor.result_.balance["group", 1].method == "MMDNetwork"


def test_rows_are_weighed_by_networks_that_have_not_seen_them(fits, monkeypatch):
    """One network per part; its weights are those its models learn with."""
    kept = []
    monkeypatch.setattr(
        "mdfa_fairness_plugin.search.iterative.maps_of",
        lambda data: kept.append(data) or maps_of(data),
    )
    _audited(evaluation="cross_fit", n_splits=2, groups=[1], outcomes=[1])
    assert len(fits) == 2
    (data,) = kept
    for part, (network, _, _) in zip(data.parts, fits, strict=True):
        own = data.folds == part
        expected = network.weights(data.X[own], data.s[own])
        np.testing.assert_allclose(data.weights[own], expected)
        rest = ~own
        np.testing.assert_allclose(
            data.maps[part].weights(data)[rest], network.weights(data.X[rest], data.s[rest])
        )


def test_without_phi_a_network_weighs_rows_it_has_not_seen_too(fits):
    """On the audited features no label has a say, so both outcomes share the side's network."""
    _audited(representation="raw", learner="tree")
    assert [(label, n) for _, n, label in fits] == [(None, fits[0][1])] * 2
    assert fits[0][1] == pytest.approx(275, abs=6)


@pytest.mark.parametrize("learner", ["svm_rbf", "random_forest"])
def test_any_learner_may_see_phi(fits, learner):
    """With other weights the network has features to give only."""
    only = {"groups": [1], "outcomes": [1], "learner": learner, "representation": "phi"}
    _, auditor = _audited(balance="overlap", solver="auto", **only)
    assert len(fits) == 1
    assert auditor.result_.provenance["solver"] == "level_set"
    assert auditor.result_.balance["group", 1].method == "overlap"


def test_phi_is_for_classifiers():
    with pytest.raises(InputError, match="representation: 'phi'"):
        _audited(learner=RandomForestRegressor(), solver="orthogonal", representation="phi")
    with pytest.raises(InputError, match="representation: one of 'raw', 'phi'"):
        _audited(representation="psi")
