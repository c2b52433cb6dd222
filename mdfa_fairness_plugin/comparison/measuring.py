"""Figures of a comparison: ratios of rates, transfers between models, paired differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.comparison.bench import Bench
from mdfa_fairness_plugin.comparison.performance import Metric, accuracy, performance
from mdfa_fairness_plugin.comparison.records import (
    ACCURACY,
    ADJUSTED_ESTIMATOR,
    EVERYBODY,
    FALSE_POSITIVE,
    PLAIN_ESTIMATOR,
    SELECTION,
    TRUE_POSITIVE,
    WORST_CASE,
    Alternative,
    Difference,
    ModelSearch,
    RateRatio,
    Transfer,
)
from mdfa_fairness_plugin.comparison.splits import Splits
from mdfa_fairness_plugin.data.columns import find_label
from mdfa_fairness_plugin.measure.allowance import Allowance
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.influence import (
    LogRatio,
    log_ratio_of,
    paired_interval,
)
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.sums import REGION, MeasuredRows, SetSums, still_to_come
from mdfa_fairness_plugin.pipeline import Audit, measured_rows
from mdfa_fairness_plugin.records import SearchKey, Violation
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.search import Search

# Fields of a ``ModelSearch`` that are those of the model's audit.
_OF_THE_AUDIT = (
    "verdict",
    "reason",
    "delta",
    "interval",
    "difference",
    "difference_interval",
    "p_value_adjusted",
    "detectable_delta",
    "detectable_mass",
    "gamma",
    "mass",
    "n_rows",
    "share",
    "rule",
    "rule_fidelity",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionRows:
    """One cross-fitted search, row by row, and what the features tell of the model's answers."""

    rows: MeasuredRows
    places: np.ndarray  # of the rows on the bench
    member: np.ndarray
    violation: Violation
    spread: float  # widening of its intervals, for the search
    # ``Pr[Y = y | x]`` of all rows on the bench by every rung, the best last; NaN if not compared.
    outcomes: tuple[np.ndarray, ...]

    def answered(self, positive: np.ndarray, outcomes: Sequence[np.ndarray]) -> MeasuredRows:
        """The same rows with the answers of a model, and what the features tell of these.

        Both of all rows on the bench.
        """
        weights = (*(own for own, _ in self.rows.lesser), self.rows.weights)
        told = tuple(own[self.places] for own in outcomes)
        most = max(len(weights), len(told))
        ladders = (own if len(own) == most else own * most for own in (weights, told))
        *lesser, (_, best) = zip(*ladders, strict=True)
        return replace(self.rows, value=positive[self.places], outcome=best, lesser=tuple(lesser))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Terms:
    """A log ratio, each bench row's influence on it, and what paired intervals need besides."""

    ratio: LogRatio
    moves: tuple[LogRatio, ...] = ()  # what the models may still take off, by lesser ones
    spread: float = 1.0  # widening for a search

    def beside(self, other: _Terms) -> tuple[LogRatio, ...]:
        """What the models may still take off the difference of both."""
        still = LogRatio(0.0, np.zeros(len(self.ratio.influence)))
        pairs = itertools.zip_longest(self.moves, other.moves, fillvalue=still)
        return tuple(own - its for own, its in pairs)


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
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    regions = {}
    for search, violation in zip(audit.searches, audit.violations, strict=True):
        if not search.made:
            continue
        regions[search.key] = RegionRows(
            rows=measured_rows(search, problem),
            places=place[search.rows[search.data.held_out]],
            member=search.held_member,
            violation=violation,
            spread=search.measured.widening.sets[REGION],
            outcomes=_outcomes(search, place),
        )
    return regions


def _outcomes(search: Search, place: np.ndarray) -> tuple[np.ndarray, ...]:
    """``Pr[Y = y | x]`` by every rung, the best last, of all rows on the bench."""
    models = search.data.models
    assert models is not None
    told = []
    for model in (*models.outcome.lesser, models.outcome):
        m = np.full(len(place), np.nan)
        own = model.out_of_fold
        m[place[search.side.ground.compared.rows]] = 1.0 - own if models.flip_y else own
        told.append(m)
    return tuple(told)


