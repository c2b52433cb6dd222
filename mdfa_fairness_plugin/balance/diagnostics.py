"""How alike weights make the features of two sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance.mmd import diagnose_mmd
from mdfa_fairness_plugin.balance.support import Support, effective_sample_size
from mdfa_fairness_plugin.fields import said
from mdfa_fairness_plugin.numerics.basis import Moments, Standardiser, as_rows, chunks
from mdfa_fairness_plugin.numerics.rows import RowView


@dataclass(frozen=True, kw_only=True, eq=False)
class BalanceDiagnostics:
    """How alike the two groups' features are, before and after weighting.

    Parameters
    ----------
    method : str
        One of ``BALANCERS``, "given" for an array, or the class name of an object.
    mmd_before, mmd_after : float
        Maximum mean discrepancy, Gaussian kernel of median bandwidth on standardised features.
    mmd_by_chance : float
        What ``mmd_after`` would be around if only chance were left, at this effective sample size.
    smd_before, smd_after : dict of str to float
        Standardised mean difference of each encoded feature: difference of the group means over
        the pooled standard deviation before weighting.
    effective_sample_size : tuple of (float, float)
        Kish's, of S = +1 and S = -1, after weighting.
    largest_weight : float
        Relative to the mean weight of its group.
    share_outside_support : float
        Weighted share of rows without comparable rows in the other group.
    n_outside_support : int
        Their number.
    """

    method: str = field(metadata=said("always"))
    mmd_before: float = field(metadata=said("rule"))
    mmd_after: float = field(metadata=said("rule"))
    mmd_by_chance: float = field(metadata=said("never"))
    smd_before: dict[str, float] = field(metadata=said("rule"))
    smd_after: dict[str, float] = field(metadata=said("rule"))
    effective_sample_size: tuple[float, float] = field(metadata=said("rule"))
    largest_weight: float = field(metadata=said("never"))
    share_outside_support: float = field(metadata=said("rule"))
    n_outside_support: int = field(metadata=said("rule"))

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, ready for JSON."""
        plain = asdict(self)
        plain["effective_sample_size"] = list(self.effective_sample_size)
        return plain


@dataclass(frozen=True, kw_only=True, eq=False)
class Distances:
    """What is between the groups before and after weighting."""

    mmds: np.ndarray  # (2,)
    by_chance: float
    differences: np.ndarray  # (2, d), standardised mean differences

    @classmethod
    def of(
        cls, X: np.ndarray | RowView, s: np.ndarray, base: np.ndarray, weights: np.ndarray
    ) -> Distances:
        """Measure weights, given without the sampling weights ``base``."""
        X, after = as_rows(X), base * weights
        differences, standardise = _mean_differences(X, s, base, after)
        mmds, by_chance = diagnose_mmd(
            X, s, (base, after), base_weight=base, standardise=standardise
        )
        return cls(mmds=mmds, by_chance=by_chance, differences=differences)

    def turned(self) -> Distances:
        """Seen from the other side."""
        return replace(self, differences=0.0 - self.differences)


def diagnose(
    distances: Distances,
    s: np.ndarray,
    weights: np.ndarray,
    *,
    method: str,
    base: np.ndarray,
    places: Mapping[str, int],
    support: Support,
) -> BalanceDiagnostics:
    """Diagnostics of weights; ``places`` are features' columns, ``support`` is as before trimming."""
    after = base * weights
    group, others = s > 0, s < 0
    before, afterwards = (
        {name: one[place] for name, place in places.items()}
        for one in distances.differences.tolist()
    )
    return BalanceDiagnostics(
        method=method,
        mmd_before=float(distances.mmds[0]),
        mmd_after=float(distances.mmds[1]),
        mmd_by_chance=distances.by_chance,
        smd_before=before,
        smd_after=afterwards,
        effective_sample_size=(
            effective_sample_size(after[group]),
            effective_sample_size(after[others]),
        ),
        largest_weight=max(
            float(weights[rows].max() / np.average(weights[rows], weights=base[rows]))
            for rows in (group, others)
        ),
        share_outside_support=support.share_outside,
        n_outside_support=support.n_outside,
    )


def _mean_differences(
    X: Any, s: np.ndarray, before: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, Standardiser]:
    """Standardised mean differences of every column before and after, and the overall scale."""
    n, d = len(s), X.shape[1]
    positive = s > 0
    sides = (Moments(d), Moments(d))
    sums, totals = np.zeros((2, d)), np.zeros(2)  # after weighting
    # Measured from any row: a large mean costs no digits of a small difference.
    origin = X[:1]
    for own in chunks(n, d):
        for side, moments in enumerate(sides):
            chosen = np.flatnonzero(positive[own] if side == 0 else ~positive[own]) + own.start
            block = X[chosen] - origin
            moments.add(block, before[chosen])
            sums[side] += after[chosen] @ block
            totals[side] += after[chosen].sum()
    group, reference = sides
    both = group + reference
    spread = np.sqrt((group.variance + reference.variance) / 2.0)
    # A feature constant within both groups tells them apart: fall back to its overall spread.
    spread = np.where(spread > 1e-9 * both.spread, spread, both.spread)
    after_means = sums / totals[:, None]
    found = np.stack([group.mean - reference.mean, after_means[0] - after_means[1]])
    # In a constant feature any difference is rounding.
    differences = np.divide(found, spread, out=np.zeros((2, d)), where=~both.constant)
    standardise = Standardiser.of(both)
    return differences, replace(standardise, centre=standardise.centre + origin[0])
