"""All that is known of a search after counting; sums of parts of the rows add up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.measure.estimates import (
    Leftover,
    Rates,
    Sums,
    by_cluster,
    estimates_of,
    measure,
    measure_leftover,
)
from mdfa_fairness_plugin.measure.leak import LeakSums
from mdfa_fairness_plugin.measure.means import MeanDifference, Means
from mdfa_fairness_plugin.numerics.rows import marked

# Sets of rows measured in every search; what each repeat proposed alone comes after them.
EVERYBODY, REGION, CORE, RULE, SEARCHED = range(5)
# What rows of a number are counted by.
ROWS = ("rows",)
SETS = ("everybody", "subgroup", "core", "rule", "searched")
# Weights and predicted outcomes of rows, by models of one quality.
Rung = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ValueOf:
    """What a searched value is of the outcome, and what rows are counted by.

    ``unit`` is one of the values in units of the outcome: below 0 where less of it is worse.
    """

    unit: float = 1.0
    nonnegative: bool = True  # whether no outcome is below zero
    counted_by: tuple[Hashable, ...] = ()  # empty: the outcomes of the audit
    per: float = math.nan  # of a slope: how much more of the sensitive quantity it is for

    @property
    def of_number(self) -> bool:
        """Whether the outcome is a number."""
        return self.counted_by == ROWS

    def scale(self, kind: type[Rates]) -> dict[str, Any]:
        """Fields of records that say what an effect is, and in which units."""
        return {
            "measure": "difference" if issubclass(kind, MeanDifference) else "ratio",
            "outcome_sd": abs(self.unit) if issubclass(kind, Means) else math.nan,
            "per": self.per,
        }

    def outcome_type(self, kind: type[Rates]) -> str:
        """Whether what is compared is a number."""
        return "numeric" if issubclass(kind, Means) and self.of_number else "binary"


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredRows:
    """Rows a search is measured on: none of them had a say in who is inside.

    ``value`` is whether a row has the outcome or, by ``kind``, how much of it; ``y`` is the place of
    its outcome among ``n_outcomes``. ``base`` are sampling weights, ``weights`` those times the
    balance's; ``propensity`` and ``outcome`` are predictions out of fold; ``cluster`` is whose row each
    is, None if every row is somebody else's. ``lesser`` are weights and predicted outcomes by lesser
    models, the least first.
    """

    s: np.ndarray
    value: np.ndarray
    y: np.ndarray
    n_outcomes: int
    base: np.ndarray
    weights: np.ndarray
    propensity: np.ndarray
    outcome: np.ndarray
    cluster: np.ndarray | None = None
    lesser: tuple[Rung, ...] = ()
    shares: tuple[float, ...] = ()  # of the rows that these learn from; none known: all of them
    kind: type[Rates] = Rates
    probability: np.ndarray | None = None  # that a row is of its side; None: it is
    of: ValueOf = ValueOf()
    dose: np.ndarray | None = None  # of a slope: how far from what is expected of it a quantity is

    @property
    def by_dose(self) -> MeasuredRows:
        """Rows as rates are summed over: of a slope by how far from expected they are."""
        if self.dose is None:
            return self
        value, outcome, weights = per_dose(self.dose, self.value, self.outcome, self.weights)
        return replace(
            self,
            value=value,
            outcome=outcome,
            weights=weights,
            lesser=(),
            dose=None,
        )

    def rung_by_dose(self, rung: Rung) -> Rung:
        """What lesser models say of rows, likewise."""
        weights, outcome = rung
        return rung if self.dose is None else (weights * self.dose, outcome / self.dose)

    def leak(self, member: np.ndarray) -> LeakSums:
        """Sums of the leak statistic inside a set."""
        return LeakSums.of(
            self.value,
            self.s,
            self.propensity,
            self.outcome,
            self.base,
            member,
            self.cluster,
            by_chance=self.dose is None,
        )

    def leftover(self, member: np.ndarray) -> Leftover:
        """What the features leave of the outcome inside a set."""
        return measure_leftover(
            self.value, self.s, self.weights, self.outcome, member, self.cluster
        )

    def rates(self, weights: np.ndarray, member: np.ndarray, *, clustered: bool = True) -> Rates:
        """Weighted counts inside a set."""
        cluster = self.cluster if clustered else None
        return measure(self.value, self.s, weights, member, cluster, self.kind)

    def estimates(self, member: np.ndarray, adjusts: bool) -> dict[str, float]:
        """Delta inside a set by several estimators, and if asked for at the same features."""
        own = self.by_dose
        inside, plain = (
            own.rates(weights, member, clustered=False) for weights in (own.weights, own.base)
        )
        return estimates_of(inside, plain, own.leftover(member) if adjusts else None)

    def counts(self, member: np.ndarray) -> np.ndarray:
        """Rows of a set by S and outcome, shape (2, n_outcomes); expected ones, to the next whole."""
        told = []
        for side in (1, -1):
            own = member & (self.s == side)
            p = None if self.probability is None else self.probability[own]
            told.append(np.bincount(self.y[own], p, minlength=self.n_outcomes))
        return np.rint(told).astype(np.intp)

    def hit_clusters(self, member: np.ndarray) -> int:
        """Clusters of a set with a row that has the outcome; of numbers all have."""
        hits = member if issubclass(self.kind, Means) else member & self.value
        return int(hits.sum()) if self.cluster is None else len(np.unique(self.cluster[hits]))


def per_dose(
    dose: np.ndarray, value: np.ndarray, outcome: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and those predicted by unit of the dose, and weights times it: products are the same."""
    return value / dose, outcome / dose, weights * dose


