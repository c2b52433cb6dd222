"""Validate: sensitive columns become contrasts, each value against those it is compared with."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import (
    Labels,
    Table,
    as_list,
    find_label,
    is_fractional,
    listing,
    python_value,
    read_labels,
)
from mdfa_fairness_plugin.data.encoding import MISSING
from mdfa_fairness_plugin.exceptions import (
    Count,
    InputError,
    LeakedFeatureWarning,
    Message,
    MissingSensitiveWarning,
    SmallGroupWarning,
    WarningLog,
)

UNNAMED = "sensitive_feature"
JOINT = " & "

# Above these, a column of numbers is a measurement rather than a set of groups.
_MOST_WHOLE_VALUES = 50
_MOST_FRACTIONAL_VALUES = 20

# A contrast holds one int8 per row; together they may take this much.
_LARGEST_CONTRASTS_BYTES = 2**30


@dataclass(frozen=True, kw_only=True, eq=False)
class Contrast:
    """One sensitive value against its reference.

    Parameters
    ----------
    sensitive_feature : str
        Column it comes from; ``"race & sex"`` for an intersection.
    group : hashable
        The value as the user gave it; a tuple for an intersection.
    reference : hashable or None
        Value it is compared with. None: everybody else.
    s : ndarray of int8 of shape (n_rows,)
        +1 in the group, -1 in the reference, 0 not compared.
    reason : str or None
        Why it cannot be audited; None if it can.
    """

    sensitive_feature: str
    group: Hashable
    reference: Hashable | None
    s: np.ndarray
    reason: str | None = None

    @property
    def rows(self) -> np.ndarray:
        """Rows that are compared, bool of shape (n_rows,)."""
        return self.s != 0


# ---------------------------------------------------------------------------------------------
# Sensitive features


@dataclass(frozen=True, kw_only=True, eq=False)
class SensitiveFeature:
    """One sensitive column as labels."""

    name: str
    labels: Labels

    def take(self, rows: np.ndarray) -> SensitiveFeature:
        """Return these rows, in this order."""
        labels = Labels(
            codes=self.labels.codes[rows], values=self.labels.values, ordered=self.labels.ordered
        )
        return SensitiveFeature(name=self.name, labels=labels)


def read_sensitive(
    table: Table, missing: str, rows: np.ndarray, log: WarningLog, excluded: dict[str, int]
) -> list[SensitiveFeature]:
    """Read sensitive columns and apply the policy for missing values.

    Parameters
    ----------
    table : Table
        The columns, working rows only.
    missing : {"exclude", "category", "raise"}
    rows : ndarray of intp of shape (n_rows,)
        Input row each working row is.
    log : WarningLog
    excluded : dict of str to int
        Gains the number of input rows without a value, per column.
    """
    columns = []
    for position, name in enumerate(table.names):
        text = str(name)
        array = table.array(position)
        labels = read_labels(array, f"sensitive_features: column {text!r}")
        if not isinstance(array, pd.Categorical):
            refuse_measurements(text, labels.values)
        absent = labels.codes < 0
        n_missing = len(np.unique(rows[absent]))
        if n_missing:
            if missing == "raise":
                raise InputError(
                    f"sensitive_features: {n_missing:,} rows have no value in {text!r}. Fill them, "
                    "or pass missing='exclude' (not compared, and counted) or missing='category' "
                    "(a group of their own)."
                )
            if missing == "category":
                place = find_label(MISSING, labels.values)
                if place is None:
                    place = len(labels.values)
                    labels = Labels(codes=labels.codes, values=(*labels.values, MISSING))
                labels = Labels(codes=np.where(absent, place, labels.codes), values=labels.values)
            else:
                excluded[f"missing sensitive value ({text})"] = n_missing
                log.warn(
                    MissingSensitiveWarning,
                    "sensitive_features: ",
                    Count(n_missing),
                    f" have no value in {text!r} and are not compared. "
                    "Pass missing='category' to audit them as a group.",
                )
        n_present = int((labels.counts > 0).sum())
        if n_present < 2:
            only = labels.used().values
            found = f"only {only[0]!r} was found" if only else "every value is missing"
            raise InputError(
                f"sensitive_features: nothing to compare in {text!r}: {found}. At least two "
                "values are needed."
            )
        columns.append(SensitiveFeature(name=text, labels=labels))
    if len({column.name for column in columns}) < len(columns):
        raise InputError(
            f"sensitive_features: column names must differ as text: {listing(table.names)}."
        )
    return columns


def refuse_measurements(name: str, values: tuple[Hashable, ...]) -> None:
    """Refuse a sensitive column that holds a measurement rather than groups.

    Parameters
    ----------
    name : str
    values : tuple
        Every value found.

    Raises
    ------
    InputError
    """
    if len(values) <= _MOST_FRACTIONAL_VALUES:
        return
    is_number = [
        isinstance(value, (Real, Decimal)) and not isinstance(value, bool) for value in values
    ]
    is_date = [isinstance(value, (pd.Timestamp, pd.Timedelta)) for value in values]
    many = len(values) > _MOST_WHOLE_VALUES
    if all(is_number) and (many or any(is_fractional(value) for value in values)):
        what = "numbers"
    elif all(is_date) and many:
        what = "dates"
    else:
        return
    raise InputError(
        f"sensitive_features: {name!r} holds {len(values):,} different {what}, which are no "
        f"groups. Bin them first, as in pandas.cut({name}, bins=4) or pandas.qcut({name}, q=4); if "
        "they are codes, say so with .astype('category')."
    )


def leaked_features(
    table: Table, columns: list[SensitiveFeature], log: WarningLog
) -> dict[Hashable, str]:
    """Find features that repeat a sensitive column, or tell one of its values from the rest.

    Parameters
    ----------
    table : Table
        The features, working rows only.
    columns : list of SensitiveFeature
    log : WarningLog
        Gains a warning per sensitive column that is repeated.

    Returns
    -------
    dict of column name to reason
    """
    leaks: dict[Hashable, str] = {}
    for column in columns:
        # With hardly two rows per value, any measurement is a one-to-one relabelling.
        if 2 * len(column.labels.values) > table.n_rows:
            continue
        probe = _Probe(column)
        found = [
            name
            for position, name in enumerate(table.names)
            if name not in leaks and probe.is_repeated_by(table, position)
        ]
        if found:
            leaks.update(dict.fromkeys(found, f"repeats the sensitive feature {column.name!r}"))
            log.warn(
                LeakedFeatureWarning,
                f"X: dropped {listing(found)}, which repeat(s) the sensitive feature "
                f"{column.name!r}: people who differ in it cannot be alike in every feature.",
            )
    return leaks


class _Probe:
    """Compares features with one sensitive column on the rows where it is known."""

    def __init__(self, column: SensitiveFeature) -> None:
        labels = column.labels.used()
        known = labels.codes >= 0
        self.rows = None if known.all() else np.flatnonzero(known)
        self.codes = labels.codes if self.rows is None else labels.codes[self.rows]
        self.counts = np.bincount(self.codes)
        self.first = np.unique(self.codes, return_index=True)[1]

    def is_repeated_by(self, table: Table, position: int) -> bool:
        if table.matrix is not None:
            count = np.diff(table.matrix.indptr[position : position + 2])[0]
            if count < self.counts.min():
                return False
        column = table.typed(position)
        if column.labels is not None:
            values: np.ndarray = column.labels.codes
        else:
            assert column.numbers is not None
            values = column.numbers
        if self.rows is not None:
            values = values[self.rows]
        # A feature that is a function of the sensitive value takes a single value in each group.
        image = values[self.first]
        head = slice(0, 1000)
        if not _same(image[self.codes[head]], values[head]).all():
            return False
        if not _same(image[self.codes], values).all():
            return False
        distinct, sizes = np.unique(image, return_counts=True)
        return len(distinct) == len(image) or (len(distinct) == 2 and bool((sizes == 1).any()))


def _same(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if left.dtype.kind != "f":
        return left == right
    return (left == right) | (np.isnan(left) & np.isnan(right))


# ---------------------------------------------------------------------------------------------
# Contrasts


def build_contrasts(
    columns: list[SensitiveFeature],
    y: np.ndarray,
    outcome_labels: tuple[Hashable, ...],
    *,
    groups: Any,
    reference_group: Any,
    intersections: bool,
    min_group_size: int,
    log: WarningLog,
) -> tuple[Contrast, ...]:
    """Compare each sensitive value asked for with its reference.

    Parameters
    ----------
    columns : list of SensitiveFeature
    y : ndarray of intp of shape (n_rows,)
        Position in `outcome_labels`.
    outcome_labels : tuple
    groups, reference_group, intersections, min_group_size
        As in `build_problem`.
    log : WarningLog

    Returns
    -------
    tuple of Contrast
        Column by column, in the order of their values; intersections last.
    """
    parts = columns
    columns = list(with_intersections(parts, intersections))
    wanted = _select("groups", groups, columns)
    references = _references(reference_group, columns)
    if len(columns) > len(parts):
        _spread_to_joint(columns, wanted, references)
    n_contrasts = sum(
        len(column.labels.values if places is None else places)
        for column, places in zip(columns, wanted, strict=True)
    )
    if n_contrasts * len(y) > _LARGEST_CONTRASTS_BYTES:
        raise InputError(
            f"sensitive_features: {n_contrasts:,} groups over {len(y):,} rows are too many to "
            "compare. Merge values into fewer groups, or name those to audit with groups=."
        )
    out: list[Contrast] = []
    for column, places, reference in zip(columns, wanted, references, strict=True):
        found = _column_contrasts(column, places, reference, y, outcome_labels, min_group_size)
        small = [
            Message(f"{contrast.group!r} (", contrast.reason, ")")
            for contrast in found
            if contrast.reason is not None
        ]
        if small:
            log.warn(
                SmallGroupWarning,
                f"sensitive_features: {len(small):,} of {len(found):,} groups of {column.name!r} "
                "cannot be audited and are listed as insufficient evidence: ",
                listing(small, 5),
                ".",
            )
        out += found
    if not out:
        raise InputError(
            "groups: nothing is left to compare, since the only group named is the reference. "
            "Name another group, or another reference_group."
        )
    return tuple(out)


def with_intersections(
    columns: list[SensitiveFeature], intersections: bool
) -> tuple[SensitiveFeature, ...]:
    """Columns, followed by the combination of all of them if asked for and there are several."""
    if intersections and len(columns) > 1:
        return (*columns, _joint(columns))
    return tuple(columns)


def _joint(columns: list[SensitiveFeature]) -> SensitiveFeature:
    """Combine columns; values are the combinations some row has."""
    key = np.zeros(len(columns[0].labels.codes), dtype=np.int64)
    missing = np.zeros(len(key), dtype=bool)
    for column in columns:
        codes = column.labels.codes
        missing |= codes < 0
        key = key * len(column.labels.values) + np.maximum(codes, 0)
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    _, first, inverse = np.unique(key[~missing], return_index=True, return_inverse=True)
    rows = np.flatnonzero(~missing)[first]
    codes = np.full(len(key), -1, dtype=np.intp)
    codes[~missing] = inverse
    values = tuple(
        tuple(column.labels.values[column.labels.codes[row]] for column in columns) for row in rows
    )
    name = JOINT.join(column.name for column in columns)
    return SensitiveFeature(name=name, labels=Labels(codes=codes, values=values))


def _select(
    argument: str, asked: Any, columns: list[SensitiveFeature], *, single: bool = False
) -> list[set[int] | None]:
    """Values asked for, as places in each column's labels; None where nothing was said."""
    if asked is None:
        return [None] * len(columns)
    if isinstance(asked, Mapping):
        return _select_by_column(argument, asked, columns, single=single)
    listed = [python_value(asked)] if single else as_list(asked)
    if not listed:
        raise InputError(f"{argument}: an empty list was given. Pass None for every group.")
    out: list[set[int]] = [set() for _ in columns]
    for value in listed:
        hits = [find_label(value, column.labels.values) for column in columns]
        if all(place is None for place in hits):
            known = [
                Message(f"{column.name!r}: {listing(column.labels.values)}") for column in columns
            ]
            raise InputError(
                f"{argument}: {value!r} is not among the sensitive values found in "
                f"{'; '.join(known)}."
            )
        for places, place in zip(out, hits, strict=True):
            if place is not None:
                places.add(place)
    return list(out)


