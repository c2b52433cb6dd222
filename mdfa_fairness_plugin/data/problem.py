"""Validate: what the user passed becomes an `AuditProblem`, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.amounts import (
    NEEDS_NUMBERS,
    Amount,
    Cut,
    amount_of,
    as_labels,
    asked_directions,
    per_exposure,
    ranked,
    read_exposure,
    read_numbers,
    refuse_meaningless,
)
from mdfa_fairness_plugin.data.clusters import read_clusters, renumbered
from mdfa_fairness_plugin.data.column_order import column_order
from mdfa_fairness_plugin.data.columns import Labels
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.contrasts import (
    Contrast,
    Quantity,
    as_quantity,
    build_contrasts,
    refuse_several,
    with_intersections,
)
from mdfa_fairness_plugin.data.copies import RowColumns, find_copies
from mdfa_fairness_plugin.data.decisions import (
    MISSING_OUTCOME,
    audited_outcomes,
    read_decisions,
    refuse_constant,
)
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.data.given import NOTHING_GIVEN, GivenProbabilities, read_given
from mdfa_fairness_plugin.data.leaks import Answer, OfNumbers, check_leaks, leaked_features
from mdfa_fairness_plugin.data.order import canonical_order, input_hash
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.data.proxies import (
    Copies,
    Proxies,
    read_probabilities,
    refuse_with_probabilities,
    sample_of,
)
from mdfa_fairness_plugin.data.quantities import with_quantities
from mdfa_fairness_plugin.data.sensitive import UNNAMED, SensitiveFeature, read_sensitive
from mdfa_fairness_plugin.data.spelling import asked_as, read_spellings
from mdfa_fairness_plugin.data.weights import read_weighting
from mdfa_fairness_plugin.data.words import StatedReason, Words, read_reasons, read_words
from mdfa_fairness_plugin.exceptions import AuditWarning, InputError, WarningLog
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditProblem:
    """Everything an audit needs, checked.

    Working rows are the user's rows with a positive weight, repeated where weights are counts, in
    an order that depends neither on how they were ordered nor on how labels are called; the same
    holds for encoded features. What is shown keeps the order in which columns were given.
    """

    X: np.ndarray  # encoded features, float64 of shape (n_rows, n_encoded), without NaN
    levels: np.ndarray | None  # own levels of features that `X` pools, see `FeatureEncoder.levels`
    encoder: FeatureEncoder
    display: pd.DataFrame  # features as reports show them, partly read-only views of `X`
    y: np.ndarray  # position in `outcome_labels`; of numbers zero
    outcome_labels: tuple[Hashable, ...]  # every outcome found, as it was given; none of numbers
    outcomes: tuple[Hashable, ...]  # those to audit
    sample_weight: np.ndarray  # sampling weights with mean 1; ones without
    weight_type: str  # "none", "frequency" or "sampling"
    contrasts: tuple[Contrast, ...]  # one per sensitive value, also those that cannot be audited
    sensitive: tuple[SensitiveFeature, ...]  # every column audited, intersections last
    cluster: np.ndarray | None  # whose row each is; None: each somebody else's
    unit: np.ndarray | None  # rows that are never split: those of a cluster, and copies
    source_row: np.ndarray  # input row each working row is
    n_samples: int  # rows of the input
    excluded: dict[str, int]  # input rows left out, by reason
    warnings: tuple[AuditWarning, ...]
    input_hash: str  # SHA-256 of names, values and labels in the order given
    given: GivenProbabilities = NOTHING_GIVEN
    index: pd.Index | None = None  # of the input's rows; None: they have none
    outcome_name: str = ""  # of the column of outcomes; empty: it has none
    words: Words = field(default_factory=Words)  # what outcomes and groups are called
    reasons: Mapping[str, StatedReason] = field(default_factory=dict)  # for features, by name
    amount: Amount | None = None  # outcomes that are numbers, or the ranks of ordered ones
    cuts: Mapping[Hashable, Cut] = field(default_factory=dict)  # of ordered outcomes, by label
    probability: np.ndarray | None = None  # that a row is of its group; None: it is
    proxies: Proxies | None = None  # where some rows' groups are known besides their probabilities
    quantity: Quantity | None = None  # that is compared in the place of groups

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features."""
        return self.encoder.encoded_names_

    @property
    def encoded(self) -> RowView:
        """Rows as models see them."""
        return RowView(self.X, levels=self.levels)

    @property
    def n_rows(self) -> int:
        """Number of working rows."""
        return len(self.y)

    @property
    def n_people(self) -> int:
        """Number of working rows, those that may be of several groups counted once."""
        return self.n_rows if self.probability is None else len(np.unique(self.source_row))

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of working rows; None if each row is somebody else's."""
        return None if self.cluster is None else len(np.unique(self.cluster))

    def given_outcome(self, label: Hashable) -> np.ndarray | None:
        """The user's ``Pr[Y = label | x]`` of the working rows."""
        given = self.given.outcome
        return None if given is None else given[label][self.source_row]

    def given_propensity(self, contrast: Contrast) -> np.ndarray | None:
        """The user's ``Pr[S = +1 | x]`` of the working rows."""
        given = self.given.of_contrast(contrast)
        return None if given is None else given[self.source_row]

    @property
    def outcome_type(self) -> str:
        """What outcomes are: "binary", "multiclass", "ordered" or "numeric"."""
        if self.cuts:
            return "ordered"
        if self.amount is not None:
            return "numeric"
        return "binary" if len(self.outcome_labels) == 2 else "multiclass"

    @property
    def stratum(self) -> np.ndarray:
        """What folds are even in: outcomes, or on which side of the mean a number is."""
        return self.y if self.outcome_labels else self.has(self.outcomes[0]).astype(np.intp)

    def is_amount(self, label: Hashable) -> bool:
        """Whether an audited outcome is more or less of a number."""
        return self.amount is not None and label in self.amount.directions

    def value(self, label: Hashable) -> np.ndarray:
        """Whether each working row has an outcome, or how much of it in units of its own."""
        if self.amount is not None and label in self.amount.directions:
            return self.amount.values * (-1.0 if label == self.amount.directions[0] else 1.0)
        return self.has(label)

    def has(self, label: Hashable) -> np.ndarray:
        """Whether each working row has an outcome; of a number, whether more of it than on average."""
        if self.is_amount(label):
            value = self.value(label)
            return value > np.average(value, weights=self.sample_weight)
        if label in self.cuts:
            return np.isin(self.y, list(self.cuts[label].codes))
        return self.y == self.outcome_labels.index(label)

    def answer(self, positive: np.ndarray) -> Answer:
        """Something to be told of every working row."""
        return Answer(positive, self.sample_weight, self.unit)


