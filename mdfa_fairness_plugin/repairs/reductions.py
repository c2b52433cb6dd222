"""Repairs while the classifier is fitted: Fairlearn's reductions (Agarwal et al. 2018)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.repairs.classifier import LogisticClassifier
from mdfa_fairness_plugin.repairs.report import Quantity
from mdfa_fairness_plugin.repairs.toolkits import fairlearn
from mdfa_fairness_plugin.settings import check_choice

# Fairlearn's moments of classifiers, by the names that its ThresholdOptimizer has for them. Its bounded
# group loss is meant for regression: a classifier's weights by group need not change any answer.
MOMENTS = {
    "demographic_parity": "DemographicParity",
    "equalized_odds": "EqualizedOdds",
    "true_positive_rate_parity": "TruePositiveRateParity",
    "false_positive_rate_parity": "FalsePositiveRateParity",
    "error_rate_parity": "ErrorRateParity",
}


class ReductionClassifier(LogisticClassifier):
    """Logistic classifier by Fairlearn's ``ExponentiatedGradient``, ``Red-LC``.

    A randomised mixture of classifiers, each fitted to reweighted data, that meets a constraint on the
    groups' rates.
    """

    _needs_sensitive = True
    _method = "ExponentiatedGradient of Fairlearn"

    def __init__(
        self,
        estimator=None,
        random_state=None,
        constraint="demographic_parity",
        eps=0.01,
        max_iter=50,
    ):
        super().__init__(estimator, random_state)
        self.constraint = constraint
        self.eps = eps
        self.max_iter = max_iter

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        if not self.eps > 0:
            raise InputError(f"eps: more than 0 is needed, {self.eps!r} found.")
        reductions = fairlearn("reductions")
        moment = _moment(reductions, self.constraint, self.eps)
        how = {"eps": self.eps, "max_iter": self.max_iter}
        self._model = reductions.ExponentiatedGradient(self._base(), moment, **how)
        _fit_quietly(self._model, Z, codes, sides)
        yield from _reached(self, lambda Z: self._model._pmf_predict(Z)[:, 1])
        yield f"{self.constraint}: largest difference allowed", None, None, float(self.eps)
        yield "classifiers in the mixture", None, None, float((self._model.weights_ > 0).sum())

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._model.predict(Z, random_state=self._seed)


class GridSearchClassifier(LogisticClassifier):
    """Logistic classifier by Fairlearn's ``GridSearch``, ``Grid-LC``.

    One classifier, the best of several that are each fitted to reweighted data. No bound holds: it
    weighs the constraint against errors. Fairlearn's own default, a grid of ten, is so coarse that the
    best of it is often the classifier without repair.
    """

    _needs_sensitive = True
    _method = "GridSearch of Fairlearn"

    def __init__(
        self,
        estimator=None,
        random_state=None,
        constraint="demographic_parity",
        constraint_weight=0.5,
        grid_size=30,
    ):
        super().__init__(estimator, random_state)
        self.constraint = constraint
        self.constraint_weight = constraint_weight
        self.grid_size = grid_size

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        reductions = fairlearn("reductions")
        how = {"constraint_weight": self.constraint_weight, "grid_size": self.grid_size}
        moment = _moment(reductions, self.constraint)
        self._model = reductions.GridSearch(self._base(), moment, **how)
        _fit_quietly(self._model, Z, codes, sides)
        yield from _reached(self, self._model.predict)
        yield "classifiers tried", None, None, float(len(self._model.predictors_))


def _moment(reductions: Any, constraint: str, bound: float | None = None) -> Any:
    check_choice("constraint", constraint, tuple(MOMENTS))
    return getattr(reductions, MOMENTS[constraint])(difference_bound=bound)


def _fit_quietly(model: Any, Z: np.ndarray, codes: np.ndarray, sides: Any) -> None:
    with warnings.catch_warnings(action="ignore"):  # Of what pandas will change.
        model.fit(Z, codes, sensitive_features=sides)


def _reached(repair: Any, answer: Callable[[np.ndarray], np.ndarray]) -> Iterator[Quantity]:
    """How far a group's rate is from everybody's on the rows of the fit, by Fairlearn's moment."""
    which = f"{repair.constraint}: largest difference of a group's rate from everybody's"
    model = repair._model
    # Fairlearn 0.14 loads the data into the first.
    moment = getattr(model, "constraints_", model.constraints)
    yield which, None, None, float(moment.gamma(answer).max())
