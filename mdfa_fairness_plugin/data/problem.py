"""Validate: what the user passed becomes an `AuditProblem`, or an error that says what to do."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import (
    Labels,
    Table,
    alignment,
    as_list,
    find_label,
    is_fractional,
    listing,
    natural_order,
    read_column,
    read_labels,
    read_table,
    read_vector,
)
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.data.sensitive import (
    UNNAMED,
    Contrast,
    SensitiveFeature,
    build_contrasts,
    leaked_features,
    read_sensitive,
    with_intersections,
)
from mdfa_fairness_plugin.exceptions import (
    AuditWarning,
    Count,
    InputError,
    InputTypeError,
    NothingToAuditError,
    WarningLog,
    WeightWarning,
)

# Numbers hashed at a time: they stay in the processor's cache.
_HASHED_AT_A_TIME = 2**15

__all__ = ["AuditProblem", "Contrast", "build_problem"]


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditProblem:
    """Everything an audit needs, checked.

    Working rows are the user's rows with a positive weight, repeated where weights are counts, in
    an order that depends neither on how they were ordered nor on how labels are called.

    Parameters
    ----------
    X : ndarray of float64 of shape (n_rows, n_encoded)
        Encoded features, without NaN.
    encoder : FeatureEncoder
        How features were encoded.
    display : DataFrame of shape (n_rows, n_display_features)
        Features as reports show them. Numbers and booleans without gaps are read-only views of
        columns of `X`.
    y : ndarray of intp of shape (n_rows,)
        Position in `outcome_labels`.
    outcome_labels : tuple
        Every outcome found, as the user gave it.
    outcomes : tuple
        Outcomes to audit.
    sample_weight : ndarray of float64 of shape (n_rows,)
        Sampling weights with mean 1; ones without.
    weight_type : {"none", "frequency", "sampling"}
    contrasts : tuple of Contrast
        One search family per sensitive value, those that cannot be audited included.
    sensitive : tuple of SensitiveFeature
        Every sensitive column audited, intersections last, over the working rows.
    source_row : ndarray of intp of shape (n_rows,)
        Input row each working row is.
    n_samples : int
        Rows of the input.
    excluded : dict of str to int
        Input rows left out, by reason.
    warnings : tuple of AuditWarning
    input_hash : str
        SHA-256 of names, values and labels in the order given, whatever container held them.
    """

    X: np.ndarray
    encoder: FeatureEncoder
    display: pd.DataFrame
    y: np.ndarray
    outcome_labels: tuple[Hashable, ...]
    outcomes: tuple[Hashable, ...]
    sample_weight: np.ndarray
    weight_type: str
    contrasts: tuple[Contrast, ...]
    sensitive: tuple[SensitiveFeature, ...]
    source_row: np.ndarray
    n_samples: int
    excluded: dict[str, int]
    warnings: tuple[AuditWarning, ...]
    input_hash: str

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features."""
        return self.encoder.encoded_names_

    @property
    def n_rows(self) -> int:
        """Number of working rows."""
        return len(self.y)


