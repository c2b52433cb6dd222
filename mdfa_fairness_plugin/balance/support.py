r"""Common support: where both groups have rows, so that weights can compare them.

Assumption 1 of the paper asks for it; no weights help where it fails. Rows outside are counted
as not auditable, and left out or refused as asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.exceptions import Count, Message, OverlapError
from mdfa_fairness_plugin.numerics.basis import as_weights

# A row is looked at only where one group is more than nine times as frequent as
# the other, each relative to its size: the 0.1 to 0.9 of Crump et al. (2009).
_LARGEST_RATIO = 9.0
# ... and is isolated there if fewer than this many rows of the other group are as extreme.
_COMPARABLE_ROWS = 10
# With more than this share of the rows outside, what is left is not what was asked about. Above one
# half, so that half an overlap is still audited and described.
_MOST_ROWS = 0.6
# A few rows at the edge of any two groups have no counterpart; from this share on they are many.
MANY_OUTSIDE = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """Which rows have comparable rows in the other group."""

    mask: np.ndarray  # True inside
    n_outside: int
    share_outside: float  # by weight

    @classmethod
    def of(cls, mask: np.ndarray, weight: np.ndarray) -> Support:
        """Count what is outside."""
        share = float(weight[~mask].sum() / weight.sum()) if len(mask) else 0.0
        return cls(mask=mask, n_outside=int((~mask).sum()), share_outside=share)


def common_support(
    propensity: np.ndarray, s: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    r"""Rows inside common support, counted by weights of mean about one.

    A row is outside if both hold:

    - its group is more than nine times as frequent around it as the other group, each relative
      to its size: ``e / (1 - e)`` beyond nine times (or below a ninth of) the overall odds;
    - fewer than ten rows of the other group (fewer in groups below 1,000 rows: one in a
      hundred, but at least three) have a propensity as extreme as its own.

    Without the first, the most extreme rows of any two samples, however alike, would be cut off;
    without the second, a rare group would be cut off for being rare. Where the features determine S
    every row is outside, whatever values the propensity model gives, as long as it ranks the groups
    apart.
    """
    e = np.asarray(propensity, dtype=float)
    weight = as_weights(sample_weight, len(s))
    positive = s > 0
    total = np.array([weight[~positive].sum(), weight[positive].sum()])
    if total.min() <= 0:
        return np.zeros(len(s), dtype=bool)
    with np.errstate(divide="ignore"):
        log_ratio = np.log(e) - np.log1p(-e) - math.log(total[1] / total[0])
    needed = np.clip(0.01 * total, 3, _COMPARABLE_ROWS)
    # S = +1 rows need enough S = -1 rows at or above their propensity, and the other way round.
    high = log_ratio > math.log(_LARGEST_RATIO)
    low = log_ratio < -math.log(_LARGEST_RATIO)
    return ~(
        _isolated(e, high, ~positive, weight, needed[0])
        | _isolated(-e, low, positive, weight, needed[1])
    )


def check_support(
    propensity: np.ndarray,
    s: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
    policy: str = "trim",
    min_rows: int = 30,
) -> Support:
    """Find the rows outside common support, and refuse if asked or if little is left.

    "refuse" raises ``OverlapError`` if any row is outside; "trim" reports them, and raises only if
    fewer than ``min_rows`` rows of a group, or four in ten of all rows, would be left.
    """
    weight = as_weights(sample_weight, len(s))
    mask = common_support(propensity, s, weight)
    positive = s > 0
    n_group, n_reference = int(positive.sum()), int((~positive).sum())
    out_of_group, out_of_reference = int((~mask & positive).sum()), int((~mask & ~positive).sum())
    found = Support.of(mask, weight)
    n_outside, share_outside = found.n_outside, found.share_outside
    left = (n_group - out_of_group, n_reference - out_of_reference)
    advice: tuple[str | Count, ...] = ()
    if n_outside and min(left) < min_rows:
        advice = (
            " Leaving them out would keep ",
            Count(left[0], unit="", said=f"only {left[0]}"),
            " and ",
            Count(left[1], said=f"{left[1]} rows"),
            f", and at least {min_rows} of each are needed. Audit fewer or coarser features: leave "
            "out those that stand in for the sensitive attribute.",
        )
    elif share_outside > _MOST_ROWS:
        advice = (
            " What is left is too little to speak for the whole. Audit fewer or coarser features: "
            "leave out those that stand in for the sensitive attribute.",
        )
    elif policy == "refuse" and share_outside > 0:
        advice = (
            " Audit fewer or coarser features, or pass overlap='trim' to leave those rows out and "
            "have the report count them.",
        )
    if advice:
        said = f"{n_outside} of {len(s)} rows ({100 * share_outside:.1f} %)"
        message = Message(
            "sensitive_features: ",
            Count(n_outside, of=len(s), said=said),
            " have no comparable row on the other side: ",
            _rows_of(out_of_group, n_group),
            " of the group and ",
            _rows_of(out_of_reference, n_reference),
            " of the other groups. Their features nearly tell which group they belong to, so like "
            "cannot be compared with like there, whatever the weights.",
        )
        raise OverlapError(Message(message, *advice))
    return found


def _rows_of(n: int, of: int) -> Count:
    return Count(n, of=of, said=f"{n} of the {of} rows")


def effective_sample_size(weights: np.ndarray) -> float:
    r"""Kish's effective sample size, :math:`(\sum w)^2 / \sum w^2`; 0 if all weights are zero."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _isolated(
    e: np.ndarray, extreme: np.ndarray, other: np.ndarray, weight: np.ndarray, needed: float
) -> np.ndarray:
    """Extreme rows with less than the needed weight of the other group at or above them."""
    if not extreme.any():
        return extreme
    # Few rows are extreme, and no others need sorting.
    rivals = np.flatnonzero(other & (e >= e[extreme].min()))
    rivals = rivals[np.argsort(e[rivals], kind="stable")]
    beyond = np.append(np.cumsum(weight[rivals][::-1])[::-1], 0.0)
    first = int(np.argmax(beyond * (1 + 1e-12) < needed))
    # Rows beyond the last rival that has enough at or above it have too few.
    return extreme & (e > e[rivals[first - 1]]) if first else extreme
