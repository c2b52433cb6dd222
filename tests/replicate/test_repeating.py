"""Repeated audits: what is redrawn and what stays, planted violations, reproducibility."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning
from mdfa_fairness_plugin.replicate.null import (
    NullDistribution,
    _chances,
    _redrawn,
    _sides,
)

FAST = {"random_state": 0, "learner": "tree", "n_splits": 3}


@pytest.fixture(scope="module")
def planted():
    data = mdfa.datasets.make_synthetic(n_samples=1500, delta=1.5, random_state=1)
    return mdfa.audit(data.X, data.y, sensitive_features=data.sensitive_features, **FAST)


@pytest.fixture(scope="module")
def nothing():
    """Outcomes that see one feature only, groups that lean on it."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(900, 2)), columns=["a", "b"])
    s = np.where(rng.random(900) < 1 / (1 + np.exp(-X["a"])), "p", "q")
    y = (rng.random(900) < 1 / (1 + np.exp(-2 * X["a"]))).astype(int)
    return mdfa.audit(X, y, sensitive_features=s, **FAST)


def test_a_planted_violation_is_beyond_all_draws(planted):
    null = planted.null_distribution(19)
    assert null.draws.shape == null.statistics.shape == (19, 4)
    assert null.p_value == pytest.approx(1 / 20)
    worst = planted.violations.index(planted.worst_case)
    assert null.p_values[worst] == pytest.approx(1 / 20)
    assert null.observed[worst] == planted.worst_case.delta
    # The mirror search asks the opposite question: no share of the draws is that far below.
    opposite = int(np.argmin(null.observed_statistics))
    assert null.p_values[opposite] > 0.5


def test_without_a_violation_the_observed_is_one_of_many(nothing):
    """A chance of 1 in 40 would make this fail for a seed; this seed was the first one tried."""
    null = nothing.null_distribution(39)
    assert null.p_value > 1 / 40
    # Redraws lean on the feature as S does: a plain shuffle would tie nothing to it.
    spread = np.nanstd(null.statistics, axis=0)
    assert (spread > 0.5).all()
    assert (spread < 2.0).all()


def test_same_seed_same_draws_for_any_number_of_jobs(nothing):
    one = nothing.null_distribution(4, n_jobs=1)
    two = nothing.null_distribution(4, n_jobs=2)
    np.testing.assert_array_equal(one.draws, two.draws)
    other = nothing.null_distribution(4, random_state=9)
    assert not np.array_equal(one.draws, other.draws)
    first = nothing.stability(2, n_jobs=1)
    second = nothing.stability(2, n_jobs=2)
    np.testing.assert_array_equal(first.jaccard, second.jaccard)


def test_p_values_counted_by_hand():
    draws = np.array([[0.1, 3.0], [0.2, np.nan], [0.3, 1.0]])
    null = NullDistribution(
        searches=(("s", "a", 1), ("s", "b", 1)),
        observed=np.array([0.2, np.nan]),
        draws=draws,
        observed_statistics=np.array([2.0, np.nan]),
        statistics=np.array([[1.0, 5.0], [2.0, np.nan], [0.0, -1.0]]),
    )
    assert null.p_values_delta[0] == pytest.approx(3 / 4)  # .2, .3 and the observed one
    assert null.p_values[0] == pytest.approx(2 / 4)
    assert np.isnan(null.p_values[1])
    # Largest statistics of the draws: 5, 2, 0; the observed one is 2.
    assert null.p_value == pytest.approx(3 / 4)
    text = null.summary()
    assert "not measured" in text
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
    chances = _chances(three_groups, column, 0)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    codes = column.labels.codes
    drawn = _redrawn(column, chances, np.random.default_rng(1)).labels.codes
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


def test_halves_of_a_plain_violation_find_the_same_people(planted):
    stable = planted.stability(4)
    worst = planted.violations.index(planted.worst_case)
    assert stable.jaccard.shape == (4, 4)
    assert stable.jaccard[:, worst].min() > 2 * stable.chance[worst]
    assert set(stable.features.index) == {"x1", "x2"}
    assert stable.features.iloc[:, worst].max() == 1.0
    inside = planted.worst_case.membership
    frequency = stable.frequency[worst]
    assert np.nanmean(frequency[inside]) > np.nanmean(frequency[~inside]) + 0.3
    assert "by chance" in stable.summary()


