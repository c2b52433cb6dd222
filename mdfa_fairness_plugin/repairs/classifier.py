"""The classifier without repair, and what every repair of it shares."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mdfa_fairness_plugin.data.columns import Labels, find_label, listing, objects, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_table
from mdfa_fairness_plugin.data.decisions import refuse_missing
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.exceptions import InputError, WarningLog
from mdfa_fairness_plugin.repairs.report import LEFT_OUT, Quantity, make_report


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
            One column; needed by every repair. Rows are paired by index, where there is one.

        Returns
        -------
        self
            Its ``report_``, a ``RepairReport``, says what the repair changed.
        """
        table = read_table(X, "X")
        frame, pairing = _as_frame(table), _led_by(table)
        codes = self._read_y(y, len(frame), pairing)
        sides = self._read_sensitive(sensitive_features, len(frame), pairing, fitting=True)
        self._columns = self._seen(frame, sides)
        seen = frame[self._columns]
        self._encoder = _make_encoder(seen).fit(seen)
        before, Z = self._encoded(seen), self._encoded(self._treated(seen, sides))
        self.n_features_in_ = frame.shape[1]
        quantities = list(self._fit(Z, codes, sides))
        self._names, self._named = dict(zip(frame, table.names, strict=True)), table.named
        left_out = [{"column": name, "treatment": LEFT_OUT} for name in frame if name not in seen]
        columns = [*self._told(before, Z, sides), *left_out]
        self.report_ = make_report(self._method, columns, quantities, self._names)
        return self

    def predict(self, X, sensitive_features=None):
        """Answer for new rows.

        Parameters
        ----------
        X : table of shape (n, n_features)
            The columns of the fit, found by name where there are names.
        sensitive_features : array-like of shape (n,) or None, default=None
            Needed by repairs that treat the groups differently when they answer.

        Returns
        -------
        outcome : ndarray of shape (n,)
            Among ``classes_``. The same rows get the same answer at every call.
        """
        check_is_fitted(self, "report_")
        table = read_table(X, "X")
        frame, pairing = _as_frame(table, self._places(table)), _led_by(table)
        sides = self._read_sensitive(sensitive_features, len(frame), pairing, fitting=False)
        Z = self._encoded(self._treated(frame[self._columns], sides))
        return self.classes_[np.asarray(self._predict(Z, sides), dtype=np.intp)]

    def _places(self, table: Table) -> list[int]:
        """Where the columns of the fit are in a table: by name, where both have names."""
        if table.n_columns != self.n_features_in_:
            raise InputError(
                f"X: {table.n_columns} columns were given, but the classifier was fitted to "
                f"{self.n_features_in_}."
            )
        if not (self._named and table.named):
            return list(range(table.n_columns))
        missing = [name for name in self._names.values() if name not in table.names]
        if missing:
            raise InputError(
                f"X: {len(missing)} column(s) of the fit are missing: {listing(missing)}. Found: "
                f"{listing(table.names)}."
            )
        return [table.names.index(name) for name in self._names.values()]

    # What a repair overrides.

    _needs_sensitive = False  # when it is fitted
    _needs_sensitive_to_predict = False
    _needs_two_groups = False
    _method = "No repair"

    def _seen(self, frame: pd.DataFrame, sides: Any) -> list[Hashable]:
        """Columns that the classifier is to see."""
        return list(frame)

    def _treated(self, frame: pd.DataFrame, sides: Any) -> pd.DataFrame:
        """Those columns as the classifier is to see them."""
        return frame

    def _told(self, before: np.ndarray, after: np.ndarray, sides: Any) -> list[dict[str, Any]]:
        """What became of each column, from the encoded table before and after."""
        return []

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        """Fit, and tell at what numbers the repair arrived."""
        self._model = self._base().fit(Z, codes)
        return iter(())

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._model.predict(Z)

    def _base(self) -> Any:
        """Classifier to fit, unfitted."""
        if self.estimator is None:
            return LogisticRegression(max_iter=1000)
        model = clone(self.estimator)
        settings = model.get_params()
        own = settings.get("random_state")
        if "random_state" in settings and (own is None or self.random_state is not None):
            model.set_params(random_state=self._seed)
        return model

    @property
    def _seed(self) -> int:
        return self.random_state or 0

    def _encoded(self, frame: pd.DataFrame) -> np.ndarray:
        return np.asarray(self._encoder.transform(frame), dtype=float)

    def _read_y(self, y: Any, n_rows: int, pairing: Pairing) -> np.ndarray:
        labels = _labels(y, "y", n_rows, pairing)
        if len(labels.values) != 2:
            raise InputError(
                f"y: two labels are needed, {len(labels.values)} found: {listing(labels.values)}."
            )
        self._outcomes, kinds = labels.values, set(map(type, labels.values))
        plain = len(kinds) == 1 and kinds <= {int, float, bool}
        self.classes_ = np.array(labels.values) if plain else objects(labels.values)
        return labels.codes

    def _read_sensitive(
        self, sensitive: Any, n_rows: int, pairing: Pairing, *, fitting: bool
    ) -> np.ndarray | None:
        """Position of each row's value among those seen in the fit."""
        name = type(self).__name__
        if not (self._needs_sensitive if fitting else self._needs_sensitive_to_predict):
            return None
        if sensitive is None:
            raise InputError(
                f"sensitive_features: {name} needs them to {'fit' if fitting else 'predict'}; pass "
                "the column whose groups are to be treated alike."
            )
        labels = _labels(sensitive, "sensitive_features", n_rows, pairing)
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


# -- input


def _as_frame(table: Table, places: Sequence[int] | None = None) -> pd.DataFrame:
    """Give any table as pandas, its columns by position; some in another order."""
    places = range(table.n_columns) if places is None else places
    return pd.DataFrame({f"x{new}": table.array(place) for new, place in enumerate(places)})


def _make_encoder(frame: pd.DataFrame) -> ColumnTransformer:
    numeric = [name for name in frame if is_number(frame[name])]
    others = [name for name in frame if name not in numeric]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", StandardScaler(), numeric), ("labels", one_hot, others)])


def is_number(column: pd.Series) -> bool:
    """Whether a column is encoded as numbers, as are yes and no."""
    return pd.api.types.is_numeric_dtype(column.dtype)


def _led_by(table: Table) -> Pairing:
    """Rows of other arguments are put in the order of a table's."""
    pairing = Pairing(WarningLog())
    pairing.lead(table)
    return pairing


def _labels(values: Any, argument: str, n_rows: int, pairing: Pairing) -> Labels:
    table = read_table(values, argument, column_name=argument)
    if table.n_columns != 1:
        raise InputError(
            f"{argument}: {table.n_columns} columns were given; a repair takes one. Join them first, "
            "or repair for one of them."
        )
    check_length(table, n_rows, "X")
    labels = read_labels(pairing.align(table).array(0), argument).used()
    n_missing, advice = int((labels.codes < 0).sum()), "Drop those rows from every argument"
    refuse_missing(n_missing, n_rows, argument, "values", advice)
    return labels
