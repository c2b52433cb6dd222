r"""Held-out estimates inside a subgroup: rates, delta, mass and gamma (Sections 2.2 and 3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.special import expit


class Sums:
    """What is summed over rows: every field of two parts of the rows adds up."""

    def __add__(self, other: Self) -> Self:
        own = fields(self)  # type: ignore[arg-type]
        return type(self)(
            **{one.name: _both(getattr(self, one.name), getattr(other, one.name)) for one in own}
        )


def _both(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(x + y for x, y in zip(a, b, strict=True))
    return a + b


@dataclass(frozen=True, kw_only=True, eq=False)
class Rates(Sums):
    """Weighted counts of one set of rows, from which every estimate follows, for S = +1 and S = -1.

    What is known of the error goes by person: rows of a cluster count once, with their sums.
    """

    weight: np.ndarray  # (2,), sums of the weights
    squares: np.ndarray  # (2,), of their squares
    hits: np.ndarray  # (2,), of the weights of rows with Y = y
    spread: np.ndarray  # (2,), of their squares
    total: np.ndarray  # (2,), of the weights of everybody compared, for shares of the population
    # (3, 2), over clusters: squares of their weights, of their hits, and products of both.
    clustered: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        """Self-normalised (Hajek) rates of Y = y for S = +1 and S = -1; NaN without rows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.hits / self.weight

    @property
    def delta(self) -> float:
        """Log ratio of the rates; infinite where one of them is zero, NaN where both are."""
        return float(log_ratio(*self.rates))

    @property
    def share(self) -> float:
        """Weighted share of the population in the set, each S value carrying half."""
        return float(np.mean(self.weight / self.total))

    @property
    def mass(self) -> float:
        r"""The paper's alpha, :math:`Pr_w[Y = y, x \in G]`, balanced within the set."""
        rates = self.rates
        return float(self.share * rates.mean()) if np.isfinite(rates).all() else math.nan

    @property
    def gamma(self) -> float:
        """Strength of the certificate by definition (Eq. 4), balanced within the set."""
        rates = self.rates
        return float(self.share * (rates[0] - rates[1]) / 4.0)

    @property
    def effective_sizes(self) -> np.ndarray:
        """Rows of equal weight that would know each rate as well.

        Kish's size of the rows, or the size that the linearised variance of the rate implies where
        that is smaller; less what rows of a cluster have in common. Where that rests on fewer than ten
        clusters' worth of weight on either side, Kish's size of the clusters, as if the rows of each
        were copies.
        """
        squares, hits, products = self.clustered
        with np.errstate(invalid="ignore", divide="ignore"):
            rows = np.where(self.squares > 0, self.weight**2 / self.squares, 0.0)
            kish = np.where(squares > 0, self.weight**2 / squares, 0.0)
            rate = self.rates
            # Sums of (w (1{Y=y} - r))^2 over rows, and over clusters of their sums.
            by_row = self.spread * (1 - 2 * rate) + self.squares * rate**2
            by_cluster = hits - 2 * rate * products + squares * rate**2
            implied = rate * (1 - rate) * self.weight**2 / by_row
            sizes = np.minimum(np.minimum(rows, implied) * by_row / by_cluster, rows)
        solid = np.isfinite(implied) & (kish * np.minimum(rate, 1 - rate) >= 10)
        return np.where(solid, sizes, kish)


# Rows' worth of leftover (and of outcomes) behind a side for its leftover to be used.
_FEWEST_TERMS = 10.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Leftover(Sums):
    """What the features leave unexplained of the outcome in one set of rows, for S = +1 and S = -1.

    With ``d = 1{Y=y} - m(x)``, ``m`` predicted from the features alone, out of fold.
    """

    predicted: np.ndarray  # (2,), sums of w m
    first: np.ndarray  # (2,), of w times w d, each summed over a cluster
    second: np.ndarray  # (2,), of squares of w d, summed over a cluster
    fourth: np.ndarray  # (2,), of their squares


