"""Features the auditor class sees: the audited ones, or the balancing network's last layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance.network import MMDNetwork
from mdfa_fairness_plugin.search.certificate import coincidence
from mdfa_fairness_plugin.search.level_sets import SearchData
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Rows to the auditor's features (phi in Eq. ``risk2``); the same without a network."""

    network: Any = None

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features of rows of shape (n, d)."""
        return X if self.network is None else self.network.features(X)


def feature_maps(data: SearchData, settings: Settings) -> dict[int, FeatureMap]:
    """Features each part's models see; the network's are learned without the part they judge."""
    if settings.learner != "network_features":
        return {part: FeatureMap() for part in data.parts}
    maps = {}
    for part in data.parts:
        train = (data.folds >= 0) & (data.folds != part)
        network = MMDNetwork(
            joint=True, random_state=settings.seeds["balance"], device=settings.device
        )
        network.fit(
            data.X[train],
            data.s[train],
            label=coincidence(data.s, data.positive)[train],
            sample_weight=data.base[train],
        )
        maps[part] = FeatureMap(network)
    return maps
