"""Estimates read off a search's path, whose steps are all measured on held-out rows."""

from __future__ import annotations

import math

import numpy as np

from mdfa_fairness_plugin.fields import known
from mdfa_fairness_plugin.records import Violation


def inner_half(found: Violation) -> float:
    """Delta of the half of a subgroup's rows that its search scores highest; NaN without a path."""
    path = found.path
    if len(path) == 0:
        return math.nan
    return float(path.delta[np.argmin(np.abs(path.n_rows - known(found.n_rows) / 2))])


def smallest_above(found: Violation, alpha: float) -> float:
    """Delta of the smallest region of the path with more mass than ``alpha``.

    That is what Algorithm 1 returns: its second to last iterate. NaN where no region has the mass.
    """
    path = found.path
    mass = np.where(path.mass > alpha, path.mass, np.inf)
    if not np.isfinite(mass).any():
        return math.nan
    return float(path.delta[np.argmin(mass)])
