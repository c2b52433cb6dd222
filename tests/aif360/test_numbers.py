"""Labels and scores that are numbers, against the audit itself; explained in AIF360's manner."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.aif360 import (
    MDFAClassificationMetric,
    MDFADatasetMetric,
    MDFAJSONExplainer,
    MDFATextExplainer,
    mdfa_scan,
    worst_case_difference,
    worst_case_ratio,
)
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.describe.decimals import amounts
from mdfa_fairness_plugin.exceptions import InputError

RegressionDataset = part("datasets").RegressionDataset
BinaryLabelDataset = part("datasets").BinaryLabelDataset
N = 500


@pytest.fixture(scope="module")
def frame():
    """Women of a high grade are paid 2 less of about ten, which is a quarter of the range."""
    rng = np.random.default_rng(3)
    sex, grade = rng.integers(0, 2, N), rng.uniform(-1, 1, N)
    wage = 10 + 3 * grade + rng.normal(0, 1, N) - 2 * ((sex == 0) & (grade > 0))
    return pd.DataFrame({"sex": sex, "grade": grade, "age": rng.uniform(20, 60, N), "wage": wage})


@pytest.fixture(scope="module")
def wages(frame):
    return RegressionDataset(
        frame, dep_var_name="wage", protected_attribute_names=["sex"], privileged_classes=[[1]]
    )


@pytest.fixture(scope="module")
def predicted(wages):
    """Predictions of the same shape, of which women's of a high grade are right."""
    copy = wages.copy()
    copy.labels = wages.labels + np.random.default_rng(4).normal(0, 0.1, (N, 1))
    low = (wages.protected_attributes[:, 0] == 0) & (wages.features[:, 1] > 0.5)
    copy.labels[low] += 0.2
    return copy


@pytest.fixture(scope="module")
def metric(wages, lists, quick):
    return MDFADatasetMetric(wages, **lists, **quick)


def test_metrics_of_a_favorable_label_say_that_numbers_have_none(metric, predicted, lists, quick):
    with pytest.raises(InputError, match=r"disparate_impact: it compares favorable labels"):
        metric.disparate_impact()
    both = MDFAClassificationMetric(metric.dataset, predicted, **lists, event="score", **quick)
    with pytest.raises(InputError, match=r"accuracy: it compares favorable labels"):
        both.accuracy()
    assert metric.num_instances() == N


def table_of(dataset):
    """Audited features, and who is on which side."""
    X = pd.DataFrame(dataset.features[:, 1:3], columns=["grade", "age"])
    return X, np.where(dataset.protected_attributes[:, 0] == 0, "unprivileged", "privileged")


def same(found, direct):
    drop = ["sensitive_feature", "outcome", "reason", "reference"]
    one, other = (
        result.to_frame()
        .drop(columns=drop)
        .sort_values(["group", "ratio", "difference"], ignore_index=True)
        for result in (found, direct)
    )
    pd.testing.assert_frame_equal(one, other, rtol=1e-12)


def test_labels_of_a_regression_dataset_are_audited_as_numbers(metric, wages, quick, frame):
    X, sides = table_of(wages)
    assert metric.num_instances() == N  # of AIF360's own
    numbers = {"outcome_type": "numeric", "favorable": "high"}
    direct = mdfa.audit(X, wages.labels.ravel(), sensitive_features=sides, **numbers, **quick)
    same(metric.audit(), direct)
    worst = metric.worst_case()
    assert (worst.group, worst.reference) == ("unprivileged", "privileged")
    assert (worst.outcome, worst.direction, worst.verdict) == ("more", "less", "violation")
    assert metric.worst_case_difference() == direct.worst_harm.difference
    unit = np.ptp(frame["wage"])  # AIF360 scales labels
    assert metric.worst_case_difference() * unit == pytest.approx(2, abs=0.5)
    assert metric.worst_case_ratio() == worst.ratio > 1
    assert metric.worst_case_difference(privileged=True) < metric.worst_case_difference()
    with pytest.raises(InputError, match=r"^unfairness_certificate: it is not defined of a number"):
        metric.unfairness_certificate()
    inside = metric.worst_case_subgroup()
    assert isinstance(inside, RegressionDataset)
    assert len(inside.features) == worst.violation.n_rows
    assert metric.annotate().protected_attribute_names == ["sex", "worst_case_subgroup"]


