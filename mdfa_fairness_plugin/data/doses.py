"""A sensitive quantity: numbers as they are, compared by how much more of it people have."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mdfa_fairness_plugin.data.amounts import LESS, MORE
from mdfa_fairness_plugin.data.columns import Labels
from mdfa_fairness_plugin.data.contrasts import Contrast
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.exceptions import InputError

# Of the largest number: less is not told from rounding.
_LEAST_SPREAD = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantity:
    """What differences in a sensitive quantity are told by."""

    per: float  # how much more of it
    centre: float  # its mean and its standard deviation; models see it in units of that
    deviation: float
    values: np.ndarray  # (n_rows,), so; NaN where it is not known

    def told(self, rows: np.ndarray) -> list[float]:
        """As it was given, but for rounding."""
        return [float(f"{own:.12g}") for own in self.centre + self.deviation * self.values[rows]]

    def turned(self, contrast: Contrast) -> Contrast:
        """The contrast with the quantity, or minus it where those with less are asked about."""
        sign, other = (1.0, LESS) if contrast.group == MORE else (-1.0, MORE)
        return replace(contrast, reference=other, quantity=sign * self.values)


def refuse_several(columns: list[SensitiveFeature], told: bool) -> None:
    """Refuse more than one column of numbers; ``told`` is whether probabilities were given."""
    if told:
        raise InputError(
            "sensitive_probabilities: they are of groups, and sensitive_type='numeric' compares "
            "numbers. Leave one of them out."
        )
    if len(columns) > 1:
        raise InputError(
            f"sensitive_features: sensitive_type='numeric' takes one column, {len(columns)} found. "
            "Audit each by itself, the others among X if they are to be equal."
        )


def as_quantity(
    column: SensitiveFeature, weight: np.ndarray, per: float | None
) -> tuple[SensitiveFeature, Quantity]:
    """The numbers of a column, and its halves, of more and of less than the median."""
    known = column.labels.codes >= 0
    numbers = np.array([*column.labels.values, math.nan], dtype=float)[column.labels.codes]
    own, weights = numbers[known], weight[known]
    with np.errstate(over="ignore", under="ignore"):
        centre = float(np.average(own, weights=weights))
        deviation = math.sqrt(float(np.average((own - centre) ** 2, weights=weights)))
    if not _LEAST_SPREAD * float(np.abs(own).max()) < deviation < math.inf:
        how = "hardly varies" if deviation < math.inf else "is too large to be squared"
        raise InputError(
            f"sensitive_features: {column.name!r} {how} (standard deviation {deviation:g} "
            f"around {centre:g}). Pass it in other units, or from a reference nearer by."
        )
    middle = np.median(own)
    middle = middle if (own > middle).any() else np.max(own[own < middle])
    labels = Labels(codes=np.where(known, ~(numbers > middle), -1), values=(MORE, LESS))
    quantity = Quantity(
        per=1.0 if per is None else float(per),
        centre=centre,
        deviation=deviation,
        values=(numbers - centre) / deviation,
    )
    return replace(column, labels=labels), quantity
