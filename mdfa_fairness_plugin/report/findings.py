"""What a verdict is called for people, and what is left to them."""

from __future__ import annotations

import math
from typing import Final

from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NONE_LARGER,
    VIOLATION,
    AskedSubgroup,
    Violation,
)
from mdfa_fairness_plugin.report.effects import effect_of

# What people are told that a verdict says; results keep its own name.
FINDINGS: Final = {
    VIOLATION: "unequal beyond chance",
    NONE_LARGER: "not found unequal",
    INSUFFICIENT: "undetermined",
}
ADVANTAGE: Final = "advantage beyond chance"
POWER: Final = "80 % power at"  # what detectable sizes are of
CLOSING: Final = (
    "This is a statistical finding only: whether a difference is justified, or unlawful, is for others "
    "to judge."
)


def short_verdict(violation: Violation | AskedSubgroup) -> str:
    """What was found, in a table."""
    if violation.verdict == VIOLATION:
        return ADVANTAGE if violation.harm is False else FINDINGS[VIOLATION]
    if violation.verdict == INSUFFICIENT:
        return FINDINGS[INSUFFICIENT]
    effect, found = effect_of(violation), FINDINGS[NONE_LARGER]
    # Everything the interval holds is less often than others: no sign of a violation this way.
    less, detectable = effect.turned(violation), effect.detectable(violation)
    if violation.reason:
        return f"beyond chance, but below {effect.least}"
    if not math.isfinite(detectable):
        return f"{less}{found}"
    where = f" in a mass of {mass:.2g}" if (mass := coarser_mass(violation)) else ""
    return f"{less}{found} ({POWER} {effect.cell(detectable)}{where})"


def coarser_mass(violation: Violation | AskedSubgroup) -> float:
    """Mass that a detectable ratio is of, if smaller ones were looked for; else 0."""
    if isinstance(violation, AskedSubgroup):
        return 0.0
    mass = violation.detectable_mass
    return 0.0 if math.isnan(mass) or mass <= violation.alpha else mass
