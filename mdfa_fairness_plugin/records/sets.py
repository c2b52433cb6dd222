"""Records of sets of rows: how unequally each is treated, and what that owes to the models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.fields import (
    Column,
    Record,
    frame,
    number,
    pair,
    said,
    several,
    text,
    told_pair,
    whole,
)
from mdfa_fairness_plugin.records.effects import DELTA_OF_DEVIATION, Effect, ratio_of
from mdfa_fairness_plugin.records.views import Viewed

_NO_VALUES: Final = partial(np.empty, 0, np.float64)
_NO_COUNTS: Final = partial(np.empty, 0, np.intp)


@dataclass(frozen=True, kw_only=True, eq=False)
class WorstCasePath(Viewed):
    """What the search saw as the region grew (Algorithm 1, every iteration at once).

    Position ``i`` is one candidate region; ``threshold`` falls along the path, so regions grow.

    Parameters
    ----------
    delta : ndarray of shape (n_steps,)
        Held-out log ratio of outcome rates in the region; of numbers compared by their difference, that
        in standard deviations.
    mass : ndarray of shape (n_steps,)
        Weighted ``Pr[Y = y, x in G]``.
    n_rows : ndarray of shape (n_steps,)
        Rows in the region.
    threshold : ndarray of shape (n_steps,)
        Score above which a row belongs to the region.
    interval_low, interval_high : ndarray of shape (n_steps,)
        Ends of the interval on ``delta``.
    """

    delta: np.ndarray = field(default_factory=_NO_VALUES)
    mass: np.ndarray = field(default_factory=_NO_VALUES)
    n_rows: np.ndarray = field(default_factory=_NO_COUNTS)
    threshold: np.ndarray = field(default_factory=_NO_VALUES)
    interval_low: np.ndarray = field(default_factory=_NO_VALUES)
    interval_high: np.ndarray = field(default_factory=_NO_VALUES)

    def __len__(self) -> int:
        return len(self.delta)

    def __repr__(self) -> str:
        return f"WorstCasePath({len(self)} steps)"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per step, largest threshold first."""
        n = len(self)
        columns = {}
        for name in ("threshold", "delta", "interval_low", "interval_high", "mass", "n_rows"):
            values = np.asarray(getattr(self, name))
            columns[name] = values if len(values) == n else np.full(n, np.nan)
        return pd.DataFrame(columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelDependence(Record):
    """What one ratio owes to the models of the features: the same people, ever better models.

    Parameters
    ----------
    ratios : tuple of float
        Ratio in the subgroup by the models of each rung, the best last; half a row is added to each
        outcome and side, so that all are finite. Empty where sides are compared by a difference.
    differences : tuple of float
        Likewise the difference of means, in units of the outcome; empty otherwise.
    propensity_losses, outcome_losses : tuple of float
        Log-loss of each rung's ``Pr[S = s | x]`` and ``Pr[Y = y | x]`` on rows not fitted to, in nats
        a row, over all rows compared; of a number the mean squared error, in variances.
    shares : tuple of float
        Share of the rows at hand that each rung's models learn from; 0 of the best models before
        they were told what they had missed (cells of features, see ``learn.cells``).
    allowance : float
        How much further the log ratio (or the difference) may fall with more rows to learn from, by
        how it fell from the models of half of the rows (with fewer than three folds: from lesser
        models) to the best, and no less than before models were told what they had missed. The
        interval's lower end, the p-value and the verdict allow for it.
    decisive : bool
        Whether the search would be a violation without that allowance, and is none for it.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    ratios: tuple[float, ...] = several("cells")
    differences: tuple[float, ...] = field(
        default=(), metadata=said("cells", settle=tuple, json="told")
    )
    propensity_losses: tuple[float, ...] = several("cells")
    outcome_losses: tuple[float, ...] = several("cells")
    shares: tuple[float, ...] = several("always")
    allowance: float = number("cells")
    decisive: bool = field(default=False, metadata=said("always", settle=bool))

    def __post_init__(self) -> None:
        super().__post_init__()
        own = (
            self.differences or self.ratios,
            self.propensity_losses,
            self.outcome_losses,
            self.shares,
        )
        if len(set(map(len, own))) > 1:
            raise ValueError("ratios, losses and shares: one of each for every rung expected.")

    def to_frame(self) -> pd.DataFrame:
        """Give one row per rung, the least first."""
        return pd.DataFrame(
            {
                "difference" if self.differences else "ratio": self.differences or self.ratios,
                "propensity_loss": self.propensity_losses,
                "outcome_loss": self.outcome_losses,
                "share": self.shares,
            }
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread(Record):
    """What other splits of the same rows into folds find, each by itself.

    Parameters
    ----------
    ratios : tuple of float
        Ratio in the subgroup that each repeat of cross-fitting finds alone, measured as the reported
        one is; infinite if no comparable other there has the outcome. Empty where sides are compared
        by a difference.
    differences : tuple of float
        Likewise the difference of means, in units of the outcome; empty otherwise.
    shared : float
        Share of the reported subgroup's rows that are inside by every repeat.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    ratios: tuple[float, ...] = several("cells")
    differences: tuple[float, ...] = field(
        default=(), metadata=said("cells", settle=tuple, json="told")
    )
    shared: float = number("cells")

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest ratio, or difference; NaN if none is known."""
        known = [own for own in self.differences or self.ratios if not math.isnan(own)]
        return (min(known), max(known)) if known else (math.nan, math.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured(Effect, Record):
    """How unequally a set of rows is treated; see ``Subgroup``."""

    delta: float = number("cells", Column("delta", 15, 2), Column("ratio", 6, 15, ratio_of))
    interval: tuple[float, float] = pair(
        "cells",
        Column("delta_low", 16, 13, itemgetter(0)),
        Column("delta_high", 17, 14, itemgetter(1)),
        Column("ratio_low", 7, 16, lambda ends: ratio_of(ends[0])),
        Column("ratio_high", 8, 17, lambda ends: ratio_of(ends[1])),
    )
    gamma: float = number("cells", Column("gamma", 20, 4))
    mass: float = number("cells", Column("mass", 22, 5))
    n_rows: int | None = whole("rule", Column("n_rows", 11, 6, dtype=int))
    rates: tuple[float, float] = pair(
        "cells",
        Column("rate_group", 13, of=itemgetter(0)),
        Column("rate_reference", 14, of=itemgetter(1)),
    )
    difference: float = number("cells", Column("difference", 40, 34))
    difference_interval: tuple[float, float] = pair(
        "cells",
        Column("difference_low", 41, 35, itemgetter(0)),
        Column("difference_high", 42, 36, itemgetter(1)),
    )
    counts: pd.DataFrame = frame("rule")
    measure: str = field(default="ratio", metadata=said("always", json="told"))
    outcome_sd: float = field(default=math.nan, metadata=said("cells", settle=float, json="told"))
    per: float = field(default=math.nan, metadata=said("always", settle=float, json="told"))
    probability_bounds: tuple[float, float] = told_pair()
    n_known: int = field(default=0, metadata=said("always", json="told"))

    @property
    def left_open(self) -> bool:
        """Whether bounds are all that is known, and the estimate is one value between them."""
        low, high = self.probability_bounds
        return low < high and not self.n_known

    @property
    def lower(self) -> float:
        """Lower end of the interval on ``delta``; of a difference what says as much (Chinn 2000)."""
        if self.by_difference:
            return DELTA_OF_DEVIATION * self.difference_interval[0] / self.outcome_sd
        return self.interval[0]

    @property
    def measured(self) -> bool:
        """Whether ``effect`` is known (it may be infinite)."""
        return not math.isnan(self.effect)

    def _figures(self) -> str:
        if self.by_difference:
            low, high = self.difference_interval
            return f"difference={self.difference:.3g} [{low:.3g}, {high:.3g}], n_rows={self.n_rows}"
        low, high = self.ratio_interval
        return f"ratio={self.ratio:.3g} [{low:.3g}, {high:.3g}], n_rows={self.n_rows}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Subgroup(Measured, Viewed):
    """A set of rows and how unequally it is treated, on held-out rows.

    Parameters
    ----------
    label : str
        What the set is: ``"everybody"``, ``"core"``, ``"rule"``...
    delta : float
        Log ratio of outcome rates, by default at the same features; ``inf`` if only the group has
        the outcome, NaN if it was not measured.
    interval : tuple of float
        Ends of the interval on ``delta``.
    gamma : float
        Certificate strength by the definition (Section 3.1).
    mass : float
        Weighted ``Pr[Y = y, x in G]``.
    n_rows : int
        Rows in the set.
    rates : tuple of float
        Rates of the outcome behind ``delta``: of the group, and of those it is compared with.
    difference : float
        The first of ``rates`` minus the second; times 100 in percentage points. Of means in units of
        the outcome, by how much more the group gets or, searched for less, by how much less.
    difference_interval : tuple of float
        Ends of the interval on ``difference``.
    counts : DataFrame of shape (2, n_outcomes)
        Rows by sensitive value and outcome; of numbers all rows.
    measure : {"ratio", "difference"}
        What both sides are compared by: the ratio of rates or means, or the difference of means.
    outcome_sd : float
        Standard deviation of an outcome that is a number; NaN otherwise. Of slopes, the change for
        ``per`` where one deviation of the quantity goes with one of the outcome.
    per : float
        How much more of a sensitive quantity ``difference`` is for, then a slope; NaN between groups.
    probability_bounds, n_known : tuple of float, int
        As for ``Violation``.
    p_value : float
        Of everybody, of the region that the search proposed, before one of the two is chosen, and of
        the core; NaN for other sets.
    beside : bool
        Whether this part is a violation of its own and its ratio above everybody's, who are reported:
        told beside them (``Violation.beside``).
    rule : str
        Who is in such a part, or in the best that a short rule describes where none fits, in words;
        else empty.
    rule_fidelity : float
        As for ``Violation``.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    label: str = text("always")
    p_value: float = number("cells")
    beside: bool = field(default=False, metadata=said("always", settle=bool))
    rule: str = text("always")
    rule_fidelity: float = number("always")

    def __repr__(self) -> str:
        return f"Subgroup({self.label!r}, {self._figures()})"
