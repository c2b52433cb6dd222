"""Validate: audited features of any type become a matrix of numbers that can be read back."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import (
    Kind,
    Labels,
    Table,
    TypedColumn,
    listing,
    python_value,
    read_table,
)
from mdfa_fairness_plugin.exceptions import Count, FeatureWarning, InputError, Message, WarningLog

MISSING = "(missing)"
OTHER = "(other levels)"
NONE = "(none)"
SEVERAL = "(several)"

# Rows encoded at a time, and features: eight neighbouring doubles are what memory is read by.
_ROWS_AT_A_TIME, _FEATURES_AT_A_TIME = 4_096, 8
# The encoded matrix is the largest object of an audit; beyond this a sparse input is refused.
_LARGEST_DENSE_BYTES = 2**30
# Squares must fit a double and the numbers themselves a single.
_LARGEST_NUMBER = 1e30


@dataclass(frozen=True, kw_only=True)
class DisplayFeature:
    """One feature as reports show it.

    Parameters
    ----------
    name : str
        Unique among the features shown.
    kind : {"numeric", "boolean", "categorical", "datetime"}
    source_columns : tuple
        Columns of the user's input it is made of; several for a one-hot group.
    encoded_columns : tuple of int
        Columns of the encoded matrix it is made of.
    levels : tuple of str
        Values it is shown with, if categorical; empty otherwise.
    ordered : bool
        Whether it is an ordered categorical: a single encoded column, the level's place.
    """

    name: str
    kind: Literal["numeric", "boolean", "categorical", "datetime"]
    source_columns: tuple[Hashable, ...]
    encoded_columns: tuple[int, ...]
    levels: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True, kw_only=True)
class _NumberPlan:
    """How one column of numbers (or places in an order) is encoded."""

    position: int
    name: Hashable
    kind: Kind
    fill: float
    start: int
    has_value: bool
    has_indicator: bool
    places: Mapping[Hashable, float] | None = None  # ordinal: label -> place
    levels: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return self.has_value + self.has_indicator

    def values(self, column: TypedColumn) -> np.ndarray:
        """Numbers, or places in the order; NaN where missing."""
        if self.places is None:
            assert column.numbers is not None
            return column.numbers
        assert column.labels is not None
        places = [self.places.get(value, np.nan) for value in column.labels.values]
        return np.array([*places, np.nan])[column.labels.codes]

    def count_unseen(self, column: TypedColumn) -> int:
        return 0 if self.has_indicator else int(np.isnan(self.values(column)).sum())

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write what ``values`` gave for some rows into these rows of zeros."""
        for place, column in enumerate(self.columns(values), self.start):
            out[:, place] = column

    def columns(self, values: np.ndarray) -> Iterator[np.ndarray]:
        """Encoded columns of what ``values`` gave."""
        missing = np.isnan(values)
        if self.has_value:
            yield np.where(missing, self.fill, values) if missing.any() else values
        if self.has_indicator:
            yield missing

    def shown_as_encoded(self, column: TypedColumn) -> bool:
        """Whether reports show the very numbers of the encoded column."""
        return (
            self.places is None
            and self.kind in ("numeric", "boolean")
            and self.has_value
            and not (self.has_indicator or np.isnan(self.values(column)).any())
        )

    def display(self, column: TypedColumn, rows: np.ndarray | slice) -> Any:
        if self.places is not None:
            assert column.labels is not None
            known = [
                str(value) if value in self.places else MISSING for value in column.labels.values
            ]
            return _texts([*known, MISSING], column.labels.codes[rows])
        values = self.values(column)[rows]
        if self.kind in ("datetime", "timedelta"):
            missing = np.isnan(values)
            ticks = np.round(np.where(missing, 0.0, values) * 86_400_000_000).astype("i8")
            ticks[missing] = np.iinfo("i8").min  # NaT
            return ticks.view("M8[us]" if self.kind == "datetime" else "m8[us]")
        return values.copy() if isinstance(rows, slice) else values


