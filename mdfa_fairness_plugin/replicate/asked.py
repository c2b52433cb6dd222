"""Rows that somebody names, and every group beside every other, measured as what an audit finds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mdfa_fairness_plugin.data.amounts import as_labels
from mdfa_fairness_plugin.data.columns import Labels
from mdfa_fairness_plugin.data.contrasts import Contrast, build_contrasts
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.questions import Questioned, named_questions
from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.exceptions import InputError, OverlapError, WarningLog
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.measured import Measured, Widening
from mdfa_fairness_plugin.measure.sums import SETS, MeasuredRows, RungOf, SearchSums
from mdfa_fairness_plugin.pipeline import measured_rows
from mdfa_fairness_plugin.records import AskedSubgroup, AuditRecord, SearchKey, Violation
from mdfa_fairness_plugin.replicate.repeats import prepared, quietly, source_of
from mdfa_fairness_plugin.search.input_rows import by_sample
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings

# Of figures of a search, those that hold of rows somebody named.
_KEPT = frozenset(AskedSubgroup.__dataclass_fields__)


def measure_asked(
    result: AuditRecord, where: Any, *, extra: Any = None, violation: Violation | None = None
) -> tuple[AskedSubgroup, ...]:
    """Measure rows that somebody names: whether a group among them is treated worse.

    Parameters
    ----------
    result : AuditResult
    where : str, array-like of bool, callable, or a list, tuple or mapping of these
        An expression such as ``"age < 25 and priors >= 3"``: columns compared with values by ``<``,
        ``<=``, ``==``, ``!=``, ``>=``, ``>``, ``in`` and ``is missing``, joined by ``and``, ``or``,
        ``not`` and brackets, with names that have blanks in backquotes. It is never evaluated as
        code. Rows without a value that decides it are not inside. Or a mask of shape (n_samples,).
        Or a function that gives one for a table of the rows audited: the features as they were
        given, dates as days since 1970, and ``extra``. Several are one family; a mapping names them.
    extra : table of shape (n_samples, n_columns), optional
        Columns beside the audited features that may be named; never the outcome.
    violation : Violation or None, default=None
        Search whose group and outcome are meant; None: those of every search.

    Returns
    -------
    answers : tuple of AskedSubgroup
        One per question and search, in this order, each with ``verdict``, ``interval`` and
        ``p_value_adjusted``, over all that is asked at once.

    Raises
    ------
    InputError
        If an expression cannot be read or names no column known, if rows are chosen by the outcome,
        or if the result does not hold its data.

    Notes
    -----
    Models, folds, rows compared, estimate, interval, test and verdict are the audit's. As nothing is
    searched for, nothing is taken off for a search, nor for a choice beside everybody. The models are
    fitted again, with the audit's seeds, once for all that is asked.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=2000, delta=1.5, random_state=0)
    >>> result = mdfa.audit(
    ...     data.X, data.y, sensitive_features=data.sensitive_features, random_state=0
    ... )
    >>> (answer,) = result.measure("x1 < 0 and x2 < 0", violation=result.worst_case)
    >>> answer.verdict
    'violation'
    """
    source = source_of(result, of_groups=False)
    problem = source.problem
    places = [i for i, own in enumerate(result.violations) if violation is None or own is violation]
    if not places:
        raise InputError("violation: one of the result's violations expected.")
    named, rows = named_questions(where), Questioned(problem, extra)
    insides = {label: rows.inside(one) for label, one in named.items()}
    ready = prepared(problem, source.settings)
    if ready is None:
        raise OverlapError("result: no group shares enough ground with the others to be compared.")
    searches, settings = ready
    asked = [
        Question(label, label if isinstance(named[label], str) else "", searches[place], inside)
        for label, inside in insides.items()
        for place in places
    ]
    return answers_to(asked, problem, settings)


class Question(NamedTuple):
    """Rows of one search that are meant, bool (n_rows,)."""

    label: str
    rule: str  # in words, if it has any
    search: Search
    inside: np.ndarray


def answers_to(
    asked: Sequence[Question], problem: AuditProblem, settings: Settings
) -> tuple[AskedSubgroup, ...]:
    """Answers to questions, which are one family, by settled settings."""
    measured = [measured_in(own.search, own.inside, problem) for own in asked]

    def answer(own: Question, found: dict[str, Any]) -> AskedSubgroup:
        kept = {name: value for name, value in found.items() if name in _KEPT}
        if not own.search.made:
            kept = {"reason": own.search.reason}
        elif found["counts"].to_numpy().sum(axis=1).min() == 0:
            kept["reason"] = "nobody there is on one of the two sides"
        return AskedSubgroup(
            **kept,
            label=own.label,
            rule=own.rule,
            rule_fidelity=1.0 if own.rule else math.nan,
            **problem.words.told(own.search.key),
            membership=by_sample(np.flatnonzero(own.inside), problem),
        )

    return tuple(map(answer, asked, conclude(measured, settings, problem.outcome_labels)))


def measured_in(search: Search, inside: np.ndarray, problem: AuditProblem) -> Measured | None:
    """Rows of a search that are meant, counted; None if it could not be made."""
    if not search.made:
        return None
    rows, models = measured_rows(search, problem), search.searched.models
    assert models is not None
    hypothesis = (id(models.fitted), models.flip_s != models.flip_y, inside.tobytes())
    member = inside[search.rows[search.data.held_out]]
    return counted(search.key, rows, member, hypothesis, search.ladder)


def counted(
    key: SearchKey,
    rows: MeasuredRows,
    member: np.ndarray,
    hypothesis: Hashable,
    ladder: tuple[RungOf, ...] = (),
) -> Measured:
    """A set of rows that was named beforehand, counted."""
    # What is reported, its core and its rule are one set, and nothing else was proposed beside it.
    everybody = np.ones(len(member), dtype=bool)
    sets = (everybody, member, member, member, everybody)
    return Measured(
        key=key,
        alpha=math.nan,
        sums=SearchSums.of(rows, sets, missing=np.zeros((2, 2)), n_missing=0).settled(),
        widening=Widening(tests=(1.0,) * len(SETS), sets=(1.0,) * len(SETS)),
        hypothesis=hypothesis,
        ladder=ladder,
        search=None,
        clustered=rows.cluster is not None,
        of=rows.of,
    )


def group_pairs(result: AuditRecord) -> tuple[AskedSubgroup, ...]:
    """Measure every group beside every other one, for every outcome, among all rows of the two.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    answers : tuple of AskedSubgroup
        One per sensitive column, ordered pair of its values and outcome; ``p_value_adjusted`` is over
        all of them, a pair and its mirror counting once. Combinations of columns take no part.

    Raises
    ------
    InputError
        If the result does not hold its data.
    OverlapError
        If no two groups share enough ground.

    Notes
    -----
    What an audit with each value as ``reference_group`` says of everybody; nothing is searched for.
    """
    source = source_of(result)
    problem, settings = source.problem, source.settings
    contrasts: list[Contrast] = []
    answers = Labels(codes=problem.y, values=problem.outcome_labels)
    if not problem.outcome_labels:
        assert problem.amount is not None
        answers = as_labels(problem.amount.values * problem.amount.unit)
    with quietly():
        for column in problem.sensitive:
            for reference in column.labels.used().values:
                if isinstance(reference, tuple):
                    continue
                contrasts += build_contrasts(
                    [column],
                    answers.codes,
                    answers.values,
                    groups=None,
                    reference_group={column.name: reference},
                    intersections=False,
                    min_group_size=settings.min_group_size,
                    cluster=problem.cluster,
                    log=WarningLog(),
                )
    problem = replace(problem, contrasts=tuple(contrasts))
    ready = prepared(problem, settings)
    if ready is None:
        raise OverlapError("result: no two groups share enough ground to be compared.")
    searches, settled = ready
    everybody = np.ones(problem.n_rows, dtype=bool)
    asked = [Question(EVERYBODY, EVERYBODY, search, everybody) for search in searches]
    return answers_to(asked, problem, settled)
