"""Features the auditor class sees: the audited ones, or the balancing network's last layer."""

from __future__ import annotations

from typing import Any

import numpy as np


class FeatureMap:
    """Map rows to the auditor's features (phi in Eq. ``risk2``).

    Parameters
    ----------
    network : fitted MMDNetwork or None, default=None
        None leaves the rows as they are.
    """

    def __init__(self, network: Any = None) -> None:
        self.network = network

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features of rows of shape (n, d)."""
        return X if self.network is None else self.network.features(X)
