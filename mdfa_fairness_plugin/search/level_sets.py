r"""Level sets of a score and what is measured in each (Section 3.3, Algorithm 1's every iterate).

At the population level the regions Algorithm 1 visits are the nested level sets of one function of
``x``, so a search is a score, and its whole path is read off by sorting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.measure.estimates import (
    Leftover,
    Rates,
    by_cluster,
    measure,
    measure_leftover,
)
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.means import Means
from mdfa_fairness_plugin.measure.sums import ValueOf, per_dose
from mdfa_fairness_plugin.numerics.rows import RowView, marked
from mdfa_fairness_plugin.records import WorstCasePath

# Scores of more rows are counted in this many bins, each of an equal share of them: a cut is then
# off by at most one row in two thousand.
MOST_BINS = 2048
# Sets looked at together for the smallest that is large enough, which few sets are smaller than.
_ENDS_AT_ONCE = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Models:
    """Fitted models of a ground, and from which side and for which outcome a search looks at them."""

    propensity: CrossFittedProbability
    outcome: CrossFittedProbability
    fitted: Any  # ``FittedOutcome``: has the difference of rates
    flip_s: bool
    flip_y: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchData:
    """Arrays of one (group, outcome) search, the comparable rows only."""

    X: RowView  # (n, d)
    s: np.ndarray  # (n,); in {-1, +1}; +1 is the audited group
    value: np.ndarray  # (n,); whether the row has the audited outcome or, of a number, how much
    base: np.ndarray  # (n,); sampling weights, and those times the balancing weights
    weights: np.ndarray
    folds: np.ndarray  # (n,); learning fold of each row; -1 for rows kept for evaluation only
    # (n,); rows that estimates are made on: judged by a model that has not seen them.
    held_out: np.ndarray
    alpha: float  # smallest mass of a region
    confidence_level: float
    # Widens the intervals of regions that were searched for; everybody's stays as it is.
    spread: float = 1.0
    cluster: np.ndarray | None = None  # (n,); whose row each is; None: each somebody else's
    # (n,); ``Pr[S = +1 | x]`` and ``Pr[Y = y | x]`` out of fold.
    propensity: np.ndarray | None = None
    outcome: np.ndarray | None = None
    # Whether the weights aim to balance the features, so that what is left of imbalance is to be
    # taken out of intervals.
    adjusts: bool = False
    # (n,); their places among the working rows.
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    parts: tuple[int, ...] = ()  # folds judged
    # Folds of the other repeats of cross-fitting; models of the first judge by ``folds``.
    other_folds: tuple[np.ndarray, ...] = ()
    tells_alone: bool = True  # whether what each repeat finds is asked for
    models: Models | None = None
    weighing: Any = None  # ``Weighing`` that the weights are by
    maps: Any = None  # ``FeatureMap`` of each part, where models see a network's features
    kind: type[Rates] = Rates  # what both sides are compared by
    of: ValueOf = field(default_factory=ValueOf)
    counted: np.ndarray | None = None  # (n,); place of each row among what is counted
    dose: np.ndarray | None = None  # (n,); of a slope, see ``MeasuredRows``
    # The same people by yes and no, of a number that says as much.
    searched: SearchData | None = None

    @property
    def share(self) -> float:
        """Smallest share of the people in a region, if as many as of all have the outcome."""
        return min(self.alpha / float(np.average(self.value, weights=self.base)), 1.0)

    @property
    def scale(self) -> float:
        """How much one who has any has, of a number that is searched by yes and no; else 1."""
        return 1.0 if self.searched is None else float(self.value[np.argmax(np.abs(self.value))])

    def expected(self, modelled: np.ndarray) -> np.ndarray:
        """What models say of the outcome, whose complement they may be fitted to."""
        whole = self.whole if self.searched is None else 1.0
        flip = self.models is not None and self.models.flip_y
        own = whole - modelled if flip else modelled
        return own if self.searched is None else self.scale * own

    @property
    def of_means(self) -> bool:
        """Whether the outcome is a number."""
        return issubclass(self.kind, Means)

    @property
    def positive(self) -> np.ndarray:
        """Whether the row has the audited outcome; of a number, whether more than is expected of it."""
        if not self.of_means:
            return self.value
        expected = self.outcome
        return self.value > (np.average(self.value) if expected is None else expected)

    @property
    def whole(self) -> float:
        """What an outcome and its complement add up to."""
        return 1.0 if self.value.dtype == bool else 0.0

    @property
    def summed(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Values, those predicted and weights, as rates are summed over them."""
        if self.dose is None or self.outcome is None:
            return self.value, self.outcome, self.weights
        value, outcome, weights = per_dose(self.dose, self.value, self.outcome, self.weights)
        return value, outcome, weights

    def with_maps(self, maps: Any, weighing: Any) -> SearchData:
        """The search with models that see other features, and weights of its own."""
        return replace(self, maps=maps, weighing=weighing, weights=self.base * weighing.weights)

    @property
    def deciding(self) -> np.ndarray:
        """Held-out rows that choose the region: those of the learning folds, if any are held out.

        Beyond the rows that are learned from more of them would hardly change the choice.
        """
        sampled = self.held_out & (self.folds >= 0)
        return sampled if sampled.any() else self.held_out

    def take(self, rows: np.ndarray) -> SearchData:
        """Give these rows only."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(
            self,
            X=self.X.take(rows),
            **{
                name: value[rows]
                for name, value in values.items()
                if isinstance(value, np.ndarray) and len(value) == len(self.s)
            },
            other_folds=tuple(folds[rows] for folds in self.other_folds),
        )

    def leftover(self, member: np.ndarray) -> Leftover | None:
        """What the features leave of the outcome inside; None if it has no part in intervals."""
        value, outcome, weights = self.summed
        if not self.adjusts or outcome is None:
            return None
        return measure_leftover(value, self.s, weights, outcome, member, self.cluster)

    def rates(self, member: np.ndarray) -> Rates:
        """Weighted counts inside a set of the rows."""
        value, _, weights = self.summed
        return measure(value, self.s, weights, member, self.cluster, self.kind)

    def reported_rates(self, member: np.ndarray) -> Rates:
        """Rates inside, at the same features where these are to be made alike."""
        return self.rates(member).at_same_features(self.leftover(member))

    def delta(self, member: np.ndarray) -> float:
        """Log ratio inside, of the same rates."""
        return self.reported_rates(member).delta

    def limit(self, member: np.ndarray) -> float:
        """Lower limit of the log ratio inside; a set smaller than everybody was searched for."""
        spread = 1.0 if (member == self.held_out).all() else self.spread
        return delta_interval(
            self.rates(member), self.confidence_level, spread, self.leftover(member)
        )[0]

    def tally(self, bins: Bins, index: np.ndarray, part: np.ndarray, n_parts: int) -> Tally:
        """Counts of the held-out rows by the bin of their score; ``part`` is theirs."""
        held = marked(self.held_out)
        cluster = None if self.cluster is None else self.cluster[held]
        of = Tally.of_means if self.of_means else Tally.of
        value, outcome, weights = self.summed
        return of(
            index,
            len(bins),
            self.s[held],
            value[held],
            weights[held],
            part,
            n_parts,
            predicted=outcome[held] if self.adjusts and outcome is not None else None,
            cluster=cluster,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelSets:
    """Measurements of the sets ``{score >= threshold}``, one per threshold."""

    threshold: np.ndarray  # (n_sets,)
    delta: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mass: np.ndarray
    # (n_sets,); standard error of delta; finite with empty cells too, half a row being added to
    # each.
    error: np.ndarray
    n_rows: np.ndarray  # (n_sets,)
    fewest: np.ndarray  # (n_sets,); rows of the S value that has fewer of them

    def recorded(self) -> WorstCasePath:
        """As a result keeps them."""
        return WorstCasePath(
            delta=self.delta,
            mass=self.mass,
            n_rows=self.n_rows,
            threshold=self.threshold,
            interval_low=self.low,
            interval_high=self.high,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """Intervals of a score; what is counted in them adds up over any parts of the rows."""

    # (n_bins,); lower ends, ascending. The first bin also holds whatever lies below it.
    edges: np.ndarray
    exact: bool  # whether each bin holds a single score

    @classmethod
    def of(cls, scores: np.ndarray) -> Bins:
        """Give a bin to every score, or one to equal shares of the rows where these are many."""
        # Most scores of many rows differ: their first few show it.
        first = np.unique(scores[: 4 * MOST_BINS])
        if len(first) <= MOST_BINS:
            edges = first if len(scores) <= 4 * MOST_BINS else np.unique(scores)
            if len(edges) <= MOST_BINS:
                return cls(edges=edges, exact=True)
        ranked = np.sort(scores)
        edges = np.unique(ranked[np.linspace(0, len(ranked) - 1, MOST_BINS).astype(np.intp)])
        return cls(edges=edges, exact=False)

    def __len__(self) -> int:
        return len(self.edges)

    def index(self, scores: np.ndarray) -> np.ndarray:
        """Bin of each score."""
        return np.maximum(np.searchsorted(self.edges, scores, side="right") - 1, 0)


@dataclass(frozen=True, eq=False)
class Tally:
    """Weighted counts by bin of a score and by S: all a search's path is read from. Parts add up."""

    # (..., n_counts, 2, n_bins); leading axes are parts of the rows.
    counts: np.ndarray
    # Places in it, for S = +1 and S = -1, of: rows, sums of their weights, of squared weights, and
    # the last two for the rows with Y = y; of the weights times the predicted outcome; and
    # ``Rates.clustered``, which without clusters are squares that are there already.
    which: tuple[int, ...] = tuple(range(9))

    @classmethod
    def of(
        cls,
        index: np.ndarray,
        n_bins: int,
        s: np.ndarray,
        positive: np.ndarray,
        weights: np.ndarray,
        part: np.ndarray,
        n_parts: int,
        *,
        predicted: np.ndarray | None = None,
        cluster: np.ndarray | None = None,
    ) -> Tally:
        """Count every part of the rows.

        Of a cluster's weight a row answers for its own share times all of it: exact for sets that
        have all or none of a cluster, too much for others, and adds up over bins.
        Without a predicted outcome the rates are the plain ones.
        Shapes: ``index``, ``s``, ``positive``, ``weights``, ``part``, ``predicted``, ``cluster`` (n,).
        """
        cell = part.astype(np.intp)
        for times, place in ((2, s < 0), (2, positive), (n_bins, index)):
            cell *= times  # in place: of many rows each number is large
            cell += place
        shape = (n_parts, 2, 2, n_bins)

        def split(amount: np.ndarray | None) -> np.ndarray:
            return np.bincount(cell, amount, n_parts * 4 * n_bins).reshape(shape)

        rows, weight, squares = split(None), split(weights), split(weights**2)
        counts = [rows.sum(axis=2), weight.sum(axis=2), squares.sum(axis=2)]
        counts += [weight[:, :, 1], squares[:, :, 1]]
        # A prediction that is the same for all leaves the rates as they are.
        counts.append(
            0.5 * counts[1] if predicted is None else split(weights * predicted).sum(axis=2)
        )
        if cluster is None:
            return cls(np.stack(counts, axis=1), (*range(6), 2, 4, 4))
        side = (s < 0).astype(np.intp)
        sums = by_cluster(cluster, side, weights, weights * positive)[:2]
        by_weight, by_hits = (split(weights * own[2 * cluster + side]) for own in sums)
        counts += [by_weight.sum(axis=2), by_hits[:, :, 1], by_weight[:, :, 1]]
        return cls(np.stack(counts, axis=1))

    @classmethod
    def of_means(
        cls,
        index: np.ndarray,
        n_bins: int,
        s: np.ndarray,
        value: np.ndarray,
        weights: np.ndarray,
        part: np.ndarray,
        n_parts: int,
        *,
        predicted: np.ndarray | None = None,
        cluster: np.ndarray | None = None,
    ) -> Tally:
        """Sum a number instead; what errs is what is not predicted of it. Arguments as for ``of``."""
        side = (s < 0).astype(np.intp)
        expected = predicted
        if expected is None:
            expected = np.full(
                len(value), np.average(value, weights=weights) if len(value) else 0.0
            )
        left = weights * (value - expected)
        both = [weights, left]
        if cluster is not None:
            *sums, _ = by_cluster(cluster, side, *both)
            both = [own[2 * cluster + side] for own in sums]
        products = (weights * both[0], left * both[1], left * both[0])
        sizes = (None, weights, weights**2)
        amounts = (*sizes, weights * value, products[1], weights * expected, *products)
        cell = (part.astype(np.intp) * 2 + side) * n_bins + index
        shape = (n_parts, 2, n_bins)
        each = [np.bincount(cell, own, 2 * n_parts * n_bins).reshape(shape) for own in amounts]
        return cls(np.stack(each, axis=1))

    def total(self, without: int | None = None) -> Tally:
        """Sum of the parts, of all or of all but one."""
        kept = [i for i in range(len(self.counts)) if i != without]
        counts = self.counts[kept[0]].copy() if kept else np.zeros(self.counts.shape[1:])
        for i in kept[1:]:
            counts += self.counts[i]
        return replace(self, counts=counts)

    def __add__(self, other: Tally) -> Tally:
        return replace(self, counts=self.counts + other.counts)


