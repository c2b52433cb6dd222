"""Tables 2 and 4: means of features on either side, in the population and in the worst subgroup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.auditor import audit
from mdfa_fairness_plugin.experiments.assembled import DEFAULT, VARIANTS, assemble, numbers
from mdfa_fairness_plugin.experiments.reproduction import Comparison, beside, summarise

_Published = Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Rows of a table of means: the names of S = +1 and the others, and titles by feature."""

    sides: tuple[str, str]
    titles: Mapping[str, str]

    def means(self, table: pd.DataFrame, inside: np.ndarray, group: np.ndarray) -> dict[str, float]:
        """Mean of every feature on either side of a subgroup."""
        rows_by_side = zip(self.sides, (inside & group, inside & ~group), strict=True)
        return {
            f"{feature} {side}": table.loc[rows, feature].mean()
            for side, rows in rows_by_side
            for feature in self.titles
        }

    def of_split(
        self, table: pd.DataFrame, X: pd.DataFrame, outcome: Any, sensitive: Any, group: str,
        name: str, seed: int, alphas: Sequence[float], **names: Any,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Who is in the subgroup of one split, by side, and its ratios; a row for every alpha.

        Of the system or a variant of it; the default search is made at the first alpha alone.
        """
        is_group = np.ravel(sensitive) == group
        some = slice(len(X) - len(table), None)  # a coded table lacks the first row

        def row(
            alpha: float, inside: np.ndarray, held_out: np.ndarray, raw: float, balanced: float
        ) -> dict[str, Any]:
            return {
                **{"search": name, **names, "seed": seed, "alpha": alpha},
                **self.means(table, inside[some], is_group[some]),
                "share": float(inside.sum() / held_out.sum()),
                "ratio_unweighted": float(np.exp(raw)),
                "ratio_balanced": float(np.exp(balanced)),
            }

        if name == DEFAULT:
            who = {"sensitive_features": sensitive, "groups": [group], "outcomes": [1]}
            how = {"alpha": alphas[0], "evaluation": "holdout", "random_state": seed}
            found = audit(X, outcome, **who, **how).violations[0]
            inside, raw = found.membership & found.held_out, found.estimates["unweighted"]
            return [row(alphas[0], inside, found.held_out, raw, found.delta)]
        s, positive = np.where(is_group, 1, -1), np.asarray(outcome) == 1
        answers = assemble(numbers(X), s, positive, seed, alphas=alphas, **VARIANTS[name])
        rows = []
        for alpha in alphas:
            inside, raw = answers.among_all(alpha), answers.rates(alpha, weighted=False).delta
            rows.append(row(alpha, inside, answers.held_out, raw, answers.rates(alpha).delta))
        return rows

    def of_population(
        self, table: pd.DataFrame, is_group: pd.Series, published: _Published
    ) -> Iterator[Comparison]:
        """Means and deviations of everybody beside the paper's."""
        means, deviations = table.groupby(is_group).mean(), table.groupby(is_group).std()
        for feature, title in self.titles.items():
            sides = zip(self.sides, (True, False), published[feature], strict=True)
            for side, in_group, paper in sides:
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
