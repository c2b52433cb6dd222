"""Records of a feature, and of every group of a sensitive feature."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from mdfa_fairness_plugin.fields import Record, number, said, several, text


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditedFeature(Record):
    """One audited feature.

    Parameters
    ----------
    feature : str
    reason : str
        Why it is used, as stated; empty if that was not.
    protected : bool
        Whether it was said to measure a protected trait.
    tells : tuple of float of shape (n_searches,)
        How often the feature alone tells the two sides of each search apart, both counting alike: .5
        is a guess, 1 always. Everybody is told by the others. NaN if a side has nobody.
    ratio_without : tuple of float of shape (n_searches,)
        Ratio of each search with people not held equal in the feature; NaN unless
        ``AuditResult.explained`` measured it.
    difference_without : tuple of float
        Likewise the difference of means, in units of the outcome, of searches that go by it; empty if
        none does.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    feature: str = text("always")
    reason: str = text("always")
    protected: bool = field(default=False, metadata=said("always", settle=bool))
    tells: tuple[float, ...] = several("rule")
    ratio_without: tuple[float, ...] = several("rule")
    difference_without: tuple[float, ...] = field(
        default=(), metadata=said("rule", settle=tuple, json="told")
    )


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