def test_numbers_are_explained_in_both_forms(metric):
    worst = metric.worst_case()
    size, low, high = amounts((worst.difference, *worst.difference_interval))
    told = (
        f"(unprivileged (sex=0) get {size} less wage on a scale of 0 to 1 than privileged (sex=1) on "
        f"average, 95 % interval {low} to {high}; unequal beyond chance, p ="
    )
    text, strict = MDFATextExplainer(metric), MDFAJSONExplainer(metric)
    for name in ("worst_case_difference", "worst_case_ratio", "worst_case_violation"):
        assert told in getattr(text, name)()
        answer = json.loads(getattr(strict, name)())
        assert answer["message"] == getattr(text, name)()
        assert (answer["difference"], answer["direction"]) == (worst.difference, "less")
        assert answer["differenceInterval"] == list(worst.difference_interval)
    assert text.worst_case_difference().startswith(
        "Worst-case difference (by how much less of the number the group harmed most gets"
    )
    assert "not defined (unfairness_certificate: it is not" in text.unfairness_certificate()
    assert worst.violation.rule in text.worst_case_subgroup()
    assert f"{text.worst_case_difference()}.\n\nAUDIT OF 500 ROWS" in text.audit()
    assert json.loads(strict.audit())["violations"][0]["outcome_type"] == "numeric"


@pytest.mark.parametrize(
    "event", ["score", "residual", "absolute_error", "overprediction", "calibration"]
)
def test_predicted_numbers_are_compared_with_true_ones(wages, predicted, lists, quick, event):
    """As by the audit itself of the column in question."""
    X, sides = table_of(wages)
    true, guess = wages.labels.ravel(), predicted.labels.ravel()
    own = {"outcome_type": "numeric", "favorable": "low"}
    if event == "score":
        values, own = guess, own | {"favorable": "high"}
    elif event == "residual":
        values = true - guess
    elif event == "absolute_error":
        values = abs(true - guess)
    elif event == "overprediction":
        values, own = (guess > true).astype(int), {"favorable_label": 1}
    else:
        X, values, own = X.assign(score=guess), true, own | {"decision_inputs": "score"}
    found = MDFAClassificationMetric(wages, predicted, event=event, **lists, **quick)
    same(found.audit(), mdfa.audit(X, values, sensitive_features=sides, **own, **quick))
    if event in ("residual", "calibration"):
        # Women of a high grade are predicted more than they are paid, so men are worse off.
        assert found.worst_case().group == "privileged"
        turned = MDFAClassificationMetric(
            wages, predicted, event=event, favorable="low", **lists, **quick
        )
        assert turned.worst_case().group == "unprivileged"
        assert turned.worst_case().direction == "less"
    if event == "calibration":
        judged = found.worst_case_subgroup(predicted.subset(np.arange(60)))
        assert 0 < len(judged.features) < 60
    if event == "residual":
        text = MDFATextExplainer(found)
        assert (
            "not defined (worst_case_ratio: it is not defined of means" in text.worst_case_ratio()
        )
        size = "residual (true minus predicted) on a scale of 0 to 1 than"
        assert size in text.worst_case_difference()


def test_scores_of_labels_are_audited_and_compared_with_them(frame, lists, quick):
    dataset = BinaryLabelDataset(
        df=frame.assign(wage=(frame["wage"] > 10).astype(int)),
        label_names=["wage"],
        protected_attribute_names=["sex"],
    )
    classified = dataset.copy()
    classified.scores = 1 / (1 + np.exp(-3 * frame[["grade"]].to_numpy()))
    X, sides = frame[["grade", "age"]], np.where(frame["sex"] == 0, "unprivileged", "privileged")
    truth, score = dataset.labels.ravel(), classified.scores.ravel()
    for event, values, own in (
        ("score", score, {"outcome_type": "numeric", "favorable": "high"}),
        ("calibration", truth, {"favorable_label": 0, "decision_inputs": "score"}),
    ):
        asked = X[["age"]] if event == "score" else X[["age"]].assign(score=score)
        found = MDFAClassificationMetric(
            dataset, classified, event=event, audit_features=["age"], **lists, **quick
        )
        direct = mdfa.audit(asked, values, sensitive_features=sides, **own, **quick)
        same(found.audit(), direct)
    # Women of the same score are paid well less often, so that they are rated too high.
    assert found.worst_case().group == "privileged"
    assert "are in truth favorable at the same score" in " ".join(found.audit().summary().split())
    assert "in truth unfavorable at the same score" in MDFATextExplainer(found).worst_case_ratio()
    never = MDFAClassificationMetric(dataset, dataset.copy(), event="score", **lists, **quick)
    with pytest.raises(InputError, match=r"^classified_dataset\.scores: they are the labels"):
        never.audit()
    amount = MDFAClassificationMetric(dataset, classified, event="residual", **lists, **quick)
    with pytest.raises(InputError, match=r"^event: 'residual' compares true with predicted numb"):
        amount.audit()


def test_datasets_that_do_not_fit_an_event_are_refused(wages, predicted, lists, quick):
    with pytest.raises(InputError, match=r"^event: 'selection' compares labels, .* Use 'score'"):
        MDFAClassificationMetric(wages, predicted, **lists, **quick).audit()
    other = predicted.copy()
    other.instance_weights = other.instance_weights * 2
    with pytest.raises(InputError, match=r"^dataset, classified_dataset: they are to differ only"):
        MDFAClassificationMetric(wages, other, event="score", **lists, **quick)
    flat = predicted.copy()
    flat.labels = np.ones_like(flat.labels)
    constant = MDFAClassificationMetric(wages, flat, event="score", **lists, **quick)
    with pytest.warns(
        mdfa.exceptions.NothingToAuditWarning, match=r"every one of the 500 outcomes"
    ):
        assert np.isnan(constant.worst_case_difference())


