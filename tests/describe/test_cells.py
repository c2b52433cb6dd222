"""Rows cut into cells, and what a pass over a column says of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe import cells
from mdfa_fairness_plugin.describe.cells import (
    N_PLACES,
    Cells,
    cell_moments,
    tally,
    unequal,
    value_codes,
    value_counts,
)

N = 900


@pytest.fixture(params=[50, 1 << 16])
def block(request, monkeypatch):
    """Many blocks of rows or one: no number may depend on it."""
    monkeypatch.setattr(cells, "_BLOCK", request.param)


def subgroups(n_subgroups, n=N, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.choice([-1, 0, 1], n), rng.random(n) < 0.3) for _ in range(n_subgroups)]


def places(s, inside):
    """Place of every row, by its definition."""
    return np.select(
        [(s == 1) & inside, (s == 1) & ~inside, (s == -1) & inside, (s == -1) & ~inside],
        [1, 2, 3, 4],
    )


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, -4e5, 1e9])
def test_moments_are_those_of_a_group_by(weighted, offset):
    rng = np.random.default_rng(1)
    cell, x = rng.integers(0, 6, N), rng.normal(size=N)
    x += 3 * cell + offset
    weights = rng.lognormal(size=N) if weighted else np.ones(N)
    found = cell_moments(x, cell, 7, weights if weighted else None)
    for i, rows in pd.DataFrame({"x": x, "w": weights}).groupby(cell):
        mean = np.average(rows.x - offset, weights=rows.w) + offset
        assert found.n[i] == len(rows)
        assert found.weight[i] == pytest.approx(rows.w.sum())
        assert found.squared_weight[i] == pytest.approx((rows.w**2).sum())
        assert found.means[i] - offset == pytest.approx(mean - offset, abs=1e-6)
        spread = np.average((rows.x - mean) ** 2, weights=rows.w)
        assert found.variances[i] == pytest.approx(spread, rel=1e-9)
    assert found.n[6] == 0
    for unknown in (found.means, found.variances, found.deviations):
        assert np.isnan(unknown[6])


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_cells_put_together_are_as_if_never_apart(offset):
    rng = np.random.default_rng(2)
    cell, weights = rng.integers(0, 5, N), rng.lognormal(size=N)
    x = rng.normal(size=N) + 5 * cell + offset
    sets = np.array([[1, 1, 0, 0, 1], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], bool)
    found = cell_moments(x, cell, 5, weights).together(sets)
    for i, chosen in enumerate(sets[:3]):
        rows = chosen[cell]
        whole = cell_moments(x[rows], np.zeros(rows.sum(), dtype=int), 1, weights[rows])
        assert found.n[i] == whole.n[0]
        np.testing.assert_allclose(found.means[i], whole.means[0], rtol=1e-14)
        np.testing.assert_allclose(found.variances[i], whole.variances[0], rtol=1e-9)
        np.testing.assert_allclose(found.deviations[i], whole.deviations[0], rtol=1e-9)
    assert np.isnan(found.means[3])


def test_the_deviation_has_n_minus_one_whatever_all_weights_are():
    x = np.random.default_rng(0).normal(size=40)
    cell = np.zeros(40, dtype=int)
    for weights in (None, np.full(40, 2.5)):
        assert cell_moments(x, cell, 1, weights).deviations[0] == pytest.approx(x.std(ddof=1))
    assert np.isnan(cell_moments(x[:1], cell[:1], 1).deviations[0])


@pytest.mark.parametrize("value", [0.1, -1 / 3, 1e9 + 0.1, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_values_have_exactly_their_mean_and_no_spread(value, weighted):
    """A sum of tenths is not a tenth of the sum; a spread of rounding would divide differences."""
    rng = np.random.default_rng(0)
    cell = rng.integers(0, 3, 5000)
    weights = rng.lognormal(size=5000) if weighted else None
    found = cell_moments(np.full(5000, value), cell, 3, weights)
    together = found.together(np.array([[True, True, False], [False, False, True]]))
    for each in (found, together):
        assert (each.means == value).all()
        assert (each.squares == 0).all()


VALUES = {
    "few whole": lambda rng: rng.integers(-3, 4, N).astype(float),
    "wide whole": lambda rng: rng.integers(0, 10 * N, N).astype(float),
    "huge whole": lambda rng: rng.integers(0, 5, N) * 2.0**60,
    "an identifier": lambda rng: rng.permutation(N).astype(float),
    "rounded": lambda rng: np.round(rng.normal(size=N), 1),
    "nearly all different": lambda rng: np.round(rng.normal(size=N), 4),
    "all different": lambda rng: rng.normal(size=N),
    "one value": lambda rng: np.full(N, 0.7),
    "both zeros": lambda rng: np.where(rng.random(N) < 0.5, -0.0, 0.5) * rng.choice([0, 1], N),
    "one row": lambda rng: np.array([2.5]),
    "no row": lambda rng: np.zeros(0),
}


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("name", VALUES)
def test_value_codes_tell_repeated_values_apart_and_single_ones_from_them(name):
    x = VALUES[name](np.random.default_rng(3))
    codes, n_codes = value_codes(x)
    times = pd.Series(x).map(pd.Series(x).value_counts()).to_numpy()
    if codes is None:
        assert (times == 1).all()
        return
    np.testing.assert_array_equal(codes == n_codes, times == 1)
    several = times > 1
    assert len(np.unique(x[several])) == len(np.unique(codes[several])) == n_codes
    assert len(set(zip(x[several], codes[several], strict=True))) == n_codes


@pytest.mark.parametrize("name", VALUES)
def test_value_counts_are_those_of_pandas(name):
    rng = np.random.default_rng(4)
    x = VALUES[name](rng)
    codes, n_codes = value_codes(x)
    rows = rng.random(len(x)) < 0.2
    if codes is None:
        counts = np.array([rows.sum()])
    else:
        counts = np.bincount(codes[rows], minlength=n_codes + 1)
    expected = pd.Series(x[rows]).value_counts()
    if len(expected) == 0:
        assert value_counts(counts) == (0, 0, 0)
    else:
        assert value_counts(counts) == (
            len(expected),
            expected.sum() - expected.max(),
            expected.min(),
        )


@pytest.mark.usefixtures("block")
def test_cells_know_where_their_rows_are_for_every_subgroup():
    cut = Cells(N)
    given = subgroups(3)
    for s, inside in given:
        assert cut.add(s, inside)
    assert cut.n_cells <= N_PLACES**3
    assert tally(cut.of_row, cut.n_cells).min() > 0
    for where, (s, inside) in zip(cut.where, given, strict=True):
        np.testing.assert_array_equal(where[cut.of_row], places(s, inside))


def test_subgroups_that_make_too_many_cells_are_refused_and_change_nothing(monkeypatch):
    monkeypatch.setattr(cells, "_MOST_CELLS", 30)
    cut = Cells(N)
    (one, two, three) = subgroups(3)
    assert cut.add(*one)
    assert cut.add(*two)
    before = cut.of_row.copy(), cut.where.copy()
    assert not cut.add(*three)
    np.testing.assert_array_equal(cut.of_row, before[0])
    np.testing.assert_array_equal(cut.where, before[1])


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("most", [0, 1 << 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_by_place_are_those_of_a_cross_table(most, weighted, monkeypatch):
    """In one table of all cells or, for many codes, place by place."""
    monkeypatch.setattr(cells, "_MOST_ENTRIES", most)
    rng = np.random.default_rng(5)
    codes, weights = rng.integers(0, 7, N), rng.lognormal(size=N)
    cut, given = Cells(N), subgroups(2)
    for s, inside in given:
        cut.add(s, inside)
    found = cut.counts(codes, 8, cut.of_row, weights if weighted else None)
    for table, (s, inside) in zip(found, given, strict=True):
        expected = np.zeros((N_PLACES, 8))
        np.add.at(expected, (places(s, inside), codes), weights if weighted else 1)
        np.testing.assert_allclose(table[1:], expected[1:])


def test_equal_weights_are_none():
    assert unequal(None) is None
    assert unequal(np.full(3, 2)) is None
    assert unequal(np.zeros(0)) is None
    assert unequal([1, 2]).tolist() == [1.0, 2.0]