def _select_by_column(
    argument: str, asked: Mapping[Any, Any], columns: list[SensitiveFeature], *, single: bool
) -> list[set[int] | None]:
    names = [column.name for column in columns]
    out: list[set[int] | None] = [None] * len(columns)
    for key, values in asked.items():
        if str(key) not in names:
            raise InputError(
                f"{argument}: {key!r} is not a sensitive feature. Found: {listing(names)}."
            )
        where = names.index(str(key))
        known = columns[where].labels.values
        places = set()
        for value in [python_value(values)] if single else as_list(values):
            place = find_label(value, known)
            if place is None:
                raise InputError(
                    f"{argument}: {value!r} is not among the values of {str(key)!r}: "
                    f"{listing(known)}."
                )
            places.add(place)
        out[where] = places
    return out


def _references(asked: Any, columns: list[SensitiveFeature]) -> list[Hashable | None]:
    """Value each column's groups are compared with; None: everybody else."""
    return [
        column.labels.values[min(places)] if places else None
        for column, places in zip(
            columns, _select("reference_group", asked, columns, single=True), strict=True
        )
    ]


def _spread_to_joint(
    columns: list[SensitiveFeature],
    wanted: list[set[int] | None],
    references: list[Hashable | None],
) -> None:
    """Let choices made per column hold for their combinations, unless those were named too."""
    *parts, joint = columns
    if not wanted[-1] and any(wanted[:-1]):
        limits = [
            {part.labels.values[place] for place in places} if places else None
            for part, places in zip(parts, wanted[:-1], strict=True)
        ]
        wanted[-1] = {
            place
            for place, value in enumerate(joint.labels.values)
            if isinstance(value, tuple)
            and all(limit is None or one in limit for one, limit in zip(value, limits, strict=True))
        }
    if references[-1] is None and all(reference is not None for reference in references[:-1]):
        references[-1] = tuple(references[:-1])


