r"""Held-out estimates inside a subgroup: rates, delta, mass and gamma (Sections 2.2 and 3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True, kw_only=True, eq=False)
class Rates:
    """Weighted counts of one set of rows, from which every estimate follows.

    Parameters
    ----------
    weight : ndarray of shape (2,)
        Sum of the weights of S = +1 and S = -1 rows in the set.
    squares : ndarray of shape (2,)
        Sums of squared weights.
    hits : ndarray of shape (2,)
        Sums of the weights of rows with Y = y.
    spread : ndarray of shape (2,)
        Sums of squared weights of rows with Y = y.
    total : ndarray of shape (2,)
        Sums of the weights over everybody compared, for shares of the population.
    """

    weight: np.ndarray
    squares: np.ndarray
    hits: np.ndarray
    spread: np.ndarray
    total: np.ndarray

    def __add__(self, other: Rates) -> Rates:
        """Counts of the same set in two parts of the rows."""
        return Rates(
            weight=self.weight + other.weight,
            squares=self.squares + other.squares,
            hits=self.hits + other.hits,
            spread=self.spread + other.spread,
            total=self.total + other.total,
        )

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
        """Rows of equal weight that would know each rate as well, shape (2,).

        Kish's size, or the size that the linearised variance of the rate implies where that is
        smaller and rests on at least ten rows' worth of weight on either side.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            kish = np.where(self.squares > 0, self.weight**2 / self.squares, 0.0)
            rate = self.rates
            # sum w^2 (1{Y=y} - r)^2, from the two kinds of rows
            variance = (
                self.spread * (1 - rate) ** 2 + (self.squares - self.spread) * rate**2
            ) / self.weight**2
            implied = rate * (1 - rate) / variance
        solid = np.isfinite(implied) & (kish * np.minimum(rate, 1 - rate) >= 10)
        return np.where(solid, np.minimum(kish, implied), kish)


# Rows' worth of leftover (and of outcomes) behind a side for its leftover to be used.
_FEWEST_TERMS = 10.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Leftover:
    r"""Sums of what the features leave unexplained of the outcome in one set of rows, by S.

    With ``d = 1{Y=y} - m(x)``, ``m`` predicted from the features alone, out of fold. Sums of parts of
    the rows add up.

    Parameters
    ----------
    predicted : ndarray of shape (2,)
        :math:`\sum w m`, for S = +1 and S = -1.
    first, second : ndarray of shape (2,)
        :math:`\sum w^2 d` and :math:`\sum w^2 d^2`.
    fourth : ndarray of shape (2,)
        :math:`\sum w^4 d^4`.
    """

    predicted: np.ndarray
    first: np.ndarray
    second: np.ndarray
    fourth: np.ndarray

    def __add__(self, other: Leftover) -> Leftover:
        return Leftover(
            predicted=self.predicted + other.predicted,
            first=self.first + other.first,
            second=self.second + other.second,
            fourth=self.fourth + other.fourth,
        )


def measure_leftover(
    positive: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    outcome: np.ndarray,
    member: np.ndarray | None = None,
) -> Leftover:
    """Sums of the leftover inside a set of rows.

    Parameters
    ----------
    positive, s, weights, member
        As in ``measure``.
    outcome : ndarray of shape (n,)
        ``Pr[Y = y | x]`` out of fold.

    Returns
    -------
    leftover : Leftover
    """
    if member is not None and not member.all():
        positive, s, weights, outcome = (a[member] for a in (positive, s, weights, outcome))
    side = (s < 0).astype(np.intp)
    left = weights * (positive - outcome)
    first = np.bincount(side, weights * left, 2)
    left *= left
    second = np.bincount(side, left, 2)
    left *= left
    return Leftover(
        predicted=np.bincount(side, weights * outcome, 2),
        first=first,
        second=second,
        fourth=np.bincount(side, left, 2),
    )


