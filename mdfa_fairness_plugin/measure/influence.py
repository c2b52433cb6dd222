r"""How much each row moves an estimate: intervals on differences between models of the same people.

Two models answer for the same rows, so their estimates err together, and the interval on their
difference is not made of their two intervals. To first order an estimate is a sum over rows; the
difference of two estimates is then the sum of the rows' differences, whose variance is read off; the
rows of a cluster are one term of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logit, ndtri

from mdfa_fairness_plugin.measure.estimates import Rates
from mdfa_fairness_plugin.measure.means import MeanDifference, Means


@dataclass(frozen=True, eq=False)
class Effect:
    """How unequal two rates or means are (``Rates.effect``), and how much each row moves it."""

    delta: float
    influence: np.ndarray

    def __sub__(self, other: Effect) -> Effect:
        return Effect(self.delta - other.delta, self.influence - other.influence)

    def times(self, factor: float) -> Effect:
        """Some times as large."""
        return Effect(factor * self.delta, factor * self.influence)

    def variance(self, cluster: np.ndarray | None = None) -> float:
        """Sum of squares over rows, or over clusters of their sums."""
        terms = self.influence if cluster is None else np.bincount(cluster, self.influence)
        return float((terms**2).sum())


def effect_of(
    value: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    member: np.ndarray | None = None,
    outcome: np.ndarray | None = None,
    kind: type[Rates] = Rates,
) -> Effect:
    r"""Effect of two weighted rates or means, in a region or of everybody, and each row's influence.

    .. math:: \psi_i = \frac{w_i (Y_i - r_+)}{\sum_{S=+1} w} \frac{\partial}{\partial r_+}
              \text{ where } S_i = +1, \text{ and the same with } r_- \text{ where } S_i = -1

    The derivative of a log ratio is one over the rate, that of a difference 1. Sums to zero; the sum of
    squares is the variance of the effect. Rows with S = 0 are not compared and have none; all NaN if
    one of the rates is zero or unknown.

    With ``outcome``, what is expected of each row out of fold, it is that of the rates at the same
    features, ``Rates.moved``. With :math:`p_s, q_s` the weighted means of ``Y`` and of :math:`m`, and
    :math:`q` the mean of both :math:`q_s`, the influence follows for rates and for means from

    .. math:: d \log r_s = (1 - r_s) \left(\frac{dp_s}{p_s (1 - p_s)} - \frac{dq_s}{q_s (1 - q_s)}
        + \frac{dq}{q (1 - q)}\right), \qquad d r_s = dp_s - dq_s + dq
    """
    sides = [side if member is None else side & member for side in (s > 0, s < 0)]
    totals = np.array([weights[rows].sum() for rows in sides])
    hits = np.array([(weights[rows] * value[rows]).sum() for rows in sides])
    means = issubclass(kind, Means)
    defined = (hits != 0 if means else hits > 0) | issubclass(kind, MeanDifference)
    if not (defined & (totals > 0)).all():
        with np.errstate(invalid="ignore", divide="ignore"):
            return Effect(float(kind.effect(hits / totals)), np.full(len(s), np.nan))
    p = hits / totals
    q, m = np.zeros(2), np.zeros(len(s))
    if outcome is not None:
        m = outcome
        q = np.array([(weights[rows] * m[rows]).sum() for rows in sides]) / totals
    slopes = _of_means if means else _of_rates
    gain, per, by_features = slopes(p, q, kind)
    influence = np.zeros(len(s))
    for rows, side in zip(sides, range(2), strict=True):
        moved = gain[side] * (value[rows] - p[side]) / per[side]
        if by_features[side]:
            moved = moved + by_features[side] * (m[rows] - q[side])
        influence[rows] = weights[rows] / totals[side] * moved
    return Effect(float(kind.effect(kind.moved(p, q))), influence)


def _of_rates(
    p: np.ndarray, q: np.ndarray, kind: type[Rates]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How the log ratio follows each side's p, divided by the last but one, and each side's q."""
    rates, mean, sign = kind.moved(p, q), q.mean(), np.array([1.0, -1.0])
    told = bool(((q > 0) & (q < 1)).all())
    shift = np.exp(logit(mean) - logit(q)) if told else np.ones(2)
    # (1 - r) / (1 - p), also where everybody has the outcome.
    kept = 1.0 / (1.0 - p + p * shift)
    if not told:
        return sign * kept, p, np.zeros(2)
    own = (1.0 - rates) * sign / (q * (1.0 - q))
    both = (rates[1] - rates[0]) / (2.0 * mean * (1.0 - mean))
    return sign * kept, p, both - own


def _of_means(
    p: np.ndarray, q: np.ndarray, kind: type[Rates]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Likewise of a difference or a log ratio of means."""
    rates, sign = kind.moved(p, q), np.array([1.0, -1.0])
    per = np.ones(2) if issubclass(kind, MeanDifference) else np.abs(rates)
    # A ratio of means stays as it is where the features would change a sign.
    if not np.array_equal(rates, Means.moved(p, q)):
        return sign, per, np.zeros(2)
    own = sign / per
    return sign, per, own.sum() / 2.0 - own


def mean_influence(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Influence of each row on a weighted mean."""
    total = weights.sum()
    return weights * (values - weights @ values / total) / total


def paired_interval(
    difference: float,
    influence: np.ndarray,
    reference: np.ndarray,
    confidence_level: float,
    spread: float = 1.0,
    cluster: np.ndarray | None = None,
    moves: Sequence[Effect] = (),
) -> tuple[float, float]:
    """Interval on the difference of two estimates made on the same rows, from both influences.

    ``spread`` widens it where an estimate is of a region that was searched for; ``cluster`` is whose
    row each is, None if every row is somebody else's. ``moves`` are what
    the models may still take off it, beyond their own chance. NaN if the difference or an influence is
    not defined; of no length where both are the same function of the rows.
    """
    own = Effect(difference, influence - reference)
    variance = own.variance(cluster)
    if not (math.isfinite(difference) and math.isfinite(variance)):
        return math.nan, math.nan
    quantile = float(ndtri(0.5 + confidence_level / 2.0)) * spread
    low, high = (difference + sign * quantile * math.sqrt(variance) for sign in (-1.0, 1.0))
    for move in moves:
        beyond = move.delta**2 - move.variance(cluster)
        if not beyond > 0:
            continue
        margin = quantile * math.sqrt(max(variance, (own - move).variance(cluster)))
        if move.delta > 0:
            low = min(low, difference - math.sqrt(beyond) - margin)
        else:
            high = max(high, difference + math.sqrt(beyond) + margin)
    return low, high
