r"""How far the answer rests on what was not recorded: unknown sensitive values, unrecorded features."""

from __future__ import annotations

import math

import numpy as np

from mdfa_fairness_plugin.measure.estimates import Rates, log_ratio


def e_value(ratio: float) -> float:
    r"""Strength of an unrecorded feature that would explain a ratio away (VanderWeele and Ding 2017).

    .. math:: E = RR + \sqrt{RR (RR - 1)}

    The smallest risk ratio by which it would have to be tied to both the sensitive value and the
    outcome, beyond the features recorded, for equal treatment to give this ratio. 1 where there is
    nothing to explain, NaN for NaN.
    """
    if math.isnan(ratio) or math.isinf(ratio):
        return ratio
    return 1.0 if ratio <= 1.0 else ratio + math.sqrt(ratio * (ratio - 1.0))


def missing_bounds(
    rates: Rates, positive: np.ndarray, group_weight: np.ndarray, reference_weight: np.ndarray
) -> tuple[float, float]:
    """Smallest and largest delta over all ways to fill in unknown sensitive values.

    ``positive`` says which rows of unknown value have the outcome; the weights are what each would have
    as one of the group, or as one of the others. Exact for these weights. Infinite where all outcomes
    could lie on one side, NaN if nobody has the outcome.

    A row with the outcome raises delta most as one of the group and lowers it most as one of the
    others; a row without it the other way round. So two of the fillings are the extremes.
    """

    def filled(with_outcome: int) -> float:
        """Delta with the outcome's rows on this side and the rest on the other."""
        hits, weight = rates.hits.copy(), rates.weight.copy()
        sides = (group_weight, reference_weight)
        gained = float(sides[with_outcome][positive].sum())
        hits[with_outcome] += gained
        weight[with_outcome] += gained
        weight[1 - with_outcome] += float(sides[1 - with_outcome][~positive].sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(log_ratio(*(hits / weight)))

    return filled(1), filled(0)