def build_problem(
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    weight_type: str = "auto",
    outcomes: Any = None,
    groups: Any = None,
    reference_group: Any = None,
    missing: str = "exclude",
    intersections: bool = False,
    min_group_size: int = 30,
    log: WarningLog | None = None,
) -> AuditProblem:
    """Check and encode the input of an audit.

    Parameters
    ----------
    X : table of shape (n_samples, n_columns)
        Audited features: pandas, polars, numpy, scipy sparse, a list of rows or a mapping.
    y : array-like of shape (n_samples,)
        The classifier's outcomes: any two labels, or more if `outcomes` says which to audit.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_sensitive)
        Each column is audited on its own.
    sample_weight : array-like of shape (n_samples,) or None
    weight_type : {"auto", "frequency", "sampling"}, default="auto"
        Whether a weight counts equal rows or says how many people a row stands for. "auto": whole
        numbers count rows, unless their sum is beyond a million and ten times the rows.
    outcomes : label, list of labels or None
        Outcomes to audit, each against the others. None: both.
    groups : list of values, mapping of column to list, or None
        Sensitive values to audit. None: every value.
    reference_group : value, mapping of column to value, or None
        Compare with this value only. None: with everybody else.
    missing : {"exclude", "category", "raise"}, default="exclude"
        Rows whose sensitive value is missing: not compared (and counted), a group of their own, or
        an error.
    intersections : bool, default=False
        Also audit each combination of the sensitive columns' values.
    min_group_size : int, default=30
        Groups (or references) with fewer rows are listed with a reason and not audited.
    log : WarningLog or None
        Where warnings are kept.

    Returns
    -------
    AuditProblem

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, what was found and what to do.
    NothingToAuditError
        If the outcome is constant.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.integers(20, 70, 200), "town": ["A", "B"] * 100})
    >>> sex = pd.Series(["f", "m", "m", "f"] * 50, name="sex")
    >>> problem = build_problem(X, rng.choice(["deny", "grant"], 200), sex)
    >>> problem.feature_names
    ('age', 'town=A', 'town=B')
    >>> [(contrast.group, int(contrast.rows.sum())) for contrast in problem.contrasts]
    [('f', 200), ('m', 200)]
    """
    log = WarningLog() if log is None else log
    _check_options(weight_type, missing, min_group_size)
    table = read_table(X, "X")
    if table.n_columns == 0:
        raise InputError("X: it has no columns; pass at least one feature to audit.")
    outcome, outcome_index = read_vector(y, "y")
    sensitive = read_table(sensitive_features, "sensitive_features", column_name=UNNAMED)
    weight, weight_index = None, None
    if sample_weight is not None:
        weight, weight_index = read_vector(sample_weight, "sample_weight")
    n_samples = table.n_rows
    _check_lengths(table, y=outcome, sensitive_features=sensitive, sample_weight=weight)
    if sensitive.n_columns == 0:
        raise InputError("sensitive_features: it has no columns; pass at least one.")

    # Rows are paired by index where there is one, else by position.
    anchor = _Anchor(table, log)
    outcome = anchor.align(outcome, outcome_index, "y")
    sensitive = anchor.align(sensitive, sensitive.index, "sensitive_features")
    if weight is not None:
        weight = anchor.align(weight, weight_index, "sample_weight")

    # Rows without weight are absent, so nothing they hold can fail a check.
    excluded: dict[str, int] = {}
    weighting = _read_weights(weight, weight_type, n_samples, log)
    if weighting.n_zero:
        excluded["zero weight"] = weighting.n_zero
    rows = weighting.rows
    if rows is not None:
        table, sensitive, outcome = table.take(rows), sensitive.take(rows), outcome.take(rows)
    if table.n_rows < 2:
        raise InputError(
            f"X: {table.n_rows} row(s) were given; at least two are needed to compare."
        )

    labels = _read_outcome(outcome)
    audited = _audited_outcomes(outcomes, labels)
    in_use = np.arange(n_samples) if rows is None else rows
    columns = read_sensitive(sensitive, missing, in_use, log, excluded)
    leaks = leaked_features(table, columns, log)
    encoder = FeatureEncoder().fit(table, log, exclude=leaks)

    # The matrix is made at once in its final order, and shown from there: no second copy.
    order = _canonical_order(encoder.encoded_columns(table), columns, labels, weighting.values)
    encoded = encoder.transform(table, rows=order)
    y_sorted = labels.codes[order]
    sorted_columns = [column.take(order) for column in columns]
    contrasts = build_contrasts(
        sorted_columns,
        y_sorted,
        labels.values,
        groups=groups,
        reference_group=reference_group,
        intersections=intersections,
        min_group_size=min_group_size,
        log=log,
    )
    return AuditProblem(
        X=encoded,
        encoder=encoder,
        display=encoder.display_frame(table, rows=order, encoded=encoded),
        y=y_sorted,
        outcome_labels=labels.values,
        outcomes=audited,
        sample_weight=weighting.values[order],
        weight_type=weighting.weight_type,
        contrasts=contrasts,
        sensitive=with_intersections(sorted_columns, intersections),
        source_row=in_use[order],
        n_samples=n_samples,
        excluded=excluded,
        warnings=log.records,
        input_hash=_input_hash(table, labels, columns, weighting.values),
    )


