"""Outcomes that are numbers, or an order, of rows elsewhere: surveyed, brought to one scale, read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.amounts import Amount, is_exposure, no_numbers, refuse_unexposed
from mdfa_fairness_plugin.data.columns import read_column
from mdfa_fairness_plugin.data.decisions import all_alike
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.estimates import Rates
from mdfa_fairness_plugin.measure.means import Means
from mdfa_fairness_plugin.measure.sums import ValueOf
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.settings import Settings


def numbers_of(column: pd.Series, name: str) -> np.ndarray:
    """A column as numbers, NaN where there is none."""
    read = read_column(column.array, name)
    if read.numbers is not None:
        return np.asarray(read.numbers, dtype=float)
    found = read.labels.used().values
    if found:
        raise no_numbers(name, found)
    return np.full(len(column), np.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class AmountSums:
    """What is to be known of numbers before they are compared; of blocks of rows it adds up."""

    n_rows: int = 0
    n_infinite: int = 0
    n_negative: int = 0
    n_unexposed: int = 0  # rows whose exposure is no positive number
    least: float = math.inf
    most: float = -math.inf
    weight: float = 0.0  # with exposure; the numbers' mean, and squares of what is beyond it
    mean: float = 0.0
    squares: float = 0.0
    exposed: float = 0.0  # the weight without

    @classmethod
    def of(cls, numbers: np.ndarray, weight: np.ndarray, exposure: np.ndarray | None) -> AmountSums:
        """Sums of some rows, all of which have a number."""
        exposed = np.ones(len(numbers)) if exposure is None else exposure
        good = is_exposure(exposed)
        finite = np.isfinite(numbers)
        known = numbers[finite & good]
        own = (weight * exposed)[finite & good]
        total = float(own.sum())
        mean = float(own @ known) / total if total > 0 else 0.0
        return cls(
            n_rows=len(numbers),
            n_infinite=int((~finite & good).sum()),
            n_negative=int((known < 0).sum()),
            n_unexposed=int((~good).sum()),
            least=float(known.min(initial=math.inf)),
            most=float(known.max(initial=-math.inf)),
            weight=total,
            mean=mean,
            squares=float(own @ (known - mean) ** 2),
            exposed=float(weight[finite & good].sum()),
        )

    def __add__(self, other: AmountSums) -> AmountSums:
        total = self.weight + other.weight
        share = other.weight / total if total > 0 else 0.0
        apart = other.mean - self.mean
        added = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("n_rows", "n_infinite", "n_negative", "n_unexposed", "exposed")
        }
        return AmountSums(
            **added,
            least=min(self.least, other.least),
            most=max(self.most, other.most),
            weight=total,
            mean=self.mean + share * apart,
            squares=self.squares + other.squares + apart**2 * self.weight * share,
        )

    @property
    def unit(self) -> float:
        """Standard deviation of all numbers."""
        return math.sqrt(self.squares / self.weight)

    @property
    def mean_exposure(self) -> float:
        """Exposure of a row on average."""
        return self.weight / self.exposed

    def check(self, settings: Settings, *, per: bool) -> None:
        """Refuse numbers that no audit can work with, wherever the rows lie."""
        refuse_unexposed(self.n_unexposed, self.n_rows)
        if self.n_infinite:
            raise InputError(
                f"y: {self.n_infinite:,} of {self.n_rows:,} outcomes are infinite. Give them a finite "
                "number, or leave these rows out."
            )
        if not self.least < self.most:
            raise all_alike("y", self.n_rows, f"{self.least:g}")
        if self.n_negative and (per or settings.measure == "ratio"):
            what = (
                "exposure: counts are divided by it" if per else "measure: 'ratio' compares means"
            )
            raise InputError(
                f"{what}, and {self.n_negative:,} of {self.n_rows:,} outcomes are below zero. Use "
                "measure='difference' without exposure."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Scale:
    """How numbers become the values compared, as those of the rows learned from did.

    Moved in at both ``ends``, or as their place among ``ranked`` numbers of those rows.
    """

    unit: float
    ends: tuple[float, float] = (-math.inf, math.inf)
    ranked: np.ndarray | None = None

    @classmethod
    def of(cls, numbers: np.ndarray, amount: Amount, settings: Settings) -> Scale:
        """Of the numbers learned from."""
        if settings.robust is None:
            return cls(unit=amount.unit)
        if settings.robust == "rank":
            return cls(unit=amount.unit, ranked=np.sort(numbers))
        share = float(settings.robust)
        low, high = np.quantile(numbers, [share, 1.0 - share])
        return cls(unit=amount.unit, ends=(float(low), float(high)))

    def values(self, numbers: np.ndarray) -> np.ndarray:
        """Values of other numbers."""
        if self.ranked is not None:
            places = [
                np.searchsorted(self.ranked, numbers, side=side) for side in ("left", "right")
            ]
            return (places[0] + places[1]) / 2.0 / len(self.ranked) / self.unit
        return np.clip(numbers, *self.ends) / self.unit


def in_units_of_all(problem: AuditProblem, sums: AmountSums, settings: Settings) -> AuditProblem:
    """The sample's numbers in units of the standard deviation of all rows."""
    amount = problem.amount
    if amount is None or problem.outcome_labels or settings.robust is not None:
        return problem
    scaled = replace(
        amount,
        values=amount.values * (amount.unit / sums.unit),
        unit=sums.unit,
        nonnegative=sums.n_negative == 0,
    )
    return replace(problem, amount=scaled)


@dataclass(frozen=True, kw_only=True, eq=False)
class Valued:
    """What a search looks for in the outcome of each row."""

    codes: tuple[int, ...]  # of the labels that are the outcome; none of a number
    kind: type[Rates] = Rates
    of: ValueOf = field(default_factory=ValueOf)
    ranks: np.ndarray | None = None  # of labels by code, in units

    @classmethod
    def searched(cls, search: Search, problem: AuditProblem) -> Valued:
        """What a search of the sample looks for."""
        data, label, ranks = search.data, search.key.outcome, None
        codes: tuple[int, ...] = ()
        if data.of_means and problem.outcome_labels:
            assert problem.amount is not None
            ranks = np.zeros(len(problem.outcome_labels))
            ranks[problem.y] = problem.amount.values
        elif not data.of_means:
            cut, labels = problem.cuts.get(label), problem.outcome_labels
            codes = (labels.index(label),) if cut is None else tuple(sorted(cut.codes))
        return cls(codes=codes, kind=data.kind, of=data.of, ranks=ranks)

    @property
    def of_means(self) -> bool:
        """Whether it is of a number."""
        return issubclass(self.kind, Means)

    def values(self, y: np.ndarray, amounts: np.ndarray | None) -> np.ndarray:
        """Whether each row has the outcome, or how much of it."""
        if not self.of_means:
            return y == self.codes[0] if len(self.codes) == 1 else np.isin(y, self.codes)
        own = amounts if self.ranks is None else self.ranks[y]
        assert own is not None
        return -own if self.of.unit < 0 else own

    def counted(self, value: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Place of each row among what it is counted by."""
        if not self.of.counted_by:
            return y
        return np.zeros(len(y), dtype=np.intp) if self.of_means else (~value).astype(np.intp)
