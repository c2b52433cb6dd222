r"""The region from cross-fitted residuals: where the outcome depends on S beyond x.

With ``m(x) = Pr[Y = y | x]`` and ``e(x) = Pr[S = s | x]`` predicted out of fold, the regression of
``(1{Y=y} - m) / (1{S=s} - e)`` on x with weights ``(1{S=s} - e)^2`` estimates the difference of rates
``tau(x) = p1(x) - p0(x)`` (the R-learner of Nie and Wager 2021). Where a black box always answers the
same its residual is zero, so unlike a search for S among rows with ``Y = y`` it is not led astray by
lucky patches there. From tau, ``p1 = m + (1 - e) tau`` and ``p0 = m - e tau``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.learn.difference import CrossFittedDifference
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.measure.estimates import Rates
from mdfa_fairness_plugin.measure.means import MeanDifference, Means
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.search.level_sets import SearchData
from mdfa_fairness_plugin.search.selection import Family, Scoring, choose, solved
from mdfa_fairness_plugin.search.solver import Solved, Solver
from mdfa_fairness_plugin.settings import Settings

# Ratios are shrunk by these multiples of the overall rate; None is the difference itself. No single
# one serves both frequent and rare outcomes, so all of them propose regions.
SHRINKAGES = (0.1, 0.25, 0.5, 1.0, 3.0, None)


@dataclass(frozen=True, kw_only=True, eq=False)
class OrthogonalRegion:
    """A region of the shrunk ratio, told from the fitted difference and nuisances.

    These are fitted for one orientation of S and Y; ``flip_s`` and ``flip_y`` say whether the search
    looks at the opposite one. ``rate`` is the overall rate of the audited outcome.
    """

    difference: CrossFittedDifference
    propensity: CrossFittedProbability
    outcome: CrossFittedProbability
    flip_s: bool
    flip_y: bool
    choice: Choice
    rate: float
    kind: type[Rates] = Rates
    whole: float = 1.0  # what an outcome and its complement add up to
    threshold: float = -np.inf
    core_threshold: float = -np.inf

    def scores(self, rows: Asked) -> np.ndarray:
        """Score rows; larger is worse treated."""
        return self._scores(rows, rows.predict(self.difference))

    def losses(self, rows: Asked, s: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Squared errors of the residual regression; sides and outcomes as the search sees them."""
        tau = rows.predict(self.difference)[self.choice.scale]
        e, m = rows.predict(self.propensity), rows.predict(self.outcome)
        tau, e, m = self._oriented(tau, e, m)
        return squared_errors(tau, e, m, s, value)

    def by_model(self, rows: Asked) -> np.ndarray:
        """Scores by each part's difference, shape (n_parts, n)."""
        return np.array([self._scores(rows, tau) for tau in self.difference.by_part(rows.X)])

    def unseen(self) -> OrthogonalRegion:
        """What judges rows that no model saw."""
        return replace(
            self,
            difference=self.difference.unseen,
            propensity=self.propensity.unseen,
            outcome=self.outcome.unseen,
        )

    def _scores(self, rows: Asked, tau: np.ndarray) -> np.ndarray:
        e, m = rows.predict(self.propensity), rows.predict(self.outcome)
        tau, e, m = self._oriented(tau[self.choice.scale], e, m)
        return self.choice.scores(tau, e, m, self.rate, self.kind)

    def _oriented(
        self, tau: np.ndarray, e: np.ndarray, m: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return oriented(tau, e, m, flip_s=self.flip_s, flip_y=self.flip_y, whole=self.whole)


class OrthogonalSolver(Solver):
    """Regions of the cross-fitted difference of rates, several scores competing."""

    learns = "regressor"
    threads_of_its_own = False

    def prepare(self, data: SearchData) -> None:
        """Fit the difference of rates."""
        assert data.models is not None
        _ = data.models.fitted.difference

    def solve(self, data: SearchData, settings: Settings) -> Solved:
        """Find the region."""
        models, e, m = data.models, data.propensity, data.outcome
        assert models is not None
        assert e is not None
        assert m is not None
        difference = models.fitted.difference
        turned = models.flip_s != models.flip_y
        rate = outcome_rate(data)
        kind = data.kind
        named = {one.name: one for one in all_choices(len(difference.out_of_fold), kind)}

        def scoring(fitted: CrossFittedDifference) -> Scoring:
            def tau(own: Any) -> np.ndarray:
                return -fitted.out_of_fold[own] if turned else fitted.out_of_fold[own]

            def propose(rows: Any) -> list[Family]:
                own, expected = tau(np.s_[:, rows]), (e[rows], m[rows])
                # Of the regression whose solution the difference is, at each scale.
                errors = squared_errors(own, *expected, data.s[rows], data.value[rows])
                return orthogonal_families(
                    own, *expected, rate, list(data.base[rows] * errors), kind
                )

            return Scoring(
                propose, lambda name: named[name].scores(tau(named[name].scale), e, m, rate, kind)
            )

        alone = [scoring(own.first) for own in difference.averaged_over]
        chosen = choose(data, *scoring(difference), alone)
        region = OrthogonalRegion(
            difference=difference.predictor,
            propensity=models.propensity,
            outcome=models.outcome,
            flip_s=models.flip_s,
            flip_y=models.flip_y,
            choice=named[chosen.selection.family],
            rate=rate,
            kind=kind,
            whole=data.whole,
        )
        return solved(data, region, chosen)


def oriented(
    tau: np.ndarray, e: np.ndarray, m: np.ndarray, *, flip_s: bool, flip_y: bool, whole: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nuisances and difference as the search sees them: one function serves all four searches.

    An outcome and its complement add up to the ``whole``: to 1, more and less of a number to 0.
    """
    return (
        -tau if flip_s != flip_y else tau,
        1.0 - e if flip_s else e,
        whole - m if flip_y else m,
    )


def shrunk_ratio(
    tau: np.ndarray,
    e: np.ndarray,
    m: np.ndarray,
    *,
    shrinkage: float | None,
    rate: float,
    most: float = 1.0,
) -> np.ndarray:
    r"""Score between a ratio and a difference, :math:`\ln((p_1 + c b) / (p_0 + c b))`.

    Of minus a number, where b is below 0, that of the number the other way round.
    """
    if shrinkage is None:
        return tau
    if rate < 0:
        return -shrunk_ratio(-tau, e, -m, shrinkage=shrinkage, rate=-rate, most=most)
    p1 = np.clip(m + (1.0 - e) * tau, 0.0, most)
    p0 = np.clip(m - e * tau, 0.0, most)
    return np.log((p1 + shrinkage * rate) / (p0 + shrinkage * rate))


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the scores tried."""

    scale: int  # leaf size of the difference, finest first
    shrinkage: float | None

    @property
    def name(self) -> str:
        """How the result names the score."""
        kind = "difference" if self.shrinkage is None else f"ratio shrunk by {self.shrinkage:g}"
        return f"{kind}, scale {self.scale}"

    def scores(
        self, tau: np.ndarray, e: np.ndarray, m: np.ndarray, rate: float, kind: type[Rates]
    ) -> np.ndarray:
        """Score rows, given the difference at this scale and the nuisances, oriented."""
        most = np.inf if issubclass(kind, Means) else 1.0
        return shrunk_ratio(tau, e, m, shrinkage=self.shrinkage, rate=rate, most=most)


def all_choices(n_scales: int, kind: type[Rates] = Rates) -> list[Choice]:
    """Every score tried, of a difference read at this many leaf sizes; no ratio of what has none."""
    shrinkages = (None,) if issubclass(kind, MeanDifference) else SHRINKAGES
    return [
        Choice(scale=scale, shrinkage=shrinkage)
        for scale in range(n_scales)
        for shrinkage in shrinkages
    ]


def orthogonal_families(
    tau: np.ndarray,
    e: np.ndarray,
    m: np.ndarray,
    rate: float,
    losses: Sequence[np.ndarray | None] | None = None,
    kind: type[Rates] = Rates,
) -> list[Family]:
    """Scores that propose regions, from the difference as this search sees it.

    Shapes: ``tau`` (n_scales, n); ``e``, ``m`` and each of the scales' ``losses`` (n,).
    """
    return [
        Family(
            name=one.name,
            scores=one.scores(tau[one.scale], e, m, rate, kind),
            losses=None if losses is None else losses[one.scale],
        )
        for one in all_choices(len(tau), kind)
    ]


def squared_errors(
    tau: np.ndarray, e: np.ndarray, m: np.ndarray, s: np.ndarray, value: np.ndarray
) -> np.ndarray:
    """Of the regression whose solution the difference ``tau`` is, of shape (n,) or (n_scales, n)."""
    return ((value - m) - ((s > 0) - e) * tau) ** 2


def outcome_rate(data: SearchData) -> float:
    """Overall rate of the audited outcome among the rows compared, or the mean of a number."""
    return float(np.average(data.value, weights=data.base))
