"""Sensitive columns and what is missing in them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import Labels, find_label, listing, read_labels
from mdfa_fairness_plugin.data.containers import Table
from mdfa_fairness_plugin.data.plans import MISSING
from mdfa_fairness_plugin.data.spelling import read_spellings
from mdfa_fairness_plugin.data.written import Writing
from mdfa_fairness_plugin.exceptions import Count, InputError, MissingSensitiveWarning, WarningLog

UNNAMED = "sensitive_feature"
JOINT = " & "

# Above this, a column of numbers is a measurement, such as an age, rather than a set of groups.
_MOST_NUMBERS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class SensitiveFeature:
    """One sensitive column as labels."""

    name: str
    labels: Labels

    def take(self, rows: np.ndarray) -> SensitiveFeature:
        """Return these rows, in this order."""
        return replace(self, labels=self.labels.take(rows))


def read_sensitive(
    table: Table,
    missing: str,
    rows: np.ndarray,
    log: WarningLog,
    excluded: dict[str, int],
    *,
    merge: bool = False,
    numeric: bool = False,
) -> list[SensitiveFeature]:
    """Read sensitive columns and apply the policy for missing values.

    `rows` are the input rows that those of the table are; `excluded` gains how many of them have no
    value, per column; spellings of one word are merged if asked.
    """
    columns, given = [], {}
    for position, text in enumerate(map(str, table.names)):
        given[text] = read_labels(table.array(position), f"sensitive_features: column {text!r}")
    if len(given) < table.n_columns:
        raise InputError(
            f"sensitive_features: column names must differ as text: {listing(table.names)}."
        )
    read = read_spellings(given, "sensitive_features", log, merge=merge)
    for position, (text, labels) in enumerate(read.items()):
        if numeric:
            refuse_labels(text, labels.values)
        elif not isinstance(table.array(position), pd.Categorical):
            refuse_measurements(text, labels.values)
        absent = labels.codes < 0
        n_missing = len(np.unique(rows[absent]))
        refuse_missing_sensitive(n_missing, text, missing)
        if n_missing and missing == "category":
            place, values = find_label(MISSING, labels.values), labels.values
            if place is None:
                place, values = len(values), (*values, MISSING)
            labels = Labels(codes=np.where(absent, place, labels.codes), values=values)
        elif n_missing:
            excluded[f"missing sensitive value ({text})"] = n_missing
            warn_of_missing(n_missing, text, log, numeric=numeric)
        present = labels.used().values
        if len(present) < 2:
            found = f"only {present[0]!r} was found" if present else "every value is missing"
            raise InputError(
                f"sensitive_features: nothing to compare in {text!r}: {found}. At least two "
                "values are needed."
            )
        columns.append(SensitiveFeature(name=text, labels=labels))
    return columns


def refuse_missing_sensitive(n_missing: int, name: str, missing: str) -> None:
    """Refuse rows without a sensitive value if they are to be refused."""
    if n_missing and missing == "raise":
        raise InputError(
            f"sensitive_features: {n_missing:,} rows have no value in {name!r}. Fill them, "
            "or pass missing='exclude' (not compared, and counted) or missing='category' "
            "(a group of their own)."
        )


def warn_of_missing(n_missing: int, name: str, log: WarningLog, *, numeric: bool = False) -> None:
    """Say how many rows are not compared for want of a sensitive value."""
    advice = "" if numeric else " Pass missing='category' to audit them as a group."
    said = f" have no value in {name!r} and are not compared.{advice}"
    log.warn(MissingSensitiveWarning, "sensitive_features: ", Count(n_missing), said)


def refuse_labels(name: str, values: tuple[Hashable, ...]) -> None:
    """Refuse a sensitive quantity whose values are no numbers."""
    number = Writing(kind="numeric").value
    strange = [own for own in values if isinstance(own, str) or not math.isfinite(number(own))]
    if strange:
        found = [own for own in strange if math.isnan(number(own))] or strange
        raise InputError(
            f"sensitive_features: sensitive_type='numeric' needs numbers, and {name!r} holds "
            f"{listing(found, 3)}. mdfa_fairness_plugin.to_quantities makes numbers of texts; leave "
            "sensitive_type='numeric' out to compare groups."
        )


def refuse_measurements(name: str, values: tuple[Hashable, ...]) -> None:
    """Refuse a sensitive column whose values are measurements rather than groups."""
    if len(values) <= _MOST_NUMBERS:
        return
    labels = "if they are codes, say so with .astype('category')"
    number = Writing(kind="numeric").value
    if not any(math.isnan(number(value)) for value in values):
        ranked = sorted(map(number, values))
        shown = [float(f"{ranked[len(ranked) * k // 4]:.3g}") for k in (1, 2, 3)]
        cuts = ", ".join(f"{cut:.15g}" for cut in dict.fromkeys(shown))
        raise InputError(
            f"sensitive_features: {name!r} holds {len(values):,} different numbers, which are no "
            f"groups. Make some first, as in mdfa_fairness_plugin.to_groups({name}, [{cuts}]) or "
            f"to_groups({name}, 4), or compare them as they are with sensitive_type='numeric'; "
            f"{labels}."
        )
    if all(isinstance(value, (pd.Timestamp, pd.Timedelta)) for value in values):
        raise InputError(
            f"sensitive_features: {name!r} holds {len(values):,} different dates, which are no groups. "
            f"Make some first, as in pandas.cut({name}, bins=4); {labels}."
        )


def joint_feature(columns: list[SensitiveFeature]) -> SensitiveFeature:
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
