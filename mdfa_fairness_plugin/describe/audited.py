"""What an auditor keeps of its rows and searches, to tell later where a person stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.search.search import Search


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditedRows:
    """Rows of an audit, and its searches in the order of ``AuditResult.violations``."""

    X: np.ndarray  # (n_rows, n_encoded)
    display: pd.DataFrame  # (n_rows, n_features)
    y: np.ndarray  # int (n_rows,), position of the outcome in ``AuditResult.outcome_labels``
    source_row: np.ndarray  # int (n_rows,), row of the user's input
    searches: tuple[Search, ...]
