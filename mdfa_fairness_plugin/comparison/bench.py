"""What the models of a comparison share, what each gave everybody, and its audit row by row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.comparison.answers import Answers
from mdfa_fairness_plugin.comparison.records import FALSE_POSITIVE, TRUE_POSITIVE, RateRatio
from mdfa_fairness_plugin.data.amounts import (
    Amount,
    amount_of,
    asked_directions,
    ordered_cuts,
    ranked,
)
from mdfa_fairness_plugin.data.columns import as_list, find_label, listing
from mdfa_fairness_plugin.data.contrasts import Contrast
from mdfa_fairness_plugin.data.decisions import audited_outcomes
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.influence import Effect, effect_of
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.means import MeanDifference, Means
from mdfa_fairness_plugin.measure.sums import REGION, MeasuredRows
from mdfa_fairness_plugin.pipeline import Audit, measured_rows
from mdfa_fairness_plugin.records import SearchKey, Violation
from mdfa_fairness_plugin.replicate.repeats import scale_of
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.outcomes import Outcome, outcomes_of
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class Bench:
    """What all models share; ``outcomes`` are the names of those audited."""

    problem: AuditProblem
    answers: Answers
    settings: Settings
    outcomes: tuple[Hashable, ...]
    keys: tuple[SearchKey, ...]
    answered: Mapping[Hashable, list[Outcome]]  # what every model gave the working rows

    def contrast(self, key: SearchKey) -> Contrast:
        """Sides of a search."""
        own = (one for one in self.problem.contrasts if one.group == key.group)
        return next(one for one in own if one.sensitive_feature == key.sensitive_feature)

    @property
    def input_place(self) -> np.ndarray:
        """Place of each working row in the order of the input, repeated rows kept apart."""
        return np.argsort(np.argsort(self.problem.source_row, kind="stable"))

    def outcome(self, model: Hashable, key: SearchKey) -> Outcome:
        """What each working row got from a model, of a search's outcome or the favourable one."""
        if key.outcome not in self.outcomes:
            asked = replace(self.settings, outcomes=[key.outcome])
            return answered_by(model, self.problem, self.answers, asked)[0]
        return self.answered[model][self.outcomes.index(key.outcome)]

    def measure(self, key: SearchKey) -> str:
        """What the sides of a search are compared by."""
        kind = self.outcome(self.answers.models[0], key).kind
        return "difference" if issubclass(kind, MeanDifference) else "ratio"

    def has(self, codes: np.ndarray, label: Hashable) -> np.ndarray:
        """Whether labels at these places are an outcome audited."""
        labels = self.answers.labels
        if self.settings.ordered is not None:
            cuts = ordered_cuts(self.settings.ordered, labels)[1]
            cut = next((one for one in cuts if one.label == label), None)
            if cut is not None:
                return np.isin(codes, list(cut.codes))
        return codes == labels.index(label)

    def overall_effect(self, model: Hashable, key: SearchKey, quantity: str) -> Effect | None:
        """Overall effect in units of the outcome, features not looked at, with what moves it."""
        subset = self._subset(model, key, quantity)
        if subset is None:
            return None
        outcome, s, weights = subset
        own = effect_of(outcome.value, s, weights, kind=outcome.kind)
        return own.times(abs(outcome.of.unit)) if issubclass(outcome.kind, MeanDifference) else own

    def _subset(
        self, model: Hashable, key: SearchKey, quantity: str
    ) -> tuple[Outcome, np.ndarray, np.ndarray] | None:
        """Outcome, s and weights over the working rows a rate is made of; s is 0 elsewhere."""
        outcome = self.outcome(model, key)
        problem, answers = self.problem, self.answers
        s = self.contrast(key).s
        if quantity in (TRUE_POSITIVE, FALSE_POSITIVE):
            if answers.truth is None or issubclass(outcome.kind, Means):
                return None
            truth = answers.truth[problem.source_row]
            has_outcome = self.has(truth, key.outcome)
            among = has_outcome if quantity == TRUE_POSITIVE else (truth >= 0) & ~has_outcome
            s = np.where(among, s, 0)
        if not ((s > 0).any() and (s < 0).any()):
            return None
        return outcome, s, problem.sample_weight

    def overall_ratio(self, model: Hashable, key: SearchKey, quantity: str) -> RateRatio:
        """Overall rates or means of a model's outcomes, and their ratio or difference."""
        subset = self._subset(model, key, quantity)
        if subset is None:
            return RateRatio()
        outcome, s, weights = subset
        rows, problem = s != 0, self.problem
        value = outcome.value[rows]
        cluster = None if problem.cluster is None else problem.cluster[rows]
        rates = measure(value, s[rows], weights[rows], cluster=cluster, kind=outcome.kind)
        group, others = outcome.of.unit * rates.rates
        interval = delta_interval(rates, self.settings.confidence_level)
        told: dict[str, Any] = {"interval": interval, "less": outcome.of.unit < 0}
        if isinstance(rates, MeanDifference):
            size = abs(outcome.of.unit)
            told = {"measure": "difference", "difference": size * rates.delta}
            told["difference_interval"] = (size * interval[0], size * interval[1])
        told |= {"n_rows": int(rows.sum()), "fewest": fewest(value, s[rows])}
        return RateRatio(rates=(float(group), float(others)), **told)


