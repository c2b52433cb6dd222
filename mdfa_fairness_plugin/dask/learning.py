"""An ordinary audit of the sample, and what it makes of rows elsewhere."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.dask.measuring import (
    Judge,
    Panel,
)
from mdfa_fairness_plugin.dask.result import Region
from mdfa_fairness_plugin.dask.survey import (
    Columns,
    Sample,
    Survey,
)
from mdfa_fairness_plugin.data.columns import find_label
from mdfa_fairness_plugin.data.encoding import MISSING
from mdfa_fairness_plugin.data.problem import AuditProblem, build_problem
from mdfa_fairness_plugin.exceptions import (
    Count,
    MDFAWarning,
    Message,
    MissingSensitiveWarning,
    WarningLog,
    WeightWarning,
)
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.measure.splitting import HELD_BACK
from mdfa_fairness_plugin.pipeline import AuditRun, Fitted
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.ground import Plan, Predictor
from mdfa_fairness_plugin.search.iterative import IterativePredictor
from mdfa_fairness_plugin.search.level_set import LevelSetPredictor
from mdfa_fairness_plugin.search.level_sets import Bins
from mdfa_fairness_plugin.search.orthogonal import OrthogonalPredictor


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """An audit of the rows learned from, before its figures are replaced."""

    problem: AuditProblem
    plan: Plan
    run: AuditRun
    result: AuditResult


class _SampleLog(WarningLog):
    """Says of what a check of the sample finds that it was found there."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self._where = Message("in the ", Count(n_rows), " learned from: ")

    def warn(self, category: type[MDFAWarning], *message: str | Count) -> None:
        if category is not MissingSensitiveWarning:  # told of all rows
            super().warn(category, self._where, *message)

    def note(self, category: str, *message: str | Count) -> None:
        super().note(category, self._where, *message)


def audit_frame(
    frame: pd.DataFrame,
    columns: Columns,
    auditor: MDFAuditor,
    seed: int,
    log: WarningLog,
    *,
    keep_one_model: bool,
) -> Learned:
    """Audit rows in memory."""
    X = frame[list(columns.features)]
    problem = build_problem(
        X,
        frame[columns.outcome],
        frame[list(columns.sensitive)],
        sample_weight=None if columns.weight is None else frame[columns.weight],
        weight_type=auditor.weight_type,
        outcomes=auditor.outcomes,
        groups=auditor.groups,
        reference_group=auditor.reference_group,
        missing=auditor.missing,
        intersections=auditor.intersections,
        min_group_size=auditor.min_group_size,
        log=log,
    )
    plan = auditor.plan(problem, seed)
    if keep_one_model and HELD_BACK not in plan.parts:
        # One more model, of all rows: the one that other rows are judged by.
        plan = replace(plan, parts=(*plan.parts, HELD_BACK))
    run = AuditRun(problem, plan, auditor, log)
    run.run()
    return Learned(
        problem=problem, plan=plan, run=run, result=run.result(X, seed, time.perf_counter())
    )


def learn(
    sample: Sample,
    survey: Survey,
    auditor: MDFAuditor,
    columns: Columns,
    weight_type: str,
    seed: int,
    n_missing: dict[str, int],
    log: WarningLog,
) -> Learned:
    """Audit the sample."""
    frame = sample.frame
    if auditor.missing == "exclude":
        for name, count in n_missing.items():
            if count:
                log.warn(
                    MissingSensitiveWarning,
                    "sensitive_features: ",
                    Count(count),
                    f" have no value in {name!r} and are not "
                    "compared. Pass missing='category' to audit them as a group.",
                )
    if weight_type == "none":
        columns = replace(columns, weight=None)
    elif weight_type == "sampling" and auditor.weight_type == "auto" and survey.weights.whole:
        log.warn(
            WeightWarning,
            f"sample_weight: whole numbers summing to {survey.weights.total:,.0f} over ",
            Count(survey.n_rows),
            " are read as sampling weights, not as counts of repeated rows. "
            "Pass weight_type='frequency' if each counts rows, or weight_type='sampling' to confirm.",
        )
    learning_type = weight_type
    if weight_type == "frequency" and frame[columns.weight].sum() > 2 * auditor.max_learning_rows:
        # Every copy would be a row of its own in memory.
        learning_type = "sampling"
    learner = auditor.unfitted().set_params(
        max_learning_rows=None,
        random_state=seed,
        weight_type="auto" if learning_type == "none" else learning_type,
    )
    return audit_frame(frame, columns, learner, seed, _SampleLog(len(frame)), keep_one_model=True)


