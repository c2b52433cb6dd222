"""Tables 2 and 4: means of features on either side, in the population and in the worst subgroup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.experiments.reproduction import Comparison, beside, summarise

_Published = Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Rows of a table of means: the names of S = +1 and the others, and titles by feature."""

    sides: tuple[str, str]
    titles: Mapping[str, str]

    def means(
        self, table: pd.DataFrame, inside: np.ndarray, is_group: np.ndarray
    ) -> dict[str, float]:
        """Mean of every feature on either side of a subgroup."""
        rows_by_side = zip(self.sides, (inside & is_group, inside & ~is_group), strict=True)
        return {
            f"{feature} {side}": table.loc[rows, feature].mean()
            for side, rows in rows_by_side
            for feature in self.titles
        }

    def of_population(
        self, table: pd.DataFrame, is_group: pd.Series, published: _Published
    ) -> Iterator[Comparison]:
        """Means and deviations of everybody beside the paper's."""
        means, deviations = table.groupby(is_group).mean(), table.groupby(is_group).std()
        for feature, title in self.titles.items():
            for side, in_group, paper in zip(
                self.sides, (True, False), published[feature], strict=True
            ):
                ours = (means[feature][in_group], deviations[feature][in_group])
                yield beside(f"{title}, {side}", "population", ours, paper)

    def of_subgroup(
        self, runs: pd.DataFrame, name: str, published: _Published, why: str
    ) -> Iterator[Comparison]:
        """Means and deviations over the splits beside the paper's."""
        for feature, title in self.titles.items():
            for side, paper in zip(self.sides, published[feature], strict=True):
                ours = summarise(runs[f"{feature} {side}"])
                yield beside(f"{title}, {side}", f"violation, {name}", ours, paper, why=why)
