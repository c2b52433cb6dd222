"""Predictions that are numbers or of several classes, against the audit and Fairlearn's means."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.events import NUMBER_EVENTS, happening
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditWarning
from mdfa_fairness_plugin.fairlearn import (
    EVENTS,
    audit_predictions,
    unfairness_certificate,
    worst_case,
    worst_case_difference,
    worst_case_ratio,
    worst_case_violation,
)
from mdfa_fairness_plugin.fairlearn.case import harm_of

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

N = 500
QUICK = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}


class Wages:
    """What a model predicts is too low by 2 for women of a high grade, and right for others."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.X = pd.DataFrame({"grade": rng.uniform(-1, 1, N), "age": rng.uniform(20, 60, N)})
        self.sex = pd.Series(rng.choice(["f", "m"], N), name="sex")
        fair = 10 + 3 * self.X["grade"]
        self.true = (fair + rng.normal(0, 1, N)).rename("wage")
        self.low = ((self.sex == "f") & (self.X["grade"] > 0)).to_numpy()
        self.predicted = (fair + rng.normal(0, 0.5, N) - 2 * self.low).rename("predicted")
        # People of one score, of whom the same women turn out better than it says.
        self.score = (fair + rng.normal(0, 0.5, N)).rename("score")
        self.better = self.true + 2 * self.low
        self.weight = rng.uniform(0.5, 2.0, N)
        self.people = {"sensitive_features": self.sex, "audit_features": self.X, **QUICK}


@pytest.fixture(scope="module")
def wages():
    return Wages()


def by_sex(wages, values, rows=slice(None)):
    """Fairlearn's weighted means."""
    return metrics.MetricFrame(
        metrics=lambda _, values, sample_weight: np.average(values, weights=sample_weight),
        y_true=values[rows],
        y_pred=values[rows],
        sensitive_features=wages.sex[rows],
        sample_params={"sample_weight": wages.weight[rows]},
    ).by_group


@pytest.mark.parametrize("event", [*NUMBER_EVENTS, "calibration of numbers"])
def test_an_event_is_the_audit_of_its_column_and_has_fairlearns_means(wages, event):
    X, true, predicted = wages.X, wages.true, wages.predicted
    numbers = {"outcome_type": "numeric", "favorable": "low"}
    asked, own = {"event": event.split()[0]}, numbers
    if event == "score":
        values, own = predicted, numbers | {"favorable": "high"}
    elif event == "residual":
        values = true - predicted
    elif event == "absolute_error":
        values = abs(true - predicted)
    elif event == "overprediction":
        values, own = (predicted > true).astype(int), {"favorable_label": 1}
    else:
        true, predicted = wages.better, wages.score
        X = X.assign(score=predicted)
        values, own = true, numbers | {"decision_inputs": "score"}
        asked |= {"outcome_type": "numeric"}
        if event == "calibration":
            true = values = (true > 11).astype(int)
            asked["outcome_type"] = "auto"
            own = {"favorable_label": 0, "decision_inputs": "score"}
    how = {"sample_weight": wages.weight, "balance": "none"}
    found = audit_predictions(true, predicted, **asked, **how, **wages.people)
    direct = mdfa.audit(X, values, sensitive_features=wages.sex, **how, **own, **QUICK)
    drop = ["outcome", "reason"]
    pd.testing.assert_frame_equal(
        found.to_frame().drop(columns=drop), direct.to_frame().drop(columns=drop), rtol=1e-12
    )
    assert found.worst_harm.difference == direct.worst_harm.difference
    assert event == "absolute_error" or found.worst_harm.group == "f"
    searched = {"overprediction": "overprediction", "calibration": "positive"}.get(event, "more")
    for one in (own for own in found.violations if own.outcome == searched):
        other = "m" if one.group == "f" else "f"
        for place, rows in ((one.population, one.held_out), (one, one.membership & one.held_out)):
            theirs = by_sex(wages, values, rows)
            assert place.rates == pytest.approx([theirs[one.group], theirs[other]], abs=1e-12)
    assert found.provenance["event"] == asked["event"]


