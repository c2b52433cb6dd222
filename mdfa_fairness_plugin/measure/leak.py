"""Whether the outcome leaks S beyond what x leaks, inside one region."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

# Fewer effective terms than this, and a sum is compared with its own distribution, not the normal one.
_FEWEST_TERMS = 100.0
_N_REDRAWS = 9_999
# Rows redrawn one by one; the others add next to nothing, or a normal variable.
_MOST_REDRAWN = 300


@dataclass(frozen=True, kw_only=True, eq=False)
class LeakSums:
    """Sums over the rows of a region that its leak statistic is made of; those of parts add up.

    A term is a row, or all rows of a cluster.
    """

    total: float  # of R
    squares: float  # of R^2 of every term
    fourths: float  # of R^4
    # Of terms that may have to be redrawn: 1{Y=y} - m times the sampling weight, and e.
    leftover: np.ndarray
    propensity: np.ndarray
    # Of the sum of R over the rows not kept, if S were redrawn: its variance, and the sum of their
    # squared leftover.
    variance: float = 0.0
    bound: float = 0.0
    # Redrawn statistics by seed: test, interval and report ask for the same.
    _redrawn: dict[int, float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        value: np.ndarray,
        s: np.ndarray,
        propensity: np.ndarray,
        outcome: np.ndarray,
        base: np.ndarray,
        member: np.ndarray,
        cluster: np.ndarray | None = None,
        *,
        by_chance: bool = True,
    ) -> LeakSums:
        """Sum over the rows of a region; every term is kept.

        Unless S is drawn ``by_chance`` e, a quantity's for one, only the signs of terms are redrawn.
        """
        e = propensity
        if not member.all():
            value, s, e, outcome, base = (a[member] for a in (value, s, e, outcome, base))
            cluster = None if cluster is None else cluster[member]
        leftover = (value - outcome) * base
        residual = leftover * ((s > 0) - e)
        if cluster is not None:
            residual = np.bincount(cluster, residual)
            if by_chance:
                leftover, e = _redrawn_together(leftover, e, 2 * cluster + (s > 0))
        if not by_chance:
            leftover, e = 2.0 * residual, np.full(len(residual), 0.5)
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
        return replace(
            self,
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
        r"""Generalised covariance measure in the region (Shah and Peters 2020).

        .. math:: z = \sum R / \sqrt{\sum R^2}, \quad R = (1\{Y=y\} - m(x)) (1\{S=s\} - e(x))

        with e and m predicted out of fold; the rows of a cluster are one R. About standard normal
        without a leak if the region was found on other rows; NaN without any variation. Where few terms
        carry the sum (a rare outcome, a small region) it is compared with what it would be if S were
        drawn from e given the same outcomes and features; z is then the normal quantile of that
        comparison.
        """
        if not self.squares > 0:
            return math.nan
        if self._few:
            if random_state not in self._redrawn:
                self._redrawn[random_state] = _redrawn_statistic(self, random_state)
            return self._redrawn[random_state]
        return self.total / math.sqrt(self.squares)


def _redrawn_together(
    leftover: np.ndarray, e: np.ndarray, term: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Leftover and propensity of terms whose rows have one S, which is drawn for all of them."""
    term = np.unique(term, return_inverse=True)[1]
    size = np.abs(leftover) + 1e-12
    return np.bincount(term, leftover), np.bincount(term, size * e) / np.bincount(term, size)


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
    return float(-ndtri(min(drawn, bound)))


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
