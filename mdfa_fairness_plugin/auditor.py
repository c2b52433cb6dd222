"""The auditor: validate, balance, search, estimate, describe, in this order."""

from __future__ import annotations

import functools
import hashlib
import logging
import numbers
import time
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted

from mdfa_fairness_plugin.balance import METHODS, Balance
from mdfa_fairness_plugin.certify.learners import (
    LEARNERS,
    check_estimator,
    make_classifier,
    make_regressor,
)
from mdfa_fairness_plugin.describe.profile import profile_subgroup
from mdfa_fairness_plugin.describe.rules import Rule, describe_rule
from mdfa_fairness_plugin.exceptions import (
    InputError,
    OverlapError,
    OverlapWarning,
    SearchWarning,
    WarningLog,
)
from mdfa_fairness_plugin.inference.estimates import (
    Rates,
    lemma_strength,
    measure,
    other_estimates,
)
from mdfa_fairness_plugin.inference.intervals import delta_interval
from mdfa_fairness_plugin.inference.splitting import HELD_BACK, draw_folds, draw_holdout
from mdfa_fairness_plugin.inference.tests import (
    SEARCH_SPREAD,
    detectable_delta,
    holm,
    leak_statistic,
    one_sided_p_value,
)
from mdfa_fairness_plugin.problem import AuditProblem, Contrast, build_problem
from mdfa_fairness_plugin.results import (
    INSUFFICIENT,
    NO_COMPARABLE_ROW,
    NONE_LARGER,
    VIOLATION,
    AuditResult,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.search import (
    SOLVERS,
    Found,
    Ground,
    OutcomeModels,
    Plan,
    label_of,
    orientation,
    reason_of,
    search,
)

logger = logging.getLogger(__name__)

EVALUATIONS = ("cross_fit", "holdout")
ESTIMATORS = ("hajek", "raw", "unweighted", "doubly_robust")
_STAGES = ("folds", "propensity", "outcome", "learner", "balance")
# A region must hold this many rows with the outcome, both sides together, to say anything.
_FEWEST_POSITIVES = 10
# A few rows at the edge of any two groups have no counterpart; from this share on it is a warning.
_MANY_OUTSIDE = 0.05


class MDFAuditor(BaseEstimator):
    r"""Find the subgroup a black-box classifier discriminates against most.

    For every sensitive value ``s`` and outcome ``y`` it looks for the region ``G`` of the audited
    features where ``s`` gets ``y`` most disproportionately, at equal features:

    .. math:: \delta(G) = \ln \frac{Pr_w[Y=y|S=s, G]}{Pr_w[Y=y|S \neq s, G]}

    among regions of mass :math:`Pr_w[Y=y, x \in G] \ge \alpha` (Sections 2.2 and 3 of the paper),
    and measures it on rows the region's model has not seen.

    Parameters
    ----------
    alpha : float, default=0.05
        Smallest mass ``Pr_w[Y=y, x in G]`` worth reporting: the share of all rows compared that
        are in the subgroup *and* have the outcome. For a rare outcome choose it well below the
        outcome's rate.
    outcomes : label, list of labels or None, default=None
        Outcome labels to audit; None: both.
    groups : list, mapping of column to list, or None, default=None
        Sensitive values to audit; None: every value.
    reference_group : value, mapping of column to value, or None, default=None
        Compare with this value only; None: with everybody else.
    missing : {"exclude", "category", "raise"}, default="exclude"
        Rows with a missing sensitive value: not compared (counted, warned), a group of their own,
        or an error.
    balance : str, array-like or object, default="auto"
        Makes the features of both sides alike: "mmd_network" (the paper's; needs torch),
        "kernel_matching", "entropy", "propensity", "overlap", "none", an array of weights, or an
        object with ``fit(X, s, sample_weight)`` and ``weights(X, s)``. "auto" is "overlap".
    learner : str or estimator, default="auto"
        Auditor class: "random_forest", "gradient_boosting", "svm_rbf", "svm_linear", "logistic",
        "tree", "network_features", or a scikit-learn estimator that takes sample weights: a
        regressor for the orthogonal solver, a classifier for the others.
    solver : {"auto", "orthogonal", "level_set", "iterative"}, default="auto"
        How the region is found: from cross-fitted residuals, from one fit of S among rows with the
        outcome, or by Algorithm 1. "auto" is "orthogonal" unless the learner is a classifier.
    evaluation : {"cross_fit", "holdout"}, default="cross_fit"
        Every row judged by a model of the other folds, or a 70/30 split as in the paper.
    n_splits : int, default=5
        Folds.
    confidence_level : float, default=0.95
    device : str or None, default=None
        For torch: None, "cpu" or "cuda".
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same result for any ``n_jobs``.
    n_jobs : int or None, default=None
        Folds fitted at a time.
    verbose : int, default=0
        Above 0 logs each stage at level INFO.
    estimator : {"hajek", "raw", "unweighted", "doubly_robust"}, default="hajek"
        Estimate of delta reported: weighted rates normalised inside the subgroup; the ratio of
        weighted counts of Algorithm 1's line 4; rates as observed; overlap-weighted residuals. All
        four are kept in ``Violation.estimates``.
    xi : float, default=0.1
        Step of Algorithm 1's weights.
    max_iter : int, default=500
        Limit on Algorithm 1's iterations.
    overlap : {"trim", "refuse"}, default="trim"
        Rows without comparable rows on the other side: left out and counted, or an error.
    weight_type : {"auto", "frequency", "sampling"}, default="auto"
        Whether a sample weight counts equal rows or says how many people a row stands for. "auto":
        whole numbers count rows.
    intersections : bool, default=False
        Also audit each combination of the sensitive columns' values.
    min_group_size : int, default=30
        Groups (or references) with fewer rows are listed as insufficient evidence.

    Attributes
    ----------
    result_ : AuditResult
    n_features_in_ : int
    feature_names_in_ : ndarray of str, only if the features have names

    Notes
    -----
    The ratio alone does not name a region, as any part of a region has the same ratio. What is
    reported is the extent of the violation, cut half way up its height; ``Violation.core`` is the
    part with the highest lower confidence limit. Everybody is a candidate too, so the subgroup's
    lower limit is never below the whole population's (not so for "iterative", which returns what
    Algorithm 1 returns).

    References
    ----------
    X. Gitiaux and H. Rangwala, "Multi-Differential Fairness Auditor for Black Box Classifiers",
    IJCAI 2019. X. Nie and S. Wager, "Quasi-oracle estimation of heterogeneous treatment effects",
    Biometrika 108(2), 2021.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=2000, delta=1.5, random_state=0)
    >>> auditor = mdfa.MDFAuditor(random_state=0)
    >>> auditor = auditor.fit(data.X, data.y, sensitive_features=data.sensitive_features)
    >>> auditor.result_.worst_case.verdict
    'violation'
    """

    def __init__(
        self,
        alpha=0.05,
        outcomes=None,
        groups=None,
        reference_group=None,
        missing="exclude",
        balance="auto",
        learner="auto",
        solver="auto",
        evaluation="cross_fit",
        n_splits=5,
        confidence_level=0.95,
        device=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
        *,
        estimator="hajek",
        xi=0.1,
        max_iter=500,
        overlap="trim",
        weight_type="auto",
        intersections=False,
        min_group_size=30,
    ):
        self.alpha = alpha
        self.outcomes = outcomes
        self.groups = groups
        self.reference_group = reference_group
        self.missing = missing
        self.balance = balance
        self.learner = learner
        self.solver = solver
        self.evaluation = evaluation
        self.n_splits = n_splits
        self.confidence_level = confidence_level
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.estimator = estimator
        self.xi = xi
        self.max_iter = max_iter
        self.overlap = overlap
        self.weight_type = weight_type
        self.intersections = intersections
        self.min_group_size = min_group_size

    @classmethod
    def as_in_paper(cls, **overrides: Any) -> MDFAuditor:
        """Give the paper's own configuration (Section 3.4).

        The MMD network's weights, its last hidden layer as the auditor's features, learned on the
        joint objective Eq. ``risk2``, Algorithm 1 and a 70/30 split. Needs torch.

        Parameters
        ----------
        **overrides
            Any argument of the constructor.

        Returns
        -------
        auditor : MDFAuditor
        """
        settings: dict[str, Any] = {
            "balance": "mmd_network",
            "learner": "network_features",
            "solver": "iterative",
            "evaluation": "holdout",
        }
        return cls(**(settings | overrides))

    def fit(self, X, y, sensitive_features=None, sample_weight=None):
        """Audit the outcomes ``y``.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Audited features: pandas, polars, numpy or scipy sparse. Who counts as similar is
            judged by these, not by what the classifier used.
        y : array-like of shape (n_samples,)
            The classifier's outcomes, any two labels.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
            Each column is audited on its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None

        Returns
        -------
        self : MDFAuditor

        Raises
        ------
        InputError
            Naming the argument, what was found and what to do.
        NothingToAuditError
            If the outcome is constant.
        OverlapError
            If no group shares enough ground with the others to be compared.
        """
        self._check_arguments()
        if y is None:
            raise InputError(
                f"y: {type(self).__name__} requires y to be passed, but the target y is None. Pass "
                "the classifier's outcomes."
            )
        if sensitive_features is None:
            raise InputError(
                "sensitive_features: None was given; pass the column(s) whose groups are to be "
                "compared."
            )
        log = WarningLog()
        started = time.perf_counter()
        problem = build_problem(
            X,
            y,
            sensitive_features,
            sample_weight=sample_weight,
            weight_type=self.weight_type,
            outcomes=self.outcomes,
            groups=self.groups,
            reference_group=self.reference_group,
            missing=self.missing,
            intersections=self.intersections,
            min_group_size=self.min_group_size,
            log=log,
        )
        seed = _draw_seed(self.random_state)
        audit = _Audit(problem, self._plan(problem, seed), self, log)
        audit.run()
        self._encoder = problem.encoder
        self.result_ = audit.result(X, seed, started)
        self._keep_worst(audit)
        names = problem.encoder.feature_names_in_
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray([str(name) for name in names], dtype=object)
        return self

    def predict(self, X):
        """Tell who is inside the worst-case subgroup.

        Parameters
        ----------
        X : table of shape (n, n_features)
            New rows, with the columns of the fit.

        Returns
        -------
        inside : ndarray of bool of shape (n,)
            All False if nothing could be measured.
        """
        check_is_fitted(self, "result_")
        if self._predictor is None:
            return np.zeros(len(self._encoder.transform(X)), dtype=bool)
        return self.decision_function(X) >= self._threshold

    def decision_function(self, X):
        """Score rows by how unequally people like them are treated, in the worst-case search.

        Parameters
        ----------
        X : table of shape (n, n_features)

        Returns
        -------
        score : ndarray of shape (n,)
            Larger is worse treated; the subgroup is ``score >= threshold``, see ``predict``. Scores
            of different audits have no common unit.
        """
        check_is_fitted(self, "result_")
        encoded = self._encoder.transform(X)
        if self._predictor is None:
            return np.zeros(len(encoded))
        return self._predictor(encoded)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def _more_tags(self):
        """Tags as scikit-learn before 1.6 reads them."""
        return {
            "X_types": ["2darray", "sparse", "string"],
            "allow_nan": True,
            "requires_y": True,
        }

    def _keep_worst(self, audit: _Audit) -> None:
        """Keep what new rows are judged by."""
        self._predictor, self._threshold = None, np.inf
        worst = self.result_.worst_case
        if worst is None:
            return
        found = audit.found[self.result_.violations.index(worst)]
        assert found is not None
        self._predictor, self._threshold = found.predictor, found.selection.threshold

    def _check_arguments(self) -> None:
        _check_share("alpha", self.alpha)
        _check_share("confidence_level", self.confidence_level)
        _check_choice("evaluation", self.evaluation, EVALUATIONS)
        _check_choice("solver", self.solver, ("auto", *SOLVERS))
        _check_choice("overlap", self.overlap, ("trim", "refuse"))
        _check_choice("estimator", self.estimator, ESTIMATORS)
        if isinstance(self.balance, str):
            _check_choice("balance", self.balance, ("auto", *METHODS))
        if isinstance(self.learner, str):
            _check_choice("learner", self.learner, ("auto", *LEARNERS))
        _check_whole("n_splits", self.n_splits, 2)
        _check_whole("max_iter", self.max_iter, 1)
        # Rates of fewer rows have no interval worth the name.
        _check_whole("min_group_size", self.min_group_size, 10)
        if self.n_jobs is not None:
            whole = isinstance(self.n_jobs, numbers.Integral) and not isinstance(self.n_jobs, bool)
            if not whole or self.n_jobs == 0:
                raise InputError(
                    f"n_jobs: a whole number other than 0, or None, expected; {self.n_jobs!r} found."
                )
        if not (isinstance(self.xi, numbers.Real) and 0 < float(self.xi) < np.inf):
            raise InputError(f"xi: a positive number expected, {self.xi!r} found.")

    def _solver(self) -> str:
        """Solver to use: residuals, unless the learner can only classify."""
        if self.solver != "auto":
            return self.solver
        if isinstance(self.learner, str):
            only_classify = self.learner in ("svm_rbf", "network_features")
            return "level_set" if only_classify else "orthogonal"
        check_estimator(self.learner)
        return "orthogonal" if is_regressor(self.learner) else "level_set"

    def _plan(self, problem: AuditProblem, seed: int) -> Plan:
        solver = self._solver()
        if self.n_splits > problem.n_rows // 2:
            raise InputError(
                f"n_splits: {self.n_splits} folds of {problem.n_rows} rows leave nothing to judge; "
                "use fewer, 5 say."
            )
        if solver == "orthogonal":
            make_regressor(self.learner, problem.n_rows, 0)
        else:
            make_classifier(self.learner, problem.n_rows, 0)
        children = np.random.SeedSequence(seed).spawn(len(_STAGES))
        seeds = {
            stage: int(child.generate_state(1)[0] >> 1)
            for stage, child in zip(_STAGES, children, strict=True)
        }
        return Plan(
            alpha=float(self.alpha),
            confidence_level=float(self.confidence_level),
            balance=self._balance_method(problem),
            learner=self.learner,
            solver=solver,
            make_regressor=functools.partial(make_regressor, self.learner),
            parts=tuple(range(self.n_splits)) if self.evaluation == "cross_fit" else (HELD_BACK,),
            overlap=self.overlap,
            min_group_size=int(self.min_group_size),
            xi=float(self.xi),
            max_iter=int(self.max_iter),
            seeds=seeds,
            device=self.device,
            n_jobs=self.n_jobs,
        )

    def _balance_method(self, problem: AuditProblem) -> Any:
        """Method, or given weights brought into the order of the working rows."""
        if isinstance(self.balance, str):
            return "overlap" if self.balance == "auto" else self.balance
        if isinstance(self.balance, type):
            name = self.balance.__name__
            raise InputError(
                f"balance: an instance expected, the class {name} found; pass {name}()."
            )
        if hasattr(self.balance, "fit"):
            return self.balance
        try:
            weights = np.asarray(self.balance, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(
                "balance: a method's name, an array of numbers or an object with fit and weights "
                f"expected, {type(self.balance).__name__} found."
            ) from error
        if weights.shape != (problem.n_samples,):
            raise InputError(
                f"balance: one weight per row expected, {problem.n_samples} in all; an array of "
                f"shape {weights.shape} found."
            )
        return weights[problem.source_row]


class _Audit:
    """One run: every search, then the family's p-values and the result."""

    def __init__(
        self, problem: AuditProblem, plan: Plan, auditor: MDFAuditor, log: WarningLog
    ) -> None:
        self.problem = problem
        self.plan = plan
        self.auditor = auditor
        self.log = log
        self.found: list[Found | None] = []
        self.balances: dict[tuple[str, Hashable], Any] = {}
        self.timings: dict[str, float] = {}
        self._drafts: list[tuple[Contrast, Hashable, str]] = []
        self._outside: dict[int, np.ndarray] = {}
        self._rules: dict[bytes, Rule] = {}
        self._names = problem.encoder.encoded_names_

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
                self._search_contrast(contrast, folds, outcomes, grounds, refused)
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
        folds = np.full(problem.n_rows, HELD_BACK, dtype=np.intp)
        folds[learning] = draw_folds(strata[learning], self.auditor.n_splits, rng)
        return folds

    def _search_contrast(
        self,
        contrast: Contrast,
        folds: np.ndarray,
        outcomes: OutcomeModels,
        grounds: dict[bytes, Ground | OverlapError],
        refused: list[OverlapError],
    ) -> None:
        reason = contrast.reason or ""
        ground: Ground | None = None
        weighed: Balance | None = None
        sign = 1
        if not reason:
            sign = orientation(contrast.s)
            s = sign * contrast.s
            key = s.tobytes()
            if key not in grounds:
                self._log("comparing on %s", contrast.sensitive_feature)
                grounds[key] = self._ground(contrast, s, folds, outcomes)
            shared = grounds[key]
            if isinstance(shared, OverlapError):
                reason = reason_of(shared)
                refused.append(shared)
            else:
                ground = shared
                weighed = ground.balanced(sign < 0, self._names, self.log)
                self.balances[label_of(contrast)] = _with_support(weighed, ground)
        for outcome in self.problem.outcomes:
            self._drafts.append((contrast, outcome, reason))
            if ground is None or weighed is None:
                self.found.append(None)
                continue
            self._log("searching %s=%s, outcome %s", *label_of(contrast), outcome)
            positive = self.problem.y == self.problem.outcome_labels.index(outcome)
            self._outside[len(self.found)] = ground.outside
            found = search(
                ground,
                weighed,
                positive,
                rare=self._rarer(positive),
                flip_s=sign < 0,
                plan=self.plan,
            )
            self.found.append(found)
            if not found.stopped:
                self.log.warn(
                    SearchWarning,
                    f"{contrast.sensitive_feature}={contrast.group!r}, outcome {outcome!r}: "
                    f"Algorithm 1 was cut off after max_iter={self.plan.max_iter} iterations, before "
                    "the mass had fallen to alpha, so the subgroup is larger than the worst case. "
                    "Raise max_iter or xi.",
                )

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
            self.log.warn(
                OverlapWarning,
                f"{contrast.sensitive_feature}: {len(ground.outside)} of "
                f"{int(contrast.rows.sum())} rows ({share:.0%}) have no comparable row on the "
                f"other side of {contrast.sensitive_feature}={contrast.group!r} and were left out of "
                "the search; this audit cannot speak about them.",
            )
        return ground

    def _rarer(self, positive: np.ndarray) -> np.ndarray:
        """The outcome shared models are fitted to, whichever label it has."""
        if len(self.problem.outcome_labels) != 2:
            return positive
        n_positive = int(positive.sum())
        if 2 * n_positive != len(positive):
            return positive if 2 * n_positive < len(positive) else ~positive
        return positive if positive[0] else ~positive

    def _log(self, message: str, *arguments: Any) -> None:
        level = logging.INFO if self.auditor.verbose else logging.DEBUG
        logger.log(level, message, *arguments)

    def result(self, X: Any, seed: int, started: float) -> AuditResult:
        """Estimate, test and describe what was found."""
        problem, plan = self.problem, self.plan
        p_values = np.array(
            [np.nan if found is None else self._p_value(found) for found in self.found]
        )
        adjusted = holm(p_values)
        n_tests = max(int((~np.isnan(p_values)).sum()), 1)
        absent = self._absent_rows(X)
        violations = tuple(
            self._violation(i, p_values[i], adjusted[i], n_tests, absent)
            for i in range(len(self.found))
        )
        self.timings["total"] = time.perf_counter() - started
        return AuditResult(
            violations=violations,
            balance=self.balances,
            excluded=problem.excluded | self._outside_counts(),
            warnings=self.log.records,
            provenance=self._provenance(seed),
            alpha=plan.alpha,
            confidence_level=plan.confidence_level,
            n_samples=problem.n_samples,
            outcome_labels=problem.outcome_labels,
            sensitive_names=tuple(dict.fromkeys(c.sensitive_feature for c in problem.contrasts)),
            feature_names=tuple(d.name for d in problem.encoder.displays_),
        )

    def _p_value(self, found: Found) -> float:
        data = found.data
        z = leak_statistic(
            data.positive, data.s, found.propensity, found.outcome, data.base, found.tested
        )
        searched = not found.tested[data.held_out].all()
        return one_sided_p_value(z, SEARCH_SPREAD if searched else 1.0)

    def _interval(self, rates: Rates, *, searched: bool) -> tuple[float, float]:
        """Interval on delta, wider in a region that was searched for."""
        spread = SEARCH_SPREAD if searched else 1.0
        return delta_interval(rates, self.plan.confidence_level, spread)

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
        member = selection.member[held]
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
        everybody = bool(np.isneginf(selection.threshold))
        low, high = self._interval(rates, searched=not everybody)
        delta = estimates[self.auditor.estimator]
        shift = delta - rates.delta
        if np.isfinite(shift):
            low, high = low + shift, high + shift
        detectable = detectable_delta(
            alpha=self.plan.alpha,
            rate=float(np.mean(population.rates)),
            sizes=(population.effective_sizes[0], population.effective_sizes[1]),
            level=(1.0 - self.plan.confidence_level) / n_tests,
            spread=SEARCH_SPREAD,
        )
        self._note_large_alpha(outcome)
        verdict, reason = self._verdict(adjusted, delta, rates, positive & member, detectable)
        working = np.zeros(self.problem.n_rows, dtype=bool)
        working[found.rows] = selection.member
        rule = self._rule(working, found.rows)
        return Violation(
            **common,
            verdict=verdict,
            reason=reason,
            delta=delta,
            interval=(low, high),
            gamma=rates.gamma,
            gamma_lemma=lemma_strength(positive, s, weights, member),
            mass=rates.mass,
            n_rows=int(member.sum()),
            share=float(member.mean()),
            rates=(float(rates.rates[0]), float(rates.rates[1])),
            counts=self._counts(contrast, outcome, s, found.rows[held], member),
            p_value=p_value,
            p_value_adjusted=adjusted,
            detectable_delta=detectable,
            membership=self._membership(i, found, working, absent),
            held_out=self._by_sample(found.rows[held]),
            profile=profile_subgroup(
                self.problem.display,
                self._sides(found),
                working,
                group=contrast.group,
                reference=contrast.reference,
                displays=self.problem.encoder.displays_,
                outcome=self.problem.y == self.problem.outcome_labels.index(outcome),
                outcome_name=f"outcome {outcome}",
                sample_weight=self.problem.sample_weight,
            ),
            rule=rule.text,
            rule_fidelity=rule.fidelity,
            rule_precision=rule.precision,
            rule_recall=rule.recall,
            path=WorstCasePath(
                delta=selection.path.delta,
                mass=selection.path.mass,
                n_rows=selection.path.n_rows,
                threshold=selection.path.threshold,
                interval_low=selection.path.low,
                interval_high=selection.path.high,
            ),
            estimates=estimates,
            population=self._subgroup("everybody", population, contrast, outcome, found, held),
            core=self._core(found, contrast, outcome),
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

    def _verdict(
        self, adjusted: float, delta: float, rates: Rates, hits: np.ndarray, detectable: float
    ) -> tuple[str, str]:
        """What can be said, and why not more."""
        if np.isnan(delta) or np.isnan(adjusted):
            return INSUFFICIENT, "nobody in the subgroup has the outcome on either side"
        if hits.sum() < _FEWEST_POSITIVES:
            return INSUFFICIENT, (
                f"only {int(hits.sum())} rows of the subgroup have the outcome; at least "
                f"{_FEWEST_POSITIVES} are needed"
            )
        if adjusted < 1.0 - self.plan.confidence_level and delta > 0:
            return VIOLATION, ""
        if not np.isfinite(detectable):
            return INSUFFICIENT, (
                "there are too few rows to have found even a thousandfold ratio in a subgroup of "
                f"mass {self.plan.alpha:g}"
            )
        return NONE_LARGER, ""

    def _sides(self, found: Found) -> np.ndarray:
        """S over the working rows, 0 where not compared."""
        sides = np.zeros(self.problem.n_rows, dtype=np.int8)
        sides[found.rows] = found.data.s
        return sides

    def _rule(self, working: np.ndarray, rows: np.ndarray) -> Rule:
        """Rule of the subgroup; searches that found the same people share it."""
        member = working[rows]
        key = rows.tobytes() + member.tobytes()
        if key not in self._rules:
            self._rules[key] = describe_rule(
                member,
                self.problem.display.iloc[rows],
                displays=self.problem.encoder.displays_,
                sample_weight=self.problem.sample_weight[rows],
            )
        return self._rules[key]

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
        audited = labels.index(outcome)
        order = [audited, *(i for i in range(len(labels)) if i != audited)]
        counts = np.array(
            [[int((member & (y == i) & (s == side)).sum()) for i in order] for side in (1, -1)]
        )
        others = "everyone else" if contrast.reference is None else contrast.reference
        index = pd.Index([contrast.group, others], dtype=object, tupleize_cols=False)
        columns = pd.Index([labels[i] for i in order], dtype=object, tupleize_cols=False)
        return pd.DataFrame(counts, index=index, columns=columns)

    def _subgroup(
        self,
        label: str,
        rates: Rates,
        contrast: Contrast,
        outcome: Hashable,
        found: Found,
        member: np.ndarray,
    ) -> Subgroup:
        held = found.data.held_out
        own = member[held]
        return Subgroup(
            label=label,
            delta=rates.delta,
            interval=self._interval(rates, searched=not own.all()),
            gamma=rates.gamma,
            mass=rates.mass,
            n_rows=int(own.sum()),
            rates=(float(rates.rates[0]), float(rates.rates[1])),
            counts=self._counts(contrast, outcome, found.data.s[held], found.rows[held], own),
        )

    def _core(self, found: Found, contrast: Contrast, outcome: Hashable) -> Subgroup:
        data = found.data
        held = data.held_out
        member = found.selection.scores >= found.selection.core_threshold
        rates = measure(data.positive[held], data.s[held], data.weights[held], member[held])
        return self._subgroup("core", rates, contrast, outcome, found, member)

    def _by_sample(self, rows: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.problem.n_samples, dtype=bool)
        mask[self.problem.source_row[rows]] = True
        return mask

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
        absent = np.setdiff1d(np.arange(self.problem.n_samples), self.problem.source_row)
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
            name: _describe_parameter(value)
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


def audit(X, y, *, sensitive_features, sample_weight=None, **params) -> AuditResult:
    """Audit outcomes in one call.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Audited features.
    y : array-like of shape (n_samples,)
        The classifier's outcomes.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
    sample_weight : array-like of shape (n_samples,) or None, default=None
    **params
        Of ``MDFAuditor``.

    Returns
    -------
    result : AuditResult

    Raises
    ------
    InputError, NothingToAuditError, OverlapError
        As ``MDFAuditor.fit``.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=2000, delta=1.5, random_state=0)
    >>> result = mdfa.audit(
    ...     data.X, data.y, sensitive_features=data.sensitive_features, random_state=0
    ... )
    >>> len(result.violations)
    4
    """
    known = MDFAuditor().get_params()
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise InputError(
            f"audit: unknown argument(s) {', '.join(unknown)}; those known are "
            f"{', '.join(sorted(known))}."
        )
    auditor = MDFAuditor(**params)
    return auditor.fit(
        X, y, sensitive_features=sensitive_features, sample_weight=sample_weight
    ).result_


def _with_support(weighed: Balance, ground: Ground) -> Any:
    """Diagnostics that count the rows left out for want of common support."""
    return replace(
        weighed.diagnostics,
        n_outside_support=ground.support.n_outside,
        share_outside_support=ground.support.share_outside,
    )


def _draw_seed(random_state: Any) -> int:
    """Seed of the whole audit: the integer given, or one drawn from what was given."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state: a non-negative seed expected, {random_state} found.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InputError(
        "random_state: an integer, a numpy Generator, a RandomState or None expected, "
        f"{type(random_state).__name__} found."
    )


def _describe_parameter(value: Any) -> Any:
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


def _check_share(name: str, value: Any) -> None:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0.0 < float(value) < 1.0:
        raise InputError(f"{name}: a number between 0 and 1 expected, {value!r} found.")


def _check_whole(name: str, value: Any, least: int) -> None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{name}: a whole number of at least {least} expected, {value!r} found.")


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name}: one of {listed} expected, {value!r} found.")
