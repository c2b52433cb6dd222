"""Splits are even within strata and do not depend on how strata are called."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdfa_fairness_plugin.measure.splitting import (
    HOLDOUT_SHARE,
    draw_folds,
    draw_holdout,
    draw_sample,
)

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


@settings(max_examples=60, deadline=None)
@given(strata=strata_lists, n_splits=st.integers(2, 12), seed=st.integers(0, 1000))
def test_rows_of_a_unit_share_a_fold_and_folds_are_even_in_units(strata, n_splits, seed):
    strata = np.array(strata)
    unit = np.random.default_rng(seed).integers(0, len(strata), len(strata))
    folds = draw_folds(strata, n_splits, np.random.default_rng(seed), unit)
    _, first, own = np.unique(unit, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(folds, folds[first][own])
    counts = np.bincount(folds[first], minlength=n_splits)
    assert counts.max() - counts.min() <= 1


def test_units_of_one_row_are_split_as_rows_are():
    strata = np.random.default_rng(0).integers(0, 3, 200)
    alone = np.arange(200)
    for draw in (
        lambda rng, unit: draw_folds(strata, 5, rng, unit),
        lambda rng, unit: draw_holdout(strata, rng, unit),
        lambda rng, unit: draw_sample(strata, 60, rng, unit),
    ):
        np.testing.assert_array_equal(
            draw(np.random.default_rng(3), None), draw(np.random.default_rng(3), alone)
        )


def test_large_units_are_spread_over_the_folds():
    """Ten units of 50 rows among 500 of one: each of five folds has two of them."""
    unit = np.concatenate([np.repeat(np.arange(10), 50), np.arange(10, 510)])
    folds = draw_folds(np.zeros(1000, dtype=int), 5, np.random.default_rng(0), unit)
    np.testing.assert_array_equal(np.bincount(folds), 200)


def test_a_sample_takes_whole_units_and_about_the_rows_asked_for():
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(2000), rng.integers(1, 6, 2000))
    drawn = draw_sample(np.zeros(len(unit), dtype=int), 1500, rng, unit)
    assert len(np.intersect1d(unit[drawn], unit[~drawn])) == 0
    # Six standard errors of the rows of 500 units of 1 to 5 rows.
    assert abs(drawn.sum() - 1500) < 6 * np.sqrt(500 * 2)
