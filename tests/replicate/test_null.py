"""Outcomes where nothing is unequal: what is redrawn and what stays, p-values."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import MDFAWarning
from mdfa_fairness_plugin.pipeline import AuditSource, deltas_and_statistics
from mdfa_fairness_plugin.replicate.null import (
    NullDistribution,
    _chances,
    _redrawn,
    _sides,
    _with_outcomes,
)
from mdfa_fairness_plugin.replicate.repeats import rerun
from mdfa_fairness_plugin.settings import Settings


def test_a_planted_violation_is_beyond_all_draws(planted):
    null = planted.null_distribution(19)
    assert null.draws.shape == null.statistics.shape == null.everybody.shape == (19, 4)
    # The models are good enough here, and mirrored searches share what everybody's statistic says.
    assert not null.spreads_more.any()
    assert "as far as the audit's test assumes" not in null.summary()
    np.testing.assert_allclose(null.spreads, null.spreads[0])
    assert null.p_value == pytest.approx(1 / 20)
    worst = planted.violations.index(planted.worst_case)
    assert null.p_values[worst] == pytest.approx(1 / 20)
    assert null.observed[worst] == planted.worst_case.delta
    # The mirror search asks the opposite question: no share of the draws is that far below.
    opposite = int(np.argmin(null.observed_statistics))
    assert null.p_values[opposite] > 0.5


def test_without_a_violation_the_observed_is_one_of_many(nothing):
    """A chance of 1 in 20 would make this fail for a seed; this seed was the first one tried."""
    null = nothing.null_distribution(19)
    assert null.p_value > 1 / 20
    # Redraws lean on the feature as S does: a plain shuffle would tie nothing to it.
    spread = np.nanstd(null.statistics, axis=0)
    assert (spread > 0.5).all()
    assert (spread < 2.0).all()


def test_draws_are_measured_as_the_audit_is(nothing):
    """The audit's own searches, made and measured as those of a draw are: its deltas and statistics."""
    source = nothing.source
    problem = _with_outcomes(source)
    assert problem.given_outcome(1) is not None
    searches = rerun(problem, source.settings)
    delta, statistic, everybody = deltas_and_statistics(searches, problem, source.settings)
    np.testing.assert_allclose(delta, [v.delta for v in nothing.violations])
    np.testing.assert_allclose(statistic, [v.statistic for v in nothing.violations])
    np.testing.assert_allclose(np.abs(everybody), np.abs(everybody[0]))


def test_p_values_counted_by_hand():
    draws = np.array([[0.1, 3.0], [0.2, np.nan], [0.3, 1.0]])
    null = NullDistribution(
        searches=(("s", "a", 1), ("s", "b", 1)),
        observed=np.array([0.2, np.nan]),
        draws=draws,
        observed_statistics=np.array([2.0, np.nan]),
        statistics=np.array([[1.0, 5.0], [2.0, np.nan], [0.0, -1.0]]),
        everybody=np.array([[3.0, 1.0], [-4.0, np.nan], [0.0, -1.0]]),
    )
    # Sums of squares 25 of three and 2 of two; chi-squared beyond 1 in 40 is 9.3 and 7.4.
    np.testing.assert_allclose(null.spreads, [np.sqrt(25 / 3), 1.0])
    np.testing.assert_array_equal(null.spreads_more, [True, False])
    assert null.p_values_delta[0] == pytest.approx(3 / 4)  # .2, .3 and the observed one
    assert null.p_values[0] == pytest.approx(2 / 4)
    assert np.isnan(null.p_values[1])
    # Largest statistics of the draws: 5, 2, 0; the observed one is 2.
    assert null.p_value == pytest.approx(3 / 4)
    text = null.summary()
    assert "not measured" in text
    assert "In the repetitions on s the statistic of everybody spreads 2.89 times as far" in text
    assert "fair" not in text
    assert len(null.to_frame()) == 2


@pytest.fixture
def three_groups():
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 3, n)})
    s = np.where(X["a"] > 0.7, "x", np.where(rng.random(n) < 0.5, "y", "z")).astype(object)
    s[:40] = None
    s[40:45] = "rare"
    with pytest.warns(MDFAWarning):
        return build_problem(X, rng.integers(0, 2, n), pd.Series(s, name="group"))


def test_sides_are_those_of_the_audit(three_groups):
    (column,) = three_groups.sensitive
    for contrast in three_groups.contrasts:
        np.testing.assert_array_equal(_sides(contrast, column), contrast.s)


def test_redraws_follow_the_features_and_keep_the_unknown_unknown(three_groups):
    (column,) = three_groups.sensitive
    chances = _chances(AuditSource(problem=three_groups, settings=Settings()), column, 0)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    codes = column.labels.codes
    drawn = _redrawn(column, chances, None, np.random.default_rng(1)).labels.codes
    np.testing.assert_array_equal(drawn < 0, codes < 0)
    assert not np.array_equal(drawn, codes)
    high = three_groups.X[:, 0] > 0.9
    x = column.labels.values.index("x")
    assert (drawn[high & (codes >= 0)] == x).mean() > 0.85
    assert (drawn[~high] == x).mean() < 0.2
    # Frequencies of every value are kept, up to chance (five standard errors).
    n = (codes >= 0).sum()
    for value in range(len(column.labels.values)):
        share = (codes == value).sum() / n
        error = np.sqrt(share * (1 - share) / n)
        assert (drawn == value).sum() / n == pytest.approx(share, abs=5 * error + 1e-3)


def test_a_persons_rows_are_redrawn_together(three_groups):
    """One value for the rows of who has one; frequencies stay; others keep a draw per row."""
    (column,) = three_groups.sensitive
    chances = _chances(AuditSource(problem=three_groups, settings=Settings()), column, 0)
    codes = column.labels.codes
    # People of up to four rows with one value, and one of two values.
    cluster = np.arange(len(codes))
    for value in np.unique(codes):
        own = np.flatnonzero(codes == value)
        cluster[own] = own[np.arange(len(own)) // 4 * 4]
    a, b = np.flatnonzero(codes == 0)[0], np.flatnonzero(codes == 1)[0]
    cluster[[a, b]] = len(codes)
    drawn = [
        _redrawn(column, chances, cluster, np.random.default_rng(i)).labels.codes for i in range(9)
    ]
    for one in drawn:
        n_values = pd.Series(one).groupby(cluster).nunique()
        assert (n_values.drop(len(codes)) == 1).all()
    assert any(one[a] != one[b] for one in drawn)
    known = codes >= 0
    for value in range(len(column.labels.values)):
        found = np.mean([(one[known] == value).mean() for one in drawn])
        assert found == pytest.approx((codes[known] == value).mean(), abs=0.02)
    alone = [
        _redrawn(column, chances, own, np.random.default_rng(1)).labels.codes
        for own in (None, np.arange(len(codes)))
    ]
    np.testing.assert_array_equal(*alone)


def test_results_travel_with_what_they_need(planted):
    again = pickle.loads(pickle.dumps(planted))
    one, two = planted.null_distribution(2), again.null_distribution(2)
    np.testing.assert_array_equal(one.draws, two.draws)
