"""A card for one person: their place in the subgroup, how comparable people fared, how sure it is."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import find_label, listing, python_value
from mdfa_fairness_plugin.data.encoding import MISSING
from mdfa_fairness_plugin.data.sensitive import JOINT
from mdfa_fairness_plugin.describe.comparators import (
    AuditedRows,
    Nearest,
    SearchedRows,
    around,
    nearest,
    private_size,
    squared_distance,
)
from mdfa_fairness_plugin.describe.rules import EVERYBODY
from mdfa_fairness_plugin.describe.wording import (
    clean,
    is_missing,
    label_text,
    named,
    number,
    percent,
    rounded,
)
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import INSUFFICIENT, VIOLATION, AuditRecord, Violation
from mdfa_fairness_plugin.report.schema import CARD_SCHEMA
from mdfa_fairness_plugin.report.story import Table, frame_table, p_text, ranked, ratio_text
from mdfa_fairness_plugin.report.summary import drawn, plain_value, wrapped, write_text

GROUP: Final = "group"
OTHERS: Final = "others"
UNKNOWN: Final = "unknown"

_FORMAT: Final = "mdfa-contestation-card"
_FORMAT_VERSION: Final = 1
_MAX_FEATURES: Final = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparators:
    """The people of one side who are most like the person, and what they got.

    Parameters
    ----------
    label : str
        Who they are.
    n : int or None
        How many were counted; None if that may not be shown.
    n_outcome : int or None
        How many of them got the audited outcome.
    rate : float
        ``n_outcome / n``; NaN if nobody was counted or it may not be shown.
    suppressed : bool
        Whether the counts are too small to be shown.
    records : DataFrame
        Features, outcome and distance of the nearest; empty unless records were asked for.
    """

    label: str
    n: int | None = None
    n_outcome: int | None = None
    rate: float = math.nan
    suppressed: bool = False
    records: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, kw_only=True, eq=False)
class ContestationCard:
    """Where one person stands in an audit.

    Parameters
    ----------
    violation : Violation
        The search the card is about.
    outcome_name, group_name, others_name : str
        Its outcome and both sides, ready to show.
    side : {"group", "others", "unknown"}
        Side the person is on.
    received : hashable or None
        Outcome the person got.
    has_outcome : bool or None
        Whether that is the audited outcome; None if unknown.
    features : tuple of (str, str)
        The person's audited features, as text.
    row : int or None
        Position in the audited data, if the person is in it.
    comparable : bool
        False if the audit left the person out because nobody on the other side is like them.
    inside : bool or None
        Whether the person is in the subgroup: by a model that had not seen them if they were
        audited, by the average of all otherwise. None if this search kept no model.
    score, threshold : float
        The subgroup is where the score is at least the threshold.
    score_rank : float
        Share of the rows compared with a lower score.
    n_models, n_models_inside : int
        Models of the folds, and how many of them put the person inside.
    meets_rule : bool or None
        Whether the person meets the rule that describes the subgroup; None without a rule.
    subgroup : tuple of Comparators
        The group and the others in the whole subgroup; ``rate`` is weighted to equal features.
    nearest : tuple of Comparators
        The nearest of the group and of the others.
    min_cell : int
        Smaller counts of others are not shown.
    """

    violation: Violation
    outcome_name: str
    group_name: str
    others_name: str
    side: str
    received: Hashable | None
    has_outcome: bool | None
    features: tuple[tuple[str, str], ...]
    row: int | None
    comparable: bool
    inside: bool | None
    score: float
    threshold: float
    score_rank: float
    n_models: int
    n_models_inside: int
    meets_rule: bool | None
    subgroup: tuple[Comparators, Comparators]
    nearest: tuple[Comparators, Comparators]
    min_cell: int

    def __repr__(self) -> str:
        v = self.violation
        return (
            f"ContestationCard({label_text(v.sensitive_feature)}={label_text(v.group)!r}, "
            f"outcome={label_text(v.outcome)!r}, inside={self.inside}, {v.verdict})"
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from mdfa_fairness_plugin.report.html import environment

        return environment().get_template("card.html").render(card=tell_card(self))

    def summary(self) -> str:
        """Tell where the person stands in a page of plain text."""
        return _as_text(tell_card(self))

    def to_dict(self) -> dict[str, Any]:
        """Give everything in plain Python types, ready for strict JSON.

        The conventions are those of ``AuditResult.to_dict``. Of the search, only what concerns the
        whole subgroup is given: neither its membership nor its counts, which may be small.
        """
        own = {
            f.name: plain_value(getattr(self, f.name))
            for f in fields(self)
            if f.name != "violation"
        }
        v = self.violation
        search = {
            name: plain_value(getattr(v, name))
            for name in (
                "sensitive_feature",
                "group",
                "reference",
                "outcome",
                "verdict",
                "reason",
                "delta",
                "interval",
                "ratio",
                "ratio_interval",
                "confidence_level",
                "p_value_adjusted",
                "rule",
                "rule_precision",
                "rule_recall",
            )
        }
        own["features"] = _told_apart(self.features)
        return {
            "schema": CARD_SCHEMA,
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            **own,
            "search": search,
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Give strict JSON, the same bytes for the same card.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.

        Returns
        -------
        str
        """
        plain = self.to_dict()
        text = json.dumps(plain, allow_nan=False, ensure_ascii=False, indent=2, sort_keys=True)
        if path is not None:
            write_text(path, text + "\n")
        return text + "\n"

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Give one self-contained page: no scripts, nothing fetched.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.

        Returns
        -------
        str
        """
        from mdfa_fairness_plugin.report.html import environment

        text = environment().get_template("card_page.html").render(card=tell_card(self))
        if path is not None:
            write_text(path, text)
        return text


# ---------------------------------------------------------------------------------------------
# Finding the person


def explain(
    result: AuditRecord,
    audited: AuditedRows,
    encoder: Any,
    x: Any,
    *,
    sensitive: Any = None,
    outcome: Any = None,
    n_comparators: int = 5,
    show_records: bool = False,
    min_cell: int = 11,
    row: int | None = None,
) -> ContestationCard:
    """Make a card; see ``MDFAuditor.explain_row`` for the arguments.

    Parameters
    ----------
    result : AuditResult
    audited : AuditedRows
    encoder : FeatureEncoder
    x, sensitive, outcome, n_comparators, show_records, min_cell, row
        As in ``MDFAuditor.explain_row``.

    Returns
    -------
    ContestationCard
    """
    _check_count("n_comparators", n_comparators, 1)
    _check_count("min_cell", min_cell, 0)
    encoded, display = _read_person(x, encoder, audited, result, row)
    received = _read_outcome(outcome, result)
    values = _read_sensitive(sensitive, result)
    if row is not None:
        _check_row(result, audited, int(row), values, received)
        if received is None:
            received = _audited_outcome(result, audited, int(row))
    position = _choose_search(result, audited, values, received, row)
    violation, searched = result.violations[position], audited.searches[position]
    assert searched is not None
    side = _side(violation, values)
    if side == UNKNOWN and row is not None and len(violation.side):
        side = {1: GROUP, -1: OTHERS}.get(int(violation.side[row]), UNKNOWN)
    has_outcome = None if received is None else _same(received, violation.outcome)
    if row is None:
        row = _only_match(audited, searched, encoded, side, has_outcome)

    own = np.zeros(len(searched.rows), dtype=bool)
    if row is not None:
        own = audited.source_row[searched.rows] == row
    left_out = row is not None and len(violation.left_out) > 0 and bool(violation.left_out[row])
    inside, score, by_model = _judge(violation, searched, encoded, own, row)
    open_counts = show_records or min_cell <= 1
    shown_cell = 0 if open_counts else int(min_cell)
    rule = searched.rule
    others = (
        "everyone else"
        if violation.reference is None
        else named(violation.sensitive_feature, violation.reference)
    )
    names = (named(violation.sensitive_feature, violation.group), others)
    return ContestationCard(
        violation=violation,
        outcome_name=label_text(violation.outcome),
        group_name=names[0],
        others_name=names[1],
        side=side,
        received=received,
        has_outcome=has_outcome,
        features=tuple(
            (label_text(name, None), _value_text(display.iloc[0, i]))
            for i, name in enumerate(display.columns)
        ),
        row=None if row is None else int(row),
        comparable=not left_out,
        inside=inside,
        score=score,
        threshold=float(searched.threshold),
        score_rank=math.nan if math.isnan(score) else float(np.mean(searched.scores < score)),
        n_models=len(by_model),
        n_models_inside=int((by_model >= searched.threshold).sum()),
        meets_rule=bool(rule.applies(display)[0]) if rule.text else None,
        subgroup=_whole_subgroup(violation, names, shown_cell),
        nearest=_nearest(
            audited,
            searched,
            encoder,
            encoded,
            own,
            names,
            inside=bool(inside),
            wanted=int(n_comparators),
            min_cell=shown_cell,
            show_records=show_records,
            outcome_name=label_text(violation.outcome),
        ),
        min_cell=int(min_cell),
    )


def _check_count(name: str, value: Any, least: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{name}: a whole number of at least {least} expected, {value!r} found.")


def _read_person(
    x: Any, encoder: Any, audited: AuditedRows, result: AuditRecord, row: Any
) -> tuple[np.ndarray, pd.DataFrame]:
    """Encoded and displayed features of the person, by value or by position."""
    own: np.ndarray | None = None
    if row is not None:
        _check_count("row", row, 0)
        if row >= result.n_samples:
            raise InputError(
                f"row: {row} was given, but the audited data end at row {result.n_samples - 1}; "
                "rows are counted from 0."
            )
        own = np.flatnonzero(audited.source_row == row)
        if x is None:
            if len(own) == 0:
                raise InputError(
                    f"row: row {row} has no weight and was not audited; pass its features as x."
                )
            return audited.X[own[0]], audited.display.iloc[own[:1]].reset_index(drop=True)
    if x is None:
        raise InputError("x: None was given; pass the person's features, or their row.")
    table = _as_table(x, encoder)
    encoded = encoder.transform(table)[0]
    if own is not None and len(own) and not np.array_equal(encoded, audited.X[own[0]]):
        raise InputError(f"x: it differs from row {row} of the audited data; pass one of the two.")
    return encoded, encoder.display_frame(table)


def _as_table(x: Any, encoder: Any) -> Any:
    """One person as a table of one row."""
    names = encoder.feature_names_in_
    if isinstance(x, pd.Series):
        x = dict(zip(x.index.tolist(), x.tolist(), strict=True))
    if isinstance(x, Mapping):
        single = {name: _only_value(name, value) for name, value in x.items()}
        return pd.DataFrame({name: pd.Series([value]) for name, value in single.items()})
    if isinstance(x, np.ndarray) and x.dtype.names is None and x.ndim == 2:
        x = x[0] if len(x) == 1 else _refuse_several(len(x))
    if hasattr(x, "columns"):
        return x if len(x) == 1 else _refuse_several(len(x))
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


def _refuse_several(n: int) -> Any:
    raise InputError(f"x: {n} rows were given; pass one person, such as X.iloc[[0]].")


def _read_outcome(outcome: Any, result: AuditRecord) -> Hashable | None:
    if outcome is None:
        return None
    place = find_label(outcome, result.outcome_labels)
    if place is None:
        raise InputError(
            f"outcome: {outcome!r} is not among those audited: {listing(result.outcome_labels)}."
        )
    return result.outcome_labels[place]


def _audited_outcome(result: AuditRecord, audited: AuditedRows, row: int) -> Hashable | None:
    own = np.flatnonzero(audited.source_row == row)
    return result.outcome_labels[int(audited.y[own[0]])] if len(own) else None


def _read_sensitive(sensitive: Any, result: AuditRecord) -> dict[str, Any]:
    """Sensitive values by column, those of combined columns included; unknown ones left out."""
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
        column = known[0] if len(known) == 1 else _column_of(label, known, result)
        label = _seen(label, column, result)
        return {} if is_missing(label) else {column: label}
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
    problem = getattr(result.source, "problem", None)
    labels: list[Hashable] = []
    for one in getattr(problem, "sensitive", ()):
        if one.name == column:
            labels += one.labels.values
    for violation in result.violations:
        if violation.sensitive_feature == column:
            labels += [violation.group]
            labels += [] if violation.reference is None else [violation.reference]
    return list(dict.fromkeys(labels))


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


def _check_row(
    result: AuditRecord,
    audited: AuditedRows,
    row: int,
    values: Mapping[str, Any],
    received: Hashable | None,
) -> None:
    """Refuse a sensitive value or an outcome that the audited row contradicts."""
    outcome = _audited_outcome(result, audited, row)
    if received is not None and outcome is not None and not _same(received, outcome):
        raise InputError(
            f"outcome: {received!r} was given, but row {row} of the audited data has {outcome!r}; "
            "pass one of the two."
        )
    for name, value in values.items():
        found = _audited_label(result, audited, row, name)
        if found is not None and not _same(value, found):
            raise InputError(
                f"sensitive: {value!r} was given, but row {row} of the audited data has {found!r} "
                f"in {name!r}; pass one of the two."
            )


def _audited_label(
    result: AuditRecord, audited: AuditedRows, row: int, name: str
) -> Hashable | None:
    """Sensitive value of a row of the audited data; None if it has none or is not known."""
    own = np.flatnonzero(audited.source_row == row)
    problem = getattr(result.source, "problem", None)
    for column in getattr(problem, "sensitive", ()):
        if column.name == name and len(own) and len(column.labels.codes) == len(audited.source_row):
            code = int(column.labels.codes[own[0]])
            return column.labels.values[code] if code >= 0 else None
    return None


def _same(one: Any, other: Any) -> bool:
    return find_label(one, [python_value(other)]) is not None


def _side(violation: Violation, values: Mapping[str, Any]) -> str:
    value = values.get(violation.sensitive_feature)
    if value is None:
        return UNKNOWN
    if _same(value, violation.group):
        return GROUP
    if violation.reference is None or _same(value, violation.reference):
        return OTHERS
    return UNKNOWN


def _choose_search(
    result: AuditRecord,
    audited: AuditedRows,
    values: Mapping[str, Any],
    received: Hashable | None,
    row: int | None,
) -> int:
    """Position of the search for the person's group and outcome, or of the one closest to that."""
    made = [i for i, searched in enumerate(audited.searches) if searched is not None]
    if not made:
        raise InputError(
            "explain_row: no group could be compared in this audit, so there is nothing to explain."
        )

    def side(i: int) -> str:
        violation = result.violations[i]
        if row is not None and not values and len(violation.side):
            return {1: GROUP, -1: OTHERS}.get(int(violation.side[row]), UNKNOWN)
        return _side(violation, values)

    known = bool(values) or row is not None
    got = [i for i in made if received is None or _same(received, result.violations[i].outcome)]
    for candidates in (
        [i for i in got if known and side(i) == GROUP],
        [i for i in got if known and side(i) == OTHERS],
        [i for i in made if result.violations[i] is result.worst_case and not known and i in got],
        got,
        made,
    ):
        if candidates:
            best = ranked(result.violations[i] for i in candidates)[0]
            return next(i for i in candidates if result.violations[i] is best)
    raise AssertionError("some search was made")


