"""From merged sums to the result, by the functions that an audit in memory uses."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.dask.learning import Learned, region_of
from mdfa_fairness_plugin.dask.measuring import (
    CORE,
    EVERYONE,
    REGION,
    RULE,
    Judge,
    Measurement,
    Panel,
    SearchSums,
    SetSums,
)
from mdfa_fairness_plugin.dask.result import DaskAuditResult, Region, finished, without_rows
from mdfa_fairness_plugin.dask.survey import (
    Columns,
    Survey,
)
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.describe.conditions import EVERYBODY, NOBODY
from mdfa_fairness_plugin.describe.profile import ROWS
from mdfa_fairness_plugin.exceptions import Count, FeatureWarning, Message, WarningLog
from mdfa_fairness_plugin.measure.conclude import Measured, conclude, counts_frame
from mdfa_fairness_plugin.measure.estimates import Leftover, estimates_of
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.sensitivity import missing_bounds
from mdfa_fairness_plugin.measure.tests import holm, one_sided_p_value
from mdfa_fairness_plugin.records import (
    NO_COMPARABLE_ROW,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.search.level_sets import Sweep
from mdfa_fairness_plugin.search.selection import path_thresholds

LEARNED_FROM = "learned from, not measured"


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchFigures:
    """One search's sums, and what its figures are widened by."""

    judge: Judge
    sums: SearchSums
    statistic: float
    test_spread: float


