"""Rows a rule is looked for on, and how well a draft of it covers them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.cells import all_whole
from mdfa_fairness_plugin.describe.conditions import Condition, Values

# A rule in the making: conjunctions, of which one must hold.
Draft = list[list[Condition]]


@dataclass(frozen=True, eq=False)
class Feature:
    """One display column cut into bins: intervals of values, or levels; the last is missing."""

    column: int
    name: str
    kind: str
    values: Values
    codes: np.ndarray  # bin of each row
    edges: np.ndarray = field(default_factory=lambda: np.empty(0))  # of numbers, between bins
    n_bins: int = 0  # the missing bin not counted
    has_missing: bool = False
    whole: bool = False

    @property
    def numeric(self) -> bool:
        """Whether bins are intervals."""
        return not isinstance(self.values, tuple)

    @property
    def numbers(self) -> np.ndarray:
        """Values of a numeric feature."""
        assert not isinstance(self.values, tuple)
        return self.values

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Levels of any other feature."""
        return self.values[1] if isinstance(self.values, tuple) else ()

    def at(self, rows: np.ndarray | slice) -> Feature:
        """The same column in some of its rows."""
        codes = self.codes[rows]
        if isinstance(self.values, tuple):
            # The rows have their order: so no level wins a tie by its name.
            codes, seen = pd.factorize(codes)
            levels = tuple(self.levels[i] for i in seen)
            return replace(self, values=(codes, levels), codes=codes, n_bins=len(levels))
        x = self.values[rows]
        known = x[~np.isnan(x)]
        some, whole = len(known) < len(x), all_whole(known)
        n_bins = len(self.edges) + 1 if len(known) else 0
        return replace(self, values=x, codes=codes, n_bins=n_bins, has_missing=some, whole=whole)

    def condition(self, **said: Any) -> Condition:
        """A condition on the column."""
        return Condition(column=self.column, name=self.name, kind=self.kind, **said)


def phi(hits: np.ndarray, misses: np.ndarray, inside: float, outside: float) -> np.ndarray:
    """Phi coefficient of rules covering ``hits`` of ``inside`` and ``misses`` of ``outside``."""
    covered = hits + misses
    spread = inside + outside - covered
    spread *= covered
    spread *= inside
    spread *= outside
    value = hits * outside
    value -= np.multiply(misses, inside, out=covered)
    least = max(1e-12 * (inside + outside) ** 4, np.finfo(float).tiny)
    value /= np.sqrt(np.maximum(spread, least, out=covered), out=covered)
    value[spread <= least] = 0.0
    return value


class Sample:
    """The rows searched, members first, with the features conditions may be on."""

    def __init__(self, features: list[Feature], n_members: int, weights: np.ndarray) -> None:
        self.features = {feature.column: feature for feature in features}
        self.n_members = n_members
        self.weights = weights
        self.totals = self.tally(np.ones(len(weights), dtype=bool))
        self._covers: dict[Condition, np.ndarray] = {}

    def tally(self, rows: np.ndarray) -> tuple[float, float]:
        """Weight of members and of others among rows given by a mask."""
        # Not a dot product: that of some libraries depends on the number of threads.
        counted = self.weights * rows
        return float(counted[: self.n_members].sum()), float(counted[self.n_members :].sum())

    def score(self, covered: np.ndarray) -> float:
        """Phi coefficient of membership and rows covered."""
        hits, misses = self.tally(covered)
        return float(phi(np.array([hits]), np.array([misses]), *self.totals)[0])

    def covered_by(self, condition: Condition) -> np.ndarray:
        """Rows that meet a condition."""
        if condition not in self._covers:
            self._covers[condition] = condition.met_by(self.features[condition.column].values)
        return self._covers[condition]

    def covered(self, rule: Draft, without: tuple[int, int] | None = None) -> np.ndarray:
        """Rows that meet a rule, one of whose conditions may be left out."""
        covered = np.zeros(len(self.weights), dtype=bool)
        for part, conjunction in enumerate(rule):
            meets = np.ones(len(self.weights), dtype=bool)
            for place, condition in enumerate(conjunction):
                if (part, place) != without:
                    meets &= self.covered_by(condition)
            covered |= meets
        return covered
