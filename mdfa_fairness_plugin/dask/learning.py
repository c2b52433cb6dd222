"""An ordinary audit of the sample, and the panel that rows elsewhere are measured with."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.arguments import problem_of, solver_of
from mdfa_fairness_plugin.balance.balancer import Balancer
from mdfa_fairness_plugin.dask.amounts import Scale, Valued, in_units_of_all
from mdfa_fairness_plugin.dask.groups import Grouping
from mdfa_fairness_plugin.dask.survey import Columns, Sample, Stratum, Survey
from mdfa_fairness_plugin.data.columns import find_label
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.data.plans import MISSING
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.sensitive import warn_of_missing
from mdfa_fairness_plugin.data.weights import WHOLE_WEIGHTS
from mdfa_fairness_plugin.describe.conditions import Rule
from mdfa_fairness_plugin.exceptions import (
    Count,
    InputError,
    MDFAWarning,
    Message,
    MissingSensitiveWarning,
    RepeatedRowsWarning,
    WarningLog,
)
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.pipeline import Audit, run_audit
from mdfa_fairness_plugin.search.level_sets import Bins
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.solver import Region
from mdfa_fairness_plugin.settings import Settings

# Numbers held per row of a chunk: the basis of the nuisances' logistic part is the widest, and several
# of its size exist at a time. With this a chunk takes some 100 MB.
_CHUNK_NUMBERS = 2_500_000
_MOST_CHUNK_ROWS = 65_536


class _SampleLog(WarningLog):
    """Says of what a check of the sample finds that it was found there."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self._where = Message("in the ", Count(n_rows), " learned from: ")

    # What is told of all rows is not told again.

    def warn(self, category: type[MDFAWarning], *message: str | Count) -> None:
        if category is not MissingSensitiveWarning:
            super().warn(category, self._where, *message)

    def note(self, category: str, *message: str | Count) -> None:
        if category != WHOLE_WEIGHTS:
            super().note(category, self._where, *message)


def audit_frame(
    frame: pd.DataFrame,
    columns: Columns,
    settings: Settings,
    log: WarningLog,
    *,
    keep_one_model: bool,
    survey: Survey | None = None,
) -> Audit:
    """Audit rows in memory; ``keep_one_model`` asks for one of all rows, to judge others by."""
    X = frame[list(columns.features)]
    weight = None if columns.weight is None else frame[columns.weight]
    problem = problem_of(
        X,
        frame[columns.outcome],
        frame[list(columns.sensitive)],
        weight,
        settings,
        log,
        clusters=columns.clusters(frame),
        exposure=None if columns.exposure is None else frame[columns.exposure],
    )
    if survey is not None:
        problem = in_units_of_all(problem, survey.amounts, settings)
    return run_audit(problem, settings, log, X, keep_one_model=keep_one_model)


def learn(
    sample: Sample,
    survey: Survey,
    settings: Settings,
    columns: Columns,
    weight_type: str,
    n_missing: dict[str, int],
    log: WarningLog,
) -> tuple[Audit, WarningLog]:
    """Audit the sample; ``n_missing`` are missing values by sensitive column."""
    frame = sample.frame
    if columns.clustered and np.ptp(sample.key) == 0:
        raise InputError(
            f"clusters: all {len(frame):,} rows learned from are of one cluster. Raise "
            "max_learning_rows, so that rows of many are."
        )
    if settings.missing == "exclude":
        for name, count in n_missing.items():
            if count:
                warn_of_missing(count, name, log)
    if weight_type == "none":
        columns = replace(columns, weight=None)
    survey.weights.note_whole(weight_type, log)
    learning_type, most = weight_type, settings.max_learning_rows
    assert most is not None
    if weight_type == "frequency" and frame[columns.weight].sum() > 2 * most:
        # Every copy would be a row of its own in memory.
        learning_type = "sampling"
    own = replace(
        settings,
        max_learning_rows=None,
        # As many as an audit in memory would make of all rows, which every model judges.
        n_repeats=replace(settings, solver=solver_of(settings)).repeats_for(survey.n_present),
        random_state=settings.seed,
        weight_type=settings.weight_type if learning_type == "none" else learning_type,
    )
    own_log = _SampleLog(len(frame))
    audit = audit_frame(frame, columns, own, own_log, keep_one_model=True, survey=survey)
    return audit, own_log


def by_content(
    audit: Audit,
    learned: WarningLog,
    sample: Sample,
    columns: Columns,
    weight_type: str,
    log: WarningLog,
) -> Columns | None:
    """Columns by which equal rows are one person's, if copies were learned from; None if not.

    Most equal rows must be copies: people alike by chance would be taken for one, and not measured.
    """
    category = RepeatedRowsWarning.__name__
    found = [one for one in learned.records if one.category == category]
    if columns.clustered or weight_type == "frequency" or not found:
        return None
    equal = replace(columns, by_content=True)
    ids = equal.clusters(sample.frame.iloc[audit.problem.source_row])
    assert ids is not None
    n_copies = audit.problem.n_rows - (audit.problem.n_clusters or 0)
    if 2 * n_copies <= len(ids) - ids.nunique():
        log.warn(
            RepeatedRowsWarning,
            "X: the rows learned from hold copies, but most equal ones may be so by chance. "
            "Hence each of all other rows counts as a person, which may make far too much of the "
            "evidence. Pass clusters=, or drop repeated rows.",
        )
        return None
    log.note(category, found[0].message, " Among all rows, equal ones count as one person.")
    return equal