class Conclusion:
    """The result of a distributed audit from the merged sums."""

    def __init__(
        self,
        learned: Learned,
        panel: Panel,
        survey: Survey,
        measured: Measurement,
        log: WarningLog,
    ) -> None:
        self.learned = learned
        self.panel = panel
        self.survey = survey
        self.measured = measured
        self.log = log
        self.level = learned.plan.confidence_level
        self.fitted = [learned.run.fitted(i) for i in range(len(learned.run.found))]
        pairs = iter(zip(panel.judges, measured.searches, strict=True))
        self.searches = [
            None if fitted is None else self._search(*next(pairs)) for fitted in self.fitted
        ]

    def _search(self, judge: Judge, sums: SearchSums) -> SearchFigures:
        statistic = sums.leak.statistic(self.learned.plan.seeds["test"])
        with np.errstate(invalid="ignore", divide="ignore"):
            each = sums.leak_by_model[:, 0] / np.sqrt(sums.leak_by_model[:, 1])
        return SearchFigures(
            judge=judge,
            sums=sums,
            statistic=statistic,
            test_spread=math.sqrt(1.0 + jackknife_variance(each)),
        )

    def result(
        self, auditor: MDFAuditor, columns: Columns, seed: int, started: float, n_blocks: int
    ) -> DaskAuditResult:
        """Figures of every search, tested as a family."""
        learned, survey, measured = self.learned, self.survey, self.measured
        p_values = np.array(
            [
                np.nan if one is None else one_sided_p_value(one.statistic, one.test_spread)
                for one in self.searches
            ]
        )
        adjusted = holm(p_values)
        n_tests = max(int((~np.isnan(p_values)).sum()), 1)
        violations: list[Violation] = []
        regions: list[Region | None] = []
        for i, search in enumerate(self.searches):
            given = without_rows(learned.result.violations[i])
            fitted = self.fitted[i]
            if search is None or fitted is None:
                reason = Message(
                    "among the ", Count(self._n_learned), " learned from, ", given.reason
                )
                violations.append(replace(given, reason=reason))
                regions.append(None)
                continue
            violations.append(
                self._violation(given, search, p_values[i], adjusted[i], n_tests, auditor.estimator)
            )
            regions.append(
                region_of(learned, fitted, search.judge.predictor, search.judge.propensity)
            )
        self._warn_of_unseen()
        sample = learned.result
        result = DaskAuditResult(
            violations=tuple(violations),
            balance=self._balance(),
            excluded=self._excluded(columns),
            silence=self._silence(),
            warnings=(*self.log.records, *sample.warnings),
            provenance=self._provenance(auditor, seed, started, n_blocks),
            alpha=sample.alpha,
            confidence_level=sample.confidence_level,
            n_samples=survey.n_rows,
            outcome_labels=sample.outcome_labels,
            sensitive_names=sample.sensitive_names,
            feature_names=sample.feature_names,
            regions=tuple(regions),
        )
        assert measured.n_learned == self._n_learned
        return finished(result, auditor, learned.problem.encoder, columns)

    @property
    def _n_learned(self) -> int:
        return self.learned.problem.n_samples

    def _violation(
        self,
        given: Violation,
        search: SearchFigures,
        p_value: float,
        adjusted: float,
        n_tests: int,
        estimator: str,
    ) -> Violation:
        """One search with the figures of all rows in the place of the sample's."""
        judge, sums = search.judge, search.sums
        rule = judge.rule
        covered = sums.sets[EVERYONE] if rule.text == EVERYBODY else sums.sets[RULE]
        rule_subgroup = Subgroup(label="rule")
        if rule.text and rule.text != NOBODY and covered.counts.sum():
            place = EVERYONE if rule.text == EVERYBODY else RULE
            rule_subgroup = self._subgroup("rule", given, search, place)
        return replace(
            given,
            **self.figures(search, adjusted, n_tests, estimator),
            n_missing=sums.n_missing,
            counts=self._counts(given, sums.sets[REGION]),
            statistic=search.statistic,
            p_value=p_value,
            p_value_adjusted=adjusted,
            profile=_with_totals(given.profile, sums),
            path=self._path(search),
            population=self._subgroup("everybody", given, search, EVERYONE),
            core=self._subgroup("core", given, search, CORE),
            rule_subgroup=rule_subgroup,
        )

    def figures(
        self, search: SearchFigures, adjusted: float, n_tests: int, estimator: str
    ) -> dict[str, Any]:
        """Estimates, intervals and verdict of one search, see ``conclude``."""
        sums = search.sums
        everyone, region = sums.sets[EVERYONE], sums.sets[REGION]
        bounds = (math.nan, math.nan)
        if sums.n_missing:
            bounds = missing_bounds(
                region.rates, np.array([True, False]), sums.missing[0], sums.missing[1]
            )
        return conclude(
            Measured(
                population=everyone.rates,
                region=region.rates,
                leftover=self._leftover(region),
                estimates=estimates_of(region.rates, sums.plain[1], sums.robust),
                missing_bounds=bounds,
                n_compared=int(everyone.counts.sum()),
                n_rows=int(region.counts.sum()),
                n_hits=int(region.counts[:, search.judge.outcome].sum()),
            ),
            estimator=estimator,
            alpha=self.learned.plan.alpha,
            confidence_level=self.level,
            adjusted=adjusted,
            n_tests=n_tests,
            spread=self._spread(search, REGION),
            test_spread=search.test_spread,
        )

    def _leftover(self, own: SetSums) -> Leftover | None:
        return own.leftover if self.learned.plan.balances else None

    def _spread(self, search: SearchFigures, place: int) -> float:
        """How much wider intervals in a set are for what the sample leaves open of the weights."""
        sums = search.sums
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = sums.rates_by_model[:, place, 1] / sums.rates_by_model[:, place, 0]
            each = np.log(rates[:, 0]) - np.log(rates[:, 1])
        variance = jackknife_variance(each)
        own = sums.sets[place]
        low, high = delta_interval(own.rates, self.level, 1.0, self._leftover(own))
        error = (high - low) / (2.0 * norm.ppf(0.5 + self.level / 2.0))
        if not (np.isfinite(error) and error > 0):
            return 1.0
        return math.sqrt(1.0 + variance / error**2)

    def _subgroup(
        self, label: str, given: Violation, search: SearchFigures, place: int
    ) -> Subgroup:
        own = search.sums.sets[place]
        rates = own.rates
        return Subgroup(
            label=label,
            delta=rates.delta,
            interval=delta_interval(
                rates, self.level, self._spread(search, place), self._leftover(own)
            ),
            gamma=rates.gamma,
            mass=rates.mass,
            n_rows=int(own.counts.sum()),
            rates=(float(rates.rates[0]), float(rates.rates[1])),
            counts=self._counts(given, own),
        )

    def _counts(self, given: Violation, own: SetSums) -> pd.DataFrame:
        labels = self.learned.problem.outcome_labels
        return counts_frame(own.counts, given.group, given.reference, labels, given.outcome)

    def _path(self, search: SearchFigures) -> WorstCasePath:
        sweep = Sweep(
            search.sums.tally, search.judge.bins, self.level, self._spread(search, REGION)
        )
        sets = sweep.at(path_thresholds(sweep, search.judge.threshold))
        return WorstCasePath(
            delta=sets.delta,
            mass=sets.mass,
            n_rows=sets.n_rows,
            threshold=sets.threshold,
            interval_low=sets.low,
            interval_high=sets.high,
        )

    def _by_contrast(self) -> dict[tuple[Any, ...], SearchSums]:
        """Sums of one search of every pair compared."""
        found: dict[tuple[Any, ...], SearchSums] = {}
        for violation, search in zip(self.learned.result.violations, self.searches, strict=True):
            if search is not None:
                key = (violation.sensitive_feature, violation.group, violation.reference)
                found.setdefault(key, search.sums)
        return found

    def _balance(self) -> dict[tuple[str, Hashable], Any]:
        """Diagnostics of the sample, with the share of all rows that could not be compared."""
        balance = dict(self.learned.result.balance)
        for (name, group, _), sums in self._by_contrast().items():
            if (name, group) in balance:
                balance[name, group] = replace(
                    balance[name, group],
                    n_outside_support=int(sums.outside[:, 0].sum()),
                    share_outside_support=_share_outside(sums),
                )
        return balance

    def _silence(self) -> tuple[Any, ...]:
        sums = self._by_contrast()
        told = []
        for one in self.learned.result.silence:
            own = sums[one.sensitive_feature, one.group, one.reference]
            told.append(
                replace(
                    one,
                    n_rows=int(own.outside[:, 0].sum()),
                    n_group=int(own.outside[0, 0]),
                    share=_share_outside(own),
                )
            )
        return tuple(told)

    def _excluded(self, columns: Columns) -> dict[str, int]:
        counts = {"zero weight": self.survey.weights.n_zero}
        if self.learned.run.auditor.missing == "exclude":
            for position, name in enumerate(columns.sensitive):
                counts[f"missing sensitive value ({name})"] = sum(
                    n for stratum, n in self.survey.counts.items() if stratum[position] is None
                )
        counts[LEARNED_FROM] = self._n_learned
        for (name, group, _), sums in self._by_contrast().items():
            counts[f"{NO_COMPARABLE_ROW} ({name}={group})"] = int(sums.outside[:, 0].sum())
        return {reason: count for reason, count in counts.items() if count}

    def _warn_of_unseen(self) -> None:
        if self.measured.unseen:
            unseen = self.measured.unseen.items()
            found = listing(
                (Message(f"{name!r} (", Count(count), ")") for name, count in unseen), len(unseen)
            )
            self.log.warn(
                FeatureWarning,
                "X: some rows have values that the ",
                Count(self._n_learned),
                " learned from do not have: ",
                found,
                ". New labels are read as the rare ones are, missing numbers as the median. "
                "A larger max_learning_rows tells them apart.",
            )

    def _provenance(
        self, auditor: MDFAuditor, seed: int, started: float, n_blocks: int
    ) -> dict[str, Any]:
        given = dict(self.learned.result.provenance)
        parameters = dict(given["parameters"])
        for name in ("max_learning_rows", "weight_type"):
            parameters[name] = getattr(auditor, name)
        state = auditor.random_state
        parameters["random_state"] = (
            state if state is None or isinstance(state, int) else type(state).__name__
        )
        return given | {
            "parameters": parameters,
            "seed": seed,
            "n_samples": self.survey.n_rows,
            "n_working_rows": self.measured.n_measured,
            "weight_type": self.panel.weight_type,
            "n_learned_rows": self._n_learned,
            "n_partitions": n_blocks,
            "timings": {"total": time.perf_counter() - started},
        }


def jackknife_variance(values: np.ndarray) -> float:
    """Variance over samples of what was computed without each of several parts of one.

    Parameters
    ----------
    values : ndarray of shape (n_parts,)

    Returns
    -------
    variance : float
        0 if fewer than two values are finite.
    """
    values = values[np.isfinite(values)]
    n = len(values)
    return float((n - 1) / n * ((values - values.mean()) ** 2).sum()) if n > 1 else 0.0


def _share_outside(sums: SearchSums) -> float:
    return float(sums.outside[:, 1].sum() / sums.weight) if sums.weight else 0.0


def _with_totals(profile: pd.DataFrame, sums: SearchSums) -> pd.DataFrame:
    """Profile of the sample, its counts and outcome rates those of all rows measured."""
    table = profile.copy()
    if len(table) < 2 or table.index[0][0] != ROWS:
        return table
    counts = [own.counts.sum(axis=1) for own in (sums.sets[EVERYONE], sums.sets[REGION])]
    table.iloc[0, :4] = np.concatenate(counts).astype(float)
    table.iloc[1, :4] = np.concatenate([rates.rates for rates in sums.plain])
    return table
