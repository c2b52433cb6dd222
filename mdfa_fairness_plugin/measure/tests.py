"""How far a leak of S is beyond chance after a search."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri, owens_t


def search_spread(n_parts: int, share: float = 0.5, z: float = 0.0) -> float:
    r"""Standard deviation of the statistic of a cross-fitted region, with a leak of ``z`` there.

    Each part of the rows is judged by a region found on all others, so its own statistic is standard
    normal. The parts' are correlated: rows that look unlucky in one pull the regions of the others
    towards themselves. Let a region be made of the ``share`` of cells whose sums over the K - 1 other
    parts are largest: those above t. With r the sum of the other K - 2 parts and
    :math:`\mu = z / \sqrt K` in a cell of the region, the errors of two parts in a cell have

    .. math:: E[\varphi(t - r - \mu)^2] = \frac 1 {2 \pi \sqrt{2K - 3}}
        \exp\left(- \frac{d^2}{2K - 3}\right), \quad d = (K-1) \mu - t

    in common, and each has the variance :math:`\Phi(d / \sqrt{K-1})`. Without a leak and with five
    parts that makes a variance of 1.48 in all for half of the cells, 1.79 for a fifth; where the leak
    is plain luck has no say, nor where the region is everybody.
    """
    if not 0.0 < share < 1.0:
        return 1.0
    k = max(n_parts, 2)
    above = (k - 1) * max(z, 0.0) / math.sqrt(k) + math.sqrt(k - 1) * float(ndtri(share))
    common = math.exp(-(above**2) / (2 * k - 3)) / (2.0 * math.pi * math.sqrt(2 * k - 3))
    return math.sqrt(1.0 + (k - 1) * common / float(ndtr(above / math.sqrt(k - 1))))


def chosen_p_value(z: float, correlation: float) -> float:
    """Probability that the larger of two correlated standard normals is as large (Owen 1956)."""
    slope = math.sqrt((1.0 - correlation) / (1.0 + correlation))
    return float(ndtr(-z)) + 2.0 * float(owens_t(z, slope))


def holm(p_values: np.ndarray, hypothesis: Sequence[Hashable] | None = None) -> np.ndarray:
    """Adjust p-values over a family of searches (Holm 1979); NaN for those that were not made.

    Searches of one ``hypothesis`` say the same thing twice and count once, by the smallest of theirs.
    """
    p_values = np.asarray(p_values, dtype=float)
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    names = list(range(len(p_values))) if hypothesis is None else list(hypothesis)
    smallest: dict[Hashable, float] = {}
    for i in known[np.argsort(p_values[known], kind="stable")]:
        smallest.setdefault(names[i], p_values[i])
    so_far = 0.0
    for done, (name, least) in enumerate(smallest.items()):
        factor = len(smallest) - done
        for i in known:
            if names[i] == name:
                adjusted[i] = min(max(so_far, p_values[i] * factor), 1.0)
        so_far = max(so_far, min(least * factor, 1.0))
    return adjusted
