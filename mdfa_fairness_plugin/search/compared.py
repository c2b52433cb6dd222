"""Rows of two or more values of a column, and the models of the features that they share."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.display import told_features
from mdfa_fairness_plugin.data.given import OUTCOME, PROPENSITY
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.learn.cells import Cells, Sorter
from mdfa_fairness_plugin.learn.given import GivenProbability, repeated_probability
from mdfa_fairness_plugin.learn.links import IDENTITY, LOGIT, Link
from mdfa_fairness_plugin.learn.models import Shared
from mdfa_fairness_plugin.learn.probability import (
    CrossFittedMean,
    CrossFittedProbability,
)
from mdfa_fairness_plugin.numerics.rows import at
from mdfa_fairness_plugin.search.outcomes import Outcome
from mdfa_fairness_plugin.settings import Settings

# Chance of finding that models miss something where they do not.
_BY_CHANCE = 0.05
# Rows that are looked at for it.
_MOST_LOOKED_AT = 20_000


def beside(model: Any, untold: Any) -> Any:
    """A model with what it told before it was told what it had missed, if its ladder is asked for."""
    return model.beside(untold) if isinstance(model, CrossFittedMean) and model.lesser else model


class Compared:
    """Rows of two or more values of a column, with outcome models that all of their grounds share."""

    def __init__(
        self,
        problem: AuditProblem,
        rows: np.ndarray,
        folds: np.ndarray,
        settings: Settings,
        ladder: bool = True,
    ) -> None:
        self.settings = settings
        self.ladder = ladder
        self.rows = np.flatnonzero(rows)
        self.X = problem.encoded.take(self.rows)
        self.base = at(problem.sample_weight, self.rows)
        self.folds = at(folds.T, self.rows).T  # (n_repeats, n)
        self.cluster = None if problem.cluster is None else at(problem.cluster, self.rows)
        self.unit = None if problem.unit is None else at(problem.unit, self.rows)
        self._unknown = problem.probability is not None
        self._told = told_features(problem.encoder.displays_, problem.encoder.leveled_)
        self._outcome_models: dict[Hashable, CrossFittedProbability] = {}

    def _shared(self, cells: tuple[Cells, ...]) -> Shared:
        """What all models of these rows share that are told of cells."""
        return self._plain.told(cells)

    @cached_property
    def _plain(self) -> Shared:
        return Shared.of(self.X, self.folds[0], self.base)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, Sorter]:
        """Rows that are learned from, one of those that are never split, and their cells.

        Of many rows some, evenly: what more of them would show is too little to matter.
        """
        rows = np.flatnonzero(self.folds[0] >= 0)
        if self.unit is not None:
            rows = rows[np.unique(self.unit[rows], return_index=True)[1]]
        rows = rows[:: -(-len(rows) // _MOST_LOOKED_AT)]
        return rows, Sorter(self._told, self.X.take(rows))

    def outcome_model(
        self, outcome: Outcome, cells: tuple[Cells, ...] = ()
    ) -> CrossFittedProbability:
        """``Pr[Y = y | x]`` of the outcome that models are fitted to."""
        outcome = outcome.yes_no or outcome
        name = (outcome.name, cells)
        if name not in self._outcome_models:
            link = LOGIT if outcome.whole else IDENTITY
            model = self._model(OUTCOME, outcome.modelled[self.rows], outcome.given, link, cells)
            if cells:
                model = beside(model, self.outcome_model(outcome))
            self._outcome_models[name] = model
        return self._outcome_models[name]

    def propensity(
        self, value: np.ndarray, given: np.ndarray | None, link: Link, cells: tuple[Cells, ...]
    ) -> CrossFittedProbability:
        """``Pr[S = +1 | x]``, or as given for all working rows; what is expected of a quantity."""
        return self._model(PROPENSITY, value, given, link, cells)

    def missed(
        self,
        left: np.ndarray,
        outcomes: Sequence[Outcome],
        cells: tuple[Cells, ...],
        refused: tuple[Cells, ...] = (),
    ) -> tuple[Cells, ...]:
        """Further cells that models of S, which leave so much, and of an outcome miss the same in."""
        if self._unknown:  # whose rows stand once for every group
            return ()
        modelled = {one.name: one for one in (one.yes_no or one for one in outcomes)}
        known, (rows, sorter) = {one.key for one in (*cells, *refused)}, self._sorted
        found: dict[Hashable, Cells] = {}
        for one in modelled.values():
            told = self.outcome_model(one, cells).out_of_fold
            own = (one.modelled[self.rows] - told)[rows] * self.base[rows]
            level = _BY_CHANCE / len(modelled)
            found |= {new.key: new for new in sorter.missed(left[rows], own, level)}
        return tuple(new for key, new in found.items() if key not in known)

    def _model(
        self,
        argument: str,
        value: np.ndarray,
        given: np.ndarray | None,
        link: Link,
        cells: tuple[Cells, ...],
    ) -> Any:
        """The user's probabilities, the user's estimator, or else the audit's own models."""
        stage = "outcome" if argument == OUTCOME else "propensity"
        fit = functools.partial(
            repeated_probability,
            getattr(self.settings, argument),
            argument,
            self.X,
            value,
            self.folds,
            link=link,
            sample_weight=self.base,
            seeds=self.settings.repeated_seeds(stage, len(self.folds)),
            n_jobs=self.settings.n_jobs,
            ladder=self.ladder,
            shared=functools.partial(self._shared, cells),
        )
        return fit() if given is None else GivenProbability(given[self.rows], fit, link)