def test_results_travel_with_what_they_need(planted):
    again = pickle.loads(pickle.dumps(planted))
    one, two = planted.null_distribution(2), again.null_distribution(2)
    np.testing.assert_array_equal(one.draws, two.draws)


@pytest.mark.parametrize("method", ["null_distribution", "stability"])
@pytest.mark.parametrize("number", [0, -3, 2.5, True, "many"])
def test_numbers_of_repeats_are_checked(planted, method, number):
    with pytest.raises(InputError, match="whole number of at least 1"):
        getattr(planted, method)(number)


@pytest.mark.parametrize("method", ["null_distribution", "stability"])
def test_results_without_their_data_say_so(planted, method):
    with pytest.raises(InputError, match="does not hold its data"):
        getattr(replace(planted, source=None), method)()


def test_given_weights_follow_their_rows():
    """An array of balancing weights is cut to the half of the rows that is audited."""
    data = mdfa.datasets.make_synthetic(n_samples=600, delta=1.5, random_state=2)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 600)
    result = mdfa.audit(
        data.X, data.y, sensitive_features=data.sensitive_features, balance=weights, **FAST
    )
    assert np.isfinite(result.stability(2).jaccard).any()
    assert np.isfinite(result.null_distribution(2).draws).all()


@pytest.fixture(scope="module")
def shuffled():
    """One data set, its rows in another order and its labels called otherwise; integer weights."""
    rng = np.random.default_rng(5)
    n = 400
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": rng.integers(0, 3, n)})
    s = rng.choice(["p", "q"], n, p=[0.4, 0.6])
    y = rng.integers(0, 2, n)
    order = rng.permutation(n)
    names = {"p": "zz", "q": "aa"}
    one = mdfa.audit(X, y, sensitive_features=s, **FAST)
    two = mdfa.audit(
        X.iloc[order].reset_index(drop=True),
        np.array(["no", "yes"])[y[order]],
        sensitive_features=[names[value] for value in s[order]],
        **FAST,
    )
    same = {("p", 0): ("zz", "no"), ("p", 1): ("zz", "yes")}
    same |= {("q", 0): ("aa", "no"), ("q", 1): ("aa", "yes")}
    place = {(v.group, v.outcome): j for j, v in enumerate(two.violations)}
    return one, two, [place[same[v.group, v.outcome]] for v in one.violations], order


def test_order_of_rows_and_names_of_labels_are_no_matter(shuffled):
    one, two, columns, order = shuffled
    first, second = one.null_distribution(3), two.null_distribution(3)
    np.testing.assert_array_equal(first.draws, second.draws[:, columns])
    halves, others = one.stability(2), two.stability(2)
    np.testing.assert_array_equal(halves.jaccard, others.jaccard[:, columns])
    np.testing.assert_array_equal(halves.frequency[:, order], others.frequency[columns])


def test_searches_that_could_not_be_made_are_not_repeated():
    rng = np.random.default_rng(6)
    s = rng.choice(["p", "q"], 300).astype(object)
    s[:10] = "rare"
    with pytest.warns(MDFAWarning, match="rare"):
        result = mdfa.audit(
            rng.normal(size=(300, 2)), rng.integers(0, 2, 300), sensitive_features=s, **FAST
        )
    stable, null = result.stability(2), result.null_distribution(2)
    rare = [v.group == "rare" for v in result.violations]
    assert np.isnan(stable.jaccard[:, rare]).all()
    assert np.isfinite(stable.jaccard[:, np.logical_not(rare)]).all()
    assert np.isnan(null.p_values[rare]).all()
    assert stable.summary().count("could not be repeated") == 2


@pytest.mark.parametrize("options", [{"random_state": -1}, {"random_state": 0.5}, {"n_jobs": 0}])
def test_other_arguments_are_checked(nothing, options):
    with pytest.raises(InputError, match=next(iter(options))):
        nothing.null_distribution(2, **options)
