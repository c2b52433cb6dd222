"""Columns of the data by what they are for, as blocks of rows hold them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.dask.amounts import numbers_of
from mdfa_fairness_plugin.dask.groups import content_digest, content_ids
from mdfa_fairness_plugin.data.amounts import is_exposure
from mdfa_fairness_plugin.data.columns import Labels, composed, listing, read_labels
from mdfa_fairness_plugin.data.weights import weight_numbers
from mdfa_fairness_plugin.exceptions import InputError


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Columns of the data by what they are for."""

    outcome: Hashable
    sensitive: tuple[Hashable, ...]
    features: tuple[Hashable, ...]
    weight: Hashable | None = None
    cluster: Hashable | None = None
    by_content: bool = False  # rows equal in features and groups are one cluster's
    exposure: Hashable | None = None
    numeric: bool = False  # whether outcomes are numbers
    # Of outcomes and sensitive values, what is read as another spelling of the same word.
    spellings: Mapping[Hashable, Mapping[Hashable, Hashable]] = field(default_factory=dict)

    @property
    def clustered(self) -> bool:
        """Whether somebody may have several rows."""
        return self.by_content or self.cluster is not None

    @property
    def needed(self) -> tuple[Hashable, ...]:
        """Every column that is read."""
        others = (n for n in (self.weight, self.cluster, self.exposure) if n is not None)
        return (*self.features, *self.sensitive, self.outcome, *others)

    def read(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Columns needed, with one spelling of each word where these are merged."""
        absent = [name for name in self.needed if name not in frame.columns]
        if absent:
            raise InputError(
                f"ddf: some partition has no column {listing(absent)}, which others have; its columns "
                f"are {listing(frame.columns)}. All partitions must hold the same columns."
            )
        frame = frame[list(self.needed)]
        for name, spellings in self.spellings.items():
            frame = frame.copy(deep=False)
            is_categorical = isinstance(frame[name].dtype, pd.CategoricalDtype)
            spelled = (
                frame[name].astype(object).map(lambda v, own=spellings: own.get(composed(v), v))
            )
            frame[name] = spelled.astype("category") if is_categorical else spelled
        return frame

    def outcomes(self, frame: pd.DataFrame) -> tuple[Labels, np.ndarray | None]:
        """Outcomes as labels, or alike for all that have a number, and these, per exposure if any."""
        if not self.numeric:
            return read_labels(frame[self.outcome].array, "y"), None
        numbers = numbers_of(frame[self.outcome], "y")
        exposure = self.exposures(frame)
        if exposure is not None:
            numbers = numbers / np.where(is_exposure(exposure), exposure, 1.0)
        known = ~np.isnan(numbers)
        return Labels(codes=np.where(known, 0, -1), values=(0,)), numbers

    def groups(self, frame: pd.DataFrame) -> list[Labels]:
        """Sensitive values of some rows, column by column."""
        return [
            read_labels(frame[name].array, f"sensitive_features: column {str(name)!r}")
            for name in self.sensitive
        ]

    def weights(self, frame: pd.DataFrame) -> np.ndarray:
        """Weights of some rows, good or not."""
        if self.weight is None:
            return np.ones(len(frame))
        return weight_numbers(frame[self.weight].array)

    def exposures(self, frame: pd.DataFrame) -> np.ndarray | None:
        """Exposure of some rows, good or not; None if there is none."""
        return None if self.exposure is None else numbers_of(frame[self.exposure], "exposure")

    def digest(self, frame: pd.DataFrame) -> int:
        """Number that tells rows that say something else; those of parts of the rows add up."""
        return content_digest(frame[[*self.features, *self.sensitive, self.outcome]])

    def clusters(self, frame: pd.DataFrame) -> pd.Series | None:
        """Id of each row's cluster; None: every row is another's."""
        if self.by_content:
            return content_ids(frame[[*self.features, *self.sensitive]])
        return None if self.cluster is None else frame[self.cluster]
