"""What every block of rows is measured with."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from mdfa_fairness_plugin.balance.balancer import Balancer
from mdfa_fairness_plugin.dask.amounts import Scale, Valued
from mdfa_fairness_plugin.dask.columns import Columns
from mdfa_fairness_plugin.dask.groups import Grouping
from mdfa_fairness_plugin.dask.survey import Stratum
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.describe.conditions import Rule
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.search.level_sets import Bins
from mdfa_fairness_plugin.search.solver import Region

# Numbers held per row of a chunk: the basis of the nuisances' logistic part is the widest, and several
# of its size exist at a time. With this a chunk takes some 100 MB.
_CHUNK_NUMBERS = 2_500_000
_MOST_CHUNK_ROWS = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """One search as it judges and weighs rows it has not seen.

    ``column`` is the place of the sensitive column; ``group`` and ``reference`` (-1 for everybody else)
    are codes. Both thresholds of the region are edges of ``bins``.
    """

    column: int
    group: int
    reference: int
    valued: Valued
    propensity: CrossFittedProbability
    outcome_model: CrossFittedProbability
    flip_s: bool
    flip_y: bool
    limits: tuple[float, float]
    region: Region
    proposed: float  # threshold of the region before it was held beside everybody
    adjusts: bool  # whether rates are those at the same features
    bins: Bins
    balancer: Balancer
    rule: Rule

    def sides(self, values: np.ndarray) -> np.ndarray:
        """+1 for rows of the group, -1 for those it is compared with, 0 for others."""
        others = values >= 0 if self.reference < 0 else values == self.reference
        return np.where(values == self.group, 1, np.where(others, -1, 0))

    def propensities(self, fitted: np.ndarray) -> np.ndarray:
        """Propensity of the audited side."""
        return 1.0 - fitted if self.flip_s else fitted

    def rates(self, fitted: np.ndarray) -> np.ndarray:
        """Predicted rate of the audited outcome, or mean."""
        whole = 0.0 if self.valued.of_means else 1.0
        return whole - fitted if self.flip_y else fitted

    def weights_by(
        self, e: np.ndarray, s: np.ndarray, base: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Weights of rows if they had another propensity, in the place of those that they have."""
        if not self.balancer.from_propensity:
            return weights
        return base * self.balancer.weights(np.empty((len(s), 0)), s, e)


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """All that a block of rows is measured with."""

    columns: Columns
    # Values of every sensitive column, intersections included, by code.
    labels: tuple[tuple[Hashable, ...], ...]
    outcomes: tuple[Hashable, ...]  # outcome labels by code
    parts: tuple[tuple[int, ...], ...]  # columns of the data that each sensitive column is made of
    missing: Hashable  # what a missing sensitive value counts as; None: as missing
    weight_type: str
    mean_weight: float
    cut: dict[Stratum, float]  # largest key of a row that was learned from
    seed: int
    grouping: Grouping | None  # of clusters, if rows have any
    encoder: FeatureEncoder
    judges: tuple[Judge, ...]
    scale: Scale | None = None  # of outcomes that are numbers
    mean_exposure: float = 1.0

    @property
    def chunk_rows(self) -> int:
        """Rows to work on at a time."""
        width = max(
            [len(self.encoder.encoded_names_)]
            + [
                len(model.basis.varies)
                for judge in self.judges
                for model in (judge.propensity, judge.outcome_model)
                if isinstance(model, CrossFittedProbability)
            ]
        )
        return int(np.clip(_CHUNK_NUMBERS // width, 1_000, _MOST_CHUNK_ROWS))
