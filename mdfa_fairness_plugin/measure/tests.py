"""How far a leak of S is beyond chance after a search, and what a search can detect."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from scipy.special import expit, owens_t
from scipy.stats import norm


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
    above = (k - 1) * max(z, 0.0) / math.sqrt(k) + math.sqrt(k - 1) * float(norm.ppf(share))
    common = math.exp(-(above**2) / (2 * k - 3)) / (2.0 * math.pi * math.sqrt(2 * k - 3))
    return math.sqrt(1.0 + (k - 1) * common / float(norm.cdf(above / math.sqrt(k - 1))))


def chosen_p_value(z: float, correlation: float) -> float:
    """Probability that the larger of two correlated standard normals is as large (Owen 1956)."""
    slope = math.sqrt((1.0 - correlation) / (1.0 + correlation))
    return float(norm.sf(z)) + 2.0 * float(owens_t(z, slope))


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


def detectable_delta(
    *,
    alpha: float,
    rate: float,
    sizes: tuple[float, float],
    level: float,
    spread: float,
    power: float = 0.8,
) -> float:
    """Smallest violation a search would have found at mass alpha; ``inf`` beyond a thousandfold.

    A planning figure: it takes the region as known, rows as spread evenly and rates as equal to the
    overall one, ``rate``, on average. ``sizes`` are effective numbers of rows of both sides in the
    whole population, ``level`` is that of the one-sided test after adjustment for the number of
    searches, ``spread`` the standard deviation of the test statistic without a violation.
    """
    if rate <= 0 or min(sizes) <= 0 or alpha <= 0:
        return math.inf
    delta = np.linspace(0.01, math.log(1000.0), 2000)
    # Rates p1 = e^delta p0 with mean `rate`, the larger one at most 1.
    p1 = np.minimum(2.0 * rate * expit(delta), 1.0)
    p0 = p1 * np.exp(-delta)
    mean = (p1 + p0) / 2.0
    share = np.minimum(alpha / mean, 1.0)
    n1, n0 = share * sizes[0], share * sizes[1]
    # The test looks at the difference of the rates, whose error without a violation is the mean's.
    without = np.sqrt(mean * (1 - mean) * (1 / n1 + 1 / n0))
    error = np.sqrt(p1 * (1 - p1) / n1 + p0 * (1 - p0) / n0)
    found = p1 - p0 >= norm.isf(level) * spread * without + norm.isf(1 - power) * error
    return float(delta[np.argmax(found)]) if found.any() else math.inf
