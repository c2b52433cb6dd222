"""The auditor: arguments checked, data validated, an audit run, new rows judged."""

from __future__ import annotations

import time

from mdfa_fairness_plugin.arguments import checked_settings, problem_of
from mdfa_fairness_plugin.exceptions import InputError, WarningLog
from mdfa_fairness_plugin.judging import Judging
from mdfa_fairness_plugin.pipeline import run_audit
from mdfa_fairness_plugin.records import VIOLATION
from mdfa_fairness_plugin.results import AuditResult, result_of
from mdfa_fairness_plugin.settings import Settings, draw_seed, refuse_unknown

_DEFAULT = Settings()


class Fitting(Judging):
    """An auditor that can be fitted; see ``MDFAuditor``."""

    def fit(
        self,
        X,
        y,
        sensitive_features=None,
        sample_weight=None,
        clusters=None,
        exposure=None,
        sensitive_probabilities=None,
    ):
        """Audit the outcomes ``y``.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Audited features: pandas, polars, numpy or scipy sparse. Who counts as similar is
            judged by these, not by what the classifier used; by dates' weekday, month and hour, too.
        y : array-like of shape (n_samples,)
            The classifier's outcomes: two labels, or 3 to 20, of which each is audited against all
            others; with ``outcome_type="numeric"`` numbers.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
            Each column is audited on its own. With ``sensitive_probabilities`` one column, of the
            rows whose group is known, missing elsewhere; or None.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            What they say is ``weight_type``'s.
        clusters : array-like of shape (n_samples,) or None, default=None
            Whose row each is (a person, household, firm). The rows of one are one piece of evidence:
            they share a fold, and errors, tests and repetitions go by cluster; sides with fewer than
            30 are not audited. None: every row is another person's, except for exact repeats that
            chance does not explain.
        exposure : array-like of shape (n_samples,) or None, default=None
            Of counts (stops, complaints) how long or how often each row could have been counted:
            rates per unit of it are compared, rows counting by theirs.
        sensitive_probabilities : table of shape (n_samples, n_groups) or None, default=None
            Where groups are not recorded: the probability of each, such as a proxy tells from name and
            place; rows add up to 1. Estimates count every row by them, which is biased where the
            outcome goes with the group beyond the proxy; ``Violation.probability_bounds`` hold
            whatever the two have to do with each other, and only what is beyond these is a violation.
            The probabilities have to be right among people with equal audited features.
            ``sensitive_features`` of some rows, drawn at random among those with the same outcome,
            correct the estimate by what their own probabilities are off (``Violation.n_known``); leave
            these as they were told, 0 and 1 say nothing of that.

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
        settings = checked_settings(**self.get_params(deep=False))
        if y is None:
            raise InputError(
                f"y: {type(self).__name__} requires y to be passed, but the target y is None. Pass "
                "the classifier's outcomes."
            )
        if sensitive_features is None and sensitive_probabilities is None:
            raise InputError(
                "sensitive_features: None was given; pass the column(s) whose groups are to be "
                "compared."
            )
        log = WarningLog()
        started = time.perf_counter()
        more = {"clusters": clusters, "exposure": exposure}
        more["sensitive_probabilities"] = sensitive_probabilities
        problem = problem_of(X, y, sensitive_features, sample_weight, settings, log, **more)
        audit = run_audit(problem, settings.reseeded(draw_seed(settings.random_state)), log, X)
        result = result_of(audit, log, time.perf_counter() - started)
        worst, harm = result.worst_case, result.worst_harm
        told = (worst, None if harm is None else harm.violation)
        # Only searches that found something keep their models: these take most of the memory.
        searches = tuple(
            search.kept(region=found.verdict == VIOLATION or found in told)
            for search, found in zip(audit.searches, result.violations, strict=True)
        )
        judge = None if worst is None else searches[result.violations.index(worst)]
        names = None
        if hasattr(X, "columns"):
            names = [str(name) for name in problem.encoder.feature_names_in_]
        self.attach(result, problem.encoder, judge, names, searches)
        return self


class MDFAuditor(Fitting):
    r"""Find the subgroup a black-box classifier discriminates against most.

    For every sensitive value ``s`` and outcome ``y`` it looks for the region ``G`` of the audited
    features where ``s`` gets ``y`` most disproportionately, at equal features:

    .. math:: \delta(G) = \ln \frac{Pr_w[Y=y|S=s, G]}{Pr_w[Y=y|S \neq s, G]}

    (both rates at the same features, see ``estimator``) among regions of mass
    :math:`Pr_w[Y=y, x \in G] \ge \alpha` (Sections 2.2 and 3 of the paper), and measures it on rows
    the region's model has not seen.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Smallest mass ``Pr_w[Y=y, x in G]`` worth reporting: the share of all people compared who
        are in the subgroup *and* have the outcome. "auto" (see ``Violation.alpha``): a tenth of those
        who have the outcome, weighted, and at most .05, the paper's.
    outcomes : label, list of labels or None, default=None
        Outcome labels to audit; None: both.
    groups : list, mapping of column to list, or None, default=None
        Sensitive values to audit; None: every value.
    reference_group : value, mapping of column to value, or None, default=None
        Compare with this value only; None: with everybody else.
    missing : {"exclude", "category", "raise"}, default="exclude"
        Rows with a missing sensitive value: not compared (and warned of), a group, or an error.
    balance : str, array-like or object, default="auto"
        Makes the features of both sides alike: "mmd_network" (the paper's; needs torch),
        "kernel_matching", "entropy", "propensity", "overlap", "none", an array of weights, or an
        object with ``fit(X, s, sample_weight)`` and ``weights(X, s)``. "auto" is "overlap".
    learner : str or estimator, default="auto"
        Auditor class: "random_forest", "gradient_boosting", "svm_rbf", "svm_linear", "logistic",
        "tree", "network_features", or a scikit-learn estimator that takes sample weights, itself or
        in its parts (``GridSearchCV(SVC(), ...)``): a regressor for the orthogonal solver, a
        classifier for the others.
    solver : {"auto", "orthogonal", "level_set", "iterative"}, default="auto"
        How the region is found: from cross-fitted residuals, from one fit of S among rows with the
        outcome, or by Algorithm 1. "auto" is "orthogonal" unless the learner is a classifier.
    evaluation : {"cross_fit", "holdout"}, default="cross_fit"
        Every row judged by a model of the other folds, or a 70/30 split as in the paper.
    n_splits : int, default=5
        Folds.
    n_repeats : int or "auto", default="auto"
        How often cross-fitting is repeated with other folds. Models and scores are averaged before a
        region is chosen; p-values are of the mean statistic of what each repeat proposes alone, which
        ``Violation.spread`` tells of. "auto" is three up to 16,666 rows, two up to 25,000 and one
        beyond; one with "holdout" and other solvers.
    confidence_level : float, default=0.95
    device : str or None, default=None
        For torch: None, "cpu" or "cuda".
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same result for any ``n_jobs``. None is seed 0, unlike in
        scikit-learn: an audit made twice gives one answer. A generator draws the seed.
    n_jobs : int or None, default=None
        Threads: models fitted, blocks of rows judged and searches made at a time, each with one
        thread of the numerical libraries. None: one for fewer than 20,000 rows, and for more as many
        as OpenMP would use (``OMP_NUM_THREADS``), as gradient boosting does.
    verbose : int, default=0
        Above 0 logs each stage at level INFO.
    estimator : {"doubly_robust", "hajek", "raw", "unweighted"}, default="doubly_robust"
        Estimate of delta reported. All four are kept in ``Violation.estimates``.

        - "doubly_robust": rates at the same features. What the features make of each side's weighted
          rate, by the model of the outcome, gives way to what they make of it in the people both
          sides stand for: those of the subgroup as ``balance`` weights them. With overlap weights
          these are the people for whom either side is likely; with the paper's network, kernel
          matching, entropy or propensity odds those whom the group is compared with. Imbalance that
          weights leave in the subgroup does no harm. With ``balance="none"`` the same as "hajek".
        - "hajek": weighted rates normalised inside the subgroup, which keep that imbalance.
        - "raw": the ratio of weighted counts of Algorithm 1's line 4.
        - "unweighted": rates as observed.
    min_ratio : float or "auto", default="auto"
        Smaller ratios are no violation however small their p-value: a black box that is a rule of
        the features leaves a remainder that is all bias and no noise. "auto" is 1.05, a rate a
        twentieth higher; 1 calls every ratio beyond chance a violation.
    xi : float, default=0.1
        Step of Algorithm 1's weights.
    max_iter : int, default=500
        Limit on Algorithm 1's iterations.
    representation : {"raw", "phi"}, default="raw"
        What the learner sees: the audited features, or the last layer ``phi`` of an MMD network of
        the joint objective Eq. ``risk2`` (needs torch, and another solver than "orthogonal"): one per
        search and part, which also gives the weights if ``balance`` is the network.
    complexity : {"fixed", "cross_validated"}, default="fixed"
        Whether a named learner's complexity is chosen by 5-fold cross-validation of the weighted risk
        on each part learned from: C of .01, .1, 1 and 10 for "logistic" and the machines, depths of 2,
        4, 8 and 16 for "tree" and forests, 3, 7, 15 and 31 leaves for "gradient_boosting". Algorithm 1
        chooses once, in its first iteration, as it does for an estimator that searches itself.
    overlap : {"trim", "refuse"}, default="trim"
        Rows without comparable rows on the other side: left out and counted, or an error.
    weight_type : {"sampling", "frequency"}, default="sampling"
        Whether a sample weight says how many people a row stands for, which is no more evidence, or
        counts equal rows that were all seen: an audit of the repeated rows. ("auto": deprecated.)
    intersections : bool, default=False
        Also audit each combination of the sensitive columns' values.
    min_group_size : int, default=30
        Groups (or references) with fewer rows are listed as insufficient evidence.
    max_learning_rows : int or None, default=50000
        Of more rows a sample of this size is learned from, every sensitive value and outcome with its
        share; all rows are measured, those outside the sample by models that saw none of them. None:
        learn from all. Of 120,000 rows of 10 features, those learned from 50,000 (100,000) overlap
        with a planted region by .89 / .96 / .96 (.93 / .97 / .97) for delta .5 / 1.5 / 3.
    decision_inputs : name, list of names or None, default=None
        Features the decision was made from, such as a score with a cut-off. One that repeats the
        outcome is refused if it is not named here, and one that tells it alone is warned of.
    propensity : array-like, mapping, estimator or None, default=None
        Probability of the sensitive value given the features, strictly between 0 and 1, for every
        row by a model that has not seen it. An array of shape (n_samples,) is of the second of two
        values in sorted order, as ``predict_proba(X)[:, 1]`` is; of more values a mapping of value to
        array, or a table with a column for each in sorted order (a DataFrame may name them); of
        several sensitive columns a mapping of column to any of these. Rows are paired as those of
        ``sample_weight`` are. With a ``reference_group`` what counts is the probability among the
        two. Or an estimator with ``fit`` and ``predict_proba``, cloned and fitted without each
        fold to the encoded features, with the sample weights if it takes them, and the audit's seed
        if it leaves its own open. None: the audit's own models, which also judge new rows, and rows
        without a sensitive value, where arrays are given.
    outcome_probability : array-like, mapping, estimator or None, default=None
        Likewise of the outcome given the features, whatever the sensitive value: an array is of the
        larger of two labels (1 of 0 and 1), a mapping of label to array says it. Models fitted to the
        same rows tell too well, which hides what is looked for; what seems so is warned of.
    missing_outcome : {"raise", "exclude"}, default="raise"
        Rows without an outcome: an error, or left out and counted. Leaving them out compares only
        those who were decided about, which may be unlike those who were not.
    merge_spellings : bool, default=False
        Take labels that differ in capital letters, blanks at the ends or a dot at the end alone for
        one, the commonest spelling that ends in neither: of groups, outcomes and levels of features,
        also of new rows. False: such labels are warned of. Unicode forms (NFC, NFD) are always one.
    favorable_label : label or None, default=None
        The good outcome. Getting another one more often is then *harm*, which the worst case, the
        first lines of reports and gates are about; getting the good one more often is *advantage*,
        others' harm seen from the other side, and no second violation (``Violation.harm``).
    outcome_name : str or None, default=None
        What the outcome is called; None: as its Series or column.
    outcome_names, group_names : mapping of label to str or None, default=None
        What sentences call people with an outcome, after "are", and groups: ``{0: "refused a loan"}``
        and ``{"F": "women"}``. Groups also by column: ``{"sex": {"F": "women"}}``.
    statement : mapping of str to str, or None, default=None
        What those who answer for the audit state of it, printed with every report as it was given;
        nothing is found by it. Any of "system", "version", "purpose", "data_source", "data_from",
        "data_to", "data_kind" (historical, test data), "sensitive_source" ("self-reported",
        "observed", "proxy", or a list of these), "auditor", "relationship" (to who made or uses the
        system), "audit_date", "threshold" (the reader's rule, set in advance), "threshold_date",
        "signed_by" and "notice": texts, dates, numbers or lists. A blank is printed as not stated.
    feature_reasons : mapping of feature to str or dict, or None, default=None
        Why features are used: ``{"income": "ability to repay"}``, or ``{"reason": ..., "protected":
        True}`` of one that measures a protected trait. Reports list them with how well each tells the
        group and, after :meth:`AuditResult.with_explained`, the ratio without it.
    outcome_type : {"auto", "binary", "multiclass", "numeric"}, default="auto"
        What ``y`` is. "auto": two labels, or 3 to 20 that are no numbers, each audited against all
        others. "multiclass": likewise of labels that are numbers. "numeric": amounts (a wage, a
        sentence, a score), of which the group gets ``"less"`` or ``"more"`` (these are the outcomes);
        never taken for such unasked. ``alpha`` is then a share of the people, and ``gamma`` is not
        defined; only the default solver audits numbers.
    ordered : list of labels or None, default=None
        All labels from the lowest to the highest, at least three: each cut is audited ("B or higher"
        and "below B"), and the mean rank.
    measure : {"auto", "difference", "ratio"}, default="auto"
        How means of a number are compared: by their difference, in units of ``y`` ("auto"; of counts
        with an exposure by their ratio), or, of what is never negative, by their ratio. The ratio of a
        number that is nothing or one amount is searched for as audits of yes and no do, ``alpha``
        too being theirs.
    favorable : {"high", "low"} or None, default=None
        Which end of a number or of an order is the good one, as ``favorable_label`` of labels.
    robust : None, "rank" or float, default=None
        Against outliers: each number's rank is compared, as a share of the rows, or this share of the
        rows is moved in to the next value at either end (a winsorised mean).
    min_difference : float or "auto", default="auto"
        Smaller differences of means are no violation, however small their p; in units of ``y``. "auto"
        is a twentieth of a standard deviation, what ``min_ratio`` is at a rate of one half.
    sensitive_type : {"auto", "numeric"}, default="auto"
        "numeric": the one sensitive column is a quantity (an age, an income share), compared as it is:
        where the outcome rises or falls most with it at equal features. Groups are ``"more"`` and
        ``"less"`` of it; ``difference`` is a slope, of rates or of a number, and ratio, mass and gamma
        are not defined. Where the features tell the quantity there is nothing to see.
    per : float or None, default=None
        How much more of the quantity slopes are told for, such as 10 years; None: 1.

    Attributes
    ----------
    result_ : AuditResult
    n_features_in_ : int
    feature_names_in_ : ndarray of str, only if the features have names

    Notes
    -----
    The ratio alone does not name a region, as any part of a region has the same ratio. What is
    reported is the extent of the violation, cut half way up its height; ``Violation.core`` is the
    part with the highest lower confidence limit. Everybody is held beside it and reported in its
    place where their lower limit is higher, which the p-value allows for (not so for "iterative",
    which returns what Algorithm 1 returns); ``Violation.searched`` and ``beside`` tell of the part.

    Every ratio is measured with ever better models of the features, and with the best ones of half of
    the rows. Where it falls with more rows, that was the models' doing and may go on: interval, p-value
    and verdict allow for it, as if the bias fell with the square root of the rows
    (``Violation.depends_on_models``). A search that would be a violation but for that is insufficient
    evidence, with a ``ModelDependenceWarning``. The user's own models are taken at their word.

    References
    ----------
    X. Gitiaux and H. Rangwala, "Multi-Differential Fairness Auditor for Black Box Classifiers",
    IJCAI 2019. X. Nie and S. Wager, "Quasi-oracle estimation of heterogeneous treatment effects",
    Biometrika 108(2), 2021. ``statement`` holds what Annex IV of the EU's AI Act (Regulation 2024/1689:
    system, version, purpose, origin of the data, tests dated and signed) and the rules on Local Law 144
    of New York City (6 RCNY 5-300 to 5-304: sources, dates, independence) ask for; no law is applied.

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
        alpha=_DEFAULT.alpha,
        outcomes=_DEFAULT.outcomes,
        groups=_DEFAULT.groups,
        reference_group=_DEFAULT.reference_group,
        missing=_DEFAULT.missing,
        balance=_DEFAULT.balance,
        learner=_DEFAULT.learner,
        solver=_DEFAULT.solver,
        evaluation=_DEFAULT.evaluation,
        n_splits=_DEFAULT.n_splits,
        confidence_level=_DEFAULT.confidence_level,
        device=_DEFAULT.device,
        random_state=_DEFAULT.random_state,
        n_jobs=_DEFAULT.n_jobs,
        verbose=_DEFAULT.verbose,
        *,
        estimator=_DEFAULT.estimator,
        min_ratio=_DEFAULT.min_ratio,
        xi=_DEFAULT.xi,
        max_iter=_DEFAULT.max_iter,
        representation=_DEFAULT.representation,
        complexity=_DEFAULT.complexity,
        overlap=_DEFAULT.overlap,
        weight_type=_DEFAULT.weight_type,
        intersections=_DEFAULT.intersections,
        min_group_size=_DEFAULT.min_group_size,
        max_learning_rows=_DEFAULT.max_learning_rows,
        decision_inputs=_DEFAULT.decision_inputs,
        propensity=_DEFAULT.propensity,
        outcome_probability=_DEFAULT.outcome_probability,
        n_repeats=_DEFAULT.n_repeats,
        missing_outcome=_DEFAULT.missing_outcome,
        merge_spellings=_DEFAULT.merge_spellings,
        favorable_label=_DEFAULT.favorable_label,
        outcome_name=_DEFAULT.outcome_name,
        outcome_names=_DEFAULT.outcome_names,
        group_names=_DEFAULT.group_names,
        statement=_DEFAULT.statement,
        feature_reasons=_DEFAULT.feature_reasons,
        outcome_type=_DEFAULT.outcome_type,
        ordered=_DEFAULT.ordered,
        measure=_DEFAULT.measure,
        favorable=_DEFAULT.favorable,
        robust=_DEFAULT.robust,
        min_difference=_DEFAULT.min_difference,
        sensitive_type=_DEFAULT.sensitive_type,
        per=_DEFAULT.per,
    ):
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])


def audit(
    X,
    y,
    *,
    sensitive_features=None,
    sample_weight=None,
    clusters=None,
    exposure=None,
    sensitive_probabilities=None,
    **params,
) -> AuditResult:
    """Audit outcomes in one call.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Audited features.
    y : array-like of shape (n_samples,)
        The classifier's outcomes.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
    sample_weight, clusters, exposure : array-like of shape (n_samples,) or None, default=None
    sensitive_probabilities : table of shape (n_samples, n_groups) or None, default=None
        As for ``MDFAuditor.fit``.
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
    refuse_unknown("audit", params, Settings.names())
    rows = (sensitive_features, sample_weight, clusters, exposure, sensitive_probabilities)
    return MDFAuditor(**params).fit(X, y, *rows).result_
