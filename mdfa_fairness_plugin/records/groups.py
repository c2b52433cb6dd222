"""Records of every group of a sensitive feature: how many, with which outcomes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from mdfa_fairness_plugin.fields import Record, number, said, several


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupCounts(Record):
    """Rows of one group, or of those whose value is not known, compared or not.

    Parameters
    ----------
    sensitive_feature : str
    group : hashable or None
        Its value; a tuple for a combination of features.
    known : bool
        Whether that is a value; else these are the rows without one.
    counts : tuple of int of shape (n_outcomes,)
        Rows by outcome, in the order of the result's ``outcome_labels``.
    rates : tuple of float of shape (n_outcomes,)
        Rate of each outcome, weighted; NaN without rows. Of an outcome that is a number, of which
        there is one count of all rows, the mean.
    share : float
        Share of all rows.
    counted : tuple of int
        Of a number its distinct values, rows with another than the commonest, and rows with the rarest;
        empty otherwise.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    sensitive_feature: str = field(default="", metadata=said("always", json="label"))
    group: Hashable | None = field(default=None, metadata=said("always", json="label"))
    known: bool = field(default=True, metadata=said("always", settle=bool))
    counts: tuple[int | None, ...] = several("rule")
    rates: tuple[float, ...] = several("rule")
    share: float = number("rule")
    counted: tuple[int, ...] = field(default=(), metadata=said("never", settle=tuple, json="told"))
