"""Whose row each is: the rows of one person are one piece of evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import InputError, InputTypeError


def read_clusters(given: Any) -> np.ndarray | None:
    """Number of each row's cluster; None if every row is one of its own."""
    try:
        codes, found = pd.factorize(given)
    except TypeError as error:
        raise InputTypeError(
            f"clusters holds values that cannot be labels ({error}). Use text or numbers."
        ) from error
    n_missing = int((codes < 0).sum())
    if n_missing:
        raise InputError(
            f"clusters: {n_missing:,} of {len(codes):,} rows have no value. Give each row that is "
            "nobody else's an id of its own."
        )
    if len(found) == 1:
        raise InputError(
            "clusters: all rows are of one cluster, so nothing can be told from chance. Pass one id "
            "per person (household, firm, ...), or None if every row is another person's."
        )
    return None if len(found) == len(codes) else codes


def renumbered(cluster: np.ndarray) -> np.ndarray:
    """The same clusters, numbered as they first appear."""
    return pd.factorize(cluster)[0]
