"""What is asked of an audit: settings checked against what is registered, then against the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from mdfa_fairness_plugin.balance.balancer import BALANCERS, weight_per_row
from mdfa_fairness_plugin.data.given import OUTCOME, PROPENSITY
from mdfa_fairness_plugin.data.problem import AuditProblem, build_problem
from mdfa_fairness_plugin.exceptions import InputError, WarningLog
from mdfa_fairness_plugin.learn.given import check_given
from mdfa_fairness_plugin.learn.learners import (
    LEARNERS,
    CrossValidated,
    check_estimator,
    make_classifier,
    make_regressor,
)
from mdfa_fairness_plugin.learn.links import IDENTITY, LOGIT
from mdfa_fairness_plugin.search.solvers import SOLVERS
from mdfa_fairness_plugin.settings import Settings, check_choice


def checked_settings(**params: Any) -> Settings:
    """Arguments of an audit, refused where no data could be audited with them."""
    settings = Settings.checked(**params)
    check_choice("solver", settings.solver, ("auto", *SOLVERS))
    if isinstance(settings.balance, str):
        check_choice("balance", settings.balance, ("auto", *BALANCERS))
    if isinstance(settings.learner, str):
        check_choice("learner", settings.learner, ("auto", *LEARNERS))
    for name in (PROPENSITY, OUTCOME):
        if (given := getattr(settings, name)) is not None:
            numeric = name == OUTCOME and settings.outcome_type == "numeric"
            check_given(name, given, IDENTITY if numeric else LOGIT)
    return settings


def settled(settings: Settings, problem: AuditProblem) -> Settings:
    """Settings with nothing left to "auto", and given weights in the order of the working rows."""
    solver = solver_of(settings)
    if problem.quantity is not None and solver != "orthogonal":
        raise InputError(
            f"learner: it classifies, for solver={solver!r}, and sensitive_type='numeric' has no "
            "groups to tell apart. Use a learner that regresses, or make groups with "
            "mdfa_fairness_plugin.to_groups."
        )
    if problem.amount is not None and solver != "orthogonal":
        raise InputError(
            f"solver: {solver!r} follows people with an outcome, as the paper does; numbers and orders "
            "have none. Use solver='auto' with a learner that regresses, or outcome_type='binary'."
        )
    n_units, what = problem.n_rows, "rows"
    if problem.unit is not None and any(one.reason is None for one in problem.contrasts):
        n_units, what = len(np.unique(problem.unit)), "clusters"
    if settings.n_splits > n_units // 2:
        raise InputError(
            f"n_splits: {settings.n_splits} folds of {n_units} {what} leave nothing to judge; "
            + (f"use at most {n_units // 2}." if n_units >= 4 else f"at least 4 {what} are needed.")
        )
    make = make_regressor if SOLVERS[solver].learns == "regressor" else make_classifier
    make(settings.learner, problem.n_rows, 0)  # refuses learners of the wrong kind
    learner = settings.learner
    if settings.complexity == "cross_validated" and isinstance(learner, str):
        if solver == "orthogonal":
            raise InputError(
                "complexity: it is chosen by cross-validation with solver='level_set' or "
                "solver='iterative' alone, not with 'orthogonal'."
            )
        learner = CrossValidated(learner)
    if _is_phi(settings) and solver == "orthogonal":
        raise InputError(
            "representation: 'phi' is for solver='level_set' or 'iterative', 'orthogonal' found."
        )
    return replace(
        settings,
        solver=solver,
        balance=settled_balance(settings, problem),
        representation="phi" if _is_phi(settings) else "raw",
        learner=learner,
    )


def _is_phi(settings: Settings) -> bool:
    """Whether models see the network's features; "network_features" is "logistic" on them."""
    named = isinstance(settings.learner, str) and settings.learner == "network_features"
    return named or settings.representation == "phi"


def solver_of(settings: Settings) -> str:
    """Solver to use: residuals, unless the learner can only classify."""
    if settings.solver != "auto":
        return settings.solver
    if _is_phi(settings):
        return "level_set"
    if isinstance(settings.learner, str):
        return "level_set" if settings.learner == "svm_rbf" else "orthogonal"
    check_estimator(settings.learner)
    return "orthogonal" if is_regressor(settings.learner) else "level_set"


def settled_balance(settings: Settings, problem: AuditProblem) -> Any:
    """Method, or given weights brought into the order of the working rows."""
    given = settings.balance
    if isinstance(given, str):
        return "overlap" if given == "auto" else given
    if isinstance(given, type):
        name = given.__name__
        raise InputError(f"balance: an instance expected, the class {name} found; pass {name}().")
    if settings.weighs_by_row:
        return weight_per_row(given, problem.n_samples)[problem.source_row]
    return given


def problem_of(
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    settings: Settings,
    log: WarningLog | None = None,
    **more: Any,
) -> AuditProblem:
    """The input of an audit, checked and encoded; ``more`` of its rows, and other settings."""
    asked = {name: getattr(settings, name) for name in Settings.names()} | more
    return build_problem(X, y, sensitive_features, sample_weight=sample_weight, log=log, **asked)
