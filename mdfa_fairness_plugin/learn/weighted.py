"""Estimators fitted with weights: scikit-learn routes them to the parts of those that have parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

_WEIGHT = "sample_weight"


def takes_weights(estimator: Any) -> bool:
    """Whether what predicts in an estimator can be fitted with weights."""
    if has_fit_parameter(estimator, _WEIGHT):
        return True
    steps = getattr(estimator, "steps", None)
    inner = steps[-1][1] if steps else getattr(estimator, "estimator", None)
    if inner is not None:
        return takes_weights(inner)
    if not isinstance(estimator, BaseEstimator):
        return False
    with sklearn.config_context(enable_metadata_routing=True):
        _ask_for_weights(estimator)
        return bool(get_routing_for_object(estimator).consumes("fit", [_WEIGHT]))


def fit_weighted(estimator: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> Any:
    """Fit an estimator that takes weights, or whose parts do where they did not say otherwise."""
    if has_fit_parameter(estimator, _WEIGHT):
        return estimator.fit(X, y, sample_weight=sample_weight)
    with sklearn.config_context(enable_metadata_routing=True):
        _ask_for_weights(estimator)
        return estimator.fit(X, y, sample_weight=sample_weight)


def _ask_for_weights(estimator: Any) -> None:
    """Have every part that can take weights ask for them, unless the user said whether it does."""
    for part in _parts(estimator):
        for method in ("fit", "score"):
            asked = getattr(part.get_metadata_routing(), method, None)
            if asked is not None and asked.requests.get(_WEIGHT, True) is None:
                getattr(part, f"set_{method}_request")(sample_weight=True)


def _parts(estimator: Any) -> Iterator[Any]:
    yield estimator
    for part in estimator.get_params(deep=True).values():
        if isinstance(part, BaseEstimator):
            yield part