def panel_of(
    learned: Learned,
    survey: Survey,
    columns: Columns,
    sample: Sample,
    weight_type: str,
    seed: int,
) -> Panel:
    """What every block is measured with.

    Parameters
    ----------
    learned : Learned
    survey : Survey
        Of all rows.
    columns : Columns
    sample : Sample
    weight_type : {"none", "frequency", "sampling"}
    seed : int

    Returns
    -------
    panel : Panel
    """
    problem, plan = learned.problem, learned.plan
    names = [column.name for column in problem.sensitive]
    labels = tuple(column.labels.values for column in problem.sensitive)
    slim = _Slim()
    judges = []
    for i in range(len(learned.run.found)):
        fitted = learned.run.fitted(i)
        if fitted is not None:
            column = names.index(fitted.contrast.sensitive_feature)
            judges.append(_judge(fitted, column, labels[column], problem, plan, slim))
    n_columns = len(columns.sensitive)
    return Panel(
        columns=columns
        if weight_type != "none" or survey.weights.n_zero
        else replace(columns, weight=None),
        labels=labels,
        outcomes=problem.outcome_labels,
        parts=tuple((i,) if i < n_columns else tuple(range(n_columns)) for i in range(len(names))),
        missing=MISSING if learned.run.auditor.missing == "category" else None,
        weight_type=weight_type,
        mean_weight=survey.weights.total / survey.n_present if columns.weight is not None else 1.0,
        cut=sample.cut,
        seed=seed,
        encoder=problem.encoder,
        judges=tuple(judges),
    )


def _judge(
    fitted: Fitted,
    column: int,
    values: tuple[Hashable, ...],
    problem: AuditProblem,
    plan: Plan,
    slim: _Slim,
) -> Judge:
    contrast = fitted.contrast
    core = fitted.threshold if fitted.core_threshold is None else fitted.core_threshold
    edges = np.concatenate([Bins.of(fitted.scores).edges, [-np.inf, fitted.threshold, core]])
    group = find_label(contrast.group, values)
    reference = None if contrast.reference is None else find_label(contrast.reference, values)
    assert group is not None
    return Judge(
        column=column,
        group=group,
        reference=-1 if reference is None else reference,
        outcome=problem.outcome_labels.index(fitted.outcome),
        propensity=slim.probability(fitted.propensity),
        outcome_model=slim.probability(fitted.outcome_model),
        flip_s=fitted.flip_s,
        flip_y=fitted.flip_y,
        limits=fitted.limits,
        predictor=slim.predictor(fitted.predictor),
        threshold=fitted.threshold,
        core_threshold=core,
        bins=Bins(edges=np.unique(edges), exact=False),
        method=plan.balance if isinstance(plan.balance, str) else "given",
        balancer=fitted.balancer,
        scales=fitted.scales,
        rule=fitted.rule,
    )


class _Slim:
    """Models without what only the rows learned from need, shared where they were shared."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def probability(self, model: CrossFittedProbability) -> CrossFittedProbability:
        if id(model) not in self._made:
            self._made[id(model)] = replace(model, out_of_fold=np.empty(0))
        return self._made[id(model)]

    def predictor(self, predictor: Any) -> Predictor:
        """The predictor as it judges rows that were not learned from."""
        if isinstance(predictor, OrthogonalPredictor):
            difference = predictor.difference
            if id(difference) not in self._made:
                self._made[id(difference)] = difference.unseen()
            return replace(
                predictor,
                difference=self._made[id(difference)],
                propensity=self.probability(predictor.propensity),
                outcome=self.probability(predictor.outcome),
            )
        if isinstance(predictor, LevelSetPredictor):
            return LevelSetPredictor(predictor.models[-1:])
        assert isinstance(predictor, IterativePredictor)
        return IterativePredictor(predictor.runs[-1:])


def region_of(
    learned: Learned, fitted: Fitted, predictor: Predictor, propensity: CrossFittedProbability
) -> Region:
    """What the subgroup of one search is told by.

    Parameters
    ----------
    learned : Learned
    fitted : Fitted
    predictor : callable
    propensity : CrossFittedProbability

    Returns
    -------
    region : Region
    """
    return Region(
        encoder=learned.problem.encoder,
        predictor=predictor,
        threshold=fitted.threshold,
        propensity=propensity,
        limits=fitted.limits,
    )
