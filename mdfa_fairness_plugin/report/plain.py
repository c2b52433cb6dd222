"""A result as a plain dictionary and as strict JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.profile import VALUES
from mdfa_fairness_plugin.describe.wording import label_text, plain_float, plain_label
from mdfa_fairness_plugin.exceptions import AuditWarning, InputError, Message, is_hidden
from mdfa_fairness_plugin.records import AuditRecord, Judged
from mdfa_fairness_plugin.report.files import written_beside
from mdfa_fairness_plugin.report.reading import comparison, diagnostics, place_of
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA

_FORMAT: Final = "mdfa-audit-result"
_FORMAT_VERSION: Final = 3
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]")
# Differ between two runs of the same audit.
_UNSTABLE: Final = frozenset({"timings"})
# What the user gave.
_AS_GIVEN: Final = frozenset({"confidence_level", "provenance", "received"})


def to_plain(result: AuditRecord, *, rows: bool = False) -> dict[str, Any]:
    """Give a result in types that strict JSON has.

    - ``schema`` names the JSON schema of the whole, see
      :func:`mdfa_fairness_plugin.report.schema.load_schema`.
    - Missing numbers are None; infinite ones the text ``"inf"`` or ``"-inf"``.
    - With ``rows``, ``membership``, ``held_out`` and ``left_out`` are text with one ``0`` or ``1``
      per row the user gave, in that order; empty if unknown.
    - Labels are null, true, numbers or text where they can be, lists for tuples, ISO 8601 for
      dates and text for the rest.
    - Tables are ``{"columns": [...], "index": [...], "values": [[...]]}``. A profile has besides
      ``counted``: of every number its values, others than the commonest, and rows with the rarest.
    - ``messages`` are the texts that speak of counts, in parts.
    - ``worst_case`` is a position in ``violations``, or None.
    - ``balance`` is a list, each entry with its ``sensitive_feature`` and ``group``.
    - Timings are left out, so that the same audit always gives the same text.
    """
    return {
        "schema": AUDIT_SCHEMA,
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "alpha": plain_value(result.alpha),
        "confidence_level": plain_float(result.confidence_level),
        "n_samples": plain_value(result.n_samples),
        "outcome_name": result.outcome_name,
        "favorable_label": plain_label(result.favorable_label),
        "outcome_labels": [plain_label(label) for label in result.outcome_labels],
        "sensitive_names": [plain_label(name) for name in result.sensitive_names],
        "feature_names": [plain_label(name) for name in result.feature_names],
        "worst_case": place_of(result, result.worst_case),
        "violations": [_plain_verdict(violation, rows) for violation in result.violations],
        "balance": [_plain_balance(key, value) for key, value in result.balance.items()],
        "excluded": plain_value(result.excluded),
        "silence": [plain_value(silence) for silence in result.silence],
        "groups": [plain_value(own) for own in result.groups],
        **({"asked": [_plain_verdict(own, rows) for own in result.asked]} if result.asked else {}),
        **({"features": plain_value(result.features)} if result.features else {}),
        **({"statement": plain_value(result.statement)} if result.statement else {}),
        "messages": _plain_messages(result),
        **plain_origin(result.warnings, result.provenance),
    }


def _plain_messages(result: AuditRecord) -> list[Any]:
    """Texts that speak of counts, in parts: what is read back can then withhold these too."""
    searches: list[Judged] = [*result.violations, *result.asked]
    texts = (*(one.message for one in result.warnings), *(own.reason for own in searches))
    counted = (one for one in texts if isinstance(one, Message))
    return [plain_value(one.parts) for one in dict.fromkeys(counted)]


def plain_origin(warnings: Sequence[AuditWarning], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Warnings and provenance, without what differs between two runs."""
    return {
        "warnings": [
            {"category": plain_value(w.category), "message": plain_value(w.message)}
            for w in warnings
        ],
        "provenance": plain_value({k: v for k, v in provenance.items() if k not in _UNSTABLE}),
    }


def in_print(plain: dict[str, Any], min_cell: int, *, rows: bool) -> dict[str, Any]:
    """The same of a copy for printing, in as many digits as it is printed with.

    Refuses what is told row by row beside it.
    """
    if rows:
        raise InputError(
            "rows: True was given with min_cell, but what is told row by row tells every count; leave "
            "one of them out."
        )
    return _in_few_digits(plain) | {"min_cell": int(min_cell)}


def few_digits(value: float) -> float:
    """A number in three digits, or to one decimal: shares in all their digits would tell counts."""
    if not math.isfinite(value) or value == 0:
        return value
    return round(value, max(2 - math.floor(math.log10(abs(value))), 1))


