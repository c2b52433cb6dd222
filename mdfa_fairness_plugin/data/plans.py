"""How one column is encoded as numbers, and what reports show of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from mdfa_fairness_plugin.data.columns import (
    MICROSECONDS_PER_DAY,
    Kind,
    Labels,
    TypedColumn,
    microseconds,
    objects,
    python_value,
)
from mdfa_fairness_plugin.exceptions import InputError

MISSING = "(missing)"
OTHER = "(other levels)"

# Squares must fit a double and the numbers themselves a single.
_LARGEST_NUMBER = 1e30

DisplayKind = Literal[
    "numeric", "boolean", "categorical", "datetime", "time", "days", "hours", "minutes", "seconds"
]
# Durations are shown as numbers of one of these, times of day as hours.
PER_DAY: Final[dict[DisplayKind, int]] = {
    "days": 1, "hours": 24, "minutes": 1_440, "seconds": 86_400,
}  # fmt: skip
_TWO_DIGITS = 10  # of the median before its point, for cut points that are no fractions of it
_PER_HOUR = MICROSECONDS_PER_DAY / 24

# What comes again and again in dates, given in days: after how many, and where in that each is.
DATE_PARTS: Final[dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]]] = {
    "weekday": (7, lambda days: (np.floor(days) + 3.0) % 7.0),  # Monday 0
    "month": (366, lambda days: microseconds(days).view("M8[us]").astype("M8[M]").astype(int) % 12),
    "hour": (1, lambda days: microseconds(days) % MICROSECONDS_PER_DAY / _PER_HOUR),
}


def parts_of(days: np.ndarray) -> tuple[str, ...]:
    """Parts of these dates that came again, and differ."""
    span = np.ptp(days)
    return tuple(name for name, (n, of) in DATE_PARTS.items() if span > n and np.ptp(of(days)) > 0)


def unit_of(days: np.ndarray) -> DisplayKind:
    """Unit that durations are read best in: days if all are whole ones, else by their median."""
    if (days == np.floor(days)).all():
        return "days"
    median = float(np.median(np.abs(days)))
    longest = (unit for unit, n in PER_DAY.items() if median * n >= _TWO_DIGITS)
    return next(longest, "seconds")


@dataclass(frozen=True, kw_only=True)
class NumberPlan:
    """Numbers, or places in an order, as they are; parts of dates; where they are missing."""

    position: int  # of the column in the table fitted to
    name: Hashable
    kind: Kind
    fill: float
    places: tuple[int, ...]  # of its encoded columns
    has_value: bool
    has_indicator: bool
    steps: Mapping[Hashable, float] | None = None  # ordinal: label -> place in its order
    levels: tuple[str, ...] = ()
    unit: DisplayKind | None = None  # that a duration is shown in
    parts: tuple[str, ...] = ()  # of dates, that have columns of their own

    @property
    def width(self) -> int:
        """Encoded columns."""
        return self.has_value + len(self.parts) + self.has_indicator

    @property
    def known_labels(self) -> Iterable[Hashable]:
        """Labels seen when fitting."""
        return self.steps or ()

    @property
    def shown(self) -> tuple[DisplayKind, tuple[str, ...]]:
        """As what kind it is shown, and with which levels if that is categorical."""
        if self.kind == "ordinal":
            return "categorical", (*self.levels, MISSING) if self.has_indicator else self.levels
        if self.kind == "timedelta":
            return self.unit or "days", ()
        return self.kind if self.kind in ("boolean", "datetime", "time") else "numeric", ()

    def encoded_names(self, label: str) -> list[str]:
        """Names of the encoded columns."""
        parts = [f"{label}: {part}" for part in self.parts]
        return [label] * self.has_value + parts + [f"{label} is missing"] * self.has_indicator

    def values(self, column: TypedColumn) -> np.ndarray:
        """Numbers, or places in the order; NaN where missing."""
        if self.steps is None:
            return column.numbers
        steps = [self.steps.get(value, np.nan) for value in column.labels.values]
        return np.array([*steps, np.nan])[column.labels.codes]

    def decoded(self, X: np.ndarray, own: np.ndarray | None) -> TypedColumn:
        """The column that encoded rows were made from."""
        values = X[:, self.places[0]].copy() if self.has_value else np.full(len(X), self.fill)
        if self.has_indicator:
            values[X[:, self.places[-1]] > 0] = np.nan
        if self.steps is None:
            return TypedColumn(kind=self.kind, numbers=values)
        order = sorted(self.steps, key=self.steps.__getitem__)
        codes = np.searchsorted([self.steps[one] for one in order], values)
        codes = np.where(np.isnan(values), -1, codes)
        labels = Labels(codes=codes, values=tuple(order), ordered=True)
        return TypedColumn(kind=self.kind, labels=labels)

    def column(self, values: np.ndarray, which: int) -> np.ndarray:
        """One encoded column of what ``values`` gave."""
        missing = np.isnan(values)
        if which >= self.has_value + len(self.parts):
            return missing
        known = np.where(missing, self.fill, values) if missing.any() else values
        return DATE_PARTS[self.parts[which - 1]][1](known) if which else known

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write what ``values`` gave for some rows into these rows of zeros."""
        for which, place in enumerate(self.places):
            out[:, place] = self.column(values, which)

    def count_unseen(self, column: TypedColumn) -> int:
        """Rows without a value, where none was missing when fitting."""
        return 0 if self.has_indicator else int(np.isnan(self.values(column)).sum())

    def shown_as_encoded(self, column: TypedColumn) -> bool:
        """Whether reports show the very numbers of the encoded column."""
        return (
            self.kind in ("numeric", "boolean")
            and self.has_value
            and not (self.has_indicator or np.isnan(self.values(column)).any())
        )

    def display(self, column: TypedColumn, rows: np.ndarray | slice) -> Any:
        """Rows as reports show them."""
        if self.steps is not None:
            known = [
                str(value) if value in self.steps else MISSING for value in column.labels.values
            ]
            return texts([*known, MISSING], column.labels.codes[rows])
        values = self.values(column)[rows]
        if self.kind == "datetime":
            return microseconds(values).view("M8[us]")
        if self.kind in ("timedelta", "time"):
            per_day = 24 if self.kind == "time" else PER_DAY[self.unit or "days"]
            return np.round(values * MICROSECONDS_PER_DAY) / (MICROSECONDS_PER_DAY // per_day)
        return values.copy() if isinstance(rows, slice) else values


@dataclass(frozen=True, kw_only=True)
class LevelPlan:
    """Unordered labels: one 0/1 column per level, ``"(other levels)"`` and ``"(missing)"`` last."""

    position: int
    name: Hashable
    places: tuple[int, ...]
    levels: tuple[str, ...]
    targets: Mapping[Hashable, int]  # label seen when fitting -> place in `levels`, -1 if nowhere
    other: int  # where unseen labels go; -1: all zeros
    missing: int
    shown_as_other: frozenset[Hashable]
    kind: Kind = "categorical"

    @property
    def width(self) -> int:
        """Encoded columns."""
        return len(self.levels)

    @property
    def known_labels(self) -> Iterable[Hashable]:
        """Labels seen when fitting."""
        return self.targets

    def own_levels(self, column: TypedColumn) -> np.ndarray:
        """Code of each row's own level; -1 where it is missing or new."""
        codes = {value: code for code, value in enumerate(self.targets)}
        known = [codes.get(value, -1) for value in column.labels.values]
        return np.array([*known, -1], dtype=np.int32)[column.labels.codes]

    def decoded(self, X: np.ndarray, own: np.ndarray | None) -> TypedColumn:
        """The column that encoded rows were made from; ``own`` are what ``own_levels`` gave."""
        labels = tuple(self.targets)
        if own is None:
            label_of = np.full(self.width + 1, -1)
            label_of[list(self.targets.values())] = np.arange(len(labels))
            at = X[:, list(self.places)]
            own = label_of[np.where(at.any(axis=1), at.argmax(axis=1), self.width)]
        return TypedColumn(kind=self.kind, labels=Labels(codes=own, values=labels))

    @property
    def shown(self) -> tuple[DisplayKind, tuple[str, ...]]:
        """As what kind it is shown, and with which levels."""
        more = self.shown_as_other and OTHER not in self.levels
        return "categorical", (*self.levels, OTHER) if more else self.levels

    def encoded_names(self, label: str) -> list[str]:
        """Names of the encoded columns."""
        return [f"{label}={level}" for level in self.levels]

    def values(self, column: TypedColumn) -> np.ndarray:
        """Place of each row's level, -1 if nowhere, in the smallest type that holds them."""
        targets = [self.targets.get(value, self.other) for value in column.labels.values]
        small = np.min_scalar_type(-len(self.levels))
        return np.array([*targets, self.missing], dtype=small)[column.labels.codes]

    def column(self, values: np.ndarray, which: int) -> np.ndarray:
        """One encoded column of what ``values`` gave."""
        return values == which

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write what ``values`` gave for some rows into these rows of zeros."""
        rows = np.flatnonzero(values >= 0)
        out[rows, np.array(self.places)[values[rows]]] = 1.0

    def count_unseen(self, column: TypedColumn) -> int:
        """Rows with a new label, or with none if fitting saw none missing."""
        new = [value not in self.targets for value in column.labels.values]
        return int(np.array([*new, self.missing < 0])[column.labels.codes].sum())

    def shown_as_encoded(self, column: TypedColumn) -> bool:
        """Labels are shown as text."""
        return False

    def display(self, column: TypedColumn, rows: np.ndarray | slice) -> Any:
        """Rows as reports show them."""
        shown = []
        for value in column.labels.values:
            place = -1 if value in self.shown_as_other else self.targets.get(value, -1)
            shown.append(self.levels[place] if place >= 0 else OTHER)
        return texts([*shown, MISSING], column.labels.codes[rows])


Plan = NumberPlan | LevelPlan


def leveled(plans: Sequence[Plan], unshown: Sequence[LevelPlan]) -> tuple[LevelPlan, ...]:
    """Plans whose levels share encoded columns, and those that have none."""
    levels = [plan for plan in plans if isinstance(plan, LevelPlan)]
    own = [plan for plan in levels if len(set(plan.targets.values())) < len(plan.targets)]
    own.sort(key=lambda plan: plan.places)
    return (*own, *sorted(unshown, key=lambda plan: str(plan.name)))


def refuse_infinite(numbers: np.ndarray | None, name: Hashable, argument: str = "X") -> None:
    """Refuse numbers of a column that nothing can be computed with."""
    if numbers is None or not len(numbers):
        return
    numbers = np.ascontiguousarray(numbers)
    # NaN are passed over, and are what is left if there is nothing else.
    lowest, highest = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
    largest = max(-lowest, highest)
    if np.isinf(largest):
        raise InputError(
            f"{argument}: column {name!r} has {int(np.isinf(numbers).sum()):,} infinite value(s). "
            "Replace them by a finite bound, or by NaN if the value is unknown."
        )
    if largest > _LARGEST_NUMBER:
        raise InputError(
            f"{argument}: column {name!r} has values as large as {largest:.3g}, too large to compare "
            "without overflow. Give it another unit, its logarithm for instance."
        )


def steps_of(labels: Labels) -> dict[Hashable, float]:
    """Place of each level in its order, counting the levels in use; unused ones lie between."""
    in_use = labels.counts > 0
    place = np.cumsum(in_use) - 1.0
    place[~in_use] += 0.5
    return dict(zip(labels.values, place.tolist(), strict=True))


def level_texts(values: list[Hashable]) -> list[str]:
    """Levels as text, in which no two are the same."""
    texts = [str(python_value(value)) for value in values]
    return [
        repr(value) if texts.count(text) > 1 else text
        for value, text in zip(values, texts, strict=True)
    ]


def texts(levels: list[str], codes: np.ndarray) -> np.ndarray:
    """Text of each row, as objects."""
    return objects(levels)[codes]
