"""Who is inside the subgroups of an audit, row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.replicate.repeats import source_of


def members(result: AuditRecord, violation: Violation | None = None) -> pd.DataFrame:
    """Tell who is inside as rows, of one search or of every one (``AuditResult.members``)."""
    searches = result.violations if violation is None else (violation,)
    made = [own for own in searches if len(own.side)]
    if not made:
        raise InputError(
            "members: this result holds no rows; use one of an audit in memory that could compare "
            "a group, or the membership(ddf) of a distributed one."
        )
    problem = source_of(result).problem
    rows = np.unique(problem.source_row)
    index = pd.RangeIndex(problem.n_samples) if problem.index is None else problem.index
    sides = np.array(["neither", "group", "others"], dtype=object)
    parts = []
    for own in made:
        who = [own.sensitive_feature, own.group, own.reference, own.outcome]
        named = zip(("sensitive_feature", "group", "reference", "outcome"), who, strict=True)
        told = {name: pd.Series([value] * len(rows), dtype=object) for name, value in named}
        side = own.side[rows]
        told |= {
            "inside": pd.Series(own.membership[rows]),
            "score": pd.Series(own.score[rows]),
            "side": pd.Series(sides[side]),
            "comparable": pd.Series((side != 0) & ~own.left_out[rows]),
            "held_out": pd.Series(own.held_out[rows]),
        }
        parts.append(pd.DataFrame(told).set_axis(index[rows], axis=0))
    return pd.concat(parts)
