"""Verdicts: what can be said of a search, and why not more."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from mdfa_fairness_plugin.exceptions import Count, Message, ModelDependenceWarning, WarningLog
from mdfa_fairness_plugin.measure.allowance import rung_effects
from mdfa_fairness_plugin.measure.measured import Measured
from mdfa_fairness_plugin.measure.power import FEWEST_HITS
from mdfa_fairness_plugin.measure.sums import REGION
from mdfa_fairness_plugin.records import INSUFFICIENT, NONE_LARGER, VIOLATION, Violation, ratio_of
from mdfa_fairness_plugin.settings import Settings

# What the reason says where a verdict rests on the models.
BETTER_MODELS = "as the models of the features get better"


def holds(
    one: Measured, place: int, beyond_chance: bool, found: tuple[float, float], settings: Settings
) -> bool:
    """Whether a set of that delta and lower limit is a violation: also large, and of enough rows."""
    large = found[0] - one.allowance(place).fall >= one.least(settings)
    enough = one.sums.sets[place].hit_clusters >= FEWEST_HITS
    return beyond_chance and enough and large and found[1] > 0


def verdict_of(
    one: Measured,
    adjusted_p: tuple[float, float],
    found: tuple[float, float, float, float],
    detectable: float,
    settings: Settings,
) -> tuple[str, str]:
    """What can be said, and why not more.

    Of an estimate, its limits, and the lower one without allowance for the models.
    """
    n_hits = one.sums.region.hit_clusters
    delta, low, high, measured_low = found
    level = 1.0 - settings.confidence_level
    if np.isnan(delta) or np.isnan(adjusted_p[0]) or one.alike:
        return INSUFFICIENT, (
            "everybody in the subgroup has the same value"
            if one.of_means
            else "nobody in the subgroup has the outcome on either side"
        )
    if n_hits < FEWEST_HITS:
        return INSUFFICIENT, Message(
            Count(n_hits, said=f"only {n_hits} {'clusters' if one.clustered else 'rows'}"),
            " are in the subgroup" if one.of_means else " of the subgroup have the outcome",
            f"; at least {FEWEST_HITS} are needed",
        )
    large, plain = one.least(settings), adjusted_p[1] < level
    if holds(one, REGION, adjusted_p[0] < level, (delta, low), settings):
        return VIOLATION, ""
    if plain and delta >= large and measured_low > 0:
        return INSUFFICIENT, _falling(one, delta, settings)
    by_difference = one.measure == "difference"
    if plain and delta >= large:
        return (
            INSUFFICIENT,
            f"the interval on the {one.measure} includes {'0' if by_difference else '1'}",
        )
    if plain and delta > 0 and high < detectable:
        return NONE_LARGER, (
            f"the difference is beyond chance but below {_amount(one, large)} (min_difference)"
            if by_difference
            else f"the ratio is beyond chance but below {settings.least_ratio:g} (min_ratio)"
        )
    if not np.isfinite(detectable):
        large_one = (
            f"{math.log(1000.0):.0f} standard deviations of difference"
            if by_difference
            else "a thousandfold ratio"
        )
        return INSUFFICIENT, (
            f"there are too few rows: in no subgroup would even {large_one} have been told from chance "
            "with 80 % probability"
        )
    if high > detectable:
        return INSUFFICIENT, (
            f"the interval on the {one.measure} holds more than would have been found with 80 % "
            "probability"
        )
    return NONE_LARGER, ""


def _amount(one: Measured, effect: float) -> str:
    """A difference in units of the outcome, to three digits: 6,050, 0.0123."""
    return f"{float(f'{effect * abs(one.of.unit):.3g}'):,.10g}"


def _falling(one: Measured, delta: float, settings: Settings) -> Message:
    """How far a ratio falls to the one reported, which may be printed where its cells may."""
    effects, counts = rung_effects(one.sums.region), one.sums.region.counts
    fewest = max(int(counts[counts.sum(axis=1) > 0].min()), 1)
    by_difference = one.measure == "difference"

    def figure(own: float) -> str:
        return _amount(one, own) if by_difference else f"{ratio_of(own):.2f}"

    last_one = delta if math.isfinite(delta) else effects[-1]
    moved = (max(*effects[:-1], last_one), last_one)
    first, last = (Count(fewest, unit="", said=figure(own)) for own in moved)
    hardly = "hardly " if first.said == last.said else ""
    least, left = one.least(settings), "no disparity"
    if (remains := delta - one.allowance(REGION).fall) >= least:
        left = "no more than chance may make"
    elif remains > 0:
        left = f"less than {figure(least)} ({'min_difference' if by_difference else 'min_ratio'})"
    return Message(
        f"the {one.measure} {hardly}falls from ",
        first,
        " to ",
        last,
        f" {BETTER_MODELS}, and what may still come off would leave {left}",
    )


def warn_of_models(
    violations: Sequence[Violation], searches: Sequence[Measured | None], log: WarningLog
) -> None:
    """Say which searches would be violations if models could get no better, mirrored ones at once."""
    told: dict[Hashable, list[Violation]] = {}
    for found, one in zip(violations, searches, strict=True):
        depends = found.depends_on_models
        if one is not None and depends is not None and depends.decisive:
            told.setdefault(one.hypothesis, []).append(found)
    for first, *others in told.values():
        names = [f"{v.sensitive_feature}={v.group!r}, outcome {v.outcome!r}" for v in others]
        log.warn(
            ModelDependenceWarning,
            f"{first.sensitive_feature}={first.group!r}, outcome {first.outcome!r}: ",
            first.reason,
            f". The same holds for {'; '.join(names)}." if names else ".",
        )
