"""Who is inside the subgroups of an audit, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fields import known
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.replicate.repeats import source_of
from mdfa_fairness_plugin.settings import shown


def members(result: AuditRecord, *, violation: Violation | None = None) -> pd.DataFrame:
    """Tell who they are, as rows.

    Parameters
    ----------
    result : AuditResult
    violation : Violation or None, default=None
        Search meant; None: every one that could be made.

    Returns
    -------
    members : DataFrame
        One row per audited row and search, with the index of the audited data (positions if they
        had none). ``inside``: in the subgroup, by models that had not seen the row. ``score``:
        how unequally it seems to be treated, larger is worse; NaN where not compared. ``side``:
        "group", "others" or "neither" (another value, or none that is known). ``comparable``:
        has rows like it on the other side, so that the search speaks of it. ``held_out``: among
        the rows that the figures are of.

    Raises
    ------
    InputError
        If the result does not hold its rows, as that of a distributed audit, or the violation is not
        one of it.
    """
    searches = [own for own in result.violations if violation is None or own is violation]
    if violation is not None and not searches:
        raise InputError("violation: one of the result's violations expected.")
    made = [own for own in searches if len(own.side)]
    if not made:
        raise InputError(
            "members: this result holds no rows; use one of an audit in memory that could compare "
            "a group, or the membership(ddf) of a distributed one."
        )
    problem = source_of(result, of_groups=False).problem
    rows = np.unique(problem.source_row)
    index = pd.RangeIndex(problem.n_samples) if problem.index is None else problem.index
    sides = np.array(["neither", "group", "others"], dtype=object)
    parts = []
    for own in made:
        told = {
            name: pd.Series([getattr(own, name)] * len(rows), dtype=object)
            for name in ("sensitive_feature", "group", "reference", "outcome")
        }
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


def control_feature(
    result: AuditRecord,
    name: str = "mdfa_subgroup",
    *,
    violation: Violation | None = None,
    index: Any = None,
) -> pd.Series:
    """Tell who is inside the worst-treated subgroup, as a control feature of Fairlearn.

    Parameters
    ----------
    result : AuditResult
    name : str, default="mdfa_subgroup"
    violation : Violation or None, default=None
        Search whose subgroup is meant; None: that of ``worst_harm`` if a favourable outcome was
        said, else of ``worst_case``.
    index : array-like of shape (n_samples,) or None, default=None
        Index of the Series; None: that of the data audited. Positions where they had none, and
        where the result was read from a file.

    Returns
    -------
    feature : Series of str of shape (n_samples,)
        "inside" or "outside", by a model that has not seen the row; "not comparable" without
        anybody alike on the other side, and everywhere if nothing could be measured; after a
        70/30 split "not held out" for rows the search learned from, which would flatter it. Rows
        on neither side (no known sensitive value, no weight, a third group) are told by their
        features.

    Examples
    --------
    >>> from mdfa_fairness_plugin import AuditResult, Violation
    >>> violation = Violation(group="f", outcome=1, membership=[True, False])
    >>> AuditResult(violations=(violation,), n_samples=2).as_control_feature(
    ...     violation=violation
    ... ).tolist()
    ['inside', 'outside']
    """
    by_row = is_list_like(index, allow_sets=False) and hasattr(index, "__len__")
    if index is not None and (not by_row or getattr(index, "ndim", 1) != 1):
        raise InputError(
            f"index: a label for each row expected, {shown(index)} found. Pass the index of the data "
            "audited, or leave it out."
        )
    harm, own = result.worst_harm, violation
    if own is None:
        own = result.worst_case if harm is None else harm.violation
    if not isinstance(own, Violation | None):
        raise InputError("violation: one of the result's violations expected.")
    n_samples = known(result.n_samples)
    level = np.full(n_samples, "not comparable", dtype=object)
    for argument, n in (
        ("violation", n_samples if own is None else len(own.membership) or n_samples),
        ("index", n_samples if index is None else len(index)),
    ):
        if n != n_samples:
            raise InputError(
                f"{argument}: it has {n:,} rows, and this result {n_samples:,}. Pass one of the same "
                "audit, or leave it out."
            )
    if own is not None and own.measured and not len(own.membership):
        raise InputError(
            "as_control_feature: this result holds no rows; use one of an audit in memory, the "
            "membership(ddf) of a distributed one, or JSON written with to_json(rows=True)."
        )
    if own is not None and len(own.membership):
        level[:] = np.where(own.membership, "inside", "outside")
        if result.provenance.get("parameters", {}).get("evaluation") == "holdout":
            level[~own.held_out] = "not held out"
        if len(own.left_out):
            level[own.left_out] = "not comparable"
    if index is None and result.source is not None:
        index = result.source.problem.index
    return pd.Series(level, index=index, name=name, dtype=object)