def _only_match(
    audited: AuditedRows,
    searched: SearchedRows,
    encoded: np.ndarray,
    side: str,
    has_outcome: bool | None,
) -> int | None:
    """Row of the input with these very features, side and outcome, if there is only one."""
    alike = (audited.X[searched.rows] == encoded).all(axis=1)
    if side != UNKNOWN:
        alike &= searched.s == (1 if side == GROUP else -1)
    if has_outcome is not None:
        alike &= searched.positive == has_outcome
    found = np.unique(audited.source_row[searched.rows[alike]])
    return int(found[0]) if len(found) == 1 else None


def _judge(
    violation: Violation,
    searched: SearchedRows,
    encoded: np.ndarray,
    own: np.ndarray,
    row: int | None,
) -> tuple[bool | None, float, np.ndarray]:
    """Membership, score and the scores by each model."""
    predictor = searched.predictor
    by_model = np.empty(0)
    score = math.nan
    if predictor is not None:
        score = float(predictor(encoded[np.newaxis])[0])
        by_model = predictor.by_model(encoded[np.newaxis])[:, 0]  # type: ignore[attr-defined]
    if own.any():
        score = float(searched.scores[own][0])
    if row is not None:
        return bool(violation.membership[row]), score, by_model
    return (None if math.isnan(score) else score >= searched.threshold), score, by_model


