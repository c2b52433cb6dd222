"""Features in bins that are found once for all boostings of the same table."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

try:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
except ImportError:  # another scikit-learn: every boosting finds its own
    _BinMapper = None


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """Number of each feature's bin, and where scikit-learn keeps what the bins are."""

    mapper: Any
    codes: np.ndarray  # uint8 (n, d), column by column

    @classmethod
    def of(cls, X: np.ndarray, known: np.ndarray, max_bins: int) -> BinnedFeatures | None:
        """Of all rows, by bins of the known ones; None where scikit-learn cannot be told of bins."""
        own = X if known.all() else X[known]
        told = _BinMapper is not None and hasattr(HistGradientBoostingClassifier, "_bin_data")
        if not (told and own.size):
            return None
        mapper = _BinMapper(n_bins=max_bins + 1, random_state=0, n_threads=1)
        return cls(mapper.fit(own), mapper.transform(X))

    def at(self, rows: np.ndarray) -> BinnedFeatures:
        """Some of the rows."""
        return BinnedFeatures(self.mapper, self.codes.T.take(rows, axis=1).T)

    def beside(self, X: np.ndarray) -> BinnedFeatures:
        """With further features of the same rows beside them."""
        own = BinnedFeatures.of(X, np.ones(len(X), dtype=bool), self.mapper.n_bins - 1)
        if own is None:
            return self
        both = copy.copy(self.mapper)
        for name in ("bin_thresholds_", "n_bins_non_missing_", "is_categorical_"):
            parts = [getattr(mapper, name) for mapper in (self.mapper, own.mapper)]
            joined = parts[0] + parts[1] if isinstance(parts[0], list) else np.concatenate(parts)
            setattr(both, name, joined)
        return BinnedFeatures(both, np.asfortranarray(np.hstack([self.codes, own.codes])))


class _Binned:
    """A boosting that may be told the bins of the rows that it is fitted to."""

    _told: BinnedFeatures | None = None

    def fit_binned(self, X: np.ndarray, binned: BinnedFeatures | None, **given: Any) -> Any:
        """Fit; without bins as scikit-learn does, and with them without a look at `X`."""
        self._told = binned
        X = X if binned is None else np.broadcast_to(0.0, binned.codes.shape)
        try:
            return self.fit(X, **given)  # type: ignore[attr-defined]
        finally:
            self._told = None

    def _bin_data(self, X: np.ndarray, *how: Any, **named: Any) -> np.ndarray:
        """What ``fit`` calls for them, having made a ``_bin_mapper``."""
        if self._told is None:
            return super()._bin_data(X, *how, **named)  # type: ignore[misc]
        self._bin_mapper = self._told.mapper
        return self._told.codes


class BinnedClassifier(_Binned, HistGradientBoostingClassifier):
    """Yes or no."""


class BinnedRegressor(_Binned, HistGradientBoostingRegressor):
    """A number."""
