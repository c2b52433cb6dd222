"""The auditor: validate, balance, search, estimate, describe, in this order."""

from __future__ import annotations

import functools
import hashlib
import logging
import numbers
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted

from mdfa_fairness_plugin.balance import METHODS, Balance
from mdfa_fairness_plugin.balance.overlap import effective_sample_size
from mdfa_fairness_plugin.certify.learners import (
    LEARNERS,
    check_estimator,
    make_classifier,
    make_regressor,
)
from mdfa_fairness_plugin.describe.comparators import AuditedRows, SearchedRows
from mdfa_fairness_plugin.describe.held_out_rule import HeldOutRule, describe_held_out
from mdfa_fairness_plugin.describe.profile import profile_subgroup
from mdfa_fairness_plugin.describe.rules import EVERYBODY, Rule, describe_rule
from mdfa_fairness_plugin.exceptions import (
    InputError,
    OverlapError,
    OverlapWarning,
    SearchWarning,
    WarningLog,
    WeightWarning,
)
from mdfa_fairness_plugin.features import FeatureEncoder
from mdfa_fairness_plugin.inference.estimates import (
    Leftover,
    Rates,
    lemma_strength_of,
    measure,
    other_estimates,
)
from mdfa_fairness_plugin.inference.intervals import delta_interval, gamma_interval, mass_interval
from mdfa_fairness_plugin.inference.sensitivity import e_value, missing_bounds
from mdfa_fairness_plugin.inference.splitting import (
    HELD_BACK,
    draw_folds,
    draw_holdout,
    draw_sample,
)
from mdfa_fairness_plugin.inference.tests import (
    SEARCH_SPREAD,
    detectable_delta,
    holm,
    leak_statistic,
    one_sided_p_value,
)
from mdfa_fairness_plugin.probability import CrossFittedProbability
from mdfa_fairness_plugin.problem import AuditProblem, Contrast, build_problem
from mdfa_fairness_plugin.results import (
    INSUFFICIENT,
    NO_COMPARABLE_ROW,
    NONE_LARGER,
    VIOLATION,
    AuditResult,
    Silence,
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
    Predictor,
    label_of,
    orientation,
    rarer,
    reason_of,
    search,
)
from mdfa_fairness_plugin.worst_case.selection import region_spread

logger = logging.getLogger(__name__)

