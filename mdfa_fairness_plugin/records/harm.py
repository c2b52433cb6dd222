"""Who is harmed most, in one quantity: how much oftener, or how much more, others get what is good."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records.effects import inverse_of, ratio_of
from mdfa_fairness_plugin.records.searches import STEPS, VIOLATION, Violation

# What of a number or an order is good where the other is bad.
_OPPOSITES = {"less": "more", "lower rank": "higher rank"}


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
        The favourable outcome; of a number "more" or "less", whichever is good to get.
    ratio : float
        How many times more often ``reference`` gets it than ``group`` does, in the region, at equal
        features. Above 1 is harm; the inverse is the disparate impact there. Of a number the ratio of
        means, the larger of those that harm makes larger; NaN of one that may be negative and of the
        steps of an order.
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

    @property
    def direction(self) -> str:
        """How the group gets the outcome: ``"less often"``; of a number ``"less"``, or ``"more"``."""
        if self.violation.outcome_type == "binary":
            return "less often"
        return "more" if self.outcome in _OPPOSITES else "less"

    @property
    def difference(self) -> float:
        """By how much the favourable rate of the group is below that of the others.

        Of a number in its own units by how much less the group gets on average, or how much more
        where less is good. Above 0 is harm.
        """
        return self.violation.difference

    @property
    def difference_interval(self) -> tuple[float, float]:
        """Interval on ``difference``, valid after the search."""
        return self.violation.difference_interval

    @property
    def delta(self) -> float:
        """Log of ``ratio``."""
        return -math.inf if self.ratio == 0 else math.log(self.ratio)

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
        return inverse_of(self.ratio)

    def figure(self, name: str, metric: str) -> float:
        """``delta``, ``ratio``, ``difference`` or ``gamma``, or why the metric has none of a number."""
        told, slope = float(getattr(self, name)), not math.isnan(self.violation.per)
        if not (math.isnan(told) and (slope or self.violation.outcome_type != "binary")):
            return told
        steps = self.violation.outcome_scale == STEPS
        why = "steps of an order" if steps else "means that may be negative"
        why = "a number" if name == "gamma" else why
        why = "a slope of a sensitive quantity" if slope else why
        raise InputError(f"{metric}: it is not defined of {why}. Use worst_case_difference.")


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
    of_number = search.outcome_type == "numeric" or search.by_difference
    ratio, (low, high) = search.impact_ratio, search.impact_interval
    unknown = math.isnan(search.lower) if of_number else math.isnan(ratio) or math.isnan(low)
    if search.harm is None or unknown:
        return None
    group, reference = search.group, search.reference
    others = [one for one in groups.get(search.sensitive_feature, ()) if one != group]
    if reference is None and len(others) == 1:
        reference = others[0]
    if of_number:
        ratio, (low, high) = search.ratio, search.ratio_interval
        if search.outcome_scale == STEPS:  # which are counted from wherever one begins
            ratio, low, high = (math.nan,) * 3
    elif search.harm:
        ratio, high, low = map(inverse_of, (ratio, low, high))
    if not search.harm:  # What a group gets oftener, the others get less often.
        group, reference = reference, group
    return Harm(
        sensitive_feature=search.sensitive_feature,
        group=group,
        reference=reference,
        outcome=_good(search) if favorable is None else favorable,
        ratio=ratio,
        interval=(low, high),
        violation=search,
    )


def _good(search: Violation) -> Hashable:
    """What is good to get, of a number or an order: what a search without harm is for."""
    outcome = str(search.outcome)
    if not search.harm:
        return outcome
    opposites = _OPPOSITES | {more: less for less, more in _OPPOSITES.items()}
    if outcome in opposites:
        return opposites[outcome]
    others = [one for one in search.counts.columns if one != search.outcome]
    return others[0] if len(others) == 1 else f"not {outcome}"


def _place(harm: Harm) -> tuple[bool, float]:
    """Violations first; then by the lower limit, of a number that which says as much as a ratio."""
    search = harm.violation
    of_number = search.outcome_type == "numeric" or search.by_difference
    low = ratio_of(search.lower) if of_number else harm.interval[0]
    return not (harm.verdict == VIOLATION and low > 1), -low
