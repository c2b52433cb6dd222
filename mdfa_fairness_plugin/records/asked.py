"""Records of what was asked of a result: rows that somebody named, measured without a search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from mdfa_fairness_plugin.fields import Column, number, said
from mdfa_fairness_plugin.records.effects import ratio_of
from mdfa_fairness_plugin.records.searches import Judged
from mdfa_fairness_plugin.records.sets import ModelDependence, Subgroup

# What holds of every set that was named, and is said with it.
NOT_CONFIRMED: Final = (
    "Nothing was searched for here, so nothing is taken off for a search: p and intervals hold for "
    "what was asked before these rows were looked at. What was thought of after looking at them is not "
    "confirmed by them; measure it on new rows."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AskedSubgroup(Judged, Subgroup):
    """Rows that somebody named, and how unequally a group among them is treated.

    What a ``Violation`` says of a region that was searched for, and a ``Subgroup`` of any set, said of
    these rows: the same estimate, interval, test and verdict, without anything for a search.

    Parameters
    ----------
    label : str
        What was asked: the expression, or the name of a mask or function.
    sensitive_feature, group, reference, outcome, outcome_text, group_text, reference_text
    outcome_scale, as_observed, harm
        Who gets which outcome more often than whom, as for ``Violation``.
    verdict : {"violation", "none_larger_than_detectable", "insufficient_evidence"}
    reason : str
        As for ``Violation``.
    p_value : float
        Of these rows by themselves.
    p_value_adjusted : float
        Adjusted over all that was asked at once (Holm); a question and its mirror count once.
    share : float
        ``n_rows`` over the rows compared.
    confidence_level : float
    detectable_delta : float
        Smallest delta that would have been called a violation here with 80 % probability.
    detectable_difference : float
        As for ``Violation``.
    depends_on_models : ModelDependence or None
        As for ``Violation``.
    membership : ndarray of bool of shape (n_samples,)
        Rows named, compared or not.
    """

    detectable_delta: float = number("cells", Column("detectable_ratio", 19, 8, ratio_of))
    detectable_difference: float = field(
        default=math.nan, metadata=said("cells", settle=float, json="told")
    )
    depends_on_models: ModelDependence | None = field(default=None, metadata=said("rule"))

    def __repr__(self) -> str:
        return (
            f"AskedSubgroup({self.label!r}, {self.sensitive_feature}={self.group!r}, "
            f"outcome={self.outcome!r}, {self.verdict}, {self._figures()})"
        )
