r"""The ground two sides are compared on, and each side of it.

The two values of a sensitive column are audited on the same ground: one propensity, one outcome
model and one difference of rates serve all four (group, outcome) searches, seen from either side.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance.balancer import FromNetwork, Weighing, is_network, weigh
from mdfa_fairness_plugin.balance.diagnostics import BalanceDiagnostics, Distances, diagnose
from mdfa_fairness_plugin.balance.support import (
    MANY_OUTSIDE,
    Support,
    check_support,
    common_support,
)
from mdfa_fairness_plugin.exceptions import WarningLog
from mdfa_fairness_plugin.learn.cells import Cells
from mdfa_fairness_plugin.learn.difference import (
    CrossFittedDifference,
    Trees,
    cross_fitted_difference,
)
from mdfa_fairness_plugin.learn.learners import make_regressor
from mdfa_fairness_plugin.learn.links import IDENTITY, LOGIT
from mdfa_fairness_plugin.learn.probability import (
    CrossFittedMean,
    CrossFittedProbability,
)
from mdfa_fairness_plugin.measure.splitting import draw_folds
from mdfa_fairness_plugin.measure.tests import search_spread
from mdfa_fairness_plugin.numerics.rows import RowView, at
from mdfa_fairness_plugin.search.compared import Compared, beside
from mdfa_fairness_plugin.search.features import with_network
from mdfa_fairness_plugin.search.level_sets import Models, SearchData
from mdfa_fairness_plugin.search.outcomes import Outcome
from mdfa_fairness_plugin.settings import Settings

# Of a quantity of standard deviation 1: less is none, and nothing may be divided by it.
_LEAST_DOSE = 1e-6


def rungs_of(
    propensity: CrossFittedProbability, outcome: CrossFittedProbability
) -> list[tuple[CrossFittedProbability, CrossFittedProbability]]:
    """Pairs of ever better models, the best last; a given one stands beside each of the other."""
    ladders = [(*model.lesser, model) for model in (propensity, outcome)]
    most = max(len(own) for own in ladders)
    return list(zip(*(own if len(own) == most else own * most for own in ladders), strict=True))


class Ground:
    """Comparable rows of two sides, with the nuisances both directions use."""

    def __init__(
        self,
        compared: Compared,
        s: np.ndarray,
        parts: tuple[int, ...],
        outcomes: Sequence[Outcome],
        given: np.ndarray | None = None,
        inside: np.ndarray | None = None,
        quantity: np.ndarray | None = None,
    ) -> None:
        settings = compared.settings
        self.compared = compared
        self.parts = parts
        self.compared_s = at(s, compared.rows)
        self.quantity = None if quantity is None else at(quantity, compared.rows)
        self._given = given
        self.cells: tuple[Cells, ...] = ()  # that models are told, as they had missed them
        self.fitted_propensity = self.propensity_again()
        self._tell_what_was_missed(outcomes)
        e = self.fitted_propensity.out_of_fold
        if self.quantity is not None:
            self.compared_s, e = sides_of(self.quantity - e)
            self.support = Support.of(np.ones(len(e), dtype=bool), compared.base)
        elif inside is not None:
            self.support = Support.of(inside[compared.rows], compared.base)
        else:
            self.support = check_support(
                e,
                self.compared_s,
                sample_weight=compared.base,
                policy=settings.overlap,
                min_rows=settings.min_group_size,
            )
        own = np.flatnonzero(self.support.mask)
        self.rows = at(compared.rows, own)
        self.outside = compared.rows[~self.support.mask]
        self.X = compared.X.take(own)
        self.base = at(compared.base, own)
        self.s = at(self.compared_s, own)
        self.folds, *others = (at(folds, own) for folds in compared.folds)
        self.other_folds = tuple(others)
        self.cluster = None if compared.cluster is None else at(compared.cluster, own)
        self.unit = None if compared.unit is None else at(compared.unit, own)
        self.propensity = at(e, own)
        self.held_out = np.isin(self.folds, parts)
        self._fitted: dict[Hashable, FittedOutcome] = {}
        # With weights that are the same from either side, what is between the sides is measured once.
        self.distances: Distances | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """Propensities strictly between which rows have comparable rows on the other side."""
        outside = self.fitted_propensity.out_of_fold[~self.support.mask]
        below = outside[outside < self.propensity.min()]
        above = outside[outside > self.propensity.max()]
        return float(below.max(initial=-np.inf)), float(above.min(initial=np.inf))

    def propensity_again(self) -> Any:
        """Fitted once more, the same."""
        if self.quantity is not None:
            return self.compared.propensity(self.quantity, self._given, IDENTITY, self.cells)
        return self.compared.propensity(self.compared_s > 0, self._given, LOGIT, self.cells)

    def _tell_what_was_missed(self, outcomes: Sequence[Outcome]) -> None:
        """Fit the models again until they miss nothing they can be told.

        Single values that tell the group itself, so that many are left without anybody comparable, are
        none in which people are alike: what S does to Y would pass for what the features do.
        """
        untold = self.fitted_propensity
        refused: tuple[Cells, ...] = ()
        while more := self._untold(outcomes, refused):
            before = self.cells, self.fitted_propensity
            self.cells += more
            self.fitted_propensity = beside(self.propensity_again(), untold)
            values = [one for one in more if one.by_value]
            if values and self._share_outside(self.fitted_propensity) > max(
                self._share_outside(untold), MANY_OUTSIDE
            ):
                self.cells, self.fitted_propensity = before
                refused += tuple(values)

    def _share_outside(self, propensity: CrossFittedProbability) -> float:
        """Share of the rows without a comparable one; none where a quantity is compared."""
        if self.quantity is not None:
            return 0.0
        base = self.compared.base
        mask = common_support(propensity.out_of_fold, self.compared_s, base)
        return Support.of(mask, base).share_outside

    def _untold(self, outcomes: Sequence[Outcome], refused: tuple[Cells, ...]) -> tuple[Cells, ...]:
        """Cells that models miss something in and have not been told; none if all are the user's."""
        fitted = (self.compared.outcome_model(one, self.cells) for one in outcomes)
        if not any(isinstance(one, CrossFittedMean) for one in (self.fitted_propensity, *fitted)):
            return ()
        value = self.compared_s > 0 if self.quantity is None else self.quantity
        left = (value - self.fitted_propensity.out_of_fold) * self.compared.base
        return self.compared.missed(left, outcomes, self.cells, refused)

    def let_go(self) -> None:
        """Keep what models of the sides told, not the models: they take most of the memory."""
        self.fitted_propensity = self.fitted_propensity.without_models()

    def fitted(self, outcome: Outcome) -> FittedOutcome:
        """What searches for an outcome, or for its complement, share."""
        outcome = outcome.yes_no or outcome
        if outcome.name not in self._fitted:
            self._fitted[outcome.name] = FittedOutcome(self, outcome)
        return self._fitted[outcome.name]