def _whole_subgroup(
    violation: Violation, names: tuple[str, str], min_cell: int
) -> tuple[Comparators, Comparators]:
    """Rates of both sides in the subgroup, or nothing if a cell is too small to be shown."""
    counts = violation.counts
    if counts.shape[0] != 2 or counts.shape[1] < 1:
        return Comparators(label=names[0]), Comparators(label=names[1])
    n = counts.sum(axis=1).to_numpy(dtype=int)
    hits = counts.iloc[:, 0].to_numpy(dtype=int)
    if min(*hits, *(n - hits)) < min_cell:
        first, second = (Comparators(label=name, suppressed=True) for name in names)
        return first, second
    first, second = (
        Comparators(label=name, n=int(n[i]), n_outcome=int(hits[i]), rate=float(violation.rates[i]))
        for i, name in enumerate(names)
    )
    return first, second


def _nearest(
    audited: AuditedRows,
    searched: SearchedRows,
    encoder: Any,
    encoded: np.ndarray,
    own: np.ndarray,
    names: tuple[str, str],
    *,
    inside: bool,
    wanted: int,
    min_cell: int,
    show_records: bool,
    outcome_name: str,
) -> tuple[Comparators, Comparators]:
    """Nearest people of both sides, as many as may be counted."""
    distance = squared_distance(audited.X[searched.rows], encoded, encoder.displays_)
    pool = around(searched.member, searched.scores) if inside else np.ones(len(own), dtype=bool)
    pool &= ~own
    sides = [nearest(distance, pool & (searched.s == side)) for side in (1, -1)]
    size = private_size(searched.positive, sides, wanted, min_cell)

    def counted(name: str, side: Nearest) -> Comparators:
        chosen = side.positions[:size]
        if size is None or len(chosen) == 0:
            return Comparators(label=name, n=None if size is None else 0, suppressed=size is None)
        hits = searched.positive[chosen]
        records = pd.DataFrame()
        if show_records:
            records = audited.display.iloc[searched.rows[chosen]].reset_index(drop=True)
            for title, values in (
                (f"outcome {outcome_name}", hits),
                ("distance", np.sqrt(distance[chosen])),
            ):
                records.insert(records.shape[1], title, values, allow_duplicates=True)
        return Comparators(
            label=name,
            n=len(chosen),
            n_outcome=int(hits.sum()),
            rate=float(hits.mean()),
            records=records,
        )

    return counted(names[0], sides[0]), counted(names[1], sides[1])


