"""Models that predict numbers, grades or one of several classes, compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, r2_score

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.comparison import measure_again
from mdfa_fairness_plugin.describe.wording import rounded
from mdfa_fairness_plugin.exceptions import InputError

N = 300
FAST = {"learner": "tree", "n_folds": 2, "n_repeats": 1, "random_state": 0, "n_splits": 0}
ORDER = ["low", "mid", "high"]


@pytest.fixture(scope="module")
def people():
    data = mdfa.datasets.make_synthetic(N, delta=1.0, imbalance=0.3, random_state=0)
    rng = np.random.default_rng(0)
    fair = np.maximum(100.0 + 20.0 * data.X.iloc[:, 0].to_numpy() + rng.normal(0, 5, N), 1.0)
    less = (np.asarray(data.sensitive_features) == 1) & data.region
    models = {"fair": fair, "worse": np.maximum(fair - 16.0 * less, 0.5)}
    return data.X, models, data.sensitive_features, fair + rng.normal(0, 5, N)


def graded(numbers):
    return pd.cut(numbers, [-np.inf, 90, 110, np.inf], labels=ORDER).astype(str)


def compared(people, models, **params):
    X, _, s, _ = people
    return mdfa.compare(X, models, sensitive_features=s, **FAST | params)


@pytest.fixture(scope="module")
def numbers(people):
    asked = {"outcome_type": "numeric", "y_true": people[3], "metric": "r2"}
    return compared(people, people[1], n_splits=1, **asked)


def test_rows_are_what_audits_say(people, numbers):
    X, models, s, truth = people
    kept = {name: own for name, own in FAST.items() if name not in ("n_folds", "n_splits")}
    alone = mdfa.audit(
        X, models["worse"], sensitive_features=s, outcome_type="numeric", n_splits=2, **kept
    )
    for own in alone.violations:
        row = numbers.row("worse", own.key)
        assert row.effect == pytest.approx(own.difference)
        assert row.effect_interval == pytest.approx(own.difference_interval)
        assert row.everybody_difference == pytest.approx(own.population.difference)
        assert row.verdict == own.verdict
        assert numbers.transfer("worse", "worse", own.key).gap == row.difference
    assert row.mean_absolute_error == pytest.approx(mean_absolute_error(truth, models["worse"]))
    assert row.r2 == pytest.approx(r2_score(truth, models["worse"]))
    means = [models["worse"][np.asarray(s) == side].mean() for side in (1, -1)]
    assert numbers.row("worse", own.key).selection.difference == pytest.approx(means[0] - means[1])


def test_a_planted_difference_is_found_and_followed(numbers):
    worst = numbers.worst("worse")
    assert worst.verdict == "violation"
    assert worst.search.outcome in ("less", "more")
    there = numbers.transfer("worse", "fair", worst.search)
    assert there.difference_interval[0] > 0
    (between,) = (
        own
        for own in numbers.differences
        if own.quantity == "worst case" and own.search == worst.search
    )
    assert between.difference == pytest.approx(
        worst.difference - numbers.row("fair", worst.search).difference
    )
    error = numbers.differences[-1]
    assert error.quantity == "mean absolute error"
    frame = numbers.difference_frame()
    assert frame["times"].isna().all()
    assert set(frame["quantity"]) == {
        "worst case", "everybody", "selection rate", "mean absolute error",
    }  # fmt: skip
    text = numbers.summary()
    for never in (" times", "percentage points", "TPR", "gamma", "nan", "unknown"):
        assert never not in text


def test_units_are_no_matter(people, numbers):
    _, models, _, truth = people
    large = {name: 1000.0 * own for name, own in models.items()}
    other = compared(people, large, outcome_type="numeric", y_true=1000.0 * truth, n_splits=1)
    for frame in ("to_frame", "transfer_frame", "difference_frame"):
        one, two = (getattr(own, frame)() for own in (numbers, other))
        for name in ("difference", "difference_low", "difference_high", "mean_absolute_error"):
            if name in one:
                np.testing.assert_allclose(two[name], 1000.0 * one[name], rtol=1e-6)
    np.testing.assert_allclose(other.split_delta, 1000.0 * numbers.split_delta, rtol=1e-6)


def test_counts_per_exposure_are_compared_as_they_are_audited(people):
    X, models, s, truth = people
    years = np.random.default_rng(1).integers(1, 5, N)
    counts = np.round(models["worse"] * years / 10)
    given = {"outcome_type": "numeric", "exposure": years}
    result = compared(people, {"a": counts}, y_true=np.round(truth * years / 10), **given)
    kept = {name: own for name, own in FAST.items() if name not in ("n_folds", "n_splits")}
    alone = mdfa.audit(X, counts, sensitive_features=s, n_splits=2, **given, **kept)
    for own in alone.violations:
        assert result.row("a", own.key).effect == pytest.approx(own.delta)
    error = np.average(np.abs(counts - np.round(truth * years / 10)) / years, weights=years)
    assert result.rows[0].mean_absolute_error == pytest.approx(error)
    with pytest.raises(InputError, match="exposure: it divides counts"):
        compared(people, {"a": graded(models["worse"])}, ordered=ORDER, exposure=years)


def test_two_models_that_answer_alike_differ_by_nothing(people):
    own = people[1]["worse"]
    result = compared(people, {"a": own, "b": own}, outcome_type="numeric", measure="ratio")
    for difference in result.differences[:-1]:
        assert difference.difference == pytest.approx(0.0, abs=1e-12)
        assert difference.interval == pytest.approx((0.0, 0.0), abs=1e-12)
    for one in result.transfers:
        assert one.delta == pytest.approx(result.row("a", one.search).delta, abs=1e-9)
    less = next(one for one in result.rows if one.search.outcome == "less")
    group, others = less.selection.rates
    assert less.selection.ratio == pytest.approx(others / group)


def test_grades_are_compared_by_cuts_and_ranks(people):
    models = {name: graded(own) for name, own in people[1].items()}
    truth = graded(people[3])
    result = compared(people, models, ordered=ORDER, y_true=truth, metric="accuracy")
    assert [key.outcome for key in result.searches[:6]] == [
        "mid or higher", "low", "high", "below high", "lower rank", "higher rank",
    ]  # fmt: skip
    cut = next(key for key in result.searches if key.outcome == "low")
    row = result.row("worse", cut)
    s = np.asarray(people[2])
    rates = [(models["worse"][s == side] == "low").mean() for side in (cut.group, -cut.group)]
    assert row.selection.rates == pytest.approx(tuple(rates))
    true = truth == "low"
    rates = [
        (models["worse"][(s == side) & true] == "low").mean() for side in (cut.group, -cut.group)
    ]
    assert row.true_positive.rates == pytest.approx(tuple(rates))
    rank = next(key for key in result.searches if key.outcome == "lower rank")
    own = result.audits["worse"].violations[result.searches.index(rank)]
    assert result.row("worse", rank).difference == own.difference
    assert np.isnan(result.row("worse", rank).true_positive.ratio)
    assert result.summary()
    few = {"fair": models["fair"]} | {
        "never low": np.where(models["fair"] == "low", "mid", models["fair"])
    }
    reason = compared(people, few, ordered=ORDER).worst("never low").reason
    assert reason == "it gives nobody 'low', which the order has"


def test_each_of_several_classes_is_compared_if_that_is_said(people):
    models = {name: graded(own) for name, own in people[1].items()}
    result = compared(people, models, outcome_type="multiclass")
    assert {key.outcome for key in result.searches} == set(ORDER)
    with pytest.raises(InputError, match="of more say outcome_type='multiclass'"):
        compared(people, models)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"metric": "accuracy"}, "metric: 'r2', 'neg_mean_absolute_error' or a function"),
        ({"metric": "r2", "scores": {}}, "scores: models that predict numbers have none"),
        ({"metric": "r2", "y_true": None}, "y_true: a metric says how well models do"),
        ({"exposure": [0] * N}, "exposure: 300 of 300 values are no positive number"),
    ],
)
def test_what_says_nothing_of_numbers_is_refused(people, wrong, message):
    with pytest.raises(InputError, match=message):
        compared(people, people[1], **{"outcome_type": "numeric", "y_true": people[3], **wrong})


def test_a_model_that_gives_everybody_the_same_is_measured_elsewhere(people):
    models = {"worse": people[1]["worse"], "flat": np.full(N, 7.0)}
    result = compared(people, models, outcome_type="numeric")
    flat = result.worst("flat")
    assert flat.reason == f"every one of the {N} outcomes is 7"
    worst = result.worst("worse").search
    assert result.transfer("worse", "flat", worst).gap == pytest.approx(0.0, abs=1e-12)


def test_a_matrix_of_differences(numbers):
    matrix = numbers.transfer_matrix()
    assert matrix.loc["worse", "worse"] == numbers.worst("worse").difference
    assert matrix.loc["worse", "fair"] < matrix.loc["worse", "worse"]
    assert "worst differences" in repr(numbers)
    assert numbers.to_html()


def test_a_difference_found_before_is_measured_again_on_new_rows(people):
    X, models, s, _ = people
    half = np.arange(N) % 2 == 0
    kept = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "outcome_type": "numeric"}
    kept["decision_inputs"] = ["x1"]
    s = np.asarray(s)
    old = mdfa.audit(X[half], models["worse"][half], sensitive_features=s[half], **kept)
    rows = {"X": X[~half], "y": models["worse"][~half], "sensitive_features": s[~half]}
    again = measure_again(old, **rows, **kept)
    (own, *_) = again.answers
    assert own.measure == "difference"
    assert own.difference_interval[0] < own.difference < own.difference_interval[1]
    finding = old.violations[again.places[0]]
    assert f"difference {rounded(finding.difference)}" in " ".join(again.summary().split())
    exposed = np.full((~half).sum(), 2.0)
    per = measure_again(old, **rows, **kept, measure="difference", exposure=exposed).answers[0]
    assert per.difference == pytest.approx(own.difference / 2.0)
