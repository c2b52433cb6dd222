"""What stays of a search where groups are known by probability."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
from scipy.special import expit

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import Count, Message
from mdfa_fairness_plugin.measure.power import FEWEST_HITS
from mdfa_fairness_plugin.measure.proxies import Bounds, Rows, bounds_of, rows_to_know
from mdfa_fairness_plugin.measure.sensitivity import e_value
from mdfa_fairness_plugin.measure.sums import CORE, EVERYBODY, REGION, RULE, SEARCHED
from mdfa_fairness_plugin.records import INSUFFICIENT, VIOLATION, ratio_of
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings

_PARTS: Final = {EVERYBODY: "population", CORE: "core", RULE: "rule_subgroup", SEARCHED: "searched"}
_BOUNDED: Final = ("interval", "difference_interval", "probability_bounds", "p_value")


def bounded(
    figures: dict[str, Any], search: Search, problem: AuditProblem, settings: Settings, n_tests: int
) -> dict[str, Any]:
    """Figures with bounds over whatever outcome and group have to do with each other.

    Intervals, p-values and verdict are of these; the estimate, which counts rows by probability, stays.
    What would have been found is not known, so that nothing larger is never ruled out.
    """
    if problem.probability is None:
        return figures
    bounds, told = _told(figures, search, problem, settings, REGION)
    low, high = bounds.ends
    if low == high:  # whose groups are known
        return told
    if math.isnan(low):
        return told | {"verdict": INSUFFICIENT}
    rows = rows_of(search, problem, search.held_member)
    rest = rows._replace(positive=~rows.positive, predicted=1.0 - rows.predicted)
    spread = search.measured.widening.sets[REGION]
    others = bounds_of(rest, settings.confidence_level, spread).limits
    estimate, *limits = figures["otherwise"]
    least, most = told["interval"]
    adjusted = float(np.fmax(figures["p_value_adjusted"], min(n_tests * bounds.p_value, 1.0)))
    told |= {
        "probability_interval": bounds.limits,
        "rows_to_know": rows_to_know(bounds, rows),
        "otherwise": (estimate, *_wider(tuple(limits), others)),
        "gamma_interval": _wider(
            figures["gamma_interval"],
            tuple(figures["mass"] * (float(expit(end)) - 0.5) for end in (least, most)),
        ),
        "p_value_adjusted": adjusted,
        # How open ratios of some size are left differs from subgroup to subgroup.
        "detectable_delta": math.nan,
        "detectable_mass": math.nan,
        "e_value": math.nan,  # of a ratio that is not known
        "e_value_limit": e_value(ratio_of(least)) if math.isfinite(least) else 1.0,
    }
    for place, name in _PARTS.items():
        part = figures[name]
        if part.n_rows and part.measured:
            own, wider = _told(vars(part), search, problem, settings, place)
            wider["beside"] = part.beside and own.limits[0] > 0
            told[name] = replace(part, **{key: wider[key] for key in (*_BOUNDED, "beside")})
    beyond = low >= math.log(settings.least_ratio) and least > 0
    beyond &= adjusted < 1.0 - settings.confidence_level
    if figures["verdict"] == VIOLATION and beyond:
        return told
    depends = figures["depends_on_models"]
    few_hits = search.measured.sums.region.hit_clusters < FEWEST_HITS
    if not (few_hits or (depends is not None and depends.decisive)):
        fewest = max(int(figures["counts"].to_numpy().min()), 1)
        few, many = (Count(fewest, unit="", said=f"{ratio_of(end):.2g}") for end in (least, most))
        told["reason"] = Message(
            "chance included, the probabilities of the groups allow any ratio between ",
            few,
            " and ",
            many,
            ", and which of them holds cannot be told from these data",
        )
    return told | {"verdict": INSUFFICIENT}


def _told(
    figures: dict[str, Any], search: Search, problem: AuditProblem, settings: Settings, place: int
) -> tuple[Bounds, dict[str, Any]]:
    """Bounds of a set, and its figures with intervals and p-value that hold these."""
    rows = rows_of(search, problem, search.held_sets[place])
    bounds = bounds_of(rows, settings.confidence_level, search.measured.widening.sets[place])
    told = figures | {"probability_bounds": bounds.ends}
    if bounds.ends[0] == bounds.ends[1]:
        return bounds, told
    return bounds, told | {
        "interval": _wider(figures["interval"], bounds.limits),
        "difference_interval": _wider(figures["difference_interval"], bounds.difference_limits),
        "p_value": float(np.maximum(figures["p_value"], bounds.p_value)),
    }


def _wider(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, float]:
    """An interval that holds both."""
    return float(np.fmin(one[0], other[0])), float(np.fmax(one[1], other[1]))


def rows_of(search: Search, problem: AuditProblem, inside: np.ndarray) -> Rows:
    """Rows of a set of those measured, each once, with what both of its copies hold."""
    data = search.data
    held = data.held_out.copy()
    held[held] = inside
    place = data.rows[held]
    row, back = np.unique(problem.source_row[place], return_inverse=True)
    of_group = data.s[held] > 0
    assert problem.probability is not None
    assert data.outcome is not None
    p = problem.probability[place]

    def of(values: np.ndarray, copies: np.ndarray) -> np.ndarray:
        return np.bincount(back[copies], values[copies], len(row))

    def any_of(values: np.ndarray) -> np.ndarray:
        each = np.empty(len(row))
        each[back] = values
        return each

    group, others = of(p, of_group), of(p, ~of_group)
    with np.errstate(
        invalid="ignore", divide="ignore"
    ):  # what a copy would have if it were certain
        weights = [
            np.nan_to_num(of(data.weights[held], copies) / total)
            for copies, total in ((of_group, group), (~of_group, others))
        ]
    cluster = None
    if data.cluster is not None:
        cluster = np.unique(any_of(data.cluster[held]), return_inverse=True)[1]
    return Rows(
        positive=any_of(data.positive[held]) > 0,
        predicted=any_of(data.outcome[held]),
        group=group,
        others=others,
        group_weight=weights[0],
        others_weight=weights[1],
        cluster=cluster,
    )
