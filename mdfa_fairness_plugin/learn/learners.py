"""The auditor class: learners that propose subgroups, each taking sample weights (Section 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
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
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.weighted import fit_weighted, takes_weights

# A support vector machine with an exact kernel takes time quadratic in rows; beyond this many the
# kernel is approximated by Nystroem features.
_MOST_EXACT_KERNEL_ROWS = 5_000
_NYSTROEM_COMPONENTS = 300
# Leaves of one class only give probabilities of 0 or 1; odds of a million to one stand for them.
_LARGEST_LOG_ODDS = float(np.log(1e6))


class WeightedPipeline(ClassifierMixin, BaseEstimator):
    """Standardise, optionally map to kernel features, then a learner with sample weights.

    Beyond ``kernel_rows`` rows, None being never, Nystroem features of a Gaussian kernel come before
    ``estimator`` and a linear support vector machine takes its place.
    """

    def __init__(self, estimator: Any, kernel_rows: int | None = None, random_state: int = 0):
        self.estimator = estimator
        self.kernel_rows = kernel_rows
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit all steps."""
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
            estimator = LinearSVC(C=estimator.C, random_state=self.random_state, max_iter=5_000)
        self.pipeline_ = make_pipeline(*steps, estimator)
        name = self.pipeline_.steps[-1][0]
        arguments = {} if sample_weight is None else {f"{name}__sample_weight": sample_weight}
        # A search may fit it while it has weights routed to its own parts.
        with sklearn.config_context(enable_metadata_routing=False):
            self.pipeline_.fit(X, y, **arguments)
        if hasattr(self.pipeline_, "classes_"):
            self.classes_ = self.pipeline_.classes_
        return self

    def predict(self, X):
        """Predict labels or values."""
        return self.pipeline_.predict(X)

    def decision_function(self, X):
        """Signed scores."""
        return self.pipeline_.decision_function(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if is_regressor(self.estimator):
            tags.estimator_type = "regressor"
        return tags


class WeightedLogistic(WeightedPipeline):
    """Logistic regression on standardised features, with sample weights."""

    def __init__(self, C: float = 1.0):
        self.C = C

    kernel_rows = None

    @property
    def estimator(self):
        """What the pipeline ends with."""
        return LogisticRegression(C=self.C, max_iter=1_000)

    def predict_proba(self, X):
        """Class probabilities."""
        return self.pipeline_.predict_proba(X)

    @classmethod
    def _get_param_names(cls):
        return ["C"]


@dataclass(frozen=True, kw_only=True)
class Learner:
    """What a name makes, from the rows it will be fitted to (leaf sizes grow with them) and a seed."""

    classifier: Callable[[int, int], Any]
    regressor: Callable[[int, int], Any] | None  # None: it only classifies
    # Of the classifier, the simplest value first, to choose its complexity from.
    grid: Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class CrossValidated:
    """A name whose classifier's complexity is chosen by cross-validation."""

    name: str


def _leaf(n_rows: int, least: int = 10) -> int:
    return max(least, n_rows // 150)


def _forest(kind: type) -> Callable[[int, int], Any]:
    return lambda n_rows, seed: kind(
        n_estimators=100, min_samples_leaf=_leaf(n_rows), random_state=seed, n_jobs=1
    )


def _tree(kind: type) -> Callable[[int, int], Any]:
    return lambda n_rows, seed: kind(
        max_depth=6, min_samples_leaf=_leaf(n_rows, 20), random_state=seed
    )


def _linear_svm(n_rows: int, seed: int) -> Any:
    return WeightedPipeline(LinearSVC(C=1.0, random_state=seed, max_iter=5_000))


def _ridge(n_rows: int, seed: int) -> Any:
    return WeightedPipeline(Ridge(alpha=1.0))


_DEPTHS = (2, 4, 8, 16)
_PENALTIES = (0.01, 0.1, 1.0, 10.0)
_CROSS_VALIDATION_FOLDS = 5  # Section 3.4

LEARNERS = {
    "random_forest": Learner(
        classifier=_forest(RandomForestClassifier),
        regressor=_forest(RandomForestRegressor),
        grid={"max_depth": _DEPTHS},
    ),
    "gradient_boosting": Learner(
        classifier=lambda n_rows, seed: HistGradientBoostingClassifier(
            max_iter=60,
            max_leaf_nodes=15,
            min_samples_leaf=_leaf(n_rows, 20),
            early_stopping=False,
            random_state=seed,
        ),
        regressor=lambda n_rows, seed: HistGradientBoostingRegressor(
            max_iter=40,
            max_leaf_nodes=8,
            min_samples_leaf=max(20, n_rows // 60),
            early_stopping=False,
            random_state=seed,
        ),
        grid={"max_leaf_nodes": (3, 7, 15, 31)},
    ),
    "svm_rbf": Learner(
        classifier=lambda n_rows, seed: WeightedPipeline(
            SVC(C=1.0, gamma="auto"), _MOST_EXACT_KERNEL_ROWS, seed
        ),
        regressor=None,
        grid={"estimator__C": _PENALTIES},
    ),
    "svm_linear": Learner(
        classifier=_linear_svm, regressor=_ridge, grid={"estimator__C": _PENALTIES}
    ),
    "logistic": Learner(
        classifier=lambda n_rows, seed: WeightedLogistic(), regressor=_ridge, grid={"C": _PENALTIES}
    ),
    "tree": Learner(
        classifier=_tree(DecisionTreeClassifier),
        regressor=_tree(DecisionTreeRegressor),
        grid={"max_depth": _DEPTHS},
    ),
    "network_features": Learner(
        classifier=lambda n_rows, seed: WeightedLogistic(), regressor=None, grid={"C": _PENALTIES}
    ),
}
_AUTO = Learner(
    classifier=_forest(ExtraTreesClassifier), regressor=None, grid={"max_depth": _DEPTHS}
)


def make_classifier(learner: Any, n_rows: int, random_state: int) -> Any:
    """Make an unfitted classifier for the label ``S Y`` or for S, of ``n_rows`` rows.

    From "auto", a name of ``LEARNERS`` or a scikit-learn classifier, which is cloned.
    """
    if isinstance(learner, CrossValidated):
        own = _AUTO if learner.name == "auto" else _known(learner.name)
        folds = StratifiedKFold(_CROSS_VALIDATION_FOLDS, shuffle=True, random_state=random_state)
        return GridSearchCV(own.classifier(n_rows, random_state), dict(own.grid), cv=folds)
    if not isinstance(learner, str):
        _check_estimator(learner, classifier=True)
        return seeded(clone(learner), random_state)
    return (_AUTO if learner == "auto" else _known(learner)).classifier(n_rows, random_state)


def make_regressor(learner: Any, n_rows: int, random_state: int) -> Any:
    """Make an unfitted regressor for the residuals' difference of rates, of ``n_rows`` rows.

    "auto" gives None (the orthogonal search's own default); a name the regressor of the same kind.
    """
    if not isinstance(learner, str):
        _check_estimator(learner, classifier=False)
        return seeded(clone(learner), random_state)
    if learner == "auto":
        return None
    regressor = _known(learner).regressor
    if regressor is None:
        raise InputError(
            f"learner: {learner!r} classifies and cannot regress residuals. Use "
            "solver='level_set' or solver='iterative' with it, or another learner."
        )
    return regressor(n_rows, random_state)


def _known(learner: str) -> Learner:
    if learner not in LEARNERS:
        raise InputError(
            f"learner: 'auto', one of {', '.join(LEARNERS)} or a scikit-learn estimator expected, "
            f"{learner!r} found."
        )
    return LEARNERS[learner]


class ConstantClassifier(ClassifierMixin, BaseEstimator):
    """Give every row the only label there was (0, neither, if there was none)."""

    def fit(self, X, y, sample_weight=None):
        """Keep the label."""
        self.classes_ = np.unique(y) if len(y) else np.array([0])
        return self

    def predict(self, X):
        """Give the label once per row."""
        return np.full(len(X), self.classes_[0])


def settled_learner(learner: Any, fitted: Any) -> Any:
    """The learner once its complexity is chosen: as it was, or what a search for it settled on."""
    return clone(fitted.best_estimator_) if hasattr(fitted, "best_estimator_") else learner


def members(classifier: Any, X: np.ndarray) -> np.ndarray:
    """Rows that a classifier of labels -1 and 1 calls 1; of a copy, as in ``log_odds``."""
    return np.asarray(classifier.predict(X.copy())) > 0


def fit_classifier(
    learner: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray, random_state: int
) -> Any:
    """Fit a classifier, or a constant where there is nothing to tell apart.

    Rows of zero weight count as absent.
    """
    if len(np.unique(y[sample_weight > 0])) < 2:
        used = sample_weight > 0
        return ConstantClassifier().fit(X[used], y[used])
    model = make_classifier(learner, len(X), random_state)
    return fit_weighted(model, X, y, sample_weight)


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
    if not takes_weights(learner):
        raise InputError(
            f"learner: {type(learner).__name__} takes no sample_weight, which balancing needs, nor can "
            "scikit-learn route it to what predicts in it. Pass an estimator that does."
        )


def seeded(estimator: Any, random_state: int) -> Any:
    """Give the estimator, and its parts, the audit's seed where the user left it open."""
    parameters = estimator.get_params()
    open_ = [
        name
        for name, value in parameters.items()
        if name.rpartition("__")[2] == "random_state" and value is None
    ]
    return estimator.set_params(**dict.fromkeys(open_, random_state)) if open_ else estimator


def log_odds(classifier: Any, X: np.ndarray) -> np.ndarray:
    """Score of the larger class: log-odds where probabilities exist, else the decision function.

    Constant if only one class was seen in fitting: nothing tells rows apart.
    """
    X, classes = X.copy(), classifier.classes_  # some estimators standardise theirs in place
    if len(classes) < 2:
        return np.full(len(X), float(np.sign(classes[0])) * _LARGEST_LOG_ODDS)
    if hasattr(classifier, "predict_proba"):
        with np.errstate(divide="ignore"):
            odds = logit(classifier.predict_proba(X)[:, 1])
        return np.clip(odds, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X), dtype=float)
    return np.asarray(classifier.predict(X), dtype=float)