def answered_by(
    model: Hashable, problem: AuditProblem, answers: Answers, settings: Settings
) -> list[Outcome]:
    """Every outcome audited, as one model gives it."""
    place, rows = answers.models.index(model), problem.source_row
    answered = replace(problem, y=answers.codes[place][rows], outcome_labels=answers.labels)
    amount: Amount | None = None
    if answers.numbers is not None:
        amount = _amount(answers.numbers[place][rows], problem.sample_weight, settings)
        names: tuple[Hashable, ...] = asked_directions(settings.outcomes, amount.directions)
        answered = replace(answered, amount=amount)
    elif settings.ordered is not None:
        weight = problem.sample_weight
        amount, cuts = ranked(settings.ordered, answers.labels, answered.y, weight)
        names = asked_directions(settings.outcomes, (*cuts, *amount.directions))
        answered = replace(answered, amount=amount, cuts=cuts)
    else:
        names = _asked(settings.outcomes, answers.labels)
    # Models do not share what is fitted to their outcomes.
    own = outcomes_of(replace(answered, outcomes=names))
    return [replace(one, name=(model, one.name)) for one in own]


def _asked(outcomes: Any, labels: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Outcomes to audit."""
    if outcomes is None:
        return audited_outcomes(None, labels, "multiclass")
    asked = as_list(outcomes)
    places = [find_label(label, labels) for label in asked]
    if not asked or None in places:
        wrong = repr(asked[places.index(None)]) if asked else "an empty list"
        raise InputError(
            f"outcomes: {wrong} was given; the models' outcomes are {listing(labels)}. Name "
            "some of these, or pass None for both."
        )
    return tuple(labels[place] for place in sorted({one for one in places if one is not None}))


def _amount(numbers: np.ndarray, weight: np.ndarray, settings: Settings) -> Amount:
    """A model's numbers as its audit compares them."""
    if np.ptp(numbers) > 0:
        return amount_of(numbers, weight, settings, per=False)
    measure = "difference" if settings.measure == "auto" else settings.measure
    return Amount(values=numbers, unit=1.0, measure=measure, nonnegative=bool(numbers[0] >= 0))


def fewest(value: np.ndarray, s: np.ndarray) -> int | None:
    """Fewest rows of one side with or without an outcome; of numbers, of one side."""
    sides = [value[s == side] for side in (1, -1) if (s == side).any()]
    if np.isin(value, (0, 1)).all():
        return min((int(n) for y in sides for n in (y.sum(), len(y) - y.sum())), default=None)
    return min(map(len, sides), default=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionRows:
    """One cross-fitted search, row by row, and what the features tell of the model's answers."""

    rows: MeasuredRows
    places: np.ndarray  # of the rows on the bench
    member: np.ndarray
    violation: Violation
    spread: float  # widening of its intervals, for the search
    # ``Pr[Y = y | x]`` of all rows on the bench by every rung, the best last; NaN if not compared.
    outcomes: tuple[np.ndarray, ...]
    scale: float  # what its effects are multiplied with to be in units of the outcome

    def answered(self, value: np.ndarray, outcomes: Sequence[np.ndarray]) -> MeasuredRows:
        """The same rows with a model's answers and what tells of these, of all rows on the bench."""
        weights = (*(own for own, _ in self.rows.lesser), self.rows.weights)
        told = tuple(own[self.places] for own in outcomes)
        most = len(weights) if len(weights) > 1 else len(told)
        *lesser, (_, best) = zip(*(_as_long(own, most) for own in (weights, told)), strict=True)
        return replace(self.rows, value=value[self.places], outcome=best, lesser=tuple(lesser))


def _as_long(ladder: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """A ladder of one rung, or of models told or not told what they missed, beside another of ``n``."""
    if len(ladder) == 1:
        return ladder * n
    more = n - len(ladder)  # rungs of models that were told
    if more < 0:
        return ladder[: n + more] + ladder[more:]
    return ladder + ladder[len(ladder) - more :]


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelAudit:
    """The audit of one model, or the reason why there is none."""

    result: AuditResult | None = None
    reason: str = ""
    regions: Mapping[SearchKey, RegionRows] = field(default_factory=dict)
    # The user's probabilities by outcome, of the rows on the bench.
    given: Mapping[Hashable, np.ndarray] = field(default_factory=dict)

    def violation(self, key: SearchKey) -> Violation | None:
        """What the audit says of a search."""
        found = () if self.result is None else self.result.violations
        return next((violation for violation in found if violation.key == key), None)


def region_rows(audit: Audit, bench: Bench) -> dict[SearchKey, RegionRows]:
    """The searches of an audit, row by row."""
    problem = audit.problem
    order = np.argsort(problem.source_row, kind="stable")[bench.input_place]
    place = np.argsort(order)
    regions = {}
    for search, violation in zip(audit.searches, audit.violations, strict=True):
        if not search.made:
            continue
        regions[search.key] = RegionRows(
            rows=measured_rows(search, problem),
            places=place[search.rows[search.data.held_out]],
            member=search.held_member,
            violation=violation,
            spread=search.measured.widening.sets[REGION],
            outcomes=_outcomes(search, place),
            scale=scale_of(search),
        )
    return regions


def _outcomes(search: Search, place: np.ndarray) -> tuple[np.ndarray, ...]:
    """``Pr[Y = y | x]`` by every rung, the best last, of all rows on the bench."""
    models = search.data.models
    assert models is not None
    told = []
    for model in (*models.outcome.lesser, models.outcome):
        m = np.full(len(place), np.nan)
        own = model.out_of_fold
        m[place[search.side.ground.compared.rows]] = search.data.expected(own)
        told.append(m)
    return tuple(told)
