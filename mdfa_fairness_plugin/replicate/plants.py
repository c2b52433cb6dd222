"""An audit repeated with a violation planted into its own rows, to see whether it is found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.wording import percent, rounded
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.means import MeanDifference
from mdfa_fairness_plugin.pipeline import AuditSource, measure
from mdfa_fairness_plugin.records import VIOLATION, AuditRecord, SearchKey, Violation
from mdfa_fairness_plugin.records.searches import RANK
from mdfa_fairness_plugin.replicate.null import chances_of, without_leak
from mdfa_fairness_plugin.replicate.repeats import (
    Named,
    checked,
    mean_of_known,
    prepared,
    repeat,
    rerun,
    search_text,
    searched,
)
from mdfa_fairness_plugin.search.input_rows import ask_models
from mdfa_fairness_plugin.settings import above

SHAPES = ("box", "half-space")
# Of regions drawn at random the one whose mass is nearest is planted: columns of few values have no
# region of just any mass.
_N_TRIES = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class PlantedPower:
    """How often one search of an audit finds a violation planted into the audit's own rows.

    Parameters
    ----------
    search : tuple
        ``(sensitive_feature, group, outcome)`` of the search.
    ratio : float
        Ratio planted; NaN where it is a difference.
    mass : float
        Mass asked for.
    shapes : tuple of str
        "box" or "half-space" of each draw, each of two features chosen at random.
    masses : ndarray of shape (n_draws,)
        Mass of each plant; others where columns have few values.
    found : ndarray of bool of shape (n_draws,)
        Whether the search called a violation.
    as_subgroup : ndarray of bool of shape (n_draws,)
        Whether it told as one a subgroup, or a part beside everybody, with half of the plant's rows.
    overlap : ndarray of shape (n_draws,)
        Rows in both plant and subgroup over rows in either; NaN where nothing could be compared.
    difference : float
        Difference of means planted, in units of the outcome; NaN where it is a ratio.
    """

    search: Named
    ratio: float
    mass: float
    shapes: tuple[str, ...]
    masses: np.ndarray
    found: np.ndarray
    as_subgroup: np.ndarray
    overlap: np.ndarray
    difference: float = math.nan

    @property
    def n_draws(self) -> int:
        """Number of plants."""
        return len(self.found)

    @property
    def rate(self) -> float:
        """Share of the plants that were found."""
        return float(self.found.mean())

    @property
    def error(self) -> float:
        """Binomial standard error of ``rate``, two plants added that are found and two that are not."""
        return _error(self.found)

    def __repr__(self) -> str:
        return (
            f"PlantedPower({self._named('=')}, mass={self.mass:.3g}, {self.n_draws} draws, "
            f"found={self.rate:.2f} +- {self.error:.2f})"
        )

    def _named(self, of: str) -> str:
        """What was planted."""
        if math.isnan(self.difference):
            return f"ratio{of}{rounded(self.ratio)}"
        return f"difference{of}{rounded(self.difference)}"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per shape, and one of all."""
        shapes = np.array(self.shapes)
        lines = []
        for shape in (*dict.fromkeys(self.shapes), "all"):
            own = np.full(self.n_draws, True) if shape == "all" else shapes == shape
            lines.append(
                {
                    "shape": shape,
                    "n_draws": int(own.sum()),
                    "found": float(self.found[own].mean()),
                    "error": _error(self.found[own]),
                    "as_subgroup": float(self.as_subgroup[own].mean()),
                    "overlap": mean_of_known(self.overlap[own]),
                    "mass": float(self.masses[own].mean()),
                }
            )
        return pd.DataFrame(lines)

    def summary(self) -> str:
        """Tell how often the plants were found, in plain text."""
        lines = [
            f"{search_text(self.search)}: a {self._named(' of ')} was planted "
            f"{self.n_draws:,} times into the audit's own rows, in random boxes and half-spaces of two "
            f"features that hold a mass of {self.mass:.3g}, and the whole audit repeated."
        ]
        for line in self.to_frame().to_dict("records"):
            shape = "Of all" if line["shape"] == "all" else f"In a {line['shape']}"
            lines.append(
                f"- {shape} ({line['n_draws']}): {percent(line['found'])} found (standard error "
                f"{percent(line['error'])}), {percent(line['as_subgroup'])} as a subgroup that holds "
                "half of the planted people."
            )
        return "\n".join(lines)


def _error(found: np.ndarray) -> float:
    """Never zero, also if all are found (Agresti and Coull 1998)."""
    n = len(found) + 4
    rate = (found.sum() + 2) / n
    return math.sqrt(rate * (1.0 - rate) / n)


