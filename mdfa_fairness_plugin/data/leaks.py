"""Features that tell the answer by themselves: the outcome, or who is in which group.

How well one feature tells an answer is counted out of sample: every person is told by the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import Labels, as_list, find_label, listing
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakedFeatureWarning,
    LeakWarning,
    WarningLog,
)
from mdfa_fairness_plugin.settings import Settings, alpha_for

DECISION_INPUTS = "DecisionInputs"

# Of more rows every second, third ... is looked at: with 20,000 a share of .05 is known to .003.
_MOST_ROWS = 20_000


# So many numbers are amounts, which equal rows repeat and no other column does but in their order.
_MANY_NUMBERS = 100

# -- columns that repeat another


def leaked_features(
    table: Table, columns: list[SensitiveFeature], log: WarningLog, *, numbers: bool = False
) -> dict[Hashable, str]:
    """Reasons to leave out features that repeat a sensitive column, or tell a value from the rest.

    Those of ``numbers`` do not: they are compared by all of their values.
    """
    leaks: dict[Hashable, str] = {}
    for column in columns:
        names = [name for name in table.names if name not in leaks]
        found = list(_repeats(table, names, column.labels, numbers=numbers))
        if found:
            leaks.update(dict.fromkeys(found, f"repeats the sensitive feature {column.name!r}"))
            log.warn(
                LeakedFeatureWarning,
                f"X: dropped {listing(found)}, which repeat(s) the sensitive feature "
                f"{column.name!r}: people who differ in it cannot be alike in every feature.",
            )
    return leaks


def _repeats(
    table: Table, names: Iterable[Hashable], labels: Labels, *, numbers: bool = False
) -> Iterator[Hashable]:
    """Columns that are other labels, one to one, or tell one of the labels from the rest."""
    # With hardly two known rows per value, any measurement is a one-to-one relabelling.
    probe, places = _Probe(labels, numbers), {name: i for i, name in enumerate(table.names)}
    few = 2 * len(probe.counts) <= len(probe.codes)
    few &= not (numbers and len(probe.counts) >= _MANY_NUMBERS)
    repeated_by = probe.is_repeated_by if few else probe.is_ordered_like
    yield from (name for name in names if repeated_by(table, places[name]))


class _Probe:
    """Compares features with labels on the rows where these are known."""

    def __init__(self, labels: Labels, numbers: bool) -> None:
        self.numbers, labels = numbers, labels.used()
        known = labels.codes >= 0
        self.rows = None if known.all() else np.flatnonzero(known)
        self.codes = labels.codes if self.rows is None else labels.codes[self.rows]
        self.counts = np.bincount(self.codes)
        self.first = np.unique(self.codes, return_index=True)[1]

    def _known(self, table: Table, position: int) -> np.ndarray:
        values = table.typed(position).keys
        return values if self.rows is None else values[self.rows]

    def is_repeated_by(self, table: Table, position: int) -> bool:
        if table.matrix is not None:
            count = np.diff(table.matrix.indptr[position : position + 2])[0]
            if count < self.counts.min():
                return False
        values = self._known(table, position)
        # A feature that is a function of the label takes a single value where that is the same.
        image = values[self.first]
        for some in (slice(0, 1000), slice(None)):  # Most differ within the first rows.
            if not np.array_equal(image[self.codes[some]], values[some], equal_nan=True):
                return False
        distinct, sizes = np.unique(image, return_counts=True)
        one_of_them = not self.numbers and len(distinct) == 2 and bool((sizes == 1).any())
        return len(distinct) == len(image) or one_of_them

    def is_ordered_like(self, table: Table, position: int) -> bool:
        """Whether a column has the order of labels of which nearly every row has another."""
        if table.matrix is not None or len(self.counts) < _MANY_NUMBERS:
            return False
        values = self._known(table, position)
        for some in (slice(0, 100), slice(None)):
            ranks = np.unique(values[some], return_inverse=True)[1]
            own = np.unique(self.codes[some], return_inverse=True)[1]
            if not (np.array_equal(ranks, own) or np.array_equal(ranks, own.max() - own)):
                return False
        return True


# -- how well one column tells an answer


@dataclass(frozen=True, eq=False)
class Answer:
    """Something that is so or not for every row, to be told from single columns."""

    positive: np.ndarray  # bool
    weight: np.ndarray  # with mean about one
    unit: np.ndarray | None = None  # rows with the same number are one person's; None: each its own

    @property
    def rarer(self) -> float:
        """Share of those with the rarer answer, which is what a guess of the other gets wrong."""
        share = float(np.average(self.positive, weights=self.weight))
        return min(share, 1.0 - share)

    @property
    def few(self) -> float:
        """Share of people below which no subgroup is looked for by default."""
        return alpha_for(Settings(), self.rarer)

    def left_open(self, values: np.ndarray) -> float:
        """Share of people whose answer a column leaves open when they are told by the others.

        Either each is told by the majority of those with the same value, or all between two values
        by one answer and all outside by the other.
        """
        codes, distinct = pd.factorize(values, sort=True, use_na_sentinel=False)
        by_value = np.bincount(2 * codes + self.positive, self.weight, 2 * len(distinct))
        by_value = by_value.reshape(-1, 2)
        left = self._wrong_between(by_value)
        # Those whom not even everybody with their value would tell are fewer, and quickly counted.
        if by_value.min(axis=1).sum() < left:
            left = min(left, self._open_by_value(codes, by_value))
        return left / float(by_value.sum())

    def _wrong_between(self, by_value: np.ndarray) -> float:
        """Weight told wrongly by the best interval of values."""
        total, wrong = by_value.sum(axis=0), []
        for inside in (0, 1):
            gained = np.cumsum(by_value[:, inside] - by_value[:, 1 - inside])
            before = np.minimum.accumulate(np.append(0.0, gained[:-1]))
            wrong.append(float(total[inside] - (gained - before).max()))
        n_units = len(self.positive) if self.unit is None else len(np.unique(self.unit))
        # Left out, one of the two people beside an end falls on its wrong side: one for each end.
        return min(wrong) + 2.0 * float(total.sum()) / n_units

    def _open_by_value(self, codes: np.ndarray, by_value: np.ndarray) -> float:
        """Weight of those who are in no majority of the others with the same value."""
        answer = self.positive.astype(np.intp)
        own, contrary = self.weight, np.zeros_like(self.weight)
        if self.unit is not None:
            keys = codes.astype(np.int64) * (int(self.unit.max()) + 1) + self.unit
            place, pairs = pd.factorize(keys)
            of_pair = np.bincount(2 * place + answer, self.weight, 2 * len(pairs)).reshape(-1, 2)
            own, contrary = of_pair[place, answer], of_pair[place, 1 - answer]
        alike = by_value[codes, answer] - own
        others = by_value[codes, 1 - answer] - contrary
        return float(self.weight[alike <= others + 1e-9].sum())  # sums are rounded

    def take(self, rows: np.ndarray) -> Answer:
        """Return these rows, in this order."""
        unit = None if self.unit is None else self.unit[rows]
        return Answer(self.positive[rows], self.weight[rows], unit)


def best_teller(
    columns: pd.DataFrame, rows: np.ndarray, answer: Answer, *, however_badly: bool = False
) -> tuple[str, float]:
    """Column that tells the answer of these rows best, and for which share of people.

    Without a name if even that leaves open half as many as a guess gets wrong, unless it is to be
    named ``however_badly`` it tells.
    """
    told = tellers(columns, rows, answer)
    best = max(told, key=told.__getitem__)
    named = however_badly or 1.0 - told[best] < answer.take(_thinned(rows)).rarer / 2
    return best if named else "", told[best]


def tellers(columns: pd.DataFrame, rows: np.ndarray, answer: Answer) -> dict[str, float]:
    """For which share of these people each column tells the answer, by name."""
    some = _thinned(rows)
    asked = answer.take(some)
    return {str(name): 1.0 - asked.left_open(columns[name].to_numpy()[some]) for name in columns}


def _thinned(rows: np.ndarray) -> np.ndarray:
    return rows[:: -(-len(rows) // _MOST_ROWS)]


# -- the outcome


class OfNumbers(str):
    """What is asked of an outcome that is a number, in words."""


def check_leaks(
    table: Table,
    encoder: FeatureEncoder,
    labels: Labels,
    answers: Mapping[Hashable, Answer],
    order: np.ndarray,
    *,
    decision_inputs: Any,
    told: str,
    log: WarningLog,
) -> None:
    """Refuse features that repeat the outcome; say which tell it alone.

    Answers are by outcome, of the rows in this order; ``told`` is what the outcome is called.
    """
    places = {name: place for place, name in enumerate(table.names)}
    features = {name: [place] for name, place in places.items() if name not in encoder.dropped_}
    features |= {
        shown.name: [places[name] for name in shown.source_columns]
        for shown in encoder.displays_
        if len(shown.source_columns) > 1  # several 0/1 columns that are one feature
    }
    inputs = _inputs(decision_inputs, {name: [place] for name, place in places.items()} | features)
    numbers = any(isinstance(one, OfNumbers) for one in answers)
    names = [name for name in places if name in features]
    repeats = _repeats(table, names, labels, numbers=numbers)
    copies = [name for name in repeats if places[name] not in inputs]
    if copies:
        raise InputError(
            f"X: {listing(copies)} repeat(s) {told}, in the same or in other words: people alike in "
            "every feature then always got the same. Leave it out of the features; or, if the "
            "decision was made from it, name it in decision_inputs."
        )
    rows = _thinned(np.arange(len(order)))
    some = order[rows]
    for outcome, answer in answers.items():
        what = told if len(labels.values) == 2 else f"{told} {outcome!r}"
        what = outcome if isinstance(outcome, OfNumbers) else what
        asked = answer.take(rows)
        found: set[int] = set()
        for name, own in features.items():
            if found.isdisjoint(own):  # one of several columns may be enough
                values = sum(k * table.typed(place).keys[some] for k, place in enumerate(own, 1))
                if asked.left_open(values) <= asked.few:
                    found |= set(own)
                    _say_who_decides(name, what, inputs.issuperset(own), log)


def _inputs(decision_inputs: Any, features: Mapping[Hashable, list[int]]) -> set[int]:
    """Columns that are said to be inputs of the decision."""
    names, inputs = list(features), set()
    for asked in [] if decision_inputs is None else as_list(decision_inputs):
        found = find_label(asked, names)
        if found is None:
            raise InputError(
                f"decision_inputs: {asked!r} is no feature; the features are {listing(names, 30)}."
            )
        inputs |= set(features[names[found]])
    return inputs


def _say_who_decides(name: Hashable, what: str, is_input: bool, log: WarningLog) -> None:
    if is_input:
        log.note(
            DECISION_INPUTS,
            f"{name!r} decides {what} alone and is said to be an input of the decision "
            "(decision_inputs): people alike in it were treated alike, so nothing can be left to "
            "find.",
        )
    else:
        log.warn(
            LeakWarning,
            f"{name!r} decides {what} alone. If it is an input of the decision, nothing can be left "
            "to find; if it is its result, drop it.",
        )
