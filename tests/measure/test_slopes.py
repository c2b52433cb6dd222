"""Slopes of a sensitive quantity: by hand, and against least squares with robust errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mdfa_fairness_plugin.measure.intervals import difference_interval
from mdfa_fairness_plugin.measure.slopes import Slopes
from mdfa_fairness_plugin.measure.sums import MeasuredRows, SetSums
from mdfa_fairness_plugin.search.ground import sides_of
from mdfa_fairness_plugin.search.level_sets import Bins, SearchData, Sweep


def rows_of(beyond, y, m, base, cluster=None, lesser=()):
    """Rows with so much more of a quantity than expected."""
    s, propensity = sides_of(beyond)
    dose = np.where(s > 0, 1.0 - propensity, propensity)
    return MeasuredRows(
        s=s,
        value=y,
        y=np.zeros(len(y), dtype=int),
        n_outcomes=1,
        base=base,
        weights=base * dose,
        propensity=propensity,
        outcome=m,
        cluster=cluster,
        kind=Slopes,
        dose=dose,
        lesser=lesser,
        shares=(1.0,) * len(lesser),
    )


@pytest.fixture
def drawn():
    rng = np.random.default_rng(1)
    beyond, base = rng.beta(1.0, 3.0, 300) - 0.25, rng.uniform(0.5, 2.0, 300)
    m = rng.standard_normal(300)
    return beyond, m + 0.7 * beyond + rng.uniform(-1, 1, 300) * (1 + abs(beyond)), m, base


def test_three_rows_by_hand():
    # Twice one less and once two more than expected; 3 x (1 + 1) + 6 x 2 over 1 + 1 + 4.
    own = SetSums.of(
        rows_of(
            np.array([-1.0, -1.0, 2.0]),
            np.array([-3.0, -3.0, 6.0]),
            np.zeros(3),
            np.ones(3),
        ),
        np.ones(3, dtype=bool),
    )
    assert own.rates.difference == pytest.approx(3.0)
    assert own.rates.delta == pytest.approx(3.0)
    # On a line nothing errs.
    assert difference_interval(own.rates, 0.95, 1.0, own.leftover) == pytest.approx((3.0, 3.0))
    assert np.isnan([own.rates.mass, own.rates.gamma]).all()


def test_weighted_least_squares_with_robust_errors(drawn):
    beyond, y, m, base = drawn
    own = SetSums.of(rows_of(*drawn), np.ones(len(y), dtype=bool))
    slope = (base * beyond) @ (y - m) / (base @ beyond**2)
    rates, (variance, freedom) = own.rates.known(own.leftover)
    assert rates.difference == pytest.approx(slope)
    scores = base * beyond * (y - m - slope * beyond)
    size = (base @ beyond**2) ** 2 / (base**2 @ beyond**4)
    robust = (scores @ scores) / (base @ beyond**2) ** 2 * size / (size - 1)
    assert variance.sum() == pytest.approx(robust)
    low, high = difference_interval(own.rates, 0.95, 1.0, own.leftover)
    wide = stats.t.ppf(0.975, freedom[0]) * np.sqrt(robust)
    assert (high - low) / 2 == pytest.approx(wide, rel=1e-2)
    # Without what the features make of the outcome.
    assert own.rates.delta == pytest.approx((base * beyond) @ y / (base @ beyond**2))


def test_leak_is_the_product_of_both_residuals(drawn):
    beyond, y, m, base = drawn
    leak = SetSums.of(rows_of(*drawn), np.ones(len(y), dtype=bool)).leak
    terms = base * beyond * (y - m)
    assert leak.total == pytest.approx(terms.sum())
    assert leak.statistic() == pytest.approx(terms.sum() / np.sqrt(terms @ terms), rel=0.02)


def test_few_terms_are_told_by_their_signs():
    # Six terms of one size: all of one sign by chance once in 64.
    beyond = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    rows = rows_of(beyond, 2.0 * beyond, np.zeros(6), np.ones(6))
    z = SetSums.of(rows, np.ones(6, dtype=bool)).leak.statistic()
    assert stats.norm.sf(z) == pytest.approx(1 / 64, rel=0.2)


def test_seen_from_the_other_side(drawn):
    beyond, y, m, base = drawn
    inside = m > 0
    one, other = (
        SetSums.of(rows_of(sign * beyond, sign * y, sign * m, base), inside) for sign in (1, -1)
    )
    ends = [difference_interval(own.rates, 0.95, 1.0, own.leftover) for own in (one, other)]
    assert ends[0] == pytest.approx(ends[1])
    assert one.leak.statistic() == pytest.approx(other.leak.statistic())


def test_lesser_models_are_told_by_the_same_quantity(drawn):
    # What is left by lesser models of both, over what is left of the quantity by either.
    beyond, y, m, base = drawn
    s, _ = sides_of(beyond)
    less, rough = beyond + 0.3, m - 0.2
    rows = rows_of(*drawn, lesser=((base * s * less, rough),))
    (rung,) = SetSums.of(rows, np.ones(len(y), dtype=bool)).rungs
    told = (base * less) @ (y - rough) / (base @ (less * beyond))
    assert rung.rates(Slopes)[0] == pytest.approx(told)


def test_sweeps_measure_what_the_sums_do(drawn):
    _, y, m, base = drawn
    rows, scores = rows_of(*drawn), m.round(1)
    data = SearchData(
        X=np.empty((len(y), 0)),
        s=rows.s,
        value=y,
        base=base,
        weights=rows.weights,
        folds=np.zeros(len(y), dtype=int),
        held_out=np.ones(len(y), dtype=bool),
        alpha=0.05,
        confidence_level=0.95,
        outcome=m,
        adjusts=True,
        kind=Slopes,
        dose=rows.dose,
    )
    assert len(Bins.of(scores)) < len(scores)
    sets = Sweep.of(data, scores).at(np.array([0.3]))
    assert sets.delta[0] == pytest.approx(data.delta(scores >= 0.3))
    own = SetSums.of(rows, scores >= 0.3)
    assert sets.delta[0] == pytest.approx(own.rates.at_same_features(own.leftover).difference)
