"""The strength gamma of a certificate by the formulas found in the authors' code and around it.

The definition and Lemma 1's form are ``certify``'s; these three are kept to show what they give.
"""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.measure.estimates import certificate_strength, measure
from mdfa_fairness_plugin.search.certificate import coincidence, halves


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
