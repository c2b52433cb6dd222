"""One search, from the first stage of an audit to the last."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mdfa_fairness_plugin.measure.leak import LeakSums
from mdfa_fairness_plugin.measure.means import MeanDifference
from mdfa_fairness_plugin.measure.measured import Measured
from mdfa_fairness_plugin.measure.power import Searching
from mdfa_fairness_plugin.measure.sums import MeasuredRows, RungOf, SearchSums
from mdfa_fairness_plugin.measure.tests import search_spread
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.records import SearchKey, Spread, ratio_of
from mdfa_fairness_plugin.search.ground import FittedOutcome, Side, rungs_of
from mdfa_fairness_plugin.search.level_sets import Models, SearchData
from mdfa_fairness_plugin.search.solver import Alone, Region, Solved
from mdfa_fairness_plugin.search.solvers import SOLVERS
from mdfa_fairness_plugin.settings import Settings

# Steps to a spread that is that of its own lower end; each leaves a smaller part of the way.
_FIXED_POINT_STEPS = 20
# Of what a later stage sets, and of searches that could not be made.
_NOT_YET: Any = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """Where one group gets one outcome more often than comparable others.

    ``reason`` says why it could not be made; then nothing else is set. Otherwise ``prepare`` sets the
    side and its arrays, ``solve`` what was found and whatever else its models were asked, ``describe``
    the rule (``HeldOutRule``) and the profile, ``measure`` the sums.
    """

    key: SearchKey
    reason: str = ""
    # Of one not made: what it would be told in.
    scale: Mapping[str, Any] = field(default_factory=dict)
    side: Side = _NOT_YET
    data: SearchData = _NOT_YET
    solved: Solved = _NOT_YET
    told: Any = None  # set with ``solved``
    rule: Any = _NOT_YET
    profile: pd.DataFrame = _NOT_YET
    measured: Measured = _NOT_YET
    spread: Spread | None = None  # set with ``measured``

    @property
    def made(self) -> bool:
        """Whether there was anything to compare."""
        return not self.reason

    @property
    def sums(self) -> SearchSums:
        """What was counted."""
        return self.measured.sums

    @property
    def models(self) -> Models:
        """Models of its ground, seen from its side and for its outcome."""
        assert self.data.models is not None
        return self.data.models

    @property
    def fitted(self) -> FittedOutcome:
        """What searches for an outcome, or for its complement, share."""
        return self.models.fitted

    @property
    def judges(self) -> bool:
        """Whether rows can be judged that were not compared."""
        return self.solved.region is not None or self.side is not None

    @property
    def searched(self) -> SearchData:
        """Arrays that the region is found by: those of yes and no, where a number is."""
        return self.data.searched or self.data

    @cached_property
    def region(self) -> Region:
        """Judges any rows; found once more, the same, if its models were let go."""
        if self.solved.region is not None:
            return self.solved.region
        ground, data = self.side.ground, self.searched
        assert data.models is not None
        settings = ground.compared.settings
        with one_blas_thread():  # as in the audit
            models = replace(data.models, propensity=ground.propensity_again())
            data = replace(data, models=models)
            found = SOLVERS[settings.solver].solve(data, settings).region
        self.fitted.let_go()
        assert found is not None
        return found

    @property
    def rows(self) -> np.ndarray:
        """Places of the rows searched among all working rows."""
        return self.data.rows

    @property
    def s(self) -> np.ndarray:
        """+1 for rows of the group, -1 for those it is compared with."""
        return self.data.s

    @property
    def positive(self) -> np.ndarray:
        """Whether rows have the outcome."""
        return self.data.positive

    @property
    def member(self) -> np.ndarray:
        """Rows inside, each judged by a model that has not seen it."""
        return self.solved.member

    @property
    def scores(self) -> np.ndarray:
        """Scores out of fold; larger is worse treated."""
        return self.solved.scores

    @property
    def threshold(self) -> float:
        """Score from which on a row is inside."""
        return self.solved.threshold

    @property
    def held_member(self) -> np.ndarray:
        """Of the rows measured, those in the region."""
        return _of(self.solved.member, self.data.held_out)

    @property
    def held_core(self) -> np.ndarray:
        """Of the rows measured, those in the core."""
        return _of(self.solved.core, self.data.held_out)

    @property
    def held_searched(self) -> np.ndarray:
        """Of the rows measured, those in the region before it was held beside everybody."""
        return _of(self.solved.searched, self.data.held_out)

    @property
    def held_sets(self) -> tuple[np.ndarray, ...]:
        """Of the rows measured, those in every set, in the order of ``SETS``."""
        member = self.held_member
        none = np.zeros(len(member), dtype=bool)
        covered = none if self.rule is None else self.rule.told.covered
        return ~none, member, self.held_core, covered, self.held_searched

    @property
    def held_alone(self) -> list[Alone]:
        """Of the rows measured, those inside by one split of every repeat, if there are several."""
        held = self.data.held_out
        return [Alone(*(_of(own, held) for own in one)) for one in self.solved.alone]

    @property
    def hypothesis(self) -> Hashable:
        """The same for two searches that find one leak in the same people, seen from either side."""
        models = self.searched.models
        assert models is not None
        found = b"" if self.everybody else self.solved.member.tobytes()
        return id(self.fitted), models.flip_s != models.flip_y, found

    def spread_in(
        self, part: LeakSums, whole: LeakSums, z: float | None = None, *, shared: float = 1.0
    ) -> float:
        """Widening for the search in a set: of its test, or of its interval by its statistic.

        The interval's is that of the leak at its lower end. ``shared`` is of a mean over repeats: what
        the search adds is in all of them, and of chance that part which they share.
        """
        share = part.squares / whole.squares if whole.squares > 0 else 0.5
        n_parts = len(self.data.parts)
        spread = search_spread(n_parts, share)
        if z is None or not math.isfinite(z):
            return math.sqrt(spread**2 - 1.0 + shared)
        quantile = float(ndtri(0.5 + self.data.confidence_level / 2.0))
        for _ in range(_FIXED_POINT_STEPS):
            spread = search_spread(n_parts, share, z - quantile * spread)
        return spread

    def shared_evidence(self, rows: MeasuredRows) -> float:
        """Mean correlation of the statistics of what every two repeats proposed, by rows they share."""
        alone = [own.searched for own in self.held_alone]
        squares = [rows.leak(own).squares for own in alone]
        told = [
            rows.leak(own & other).squares / math.sqrt(of_own * of_other)
            for own, of_own in zip(alone, squares, strict=True)
            for other, of_other in zip(alone, squares, strict=True)
            if of_own > 0 and of_other > 0
        ]
        return min(float(np.mean(told)), 1.0) if told else 1.0

    def spread_of(self, rows: MeasuredRows, settings: Settings) -> Spread | None:
        """What every repeat finds alone, on the rows measured; None if there is one alone."""
        alone = [own.member for own in self.held_alone]
        if not alone:
            return None
        found = [rows.estimates(own, settings.adjusts)[settings.estimator] for own in alone]
        size = abs(self.data.of.unit)
        by_difference = issubclass(self.data.kind, MeanDifference)
        return Spread(
            ratios=() if by_difference else tuple(ratio_of(delta) for delta in found),
            differences=tuple(size * own for own in found) if by_difference else (),
            shared=float(np.mean(np.all(alone, axis=0)[self.held_member])),
        )

    @property
    def searching(self) -> Searching:
        """How many parts there are, and the rows that each is judged by."""
        folds, parts = self.data.folds, np.array(self.data.parts)
        learning, size = (folds >= 0).sum(), (folds == parts[:, np.newaxis]).sum(axis=1)
        others = learning - np.where(parts >= 0, size, 0)
        return Searching(n_parts=len(parts), learned=float(others @ size / max(size.sum(), 1) ** 2))

    @property
    def ladder(self) -> tuple[RungOf, ...]:
        """What is known of the models on every rung, the best last."""
        return tuple(
            RungOf(propensity_loss=e.loss, outcome_loss=m.loss, share=min(e.share, m.share))
            for e, m in rungs_of(self.models.propensity, self.models.outcome)
        )

    @property
    def lesser(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Sampling times balancing weights, and ``Pr[Y = y | x]``, by lesser models."""
        return self.side.lesser(self.models.outcome, self.data)

    @property
    def everybody(self) -> bool:
        """Whether the region is everybody measured."""
        return bool(self.held_member.all())

    def working(self, values: np.ndarray, n_rows: int) -> np.ndarray:
        """Values of the rows searched, among all working rows; zero elsewhere."""
        all_rows = np.zeros(n_rows, dtype=values.dtype)
        all_rows[self.data.rows] = values
        return all_rows

    def same_people(self, other: Search) -> bool:
        """Whether both found the same people among the same rows, judged in the same parts."""
        return self is other or (
            np.array_equal(self.solved.member, other.solved.member)
            and np.array_equal(self.data.rows, other.data.rows)
            and np.array_equal(self.data.held_out, other.data.held_out)
            and np.array_equal(self.data.folds, other.data.folds)
        )

    def without_models(self) -> Search:
        """The same, once its ground has let go of the models."""
        models = replace(self.models, propensity=self.side.ground.fitted_propensity)
        data = replace(self.data, models=models)
        return replace(self, data=data, solved=replace(self.solved, region=None))

    def kept(self, *, region: bool) -> Search:
        """What an auditor keeps to tell one person where they stand; models take most of the memory."""
        if not self.made:
            return self
        rule = self.rule.rule
        if region and self.solved.region is None:  # found once more where it is asked for
            return replace(self, rule=rule, told=None, profile=_NOT_YET, measured=_NOT_YET)
        nothing = np.empty(0)
        data = replace(
            self.data,
            base=nothing,
            weights=nothing,
            folds=nothing,
            held_out=nothing,
            propensity=None,
            outcome=None,
            models=None,
            weighing=None,
            other_folds=(),
            searched=None,
        )
        solved = replace(self.solved, core=nothing, searched=nothing, alone=())
        if not region:
            solved = replace(solved, region=None)
        return Search(key=self.key, data=data, solved=solved, rule=rule)


def _of(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return values if rows.all() else values[rows]
