"""Fairlearn's reductions, with Fairlearn's own moments as the oracle."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.repairs import MOMENTS, GridSearchClassifier, ReductionClassifier


def violation(constraint, people, answers):
    """Largest difference of a group's rate from everybody's."""
    from fairlearn import reductions

    answers = answers.astype(float)
    moment = getattr(reductions, MOMENTS[constraint])()
    with warnings.catch_warnings(action="ignore"):  # of what pandas will change
        moment.load_data(people.X, people.high.astype(int), sensitive_features=people.s)
    return moment.gamma(lambda X: answers).max()


@pytest.mark.parametrize("constraint", sorted(MOMENTS))
def test_each_moment_is_met_within_what_is_allowed(constraint, people, quantity):
    pytest.importorskip("fairlearn")
    words = constraint.replace("_", " ")
    name = "Red-LC" if constraint == "demographic_parity" else f"Red-LC ({words})"
    model = people.fitted(name)
    assert quantity(model, "largest difference of a group's rate") < 0.012
    assert quantity(model, "largest difference allowed") == 0.01
    # Answers are drawn: four standard deviations of a rate among the smallest cells.
    assert violation(constraint, people, people.answers(name)) < 0.06
    if constraint != "error_rate_parity":
        assert violation(constraint, people, people.answers("LC")) > 0.06


def test_a_reduction_answers_as_fairlearns_class_does(people):
    """How far the constraint may be missed is the moment's bound; 1/eps is the multipliers' alone."""
    reductions = pytest.importorskip("fairlearn.reductions")
    model = ReductionClassifier(eps=0.05, random_state=7)
    model.fit(people.X, people.y, sensitive_features=people.s)
    frame = people.X.set_axis([f"x{i}" for i in range(people.X.shape[1])], axis=1)
    Z = model._encoded(frame)
    theirs = reductions.ExponentiatedGradient(
        LogisticRegression(max_iter=1000),
        reductions.DemographicParity(difference_bound=0.05),
        eps=0.05,
    )
    with warnings.catch_warnings(action="ignore"):
        theirs.fit(Z, people.high.astype(int), sensitive_features=people.sides)
    answers = model.predict(people.X) == ">50K"
    np.testing.assert_array_equal(answers, theirs.predict(Z, random_state=7) == 1)
    assert 0.05 < abs(people.gap(answers)) < 0.13


def test_grid_search_trades_errors_against_the_constraint(people, quantity):
    pytest.importorskip("fairlearn")
    before, after = (
        violation("demographic_parity", people, people.answers(one)) for one in ("LC", "Grid-LC")
    )
    assert after < 0.4 * before
    assert quantity(people.fitted("Grid-LC"), "largest difference") == pytest.approx(after)
    careless = GridSearchClassifier(constraint_weight=0.0, grid_size=5)
    careless.fit(people.X, people.y, sensitive_features=people.s)
    assert violation("demographic_parity", people, careless.predict(people.X) == ">50K") > after


def test_a_constraint_that_is_none_is_named(people):
    pytest.importorskip("fairlearn")
    for kind in (ReductionClassifier, GridSearchClassifier):
        with pytest.raises(InputError, match=r"constraint: one of .*'parity' found"):
            kind(constraint="parity").fit(people.X, people.y, sensitive_features=people.s)
    with pytest.raises(InputError, match=r"^eps: more than 0 is needed, 0 found"):
        ReductionClassifier(eps=0).fit(people.X, people.y, sensitive_features=people.s)