def power(
    result: AuditRecord,
    ratio: float | None = None,
    n_draws: int = 40,
    *,
    difference: float | None = None,
    violation: Violation | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> PlantedPower:
    """Plant a violation into an audit's own rows, again and again, and count how often it is found.

    Parameters
    ----------
    result : AuditResult
    ratio : float or None, default=None
        Ratio of the rates, above 1; None: the ``detectable_ratio`` that the search states, for
        subgroups of its ``detectable_mass``, which is what is planted.
    n_draws : int, default=40
        Plants, every other one a box and a half-space.
    difference : float or None, default=None
        In the place of the ratio where means are compared by their difference: that, in units of the
        outcome; None: the ``detectable_difference``.
    violation : Violation or None, default=None
        Search that has to find it; None: that of the worst case.
    n_jobs, random_state, progress
        As for ``null_distribution``.

    Returns
    -------
    power : PlantedPower

    Raises
    ------
    InputError
        If the result was read from elsewhere and does not hold its data, or the search could not be
        made, or is of ranks, or compares by the other of ratio and difference, or the ratio is none.

    Notes
    -----
    Sensitive values are redrawn from the features, as ``null_distribution`` does, so that what leaks
    is the plant alone. Inside it both rates move away from what the audit's model of the outcome tells
    of each row, by the same factor up and down, as far as a rate can rise. A number moves up or down by
    half of the difference, or by the factor that takes both means to the ratio. Found is what the
    search calls a violation after all that a verdict asks for, adjustment for other searches included.
    Weights and propensities of the audit tell the mass of a plant. Rows of a cluster move together.
    """
    source, n_draws, seed = checked(result, n_draws, "n_draws", random_state)
    asked = result.worst_case if violation is None else violation
    place = next((i for i, v in enumerate(result.violations) if v is asked), None)
    if place is None or asked is None:
        raise InputError("violation: one of the result's violations expected.")
    size = _size(asked, source.problem, ratio, difference)
    field = _field(source, place, size, asked.detectable_mass)
    chances = chances_of(source, seed)
    parts = repeat(
        lambda i: delayed(_draw)(source, chances, field, place, seed, i), n_draws, n_jobs, progress
    )
    masses, found, as_subgroup, overlap = np.array(parts, dtype=float).T
    return PlantedPower(
        search=searched(result)[place],
        ratio=math.nan if asked.by_difference else size,
        difference=size if asked.by_difference else math.nan,
        mass=field.mass,
        shapes=tuple(SHAPES[i % len(SHAPES)] for i in range(n_draws)),
        masses=masses,
        found=found > 0,
        as_subgroup=as_subgroup > 0,
        overlap=overlap,
    )


def _size(
    asked: Violation, problem: AuditProblem, ratio: float | None, difference: float | None
) -> float:
    """Ratio or difference to plant."""
    name, given, other = "ratio", ratio, difference
    detectable, least = asked.detectable_ratio, 1
    if asked.by_difference:
        name, given, other = "difference", difference, ratio
        detectable, least = asked.detectable_difference, 0
    if problem.cuts and problem.is_amount(asked.outcome):
        raise InputError(
            "violation: this search is of ranks, which no plant can move. Pass one of a cut "
            "of the order."
        )
    if other is not None:
        argument = "ratio" if asked.by_difference else "difference"
        raise InputError(f"{argument}: this search compares by the {name}; pass {name}= instead.")
    size = above(name, detectable if given is None else given, least)
    if asked.outcome_scale == RANK and size >= 1:
        raise InputError(
            f"{name}: ranks are shares of rows, so below 1 expected, as .1 for ten percentage points; "
            f"{size:g} found."
        )
    return size


@dataclass(frozen=True, kw_only=True, eq=False)
class _Field:
    """Where plants can grow: comparable rows, their rates without a plant and with one.

    Of a number ``rates`` are what its values are multiplied with, or what is added to them.
    """

    key: SearchKey
    rows: np.ndarray  # places among the working rows
    mass: float
    rate: np.ndarray
    rates: tuple[np.ndarray, np.ndarray]  # inside a plant, of the group and of the others
    masses: np.ndarray  # of each row, if it is inside


def _field(source: AuditSource, place: int, size: float, mass: float) -> _Field:
    found = prepared(source.problem, source.settings)
    search = None if found is None else found[0][place]
    if search is None or not search.made:
        raise InputError("violation: this search could not be made, so nothing can be planted.")
    data = search.data
    totals = np.where(data.s > 0, *(data.weights[data.s == side].sum() for side in (1, -1)))
    masses = data.weights / totals / 2.0
    if data.of_means:
        half, rate = size / data.of.unit / 2.0, np.zeros(len(data.s))
        high, low = rate + half, rate - half
        if not issubclass(data.kind, MeanDifference):
            factors = (2.0 * size / (1.0 + size), 2.0 / (1.0 + size))
            high, low = (rate + own for own in (factors if data.of.unit > 0 else factors[::-1]))
    else:
        # A rate of none or all cannot be moved.
        assert data.outcome is not None
        rate = np.clip(data.outcome, 1e-6, 1.0 - 1e-6)
        high = np.minimum(2.0 * rate * size / (1.0 + size), 1.0)
        low = high / size
        masses = masses * (high + low) / 2.0
    rates, rows = (high, low), data.rows
    return _Field(key=search.key, rows=rows, mass=mass, rate=rate, rates=rates, masses=masses)


def _draw(
    source: AuditSource,
    chances: list[np.ndarray],
    field: _Field,
    place: int,
    seed: int,
    number: int,
) -> tuple[float, bool, bool, float]:
    """Mass of one plant, whether it is found, also as a subgroup, and the overlap."""
    rng = np.random.default_rng([seed, 3, number])
    problem = without_leak(source.problem, chances, rng)
    tries = [_region(problem, field, SHAPES[number % len(SHAPES)], rng) for _ in range(_N_TRIES)]
    mass, inside = min(tries, key=lambda tried: abs(tried[0] - field.mass))
    problem = _planted(problem, field, inside, rng)
    settings = source.settings.reseeded(int(rng.integers(2**31 - 1)))
    searches = rerun(problem, settings, lambda search: ask_models(search, problem))
    if searches is None or not searches[place].made:
        return mass, False, False, math.nan
    measured = [search.measured for search in measure(searches, problem, settings)]
    figures, search = conclude(measured, settings, problem.outcome_labels)[place], searches[place]
    plant = np.zeros(problem.n_rows, dtype=bool)
    plant[field.rows[inside]] = True
    plant = plant[search.rows[search.data.held_out]]
    member, found = search.held_member, figures["verdict"] == VIOLATION
    # What is told as a violation: a subgroup, or a part of everybody beside them.
    told = [member] if found and not search.everybody else []
    parts = (("searched", search.held_searched), ("core", search.held_core))
    told += [part for name, part in parts if figures[name].beside]
    there = any(2 * (plant & part).sum() >= plant.sum() for part in told)
    return mass, found, there, float((plant & member).sum() / max((plant | member).sum(), 1))


def _region(
    problem: AuditProblem, field: _Field, shape: str, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Mass and rows of a region of two features that grows until it has the mass."""
    n_features = problem.display.shape[1]
    chosen = rng.choice(n_features, min(2, n_features), replace=False)
    ranks = np.stack([_ranks(problem.display.iloc[field.rows, j], rng) for j in chosen], axis=1)
    if shape == "box":
        centre, width = ranks[rng.integers(len(ranks))], rng.uniform(0.5, 2.0, len(chosen))
        distance = (np.abs(ranks - centre) / width).max(axis=1)
    else:
        direction = rng.normal(size=len(chosen))
        distance = ranks @ (direction / np.abs(direction).sum())
    order = np.argsort(distance, kind="stable")
    steps, last = np.unique(distance[order][::-1], return_index=True)
    grown = np.cumsum(field.masses[order])[len(order) - 1 - last]
    nearest = int(np.argmin(np.abs(grown - field.mass)))
    return float(grown[nearest]), distance <= steps[nearest]


def _ranks(column: pd.Series, rng: np.random.Generator) -> np.ndarray:
    """Shares of the rows below each, values of categories in some order; unknown ones first."""
    if not pd.api.types.is_numeric_dtype(column):
        codes = pd.factorize(column)[0]
        order = rng.permutation(codes.max(initial=0) + 1)
        column = pd.Series(np.where(codes < 0, -1, order[codes]))
    return column.rank(pct=True, na_option="top").to_numpy(dtype=float)


def _planted(
    problem: AuditProblem, field: _Field, inside: np.ndarray, rng: np.random.Generator
) -> AuditProblem:
    """Outcomes of the rows inside moved to the rates of a plant."""
    key = field.key
    (s,) = (
        own.s
        for own in problem.contrasts
        if (own.sensitive_feature, own.group) == (key.sensitive_feature, key.group)
    )
    rows = field.rows[inside]
    moves = np.where(s[rows] > 0, *(own[inside] for own in field.rates))
    if problem.amount is not None and problem.is_amount(key.outcome):
        amount, values = problem.amount, problem.amount.values.copy()
        values[rows] = (
            values[rows] + moves if amount.measure == "difference" else values[rows] * moves
        )
        return replace(problem, amount=replace(amount, values=values))
    has = problem.has(key.outcome)
    level = rng.random(problem.n_rows)
    if problem.cluster is not None:
        _, first, own = np.unique(problem.cluster, return_index=True, return_inverse=True)
        level = level[first][own]
    others = problem.y[~has]
    instead = rng.choice(others, problem.n_rows) if len(others) else problem.y
    target: Any = rng.choice(problem.y[has], problem.n_rows)[rows] if problem.cuts else None
    if target is None:
        target = problem.outcome_labels.index(key.outcome)
    y, own, level, rate = problem.y.copy(), has[rows], level[rows], field.rate[inside]
    falls, rises = own & (level >= moves / rate), ~own & (level < (moves - rate) / (1.0 - rate))
    y[rows] = np.where(falls, instead[rows], np.where(rises, target, y[rows]))
    moved = replace(problem, y=y)
    if problem.amount is None:
        return moved
    ranks = np.zeros(len(problem.outcome_labels))  # of an order
    ranks[problem.y] = problem.amount.values
    return replace(moved, amount=replace(problem.amount, values=ranks[y]))
