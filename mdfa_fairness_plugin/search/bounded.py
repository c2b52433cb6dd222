"""What stays of a search where groups are known by probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy.special import expit, ndtr, ndtri

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import Count, Message
from mdfa_fairness_plugin.measure.allowance import Allowance
from mdfa_fairness_plugin.measure.power import FEWEST_HITS
from mdfa_fairness_plugin.measure.proxies import (
    Bounds,
    Corrected,
    Rows,
    bounds_of,
    corrected_of,
    rows_to_know,
)
from mdfa_fairness_plugin.measure.sensitivity import e_value
from mdfa_fairness_plugin.measure.sums import CORE, EVERYBODY, REGION, RULE, SEARCHED
from mdfa_fairness_plugin.measure.verdicts import holds
from mdfa_fairness_plugin.records import INSUFFICIENT, VIOLATION, ratio_of
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings

_PARTS: Final = {EVERYBODY: "population", CORE: "core", RULE: "rule_subgroup", SEARCHED: "searched"}
_TOLD: Final = (
    *("delta", "interval", "difference", "difference_interval", "rates", "p_value"),
    *("probability_bounds", "n_known"),
)


def bounded(
    figures: dict[str, Any], search: Search, problem: AuditProblem, settings: Settings, n_tests: int
) -> dict[str, Any]:
    """Figures with bounds over whatever outcome and group have to do with each other.

    Intervals, p-values and verdict are of these; the estimate, which counts rows by probability, stays.
    Where rows of known group correct it and leave less open, all is of the corrected one. What would
    have been found is not known, so that nothing larger is never ruled out.
    """
    if problem.probability is None:
        return figures
    known = _Known(search, problem, settings)
    told, bounds, rows = known.told(figures, REGION)
    if bounds.ends[0] == bounds.ends[1]:  # whose groups are known
        return told
    if math.isnan(bounds.ends[0]):
        return told | {"verdict": INSUFFICIENT}
    least, most = told["interval"]
    rest = rows._replace(positive=~rows.positive, predicted=1.0 - rows.predicted)
    told |= {
        "probability_interval": bounds.limits,
        "rows_to_know": rows_to_know(bounds, rows),
        # How open ratios of some size are left differs from subgroup to subgroup.
        "detectable_delta": math.nan,
        "detectable_mass": math.nan,
        "e_value": math.nan,  # of a ratio that is not known
        "e_value_limit": e_value(ratio_of(least)) if math.isfinite(least) else 1.0,
        "p_value_adjusted": min(n_tests * told["p_value"], 1.0),
    }
    if told["n_known"]:
        share = figures["mass"] / (sum(figures["rates"]) / 2.0)
        told["mass"] = mass = share * sum(told["rates"]) / 2.0
        times = mass / figures["mass"]
        told |= {
            "mass_interval": tuple(min(times * end, 1.0) for end in figures["mass_interval"]),
            "gamma": share * told["difference"] / 4.0,
            "gamma_interval": _strengths(mass, least, most),
            "estimates": figures["estimates"] | {settings.estimator: told["delta"]},
            "otherwise": known.otherwise(rest),
            "e_value": e_value(ratio_of(told["delta"])),
        }
        if (depends := figures["depends_on_models"]) is not None:
            told["depends_on_models"] = replace(depends, decisive=False)
    else:
        estimate, *limits = figures["otherwise"]
        others = bounds_of(rest, settings.confidence_level, known.spread(REGION)).limits
        strengths = _strengths(figures["mass"], least, most)
        adjusted = np.fmax(figures["p_value_adjusted"], told["p_value_adjusted"])
        told |= {
            "otherwise": (estimate, *_wider(tuple(limits), others)),
            "gamma_interval": _wider(figures["gamma_interval"], strengths),
            "p_value_adjusted": float(adjusted),
        }
    for place, name in _PARTS.items():
        part = figures[name]
        if part.n_rows and part.measured:
            own, ends, _ = known.told(vars(part), place)
            beside = part.beside and ends.limits[0] > 0
            if own["n_known"]:
                beside = search.measured.everybody and own["delta"] > told["delta"]
                beside &= known.hold(own, place, 3.0 * n_tests * own["p_value"])
            own = {key: own[key] for key in _TOLD}
            told[name] = replace(part, **own, beside=bool(beside))
    return told | _verdict(figures, told, known)


def _verdict(figures: dict[str, Any], told: dict[str, Any], known: _Known) -> dict[str, Any]:
    """What can be said of the figures told, and why not more."""
    adjusted, level = told["p_value_adjusted"], 1.0 - known.settings.confidence_level
    low, (least, most) = told["probability_bounds"][0], told["interval"]
    depends, measured = told["depends_on_models"], known.search.measured
    if told["n_known"]:
        beyond, source = known.hold(told, REGION, adjusted), "probabilities and known groups"
    else:
        beyond = low >= math.log(known.settings.least_ratio) and least > 0
        beyond = figures["verdict"] == VIOLATION and beyond and adjusted < level
        source = "the probabilities of the groups"
    if beyond:
        return {"verdict": VIOLATION, "reason": ""}
    few_hits = measured.sums.region.hit_clusters < FEWEST_HITS
    if few_hits or (depends is not None and depends.decisive):
        return {"verdict": INSUFFICIENT}
    fewest = max(int(figures["counts"].to_numpy().min()), 1)
    few, many = (Count(fewest, unit="", said=f"{ratio_of(end):.2g}") for end in (least, most))
    reason = Message(
        f"chance included, {source} allow any ratio between ",
        few,
        " and ",
        many,
        ", and which of them holds cannot be told from these data",
    )
    return {"verdict": INSUFFICIENT, "reason": reason}


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of the sets of a search."""

    search: Search
    problem: AuditProblem
    settings: Settings

    def spread(self, place: int) -> float:
        """How much wider an interval is for the search."""
        return self.search.measured.widening.sets[place]

    def told(self, figures: dict[str, Any], place: int) -> tuple[dict[str, Any], Bounds, Rows]:
        """Figures of a set with intervals and p-value that hold its bounds, or as corrected."""
        rows = rows_of(self.search, self.problem, self.search.held_sets[place])
        level = self.settings.confidence_level
        bounds = bounds_of(rows, level, self.spread(place))
        told = figures | {"probability_bounds": bounds.ends, "n_known": 0}
        if bounds.ends[0] == bounds.ends[1]:
            return told, bounds, rows
        own = corrected_of(rows, adjusts=self.settings.adjusts)
        if own is not None:
            low, high = self._interval(own, place, self.search.measured.allowance(place))
            if not high - low >= bounds.limits[1] - bounds.limits[0]:
                return told | self._corrected(own, place), bounds, rows
        told |= {
            "interval": _wider(figures["interval"], bounds.limits),
            "difference_interval": _wider(figures["difference_interval"], bounds.difference_limits),
            "p_value": float(np.maximum(figures["p_value"], bounds.p_value)),
        }
        return told, bounds, rows

    def hold(self, told: dict[str, Any], place: int, p_value: float) -> bool:
        """Whether corrected figures are a violation."""
        beyond = p_value < 1.0 - self.settings.confidence_level
        found = told["delta"], told["interval"][0]
        return bool(holds(self.search.measured, place, beyond, found, self.settings))

    def otherwise(self, rest: Rows) -> tuple[float, float, float]:
        """Log ratio of not having the outcome with its interval, corrected."""
        own = corrected_of(rest, adjusts=self.settings.adjusts)
        if own is None:
            return (math.nan,) * 3
        its = self.search.measured.allowance(REGION)
        turned = Allowance(its.rise, its.fall, its.wider_above, its.wider_below)
        return own.delta, *self._interval(own, REGION, turned)

    def _interval(self, own: Corrected, place: int, allowed: Allowance) -> tuple[float, float]:
        """Interval on a corrected log ratio that holds what models may move it."""
        error = self._quantile(place) * own.error
        low, high = own.delta - allowed.wider_below * error, own.delta + allowed.wider_above * error
        return low - allowed.fall, high + allowed.rise

    def _quantile(self, place: int) -> float:
        """So many errors an interval is wide on either side."""
        return self.spread(place) * float(ndtri(0.5 + self.settings.confidence_level / 2.0))

    def _corrected(self, own: Corrected, place: int) -> dict[str, Any]:
        """Figures of a set as rows of known group correct them."""
        measured = self.search.measured
        allowed = measured.allowance(place)
        low, high = self._interval(own, place, allowed)
        difference = float(own.rates[0] - own.rates[1])
        # What moves the log ratio moves the difference at the same mean rate.
        size = difference / own.delta if own.delta else float(own.rates.mean())
        error = self._quantile(place) * own.difference_error
        least = difference - allowed.wider_below * error - size * allowed.fall
        most = difference + allowed.wider_above * error + size * allowed.rise
        beyond = (own.delta - allowed.fall) / (own.error * allowed.wider_below)
        beyond /= measured.widening.tests[place]
        return {
            "delta": own.delta,
            "interval": (low, high),
            "difference": difference,
            # Holds 0 exactly where that of the ratio does.
            "difference_interval": (
                max(least, 0.0) if low > 0 else max(min(least, 0.0), -1.0),
                min(most, 0.0) if high < 0 else min(max(most, 0.0), 1.0),
            ),
            "rates": (float(own.rates[0]), float(own.rates[1])),
            "n_known": own.n_known,
            "p_value": measured.p_value(beyond) if place == REGION else float(ndtr(-beyond)),
        }