def _column_contrasts(
    column: SensitiveFeature,
    wanted: set[int] | None,
    reference: Hashable | None,
    y: np.ndarray,
    outcome_labels: tuple[Hashable, ...],
    min_group_size: int,
) -> list[Contrast]:
    values, codes = column.labels.values, column.labels.codes
    counts = column.labels.counts
    base = np.zeros(len(codes), dtype=np.int8)  # everybody a group is compared with
    reference_place = None
    if reference is None:
        base[codes >= 0] = -1
    else:
        reference_place = find_label(reference, values)
        if reference_place is not None:
            base[codes == reference_place] = -1
    n_base = int(np.count_nonzero(base))
    out = []
    for place, value in enumerate(values):
        if place == reference_place or (wanted is not None and place not in wanted):
            continue
        n_group = int(counts[place])
        s = base.copy()
        s[codes == place] = 1
        if reference is None:
            other = (n_base - n_group, f"another {column.name}")
        else:
            other = (n_base, f"{column.name}={reference!r}")
        group = (n_group, f"{column.name}={value!r}")
        out.append(
            Contrast(
                sensitive_feature=column.name,
                group=value,
                reference=reference,
                s=s,
                reason=_reason(group, other, y[s != 0], outcome_labels, min_group_size),
            )
        )
    return out


def _reason(
    group: tuple[int, str],
    reference: tuple[int, str],
    y: np.ndarray,
    outcome_labels: tuple[Hashable, ...],
    min_group_size: int,
) -> str | None:
    for count, text in (group, reference):
        if count < min_group_size:
            found: tuple[str | Count, ...] = ("no row has",)
            if count:
                found = (Count(count, unit="row(s)", said=f"only {count} row(s)"), " have")
            return Message(*found, f" {text}; at least {min_group_size} are needed")
    if (y == y[0]).all():
        outcome = outcome_labels[y[0]]
        return Message("all ", Count(len(y)), f" compared have the outcome {outcome!r}")
    return None
