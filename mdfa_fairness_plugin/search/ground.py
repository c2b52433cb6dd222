r"""The searches of one contrast: what they share, and what each found.

The two values of a sensitive column are audited on the same ground: one propensity, one outcome
model and one difference of rates serve all four (group, outcome) searches, seen from either side.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdfa_fairness_plugin.balance import (
    BalanceDiagnostics,
    MMDNetwork,
    Weighing,
    check_support,
    diagnose,
    weigh,
)
from mdfa_fairness_plugin.data.problem import AuditProblem, Contrast
from mdfa_fairness_plugin.exceptions import WarningLog
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability, cross_fitted_probability
from mdfa_fairness_plugin.measure.tests import FOLD_SPREAD
from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.search.certificate import coincidence
from mdfa_fairness_plugin.search.features import FeatureMap
from mdfa_fairness_plugin.search.iterative import iterative_search
from mdfa_fairness_plugin.search.level_set import level_set_families, level_set_scores
from mdfa_fairness_plugin.search.level_sets import SearchData
from mdfa_fairness_plugin.search.orthogonal import (
    CrossFittedDifference,
    OrthogonalPredictor,
    all_choices,
    cross_fitted_difference,
    orthogonal_families,
    outcome_rate,
)
from mdfa_fairness_plugin.search.selection import (
    Family,
    Judged,
    Selection,
    choose,
)

SOLVERS = ("orthogonal", "level_set", "iterative")
# Algorithm 1 and its one-fit equivalent keep each step of their path; the orthogonal search has none
# of its own.
Predictor = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the searches are made; the auditor's arguments, checked.

    Parameters
    ----------
    alpha, confidence_level : float
    balance : str, object or ndarray
    learner : str or estimator
    solver : {"orthogonal", "level_set", "iterative"}
    make_regressor : callable
        ``(n_rows, random_state) -> regressor or None`` for the orthogonal search.
    parts : tuple of int
        Folds judged: all of them, or -1 alone for a hold-out.
    overlap : {"trim", "refuse"}
    min_group_size : int
    xi : float
    max_iter : int
    seeds : dict of str to int
        One per stage.
    device : str or None
    n_jobs : int or None
    """

    alpha: float
    confidence_level: float
    balance: Any
    learner: Any
    solver: str
    make_regressor: Callable[[int, int], Any]
    parts: tuple[int, ...]
    overlap: str
    min_group_size: int
    xi: float
    max_iter: int
    seeds: dict[str, int]
    device: str | None
    n_jobs: int | None

    @property
    def balances(self) -> bool:
        """Whether the weights aim to make the features of both sides alike."""
        if isinstance(self.balance, str):
            return self.balance != "none"
        return hasattr(self.balance, "fit")


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """One (group, outcome) search, on the comparable rows of its contrast.

    Parameters
    ----------
    data : SearchData
    rows : ndarray of int
        Working rows that took part.
    selection : Selection
    predictor : callable
        Scores of new encoded rows.
    member, core : ndarray of bool
        The region and its most unequally treated part; held-out rows had no say in either.
    stopped : bool
        Whether Algorithm 1 ended by its mass in every part, not by its limit on iterations.
    iterations : tuple of int
        Of Algorithm 1, per learning part; empty otherwise.
    """

    data: SearchData
    rows: np.ndarray
    selection: Selection
    predictor: Predictor
    member: np.ndarray
    core: np.ndarray
    stopped: bool = True
    iterations: tuple[int, ...] = ()

    @property
    def propensity(self) -> np.ndarray:
        """``Pr[S = +1 | x]`` out of fold, oriented like the search."""
        assert self.data.propensity is not None
        return self.data.propensity

    @property
    def outcome(self) -> np.ndarray:
        """``Pr[Y = y | x]`` out of fold, oriented like the search."""
        assert self.data.outcome is not None
        return self.data.outcome