def _in_few_digits(value: Any) -> Any:
    """Likewise all numbers of lists and dictionaries."""
    if isinstance(value, dict):
        return {k: own if k in _AS_GIVEN else _in_few_digits(own) for k, own in value.items()}
    if isinstance(value, list):
        return [_in_few_digits(own) for own in value]
    return few_digits(value) if isinstance(value, float) else value


def as_json(plain: Mapping[str, Any]) -> str:
    """Strict JSON with sorted keys, ending with a line break; what cannot be seen is escaped."""
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False, indent=2, sort_keys=True)
    return f"{_NOT_ASCII.sub(_escaped, text)}\n"


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return json.dumps(character)[1:-1] if is_hidden(character) else character


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """The text; if there is a path also as a file, UTF-8 with the same line ends on every system."""
    if path is not None:
        with written_beside(path) as part:
            part.write_text(text, encoding="utf-8", newline="\n")
    return text


def _plain_verdict(own: Judged, rows: bool) -> dict[str, Any]:
    """A search or an answer, with what follows from its fields, and row by row if asked for."""
    by_row = {name: _bits(getattr(own, name)) for name, how in _forms(own).items() if how == "bits"}
    return {
        **plain_value(own),
        **(by_row if rows else {}),
        "ratio": plain_float(own.ratio),
        "ratio_interval": [plain_float(end) for end in own.ratio_interval],
        "detectable_ratio": plain_float(own.detectable_ratio),
        "standard_deviations": plain_float(own.standard_deviations),
    }


def _bits(mask: np.ndarray) -> str:
    """Write a mask as zeros and ones."""
    return (np.asarray(mask, dtype=np.uint8) + ord("0")).astype(np.uint8).tobytes().decode("ascii")


def _plain_balance(key: Any, value: Any) -> dict[str, Any]:
    feature, group = comparison(key)
    return {
        **plain_value({k: v for k, v in diagnostics(value).items() if k != "withheld"}),
        "sensitive_feature": plain_label(feature),
        "group": plain_label(group),
    }


def plain_value(value: Any) -> Any:
    """Turn any value into types that strict JSON has."""
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, pd.DataFrame):
        return {
            "columns": [plain_label(label) for label in value.columns],
            "index": [plain_label(label) for label in value.index],
            "values": [[plain_value(cell) for cell in row] for row in value.to_numpy(dtype=object)],
            **({"counted": plain_value(value.attrs[VALUES])} if VALUES in value.attrs else {}),
        }
    if isinstance(value, pd.Series | pd.Index):
        return [plain_value(cell) for cell in value.to_numpy(dtype=object)]
    if isinstance(value, np.ndarray):
        return plain_value(value.tolist())
    if isinstance(value, list | tuple):
        return [plain_value(cell) for cell in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain_record(value)
    if isinstance(value, type) or callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return plain_label(f"{getattr(value, '__module__', '')}.{name}")
    plain = plain_label(value)
    if isinstance(plain, str) and " at 0x" in plain:
        # An address in memory differs from run to run.
        return f"{type(value).__module__}.{type(value).__qualname__}"
    return plain


def _plain_record(value: Any) -> dict[str, Any]:
    """Fields of a record in the form each says it has in JSON, but for what is told row by row."""
    writers = {"value": plain_value, "label": plain_label, "told": plain_value}
    silent = {one.name: one.default for one in dataclasses.fields(value)}
    plain: dict[str, Any] = {}
    for name, how in _forms(value).items():
        write, own = writers.get(how), getattr(value, name)
        if write is not None and not (how == "told" and _says_nothing(own, silent[name])):
            plain[name] = write(own)
    return plain


def _says_nothing(own: Any, default: Any) -> bool:
    """Whether a field is as it is by default, or not known."""
    if isinstance(own, pd.DataFrame):
        return own.empty
    if isinstance(own, tuple) and own:
        return all(isinstance(one, float) and math.isnan(one) for one in own) or own == default
    return bool((isinstance(own, float) and math.isnan(own)) or own == default)


def _forms(record: Any) -> dict[str, str]:
    """Form in JSON of every field."""
    return {one.name: one.metadata.get("json", "value") for one in dataclasses.fields(record)}


def _plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, item in value.items():
        name = key if isinstance(key, str) else label_text(key, limit=None)
        name = str(plain_label(name))
        plain[name if name not in plain else f"{name} ({type(key).__name__})"] = plain_value(item)
    return plain