def figures_of(
    bench: Bench,
    audits: Mapping[Hashable, ModelAudit],
    splits: Splits,
    baseline: Hashable,
    metric: Metric | None = None,
) -> dict[str, Any]:
    """Rows, transfers, differences and alternatives of a ``ComparisonResult``."""
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
        "alternatives": () if metric is None else figures.alternatives(metric, baseline),
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

    @property
    def _adjusts(self) -> bool:
        return self._bench.settings.adjusts

    @property
    def _estimator(self) -> str:
        """Estimator of the audits; without weights that balance it is that of weighted rates."""
        estimator = self._bench.settings.estimator
        plain = estimator == ADJUSTED_ESTIMATOR and not self._adjusts
        return PLAIN_ESTIMATOR if plain else estimator

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
            mine, theirs = (self._answered(region, one, key) for one in (owner, model))
            own, other = (self._terms_in(region, rows, region.member) for rows in (mine, theirs))
            violation = region.violation
            if owner == model:
                # What the audit says of the model, estimator, interval and all.
                figures: dict[str, Any] = {
                    "estimator": self._estimator,
                    "delta": violation.delta,
                    "interval": violation.interval,
                    "rates": violation.rates,
                }
            else:
                known = key in self._audits[model].regions
                figures = self._measured(region, theirs) | {
                    "estimator": ADJUSTED_ESTIMATOR if known and self._adjusts else PLAIN_ESTIMATOR
                }
            difference = own.ratio.delta - other.ratio.delta
            out = replace(
                out,
                **figures,
                difference=difference,
                difference_interval=self._paired(difference, own, other),
            )
        places = self._place(owner), self._place(model)
        return replace(out, **self._splits.transferred(*places, self._bench.keys.index(key)))

    def _answered(self, region: RegionRows, model: Hashable, key: SearchKey) -> MeasuredRows:
        """Rows of a search with a model's answers; of one that has no audit nothing is predicted."""
        positive = self._bench.positive(self._codes[model], key)
        own = self._audits[model].regions.get(key)
        outcomes = (np.full(len(positive), positive.mean()),) if own is None else own.outcomes
        return region.answered(positive, outcomes)

    def _measured(self, region: RegionRows, rows: MeasuredRows) -> dict[str, Any]:
        """Delta, rates and interval inside a region, as an audit gives them."""
        sums = SetSums.of(rows, region.member)
        leftover = sums.leftover if self._adjusts else None
        rates = sums.rates.at_same_features(leftover)
        allowed = Allowance.of(sums)
        return {
            "delta": rates.delta,
            "interval": allowed.interval(sums.rates, self._confidence, region.spread, leftover),
            "rates": (float(rates.rates[0]), float(rates.rates[1])),
        }

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

    def _accuracy(self, model: Hashable) -> float:
        found = accuracy(self._bench, model)
        return np.nan if found is None else found.value

    # -- differences

    def _terms(self, model: Hashable, key: SearchKey, quantity: str) -> _Terms | None:
        """Log ratio of a quantity, and what moves it."""
        if quantity not in (WORST_CASE, EVERYBODY):
            subset = self._subset(model, key, quantity)
            return None if subset is None else _Terms(ratio=log_ratio_of(*subset))
        region = self._audits[model].regions.get(key)
        if region is None:
            return None
        worst = quantity == WORST_CASE
        terms = self._terms_in(region, region.rows, region.member if worst else None)
        reported = region.violation.delta if worst else region.violation.population.delta
        return replace(terms, ratio=replace(terms.ratio, delta=reported))

    def _terms_in(
        self, region: RegionRows, rows: MeasuredRows, member: np.ndarray | None
    ) -> _Terms:
        """Log ratio of the rows of a search inside its region, or of all, and what moves it."""

        def told(weights: np.ndarray, outcome: np.ndarray | None) -> LogRatio:
            found = log_ratio_of(rows.value, rows.s, weights, member, outcome)
            influence = np.zeros(self._bench.problem.n_rows)
            influence[region.places] = found.influence
            return replace(found, influence=influence)

        best = told(rows.weights, rows.outcome)
        coming = still_to_come(rows.shares or (1.0,) * len(rows.lesser))
        return _Terms(
            ratio=best if self._adjusts else told(rows.weights, None),
            moves=tuple(
                (told(*lesser) - best).times(times)
                for lesser, times in zip(rows.lesser, coming, strict=True)
                if times > 0
            ),
            spread=1.0 if member is None else region.spread,
        )

    def _paired(
        self, difference: float, own: _Terms, other: _Terms, level: float | None = None
    ) -> tuple[float, float]:
        return paired_interval(
            difference,
            own.ratio.influence,
            other.ratio.influence,
            self._confidence if level is None else level,
            max(own.spread, other.spread),
            self._bench.problem.cluster,
            own.beside(other),
        )

    def _difference(
        self, model: Hashable, baseline: Hashable, key: SearchKey, quantity: str
    ) -> Difference:
        out = Difference(model=model, baseline=baseline, quantity=quantity, search=key)
        own, base = (self._terms(one, key, quantity) for one in (model, baseline))
        if own is None or base is None:
            return out
        difference = own.ratio.delta - base.ratio.delta
        if not np.isfinite(difference):
            return out
        interval = self._paired(difference, own, base)
        return replace(out, difference=difference, interval=interval)

    def _accuracy_difference(self, model: Hashable, baseline: Hashable) -> Difference:
        out = Difference(model=model, baseline=baseline, quantity=ACCURACY, search=None)
        own, base = (accuracy(self._bench, one) for one in (model, baseline))
        if own is None or base is None:
            return out
        difference, interval = own.beside(base, self._confidence)
        return replace(out, difference=difference, interval=interval)

    # -- alternatives

    def alternatives(self, metric: Metric, baseline: Hashable) -> tuple[Alternative, ...]:
        """Every model, the baseline too, by how well it does and how unequal it is."""
        models = self._bench.answers.models
        # Intervals hold for all alternatives at once (Bonferroni).
        level = 1.0 - (1.0 - self._confidence) / max(len(models) - 1, 1)
        does = {model: performance(metric, self._bench, model) for model in models}
        told = []
        for model in models:
            one = Alternative(
                model=model,
                baseline=baseline,
                metric=metric.name,
                tolerance=math.nan if metric.tolerance is None else metric.tolerance,
                confidence_level=level,
                performance=does[model].value,
                impact=self._impact(model),
            )
            if model != baseline:
                better, interval = does[model].beside(does[baseline], level)
                worse, its = self._between_worst(model, baseline, level)
                one = replace(
                    one,
                    performance_difference=better,
                    performance_interval=interval,
                    worst_difference=worse,
                    worst_interval=its,
                )
            told.append(one)
        return tuple(told)

    def _worst_key(self, model: Hashable) -> SearchKey | None:
        result = self._audits[model].result
        case = None if result is None else result.worst_case
        return None if case is None else case.key

    def _impact(self, model: Hashable) -> RateRatio:
        """Favourable rates of the group of a model's worst case and of those it is compared with."""
        key, answers = self._worst_key(model), self._bench.answers
        good = find_label(self._bench.settings.favorable_label, answers.labels)
        if key is None or good is None:
            return RateRatio()
        return self._rate_ratio(model, replace(key, outcome=answers.labels[good]), SELECTION)

    def _between_worst(
        self, model: Hashable, baseline: Hashable, level: float
    ) -> tuple[float, tuple[float, float]]:
        """Log ratio of a model's worst case less that of the baseline's, whoever is in them."""
        keys = [(one, self._worst_key(one)) for one in (model, baseline)]
        own, base = (
            None if key is None else self._terms(one, key, WORST_CASE) for one, key in keys
        )
        if own is None or base is None:
            return math.nan, (math.nan, math.nan)
        difference = own.ratio.delta - base.ratio.delta
        if not math.isfinite(difference):
            return math.nan, (math.nan, math.nan)
        return difference, self._paired(difference, own, base, level)
