"""What can be said of a family of searches from their sums: estimates, intervals, tests, verdicts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from mdfa_fairness_plugin.measure.allowance import Allowance, rung_effects
from mdfa_fairness_plugin.measure.estimates import (
    Leftover,
    Rates,
    counts_frame,
    estimates_of,
    lemma_strength,
)
from mdfa_fairness_plugin.measure.intervals import (
    PLAINEST,
    delta_interval,
    mass_interval,
    otherwise,
    standard_errors,
)
from mdfa_fairness_plugin.measure.means import MeanDifference, MeanRatio, Means
from mdfa_fairness_plugin.measure.measured import Measured
from mdfa_fairness_plugin.measure.power import Plan, named_detectable, up_to_thousandfold
from mdfa_fairness_plugin.measure.sensitivity import e_value, missing_bounds
from mdfa_fairness_plugin.measure.sums import CORE, EVERYBODY, REGION, RULE, SEARCHED, SETS
from mdfa_fairness_plugin.measure.tests import holm
from mdfa_fairness_plugin.measure.verdicts import BETTER_MODELS, holds, verdict_of
from mdfa_fairness_plugin.records import ModelDependence, Subgroup, ratio_of
from mdfa_fairness_plugin.settings import Settings

# Nobody tells larger log ratios apart.
_LARGEST = 700.0


def conclude(
    searches: Sequence[Measured | None], settings: Settings, labels: tuple[Hashable, ...]
) -> list[dict[str, Any]]:
    """Fields of a ``Violation`` for every search of a family, none for those not made.

    And ``otherwise``, the log ratio of not having the outcome with its interval. ``labels`` are all
    outcomes, in the order of the counts.
    """
    tests = [None if one is None else _Tested.of(one, settings) for one in searches]
    names = [None if one is None else one.hypothesis for one in searches]

    def family(p_values: list[float]) -> np.ndarray:
        return holm(np.array(p_values), names)

    adjusted_p = family([math.nan if one is None else one.p_value for one in tests])
    unallowed = family([math.nan if one is None else one.p_value_as_measured for one in tests])
    made = [name for name, one in zip(names, tests, strict=True) if one is not None]
    n_tests = len(set(made))
    concluded: list[dict[str, Any]] = []
    for i, (one, test) in enumerate(zip(searches, tests, strict=True)):
        if one is None or test is None:
            concluded.append({})
            continue
        tested = {
            "statistic": test.statistic,
            "p_value": test.p_value,
            "p_value_adjusted": float(adjusted_p[i]),
        }
        # With a plant a search that found everybody parts from the one that mirrors it.
        n_planned = min(n_tests + one.everybody, len(made))
        levels = tuple((1.0 - settings.confidence_level) / n for n in (n_tests, n_planned))
        concluded.append(
            tested | figures_of(one, test, settings, levels, (adjusted_p[i], unallowed[i]), labels)
        )
    return concluded


@dataclass(frozen=True, kw_only=True, eq=False)
class _Tested:
    """How far one search is beyond chance."""

    statistic: float  # leak of S by the outcome inside the subgroup
    p_value: float
    p_value_as_measured: float  # without allowance for the models
    # P-values of everybody, of the core and of what the search proposed, as if named beforehand.
    sets: dict[int, float]

    @classmethod
    def of(cls, one: Measured, settings: Settings) -> _Tested:
        """Test everybody and the region that the search proposed, and allow for a choice of both."""

        def z(place: int, allow: bool) -> float:
            allowed = one.allowance(place) if allow else Allowance()
            return _standard_errors(one, place, settings, allowed) / one.widening.tests[place]

        def proposed(allow: bool) -> float:
            """Mean over repeats, which is no more spread than one of them; not known counts as 0."""
            every = np.array([z(place, allow) for place in one.proposed])
            return float(np.nan_to_num(every).mean()) if (every == every).any() else math.nan

        def reported(allow: bool) -> float:
            return one.p_value(z(REGION, allow) if one.everybody or one.single else proposed(allow))

        return cls(
            statistic=one.sums.region.leak.statistic(settings.seeds["test"]),
            p_value=reported(allow=True),
            p_value_as_measured=reported(allow=False),
            sets={at: float(ndtr(-z(at, True))) for at in (EVERYBODY, CORE)}
            | {SEARCHED: float(ndtr(-proposed(allow=True)))},
        )


def _standard_errors(one: Measured, place: int, settings: Settings, allowed: Allowance) -> float:
    """How many standard errors a set is beyond what the models may account for.

    The smaller of two: of the interval's end, so that both say the same, and of the leak of S, which
    holds for few rows and whatever the weights are.
    """
    sums, rates = one.sums.sets[place], one.rates(place, settings)
    least = allowed.fall - _shift(one, place, settings)
    by_interval = standard_errors(
        rates=sums.rates, leftover=one.leftover(place, settings), least=least
    )
    leak = sums.leak.statistic(settings.seeds["test"])
    if allowed.fall > 0:
        whole, taken = rates.part(rates.delta), rates.part(allowed.fall)
        leak *= 1.0 - taken / whole if rates.delta > 0 else 1.0 + taken / max(whole, taken)
    return max(min(by_interval, leak), -PLAINEST) / allowed.wider_below


def _shift(one: Measured, place: int, settings: Settings) -> float:
    """What an estimator without an interval of its own adds to the one whose interval is moved."""
    if settings.estimator not in ("raw", "unweighted"):
        return 0.0
    known = place if place < len(SETS) else SEARCHED  # what repeats propose is of its kind
    own = estimates_of(one.sums.sets[known].rates, one.sums.plain[known], None)
    shift = own[settings.estimator] - own["hajek"]
    return shift if math.isfinite(shift) else 0.0


def figures_of(
    one: Measured,
    test: _Tested,
    settings: Settings,
    levels: tuple[float, ...],
    adjusted_p: tuple[float, float],
    labels: tuple[Hashable, ...],
) -> dict[str, Any]:
    """Estimates, intervals, verdict and subgroups of one search.

    ``levels`` are those that it and that a plant is tested at.
    """
    level, planned = levels
    sums, confidence, spread = one.sums, settings.confidence_level, one.widening.sets[REGION]
    leftover, allowed = one.leftover(REGION, settings), one.allowance(REGION)
    rates, population = one.rates(REGION, settings), sums.everybody.rates
    estimates = estimates_of(
        sums.region.rates, sums.plain[REGION], sums.region.leftover if settings.balances else None
    )
    shift = _shift(one, REGION, settings)
    how = (sums.region.rates, confidence, spread, leftover)
    low, high = (end + shift for end in allowed.interval(*how))
    bounds = (math.nan, math.nan)
    if sums.n_missing and not one.of_means:
        bounds = missing_bounds(rates, np.array([True, False]), sums.missing[0], sums.missing[1])
    delta = rates.delta + shift
    bounds = (bounds[0] + shift, bounds[1] + shift)
    ends = delta_interval(*how)
    measured_low = ends[0] + shift
    least = one.least(settings)
    detectable, mass = named_detectable(ends, planned, settings, least), rates.mass
    if one.search is not None:
        plan = Plan.of(sums.everybody, one.alpha, planned, settings, one.search, least)
        detectable, mass = plan.stated()
    detectable = up_to_thousandfold(detectable + allowed.rise)  # models may hide as much
    found = (delta, low, high, measured_low)
    verdict, reason = verdict_of(one, adjusted_p, found, detectable, settings)
    n_rows, n_compared = sums.region.n_rows, sums.everybody.n_rows
    by_difference = one.measure == "difference"
    rest = (math.nan,) * 3 if one.of_means else otherwise(*how, astuple(allowed))
    if shift and settings.estimator == "unweighted" and not one.of_means:
        kept = 1.0 - sums.plain[REGION].rates
        far = float(np.log(kept[0] / kept[1])) - rest[0] if kept.min() > 0 else math.nan
        rest = rest[0] + far, rest[1] + far, rest[2] + far
    explained = [e_value(math.exp(min(one.as_log_ratio(own), _LARGEST))) for own in (delta, low)]
    if not rates.observed:
        explained = [math.nan, math.nan]
    elif not by_difference:
        explained = [e_value(float(np.exp(own))) for own in (delta, low)]
    return {
        "verdict": verdict,
        "reason": reason,
        "alpha": one.alpha,
        "confidence_level": confidence,
        **_as_estimated(one, REGION, _effects(one, rates, how, allowed), settings),
        "outcome_type": one.of.outcome_type(one.kind),
        "as_observed": settings.estimator == "unweighted" or not settings.balances,
        "gamma": rates.gamma,
        "gamma_interval": allowed.gamma_interval(rates, *how),
        "gamma_lemma": math.nan if one.of_means else lemma_strength(population, sums.region.rates),
        "mass": rates.mass,
        "mass_interval": mass_interval(rates, confidence, spread),
        "n_missing": sums.n_missing,
        "missing_bounds": bounds,
        "e_value": explained[0],
        "e_value_limit": explained[1],
        "n_rows": n_rows,
        "share": n_rows / n_compared if n_compared else np.nan,
        "counts": counts_frame(sums.region.counts, one.key, one.of.counted_by or labels),
        "detectable_delta": math.nan if by_difference else detectable,
        "detectable_difference": detectable * abs(one.of.unit) if by_difference else math.nan,
        "detectable_mass": mass,
        "otherwise": rest,
        "estimates": {
            name: own * (abs(one.of.unit) if by_difference else 1.0)
            for name, own in estimates.items()
        },
        "depends_on_models": _dependence(one, decisive=BETTER_MODELS in reason),
        "population": _subgroup(one, EVERYBODY, test, settings, level, labels),
        "core": _subgroup(one, CORE, test, settings, level, labels),
        "rule_subgroup": _subgroup(one, RULE, test, settings, level, labels),
        "searched": _subgroup(one, SEARCHED, test, settings, level, labels),
    }


def _effects(
    one: Measured,
    rates: Rates,
    how: tuple[Rates, float, float, Leftover | None],
    allowed: Allowance,
) -> dict[str, Any]:
    """Effects of a set by ratio and by difference with their intervals, and its rates, in units.

    ``how`` are the rates measured, and how their interval is made.
    """
    size = abs(one.of.unit)
    delta, interval = rates.delta, allowed.interval(*how)
    if isinstance(rates, MeanDifference):
        delta, interval = _ratio_beside(one, rates, how, allowed)
    difference_interval = allowed.difference_interval(rates, *how)
    measured, *_ = how
    if isinstance(measured, Means) and measured.alike:  # nothing is known of an error then
        interval = difference_interval = math.nan, math.nan
    own, others = rates.rates * one.of.unit if rates.observed else (math.nan, math.nan)
    return {
        "delta": delta,
        "interval": interval,
        "difference": rates.difference * size,
        "difference_interval": (difference_interval[0] * size, difference_interval[1] * size),
        "rates": (float(own), float(others)),
    } | one.of.scale(one.kind)


def _as_estimated(
    one: Measured, place: int, effects: dict[str, Any], settings: Settings
) -> dict[str, Any]:
    """Effects of a set, and the rates behind them, by an estimator they are not made for."""
    if not (shift := _shift(one, place, settings)):
        return effects
    both, difference = np.full(2, math.nan), math.nan  # no rates are behind a ratio of counts
    delta, moved = effects["delta"], shift
    if settings.estimator == "unweighted":
        plain = one.sums.plain[place]
        both, difference = plain.rates * one.of.unit, plain.difference * abs(one.of.unit)
        if one.measure == "difference":
            ratio = float(MeanRatio.effect(plain.rates))
            moved = ratio - delta if math.isfinite(delta) else math.nan
    least, most = (end + moved for end in effects["interval"])
    far = difference - effects["difference"]
    low, high = (end + far for end in effects["difference_interval"])
    if not one.of_means:  # rates have no larger difference
        low, high = max(low, -1.0), min(high, 1.0)
    return effects | {
        "delta": delta + moved,
        "interval": (least, most),
        "difference": difference,
        "difference_interval": (low, high),
        "rates": (float(both[0]), float(both[1])),
    }


def _ratio_beside(
    one: Measured,
    rates: Rates,
    how: tuple[Rates, float, float, Leftover | None],
    allowed: Allowance,
) -> tuple[float, tuple[float, float]]:
    """Log ratio of means that are compared by their difference; NaN of what may be negative.

    Its interval holds 0 exactly where that of the difference does.
    """
    unknown = math.nan, (math.nan, math.nan)
    ratio, measured = (MeanRatio(**vars(own)) for own in (rates, how[0]))
    size = ratio.scale
    if not one.of.nonnegative or not size > 0 or (ratio.rates[0] > 0) != (ratio.rates[1] > 0):
        return unknown
    moves = replace(allowed, fall=allowed.fall / size, rise=allowed.rise / size)
    low, high = moves.interval(measured, *how[1:])
    least, most = allowed.interval(*how)
    low = max(low, 0.0) if least > 0 else min(low, 0.0)
    return ratio.delta, (low, min(high, 0.0) if most < 0 else max(high, 0.0))


def _dependence(one: Measured, *, decisive: bool) -> ModelDependence | None:
    """How the effect moved while the models got better; None without lesser models."""
    effects = rung_effects(one.sums.region)
    if len(effects) < 2:
        return None
    by_difference, size = one.measure == "difference", abs(one.of.unit)
    fall = one.allowance(REGION).fall
    return ModelDependence(
        ratios=() if by_difference else tuple(ratio_of(own) for own in effects),
        differences=tuple(own * size for own in effects) if by_difference else (),
        propensity_losses=tuple(own.propensity_loss for own in one.ladder),
        outcome_losses=tuple(own.outcome_loss for own in one.ladder),
        shares=tuple(own.share for own in one.ladder),
        allowance=fall * size if by_difference else fall,
        decisive=decisive,
    )


def _subgroup(
    one: Measured,
    place: int,
    test: _Tested,
    settings: Settings,
    level: float,
    labels: tuple[Hashable, ...],
) -> Subgroup:
    """Measurements of a set, as the result keeps them; a rule that nobody meets has none."""
    own = one.sums.sets[place]
    if place == RULE and own.n_rows == 0:
        return Subgroup(label=SETS[place], **one.of.scale(one.kind))
    rates, leftover = one.rates(place, settings), one.leftover(place, settings)
    allowed = one.allowance(place)
    how = (own.rates, settings.confidence_level, one.widening.sets[place], leftover)
    shift = _shift(one, place, settings)
    delta, low = rates.delta + shift, allowed.interval(*how)[0] + shift
    p_value = test.sets.get(place, math.nan)
    # Everybody, the region proposed and its core each have a third of their search's share of the
    # level (Bonferroni): none is told by chance more often, whichever of the others are violations.
    whole = one.rates(EVERYBODY, settings).delta + _shift(one, EVERYBODY, settings)
    beside = one.everybody and delta > whole
    beside &= holds(one, place, p_value < level / 3.0, (delta, low), settings)
    return Subgroup(
        label=SETS[place],
        **_as_estimated(one, place, _effects(one, rates, how, allowed), settings),
        gamma=rates.gamma,
        mass=rates.mass,
        n_rows=own.n_rows,
        counts=counts_frame(own.counts, one.key, one.of.counted_by or labels),
        p_value=p_value,
        beside=beside,
    )
