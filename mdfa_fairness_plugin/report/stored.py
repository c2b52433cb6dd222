"""A result read back from its JSON, which may come from anybody: every value is checked."""

from __future__ import annotations

import json
import math
import os
import types
from collections.abc import Collection, Hashable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.balance import BalanceDiagnostics
from mdfa_fairness_plugin.data.sensitive import JOINT
from mdfa_fairness_plugin.describe.profile import VALUES
from mdfa_fairness_plugin.exceptions import Count, InputError, Message, renaming
from mdfa_fairness_plugin.provenance import ReadFile
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.records.statement import checked_statement
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA

_Kind = TypeVar("_Kind")
_TOO_LARGE: Final = 2**53  # for a count
_INFINITE: Final = {"inf": math.inf, "-inf": -math.inf}
# Of every number three counts, on either side: in all, inside and outside.
_COUNTED: Final = dict[str, tuple[(tuple[int, int, int],) * 6]]  # type: ignore[misc]
# Only there if something was asked or stated.
_IF_GIVEN: Final = ("asked", "features", "statement")
_SHOWN: Final = 60  # characters of what was found, in an error


def read_json(path: str | os.PathLike[str]) -> Any:
    """What is in a file of strict JSON."""
    is_text = isinstance(path, str) and path.lstrip().startswith("{")
    if is_text or not isinstance(path, str | os.PathLike):
        found = "what is in one" if is_text else type(path).__name__
        raise InputError(f"path: the path of a JSON file expected, {found} found.")
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
        return json.loads(text, parse_constant=_refuse_constant)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: no JSON that can be read: {error}.") from error