# -- what every block of rows is measured with


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """One search as it judges and weighs rows it has not seen.

    ``column`` is the place of the sensitive column; ``group`` and ``reference`` (-1 for everybody else)
    are codes. Both thresholds of the region are edges of ``bins``.
    """

    column: int
    group: int
    reference: int
    valued: Valued
    propensity: CrossFittedProbability
    outcome_model: CrossFittedProbability
    flip_s: bool
    flip_y: bool
    whole: float  # what an outcome and its complement add up to, as models have them
    scale: float  # how much who has any of a number has, where models are of yes and no; else 1
    limits: tuple[float, float]
    region: Region
    proposed: float  # threshold of the region before it was held beside everybody
    adjusts: bool  # whether rates are those at the same features
    bins: Bins
    balancer: Balancer
    rule: Rule

    def sides(self, values: np.ndarray) -> np.ndarray:
        """+1 for rows of the group, -1 for those it is compared with, 0 for others."""
        others = values >= 0 if self.reference < 0 else values == self.reference
        return np.where(values == self.group, 1, np.where(others, -1, 0))

    def propensities(self, fitted: np.ndarray) -> np.ndarray:
        """Propensity of the audited side."""
        return 1.0 - fitted if self.flip_s else fitted

    def rates(self, fitted: np.ndarray) -> np.ndarray:
        """Predicted rate of the audited outcome, or mean."""
        return self.scale * (self.whole - fitted if self.flip_y else fitted)

    def weights_by(
        self, e: np.ndarray, s: np.ndarray, base: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Weights of rows if they had another propensity, in the place of those that they have."""
        if not self.balancer.from_propensity:
            return weights
        return base * self.balancer.weights(np.empty((len(s), 0)), s, e)


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """All that a block of rows is measured with."""

    columns: Columns
    # Values of every sensitive column, intersections included, by code.
    labels: tuple[tuple[Hashable, ...], ...]
    outcomes: tuple[Hashable, ...]  # outcome labels by code
    parts: tuple[tuple[int, ...], ...]  # columns of the data that each sensitive column is made of
    missing: Hashable  # what a missing sensitive value counts as; None: as missing
    weight_type: str
    mean_weight: float
    cut: dict[Stratum, float]  # largest key of a row that was learned from
    seed: int
    grouping: Grouping | None  # of clusters, if rows have any
    encoder: FeatureEncoder
    judges: tuple[Judge, ...]
    scale: Scale | None = None  # of outcomes that are numbers
    mean_exposure: float = 1.0

    @property
    def chunk_rows(self) -> int:
        """Rows to work on at a time."""
        width = max(
            [len(self.encoder.encoded_names_)]
            + [
                len(model.reading.basis.varies)
                for judge in self.judges
                for model in (judge.propensity, judge.outcome_model)
                if isinstance(model, CrossFittedProbability)
            ]
        )
        return int(np.clip(_CHUNK_NUMBERS // width, 1_000, _MOST_CHUNK_ROWS))


def panel_of(
    audit: Audit, survey: Survey, columns: Columns, sample: Sample, weight_type: str
) -> Panel:
    """What every block is measured with; ``survey`` is of all rows."""
    problem = audit.problem
    n_columns = len(columns.sensitive)
    return Panel(
        columns=columns
        if weight_type != "none" or survey.weights.n_zero
        else replace(columns, weight=None),
        labels=tuple(column.labels.values for column in problem.sensitive),
        outcomes=problem.outcome_labels,
        parts=tuple(
            (i,) if i < n_columns else tuple(range(n_columns))
            for i in range(len(problem.sensitive))
        ),
        missing=MISSING if audit.settings.missing == "category" else None,
        weight_type=weight_type,
        mean_weight=survey.weights.total / survey.n_present if columns.weight is not None else 1.0,
        cut=sample.cut,
        seed=audit.settings.seed,
        grouping=Grouping.of(sample.key, survey.clusters) if columns.clustered else None,
        encoder=problem.encoder,
        judges=tuple(_judge(search, problem) for search in audit.searches if search.made),
        scale=_scale(audit, columns, sample),
        mean_exposure=1.0 if columns.exposure is None else survey.amounts.mean_exposure,
    )


def _scale(audit: Audit, columns: Columns, sample: Sample) -> Scale | None:
    """How numbers are brought to the sample's scale; None of labels."""
    if not columns.numeric:
        return None
    assert audit.problem.amount is not None
    numbers = columns.outcomes(sample.frame)[1]
    assert numbers is not None
    return Scale.of(numbers[audit.problem.source_row], audit.problem.amount, audit.settings)


def _judge(search: Search, problem: AuditProblem) -> Judge:
    key, side, models = search.key, search.side, search.models
    names = [column.name for column in problem.sensitive]
    column = names.index(key.sensitive_feature)
    values = problem.sensitive[column].labels.values
    region = search.region.unseen()
    edges = np.concatenate(
        [Bins.of(search.scores).edges, [-np.inf, region.threshold, region.core_threshold]]
    )
    group = find_label(key.group, values)
    reference = None if key.reference is None else find_label(key.reference, values)
    balancer: Balancer | None = search.data.weighing.balancer
    assert group is not None
    assert balancer is not None
    return Judge(
        column=column,
        group=group,
        reference=-1 if reference is None else reference,
        valued=Valued.searched(search, problem),
        propensity=models.propensity.unseen,
        outcome_model=models.outcome.unseen,
        flip_s=models.flip_s,
        flip_y=models.flip_y,
        whole=search.searched.whole,
        scale=search.data.scale,
        limits=side.ground.limits,
        region=region,
        proposed=search.solved.proposed,
        adjusts=search.data.adjusts,
        bins=Bins(edges=np.unique(edges), exact=False),
        balancer=balancer,
        rule=search.rule.told.rule,
    )
