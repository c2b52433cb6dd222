"""``MDFAuditor.score``: how well differences are predicted, never how large they are."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError

CHEAP = {"n_splits": 2, "n_repeats": 1}


@pytest.fixture(scope="module")
def data():
    return mdfa.datasets.make_synthetic(1200, delta=2.0, imbalance=0.2, random_state=4)


def fitted(data, **arguments):
    auditor = mdfa.MDFAuditor(**({"learner": "tree"} | CHEAP | arguments))
    return auditor.fit(data.X, data.y, sensitive_features=data.sensitive_features)


def test_score_is_the_loss_of_the_residual_regression_on_the_rows_given(data):
    """With the user's own nuisances, worked with plain numpy; a constant difference."""
    n = len(data.y)
    auditor = fitted(
        data,
        learner=DummyRegressor(strategy="constant", constant=0.25),
        propensity=_Known(0.4),
        outcome_probability=_Known(0.3),
        groups=[1],
        outcomes=[1],
        balance="overlap",
    )
    weight = np.linspace(0.5, 2.0, n)
    # Models are of the rarer side and outcome, and the difference is theirs.
    s, y = np.asarray(data.sensitive_features) == 1, np.asarray(data.y) == 1
    s, y = (one if one.mean() < 0.5 else ~one for one in (s, y))
    by_hand = ((y - 0.3) - (s - 0.4) * 0.25) ** 2
    told = auditor.score(data.X, data.y, data.sensitive_features, weight)
    assert told == pytest.approx(-np.average(by_hand, weights=weight))


class _Known(sklearn.base.ClassifierMixin, sklearn.base.BaseEstimator):
    """Says the same of everybody."""

    def __init__(self, p=0.5):
        self.p = p

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.p, self.p], (len(X), 1))


def test_what_predicts_differences_scores_higher_than_one_for_everybody(data):
    new = mdfa.datasets.make_synthetic(1200, delta=2.0, imbalance=0.2, random_state=5)
    rows = (new.X, new.y, new.sensitive_features)
    found = fitted(data, learner=DecisionTreeRegressor(min_samples_leaf=60)).score(*rows)
    nobody = fitted(data, learner=DummyRegressor()).score(*rows)
    assert nobody < found <= 0


def test_score_does_not_depend_on_which_search_is_the_worst(data):
    """Sides and outcomes of two groups share one regression."""
    rows = (data.X, data.y, data.sensitive_features)
    scores = [
        fitted(data, groups=[group], outcomes=[outcome], learner=DummyRegressor()).score(*rows)
        for group, outcome in ((1, 1), (-1, 0))
    ]
    assert scores[0] == pytest.approx(scores[1])


def test_rows_are_paired_by_index_and_those_without_a_group_do_not_count(data):
    auditor = fitted(data, learner=DummyRegressor())
    whole = auditor.score(data.X, data.y, data.sensitive_features)
    order = np.random.default_rng(0).permutation(len(data.y))
    shuffled = data.sensitive_features.iloc[order]
    assert auditor.score(data.X, data.y, shuffled) == pytest.approx(whole)
    unknown = pd.Series(data.sensitive_features, dtype=object).where(data.X.index < 600)
    half = auditor.score(data.X[:600], data.y[:600], data.sensitive_features[:600])
    assert auditor.score(data.X, data.y, unknown) == pytest.approx(half)


def test_a_grid_is_searched_by_how_well_differences_are_predicted(data):
    """The better learner is chosen although the other finds no violation at all, or a larger one."""
    with sklearn.config_context(enable_metadata_routing=True):
        auditor = mdfa.MDFAuditor(**CHEAP)
        auditor.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=True)
        learners = [DummyRegressor(), DecisionTreeRegressor(min_samples_leaf=60)]
        search = GridSearchCV(auditor, {"learner": learners}, cv=2, refit=False)
        search.fit(data.X, data.y, sensitive_features=data.sensitive_features)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert isinstance(search.best_params_["learner"], DecisionTreeRegressor)


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.ModelDependenceWarning")
def test_errors_without_a_common_measure_are_refused(data):
    three = np.where(data.X.iloc[:, 0] > 0.2, "c", np.where(data.sensitive_features == 1, "a", "b"))
    auditor = mdfa.MDFAuditor(learner="tree", **CHEAP).fit(
        data.X.iloc[:, 1:], data.y, sensitive_features=three
    )
    with pytest.raises(InputError, match="errors of several comparisons"):
        auditor.score(data.X.iloc[:, 1:], data.y, three)
    one = mdfa.MDFAuditor(learner="tree", groups=["a"], reference_group="b", **CHEAP).fit(
        data.X.iloc[:, 1:], data.y, sensitive_features=three
    )
    assert one.score(data.X.iloc[:, 1:], data.y, three) < 0
    with pytest.raises(InputError, match=r"^solver: this audit fitted no residual regression"):
        fitted(data, learner="logistic", solver="level_set").score(
            data.X, data.y, data.sensitive_features
        )