def build_problem(
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    clusters: Any = None,
    exposure: Any = None,
    sensitive_probabilities: Any = None,
    log: WarningLog | None = None,
    told: str = "the outcome",
    **options: Any,
) -> AuditProblem:
    """Check and encode the input; `told` is what the outcome is called, empty if `y` is none."""
    log = WarningLog() if log is None else log
    asked = Settings(**options)
    table = read_table(X, "X")
    if table.n_columns == 0:
        raise InputError(
            f"X: it has no columns, 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is "
            "required. Pass at least one feature to audit."
        )
    decided = read_vector(y, "y")
    groups_of, told_groups = None, None
    if sensitive_features is not None or sensitive_probabilities is None:
        groups_of = read_table(sensitive_features, "sensitive_features", column_name=UNNAMED)
    if sensitive_probabilities is not None:
        told_groups = read_table(
            sensitive_probabilities, "sensitive_probabilities", column_name="p"
        )
    given = {"sample_weight": sample_weight, "clusters": clusters, "exposure": exposure}
    by_row = {name: read_vector(own, name) for name, own in given.items() if own is not None}
    n_samples = table.n_rows
    if n_samples == 0:
        raise InputError("X: it has no rows; there is nobody to compare.")
    for one in (decided, groups_of, told_groups, *by_row.values()):
        if one is not None:
            check_length(one, n_samples, "X", _advice(one, table))
    if groups_of is not None and groups_of.n_columns == 0:
        raise InputError("sensitive_features: it has no columns; pass at least one.")

    pairing = Pairing(log)
    pairing.lead(table)
    decided = pairing.align(decided)
    groups_of = None if groups_of is None else pairing.align(groups_of)
    by_row = {name: pairing.align(own) for name, own in by_row.items()}
    weight = by_row["sample_weight"].array(0) if "sample_weight" in by_row else None
    people, exposed = by_row.get("clusters"), None
    if "exposure" in by_row:
        exposed = read_exposure(by_row["exposure"].array(0), n_samples)
    copies: Copies | None = None
    if told_groups is not None:
        refuse_with_probabilities(asked, exposed is not None)
        copies = read_probabilities(pairing.align(told_groups), groups_of)
        table, decided, groups_of = table.take(copies.row), decided.take(copies.row), copies.groups
        weight = copies.weights(weight)
        people = copies.clusters(people)
    assert groups_of is not None  # given, or made of probabilities
    # Rows without weight are absent, so nothing they hold can fail a check.
    excluded: dict[str, int] = {}
    origin = None if copies is None else copies.row

    def of_input(rows: Any) -> Any:
        """Rows of the input that rows are."""
        return rows if origin is None else origin[rows]

    weighting = read_weighting(weight, asked.weight_type, decided.n_rows, log)
    n_zero = n_samples - len(np.unique(of_input(weighting.rows))) if weighting.n_zero else 0
    if n_zero:
        excluded["zero weight"] = n_zero
    rows = weighting.rows
    decisions = decided.array(0) if rows is None else decided.take(rows).array(0)
    amounts = _amounts(decisions, exposed, rows, asked)
    if amounts is None:
        labels = read_decisions(decisions, "y", missing=asked.missing_outcome)
    else:
        labels = as_labels(amounts)
        if exposed is not None:
            time = exposed if rows is None else exposed[rows]
            weighting = weighting.times(time)
    known = labels.codes >= 0
    if not known.all():
        decided_on = np.flatnonzero(known)
        weighting, labels = weighting.take(decided_on), labels.take(decided_on)
        amounts = None if amounts is None else amounts[decided_on]
        rows = decided_on if rows is None else rows[decided_on]
        excluded[MISSING_OUTCOME] = n_samples - n_zero - len(np.unique(of_input(rows)))
    if rows is not None:
        table, groups_of = table.take(rows), groups_of.take(rows)
        people = None if people is None else people.take(rows)
    if table.n_rows < 2:
        raise InputError(
            f"X: {table.n_rows} row(s) were given (n_samples = {table.n_rows}); at least two are "
            "needed to compare."
        )

    table = with_quantities(table, log)
    merge = asked.merge_spellings
    if merge and amounts is None:
        labels = read_spellings({"": labels}, "y", log, merge=True)[""]
        asked = replace(
            asked,
            outcomes=asked_as(asked.outcomes, labels.values),
            favorable_label=asked_as(asked.favorable_label, labels.values),
        )
    labels, amount, cuts, audited = _audited(
        labels, amounts, weighting.values, asked, per=exposed is not None
    )
    if not merge and amounts is None:
        read_spellings({"": labels}, "y", log, merge=False)
    in_use = np.arange(table.n_rows) if rows is None else rows
    numeric = asked.sensitive_type == "numeric"
    columns = read_sensitive(
        groups_of, asked.missing, in_use, log, excluded, merge=merge, numeric=numeric
    )
    if numeric:
        refuse_several(columns, told_groups is not None)
    if merge:
        _read_levels(table, log, merge=True)
        values = [value for column in columns for value in column.labels.values]
        asked = replace(
            asked,
            groups=asked_as(asked.groups, values),
            reference_group=asked_as(asked.reference_group, values),
        )
    leaks = leaked_features(table, columns, log, numbers=numeric)
    encoder = FeatureEncoder(merge_spellings=merge).fit(
        table,
        log,
        exclude=leaks,
        arrange=partial(
            column_order,
            sensitive=[column.labels for column in columns],
            outcome=labels,
            weight=weighting.values,
        ),
    )
    if not merge:
        _read_levels(table, log, merge=False, but=encoder.dropped_)
    reasons = read_reasons(asked.feature_reasons, encoder.displays_)
    cluster = None if people is None else read_clusters(people.array(0))
    unit = cluster
    hashed = input_hash(table, labels, columns, weighting.values, cluster)
    if cluster is None:
        held = RowColumns(table, [column.labels for column in columns], encoder.dropped_)
        repeated = find_copies(held)
        if repeated is not None:  # never split, and one person's unless each row is said to count
            unit = repeated.unit
            if people is None and asked.weight_type != "frequency":
                repeated.warn(in_use, log)
                cluster = unit

    # The matrix is made at once in its final order, and shown from there: no second copy.
    levels = encoder.levels(table)
    order = canonical_order(
        encoder.encoded_columns(table), columns, labels, weighting.values, unit, levels
    )
    if unit is not None:
        unit = renumbered(unit[order])
        cluster = None if cluster is None else unit
    y_sorted = labels.codes[order]
    outcome_labels = labels.values
    if amounts is not None:
        y_sorted, outcome_labels = np.zeros_like(y_sorted), ()
    if told:
        check_leaks(
            table,
            encoder,
            labels,
            _answers(
                y_sorted, outcome_labels, audited, weighting.values[order], unit, amounts, order
            ),
            order,
            decision_inputs=asked.decision_inputs,
            told=told,
            log=log,
        )
    encoded = encoder.transform(table, rows=order)
    sorted_columns, quantity = [column.take(order) for column in columns], None
    if numeric:
        halves, quantity = as_quantity(sorted_columns[0], weighting.values[order], asked.per)
        sorted_columns = [halves]
    contrasts = build_contrasts(
        sorted_columns,
        y_sorted if amounts is None else labels.codes[order],
        labels.values,
        groups=asked.groups,
        reference_group=asked.reference_group,
        intersections=asked.intersections,
        min_group_size=asked.min_group_size,
        cluster=cluster,
        log=log,
    )
    source_row = of_input(in_use[order])
    problem = AuditProblem(
        X=encoded,
        levels=None if levels is None else levels[order],
        encoder=encoder,
        display=encoder.display_frame(table, rows=order, encoded=encoded),
        y=y_sorted,
        outcome_labels=outcome_labels,
        outcomes=audited,
        amount=None if amount is None else amount.take(order),
        cuts=cuts,
        sample_weight=weighting.values[order],
        weight_type=weighting.weight_type,
        contrasts=contrasts if quantity is None else tuple(map(quantity.turned, contrasts)),
        quantity=quantity,
        sensitive=with_intersections(sorted_columns, asked.intersections),
        cluster=cluster,
        unit=unit,
        source_row=source_row,
        probability=None if copies is None else copies.probability[in_use[order]],
        proxies=sample_of(
            copies, source_row, encoded, (y_sorted, outcome_labels), encoder.encoded_names_, log
        ),
        n_samples=n_samples,
        excluded=excluded,
        warnings=log.records,
        input_hash=hashed,
        reasons=reasons,
    )
    known_of = read_given(problem, asked.propensity, asked.outcome_probability, pairing)
    name = decided.names[0]
    named = name if isinstance(name, str) and name != "y" else ""
    words = read_words(asked, problem, named)
    return replace(problem, given=known_of, index=pairing.index, outcome_name=named, words=words)


