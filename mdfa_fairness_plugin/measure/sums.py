"""All that is known of a search after counting; sums of parts of the rows add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.measure.estimates import (
    Leftover,
    Rates,
    Sums,
    measure,
    measure_leftover,
    robust_sums,
)
from mdfa_fairness_plugin.measure.leak import LeakSums

# Sets of rows measured in every search.
EVERYBODY, REGION, CORE, RULE = range(4)
SETS = ("everybody", "subgroup", "core", "rule")


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredRows:
    """Rows a search is measured on: none of them had a say in who is inside.

    ``y`` is the place of each row's outcome among ``n_outcomes``; ``base`` are sampling weights,
    ``weights`` those times the balance's; ``propensity`` and ``outcome`` are predictions out of fold;
    ``cluster`` is whose row each is, None if every row is somebody else's.
    """

    s: np.ndarray
    positive: np.ndarray
    y: np.ndarray
    n_outcomes: int
    base: np.ndarray
    weights: np.ndarray
    propensity: np.ndarray
    outcome: np.ndarray
    cluster: np.ndarray | None = None

    def leak(self, member: np.ndarray) -> LeakSums:
        """Sums of the leak statistic inside a set."""
        return LeakSums.of(
            self.positive, self.s, self.propensity, self.outcome, self.base, member, self.cluster
        )

    def counts(self, member: np.ndarray) -> np.ndarray:
        """Rows of a set by S and outcome, shape (2, n_outcomes)."""
        return np.array(
            [
                np.bincount(self.y[member & (self.s == side)], minlength=self.n_outcomes)
                for side in (1, -1)
            ]
        )

    def hit_clusters(self, member: np.ndarray) -> int:
        """Clusters of a set with a row that has the outcome."""
        hits = member & self.positive
        return int(hits.sum()) if self.cluster is None else len(np.unique(self.cluster[hits]))


@dataclass(frozen=True, kw_only=True, eq=False)
class SetSums(Sums):
    """Sums over one set of rows; ``counts`` are rows by S and outcome."""

    rates: Rates
    leftover: Leftover
    counts: np.ndarray
    hit_clusters: int  # with a row that has the outcome

    @classmethod
    def of(cls, rows: MeasuredRows, member: np.ndarray) -> SetSums:
        """Sum over the members of a set."""
        return cls(
            rates=measure(rows.positive, rows.s, rows.weights, member, rows.cluster),
            leftover=measure_leftover(
                rows.positive, rows.s, rows.weights, rows.outcome, member, rows.cluster
            ),
            counts=rows.counts(member),
            hit_clusters=rows.hit_clusters(member),
        )

    @property
    def n_rows(self) -> int:
        """Rows in the set."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchSums(Sums):
    """Sums of one search."""

    sets: tuple[SetSums, ...]  # of everybody compared, the region, its core and its rule
    plain: tuple[Rates, ...]  # of everybody and of the region, with sampling weights alone
    robust: np.ndarray  # ``robust_sums`` in the region
    leak: LeakSums  # of the region
    # (2, 2): weights of rows of unknown side in the region, as one of the group and as one of the
    # others, for those with the outcome and those without; and their number.
    missing: np.ndarray
    n_missing: int

    @classmethod
    def of(
        cls,
        rows: MeasuredRows,
        members: Sequence[np.ndarray],
        *,
        leak: LeakSums,
        missing: np.ndarray,
        n_missing: int,
    ) -> SearchSums:
        """Sum over rows, members of every set in the order of ``SETS``."""
        inside = members[REGION]
        return cls(
            sets=tuple(SetSums.of(rows, member) for member in members),
            plain=tuple(
                measure(rows.positive, rows.s, rows.base, member, rows.cluster)
                for member in (members[EVERYBODY], inside)
            ),
            robust=robust_sums(
                rows.positive, rows.s, rows.base, inside, rows.propensity, rows.outcome
            ),
            leak=leak,
            missing=missing,
            n_missing=n_missing,
        )

    @property
    def everybody(self) -> SetSums:
        """Of everybody compared."""
        return self.sets[EVERYBODY]

    @property
    def region(self) -> SetSums:
        """Of the subgroup."""
        return self.sets[REGION]

    def __add__(self, other: SearchSums) -> SearchSums:
        total = super().__add__(other)
        object.__setattr__(total, "leak", total.leak.shortened())
        return total