def measure_leftover(
    positive: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    outcome: np.ndarray,
    member: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
) -> Leftover:
    """Sums of the leftover inside a set of rows; ``outcome`` is ``Pr[Y = y | x]``, out of fold."""
    if member is not None and not member.all():
        positive, s, weights, outcome = (a[member] for a in (positive, s, weights, outcome))
        cluster = None if cluster is None else cluster[member]
    side = (s < 0).astype(np.intp)
    predicted = np.bincount(side, weights * outcome, 2)
    left = weights * (positive - outcome)
    if cluster is not None:
        weights, left, side = by_cluster(cluster, side, weights, left)
    first = np.bincount(side, weights * left, 2)
    left *= left
    second = np.bincount(side, left, 2)
    left *= left
    return Leftover(
        predicted=predicted, first=first, second=second, fourth=np.bincount(side, left, 2)
    )


def by_cluster(cluster: np.ndarray, side: np.ndarray, *amounts: np.ndarray) -> list[np.ndarray]:
    """Amounts summed over the rows that each cluster has on a side, and the sides."""
    n_cells = 2 * (int(cluster.max(initial=-1)) + 1)
    cell = 2 * cluster + side
    sums = [np.bincount(cell, amount, n_cells) for amount in amounts]
    return [*sums, np.arange(n_cells) % 2]


def adjusted_rates(rates: Rates, leftover: Leftover) -> tuple[np.ndarray, np.ndarray]:
    r"""Rates once what is left of imbalance is taken out, and rows' worth of information in each.

    Weights make the features of both sides alike in expectation, not in every sample. What the features
    predict of the difference of the two rates, :math:`\bar m_{+} - \bar m_{-}`, is known and taken out,
    half on either side (the augmented rates of the doubly robust literature); what is left to chance is
    the leftover of the outcome alone. For a black box that answers the same features the same way that
    is far less than the outcome itself. Where few rows carry the leftover of a side, or few have the
    outcome, its spread is not known well enough, and the plain rates and sizes are returned.
    """
    plain = rates.rates, rates.effective_sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        predicted = leftover.predicted / rates.weight
        centre = rates.rates - predicted
        variance = (
            leftover.second - 2.0 * centre * leftover.first + centre**2 * rates.clustered[0]
        ) / rates.weight**2
        terms = leftover.second**2 / leftover.fourth
        kish = rates.weight**2 / rates.clustered[0]
        few = kish * np.minimum(rates.rates, 1.0 - rates.rates)
        imbalance = predicted[0] - predicted[1]
        adjusted = rates.rates + np.array([-0.5, 0.5]) * imbalance
        sizes = adjusted * (1.0 - adjusted) / variance
    solid = np.isfinite(sizes) & (terms >= _FEWEST_TERMS) & (few >= _FEWEST_TERMS)
    return (adjusted, sizes) if (solid & (sizes > 0)).all() else plain


