"""The solvers by name."""

from __future__ import annotations

from mdfa_fairness_plugin.search.iterative import IterativeSolver
from mdfa_fairness_plugin.search.level_set import LevelSetSolver
from mdfa_fairness_plugin.search.orthogonal import OrthogonalSolver
from mdfa_fairness_plugin.search.solver import Solver

SOLVERS: dict[str, Solver] = {
    "orthogonal": OrthogonalSolver(),
    "level_set": LevelSetSolver(),
    "iterative": IterativeSolver(),
}