class Sweep:
    """Counts of the rows at or above each edge of a score's bins."""

    def __init__(
        self,
        tally: Tally,
        bins: Bins,
        confidence_level: float,
        spread: float,
        kind: type[Rates] = Rates,
    ) -> None:
        self._edges = bins.edges
        self._exact = bins.exact
        self.kind = kind
        self.confidence_level = confidence_level
        self.spread = spread
        # Running sums from the last bin down.
        self._which = list(tally.which)
        self._above = np.zeros((*tally.counts.shape[:-1], len(bins) + 1))
        np.cumsum(tally.counts[..., ::-1], axis=-1, out=self._above[..., 1:])

    @classmethod
    def of(cls, data: SearchData, scores: np.ndarray) -> Sweep:
        """Count the held-out rows of a search by a score, larger being worse treated."""
        own = scores[marked(data.held_out)]
        bins = Bins.of(own)
        tally = data.tally(bins, bins.index(own), np.zeros(len(own), dtype=np.uint8), 1)
        return cls(tally.total(), bins, data.confidence_level, data.spread, data.kind)

    def at(self, thresholds: np.ndarray) -> LevelSets:
        """Measure the level sets of these thresholds."""
        return measure_sets([(self, thresholds)])

    def counts_at(self, thresholds: np.ndarray) -> np.ndarray:
        """Counts of the tally above thresholds, and the weights of all."""
        above = self._above[..., self._ends(thresholds)][self._which]
        total = np.broadcast_to(self._above[1:2, :, -1:], (1, *above.shape[1:]))
        return np.concatenate([above, total])

    def snap(self, threshold: float) -> float:
        """Next edge at or above a threshold, unless bins are single scores and tell any sets apart."""
        end = int(self._ends(np.array([threshold]))[0])
        if self._exact or end == 0 or not np.isfinite(threshold):
            return threshold
        return float(self._edges[-end])

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """Largest edges that the given shares of the rows reach."""
        reached = self._above[0].sum(axis=0)
        wanted = np.maximum(np.ceil(np.asarray(shares) * reached[-1] - 1e-9), 1)
        ends = np.clip(np.searchsorted(reached, wanted, side="left"), 1, len(self._edges))
        return self._edges[len(self._edges) - ends]

    def smallest(self, alpha: float, fewest: int) -> float:
        """Give the largest threshold whose set has the mass and the rows asked for."""
        total = self._above[1][:, -1:]
        # The first end from which on the set is large enough: mass need not be monotone.
        for start in range(0, len(self._edges) + 1, _ENDS_AT_ONCE):
            count, weight, _, hits = self._above[:4, :, start : start + _ENDS_AT_ONCE]
            with np.errstate(invalid="ignore", divide="ignore"):
                share = (weight / total).mean(axis=0)
                rate = 1.0 if issubclass(self.kind, Means) else (hits / weight).mean(axis=0)
                mass = np.nan_to_num(share * rate)
            enough = (mass >= alpha) & (count.min(axis=0) >= fewest)
            if enough.any():
                return float(self._edges[-max(start + int(np.argmax(enough)), 1)])
        return -np.inf

    def _ends(self, thresholds: np.ndarray) -> np.ndarray:
        """Number of bins at or above each threshold."""
        return len(self._edges) - np.searchsorted(self._edges, thresholds, side="left")


