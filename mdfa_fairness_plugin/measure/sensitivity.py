r"""How far the answer rests on what was not recorded: unknown sensitive values, unrecorded features."""

from __future__ import annotations

import math

import numpy as np

from mdfa_fairness_plugin.measure.estimates import Rates, log_ratio


def e_value(ratio: float) -> float:
    r"""Strength of an unrecorded feature that would explain a ratio away.

    .. math:: E = RR + \sqrt{RR (RR - 1)}

    Parameters
    ----------
    ratio : float
        Rate ratio at equal features.

    Returns
    -------
    strength : float
        Smallest risk ratio by which an unrecorded feature would have to be tied to both the
        sensitive value and the outcome, beyond the features recorded, for equal treatment to
        give this ratio. 1 where there is nothing to explain, NaN for NaN.

    References
    ----------
    T. J. VanderWeele and P. Ding, "Sensitivity analysis in observational research: introducing the
    E-value", Annals of Internal Medicine 167(4), 2017.

    Examples
    --------
    >>> e_value(2.0)
    3.414213562373095
    """
    if math.isnan(ratio) or math.isinf(ratio):
        return ratio
    return 1.0 if ratio <= 1.0 else ratio + math.sqrt(ratio * (ratio - 1.0))


def missing_bounds(
    rates: Rates,
    positive: np.ndarray,
    group_weight: np.ndarray,
    reference_weight: np.ndarray,
) -> tuple[float, float]:
    """Smallest and largest delta over all ways to fill in unknown sensitive values.

    Parameters
    ----------
    rates : Rates
        Of the subgroup's rows whose value is known.
    positive : ndarray of bool of shape (n_unknown,)
        Whether each row of unknown value has the audited outcome.
    group_weight, reference_weight : ndarray of shape (n_unknown,)
        Weight of each such row if it belongs to the group, if it belongs to the others.

    Returns
    -------
    low, high : float
        Exact for these weights. Infinite where all outcomes could lie on one side, NaN if nobody
        has the outcome.

    Notes
    -----
    A row with the outcome raises delta most as one of the group and lowers it most as one of the
    others; a row without it the other way round. So two of the fillings are the extremes.

    Examples
    --------
    Of the group 3 of 10 have the outcome, of the others 2 of 10; two are unknown, one has it.

    >>> known = Rates(
    ...     weight=np.array([10.0, 10.0]),
    ...     squares=np.array([10.0, 10.0]),
    ...     hits=np.array([3.0, 2.0]),
    ...     spread=np.array([3.0, 2.0]),
    ...     total=np.array([10.0, 10.0]),
    ... )
    >>> low, high = missing_bounds(known, np.array([True, False]), np.ones(2), np.ones(2))
    >>> round(math.exp(high), 3)  # (4 / 11) / (2 / 11)
    2.0
    >>> round(math.exp(low), 3)  # (3 / 11) / (3 / 11)
    1.0
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