def test_functions_and_the_scan_take_numbers(frame, quick, metric, wages):
    X, _ = table_of(wages)
    given = {"prot_attr": frame["sex"].to_numpy(), "event": "score", "priv_group": 1} | quick
    true = wages.labels.ravel()
    value = worst_case_difference(true, audit_features=X, **given)
    assert value == pytest.approx(metric.worst_case_difference(), rel=1e-12)
    scan = mdfa_scan(X, true, **given)
    assert scan.score == value
    asked = given | {"event": "residual"}
    with pytest.raises(InputError, match=r"^worst_case_ratio: .* means that may be negative"):
        worst_case_ratio(true, true[::-1] ** 2, audit_features=X, **asked)
    with pytest.raises(InputError, match=r"^y_pred: None was given; event='residual'"):
        mdfa_scan(X, true, **asked)
    with pytest.raises(InputError, match=r"^y_true: scores were given.*event='score'"):
        mdfa_scan(X, true, **(given | {"event": "selection"}))


def test_slopes_are_explained_for_so_much_of_the_quantity(frame, quick):
    """The older, the less often somebody of a high grade is paid more than seven."""
    paid = frame["wage"] - (frame["age"] - 40) / 5 * (frame["grade"] > 0) > 7
    dataset = BinaryLabelDataset(
        df=frame[["grade", "age"]].assign(paid=paid.astype(float)),
        label_names=["paid"],
        protected_attribute_names=["age"],
    )
    metric = MDFADatasetMetric(dataset, **quick, sensitive_type="numeric", per=10)
    text = MDFATextExplainer(metric)
    told = text.worst_case_difference()
    assert told.startswith("Worst-case difference (how much less often, or less of a number, goes")
    size = f"{100 * metric.worst_case_difference():.1f}"
    assert f"{size} percentage points more often for each 10 of age (" in told
    assert "(those with " in told
    assert "age get the outcome" in told
    assert "not defined (worst_case_ratio: it is not defined of a slope" in text.worst_case_ratio()


def test_counts_per_exposure_are_those_of_the_audit_itself(frame, lists, quick):
    """By values, a feature or a column of X, by which nobody is compared then."""
    rng = np.random.default_rng(5)
    years = rng.integers(1, 5, N).astype(float)
    stops = rng.poisson(years * np.where((frame["sex"] == 0) & (frame["grade"] > 0), 4.0, 1.0))
    table = frame.assign(wage=stops)
    dataset = RegressionDataset(
        table, dep_var_name="wage", protected_attribute_names=["sex"], privileged_classes=[[1]]
    )
    X, sides = table_of(dataset)
    numbers = {"outcome_type": "numeric", "favorable": "low"}
    rows = {"sensitive_features": sides, "exposure": years}
    direct = mdfa.audit(X, dataset.labels.ravel(), **rows, **numbers, **quick)
    assert {v.measure for v in direct.violations} == {"ratio"}
    own = {"favorable": "low", **quick}
    same(MDFADatasetMetric(dataset, **lists, exposure=years, **own).audit(), direct)
    scored = BinaryLabelDataset(
        df=X.assign(sex=frame["sex"], paid=frame["sex"], years=years),
        label_names=["paid"],
        protected_attribute_names=["sex"],
    )
    scored.scores = dataset.labels
    classified = MDFAClassificationMetric(
        scored, scored.copy(deepcopy=True), **lists, event="score", exposure="years", **own
    )
    assert classified.worst_case_ratio() == direct.worst_harm.ratio > 2
    asked = {"event": "score", "prot_attr": frame["sex"], "priv_group": 1, **own}
    scan = mdfa_scan(X.assign(years=years), None, dataset.labels.ravel(), exposure="years", **asked)
    same(scan.result, direct)
    ratio = worst_case_ratio(
        None, dataset.labels.ravel(), audit_features=X, exposure=years, **asked
    )
    assert ratio == direct.worst_harm.ratio
    for data, asked, message in (
        (
            scored,
            {"audit_features": ["years"]},
            "exposure: 'years' says what counts are divided by",
        ),
        (scored, {"exposure": "yeers"}, "exposure: 'yeers' is no feature of the dataset"),
        (dataset, {}, "exposure: the feature 'years' was named, and a RegressionDataset scales"),
        (dataset, {"exposure": years[1:]}, "exposure: 499"),
    ):
        with pytest.raises(InputError, match=message):
            MDFADatasetMetric(data, **lists, **({"exposure": "years"} | asked | own)).audit()
