"""Rows of a large matrix, taken only when and where they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np


class RowView:
    """Some rows of a matrix, in ascending order or all, without a copy of them.

    A million rows of 20 features are 160 MB, and an audit looks at nested choices of them: those of
    two sides, the comparable ones of these, one fold. Indexing gives an array of the rows asked for;
    ``np.asarray`` gives all of them. `levels` are codes of categories' own levels beside the matrix,
    shape (n_matrix, n_categories), -1 where missing or new.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        rows: np.ndarray | None = None,
        levels: np.ndarray | None = None,
    ) -> None:
        self._matrix = matrix
        self._levels = levels
        self._rows = None if rows is None or len(rows) == len(matrix) else rows

    def __len__(self) -> int:
        return len(self._matrix) if self._rows is None else len(self._rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return (len(self), *self._matrix.shape[1:])

    def __getitem__(self, key: Any) -> np.ndarray:
        """Rows by position: a slice, an array of positions, or a mask."""
        return self._matrix[key] if self._rows is None else self._matrix[self._rows[key]]

    @property
    def levels(self) -> np.ndarray | None:
        """Codes of the levels of these rows; None if the matrix tells all levels apart."""
        if self._levels is None or self._rows is None:
            return self._levels
        return self._levels[self._rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # NumPy before 2 knows no None.
        return np.array(self[:], dtype=dtype) if copy else np.asarray(self[:], dtype=dtype)

    def take(self, rows: np.ndarray) -> RowView:
        """View of some of these rows."""
        rows = rows if self._rows is None else self._rows[rows]
        return RowView(self._matrix, rows, self._levels)


def at(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """An array at some of its rows, ascending; itself and no copy if they are all."""
    return array if len(rows) == len(array) else array[rows]


def marked(mask: np.ndarray) -> np.ndarray | slice:
    """A mask as an index that copies nothing where it marks every row."""
    return slice(None) if mask.all() else mask


class Asked:
    """Encoded rows, and what models say of them: each model is asked once, whoever wants to know."""

    def __init__(self, X: np.ndarray | RowView) -> None:
        self.rows = X if isinstance(X, RowView) else RowView(X)
        self.X = self.rows[:]
        self._said: dict[Any, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.X)

    def predict(self, model: Any) -> np.ndarray:
        """The model's prediction for these rows."""
        if model not in self._said:
            self._said[model] = self.ask(model)
        return self._said[model]

    def ask(self, model: Any) -> np.ndarray:
        """Ask a model that has not been asked."""
        return model.predict(self.rows)