# ---------------------------------------------------------------------------------------------
# Arguments


def _check_options(weight_type: str, missing: str, min_group_size: int) -> None:
    if weight_type not in ("auto", "frequency", "sampling"):
        raise InputError(
            f"weight_type: {weight_type!r} was given; it must be 'auto', 'frequency' or 'sampling'."
        )
    if missing not in ("exclude", "category", "raise"):
        raise InputError(
            f"missing: {missing!r} was given; it must be 'exclude', 'category' or 'raise'."
        )
    if isinstance(min_group_size, bool) or not isinstance(min_group_size, (int, np.integer)):
        raise InputTypeError(
            f"min_group_size: {min_group_size!r} was given; a whole number of rows is needed."
        )
    if min_group_size < 1:
        raise InputError(f"min_group_size: {min_group_size} was given; it must be at least 1.")


def _check_lengths(table: Table, **arguments: Any) -> None:
    if table.n_rows == 0:
        raise InputError("X: it has no rows; there is nobody to compare.")
    for name, value in arguments.items():
        if value is None:
            continue
        columns = value.arrays if isinstance(value, Table) else [value]
        length = value.n_rows if isinstance(value, Table) else len(value)
        if length == table.n_rows:
            continue
        hint = "Pass one per row of X."
        if (
            length
            and len(columns) == 1
            and all(isinstance(value, str) and value in table.names for value in columns[0][:100])
        ):
            hint = "Column names are not looked up in X; pass the columns, as in X[[...]]."
        raise InputError(f"{name}: {length:,} rows were given, but X has {table.n_rows:,}. {hint}")


class _Anchor:
    """The index rows are paired by: that of the first argument that has one."""

    def __init__(self, table: Table, log: WarningLog) -> None:
        self.index = table.index
        self.owner = "X"
        self.log = log

    def align(self, value: Any, index: pd.Index | None, argument: str) -> Any:
        if index is None:
            return value
        if self.index is None:
            self.index, self.owner = index, argument
            return value
        order = alignment(index, self.index, argument, self.owner)
        if order is None:
            return value
        self.log.note(
            "AlignedIndex",
            f"{argument}: its rows were put in the order of {self.owner}, by index.",
        )
        return value.take(order)


# ---------------------------------------------------------------------------------------------
# Weights


@dataclass(frozen=True, kw_only=True, eq=False)
class _Weighting:
    """Working rows and their weights."""

    rows: np.ndarray | None  # input rows in use, repeated where weights count; None: all
    values: np.ndarray
    weight_type: str
    n_zero: int


