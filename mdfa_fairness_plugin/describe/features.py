"""Every audited feature: what was stated of it, and how well it tells the groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mdfa_fairness_plugin.data.contrasts import Contrast
from mdfa_fairness_plugin.data.leaks import Answer, tellers
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.reasons import StatedReason
from mdfa_fairness_plugin.records import AuditedFeature, Violation

_GUESS = 0.5


def features_of(problem: AuditProblem, searches: Sequence[Violation]) -> tuple[AuditedFeature, ...]:
    """Features in their order, with what they tell in each of these searches."""
    told = {
        (one.sensitive_feature, one.group, one.reference): _told(problem, one)
        for one in problem.contrasts
    }
    of_search = [told[own.sensitive_feature, own.group, own.reference] for own in searches]
    names = [display.name for display in problem.encoder.displays_]
    stated = [problem.reasons.get(name, StatedReason()) for name in names]
    return tuple(
        AuditedFeature(
            feature=name,
            reason=own.reason,
            protected=own.protected,
            tells=tuple(one.get(name, math.nan) for one in of_search),
            ratio_without=(math.nan,) * len(searches),
        )
        for name, own in zip(names, stated, strict=True)
    )


def _told(problem: AuditProblem, contrast: Contrast) -> dict[str, float]:
    """How well each feature tells the sides of a comparison, which count alike."""
    weight = np.zeros(problem.n_rows)
    for side in (1, -1):
        rows = contrast.s == side
        if not rows.any():
            return {}
        own = problem.sample_weight[rows]
        weight[rows] = own / own.sum()
    rows = np.flatnonzero(contrast.rows)
    answer = Answer(contrast.s > 0, weight * len(rows) / 2.0, problem.unit)
    told = tellers(problem.display, rows, answer)
    return {name: max(share, _GUESS) for name, share in told.items()}
