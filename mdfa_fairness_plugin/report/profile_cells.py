"""Profiles without the numbers that tell of a few people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.plans import DATE_PARTS
from mdfa_fairness_plugin.describe.profile import DIFFERENCE, MISSING, OTHERS, PARTS, VALUES
from mdfa_fairness_plugin.describe.subgroups import QUANTILES
from mdfa_fairness_plugin.describe.subgroups import ROWS as AMOUNTED
from mdfa_fairness_plugin.describe.wording import label_text
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.report.cells import Kept, profile_columns

# Mean and deviation of fewer values than this tell how many rows have each.
_FEWEST_VALUES: Final = 6
# What names of encoded columns add to those of dates.
_DATE_PARTS: Final = tuple(f": {part}" for part in DATE_PARTS)
# Feature, level and statistic of every line.
Lines = list[tuple[str, ...]]


def printed_profile(profile: pd.DataFrame, min_cell: int, kept: Kept | None = None) -> pd.DataFrame:
    """Profile whose small levels, and the ones that would give these away, are None.

    ``kept`` says which counts are printed beside it, if any are. Empty if the layout is unknown.
    """
    own = profile_columns(profile)
    if own is None:
        return pd.DataFrame()
    lines = [tuple(str(part) for part in key) for key in profile.index]
    given = profile.to_numpy(dtype=float)
    numbers = given.copy()
    for side in (0, 1):
        columns = own[0][side], own[1][side]
        _hide_levels(numbers, lines, columns, min_cell)
        _hide_means(numbers, lines, columns, profile.attrs.get(VALUES, {}), side, min_cell)
        if kept is not None and kept.has_table:
            _hide_what_tells_of_counts(numbers, lines, columns, kept, side)
    hidden = np.isnan(numbers) & ~np.isnan(given)
    if DIFFERENCE in list(profile.columns):
        place = [tuple(label) for label in profile.columns].index(DIFFERENCE)
        hidden[:, place] = hidden.any(axis=1) & ~np.isnan(given[:, place])
    cells = given.astype(object)
    cells[hidden] = None
    return pd.DataFrame(cells, index=profile.index, columns=profile.columns, dtype=object)


def _hide_what_tells_of_counts(
    numbers: np.ndarray, lines: Lines, columns: tuple[int, int], kept: Kept, side: int
) -> None:
    """Withhold rows of a side, and its share with the outcome, unless all its counts are printed."""
    whole, inside = columns
    if not kept.told(("rows", side)):
        numbers[0, inside] = math.nan
    if not kept.told(("rows of all", side)):
        numbers[0, whole] = math.nan
    if len(lines) < 2 or lines[1][1:] != ("", "share"):
        return
    for part, column in (("all", whole), ("in", inside)):
        cells = [name for name in kept.sums if isinstance(name, tuple) and len(name) == 3]
        if not all(kept.told(name) for name in cells if name[:2] == (part, side)):
            numbers[1, column] = math.nan


def _hide_levels(
    numbers: np.ndarray, lines: Lines, columns: tuple[int, int], min_cell: int
) -> None:
    """Withhold in two columns: everybody of one sensitive value, and those in the subgroup."""
    both = list(columns)
    n, n_in = numbers[0, columns[0]], numbers[0, columns[1]]
    if 0 < n < min_cell:
        numbers[:, both] = math.nan
        return
    if 0 < n_in < min_cell or 0 < n - n_in < min_cell:
        numbers[:, columns[1]] = math.nan
    blocks: dict[tuple[str, bool], list[int]] = {}
    n_shares = Counter(name for name, _, statistic in lines if statistic == "share")
    own: dict[str, list[int]] = {}
    for i, (name, level, statistic) in enumerate(lines):
        own.setdefault(name, []).append(i)
        if statistic == "share":
            # The outcome, a missing value: one share stands for two levels.
            alone = level in ("", MISSING) and n_shares[name] == 1
            blocks.setdefault((name, alone), []).append(i)
    for (name, alone), rows in blocks.items():
        share, share_in = numbers[rows, columns[0]], numbers[rows, columns[1]]
        if np.isnan(share).any():
            continue
        parts = [np.round(share * n)]
        if not np.isnan(share_in).any():
            parts.append(np.round(share_in * n_in))
        if alone:
            sizes = (n, n_in)
            parts = [np.append(x, of - x.sum()) for x, of in zip(parts, sizes, strict=False)]
        hide = _levels_to_hide(parts, min_cell, zeros=alone and rows == [1])
        for place, row in enumerate(rows):
            if hide[place]:
                numbers[row, both] = math.nan
        # Few recorded values: no mean of them either.
        few_recorded = any(0 < x[-1] < min_cell for x in parts)
        if alone and lines[rows[0]][1] == MISSING and hide.any() and few_recorded:
            numbers[np.ix_(own[name], both)] = math.nan


def _levels_to_hide(parts: list[np.ndarray], min_cell: int, *, zeros: bool) -> np.ndarray:
    """Levels of one feature to withhold: small ones, and enough others to hide them behind.

    ``parts`` are the counts of its levels among everybody and, if known, in the subgroup.
    """
    counts = parts[0]
    if len(parts) == 2:
        parts = [*parts, counts - parts[1]]

    def small(x: np.ndarray) -> np.ndarray:
        few = (x > 0) & (x < min_cell)
        return few | ((x == 0) & (x.sum() > 0)) if zeros else few

    hide = np.any([small(x) for x in parts], axis=0)
    if not hide.any():
        return hide
    needing = [x for x in parts if small(x).any()]
    for level in [None, *np.argsort(counts, kind="stable")]:
        if level is not None:
            hide[level] = True
        enough = all(x[hide].sum() >= min_cell or x[hide].sum() == 0 for x in needing)
        if hide.sum() >= 2 and enough:
            break
    return hide


def _hide_means(
    numbers: np.ndarray,
    lines: Lines,
    columns: tuple[int, int],
    values: Mapping[str, Any],
    side: int,
    min_cell: int,
) -> None:
    """Withhold mean and deviation where these tell how many rows have a rare value."""
    whole, inside = columns
    for i, (name, _, statistic) in enumerate(lines):
        if not statistic.startswith(("mean", "sd")):
            continue
        counted = values.get(name)
        # Nothing may be known of its values.
        if counted is None or tells_of_few(counted[side], min_cell):
            numbers[i, [whole, inside]] = math.nan
        elif any(tells_of_few(counted[part + side], min_cell) for part in (2, 4)):
            numbers[i, inside] = math.nan


def tells_of_few(counted: tuple[int, ...], min_cell: int) -> bool:
    """Whether a mean of numbers, counted by their values, tells how many have a rare one."""
    n_values, n_others, n_rarest = counted
    if n_values == 0:
        return False
    return n_others < min_cell or (n_values < _FEWEST_VALUES and n_rarest < min_cell)


def mean_of_few(violation: Violation, min_cell: int) -> bool:
    """Whether a mean in a subgroup, or outside it, tells how many of a side have a rare number."""
    counted = violation.amounts.attrs.get(VALUES, {}).values()
    return any(tells_of_few(own, min_cell) for of_sides in counted for own in of_sides)


def printed_amounts(violation: Violation, min_cell: int) -> pd.DataFrame:
    """Quantiles with enough people on either side, rounded so that they are nobody's own."""
    frame = violation.amounts
    if frame.empty:
        return frame
    shares, n = np.array([*QUANTILES.values()]), frame[AMOUNTED].to_numpy(dtype=float)
    values = frame[list(QUANTILES)].to_numpy(dtype=float, copy=True)
    few = n[:, np.newaxis] * np.minimum(shares, 1 - shares) < min_cell
    values[few] = math.nan
    if not 0 < violation.outcome_sd < math.inf:
        return pd.DataFrame()
    step = 10.0 ** math.floor(math.log10(violation.outcome_sd / 10.0))
    rounded = np.round(np.round(values / step) * step, 12)
    return pd.DataFrame(rounded, index=frame.index, columns=list(QUANTILES))


