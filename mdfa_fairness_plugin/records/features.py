"""Record of a feature: what was stated of it, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass, field

from mdfa_fairness_plugin.fields import Record, said, several, text


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