def _read_weights(weight: Any, weight_type: str, n_samples: int, log: WarningLog) -> _Weighting:
    """Read weights as counts of equal rows or as sampling weights."""
    if weight is None:
        return _Weighting(rows=None, values=np.ones(n_samples), weight_type="none", n_zero=0)
    values = _weight_numbers(weight)
    kept = np.flatnonzero(values > 0)
    n_zero = n_samples - len(kept)
    rows = kept if n_zero else None
    values = values[kept]
    whole = bool((values == np.floor(values)).all())
    if weight_type == "frequency" and not whole:
        example = values[values != np.floor(values)][0]
        raise InputError(
            f"sample_weight: weight_type='frequency' needs whole numbers, and {example:g} was "
            "found. Pass weight_type='sampling' if weights say how many people a row stands for."
        )
    if weight_type != "sampling" and whole:
        total = float(values.sum())
        limit = max(10 * n_samples, 1_000_000)
        if weight_type == "frequency" or total <= limit:
            if (values == 1).all():
                ones = np.ones(len(kept))
                return _Weighting(rows=rows, values=ones, weight_type="none", n_zero=n_zero)
            repeated = np.repeat(kept, values.astype(np.intp))
            return _Weighting(
                rows=repeated,
                values=np.ones(len(repeated)),
                weight_type="frequency",
                n_zero=n_zero,
            )
        log.warn(
            WeightWarning,
            f"sample_weight: whole numbers summing to {total:,.0f} over ",
            Count(n_samples),
            " are read as sampling weights, not as counts of repeated rows. Pass "
            "weight_type='frequency' if each counts rows, or weight_type='sampling' to confirm.",
        )
    scaled = values / values.max()
    return _Weighting(
        rows=rows,
        values=scaled * (len(scaled) / math.fsum(scaled)),  # exact sum: order of rows is no matter
        weight_type="sampling",
        n_zero=n_zero,
    )


def _weight_numbers(weight: Any) -> np.ndarray:
    column = read_column(weight, "sample_weight")
    if column.kind not in ("numeric", "boolean") or column.numbers is None:
        raise InputError(
            f"sample_weight: {column.kind} values were given; non-negative numbers are needed."
        )
    values = column.numbers
    for found, what in (
        (np.isnan(values), "missing"),
        (np.isinf(values), "infinite"),
        (values < 0, "negative"),
    ):
        if found.any():
            raise InputError(
                f"sample_weight: {int(found.sum()):,} of {len(values):,} weights are {what}, the "
                f"first at row {int(np.argmax(found))}. Weights must be finite and not negative; "
                "give rows to be left out a weight of zero."
            )
    if not values.any():
        raise InputError(
            "sample_weight: every weight is zero, so no row is left. Pass None for equal weights."
        )
    return values


# ---------------------------------------------------------------------------------------------
# Outcomes


def _read_outcome(array: Any) -> Labels:
    labels = read_labels(array, "y")
    used = labels.used()
    check_outcomes(used.values, len(labels.codes), int((labels.codes < 0).sum()))
    return used


def check_outcomes(values: tuple[Hashable, ...], n_rows: int, n_missing: int) -> None:
    """Refuse outcomes that are missing, scores, or all the same.

    Parameters
    ----------
    values : tuple
        Every label found.
    n_rows, n_missing : int
        Rows, and those without an outcome.

    Raises
    ------
    InputError, NothingToAuditError
    """
    if n_missing:
        raise InputError(
            f"y: {n_missing:,} of {n_rows:,} outcomes are missing. Drop those rows from "
            "every argument, or give them a label of their own (such as 'no decision')."
        )
    fractional = [value for value in values if is_fractional(value)]
    if fractional:
        raise InputError(
            f"y: scores were given ({len(values):,} values such as {fractional[0]!r}), but "
            "an audit needs decisions. Apply the threshold that decides, as in "
            "y >= 0.5."
        )
    if len(values) == 1:
        raise NothingToAuditError(
            f"y: every one of the {n_rows:,} outcomes is {values[0]!r}: nothing "
            "to audit. Pass outcomes that differ between people."
        )


def _audited_outcomes(outcomes: Any, labels: Labels) -> tuple[Hashable, ...]:
    found = labels.values
    if outcomes is None:
        if len(found) > 2:
            raise InputError(
                f"y: {len(found):,} different outcomes were found: {listing(found)}. Name the ones "
                "to audit, each against all others, as in "
                f"outcomes=[{found[0]!r}]; or merge them into two."
            )
        return found
    asked = as_list(outcomes)
    if not asked:
        raise InputError(
            f"outcomes: an empty list was given. Pass None for both, or some of {listing(found)}."
        )
    positions = set()
    for label in asked:
        place = find_label(label, found)
        if place is None:
            raise InputError(
                f"outcomes: {label!r} is not among those found in y: {listing(found)}. "
                "Name some of these, or pass None for both."
            )
        positions.add(place)
    return tuple(found[place] for place in sorted(positions))


