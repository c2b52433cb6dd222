"""What the models of a comparison share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mdfa_fairness_plugin.comparison.answers import Answers
from mdfa_fairness_plugin.data.contrasts import Contrast
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class Bench:
    """What all models share; ``outcomes`` are places among the answers' labels."""

    problem: AuditProblem
    answers: Answers
    settings: Settings
    outcomes: tuple[int, ...]
    keys: tuple[SearchKey, ...]
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

    def positive(self, codes: np.ndarray, key: SearchKey) -> np.ndarray:
        """Whether each working row got the outcome from a model of these codes."""
        return codes[self.problem.source_row] == self.answers.labels.index(key.outcome)
