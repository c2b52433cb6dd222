"""Outcomes as searches see them: each by itself, and the one its models are fitted to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.measure.estimates import Rates
from mdfa_fairness_plugin.measure.means import KINDS, Means
from mdfa_fairness_plugin.measure.slopes import Slopes
from mdfa_fairness_plugin.measure.sums import ROWS, ValueOf
from mdfa_fairness_plugin.settings import Settings, alpha_for, alpha_of_people


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """One outcome over all working rows, and the one its models are fitted to.

    Where there are two outcomes both share the models of the rarer one, called ``name``; so do more
    and less of a number, which is searched as minus that number.
    """

    label: Hashable
    value: np.ndarray  # whether a row has it or, of a number, how much of it
    modelled: np.ndarray
    name: Hashable
    flip: bool = False  # the models are of the complement
    given: np.ndarray | None = None  # the user's probabilities of ``modelled``, or means
    kind: type[Rates] = Rates
    of: ValueOf = field(default_factory=ValueOf)
    counted: np.ndarray | None = None  # place of each row among what is counted, if not outcomes
    deviation: float = 1.0  # standard deviation of the value, where slopes are told by it
    # Of a number that is 0 or one other, by ratio: whether rows have it. Models and search are of that.
    yes_no: Outcome | None = None

    @property
    def whole(self) -> float:
        """What an outcome and its complement add up to: to 1, more and less of a number to 0."""
        return 1.0 if self.value.dtype == bool else 0.0

    @property
    def scale(self) -> dict[str, Any]:
        """Fields of a record that say what it is told in."""
        return self.of.scale(self.kind) | {"outcome_type": self.of.outcome_type(self.kind)}

    def with_given(self, probability: np.ndarray | None) -> Outcome:
        """The same with the user's probabilities of the label, or with what is expected of a number."""
        if probability is None:
            return self
        if self.yes_no is not None:
            share = probability / (abs(self.of.unit) * np.abs(self.value).max())
            return replace(self, yes_no=self.yes_no.with_given(share))
        if issubclass(self.kind, Means):
            return replace(self, given=probability / abs(self.of.unit))
        return replace(self, given=1.0 - probability if self.flip else probability)

    def expected(self, modelled: np.ndarray) -> np.ndarray:
        """What models say of this outcome, in units of the outcome."""
        if self.yes_no is not None:
            return self.yes_no.expected(modelled) * abs(self.of.unit) * np.abs(self.value).max()
        if issubclass(self.kind, Means):
            return modelled * abs(self.of.unit)
        return 1.0 - modelled if self.flip else modelled

    def alpha(self, settings: Settings, value: np.ndarray, base: np.ndarray) -> float:
        """Smallest mass searched for; of numbers a share of the people."""
        if issubclass(self.kind, Means):
            return alpha_of_people(settings)
        return alpha_for(settings, float(np.average(value, weights=base)))


def paired_outcomes(
    labels: Sequence[Hashable], positives: Sequence[np.ndarray], name: Hashable = None
) -> list[Outcome]:
    """Two outcomes, each the other's complement, or one of such a pair."""
    rare = rarer(positives[0])
    return [
        Outcome(
            label=label,
            value=positive,
            modelled=rare,
            name=name,
            flip=not np.array_equal(positive, rare),
        )
        for label, positive in zip(labels, positives, strict=True)
    ]


def outcomes_of(problem: AuditProblem) -> list[Outcome]:
    """The outcomes an audit looks at."""
    outcomes = [_outcome_of(problem, label) for label in problem.outcomes]
    if problem.outcome_type == "binary":
        positives = [one.value for one in outcomes]
        outcomes = paired_outcomes(problem.outcomes, positives)
    if problem.quantity is not None:
        outcomes = [_sloping(one, problem) for one in outcomes]
    return [one.with_given(problem.given_outcome(one.label)) for one in outcomes]


def _sloping(outcome: Outcome, problem: AuditProblem) -> Outcome:
    """The outcome by how much it changes with the quantity, in deviations of both."""
    assert problem.quantity is not None
    deviation, of = 1.0, outcome.of
    if outcome.whole:
        rate = float(np.average(outcome.value, weights=problem.sample_weight))
        deviation = max(rate * (1.0 - rate), 1e-12) ** 0.5
        of = replace(of, unit=deviation)
    unit = of.unit * problem.quantity.per / problem.quantity.deviation
    of = replace(of, unit=unit, nonnegative=False, per=problem.quantity.per)
    return replace(outcome, kind=Slopes, of=of, deviation=deviation)


def _outcome_of(problem: AuditProblem, label: Hashable) -> Outcome:
    """An outcome by itself; a cut of an order by its models of those above, a number by its own."""
    value, amount = problem.value(label), problem.amount
    if amount is not None and problem.is_amount(label):
        less = label == amount.directions[0]
        yes_no = None
        if amount.measure == "ratio" and value.any() and len(np.unique(np.append(value, 0.0))) == 2:
            (yes_no,) = paired_outcomes([label], [value != 0.0], name=amount.directions)
        return Outcome(
            label=label,
            value=value,
            modelled=amount.values,
            name=amount.directions,
            flip=less,
            kind=KINDS[amount.measure],
            of=ValueOf(
                unit=-amount.unit if less else amount.unit,
                nonnegative=amount.nonnegative,
                counted_by=ROWS,
            ),
            counted=np.zeros(problem.n_rows, dtype=np.intp),
            yes_no=yes_no,
        )
    if label not in problem.cuts:
        return Outcome(label=label, value=value, modelled=value, name=label)
    cut = problem.cuts[label]
    (one,) = paired_outcomes([label], [value], name=frozenset({cut.label, cut.other}))
    of = ValueOf(counted_by=(cut.label, cut.other))
    return replace(one, of=of, counted=(~value).astype(np.intp))


def rarer(positive: np.ndarray) -> np.ndarray:
    """An outcome or its complement, whatever its label: the rarer, or the first row's if as many."""
    n_positive = int(positive.sum())
    if 2 * n_positive != len(positive):
        return positive if 2 * n_positive < len(positive) else ~positive
    return positive if positive[0] else ~positive