class Ground:
    """Rows two sides are compared on, with the nuisances both directions use.

    Parameters
    ----------
    problem : AuditProblem
    rows : ndarray of bool of shape (n_rows,)
        Working rows of the two sides.
    s : ndarray of int8 of shape (n_rows,)
        +1 and -1 on ``rows``, in an orientation that does not depend on labels.
    folds : ndarray of int of shape (n_rows,)
    plan : Plan
    outcomes : OutcomeModels
        Shared with the other contrasts.
    """

    def __init__(
        self,
        problem: AuditProblem,
        rows: np.ndarray,
        s: np.ndarray,
        folds: np.ndarray,
        plan: Plan,
        outcomes: OutcomeModels,
    ) -> None:
        self._plan = plan
        self._outcomes = outcomes
        self._base = problem.sample_weight
        self._compared = np.flatnonzero(rows)
        X = RowView(problem.X, self._compared)
        base = problem.sample_weight[self._compared]
        sides = s[self._compared]
        own_folds = folds[self._compared]
        self.fitted_propensity = cross_fitted_probability(
            X,
            sides > 0,
            own_folds,
            sample_weight=base,
            random_state=plan.seeds["propensity"],
            n_jobs=plan.n_jobs,
        )
        e = self.fitted_propensity.out_of_fold
        self.support = check_support(
            e,
            sides,
            sample_weight=base,
            policy=plan.overlap,
            tolerance=0.0,
            min_rows=plan.min_group_size,
        )
        inside = self.support.mask
        self.rows = self._compared[inside]
        self.outside = self._compared[~inside]
        self.X = X.take(np.flatnonzero(inside))
        self.base = base[inside]
        self.s = sides[inside]
        self.folds = own_folds[inside]
        self.propensity = e[inside]
        self.held_out = np.isin(self.folds, plan.parts)
        self._inside = inside
        self._sides_and_propensity = (sides, e)
        self._measures: list[Any] = []
        self._differences: dict[bytes, CrossFittedDifference] = {}
        self._flipped: dict[str, np.ndarray] = {}
        self._rates: dict[tuple[bytes, bool], np.ndarray] = {}

    def sides(self, flip: bool) -> np.ndarray:
        """S of the comparable rows, seen from either side."""
        if not flip:
            return self.s
        if "s" not in self._flipped:
            self._flipped["s"] = -self.s
        return self._flipped["s"]

    def propensities(self, flip: bool) -> np.ndarray:
        """Probability of the audited side, of the comparable rows."""
        if not flip:
            return self.propensity
        if "e" not in self._flipped:
            self._flipped["e"] = 1.0 - self.propensity
        return self._flipped["e"]

    def limits(self) -> tuple[float, float]:
        """Propensities strictly between which rows have comparable rows on the other side."""
        _, e = self._sides_and_propensity
        outside = e[~self.support.mask]
        below, above = (
            outside[outside < self.propensity.min()],
            outside[outside > self.propensity.max()],
        )
        return float(below.max(initial=-np.inf)), float(above.min(initial=np.inf))

    def overlap(self, flip: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Working rows of both sides, their side and their propensity, comparable or not."""
        sides, e = self._sides_and_propensity
        return self._compared, -sides if flip else sides, 1.0 - e if flip else e

    def prepare(self, positive: np.ndarray) -> None:
        """Fit what searches for an outcome, or for its complement, share.

        Parameters
        ----------
        positive : ndarray of bool of shape (n_rows,)
            Over all working rows: the outcome models are fitted to.
        """
        m = self.outcome_rates(positive, False)
        if self._plan.solver == "orthogonal":
            self.difference(positive, m)

    def outcome_model(self, positive: np.ndarray) -> CrossFittedProbability:
        """Fit (or reuse) ``Pr[Y = y | x]`` on the compared rows.

        Parameters
        ----------
        positive : ndarray of bool of shape (n_rows,)
            Over all working rows.
        """
        return self._outcomes.on(self._compared, positive)

    def outcome_rates(self, positive: np.ndarray, flip: bool) -> np.ndarray:
        """Predicted rate of an outcome, or of its complement, for the comparable rows.

        Parameters
        ----------
        positive : ndarray of bool of shape (n_rows,)
            Outcome the model is fitted to.
        flip : bool
            Whether the complement is meant.
        """
        key = digest(positive), flip
        if key not in self._rates:
            m = self.outcome_model(positive).out_of_fold
            m = m if self._inside.all() else m[self._inside]
            self._rates[key] = 1.0 - m if flip else m
        return self._rates[key]

    def difference(self, positive: np.ndarray, m: np.ndarray) -> CrossFittedDifference:
        """Difference of the rates of an outcome between the two sides, fitted once."""
        own = positive[self.rows]
        key = digest(own)
        if key not in self._differences:
            plan = self._plan
            n_learning = int((self.folds >= 0).sum())
            self._differences[key] = cross_fitted_difference(
                self.X,
                (self.s > 0) - self.propensity,
                own - m,
                self.folds,
                parts=plan.parts,
                sample_weight=self.base,
                learner=plan.make_regressor(n_learning, plan.seeds["learner"]),
                random_state=plan.seeds["learner"],
                n_jobs=plan.n_jobs,
            )
        return self._differences[key]

    def weighed(self, flip: bool, log: WarningLog) -> Weighing:
        """Weights for one direction, on the comparable rows."""
        return weigh(**self._to_balance(flip), log=log)

    def diagnosed(self, flip: bool, weighing: Weighing, names: Sequence[str]) -> BalanceDiagnostics:
        """How alike these weights make the features, and how many rows had no counterpart."""
        return diagnose(
            self.X,
            self.sides(flip),
            weighing.weights,
            method=weighing.method,
            sample_weight=self.base,
            names=names,
            common_support=self.support,
            # Overlap weights, for one, are the same seen from either side.
            known_measures=self._measures,
        )

    def weights_if(
        self, flip: bool, rows: np.ndarray, e: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights that rows of unknown side would have as one of the group and of the others.

        Parameters
        ----------
        flip : bool
            Whether the audited side is the ground's S = -1.
        rows : ndarray of int of shape (n,)
            Working rows.
        e : ndarray of shape (n,)
            Their propensity, in the ground's orientation.
        weights : ndarray
            Weights of the comparable rows in this direction, which set the scale of either side.

        Returns
        -------
        group, reference : ndarray of shape (n,)

        Notes
        -----
        Methods that solve for weights are continued by what they estimate, the odds of the
        propensity.
        """
        method = self._plan.balance
        base = self._base[rows]
        if not isinstance(method, str) and not hasattr(method, "fit"):
            given = np.asarray(method, dtype=float)[rows] * base
            return given, given
        own = 1.0 - e if flip else e
        group, reference = self.scales(flip, weights)
        return (
            group * base * usual_weights(method, "group", own),
            reference * base * usual_weights(method, "reference", own),
        )

    def scales(self, flip: bool, weights: np.ndarray) -> tuple[float, float]:
        """What ``usual_weights`` of either side are multiplied by to be on the scale of others.

        Parameters
        ----------
        flip, weights
            As in ``weights_if``.

        Returns
        -------
        group, reference : float
        """
        e, s = self.propensities(flip), self.sides(flip)
        group, reference = (
            weights[sign].sum()
            / (self.base * usual_weights(self._plan.balance, side, e))[sign].sum()
            for side, sign in (("group", s > 0), ("reference", s < 0))
        )
        return float(group), float(reference)

    def _to_balance(self, flip: bool) -> dict[str, Any]:
        method = self._plan.balance
        if hasattr(method, "fit"):
            method = copy.deepcopy(method)  # the user's object stays as it was
        elif not isinstance(method, str):
            method = np.asarray(method, dtype=float)[self.rows]
        return {
            "X": self.X,
            "s": self.sides(flip),
            "method": method,
            "sample_weight": self.base,
            "propensity": self.propensities(flip),
            "random_state": self._plan.seeds["balance"],
            "device": self._plan.device,
        }


def usual_weights(method: Any, side: str, e: np.ndarray) -> np.ndarray:
    """Weights of one side as a function of the propensity, up to scale.

    Parameters
    ----------
    method : str or object
        Of balancing; those that solve for weights are continued by what they estimate.
    side : {"group", "reference"}
    e : ndarray
        ``Pr[S = +1 | x]`` of the audited side.

    Returns
    -------
    weights : ndarray
    """
    if method == "overlap":
        return 1.0 - e if side == "group" else e
    if method == "none" or side == "reference":
        return np.ones(len(e))
    return (1.0 - e) / e


class OutcomeModels:
    """Cross-fitted ``Pr[Y = y | x]``, one per set of rows and outcome.

    Parameters
    ----------
    problem : AuditProblem
    folds : ndarray of int of shape (n_rows,)
    plan : Plan
    """

    def __init__(self, problem: AuditProblem, folds: np.ndarray, plan: Plan) -> None:
        self._problem = problem
        self._folds = folds
        self._plan = plan
        self._fitted: dict[tuple[bytes, bytes], CrossFittedProbability] = {}

    def on(self, rows: np.ndarray, positive: np.ndarray) -> CrossFittedProbability:
        """Model of ``positive`` on these rows, fitted at the first call."""
        key = (digest(rows), digest(positive))
        if key not in self._fitted:
            self._fitted[key] = cross_fitted_probability(
                RowView(self._problem.X, rows),
                positive[rows],
                self._folds[rows],
                sample_weight=self._problem.sample_weight[rows],
                random_state=self._plan.seeds["outcome"],
                n_jobs=self._plan.n_jobs,
            )
        return self._fitted[key]


def digest(array: np.ndarray) -> bytes:
    """Key of an array's content: the content itself would be kept alive by what it is a key of."""
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()


def search(
    ground: Ground,
    weights: np.ndarray,
    positive: np.ndarray,
    *,
    rare: np.ndarray,
    flip_s: bool,
    plan: Plan,
) -> Found:
    """Find the region where one side gets one outcome most disproportionately.

    Parameters
    ----------
    ground : Ground
    weights : ndarray of shape (n,)
        Of the comparable rows in this direction, times the sampling weights.
    positive : ndarray of bool of shape (n_rows,)
        Audited outcome, over all working rows.
    rare : ndarray of bool of shape (n_rows,)
        ``positive`` or its complement, whichever the shared models are fitted to.
    flip_s : bool
        Whether the audited side is the ground's S = -1.
    plan : Plan

    Returns
    -------
    found : Found
    """
    flip_y = not np.array_equal(positive, rare)
    data = SearchData(
        X=ground.X,
        s=ground.sides(flip_s),
        positive=positive[ground.rows],
        base=ground.base,
        weights=weights,
        folds=ground.folds,
        held_out=ground.held_out,
        alpha=plan.alpha,
        confidence_level=plan.confidence_level,
        spread=FOLD_SPREAD,
        propensity=ground.propensities(flip_s),
        outcome=ground.outcome_rates(rare, flip_y),
        adjusts=plan.balances,
    )
    e, m = data.propensity, data.outcome
    assert e is not None
    assert m is not None
    iterations: tuple[int, ...] = ()
    stopped = True
    predictor: Predictor
    if plan.solver == "orthogonal":
        difference = ground.difference(rare, ground.outcome_rates(rare, False))
        tau = difference.out_of_fold
        turned = flip_s != flip_y
        rate = outcome_rate(data)
        named = {choice.name: choice for choice in all_choices(len(tau))}

        def propose(rows: Any) -> list[Family]:
            own = -tau[:, rows] if turned else tau[:, rows]
            return orthogonal_families(own, e[rows], m[rows], rate)

        def scores_of(name: str) -> np.ndarray:
            own = tau[named[name].scale]
            return named[name].scores(-own if turned else own, e, m, rate)

        selection, judged = choose(data, propose, scores_of)
        choice = named[selection.family]
        predictor = OrthogonalPredictor(
            difference=difference,
            propensity=ground.fitted_propensity,
            outcome=ground.outcome_model(rare),
            flip_s=flip_s,
            flip_y=flip_y,
            choice=choice,
            rate=rate,
        )
    else:
        maps = _feature_maps(data, plan)
        if plan.solver == "level_set":
            scores, predictor = level_set_scores(
                data,
                learner=plan.learner,
                maps=maps,
                random_state=plan.seeds["learner"],
                n_jobs=plan.n_jobs,
            )
            selection, judged = choose(
                data, lambda rows: level_set_families(scores[rows]), lambda name: scores
            )
        else:
            run = iterative_search(
                data,
                learner=plan.learner,
                maps=maps,
                xi=plan.xi,
                max_iter=plan.max_iter,
                random_state=plan.seeds["learner"],
                n_jobs=plan.n_jobs,
            )
            predictor, iterations, stopped = run.predictor, run.n_iterations, run.stopped
            selection = Selection(
                family="Algorithm 1",
                scores=run.scores,
                threshold=0.5,
                core_threshold=0.5,
                path=run.path,
            )
            # Algorithm 1 makes its choice on the learning rows alone.
            judged = Judged(member=selection.member, core=selection.member)
    return Found(
        data=data,
        rows=ground.rows,
        selection=selection,
        predictor=predictor,
        member=np.where(data.held_out, judged.member, selection.member),
        core=np.where(data.held_out, judged.core, selection.scores >= selection.core_threshold),
        stopped=stopped,
        iterations=iterations,
    )


def _feature_maps(data: SearchData, plan: Plan) -> dict[int, FeatureMap]:
    """Features each part's models see; the network's are learned without the part they judge."""
    if plan.learner != "network_features":
        return {part: FeatureMap() for part in plan.parts}
    maps = {}
    for part in plan.parts:
        train = (data.folds >= 0) & (data.folds != part)
        network = MMDNetwork(joint=True, random_state=plan.seeds["balance"], device=plan.device)
        network.fit(
            data.X[train],
            data.s[train],
            label=coincidence(data.s, data.positive)[train],
            sample_weight=data.base[train],
        )
        maps[part] = FeatureMap(network)
    return maps


def orientation(s: np.ndarray) -> int:
    """+1 or -1: the sign that makes the rarer side +1, however the labels are called.

    Ties go to the side of the first compared row in the canonical order.
    """
    n_positive, n_negative = int((s > 0).sum()), int((s < 0).sum())
    if n_positive != n_negative:
        return 1 if n_positive < n_negative else -1
    return int(s[np.flatnonzero(s)[0]])


def rarer(positive: np.ndarray) -> np.ndarray:
    """An outcome or its complement: the one fewer rows have, whatever its label.

    Ties go to the outcome of the first row in the canonical order.
    """
    n_positive = int(positive.sum())
    if 2 * n_positive != len(positive):
        return positive if 2 * n_positive < len(positive) else ~positive
    return positive if positive[0] else ~positive


def label_of(contrast: Contrast) -> tuple[str, Hashable]:
    """Key of a contrast in the balance diagnostics."""
    return contrast.sensitive_feature, contrast.group
