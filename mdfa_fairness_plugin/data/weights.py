"""Weights as how many people a row stands for, or as counts of equal rows; here or in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.data.columns import read_column
from mdfa_fairness_plugin.exceptions import InputError, WarningLog

WHOLE_WEIGHTS = "WholeWeights"  # category of a notice
_WRONG: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "missing": np.isnan,
    "infinite": np.isinf,
    "negative": lambda values: values < 0,
}


@dataclass(frozen=True, kw_only=True)
class WeightSums:
    """What is to be known of weights to tell what they are; of blocks of rows it adds up."""

    n_rows: int = 0
    n_zero: int = 0
    n_wrong: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_WRONG, 0))
    total: float = 0.0
    least: float = math.inf  # of the positive ones
    most: float = -math.inf
    fraction: float = math.nan  # one that is not whole; NaN if all are

    @classmethod
    def of(cls, values: np.ndarray) -> WeightSums:
        """Sums of some rows."""
        positive = values[np.isfinite(values) & (values > 0)]
        fractions = positive[positive != np.floor(positive)]
        return cls(
            n_rows=len(values),
            n_zero=int((values == 0).sum()),
            n_wrong={what: int(is_wrong(values).sum()) for what, is_wrong in _WRONG.items()},
            total=float(positive.sum()),
            least=float(positive.min(initial=math.inf)),
            most=float(positive.max(initial=-math.inf)),
            fraction=float(fractions[0]) if len(fractions) else math.nan,
        )

    def __add__(self, other: WeightSums) -> WeightSums:
        return WeightSums(
            n_rows=self.n_rows + other.n_rows,
            n_zero=self.n_zero + other.n_zero,
            n_wrong={what: n + other.n_wrong[what] for what, n in self.n_wrong.items()},
            total=self.total + other.total,
            least=min(self.least, other.least),
            most=max(self.most, other.most),
            fraction=other.fraction if self.whole else self.fraction,
        )

    @property
    def whole(self) -> bool:
        """Whether all of them are whole numbers."""
        return math.isnan(self.fraction)

    def weight_type(self, asked: str, values: np.ndarray | None = None) -> str:
        """Whether they are "sampling" weights, count rows ("frequency", if asked), or say nothing.

        Wrong ones are refused, by their place in `values` if these are here.
        """
        for what, count in self.n_wrong.items():
            if count:
                first = ""
                if values is not None:
                    first = f", the first at row {int(np.argmax(_WRONG[what](values)))}"
                raise InputError(
                    f"sample_weight: {count:,} of {self.n_rows:,} weights are {what}{first}. Weights "
                    "must be finite and not negative; give rows to be left out a weight of zero."
                )
        if self.n_zero == self.n_rows:
            raise InputError(
                "sample_weight: every weight is zero, so no row is left. Pass None for equal weights."
            )
        if asked == "frequency" and not self.whole:
            raise InputError(
                f"sample_weight: weight_type='frequency' needs whole numbers, and {self.fraction:g} "
                "was found. Pass weight_type='sampling' if weights say how many people a row stands "
                "for."
            )
        if asked == "frequency":
            return "frequency"
        return "none" if self.least == self.most else "sampling"

    def note_whole(self, weight_type: str, log: WarningLog) -> None:
        """Say how whole numbers are read: they may have been meant as counts."""
        if weight_type == "sampling" and self.whole:
            log.note(
                WHOLE_WEIGHTS,
                "sample_weight: the whole numbers given are read as how many people each row stands "
                "for; the rows are the evidence. Pass weight_type='frequency' if each counts rows that "
                "were seen.",
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighting:
    """Working rows and their weights."""

    rows: np.ndarray | None  # input rows in use, repeated where weights count; None: all
    values: np.ndarray  # with mean 1
    weight_type: str
    n_zero: int

    def take(self, places: np.ndarray) -> Weighting:
        """Some of the working rows, their weights again with mean 1."""
        rows = places if self.rows is None else self.rows[places]
        values = self.values[places]
        if self.weight_type == "sampling":
            values = values * (len(values) / math.fsum(values))
        return replace(self, rows=rows, values=values)

    def times(self, factor: np.ndarray) -> Weighting:
        """Weights of the working rows times something of each, again with mean 1."""
        values = self.values * factor
        values *= len(values) / math.fsum(values)
        return replace(self, values=values, weight_type="sampling")


def read_weighting(weight: Any, asked: str, n_samples: int, log: WarningLog) -> Weighting:
    """Rows in use: those with a positive weight, as often as it says if it counts."""
    if weight is None:
        return Weighting(rows=None, values=np.ones(n_samples), weight_type="none", n_zero=0)
    values = weight_numbers(weight)
    sums = WeightSums.of(values)
    weight_type = sums.weight_type(asked, values)
    sums.note_whole(weight_type, log)
    kept = np.flatnonzero(values > 0)
    rows = kept if sums.n_zero else None
    values = values[kept]
    if weight_type == "none":
        values = np.ones(len(kept))
    if weight_type == "sampling":
        scaled = values / values.max()
        values = scaled * (len(scaled) / math.fsum(scaled))  # exact sum: order is no matter
    if weight_type == "frequency":
        try:
            rows = np.repeat(kept, values.astype(np.intp))
        except MemoryError as error:
            raise InputError(
                f"sample_weight: counts that sum to {sums.total:,.0f} rows are more than memory holds. "
                "Pass weight_type='sampling' if they say how many people a row stands for."
            ) from error
        values = np.ones(len(rows))
    return Weighting(rows=rows, values=values, weight_type=weight_type, n_zero=sums.n_zero)


def weight_numbers(weight: Any) -> np.ndarray:
    """Weights as numbers, good or not."""
    column = read_column(weight, "sample_weight")
    if column.kind not in ("numeric", "boolean"):
        raise InputError(
            f"sample_weight: {column.kind} values were given; non-negative numbers are needed. "
            "Numbers written as text can be read with mdfa_fairness_plugin.to_quantities."
        )
    return column.numbers
