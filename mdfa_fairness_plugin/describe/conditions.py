"""What a rule says: its conditions, the sentence they make, and the rows it covers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.cells import row_blocks, tally
from mdfa_fairness_plugin.describe.profile import as_levels, is_ordered, numeric_values
from mdfa_fairness_plugin.describe.wording import clock, is_missing, label_text, number, quantity

EVERYBODY: Final = "everybody"
NOBODY: Final = "nobody"
# From which share of a subgroup that meets a rule on it may be told by it.
MOSTLY: Final = 0.5

# What a condition must add to the correlation of rule and membership to be worth its words.
CONDITION_COST: Final = 0.01
DETAIL_COST: Final = 0.005  # a second end, "or missing"
LEVEL_COST: Final = 0.003  # each further category named

_SIMPLE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.")

# Values of one feature: numbers, or codes and the levels they stand for.
Values = np.ndarray | tuple[np.ndarray, tuple[Hashable, ...]]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One condition on one displayed feature: an interval ``low < value <= high``, or levels."""

    column: int  # position in the display frame
    name: str  # safe to show
    # "numeric", "datetime" (days since 1970), "time" (hours), a unit of durations, "categorical" or
    # "boolean"
    kind: str
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False  # all values are whole numbers, which changes the wording only
    missing: bool = False  # missing values belong too
    levels: tuple[Hashable, ...] = ()  # those named, None for the missing one
    negated: bool = False  # those named are left out

    @property
    def numeric(self) -> bool:
        """Whether the condition is on an ordered quantity."""
        return is_ordered(self.kind)

    @property
    def cost(self) -> float:
        """Cost of the condition's words, in units of the phi coefficient."""
        if self.numeric:
            two_ends = math.isfinite(self.low) and math.isfinite(self.high)
            more = self.missing and self.low != math.inf
            return CONDITION_COST + DETAIL_COST * (two_ends + more)
        return CONDITION_COST + LEVEL_COST * (len(self.levels) - 1)

    def met_by(self, values: Values) -> np.ndarray:
        """Whether each of some values of the feature meets the condition."""
        if isinstance(values, tuple):
            codes, levels = values
            named = set(self.levels)
            meets = np.array([(level in named) != self.negated for level in levels], dtype=bool)
            return meets[codes]
        meets = values <= self.high
        if self.low > -math.inf:
            meets &= values > self.low
        if self.missing:
            meets |= np.isnan(values)
        return meets

    @property
    def text(self) -> str:
        """The condition in words."""
        return f"{self.name} {self._interval_text() if self.numeric else self._level_text()}"

    def _interval_text(self) -> str:
        low, high = math.isfinite(self.low), math.isfinite(self.high)
        if self.low == math.inf:
            return "is missing"
        if not low and not high:
            return "is recorded"
        step = self.low + 1 if self.whole else math.nextafter(self.low, math.inf)
        one_value = step == self.high
        if self.kind in ("datetime", "time"):
            said = _date if self.kind == "datetime" else clock
            below, above = f"until {said(self.high)}", f"after {said(self.low)}"
            between = f"is {said(self.high)}" if one_value else f"{above} and {below}"
        elif self.whole:
            first, last = number(self.low + 1), quantity(self.high, self.kind)
            below, above = f"at most {last}", f"at least {quantity(self.low + 1, self.kind)}"
            between = f"is {last}" if one_value else f"from {first} to {last}"
        else:
            last = quantity(self.high, self.kind)
            below, above = f"at most {last}", f"above {quantity(self.low, self.kind)}"
            between = f"is {last}" if one_value else f"between {number(self.low)} and {last}"
        words = between if low and high else below if high else above
        return f"{words} (or missing)" if self.missing else words

    def _level_text(self) -> str:
        shown = [_quoted(level) for level in self.levels]
        if len(shown) == 1:
            return f"is {'not ' if self.negated else ''}{shown[0]}"
        *head, last = shown
        joined = f"{', '.join(head)} {'nor' if self.negated else 'or'} {last}"
        return f"is {'neither ' if self.negated else ''}{joined}"


def _date(days: float) -> str:
    return str(np.datetime64(int(days), "D")) if math.isfinite(days) else "ever"


