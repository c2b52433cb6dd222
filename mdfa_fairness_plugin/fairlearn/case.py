"""From Fairlearn's arguments to an audit: rows paired, the event as the outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.columns import listing, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.events import happening
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.exceptions import AuditWarning, InputError, WarningLog, renaming
from mdfa_fairness_plugin.records import Harm
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.settings import Settings, refuse_unknown

CONTROLS = "control_features"
# What an audit knows of each row besides its features, groups and outcome.
BY_ROW = ("sample_weight", "clusters", "exposure")

# A value per row, or several; frames of polars are arrays to type checkers.
Column: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
Columns: TypeAlias = Column | pd.DataFrame
Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
EventName: TypeAlias = Literal[
    "selection", "error", "false_positive", "false_negative", "true_positive", "score", "residual",
    "absolute_error", "overprediction", "calibration",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """What a table's metrics are handed, of any shape: a row is what is handed on of one person."""

    argument: str
    values: np.ndarray
    index: pd.Index | None = None

    @classmethod
    def of(cls, given: Columns, argument: str) -> Shown:
        """Rows as ``MetricFrame`` reads them, with the index it forgets."""
        index = given.index if isinstance(given, pd.Series | pd.DataFrame) else None
        if isinstance(given, Mapping):
            given = np.asarray(read_vector(given, argument).array(0))
        return cls(argument=argument, values=np.asarray(given), index=index)

    @property
    def n_rows(self) -> int:
        """Number of people."""
        return len(self.values) if self.values.ndim else 0

    def take(self, rows: np.ndarray) -> Shown:
        """Return the rows at these positions, in this order, without the index."""
        return Shown(argument=self.argument, values=self.values[rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """Arguments with their rows paired, in the order of ``audit_features``."""

    features: Table
    sensitive: Table
    y_true: Any  # 1-D numpy or pandas array, or None
    y_pred: Table  # one column per repeat
    given: Table  # the same in the order given, which is the one hashed
    sample_weight: Any  # likewise
    clusters: Any
    exposure: Any
    others: dict[str, Any]  # tables, and what is shown
    notes: tuple[AuditWarning, ...]

    def only_repeat(self) -> Any:
        """Give the predictions, if there are no repeats."""
        if self.y_pred.n_columns != 1:
            raise InputError(
                f"{self.y_pred.argument}: {self.y_pred.n_columns} columns were given; one label per "
                "row is needed. Audit repeats of a randomised predictor one at a time, or average "
                "over them with worst_case_violation and the like."
            )
        return self.y_pred.array(0)


def pair(
    *,
    y_true: Column | None,
    y_pred: Columns,
    sensitive_features: Columns,
    audit_features: Columns,
    by_row: Mapping[str, Column | None] = MappingProxyType({}),
    rows: ArrayLike | None = None,
    decided_by: str = "y_pred",
    others: Mapping[str, Any] | None = None,
) -> Case:
    """Read the arguments and pair their rows: by index where there is one, else by position.

    ``by_row`` are some of ``BY_ROW``; ``decided_by`` is what the predictions are called; ``others`` are
    paired and kept as they are.
    """
    features = read_table(audit_features, "audit_features")
    sensitive = read_groups(sensitive_features, "sensitive_features", "sensitive_feature")
    given = read_table(y_pred, decided_by, column_name="y_pred")
    own = {"y_true": y_true, **dict.fromkeys(BY_ROW), **by_row}
    read = {name: read_vector(value, name) for name, value in own.items() if value is not None}
    others = others or {}
    notes = WarningLog()
    pairing = Pairing(notes)
    pairing.lead(features)
    check_length(sensitive, features.n_rows, "audit_features")
    sensitive = pairing.align(sensitive)
    owner = "audit_features"
    if rows is not None:
        places = _positions(rows, features.n_rows)
        features, sensitive = features.take(places), sensitive.take(places)
        pairing, owner = Pairing(notes), "rows"
    for table in (given, *others.values(), *read.values()):
        check_length(table, features.n_rows, owner)
    predictions = pairing.align(given)
    arrays = {name: pairing.align(table).array(0) for name, table in read.items()}
    aligned = {name: pairing.align(table) for name, table in others.items()}
    return Case(
        features=replace(features, index=pairing.index),  # by which the result calls the rows
        sensitive=sensitive,
        y_pred=predictions,
        given=given,
        others=aligned,
        notes=notes.records,
        **(dict.fromkeys(own) | arrays),
    )


def read_groups(data: Columns, argument: str, base: str) -> Table:
    """Read grouping columns; those without a name get ``base_0`` and so on, as in Fairlearn."""
    table = read_table(data, argument, column_name=f"{base}_0")
    names = tuple(map(str, table.names))
    if not table.named and table.n_columns > 1:
        names = tuple(f"{base}_{place}" for place in range(table.n_columns))
    return replace(table, names=names)


def _positions(rows: ArrayLike, n_rows: int) -> np.ndarray:
    places = np.asarray(rows)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise InputError(
            f"rows: whole-number positions, one per prediction, are needed; an array of shape "
            f"{places.shape} and dtype {places.dtype} was given."
        )
    wrong = (places < 0) | (places >= n_rows)
    if wrong.any():
        raise InputError(
            f"rows: position {int(places[wrong][0])} was given, but audit_features has {n_rows:,} "
            "rows, counted from 0."
        )
    return places.astype(np.intp)


def audit_case(
    case: Case,
    repeat: int = 0,
    *,
    event: EventName = "selection",
    pos_label: Hashable | None = None,
    favorable_label: Hashable | None = None,
    **settings: Any,
) -> MDFAuditor:
    """Audit the event and its opposite; the result also says which predictions were audited."""
    refuse_unknown("fairlearn", settings, Settings.names(), first="its own and ")
    called = case.y_pred.argument
    with renaming({"X": "audit_features", "y": called, "y_pred": called}):
        found = happening(case.y_true, case.y_pred.array(repeat), event, settings, pos_label)
        auditor = MDFAuditor(**found.arguments(settings, favorable_label))
        auditor.fit(
            found.features(case.features),
            found.outcome,
            sensitive_features=case.sensitive,
            sample_weight=found.weights(case.sample_weight),
            clusters=case.clusters,
            exposure=case.exposure,
        )
    result = auditor.result_
    own = {
        "event": event,
        "pos_label": found.positive,
        "predictions_hash": hash_of(case.given.array(repeat)),
    }
    auditor.result_ = replace(
        result,
        excluded=found.excluded(result.excluded),
        warnings=(*case.notes, *result.warnings),
        provenance=dict(result.provenance) | own,
    )
    return auditor


def harm_of(result: AuditResult) -> Harm | None:
    """Worst harm; refused where nobody said which of several labels is good."""
    if result.violations and all(own.harm is None for own in result.violations):
        raise InputError(
            f"favorable_label: the labels are {listing(result.outcome_labels)}; say which of them is "
            f"good for people, as in favorable_label={result.outcome_labels[-1]!r}. Without that there "
            "are the searches of audit_predictions."
        )
    return result.worst_harm


def hash_of(array: Any) -> str:
    """SHA-256 of labels, one per line."""
    labels = read_labels(array, "y_pred")
    texts = [*(_text(value) for value in labels.values), "None"]
    return hashlib.sha256("\n".join(texts[code] for code in labels.codes).encode()).hexdigest()


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value == np.floor(value) and np.isfinite(value)
    return repr(int(value) if whole else value)