EVALUATIONS = ("cross_fit", "holdout")
ESTIMATORS = ("hajek", "raw", "unweighted", "doubly_robust")
_STAGES = ("folds", "propensity", "outcome", "learner", "balance", "test")
# A region must hold this many rows with the outcome, both sides together, to say anything.
_FEWEST_POSITIVES = 10
# A few rows at the edge of any two groups have no counterpart; from this share on it is a warning.
_MANY_OUTSIDE = 0.05
# Fewer rows than this are counted but not described by a rule.
_FEWEST_DESCRIBED = 10


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
    max_learning_rows : int or None, default=50000
        Of more rows a sample of this size is learned from, every sensitive value and outcome with its
        share; all rows are measured, those outside the sample by models that saw none of them.
        None: learn from all.

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
        max_learning_rows=50_000,
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
        self.max_learning_rows = max_learning_rows

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
        self.check_arguments()
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
        audit = AuditRun(problem, self.plan(problem, seed), self, log)
        audit.run()
        result = audit.result(X, seed, started)
        names = [str(name) for name in problem.encoder.feature_names_in_]
        named = hasattr(X, "columns")
        self.attach(result, problem.encoder, None, np.inf, names if named else None)
        self._keep_worst(audit)
        self._audited: AuditedRows | None = audit.audited(result)
        return self

    def attach(
        self,
        result: AuditResult,
        encoder: FeatureEncoder,
        predictor: Predictor | None,
        threshold: float,
        names: list[str] | None,
    ) -> None:
        """Become fitted, with the result of an audit made by these arguments.

        Parameters
        ----------
        result : AuditResult
        encoder : FeatureEncoder
        predictor : callable or None
            Scores of encoded rows in the worst-case search; None if nothing could be measured.
        threshold : float
            The subgroup is ``score >= threshold``.
        names : list of str or None
            Of the features, if they have any.
        """
        self.result_ = result
        self._encoder = encoder
        self._predictor, self._threshold = predictor, threshold
        self._audited = None
        self.n_features_in_ = len(encoder.feature_names_in_)
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

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

    def explain_row(
        self,
        x,
        *,
        sensitive=None,
        outcome=None,
        n_comparators=5,
        show_records=False,
        min_cell=11,
        row=None,
    ):
        """Tell one person where they stand: a card to contest a decision with.

        Parameters
        ----------
        x : Series, mapping, one-row table, sequence of length n_features, or None
            The person's audited features; columns of other names are ignored. None: those of
            ``row``.
        sensitive : label, mapping of column to label, or None, default=None
            The person's sensitive value. None: that of ``row``, or unknown.
        outcome : label or None, default=None
            The outcome the person got. None: that of ``row``, or unknown.
        n_comparators : int, default=5
            Nearest people of each side to count at least.
        show_records : bool, default=False
            Show the features of the ``n_comparators`` nearest audited people of each side, and
            every count however small.
        min_cell : int, default=11
            Smaller counts of other people are not shown, and more of the nearest are counted
            until none is smaller.
        row : int or None, default=None
            Position of the person in the audited data: they are then judged by the model that had
            not seen them, and are not counted among their own comparators.

        Returns
        -------
        card : ContestationCard
            Of the search for the person's group and outcome; of the worst case if these are
            unknown or were not searched.

        Raises
        ------
        InputError
            If ``x`` is not one person with the audited features, or a label was never seen.

        Notes
        -----
        Comparable people are the nearest rows of either side in the subgroup and its surroundings
        (in all of those compared, for a person outside it), every feature counting alike and in
        units of its standard deviation, no farther than half the mean squared distance of two
        people drawn at random.

        Examples
        --------
        >>> import mdfa_fairness_plugin as mdfa
        >>> data = mdfa.datasets.make_synthetic(n_samples=2000, delta=1.5, random_state=0)
        >>> auditor = mdfa.MDFAuditor(random_state=0)
        >>> auditor = auditor.fit(data.X, data.y, sensitive_features=data.sensitive_features)
        >>> auditor.explain_row([-0.3, -0.3]).inside
        True
        """
        check_is_fitted(self, "result_")
        if self._audited is None:
            raise InputError(
                "explain_row: a distributed audit keeps no rows to compare a person with; audit a "
                "sample in memory for that."
            )
        from mdfa_fairness_plugin.report.card import explain

        return explain(
            self.result_,
            self._audited,
            self._encoder,
            x,
            sensitive=sensitive,
            outcome=outcome,
            n_comparators=n_comparators,
            show_records=show_records,
            min_cell=min_cell,
            row=row,
        )

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

    def _keep_worst(self, audit: AuditRun) -> None:
        """Keep what new rows are judged by."""
        worst = self.result_.worst_case
        if worst is None:
            return
        found = audit.found[self.result_.violations.index(worst)]
        assert found is not None
        self._predictor, self._threshold = found.predictor, found.selection.threshold

    def check_arguments(self) -> None:
        """Refuse arguments that no data could be audited with."""
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
        if self.max_learning_rows is not None:
            _check_whole("max_learning_rows", self.max_learning_rows, 100)
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

    def unfitted(self) -> MDFAuditor:
        """Give an auditor with the same arguments, none of them copied."""
        return type(self)(**self.get_params(deep=False))

    def plan(self, problem: AuditProblem, seed: int) -> Plan:
        """Arguments, checked against a problem, and the seeds of every stage."""
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
            parts=self._judged_parts(problem.n_rows),
            overlap=self.overlap,
            min_group_size=int(self.min_group_size),
            xi=float(self.xi),
            max_iter=int(self.max_iter),
            seeds=seeds,
            device=self.device,
            n_jobs=self.n_jobs,
        )

    def _judged_parts(self, n_rows: int) -> tuple[int, ...]:
        """Folds that are measured, and the rows no model learns from."""
        if self.evaluation == "holdout":
            return (HELD_BACK,)
        folds = tuple(range(self.n_splits))
        capped = self.max_learning_rows is not None and n_rows > self.max_learning_rows
        return (*folds, HELD_BACK) if capped else folds

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
    auditor: MDFAuditor
    seed: int