@dataclass(frozen=True, kw_only=True)
class _LevelPlan:
    """How one column of unordered labels is encoded: one 0/1 column per kept level."""

    position: int
    name: Hashable
    start: int
    levels: tuple[str, ...]  # kept ones, then "(other levels)" and "(missing)" where present
    targets: Mapping[Hashable, int]  # label seen when fitting -> place in `levels`, -1 if nowhere
    other: int  # where unseen labels go; -1: all zeros
    missing: int
    shown_as_other: frozenset[Hashable]
    kind: Kind = "categorical"

    @property
    def width(self) -> int:
        return len(self.levels)

    def count_unseen(self, column: TypedColumn) -> int:
        assert column.labels is not None
        new = [value not in self.targets for value in column.labels.values]
        # Missing labels have a level of their own if fitting saw any.
        return int(np.array([*new, self.missing < 0])[column.labels.codes].sum())

    def values(self, column: TypedColumn) -> np.ndarray:
        """Place of each row's level, -1 if nowhere, in the smallest type that holds them."""
        assert column.labels is not None
        targets = [self.targets.get(value, self.other) for value in column.labels.values]
        small = np.min_scalar_type(-len(self.levels))
        return np.array([*targets, self.missing], dtype=small)[column.labels.codes]

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write what ``values`` gave for some rows into these rows of zeros."""
        rows = np.flatnonzero(values >= 0)
        out[rows, self.start + values[rows].astype(np.intp)] = 1.0

    def columns(self, values: np.ndarray) -> Iterator[np.ndarray]:
        """Encoded columns of what ``values`` gave."""
        for place in range(self.width):
            yield values == place

    def display(self, column: TypedColumn, rows: np.ndarray | slice) -> Any:
        assert column.labels is not None
        shown = []
        for value in column.labels.values:
            place = -1 if value in self.shown_as_other else self.targets.get(value, -1)
            shown.append(self.levels[place] if place >= 0 else OTHER)
        return _texts([*shown, MISSING], column.labels.codes[rows])


def _texts(levels: list[str], codes: np.ndarray) -> np.ndarray:
    texts = np.empty(len(levels), dtype=object)
    texts[:] = levels
    return texts[codes]


class FeatureEncoder:
    """Encodes features of any type as numbers without a gap, and reads them back.

    Numbers stay as they are, with the median (the commoner value of a 0/1 column) where one is
    missing and a column ``name is missing`` that says so. Ordered categoricals become the place
    in their order, dates and durations days. Text and other labels become one 0/1 column per level
    that enough rows have; the others are pooled into ``name=(other levels)``, so that no column
    picks out a handful of people. Should even those together be too few, they are encoded like the
    most frequent level, and shown as ``(other levels)`` all the same. Missing labels are a level
    ``name=(missing)`` of their own, however few. Constant columns are left out.

    Parameters
    ----------
    max_levels : int, default=30
        Levels kept per column, most frequent first.
    min_level_count : int or None, default=None
        Fewest rows a level, or the nonzeros of a sparse column, must have. None: 5 below 200
        rows, otherwise 0.5 % of the rows and at least 10.

    Attributes
    ----------
    feature_names_in_ : tuple
        Columns of the input, in order, those left out included.
    encoded_names_ : tuple of str
        Names of the encoded columns, unique.
    displays_ : tuple of DisplayFeature
        Features as reports show them. 0/1 columns the user one-hot encoded (a shared prefix
        before ``"="``, ``": "`` or ``"_"``, at most a single 1 per row, and for ``"_"`` a 1 in nine
        rows of ten) are one categorical feature here, and stay as they are in the matrix.
    dropped_ : dict
        Columns left out and why.
    min_level_count_ : int
        The count used.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [30, None, 50] * 4, "town": ["A", "B", "B"] * 4})
    >>> encoder = FeatureEncoder(min_level_count=2).fit(X)
    >>> encoder.encoded_names_
    ('age', 'age is missing', 'town=A', 'town=B')
    >>> encoder.transform(X)[:2]
    array([[30.,  0.,  1.,  0.],
           [40.,  1.,  0.,  1.]])
    """

    feature_names_in_: tuple[Hashable, ...]
    encoded_names_: tuple[str, ...]
    displays_: tuple[DisplayFeature, ...]
    dropped_: dict[Hashable, str]
    min_level_count_: int

    def __init__(self, max_levels: int = 30, min_level_count: int | None = None) -> None:
        self.max_levels = max_levels
        self.min_level_count = min_level_count

    def fit(
        self,
        X: Any,
        log: WarningLog | None = None,
        *,
        exclude: Mapping[Hashable, str] | Iterable[Hashable] = (),
    ) -> FeatureEncoder:
        """Learn levels, medians and names.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, numpy, scipy sparse, a list of rows or a mapping of columns.
        log : WarningLog or None
            Where notices and warnings go.
        exclude : iterable of column names, or mapping of them to reasons
            Columns left out of the matrix; `transform` takes inputs with or without them.

        Returns
        -------
        self
        """
        table = read_table(X, "X")
        log = WarningLog() if log is None else log
        if table.n_rows == 0 or table.n_columns == 0:
            raise InputError(
                f"X: {table.n_rows} rows and {table.n_columns} columns were given; "
                "at least one of each is needed."
            )
        if isinstance(exclude, Mapping):
            self.dropped_ = dict(exclude)
        else:
            self.dropped_ = dict.fromkeys(exclude, "excluded")
        self.feature_names_in_ = table.names
        self._named = table.named
        self.min_level_count_ = self._resolve_min_level_count(table.n_rows)

        names = dict(zip(table.names, _unique([str(name) for name in table.names]), strict=True))
        candidates = [
            place for place in range(table.n_columns) if table.names[place] not in self.dropped_
        ]
        candidates = self._enough_nonzeros(table, candidates, log)
        notes = _Notes()
        plans: list[_NumberPlan | _LevelPlan] = []
        width = 0
        for position in candidates:
            plan = self._plan(table, position, width, notes)
            if plan is not None:
                plans.append(plan)
                width += plan.width
        self.dropped_.update(notes.dropped)
        notes.write(log)
        if not plans:
            reasons = [Message(f"{name!r} ({reason})") for name, reason in self.dropped_.items()]
            raise InputError(
                f"X: no feature is left to audit: {listing(reasons)}. Pass at least one feature "
                "that varies and is not the sensitive one."
            )
        self._plans = tuple(plans)
        self._labels = names
        self.encoded_names_ = tuple(_unique(self._encoded_names()))
        self._find_displays(table)
        return self

    def transform(self, X: Any, *, rows: np.ndarray | None = None) -> np.ndarray:
        """Encode rows.

        Parameters
        ----------
        X : table of shape (n_all, n_columns)
            Columns are found by name, or by position if either input had no names.
        rows : ndarray of int of shape (n_rows,) or None, default=None
            Positions of the rows to encode, in this order. None: all, as they come.

        Returns
        -------
        ndarray of float64 of shape (n_rows, n_encoded)
            Without NaN. Labels (and gaps in a column that had none) not seen when fitting go to
            ``(other levels)`` where the column has that, else to zeros in all of its levels;
            numbers missing where none was get the median.
        """
        table = read_table(X, "X")
        positions = self._positions(table)
        n_rows = table.n_rows if rows is None else len(rows)
        out = np.zeros((n_rows, len(self.encoded_names_)))
        for start in range(0, len(self._plans), _FEATURES_AT_A_TIME):
            values = []
            for plan in self._plans[start : start + _FEATURES_AT_A_TIME]:
                column = table.typed(positions[plan.position], plan.kind)
                _refuse_infinite(column.numbers, table.names[positions[plan.position]])
                values.append((plan, plan.values(column)))
            for first in range(0, n_rows, _ROWS_AT_A_TIME):
                own = slice(first, first + _ROWS_AT_A_TIME)
                at = own if rows is None else rows[own]
                for plan, whole in values:
                    plan.encode(whole[at], out[own])
        return out

    def encoded_columns(self, X: Any) -> Iterator[np.ndarray]:
        """Columns of what `transform` would give, one at a time and without the matrix.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        """
        table = read_table(X, "X")
        positions = self._positions(table)
        for plan in self._plans:
            yield from plan.columns(plan.values(table.typed(positions[plan.position], plan.kind)))

    def display_frame(
        self, X: Any, *, rows: np.ndarray | None = None, encoded: np.ndarray | None = None
    ) -> pd.DataFrame:
        """Rows as reports show them.

        Parameters
        ----------
        X : table of shape (n_all, n_columns)
        rows : ndarray of int of shape (n_rows,) or None, default=None
            Positions of the rows to show, in this order. None: all, as they come.
        encoded : ndarray of shape (n_rows, n_encoded) or None, default=None
            What `transform` gave for the same rows. Numbers and booleans without gaps are then
            shown from there: read-only columns that take no memory of their own.

        Returns
        -------
        DataFrame of shape (n_rows, n_display_features)
            Numbers and booleans as float with NaN, dates as dates, labels as text with
            ``"(missing)"`` and ``"(other levels)"``.
        """
        table = read_table(X, "X")
        positions = self._positions(table)
        chosen: np.ndarray | slice = slice(None) if rows is None else rows
        shared = None
        if encoded is not None:
            shared = encoded.view()
            shared.flags.writeable = False
        columns: dict[str, pd.Series] = {}
        n_shared = 0
        for feature, plans in zip(self.displays_, self._display_plans, strict=True):
            if len(plans) == 1:
                plan = self._plans[plans[0]]
                column = table.typed(positions[plan.position], plan.kind)
                if (
                    shared is not None
                    and isinstance(plan, _NumberPlan)
                    and plan.shown_as_encoded(column)
                ):
                    values = shared[:, plan.start]
                    n_shared += 1
                else:
                    values = plan.display(column, chosen)
            else:
                values = self._regrouped(table, positions, feature, plans, chosen)
            columns[feature.name] = pd.Series(values, copy=False)
        if shared is not None and n_shared == len(columns) == shared.shape[1]:
            # In one piece, so that choosing rows copies whole rows.
            return pd.DataFrame(shared, columns=list(columns), copy=False)
        return pd.DataFrame(columns, copy=False)

    def unseen(self, X: Any) -> dict[str, int]:
        """Count rows with values that fitting has not seen and that have no column of their own.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        dict of feature to int
            Rows with a new label, or with no value where none was missing; only features with any.
        """
        table = read_table(X, "X")
        positions = self._positions(table)
        found: dict[str, int] = {}
        for plan in self._plans:
            count = plan.count_unseen(table.typed(positions[plan.position], plan.kind))
            if count:
                found[str(plan.name)] = count
        return found

    def name_of(self, encoded_column: int) -> tuple[str, str | None]:
        """Feature and level an encoded column stands for.

        Returns
        -------
        display_name : str
        level : str or None
            None for the value of a number, an ordered categorical or a date; ``"(missing)"`` for
            the column that says that such a value is missing.
        """
        return self._names_of[encoded_column]

    # -- fitting ------------------------------------------------------------------------------

    def _resolve_min_level_count(self, n_rows: int) -> int:
        if self.min_level_count is not None:
            return max(1, int(self.min_level_count))
        return 5 if n_rows < 200 else max(10, math.ceil(0.005 * n_rows))

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

    def _plan(
        self, table: Table, position: int, start: int, notes: _Notes
    ) -> _NumberPlan | _LevelPlan | None:
        column = table.typed(position)
        name = table.names[position]
        # Columns of a row-major array are strided; every look at one costs ten times a copy's.
        numbers = None if column.numbers is None else np.ascontiguousarray(column.numbers)
        _refuse_infinite(numbers, name)
        if column.kind == "categorical":
            assert column.labels is not None
            return self._plan_levels(column.labels.used(), position, name, start, notes)
        places: dict[Hashable, float] | None = None
        levels: tuple[str, ...] = ()
        if column.kind == "ordinal":
            assert column.labels is not None
            places = _places(column.labels)
            levels = tuple(str(value) for value in column.labels.used().values)
            values = np.array([*places.values(), np.nan])[column.labels.codes]
        else:
            assert numbers is not None
            values = numbers
        missing = np.isnan(values)
        n_missing = int(missing.sum())
        if n_missing == len(values):
            notes.drop(name, "wholly missing")
            return None
        present = values[~missing] if n_missing else values
        lowest, highest = float(present.min()), float(present.max())
        if lowest == highest and not n_missing:
            notes.drop(name, "constant")
            return None
        kind: Kind = column.kind
        if kind == "numeric" and {lowest, highest} <= {0.0, 1.0} and _only_zero_one(present):
            kind = "boolean"
        fill = _median(present)
        if kind == "boolean":
            fill = float(fill >= 0.5)
        if n_missing:
            notes.missing.append(Message(f"{name!r} (", Count(n_missing, unit=""), ")"))
        return _NumberPlan(
            position=position,
            name=name,
            kind=kind,
            fill=fill,
            start=start,
            has_value=lowest != highest,
            has_indicator=n_missing > 0,
            places=places,
            levels=levels,
        )

    def _plan_levels(
        self, labels: Labels, position: int, name: Hashable, start: int, notes: _Notes
    ) -> _LevelPlan | None:
        counts = labels.counts
        n_missing = len(labels.codes) - int(counts.sum())
        if not len(counts):
            notes.drop(name, "wholly missing")
            return None
        if len(counts) == 1 and not n_missing:
            notes.drop(name, "constant")
            return None
        by_count = np.argsort(-counts, kind="stable")[: self.max_levels]
        kept = np.sort(by_count[counts[by_count] >= self.min_level_count_])
        rare = np.setdiff1d(np.arange(len(counts)), kept)
        n_rare = int(counts[rare].sum())
        texts = _level_texts([labels.values[place] for place in kept])
        targets = {labels.values[place]: rank for rank, place in enumerate(kept)}
        other = -1
        shown_as_other: frozenset[Hashable] = frozenset()
        if len(rare) and (n_rare >= self.min_level_count_ or not len(kept)):
            other = len(texts)
            texts.append(OTHER)
            targets.update({labels.values[place]: other for place in rare})
            notes.pooled.append(
                Message(
                    Count(len(rare), of=len(counts), unit="levels"),
                    f" of {name!r} (",
                    Count(n_rare),
                    ")",
                )
            )
            if len(counts) > self.max_levels and _are_numbers(labels.values):
                notes.text_numbers.append(name)
        elif len(rare):
            largest = int(np.argmax(counts[kept]))
            targets.update({labels.values[place]: largest for place in rare})
            shown_as_other = frozenset(labels.values[place] for place in rare)
            notes.merged.append(Message(Count(n_rare), f" of {name!r} like {texts[largest]!r}"))
        missing = other
        if n_missing:
            missing = len(texts)
            texts.append(MISSING)
            notes.missing.append(Message(f"{name!r} (", Count(n_missing, unit=""), ")"))
        if len(texts) == 1:
            why = "all levels rare" if other >= 0 else "constant but for a few rows"
            notes.drop(name, why)
            return None
        return _LevelPlan(
            position=position,
            name=name,
            start=start,
            levels=tuple(texts),
            targets=targets,
            other=other,
            missing=missing,
            shown_as_other=shown_as_other,
        )

    def _encoded_names(self) -> list[str]:
        names = []
        for plan in self._plans:
            label = self._labels[plan.name]
            if isinstance(plan, _LevelPlan):
                names += [f"{label}={level}" for level in plan.levels]
            else:
                names += [label] * plan.has_value
                names += [f"{label} is missing"] * plan.has_indicator
        return names

    # -- display ------------------------------------------------------------------------------

    def _find_displays(self, table: Table) -> None:
        groups = self._one_hot_groups(table)
        group_of = {place: group for group in groups.values() for place in group[1]}
        displays: list[DisplayFeature] = []
        display_plans: list[tuple[int, ...]] = []
        single_names = {self._labels[plan.name] for plan in self._plans}
        names_of: dict[int, tuple[str, str | None]] = {}
        for place, plan in enumerate(self._plans):
            group = group_of.get(place)
            if group is None:
                feature = self._display_of(plan)
                plans: tuple[int, ...] = (place,)
                for offset, column in enumerate(feature.encoded_columns):
                    level: str | None = None
                    if isinstance(plan, _LevelPlan):
                        level = plan.levels[offset]
                    elif plan.has_indicator and offset == plan.width - 1:
                        level = MISSING
                    names_of[column] = (feature.name, level)
            elif place == group[1][0]:
                prefix, plans, suffixes, has_none = group
                name = f"{prefix} (one-hot)" if prefix in single_names else prefix
                feature = DisplayFeature(
                    name=name,
                    kind="categorical",
                    source_columns=tuple(self._plans[one].name for one in plans),
                    encoded_columns=tuple(self._plans[one].start for one in plans),
                    levels=(*suffixes, NONE) if has_none else suffixes,
                )
                for column, suffix in zip(feature.encoded_columns, suffixes, strict=True):
                    names_of[column] = (name, suffix)
            else:
                continue
            displays.append(feature)
            display_plans.append(plans)
        self.displays_ = tuple(displays)
        self._display_plans = tuple(display_plans)
        self._names_of = names_of

    def _display_of(self, plan: _NumberPlan | _LevelPlan) -> DisplayFeature:
        kind: Literal["numeric", "boolean", "categorical", "datetime"]
        levels = plan.levels
        if isinstance(plan, _LevelPlan) or plan.kind == "ordinal":
            kind = "categorical"
            if isinstance(plan, _LevelPlan):
                if plan.shown_as_other and OTHER not in levels:
                    levels = (*levels, OTHER)
            elif plan.has_indicator:
                levels = (*levels, MISSING)
        elif plan.kind in ("datetime", "timedelta"):
            kind = "datetime"
        else:
            kind = "boolean" if plan.kind == "boolean" else "numeric"
        return DisplayFeature(
            name=self._labels[plan.name],
            kind=kind,
            source_columns=(plan.name,),
            encoded_columns=tuple(range(plan.start, plan.start + plan.width)),
            levels=levels,
            ordered=plan.kind == "ordinal",
        )

    def _one_hot_groups(
        self, table: Table
    ) -> dict[str, tuple[str, tuple[int, ...], tuple[str, ...], bool]]:
        """Find groups of 0/1 columns that spell one categorical feature.

        ``"="`` and ``": "`` are read as one-hot on sight; ``"_"`` is common in other names, so
        there the columns must also cover nearly all rows. The longest prefix that qualifies wins,
        so ``marital_status_single`` is a level of ``marital_status``.
        """
        free = {
            place: plan.name
            for place, plan in enumerate(self._plans)
            if plan.kind == "boolean" and plan.width == 1 and isinstance(plan.name, str)
        }
        totals: dict[int, float] = {}
        candidates: dict[tuple[int, str, str], list[int]] = {}
        for place, name in free.items():
            for rank, separator in enumerate(("=", ": ", "_")):
                at = name.find(separator)
                while at > 0:
                    key = (rank, name[:at], separator)
                    candidates.setdefault(key, []).append(place)
                    at = name.find(separator, at + 1) if separator == "_" else -1
        groups: dict[str, tuple[str, tuple[int, ...], tuple[str, ...], bool]] = {}
        for (rank, prefix, separator), members in sorted(
            candidates.items(), key=lambda item: (item[0][0], -len(item[0][1]), item[0][1])
        ):
            members = [place for place in members if place in free]
            if len(members) < 2 or prefix in groups:
                continue
            for place in members:
                if place not in totals:
                    totals[place] = float(self._zero_one(table, place).sum())
            covered = sum(totals[place] for place in members)
            least = 0.9 * table.n_rows if rank == 2 else 0.0
            if covered > table.n_rows or covered < least:
                continue
            ones = np.zeros(table.n_rows)
            for place in members:
                ones += self._zero_one(table, place)
            if ones.max() > 1:
                continue
            suffixes = tuple(free[place][len(prefix) + len(separator) :] for place in members)
            if "" in suffixes:
                continue
            groups[prefix] = (prefix, tuple(members), suffixes, bool(ones.min() < 1))
            for place in members:
                del free[place]
        return groups

    def _zero_one(self, table: Table, place: int) -> np.ndarray:
        numbers = table.typed(self._plans[place].position).numbers
        assert numbers is not None
        return numbers

    def _regrouped(
        self,
        table: Table,
        positions: Mapping[int, int],
        feature: DisplayFeature,
        plans: tuple[int, ...],
        rows: np.ndarray | slice,
    ) -> np.ndarray:
        texts = [level for level in feature.levels if level != NONE][: len(plans)]
        codes = np.full(table.n_rows, len(plans), dtype=np.intp)
        seen = np.zeros(table.n_rows, dtype=np.intp)
        for rank, place in enumerate(plans):
            plan = self._plans[place]
            numbers = table.typed(positions[plan.position], plan.kind).numbers
            assert numbers is not None
            is_one = numbers == 1
            codes[is_one] = rank
            seen += is_one
        codes[seen > 1] = len(plans) + 1
        return _texts([*texts, NONE, SEVERAL], codes[rows])

    # -- new rows -----------------------------------------------------------------------------

    def _positions(self, table: Table) -> dict[int, int]:
        """Where each column in use lies in `table`."""
        used = [plan.position for plan in self._plans]
        if not (self._named and table.named):
            if table.n_columns != len(self.feature_names_in_):
                raise InputError(
                    f"X: {table.n_columns} columns were given and the encoder was fitted on "
                    f"{len(self.feature_names_in_)}. Without names, columns are found by position; "
                    "give the same ones in the same order."
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


class _Notes:
    """What fitting has to say, gathered so that a thousand columns make one notice."""

    def __init__(self) -> None:
        self.dropped: dict[Hashable, str] = {}
        self.missing: list[str] = []
        self.pooled: list[str] = []
        self.merged: list[str] = []
        self.text_numbers: list[Hashable] = []

    def drop(self, name: Hashable, reason: str) -> None:
        self.dropped[name] = reason

    def write(self, log: WarningLog) -> None:
        def names(*reasons: str) -> list[Hashable]:
            return [name for name, reason in self.dropped.items() if reason in reasons]

        constant = names("constant", "constant but for a few rows")
        if constant:
            log.note(
                "DroppedFeature",
                f"X: {len(constant):,} constant column(s) dropped: {listing(constant)}.",
            )
        empty = names("wholly missing")
        if empty:
            log.warn(
                FeatureWarning,
                f"X: {len(empty):,} column(s) hold no value at all and were dropped: "
                f"{listing(empty)}.",
            )
        rare = names("all levels rare")
        if rare:
            log.warn(
                FeatureWarning,
                f"X: {len(rare):,} column(s) dropped because no level has enough rows to be "
                f"compared: {listing(rare)}. Leave identifiers out; group the levels of others.",
            )
        if self.text_numbers:
            log.warn(
                FeatureWarning,
                f"X: {listing(self.text_numbers)} hold(s) numbers stored as text, read as labels. "
                "Convert with pandas.to_numeric if they are quantities.",
            )
        if self.pooled:
            log.note("PooledLevels", f"X: pooled into {OTHER!r}: ", listing(self.pooled), ".")
        if self.merged:
            log.note(
                "PooledLevels",
                "X: too few to stand alone even when pooled, encoded like the most frequent level: ",
                listing(self.merged),
                ".",
            )
        if self.missing:
            log.note(
                "MissingFeatureValues",
                "X: missing values have a level or an indicator column of their own (numbers are "
                "filled with the median): ",
                listing(self.missing),
                ".",
            )


def _refuse_infinite(numbers: np.ndarray | None, name: Hashable) -> None:
    if numbers is None or not len(numbers):
        return
    numbers = np.ascontiguousarray(numbers)
    # NaN are passed over, and are what is left if there is nothing else.
    lowest, highest = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
    largest = max(-lowest, highest)
    if np.isinf(largest):
        raise InputError(
            f"X: column {name!r} has {int(np.isinf(numbers).sum()):,} infinite value(s). Replace them "
            "by a finite bound, or by NaN if the value is unknown."
        )
    if largest > _LARGEST_NUMBER:
        raise InputError(
            f"X: column {name!r} has values as large as {largest:.3g}, too large to compare without "
            "overflow. Give it another unit, its logarithm for instance."
        )


def _median(values: np.ndarray) -> float:
    """Median without NaN; ``np.median`` takes six times as long to look for them."""
    middle = len(values) // 2
    parted = np.partition(values, middle)
    if len(values) % 2:
        return float(parted[middle])
    return float((parted[:middle].max() + parted[middle]) / 2.0)


def _only_zero_one(values: np.ndarray) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _places(labels: Labels) -> dict[Hashable, float]:
    """Place of each level in its order, counting the levels in use; unused ones lie between."""
    in_use = labels.counts > 0
    place = np.cumsum(in_use) - 1.0
    place[~in_use] += 0.5
    return dict(zip(labels.values, place.tolist(), strict=True))


def _level_texts(values: list[Hashable]) -> list[str]:
    texts = [str(python_value(value)) for value in values]
    return [
        repr(value) if texts.count(text) > 1 else text
        for value, text in zip(values, texts, strict=True)
    ]


def _are_numbers(values: Iterable[Hashable]) -> bool:
    try:
        return all(isinstance(value, str) and math.isfinite(float(value)) for value in values)
    except ValueError:
        return False


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
