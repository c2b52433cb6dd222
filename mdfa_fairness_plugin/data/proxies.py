"""Groups known by probability: every row as one of each group, with that much weight."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import find_label, listing, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_vector
from mdfa_fairness_plugin.data.sensitive import UNNAMED
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.settings import Settings

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
    """Read probabilities of groups, a column each; where a group is known it is certain.

    Raises
    ------
    InputError
        If these are no probabilities that add up to 1 in every row.
    """
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
    values = np.empty(len(groups), dtype=object)
    values[:] = groups
    series = pd.Series(values[place], name=name)
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
    if asked.intersections:
        raise InputError("sensitive_probabilities: there is one column, so intersections=False.")


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
