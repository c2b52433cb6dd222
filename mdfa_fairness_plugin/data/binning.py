"""Groups of numbers, such as ages, to be compared with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import is_real, listing
from mdfa_fairness_plugin.data.containers import read_vector
from mdfa_fairness_plugin.data.quantities import typed_quantity
from mdfa_fairness_plugin.exceptions import InputError


def to_groups(values: Any, bins: int | Sequence[float]) -> pd.Series:
    """Make groups of numbers, to be audited as a sensitive feature.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Numbers, ages for instance; missing ones stay missing.
    bins : int or sequence of float
        The smallest number of each group but the first, ascending; or how many groups of about equal
        size to make.

    Returns
    -------
    groups : Series of shape (n_samples,)
        An ordered categorical of those that anybody is in, such as ``under 25``, ``25 to 44`` and
        ``45 or more``.

    Raises
    ------
    InputError
        If the values are no numbers, or the bins no ascending numbers or a count of at least two.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> mdfa.to_groups([19, 30, 44, 70], [25, 45]).tolist()
    ['under 25', '25 to 44', '25 to 44', '45 or more']
    """
    table = read_vector(values, "values")
    column = typed_quantity(table, 0)
    if column.kind not in ("numeric", "boolean"):
        raise InputError(f"values: numbers expected, {column.kind} values found.")
    numbers = np.asarray(column.numbers, dtype=np.float64)
    known = np.sort(numbers[np.isfinite(numbers)])
    if len(known) == 0:
        raise InputError("values: no number is known.")
    cuts = _cuts(bins, known)
    whole = bool((known == np.floor(known)).all() and (cuts == np.floor(cuts)).all())
    place = np.searchsorted(cuts, numbers, side="right")
    missing = np.isnan(numbers)
    used = np.unique(place[~missing])
    codes = np.where(missing, -1, np.searchsorted(used, place))
    names = _names(cuts, whole)
    groups = pd.Categorical.from_codes(codes, pd.Index([names[i] for i in used]), ordered=True)
    return pd.Series(groups, index=table.index, name=getattr(values, "name", None))


def _cuts(bins: Any, known: np.ndarray) -> np.ndarray:
    """First numbers of all groups but one."""
    if is_real(bins):
        if bins < 2 or bins != int(bins):
            raise InputError(
                f"bins: a whole number of groups of at least 2 expected, {bins!r} found."
            )
        # Where a share of the numbers lies below, as nearly as equal ones allow.
        distinct, first = np.unique(known, return_index=True)
        asked = len(known) * np.arange(1, int(bins)) / int(bins)
        nearest = np.abs(first[:, None] - asked).argmin(axis=0)
        cuts = np.unique(distinct[nearest[nearest > 0]])
        if len(cuts) == 0:
            raise InputError(f"bins: {int(bins)} groups of about equal size cannot be made here.")
        return cuts
    if isinstance(bins, str) or not all(is_real(cut) for cut in bins):
        raise InputError(f"bins: ascending numbers or a number of groups expected, {bins!r} found.")
    cuts = np.array([float(cut) for cut in bins])
    if len(cuts) == 0 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise InputError(f"bins: ascending numbers expected, {listing(bins)} found.")
    return cuts


def _names(cuts: np.ndarray, whole: bool) -> list[str]:
    """Names of the groups between cuts."""
    texts = [f"{cut:.15g}" for cut in cuts]
    between = [
        (low if high - 1 == float(low) else f"{low} to {high - 1:.15g}")
        if whole
        else f"{low} to under {high:.15g}"
        for low, high in zip(texts, cuts[1:], strict=False)
    ]
    return [f"under {texts[0]}", *between, f"{texts[-1]} or more"]