class AuditRun:
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
        self.statistics: list[float] = []
        self._drafts: list[tuple[Contrast, Hashable, str]] = []
        self._outside: dict[int, np.ndarray] = {}
        self._overlaps: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._grounds: dict[int, tuple[Ground, bool]] = {}
        self._weighed: dict[int, Balance] = {}
        self._rules: dict[bytes, HeldOutRule] = {}
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
        most = self.auditor.max_learning_rows
        if most is not None and learning.sum() > most:
            rows = np.flatnonzero(learning)
            learning = np.zeros(problem.n_rows, dtype=bool)
            learning[rows[draw_sample(strata[rows], most, rng)]] = True
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
        reason = contrast.reason or self._too_few_weighted(contrast)
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
            self._overlaps[len(self.found)] = ground.overlap(sign < 0)
            self._grounds[len(self.found)] = (ground, sign < 0)
            self._weighed[len(self.found)] = weighed
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
        return rarer(positive) if len(self.problem.outcome_labels) == 2 else positive

    def _log(self, message: str, *arguments: Any) -> None:
        level = logging.INFO if self.auditor.verbose else logging.DEBUG
        logger.log(level, message, *arguments)

    def result(self, X: Any, seed: int, started: float) -> AuditResult:
        """Estimate, test and describe what was found."""
        problem, plan = self.problem, self.plan
        self.statistics = self.leaks().tolist()
        p_values = np.array([self._p_value(i) for i in range(len(self.found))])
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
            silence=self._silence(),
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

    def _spread(self, i: int, member: np.ndarray) -> float:
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
        self._note_large_alpha(outcome)
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
        described = self._rule(found)
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
                spread=self._spread(i, member),
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

    def _silence(self) -> tuple[Silence, ...]:
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
            key = outside.tobytes() + compared.tobytes()
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
            self.problem.display.iloc[compared],
            displays=self.problem.encoder.displays_,
            sample_weight=self.problem.sample_weight[compared],
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

    def _sides(self, found: Found) -> np.ndarray:
        """S over the working rows, 0 where not compared or not judged by a model of other rows."""
        sides = np.zeros(self.problem.n_rows, dtype=np.int8)
        held = found.data.held_out
        sides[found.rows[held]] = found.data.s[held]
        return sides

    def _rule(self, found: Found) -> HeldOutRule:
        """Rule of the subgroup; searches that found the same people share it."""
        held = found.data.held_out
        rows, member, parts = found.rows[held], found.member[held], found.data.folds[held]
        key = rows.tobytes() + member.tobytes() + parts.tobytes()
        if key not in self._rules:
            self._rules[key] = describe_held_out(
                member,
                self.problem.display.iloc[rows],
                parts,
                displays=self.problem.encoder.displays_,
                sample_weight=self.problem.sample_weight[rows],
            )
        return self._rules[key]

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
                self._spread(i, own),
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
            outcome_model=ground.outcome_model(rare)[0],
            flip_s=flip_s,
            flip_y=not np.array_equal(positive, rare),
            limits=ground.limits(),
            balancer=weighed.details,
            scales=ground.scales(flip_s, found.data.weights),
            rule=self._rule(found).rule,
        )

    def audited(self, result: AuditResult) -> AuditedRows:
        """Rows and searches as the auditor keeps them, to explain single rows later.

        Only searches that found something keep their models: these take most of the memory.
        """
        searches: list[SearchedRows | None] = []
        for violation, found in zip(result.violations, self.found, strict=True):
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
                    predictor=found.predictor if told else None,
                    rule=self._rule(found).rule,
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
        rows, sides, e = self._overlaps[i]
        n = self.problem.n_samples
        given = self.problem.source_row[rows]
        propensity, side = np.full(n, np.nan), np.zeros(n, dtype=np.int8)
        propensity[given], side[given] = e, sides
        left_out = self._by_sample(self._outside[i])
        return {"propensity": propensity, "side": side, "left_out": left_out}

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """What one search's figures are made of: sums over the rows measured, in memory or elsewhere.

    Parameters
    ----------
    population, region : Rates
        Of everybody compared, and of the subgroup.
    leftover : Leftover or None
        Of the subgroup.
    estimates : dict of str to float
        Delta by every estimator.
    missing_bounds : tuple of float
        Of ``missing_bounds``.
    n_compared, n_rows, n_hits : int
        Rows compared, those in the subgroup, and of these those with the outcome.
    """

    population: Rates
    region: Rates
    leftover: Leftover | None
    estimates: dict[str, float]
    missing_bounds: tuple[float, float]
    n_compared: int
    n_rows: int
    n_hits: int