def test_what_a_score_needs(data):
    auditor = fitted(data, learner=DummyRegressor())
    with pytest.raises(InputError, match=r"^sensitive_features: None was given"):
        auditor.score(data.X, data.y)
    with pytest.raises(InputError, match=r"^y: 2 was not among the outcomes of the fit: 0, 1"):
        auditor.score(data.X, data.y + 1, data.sensitive_features)
    with pytest.raises(InputError, match="no row has an outcome and a group"):
        auditor.score(data.X, data.y, np.full(len(data.y), 7))
    with pytest.raises(
        InputError, match=r"^sensitive_features: 3 rows were given, but X has 1,200"
    ):
        auditor.score(data.X, data.y, [1, 1, -1])
    for wrong, what in ((math.nan, "missing"), (math.inf, "infinite"), (-1.0, "negative")):
        weight = np.r_[wrong, np.ones(len(data.y) - 1)]
        with pytest.raises(InputError, match=f"^sample_weight: 1 of 1,200 weights are {what}"):
            auditor.score(data.X, data.y, data.sensitive_features, weight)


@pytest.mark.parametrize("outcome", ["less", "more"])
def test_numbers_are_scored_in_their_units_squared(data, outcome):
    """As those of labels by hand: models see the number in its standard deviations."""
    wage = 20 + 5 * np.asarray(data.y) + np.random.default_rng(0).normal(size=len(data.y))
    known = {
        "propensity": _Known(0.4),
        "learner": DummyRegressor(strategy="constant", constant=0.25),
    }
    auditor = mdfa.MDFAuditor(
        outcome_type="numeric",
        outcome_probability=DummyRegressor(strategy="constant", constant=3.0),
        outcomes=[outcome],
        groups=[1],
        **(CHEAP | known),
    ).fit(data.X, wage, sensitive_features=data.sensitive_features)
    s, unit = np.asarray(data.sensitive_features) == 1, wage.std()
    s = s if s.mean() < 0.5 else ~s
    new = wage[::-1]
    by_hand = ((new / unit - 3.0) - (s - 0.4) * 0.25) ** 2 * unit**2
    told = auditor.score(data.X, new, data.sensitive_features)
    assert told == pytest.approx(-by_hand.mean(), rel=1e-9)
    shorter = auditor.score(data.X[:300], new[:300], data.sensitive_features[:300])
    assert shorter == pytest.approx(-by_hand[:300].mean(), rel=1e-9)
    assert len(auditor.predict(data.X[:7])) == 7
    with pytest.raises(InputError, match=r"^y: outcome_type='numeric' needs numbers"):
        auditor.score(data.X, np.where(new > 22, "a", "b"), data.sensitive_features)


def test_ordered_outcomes_are_scored_by_rank_or_by_one_cut(data):
    chance = np.random.default_rng(0).integers(0, 2, len(data.y))
    grade = np.array(["low", "middle", "high"])[np.asarray(data.y) + chance]
    order = {"ordered": ["low", "middle", "high"]}
    rows = [own[:600] for own in (data.X, grade, data.sensitive_features)]
    grade, known = rows[1], {"propensity": _Known(), "learner": DummyRegressor()}
    one = {"groups": [1], **known, **CHEAP, **order}
    scores = {
        which: mdfa.MDFAuditor(outcomes=[which], **one)
        .fit(*rows[:2], sensitive_features=rows[2])
        .score(*rows)
        for which in ("higher rank", "lower rank", "high", "below high")
    }
    assert scores["higher rank"] == pytest.approx(scores["lower rank"])
    assert scores["high"] == pytest.approx(scores["below high"])
    # Features tell some of the variance of the ranks, and of the answer.
    rank = np.select([grade == "low", grade == "middle"], [0, 1], 2)
    for which, values in (("higher rank", rank), ("high", grade == "high")):
        assert 0.3 * values.var() < -scores[which] < values.var()
    with pytest.raises(InputError, match="errors of several comparisons"):
        mdfa.MDFAuditor(**one).fit(*rows[:2], sensitive_features=rows[2]).score(*rows)


def test_a_place_among_the_numbers_of_the_fit_is_not_scored(data):
    auditor = fitted(data, outcome_type="numeric", robust="rank", learner=DummyRegressor())
    with pytest.raises(InputError, match=r"^robust: 'rank' compares numbers by their place"):
        auditor.score(data.X, data.y, data.sensitive_features)


def test_nothing_measured_has_no_score(data):
    few = mdfa.MDFAuditor(min_group_size=700, **CHEAP)
    with pytest.warns(mdfa.exceptions.MDFAWarning):
        few.fit(data.X, data.y, sensitive_features=data.sensitive_features)
    assert math.isnan(few.score(data.X, data.y, data.sensitive_features))
