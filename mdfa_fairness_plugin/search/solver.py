"""What a solver is, and what it returns: a region, and who of the rows searched is inside.

A new solver is one file with a ``Solver`` and its ``Region``, and its line in ``solvers.SOLVERS``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np

from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.level_sets import LevelSets, SearchData
from mdfa_fairness_plugin.settings import Settings


class Region(Protocol):
    """What is kept of a search to judge rows it has not seen; can be pickled."""

    @property
    def threshold(self) -> float:
        """The region is ``scores >= threshold``; ``-inf`` for everybody."""

    @property
    def core_threshold(self) -> float:
        """Likewise for its core."""

    def scores(self, rows: Asked) -> np.ndarray:
        """Score encoded rows; larger is worse treated."""

    def by_model(self, rows: Asked) -> np.ndarray:
        """Scores by each model alone, shape (n_models, n)."""

    def unseen(self) -> Region:
        """What judges rows that no model saw, without what only learning rows need."""


class Alone(NamedTuple):
    """What one split of the rows into folds finds: no outcome of a fold has a say in who is inside."""

    member: np.ndarray  # (n,); in the subgroup
    searched: np.ndarray  # before it was held beside everybody


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """What a solver found; ``member`` and ``core`` tell each row by a choice it had no say in."""

    region: Region | None  # None: let go, since models take most of the memory
    threshold: float
    proposed: float  # likewise, before the region was held beside everybody
    scores: np.ndarray
    member: np.ndarray
    core: np.ndarray
    path: LevelSets
    # Rows held out that were in the region before it was held beside everybody.
    searched: np.ndarray
    alone: tuple[Alone, ...] = ()  # by one split of every repeat, if there are several
    iterations: tuple[int, ...] = ()  # of Algorithm 1, per learning part
    notes: tuple[str, ...] = field(default=())  # what the user should be warned of


class Solver(Protocol):
    """A way to find the region where one side gets one outcome most disproportionately."""

    learns: Literal["regressor", "classifier"] = "classifier"
    threads_of_its_own: bool = True  # fits models on several threads in every search

    def prepare(self, data: SearchData) -> None:
        """Fit what searches share, if anything, before they run on several threads."""
        return

    def solve(self, data: SearchData, settings: Settings) -> Solved:
        """Find the region."""
