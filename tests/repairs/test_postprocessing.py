"""Repairs of answers, by hand from the scores and the numbers in their reports."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Perceptron
from sklearn.tree import DecisionTreeClassifier

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.repairs import (
    CalibratedOddsClassifier,
    EqualizedOddsClassifier,
    RejectOptionClassifier,
    ThresholdClassifier,
)


@pytest.fixture
def learned(people, monkeypatch):
    """A repair fitted anew, with the scores that it was learned from."""

    def fit(model):
        seen = []
        adjust = type(model)._adjust
        monkeypatch.setattr(
            type(model),
            "_adjust",
            lambda self, *given: [seen.extend(given), *adjust(self, *given)][1:],
        )
        model.fit(people.X, people.y, sensitive_features=people.s)
        return model, seen[0]

    return fit


def test_thresholds_equalise_rates(people):
    assert people.gap(people.answers("LC")) > 0.25
    assert abs(people.gap(people.answers("Threshold-LC"))) < 0.04


def test_reject_option_flips_only_within_the_margin(people, learned, quantity):
    """There, women all get the label that they have less often, and men all get the other."""
    pytest.importorskip("aif360")
    model, scores = learned(people.made("Reject-LC"))
    threshold, margin = quantity(model, "threshold"), quantity(model, "margin around")
    within = (scores > threshold - margin) & (scores <= threshold + margin)
    expected = np.where(within, people.sides == 0, scores > threshold)
    np.testing.assert_array_equal(model._answers(scores, people.sides), expected)
    assert abs(people.gap(expected)) <= 0.05 < people.gap(scores > threshold)
    for side, group, label in ((0, "Female", ">50K"), (1, "Male", "<=50K")):
        share = quantity(model, "share of rows within it", group, label)
        assert share == pytest.approx(within[people.sides == side].mean())


def test_equalized_odds_by_the_probabilities_told(people, learned, quantity):
    """Rates of ">50K" among those who have it, and among those who have not, are the same twice."""
    pytest.importorskip("aif360")
    model, scores = learned(people.made("EqOdds-LC"))
    answers = scores > 0.5
    chance = np.zeros(len(scores))
    for side, group in enumerate(("Female", "Male")):
        for answer, label in enumerate(("<=50K", ">50K")):
            rows = (people.sides == side) & (answers == answer)
            chance[rows] = quantity(model, "probability of '>50K'", group, label)
    for among in (people.high, ~people.high):
        assert abs(people.gap(answers, among)) > 0.05
        assert people.gap(chance, among) == pytest.approx(0, abs=1e-8)
        # The rows that are changed are drawn.
        assert abs(people.gap(model._answers(scores, people.sides), among)) < 0.06


def test_calibrated_odds_equalise_a_cost(people, learned, quantity):
    """Some rows of the group whose errors cost less get its base rate as their score."""
    pytest.importorskip("aif360")
    model, scores = learned(people.made("CalOdds-LC"))
    costs = []
    for side, group in enumerate(("Female", "Male")):
        own, true = scores[people.sides == side], people.high[people.sides == side]
        base = true.mean()
        assert quantity(model, "^base rate", group) == pytest.approx(base)
        missed = np.array([(1 - own[true]).mean(), 1 - base])
        alarms = np.array([own[~true].mean(), base])
        share = quantity(model, "given the base rate", group)
        costs.append((base * missed + (1 - base) * alarms) @ [1 - share, share])
    assert costs[0] == pytest.approx(costs[1])


def test_repairs_learn_from_scores_of_rows_not_fitted_to(people, quantity):
    """A tree that knows its rows by heart makes no errors there: there would be nothing to repair."""
    pytest.importorskip("aif360")
    model = EqualizedOddsClassifier(DecisionTreeClassifier())
    model.fit(people.X, people.y, sensitive_features=people.s)
    assert (model._model.predict(model._encoded(as_columns(people.X))) == people.high).mean() > 0.99
    assert quantity(model, "share of answers changed", "Male") > 0.05


def as_columns(X):
    return X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)


def test_what_aif360_cannot_solve_is_refused(people):
    pytest.importorskip("aif360")
    given = {"sensitive_features": people.s}
    sure = DecisionTreeClassifier()  # Its scores are 0 and 1: one threshold is as good as another.
    narrow = RejectOptionClassifier(sure, metric_bound=1e-6, num_class_thresh=3, num_ROC_margin=2)
    with pytest.raises(InputError, match=r"metric_bound: no threshold and margin .* AIF360 then"):
        narrow.fit(people.X, people.y, **given)
    with pytest.raises(InputError, match=r"metric_name: one of .*'Parity' found"):
        RejectOptionClassifier(metric_name="Parity").fit(people.X, people.y, **given)
    with pytest.raises(
        InputError, match=r"cost_constraint: 'fnr' cannot be equalised.* 1\.\d+ for"
    ):
        CalibratedOddsClassifier(cost_constraint="fnr").fit(people.X, people.y, **given)
    with pytest.raises(InputError, match=r"cost_constraint: one of .*'odds' found"):
        CalibratedOddsClassifier(cost_constraint="odds").fit(people.X, people.y, **given)


def test_what_scores_need_is_named(people):
    pytest.importorskip("fairlearn")
    with pytest.raises(InputError, match=r"estimator: ThresholdClassifier .* Perceptron has no"):
        ThresholdClassifier(Perceptron()).fit(people.X, people.y, sensitive_features=people.s)
    few = np.where(np.arange(len(people.y)) == 0, "alone", people.s)
    with pytest.raises(InputError, match="sensitive_features: every group needs two rows of each"):
        ThresholdClassifier().fit(people.X, people.y, sensitive_features=few)


@pytest.mark.parametrize("given", ["equal", None, ["demographic_parity"], np.array(["a", "b"])])
def test_thresholds_name_the_constraints_they_know(people, given):
    model = ThresholdClassifier(constraint=given)
    known = "^constraint: one of 'demographic_parity', 'equalized_odds', .*_rate_parity' expected, "
    with pytest.raises(InputError, match=known):
        model.fit(people.X, people.y, sensitive_features=people.s)


def test_the_constraints_are_those_of_fairlearn():
    pytest.importorskip("fairlearn")
    from fairlearn.postprocessing import _threshold_optimizer

    from mdfa_fairness_plugin.repairs import postprocessing

    theirs = {*_threshold_optimizer.SIMPLE_CONSTRAINTS, "equalized_odds"}
    assert theirs == set(postprocessing._CONSTRAINTS)
