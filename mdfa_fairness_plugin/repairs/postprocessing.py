"""Repairs of the answers of a classifier that is fitted as if there were none.

What a repair does to the answers is learned from scores of rows that their classifier has not seen:
five classifiers, each fitted to four fifths of the rows, score the fifth left out. The classifier
that answers is then fitted to all rows. Scores of rows that were fitted to would flatter the
classifier, and keeping rows aside would cost it those.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mdfa_fairness_plugin.aif360.toolkit import part, quiet
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.repairs.classifier import LogisticClassifier
from mdfa_fairness_plugin.repairs.report import Quantity
from mdfa_fairness_plugin.repairs.toolkits import aif360_dataset, drawn, fairlearn, group_lists
from mdfa_fairness_plugin.settings import check_choice

_N_FOLDS = 5
# What Fairlearn's ``ThresholdOptimizer`` equalises.
_RATES = ("selection", "true_positive", "true_negative", "false_positive", "false_negative")
_CONSTRAINTS = (
    "demographic_parity",
    "equalized_odds",
    *(f"{rate}_rate_parity" for rate in _RATES),
)


class _ScoredClassifier(LogisticClassifier, ABC):
    """Classifier whose scores a repair turns into answers."""

    _needs_sensitive = True
    _needs_sensitive_to_predict = True

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        self._load()
        model = self._base()
        if not hasattr(model, "predict_proba"):
            raise InputError(
                f"estimator: {type(self).__name__} repairs probabilities, and "
                f"{type(model).__name__} has no predict_proba; pass one that has."
            )
        cells = 2 * sides + codes
        smallest = int(np.unique(cells, return_counts=True)[1].min())
        if smallest < 2 or len(np.unique(cells)) < 2 * len(self._groups):
            raise InputError(
                "sensitive_features: every group needs two rows of each label, or its rates cannot "
                "be told; join small groups."
            )
        folds = StratifiedKFold(min(_N_FOLDS, smallest), shuffle=True, random_state=self._seed)
        parts = list(folds.split(Z, cells))
        scores = cross_val_predict(model, Z, codes, cv=parts, method="predict_proba")[:, 1]
        self._model = model.fit(Z, codes)
        yield from self._adjust(scores, codes, sides)
        changed = (scores > 0.5) != (self._answers(scores, sides) == 1)
        for side, group in enumerate(self._groups):
            yield "share of answers changed", group, None, float(changed[sides == side].mean())

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._answers(self._model.predict_proba(Z)[:, 1], sides)

    def _load(self) -> None:
        """Import the toolkit before time is spent."""
        fairlearn("postprocessing")

    @abstractmethod
    def _adjust(self, scores: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        """Learn what to do to the answers."""

    @abstractmethod
    def _answers(self, scores: np.ndarray, sides: Any) -> np.ndarray:
        """Answers, 0 or 1."""


class ThresholdClassifier(_ScoredClassifier):
    """Logistic classifier with a threshold per group, by Fairlearn's ``ThresholdOptimizer``.

    ``Threshold-LC``. Post-processing of Hardt et al. (2016); answers near a threshold are drawn at
    random.
    """

    _method = "ThresholdOptimizer of Fairlearn"

    def __init__(self, estimator=None, random_state=None, constraint="demographic_parity"):
        super().__init__(estimator, random_state)
        self.constraint = constraint

    def _load(self) -> None:
        check_choice("constraint", self.constraint, _CONSTRAINTS)
        super()._load()

    def _adjust(self, scores: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        optimizer = fairlearn("postprocessing").ThresholdOptimizer
        how = {"constraints": self.constraint, "predict_method": "predict_proba"}
        self._repair = optimizer(estimator=_Score(), prefit=True, **how)
        with warnings.catch_warnings(action="ignore"):  # Of what pandas will change.
            self._repair.fit(scores[:, np.newaxis], codes, sensitive_features=sides)
        for side, told in self._repair.interpolated_thresholder_.interpolation_dict.items():
            group = self._groups[side]
            for share, operation in ((told.p0, told.operation0), (told.p1, told.operation1)):
                if share > 0:
                    sign = {">": "above", "<": "below"}[operation.operator]
                    which = f"{self._outcomes[1]!r} is answered {sign} the score"
                    yield which, group, None, float(operation.threshold)
                    yield "share of draws by that score", group, None, float(share)
            ignored = float(told.get("p_ignore", 0.0))
            if ignored > 0:
                constant = float(told.prediction_constant)
                yield "share of draws whatever the score", group, None, ignored
                yield f"share of {self._outcomes[1]!r} among those", group, None, constant

    def _answers(self, scores: np.ndarray, sides: Any) -> np.ndarray:
        with warnings.catch_warnings(action="ignore"):
            return self._repair.predict(
                scores[:, np.newaxis], sensitive_features=sides, random_state=self._seed
            )


class _Score(ClassifierMixin, BaseEstimator):
    """A classifier of one column, which is the score itself."""

    def fit(self, X: Any, y: Any) -> _Score:
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        score = np.asarray(X, dtype=float)[:, 0]
        return np.column_stack([1 - score, score])

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _AIF360Classifier(_ScoredClassifier):
    """Classifier whose scores a class of AIF360 turns into answers, for two groups."""

    _needs_two_groups = True

    def _load(self) -> None:
        part("algorithms.postprocessing")

    def _adjust(self, scores: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        # The group that has the label more often is AIF360's privileged one.
        rates = [codes[sides == side].mean() for side in (0, 1)]
        self._privileged = int(rates[1] >= rates[0])
        true = _scored(codes.astype(float), sides)
        with quiet(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._repair = self._make(part("algorithms.postprocessing"))
            self._repair.fit(true, _scored(scores, sides))
        warned = [str(warning.message) for warning in caught]
        yield from self._found(scores, sides, warned)

    def _answers(self, scores: np.ndarray, sides: Any) -> np.ndarray:
        with drawn(self._seed), quiet():
            return self._repair.predict(_scored(scores, sides)).labels.ravel()

    @abstractmethod
    def _make(self, postprocessing: Any) -> Any:
        """AIF360's own object."""

    @abstractmethod
    def _found(self, scores: np.ndarray, sides: Any, warned: list[str]) -> Iterator[Quantity]:
        """Tell what it arrived at; what AIF360 could not solve is refused."""

    def _both(self) -> Iterator[tuple[bool, Hashable]]:
        for side in (self._privileged, 1 - self._privileged):
            yield side == self._privileged, self._groups[side]


