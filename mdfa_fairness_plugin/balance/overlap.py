r"""Common support: where both groups have rows, so that weights can compare them.

Assumption 1 of the paper asks for it; no weights help where it fails. Rows outside are counted
as not auditable, and left out or refused as asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.exceptions import Count, InputError, Message, OverlapError

# A row is looked at only where one group is more than nine times as frequent as
# the other, each relative to its size: the 0.1 to 0.9 of Crump et al. (2009).
_LARGEST_RATIO = 9.0
# ... and is isolated there if fewer than this many rows of the other group are as extreme.
_COMPARABLE_ROWS = 10
# With more than this share of the rows outside, what is left is not what was asked about. Above one
# half, so that half an overlap is still audited and described.
_MOST_ROWS = 0.6


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """Which rows have comparable rows in the other group.

    Parameters
    ----------
    mask : ndarray of bool of shape (n,)
        True inside common support.
    n_outside : int
        Rows outside.
    n_outside_group, n_outside_reference : int
        Those of S = +1 and of S = -1.
    share_outside : float
        Weighted share of rows outside.
    message : str
        The same in words; empty if every row is inside.
    """

    mask: np.ndarray
    n_outside: int
    n_outside_group: int
    n_outside_reference: int
    share_outside: float
    message: str


def support(propensity, s, sample_weight=None):
    r"""Rows inside common support.

    A row is outside if both hold:

    - its group is more than nine times as frequent around it as the other group, each relative
      to its size: ``e / (1 - e)`` beyond nine times (or below a ninth of) the overall odds;
    - fewer than ten rows of the other group (fewer in groups below 1,000 rows: one in a
      hundred, but at least three) have a propensity as extreme as its own.

    Parameters
    ----------
    propensity : ndarray of shape (n,)
        ``Pr[S = +1 | x]``, out of fold.
    s : ndarray of shape (n,)
        In {-1, +1}.
    sample_weight : ndarray of shape (n,) or None, default=None
        Weights of mean about one; rows are counted by weight.

    Returns
    -------
    inside : ndarray of bool of shape (n,)

    Notes
    -----
    Both conditions are needed. Without the first, the most extreme rows of any two samples,
    however alike, would be cut off; without the second, a rare group would be cut off for
    being rare. Where the features determine S every row is outside, whatever values the
    propensity model gives, as long as it ranks the groups apart.
    """
    e = np.asarray(propensity, dtype=float)
    s = np.asarray(s)
    weight = np.ones(len(s)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
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
    propensity,
    s,
    *,
    sample_weight=None,
    policy="trim",
    tolerance=0.0,
    min_rows=30,
    group="the group",
    reference="the other groups",
):
    """Find the rows outside common support, and refuse if asked or if little is left.

    Parameters
    ----------
    propensity, s, sample_weight : ndarray of shape (n,)
        As in ``support``.
    policy : {"trim", "refuse"}, default="trim"
        "refuse" raises if more than ``tolerance`` of the rows are outside; "trim" reports
        them, and raises only if fewer than ``min_rows`` rows of a group, or four in ten of all rows,
        would be left.
    tolerance : float, default=0.0
        Share of rows outside that "refuse" puts up with.
    min_rows : int, default=30
        Rows each group must keep.
    group, reference : str
        How the message names the two groups.

    Returns
    -------
    support : Support

    Raises
    ------
    OverlapError
        With the counts, what they mean and what to do.
    """
    if policy not in ("trim", "refuse"):
        raise InputError(f"overlap: 'trim' or 'refuse' expected, {policy!r} found.")
    s = np.asarray(s)
    weight = np.ones(len(s)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    mask = support(propensity, s, sample_weight)
    outside = ~mask
    positive = s > 0
    n_outside = int(outside.sum())
    n_outside_group = int((outside & positive).sum())
    n_outside_reference = n_outside - n_outside_group
    share_outside = float(weight[outside].sum() / weight.sum()) if len(s) else 0.0
    n_group, n_reference = int(positive.sum()), int((~positive).sum())
    message = Message(
        Count(n_outside, of=len(s), said=f"{n_outside} of {len(s)} rows ({share_outside:.1%})"),
        " have no comparable row on the other side: ",
        _rows_of(n_outside_group, n_group),
        f" of {group} and ",
        _rows_of(n_outside_reference, n_reference),
        f" of {reference}. Their features nearly tell which group they belong to, so like cannot be "
        "compared with like there, whatever the weights.",
    )
    found = Support(
        mask=mask,
        n_outside=n_outside,
        n_outside_group=n_outside_group,
        n_outside_reference=n_outside_reference,
        share_outside=share_outside,
        message=message if n_outside else "",
    )
    left = (n_group - n_outside_group, n_reference - n_outside_reference)
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
    elif policy == "refuse" and share_outside > tolerance:
        advice = (
            " Audit fewer or coarser features, or pass overlap='trim' to leave those rows out and "
            "have the report count them.",
        )
    if advice:
        raise OverlapError(Message("sensitive_features: ", message, *advice))
    return found


def _rows_of(n: int, of: int) -> Count:
    return Count(n, of=of, said=f"{n} of the {of} rows")


def effective_sample_size(weights):
    r"""Kish's effective sample size, :math:`(\sum w)^2 / \sum w^2`.

    Parameters
    ----------
    weights : ndarray of shape (n,)

    Returns
    -------
    size : float
        Number of equally weighted rows with the same precision; 0 if all weights are zero.

    Examples
    --------
    >>> import numpy as np
    >>> effective_sample_size(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    weights = np.asarray(weights, dtype=float)
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _isolated(e, extreme, other, weight, needed):
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