# -- differences between the groups, feature by feature


class ProfiledFeatures:
    """Which encoded features a profile speaks of, and of which of them it withholds a line.

    The difference of an indicator gives the share of its level on either side.
    """

    def __init__(self, result: AuditRecord, given: pd.DataFrame, printed: pd.DataFrame) -> None:
        self._owners = _owners(result)
        self._lines: set[tuple[str, str]] = set()
        self._hidden: set[tuple[str, str]] = set()
        self._names: set[str] = set()
        self._telling: set[str] = set()  # names of which a line is withheld
        if printed.empty:
            return
        everybody = [str(label[0]) == PARTS[0] for label in given.columns]
        # Frames copy what they count of every feature, arrays do not.
        lost = np.isnan(printed.to_numpy(dtype=float)) & ~np.isnan(given.to_numpy(dtype=float))
        keys = [(str(name), str(level)) for name, level, _ in given.index]
        self._lines.update(keys)
        self._hidden.update(
            key for key, n in zip(keys, lost[:, everybody].any(axis=1), strict=True) if n
        )
        self._names.update(name for name, _ in self._lines)
        self._telling.update(name for name, _ in self._hidden)

    def may_tell_of(self, encoded: str) -> bool:
        """Whether the profile has the lines of an encoded feature, and withholds none of them.

        A column whose owner is not known is found by name. Columns of levels that are not listed
        one by one may be of a few rows.
        """
        owner = self._owners.get(encoded)
        if owner is not None and not encoded.startswith(owner):
            return self._listed(owner)
        found = False
        for name in self._names.intersection(encoded[:end] for end in range(len(encoded) + 1)):
            rest = encoded[len(name) :]
            # The mean of recorded numbers says nothing of how many are missing.
            of_numbers = rest in ("", *_DATE_PARTS) and (name, "") in self._lines
            if self._is_own(name, rest):
                if (name, "") in self._hidden if of_numbers else name in self._telling:
                    return False
                found = True
        return found

    def may_tell_of_whole(self, feature: str) -> bool:
        """Whether the profile lists a feature itself, with all of its levels, and withholds no line."""
        return self._listed(label_text(feature))

    def _listed(self, name: str) -> bool:
        return (
            name in self._names and (name, OTHERS) not in self._lines and name not in self._telling
        )

    def _is_own(self, name: str, rest: str) -> bool:
        """Whether a column named so, with this rest, is of the feature."""
        if rest in ("", *_DATE_PARTS):
            return True
        if rest == " is missing":
            return (name, MISSING) in self._lines
        listed = (name, rest[1:]) in self._lines or (name, OTHERS) not in self._lines
        return rest.startswith("=") and listed


def _owners(result: AuditRecord) -> dict[str, str]:
    """Name in the profile of the feature each encoded column belongs to, as far as it is known."""
    encoder = getattr(getattr(result.source, "problem", None), "encoder", None)
    names = getattr(encoder, "encoded_names_", ())
    return {
        str(names[column]): label_text(display.name)
        for display in getattr(encoder, "displays_", ())
        for column in display.encoded_columns
    }
