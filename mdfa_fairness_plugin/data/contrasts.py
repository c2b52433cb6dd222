"""Contrasts: each sensitive value against those it is compared with, or more of a quantity and less."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.amounts import LESS, MORE
from mdfa_fairness_plugin.data.columns import (
    Labels,
    as_list,
    composed,
    find_label,
    listing,
    python_value,
)
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature, joint_feature
from mdfa_fairness_plugin.exceptions import (
    Count,
    InputError,
    Message,
    SmallGroupWarning,
    WarningLog,
)

# A contrast holds one int8 per row; together they may take this much.
_LARGEST_CONTRASTS_BYTES = 2**30
# Errors estimated from fewer clusters are too uncertain themselves (Cameron and Miller 2015).
FEWEST_CLUSTERS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class Contrast:
    """One sensitive value against its reference."""

    sensitive_feature: str  # "race & sex" for an intersection
    group: Hashable  # as the user gave it; a tuple for an intersection
    reference: Hashable | None  # value it is compared with; None: everybody else
    s: np.ndarray  # int8: +1 in the group, -1 in the reference, 0 not compared
    reason: str | None = None  # why it cannot be audited
    quantity: np.ndarray | None = None  # more of which is compared with less, not groups

    @property
    def rows(self) -> np.ndarray:
        """Rows that are compared, bool of shape (n_rows,)."""
        return self.s != 0

    def take(self, rows: np.ndarray) -> Contrast:
        """Give these rows only."""
        own = None if self.quantity is None else self.quantity[rows]
        return replace(self, s=self.s[rows], quantity=own)


def build_contrasts(
    columns: list[SensitiveFeature],
    y: np.ndarray,
    outcome_labels: tuple[Hashable, ...],
    *,
    groups: Any,
    reference_group: Any,
    intersections: bool,
    min_group_size: int,
    cluster: np.ndarray | None,
    log: WarningLog,
) -> tuple[Contrast, ...]:
    """Compare each value asked for with its reference, intersections last; `y` has outcomes' places."""
    parts = columns
    columns = list(with_intersections(parts, intersections))
    wanted = _select("groups", groups, columns)
    if len(columns) > len(parts):
        _spread_to_joint(columns, wanted)
    references = references_of("reference_group", reference_group, columns, len(parts))
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
        found = contrasts_of(column, places, reference, y, outcome_labels, min_group_size, cluster)
        reasons = [(one.group, one.reason) for one in found if one.reason is not None]
        small = [Message(f"{group!r} (", reason, ")") for group, reason in reasons]
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
        return (*columns, joint_feature(columns))
    return tuple(columns)


def _select(
    argument: str, asked: Any, columns: list[SensitiveFeature], *, single: bool = False
) -> list[set[int] | None]:
    """Places of values asked for in every column, or in those named; None where nothing was said."""
    out: list[set[int] | None] = [None] * len(columns)
    requests = [(list(range(len(columns))), asked)]
    if asked is None or isinstance(asked, Mapping):
        names = [column.name for column in columns]
        by_name = {composed(str(key)): values for key, values in (asked or {}).items()}
        unknown = [key for key in by_name if key not in names]
        if unknown:
            raise InputError(
                f"{argument}: {unknown[0]!r} is not a sensitive feature. Found: {listing(names)}."
            )
        requests = [([names.index(key)], values) for key, values in by_name.items()]
    elif not single and not as_list(asked):
        raise InputError(f"{argument}: an empty list was given. Pass None for every group.")
    for where, values in requests:
        found: dict[int, set[int]] = {one: set() for one in where}
        for value in [python_value(values)] if single else as_list(values):
            hits = {one: find_label(value, columns[one].labels.values) for one in where}
            if all(place is None for place in hits.values()):
                known = "; ".join(
                    f"{columns[one].name!r}: {listing(columns[one].labels.values)}" for one in where
                )
                what = "values of" if isinstance(asked, Mapping) else "sensitive values found in"
                raise InputError(f"{argument}: {value!r} is not among the {what} {known}.")
            for one, place in hits.items():
                found[one] |= set() if place is None else {place}
        for one, places in found.items():
            out[one] = places
    return out


def references_of(
    argument: str, asked: Any, columns: list[SensitiveFeature], n_parts: int
) -> list[Hashable | None]:
    """Value each column's groups are compared with; None: everybody else.

    The values of the parts, if each has one, hold for their combination too, unless it has its own.
    """
    chosen = zip(columns, _select(argument, asked, columns, single=True), strict=True)
    references = [own.labels.values[min(places)] if places else None for own, places in chosen]
    *parts, last = references
    if len(columns) > n_parts and last is None and all(own is not None for own in parts):
        references[-1] = tuple(parts)
    return references


def _spread_to_joint(columns: list[SensitiveFeature], wanted: list[set[int] | None]) -> None:
    """Let groups named per column hold for their combinations, unless those were named too."""
    *parts, joint = columns
    if wanted[-1] or not any(wanted[:-1]):
        return
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


