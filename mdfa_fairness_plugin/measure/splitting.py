"""Splits: which rows a model may see, and which it is judged on."""

from __future__ import annotations

import numpy as np

# The paper keeps 30 % of the rows for evaluation (Section 3.4).
HOLDOUT_SHARE = 0.3
# Mark of rows that belong to no learning fold.
HELD_BACK = -1


def draw_folds(strata: np.ndarray, n_splits: int, rng: np.random.Generator) -> np.ndarray:
    """Fold of each row, in ``range(n_splits)``, as even as possible within every stratum.

    Strata are taken in the order in which they first appear, not by their codes, so renaming
    labels leaves the folds as they are.
    """
    order = _shuffled(strata, rng)
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = np.arange(len(order)) % n_splits
    return folds


def draw_holdout(strata: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mark the rows kept for evaluation: 30 %, evenly within every stratum."""
    tenths = draw_folds(strata, 10, rng)
    # Three of every ten, spread out: any run of rows of a stratum is then close to its share.
    return np.isin(tenths, np.arange(round(10 * HOLDOUT_SHARE)) * 3)


def draw_sample(strata: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Mark ``n_rows`` rows, every stratum with its share of them."""
    order = _shuffled(strata, rng)
    # Evenly spaced along the rows sorted by stratum.
    places = np.floor((np.arange(n_rows) + 0.5) * len(order) / n_rows).astype(np.intp)
    drawn = np.zeros(len(order), dtype=bool)
    drawn[order[places]] = True
    return drawn


def _shuffled(strata: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows stratum by stratum, in random order within each."""
    _, first, codes = np.unique(strata, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.lexsort((rng.permutation(len(codes)), rank[codes]))
