"""Limits of rates, of their ratios and of means, for a normal quantile; arrays in and out."""

from __future__ import annotations

import numpy as np


def log_ratio(rate, reference) -> np.ndarray:
    """Log ratio of two rates; infinite if only one side has the outcome, NaN if nobody has."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.asarray(rate, dtype=float)) - np.log(np.asarray(reference, dtype=float))


def ratio_limits(rates, sizes, z):
    """Limits of log ratios of two independent rates, shape (2,) or (2, n_sets)."""
    lower, upper = wilson_limits(rates, sizes, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = log_ratio(rates[0], rates[1])
        down = np.hypot(np.log(rates[0] / lower[0]), np.log(upper[1] / rates[1]))
        up = np.hypot(np.log(upper[0] / rates[0]), np.log(rates[1] / lower[1]))
        # Where one rate is zero delta is infinite and the near limit comes from the Wilson limits
        # alone: the group's lower against the others' upper, and the other way round.
        low = np.where(np.isposinf(delta), np.log(lower[0] / upper[1]), delta - down)
        high = np.where(np.isneginf(delta), np.log(upper[0] / lower[1]), delta + up)
    low = np.where(np.isneginf(delta), -np.inf, low)
    high = np.where(np.isposinf(delta), np.inf, high)
    unknown = np.isnan(delta) | (sizes.min(axis=0) <= 0)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def wilson_limits(rates, sizes, z):
    """Wilson's score limits of rates with (effective) numbers of rows, for a normal quantile ``z``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = 1.0 + z**2 / sizes
        centre = (rates + z**2 / (2 * sizes)) / shrink
        half = z * np.sqrt(rates * (1 - rates) / sizes + (z / (2 * sizes)) ** 2) / shrink
    # Exact ends: rounding must not turn a limit of zero into a tiny negative number.
    lower = np.where(rates <= 0, 0.0, np.clip(centre - half, 0.0, 1.0))
    upper = np.where(rates >= 1, 1.0, np.clip(centre + half, 0.0, 1.0))
    return lower, upper
