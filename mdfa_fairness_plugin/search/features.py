"""What the auditor class sees: the audited features, or ``phi`` of the network that also weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance.balancer import FromFeatures, Weighing, is_network, make_network
from mdfa_fairness_plugin.search.certificate import coincidence
from mdfa_fairness_plugin.search.level_sets import SearchData
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Rows to the auditor's features (phi in Eq. ``risk2``); the same without a network."""

    network: Any = None
    weighs: bool = False  # whether the network also gives the weights u

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features of rows of shape (n, d)."""
        return X if self.network is None else self.network.features(X)

    def weights(self, data: SearchData) -> np.ndarray:
        """Sampling times balancing weights that a part's models are learned with."""
        if not self.weighs:
            return data.weights
        return data.base * self.network.weights(data.X[:], data.s)


def maps_of(data: SearchData) -> dict[int, FeatureMap]:
    """Features that each part's models see."""
    return data.maps or {part: FeatureMap() for part in data.parts}


def with_network(data: SearchData, settings: Settings) -> SearchData:
    """The search with one network per part, learned jointly without the part it judges (Eq. ``risk2``).

    It gives ``phi`` and, where it is what balances, the weights: those of the rows of a part are
    predicted by the network that has not seen them.
    """
    maps, weighs = {}, is_network(settings.balance)
    for part in data.parts:
        train = (data.folds >= 0) & (data.folds != part)
        network = make_network(settings.balance, settings.seeds["balance"], settings.device)
        label = coincidence(data.s, data.positive)[train]
        network.fit(data.X[train], data.s[train], data.base[train], label=label)
        maps[part] = FeatureMap(network, weighs)
    if not weighs:
        return data.with_maps(maps, data.weighing)
    weights = network.weights(data.X[:], data.s)
    for part, own in maps.items():
        rows = data.folds == part
        if rows.any():
            weights[rows] = own.network.weights(data.X[rows], data.s[rows])
    method = "mmd_network" if isinstance(settings.balance, str) else type(network).__name__
    return data.with_maps(
        maps, Weighing(method=method, weights=weights, balancer=FromFeatures(network))
    )