class RejectOptionClassifier(_AIF360Classifier):
    """Logistic classifier with AIF360's ``RejectOptionClassification``, ``Reject-LC``.

    Kamiran, Karim and Zhang (2012): where the score is within a margin of the threshold, the group
    that has ``classes_[1]`` less often gets it and the other does not. Threshold and margin are the
    most accurate for which the metric is at most ``metric_bound`` away from 0.
    """

    _method = "RejectOptionClassification of AIF360"

    def __init__(
        self,
        estimator=None,
        random_state=None,
        metric_name="Statistical parity difference",
        metric_bound=0.05,
        num_class_thresh=100,
        num_ROC_margin=50,
    ):
        super().__init__(estimator, random_state)
        self.metric_name = metric_name
        self.metric_bound = metric_bound
        self.num_class_thresh = num_class_thresh
        self.num_ROC_margin = num_ROC_margin

    def _make(self, postprocessing: Any) -> Any:
        kinds = ("Statistical parity", "Average odds", "Equal opportunity")
        check_choice("metric_name", self.metric_name, tuple(f"{kind} difference" for kind in kinds))
        return postprocessing.RejectOptionClassification(
            **group_lists(self._privileged),
            metric_name=self.metric_name,
            metric_ub=self.metric_bound,
            metric_lb=-self.metric_bound,
            num_class_thresh=self.num_class_thresh,
            num_ROC_margin=self.num_ROC_margin,
        )

    def _found(self, scores: np.ndarray, sides: Any, warned: list[str]) -> Iterator[Quantity]:
        if any("fairness constraints" in one for one in warned):
            raise InputError(
                f"metric_bound: no threshold and margin bring the {self.metric_name!r} to within "
                f"{self.metric_bound} of 0, and AIF360 then takes the lowest there is, which is worse "
                "than no repair. Pass a larger bound or more of num_class_thresh and num_ROC_margin."
            )
        threshold, margin = self._repair.classification_threshold, self._repair.ROC_margin
        yield "threshold of the score", None, None, float(threshold)
        yield "margin around it", None, None, float(margin)
        within = (scores <= threshold + margin) & (scores > threshold - margin)
        for privileged, group in self._both():
            inside = within[sides == self._groups.index(group)].mean()
            given = self._outcomes[0 if privileged else 1]
            yield "share of rows within it, which all get the label", group, given, float(inside)


