"""All that is known of a search after counting; sums of parts of the rows add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from mdfa_fairness_plugin.measure.estimates import (
    Leftover,
    Rates,
    measure,
    measure_leftover,
    robust_sums,
)
from mdfa_fairness_plugin.measure.tests import LeakSums

# Sets of rows measured in every search.
EVERYBODY, REGION, CORE, RULE = range(4)
SETS = ("everybody", "subgroup", "core", "rule")

Sums = TypeVar("Sums")


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredRows:
    """Rows a search is measured on: none of them had a say in who is inside.

    ``y`` is the place of each row's outcome among ``n_outcomes``; ``base`` are sampling weights,
    ``weights`` those times the balance's; ``propensity`` and ``outcome`` are predictions out of fold.
    """

    s: np.ndarray
    positive: np.ndarray
    y: np.ndarray
    n_outcomes: int
    base: np.ndarray
    weights: np.ndarray
    propensity: np.ndarray
    outcome: np.ndarray

    def leak(self, member: np.ndarray) -> LeakSums:
        """Sums of the leak statistic inside a set."""
        return LeakSums.of(self.positive, self.s, self.propensity, self.outcome, self.base, member)

    def counts(self, member: np.ndarray) -> np.ndarray:
        """Rows of a set by S and outcome, shape (2, n_outcomes)."""
        return np.array(
            [
                np.bincount(self.y[member & (self.s == side)], minlength=self.n_outcomes)
                for side in (1, -1)
            ]
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SetSums:
    """Sums over one set of rows; ``counts`` are rows by S and outcome."""

    rates: Rates
    leftover: Leftover
    counts: np.ndarray

    @classmethod
    def of(cls, rows: MeasuredRows, member: np.ndarray) -> SetSums:
        """Sum over the members of a set."""
        return cls(
            rates=measure(rows.positive, rows.s, rows.weights, member),
            leftover=measure_leftover(rows.positive, rows.s, rows.weights, rows.outcome, member),
            counts=rows.counts(member),
        )

    @property
    def n_rows(self) -> int:
        """Rows in the set."""
        return int(self.counts.sum())

    def __add__(self, other: SetSums) -> SetSums:
        return added(self, other)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchSums:
    """Sums of one search.

    Parameters
    ----------
    sets : tuple of SetSums
        Of everybody compared, the region, its core and its rule, see ``SETS``.
    plain : tuple of Rates
        Of everybody and of the region, with sampling weights alone.
    robust : ndarray of shape (5,)
        Of ``robust_sums``, in the region.
    leak : LeakSums
        Of the region.
    missing : ndarray of shape (2, 2)
        Weights of rows of unknown side in the region, as one of the group and as one of the others,
        for those with the outcome and those without.
    n_missing : int
        Their number.
    """

    sets: tuple[SetSums, ...]
    plain: tuple[Rates, ...]
    robust: np.ndarray
    leak: LeakSums
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
                measure(rows.positive, rows.s, rows.base, member)
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
        total = added(self, other)
        object.__setattr__(total, "leak", total.leak.shortened())
        return total


def added(one: Sums, other: Sums) -> Sums:
    """Every field of one added to that of the other."""
    return type(one)(
        **{
            own.name: _sum_of(getattr(one, own.name), getattr(other, own.name))
            for own in fields(one)  # type: ignore[arg-type]
        }
    )


def _sum_of(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(x + y for x, y in zip(a, b, strict=True))
    return a + b
