"""Figures of a comparison: ratios of rates, transfers between models, paired differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.comparison.bench import Bench, ModelAudit, RegionRows, fewest
from mdfa_fairness_plugin.comparison.performance import (
    ACCURACY_METRIC,
    ERROR,
    R2,
    Metric,
    performance,
    usual_metrics,
)
from mdfa_fairness_plugin.comparison.records import (
    ACCURACY,
    ADJUSTED_ESTIMATOR,
    EVERYBODY,
    FALSE_POSITIVE,
    MEAN_ERROR,
    OF_THE_AUDIT,
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
from mdfa_fairness_plugin.fields import UNKNOWN_PAIR
from mdfa_fairness_plugin.measure.allowance import Allowance
from mdfa_fairness_plugin.measure.influence import Effect, effect_of, paired_interval
from mdfa_fairness_plugin.measure.sums import MeasuredRows, SetSums, before_told, still_to_come
from mdfa_fairness_plugin.records import SearchKey, Violation


@dataclass(frozen=True, kw_only=True, eq=False)
class _Terms:
    """An effect, each bench row's influence on it, and what paired intervals need besides."""

    ratio: Effect
    measure: str
    moves: tuple[Effect, ...] = ()  # what the models may still take off, by lesser ones
    spread: float = 1.0  # widening for a search

    def beside(self, other: _Terms) -> tuple[Effect, ...]:
        """What the models may still take off the difference of both."""
        still = Effect(0.0, np.zeros(len(self.ratio.influence)))
        pairs = itertools.zip_longest(self.moves, other.moves, fillvalue=still)
        return tuple(own - its for own, its in pairs)


def _sized(measure: str, effect: float, interval: tuple[float, float]) -> dict[str, Any]:
    """Fields of a ``Transfer`` for what its sides are compared by."""
    if measure == "difference":
        return {"measure": measure, "gap": effect, "gap_interval": interval}
    return {"delta": effect, "interval": interval}


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
            figures.difference(model, baseline, quantity, key)
            for model in models
            if model != baseline
            for quantity, key in figures.quantities()
        ),
        "alternatives": () if metric is None else figures.alternatives(metric, baseline),
    }


