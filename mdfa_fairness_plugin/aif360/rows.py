"""Rows of ``X`` in the manner of ``aif360.sklearn``, and what other arguments say of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.aif360.groups import PRIVILEGED, UNPRIVILEGED, Protection
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.exceptions import InputError, WarningLog


class People:
    """Rows of ``X``, and what other arguments say of them."""

    def __init__(self, X: Any, argument: str, *outcomes: Any) -> None:
        self._argument = argument
        self._table = read_table(X, argument)
        self._columns = list(self._table.names) if self._table.named else []
        self._pairing = Pairing(WarningLog())
        self._pairing.lead(self._table)
        self.index = index_of(X)
        indexes = [index_of(one) for one in (X, *outcomes)]
        self._indexes = [one for one in indexes if one is not None]

    def values(self, given: Any, argument: str) -> Any:
        """One value per row of ``X``, in their order."""
        column = read_vector(given, argument)
        check_length(column, self._table.n_rows, self._argument)
        return self._pairing.align(column).array(0)

    def protected(self, prot_attr: Protection) -> tuple[pd.DataFrame, set[Hashable]]:
        """Protected attributes, and the names that stand for them."""
        attributes: Sequence[Any] = [prot_attr]
        if prot_attr is None:
            attributes = self._first_levels()
        elif isinstance(prot_attr, list | tuple):  # of attributes, or the values of one
            values_of_one = len(prot_attr) == self._table.n_rows and all(map(is_label, prot_attr))
            attributes = attributes if values_of_one else prot_attr
        columns: dict[str, np.ndarray] = {}
        named = set(level_names(self.index))
        for place, one in enumerate(attributes, start=1):
            name = one if is_label(one) else getattr(one, "name", None)
            if name is not None:
                named.add(name)  # A column of the same name in X is the same attribute.
            values = np.asarray(self.looked_up(one, "prot_attr"))
            columns[f"prot_attr {place}" if name is None else str(name)] = values
        return pd.DataFrame(columns), named

    def without(self, named: set[Hashable], include: bool | Collection[Hashable]) -> Table:
        """``X`` without the columns that are protected attributes, but for those asked for."""
        if include is True:
            include = self._columns
        wanted = {include} if isinstance(include, str) else set(include or ())
        unknown = [name for name in wanted if name not in self._columns]
        if unknown:
            raise InputError(
                f"include_protected: {listing(unknown)} is no column of {self._argument}. Found: "
                f"{_listed(self._columns)}."
            )
        drop = named.intersection(self._columns) - wanted
        table = self._table
        places = [place for place, name in enumerate(table.names) if name not in drop]
        names = tuple(table.names[place] for place in places)
        matrix = None if table.matrix is None else table.matrix[:, places]
        arrays = [table.arrays[place] for place in places] if matrix is None else []
        # Rows are in order already, whatever their index.
        return Table(self._argument, names, arrays, table.n_rows, None, table.named, matrix)

    def _first_levels(self) -> list[Hashable]:
        for index in self._indexes:
            if level_names(index) and len(index) == self._table.n_rows:
                return level_names(index)
        raise InputError(
            "prot_attr: it was not given, and no index has named levels to take protected "
            f"attributes from. Pass the name of a column of {self._argument}, or the values."
        )

    def looked_up(self, given: Any, argument: str) -> Any:
        """One value per row: those given, or those of a level of an index or column of ``X``."""
        if not is_label(given):
            return self.values(given, argument)
        label = given
        for index in self._indexes:
            if label in index.names and len(index) == self._table.n_rows:
                return index.get_level_values(label)
        if label in self._columns:
            return self._table.array(self._columns.index(label))
        levels = [name for index in self._indexes for name in level_names(index)]
        raise InputError(
            f"{argument}: {label!r} is neither a level of an index nor a column of "
            f"{self._argument}. Found: {_listed([*levels, *self._columns])}. Pass one of them, or the "
            "values."
        )


def index_of(rows: object) -> pd.Index | None:
    """Index of rows, if they have one."""
    index = getattr(rows, "index", None)
    return index if isinstance(index, pd.Index) else None


def level_names(index: pd.Index | None) -> list[Hashable]:
    """Names of the levels that have one."""
    return [] if index is None else [name for name in index.names if name is not None]


def is_label(value: object) -> bool:
    """Whether a value names something rather than holding a value for each row."""
    return isinstance(value, Hashable) and not hasattr(value, "__array__")


def _listed(names: Sequence[Hashable]) -> str:
    return listing(dict.fromkeys(names)) if names else "no names at all"


def two_groups(protected: pd.DataFrame, priv_group: Hashable) -> pd.DataFrame:
    """Privileged and unprivileged, which is everybody else whose attributes are known."""
    n_attributes = protected.shape[1]
    values = priv_group if isinstance(priv_group, tuple) else (priv_group,)
    if len(values) != n_attributes:
        raise InputError(
            f"priv_group: {priv_group!r} has {len(values)} value(s) for the {n_attributes} "
            f"protected attribute(s) {', '.join(map(repr, protected.columns))}. Pass a tuple with "
            "one for each, or name a single attribute as prot_attr."
        )
    privileged = np.ones(len(protected), dtype=bool)
    for name, value in zip(protected.columns, values, strict=True):
        hits = (protected[name] == value).to_numpy(dtype=bool, na_value=False)
        if not hits.any():
            found = listing(dict.fromkeys(protected[name].dropna()))
            raise InputError(
                f"priv_group: {value!r} is not among the values of {name!r}: {found}. Pass the "
                "privileged value."
            )
        privileged &= hits
    if not privileged.any():
        raise InputError(
            f"priv_group: no row has the combination {priv_group!r} of "
            f"{', '.join(map(repr, protected.columns))}. Pass one that occurs."
        )
    column = np.where(privileged, PRIVILEGED, UNPRIVILEGED).astype(object)
    column[protected.isna().any(axis=1).to_numpy()] = None
    return pd.DataFrame({" & ".join(protected.columns): pd.Series(column, dtype=object)})