def test_events_of_numbers_by_hand():
    true, predicted = np.array([1.0, 2.0, 3.0, np.nan]), np.array([3.0, 2.0, 2.5, 1.0])
    given = {"missing_outcome": "exclude"}

    def told(event, y_true=true, **more):
        return happening(y_true, predicted, event, given | more)

    np.testing.assert_array_equal(told("score", None).outcome, predicted)
    np.testing.assert_array_equal(told("residual").outcome, [-2.0, 0.0, 0.5, np.nan])
    np.testing.assert_array_equal(told("absolute_error").outcome, [2.0, 0.0, 0.5, np.nan])
    over = told("overprediction").outcome.tolist()
    assert over == ["overprediction", "not overpredicted", "not overpredicted", None]
    same = told("calibration", np.array(["no", "yes", "yes", None], dtype=object) == "yes")
    assert same.outcome.tolist() == ["negative", "positive", "positive", "negative"]
    np.testing.assert_array_equal(same.score, predicted)
    given_too = same.arguments({"decision_inputs": 3})["decision_inputs"]
    assert given_too == [3, "score"]
    numbers = told("calibration", outcome_type="numeric")
    np.testing.assert_array_equal(numbers.outcome, true)


def test_which_end_of_an_event_is_good_follows_from_that_of_the_predictions():
    true, predicted = np.array([0, 1, 1, 0]), np.array([0.2, 0.4, 0.8, 0.1])

    def good(event, end=None, **more):
        given = {"favorable": end} | more
        told = happening(true, predicted, event, given).arguments(given)
        return told.get("favorable", told.get("favorable_label"))

    high = {event: good(event) for event in NUMBER_EVENTS}
    assert high == {
        "score": "high",
        "residual": "low",
        "absolute_error": "low",
        "overprediction": "overprediction",
        "calibration": "negative",
    }
    assert high == {event: good(event, "high") for event in NUMBER_EVENTS}
    assert {event: good(event, "low") for event in NUMBER_EVENTS} == {
        "score": "low",
        "residual": "high",
        "absolute_error": "low",
        "overprediction": "not overpredicted",
        "calibration": "positive",
    }
    assert good("calibration", "high", outcome_type="numeric") == "low"


def test_who_is_underrated_is_found_with_the_size_in_units_of_the_prediction(wages):
    """Two less of about ten among women of a high grade; whichever way it is asked."""
    harm = worst_case(None, wages.predicted, event="score", **wages.people)
    assert (harm.group, harm.reference, harm.outcome, harm.direction) == ("f", "m", "more", "less")
    assert harm.verdict == "violation"
    assert harm.difference == pytest.approx(2, abs=0.4)
    low, high = harm.difference_interval
    assert low < 2 < high
    assert harm.violation.membership[wages.low].mean() > 0.9
    assert harm.rates[1] - harm.rates[0] == pytest.approx(harm.difference)
    assert harm.ratio == pytest.approx(harm.rates[1] / harm.rates[0])
    assert harm.figure("ratio", "worst_case_ratio") == harm.ratio
    with pytest.raises(InputError, match=r"^unfairness_certificate: it is not defined of a number"):
        unfairness_certificate(None, wages.predicted, event="score", **wages.people)
    told = {"event": "residual", **wages.people}
    assert worst_case_difference(wages.true, wages.predicted, **told) == pytest.approx(2, abs=0.5)
    low = worst_case(wages.true, wages.predicted, favorable="low", **told)
    assert (low.group, low.reference, low.outcome, low.direction) == ("m", "f", "more", "less")
    for metric in (worst_case_ratio, worst_case_violation):
        with pytest.raises(InputError, match=rf"^{metric.__name__}: .* means that may be negative"):
            metric(wages.true, wages.predicted, **told)


