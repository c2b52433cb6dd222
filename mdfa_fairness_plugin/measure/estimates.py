r"""Held-out estimates inside a subgroup: rates, delta, mass and gamma (Sections 2.2 and 3.1)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from mdfa_fairness_plugin.measure.limits import log_ratio, ratio_limits
from mdfa_fairness_plugin.records import SearchKey

# Rows' worth of outcomes (and of leftover) behind a side for their spread to be used: ten, but for
# rounding, which depends on how rows were added up.
_FEWEST_TERMS = 10.0 - 1e-9


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

    # Beyond a ratio of three a violation is plain, and more of its kind need not be as extreme.
    plain: ClassVar[float] = math.log(3.0)
    observed: ClassVar[bool] = True  # whether there are rates as people have them

    @classmethod
    def effect(cls, rates: np.ndarray) -> Any:
        """How unequal the rates of both sides are; 0 without a difference. Shape (2, ...) to (...)."""
        return log_ratio(*rates)

    @classmethod
    def moved(cls, rates: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Rates at the same features, by what these predict of each side."""
        return adjusted_rates(rates, predicted)

    @classmethod
    def of_sums(cls, weight: np.ndarray, hits: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Rates at the same features, by sums of both sides."""
        return cls.moved(hits / weight, predicted / weight)

    @classmethod
    def weight_behind(cls, weight: np.ndarray) -> np.ndarray:
        """What sums of either side are divided by."""
        return weight

    @classmethod
    def limits(cls, rates: np.ndarray, known: np.ndarray, z: Any) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the effect for a normal quantile, by what is ``known`` of the rates."""
        return ratio_limits(rates, known, z)

    @classmethod
    def part(cls, effect: float) -> float:
        """What a leak of S owes to an effect, as a difference of rates around their mean."""
        return math.tanh(abs(effect) / 2.0)

    def known(self, leftover: Leftover | None = None) -> tuple[Self, np.ndarray]:
        """Rates an interval is made for, and the rows' worth of information in each.

        With a leftover of the same rows they are those at the same features.
        """
        return (self, self.effective_sizes) if leftover is None else self._adjusted(leftover)

    def at_same_features(self, leftover: Leftover | None) -> Self:
        """The rates that are reported."""
        return self.known(leftover)[0]

    @property
    def delta(self) -> float:
        """Log ratio of the rates; infinite where one of them is zero, NaN where both are."""
        return float(self.effect(self.rates))

    @property
    def scale(self) -> float:
        """What turns a small difference of the rates into one of the effect."""
        return float(np.mean(self.rates))

    @property
    def difference(self) -> float:
        """Difference of the rates."""
        own, other = self.rates
        return float(own - other)

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
        solid = np.isfinite(implied) & (kish * np.minimum(rate, 1 - rate) >= _FEWEST_TERMS)
        return np.where(solid, sizes, kish)

    def _adjusted(self, leftover: Leftover) -> tuple[Self, np.ndarray]:
        """Rates at the same features, and rows' worth of information in each.

        Weights make the features of both sides alike in expectation, not in every sample. What is left
        to chance once the features' part is taken out is the leftover of the outcome alone: for a
        black box that answers the same features the same way far less than the outcome itself. A size
        is that of the rows by their weights over the share of the outcome's variance that the features
        leave: by the model, or as seen, where enough rows carry it to be seen and it is larger.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            predicted = leftover.predicted / self.weight
            centre = self.rates - predicted
            own = replace(self, hits=self.weight * self.moved(self.rates, predicted))
            variance = (
                leftover.second - 2.0 * centre * leftover.first + centre**2 * self.clustered[0]
            ) / self.weight**2
            terms = leftover.second**2 / leftover.fourth
            kish = self.weight**2 / self.clustered[0]
            few = kish * np.minimum(self.rates, 1.0 - self.rates)
            seen = own.rates * (1.0 - own.rates) / variance
            left = leftover.expected / self.squares / (predicted * (1.0 - predicted))
            sizes = kish / np.minimum(left, 1.0)
        solid = np.isfinite(seen) & (seen > 0) & (terms >= _FEWEST_TERMS) & (few >= _FEWEST_TERMS)
        sizes = np.where(solid, np.fmin(sizes, seen), sizes)
        return own, np.where(np.isfinite(sizes), sizes, self.effective_sizes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Leftover(Sums):
    """What the features leave unexplained of the outcome in one set of rows, for S = +1 and S = -1.

    With ``d = 1{Y=y} - m(x)``, ``m`` predicted from the features alone, out of fold.
    """

    predicted: np.ndarray  # (2,), sums of w m
    expected: np.ndarray  # (2,), of w^2 m (1 - m), what squares of w d are on average
    first: np.ndarray  # (2,), of w times w d, each summed over a cluster
    second: np.ndarray  # (2,), of squares of w d, summed over a cluster
    fourth: np.ndarray  # (2,), of their squares


def measure_leftover(
    value: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    outcome: np.ndarray,
    member: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
) -> Leftover:
    """Sums of the leftover inside a set of rows; ``outcome`` is the value expected, out of fold."""
    if member is not None and not member.all():
        value, s, weights, outcome = (a[member] for a in (value, s, weights, outcome))
        cluster = None if cluster is None else cluster[member]
    side = (s < 0).astype(np.intp)
    predicted = np.bincount(side, weights * outcome, 2)
    expected = np.bincount(side, weights**2 * outcome * (1.0 - outcome), 2)
    left = weights * (value - outcome)
    if cluster is not None:
        weights, left, side = by_cluster(cluster, side, weights, left)
    first = np.bincount(side, weights * left, 2)
    left *= left
    second = np.bincount(side, left, 2)
    left *= left
    return Leftover(
        predicted=predicted,
        expected=expected,
        first=first,
        second=second,
        fourth=np.bincount(side, left, 2),
    )


def by_cluster(cluster: np.ndarray, side: np.ndarray, *amounts: np.ndarray) -> list[np.ndarray]:
    """Amounts summed over the rows that each cluster has on a side, and the sides."""
    n_cells = 2 * (int(cluster.max(initial=-1)) + 1)
    cell = 2 * cluster + side
    sums = [np.bincount(cell, amount, n_cells) for amount in amounts]
    return [*sums, np.arange(n_cells) % 2]


def adjusted_rates(rates, predicted) -> np.ndarray:
    r"""Rates of both sides at the same features, however well the weights balance.

    Each is :math:`\sum w (1\{Y=y\} - m_s) / \sum w` in the set plus :math:`m_s` averaged over the
    population that the weights aim at, which both sides stand for alike: the doubly robust rate. The
    outcome model :math:`m_s` of a side is ``m`` moved on the scale of log-odds to the side's own
    level, so the first term is zero and a rate stays in (0, 1):

    .. math:: \mathrm{logit}\, r_s = \mathrm{logit}\, p_s - \mathrm{logit}\, q_s
        + \mathrm{logit}\, \frac{q_+ + q_-}2

    with :math:`p_s` and :math:`q_s` the weighted means of ``1{Y=y}`` and of ``m`` on a side.
    Shapes: (2,) or (2, n_sets).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = logit(rates) + logit(predicted.mean(axis=0)) - logit(predicted)
        return np.where(np.isfinite(logit(predicted)).all(axis=0), expit(moved), rates)


def measure(
    value: np.ndarray,
    s: np.ndarray,
    weights: np.ndarray,
    member: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
    kind: type[Rates] = Rates,
) -> Rates:
    """Weighted counts inside a set of rows, None for everybody; each row a cluster if None.

    ``value`` is whether a row has the outcome or, for means, how much of it.
    """
    side = (s < 0).astype(np.intp)
    total = np.bincount(side, weights, 2)
    if member is not None and not member.all():
        value, weights, side = value[member], weights[member], side[member]
        cluster = None if cluster is None else cluster[member]
    hit = weights * value
    weight, hits = np.bincount(side, weights, 2), np.bincount(side, hit, 2)
    squares, spread = np.bincount(side, weights**2, 2), np.bincount(side, hit**2, 2)
    clustered = [squares, spread]
    if cluster is not None:
        weights, hit, side = by_cluster(cluster, side, weights, hit)
        clustered = [np.bincount(side, own**2, 2) for own in (weights, hit)]
    return kind(
        weight=weight,
        squares=squares,
        hits=hits,
        spread=spread,
        total=total,
        clustered=np.array([*clustered, np.bincount(side, weights * hit, 2)]),
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


def estimates_of(inside: Rates, plain: Rates, leftover: Leftover | None) -> dict[str, float]:
    r"""Delta of one subgroup by several estimators.

    ``inside`` has balancing weights, ``plain`` sampling weights alone.

    - "doubly_robust": rates at the same features, ``adjusted_rates``; "hajek" without a leftover;
    - "hajek": rates with weights normalised inside the subgroup;
    - "raw": ratio of weighted counts, Algorithm 1's line 4, each S value carrying half of the
      population's weight; right only if the subgroup is balanced;
    - "unweighted": rates as observed, features not made comparable.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = math.nan  # nobody counts amounts
        if type(inside) is Rates:
            raw = inside.effect(inside.hits / inside.total)
    return {
        "doubly_robust": inside.at_same_features(leftover).delta,
        "hajek": inside.delta if plain.observed else math.nan,
        "raw": float(raw),
        "unweighted": plain.delta if plain.observed else math.nan,
    }


def counts_frame(counts: np.ndarray, key: SearchKey, labels: tuple[Hashable, ...]) -> pd.DataFrame:
    """Rows by S and Y (shape (2, n_labels)) as results show them, the audited outcome first."""
    audited = labels.index(key.outcome) if key.outcome in labels else 0
    order = [audited, *(i for i in range(len(labels)) if i != audited)]
    others = "everyone else" if key.reference is None else key.reference
    index = pd.Index([key.group, others], dtype=object, tupleize_cols=False)
    columns = pd.Index([labels[i] for i in order], dtype=object, tupleize_cols=False)
    return pd.DataFrame(counts[:, order], index=index, columns=columns)
