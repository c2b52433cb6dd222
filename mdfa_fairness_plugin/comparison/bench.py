"""What the models of a comparison share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.comparison.answers import Answers
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
from mdfa_fairness_plugin.measure.means import MeanDifference
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.search.outcomes import Outcome, outcomes_of
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
    given: Mapping[Hashable, Any] = field(default_factory=dict)  # probabilities by label, per model

    def given_outcome(self, model: Hashable, label: Hashable) -> np.ndarray | None:
        """The user's probabilities of a model's outcome, of the working rows."""
        given = self.given.get(model)
        return (
            None if given is None or label not in given else given[label][self.problem.source_row]
        )

    def contrast(self, key: SearchKey) -> Contrast:
        """Sides of a search."""
        return next(
            one
            for one in self.problem.contrasts
            if (one.sensitive_feature, one.group) == (key.sensitive_feature, key.group)
        )

    @property
    def input_place(self) -> np.ndarray:
        """Place of each working row in the order of the input, repeated rows kept apart."""
        source_row = self.problem.source_row
        place = np.empty(len(source_row), dtype=np.intp)
        place[np.argsort(source_row, kind="stable")] = np.arange(len(source_row))
        return place

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
    return [
        replace(one, name=(model, one.name))
        for one in outcomes_of(replace(answered, outcomes=names))
    ]


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
