"""Audited features of any type become a matrix of numbers that can be read back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import Kind, Labels, TypedColumn, listing
from mdfa_fairness_plugin.data.containers import Table, read_table
from mdfa_fairness_plugin.data.display import DisplayFeature, Reader, display_frame, find_shown
from mdfa_fairness_plugin.data.held import merged, note_unequal, pooled
from mdfa_fairness_plugin.data.plans import (
    MISSING,
    OTHER,
    LevelPlan,
    NumberPlan,
    Plan,
    level_texts,
    leveled,
    parts_of,
    refuse_infinite,
    steps_of,
    unit_of,
)
from mdfa_fairness_plugin.data.quantities import as_written, with_quantities
from mdfa_fairness_plugin.data.spelling import respelled
from mdfa_fairness_plugin.data.written import fewest_rows
from mdfa_fairness_plugin.exceptions import Count, FeatureWarning, InputError, Message, WarningLog
from mdfa_fairness_plugin.numerics.rows import RowView

# Rows encoded at a time, and features: eight neighbouring doubles are what memory is read by.
_ROWS_AT_A_TIME, _FEATURES_AT_A_TIME = 4_096, 8
# Levels that are all rare are told apart if they have as many rows as one that is shown at the least;
# identifiers have fewer.
_FEWEST_OF_A_LEVEL = 5
# The encoded matrix is the largest object of an audit; beyond this a sparse input is refused.
_LARGEST_DENSE_BYTES = 2**30


# Gives an order of encoded columns from what gives one of them, and the kind of each.
Arrange = Callable[[Callable[[int], np.ndarray], Sequence[Hashable]], np.ndarray]


class FeatureEncoder:
    """Encodes features of any type as numbers without a gap, and reads them back.

    Numbers stay as they are, with the median (the commoner value of a 0/1 column) where one is
    missing and a column ``name is missing`` that says so. Ordered categoricals become the place in
    their order; dates, durations and times of day become days, and text that is any of these is read
    as such. Weekday (Monday 0), month (January 0) and hour (in UTC where there is a time zone) of dates
    among which these come again have columns of their own. Other labels become one 0/1 column per level
    that enough rows have; the others are pooled into ``name=(other levels)``, so that no column picks
    out a handful of people. Should even those together be too few, they are encoded like the most
    frequent level, and shown as ``(other levels)`` all the same; `levels` tells all apart. Missing
    labels are a level ``name=(missing)`` of their own, however few. Constant columns are left out.

    A level needs at least `min_level_count` rows (None: 5 below 200 rows, else 0.5 % of the rows
    and at least 10), as do the nonzeros of a sparse column; at most `max_levels` are kept.

    0/1 columns the user one-hot encoded (a shared prefix before ``"="``, ``": "`` or ``"_"``, at
    most a single 1 per row, and for ``"_"`` a 1 in nine rows of ten) stay as they are in the
    matrix, and are one categorical feature among those that reports show.
    """

    feature_names_in_: tuple[Hashable, ...]  # columns of the input, those left out included
    encoded_names_: tuple[str, ...]  # unique; of the matrix's columns, in their order
    places_: dict[str, int]  # of these columns in the matrix, in the order of the input
    displays_: tuple[DisplayFeature, ...]  # features as reports show them
    leveled_: tuple[LevelPlan, ...]  # what `levels` tells the levels of
    dropped_: dict[Hashable, str]  # columns left out and why
    min_level_count_: int  # the count used

    def __init__(
        self,
        max_levels: int = 30,
        min_level_count: int | None = None,
        *,
        merge_spellings: bool = False,
    ) -> None:
        self.max_levels = max_levels
        self.min_level_count = min_level_count
        self.merge_spellings = merge_spellings  # of labels of new rows

    def fit(
        self,
        X: Any,
        log: WarningLog | None = None,
        *,
        exclude: Mapping[Hashable, str] | None = None,
        arrange: Arrange | None = None,
    ) -> FeatureEncoder:
        """Learn levels, medians and names; `exclude` gives reasons to leave columns out.

        `transform` takes inputs with or without these. `arrange` orders the encoded columns: what
        reports show keeps the order of the input.
        """
        log = WarningLog() if log is None else log
        table = with_quantities(read_table(X, "X"), log)
        if table.n_rows == 0 or table.n_columns == 0:
            raise InputError(
                f"X: {table.n_rows} rows and {table.n_columns} columns were given; "
                "at least one of each is needed."
            )
        self.dropped_ = dict(exclude or {})
        self.feature_names_in_ = table.names
        self._named, self._written = table.named, dict(table.written or {})
        if self.min_level_count is None:
            self.min_level_count_ = fewest_rows(table.n_rows)
        else:
            self.min_level_count_ = max(1, int(self.min_level_count))

        candidates = [
            place for place in range(table.n_columns) if table.names[place] not in self.dropped_
        ]
        candidates = self._enough_nonzeros(table, candidates, log)
        planning = _Planning(self.max_levels, self.min_level_count_)
        for position in candidates:
            planning.add(table, position)
        self.dropped_.update(planning.dropped)
        planning.write(log)
        note_unequal(planning.in_part, self.dropped_, log)
        if not planning.plans:
            reasons = [Message(f"{name!r} ({reason})") for name, reason in self.dropped_.items()]
            raise InputError(
                f"X: no feature is left to audit: {listing(reasons)}. Pass at least one feature "
                "that varies and is not the sensitive one."
            )
        self._plans, self._unshown = tuple(planning.plans), tuple(planning.unshown)
        labels = dict(zip(table.names, _unique([str(name) for name in table.names]), strict=True))
        if arrange is not None:
            kinds = [(plan.kind, plan.width) for plan in self._plans for _ in range(plan.width)]
            order = arrange(self._column_reader(table), kinds)
            place = np.empty(len(order), dtype=np.intp)
            place[order] = np.arange(len(order))
            self._plans = tuple(
                replace(plan, places=tuple(place[list(plan.places)].tolist()))
                for plan in self._plans
            )
        self.plans_ = (*self._plans, *self._unshown)
        self.leveled_ = leveled(self._plans, self._unshown)
        names = [name for plan in self._plans for name in plan.encoded_names(labels[plan.name])]
        places = [place for plan in self._plans for place in plan.places]
        self.places_ = dict(zip(_unique(names), places, strict=True))
        self.encoded_names_ = tuple(sorted(self.places_, key=self.places_.__getitem__))
        self.displays_ = find_shown(self._plans, labels, self._reader(table), table.n_rows)
        return self

    def transform(self, X: Any, *, rows: np.ndarray | None = None) -> np.ndarray:
        """Encode the rows at these positions, or all; float64 of shape (n_rows, n_encoded), no NaN.

        Columns are found by name, or by position if either input had no names. Labels (and gaps in
        a column that had none) not seen when fitting go to ``(other levels)`` where the column has
        that, else to zeros in all of its levels; numbers missing where none was get the median.
        """
        table = read_table(X, "X")
        read = self._reader(table)
        n_rows = table.n_rows if rows is None else len(rows)
        out = np.zeros((n_rows, len(self.encoded_names_)))
        plans = sorted(self._plans, key=lambda plan: plan.places)
        for start in range(0, len(plans), _FEATURES_AT_A_TIME):
            values = []
            for plan in plans[start : start + _FEATURES_AT_A_TIME]:
                column = read(plan)
                refuse_infinite(column.numbers, plan.name)
                values.append((plan, plan.values(column)))
            for first in range(0, n_rows, _ROWS_AT_A_TIME):
                own = slice(first, first + _ROWS_AT_A_TIME)
                at = own if rows is None else rows[own]
                for plan, whole in values:
                    plan.encode(whole[at], out[own])
        return out

    def levels(self, X: Any, *, rows: np.ndarray | None = None) -> np.ndarray | None:
        """Own levels of features whose levels share encoded columns or have none; None without such.

        Codes of shape (n_rows, n_such_features), int32; -1 where the level is missing or new.
        """
        read = self._reader(X)
        if not self.leveled_:
            return None
        at = slice(None) if rows is None else rows
        return np.column_stack([plan.own_levels(read(plan))[at] for plan in self.leveled_])

    def rows(self, X: Any) -> RowView:
        """All rows as models see them: encoded, with their own levels beside."""
        table, _ = self._read(X)
        return RowView(self.transform(table), levels=self.levels(table))

    def encoded_columns(self, X: Any) -> Iterator[np.ndarray]:
        """Columns of what `transform` would give, one at a time and without the matrix."""
        return map(self._column_reader(X), range(len(self.encoded_names_)))

    def display_frame(
        self, X: Any, *, rows: np.ndarray | None = None, encoded: np.ndarray | None = None
    ) -> pd.DataFrame:
        """Rows at these positions, or all, as reports show them: a column per display.

        Numbers and booleans are float with NaN, as are durations in the unit of their kind and times
        in hours; dates are dates, labels text with ``"(missing)"`` and
        ``"(other levels)"``. With what `transform` gave for the same rows as `encoded`, numbers and
        booleans without gaps are read-only columns of that and take no memory of their own.
        """
        return display_frame(self.displays_, self._reader(X), rows, encoded)

    def unseen(self, X: Any) -> dict[str, int]:
        """Rows with a new label, or with no value where none was missing; features with any."""
        read = self._reader(X)
        return {
            str(plan.name): count
            for plan in self._plans
            if (count := plan.count_unseen(read(plan)))
        }

    def new_labels(self, X: Any) -> dict[Hashable, Hashable]:
        """A label of each feature shown that fitting has not seen; features with any."""
        found: dict[Hashable, Hashable] = {}
        read = self._reader(X)
        for one in self.displays_:
            labels, known = read(one.plans[0]).labels, one.plans[0].known_labels
            own = () if labels is None else labels.used().values
            if new := [label for label in own if label not in known]:
                found[one.name] = new[0]
        return found

    def _enough_nonzeros(self, table: Table, candidates: list[int], log: WarningLog) -> list[int]:
        """Columns of a sparse input that enough rows use; never densifies more than allowed."""
        if table.matrix is None:
            return candidates
        counts = np.diff(table.matrix.indptr)
        kept = [place for place in candidates if counts[place] >= self.min_level_count_]
        rare = [place for place in candidates if counts[place] < self.min_level_count_]
        if rare:
            reason = f"fewer than {self.min_level_count_} nonzeros"
            self.dropped_.update({table.names[place]: reason for place in rare})
            log.note(
                "DroppedFeature",
                f"X: {len(rare):,} of {table.n_columns:,} sparse columns have {reason} and were "
                f"dropped: {listing(table.names[place] for place in rare)}.",
            )
        size = 8 * table.n_rows * len(kept)
        if size > _LARGEST_DENSE_BYTES:
            raise InputError(
                f"X: a sparse matrix with {len(kept):,} columns of at least "
                f"{self.min_level_count_} nonzeros would take {size / 2**30:.1f} GiB when dense. "
                "Select the features to audit, pool rare ones, or reduce them first (for instance "
                "with sklearn.decomposition.TruncatedSVD)."
            )
        return kept

    def _read(self, X: Any) -> tuple[Table, dict[int, int]]:
        """Columns as those fitted to were read, and where those in use lie."""
        table = read_table(X, "X")
        positions = self._positions(table)
        return as_written(table, self._written, positions), positions

    def _reader(self, X: Any) -> Reader:
        """Find and read the column of a plan."""
        table, positions = self._read(X)

        def read(plan: Plan) -> TypedColumn:
            column = table.typed(positions[plan.position], plan.kind)
            if not self.merge_spellings or column.labels is None:
                return column
            return replace(column, labels=respelled(column.labels, plan.known_labels))

        return read

    def _column_reader(self, X: Any) -> Callable[[int], np.ndarray]:
        """Make an encoded column by its place."""
        read = self._reader(X)
        owners = {
            place: (plan, which) for plan in self._plans for which, place in enumerate(plan.places)
        }
        held: dict[int, np.ndarray] = {}

        def column(place: int) -> np.ndarray:
            plan, which = owners[place]
            values = held.get(plan.position)
            if values is None:
                values = plan.values(read(plan))
                if plan.kind == "categorical":  # small, and asked for once per level
                    held[plan.position] = values
            return plan.column(values, which)

        return column

    def _positions(self, table: Table) -> dict[int, int]:
        """Where each column in use lies in `table`."""
        used = [plan.position for plan in (*self._plans, *self._unshown)]
        if not (self._named and table.named):
            if table.n_columns != len(self.feature_names_in_):
                raise InputError(
                    "X: columns without names are found by position, and X has "
                    f"{table.n_columns} features, but MDFAuditor is expecting "
                    f"{len(self.feature_names_in_)} features as input. Give the same columns in the "
                    "same order."
                )
            return {position: position for position in used}
        where = {name: position for position, name in enumerate(table.names)}
        names = self.feature_names_in_
        absent = [names[position] for position in used if names[position] not in where]
        if absent:
            raise InputError(
                f"X: {len(absent)} column(s) the encoder was fitted on are missing: "
                f"{listing(absent)}. Found: {listing(table.names)}."
            )
        return {position: where[names[position]] for position in used}


class _Planning:
    """Plans column by column; what it has to say is gathered, so a thousand columns make a notice."""

    def __init__(self, max_levels: int, min_level_count: int) -> None:
        self.max_levels = max_levels
        self.min_level_count = min_level_count
        self.plans: list[Plan] = []
        self.unshown: list[LevelPlan] = []  # of dropped columns whose levels are told apart
        self.width = 0
        self.dropped: dict[Hashable, str] = {}
        self.missing: list[Message] = []
        self.in_part: list[Message] = []

    def add(self, table: Table, position: int) -> None:
        """Plan one column, or drop it with a reason."""
        column, name = table.typed(position), table.names[position]
        said = len(self.in_part)
        if column.kind == "categorical":
            plan = self._levels(column.labels.used(), position, name)
        else:
            plan = self._numbers(column, position, name)
        if isinstance(plan, str):
            self.dropped[name] = plan
            del self.in_part[said:]
        else:
            self.plans.append(plan)
            self.width += plan.width

    def _numbers(self, column: TypedColumn, position: int, name: Hashable) -> Plan | str:
        steps: dict[Hashable, float] | None = None
        levels: tuple[str, ...] = ()
        if column.labels is not None:
            steps = steps_of(column.labels)
            levels = tuple(str(value) for value in column.labels.used().values)
            values = np.array([*steps.values(), np.nan])[column.labels.codes]
        else:
            # Columns of a row-major array are strided; every look at one costs ten times a copy's.
            values = np.ascontiguousarray(column.numbers)
            refuse_infinite(values, name)
        missing = np.isnan(values)
        n_missing = int(missing.sum())
        if n_missing == len(values):
            return "wholly missing"
        present = values[~missing] if n_missing else values
        lowest, highest = float(present.min()), float(present.max())
        if lowest == highest and not n_missing:
            return "constant"
        kind: Kind = column.kind
        if kind == "numeric" and {lowest, highest} <= {0.0, 1.0} and np.isin(present, (0, 1)).all():
            kind = "boolean"
        fill = _median(present)
        parts = parts_of(present) if kind == "datetime" else ()
        if n_missing:
            self.missing.append(Message(f"{name!r} (", Count(n_missing, unit=""), ")"))
        return NumberPlan(
            position=position,
            name=name,
            kind=kind,
            fill=float(fill >= 0.5) if kind == "boolean" else fill,
            places=self._next((lowest != highest) + len(parts) + (n_missing > 0)),
            has_value=lowest != highest,
            has_indicator=n_missing > 0,
            steps=steps,
            levels=levels,
            unit=unit_of(present) if kind == "timedelta" else None,
            parts=parts,
        )

    def _levels(self, labels: Labels, position: int, name: Hashable) -> Plan | str:
        counts = labels.counts
        n_missing = len(labels.codes) - int(counts.sum())
        if not len(counts):
            return "wholly missing"
        if len(counts) == 1 and not n_missing:
            return "constant"
        by_count = np.argsort(-counts, kind="stable")[: self.max_levels]
        kept = np.sort(by_count[counts[by_count] >= self.min_level_count])
        rare = np.setdiff1d(np.arange(len(counts)), kept)
        n_rare = int(counts[rare].sum())
        texts = level_texts([labels.values[place] for place in kept])
        targets = {labels.values[place]: rank for rank, place in enumerate(kept)}
        other = -1
        shown_as_other: frozenset[Hashable] = frozenset()
        if len(rare) and (n_rare >= self.min_level_count or not len(kept)):
            other = len(texts)
            texts.append(OTHER)
            targets.update({labels.values[place]: other for place in rare})
            levels = Count(len(rare), of=len(counts), unit="levels")
            self.in_part.append(pooled(name, levels, n_rare, len(labels.codes)))
        elif len(rare):
            largest = int(np.argmax(counts[kept]))
            targets.update({labels.values[place]: largest for place in rare})
            shown_as_other = frozenset(labels.values[place] for place in rare)
            self.in_part.append(merged(name, texts[largest], n_rare, len(labels.codes)))
        missing = other
        if n_missing:
            missing = len(texts)
            texts.append(MISSING)
            self.missing.append(Message(f"{name!r} (", Count(n_missing, unit=""), ")"))
        if len(texts) == 1 and other < 0:
            return "constant but for a few rows"
        plan = LevelPlan(
            position=position,
            name=name,
            places=self._next(len(texts)),
            levels=tuple(texts),
            targets=targets,
            other=other,
            missing=missing,
            shown_as_other=shown_as_other,
        )
        if len(texts) > 1:
            return plan
        if counts.mean() >= _FEWEST_OF_A_LEVEL:
            self.unshown.append(replace(plan, places=()))
        return "all levels rare"

    def _next(self, width: int) -> tuple[int, ...]:
        """Places of the next encoded columns."""
        return tuple(range(self.width, self.width + width))

    def write(self, log: WarningLog) -> None:
        """Say what became of columns, each kind of thing once."""

        def dropped(*reasons: str) -> list[Hashable]:
            return [name for name, reason in self.dropped.items() if reason in reasons]

        if constant := dropped("constant", "constant but for a few rows"):
            text = f"X: {len(constant):,} constant column(s) dropped: {listing(constant)}."
            log.note("DroppedFeature", text)
        if empty := dropped("wholly missing"):
            log.warn(
                FeatureWarning,
                f"X: {len(empty):,} column(s) hold no value at all and were dropped: "
                f"{listing(empty)}.",
            )
        told = [plan.name for plan in self.unshown]
        if rare := dropped("all levels rare"):
            log.warn(
                FeatureWarning,
                f"X: {len(rare):,} column(s) dropped because no level has enough rows to be "
                f"compared: {listing(rare)}. Leave identifiers out, "
                "or pass them as clusters= if they say whose each row is; group the levels of others."
                + (f" Models tell apart those of {listing(told)} all the same." if told else ""),
            )
        if self.missing:
            log.note(
                "MissingFeatureValues",
                "X: missing values have a level or an indicator column of their own (numbers are "
                "filled with the median): ",
                listing(self.missing),
                ".",
            )


def _median(values: np.ndarray) -> float:
    """Median without NaN; ``np.median`` takes six times as long to look for them."""
    middle = len(values) // 2
    parted = np.partition(values, middle)
    if len(values) % 2:
        return float(parted[middle])
    return float((parted[:middle].max() + parted[middle]) / 2.0)


def _unique(names: list[str]) -> list[str]:
    taken: set[str] = set()
    out = []
    for name in names:
        candidate, count = name, 1
        while candidate in taken:
            count += 1
            candidate = f"{name} ({count})"
        taken.add(candidate)
        out.append(candidate)
    return out
