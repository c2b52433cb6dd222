r"""Certificates of unfairness: one weighted fit of the label ``S Y`` (Lemma 1, Eq. ``risk1``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdfa_fairness_plugin.learn.learners import fit_classifier
from mdfa_fairness_plugin.measure.estimates import lemma_strength, measure


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    r"""Evidence ``(G, y, s)`` of a violation, never a clean bill of health (Eq. 4)."""

    member: np.ndarray  # (n,); ``G = {c = 1}`` on the rows it was judged on
    gamma: float  # strength by definition, :math:`(a - b) / 2`, renormalised inside ``G``
    # Strength by Lemma 1's form, a check: they agree where ``G`` itself is balanced.
    gamma_lemma: float
    delta: float  # log ratio of rates in ``G``
    mass: float  # :math:`Pr_w[Y = y, x \in G]`


def certify(
    X: np.ndarray,
    s: np.ndarray,
    positive: np.ndarray,
    weights: np.ndarray,
    *,
    train: np.ndarray,
    learner: Any = "auto",
    random_state: int = 0,
) -> Certificate:
    """Learn where S and Y coincide on some rows and measure the certificate on the others."""
    classifier = fit_classifier(
        learner, X[train], coincidence(s, positive)[train], halves(weights, s)[train], random_state
    )
    test = ~train
    member = classifier.predict(X[test]) > 0
    everybody = measure(positive[test], s[test], weights[test])
    rates = measure(positive[test], s[test], weights[test], member)
    return Certificate(
        member=member,
        gamma=rates.gamma,
        gamma_lemma=lemma_strength(everybody, rates),
        delta=rates.delta,
        mass=rates.mass,
    )


def coincidence(s: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Label of Eq. ``risk1``: +1 where S and Y coincide, -1 elsewhere."""
    return np.where((s > 0) == positive, 1, -1)


def halves(weights: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Weights of mean one in which each S value carries half."""
    totals = np.where(s > 0, weights[s > 0].sum(), weights[s < 0].sum())
    return np.divide(weights, totals, out=np.zeros(len(s)), where=totals > 0) * len(s) / 2.0