def conclude(
    measured: Measured,
    *,
    estimator: str,
    alpha: float,
    confidence_level: float,
    adjusted: float,
    n_tests: int,
    spread: float,
    test_spread: float,
) -> dict[str, Any]:
    """Figures and verdict of one search.

    Parameters
    ----------
    measured : Measured
    estimator : str
        The estimate of delta reported.
    alpha, confidence_level : float
    adjusted : float
        P-value, adjusted over the searches.
    n_tests : int
        Searches adjusted for.
    spread, test_spread : float
        Of intervals, and of the test statistic without a violation.

    Returns
    -------
    fields : dict
        Of a ``Violation``.
    """
    rates, population = measured.region, measured.population
    low, high = delta_interval(rates, confidence_level, spread, measured.leftover)
    bounds = measured.missing_bounds
    delta = measured.estimates[estimator]
    shift = delta - rates.delta
    if np.isfinite(shift):
        low, high = low + shift, high + shift
        bounds = (bounds[0] + shift, bounds[1] + shift)
    detectable = detectable_delta(
        alpha=alpha,
        rate=float(np.mean(population.rates)),
        sizes=(population.effective_sizes[0], population.effective_sizes[1]),
        level=(1.0 - confidence_level) / n_tests,
        spread=test_spread,
    )
    verdict, reason = _verdict(
        adjusted, delta, measured.n_hits, detectable, alpha, confidence_level
    )
    return {
        "verdict": verdict,
        "reason": reason,
        "delta": delta,
        "interval": (low, high),
        "gamma": rates.gamma,
        "gamma_interval": gamma_interval(rates, confidence_level, spread, measured.leftover),
        "gamma_lemma": lemma_strength_of(population, rates),
        "mass": rates.mass,
        "mass_interval": mass_interval(rates, confidence_level, spread),
        "missing_bounds": bounds,
        "e_value": e_value(float(np.exp(delta))),
        "e_value_limit": e_value(float(np.exp(low))),
        "n_rows": measured.n_rows,
        "share": measured.n_rows / measured.n_compared if measured.n_compared else np.nan,
        "rates": (float(rates.rates[0]), float(rates.rates[1])),
        "detectable_delta": detectable,
        "estimates": measured.estimates,
    }


def _verdict(
    adjusted: float,
    delta: float,
    n_hits: int,
    detectable: float,
    alpha: float,
    confidence_level: float,
) -> tuple[str, str]:
    """What can be said, and why not more."""
    if np.isnan(delta) or np.isnan(adjusted):
        return INSUFFICIENT, "nobody in the subgroup has the outcome on either side"
    if n_hits < _FEWEST_POSITIVES:
        return INSUFFICIENT, (
            f"only {n_hits} rows of the subgroup have the outcome; at least "
            f"{_FEWEST_POSITIVES} are needed"
        )
    if adjusted < 1.0 - confidence_level and delta > 0:
        return VIOLATION, ""
    if not np.isfinite(detectable):
        return INSUFFICIENT, (
            "there are too few rows to have found even a thousandfold ratio in a subgroup of "
            f"mass {alpha:g}"
        )
    return NONE_LARGER, ""


def counts_frame(
    counts: np.ndarray,
    group: Hashable,
    reference: Hashable | None,
    labels: tuple[Hashable, ...],
    outcome: Hashable,
) -> pd.DataFrame:
    """Rows by S and Y as results show them, the audited outcome first.

    Parameters
    ----------
    counts : ndarray of int of shape (2, n_labels)
        For S = +1 and S = -1, by place in ``labels``.
    group, reference, labels, outcome
        As in the contrast and the problem.

    Returns
    -------
    counts : DataFrame of shape (2, n_labels)
    """
    audited = labels.index(outcome)
    order = [audited, *(i for i in range(len(labels)) if i != audited)]
    others = "everyone else" if reference is None else reference
    index = pd.Index([group, others], dtype=object, tupleize_cols=False)
    columns = pd.Index([labels[i] for i in order], dtype=object, tupleize_cols=False)
    return pd.DataFrame(counts[:, order], index=index, columns=columns)


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
