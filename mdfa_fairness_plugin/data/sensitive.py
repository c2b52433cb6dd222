"""Sensitive columns, what is missing in them, and groups known by probability."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import Labels, find_label, listing, objects, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_vector
from mdfa_fairness_plugin.data.plans import MISSING
from mdfa_fairness_plugin.data.spelling import read_spellings
from mdfa_fairness_plugin.data.written import Writing
from mdfa_fairness_plugin.exceptions import Count, InputError, MissingSensitiveWarning, WarningLog
from mdfa_fairness_plugin.settings import Settings

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
    columns = []
    given = {
        str(name): read_labels(table.array(position), f"sensitive_features: column {str(name)!r}")
        for position, name in enumerate(table.names)
    }
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
    log.warn(
        MissingSensitiveWarning,
        "sensitive_features: ",
        Count(n_missing),
        f" have no value in {name!r} and are not compared.{advice}",
    )


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


# Rows' probabilities add up to 1 but for how they were rounded when written down.
_ROUNDED = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Copies:
    """Each row once for every group it may be of."""

    row: np.ndarray  # of the input
    groups: Table  # the group of each copy
    probability: np.ndarray

    def weights(self, given: Any) -> np.ndarray:
        """Sampling weights of the copies."""
        return self.probability if given is None else np.asarray(given)[self.row] * self.probability


def read_probabilities(table: Table, known: Table | None) -> Copies:
    """Read probabilities of groups, a column each; where a group is known it is certain."""
    argument = "sensitive_probabilities"
    if table.n_columns < 2:
        raise InputError(
            f"{argument}: a column for each group expected, {table.n_columns} found. Of two groups "
            "give both, as in DataFrame({'F': p, 'M': 1 - p})."
        )
    groups: list[Hashable] = list(table.names)
    columns = []
    for position, name in enumerate(groups):
        try:
            columns.append(np.asarray(table.array(position), dtype=float))
        except (TypeError, ValueError) as error:
            raise InputError(f"{argument}: probabilities expected in {name!r}.") from error
    told = np.column_stack(columns)
    wrong = ~((told >= 0) & (told <= 1)).all(axis=1)
    wrong |= np.abs(told.sum(axis=1) - 1.0) > _ROUNDED
    certain = _certain(groups, known, len(told))
    wrong &= certain < 0
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{argument}: {int(wrong.sum()):,} of {len(told):,} rows hold no probabilities that add "
            f"up to 1, the first at row {first}: {[float(one) for one in told[first]]}. Give every row "
            "the probability of each group."
        )
    told = np.where((certain >= 0)[:, None], 0.0, told)
    told[np.flatnonzero(certain >= 0), certain[certain >= 0]] = 1.0
    told = told / told.sum(axis=1, keepdims=True)
    row, place = np.nonzero(told > 0)
    name = known.names[0] if known is not None and known.n_columns else UNNAMED
    series = pd.Series(objects(groups)[place], name=name)
    return Copies(
        row=row, groups=read_vector(series, "sensitive_features"), probability=told[row, place]
    )


def refuse_with_probabilities(asked: Settings, per_exposure: bool) -> None:
    """Refuse what says nothing of groups that are not known."""
    if asked.outcome_type == "numeric" or asked.ordered is not None or per_exposure:
        raise InputError(
            "sensitive_probabilities: bounds are known of outcomes that people have or have not, and "
            "numbers or ranks are audited. Audit labels, such as y >= 100."
        )
    if asked.weight_type == "frequency":
        raise InputError(
            "sensitive_probabilities: rows count by their probabilities, and "
            "weight_type='frequency' needs whole rows. Repeat the rows instead."
        )
    if asked.estimator in ("raw", "unweighted"):
        raise InputError(
            f"estimator: {asked.estimator!r} found, and bounds of groups known by probability are at "
            "equal features. Use 'doubly_robust' or 'hajek'."
        )
    if asked.intersections:
        raise InputError("sensitive_probabilities: there is one column, so intersections=False.")
    if asked.missing != "exclude":
        raise InputError(
            f"missing: {asked.missing!r} is about rows whose group is not known, and "
            "sensitive_probabilities tell it of these. Leave it out."
        )


def _certain(groups: list[Hashable], known: Table | None, n_rows: int) -> np.ndarray:
    """Place of each row's group where it is known, -1 elsewhere."""
    if known is None:
        return np.full(n_rows, -1)
    if known.n_columns != 1:
        raise InputError(
            f"sensitive_features: with sensitive_probabilities one column expected, {known.n_columns} "
            "found: the group of the rows where it is known, missing elsewhere."
        )
    labels = read_labels(known.array(0), "sensitive_features")
    places = [find_label(value, groups) for value in labels.values]
    strange = [own for own, place in zip(labels.values, places, strict=True) if place is None]
    if strange:
        raise InputError(
            f"sensitive_features: {listing(strange)} is no column of sensitive_probabilities: "
            f"{listing(groups)}."
        )
    return np.array([*(place for place in places if place is not None), -1])[labels.codes]
