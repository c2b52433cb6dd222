"""What a verdict is called for people, and what is left to them."""

from __future__ import annotations

import math
from typing import Final

from mdfa_fairness_plugin.records import INSUFFICIENT, NONE_LARGER, VIOLATION, Judged, Violation
from mdfa_fairness_plugin.report.effects import effect_of

# What people are told that a verdict says; results keep its own name.
FINDINGS: Final = {
    VIOLATION: "unequal beyond chance",
    NONE_LARGER: "not found unequal",
    INSUFFICIENT: "undetermined",
}
ADVANTAGE: Final = "advantage beyond chance"
POWER: Final = "80 % power"  # what detectable sizes are of
CLOSING: Final = (
    "This is a statistical finding only: whether a difference is justified, or unlawful, is for others "
    "to judge."
)


def finding(search: Judged) -> str:
    """What a verdict is called; what more of the favourable outcome is."""
    advantage = search.verdict == VIOLATION and search.harm is False
    return ADVANTAGE if advantage else FINDINGS[search.verdict]


def short_verdict(violation: Judged) -> str:
    """What was found, in a table."""
    if violation.verdict != NONE_LARGER:
        return finding(violation)
    if violation.reason:
        return f"below {effect_of(violation).least}"
    # Everything the interval holds is less often than others: no sign of a violation this way.
    return f"{effect_of(violation).turned(violation)}{FINDINGS[NONE_LARGER]}"


def power_cell(violation: Judged) -> str | None:
    """What would have been found with 80 % probability where nothing was; None if it is withheld.

    Empty if it is unknown.
    """
    detectable = effect_of(violation).detectable(violation)
    if violation.verdict != NONE_LARGER or violation.reason:
        return ""
    if not math.isfinite(detectable):
        return None if violation.withheld & {"detectable_delta", "detectable_difference"} else ""
    where = f" in a mass of {mass:.2g}" if (mass := coarser_mass(violation)) else ""
    return f"{effect_of(violation).cell(detectable)}{where}"


def told_verdict(violation: Judged) -> str:
    """What was found, with the size that would have been."""
    power = power_cell(violation)
    return f"{short_verdict(violation)}{f' ({POWER} at {power})' if power else ''}"


def coarser_mass(violation: Judged) -> float:
    """Mass that a detectable ratio is of, if smaller ones were looked for; else 0."""
    if not isinstance(violation, Violation):
        return 0.0
    mass = violation.detectable_mass
    return 0.0 if math.isnan(mass) or mass <= violation.alpha else mass