class EqualizedOddsClassifier(_AIF360Classifier):
    """Logistic classifier with AIF360's ``EqOddsPostprocessing``, ``EqOdds-LC``.

    Hardt et al. (2016): answers are changed at random, with probabilities by group and answer that
    make true and false positive rates equal.
    """

    _method = "EqOddsPostprocessing of AIF360"

    def _make(self, postprocessing: Any) -> Any:
        return postprocessing.EqOddsPostprocessing(**group_lists(self._privileged), seed=self._seed)

    def _found(self, scores: np.ndarray, sides: Any, warned: list[str]) -> Iterator[Quantity]:
        solved = self._repair.model_params
        if solved.x is None:
            raise InputError(
                "estimator: AIF360's linear program finds no probabilities that equalise the odds "
                f"({solved.message}); pass a classifier whose answers differ more."
            )
        chances = np.reshape(solved.x, (2, 2))
        for (_, group), row in zip(self._both(), chances, strict=True):
            for label, chance in zip(self._outcomes[::-1], row, strict=True):
                which = f"probability of {self._outcomes[1]!r} where the classifier's answer is"
                yield which, group, label, float(chance)


class CalibratedOddsClassifier(_AIF360Classifier):
    """Logistic classifier with AIF360's ``CalibratedEqOddsPostprocessing``, ``CalOdds-LC``.

    Pleiss et al. (2017): some rows of one group, drawn at random, get the group's base rate for their
    score, which equalises a cost and keeps scores calibrated. ``cost_constraint`` is "fnr", "fpr" or
    "weighted".
    """

    _method = "CalibratedEqOddsPostprocessing of AIF360"

    def __init__(self, estimator=None, random_state=None, cost_constraint="weighted"):
        super().__init__(estimator, random_state)
        self.cost_constraint = cost_constraint

    def _make(self, postprocessing: Any) -> Any:
        check_choice("cost_constraint", self.cost_constraint, ("fnr", "fpr", "weighted"))
        return postprocessing.CalibratedEqOddsPostprocessing(
            **group_lists(self._privileged), cost_constraint=self.cost_constraint, seed=self._seed
        )

    def _found(self, scores: np.ndarray, sides: Any, warned: list[str]) -> Iterator[Quantity]:
        rates = self._repair.priv_mix_rate, self._repair.unpriv_mix_rate
        if not all(0 <= rate <= 1 for rate in rates):
            raise InputError(
                f"cost_constraint: {self.cost_constraint!r} cannot be equalised, as even answering by "
                "the base rate costs one group less than the classifier costs the other; AIF360 gives "
                f"{max(rates, key=abs):.3g} for a share. Pass another constraint."
            )
        for privileged, group in self._both():
            kind = "priv" if privileged else "unpriv"
            share = getattr(self._repair, f"{kind}_mix_rate")
            yield "share of rows given the base rate as score", group, None, float(share)
            yield "base rate", group, None, float(getattr(self._repair, f"base_rate_{kind}"))


def _scored(scores: np.ndarray, sides: Any) -> Any:
    """AIF360's data set of scores and the answers by them."""
    dataset = aif360_dataset(np.empty((len(scores), 0)), scores > 0.5, sides)
    dataset.scores = scores[:, np.newaxis]
    return dataset