def still_to_come(shares: Sequence[float]) -> tuple[float, ...]:
    r"""How many times its distance from the best rung each lesser one says is still to come.

    ``shares`` of the rows are what the models of each learn from. If the errors of both models fall
    with :math:`n^{-1/4}`, the slowest at which a doubly robust estimate can be told from its bias at
    all, the bias falls with :math:`n^{-1/2}`: of models of a share q of the rows it is
    :math:`q^{-1/2}` times as large, and :math:`1 / (q^{-1/2} - 1)` times what moved is left. Faster
    ones leave less. Other rungs say nothing then, nor do those up to the best models that were not
    told what they missed, of share 0; without one of fewer rows it is as much again as better models
    have changed.
    """
    told = shares[before_told(shares) + 1 :]
    fewest = min(told, default=1.0)
    times = 1.0 / (fewest**-0.5 - 1.0) if fewest < 1.0 else 1.0
    untold = (0.0,) * (len(shares) - len(told))
    return (*untold, *(times if share == fewest else 0.0 for share in told))


def before_told(shares: Sequence[float]) -> int:
    """Place of the best models before they were told what they missed; -1 if they never were."""
    return shares.index(0.0) if 0.0 in shares else -1


@dataclass(frozen=True, kw_only=True)
class RungOf:
    """Models of one quality: log-losses out of fold, and the share of the rows they learn from."""

    propensity_loss: float
    outcome_loss: float
    share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class RungSums(Sums):
    """What a set's rates by lesser models are made of, for S = +1 and S = -1."""

    weight: np.ndarray  # (2,), sums of the weights, of those of rows with Y = y, and of w m
    hits: np.ndarray
    predicted: np.ndarray
    # (3, 2), of w (1{Y=y} - m) by lesser and best models, each summed over a cluster: squares of the
    # lesser, products, squares of the best.
    left: np.ndarray
    share: float = 1.0  # of the rows that the models learn from

    @classmethod
    def of(cls, rows: MeasuredRows, rung: Rung, member: np.ndarray, share: float = 1.0) -> RungSums:
        """Sum over the members of a set."""
        own = marked(member)
        side, value = (rows.s[own] < 0).astype(np.intp), rows.value[own]
        weights, outcome = (told[own] for told in rung)
        amounts = (weights * amount for amount in (1.0, value, outcome))  # one at a time
        weight, hits, predicted = (np.bincount(side, amount, 2) for amount in amounts)
        lesser = value - outcome
        lesser *= weights
        best = value - rows.outcome[own]
        best *= rows.weights[own]
        if rows.cluster is not None:
            lesser, best, side = by_cluster(rows.cluster[own], side, lesser, best)
        products = ((lesser, lesser), (lesser, best), (best, best))
        left = np.array([np.bincount(side, one * other, 2) for one, other in products])
        return cls(weight=weight, hits=hits, predicted=predicted, left=left, share=share)

    def __add__(self, other: RungSums) -> RungSums:
        return replace(super().__add__(other), share=self.share)

    def rates(self, kind: type[Rates]) -> np.ndarray:
        """Rates of both sides at the same features."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return kind.of_sums(self.weight, self.hits, self.predicted)

    def variance(self, best: Rates, of_best: float, of_lesser: float) -> float:
        """Of the rate difference by the best models and by these, so many times each, added up."""
        with np.errstate(invalid="ignore", divide="ignore"):
            weights = (best.weight_behind(own) for own in (self.weight, best.weight))
            share = np.array(
                [of / own for of, own in zip((of_lesser, of_best), weights, strict=True)]
            )
            squares = np.array([share[0] ** 2, 2.0 * share[0] * share[1], share[1] ** 2])
            return float((squares * self.left).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class SetSums(Sums):
    """Sums over one set of rows; ``counts`` are rows by S and outcome."""

    rates: Rates
    leftover: Leftover
    leak: LeakSums
    rungs: tuple[RungSums, ...]  # by lesser models
    counts: np.ndarray
    hit_clusters: int  # with a row that has the outcome

    @classmethod
    def of(cls, rows: MeasuredRows, member: np.ndarray) -> SetSums:
        """Sum over the members of a set."""
        return cls.each(rows, [member], rows.lesser)[0]

    @classmethod
    def each(
        cls, rows: MeasuredRows, members: Sequence[np.ndarray], lesser: Iterable[Rung]
    ) -> list[SetSums]:
        """Sum over the members of several sets; lesser models are asked once, one after the other."""
        own = rows.by_dose
        by_rung = [
            [RungSums.of(own, rows.rung_by_dose(rung), member, share) for member in members]
            for rung, share in zip(lesser, rows.shares or itertools.repeat(1.0), strict=False)
        ]
        return [
            cls(
                rates=own.rates(own.weights, member),
                leftover=own.leftover(member),
                leak=rows.leak(member),
                rungs=tuple(rungs[place] for rungs in by_rung),
                counts=rows.counts(member),
                hit_clusters=rows.hit_clusters(member),
            )
            for place, member in enumerate(members)
        ]

    def __add__(self, other: SetSums) -> SetSums:
        total = super().__add__(other)
        object.__setattr__(total, "leak", total.leak.shortened())
        return total

    @property
    def n_rows(self) -> int:
        """Rows in the set."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchSums(Sums):
    """Sums of one search."""

    # Of everybody compared, the subgroup reported, its core and its rule, and the region that the
    # search proposed.
    sets: tuple[SetSums, ...]
    plain: tuple[Rates, ...]  # of each of ``SETS``, with sampling weights alone
    # (2, 2): weights of rows of unknown side in the subgroup, as one of the group and as one of the
    # others, for those with the outcome and those without; and their number.
    missing: np.ndarray
    n_missing: int

    @classmethod
    def of(
        cls,
        rows: MeasuredRows,
        members: Sequence[np.ndarray],
        *,
        missing: np.ndarray,
        n_missing: int,
        lesser: Iterable[Rung] | None = None,
    ) -> SearchSums:
        """Sum over rows, members of every set in the order of ``SETS``, and of those after them.

        By the rows' own lesser models or by these.
        """
        distinct: list[np.ndarray] = []
        places: list[int] = []
        for member in members:
            same = (i for i, own in enumerate(distinct) if np.array_equal(own, member))
            places.append(next(same, len(distinct)))
            if places[-1] == len(distinct):
                distinct.append(member)
        counted = SetSums.each(rows, distinct, rows.lesser if lesser is None else lesser)
        first = dict.fromkeys(places[: len(SETS)])
        plain = {place: rows.rates(rows.base, distinct[place]) for place in first}
        return cls(
            sets=tuple(counted[place] for place in places),
            plain=tuple(plain[place] for place in places[: len(SETS)]),
            missing=missing,
            n_missing=n_missing,
        )

    def settled(self) -> SearchSums:
        """Without single rows, where nothing is added any more and none would be redrawn."""
        return self._with_leaks(LeakSums.settled)

    def shortened(self) -> SearchSums:
        """Of single rows only those that would be redrawn one by one."""
        return self._with_leaks(LeakSums.shortened)

    def _with_leaks(self, change: Callable[[LeakSums], LeakSums]) -> SearchSums:
        sets = tuple(replace(own, leak=change(own.leak)) for own in self.sets)
        return replace(self, sets=sets)

    @property
    def everybody(self) -> SetSums:
        """Of everybody compared."""
        return self.sets[EVERYBODY]

    @property
    def region(self) -> SetSums:
        """Of the subgroup."""
        return self.sets[REGION]