def adjusted_rates(rates: Rates, leftover: Leftover) -> tuple[np.ndarray, np.ndarray]:
    r"""Rates once what is left of imbalance is taken out, and how well these are known.

    Weights make the features of both sides alike in expectation, not in every sample. What the features
    predict of the difference of the two rates, :math:`\bar m_{+} - \bar m_{-}`, is known and taken out,
    half on either side; what is left to chance is the leftover of the outcome alone. For a black box
    that answers the same features the same way that is far less than the outcome itself.

    Parameters
    ----------
    rates : Rates
    leftover : Leftover
        Of the same rows.

    Returns
    -------
    rates : ndarray of shape (2,)
        The augmented rates of the doubly robust literature, within [0, 1].
    sizes : ndarray of shape (2,)
        Rows of equal weight that would know a plain rate as well.

    Notes
    -----
    Where few rows carry the leftover of a side, or few have the outcome, its spread is not known well
    enough, and the plain rates and sizes are returned.
    """
    plain = rates.rates, rates.effective_sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        predicted = leftover.predicted / rates.weight
        centre = rates.rates - predicted
        variance = (
            leftover.second - 2.0 * centre * leftover.first + centre**2 * rates.squares
        ) / rates.weight**2
        terms = leftover.second**2 / leftover.fourth
        kish = rates.weight**2 / rates.squares
        few = kish * np.minimum(rates.rates, 1.0 - rates.rates)
        imbalance = predicted[0] - predicted[1]
        adjusted = rates.rates + np.array([-0.5, 0.5]) * imbalance
        sizes = adjusted * (1.0 - adjusted) / variance
    solid = np.isfinite(sizes) & (terms >= _FEWEST_TERMS) & (few >= _FEWEST_TERMS)
    return (adjusted, sizes) if (solid & (sizes > 0)).all() else plain


