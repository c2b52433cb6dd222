"""One audit: every search that can be made, then the family's p-values and the result."""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.balance import BalanceDiagnostics, Weighing
from mdfa_fairness_plugin.balance.overlap import effective_sample_size
from mdfa_fairness_plugin.data.problem import AuditProblem, Contrast
from mdfa_fairness_plugin.describe.audited import AuditedRows, SearchedRows
from mdfa_fairness_plugin.describe.cells import unequal
from mdfa_fairness_plugin.describe.conditions import EVERYBODY, Rule
from mdfa_fairness_plugin.describe.held_out_rule import HeldOutRule, describe_held_out
from mdfa_fairness_plugin.describe.profile import ProfiledSubgroup, profile_subgroups
from mdfa_fairness_plugin.describe.rules import describe_rule
from mdfa_fairness_plugin.exceptions import (
    Count,
    InputError,
    OverlapError,
    OverlapWarning,
    SearchWarning,
    WarningLog,
    WeightWarning,
)
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.measure.conclude import Measured, conclude, counts_frame
from mdfa_fairness_plugin.measure.estimates import (
    Rates,
    measure,
    other_estimates,
)
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.measure.sensitivity import missing_bounds
from mdfa_fairness_plugin.measure.splitting import (
    HELD_BACK,
    draw_folds,
    draw_holdout,
    draw_sample,
)
from mdfa_fairness_plugin.measure.tests import (
    SEARCH_SPREAD,
    holm,
    leak_statistic,
    one_sided_p_value,
)
from mdfa_fairness_plugin.numerics.threads import in_threads, one_blas_thread
from mdfa_fairness_plugin.records import (
    NO_COMPARABLE_ROW,
    VIOLATION,
    Silence,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.ground import (
    Found,
    Ground,
    OutcomeModels,
    Plan,
    Predictor,
    digest,
    label_of,
    orientation,
    rarer,
    search,
)
from mdfa_fairness_plugin.search.selection import region_spread

logger = logging.getLogger(__name__)

# A few rows at the edge of any two groups have no counterpart; from this share on it is a warning.
_MANY_OUTSIDE = 0.05
# Fewer rows than this are counted but not described by a rule.
_FEWEST_DESCRIBED = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditSource:
    """What a result keeps so that its audit can be repeated.

    Parameters
    ----------
    problem : AuditProblem
    auditor : MDFAuditor
        With the arguments of the audit.
    seed : int
    """

    problem: AuditProblem
    auditor: Any
    seed: int


class AuditRun:
    """One run: every search, then the family's p-values and the result."""

    def __init__(self, problem: AuditProblem, plan: Plan, auditor: Any, log: WarningLog) -> None:
        self.problem = problem
        self.plan = plan
        self.auditor = auditor
        self.log = log
        self.found: list[Found | None] = []
        self.balances: dict[tuple[str, Hashable], BalanceDiagnostics] = {}
        self.timings: dict[str, float] = {}
        self.statistics: list[float] = []
        self._drafts: list[tuple[Contrast, Hashable, str]] = []
        self._asked: dict[int, Callable[[], Found]] = {}
        self._outside: dict[int, np.ndarray] = {}
        self._overlaps: dict[tuple[int, bool], dict[str, Any]] = {}
        self._grounds: dict[int, tuple[Ground, bool]] = {}
        self._weighed: dict[int, Weighing] = {}
        self._rules: dict[int, HeldOutRule] = {}
        self._profiles: dict[int, pd.DataFrame] = {}
        self._silence: tuple[Silence, ...] = ()
        self._names = problem.encoder.encoded_names_

    @one_blas_thread()
    def run(self) -> None:
        """Make every search that can be made."""
        problem = self.problem
        by_column: dict[str, list[Contrast]] = {}
        for contrast in problem.contrasts:
            by_column.setdefault(contrast.sensitive_feature, []).append(contrast)
        refused: list[OverlapError] = []
        for contrasts in by_column.values():
            folds = self._folds(contrasts)
            outcomes = OutcomeModels(problem, folds, self.plan)
            grounds: dict[bytes, Ground | OverlapError] = {}
            for contrast in contrasts:
                self._prepare(contrast, folds, outcomes, grounds, refused)
        self._search()
        if refused and not any(self.found):
            raise refused[0]

    def _folds(self, contrasts: list[Contrast]) -> np.ndarray:
        """Folds of the working rows, even within every sensitive value and outcome."""
        problem = self.problem
        rng = np.random.default_rng(self.plan.seeds["folds"])
        value = np.zeros(problem.n_rows, dtype=np.intp)
        for number, contrast in enumerate(contrasts, start=1):
            value[contrast.s > 0] = number
        strata = value * len(problem.outcome_labels) + problem.y
        learning = np.ones(problem.n_rows, dtype=bool)
        if self.plan.parts == (HELD_BACK,):
            learning = ~draw_holdout(strata, rng)
        most = self.auditor.max_learning_rows
        if most is not None and learning.sum() > most:
            rows = np.flatnonzero(learning)
            learning = np.zeros(problem.n_rows, dtype=bool)
            learning[rows[draw_sample(strata[rows], most, rng)]] = True
        folds = np.full(problem.n_rows, HELD_BACK, dtype=np.intp)
        folds[learning] = draw_folds(strata[learning], self.auditor.n_splits, rng)
        return folds

    def _prepare(
        self,
        contrast: Contrast,
        folds: np.ndarray,
        outcomes: OutcomeModels,
        grounds: dict[bytes, Ground | OverlapError],
        refused: list[OverlapError],
    ) -> None:
        """Compare two sides, and fit what the searches of their outcomes share."""
        reason = contrast.reason or self._too_few_weighted(contrast)
        ground: Ground | None = None
        weighed: Weighing | None = None
        weights = np.empty(0)
        sign = 1
        if not reason:
            sign = orientation(contrast.s)
            s = sign * contrast.s
            key = digest(s)
            if key not in grounds:
                self._log("comparing on %s", contrast.sensitive_feature)
                grounds[key] = self._ground(contrast, s, folds, outcomes)
            shared = grounds[key]
            if isinstance(shared, OverlapError):
                reason = shared.reason
                refused.append(shared)
            else:
                ground = shared
                weighed = ground.weighed(sign < 0, self.log)
                weights = ground.base * weighed.weights
        for outcome in self.problem.outcomes:
            i = len(self._drafts)
            self._drafts.append((contrast, outcome, reason))
            if ground is None or weighed is None:
                continue
            self._log("fitting %s=%s, outcome %s", *label_of(contrast), outcome)
            positive = self.problem.y == self.problem.outcome_labels.index(outcome)
            rare = self._rarer(positive)
            ground.prepare(rare)
            self._outside[i] = ground.outside
            self._grounds[i] = (ground, sign < 0)
            self._weighed[i] = weighed
            self._asked[i] = functools.partial(
                search,
                ground,
                weights,
                positive,
                rare=rare,
                flip_s=sign < 0,
                plan=self.plan,
            )

    def _search(self) -> None:
        """Make the searches that were prepared."""
        self._log("searching %d times", len(self._asked))
        # Solvers that fit models in every search have threads of their own.
        n_jobs = self.plan.n_jobs if self.plan.solver == "orthogonal" else 1
        asked = ((one,) for one in self._asked.values())
        made = in_threads(lambda one: one(), asked, n_jobs, n_rows=self.problem.n_rows)
        found = dict(zip(self._asked, made, strict=True))
        self._asked.clear()
        self.found = [found.get(i) for i in range(len(self._drafts))]
        for (contrast, outcome, _), one in zip(self._drafts, self.found, strict=True):
            if one is not None and not one.stopped:
                self.log.warn(
                    SearchWarning,
                    f"{contrast.sensitive_feature}={contrast.group!r}, outcome {outcome!r}: "
                    f"Algorithm 1 was cut off after max_iter={self.plan.max_iter} iterations, before "
                    "the mass had fallen to alpha, so the subgroup is larger than the worst case. "
                    "Raise max_iter or xi.",
                )

    def _too_few_weighted(self, contrast: Contrast) -> str:
        """Say if a few heavy sampling weights leave too little to compare; empty if not."""
        weights = self.problem.sample_weight
        sizes = [effective_sample_size(weights[contrast.s == side]) for side in (1, -1)]
        fewest = self.plan.min_group_size
        if min(sizes) >= fewest or np.ptp(weights[contrast.s != 0]) == 0:
            return ""
        reason = (
            f"its sampling weights are so unequal that one side is worth only {min(sizes):.0f} "
            f"equally weighted rows, and at least {fewest} are needed"
        )
        self.log.warn(
            WeightWarning,
            f"sample_weight: {contrast.sensitive_feature}={contrast.group!r} is not audited: "
            f"{reason}.",
        )
        return reason

    def _ground(
        self, contrast: Contrast, s: np.ndarray, folds: np.ndarray, outcomes: OutcomeModels
    ) -> Ground | OverlapError:
        try:
            ground = Ground(self.problem, contrast.rows, s, folds, self.plan, outcomes)
        except OverlapError as error:
            if self.plan.overlap == "refuse":
                raise
            return error
        share = ground.support.share_outside
        if share >= _MANY_OUTSIDE:
            n, of = len(ground.outside), int(contrast.rows.sum())
            self.log.warn(
                OverlapWarning,
                f"{contrast.sensitive_feature}: ",
                Count(n, of=of, said=f"{n} of {of} rows ({share:.0%})"),
                " have no comparable row on the "
                f"other side of {contrast.sensitive_feature}={contrast.group!r} and were left out of "
                "the search; this audit cannot speak about them.",
            )
        return ground

    def _rarer(self, positive: np.ndarray) -> np.ndarray:
        """The outcome shared models are fitted to, whichever label it has."""
        return rarer(positive) if len(self.problem.outcome_labels) == 2 else positive

    def _log(self, message: str, *arguments: Any) -> None:
        level = logging.INFO if self.auditor.verbose else logging.DEBUG
        logger.log(level, message, *arguments)

    @one_blas_thread()
    def result(self, X: Any, seed: int, started: float) -> AuditResult:
        """Estimate, test and describe what was found."""
        problem, plan = self.problem, self.plan
        self.statistics = self.leaks().tolist()
        p_values = np.array([self._p_value(i) for i in range(len(self.found))])
        adjusted = holm(p_values)
        n_tests = max(int((~np.isnan(p_values)).sum()), 1)
        absent = self._absent_rows(X)
        for (_, outcome, _), found in zip(self._drafts, self.found, strict=True):
            if found is not None:
                self._note_large_alpha(outcome)
        self._describe()

        def violation(i: int) -> Violation:
            return self._violation(i, p_values[i], adjusted[i], n_tests, absent)

        violations = tuple(self._in_threads(violation, range(len(self.found))))
        self.timings["total"] = time.perf_counter() - started
        return AuditResult(
            violations=violations,
            balance=self.balances,
            excluded=problem.excluded | self._outside_counts(),
            silence=self._silence,
            warnings=self.log.records,
            provenance=self._provenance(seed),
            alpha=plan.alpha,
            confidence_level=plan.confidence_level,
            n_samples=problem.n_samples,
            outcome_labels=problem.outcome_labels,
            sensitive_names=tuple(dict.fromkeys(c.sensitive_feature for c in problem.contrasts)),
            feature_names=tuple(d.name for d in problem.encoder.displays_),
            source=AuditSource(problem=problem, auditor=self.auditor.unfitted(), seed=seed),
        )

    def _in_threads(self, function: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
        calls = ((one,) for one in arguments)
        return in_threads(function, calls, self.plan.n_jobs, n_rows=self.problem.n_rows)

    def deltas(self) -> np.ndarray:
        """Delta of every search's subgroup on held-out rows; NaN for searches not made."""
        values = np.full(len(self.found), np.nan)
        for i, found in enumerate(self.found):
            if found is not None:
                data = found.data
                member = found.member & data.held_out
                values[i] = measure(data.positive, data.s, data.weights, member).delta
        return values

    def leaks(self) -> np.ndarray:
        """Statistic of every search; NaN for searches not made."""
        return np.array(
            [np.nan if found is None else self._statistic(found) for found in self.found]
        )

    def _statistic(self, found: Found) -> float:
        """Leak of S by the outcome inside the region."""
        data = found.data
        return leak_statistic(
            data.positive,
            data.s,
            found.propensity,
            found.outcome,
            data.base,
            found.member & data.held_out,
            random_state=self.plan.seeds["test"],
        )

    def _p_value(self, i: int) -> float:
        found = self.found[i]
        if found is None:
            return np.nan
        searched = not found.member[found.data.held_out].all()
        return one_sided_p_value(self.statistics[i], SEARCH_SPREAD if searched else 1.0)

    def spread(self, i: int, member: np.ndarray) -> float:
        """Widening of the intervals in a set of held-out rows; everybody was not searched for."""
        if member.all():
            return 1.0
        found = self.found[i]
        assert found is not None
        inside = found.data.held_out.copy()
        inside[inside] = member
        return region_spread(found.data, inside)

    def _violation(
        self,
        i: int,
        p_value: float,
        adjusted: float,
        n_tests: int,
        absent: np.ndarray | None,
    ) -> Violation:
        contrast, outcome, reason = self._drafts[i]
        found = self.found[i]
        common: dict[str, Any] = {
            "sensitive_feature": contrast.sensitive_feature,
            "group": contrast.group,
            "reference": contrast.reference,
            "outcome": outcome,
            "confidence_level": self.plan.confidence_level,
        }
        if found is None:
            nobody = np.zeros(self.problem.n_samples, dtype=bool)
            return Violation(**common, reason=reason, membership=nobody, held_out=nobody)
        data, selection = found.data, found.selection
        held = data.held_out
        s, positive, weights = data.s[held], data.positive[held], data.weights[held]
        member = found.member[held]
        population = measure(positive, s, weights)
        rates = measure(positive, s, weights, member)
        estimates = other_estimates(
            positive,
            s,
            data.base[held],
            weights,
            member,
            found.propensity[held],
            found.outcome[held],
        )
        n_missing, bounds = self._missing_bounds(i, rates)
        measured = Measured(
            population=population,
            region=rates,
            leftover=data.leftover(found.member & held),
            estimates=estimates,
            missing_bounds=bounds,
            n_compared=len(member),
            n_rows=int(member.sum()),
            n_hits=int((positive & member).sum()),
        )
        working = np.zeros(self.problem.n_rows, dtype=bool)
        working[found.rows] = found.member
        described = self._rules[i]
        rule = described.rule
        return Violation(
            **common,
            **conclude(
                measured,
                estimator=self.auditor.estimator,
                alpha=self.plan.alpha,
                confidence_level=self.plan.confidence_level,
                adjusted=adjusted,
                n_tests=n_tests,
                spread=self.spread(i, member),
                test_spread=SEARCH_SPREAD,
            ),
            n_missing=n_missing,
            counts=self._counts(contrast, outcome, s, found.rows[held], member),
            statistic=self.statistics[i],
            p_value=p_value,
            p_value_adjusted=adjusted,
            membership=self._membership(i, found, working, absent),
            held_out=self._by_sample(found.rows[held]),
            **self._overlap(i),
            profile=self._profiles[i],
            rule=rule.text,
            rule_fidelity=rule.fidelity,
            rule_precision=rule.precision,
            rule_recall=rule.recall,
            rule_subgroup=self._rule_subgroup(described, population, i),
            path=WorstCasePath(
                delta=selection.path.delta,
                mass=selection.path.mass,
                n_rows=selection.path.n_rows,
                threshold=selection.path.threshold,
                interval_low=selection.path.low,
                interval_high=selection.path.high,
            ),
            population=self._subgroup("everybody", population, i, held),
            core=self._core(i),
        )

    def _missing_bounds(self, i: int, rates: Rates) -> tuple[int, tuple[float, float]]:
        """Unknown sensitive values in the region, and delta over all ways to fill them in."""
        contrast, outcome, _ = self._drafts[i]
        found = self.found[i]
        assert found is not None
        ground, flip = self._grounds[i]
        problem = self.problem
        column = next(c for c in problem.sensitive if c.name == contrast.sensitive_feature)
        rows = np.flatnonzero(column.labels.codes < 0)
        if len(rows):
            e = ground.fitted_propensity.predict(problem.X[rows])
            comparable = (e >= ground.propensity.min()) & (e <= ground.propensity.max())
            rows, e = rows[comparable], e[comparable]
        if len(rows):
            inside = found.predictor(problem.X[rows]) >= found.selection.threshold
            if found.member[found.data.held_out].all():
                inside[:] = True
            rows, e = rows[inside], e[inside]
        n_missing = len(np.unique(problem.source_row[rows]))
        if n_missing == 0:
            return 0, (np.nan, np.nan)
        group, reference = ground.weights_if(flip, rows, e, found.data.weights)
        # Where some rows were kept for evaluation, only their share of the unknown counts.
        share = float(found.data.base[found.data.held_out].sum() / found.data.base.sum())
        positive = problem.y[rows] == problem.outcome_labels.index(outcome)
        return n_missing, missing_bounds(rates, positive, share * group, share * reference)

    def _silent(self) -> tuple[Silence, ...]:
        """Who could not be compared, once for every group compared."""
        told: dict[tuple[str, Hashable], Silence] = {}
        rules: dict[bytes, Rule] = {}
        for i, (ground, _) in self._grounds.items():
            contrast = self._drafts[i][0]
            outside = ground.outside
            if len(outside) == 0 or label_of(contrast) in told:
                continue
            # Both directions of one comparison leave out the same rows.
            compared = np.flatnonzero(contrast.rows)
            key = digest(outside) + digest(compared)
            if key not in rules:
                rules[key] = self._rule_outside(outside, compared)
            rule = rules[key]
            sources = self.problem.source_row
            told[label_of(contrast)] = Silence(
                sensitive_feature=contrast.sensitive_feature,
                group=contrast.group,
                reference=contrast.reference,
                n_rows=len(np.unique(sources[outside])),
                n_group=len(np.unique(sources[outside[contrast.s[outside] > 0]])),
                share=ground.support.share_outside,
                rule=rule.text,
                rule_fidelity=rule.fidelity,
                rule_precision=rule.precision,
                rule_recall=rule.recall,
            )
        return tuple(told.values())

    def _rule_outside(self, outside: np.ndarray, compared: np.ndarray) -> Rule:
        """Describe rows without a comparable row; an empty rule if there are too few."""
        if len(outside) < _FEWEST_DESCRIBED:
            return Rule()
        return describe_rule(
            np.isin(compared, outside),
            self.problem.display,
            rows=compared,
            displays=self.problem.encoder.displays_,
            sample_weight=self._weights_of(compared),
        )

    def _note_large_alpha(self, outcome: Hashable) -> None:
        """Say if alpha is out of proportion to how rare the outcome is."""
        problem = self.problem
        has_outcome = problem.y == problem.outcome_labels.index(outcome)
        rate = float(np.average(has_outcome, weights=problem.sample_weight))
        if self.plan.alpha > rate / 2:
            self.log.note(
                "LargeAlpha",
                f"outcome {outcome!r} has a rate of {rate:.3g}: alpha={self.plan.alpha:g} leaves only "
                "subgroups with at least half of those who have it; a smaller alpha looks closer.",
            )

    def _describe(self) -> None:
        """Profiles and rules of all subgroups, balance, and who could not be compared.

        Searches that found the same people share a rule.
        """
        made = [i for i, found in enumerate(self.found) if found is not None]
        first = {
            i: next(j for j in made if j == i or _same_people(self.found[j], self.found[i]))
            for i in made
        }
        distinct = sorted(set(first.values()))
        profiles, self.balances, self._silence, *rules = self._in_threads(
            lambda task: task(),
            (
                functools.partial(self._profiles_of, made),
                self._diagnosed,
                self._silent,
                *(functools.partial(self._rule_of, i) for i in distinct),
            ),
        )
        self._profiles = dict(zip(made, profiles, strict=True))
        known = dict(zip(distinct, rules, strict=True))
        self._rules = {i: known[first[i]] for i in made}

    def _diagnosed(self) -> dict[tuple[str, Hashable], BalanceDiagnostics]:
        """How alike the weights of every comparison made both sides."""
        by_label: dict[tuple[str, Hashable], BalanceDiagnostics] = {}
        for i, (ground, flip_s) in self._grounds.items():
            label = label_of(self._drafts[i][0])
            if label not in by_label:
                by_label[label] = ground.diagnosed(flip_s, self._weighed[i], self._names)
        return by_label

    def _profiles_of(self, made: list[int]) -> list[pd.DataFrame]:
        """Profiles of the subgroups of these searches, made together."""
        return profile_subgroups(
            self.problem.display,
            (self._profiled(i) for i in made),
            displays=self.problem.encoder.displays_,
            sample_weight=self.problem.sample_weight,
        )

    def _profiled(self, i: int) -> ProfiledSubgroup:
        """The subgroup of one search and, as S, whom it was compared with.

        Rows that were not compared, or not judged by a model of other rows, take no part.
        """
        (contrast, outcome, _), found, problem = self._drafts[i], self.found[i], self.problem
        assert found is not None
        held = found.data.held_out
        sides, inside = np.zeros((2, problem.n_rows), dtype=np.int8)
        sides[found.rows[held]] = found.data.s[held]
        inside[found.rows] = found.member
        return ProfiledSubgroup(
            s=sides,
            membership=inside,
            group=contrast.group,
            reference=contrast.reference,
            outcome=problem.y == problem.outcome_labels.index(outcome),
            outcome_name=f"outcome {outcome}",
        )

    def _weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Sampling weights of some rows; None if all are equal."""
        weights = unequal(self.problem.sample_weight)
        return None if weights is None else weights[rows]

    def _rule_of(self, i: int) -> HeldOutRule:
        """Rule of the subgroup of one search."""
        found = self.found[i]
        assert found is not None
        held = found.data.held_out
        rows, member, parts = found.rows, found.member, found.data.folds
        if not held.all():
            rows, member, parts = rows[held], member[held], parts[held]
        return describe_held_out(
            member,
            self.problem.display,
            parts,
            rows=rows,
            displays=self.problem.encoder.displays_,
            sample_weight=self._weights_of(rows),
        )

    def _rule_subgroup(self, described: HeldOutRule, population: Rates, i: int) -> Subgroup:
        """Rows the rule covers, as a subgroup of its own."""
        found = self.found[i]
        assert found is not None
        data, held = found.data, found.data.held_out
        if described.rule.text == EVERYBODY:
            return self._subgroup("rule", population, i, np.ones(len(held), dtype=bool))
        if not described.covered.any():
            return Subgroup(label="rule")
        covered = np.zeros(len(held), dtype=bool)
        covered[held] = described.covered
        rates = measure(data.positive[held], data.s[held], data.weights[held], described.covered)
        return self._subgroup("rule", rates, i, covered)

    def _counts(
        self,
        contrast: Contrast,
        outcome: Hashable,
        s: np.ndarray,
        rows: np.ndarray,
        member: np.ndarray,
    ) -> pd.DataFrame:
        """Rows in the subgroup by S and Y."""
        y = self.problem.y[rows]
        labels = self.problem.outcome_labels
        counts = np.array(
            [np.bincount(y[member & (s == side)], minlength=len(labels)) for side in (1, -1)]
        )
        return counts_frame(counts, contrast.group, contrast.reference, labels, outcome)

    def _subgroup(self, label: str, rates: Rates, i: int, member: np.ndarray) -> Subgroup:
        """Measurements of a set of comparable rows, as the result keeps them."""
        contrast, outcome, _ = self._drafts[i]
        found = self.found[i]
        assert found is not None
        held = found.data.held_out
        own = member[held]
        return Subgroup(
            label=label,
            delta=rates.delta,
            interval=delta_interval(
                rates,
                self.plan.confidence_level,
                self.spread(i, own),
                found.data.leftover(member & held),
            ),
            gamma=rates.gamma,
            mass=rates.mass,
            n_rows=int(own.sum()),
            rates=(float(rates.rates[0]), float(rates.rates[1])),
            counts=self._counts(contrast, outcome, found.data.s[held], found.rows[held], own),
        )

    def _core(self, i: int) -> Subgroup:
        """The most unequally treated part of the region."""
        found = self.found[i]
        assert found is not None
        data = found.data
        rates = measure(data.positive, data.s, data.weights, found.core & data.held_out)
        return self._subgroup("core", rates, i, found.core)

    def fitted(self, i: int) -> Fitted | None:
        """What other rows are judged and weighed by; None if the search was not made."""
        contrast, outcome, _ = self._drafts[i]
        found = self.found[i]
        if found is None:
            return None
        ground, flip_s = self._grounds[i]
        positive = self.problem.y == self.problem.outcome_labels.index(outcome)
        rare = self._rarer(positive)
        held = found.data.held_out
        weighed = self._weighed[i]
        return Fitted(
            contrast=contrast,
            outcome=outcome,
            predictor=found.predictor,
            # The region may have given way to everybody, and the core to the region.
            threshold=-np.inf if found.member[held].all() else found.selection.threshold,
            core_threshold=(
                None
                if np.array_equal(found.core[held], found.member[held])
                else found.selection.core_threshold
            ),
            scores=found.selection.scores,
            propensity=ground.fitted_propensity,
            outcome_model=ground.outcome_model(rare),
            flip_s=flip_s,
            flip_y=not np.array_equal(positive, rare),
            limits=ground.limits(),
            balancer=weighed.details,
            scales=ground.scales(flip_s, found.data.weights),
            rule=self._rules[i].rule,
        )

    def audited(self, result: AuditResult) -> AuditedRows:
        """Rows and searches as the auditor keeps them, to explain single rows later.

        Only searches that found something keep their models: these take most of the memory.
        """
        searches: list[SearchedRows | None] = []
        for i, (violation, found) in enumerate(zip(result.violations, self.found, strict=True)):
            if found is None:
                searches.append(None)
                continue
            told = violation.verdict == VIOLATION or violation is result.worst_case
            searches.append(
                SearchedRows(
                    rows=found.rows,
                    s=found.data.s,
                    positive=found.data.positive,
                    member=found.member,
                    scores=found.selection.scores,
                    threshold=found.selection.threshold,
                    region=found.predictor if told else None,
                    rule=self._rules[i].rule,
                )
            )
        return AuditedRows(
            X=self.problem.X,
            display=self.problem.display,
            y=self.problem.y,
            source_row=self.problem.source_row,
            searches=tuple(searches),
        )

    def _by_sample(self, rows: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.problem.n_samples, dtype=bool)
        mask[self.problem.source_row[rows]] = True
        return mask

    def _overlap(self, i: int) -> dict[str, Any]:
        """Propensity and side of the rows as the user gave them, and which were left out."""
        ground, flip_s = self._grounds[i]
        key = id(ground), flip_s
        if key not in self._overlaps:
            rows, sides, e = ground.overlap(flip_s)
            n = self.problem.n_samples
            given = self.problem.source_row[rows]
            propensity, side = np.full(n, np.nan), np.zeros(n, dtype=np.int8)
            propensity[given], side[given] = e, sides
            left_out = self._by_sample(ground.outside)
            for shared in (propensity, side, left_out):
                shared.flags.writeable = False  # the searches of both outcomes hold them
            self._overlaps[key] = {"propensity": propensity, "side": side, "left_out": left_out}
        return self._overlaps[key]

    def _membership(
        self, i: int, found: Found, working: np.ndarray, absent: np.ndarray | None
    ) -> np.ndarray:
        """Rows as the user gave them: out of fold where compared, by the models' average elsewhere.

        Rows without common support are outside: the audit cannot speak about them. A row that
        stands for several is inside if at least half of them are.
        """
        problem = self.problem
        inside = working.copy()
        other = np.ones(problem.n_rows, dtype=bool)
        other[found.rows] = False
        other[self._outside[i]] = False
        threshold = found.selection.threshold
        if other.any():
            inside[other] = found.predictor(problem.X[other]) >= threshold
        copies = np.bincount(problem.source_row, minlength=problem.n_samples)
        hits = np.bincount(problem.source_row, inside, minlength=problem.n_samples)
        membership = (copies > 0) & (2 * hits >= copies)
        if absent is not None:
            missing = copies == 0
            membership[missing] = found.predictor(absent) >= threshold
        return membership

    def _absent_rows(self, X: Any) -> np.ndarray | None:
        """Encoded rows of zero weight, which membership is still told for; None if unusable."""
        present = np.bincount(self.problem.source_row, minlength=self.problem.n_samples)
        absent = np.flatnonzero(present == 0)
        if len(absent) == 0:
            return None
        try:
            return self.problem.encoder.transform(X)[absent]
        except InputError:
            return None

    def _outside_counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for (contrast, _, _), rows in zip(
            (self._drafts[i] for i in self._outside), self._outside.values(), strict=True
        ):
            n = int(self._by_sample(rows).sum())
            if n:
                counts[f"{NO_COMPARABLE_ROW} ({contrast.sensitive_feature}={contrast.group})"] = n
        return counts

    def _provenance(self, seed: int) -> dict[str, Any]:
        from mdfa_fairness_plugin import __version__

        parameters = {
            name: describe_parameter(value)
            for name, value in self.auditor.get_params(deep=False).items()
            if name not in ("n_jobs", "verbose")
        }
        return {
            "versions": _versions(__version__),
            "seed": seed,
            "parameters": parameters,
            "solver": self.plan.solver,
            "balance": self.plan.balance if isinstance(self.plan.balance, str) else "given",
            "input_hash": self.problem.input_hash,
            "n_samples": self.problem.n_samples,
            "n_working_rows": self.problem.n_rows,
            "weight_type": self.problem.weight_type,
            "iterations": {
                f"{contrast.sensitive_feature}={contrast.group}, {outcome}": list(found.iterations)
                for (contrast, outcome, _), found in zip(self._drafts, self.found, strict=True)
                if found is not None and found.iterations
            },
            "timings": self.timings,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """What one search learned, for rows it has not seen.

    Parameters
    ----------
    contrast : Contrast
    outcome : label
    predictor : callable
        Scores of encoded rows; the region is ``score >= threshold``.
    threshold : float
        ``-inf`` if the region is everybody.
    core_threshold : float or None
        None if the core is the region itself.
    scores : ndarray
        Out-of-fold scores of the rows searched.
    propensity, outcome_model : CrossFittedProbability
    flip_s, flip_y : bool
        Whether these are of the other side, of the other outcome.
    limits : tuple of float
        Values of ``propensity`` strictly between which rows can be compared.
    balancer : object or None
        With ``weights(X, s)``; None if the weights follow from the propensity.
    scales : tuple of float
        Of ``Ground.scales``.
    rule : Rule
    """

    contrast: Contrast
    outcome: Hashable
    predictor: Predictor
    threshold: float
    core_threshold: float | None
    scores: np.ndarray
    propensity: CrossFittedProbability
    outcome_model: CrossFittedProbability
    flip_s: bool
    flip_y: bool
    limits: tuple[float, float]
    balancer: Any
    scales: tuple[float, float]
    rule: Rule


def _same_people(one: Found | None, other: Found | None) -> bool:
    """Whether two searches found the same people among the same rows, judged in the same parts."""
    return (
        one is not None
        and other is not None
        and np.array_equal(one.member, other.member)
        and np.array_equal(one.rows, other.rows)
        and np.array_equal(one.data.held_out, other.data.held_out)
        and np.array_equal(one.data.folds, other.data.folds)
    )


def describe_parameter(value: Any) -> Any:
    """Parameters as provenance keeps them: arrays by shape and hash."""
    if isinstance(value, np.ndarray | pd.Series | list | tuple) and len(value) > 50:
        array = np.ascontiguousarray(np.asarray(value))
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        digest = hashlib.sha256(content).hexdigest()[:16]
        return f"array of shape {array.shape}, sha256 {digest}"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return type(value).__name__
    if hasattr(value, "get_params"):
        return repr(value)
    return value


def _versions(own: str) -> dict[str, str]:
    import platform

    import scipy
    import sklearn

    return {
        "mdfa_fairness_plugin": own,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pandas": pd.__version__,
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
    }
