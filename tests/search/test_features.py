"""The auditor's features are the rows themselves, or a network's last layer."""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.search.features import FeatureMap


def test_without_a_network_rows_are_left_as_they_are():
    X = np.arange(6.0).reshape(3, 2)
    assert FeatureMap()(X) is X


def test_a_network_maps_rows_to_its_features():
    class Network:
        def features(self, X):
            return -X[:, :1]

    np.testing.assert_array_equal(FeatureMap(Network())(np.arange(4.0).reshape(2, 2)), [[0], [-2]])
