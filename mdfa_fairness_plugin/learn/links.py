r"""What the ladder of models does by log-odds for yes and no, and as it is for a number.

Models tell scores, which are combined and turned into :math:`E[Y | x]`. Scores of yes and no are
log-odds, of smallest log-loss; those of a number are standardised, of smallest squared error, so that
units change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from mdfa_fairness_plugin.learn.bins import BinnedClassifier, BinnedRegressor
from mdfa_fairness_plugin.numerics.basis import Standardiser

# Predictions are kept off 0 and 1 so that odds and logarithms stay finite: one in a thousand.
PROBABILITY_FLOOR = 1e-3
# Standardised numbers keep so many decimals: trees see the same ones, whatever the units.
_DECIMALS = 10


@dataclass(frozen=True)
class Logit:
    """Yes or no, told by log-odds."""

    method = "predict_proba"  # of the user's estimators
    noun = "probabilities"
    unfit = "no numbers"

    def fitted(self, positive: np.ndarray, weight: np.ndarray) -> Logit:
        """For these rows."""
        return self

    def target(self, positive: np.ndarray) -> np.ndarray:
        """What models are fitted to."""
        return np.asarray(positive, dtype=bool)

    def level(self, positive: np.ndarray, weight: np.ndarray) -> tuple[float, bool]:
        """Score of all rows as one, and whether there is nothing else to tell of them."""
        share = float(np.average(positive, weights=weight))
        return float(logit(_off_ends(share))), not 0 < share < 1

    def smooth(self, Z: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> Any:
        """A linear model of the columns."""
        # C = 0.3: log-loss within 0.001 of the best of .03 ... 3 on synthetic data, COMPAS and Adult.
        model = LogisticRegression(C=0.3, max_iter=200, tol=1e-3)
        return model.fit(Z, positive, sample_weight=weight)

    def boosting(self, **how: Any) -> Any:
        """An unfitted boosting."""
        return BinnedClassifier(**how)

    def score(self, model: Any, X: np.ndarray) -> np.ndarray:
        """What a model says."""
        return model.decision_function(X)

    def staged(self, model: Any, X: np.ndarray) -> Iterator[np.ndarray]:
        """What a boosting says after every round."""
        return model.staged_decision_function(X)

    def clipped(self, scores: np.ndarray) -> np.ndarray:
        """Scores no wilder than they may be."""
        return np.clip(scores, -8.0, 8.0)

    def mean(self, score: np.ndarray) -> np.ndarray:
        """Expectation of a score."""
        return expit(score)

    def bounded(self, probability: np.ndarray) -> np.ndarray:
        """Probabilities off 0 and 1, and without the last digits."""
        # Steps of trees make many residuals equal: ties must not be broken by how sums were rounded.
        return _off_ends(np.round(probability, 12))

    def combine(
        self, scores: np.ndarray, positive: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """``a`` and ``b >= 0`` of ``a + b . scores`` of smallest loss, and that; weights sum to one."""
        n, n_models = scores.shape
        sign = np.where(positive, 1.0, -1.0)
        features = np.column_stack([np.ones(n), scores])

        def loss(coefficients):
            margin = sign * (features @ coefficients)
            value = weight @ np.logaddexp(0.0, -margin)
            gradient = -(weight * sign * expit(-margin)) @ features
            return value, gradient

        start = 0.1 * logit(_off_ends(weight @ positive))
        best = minimize(
            loss,
            np.array([start, *np.full(n_models, 1.0 / n_models)]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None), *[(0.0, None)] * n_models],
        )
        return best.x, float(best.fun)

    def worth(self, loss: float, without: float, weight: np.ndarray) -> bool:
        """Whether losses fall by what one more coefficient must bring, by Akaike's criterion."""
        return _rows(weight) * (without - loss) > 1.0

    def moved(self, mean: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """A mean moved as far as from ``start`` to ``end``, in log-odds."""
        return expit(logit(_off_ends(mean)) + logit(end) - logit(start))

    def told(self, rate: np.ndarray) -> np.ndarray:
        """Score of an average."""
        return logit(rate)

    def told_loss(self, told: np.ndarray, count: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Loss of scores for as many rows, of that sum."""
        terms = total * np.logaddexp(0.0, -told)
        return terms + (count - total) * np.logaddexp(0.0, told)


@dataclass(frozen=True)
class Identity:
    """A number, told as it is, standardised."""

    centre: float = 0.0
    scale: float = 1.0  # negative if the longer tail is down
    range: tuple[float, float] = (-np.inf, np.inf)  # of standardised numbers
    method = "predict"
    noun = "numbers"
    unfit = "not finite"

    def fitted(self, y: np.ndarray, weight: np.ndarray) -> Identity:
        """For these rows."""
        known, weight = np.asarray(y, dtype=float)[weight > 0], weight[weight > 0]
        own = Standardiser.fit(known[:, np.newaxis], weight)
        centre, scale = float(own.centre[0]), float(own.scale[0])
        # The longer tail is up, so that -y, too, is told by the same trees.
        scale = math.copysign(scale, weight @ ((known - centre) / scale) ** 3)
        z = Identity(centre, scale).target(known)
        return Identity(centre, scale, (float(z.min()), float(z.max())))

    def target(self, y: np.ndarray) -> np.ndarray:
        """What models are fitted to."""
        z = (np.asarray(y, dtype=float) - self.centre) / self.scale
        return np.round(z, _DECIMALS)

    def level(self, y: np.ndarray, weight: np.ndarray) -> tuple[float, bool]:
        """Score of all rows as one, and whether there is nothing else to tell of them."""
        known = weight > 0
        if not known.any():
            return 0.0, True
        return float(np.average(y, weights=weight)), bool(np.ptp(y[known]) == 0)

    def smooth(self, Z: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
        """A linear model of the columns."""
        return _Ridge.fit(Z, y, weight)

    def boosting(self, **how: Any) -> Any:
        """An unfitted boosting."""
        return BinnedRegressor(**how)

    def score(self, model: Any, X: np.ndarray) -> np.ndarray:
        """What a model says."""
        return model.predict(X)

    def staged(self, model: Any, X: np.ndarray) -> Iterator[np.ndarray]:
        """What a boosting says after every round."""
        return model.staged_predict(X)

    def clipped(self, scores: np.ndarray) -> np.ndarray:
        """Scores within what was seen."""
        return np.clip(scores, *self.range)

    def mean(self, score: np.ndarray) -> np.ndarray:
        """Expectation of a score, within what was seen."""
        return self.centre + self.scale * self.clipped(score)

    def bounded(self, number: np.ndarray) -> np.ndarray:
        """Numbers without the last digits, so that rounding breaks no ties."""
        unit = max(abs(self.centre), abs(self.scale))
        return self.centre + unit * np.round((number - self.centre) / unit, 12)

    def combine(
        self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """``a`` and ``b >= 0`` of ``a + b . scores`` of smallest loss, and that; weights sum to one."""
        root, middle, centre = np.sqrt(weight), weight @ scores, float(weight @ y)
        slopes, _ = nnls((scores - middle) * root[:, np.newaxis], (y - centre) * root)
        coefficients = np.array([centre - middle @ slopes, *slopes])
        error = y - self.clipped(coefficients[0] + scores @ slopes)
        return coefficients, float(weight @ error**2) * self.scale**2

    def worth(self, loss: float, without: float, weight: np.ndarray) -> bool:
        """Whether losses fall by what one more coefficient must bring, by Akaike's criterion."""
        return loss < without * math.exp(-2.0 / _rows(weight))

    def moved(self, mean: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """A mean moved as far as from ``start`` to ``end``, within what was seen."""
        return self.mean((mean + end - start - self.centre) / self.scale)

    def told(self, rate: np.ndarray) -> np.ndarray:
        """Score of an average."""
        return rate

    def told_loss(self, told: np.ndarray, count: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Loss of scores for as many rows, of that sum, but for what does not depend on them."""
        return count * told**2 - 2.0 * total * told


@dataclass(frozen=True, eq=False)
class _Ridge:
    """Ridge regression, its penalty the one of smallest generalised cross-validation."""

    coefficients: np.ndarray
    intercept: float

    @classmethod
    def fit(cls, Z: np.ndarray, y: np.ndarray, weight: np.ndarray) -> _Ridge:
        """By the eigenvectors of the columns' products, which rows need be read once for."""
        root, middle, centre = np.sqrt(weight), *(np.average(of, 0, weight) for of in (Z, y))
        A, b = (Z - middle) * root[:, np.newaxis], (y - centre) * root
        squares, vectors = np.linalg.eigh(A.T @ A)
        squares, along = np.maximum(squares, 0.0), vectors.T @ (b @ A)

        def lost(penalty: float) -> float:
            kept = squares / (squares + penalty)
            told = along**2 / (squares + penalty) @ (2.0 - kept)
            return max(b @ b - told, 0.0) / (1.0 - (1.0 + kept.sum()) / (n + 1)) ** 2

        n = np.count_nonzero(weight)
        penalty = min(10.0 ** np.arange(-1, 5), key=lost)
        coefficients = vectors @ (along / (squares + penalty))
        return cls(coefficients, float(centre - middle @ coefficients))

    def predict(self, Z: np.ndarray) -> np.ndarray:
        """Numbers of rows."""
        return self.intercept + Z @ self.coefficients


Link = Logit | Identity
LOGIT, IDENTITY = Logit(), Identity()


def _off_ends(probability: Any) -> Any:
    return np.clip(probability, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)


def _rows(weight: np.ndarray) -> float:
    """How many rows of one weight tell as much."""
    return float(weight.sum() ** 2 / (weight @ weight))
