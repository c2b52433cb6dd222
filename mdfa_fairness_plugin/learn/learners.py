"""The auditor class: learners that propose subgroups, each taking sample weights (Section 2.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import has_fit_parameter

from mdfa_fairness_plugin.exceptions import InputError

LEARNERS = (
    "random_forest",
    "gradient_boosting",
    "svm_rbf",
    "svm_linear",
    "logistic",
    "tree",
    "network_features",
)
# A support vector machine with an exact kernel takes time quadratic in rows; beyond this many the
# kernel is approximated by Nystroem features.
_MOST_EXACT_KERNEL_ROWS = 5_000
_NYSTROEM_COMPONENTS = 300
# Leaves of one class only give probabilities of 0 or 1; odds of a million to one stand for them.
_LARGEST_LOG_ODDS = float(np.log(1e6))


class WeightedPipeline(ClassifierMixin, BaseEstimator):
    """Standardise, optionally map to kernel features, then a learner with sample weights.

    Parameters
    ----------
    estimator : estimator
        Last step; takes ``sample_weight``.
    kernel_rows : int or None, default=None
        Rows above which Nystroem features of a Gaussian kernel come before ``estimator`` and a
        linear support vector machine takes its place; None: never.
    random_state : int, default=0
    """

    def __init__(self, estimator: Any, kernel_rows: int | None = None, random_state: int = 0):
        self.estimator = estimator
        self.kernel_rows = kernel_rows
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit all steps.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
        sample_weight : ndarray of shape (n,) or None, default=None

        Returns
        -------
        self
        """
        steps: list[Any] = [StandardScaler()]
        estimator = clone(self.estimator)
        if self.kernel_rows is not None and len(X) > self.kernel_rows:
            components = min(_NYSTROEM_COMPONENTS, len(X))
            steps.append(
                Nystroem(
                    gamma=1.0 / X.shape[1],
                    n_components=components,
                    random_state=self.random_state,
                )
            )
            estimator = LinearSVC(C=1.0, random_state=self.random_state, max_iter=5_000)
        self.pipeline_ = make_pipeline(*steps, estimator)
        name = self.pipeline_.steps[-1][0]
        arguments = {} if sample_weight is None else {f"{name}__sample_weight": sample_weight}
        self.pipeline_.fit(X, y, **arguments)
        if hasattr(self.pipeline_, "classes_"):
            self.classes_ = self.pipeline_.classes_
        return self

    def predict(self, X):
        """Predict labels (or values) of rows of shape (n, d)."""
        return self.pipeline_.predict(X)

    def decision_function(self, X):
        """Signed scores of rows of shape (n, d)."""
        return self.pipeline_.decision_function(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if is_regressor(self.estimator):
            tags.estimator_type = "regressor"
        return tags


def make_classifier(learner: Any, n_rows: int, random_state: int) -> Any:
    """Make an unfitted classifier for the label ``S Y`` or for S.

    Parameters
    ----------
    learner : str or classifier
        "auto", one of ``LEARNERS``, or a scikit-learn classifier, which is cloned.
    n_rows : int
        Rows it will be fitted to; leaf sizes grow with it.
    random_state : int

    Returns
    -------
    classifier : estimator

    Raises
    ------
    InputError
        Naming ``learner``, if the name is unknown or the estimator takes no sample weights.
    """
    leaf = max(10, n_rows // 150)
    if not isinstance(learner, str):
        _check_estimator(learner, classifier=True)
        return _seeded(clone(learner), random_state)
    if learner == "auto":
        return ExtraTreesClassifier(
            n_estimators=100, min_samples_leaf=leaf, random_state=random_state, n_jobs=1
        )
    if learner == "random_forest":
        return RandomForestClassifier(
            n_estimators=100, min_samples_leaf=leaf, random_state=random_state, n_jobs=1
        )
    if learner == "gradient_boosting":
        return HistGradientBoostingClassifier(
            max_iter=60,
            max_leaf_nodes=15,
            min_samples_leaf=max(20, leaf),
            early_stopping=False,
            random_state=random_state,
        )
    if learner == "svm_rbf":
        return WeightedPipeline(SVC(C=1.0, gamma="auto"), _MOST_EXACT_KERNEL_ROWS, random_state)
    if learner == "svm_linear":
        svm = LinearSVC(C=1.0, random_state=random_state, max_iter=5_000)
        return WeightedPipeline(svm)
    if learner in ("logistic", "network_features"):
        return WeightedLogistic()
    if learner == "tree":
        return DecisionTreeClassifier(
            max_depth=6, min_samples_leaf=max(20, leaf), random_state=random_state
        )
    raise _unknown(learner)


class WeightedLogistic(WeightedPipeline):
    """Logistic regression on standardised features, with sample weights."""

    def __init__(self):
        super().__init__(LogisticRegression(max_iter=1_000))

    def predict_proba(self, X):
        """Class probabilities of rows of shape (n, d)."""
        return self.pipeline_.predict_proba(X)

    @classmethod
    def _get_param_names(cls):
        return []


def make_regressor(learner: Any, n_rows: int, random_state: int) -> Any:
    """Make an unfitted regressor for the residuals' difference of rates.

    Parameters
    ----------
    learner : str or regressor
        "auto" gives None (the orthogonal search's own default); a name gives the regressor of
        the same kind.
    n_rows : int
    random_state : int

    Returns
    -------
    regressor : estimator or None

    Raises
    ------
    InputError
    """
    leaf = max(10, n_rows // 150)
    if not isinstance(learner, str):
        _check_estimator(learner, classifier=False)
        return _seeded(clone(learner), random_state)
    if learner == "auto":
        return None
    if learner == "random_forest":
        return RandomForestRegressor(
            n_estimators=100, min_samples_leaf=leaf, random_state=random_state, n_jobs=1
        )
    if learner == "gradient_boosting":
        return HistGradientBoostingRegressor(
            max_iter=40,
            max_leaf_nodes=8,
            min_samples_leaf=max(20, n_rows // 60),
            early_stopping=False,
            random_state=random_state,
        )
    if learner == "tree":
        return DecisionTreeRegressor(
            max_depth=6, min_samples_leaf=max(20, leaf), random_state=random_state
        )
    if learner in ("logistic", "svm_linear"):
        return WeightedPipeline(Ridge(alpha=1.0))
    if learner in ("svm_rbf", "network_features"):
        raise InputError(
            f"learner: {learner!r} classifies and cannot regress residuals. Use "
            "solver='level_set' or solver='iterative' with it, or another learner."
        )
    raise _unknown(learner)


class ConstantClassifier(ClassifierMixin, BaseEstimator):
    """Give every row the only label there was (0, neither, if there was none)."""

    def fit(self, X, y, sample_weight=None):
        """Keep the label."""
        self.classes_ = np.unique(y) if len(y) else np.array([0])
        return self

    def predict(self, X):
        """Give the label once per row."""
        return np.full(len(X), self.classes_[0])


def fit_classifier(
    learner: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray, random_state: int
) -> Any:
    """Fit a classifier, or a constant where there is nothing to tell apart.

    Parameters
    ----------
    learner : str or classifier
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        In {-1, +1}.
    sample_weight : ndarray of shape (n,)
        Rows of zero weight count as absent.
    random_state : int

    Returns
    -------
    classifier : fitted estimator
    """
    if len(np.unique(y[sample_weight > 0])) < 2:
        used = sample_weight > 0
        return ConstantClassifier().fit(X[used], y[used])
    model = make_classifier(learner, len(X), random_state)
    return model.fit(X, y, sample_weight=sample_weight)


def _unknown(learner: str) -> InputError:
    return InputError(
        f"learner: 'auto', one of {', '.join(LEARNERS)} or a scikit-learn estimator expected, "
        f"{learner!r} found."
    )


def check_estimator(learner: Any) -> None:
    """Refuse what is neither a name nor an instance of an estimator."""
    if isinstance(learner, type):
        raise InputError(
            f"learner: an instance expected, the class {learner.__name__} found; pass "
            f"{learner.__name__}()."
        )
    if not hasattr(learner, "fit") or not hasattr(learner, "get_params"):
        raise InputError(
            f"learner: a name or a scikit-learn estimator expected, {type(learner).__name__} found."
        )
    try:
        is_regressor(learner)
    except AttributeError as error:
        raise InputError(
            f"learner: scikit-learn cannot tell whether {type(learner).__name__} is a classifier or a "
            "regressor. Derive it from sklearn.base.BaseEstimator, with ClassifierMixin or "
            "RegressorMixin before it."
        ) from error


def _check_estimator(learner: Any, *, classifier: bool) -> None:
    kind = "classifier" if classifier else "regressor"
    check_estimator(learner)
    right = is_classifier(learner) if classifier else is_regressor(learner)
    if not right:
        other = "solver='orthogonal'" if classifier else "solver='level_set' or 'iterative'"
        raise InputError(
            f"learner: this solver needs a {kind}, {type(learner).__name__} is not one. Pass a "
            f"{kind}, or {other}."
        )
    if not has_fit_parameter(learner, "sample_weight"):
        raise InputError(
            f"learner: {type(learner).__name__}.fit takes no sample_weight, which balancing "
            "needs. Pass an estimator that does."
        )


def _seeded(estimator: Any, random_state: int) -> Any:
    """Give the estimator the audit's seed where the user left it open."""
    parameters = estimator.get_params(deep=False)
    if "random_state" in parameters and parameters["random_state"] is None:
        estimator.set_params(random_state=random_state)
    return estimator


def log_odds(classifier: Any, X: np.ndarray) -> np.ndarray:
    """Score of the larger class: log-odds where probabilities exist, else the decision function.

    Parameters
    ----------
    classifier : fitted classifier
    X : ndarray of shape (n, d)

    Returns
    -------
    score : ndarray of shape (n,)
        Constant if only one class was seen in fitting: nothing tells rows apart.
    """
    classes = classifier.classes_
    if len(classes) < 2:
        return np.full(len(X), float(np.sign(classes[0])) * _LARGEST_LOG_ODDS)
    if hasattr(classifier, "predict_proba"):
        with np.errstate(divide="ignore"):
            odds = logit(classifier.predict_proba(X)[:, 1])
        return np.clip(odds, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X), dtype=float)
    return np.asarray(classifier.predict(X), dtype=float)
