"""A split's certificate, and its strength gamma by formulas found in the authors' code and around it.

The definition and Lemma 1's form are ``certify``'s; three more are kept to show what they give.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance.balancer import weigh
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.measure.estimates import certificate_strength, measure
from mdfa_fairness_plugin.measure.splitting import HOLDOUT_SHARE, draw_folds
from mdfa_fairness_plugin.search.certificate import Certificate, certify, coincidence, halves


def draw_train(n_rows: int, seed: int) -> np.ndarray:
    """Mark 70 % of the rows at random, the paper's split (Section 3.4)."""
    order = np.random.default_rng(seed).permutation(n_rows)
    train = np.ones(n_rows, dtype=bool)
    train[order[: round(HOLDOUT_SHARE * n_rows)]] = False
    return train


def balancing_weights(method: str, X: np.ndarray, s: np.ndarray, seed: int) -> np.ndarray:
    """Weights by a method's name, the propensity predicted out of five folds."""
    folds = draw_folds(s, 5, np.random.default_rng(seed))
    propensity = cross_fitted_probability(X, s > 0, folds, random_state=seed).out_of_fold
    return weigh(X, s, method, propensity=propensity, random_state=seed).weights


def certify_split(
    X: np.ndarray, s: np.ndarray, positive: np.ndarray, weights: np.ndarray, learner: Any, seed: int
) -> tuple[Certificate, dict[str, float]]:
    """Certificate learned on 70 % of the rows, and its strength by the published formulas."""
    train = draw_train(len(s), seed)
    found = certify(X, s, positive, weights, train=train, learner=learner, random_state=seed)
    test = ~train
    return found, published_formulas(positive[test], s[test], weights[test], found.member)


def published_formulas(
    positive: np.ndarray, s: np.ndarray, weights: np.ndarray, member: np.ndarray
) -> dict[str, float]:
    """Gamma by three other formulas.

    - "Lemma 1, raw weights": Lemma 1's form without giving each S value half of the weight;
    - "ratio x mass": ``ratio / (1 + ratio) - 1/2`` of the unweighted rates in the subgroup, times
      the unweighted ``Pr[Y = y, x in G]``;
    - "ratio x accuracy": the same, times the weighted share of labels ``S Y`` predicted rightly.
    """
    label = coincidence(s, positive)
    right = np.where(member, 1, -1) == label
    accuracy = weights[right].sum() / weights.sum()
    rho = weights[label > 0].sum() / weights.sum()
    half = halves(weights, s)
    plain = measure(positive, s, np.ones(len(s)), member)
    per_unit_mass = float(certificate_strength(1.0, plain.delta))
    return {
        "Lemma 1, raw weights": float((accuracy - 1.0 + rho) / 4.0),
        "ratio x mass": per_unit_mass * float((member & positive).mean()),
        "ratio x accuracy": per_unit_mass * float(half[right].sum() / half.sum()),
    }
