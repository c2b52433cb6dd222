"""Who is harmed most, in one quantity: how much oftener others get the favourable outcome."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from mdfa_fairness_plugin.records.searches import VIOLATION, Violation


@dataclass(frozen=True, kw_only=True)
class Harm:
    """A search told from the side of those who get the favourable outcome less often.

    Whichever outcome was searched for, the number means the same, so that it can be set beside that
    of another model.

    Parameters
    ----------
    sensitive_feature : str
    group : hashable or None
        Those who are worse off in the region; None: everyone but ``reference``.
    reference : hashable or None
        Those who are better off; None: everyone else.
    outcome : hashable
        The favourable outcome.
    ratio : float
        How many times more often ``reference`` gets it than ``group`` does, in the region, at equal
        features. Above 1 is harm; the inverse is the disparate impact there.
    interval : tuple of float
        Ends of the interval on ``ratio``, valid after the search.
    violation : Violation
        The search: its region, rule, p-value and report.
    """

    sensitive_feature: str
    group: Hashable
    reference: Hashable
    outcome: Hashable
    ratio: float
    interval: tuple[float, float]
    violation: Violation

    direction = "less often"  # how the group gets the outcome

    @property
    def delta(self) -> float:
        """Log of ``ratio``."""
        return _log(self.ratio)

    @property
    def gamma(self) -> float:
        """Strength of the certificate (Section 3.1), of the outcome searched for."""
        return self.violation.gamma

    @property
    def verdict(self) -> str:
        """Verdict of the search."""
        return self.violation.verdict

    @property
    def rates(self) -> tuple[float, float]:
        """Favourable rates of the group and of the others, in the region."""
        own, others = self.violation.rates
        if self.violation.outcome_type == "numeric":
            return (own, others) if self.violation.harm else (others, own)
        return (1 - own, 1 - others) if self.violation.harm else (others, own)

    @property
    def disparate_impact(self) -> float:
        """Favourable rate of the group over that of the others, in the region."""
        return math.inf if self.ratio == 0 else 1.0 / self.ratio


def worst_harm(
    violations: Sequence[Violation], favorable: Hashable, groups: Mapping[str, Collection[Hashable]]
) -> Harm | None:
    """Harm by what holds up: violations whose interval is above 1, then the highest lower limit.

    None if nothing was measured, or no outcome is said to be favourable. What one of several groups
    gets oftener than everyone else says of nobody that he is harmed: it counts only without other.
    """
    harms = [harm for harm in (_harm(own, favorable, groups) for own in violations) if harm]
    named = [harm for harm in harms if harm.group is not None]
    return min(named or harms, key=_place, default=None)


def _harm(
    search: Violation, favorable: Hashable, groups: Mapping[str, Collection[Hashable]]
) -> Harm | None:
    """What a search says of harm; nothing if that was not measured."""
    low, high = search.impact_interval
    ratio = search.impact_ratio
    if search.harm is None or math.isnan(ratio) or math.isnan(low):
        return None
    group, reference = search.group, search.reference
    others = [one for one in groups.get(search.sensitive_feature, ()) if one != group]
    if reference is None and len(others) == 1:
        reference = others[0]
    if search.harm:
        ratio, (low, high) = _inverse(ratio), (_inverse(high), _inverse(low))
    else:  # What a group gets oftener, the others get less often.
        group, reference = reference, group
    return Harm(
        sensitive_feature=search.sensitive_feature,
        group=group,
        reference=reference,
        outcome=favorable if search.outcome_type == "binary" else "more",
        ratio=ratio,
        interval=(low, high),
        violation=search,
    )


def _place(harm: Harm) -> tuple[bool, float]:
    low, _ = harm.interval
    return not (harm.verdict == VIOLATION and low > 1), -low


def _inverse(ratio: float) -> float:
    return math.inf if ratio == 0 else 1.0 / ratio


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf
