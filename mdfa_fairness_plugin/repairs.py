"""Classifiers that AIF360 or Fairlearn make more equal in the aggregate (Section 4.3, Table 3).

Thin wrappers with one interface, so that ``compare`` can audit what each repair leaves unequal:
``fit(X, y, sensitive_features=...)`` and ``predict(X, sensitive_features=...)``, where ``X`` is a table
of numbers and text. Nothing is computed here that the toolkits compute: each wrapper encodes the
table, calls the toolkit's own class, and fits a logistic classifier where one is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.aif360.toolkit import part, quiet
from mdfa_fairness_plugin.data.columns import Labels, find_label, listing, read_labels
from mdfa_fairness_plugin.data.containers import read_table
from mdfa_fairness_plugin.data.decisions import refuse_missing
from mdfa_fairness_plugin.data.pairing import check_length
from mdfa_fairness_plugin.exceptions import InputError

_SENSITIVE = "sensitive"
_LABEL = "label"


class LogisticClassifier(ClassifierMixin, BaseEstimator):
    """Logistic classifier without any repair, ``LC``: what the repairs are compared with.

    Text columns are one-hot encoded, numbers standardised. ``sensitive_features`` is used by the
    repairs that need it; to let the classifier itself see it, put it among the columns of ``X``. The
    options of every class are those of ``make_repair``; ``classes_`` are the labels of ``y``.
    """

    def __init__(self, estimator=None, random_state=None):
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X, y, sensitive_features=None):
        """Fit the classifier.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two labels.
        sensitive_features : array-like of shape (n_samples,) or None, default=None
            One column; needed by every repair.

        Returns
        -------
        self
        """
        frame = _as_frame(X)
        codes = self._read_y(y, len(frame))
        sides = self._read_sensitive(sensitive_features, len(frame), fitting=True)
        self._encoder = _make_encoder(frame)
        self.n_features_in_ = frame.shape[1]
        self._fit(np.asarray(self._encoder.fit_transform(frame), dtype=float), codes, sides)
        return self

    def predict(self, X, sensitive_features=None):
        """Answer for new rows.

        Parameters
        ----------
        X : table of shape (n, n_features)
        sensitive_features : array-like of shape (n,) or None, default=None
            Needed by repairs that treat the groups differently when they answer.

        Returns
        -------
        outcome : ndarray of shape (n,)
            Among ``classes_``. The same rows get the same answer at every call.
        """
        check_is_fitted(self, "classes_")
        frame = _as_frame(X)
        sides = self._read_sensitive(sensitive_features, len(frame), fitting=False)
        encoded = np.asarray(self._encoder.transform(frame), dtype=float)
        return self.classes_[np.asarray(self._predict(encoded, sides), dtype=np.intp)]

    # What a repair overrides.

    _needs_sensitive = False  # when it is fitted
    _needs_sensitive_to_predict = False
    _needs_two_groups = False

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> None:
        self._model = self._base().fit(Z, codes)

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._model.predict(Z)

    def _base(self) -> Any:
        """Classifier to fit, unfitted."""
        if self.estimator is None:
            return LogisticRegression(max_iter=1000)
        model = clone(self.estimator)
        if self.random_state is not None and "random_state" in model.get_params():
            model.set_params(random_state=self.random_state)
        return model

    def _read_y(self, y: Any, n_rows: int) -> np.ndarray:
        labels = _labels(y, "y", n_rows)
        if len(labels.values) != 2:
            raise InputError(
                f"y: two labels are needed, {len(labels.values)} found: {listing(labels.values)}."
            )
        self.classes_ = _array_of(labels.values)
        return labels.codes

    def _read_sensitive(self, sensitive: Any, n_rows: int, *, fitting: bool) -> np.ndarray | None:
        """Position of each row's value among those seen in the fit."""
        name = type(self).__name__
        if not (self._needs_sensitive if fitting else self._needs_sensitive_to_predict):
            return None
        if sensitive is None:
            raise InputError(
                f"sensitive_features: {name} needs them to {'fit' if fitting else 'predict'}; pass "
                "the column whose groups are to be treated alike."
            )
        labels = _labels(sensitive, "sensitive_features", n_rows)
        if fitting:
            if len(labels.values) < 2 or (self._needs_two_groups and len(labels.values) > 2):
                wanted = "two values are" if self._needs_two_groups else "at least two values are"
                raise InputError(
                    f"sensitive_features: {wanted} needed by {name}, {len(labels.values)} found: "
                    f"{listing(labels.values)}."
                )
            self._groups = labels.values
            return labels.codes
        places = [find_label(value, self._groups) for value in labels.values]
        if None in places:
            raise InputError(
                f"sensitive_features: {labels.values[places.index(None)]!r} was not among the values "
                f"of the fit, {listing(self._groups)}."
            )
        return np.array(places, dtype=np.intp)[labels.codes]


class DisparateImpactClassifier(LogisticClassifier):
    """Logistic classifier on features from which the group cannot be told, ``DI-LC``.

    AIF360's ``DisparateImpactRemover`` (Feldman et al. 2015) gives each feature the same
    distribution in both groups, keeping the order within each. The classifier does not see the
    sensitive value: columns that repeat it are left out.

    Needs AIF360 and BlackBoxAuditing. The remover ranks the rows it is given, so rows are
    repaired among those of the same call of ``predict``. It moves numbers; columns of two values, and
    so one-hot encoded text, it leaves as they are.
    """

    _needs_sensitive = True
    _needs_sensitive_to_predict = True
    _needs_two_groups = True

    def __init__(self, estimator=None, random_state=None, repair_level=1.0):
        super().__init__(estimator, random_state)
        self.repair_level = repair_level

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> None:
        self._kept = ~_repeats(Z, sides)
        if not self._kept.any():
            raise InputError("X: every column only repeats the sensitive value; pass others.")
        self._model = self._base().fit(self._repaired(Z[:, self._kept], sides), codes)

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        if len(np.unique(sides)) < 2:
            raise InputError(
                "sensitive_features: rows are repaired among those predicted together, and these "
                "are of one group only; predict rows of both groups at once."
            )
        return self._model.predict(self._repaired(Z[:, self._kept], sides))

    def _repaired(self, Z: np.ndarray, sides: np.ndarray) -> np.ndarray:
        preprocessing = part("algorithms.preprocessing")  # AIF360 itself comes first.
        dataset = _aif360_dataset(Z, np.zeros(len(Z), dtype=np.intp), sides)
        with quiet():
            import_optional(
                "BlackBoxAuditing.repairers.GeneralRepairer",
                extra="repairs",
                feature="DI-LC: AIF360's DisparateImpactRemover",
            )
            remover = preprocessing.DisparateImpactRemover(
                repair_level=float(self.repair_level), sensitive_attribute=_SENSITIVE
            )
            repaired = remover.fit_transform(dataset)
        kept = [i for i, name in enumerate(repaired.feature_names) if name != _SENSITIVE]
        return np.asarray(repaired.features, dtype=float)[:, kept]


class ReweighingClassifier(LogisticClassifier):
    """Logistic classifier fitted with AIF360's ``Reweighing`` (Kamiran and Calders 2012).

    Rows are weighted so that label and sensitive value are independent.
    """

    _needs_sensitive = True
    _needs_two_groups = True

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> None:
        preprocessing = part("algorithms.preprocessing")
        dataset = _aif360_dataset(Z, codes, sides)
        with quiet():
            weighted = preprocessing.Reweighing(
                unprivileged_groups=[{_SENSITIVE: 0}], privileged_groups=[{_SENSITIVE: 1}]
            ).fit_transform(dataset)
        self._model = self._base().fit(Z, codes, sample_weight=weighted.instance_weights)


class ReductionClassifier(LogisticClassifier):
    """Logistic classifier by Fairlearn's ``ExponentiatedGradient``, ``Red-LC``.

    The reductions approach of Agarwal et al. (2018): a randomised mixture of classifiers, each
    fitted to reweighted data, that meets a constraint on the groups' rates.
    """

    _needs_sensitive = True

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

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> None:
        reductions = _fairlearn("reductions")
        makers = {
            "demographic_parity": reductions.DemographicParity,
            "equalized_odds": reductions.EqualizedOdds,
        }
        if self.constraint not in makers:
            raise InputError(
                f"constraint: one of {', '.join(map(repr, makers))} expected, {self.constraint!r} "
                "found."
            )
        mixture = reductions.ExponentiatedGradient(
            self._base(), makers[self.constraint](), eps=self.eps, max_iter=self.max_iter
        )
        with warnings.catch_warnings(action="ignore"):  # Of what pandas will change.
            self._model = mixture.fit(Z, codes, sensitive_features=sides)

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._model.predict(Z, random_state=self.random_state or 0)


class ThresholdClassifier(LogisticClassifier):
    """Logistic classifier with a threshold per group, by Fairlearn's ``ThresholdOptimizer``.

    Post-processing of Hardt et al. (2016); answers near a threshold are drawn at random.
    """

    _needs_sensitive = True
    _needs_sensitive_to_predict = True

    def __init__(self, estimator=None, random_state=None, constraint="demographic_parity"):
        super().__init__(estimator, random_state)
        self.constraint = constraint

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> None:
        optimizer = _fairlearn("postprocessing").ThresholdOptimizer(
            estimator=self._base(), constraints=self.constraint, predict_method="auto"
        )
        with warnings.catch_warnings(action="ignore"):
            self._model = optimizer.fit(Z, codes, sensitive_features=sides)

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        with warnings.catch_warnings(action="ignore"):
            return self._model.predict(
                Z, sensitive_features=sides, random_state=self.random_state or 0
            )


class DecorrelatedClassifier(LogisticClassifier):
    """Logistic classifier on features uncorrelated with the group, by ``CorrelationRemover``."""

    _needs_sensitive = True
    _needs_sensitive_to_predict = True

    def __init__(self, estimator=None, random_state=None, alpha=1.0):
        super().__init__(estimator, random_state)
        self.alpha = alpha

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> None:
        n_groups = len(self._groups)
        # One indicator fewer than there are groups: the last follows from the others.
        self._remover = _fairlearn("preprocessing").CorrelationRemover(
            sensitive_feature_ids=list(range(n_groups - 1)), alpha=float(self.alpha)
        )
        cleaned = self._remover.fit_transform(self._with_indicators(Z, sides))
        self._model = self._base().fit(cleaned, codes)

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._model.predict(self._remover.transform(self._with_indicators(Z, sides)))

    def _with_indicators(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        indicators = sides[:, np.newaxis] == np.arange(1, len(self._groups))
        return np.column_stack([indicators.astype(float), Z])


REPAIRS = {
    "LC": (LogisticClassifier, {}),
    "DI-LC": (DisparateImpactClassifier, {}),
    "Red-LC": (ReductionClassifier, {"constraint": "demographic_parity"}),
    "Red-LC (equalized odds)": (ReductionClassifier, {"constraint": "equalized_odds"}),
    "Reweighing-LC": (ReweighingClassifier, {}),
    "Threshold-LC": (ThresholdClassifier, {}),
    "Decorrelated-LC": (DecorrelatedClassifier, {}),
}


def make_repair(name: str, **options: Any) -> LogisticClassifier:
    """Make a classifier by the name it has in tables.

    Parameters
    ----------
    name : str
        "LC", "DI-LC", "Red-LC", "Red-LC (equalized odds)", "Reweighing-LC", "Threshold-LC" or
        "Decorrelated-LC".
    **options
        - ``estimator``: classifier fitted to the encoded table, which takes sample weights; None, the
          default, is ``LogisticRegression``.
        - ``random_state``: an int or None, for estimators and repairs that draw at random. Where it
          draws the answers None is 0, so that the same rows get the same answers.
        - ``repair_level`` of DI-LC: 0 leaves the features as they are, 1, the default, makes the
          distributions equal.
        - ``constraint`` of Red-LC: "demographic_parity", the default, or "equalized_odds"; of
          Threshold-LC any that ``ThresholdOptimizer`` takes.
        - ``eps`` of Red-LC, default .01: how far the constraint may be missed; ``max_iter``,
          default 50.
        - ``alpha`` of Decorrelated-LC: 0 leaves the features as they are, 1, the default, takes all
          correlation out.

    Returns
    -------
    classifier : LogisticClassifier
        Or one of its repaired kinds; not fitted.

    Examples
    --------
    >>> make_repair("Red-LC", random_state=0)
    ReductionClassifier(random_state=0)
    """
    if name not in REPAIRS:
        raise InputError(f"name: one of {', '.join(map(repr, REPAIRS))} expected, {name!r} found.")
    kind, settings = REPAIRS[name]
    return kind(**(settings | options))


# -- input


def _as_frame(X: Any) -> pd.DataFrame:
    """Give any table as pandas, its columns by position."""
    table = read_table(X, "X")
    return pd.DataFrame({f"x{place}": table.array(place) for place in range(table.n_columns)})


def _make_encoder(frame: pd.DataFrame) -> ColumnTransformer:
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name].dtype)]
    others = [name for name in frame if name not in numeric]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", StandardScaler(), numeric), ("labels", one_hot, others)])


def _labels(values: Any, argument: str, n_rows: int) -> Labels:
    table = read_table(values, argument, column_name=argument)
    if table.n_columns != 1:
        raise InputError(
            f"{argument}: {table.n_columns} columns were given; a repair takes one. Join them first, "
            "or repair for one of them."
        )
    check_length(table, n_rows, "X")
    labels = read_labels(table.array(0), argument).used()
    refuse_missing(
        int((labels.codes < 0).sum()),
        n_rows,
        argument,
        "values",
        "Drop those rows from every argument",
    )
    return labels


def _array_of(values: tuple[Hashable, ...]) -> np.ndarray:
    """Labels as an array of their common type, of objects if they have none."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _repeats(Z: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Whether a column has one value in each group and another in the other, shape (d,)."""
    low, high = (Z[sides == side] for side in (0, 1))
    return (np.ptp(low, axis=0) == 0) & (np.ptp(high, axis=0) == 0) & (low[0] != high[0])


# -- toolkits


def _fairlearn(module: str) -> Any:
    return import_optional(
        f"fairlearn.{module}", extra="fairlearn", feature="mdfa_fairness_plugin.repairs"
    )


def _aif360_dataset(Z: np.ndarray, codes: np.ndarray, sides: np.ndarray) -> Any:
    frame = pd.DataFrame(Z, columns=[f"x{i}" for i in range(Z.shape[1])])
    frame[_SENSITIVE] = sides.astype(float)
    frame[_LABEL] = codes.astype(float)
    with quiet():
        return part("datasets").BinaryLabelDataset(
            favorable_label=1.0,
            unfavorable_label=0.0,
            df=frame,
            label_names=[_LABEL],
            protected_attribute_names=[_SENSITIVE],
        )