def _told_apart(features: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Features by name; names that look alike are numbered."""
    told: dict[str, str] = {}
    for name, value in features:
        n = 1
        while (key := name if n == 1 else f"{name} ({n})") in told:
            n += 1
        told[key] = value
    return told


def _value_text(value: Any) -> str:
    """Write one feature's value; years keep their usual form."""
    if isinstance(value, float | np.floating) and not math.isnan(value):
        whole = float(value) == math.floor(value)
        return number(float(value)) if whole else rounded(float(value), 5)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return label_text(value)


# ---------------------------------------------------------------------------------------------
# Words


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with its paragraphs and tables."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[tuple[str, Table], ...] = ()


@dataclass(frozen=True, kw_only=True)
class CardStory:
    """What a card has to say, in the order text and page say it; cleaned, not escaped."""

    title: str
    person: str
    sections: tuple[Section, ...]


def tell_card(card: ContestationCard) -> CardStory:
    """Put a card into words.

    Parameters
    ----------
    card : ContestationCard

    Returns
    -------
    CardStory
    """
    tables = [("The nearest people", _rates_table(card, card.nearest, "Rate"))]
    tables += [
        (f"The nearest of {side.label}", table)
        for side in card.nearest
        if (table := frame_table(_numbered(side.records))) is not None
    ]
    comparable = any(side.n for side in card.nearest)
    return CardStory(
        title="Where this person stands",
        person=_person(card),
        sections=(
            Section(title="Is this person in the subgroup?", paragraphs=_standing(card)),
            Section(
                title="What the audit found there",
                paragraphs=_finding(card),
                tables=(("In the subgroup", _rates_table(card, card.subgroup, "Rate, weighted")),)
                if any(side.n for side in card.subgroup)
                else (),
            ),
            Section(
                title="How comparable people fared",
                paragraphs=_comparison(card),
                tables=tuple(tables) if comparable else (),
            ),
            Section(title="How certain this is", paragraphs=_certainty(card)),
            Section(
                title="What this card does not say",
                paragraphs=(
                    "Unlike outcomes of two similar people can be chance: look at the rates, not "
                    "at single cases. People are compared at equal values of the audited features; "
                    "one that was not audited may explain a difference, or hide one.",
                    "Being in the subgroup does not show that this decision was wrong, and being "
                    "outside does not show that it was right.",
                ),
            ),
        ),
    )


def _person(card: ContestationCard) -> str:
    who = {
        GROUP: f"of the group {card.group_name}",
        OTHERS: f"compared with {card.group_name}",
        UNKNOWN: "sensitive value not known",
    }[card.side]
    got = "outcome not known" if card.received is None else f'outcome "{label_text(card.received)}"'
    shown = [f"{clean(name, 40)} {value}" for name, value in card.features[:_MAX_FEATURES]]
    if len(card.features) > _MAX_FEATURES:
        shown.append(f"and {len(card.features) - _MAX_FEATURES} more features")
    where = "" if card.row is None else f" Row {card.row:,d} of the audited data, counted from 0."
    return f"Person: {who}; {got}; {', '.join(shown)}.{where}"


def _standing(card: ContestationCard) -> tuple[str, ...]:
    if not card.comparable:
        return (
            "This audit cannot speak about this person: nobody on the other side is like them in "
            "the audited features, so they were left out of the comparison.",
        )
    if card.inside is None:
        return (
            "Not known: this search found no violation, and its model was not kept.",
            *_rule_lines(card),
        )
    lines = []
    if card.threshold == -math.inf:
        lines.append("Yes: the subgroup is everybody compared; no smaller one was worse.")
        return tuple(lines)
    answer = "Yes" if card.inside else "No"
    lines.append(
        f"{answer}. Their score is {rounded(card.score)} (higher than {percent(card.score_rank)} "
        f"of those compared); the subgroup begins at {rounded(card.threshold)}."
        if not math.isnan(card.score)
        else f"{answer}."
    )
    if card.row is not None:
        lines.append("Membership was judged by a model that had not seen this person.")
    if not math.isnan(card.score) and card.inside != (card.score >= card.threshold):
        lines.append(
            "This is a border case: the part of the data that judged this person draws the border "
            "on their other side."
        )
    return (*lines, *_rule_lines(card))


def _rule_lines(card: ContestationCard) -> tuple[str, ...]:
    if card.meets_rule is None or card.violation.rule in ("", EVERYBODY):
        return ()
    verb = "meet" if card.meets_rule else "do not meet"
    return (
        f"They {verb} the rule that describes the subgroup in short: "
        f"{clean(card.violation.rule, 400)}.",
    )


def _finding(card: ContestationCard) -> tuple[str, ...]:
    v = card.violation
    confidence = f"with {percent(v.confidence_level)} confidence"
    if not v.measured:
        return (f"Nothing could be measured: {clean(v.reason, 200) or 'no reason recorded'}.",)
    low, high = v.ratio_interval
    if math.isinf(v.delta):
        ratio = (
            f'{_capital(card.group_name)} gets the outcome "{card.outcome_name}" there, and '
            f"{card.others_name} never does"
            if v.delta > 0
            else f'{_capital(card.group_name)} never gets the outcome "{card.outcome_name}" there'
        )
    else:
        ratio = (
            f'In the subgroup, {card.group_name} gets the outcome "{card.outcome_name}" '
            f"{ratio_text(v.ratio)} times as often as {card.others_name} with equal audited "
            "features"
        )
    span = ""
    if not math.isnan(low):
        end = f"{ratio_text(high)} times" if math.isfinite(high) else "any number of times"
        span = f", between {ratio_text(low)} and {end} {confidence}"
    verdict = {
        VIOLATION: "This is a violation, more than chance explains",
        INSUFFICIENT: "There is not enough evidence to go by",
    }.get(v.verdict, "This cannot be told from chance")
    p = "" if math.isnan(v.p_value_adjusted) else f" ({p_text(v.p_value_adjusted)}, adjusted)"
    lines = [f"{ratio}{span}.", f"{verdict}{p}."]
    if card.has_outcome is False:
        lines.append(
            f'The person got another outcome, "{label_text(card.received)}": this search is about '
            f'"{card.outcome_name}".'
        )
    if any(side.suppressed for side in card.subgroup):
        lines.append(_hidden(card, "Counts in the subgroup"))
    return tuple(lines)


def _comparison(card: ContestationCard) -> tuple[str, ...]:
    where = "in the subgroup and its surroundings" if card.inside else "among all those compared"
    lines = [
        f"The people most like this one {where}, by all audited features alike, and not farther "
        "away than half the usual distance between two people."
    ]
    if any(side.suppressed for side in card.nearest):
        lines.append(_hidden(card, "Counts of the nearest people"))
    for side in card.nearest:
        if side.n == 0:
            lines.append(f"Nobody of {side.label} is near enough to be compared.")
    return tuple(lines)


def _hidden(card: ContestationCard, what: str) -> str:
    return f"{what} are not shown: some of them are below {card.min_cell}."


def _certainty(card: ContestationCard) -> tuple[str, ...]:
    v = card.violation
    lines = []
    if card.n_models and card.threshold != -math.inf:
        n = card.n_models_inside
        agree = n if card.inside else card.n_models - n
        where = "inside" if card.inside else "outside"
        if card.n_models == 1:
            lines.append("One model draws the border, so nothing can be said about its stability.")
        elif agree == card.n_models:
            lines.append(f"All {card.n_models} models of the audit put this person {where}.")
        else:
            lines.append(
                f"{agree} of the {card.n_models} models of the audit put this person {where}: near "
                "the border, so membership is not certain."
            )
    low = v.ratio_interval[0]
    if v.verdict == VIOLATION and low > 1:
        lines.append(
            f"The ratio in the subgroup is at least {ratio_text(low)} at this confidence. It is a "
            "statement about the whole subgroup, not about each person in it."
        )
    elif v.verdict != VIOLATION:
        lines.append(
            "No violation was found here that could be told from chance; that is no finding of "
            "equal treatment."
        )
    small = [side.n for side in card.nearest if side.n]
    if small:
        lines.append(
            f"Rates of {min(small)} people are rough: chance alone moves them by up to "
            f"{percent(1.0 / math.sqrt(min(small)))} either way."
        )
    return tuple(lines)


def _rates_table(card: ContestationCard, sides: Sequence[Comparators], rate: str) -> Table:
    rows = tuple(
        (
            side.label,
            "" if side.n is None else f"{side.n:,d}",
            "" if side.n_outcome is None else f"{side.n_outcome:,d}",
            "" if math.isnan(side.rate) else percent(side.rate),
        )
        for side in sides
    )
    return Table(header=("Who", "People", f'Outcome "{card.outcome_name}"', rate), rows=rows)


def _numbered(records: pd.DataFrame) -> pd.DataFrame:
    shown = records.astype(object).map(_value_text)
    shown.index = pd.Index(range(1, len(shown) + 1))
    return shown


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_text(story: CardStory) -> str:
    blocks = [[story.title.upper(), "=" * len(story.title)], wrapped([story.person])]
    for section in story.sections:
        block = [section.title.upper(), *wrapped(section.paragraphs)]
        for caption, table in section.tables:
            block += ["", f"{caption}:", *drawn(table)]
        blocks.append(block)
    return "\n\n".join("\n".join(block) for block in blocks)
