"""A view of rows is the array of them, taken late."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.numerics.rows import Asked, RowView

MATRIX = np.arange(20.0).reshape(10, 2)


@pytest.mark.parametrize("rows", [None, np.arange(10), np.array([1, 4, 5, 9])])
@pytest.mark.parametrize(
    "key", [slice(1, 3), np.array([2, 0]), np.array([True, False, True, True] + [False] * 6)]
)
def test_indexing_is_that_of_the_rows(rows, key):
    own = MATRIX if rows is None else MATRIX[rows]
    view = RowView(MATRIX, rows)
    if key.dtype == bool if isinstance(key, np.ndarray) else False:
        key = key[: len(own)]
    np.testing.assert_array_equal(view[key], own[key])
    np.testing.assert_array_equal(np.asarray(view), own)
    assert view.shape == own.shape
    assert len(view) == len(own)


def test_views_of_views():
    view = RowView(MATRIX, np.array([1, 4, 5, 9])).take(np.array([0, 2]))
    np.testing.assert_array_equal(np.asarray(view), MATRIX[[1, 5]])
    np.testing.assert_array_equal(np.asarray(RowView(MATRIX).take(np.array([3]))), MATRIX[[3]])


def test_all_rows_are_not_copied():
    assert np.shares_memory(RowView(MATRIX, np.arange(10))[:], MATRIX)
    assert np.shares_memory(np.asarray(RowView(MATRIX)), MATRIX)


def test_levels_go_along():
    levels = np.arange(10, dtype=np.int32)[:, np.newaxis]
    view = RowView(MATRIX, np.array([1, 4, 5, 9]), levels)
    assert view.levels.ravel().tolist() == [1, 4, 5, 9]
    assert view.take(np.array([0, 2])).levels.ravel().tolist() == [1, 5]
    assert RowView(MATRIX, levels=levels).levels is levels
    assert RowView(MATRIX).take(np.array([3])).levels is None


def test_models_are_asked_with_levels():
    class Model:
        def predict(self, rows):
            return rows.levels[:, 0] + rows[:, 1]

    levels = np.full((10, 1), 7, dtype=np.int32)
    asked = Asked(RowView(MATRIX, levels=levels))
    np.testing.assert_array_equal(asked.predict(Model()), MATRIX[:, 1] + 7)
    np.testing.assert_array_equal(asked.X, MATRIX)
    assert Asked(MATRIX).rows.levels is None