def _quoted(level: Hashable) -> str:
    """Write a level's name, in quotes where it could be taken for the sentence around it."""
    if level is None or level == "(missing)":
        return "missing"
    text = label_text(level)
    bare = text.startswith(("(", "'")) or set(text) <= _SIMPLE
    return text if bare else f"'{text}'"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A short description of a subgroup, and how well it fits."""

    text: str = ""  # EVERYBODY, NOBODY, the conditions in words, or empty if no short rule fits
    alternatives: tuple[tuple[Condition, ...], ...] = ()  # at most two, one of which must hold
    # Mean of the shares of rows inside and outside the subgroup that the rule puts on the right
    # side: 1 is perfect, 1/2 no better than chance.
    fidelity: float = math.nan
    precision: float = math.nan  # share of the rule's rows that are in the subgroup
    recall: float = math.nan  # share of the subgroup's rows that the rule covers

    @property
    def n_conditions(self) -> int:
        """Conditions in all alternatives."""
        return sum(map(len, self.alternatives))

    def applies(self, display: pd.DataFrame, rows: np.ndarray | None = None) -> np.ndarray:
        """Whether the rule covers each row, or those at some positions, of a frame of its columns."""
        covered = np.full(len(display) if rows is None else len(rows), self.text == EVERYBODY)
        if not self.alternatives:
            return covered
        asked = [(c, i) for i, conjunction in enumerate(self.alternatives) for c in conjunction]
        features = dict.fromkeys((condition.column, condition.kind) for condition, _ in asked)
        for block in row_blocks(len(covered)):
            chosen = block if rows is None else rows[block]
            meets = np.ones((len(self.alternatives), len(covered[block])), dtype=bool)
            for column, kind in features:
                values = values_of(display, column, kind, chosen)
                for condition, i in asked:
                    if condition.column == column:
                        meets[i] &= condition.met_by(values)
            covered[block] = meets.any(axis=0)
        return covered


def sentence(alternatives: tuple[tuple[Condition, ...], ...]) -> str:
    """Say one or two conjunctions of conditions; what both ask for is said once."""
    if len(alternatives) == 1:
        return _and(alternatives[0])
    shared = [c for c in alternatives[0] if all(c in other for other in alternatives[1:])]
    rest = [tuple(c for c in one if c not in shared) for one in alternatives]
    if not all(rest):
        return _and(shared)
    if not shared:
        return ", or ".join(f"({_and(one)})" if len(one) > 1 else _and(one) for one in rest)
    return f"{_and(shared)} and ({', or '.join(_and(one) for one in rest)})"


def _and(conjunction: Iterable[Condition]) -> str:
    return " and ".join(condition.text for condition in conjunction)


def rule_fit(
    covered: np.ndarray, inside: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, Any]:
    """Measures of ``Rule`` of rows covered and rows inside, both some and not all, bool (n_rows,)."""
    neither, missed, extra, hits = tally(2 * covered.astype(np.int8) + inside, 4, weights).tolist()
    recall, rejected = hits / (hits + missed), neither / (neither + extra)
    return {
        "fidelity": (recall + rejected) / 2,
        "precision": hits / (hits + extra) if hits + extra > 0 else math.nan,
        "recall": recall,
    }


def values_of(display: pd.DataFrame, column: int, kind: str, rows: np.ndarray | slice) -> Values:
    """Values of one column in some rows as conditions compare them; dates as whole days."""
    series = display.iloc[:, column]
    plain = isinstance(series.dtype, np.dtype)
    series = pd.Series((series.to_numpy() if plain else series.array)[rows], copy=False)
    if kind == "datetime":
        return np.floor(numeric_values(series))
    if is_ordered(kind):
        return numeric_values(series)
    return _factorize(as_levels(series, kind))


def by_text(level: Hashable) -> tuple[bool, str]:
    """What sorts levels: by text, the missing one last."""
    return is_missing(level), str(level)


def _factorize(series: pd.Series) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Codes and levels sorted by text, the missing one None, whatever the rows' order."""
    codes, found = pd.factorize(series, use_na_sentinel=True)
    levels: list[Hashable] = [
        level.item() if isinstance(level, np.generic) else level for level in found
    ]
    if (codes < 0).any():
        codes = np.where(codes < 0, len(levels), codes)
        levels.append(None)
    order = sorted(range(len(levels)), key=lambda i: by_text(levels[i]))
    return np.argsort(order)[codes], tuple(levels[i] for i in order)
