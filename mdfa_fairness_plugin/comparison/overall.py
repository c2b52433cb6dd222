"""Rates and means over everybody, features not looked at."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from mdfa_fairness_plugin.comparison.bench import Bench
from mdfa_fairness_plugin.comparison.records import FALSE_POSITIVE, TRUE_POSITIVE, RateRatio
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.influence import Effect, effect_of
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.means import MeanDifference, Means
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.search.outcomes import Outcome


class Overall:
    """What a model's outcomes are over everybody, or over those of one true label."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def effect(self, model: Hashable, key: SearchKey, quantity: str) -> Effect | None:
        """The same as an effect, in units of the outcome, with what moves it."""
        subset = self._subset(model, key, quantity)
        if subset is None:
            return None
        outcome, s, weights = subset
        own = effect_of(outcome.value, s, weights, kind=outcome.kind)
        return own.times(abs(outcome.of.unit)) if issubclass(outcome.kind, MeanDifference) else own

    def _subset(
        self, model: Hashable, key: SearchKey, quantity: str
    ) -> tuple[Outcome, np.ndarray, np.ndarray] | None:
        """Outcome, s and weights over the working rows a rate is made of; s is 0 elsewhere."""
        outcome = self._bench.outcome(model, key)
        problem, answers = self._bench.problem, self._bench.answers
        s = self._bench.contrast(key).s
        if quantity in (TRUE_POSITIVE, FALSE_POSITIVE):
            if answers.truth is None or issubclass(outcome.kind, Means):
                return None
            truth = answers.truth[problem.source_row]
            has_outcome = self._bench.has(truth, key.outcome)
            among = has_outcome if quantity == TRUE_POSITIVE else (truth >= 0) & ~has_outcome
            s = np.where(among, s, 0)
        if not ((s > 0).any() and (s < 0).any()):
            return None
        return outcome, s, problem.sample_weight

    def ratio(self, model: Hashable, key: SearchKey, quantity: str) -> RateRatio:
        """Rates or means of a model's outcomes, and their ratio or difference."""
        subset = self._subset(model, key, quantity)
        if subset is None:
            return RateRatio()
        outcome, s, weights = subset
        rows = s != 0
        rates = measure(
            outcome.value[rows],
            s[rows],
            weights[rows],
            cluster=self._cluster(rows),
            kind=outcome.kind,
        )
        group, others = outcome.of.unit * rates.rates
        interval = delta_interval(rates, self._bench.settings.confidence_level)
        told: dict[str, Any] = {"interval": interval, "less": outcome.of.unit < 0}
        if isinstance(rates, MeanDifference):
            size = abs(outcome.of.unit)
            told = {
                "measure": "difference",
                "difference": size * rates.delta,
                "difference_interval": (size * interval[0], size * interval[1]),
            }
        told |= {"n_rows": int(rows.sum()), "fewest": fewest(outcome.value[rows], s[rows])}
        return RateRatio(rates=(float(group), float(others)), **told)

    def _cluster(self, rows: np.ndarray) -> np.ndarray | None:
        """Whose rows these are; None if each is somebody else's."""
        cluster = self._bench.problem.cluster
        return None if cluster is None else cluster[rows]


def fewest(value: np.ndarray, s: np.ndarray) -> int | None:
    """Fewest rows of one side with or without an outcome; of numbers, of one side."""
    sides = [value[s == side] for side in (1, -1) if (s == side).any()]
    if np.isin(value, (0, 1)).all():
        return min((int(n) for y in sides for n in (y.sum(), len(y) - y.sum())), default=None)
    return min(map(len, sides), default=None)
