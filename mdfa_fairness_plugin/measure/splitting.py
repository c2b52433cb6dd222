"""Splits: which rows a model may see, and which it is judged on."""

from __future__ import annotations

import numpy as np

# The paper keeps 30 % of the rows for evaluation (Section 3.4).
HOLDOUT_SHARE = 0.3
# Mark of rows that belong to no learning fold.
HELD_BACK = -1


def draw_folds(strata: np.ndarray, n_splits: int, rng: np.random.Generator) -> np.ndarray:
    """Fold of each row, as even as possible within every stratum.

    Parameters
    ----------
    strata : ndarray of int of shape (n,)
    n_splits : int
    rng : numpy Generator

    Returns
    -------
    folds : ndarray of int of shape (n,)
        In ``range(n_splits)``.

    Notes
    -----
    Strata are taken in the order in which they first appear, not by their codes, so renaming
    labels leaves the folds as they are.

    Examples
    --------
    >>> draw_folds(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0)).tolist()
    [1, 0, 2, 2, 0, 1]
    """
    _, first, codes = np.unique(strata, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    order = np.lexsort((rng.permutation(len(codes)), rank[codes]))
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % n_splits
    return folds


def draw_holdout(strata: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mark the rows kept for evaluation: 30 %, evenly within every stratum.

    Parameters
    ----------
    strata : ndarray of int of shape (n,)
    rng : numpy Generator

    Returns
    -------
    held_out : ndarray of bool of shape (n,)
    """
    tenths = draw_folds(strata, 10, rng)
    # Three of every ten, spread out: any run of rows of a stratum is then close to its share.
    return np.isin(tenths, np.arange(round(10 * HOLDOUT_SHARE)) * 3)


def draw_sample(strata: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Mark a sample of rows, every stratum with its share of it.

    Parameters
    ----------
    strata : ndarray of int of shape (n,)
    n_rows : int
        At most n.
    rng : numpy Generator

    Returns
    -------
    drawn : ndarray of bool of shape (n,)
        With ``n_rows`` rows marked.

    Examples
    --------
    >>> drawn = draw_sample(np.repeat([0, 1], [30, 10]), 8, np.random.default_rng(0))
    >>> drawn[:30].sum(), drawn[30:].sum()
    (np.int64(6), np.int64(2))
    """
    _, first, codes = np.unique(strata, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    order = np.lexsort((rng.permutation(len(codes)), rank[codes]))
    # Evenly spaced along the rows sorted by stratum.
    places = np.floor((np.arange(n_rows) + 0.5) * len(codes) / n_rows).astype(np.intp)
    drawn = np.zeros(len(codes), dtype=bool)
    drawn[order[places]] = True
    return drawn
