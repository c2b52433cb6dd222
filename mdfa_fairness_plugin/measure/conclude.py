"""What can be said of a family of searches from their sums: estimates, intervals, tests, verdicts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import Count, Message
from mdfa_fairness_plugin.measure.estimates import Leftover, estimates_of, lemma_strength
from mdfa_fairness_plugin.measure.intervals import delta_interval, gamma_interval, mass_interval
from mdfa_fairness_plugin.measure.sensitivity import e_value, missing_bounds
from mdfa_fairness_plugin.measure.sums import CORE, EVERYBODY, REGION, RULE, SETS, SearchSums
from mdfa_fairness_plugin.measure.tests import detectable_delta, holm, one_sided_p_value
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NONE_LARGER,
    VIOLATION,
    SearchKey,
    Subgroup,
)
from mdfa_fairness_plugin.settings import Settings

# A region must hold this many clusters (rows, if each is one) with the outcome to say anything.
_FEWEST_POSITIVES = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Widening:
    """How much wider than for a set named beforehand: statistics without a violation, and intervals.

    ``test`` is of the p-value, ``planned`` of what could have been found, ``sets`` of the intervals
    in every set of ``SETS``.
    """

    test: float
    planned: float
    sets: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """One search, counted."""

    key: SearchKey
    alpha: float  # smallest mass searched for
    sums: SearchSums
    widening: Widening
    clustered: bool = False  # whether somebody has several rows

    def leftover(self, place: int, settings: Settings) -> Leftover | None:
        """What the features leave of the outcome in a set; None if it has no part in intervals."""
        return self.sums.sets[place].leftover if settings.balances else None


def conclude(
    searches: Sequence[Measured | None], settings: Settings, labels: tuple[Hashable, ...]
) -> list[dict[str, Any]]:
    """Fields of a ``Violation`` for every search of a family, none for those not made.

    ``labels`` are all outcomes, in the order of the counts.
    """
    statistics = np.array(
        [np.nan if one is None else statistic_of(one.sums, settings) for one in searches]
    )
    p_values = np.array(
        [
            np.nan if one is None else one_sided_p_value(statistic, one.widening.test)
            for one, statistic in zip(searches, statistics, strict=True)
        ]
    )
    adjusted = holm(p_values)
    level = (1.0 - settings.confidence_level) / max(int((~np.isnan(p_values)).sum()), 1)
    concluded: list[dict[str, Any]] = []
    for i, one in enumerate(searches):
        if one is None:
            concluded.append({})
            continue
        tested = {
            "statistic": float(statistics[i]),
            "p_value": float(p_values[i]),
            "p_value_adjusted": float(adjusted[i]),
        }
        concluded.append(tested | figures_of(one, settings, level, adjusted[i], labels))
    return concluded


def statistic_of(sums: SearchSums, settings: Settings) -> float:
    """Leak of S by the outcome inside the region."""
    return sums.leak.statistic(settings.seeds["test"])


def figures_of(
    one: Measured,
    settings: Settings,
    level: float,
    adjusted: float,
    labels: tuple[Hashable, ...],
) -> dict[str, Any]:
    """Estimates, intervals, verdict and subgroups of one search, tested at a level."""
    sums, confidence, spread = one.sums, settings.confidence_level, one.widening.sets[REGION]
    rates, population = sums.region.rates, sums.everybody.rates
    leftover = one.leftover(REGION, settings)
    estimates = estimates_of(rates, sums.plain[REGION], sums.robust)
    low, high = delta_interval(rates, confidence, spread, leftover)
    bounds = (math.nan, math.nan)
    if sums.n_missing:
        bounds = missing_bounds(rates, np.array([True, False]), sums.missing[0], sums.missing[1])
    delta = estimates[settings.estimator]
    shift = delta - rates.delta
    if np.isfinite(shift):
        low, high = low + shift, high + shift
        bounds = (bounds[0] + shift, bounds[1] + shift)
    detectable = detectable_delta(
        alpha=one.alpha,
        rate=float(np.mean(population.rates)),
        sizes=(population.effective_sizes[0], population.effective_sizes[1]),
        level=level,
        spread=one.widening.planned,
    )
    verdict, reason = _verdict(one, adjusted, delta, detectable, settings)
    n_rows, n_compared = sums.region.n_rows, sums.everybody.n_rows
    return {
        "verdict": verdict,
        "reason": reason,
        "alpha": one.alpha,
        "confidence_level": confidence,
        "delta": delta,
        "interval": (low, high),
        "gamma": rates.gamma,
        "gamma_interval": gamma_interval(rates, confidence, spread, leftover),
        "gamma_lemma": lemma_strength(population, rates),
        "mass": rates.mass,
        "mass_interval": mass_interval(rates, confidence, spread),
        "n_missing": sums.n_missing,
        "missing_bounds": bounds,
        "e_value": e_value(float(np.exp(delta))),
        "e_value_limit": e_value(float(np.exp(low))),
        "n_rows": n_rows,
        "share": n_rows / n_compared if n_compared else np.nan,
        "rates": (float(rates.rates[0]), float(rates.rates[1])),
        "counts": counts_frame(sums.region.counts, one.key, labels),
        "detectable_delta": detectable,
        "estimates": estimates,
        "population": _subgroup(one, EVERYBODY, settings, labels),
        "core": _subgroup(one, CORE, settings, labels),
        "rule_subgroup": _subgroup(one, RULE, settings, labels),
    }


def _subgroup(
    one: Measured, place: int, settings: Settings, labels: tuple[Hashable, ...]
) -> Subgroup:
    """Measurements of a set, as the result keeps them; a rule that nobody meets has none."""
    own = one.sums.sets[place]
    if place == RULE and own.n_rows == 0:
        return Subgroup(label=SETS[place])
    rates = own.rates
    return Subgroup(
        label=SETS[place],
        delta=rates.delta,
        interval=delta_interval(
            rates,
            settings.confidence_level,
            one.widening.sets[place],
            one.leftover(place, settings),
        ),
        gamma=rates.gamma,
        mass=rates.mass,
        n_rows=own.n_rows,
        rates=(float(rates.rates[0]), float(rates.rates[1])),
        counts=counts_frame(own.counts, one.key, labels),
    )


def _verdict(
    one: Measured, adjusted: float, delta: float, detectable: float, settings: Settings
) -> tuple[str, str]:
    """What can be said, and why not more."""
    n_hits = one.sums.region.hit_clusters
    if np.isnan(delta) or np.isnan(adjusted):
        return INSUFFICIENT, "nobody in the subgroup has the outcome on either side"
    if n_hits < _FEWEST_POSITIVES:
        return INSUFFICIENT, Message(
            Count(n_hits, said=f"only {n_hits} {'clusters' if one.clustered else 'rows'}"),
            f" of the subgroup have the outcome; at least {_FEWEST_POSITIVES} are needed",
        )
    if adjusted < 1.0 - settings.confidence_level and delta > 0:
        return VIOLATION, ""
    if not np.isfinite(detectable):
        return INSUFFICIENT, (
            "there are too few rows to have found even a thousandfold ratio in a subgroup of "
            f"mass {one.alpha:.3g}"
        )
    return NONE_LARGER, ""


def counts_frame(counts: np.ndarray, key: SearchKey, labels: tuple[Hashable, ...]) -> pd.DataFrame:
    """Rows by S and Y (shape (2, n_labels)) as results show them, the audited outcome first."""
    audited = labels.index(key.outcome)
    order = [audited, *(i for i in range(len(labels)) if i != audited)]
    others = "everyone else" if key.reference is None else key.reference
    index = pd.Index([key.group, others], dtype=object, tupleize_cols=False)
    columns = pd.Index([labels[i] for i in order], dtype=object, tupleize_cols=False)
    return pd.DataFrame(counts[:, order], index=index, columns=columns)
