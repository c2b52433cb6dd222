"""Alternatives: a metric of every model, and whether one is less unequal within a tolerance."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.comparison.answers import Answers
from mdfa_fairness_plugin.comparison.performance import auc, performance, read_metric
from mdfa_fairness_plugin.comparison.records import Alternative
from mdfa_fairness_plugin.data.containers import read_vector
from mdfa_fairness_plugin.data.pairing import Pairing
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError, WarningLog

LABELS = np.array(["granted", "refused"], dtype=object)
# Models of the features are not what this is about: half of either side get either outcome.
FAST = {
    "n_splits": 0,
    "n_folds": 2,
    "n_repeats": 1,
    "learner": "tree",
    "propensity": np.full(700, 0.5),
}


@pytest.fixture(scope="module")
def rows(planted):
    """The planted models with words as outcomes; C, which treats all alike, tells what is true best."""
    rng, n = np.random.default_rng(2), 700
    codes = {name: own[:n] for name, own in planted.outcomes.items()}
    is_true = np.where(rng.random(n) < 0.8, codes["C"], planted.truth[:n]) == 1
    return SimpleNamespace(
        X=planted.X[:n],
        group=planted.group[:n],
        codes=codes,
        outcomes={name: LABELS[own] for name, own in codes.items()},
        truth=LABELS[is_true.astype(int)],
        is_true=is_true,
        scores={name: own + rng.normal(0, 0.5, n) for name, own in codes.items()},
    )


def compare(rows, outcomes=None, **options):
    outcomes = rows.outcomes if outcomes is None else outcomes
    given = dict.fromkeys(outcomes, np.full(len(rows.truth), 0.5))
    some = (
        {"y_true": rows.truth, "metric": "accuracy", "outcome_probability": given} | FAST | options
    )
    return mdfa.compare(rows.X, outcomes, sensitive_features=rows.group, **some)


@pytest.fixture(scope="module")
def compared(rows):
    return compare(
        rows, metric="auc", scores=rows.scores, tolerance=0.02, favorable_label="granted"
    )


def test_an_area_under_the_curve_is_scikit_learns_and_its_error_is_delongs():
    rng = np.random.default_rng(0)
    positive, score = rng.random(300) < 0.4, rng.integers(0, 20, 300) / 10.0
    score = score + positive
    weight = rng.integers(1, 4, 300).astype(float)
    area, influence = auc(positive, score, weight)
    assert area == pytest.approx(roc_auc_score(positive, score, sample_weight=weight))
    assert influence.sum() == pytest.approx(0.0, abs=1e-12)
    area, influence = auc(positive, score, np.ones(300))
    # DeLong's placements of every positive among the negatives and the other way round.
    wins = np.sign(score[positive][:, None] - score[~positive]) / 2 + 0.5
    n1, n0 = wins.shape
    variance = wins.mean(axis=1).var() / n1 + wins.mean(axis=0).var() / n0
    assert area == pytest.approx(wins.mean())
    assert (influence**2).sum() == pytest.approx(variance)


def test_every_model_has_its_metric_and_the_worst_case(rows, compared):
    frame = compared.alternative_frame().set_index("model")
    assert list(frame.index) == ["A", "B", "C"]
    for model, own in rows.scores.items():
        assert frame.loc[model, "performance"] == pytest.approx(roc_auc_score(rows.is_true, own))
        row = compared.worst(model)
        assert frame.loc[model, "ratio"] == row.ratio
        sides = np.where(rows.group == row.search.group, "own", "other")
        rates = pd.Series(rows.codes[model] == 0).groupby(sides).mean()
        assert row.search.outcome == "refused"
        assert frame.loc[model, "impact_ratio"] == pytest.approx(rates["own"] / rates["other"])
    assert frame.loc["A", ["within_tolerance", "less_unequal", "finding"]].tolist() == ["", "", ""]
    best = frame.loc["C"]
    assert (best["within_tolerance"], best["less_unequal"], best["finding"]) == ("shown",) * 3
    assert best["times_as_unequal"] == pytest.approx(best["ratio"] / frame.loc["A", "ratio"])
    # B is as unequal as A, elsewhere.
    assert frame.loc["B", "less_unequal"] == "undecided"
    assert frame.loc["B", "finding"] in ("undecided", "not shown")


def test_intervals_hold_for_all_alternatives_at_once(compared, rows):
    """Two alternatives: each interval is at 97.5 %, made of the differences of every row."""
    one = next(own for own in compared.alternatives if own.model == "C")
    assert one.confidence_level == pytest.approx(0.975)
    parts = [auc(rows.is_true, rows.scores[m], np.ones(len(rows.is_true))) for m in ("C", "A")]
    error = math.sqrt(((parts[0][1] - parts[1][1]) ** 2).sum())
    quantile = norm.ppf(1 - 0.0125)
    low, high = one.performance_interval
    assert one.performance_difference == pytest.approx(parts[0][0] - parts[1][0])
    assert (high - low) / 2 == pytest.approx(quantile * error)


def bench_of(rows, weight=None):
    """What a comparison knows of its rows."""
    n = len(rows.truth)
    answers = Answers(
        models=tuple(rows.codes),
        labels=tuple(LABELS),
        codes=np.stack(list(rows.codes.values())),
        truth=rows.is_true.astype(int),
        pairing=Pairing(WarningLog()),
    )
    weight = np.ones(n) if weight is None else weight
    problem = SimpleNamespace(source_row=np.arange(n), sample_weight=weight, cluster=None)
    return SimpleNamespace(answers=answers, problem=problem)


def test_accuracy_is_that_of_the_table_of_models(rows, compared):
    bench = bench_of(rows)
    metric = read_metric("accuracy", None, None, bench.answers)
    own, base = (performance(metric, bench, model) for model in ("C", "A"))
    assert own.value == compared.row("C", compared.searches[0]).accuracy
    same = [one for one in compared.differences if one.quantity == "accuracy"][-1]
    difference, interval = own.beside(base, 0.95)
    assert difference == same.difference
    assert interval == pytest.approx(same.interval)


def test_a_function_is_asked_with_labels_and_its_error_is_that_of_a_jackknife(rows):
    def share_right(y_true, told):
        return np.mean(y_true == told)

    bench = bench_of(rows)
    told = []
    for one in (share_right, "accuracy"):
        metric = read_metric(one, None, None, bench.answers)
        own, base = (performance(metric, bench, model) for model in ("C", "A"))
        told.append(own.beside(base, 0.95))
    assert told[0][0] == pytest.approx(told[1][0])
    width, exact = (np.diff(interval)[0] for _, interval in told)
    # The error of an error from 100 groups is 7 %; four times that.
    assert width == pytest.approx(exact, rel=0.28)
    metric = read_metric(share_right, None, None, bench.answers)
    assert metric.name == "share_right"
    weighted = bench_of(rows, np.tile([1.0, 3.0], len(rows.truth) // 2))
    with pytest.raises(InputError, match="share_right does not take sample_weight"):
        performance(metric, weighted, "A")
    for wrong in (lambda y, told: np.nan, lambda y, told: y.nothing):
        metric = read_metric(wrong, None, None, bench.answers)
        with pytest.raises(
            InputError, match=r"^metric: <lambda> (gave nan|failed \(AttributeError)"
        ):
            performance(metric, bench, "A")


def test_rows_of_a_person_are_left_out_together(rows):
    """Doubled people are no more evidence."""

    def mean(y_true, told):
        return np.mean(y_true == told)

    bench = bench_of(rows)
    metric = read_metric(mean, None, None, bench.answers)
    once = performance(metric, bench, "A")
    places = np.tile(bench.problem.source_row, 2)
    twice = SimpleNamespace(source_row=places, sample_weight=np.ones(len(places)), cluster=places)
    doubled = performance(metric, SimpleNamespace(answers=bench.answers, problem=twice), "A")
    np.testing.assert_allclose(doubled.influence, once.influence)


def test_a_function_has_weights_and_scores_where_there_are_any(rows):
    asked = []

    def metric(y_true, told, sample_weight):
        asked.append(len(told))
        return np.average((y_true == "refused") == (told > 0.5), weights=sample_weight)

    weight = np.tile([1.0, 3.0], len(rows.truth) // 2)
    bench = bench_of(rows, weight)
    read = read_metric(metric, rows.scores, None, bench.answers)
    found = performance(read, bench, "A")
    right = (rows.scores["A"] > 0.5) == rows.is_true
    assert found.value == pytest.approx(np.average(right, weights=weight))
    assert sorted(asked) == [693] * 100 + [700]


@pytest.mark.parametrize(
    ("performance", "worst", "said"),
    [
        ((-0.01, 0.03), (-0.9, -0.1), ("shown", "shown", "shown")),
        ((-0.02, 0.03), (-0.9, -0.1), ("shown", "shown", "shown")),
        ((-0.03, 0.03), (-0.9, -0.1), ("undecided", "shown", "undecided")),
        ((-0.09, -0.03), (-0.9, -0.1), ("not shown", "shown", "not shown")),
        ((-0.01, 0.03), (-0.9, 0.1), ("shown", "undecided", "undecided")),
        ((-0.01, 0.03), (0.0, 0.0), ("shown", "not shown", "not shown")),
        ((-0.09, -0.03), (-0.9, 0.1), ("not shown", "undecided", "not shown")),
        ((-0.01, 0.03), (math.nan, math.nan), ("shown", "undecided", "undecided")),
    ],
)
def test_what_is_shown_is_what_the_whole_interval_says(performance, worst, said):
    one = Alternative(
        model="new",
        baseline="old",
        tolerance=0.02,
        performance_interval=performance,
        worst_interval=worst,
    )
    assert (one.within_tolerance, one.less_unequal, one.finding) == said


def test_reports_say_it_and_json_has_it(compared, rows):
    text = " ".join(compared.summary().split())
    assert "LESS UNEQUAL ALTERNATIVES" in text
    assert "Less unequal within the tolerance: shown." in text
    assert "Tolerance: AUC less than the baseline's by 0.02 at most." in text
    assert "for others to judge" in text
    page = compared.to_html()
    assert "Less unequal alternatives" in page
    told = compared.to_dict()["alternatives"]
    assert [one["finding"] for one in told] == compared.alternative_frame()["finding"].tolist()
    # Where counts are withheld, so is what is made of them.
    few = compared.to_html(min_cell=2000)
    part = few[few.index("Less unequal alternatives") :]
    assert "withheld" in part[: part.index("</table>")]


def test_without_a_metric_nothing_is_said():
    nothing = mdfa.comparison.ComparisonResult(models=("A",), baseline="A")
    assert nothing.alternatives == ()
    frame = nothing.alternative_frame()
    assert len(frame) == 0
    assert frame["finding"].dtype == object


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"metric": "auc"}, InputError, r"scores: metric='auc' .* probability of 'refused'"),
        ({"metric": "auc", "scores": [1]}, InputTypeError, "scores: a mapping of each model"),
        (
            {"metric": "auc", "scores": {"A": [1]}},
            InputError,
            "scores: none were given of 'B', 'C'",
        ),
        ({"scores": {}}, InputError, "scores: accuracy is of the outcomes"),
        ({"metric": "f2"}, InputError, "metric: 'accuracy', 'auc' or a function expected, 'f2'"),
        ({"metric": None, "tolerance": 0.1}, InputError, "tolerance: pass metric="),
        ({"metric": None, "scores": {}}, InputError, "scores: pass metric="),
        ({"y_true": None}, InputError, "y_true: a metric says how well models do"),
        ({"tolerance": -0.1}, InputError, "tolerance: a number of at least 0 expected, -0.1 found"),
        ({"tolerance": True}, InputError, "tolerance: a number of at least 0 expected, True found"),
    ],
)
def test_what_cannot_be_measured_is_refused(rows, options, kind, said):
    with pytest.raises(kind, match=rf"^{said}"):
        compare(rows, **options)


def test_bad_scores_and_metrics_are_named(rows):
    one = {"A": rows.outcomes["A"]}
    gap = np.where(np.arange(len(rows.truth)) == 3, np.nan, rows.scores["A"])
    with pytest.raises(InputError, match=r"^scores\['A'\]: finite numbers without a gap"):
        compare(rows, one, metric="auc", scores={"A": gap})
    with pytest.raises(InputError, match=r"^scores\['A'\]: 2 rows were given, but X has 700"):
        compare(rows, one, metric="auc", scores={"A": [0.1, 0.2]})
    with pytest.raises(InputError, match=r"^scores: 'Z' is no model"):
        compare(rows, one, metric="auc", scores={"A": gap, "Z": gap})
    alike = np.full(len(rows.truth), "refused", dtype=object)
    with pytest.raises(InputError, match=r"^y_true: every true label is 'refused'"):
        compare(rows, one, y_true=alike, metric="auc", scores={"A": rows.scores["A"]})


def test_scores_follow_their_index(rows):
    index = pd.Index([f"p{i}" for i in range(len(rows.truth))])
    shuffled = pd.Series(rows.scores["A"], index).sample(frac=1.0, random_state=0)
    answers = bench_of(rows).answers
    answers.pairing.lead(read_vector(pd.Series(rows.truth, index), "y_true"))
    given = rows.scores | {"A": shuffled}
    read = read_metric("auc", given, None, answers)
    np.testing.assert_array_equal(read.scores["A"], rows.scores["A"])
