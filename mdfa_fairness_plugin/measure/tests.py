r"""Does the outcome leak S beyond what x leaks, inside one region? Tests, and what they can detect."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit
from scipy.stats import norm

# Spread of statistics of regions that were searched for, on data without violations. Rows that look
# unlucky pull the regions of the other folds towards themselves, so the folds' statistics are
# positively correlated and a plain statistic is too wide, by 1.17 to 1.21 on noise with two to ten
# folds. The search compares lower limits with this much room.
FOLD_SPREAD = 1.25
# A region is only reported where its limit beats everybody's, so those that are have statistics of 2.2
# on average on data without violations. With 1.25 a search had p below .05 in up to 9.2 % of such
# data sets and an audit a false alarm in up to 6 %; tests/benchmarks/false_alarms.py prints
# what is left with this.
SEARCH_SPREAD = 1.4
# Where the leak is plain the region is where it is because of the leak, not of luck, and what is left
# of the correlation fades with the square of the statistic. From this value on it fades.
_PLAIN_STATISTIC = 2.5
# Fewer effective terms than this, and a sum is compared with its own distribution, not the normal one.
_FEWEST_TERMS = 100.0
_N_REDRAWS = 9_999
# Rows redrawn one by one; the others add next to nothing, or a normal variable.
_MOST_REDRAWN = 300


def leak_statistic(
    positive: np.ndarray,
    s: np.ndarray,
    propensity: np.ndarray,
    outcome: np.ndarray,
    base: np.ndarray,
    member: np.ndarray,
    random_state: int = 0,
) -> float:
    r"""Generalised covariance measure in a region (Shah and Peters 2020).

    .. math:: z = \sum R / \sqrt{\sum R^2}, \quad R = (1\{Y=y\} - m(x)) (1\{S=s\} - e(x))

    Parameters
    ----------
    positive : ndarray of bool of shape (n,)
    s : ndarray of shape (n,)
    propensity, outcome : ndarray of shape (n,)
        ``e`` and ``m``, out of fold.
    base : ndarray of shape (n,)
        Sampling weights.
    member : ndarray of bool of shape (n,)
    random_state : int, default=0

    Returns
    -------
    z : float
        About standard normal without a leak if the region was found on other rows; NaN without
        any variation.

    Notes
    -----
    Where few rows carry the sum (a rare outcome, a small region) it is compared with what it would
    be if S were drawn from ``e`` given the same outcomes and features; z is then the normal
    quantile of that comparison.
    """
    sums = LeakSums.of(positive, s, propensity, outcome, base, member)
    return sums.statistic(random_state)


@dataclass(frozen=True, kw_only=True, eq=False)
class LeakSums:
    """Sums over the rows of a region that its leak statistic is made of; those of parts add up.

    Parameters
    ----------
    total, squares, fourths : float
        Of ``R``, ``R^2`` and ``R^4``.
    leftover, propensity : ndarray of shape (n_kept,)
        ``1{Y=y} - m`` times the sampling weight, and ``e``, of rows that may have to be redrawn.
    variance, bound : float
        Of the sum of ``R`` over the rows not kept, if S were redrawn: its variance, and the sum of
        their squared ``leftover``.
    """

    total: float
    squares: float
    fourths: float
    leftover: np.ndarray
    propensity: np.ndarray
    variance: float = 0.0
    bound: float = 0.0

    @classmethod
    def of(
        cls,
        positive: np.ndarray,
        s: np.ndarray,
        propensity: np.ndarray,
        outcome: np.ndarray,
        base: np.ndarray,
        member: np.ndarray,
    ) -> LeakSums:
        """Sum over the rows of a region, arguments as of ``leak_statistic``; every row is kept."""
        if not member.all():
            positive, s, e = positive[member], s[member], propensity[member]
            outcome, base = outcome[member], base[member]
        else:
            e = propensity
        leftover = (positive - outcome) * base
        residual = leftover * ((s > 0) - e)
        squares = residual**2
        return cls(
            total=float(residual.sum()),
            squares=float(squares.sum()),
            fourths=float((squares**2).sum()),
            leftover=leftover,
            propensity=e,
        )

    def __add__(self, other: LeakSums) -> LeakSums:
        return LeakSums(
            total=self.total + other.total,
            squares=self.squares + other.squares,
            fourths=self.fourths + other.fourths,
            leftover=np.concatenate([self.leftover, other.leftover]),
            propensity=np.concatenate([self.propensity, other.propensity]),
            variance=self.variance + other.variance,
            bound=self.bound + other.bound,
        )

    def shortened(self) -> LeakSums:
        """Keep only the rows that would be redrawn one by one."""
        order = _largest_first(self.leftover)
        few, many = np.sort(order[:_MOST_REDRAWN]), order[_MOST_REDRAWN:]
        left, e = self.leftover[many], self.propensity[many]
        return LeakSums(
            total=self.total,
            squares=self.squares,
            fourths=self.fourths,
            leftover=self.leftover[few],
            propensity=self.propensity[few],
            variance=self.variance + float((left**2 * e * (1 - e)).sum()),
            bound=self.bound + float((left**2).sum()),
        )

    def settled(self) -> LeakSums:
        """Without rows, where nothing is added any more and none would be redrawn."""
        if self._few:
            return self
        nothing = np.empty(0)
        return replace(self, leftover=nothing, propensity=nothing)

    @property
    def _few(self) -> bool:
        """Whether so few rows carry the sum that it is compared with its own distribution."""
        return self.squares > 0 and self.squares**2 / self.fourths < _FEWEST_TERMS

    def statistic(self, random_state: int = 0) -> float:
        """Leak statistic of the region, see ``leak_statistic``."""
        if not self.squares > 0:
            return math.nan
        if self._few:
            return _redrawn_statistic(self, random_state)
        return self.total / math.sqrt(self.squares)


def _largest_first(leftover: np.ndarray) -> np.ndarray:
    return np.argsort(-np.abs(leftover).round(12), kind="stable")


def _redrawn_statistic(region: LeakSums, random_state: int) -> float:
    """Normal quantile of a sum among the sums of redrawn S."""
    rng = np.random.default_rng(random_state)
    leftover, e, observed = region.leftover, region.propensity, region.total
    # Rows that add next to nothing are summed as a normal variable, so that a rare outcome in a large
    # region costs no more than the few rows that have it.
    order = _largest_first(leftover)
    few, many = order[:_MOST_REDRAWN], order[_MOST_REDRAWN:]
    rest = float((leftover[many] ** 2 * e[many] * (1 - e[many])).sum())
    sums = rng.normal(scale=math.sqrt(region.variance + rest), size=_N_REDRAWS)
    for i in few:
        # The rarer side is drawn, so that exchanging the sides mirrors every draw.
        rare = min(e[i], 1.0 - e[i])
        drawn_rare = (rng.random(_N_REDRAWS) < rare) - rare
        sums += leftover[i] * (drawn_rare if e[i] <= 0.5 else -drawn_rare)
    above = float((sums > observed + 1e-12).sum())
    equal = float((np.abs(sums - observed) <= 1e-12).sum())
    # Ties count in full: the test errs on the side of finding nothing.
    drawn = (above + equal + 1.0) / (_N_REDRAWS + 1.0)
    # No draw comes near a sum that is plainly too large; Chernoff's bound still tells how rare it is.
    bound = _chernoff_bound(region) if above + equal == 0 else 1.0
    return float(norm.isf(min(drawn, bound)))


def _chernoff_bound(region: LeakSums) -> float:
    """Upper bound on the chance of a sum as large, over redraws of S."""
    leftover, e, observed = region.leftover, region.propensity, region.total
    scale = math.sqrt(float((leftover**2 * e * (1 - e)).sum()) + region.variance)

    def exponent(t: float) -> float:
        tilt = t / scale * leftover
        # ln E exp(t l (S - e)), without overflow
        cumulants = np.logaddexp(np.log1p(-e), np.log(e) + tilt) - tilt * e
        # Hoeffding's lemma for the rows not kept.
        rest = (t / scale) ** 2 * region.bound / 8.0
        return float(cumulants.sum()) + rest - t / scale * observed

    best = minimize_scalar(exponent, bounds=(0.0, 50.0), method="bounded")
    return math.exp(min(float(best.fun), 0.0))


def interval_spread(z: float) -> float:
    """How much wider than a plain interval one in a searched region has to be.

    Parameters
    ----------
    z : float
        Statistic of the region.

    Returns
    -------
    spread : float
        Between 1 and ``SEARCH_SPREAD``.

    Notes
    -----
    On data without a violation the folds' regions follow the same lucky rows, and estimates spread by
    ``SEARCH_SPREAD``. The plainer the violation, the less luck decides who is inside. Chosen
    by coverage; see ``tests/benchmarks/false_alarms.py``.
    """
    if math.isnan(z) or z <= _PLAIN_STATISTIC:
        return SEARCH_SPREAD
    return 1.0 + (SEARCH_SPREAD - 1.0) * (_PLAIN_STATISTIC / z) ** 2


def one_sided_p_value(z: float, spread: float) -> float:
    """Probability of a statistic as large without a violation.

    Parameters
    ----------
    z : float
    spread : float
        Standard deviation of ``z`` without a violation.

    Returns
    -------
    p_value : float
    """
    return float(norm.sf(z / spread)) if not math.isnan(z) else math.nan


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values over a family of searches (Holm 1979).

    Parameters
    ----------
    p_values : ndarray of shape (n_searches,)
        NaN for searches that were not made.

    Returns
    -------
    adjusted : ndarray of shape (n_searches,)

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, np.nan, 0.02])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    p_values = np.asarray(p_values, dtype=float)
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
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
    """Smallest violation a search would have found in a subgroup of mass alpha.

    Parameters
    ----------
    alpha : float
        Mass of the subgroup.
    rate : float
        Overall rate of the outcome, taken as the subgroup's average rate.
    sizes : tuple of float
        Effective numbers of rows of the group and of the others, in the whole population.
    level : float
        Level of the one-sided test, after adjustment for the number of searches.
    spread : float
        Standard deviation of the test statistic without a violation.
    power : float, default=0.8

    Returns
    -------
    delta : float
        ``inf`` if no ratio below a thousand would be found.

    Notes
    -----
    A planning figure: it takes the region as known, rows as spread evenly and rates as equal to the
    overall one on average.
    """
    if rate <= 0 or min(sizes) <= 0 or alpha <= 0:
        return math.inf
    delta = np.linspace(0.01, math.log(1000.0), 2000)
    # Rates p1 = e^delta p0 with mean `rate`, the larger one at most 1.
    p1 = np.minimum(2.0 * rate * expit(delta), 1.0)
    p0 = p1 * np.exp(-delta)
    share = np.minimum(alpha / ((p1 + p0) / 2.0), 1.0)
    variance = (1 - p1) / (p1 * share * sizes[0]) + (1 - p0) / (p0 * share * sizes[1])
    needed = (norm.isf(level) * spread + norm.isf(1 - power)) * np.sqrt(variance)
    found = delta >= needed
    return float(delta[np.argmax(found)]) if found.any() else math.inf