def _read_levels(
    table: Table, log: WarningLog, *, merge: bool, but: Collection[Hashable] = ()
) -> None:
    """Merge spellings of one level, or warn of them, in columns but these."""
    places = {str(name): i for i, name in enumerate(table.names) if name not in but}
    labelled = table.labelled()
    given = {name: labelled[place] for name, place in places.items() if place in labelled}
    read = read_spellings(given, "X", log, merge=merge)
    if merge:
        table.relabelled({places[name]: labels for name, labels in read.items()})


def _amounts(
    decisions: Any, exposed: np.ndarray | None, rows: np.ndarray | None, asked: Settings
) -> np.ndarray | None:
    """Outcomes as numbers, of counts those per exposure; None if they are labels."""
    if asked.outcome_type != "numeric":
        if exposed is not None:
            raise InputError(NEEDS_NUMBERS)
        return None
    numbers = read_numbers(decisions, "y", asked.missing_outcome)
    if exposed is None:
        return numbers
    return per_exposure(numbers, exposed if rows is None else exposed[rows])


def _audited(
    labels: Labels, amounts: np.ndarray | None, weight: np.ndarray, asked: Settings, *, per: bool
) -> tuple[Labels, Amount | None, dict[Hashable, Cut], tuple[Hashable, ...]]:
    """Outcomes as they are audited: labels, how much of a number, cuts of an order, and their names."""
    amount: Amount | None = None
    cuts: dict[Hashable, Cut] = {}
    if amounts is not None:
        amount = amount_of(amounts, weight, asked, per=per)
    else:
        refuse_constant(labels.values, len(labels.codes), "y")
    if asked.ordered is not None:
        amount, cuts = ranked(asked.ordered, labels.values, labels.codes, weight)
    refuse_meaningless(asked, amount, ordered=bool(cuts), labels=labels.values)
    if amount is None:
        return labels, None, {}, audited_outcomes(asked.outcomes, labels.values, asked.outcome_type)
    return labels, amount, cuts, asked_directions(asked.outcomes, (*cuts, *amount.directions))


def _answers(
    y: np.ndarray,
    values: tuple[Hashable, ...],
    audited: tuple[Hashable, ...],
    weight: np.ndarray,
    unit: np.ndarray | None,
    amounts: np.ndarray | None,
    order: np.ndarray,
) -> dict[Hashable, Answer]:
    """What is to be told of every row: each outcome, or one of two; whether numbers are large."""
    if amounts is not None:
        large = (amounts > np.median(amounts))[order]
        return {OfNumbers("whether the outcome is above its median"): Answer(large, weight, unit)}
    audited = tuple(one for one in audited if one in values)
    asked = audited if len(values) > 2 else audited[:1]
    return {one: Answer(y == values.index(one), weight, unit) for one in asked}


def _advice(given: Table, features: Table) -> str:
    """What to do about a wrong number of rows, if names of columns were given instead."""
    one = given.array(0)[:100] if given.n_columns == 1 else ()
    if len(one) and all(isinstance(value, str) and value in features.names for value in one):
        return "Column names are not looked up in X; pass the columns, as in X[[...]]."
    return ""
