"""Figures of a comparison: ratios of rates, transfers between models, paired differences."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.comparison.bench import Bench
from mdfa_fairness_plugin.comparison.records import (
    ACCURACY,
    EVERYBODY,
    FALSE_POSITIVE,
    PLAIN_ESTIMATOR,
    SELECTION,
    TRUE_POSITIVE,
    WORST_CASE,
    Difference,
    ModelSearch,
    RateRatio,
    Transfer,
)
from mdfa_fairness_plugin.comparison.splits import Splits
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.influence import (
    log_ratio_influence,
    mean_influence,
    paired_interval,
)
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.sums import REGION
from mdfa_fairness_plugin.pipeline import Audit
from mdfa_fairness_plugin.records import SearchKey, Violation
from mdfa_fairness_plugin.results import AuditResult

# Fields of a ``ModelSearch`` that are those of the model's audit.
_OF_THE_AUDIT = (
    "verdict",
    "reason",
    "delta",
    "interval",
    "p_value_adjusted",
    "detectable_delta",
    "gamma",
    "mass",
    "n_rows",
    "share",
    "rule",
    "rule_fidelity",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionRows:
    """One cross-fitted search, its rows in the order of the bench."""

    s: np.ndarray  # 0 where not compared or not held out
    weights: np.ndarray
    member: np.ndarray
    violation: Violation
    spread: float  # widening of its intervals, for the search


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelAudit:
    """The audit of one model, or the reason why there is none."""

    result: AuditResult | None = None
    reason: str = ""
    regions: Mapping[SearchKey, RegionRows] = field(default_factory=dict)
    given: Mapping[Hashable, np.ndarray] | None = None  # the user's probabilities by outcome

    def violation(self, key: SearchKey) -> Violation | None:
        """What the audit says of a search."""
        found = () if self.result is None else self.result.violations
        return next((violation for violation in found if violation.key == key), None)


def region_rows(audit: Audit, bench: Bench) -> dict[SearchKey, RegionRows]:
    """The searches of an audit, row by row."""
    problem = audit.problem
    order = np.argsort(problem.source_row, kind="stable")[bench.input_place]
    regions = {}
    for search, violation in zip(audit.searches, audit.violations, strict=True):
        if not search.made:
            continue
        data, n_rows = search.data, problem.n_rows
        sides = np.where(data.held_out, data.s, 0).astype(np.int8)
        regions[search.key] = RegionRows(
            s=search.working(sides, n_rows)[order],
            weights=search.working(data.weights, n_rows)[order],
            member=search.working(search.member, n_rows)[order],
            violation=violation,
            spread=search.measured.widening.sets[REGION],
        )
    return regions


def figures_of(
    bench: Bench, audits: Mapping[Hashable, ModelAudit], splits: Splits, baseline: Hashable
) -> dict[str, Any]:
    """Rows, transfers and differences of a ``ComparisonResult``."""
    models, keys = bench.answers.models, bench.keys
    figures = Figures(bench, audits, splits)
    return {
        "rows": tuple(figures.row(model, key) for model in models for key in keys),
        "transfers": tuple(
            figures.transfer(own, model, key) for key in keys for own in models for model in models
        ),
        "differences": tuple(
            one
            for model in models
            if model != baseline
            for one in figures.differences(model, baseline)
        ),
    }


class Figures:
    """Figures of one model, or of two of them."""

    def __init__(self, bench: Bench, audits: Mapping[Hashable, ModelAudit], splits: Splits) -> None:
        self._bench = bench
        self._audits = audits
        self._splits = splits
        answers = bench.answers
        self._codes = dict(zip(answers.models, answers.codes, strict=True))

    @property
    def _confidence(self) -> float:
        return self._bench.settings.confidence_level

    def _cluster(self, rows: np.ndarray) -> np.ndarray | None:
        """Whose rows these are; None if each is somebody else's."""
        cluster = self._bench.problem.cluster
        return None if cluster is None else cluster[rows]

    def row(self, model: Hashable, key: SearchKey) -> ModelSearch:
        """One model in one search."""
        audit = self._audits[model]
        row = ModelSearch(
            model=model,
            search=key,
            reason=audit.reason,
            accuracy=self._accuracy(model),
            selection=self._rate_ratio(model, key, SELECTION),
            true_positive=self._rate_ratio(model, key, TRUE_POSITIVE),
            false_positive=self._rate_ratio(model, key, FALSE_POSITIVE),
        )
        violation = audit.violation(key)
        if violation is not None:
            row = replace(
                row,
                everybody_delta=violation.population.delta,
                everybody_interval=violation.population.interval,
                **{name: getattr(violation, name) for name in _OF_THE_AUDIT},
            )
        elif not row.reason:
            row = replace(row, reason=f"the model gives nobody the outcome {key.outcome!r}")
        return replace(row, **self._splits.own(self._place(model), self._bench.keys.index(key)))

    def transfer(self, owner: Hashable, model: Hashable, key: SearchKey) -> Transfer:
        """One model's outcomes inside the worst subgroup of another."""
        out = Transfer(subgroup_of=owner, model=model, search=key)
        region = self._audits[owner].regions.get(key)
        if region is not None:
            held = region.s != 0
            s, weights, member = region.s[held], region.weights[held], region.member[held]
            own, other = (
                self._bench.positive(self._codes[one], key)[held] for one in (owner, model)
            )
            cluster = self._cluster(held)
            rates = measure(other, s, weights, member, cluster)
            difference = measure(own, s, weights, member).delta - rates.delta
            violation = region.violation
            if owner == model:
                # What the audit says of the model, estimator, interval and all.
                figures: dict[str, Any] = {
                    "estimator": self._bench.settings.estimator,
                    "delta": violation.delta,
                    "interval": violation.interval,
                    "rates": violation.rates,
                }
            else:
                figures = {
                    "estimator": PLAIN_ESTIMATOR,
                    "delta": rates.delta,
                    "interval": delta_interval(rates, self._confidence, region.spread),
                    "rates": (float(rates.rates[0]), float(rates.rates[1])),
                }
            out = replace(
                out,
                **figures,
                difference=difference,
                difference_interval=paired_interval(
                    difference,
                    log_ratio_influence(own, s, weights, member),
                    log_ratio_influence(other, s, weights, member),
                    self._confidence,
                    region.spread,
                    cluster,
                ),
            )
        places = self._place(owner), self._place(model)
        return replace(out, **self._splits.transferred(*places, self._bench.keys.index(key)))

    def differences(self, model: Hashable, baseline: Hashable) -> list[Difference]:
        """Every quantity of a model beside the baseline's."""
        found = []
        for key in self._bench.keys:
            for quantity in (WORST_CASE, EVERYBODY, SELECTION, TRUE_POSITIVE, FALSE_POSITIVE):
                found.append(self._difference(model, baseline, key, quantity))
        return [*found, self._accuracy_difference(model, baseline)]

    def _place(self, model: Hashable) -> int:
        return self._bench.answers.models.index(model)

    # -- aggregate rates, features not looked at

    def _subset(
        self, model: Hashable, key: SearchKey, quantity: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Positive, s and weights over the working rows a rate is made of; s is 0 elsewhere."""
        problem, answers = self._bench.problem, self._bench.answers
        s = self._bench.contrast(key).s
        if quantity in (TRUE_POSITIVE, FALSE_POSITIVE):
            if answers.truth is None:
                return None
            truth = answers.truth[problem.source_row]
            has_outcome = truth == answers.labels.index(key.outcome)
            among = has_outcome if quantity == TRUE_POSITIVE else (truth >= 0) & ~has_outcome
            s = np.where(among, s, 0)
        if not ((s > 0).any() and (s < 0).any()):
            return None
        return self._bench.positive(self._codes[model], key), s, problem.sample_weight

    def _rate_ratio(self, model: Hashable, key: SearchKey, quantity: str) -> RateRatio:
        subset = self._subset(model, key, quantity)
        if subset is None:
            return RateRatio()
        positive, s, weights = subset
        rows = s != 0
        rates = measure(positive[rows], s[rows], weights[rows], cluster=self._cluster(rows))
        return RateRatio(
            rates=(float(rates.rates[0]), float(rates.rates[1])),
            interval=delta_interval(rates, self._confidence),
            n_rows=int(rows.sum()),
        )

    def _correct(self, model: Hashable) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Whether a model was right, the weights, and where the true label is known."""
        problem, answers = self._bench.problem, self._bench.answers
        if answers.truth is None or not (answers.truth >= 0).any():
            return None
        truth = answers.truth[problem.source_row]
        known = truth >= 0
        correct = self._codes[model][problem.source_row][known] == truth[known]
        return correct.astype(float), problem.sample_weight[known], known

    def _accuracy(self, model: Hashable) -> float:
        found = self._correct(model)
        return np.nan if found is None else float(np.average(found[0], weights=found[1]))

    # -- differences

    def _terms(
        self, model: Hashable, key: SearchKey, quantity: str
    ) -> tuple[float, np.ndarray, float] | None:
        """Log ratio of a quantity, each row's influence on it, and the widening for a search."""
        if quantity not in (WORST_CASE, EVERYBODY):
            subset = self._subset(model, key, quantity)
            if subset is None:
                return None
            positive, s, weights = subset
            rows = s != 0
            delta = measure(positive[rows], s[rows], weights[rows]).delta
            return delta, log_ratio_influence(positive, s, weights), 1.0
        region = self._audits[model].regions.get(key)
        if region is None:
            return None
        s, weights = region.s, region.weights
        positive = self._bench.positive(self._codes[model], key)
        if quantity == WORST_CASE:
            influence = log_ratio_influence(positive, s, weights, region.member)
            return region.violation.delta, influence, region.spread
        held = s != 0
        delta = measure(positive[held], s[held], weights[held]).delta
        return delta, log_ratio_influence(positive, s, weights, None), 1.0

    def _difference(
        self, model: Hashable, baseline: Hashable, key: SearchKey, quantity: str
    ) -> Difference:
        out = Difference(model=model, baseline=baseline, quantity=quantity, search=key)
        own, base = (self._terms(one, key, quantity) for one in (model, baseline))
        if own is None or base is None or not np.isfinite(own[0] - base[0]):
            return out
        difference = own[0] - base[0]
        interval = paired_interval(
            difference,
            own[1],
            base[1],
            self._confidence,
            max(own[2], base[2]),
            self._bench.problem.cluster,
        )
        return replace(out, difference=difference, interval=interval)

    def _accuracy_difference(self, model: Hashable, baseline: Hashable) -> Difference:
        out = Difference(model=model, baseline=baseline, quantity=ACCURACY, search=None)
        own, base = self._correct(model), self._correct(baseline)
        if own is None or base is None:
            return out
        _, weights, known = own
        difference = float(np.average(own[0] - base[0], weights=weights))
        interval = paired_interval(
            difference,
            mean_influence(own[0], weights),
            mean_influence(base[0], weights),
            self._confidence,
            cluster=self._cluster(known),
        )
        return replace(out, difference=difference, interval=interval)