def measure_sets(asked: Sequence[tuple[Sweep, np.ndarray]]) -> LevelSets:
    """Measure level sets of several scores of the same rows at once, one after the other."""
    first = asked[0][0]
    thresholds = [np.asarray(some, dtype=float) for _, some in asked]
    counts = [sweep.counts_at(some) for (sweep, _), some in zip(asked, thresholds, strict=True)]
    count, weight, squares, hits, spread, expected, *clustered, total = np.concatenate(
        counts, axis=2
    )
    threshold = np.concatenate(thresholds)
    widening = np.where(np.isneginf(threshold), 1.0, first.spread)
    z = widening * ndtri(0.5 + first.confidence_level / 2.0)
    rates = first.kind(
        weight=weight,
        squares=squares,
        hits=hits,
        spread=spread,
        total=total,
        clustered=np.array(clustered),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        r = first.kind.of_sums(weight, hits, expected)
        share = (weight / total).mean(axis=0)
        if isinstance(rates, Means):
            variance = rates.errors(expected, clustered[2], clustered[1])
            known = np.array([variance, np.full_like(variance, np.inf)])
            error, mass = np.subtract(*rates.limits(r, known, 1.0)[::-1]) / 2.0, share
        else:
            known, mass = rates.effective_sizes, share * r.mean(axis=0)
            padded = (np.nan_to_num(r) * known + 0.5) / (known + 1.0)
            error = np.sqrt(((1.0 - padded) / (padded * (known + 1.0))).sum(axis=0))
    low, high = first.kind.limits(r, known, z)
    return LevelSets(
        threshold=threshold,
        delta=first.kind.effect(r),
        low=low,
        high=high,
        mass=np.nan_to_num(mass),
        error=error,
        n_rows=count.sum(axis=0).astype(np.intp),
        fewest=count.min(axis=0).astype(np.intp),
    )