# ---------------------------------------------------------------------------------------------
# Order and identity


def _canonical_order(
    encoded: Iterable[np.ndarray],
    columns: list[SensitiveFeature],
    labels: Labels,
    weight: np.ndarray,
) -> np.ndarray:
    """Order of rows that depends on what they hold only.

    By encoded features first; then by sensitive values and outcomes, ranked by how many rows have
    them, then by which, so that calling them otherwise changes nothing; then by weight.
    """
    rank = _Ranking(len(weight))
    for column in encoded:
        rank.refine(column)
        if rank.complete:
            return rank.order()
    place = rank.dense()
    for one in (*(column.labels for column in columns), labels):
        rank.refine(_label_ranks(one, place))
    rank.refine(weight)
    return rank.order()


def _label_ranks(labels: Labels, place: np.ndarray) -> np.ndarray:
    """Rank of each row's label by frequency, then by where its rows lie, then by name."""
    codes = labels.codes
    n = len(labels.values)
    known = codes >= 0
    counts = np.bincount(codes[known], minlength=n)
    where = np.bincount(codes[known], weights=place[known].astype(np.float64), minlength=n)
    by_name = natural_order(labels.values)
    order = sorted(by_name, key=lambda value: (counts[value], where[value]))
    ranks = np.empty(n + 1, dtype=np.intp)
    ranks[order] = np.arange(n)
    ranks[-1] = -1
    return ranks[codes]


class _Ranking:
    """Lexicographic order of rows, refined key by key; stops when no ties are left.

    Keys of few values are combined in one integer, so that twenty binary columns cost one sort, and
    only rows that are still tied are looked at again.
    """

    def __init__(self, n_rows: int) -> None:
        self.complete = n_rows < 2
        # Rows in the order found so far, those tied in the order given, and where ties begin.
        self._order = np.arange(n_rows)
        self._begins = np.zeros(n_rows, dtype=bool)
        self._begins[:1] = True
        # Of the rows still tied: positions in that order, and whether one ties with the one before.
        self._tied: np.ndarray | slice = slice(None)
        self._with_previous: np.ndarray | bool = True
        # Their ranks by the keys not sorted by yet, and what these lie below, now and after sorting.
        self._rank = np.zeros(n_rows, dtype=np.int64)
        self._size = self._n_groups = 1

    def refine(self, key: np.ndarray) -> None:
        """Break ties by `key`."""
        if self.complete:
            return
        values = key if isinstance(self._tied, slice) else key[self._order[self._tied]]
        if not ((values[1:] != values[:-1]) & self._with_previous).any():
            return
        many = _nearly_distinct(values)
        if many and self._size == 1:
            by_value = np.argsort(values)
            self._sort(by_value, values[by_value], stable=False)
            return
        codes, n_values = _value_ranks(values, many)
        if self._size > 2**62 // n_values:
            self._sort_by_rank()
            self.refine(key)
            return
        self._rank *= n_values
        self._rank += codes
        self._size *= n_values
        if n_values > len(values) // 4 or self._size > len(values) << 20:
            self._sort_by_rank()

    def dense(self) -> np.ndarray:
        """Ranks without gaps, shape (n_rows,)."""
        self._sort_by_rank()
        ranks = np.empty(len(self._order), dtype=np.intp)
        ranks[self._order] = np.cumsum(self._begins) - 1
        return ranks

    def order(self) -> np.ndarray:
        """Positions that sort the rows."""
        self._sort_by_rank()
        return self._order

    def _sort_by_rank(self) -> None:
        if self._size > self._n_groups:
            by_rank = np.argsort(self._rank, kind="stable")
            self._sort(by_rank, self._rank[by_rank], stable=True)

    def _sort(self, places: np.ndarray, keys: np.ndarray, *, stable: bool) -> None:
        """Put tied rows in the order of sorted keys, and keep those whose keys are equal."""
        begins = np.ones(len(keys), dtype=bool)
        np.not_equal(keys[1:], keys[:-1], out=begins[1:])
        self._order[self._tied] = self._order[self._tied][places]
        self._begins[self._tied] = begins
        alone = begins.copy()
        alone[:-1] &= begins[1:]
        tied = np.flatnonzero(~alone)
        self._tied = tied if isinstance(self._tied, slice) else self._tied[tied]
        begins = begins[tied]
        self._with_previous = ~begins[1:]
        self._rank = np.cumsum(begins) - 1
        self._size = self._n_groups = max(int(begins.sum()), 1)
        self.complete = not len(tied)
        if not stable:
            rows = self._order[self._tied]
            self._order[self._tied] = rows[np.lexsort((rows, self._rank))]


