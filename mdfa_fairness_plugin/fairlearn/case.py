"""From Fairlearn's arguments to an audit: rows paired, the event as the outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.events import occurrence
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.exceptions import AuditWarning, InputError, WarningLog, renaming
from mdfa_fairness_plugin.settings import Settings, refuse_unknown

CONTROLS = "control_features"


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """Arguments with their rows paired, in the order of ``audit_features``."""

    features: Table
    sensitive: Table
    y_true: Any  # 1-D array, or None
    y_pred: Table  # one column per repeat
    given: Table  # the same in the order given, which is the one hashed
    sample_weight: Any
    clusters: Any
    others: dict[str, Table]
    notes: tuple[AuditWarning, ...]

    def only_repeat(self) -> Any:
        """Give the predictions, if there are no repeats."""
        if self.y_pred.n_columns != 1:
            raise InputError(
                f"y_pred: {self.y_pred.n_columns} columns were given; one label per row is needed. "
                "Audit repeats of a randomised predictor one at a time, or average over them with "
                "worst_case_violation and the like."
            )
        return self.y_pred.array(0)


def pair(
    *,
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    audit_features: Any,
    sample_weight: Any = None,
    clusters: Any = None,
    rows: Any = None,
    control_features: Any = None,
    others: Mapping[str, Any] | None = None,
) -> Case:
    """Read the arguments and pair their rows: by index where there is one, else by position."""
    features = read_table(audit_features, "audit_features")
    sensitive = _read_groups(sensitive_features, "sensitive_features", "sensitive_feature")
    given = read_table(y_pred, "y_pred", column_name="y_pred")
    own = {"y_true": y_true, "sample_weight": sample_weight, "clusters": clusters}
    columns = own | dict(others or {})
    tables = {
        name: read_vector(value, name) for name, value in columns.items() if value is not None
    }
    if control_features is not None:
        tables[CONTROLS] = _read_groups(control_features, CONTROLS, "control_feature")
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
    for table in (given, *tables.values()):
        check_length(table, features.n_rows, owner)
    predictions = pairing.align(given)
    aligned = {name: pairing.align(table) for name, table in tables.items()}
    read = {name: aligned.pop(name).array(0) if name in aligned else None for name in own}
    return Case(
        features=features,
        sensitive=sensitive,
        y_pred=predictions,
        given=given,
        others=aligned,
        notes=notes.records,
        **read,
    )


def _read_groups(data: Any, argument: str, base: str) -> Table:
    """Read grouping columns; those without a name get ``base_0`` and so on, as in Fairlearn."""
    table = read_table(data, argument, column_name=f"{base}_0")
    names = tuple(map(str, table.names))
    if not table.named and table.n_columns > 1:
        names = tuple(f"{base}_{place}" for place in range(table.n_columns))
    return replace(table, names=names)


def _positions(rows: Any, n_rows: int) -> np.ndarray:
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
    case: Case, repeat: int = 0, *, event: str = "selection", pos_label: Any = None, **settings: Any
) -> MDFAuditor:
    """Audit the event; the result also says which predictions were audited."""
    refuse_unknown("fairlearn", settings, Settings.names(), first="its own and ")
    found = occurrence(
        case.y_true,
        case.y_pred.array(repeat),
        event,
        pos_label,
        missing=settings.get("missing_outcome", "raise"),
        merge=bool(settings.get("merge_spellings", False)),
    )
    auditor = MDFAuditor(**({"outcomes": [found.audited], "random_state": 0} | settings))
    with renaming({"X": "audit_features"}):
        auditor.fit(
            case.features,
            found.outcome,
            sensitive_features=case.sensitive,
            sample_weight=found.weights(case.sample_weight),
            clusters=case.clusters,
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


def hash_of(array: Any) -> str:
    """SHA-256 of labels, one per line."""
    labels = read_labels(array, "y_pred")
    texts = [*(_text(value) for value in labels.values), "None"]
    return hashlib.sha256("\n".join(texts[code] for code in labels.codes).encode()).hexdigest()


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value == np.floor(value) and np.isfinite(value)
    return repr(int(value) if whole else value)