class Figures:
    """Figures of one model, or of two of them."""

    def __init__(self, bench: Bench, audits: Mapping[Hashable, ModelAudit], splits: Splits) -> None:
        self._bench = bench
        self._audits = audits
        self._splits = splits
        self._confidence = bench.settings.confidence_level
        self._adjusts = bench.settings.adjusts

    def row(self, model: Hashable, key: SearchKey) -> ModelSearch:
        """One model in one search."""
        audit = self._audits[model]
        does = {name: own.value for name, own in usual_metrics(self._bench, model).items()}
        row = ModelSearch(
            model=model,
            search=key,
            reason=audit.reason,
            accuracy=does.get(ACCURACY_METRIC, math.nan),
            r2=does.get(R2, math.nan),
            mean_absolute_error=-does.get(ERROR, math.nan),
            selection=self._bench.overall_ratio(model, key, SELECTION),
            true_positive=self._bench.overall_ratio(model, key, TRUE_POSITIVE),
            false_positive=self._bench.overall_ratio(model, key, FALSE_POSITIVE),
        )
        violation = audit.violation(key)
        if violation is not None:
            whole = violation.population
            figures: dict[str, Any] = {name: getattr(violation, name) for name in OF_THE_AUDIT}
            figures |= {"everybody_delta": whole.delta, "everybody_interval": whole.interval}
            if violation.by_difference:
                figures["everybody_difference"] = whole.difference
                figures["everybody_difference_interval"] = whole.difference_interval
            row = replace(row, **figures)
        elif not row.reason:
            row = replace(row, reason=f"the model gives nobody the outcome {key.outcome!r}")
        return replace(row, **self._splits.own(self._place(model), self._bench.keys.index(key)))

    def transfer(self, owner: Hashable, model: Hashable, key: SearchKey) -> Transfer:
        """One model's outcomes inside the worst subgroup of another."""
        out = Transfer(subgroup_of=owner, model=model, search=key)
        region = self._audits[owner].regions.get(key)
        if region is not None:
            _, own = self._there(region, owner, key)
            rows, other = self._there(region, model, key)
            if owner == model:
                figures = self._of_the_audit(region.violation)
            else:
                known = key in self._audits[model].regions
                figures = self._measured(region, rows, self._bench.outcome(model, key).of.unit)
                adjusts = known and self._adjusts
                figures["estimator"] = ADJUSTED_ESTIMATOR if adjusts else PLAIN_ESTIMATOR
            difference = own.ratio.delta - other.ratio.delta
            parts = [fewest(rows.value[m], rows.s[m]) for m in (region.member, ~region.member)]
            figures["fewest"] = min((n for n in parts if n is not None), default=None)
            ends = self._paired(difference, own, other)
            out = replace(out, **figures, difference=difference, difference_interval=ends)
        places = self._place(owner), self._place(model)
        return replace(out, **self._splits.transferred(*places, self._bench.keys.index(key)))

    def _of_the_audit(self, violation: Violation) -> dict[str, Any]:
        """What the audit says of its own subgroup, estimator, interval and all."""
        estimator = self._bench.settings.estimator
        if not self._adjusts and estimator == ADJUSTED_ESTIMATOR:  # without weights that balance
            estimator = PLAIN_ESTIMATOR
        sizes = _sized(violation.measure, violation.effect, violation.effect_interval)
        return {"estimator": estimator, "rates": violation.rates, **sizes}

    def _there(
        self, region: RegionRows, model: Hashable, key: SearchKey
    ) -> tuple[MeasuredRows, _Terms]:
        """Rows of a search with a model's answers, and their effect inside its region."""
        outcome, own = self._bench.outcome(model, key), self._audits[model].regions.get(key)
        value = outcome.value
        nothing = (np.full(len(value), value.mean()),)  # is told of a model that has no audit
        rows = region.answered(value, nothing if own is None else own.outcomes)
        return rows, self._terms_in(region, rows, region.member, abs(outcome.of.unit))

    def _measured(self, region: RegionRows, rows: MeasuredRows, unit: float) -> dict[str, Any]:
        """Effect, rates and interval inside a region, as an audit gives them."""
        sums = SetSums.of(rows, region.member)
        leftover = sums.leftover if self._adjusts else None
        rates = sums.rates.at_same_features(leftover)
        allowed = Allowance.of(sums)
        own, others = unit * rates.rates
        interval = allowed.interval(sums.rates, self._confidence, region.spread, leftover)
        size = abs(unit) if region.violation.by_difference else 1.0
        ends = (size * interval[0], size * interval[1])
        told = _sized(region.violation.measure, size * rates.delta, ends)
        return {**told, "rates": (float(own), float(others))}

    def quantities(self) -> Iterator[tuple[str, SearchKey | None]]:
        """What a model differs from the baseline in: of every search, then how well it does."""
        numbers = self._bench.answers.numbers is not None  # which have no true or false positives
        rates = () if numbers else (TRUE_POSITIVE, FALSE_POSITIVE)
        for key in self._bench.keys:
            yield from ((one, key) for one in (WORST_CASE, EVERYBODY, SELECTION, *rates))
        yield MEAN_ERROR if numbers else ACCURACY, None

    def _place(self, model: Hashable) -> int:
        return self._bench.answers.models.index(model)

    # -- differences

    def _terms(self, model: Hashable, key: SearchKey | None, quantity: str) -> _Terms | None:
        """Effect of a quantity, and what moves it."""
        if key is None:
            return None
        if quantity not in (WORST_CASE, EVERYBODY):
            found = self._bench.overall_effect(model, key, quantity)
            if found is None:
                return None
            return _Terms(ratio=found, measure=self._bench.measure(key))
        region = self._audits[model].regions.get(key)
        if region is None:
            return None
        worst = quantity == WORST_CASE
        inside = region.member if worst else None
        terms = self._terms_in(region, region.rows, inside, region.scale)
        reported = region.violation.effect if worst else region.violation.population.effect
        return replace(terms, ratio=replace(terms.ratio, delta=reported))

    def _terms_in(
        self, region: RegionRows, rows: MeasuredRows, member: np.ndarray | None, unit: float
    ) -> _Terms:
        """Effect of the rows of a search inside its region, or of all, and what moves it.

        A difference of means is in units of the outcome, of which one of the values is ``unit``.
        """
        scale = unit if region.violation.by_difference else 1.0

        def told(weights: np.ndarray, outcome: np.ndarray | None) -> Effect:
            found = effect_of(rows.value, rows.s, weights, member, outcome, rows.kind).times(scale)
            influence = np.zeros(self._bench.problem.n_rows)
            influence[region.places] = found.influence
            return replace(found, influence=influence)

        def moves(n_rungs: int, last: Effect) -> list[Effect]:
            rungs = zip(rows.lesser, still_to_come(shares[:n_rungs]), strict=False)
            return [(told(*own) - last).times(times) for own, times in rungs if times > 0]

        best, shares = told(rows.weights, rows.outcome), rows.shares or (1.0,) * len(rows.lesser)
        moved = moves(len(shares), best)
        if (untold := before_told(shares)) >= 0:  # nobody is surer for having been told
            before = told(*rows.lesser[untold])
            moved += [move - (before - best) for move in moves(untold, before)]
        return _Terms(
            ratio=best if self._adjusts else told(rows.weights, None),
            moves=tuple(moved),
            spread=1.0 if member is None else region.spread,
            measure=region.violation.measure,
        )

    def _paired(
        self, difference: float, own: _Terms, other: _Terms, level: float | None = None
    ) -> tuple[float, float]:
        influences = own.ratio.influence, other.ratio.influence
        level = self._confidence if level is None else level
        spread, cluster = max(own.spread, other.spread), self._bench.problem.cluster
        return paired_interval(difference, *influences, level, spread, cluster, own.beside(other))

    def difference(
        self, model: Hashable, baseline: Hashable, quantity: str, key: SearchKey | None
    ) -> Difference:
        """A quantity of a model beside the baseline's."""
        out = Difference(model=model, baseline=baseline, quantity=quantity, search=key)
        if key is None:
            return replace(out, **self._better(model, baseline))
        own, base = (self._terms(one, key, quantity) for one in (model, baseline))
        if own is None or base is None:
            return out
        difference, interval = self._between(own, base)
        return replace(out, measure=own.measure, difference=difference, interval=interval)

    def _better(self, model: Hashable, baseline: Hashable) -> dict[str, Any]:
        """Fields of a ``Difference`` for the accuracy, or the error."""
        name = ACCURACY_METRIC if self._bench.answers.numbers is None else ERROR
        own, base = (usual_metrics(self._bench, one).get(name) for one in (model, baseline))
        if name == ERROR:  # which is minus the error
            own, base = base, own
        if own is None or base is None:
            return {}
        difference, interval = own.beside(base, self._confidence)
        return {"difference": difference, "interval": interval}

    def _between(
        self, own: _Terms | None, base: _Terms | None, level: float | None = None
    ) -> tuple[float, tuple[float, float]]:
        """One effect less another, paired; NaN where they have no common measure."""
        if own is None or base is None or own.measure != base.measure:
            return math.nan, UNKNOWN_PAIR
        difference = own.ratio.delta - base.ratio.delta
        if not math.isfinite(difference):
            return math.nan, UNKNOWN_PAIR
        return difference, self._paired(difference, own, base, level)

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
                measure=self._measure_between(model, baseline),
                tolerance=math.nan if metric.tolerance is None else metric.tolerance,
                confidence_level=level,
                performance=does[model].value,
                impact=self._impact(model),
            )
            if model != baseline:
                pair = (model, baseline)
                better, interval = does[model].beside(does[baseline], level)
                own, base = (self._terms(one, self._worst_key(one), WORST_CASE) for one in pair)
                worse, its = self._between(own, base, level)
                one = replace(one, performance_difference=better, performance_interval=interval)
                one = replace(one, worst_difference=worse, worst_interval=its)
            told.append(one)
        return tuple(told)

    def _worst_key(self, model: Hashable) -> SearchKey | None:
        result = self._audits[model].result
        case = None if result is None else result.worst_case
        return None if case is None else case.key

    def _measure_between(self, model: Hashable, baseline: Hashable) -> str:
        """What the worst cases of two models are compared by; a ratio and a difference are not."""
        keys = (self._worst_key(one) for one in (model, baseline))
        by = {self._bench.measure(key) for key in keys if key is not None}
        return "none" if len(by) > 1 else "".join(by) or "ratio"

    def _impact(self, model: Hashable) -> RateRatio:
        """Favourable rates of the group of a model's worst case and of those it is compared with."""
        key, answers = self._worst_key(model), self._bench.answers
        good = find_label(self._bench.settings.favorable_label, answers.labels)
        if key is None or good is None:
            return RateRatio()
        favourable = replace(key, outcome=answers.labels[good])
        return self._bench.overall_ratio(model, favourable, SELECTION)
