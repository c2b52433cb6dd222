"""The audit in the manner of ``aif360.sklearn.detectors``."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.aif360.groups import FAVORABLE, UNFAVORABLE
from mdfa_fairness_plugin.aif360.question import asked_of
from mdfa_fairness_plugin.aif360.rows import People, index_of, is_label, two_groups
from mdfa_fairness_plugin.auditor import audit
from mdfa_fairness_plugin.data.columns import find_label, natural_order
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.decisions import read_decisions, refuse_constant
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.data.events import (
    NUMBER_EVENTS,
    Occurrence,
    check_event,
    happening,
    occurrence,
)
from mdfa_fairness_plugin.data.spelling import merged
from mdfa_fairness_plugin.describe.conditions import EVERYBODY, Condition, values_of
from mdfa_fairness_plugin.describe.wording import is_missing
from mdfa_fairness_plugin.exceptions import InputError, renaming
from mdfa_fairness_plugin.records import Harm
from mdfa_fairness_plugin.results import AuditResult

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mdfa_fairness_plugin.aif360 import groups


@dataclass(frozen=True, kw_only=True, eq=False)
class MDFAScan:
    """What ``mdfa_scan`` found; unpacks into ``subset, score`` as the answer of ``bias_scan`` does.

    Parameters
    ----------
    subset : dict of column name to list of values
        Rule of the region where some group is harmed most: rows that have one of the listed values in
        every column named, as in ``X[list(subset)].isin(subset).all(axis=1)``. An interval of numbers
        is the list of the values of ``X`` in it. Empty for everybody. Where no rule of this form fits
        (a union of two, none that is short) or nothing was measured, ``{"index": [...]}``: positions
        of the rows of ``mask``, as ``aif360.sklearn.metrics.mdss_bias_score`` takes them without X.
    score : float
        Log of how many times more often the others get the favorable outcome than that group in the
        region, on rows the search has not seen; 0 if they do not, larger is worse. Of numbers by how
        much more they get, in its units. NaN if nothing was measured.
    mask : Series of bool of shape (n_samples,)
        Rows in the region itself, with the index of ``X``: ``X[mask]``. ``subset`` and ``rule`` tell
        it in short (how well says ``worst_case().violation.rule_fidelity``).
    rule : str
        The rule in words.
    result : AuditResult
        Everything else: the other searches, reports.
    """

    subset: dict[Hashable, list[Any]]
    score: float
    mask: pd.Series
    rule: str
    result: AuditResult

    def worst_case(self) -> Harm | None:
        """Who is harmed, how much, with the interval and the verdict."""
        return self.result.worst_harm

    def __iter__(self) -> Iterator[Any]:
        yield self.subset
        yield self.score


def mdfa_scan(
    X: groups.Table,
    y_true: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    *,
    event: str = "selection",
    prot_attr: groups.Protection = None,
    priv_group: Hashable = None,
    pos_label: Hashable = None,
    sample_weight: ArrayLike | None = None,
    clusters: Hashable | ArrayLike | None = None,
    exposure: Hashable | ArrayLike | None = None,
    include_protected: bool | Collection[Hashable] = False,
    **auditor: Any,
) -> MDFAScan:
    """Scan for the region in which some group is harmed most.

    In the manner of ``aif360.sklearn.detectors.bias_scan``, but the region is one of the features in
    which people who differ in the protected attribute alone are treated differently.

    Parameters
    ----------
    X : DataFrame or array of shape (n_samples, n_features)
        Features people are compared by. Protected attributes may be in its index, as in
        ``aif360.sklearn.datasets``, or among its columns.
    y_true : array-like of shape (n_samples,) or None, default=None
        Outcomes of the data. With ``y_pred`` they are the true labels of an ``event``.
    y_pred : array-like of shape (n_samples,) or None, default=None
        Outcomes a model predicted: labels, or numbers for an event that is of numbers.
    event : str, default="selection"
        As in ``MDFAClassificationMetric``, of numbers those of a ``RegressionDataset``; but for
        "selection" and "score" both ``y_true`` and ``y_pred`` are needed. "calibration" compares people
        by one more column, "score".
    prot_attr : label, array-like of shape (n_samples,) or list of these, default=None
        Protected attributes: names of levels of the index or of columns of ``X``, or values. None:
        every named level of the index of ``X``, or else of the outcomes.
    priv_group : scalar, tuple or None, default=None
        Privileged value, or combination of values; the groups are then ``"privileged"`` and
        ``"unprivileged"``, which is everybody else. None: each value of each attribute is a group.
    pos_label : scalar or None, default=None
        Favorable label; any other is unfavorable. None: 1, where labels are 0 and 1 or -1 and 1.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    clusters : label, array-like of shape (n_samples,) or None, default=None
        Whose row each is, as in ``MDFAuditor.fit``: values, or the level of the index or column of
        ``X`` that has them; people are then not compared by it.
    exposure : label, array-like of shape (n_samples,) or None, default=None
        What counts are divided by, likewise.
    include_protected : bool or collection of column names, default=False
        Columns of ``X`` to compare people by although they are protected attributes: audited, or
        of the name of a level of its index.
    **auditor
        Arguments of ``MDFAuditor``.

    Returns
    -------
    scan : MDFAScan

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> from mdfa_fairness_plugin.aif360 import mdfa_scan
    >>> data = mdfa.datasets.make_synthetic(n_samples=1000, delta=1.5, random_state=0)
    >>> X = data.X.assign(group=data.sensitive_features)
    >>> subset, score = mdfa_scan(X, y_pred=data.y, prot_attr="group")
    >>> score > 0
    True
    """
    given = locals()
    asked = Asked.of(argument="X", **given.pop("auditor"), **given)
    people, table, result = asked.answer()
    worst = result.worst_harm
    mask, score = np.zeros(table.n_rows, dtype=bool), math.nan
    if worst is not None:
        mask = worst.violation.membership
        score = max(0.0, worst.difference if worst.violation.by_difference else worst.delta)
    subset = _subset(worst, mask, table, result.source.problem.encoder)
    rule, rows = "" if worst is None else worst.violation.rule, pd.Series(mask, index=people.index)
    return MDFAScan(subset=subset, score=score, mask=rows, rule=rule, result=result)


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """What ``mdfa_scan`` and the metric functions are asked, of rows under the name of an argument."""

    argument: str
    X: Any
    y_true: Any
    y_pred: Any
    event: str = "selection"
    prot_attr: groups.Protection = None
    priv_group: Hashable = None
    pos_label: Hashable = None
    sample_weight: Any = None
    clusters: Any = None
    exposure: Any = None
    include_protected: bool | Collection[Hashable] = False
    auditor: Mapping[str, Any]

    @classmethod
    def of(cls, **given: Any) -> Asked:
        """Split arguments into those of the question and those of ``MDFAuditor``."""
        own = {one.name for one in fields(cls)}
        auditor = {name: value for name, value in given.items() if name not in own}
        if "favorable_label" in auditor:
            raise InputError("favorable_label: it is called pos_label here, as in AIF360.")
        return cls(**{name: given[name] for name in given if name in own}, auditor=auditor)

    def answer(self) -> tuple[People, Table, AuditResult]:
        """Give people, the features they were compared by, and the audit."""
        name = self._check()
        people = People(self.X, self.argument, self.y_true, self.y_pred)
        self._check_order(people)
        protected, named = people.protected(self.prot_attr)
        if self.priv_group is not None:
            protected = two_groups(protected, self.priv_group)
        weight, by_row = self.sample_weight, {}
        if weight is not None:
            weight = people.values(weight, "sample_weight")
        for own, value in (("clusters", self.clusters), ("exposure", self.exposure)):
            if value is not None:
                named |= {value} if is_label(value) else set()
                by_row[own] = people.looked_up(value, own)
        table = people.without(named, self.include_protected)
        found, given = self._found(people, name), dict(self.auditor)
        of_numbers = self.event in NUMBER_EVENTS
        given = found.arguments(given) if of_numbers else asked_of(self.event) | given
        table = found.features(table)
        with renaming({"X": self.argument, "y": name, "sensitive_features": "prot_attr"}):
            by_row |= {"sensitive_features": protected, "sample_weight": found.weights(weight)}
            result = audit(table, found.outcome, **by_row, **given)
        return people, table, replace(result, excluded=found.excluded(result.excluded))

    def _check(self) -> str:
        """Name of the argument that holds the outcomes to audit."""
        check_event(self.event)
        if self.auditor.get("outcome_type") == "numeric" and self.event not in NUMBER_EVENTS:
            raise InputError(
                "outcome_type: to audit the numbers themselves say event='score' here."
            )
        if self.y_pred is not None:
            return "y_pred"
        if self.y_true is None:
            raise InputError("y_true, y_pred: neither was given; pass the outcomes to audit.")
        if self.event not in ("selection", "score"):
            raise InputError(
                f"y_pred: None was given; event={self.event!r} compares predictions with true labels. "
                "Pass both."
            )
        return "y_true"

    def _check_order(self, people: People) -> None:
        """Refuse predictions that may be of the rows of either of two arguments."""
        theirs = index_of(self.y_true)
        if self.y_pred is None or theirs is None or people.index is None:
            return
        if index_of(self.y_pred) is None and not theirs.equals(people.index):
            raise InputError(
                f"y_pred: it has no index, and that of y_true differs from that of {self.argument}, so "
                "its rows may be those of either. Pass pd.Series(y_pred, index=y_true.index)."
            )

    def _found(self, people: People, name: str) -> Occurrence:
        """Event in each row; of a selection, favorable or not."""
        decided = people.values(self.y_true if self.y_pred is None else self.y_pred, name)
        missing = self.auditor.get("missing_outcome", "raise")
        merge = bool(self.auditor.get("merge_spellings", False))
        if self.event != "selection":
            truth = None if self.y_true is None else people.values(self.y_true, "y_true")
            return happening(truth, decided, self.event, self.auditor, self.pos_label)
        labels = read_decisions(decided, name, missing=missing, numbers="event='score'")
        refuse_constant(labels.values, len(labels.codes), name)
        found = occurrence(None, decided, "selection", self.pos_label, missing=missing, merge=merge)
        labels = merged(labels) if merge else labels
        favorable = labels.codes == find_label(found.positive, labels.values)
        out = np.where(favorable, FAVORABLE, UNFAVORABLE).astype(object)
        out[labels.codes < 0] = None
        return replace(found, outcome=out)


def _subset(
    worst: Harm | None, mask: np.ndarray, table: Table, encoder: FeatureEncoder
) -> dict[Hashable, list[Any]]:
    """Rule of the region as values of columns, or else the positions of its rows."""
    if worst is not None and worst.violation.rule == EVERYBODY:
        return {}
    if worst is not None and worst.violation.rule and len(worst.violation.rule_conditions) == 1:
        subset = _values(worst.violation.rule_conditions[0], table, encoder)
        if subset is not None:
            return subset
    return {"index": np.flatnonzero(mask).tolist()}


def _values(
    conditions: tuple[Condition, ...], table: Table, encoder: FeatureEncoder
) -> dict[Hashable, list[Any]] | None:
    """Values of columns that rows have who meet all conditions, and nobody else; None if some do."""
    display = encoder.display_frame(table)
    covered = np.ones(table.n_rows, dtype=bool)
    picked = covered.copy()
    subset: dict[Hashable, list[Any]] = {}
    for condition in conditions:
        read = values_of(display, condition.column, condition.kind, slice(None))
        meets = condition.met_by(read)
        covered &= meets
        left = np.ones(table.n_rows, dtype=bool)  # by the columns so far
        sources = encoder.displays_[condition.column].source_columns
        columns = {
            name: pd.Series(table.array(table.names.index(name)), dtype=object) for name in sources
        }
        values = {name: column[meets].unique().tolist() for name, column in columns.items()}
        rows = {name: column.isin(values[name]).to_numpy() for name, column in columns.items()}
        for name in sorted(rows, key=lambda name: int(rows[name].sum())):
            if (left & ~rows[name]).any():  # One-hot columns say the same more than once.
                subset[name] = _sorted(values[name])
                left &= rows[name]
        picked &= left
    return subset if (picked == covered).all() else None


def _sorted(values: list[Any]) -> list[Any]:
    """Values in order, the missing one last."""
    known = [value for value in values if not is_missing(value)]
    missing = [value for value in values if is_missing(value)]
    return [*(known[place] for place in natural_order(known)), *missing]
