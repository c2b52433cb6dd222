"""What can be said of a subgroup from the sums measured in it: estimates, intervals, verdict."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import Count, Message
from mdfa_fairness_plugin.measure.estimates import (
    Leftover,
    Rates,
    lemma_strength_of,
)
from mdfa_fairness_plugin.measure.intervals import delta_interval, gamma_interval, mass_interval
from mdfa_fairness_plugin.measure.sensitivity import e_value
from mdfa_fairness_plugin.measure.tests import (
    detectable_delta,
)
from mdfa_fairness_plugin.records import INSUFFICIENT, NONE_LARGER, VIOLATION

# A region must hold this many rows with the outcome, both sides together, to say anything.
_FEWEST_POSITIVES = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """What one search's figures are made of: sums over the rows measured, in memory or elsewhere.

    Parameters
    ----------
    population, region : Rates
        Of everybody compared, and of the subgroup.
    leftover : Leftover or None
        Of the subgroup.
    estimates : dict of str to float
        Delta by every estimator.
    missing_bounds : tuple of float
        Of ``missing_bounds``.
    n_compared, n_rows, n_hits : int
        Rows compared, those in the subgroup, and of these those with the outcome.
    """

    population: Rates
    region: Rates
    leftover: Leftover | None
    estimates: dict[str, float]
    missing_bounds: tuple[float, float]
    n_compared: int
    n_rows: int
    n_hits: int


def conclude(
    measured: Measured,
    *,
    estimator: str,
    alpha: float,
    confidence_level: float,
    adjusted: float,
    n_tests: int,
    spread: float,
    test_spread: float,
) -> dict[str, Any]:
    """Figures and verdict of one search.

    Parameters
    ----------
    measured : Measured
    estimator : str
        The estimate of delta reported.
    alpha, confidence_level : float
    adjusted : float
        P-value, adjusted over the searches.
    n_tests : int
        Searches adjusted for.
    spread, test_spread : float
        Of intervals, and of the test statistic without a violation.

    Returns
    -------
    fields : dict
        Of a ``Violation``.
    """
    rates, population = measured.region, measured.population
    low, high = delta_interval(rates, confidence_level, spread, measured.leftover)
    bounds = measured.missing_bounds
    delta = measured.estimates[estimator]
    shift = delta - rates.delta
    if np.isfinite(shift):
        low, high = low + shift, high + shift
        bounds = (bounds[0] + shift, bounds[1] + shift)
    detectable = detectable_delta(
        alpha=alpha,
        rate=float(np.mean(population.rates)),
        sizes=(population.effective_sizes[0], population.effective_sizes[1]),
        level=(1.0 - confidence_level) / n_tests,
        spread=test_spread,
    )
    verdict, reason = _verdict(
        adjusted, delta, measured.n_hits, detectable, alpha, confidence_level
    )
    return {
        "verdict": verdict,
        "reason": reason,
        "delta": delta,
        "interval": (low, high),
        "gamma": rates.gamma,
        "gamma_interval": gamma_interval(rates, confidence_level, spread, measured.leftover),
        "gamma_lemma": lemma_strength_of(population, rates),
        "mass": rates.mass,
        "mass_interval": mass_interval(rates, confidence_level, spread),
        "missing_bounds": bounds,
        "e_value": e_value(float(np.exp(delta))),
        "e_value_limit": e_value(float(np.exp(low))),
        "n_rows": measured.n_rows,
        "share": measured.n_rows / measured.n_compared if measured.n_compared else np.nan,
        "rates": (float(rates.rates[0]), float(rates.rates[1])),
        "detectable_delta": detectable,
        "estimates": measured.estimates,
    }


def _verdict(
    adjusted: float,
    delta: float,
    n_hits: int,
    detectable: float,
    alpha: float,
    confidence_level: float,
) -> tuple[str, str]:
    """What can be said, and why not more."""
    if np.isnan(delta) or np.isnan(adjusted):
        return INSUFFICIENT, "nobody in the subgroup has the outcome on either side"
    if n_hits < _FEWEST_POSITIVES:
        return INSUFFICIENT, Message(
            Count(n_hits, said=f"only {n_hits} rows"),
            f" of the subgroup have the outcome; at least {_FEWEST_POSITIVES} are needed",
        )
    if adjusted < 1.0 - confidence_level and delta > 0:
        return VIOLATION, ""
    if not np.isfinite(detectable):
        return INSUFFICIENT, (
            "there are too few rows to have found even a thousandfold ratio in a subgroup of "
            f"mass {alpha:g}"
        )
    return NONE_LARGER, ""


def counts_frame(
    counts: np.ndarray,
    group: Hashable,
    reference: Hashable | None,
    labels: tuple[Hashable, ...],
    outcome: Hashable,
) -> pd.DataFrame:
    """Rows by S and Y as results show them, the audited outcome first.

    Parameters
    ----------
    counts : ndarray of int of shape (2, n_labels)
        For S = +1 and S = -1, by place in ``labels``.
    group, reference, labels, outcome
        As in the contrast and the problem.

    Returns
    -------
    counts : DataFrame of shape (2, n_labels)
    """
    audited = labels.index(outcome)
    order = [audited, *(i for i in range(len(labels)) if i != audited)]
    others = "everyone else" if reference is None else reference
    index = pd.Index([group, others], dtype=object, tupleize_cols=False)
    columns = pd.Index([labels[i] for i in order], dtype=object, tupleize_cols=False)
    return pd.DataFrame(counts[:, order], index=index, columns=columns)
