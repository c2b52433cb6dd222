"""Splits: which rows a model may see, and which it is judged on."""

from __future__ import annotations

import numpy as np

# The paper keeps 30 % of the rows for evaluation (Section 3.4).
HOLDOUT_SHARE = 0.3
# Mark of rows that belong to no learning fold.
HELD_BACK = -1


def draw_folds(
    strata: np.ndarray, n_splits: int, rng: np.random.Generator, unit: np.ndarray | None = None
) -> np.ndarray:
    """Fold of each row, in ``range(n_splits)``, as even as possible within every stratum.

    Rows of one ``unit`` share a fold; a unit is in the stratum of its first row. Strata are taken in
    the order in which they first appear, not by their codes, so renaming labels leaves the folds as
    they are.
    """
    own, first, size = _units(strata, unit)
    order = _shuffled(strata[first], size, rng)
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = np.arange(len(order)) % n_splits
    return folds[own]


def draw_holdout(
    strata: np.ndarray, rng: np.random.Generator, unit: np.ndarray | None = None
) -> np.ndarray:
    """Mark the rows kept for evaluation: 30 %, evenly within every stratum."""
    tenths = draw_folds(strata, 10, rng, unit)
    # Three of every ten, spread out: any run of rows of a stratum is then close to its share.
    return np.isin(tenths, np.arange(round(10 * HOLDOUT_SHARE)) * 3)


def draw_sample(
    strata: np.ndarray, n_rows: int, rng: np.random.Generator, unit: np.ndarray | None = None
) -> np.ndarray:
    """Mark about ``n_rows`` rows (exactly, where each is a unit), every stratum with its share."""
    own, first, size = _units(strata, unit)
    order = _shuffled(strata[first], size, rng)
    n_drawn = max(round(n_rows * len(order) / len(strata)), 1)
    # Evenly spaced along the units sorted by stratum.
    places = np.floor((np.arange(n_drawn) + 0.5) * len(order) / n_drawn).astype(np.intp)
    drawn = np.zeros(len(order), dtype=bool)
    drawn[order[places]] = True
    return drawn[own]


def _units(
    strata: np.ndarray, unit: np.ndarray | None
) -> tuple[np.ndarray | slice, np.ndarray | slice, np.ndarray]:
    """Unit of each row, first row of each unit, and how many rows each has."""
    if unit is None:
        return slice(None), slice(None), np.ones(len(strata), dtype=np.intp)
    _, first, own, size = np.unique(
        unit, return_index=True, return_inverse=True, return_counts=True
    )
    return own, first, size


def _shuffled(strata: np.ndarray, size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Units stratum by stratum, the largest first, in random order among equals."""
    _, first, codes = np.unique(strata, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.lexsort((rng.permutation(len(codes)), -size, rank[codes]))