def log_ratio(rate, reference) -> np.ndarray:
    """Log ratio of two rates.

    Parameters
    ----------
    rate, reference : array-like
        Outcome rates of the group and of those it is compared with.

    Returns
    -------
    delta : ndarray
        ``inf`` if only the group has the outcome, ``-inf`` if only the others have it, NaN if
        nobody has.

    Examples
    --------
    >>> float(log_ratio(0.75, 0.25).round(4))
    1.0986
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.asarray(rate, dtype=float)) - np.log(np.asarray(reference, dtype=float))


def measure(
    positive: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    member: np.ndarray | None = None,
) -> Rates:
    """Weighted counts inside a set of rows.

    Parameters
    ----------
    positive : ndarray of bool of shape (n,)
        Y = y.
    s : ndarray of shape (n,)
        In {-1, +1}.
    weights : ndarray of shape (n,)
        Balancing weights times sampling weights.
    member : ndarray of bool of shape (n,) or None, default=None
        Rows in the set; None for everybody.

    Returns
    -------
    rates : Rates
    """
    side = (s < 0).astype(np.intp)
    total = np.bincount(side, weights, 2)
    if member is not None and not member.all():
        positive, weights, side = positive[member], weights[member], side[member]
    hit = weights * positive
    return Rates(
        weight=np.bincount(side, weights, 2),
        squares=np.bincount(side, weights**2, 2),
        hits=np.bincount(side, hit, 2),
        spread=np.bincount(side, hit**2, 2),
        total=total,
    )


def certificate_strength(mass, delta):
    r"""Strength ``gamma`` of certificates with violation ``delta``.

    Joins how many are affected to how unequally they are treated (Section 3.1, below Eq. 4):

    .. math:: \gamma = \alpha \left(\frac{e^\delta}{1 + e^\delta} - \frac12\right)

    Parameters
    ----------
    mass : array-like of shape (n_subgroups,)
        :math:`\alpha = \Pr[Y = y, x \in G]`, weighted.
    delta : array-like of shape (n_subgroups,)
        Log ratio of outcome rates. ``inf`` if no one else has the outcome.

    Returns
    -------
    gamma : ndarray of shape (n_subgroups,)

    Notes
    -----
    Balanced data only: the 1/2 is ``Pr[S = s | G]`` after weighting.

    Examples
    --------
    >>> certificate_strength([0.2, 0.2], [np.log(3), np.inf]).round(6)
    array([0.05, 0.1 ])
    """
    return np.asarray(mass, dtype=float) * (expit(np.asarray(delta, dtype=float)) - 0.5)


def lemma_strength(
    positive: np.ndarray, s: np.ndarray, weights: np.ndarray, member: np.ndarray
) -> float:
    r"""Strength of a certificate by Lemma 1, a check on the definition.

    .. math:: \gamma = (Pr_w[c = SY] - 1 + \rho) / 4, \quad \rho = Pr_w[S = Y]

    Parameters
    ----------
    positive, s, weights, member
        As in ``measure``; ``member`` is ``c = 1``.

    Returns
    -------
    gamma : float

    Notes
    -----
    Each S value carries half of the weight. Equal to the definition only where the weights also
    balance the subgroup itself; what is left of imbalance inside it biases this form.
    """
    return lemma_strength_of(measure(positive, s, weights), measure(positive, s, weights, member))


def lemma_strength_of(population: Rates, inside: Rates) -> float:
    """Lemma 1's strength of a certificate from weighted counts, see ``lemma_strength``.

    Parameters
    ----------
    population, inside : Rates
        Of everybody compared, and of the subgroup.

    Returns
    -------
    gamma : float
    """
    total, hits = population.total, population.hits
    with np.errstate(invalid="ignore", divide="ignore"):
        # c = 1 is right for S Y = 1: the group's rows with the outcome, the others' without it.
        group = inside.hits[0] + (total[0] - inside.weight[0]) - (hits[0] - inside.hits[0])
        others = inside.weight[1] - inside.hits[1] + (hits[1] - inside.hits[1])
        agreement = (group / total[0] + others / total[1]) / 2.0
        rho = (hits[0] / total[0] + (total[1] - hits[1]) / total[1]) / 2.0
    return float(agreement - 1 + rho) / 4.0


def other_estimates(
    positive: np.ndarray,
    s: np.ndarray,
    base: np.ndarray,
    weights: np.ndarray,
    member: np.ndarray,
    propensity: np.ndarray,
    outcome: np.ndarray,
) -> dict[str, float]:
    r"""Delta of one subgroup by several estimators.

    Parameters
    ----------
    positive, s, member
        As in ``measure``.
    base : ndarray of shape (n,)
        Sampling weights.
    weights : ndarray of shape (n,)
        Balancing weights times sampling weights.
    propensity, outcome : ndarray of shape (n,)
        ``Pr[S = +1 | x]`` and ``Pr[Y = y | x]`` out of fold.

    Returns
    -------
    estimates : dict of str to float
        - "hajek": rates with weights normalised inside the subgroup (the one reported);
        - "raw": ratio of weighted counts, Algorithm 1's line 4, each S value carrying half of the
          population's weight; right only if the subgroup is balanced;
        - "unweighted": rates as observed, features not made comparable;
        - "doubly_robust": overlap-weighted rates after removing what the features predict:
          :math:`\bar m` plus the residual difference shared out between the two sides.
    """
    return estimates_of(
        measure(positive, s, weights, member),
        measure(positive, s, base, member),
        robust_sums(positive, s, base, member, propensity, outcome),
    )


def robust_sums(
    positive: np.ndarray,
    s: np.ndarray,
    base: np.ndarray,
    member: np.ndarray,
    propensity: np.ndarray,
    outcome: np.ndarray,
) -> np.ndarray:
    """Sums the doubly robust estimate is made of; those of parts of the rows add up.

    Parameters
    ----------
    positive, s, base, member, propensity, outcome
        As in ``other_estimates``.

    Returns
    -------
    sums : ndarray of shape (5,)
        Of the squared residual of S, its product with that of the outcome, the overlap ``e (1 - e)``,
        and the overlap's products with ``m`` and ``e``.
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
    """Delta by several estimators from sums over the subgroup, see ``other_estimates``.

    Parameters
    ----------
    inside : Rates
        With balancing weights.
    plain : Rates
        With sampling weights alone.
    sums : ndarray of shape (5,)
        Of ``robust_sums``.

    Returns
    -------
    estimates : dict of str to float
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