def _strengths(mass: float, *deltas: float) -> tuple[float, ...]:
    """Strengths of certificates of a mass."""
    return tuple(mass * (float(expit(delta)) - 0.5) for delta in deltas)


def _wider(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, float]:
    """An interval that holds both."""
    return float(np.fmin(one[0], other[0])), float(np.fmax(one[1], other[1]))


def rows_of(search: Search, problem: AuditProblem, inside: np.ndarray) -> Rows:
    """Rows of a set of those measured, each once, with what both of its copies hold."""
    data = search.data
    held = data.held_out.copy()
    held[held] = inside
    place = data.rows[held]
    row, first, back = np.unique(problem.source_row[place], return_index=True, return_inverse=True)
    of_group = data.s[held] > 0
    assert problem.probability is not None
    assert data.outcome is not None
    assert data.propensity is not None
    p = problem.probability[place]

    def of(values: np.ndarray, copies: np.ndarray) -> np.ndarray:
        return np.bincount(back[copies], values[copies], len(row))

    def any_of(values: np.ndarray) -> np.ndarray:
        return values[held][first]

    group, others = of(p, of_group), of(p, ~of_group)
    # What a copy would have if it were certain.
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = [
            np.nan_to_num(of(data.weights[held], copies) / total)
            for copies, total in ((of_group, group), (~of_group, others))
        ]
    cluster = None
    if data.cluster is not None:
        cluster = np.unique(any_of(data.cluster), return_inverse=True)[1]
    told = None
    if problem.proxies is not None:
        told = problem.proxies.of(search.key.group, search.key.reference)
    if told is not None:
        told = told[row]
        for sign, own, its in ((1, group, weights[0]), (-1, others, weights[1])):
            none = own == 0.0  # known to be of the other side
            rows, e = place[first][none], any_of(data.propensity)[none]
            its[none] = (any_of(data.base) / p[first])[none] * data.weighing.weights_of(
                problem.X[rows], np.full(len(rows), sign, dtype=np.int8), e, rows
            )
    return Rows(
        positive=any_of(data.positive) > 0,
        predicted=any_of(data.outcome),
        group=group,
        others=others,
        group_weight=weights[0],
        others_weight=weights[1],
        cluster=cluster,
        told=told,
    )
