"""Splits are even within strata and do not depend on how strata are called."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdfa_fairness_plugin.measure.splitting import HOLDOUT_SHARE, draw_folds, draw_holdout

strata_lists = st.lists(st.integers(0, 4), min_size=1, max_size=120)


@settings(max_examples=60, deadline=None)
@given(strata=strata_lists, n_splits=st.integers(2, 12), seed=st.integers(0, 1000))
def test_folds_are_as_even_as_possible_within_every_stratum(strata, n_splits, seed):
    strata = np.array(strata)
    folds = draw_folds(strata, n_splits, np.random.default_rng(seed))
    assert ((folds >= 0) & (folds < n_splits)).all()
    for part in (strata >= 0, *(strata == value for value in np.unique(strata))):
        counts = np.bincount(folds[part], minlength=n_splits)
        assert counts.max() - counts.min() <= 1


@settings(max_examples=40, deadline=None)
@given(strata=strata_lists, seed=st.integers(0, 1000))
def test_renaming_strata_leaves_the_folds(strata, seed):
    strata = np.array(strata)
    renamed = np.array([70, 3, 55, -2, 10])[strata]
    one = draw_folds(strata, 5, np.random.default_rng(seed))
    two = draw_folds(renamed, 5, np.random.default_rng(seed))
    np.testing.assert_array_equal(one, two)


@settings(max_examples=40, deadline=None)
@given(strata=strata_lists, seed=st.integers(0, 1000))
def test_holdout_takes_three_tenths_of_every_stratum(strata, seed):
    strata = np.array(strata)
    held = draw_holdout(strata, np.random.default_rng(seed))
    assert held.dtype == bool
    for part in (strata >= 0, *(strata == value for value in np.unique(strata))):
        assert abs(held[part].sum() - HOLDOUT_SHARE * part.sum()) <= 1


def test_same_generator_same_split_and_rows_are_really_shuffled():
    strata = np.zeros(1000, dtype=int)
    one = draw_folds(strata, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(one, draw_folds(strata, 5, np.random.default_rng(1)))
    assert not np.array_equal(one, draw_folds(strata, 5, np.random.default_rng(2)))
    assert abs(np.corrcoef(one, np.arange(1000))[0, 1]) < 0.1


def test_every_row_is_as_likely_to_be_held_out():
    """Over 2,000 draws of 100 rows in two strata each is held out about three times in ten."""
    strata = np.repeat([0, 1], [33, 67])
    rng = np.random.default_rng(5)
    share = np.mean([draw_holdout(strata, rng) for _ in range(2000)], axis=0)
    assert share == pytest.approx(np.full(100, 0.3), abs=0.06)