@pytest.mark.parametrize(
    ("event", "change", "message"),
    [
        ("residual", {"y_true": None}, r"^y_true: None was given; event='residual' compares"),
        ("calibration", {"y_true": None}, r"^y_true: None was given; event='calibration'"),
        ("score", {"y_pred": ["a", "b"] * 4}, r"^y_pred: event='score' needs numbers, and 'a', 'b'"),
        ("residual", {"y_true": ["a", "b"] * 4}, r"^y_true: event='residual' needs numbers"),
        ("selection", {}, r"^y_pred: scores were given .* event='score' to audit the numbers"),
        ("selection", {"y_pred": [1, 2, 3, 1] * 2}, r"^y_pred: 3 different numbers were found: 1, 2"),
        ("selection", {"outcome_type": "numeric"}, r"^outcome_type: .* Use event='score'"),
        ("score", {"outcome_type": "binary"}, r"^outcome_type: 'binary' was given, and event='scor"),
        ("score", {"y_pred": [np.inf, *range(7)]}, r"^y_pred: 1 of 8 outcomes are infinite"),
        ("residual", {"y_true": [np.nan, *range(7)]}, r"^y_true: 1 of 8 outcomes are missing"),
        ("score", {"favorable_label": 1}, r"^favorable_label: event='score' is of numbers. Say"),
        ("score", {"favorable": "up"}, r"^favorable: one of 'high', 'low' expected, 'up' found"),
        ("calibration", {}, r"^y_true: scores were given"),
        ("calibration", {"y_true": [1, 2, 3, 4] * 2}, r"^pos_label: .* which of them the score tells, "
         r"as in pos_label=4; or compare amounts with outcome_type='numeric'\.$"),
        ("selection", {"y_pred": list("abcd") * 2, "ordered": list("abcd"), "favorable_label": "a"},
         r"^favorable_label: of an order say"),
        ("no", {}, r"^event: one of 'selection', 'error'.*'calibration' expected, 'no' found"),
    ],
)  # fmt: skip
def test_what_cannot_be_audited_is_refused(event, change, message):
    rows = np.arange(8)
    given = {"y_true": rows + 0.5, "y_pred": rows * 0.3} | change
    true, predicted = given.pop("y_true"), given.pop("y_pred")
    with pytest.raises(InputError, match=message):
        worst_case(
            true, predicted, event=event, sensitive_features=rows % 2, audit_features=rows[:, None],
            **given,
        )  # fmt: skip


def test_counts_are_compared_per_exposure_by_index(wages):
    years = pd.Series(np.random.default_rng(1).integers(1, 5, N))
    counts = (wages.predicted * years).round()
    told = audit_predictions(
        None, counts, event="score", exposure=years.sample(frac=1, random_state=0), **wages.people
    )
    rows = {"sensitive_features": wages.sex, "exposure": years, "outcome_type": "numeric"}
    alone = mdfa.audit(wages.X, counts, favorable="high", **rows, **QUICK)
    for one, other in zip(told.violations, alone.violations, strict=True):
        assert (one.measure, one.key) == ("ratio", other.key)
        assert one.delta == other.delta


def test_a_feature_called_as_the_score_is_refused(wages):
    X = wages.X.assign(score=1)
    asked = wages.people | {"audit_features": X, "outcome_type": "numeric"}
    with pytest.raises(InputError, match=r"^audit_features: it has a column 'score' already|^aud"):
        worst_case(wages.true, wages.predicted, event="calibration", **asked)


def test_predictions_that_are_all_the_same_have_no_figure(wages):
    with pytest.warns(NothingToAuditWarning, match="y_pred: every one of the 500 outcomes is 3"):
        value = worst_case_difference(None, np.full(N, 3.0), event="score", **wages.people)
    assert np.isnan(value)
    told = {"event": "overprediction", **wages.people}
    with pytest.warns(NothingToAuditWarning, match="'overprediction': nothing to audit"):
        value = worst_case_difference(wages.true, wages.true + 1, **told)
    assert np.isnan(value)