def _nearly_distinct(values: np.ndarray) -> bool:
    """Whether values look like measurements: sorting them is quicker than looking each up."""
    some = values[:: max(1, len(values) // 1_000)]
    return values.dtype.kind == "f" and len(np.unique(some)) > 0.9 * len(some)


def _value_ranks(values: np.ndarray, many: bool) -> tuple[np.ndarray, int]:
    """Rank of each row's value among the values found, and their number."""
    if values.dtype == bool:
        return values.astype(np.int64), 2
    if many:
        order = np.argsort(values)
        keys = values[order]
        ranks = np.empty(len(values), dtype=np.int64)
        ranks[order] = np.cumsum(np.append(False, keys[1:] != keys[:-1]))
        return ranks, int(ranks[order[-1]]) + 1
    codes, uniques = pd.factorize(values)
    by_value = np.empty(len(uniques), dtype=np.int64)
    by_value[np.argsort(uniques, kind="stable")] = np.arange(len(uniques))
    return by_value[codes], len(uniques)


def _input_hash(
    table: Table, labels: Labels, columns: list[SensitiveFeature], weight: np.ndarray
) -> str:
    """SHA-256 of the content, equal for equal content in pandas, polars and numpy."""
    digest = hashlib.sha256()

    def add(name: str, values: np.ndarray, dtype: str) -> None:
        digest.update(repr((name, len(values))).encode())
        digest.update(np.ascontiguousarray(values, dtype=dtype).data)

    def add_labels(name: str, one: Labels) -> None:
        used = one.used()
        digest.update(repr([_token(value) for value in used.values]).encode())
        add(name, used.codes, "<i8")

    if table.matrix is not None:
        digest.update(repr([str(name) for name in table.names]).encode())
        add("X.indptr", table.matrix.indptr, "<i8")
        add("X.indices", table.matrix.indices, "<i8")
        add("X.data", table.matrix.data, "<f8")
    for position in range(table.n_columns if table.matrix is None else 0):
        name, column = str(table.names[position]), table.typed(position)
        if column.labels is not None:
            add_labels(name, column.labels)
        else:
            assert column.numbers is not None
            digest.update(repr((name, len(column.numbers))).encode())
            for start in range(0, len(column.numbers), _HASHED_AT_A_TIME):
                # A copy, without negative zeros and with one kind of NaN.
                values = column.numbers[start : start + _HASHED_AT_A_TIME] + 0.0
                values[np.isnan(values)] = np.nan
                digest.update(values.astype("<f8", copy=False).data)
    add_labels("y", labels)
    for one in columns:
        add_labels(one.name, one.labels)
    add("sample_weight", weight, "<f8")
    return digest.hexdigest()


def _token(value: Any) -> str:
    """Text for a label: 1, 1.0 and numpy's 1 are one, True and '1' are others."""
    if isinstance(value, float) and math.isfinite(value) and value == math.floor(value):
        value = int(value)
    return f"{type(value).__name__}:{value}"