def stored_part(
    path: str | os.PathLike[str], kind: type[_Kind], given: Any, where: str, known: Collection[str]
) -> _Kind:
    """A record of which some of the known fields are in a file, the others at their defaults."""
    reading, hints = _Reading(os.fspath(path), {}), get_type_hints(kind)
    for name in reading.of(dict[str, Any], given, where):
        if name not in known:
            reading.refuse(where, f"some of {', '.join(sorted(known))}", name)
    own = {name: reading.of(hints[name], one, f"{where}.{name}") for name, one in given.items()}
    try:
        return kind(**own)
    except TypeError as error:  # some that have no default
        raise InputError(f"{os.fspath(path)}: {where}: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def stored_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Fields of the result that ``AuditResult.to_json`` wrote to a file."""
    given, name = read_json(path), os.fspath(path)
    schema = given.get("schema") if isinstance(given, dict) else None
    if schema != AUDIT_SCHEMA:
        found = "no schema is named" if schema is None else f"its schema is {_short(schema)}"
        raise InputError(
            f"{name}: no result of an audit that this version reads: {found}, {AUDIT_SCHEMA!r} "
            "expected. Audit the data again and write the result with to_json or --json."
        )
    if "min_cell" in given:
        raise InputError(
            f"{name}: counts below {_short(given['min_cell'])} were withheld from it, so that it is no "
            "whole result. Write the result without min_cell to read it back."
        )
    return _Reading(name, given).fields()


class _Reading:
    """One file, whose values are read as the fields of the records say."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        self.name, self.given = name, given
        self.messages: dict[str, Message] = {}

    def fields(self) -> dict[str, Any]:
        """Fields of the result itself."""
        parts = self.of(tuple[tuple[str | Count, ...], ...], self.key(self.given, "messages"))
        self.messages = {str(message): message for message in (Message(*own) for own in parts)}
        found = self.fields_of(AuditRecord, self.given, "", skipped=("balance", "excluded"))
        with renaming({"statement": f"{self.name}: statement"}):
            found["statement"] = checked_statement(found.get("statement"))
        found["excluded"] = self.of(dict[str, int], self.key(self.given, "excluded"), "excluded")
        names = list(dict.fromkeys(own.sensitive_feature for own in found["groups"]))
        for i, own in enumerate(found["groups"]):
            n = {len(own.counts), len(own.rates), len(found["outcome_labels"]) or 1}
            # The last of several names may be that of all before it together.
            whole = own.known and own.sensitive_feature == JOINT.join(names[:-1]) == names[-1]
            n_parts = len(own.group) if isinstance(own.group, tuple) else 0
            if len(n) > 1 or (whole and n_parts != len(names) - 1):
                self.refuse(f"groups[{i}]", "a count and a rate of every outcome", own.group)
        n_searches = len(found["violations"])
        for i, feature in enumerate(found.get("features", ())):
            told = feature.difference_without or feature.ratio_without
            if {len(feature.tells), len(feature.ratio_without), len(told)} != {n_searches}:
                self.refuse(f"features[{i}]", "two numbers of every search", feature.feature)
        if isinstance(found["alpha"], str) and found["alpha"] != "auto":
            self.refuse("alpha", "a number or 'auto'", found["alpha"])
        for name, own in found["provenance"].items():
            if name.startswith("n_") and own is not None:
                self.of(int, own, f"provenance.{name}")
        if "files" in found["provenance"]:
            read = self.of(tuple[ReadFile, ...], found["provenance"]["files"], "provenance.files")
            found["provenance"]["files"] = read
        found["balance"] = dict(
            self.balance(one, f"balance[{i}]")
            for i, one in enumerate(
                self.of(tuple[dict[str, Any], ...], self.key(self.given, "balance"), "balance")
            )
        )
        return found

    def balance(self, given: dict[str, Any], where: str) -> tuple[tuple[str, Hashable], Any]:
        """Diagnostics of one comparison with its key; such as are not the package's own as they are."""
        hints = {"sensitive_feature": str, "group": Hashable}
        feature, group = (
            self.of(hint, self.key(given, name, where), f"{where}.{name}")
            for name, hint in hints.items()
        )
        if {one.name for one in fields(BalanceDiagnostics)} <= set(given):
            return (feature, group), self.of(BalanceDiagnostics, given, where)
        return (feature, group), {k: own for k, own in given.items() if k not in hints}

    def fields_of(
        self, kind: type[Any], given: Any, where: str, skipped: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Values of the fields that a record has in JSON."""
        if not isinstance(given, dict):
            self.refuse(where, f"the values of a {kind.__name__}", given)
        hints = get_type_hints(kind)
        found = {}
        for one in fields(kind):
            if one.name in skipped or one.metadata.get("json") == "no":
                continue
            optional = one.name in _IF_GIVEN or one.metadata.get("json") in ("bits", "told")
            if optional and one.name not in given:
                continue
            place = f"{where}.{one.name}" if where else one.name
            value = self.key(given, one.name, where)
            if hints[one.name] is np.ndarray:
                assert one.default_factory is not MISSING
                dtype, bits = one.default_factory().dtype, one.metadata.get("json") == "bits"
                found[one.name] = self.array(value, dtype, place, bits)
            else:
                # A result withholds no count; only its copies for printing do.
                hint = int if type(one.default) is int else hints[one.name]
                found[one.name] = self.of(hint, value, place)
        return found

    def of(self, hint: Any, given: Any, where: str = "messages") -> Any:
        """A value of the type that a field declares."""
        origin, parts = get_origin(hint), get_args(hint)
        if hint is Any:
            return given
        if hint is float:
            return self.number(given, where)
        if origin in (types.UnionType, Union):
            return self.one_of(parts, given, where)
        if hint in (bool, int, str):
            large = hint is int and type(given) is int and not 0 <= given < _TOO_LARGE
            if type(given) is not hint or large:
                named = {bool: "true or false", int: "a count", str: "a text"}
                self.refuse(where, named[hint], given)
            return self.messages.get(given, given) if hint is str else given
        if hint is pd.DataFrame:
            return self.table(given, where)
        if origin is tuple:
            return self.several(parts, given, where)
        if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
            return self.record(hint, given, where)
        if origin is not None and issubclass(origin, Mapping):
            if not isinstance(given, dict):
                self.refuse(where, "values by name", given)
            return {
                name: self.of(parts[1], own, f"{where}[{_short(name)}]")
                for name, own in given.items()
            }
        return self.label(given, where)

    def record(self, kind: type[_Kind], given: Any, where: str) -> _Kind:
        """A record, which checks its own values."""
        own = self.fields_of(kind, given, where)
        try:
            return kind(**own)
        except ValueError as error:
            raise InputError(f"{self.name}: {where}: {error}") from error

    def one_of(self, hints: tuple[Any, ...], given: Any, where: str) -> Any:
        """A value of one of several types."""
        if given is None and type(None) in hints:
            return None
        others = [hint for hint in hints if hint is not type(None)]
        if str in others and isinstance(given, str):
            return self.of(str, given, where)
        other = next(hint for hint in others if hint is not str or len(others) == 1)
        return self.of(other, given, where)

    def several(self, hints: tuple[Any, ...], given: Any, where: str) -> tuple[Any, ...]:
        """A tuple of equal things, or of as many as are declared."""
        if not isinstance(given, list):
            self.refuse(where, "a list", given)
        if hints[-1] is Ellipsis:
            hints = hints[:1] * len(given)
        if len(hints) != len(given):
            self.refuse(where, f"a list of {len(hints)}", given)
        return tuple(
            self.of(hint, own, f"{where}[{i}]")
            for i, (hint, own) in enumerate(zip(hints, given, strict=True))
        )

    def number(self, given: Any, where: str) -> float:
        """A number, NaN where it is unknown."""
        if given is None:
            return math.nan
        if isinstance(given, str) and given in _INFINITE:
            return _INFINITE[given]
        if isinstance(given, bool) or not isinstance(given, int | float):
            self.refuse(where, "a number", given)
        try:
            return float(given)
        except OverflowError:
            self.refuse(where, "a number", given)

    def array(self, given: Any, dtype: np.dtype, where: str, bits: bool) -> np.ndarray:
        """A value per row or step."""
        if bits:
            if not isinstance(given, str) or set(given) - {"0", "1"}:
                self.refuse(where, "a text of 0 and 1", given)
            return np.frombuffer(given.encode(), dtype=np.uint8) == ord("1")
        values = np.array(self.several((float, Ellipsis), given, where), dtype=float)
        if dtype.kind == "i" and not np.array_equal(values, np.floor(values)):
            self.refuse(where, "whole numbers", given)
        return values.astype(dtype)

    def label(self, given: Any, where: str) -> Hashable:
        """A label; lists stand for tuples."""
        if isinstance(given, list):
            return tuple(self.label(own, where) for own in given)
        if isinstance(given, dict):
            self.refuse(where, "a label", given)
        return given

    def table(self, given: Any, where: str) -> pd.DataFrame:
        """A table with its labels."""
        if not isinstance(given, dict):
            self.refuse(where, "a table", given)
        columns, index = (
            _axis(self.of(tuple[Hashable, ...], self.key(given, name, where), f"{where}.{name}"))
            for name in ("columns", "index")
        )
        values = self.key(given, "values", where)
        n, m = len(index), len(columns)
        lists = isinstance(values, list) and all(isinstance(own, list) for own in values)
        if not lists or list(map(len, values)) != [m] * n:
            self.refuse(f"{where}.values", f"{n} rows of {m} values", values)
        for own in values:
            self.several((float, Ellipsis), own, f"{where}.values")
        frame = pd.DataFrame({i: _column([own[i] for own in values]) for i in range(m)})
        frame = frame.set_axis(index, axis=0).set_axis(columns, axis=1)
        if "counted" in given:
            frame.attrs[VALUES] = self.of(_COUNTED, given["counted"], f"{where}.counted")
        return frame

    def key(self, given: dict[str, Any], name: str, where: str = "") -> Any:
        """What stands under a name."""
        if name not in given:
            place = f"{where}: " if where else ""
            raise InputError(f"{self.name}: {place}{name!r} is missing.")
        return given[name]

    def refuse(self, where: str, expected: str, given: Any) -> NoReturn:
        """Say what is wrong, and where."""
        raise InputError(f"{self.name}: {where}: {expected} expected, {_short(given)} found.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _axis(labels: tuple[Hashable, ...]) -> pd.Index:
    """Labels of one axis, of several levels if all have several parts."""
    parts = [own for own in labels if isinstance(own, tuple) and len(own) > 1]
    if labels and len(parts) == len(labels) and len(set(map(len, parts))) == 1:
        return pd.MultiIndex.from_tuples(parts)
    return pd.Index(list(labels), dtype=object if labels else None, tupleize_cols=False)


def _column(values: list[Any]) -> pd.Series:
    """Numbers, whole ones as such."""
    if values and all(isinstance(own, int) and abs(own) < _TOO_LARGE for own in values):
        return pd.Series(values, dtype="int64")
    return pd.Series([_INFINITE.get(own, own) for own in values], dtype=float)