class FittedOutcome:
    """Models of one outcome on a ground; holds arrays of the ground, not the ground that holds it."""

    def __init__(self, ground: Ground, outcome: Outcome) -> None:
        self.model = ground.compared.outcome_model(outcome, ground.cells)
        self.rates = at(self.model.out_of_fold, np.flatnonzero(ground.support.mask))
        self.whole = outcome.whole
        self._fit_difference = functools.partial(
            _difference,
            ground.X,
            (ground.s > 0, ground.propensity),
            (at(outcome.modelled, ground.rows), self.rates),
            folds=(ground.folds, *ground.other_folds),
            parts=ground.parts,
            base=ground.base,
            unit=ground.unit,
            settings=ground.compared.settings,
        )

    @cached_property
    def difference(self) -> CrossFittedDifference:
        """Difference of the outcome's rates between the two sides."""
        return self._fit_difference()

    def let_go(self) -> None:
        """Keep no difference; whoever asks for it has it fitted once more, the same."""
        self.__dict__.pop("difference", None)


def _difference(
    X: RowView,
    of_group: tuple[np.ndarray, np.ndarray],
    outcome: tuple[np.ndarray, np.ndarray],
    *,
    folds: Sequence[np.ndarray],
    parts: tuple[int, ...],
    base: np.ndarray,
    unit: np.ndarray | None,
    settings: Settings,
) -> CrossFittedDifference:
    """Averaged over repeats, each with the folds of its models.

    Both sides and the outcome come with what models expect of them. Any tree may leave out other rows,
    so those of a repeat are shared by more splits into folds than the models' own, even within every
    cell of side and outcome.
    """
    (group, e), (value, m) = of_group, outcome
    residuals = group - e, value - m
    much = value if value.dtype == bool else value > m
    cell = (2 * group + much)[folds[0] >= 0]
    learning = np.flatnonzero(folds[0] >= 0)
    learner = make_regressor(settings.learner, len(learning), settings.seeds["learner"])
    trees = Trees.of(len(learning), len(folds))

    def fitted(own: np.ndarray, seed: int, n_trees: int) -> CrossFittedDifference:
        return cross_fitted_difference(
            X,
            residuals,
            own,
            parts=parts,
            sample_weight=base,
            learner=make_regressor(settings.learner, len(learning), seed),
            random_state=seed,
            n_jobs=settings.n_jobs,
            n_trees=n_trees,
        )

    own_unit = None if unit is None else unit[learning]
    repeats: list[CrossFittedDifference] = []
    for own, seed in zip(folds, settings.repeated_seeds("learner", len(folds)), strict=True):
        rng = np.random.default_rng(seed)
        fits = [fitted(own, seed, trees.of_first)]  # asked alone, too
        for split in range(1, trees.n_splits if learner is None else 1):
            other = own.copy()
            other[learning] = draw_folds(cell, settings.n_splits, rng, own_unit)
            fits.append(fitted(other, seed + split, trees.of_others))
        repeats.append(CrossFittedDifference.averaged(fits))
    return CrossFittedDifference.averaged(repeats)


