r"""Propensity of belonging to the audited group, predicted for rows not fitted to.

The paper's weights are odds of ``e(x) = Pr[S = s | x]`` (Section 3.2). It avoids
estimating them; here they serve the overlap check, the doubly robust estimates and the two
simplest ways to balance.
"""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability


def cross_fitted_propensity(X, s, sample_weight=None, folds=None, random_state=None):
    r"""Out-of-fold ``Pr[S = +1 | x]``.

    See ``cross_fitted_probability`` for the learner.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Encoded features.
    s : ndarray of shape (n,)
        Sensitive attribute in {-1, +1}.
    sample_weight : ndarray of shape (n,) or None, default=None
        Sampling weights.
    folds : ndarray of int of shape (n,) or None, default=None
        Fold each row belongs to. ``None`` draws five, stratified by ``s``.
    random_state : int, Generator or None, default=None
        Seed of the folds when none are given, and of the boosting.

    Returns
    -------
    propensity : ndarray of shape (n,)
        Within ``[0.001, 0.999]``.
    """
    X = np.asarray(X, dtype=float)
    s = np.asarray(s)
    n = len(s)
    rng = np.random.default_rng(random_state)
    folds = draw_folds(s, 5, rng) if folds is None else np.asarray(folds)
    if folds.shape != (n,):
        raise InputError(f"folds: one fold number per row expected, shape {folds.shape} found.")
    labels = np.unique(folds)
    if len(labels) < 2:
        raise InputError("folds: at least two different folds are needed to predict out of fold.")
    fitted = cross_fitted_probability(
        X,
        s > 0,
        np.searchsorted(labels, folds),
        sample_weight=sample_weight,
        random_state=int(rng.integers(2**31 - 1)),
    )
    return fitted.out_of_fold


def odds_weights(propensity, s):
    r"""Section 3.2's weights: ``(1 - e) / e`` where S = +1, 1 where S = -1.

    Parameters
    ----------
    propensity : ndarray of shape (n,)
        ``e(x) = Pr[S = +1 | x]``.
    s : ndarray of shape (n,)

    Returns
    -------
    weights : ndarray of shape (n,)

    Examples
    --------
    >>> odds_weights(np.array([0.25, 0.25]), np.array([1, -1]))
    array([3., 1.])
    """
    e = np.asarray(propensity, dtype=float)
    with np.errstate(divide="ignore"):
        return np.where(np.asarray(s) > 0, (1.0 - e) / e, 1.0)


def overlap_weights(propensity, s):
    r"""Overlap weights: ``1 - e`` where S = +1, ``e`` where S = -1.

    Both groups are weighted towards where they meet, so no weight exceeds one (Li, Morgan and
    Zaslavsky 2018).

    Parameters
    ----------
    propensity : ndarray of shape (n,)
        ``e(x) = Pr[S = +1 | x]``.
    s : ndarray of shape (n,)

    Returns
    -------
    weights : ndarray of shape (n,)

    Examples
    --------
    >>> overlap_weights(np.array([0.25, 0.25]), np.array([1, -1]))
    array([0.75, 0.25])
    """
    e = np.asarray(propensity, dtype=float)
    return np.where(np.asarray(s) > 0, 1.0 - e, e)


def draw_folds(s, n_splits, random_state):
    """Fold of each row, drawn at random within the rows of each ``s``.

    Parameters
    ----------
    s : ndarray of shape (n,)
    n_splits : int
    random_state : int, Generator or None

    Returns
    -------
    folds : ndarray of int of shape (n,)
    """
    rng = np.random.default_rng(random_state)
    s = np.asarray(s)
    folds = np.empty(len(s), dtype=np.intp)
    start = 0
    for value in np.unique(s):
        rows = rng.permutation(np.flatnonzero(s == value))
        folds[rows] = (start + np.arange(len(rows))) % n_splits
        start += len(rows)
    return folds
