r"""Propensity of belonging to the audited group, predicted for rows not fitted to.

The paper's weights are odds of ``e(x) = Pr[S = s | x]`` (Section 3.2). It avoids
estimating them; here they serve the overlap check, the doubly robust estimates and the two
simplest ways to balance.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from mdfa_fairness_plugin.balance.basis import QuadraticBasis
from mdfa_fairness_plugin.exceptions import InputError

# Predictions are kept off 0 and 1 so that odds stay finite: one in a thousand.
PROPENSITY_FLOOR = 1e-3
_N_BINS = 63


def cross_fitted_propensity(X, s, sample_weight=None, folds=None, random_state=None):
    r"""Out-of-fold ``Pr[S = +1 | x]``.

    A logistic regression on the features, their squares and products, and a small gradient
    boosting, each fitted without the fold it predicts, are combined by a logistic
    regression with non-negative coefficients on their log-odds. Smooth imbalance, thresholds and
    categories are thus all caught, and the result is calibrated.

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

    Notes
    -----
    The combination's three coefficients see every row. With so few of them, what leaks from a
    row's own ``s`` into its prediction is of the order of three over the number of rows.
    """
    X = np.asarray(X, dtype=float)
    s = np.asarray(s)
    n = len(s)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    rng = np.random.default_rng(random_state)
    folds = draw_folds(s, 5, rng) if folds is None else np.asarray(folds)
    if folds.shape != (n,):
        raise InputError(f"folds: one fold number per row expected, shape {folds.shape} found.")
    labels = np.unique(folds)
    if len(labels) < 2:
        raise InputError("folds: at least two different folds are needed to predict out of fold.")
    seed = int(rng.integers(2**31 - 1))
    positive = s > 0
    design = QuadraticBasis.fit(X, weight)(X)
    binned = _binned(X, weight)
    fit_weight = None if sample_weight is None else weight
    scores = np.zeros((n, 2))
    for label in labels:
        test = folds == label
        train = ~test
        share = np.average(positive[train], weights=weight[train])
        if share <= 0 or share >= 1:  # one group only: nothing to learn
            scores[test] = logit(np.clip(share, PROPENSITY_FLOOR, 1 - PROPENSITY_FLOOR))
            continue
        scores[test, 0] = _smooth_scores(design, positive, fit_weight, train, test)
        scores[test, 1] = _boosted_scores(binned, positive, fit_weight, train, test, seed)
    return np.clip(expit(_stack(scores, positive, weight)), PROPENSITY_FLOOR, 1 - PROPENSITY_FLOOR)


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


def _smooth_scores(design, positive, weight, train, test):
    if design.shape[1] == 0:
        return np.zeros(test.sum())
    # C = 0.3: log-loss within 0.001 of the best of .03 ... 3 on synthetic data, COMPAS and Adult.
    model = LogisticRegression(C=0.3, max_iter=200, tol=1e-3)
    model.fit(design[train], positive[train], sample_weight=_part(weight, train))
    return model.decision_function(design[test])


def _boosted_scores(binned, positive, weight, train, test, seed):
    # Few, small trees: 25 of 8 leaves come within 0.002 of the log-loss of 150, at a fifth of the
    # time.
    model = HistGradientBoostingClassifier(
        max_iter=25,
        learning_rate=0.15,
        max_leaf_nodes=8,
        min_samples_leaf=20,
        l2_regularization=1.0,
        max_bins=_N_BINS,
        early_stopping=False,
        random_state=seed,
    )
    model.fit(binned[train], positive[train], sample_weight=_part(weight, train))
    return model.decision_function(binned[test])


def _part(weight, rows):
    return None if weight is None else weight[rows]


def _binned(X, weight):
    """Each column cut into at most 63 bins of about equal weight, numbered.

    Done once for all folds (it does not look at ``s``); the boosting would do it for each.
    """
    binned = np.empty_like(X)
    levels = np.arange(1, _N_BINS) / _N_BINS
    for j in range(X.shape[1]):
        values, codes = np.unique(X[:, j], return_inverse=True)
        if len(values) > _N_BINS:
            shares = np.cumsum(np.bincount(codes, weights=weight)) / weight.sum()
            codes = np.searchsorted(levels, shares - 1e-12)[codes]
        binned[:, j] = codes
    return binned


def _stack(scores, positive, weight):
    """Log-odds ``a + b . scores`` with ``b >= 0`` of smallest weighted log-loss."""
    scores = np.clip(scores, -8.0, 8.0)
    weight = weight / weight.sum()
    sign = np.where(positive, 1.0, -1.0)
    features = np.column_stack([np.ones(len(scores)), scores])
    share = np.clip(weight @ positive, PROPENSITY_FLOOR, 1 - PROPENSITY_FLOOR)

    def loss(coefficients):
        margin = sign * (features @ coefficients)
        value = weight @ np.logaddexp(0.0, -margin)
        gradient = -(weight * sign * expit(-margin)) @ features
        return value, gradient

    best = minimize(
        loss,
        np.array([0.1 * logit(share), 0.5, 0.5]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None), (0.0, None), (0.0, None)],
    )
    return features @ best.x