class Side:
    """A ground seen from one side, with the weights that make the other comparable."""

    def __init__(self, ground: Ground, flip: bool, log: WarningLog) -> None:
        self.ground = ground
        self.flip = flip
        self.s = -ground.s if flip else ground.s
        self.propensity = 1.0 - ground.propensity if flip else ground.propensity
        self._log = log

    @property
    def dose(self) -> np.ndarray | None:
        """How far from what is expected of it a quantity is; None between groups."""
        if self.ground.quantity is None:
            return None
        return np.where(self.s > 0, 1.0 - self.propensity, self.propensity)

    @cached_property
    def weighing(self) -> Weighing:
        """Weights that no outcome has a say in."""
        ground = self.ground
        settings = ground.compared.settings
        method, seed = settings.balance, settings.seeds["balance"]
        if self.dose is not None:
            return Weighing(method="residual", weights=self.dose)
        if is_network(method):
            method = FromNetwork(method, ground.folds >= 0, seed, settings.device)
        return weigh(
            ground.X,
            self.s,
            method,
            rows=ground.rows,
            sample_weight=ground.base,
            propensity=self.propensity,
            random_state=seed,
            device=settings.device,
            log=self._log,
        )

    @cached_property
    def weights(self) -> np.ndarray:
        """Sampling times balancing weights, one array for all outcomes."""
        return _times(self.ground.base, self.weighing.weights)

    def facing(self, outcome: Outcome) -> SearchData:
        """Arrays of the search for one outcome."""
        ground = self.ground
        settings = ground.compared.settings
        fitted = ground.fitted(outcome)
        value, yes_no = at(outcome.value, ground.rows), outcome.yes_no
        searched, flip = None, outcome.flip
        if yes_no is not None:  # who get less of it are those whose others have it more often
            turned = Side(ground, not self.flip, self._log) if outcome.of.unit < 0 else self
            searched, flip = turned.facing(yes_no), yes_no.flip
        shared = settings.representation == "phi" and is_network(settings.balance)
        weighing = None if shared else self.weighing
        data = SearchData(
            rows=ground.rows,
            X=ground.X,
            s=self.s,
            value=value,
            kind=outcome.kind,
            of=outcome.of,
            counted=None if outcome.counted is None else at(outcome.counted, ground.rows),
            base=ground.base,
            weights=ground.base if weighing is None else self.weights,
            weighing=weighing,
            folds=ground.folds,
            other_folds=ground.other_folds,
            tells_alone=ground.compared.ladder,
            held_out=ground.held_out,
            alpha=outcome.alpha(settings, value, ground.base)
            if searched is None
            else searched.share,
            confidence_level=float(settings.confidence_level),
            spread=search_spread(len(ground.parts)),
            dose=None if self.dose is None else outcome.deviation * self.dose,
            cluster=ground.cluster,
            propensity=self.propensity,
            searched=searched,
            adjusts=settings.adjusts,
            parts=ground.parts,
            models=Models(
                propensity=ground.fitted_propensity,
                outcome=fitted.model,
                fitted=fitted,
                flip_s=self.flip,
                flip_y=flip,
            ),
        )
        data = replace(data, outcome=data.expected(fitted.rates))
        return with_network(data, settings) if settings.representation == "phi" else data

    def lesser(
        self, model: CrossFittedProbability, data: SearchData
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Sampling times balancing weights, and ``Pr[Y = y | x]``, by lesser models."""
        ground, inside = self.ground, self.ground.support.mask
        for e, m in rungs_of(ground.fitted_propensity, model)[:-1]:
            own_e, own_m = e.out_of_fold[inside], m.out_of_fold[inside]
            if ground.quantity is not None:
                weights = ground.s * (ground.quantity[inside] - own_e)
            else:
                weights = data.weighing.weights_by(1.0 - own_e if self.flip else own_e, self.s)
            yield _times(ground.base, weights), data.expected(own_m)

    def overlap(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Working rows of both sides, their side and their propensity, comparable or not."""
        compared, s = self.ground.compared, self.ground.compared_s
        e = self.ground.fitted_propensity.out_of_fold
        if self.ground.quantity is not None:
            e = np.full(len(e), np.nan)
        return compared.rows, -s if self.flip else s, 1.0 - e if self.flip else e

    def weights_if(
        self, weighing: Weighing, X: np.ndarray, rows: np.ndarray, e: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights that rows of unknown side would have as one of the group and of the others.

        ``rows`` are their places among all working rows, ``e`` their propensity as the ground has it.
        """
        own = 1.0 - e if self.flip else e
        one = np.ones(len(X), dtype=np.int8)
        return tuple(weighing.weights_of(X, sign * one, own, rows) for sign in (1, -1))  # type: ignore[return-value]

    def diagnosed(self, places: Mapping[str, int], weighing: Weighing) -> BalanceDiagnostics:
        """How alike the weights make features, by their columns, and rows without a counterpart."""
        return diagnose(
            self._distances(weighing),
            self.s,
            weighing.weights,
            method=weighing.method,
            base=self.ground.base,
            places=places,
            support=self.ground.support,
        )

    def _distances(self, weighing: Weighing) -> Distances:
        ground, weights = self.ground, weighing.weights
        if not weighing.symmetric:
            return Distances.of(ground.X, self.s, ground.base, weights)
        if ground.distances is None:
            ground.distances = Distances.of(ground.X, ground.s, ground.base, weights)
        return ground.distances.turned() if self.flip else ground.distances


def _times(base: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Their product; no copy if every row stands for one."""
    return weights if (base == 1.0).all() else base * weights


def sides_of(beyond: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """+1 where a quantity is more than expected, -1 where it is less; and S = +1 minus by how much.

    That is what a propensity is to sides, so whatever is made of ``1{S = +1} - e`` holds of both.
    """
    beyond = np.where(np.abs(beyond) < _LEAST_DOSE, _LEAST_DOSE, beyond)
    s = np.where(beyond > 0, 1, -1).astype(np.int8)
    return s, (s > 0) - beyond


def orientation(s: np.ndarray) -> int:
    """The sign that makes the rarer side +1, whatever labels are called; or that of the first row."""
    n_positive, n_negative = int((s > 0).sum()), int((s < 0).sum())
    if n_positive != n_negative:
        return 1 if n_positive < n_negative else -1
    return int(s[np.flatnonzero(s)[0]])
