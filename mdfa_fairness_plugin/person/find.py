"""Who a card is about: their features, side and outcome, and the search that concerns them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.amounts import Amount, Cut
from mdfa_fairness_plugin.data.columns import find_label, known_label, listing, python_value
from mdfa_fairness_plugin.data.plans import MISSING
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.sensitive import JOINT
from mdfa_fairness_plugin.describe.wording import is_missing, label_text
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.records import AuditRecord, Violation, ranked
from mdfa_fairness_plugin.records.searches import AMOUNT
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import check_whole, is_number

GROUP: Final = "group"
OTHERS: Final = "others"
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, kw_only=True, eq=False)
class Person:
    """One person as an audit knows people."""

    rows: RowView  # their one encoded row
    display: pd.DataFrame  # one row of features as people read them
    values: Mapping[str, Any]  # sensitive values by column; those not known are left out
    received: Hashable | None  # outcome, or how much of it
    row: int | None  # of the audited data
    unseen: tuple[str, ...] = ()  # features of which nobody audited has such a value
    new: Mapping[Hashable, Hashable] = field(default_factory=dict)  # labels that nobody audited has
    cuts: Mapping[Hashable, Cut] = field(default_factory=dict)  # of ordered outcomes
    labels: tuple[Hashable, ...] = ()  # outcomes that cuts are of

    def side_of(self, violation: Violation) -> str:
        """Side of a search the person is on: by the value given, or else by their row."""
        value = self.values.get(violation.sensitive_feature)
        if value is not None:
            if same(value, violation.group):
                return GROUP
            if violation.reference is None or same(value, violation.reference):
                return OTHERS
        if self.row is None or len(violation.side) == 0:
            return UNKNOWN
        return {1: GROUP, -1: OTHERS}.get(int(violation.side[self.row]), UNKNOWN)

    def got_outcome_of(self, violation: Violation) -> bool | None:
        """Whether the person got the outcome of a search; None if not known, or of a number."""
        if self.received is None or violation.outcome_scale:
            return None
        cut = self.cuts.get(violation.outcome)
        own = [violation.outcome] if cut is None else [self.labels[code] for code in cut.codes]
        return any(same(self.received, one) for one in own)


def same(one: Any, other: Any) -> bool:
    """Whether two labels are one, whatever their types."""
    return find_label(one, [python_value(other)]) is not None


def refuse_probabilities(result: AuditRecord, asked: str) -> None:
    """Refuse to set people of unknown groups beside each other."""
    if result.source is not None and result.source.problem.probability is not None:
        raise InputError(
            f"{asked}: the groups of this audit are known by probability, so that nobody can be said "
            "to be of one; audit rows whose group is known for that."
        )


def find_person(
    result: AuditRecord, x: Any, *, sensitive: Any = None, outcome: Any = None, row: Any = None
) -> Person:
    """Read who is meant; see ``MDFAuditor.explain_row`` for the arguments."""
    refuse_probabilities(result, "explain_row")
    problem: AuditProblem = result.source.problem
    own = _audited_row(problem, row)
    rows, display, unseen, new = _read_features(x, problem, own, row)
    numbers = problem.amount if problem.outcome_type == "numeric" else None
    received = None if outcome is None else _read_outcome(outcome, result, numbers)
    values = _read_sensitive(sensitive, result)
    if own is not None:
        found = outcome_at(problem, own)
        if received is not None and not same(received, found):
            raise InputError(
                f"outcome: {received!r} was given, but row {row} of the audited data has "
                f"{found!r}; pass one of the two."
            )
        received = found if received is None else received
        _check_sensitive(values, problem, own, row)
    return Person(
        rows=rows,
        display=display,
        values=values,
        received=received,
        row=None if row is None else int(row),
        unseen=unseen,
        new=new,
        cuts=problem.cuts,
        labels=problem.outcome_labels,
    )


def outcome_at(problem: AuditProblem, row: int) -> Any:
    """Outcome of a working row: a label, or how much of it."""
    if problem.outcome_labels:
        return problem.outcome_labels[problem.y[row]]
    assert problem.amount is not None
    return float(
        f"{problem.amount.told[row]:.12g}"
    )  # as given, but for the scale it was brought to


def _audited_row(problem: AuditProblem, row: Any) -> int | None:
    """Working row of a row of the input; None if it was not audited."""
    if row is None:
        return None
    check_whole("row", row, 0)
    if row >= problem.n_samples:
        raise InputError(
            f"row: {row} was given, but the audited data end at row {problem.n_samples - 1}; "
            "rows are counted from 0."
        )
    own = np.flatnonzero(problem.source_row == row)
    return int(own[0]) if len(own) else None


def _read_features(
    x: Any, problem: AuditProblem, own: int | None, row: Any
) -> tuple[RowView, pd.DataFrame, tuple[str, ...], dict[Hashable, Hashable]]:
    """Encoded and displayed features of the person, by value or by position, and those nobody has.

    The last are labels that nobody has, which are displayed as other ones.
    """
    if x is None:
        if row is None:
            raise InputError("x: None was given; pass the person's features, or their row.")
        if own is None:
            raise InputError(
                f"row: row {row} has no weight and was not audited; pass its features as x."
            )
        there = problem.display.iloc[[own]].reset_index(drop=True)
        return problem.encoded.take(np.array([own])), there, (), {}
    encoder = problem.encoder
    table = _as_table(x, encoder.feature_names_in_)
    rows = encoder.rows(table)
    if own is not None and not _alike(problem.encoded.take(np.array([own])), rows).all():
        raise InputError(f"x: it differs from row {row} of the audited data; pass one of the two.")
    display = encoder.display_frame(table)
    beyond = (name for name in display if _beyond(problem.display[name], display[name].iloc[0]))
    if own is not None:
        return rows, display, (), {}
    new = encoder.new_labels(table)
    unseen = dict.fromkeys(label_text(name) for name in (*encoder.unseen(table), *new, *beyond))
    return rows, display, tuple(unseen), new


def _beyond(audited: pd.Series, value: Any) -> bool:
    """Whether a number is below or above that of everybody audited."""
    numeric = pd.api.types.is_numeric_dtype(audited) and not is_missing(value)
    return bool(numeric and not audited.min() <= value <= audited.max())


def _alike(rows: RowView, person: RowView) -> np.ndarray:
    """Which rows have the very features of a person."""
    alike = (rows[:] == person[:]).all(axis=1)
    return alike if rows.levels is None else alike & (rows.levels == person.levels).all(axis=1)


def _as_table(x: Any, names: Sequence[Hashable]) -> Any:
    """One person as a table of one row."""
    if isinstance(x, pd.Series):
        x = dict(zip(x.index.tolist(), x.tolist(), strict=True))
    if isinstance(x, Mapping):
        return pd.DataFrame({name: pd.Series([_only_value(name, x[name])]) for name in x})
    matrix = isinstance(x, np.ndarray) and x.dtype.names is None and x.ndim == 2
    if matrix or hasattr(x, "columns"):
        if len(x) != 1:
            raise InputError(f"x: {len(x)} rows were given; pass one person, such as X.iloc[[0]].")
        if not matrix:
            return x
        x = x[0]
    if isinstance(x, str | bytes) or not isinstance(x, Sequence | np.ndarray):
        raise InputError(
            f"x: one person's features expected (a Series, a mapping, a one-row table or a "
            f"sequence), {type(x).__name__} found."
        )
    if len(x) != len(names):
        raise InputError(
            f"x: {len(x)} values were given, but {len(names)} features are known: {listing(names)}."
        )
    return pd.DataFrame({name: pd.Series([value]) for name, value in zip(names, x, strict=True)})


def _only_value(name: Hashable, value: Any) -> Any:
    if isinstance(value, list | np.ndarray | pd.Series):
        if len(value) != 1:
            raise InputError(f"x: {len(value)} values were given for {name!r}; pass one person.")
        return next(iter(value))
    return value


def _read_outcome(outcome: Any, result: AuditRecord, numbers: Amount | None) -> Hashable:
    """What the person got, or how much."""
    if numbers is None:
        return known_label(outcome, result.outcome_labels, "outcome", "those audited")
    if numbers.scale != AMOUNT:
        raise InputError(
            f"outcome: {outcome!r} was given, but ranks were audited, which only audited rows have. "
            "Leave it out, or name the row."
        )
    given = _only_label(outcome, "outcome")
    if not is_number(given) or not math.isfinite(float(given)):
        raise InputError(f"outcome: a number expected, {outcome!r} found.")
    return float(given)


def _read_sensitive(sensitive: Any, result: AuditRecord) -> dict[str, Any]:
    """Sensitive values by column, those of combined columns included; unknown ones left out."""
    if result.source.problem.quantity is not None:
        if sensitive is not None:
            raise InputError(
                f"sensitive: {sensitive!r} was given, and this audit is of a sensitive quantity. Who "
                "has more or less of it than people like them is known of audited rows alone: leave it "
                "out, or name the row."
            )
        return {}
    known = list(dict.fromkeys(v.sensitive_feature for v in result.violations))
    parts = {part for name in known for part in name.split(JOINT)} | set(known)
    if isinstance(sensitive, pd.DataFrame):
        sensitive = {name: sensitive[name].tolist() for name in sensitive}
    elif isinstance(sensitive, pd.Series):
        by_column = len(sensitive) != 1 or str(sensitive.index[0]) in parts
        sensitive = sensitive.to_dict() if by_column else sensitive.tolist()
    if not isinstance(sensitive, Mapping):
        label = _only_label(sensitive, "sensitive")
        if len(known) > 1 and is_missing(label):
            return {}
        sensitive = {known[0] if len(known) == 1 else _column_of(label, known, result): label}
    unknown = [str(name) for name in sensitive if str(name) not in parts]
    if unknown:
        raise InputError(
            f"sensitive: {listing(unknown)} was not audited; the columns audited are "
            f"{listing(known)}."
        )
    values = {}
    for key, given in sensitive.items():
        name = str(key)
        label = _seen(_only_label(given, f"sensitive: column {name!r}"), name, result)
        if not is_missing(label):
            values[name] = label
    for name in known:
        own = name.split(JOINT)
        if name not in values and len(own) > 1 and all(part in values for part in own):
            values[name] = tuple(values[part] for part in own)
    return values


def _only_label(value: Any, what: str) -> Any:
    """One label, which may come in a list or an array of one."""
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    elif isinstance(value, pd.Series):
        value = value.tolist()
    if isinstance(value, list | set | frozenset):
        if len(value) != 1:
            raise InputError(f"{what}: {len(value)} values were given; pass that of one person.")
        value = next(iter(value))
    return python_value(value)


def _labels_of(result: AuditRecord, column: str) -> list[Hashable]:
    """Labels of a sensitive column, those that were not audited too."""
    labels: list[Hashable] = []
    for one in result.source.problem.sensitive:
        if one.name == column:
            labels += one.labels.values
    # A combination of reference groups may be one that nobody belongs to.
    labels += [v.reference for v in result.violations if v.sensitive_feature == column]
    return [label for label in dict.fromkeys(labels) if label is not None]


def _column_of(label: Any, known: list[str], result: AuditRecord) -> str:
    """Column a label belongs to, where several were audited."""
    having = [name for name in known if find_label(label, _labels_of(result, name)) is not None]
    if not having:
        each = "; ".join(f"{name!r}: {listing(_labels_of(result, name))}" for name in known)
        raise InputError(f"sensitive: {label!r} was given; the labels audited are {each}.")
    if len(having) > 1:
        raise InputError(
            f"sensitive: which of {listing(having)} is {label!r}? Pass a mapping, such as "
            f"{{{having[0]!r}: {label!r}}}."
        )
    return having[0]


def _seen(label: Any, column: str, result: AuditRecord) -> Any:
    """The label, if the audit has seen it; a missing one is the group of those, if there is one."""
    labels = _labels_of(result, column)
    if is_missing(label):
        return MISSING if label is not None and MISSING in labels else None
    if labels and find_label(label, labels) is None:
        raise InputError(
            f"sensitive: {label!r} was given, but the labels of {column!r} are {listing(labels)}."
        )
    return label


def _check_sensitive(values: Mapping[str, Any], problem: AuditProblem, own: int, row: Any) -> None:
    """Refuse a sensitive value that the audited row contradicts."""
    columns = {column.name: column.labels for column in problem.sensitive}
    for name, value in values.items():
        code = columns[name].codes[own] if name in columns else -1
        found = columns[name].values[code] if code >= 0 else value
        if not same(value, found):
            raise InputError(
                f"sensitive: {value!r} was given, but row {row} of the audited data has {found!r} "
                f"in {name!r}; pass one of the two."
            )


def choose_search(
    result: AuditRecord, searches: Sequence[Search], person: Person
) -> tuple[Violation, Search]:
    """Search for the person's group and outcome, or the one closest to that."""
    made = [
        (violation, searched)
        for violation, searched in zip(result.violations, searches, strict=True)
        if searched.made
    ]
    if not made:
        raise InputError(
            "explain_row: no group could be compared in this audit, so there is nothing to explain."
        )
    got = [one for one in made if person.got_outcome_of(one[0]) is not False]
    # The columns given, if any, say which searches are meant.
    meant = [one for one in got if not person.values or one[0].sensitive_feature in person.values]
    unknown = not person.values and person.row is None
    preferred = (
        [one for one in meant if person.side_of(one[0]) == GROUP],
        [one for one in meant if person.side_of(one[0]) == OTHERS],
        [one for one in got if unknown and one[0] is result.worst_case],
        got,
        made,
    )
    candidates = next(filter(None, preferred))
    best = ranked(violation for violation, _ in candidates)[0]
    return next(one for one in candidates if one[0] is best)


def only_match(
    problem: AuditProblem, searched: Search, person: RowView, side: str, has_outcome: bool | None
) -> int | None:
    """Row of the input with these very features, side and outcome, if all are one person's."""
    alike = _alike(problem.encoded.take(searched.rows), person)
    if side != UNKNOWN:
        alike &= searched.s == (1 if side == GROUP else -1)
    if has_outcome is not None:
        alike &= searched.positive == has_outcome
    found = problem.source_row[searched.rows[alike]]
    whose = found if problem.cluster is None else problem.cluster[searched.rows[alike]]
    return int(found.min()) if len(np.unique(whose)) == 1 else None