def contrasts_of(
    column: SensitiveFeature,
    wanted: set[int] | None,
    reference: Hashable | None,
    y: np.ndarray,
    outcome_labels: tuple[Hashable, ...],
    min_group_size: int,
    cluster: np.ndarray | None,
) -> list[Contrast]:
    """Compare the values of a column, those at the places wanted, with its reference."""
    values, codes = column.labels.values, column.labels.codes
    counts = column.labels.counts
    base = np.zeros(len(codes), dtype=np.int8)  # everybody a group is compared with
    reference_place = None if reference is None else find_label(reference, values)
    if reference is None:
        base[codes >= 0] = -1
    elif reference_place is not None:
        base[codes == reference_place] = -1
    n_base = int(np.count_nonzero(base))
    out = []
    for place, value in enumerate(values):
        if place == reference_place or (wanted is not None and place not in wanted):
            continue
        n_group = int(counts[place])
        s = base.copy()
        s[codes == place] = 1
        other = (n_base, f"{column.name}={reference!r}")
        if reference is None:
            other = (n_base - n_group, f"another {column.name}")
        group = (n_group, f"{column.name}={value!r}")
        reason = _reason(group, other, y[s != 0], outcome_labels, min_group_size)
        if reason is None and cluster is not None:
            texts = (group[1], other[1])
            reason = _too_few_clusters(cluster, s, texts, max(min_group_size, FEWEST_CLUSTERS))
        out.append(
            Contrast(
                sensitive_feature=column.name, group=value, reference=reference, s=s, reason=reason
            )
        )
    return out


def _too_few_clusters(
    cluster: np.ndarray, s: np.ndarray, texts: tuple[str, str], fewest: int
) -> str | None:
    """Why a contrast cannot be audited for want of clusters on either side."""
    for side, text in zip((1, -1), texts, strict=True):
        n = len(np.unique(cluster[s == side]))
        if n < fewest:
            found = Count(n, unit="clusters", said=f"only {n} cluster{'s' * (n != 1)}")
            return Message(found, f" have {text}; at least {fewest} are needed")
    return None


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
                several = count > 1
                said = f"only {count} row{'s' * several}"
                found = (Count(count, said=said), " have" if several else " has")
            return Message(*found, f" {text}; at least {min_group_size} are needed")
    if (y == y[0]).all():
        outcome = outcome_labels[y[0]]
        return Message("all ", Count(len(y)), f" compared have the outcome {outcome!r}")
    return None


# Of the largest number: less is not told from rounding.
_LEAST_SPREAD = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantity:
    """What differences in a sensitive quantity are told by."""

    per: float  # how much more of it
    centre: float  # its mean and its standard deviation; models see it in units of that
    deviation: float
    values: np.ndarray  # (n_rows,), so; NaN where it is not known

    def told(self, rows: np.ndarray) -> list[float]:
        """As it was given, but for rounding."""
        return [float(f"{own:.12g}") for own in self.centre + self.deviation * self.values[rows]]

    def turned(self, contrast: Contrast) -> Contrast:
        """The contrast with the quantity, or minus it where those with less are asked about."""
        sign, other = (1.0, LESS) if contrast.group == MORE else (-1.0, MORE)
        return replace(contrast, reference=other, quantity=sign * self.values)


def refuse_several(columns: list[SensitiveFeature], told: bool) -> None:
    """Refuse more than one column of numbers; ``told`` is whether probabilities were given."""
    if told:
        raise InputError(
            "sensitive_probabilities: they are of groups, and sensitive_type='numeric' compares "
            "numbers. Leave one of them out."
        )
    if len(columns) > 1:
        raise InputError(
            f"sensitive_features: sensitive_type='numeric' takes one column, {len(columns)} found. "
            "Audit each by itself, the others among X if they are to be equal."
        )


def as_quantity(
    column: SensitiveFeature, weight: np.ndarray, per: float | None
) -> tuple[SensitiveFeature, Quantity]:
    """The numbers of a column, and its halves, of more and of less than the median."""
    known = column.labels.codes >= 0
    numbers = np.array([*column.labels.values, math.nan], dtype=float)[column.labels.codes]
    own, weights = numbers[known], weight[known]
    with np.errstate(over="ignore", under="ignore"):
        centre = float(np.average(own, weights=weights))
        deviation = math.sqrt(float(np.average((own - centre) ** 2, weights=weights)))
    if not _LEAST_SPREAD * float(np.abs(own).max()) < deviation < math.inf:
        how = "hardly varies" if deviation < math.inf else "is too large to be squared"
        raise InputError(
            f"sensitive_features: {column.name!r} {how} (standard deviation {deviation:g} "
            f"around {centre:g}). Pass it in other units, or from a reference nearer by."
        )
    middle = np.median(own)
    middle = middle if (own > middle).any() else np.max(own[own < middle])
    labels = Labels(codes=np.where(known, ~(numbers > middle), -1), values=(MORE, LESS))
    values, per = (numbers - centre) / deviation, 1.0 if per is None else float(per)
    quantity = Quantity(per=per, centre=centre, deviation=deviation, values=values)
    return replace(column, labels=labels), quantity
