"""Whose row each is: the rows of one person are one piece of evidence."""

from __future__ import annotations

import numbers
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import no_labels
from mdfa_fairness_plugin.exceptions import InputError


def read_clusters(given: Any) -> np.ndarray | None:
    """Number of each row's cluster; None if every row is one of its own."""
    codes, found = numbered(given)
    if found.dtype == object:
        same, texts = pd.factorize(np.array([as_text(one) for one in found], dtype=object))
        codes, found = np.append(same, -1)[codes], texts
    refuse_clusters(int((codes < 0).sum()), len(codes), len(found))
    return None if len(found) == len(codes) else codes


def numbered(given: Any) -> tuple[np.ndarray, Any]:
    """Number of each row's cluster as they first appear, -1 where it is missing, and their ids."""
    try:
        return pd.factorize(given)
    except (TypeError, NotImplementedError) as error:
        raise no_labels(given, "clusters") from error


def as_text(value: Hashable) -> str:
    """An id as text: 7, 7.0 and "7" are one, as parts of the rows may hold it either way."""
    if isinstance(value, numbers.Real) and value % 1 == 0:
        return str(int(value))
    return str(value)


def refuse_clusters(n_missing: int, n_rows: int, n_clusters: int) -> None:
    """Refuse clusters that nothing can be told by, wherever their rows lie."""
    if n_missing:
        raise InputError(
            f"clusters: {n_missing:,} of {n_rows:,} rows have no value. Give each row that is "
            "nobody else's an id of its own."
        )
    if n_clusters == 1:
        raise InputError(
            "clusters: all rows are of one cluster, so nothing can be told from chance. Pass one id "
            "per person (household, firm, ...), or None if every row is another person's."
        )


def renumbered(cluster: np.ndarray) -> np.ndarray:
    """The same clusters, numbered as they first appear."""
    return pd.factorize(cluster)[0]