def test_a_frame_of_regression_metrics_is_fairlearns(wages):
    from mdfa_fairness_plugin.fairlearn import MDFAMetricFrame

    own = {"mae": mean_absolute_error, "r2": r2_score, "mse": mean_squared_error}
    shown = {"metrics": own, "y_true": wages.true, "y_pred": wages.predicted}
    asked = shown | {"sensitive_features": wages.sex}
    frame = MDFAMetricFrame(**asked, audit_features=wages.X, event="residual", **QUICK)
    plain = metrics.MetricFrame(**asked)
    pd.testing.assert_frame_equal(frame.by_group, plain.by_group)
    pd.testing.assert_series_equal(frame.overall, plain.overall)
    pd.testing.assert_series_equal(frame.difference(), plain.difference())
    assert frame.verdict == "violation"
    inside = frame.worst_case().violation.membership
    for level, rows in (("inside", inside), ("outside", ~inside)):
        theirs = metrics.MetricFrame(**{
            name: value if name == "metrics" else value[rows] for name, value in asked.items()
        })  # fmt: skip
        pd.testing.assert_frame_equal(
            frame.by_subgroup.loc[level], theirs.by_group, check_names=False
        )
    gap = frame.subgroup_difference()["mae"]
    assert gap["inside"] > frame.difference()["mae"] > gap["outside"]
    with pytest.raises(InputError, match=r"^y_pred: scores were given, .* event='score'"):
        MDFAMetricFrame(**asked, audit_features=wages.X, **QUICK)


def test_each_of_several_classes_is_audited(wages):
    """As by the audit itself; which is good has to be said for a single figure."""
    grades = pd.Series(np.array(["low", "middle", "high"])[np.digitize(wages.predicted, [9, 11])])
    people = {"sensitive_features": wages.sex}
    found = audit_predictions(None, grades, **wages.people)
    direct = mdfa.audit(wages.X, grades, **people, **QUICK)
    pd.testing.assert_frame_equal(found.to_frame(), direct.to_frame())
    assert set(found.outcome_labels) == {"low", "middle", "high"}
    with pytest.raises(
        InputError, match=r"^favorable_label: the labels are 'high', 'low', 'middle"
    ):
        worst_case_ratio(None, grades, **wages.people)
    with pytest.raises(InputError, match=r"^favorable_label: the labels are"):
        harm_of(found)  # as a frame does
    harm = worst_case(None, grades, favorable_label="high", outcomes="high", **wages.people)
    assert (harm.group, harm.outcome, harm.direction) == ("f", "high", "less often")
    order = ["low", "middle", "high"]
    cuts = ["below high"]
    asked = {"ordered": order, "outcomes": cuts, **wages.people}
    ranked = audit_predictions(None, grades, **asked)
    direct = mdfa.audit(
        wages.X, grades, ordered=order, outcomes=cuts, favorable="high", **people, **QUICK
    )
    pd.testing.assert_frame_equal(ranked.to_frame(), direct.to_frame())
    harm = ranked.worst_harm
    assert (harm.outcome, harm.violation.outcome, harm.group) == ("high", "below high", "f")
    assert ranked.worst_harm.ratio == direct.worst_harm.ratio


def test_labels_have_a_difference_too(case):
    """Of the favourable rates in the same region."""
    harm = worst_case(None, case.y_pred, **case.arguments)
    assert harm.difference == pytest.approx(harm.rates[1] - harm.rates[0])
    assert set(NUMBER_EVENTS).isdisjoint(EVENTS)


def test_slopes_have_a_difference_alone(wages):
    people = {**wages.people, "sensitive_features": wages.X["age"], "sensitive_type": "numeric"}
    people["audit_features"] = wages.X[["grade"]]
    chosen = (wages.predicted > 10).astype(int)
    harm = worst_case(None, chosen, **people)
    assert np.isfinite(harm.figure("difference", "worst_case_difference"))
    for name in ("ratio", "delta", "gamma"):
        with pytest.raises(InputError, match="metric: it is not defined of a slope of a sensitive"):
            harm.figure(name, "metric")
