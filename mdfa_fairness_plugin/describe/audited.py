"""What an auditor keeps of its rows and searches, to tell later where a person stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.conditions import Rule


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchedRows:
    """Rows one search compared, n of them, and what it found."""

    rows: np.ndarray  # working rows
    s: np.ndarray  # +1 for the audited group, -1 for those it is compared with
    positive: np.ndarray  # bool: has the audited outcome
    member: np.ndarray  # bool: in the subgroup, by a model that has not seen the row
    scores: np.ndarray  # larger is worse treated
    threshold: float  # the subgroup's smallest score
    # Scores of new encoded rows, with ``by_model``; None if the model was not kept.
    region: Callable[[np.ndarray], np.ndarray] | None
    rule: Rule


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditedRows:
    """Rows of an audit, and its searches in the order of ``AuditResult.violations``."""

    X: np.ndarray  # (n_rows, n_encoded)
    display: pd.DataFrame  # (n_rows, n_features)
    y: np.ndarray  # int (n_rows,), position of the outcome in ``AuditResult.outcome_labels``
    source_row: np.ndarray  # int (n_rows,), row of the user's input
    searches: tuple[SearchedRows | None, ...]  # None where nothing could be compared
