"""Certificates of violations whose strength is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.search.certificate import certify, coincidence, halves


def extremes(n=400):
    """In cell 0 the group always has the outcome and the others never; in cell 1 the reverse."""
    cell = np.arange(n) % 2
    s = np.where(np.arange(n) // 2 % 2 == 0, 1, -1)
    return cell[:, None].astype(float), s, (s > 0) == (cell == 0), np.arange(n) % 8 < 4


def test_label_is_where_sensitive_value_and_outcome_coincide():
    s, positive = np.array([1, 1, -1, -1]), np.array([True, False, True, False])
    assert coincidence(s, positive).tolist() == [1, -1, -1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_each_side_carries_half_of_a_mean_of_one(seed):
    rng = np.random.default_rng(seed)
    s, weights = rng.choice([-1, 1], 50, p=[0.8, 0.2]), rng.uniform(0.1, 5, 50)
    scaled = halves(weights, s)
    np.testing.assert_allclose(halves(1e-3 * weights, s), scaled)
    assert (halves(np.where(s > 0, weights, 0.0), s)[s < 0] == 0).all()
    assert scaled.mean() == pytest.approx(1.0)
    assert scaled[s > 0].sum() == pytest.approx(25.0)
    assert scaled[s < 0].sum() == pytest.approx(25.0)
    one = scaled[s > 0] / weights[s > 0]
    np.testing.assert_allclose(one, one[0])


@pytest.mark.parametrize("learner", ["auto", "tree", "gradient_boosting", "svm_rbf", "logistic"])
def test_certificate_of_the_largest_violation_there_is(learner):
    """G is cell 0: half of everybody, rates 1 and 0, mass 1/4, gamma 1/4 (1 - 1/2) = 1/8."""
    X, s, positive, train = extremes()
    found = certify(X, s, positive, np.ones(len(s)), train=train, learner=learner)
    assert (found.member == (X[~train, 0] == 0)).all()
    assert found.delta == math.inf
    assert found.mass == pytest.approx(0.25, abs=1e-12)
    assert found.gamma == pytest.approx(0.125, abs=1e-12)
    assert found.gamma_lemma == pytest.approx(0.125, abs=1e-12)


def test_the_other_side_has_its_certificate_elsewhere():
    X, s, positive, train = extremes()
    found = certify(X, -s, positive, np.ones(len(s)), train=train, learner="tree")
    assert (found.member == (X[~train, 0] == 1)).all()
    assert found.gamma == pytest.approx(0.125, abs=1e-12)


def test_judged_rows_are_those_not_fitted_to():
    """Labels of judged rows change the measurement, never the region."""
    X, s, positive, train = extremes()
    other = np.where(train, positive, ~positive)
    one = certify(X, s, positive, np.ones(len(s)), train=train, learner="tree")
    two = certify(X, s, other, np.ones(len(s)), train=train, learner="tree")
    assert len(one.member) == (~train).sum()
    np.testing.assert_array_equal(one.member, two.member)
    assert two.delta == -math.inf
    assert two.gamma == pytest.approx(-0.125, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_planted_nothing_certified(seed):
    """Fair coins: gamma is zero up to the noise of 1,000 rows (about .01)."""
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(2000, 2)), rng.choice([-1, 1], 2000)
    positive, train = rng.random(2000) < 0.5, np.arange(2000) < 1000
    found = certify(X, s, positive, np.ones(2000), train=train, random_state=seed)
    assert abs(found.gamma) < 0.02


@pytest.mark.parametrize("seed", range(3))
def test_both_forms_agree_when_groups_are_drawn_at_random(seed):
    """S does not depend on x, so any G is balanced up to noise; here .4 x (.7 - .3) / 4 = .04."""
    rng = np.random.default_rng(seed)
    X, s = rng.random((3000, 2)), rng.choice([-1, 1], 3000)
    inside = X[:, 0] < 0.4
    rate = np.where(inside, np.where(s > 0, 0.7, 0.3), 0.4)
    positive, train = rng.random(3000) < rate, np.arange(3000) < 1500
    found = certify(X, s, positive, np.ones(3000), train=train, random_state=seed)
    assert found.gamma == pytest.approx(0.04, abs=0.015)
    assert found.gamma_lemma == pytest.approx(found.gamma, abs=0.012)