def log_ratio(rate, reference) -> np.ndarray:
    """Log ratio of two rates; infinite if only one side has the outcome, NaN if nobody has."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.asarray(rate, dtype=float)) - np.log(np.asarray(reference, dtype=float))


def measure(
    positive: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    member: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
) -> Rates:
    """Weighted counts inside a set of rows, None for everybody; each row a cluster if None."""
    side = (s < 0).astype(np.intp)
    total = np.bincount(side, weights, 2)
    if member is not None and not member.all():
        positive, weights, side = positive[member], weights[member], side[member]
        cluster = None if cluster is None else cluster[member]
    hit = weights * positive
    weight, hits = np.bincount(side, weights, 2), np.bincount(side, hit, 2)
    squares, spread = np.bincount(side, weights**2, 2), np.bincount(side, hit**2, 2)
    if cluster is not None:
        weights, hit, side = by_cluster(cluster, side, weights, hit)
    products = (weights**2, hit**2, weights * hit)
    return Rates(
        weight=weight,
        squares=squares,
        hits=hits,
        spread=spread,
        total=total,
        clustered=np.array([np.bincount(side, product, 2) for product in products]),
    )


def certificate_strength(mass, delta):
    r"""Strength ``gamma`` of certificates with violation ``delta`` (Section 3.1, below Eq. 4).

    Joins how many are affected to how unequally they are treated. Of balanced data only: the 1/2 is
    ``Pr[S = s | G]`` after weighting.

    .. math:: \gamma = \alpha \left(\frac{e^\delta}{1 + e^\delta} - \frac12\right)
    """
    return np.asarray(mass, dtype=float) * (expit(np.asarray(delta, dtype=float)) - 0.5)


def lemma_strength(population: Rates, inside: Rates) -> float:
    r"""Strength of a certificate by Lemma 1, a check on the definition.

    .. math:: \gamma = (Pr_w[c = SY] - 1 + \rho) / 4, \quad \rho = Pr_w[S = Y]

    Each S value carries half of the weight. Equal to the definition only where the weights also
    balance the subgroup itself; what is left of imbalance inside it biases this form.
    """
    total, hits = population.total, population.hits
    with np.errstate(invalid="ignore", divide="ignore"):
        # c = 1 is right for S Y = 1: the group's rows with the outcome, the others' without it.
        group = inside.hits[0] + (total[0] - inside.weight[0]) - (hits[0] - inside.hits[0])
        others = inside.weight[1] - inside.hits[1] + (hits[1] - inside.hits[1])
        agreement = (group / total[0] + others / total[1]) / 2.0
        rho = (hits[0] / total[0] + (total[1] - hits[1]) / total[1]) / 2.0
    return float(agreement - 1 + rho) / 4.0


def robust_sums(
    positive: np.ndarray,
    s: np.ndarray,
    base: np.ndarray,
    member: np.ndarray,
    propensity: np.ndarray,
    outcome: np.ndarray,
) -> np.ndarray:
    """Sums the doubly robust estimate is made of; those of parts of the rows add up.

    Of the squared residual of S, its product with that of the outcome, the overlap ``e (1 - e)``, and
    the overlap's products with ``m`` and ``e``.
    """
    e, m = propensity[member], outcome[member]
    w = base[member]
    residual_s = (s[member] > 0) - e
    residual_y = positive[member] - m
    overlap = w * e * (1 - e)
    return np.array(
        [
            (w * residual_s**2).sum(),
            (w * residual_s * residual_y).sum(),
            overlap.sum(),
            (overlap * m).sum(),
            (overlap * e).sum(),
        ]
    )


def estimates_of(inside: Rates, plain: Rates, sums: np.ndarray) -> dict[str, float]:
    r"""Delta of one subgroup by several estimators.

    ``inside`` has balancing weights, ``plain`` sampling weights alone; ``sums`` are ``robust_sums``.

    - "hajek": rates with weights normalised inside the subgroup (the one reported);
    - "raw": ratio of weighted counts, Algorithm 1's line 4, each S value carrying half of the
      population's weight; right only if the subgroup is balanced;
    - "unweighted": rates as observed, features not made comparable;
    - "doubly_robust": overlap-weighted rates after removing what the features predict:
      :math:`\bar m` plus the residual difference shared out between the two sides.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = log_ratio(*(inside.hits / inside.total))
    information, covariance, overlap, with_outcome, with_propensity = (float(one) for one in sums)
    if information > 0:
        difference = covariance / information
        level, share = with_outcome / overlap, with_propensity / overlap
        high = level + (1 - share) * difference
        low = level - share * difference
        robust = float(log_ratio(max(high, 0.0), max(low, 0.0)))
    else:
        robust = math.nan
    return {
        "hajek": inside.delta,
        "raw": float(raw),
        "unweighted": plain.delta,
        "doubly_robust": robust,
    }
