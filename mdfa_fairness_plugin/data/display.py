"""Encoded features as people read them: one-hot columns are one feature again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import TypedColumn
from mdfa_fairness_plugin.data.plans import DisplayKind, LevelPlan, Plan, texts

NONE = "(none)"
SEVERAL = "(several)"

# Gives the column that a plan encodes.
Reader = Callable[[Plan], TypedColumn]


@dataclass(frozen=True, kw_only=True)
class DisplayFeature:
    """One feature as reports show it."""

    name: str  # unique among the features shown
    kind: DisplayKind
    plans: tuple[Plan, ...]  # how its columns are encoded; several for a one-hot group
    levels: tuple[str, ...] = ()  # values it is shown with, if categorical

    @property
    def source_columns(self) -> tuple[Hashable, ...]:
        """Columns of the input."""
        return tuple(plan.name for plan in self.plans)

    @property
    def encoded_columns(self) -> tuple[int, ...]:
        """Places of its encoded columns."""
        return tuple(place for plan in self.plans for place in plan.places)

    @property
    def ordered(self) -> bool:
        """Whether it is an ordered categorical: a single encoded column, the level's place."""
        return self.plans[0].kind == "ordinal"

    def values(self, read: Reader, rows: np.ndarray | slice) -> np.ndarray:
        """Rows as reports show them."""
        if len(self.plans) == 1:
            return self.plans[0].display(read(self.plans[0]), rows)
        n_rows, n_plans = len(read(self.plans[0]).numbers), len(self.plans)
        codes = np.full(n_rows, n_plans, dtype=np.intp)
        seen = np.zeros(n_rows, dtype=np.intp)
        for rank, plan in enumerate(self.plans):
            is_one = read(plan).numbers == 1
            codes[is_one] = rank
            seen += is_one
        codes[seen > 1] = n_plans + 1
        return texts([*self.levels[:n_plans], NONE, SEVERAL], codes[rows])


class ToldFeature(NamedTuple):
    """A feature as models are told of it, by places of its columns."""

    name: str
    encoded: tuple[int, ...]
    levels: tuple[int, ...]  # of its codes of levels


def told_features(
    displays: Sequence[DisplayFeature], leveled: Sequence[LevelPlan]
) -> tuple[ToldFeature, ...]:
    """Every feature that is shown, and those of which models are told levels alone."""
    shown = []
    for one in displays:
        levels = tuple(i for i, plan in enumerate(leveled) if plan.name in one.source_columns)
        shown.append(ToldFeature(one.name, one.encoded_columns, levels))
    found = {place for one in shown for place in one.levels}
    others = [i for i in range(len(leveled)) if i not in found]
    return (*shown, *(ToldFeature(str(leveled[i].name), (), (i,)) for i in others))


def find_shown(
    plans: Sequence[Plan], labels: Mapping[Hashable, str], read: Reader, n_rows: int
) -> tuple[DisplayFeature, ...]:
    """Features to show, one-hot groups where their first column stands; `labels` are plans' names."""
    shown: dict[int, DisplayFeature] = {}
    grouped: set[int] = set()
    for members, one in _one_hot_groups(plans, labels, read, n_rows):
        shown[members[0]] = one
        grouped |= set(members)
    for place, plan in enumerate(plans):
        if place not in grouped:
            kind, levels = plan.shown
            name = labels[plan.name]
            shown[place] = DisplayFeature(name=name, kind=kind, plans=(plan,), levels=levels)
    return tuple(shown[place] for place in sorted(shown))


def display_frame(
    shown: Sequence[DisplayFeature],
    read: Reader,
    rows: np.ndarray | None,
    encoded: np.ndarray | None,
) -> pd.DataFrame:
    """Rows as reports show them, from their `encoded` matrix where that has the same numbers."""
    chosen: np.ndarray | slice = slice(None) if rows is None else rows
    shared = None
    if encoded is not None:
        shared = encoded.view()
        shared.flags.writeable = False
    columns: dict[str, pd.Series] = {}
    places = []
    for one in shown:
        plan = one.plans[0]
        if shared is not None and len(one.plans) == 1 and plan.shown_as_encoded(read(plan)):
            values = shared[:, plan.places[0]]
            places.append(plan.places[0])
        else:
            values = one.values(read, chosen)
        columns[one.name] = pd.Series(values, copy=False)
    if shared is not None and places == list(range(shared.shape[1])):
        # In one piece, so that choosing rows copies whole rows.
        return pd.DataFrame(shared, columns=list(columns), copy=False)
    return pd.DataFrame(columns, copy=False)


def _one_hot_groups(
    plans: Sequence[Plan], labels: Mapping[Hashable, str], read: Reader, n_rows: int
) -> Iterator[tuple[list[int], DisplayFeature]]:
    """Find groups of 0/1 columns that spell one categorical feature.

    ``"="`` and ``": "`` are read as one-hot on sight; ``"_"`` is common in other names, so
    there the columns must also cover nearly all rows. The longest prefix that qualifies wins,
    so ``marital_status_single`` is a level of ``marital_status``.
    """
    binary = {i: plan for i, plan in enumerate(plans) if plan.kind == "boolean" and plan.width == 1}
    free = {i: plan.name for i, plan in binary.items() if isinstance(plan.name, str)}
    candidates: dict[tuple[int, str, str], list[int]] = {}
    for place, name in free.items():
        for rank, separator in enumerate(("=", ": ", "_")):
            at = name.find(separator)
            while at > 0:
                key = (rank, name[:at], separator)
                candidates.setdefault(key, []).append(place)
                at = name.find(separator, at + 1) if separator == "_" else -1
    totals: dict[int, float] = {}
    prefixes: set[str] = set()
    single = {labels[plan.name] for plan in plans}
    for (rank, prefix, separator), members in sorted(
        candidates.items(), key=lambda item: (item[0][0], -len(item[0][1]), item[0][1])
    ):
        members = [place for place in members if place in free]
        if len(members) < 2 or prefix in prefixes:
            continue
        for place in members:
            if place not in totals:
                totals[place] = float(read(plans[place]).numbers.sum())
        covered = sum(totals[place] for place in members)
        least = 0.9 * n_rows if rank == 2 else 0.0
        if covered > n_rows or covered < least:
            continue
        ones = np.zeros(n_rows)
        for place in members:
            ones += read(plans[place]).numbers
        levels = tuple(free[place][len(prefix) + len(separator) :] for place in members)
        if ones.max() > 1 or "" in levels:
            continue
        prefixes.add(prefix)
        for place in members:
            del free[place]
        yield (
            members,
            DisplayFeature(
                name=f"{prefix} (one-hot)" if prefix in single else prefix,
                kind="categorical",
                plans=tuple(plans[place] for place in members),
                levels=(*levels, NONE) if ones.min() < 1 else levels,
            ),
        )
