"""Arrays of one search, made to order."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.numerics.rows import RowView
from mdfa_fairness_plugin.search.level_sets import SearchData


@pytest.fixture
def make_search():
    """Search data from its arrays; weights of one and even folds unless given."""

    def build(X, s, positive, *, weights=None, folds=None, held_out=None, n_folds=2, alpha=0.05):
        X = np.asarray(X, dtype=float).reshape(len(s), -1)
        folds = np.arange(len(s)) % n_folds if folds is None else np.asarray(folds)
        weights = np.ones(len(s)) if weights is None else np.asarray(weights, dtype=float)
        return SearchData(
            X=RowView(X),
            s=np.asarray(s),
            value=np.asarray(positive, dtype=bool),
            base=np.ones(len(s)),
            weights=weights,
            folds=folds,
            held_out=np.ones(len(s), dtype=bool) if held_out is None else np.asarray(held_out),
            alpha=alpha,
            confidence_level=0.95,
        )

    return build


@pytest.fixture
def cells(make_search):
    """Discrete features: in cell ``k`` the rates are as given, the same in every fold.

    Rates are multiples of 1/20; each fold holds 20 rows of either side per cell.
    """

    def build(rates, *, n_folds=2, **options):
        x, s, positive, folds = [], [], [], []
        for fold in range(n_folds):
            for cell, pair in enumerate(rates):
                for side, rate in zip((1, -1), pair, strict=True):
                    hits = round(20 * rate)
                    x += [cell] * 20
                    s += [side] * 20
                    positive += [True] * hits + [False] * (20 - hits)
                    folds += [fold] * 20
        # One column per cell, so that a linear learner sees cells too.
        X = np.eye(len(rates))[x]
        return make_search(X, np.array(s), positive, folds=folds, **options), np.array(x)

    return build
