"""Explainers: a sentence or strict JSON for every metric, ours and AIF360's."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin.aif360 import (
    MDFAClassificationMetric,
    MDFADatasetMetric,
    MDFAJSONExplainer,
    MDFATextExplainer,
)
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.describe.decimals import ratios_text
from mdfa_fairness_plugin.exceptions import InputTypeError

MetricTextExplainer = part("explainers").MetricTextExplainer
MetricJSONExplainer = part("explainers").MetricJSONExplainer
BinaryLabelDatasetMetric = part("metrics").BinaryLabelDatasetMetric
ClassificationMetric = part("metrics").ClassificationMetric

OURS = (
    "worst_case_violation",
    "worst_case_ratio",
    "unfairness_certificate",
    "worst_case_subgroup",
    "coverage",
    "audit",
)
# AIF360's own asks the metric for ``falses_omission_rate_difference``.
BROKEN = "false_omission_rate_difference"


def explained(explainer):
    """Names of everything the explainer can explain of its metric."""
    return [
        name
        for name in dir(explainer)
        if not name.startswith("_")
        and callable(getattr(explainer, name))
        and hasattr(explainer.metric, name)
    ]


@pytest.fixture(scope="module")
def predictions(xor):
    copy = xor.copy()
    change = np.random.default_rng(1).random(xor.labels.shape) < 0.2
    copy.labels = np.where(change, 1 - xor.labels, xor.labels)
    return copy


@pytest.fixture(scope="module")
def classification_metric(xor, predictions, lists, quick):
    return MDFAClassificationMetric(xor, predictions, **lists, **quick)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(MDFATextExplainer, MetricTextExplainer), (MDFAJSONExplainer, MetricJSONExplainer)],
)
def test_inherited_explanations_are_those_of_aif360(
    xor, predictions, lists, xor_metric, classification_metric, ours, theirs
):
    """Also where AIF360 looks up the exact class of the metric, as for disparate impact."""
    pairs = [
        (xor_metric, BinaryLabelDatasetMetric(xor, **lists)),
        (classification_metric, ClassificationMetric(xor, predictions, **lists)),
    ]
    for metric, plain in pairs:
        explainer = ours(metric)
        names = [name for name in explained(explainer) if hasattr(theirs, name)]
        names = [name for name in names if name != BROKEN]
        assert len(names) >= 7
        for name in names:
            expected = getattr(theirs(plain), name)()
            assert getattr(explainer, name)() == expected, name


def test_every_explanation_works_in_both_forms(xor_metric, classification_metric):
    for metric in (xor_metric, classification_metric):
        for name in explained(MDFATextExplainer(metric)):
            if name == BROKEN:
                continue
            text = getattr(MDFATextExplainer(metric), name)()
            answer = json.loads(getattr(MDFAJSONExplainer(metric), name)())
            if name != "audit":
                assert answer["message"] == text, name


def test_our_explanations_name_who_gets_what_and_how_sure_it_is(xor_metric):
    worst = xor_metric.worst_case()
    who = {"unprivileged": "unprivileged (sex=Female)", "privileged": "privileged (sex=Male)"}
    ratio, low, high = ratios_text((worst.ratio, *worst.interval))
    for name in OURS[:3]:
        text = getattr(MDFATextExplainer(xor_metric), name)()
        assert (
            f"({who[worst.reference]} get the favorable outcome {ratio} times as often as "
            f"{who[worst.group]}, 95 % interval {low} to {high}; unequal beyond chance, p ="
        ) in text
    rule = worst.violation.rule
    assert rule in MDFATextExplainer(xor_metric).worst_case_subgroup()
    assert "0 in neither list" in MDFATextExplainer(xor_metric).coverage()
    text = MDFATextExplainer(xor_metric).audit()
    assert text.startswith("Unprivileged: sex=Female. Privileged: sex=Male.")
    assert f"{MDFATextExplainer(xor_metric).worst_case_ratio()}.\n\n" in text
    assert text.endswith(xor_metric.audit().summary())


def test_a_number_that_may_be_chance_is_not_called_beyond_it(dataset_of, lists, quick):
    """Hardly anybody is refused: five times as many women, which is little of what men get more."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": np.arange(1500) % 2, "x": rng.integers(0, 2, 1500)})
    rate = np.where(frame["sex"] == 0, 0.95, 0.99)
    metric = MDFADatasetMetric(
        dataset_of(frame.assign(y=(rng.random(1500) < rate).astype(int))), **lists, **quick
    )
    worst = metric.worst_case()
    assert worst.verdict == "violation"
    search = worst.violation
    for low in (0.99, 1.01):
        told = replace(worst, interval=(low, 1.06))
        text = MDFATextExplainer(metric)._evidence(told)
        assert (f"interval {low:.3g} to 1.06; this may be chance, but" in text) == (low < 1)
        (ratio,) = ratios_text((search.ratio,))
        others = f"{search.group} (sex=0) get the {search.outcome} outcome {ratio} times"
        assert (others in text) == (low < 1)


def test_json_holds_the_numbers_of_the_harm(xor_metric):
    worst = xor_metric.worst_case(privileged=False)
    answer = json.loads(MDFAJSONExplainer(xor_metric).worst_case_ratio(privileged=False))
    assert (answer["ratio"], answer["delta"]) == (worst.ratio, worst.delta)
    assert answer["interval"] == list(worst.interval)
    assert (answer["group"], answer["outcome"]) == ("unprivileged", "favorable")
    assert (answer["reference"], answer["direction"]) == ("privileged", "less often")
    assert answer["rateReference"] / answer["rateGroup"] == pytest.approx(worst.ratio)
    assert (answer["event"], answer["verdict"]) == ("selection", "violation")
    assert answer["searchedRatio"] == worst.violation.ratio
    assert answer["rule"] == worst.violation.rule
    whole = json.loads(MDFAJSONExplainer(xor_metric).audit())
    assert len(whole["violations"]) == 4


def test_nothing_measured_is_said_and_stays_strict_json(dataset_of, xor_frame, lists, quick):
    """Groups below the smallest size: null, not NaN."""
    dataset = dataset_of(xor_frame(n=60))
    metric = MDFADatasetMetric(dataset, **lists, **quick, min_group_size=40)
    with pytest.warns(UserWarning, match="cannot be audited"):
        metric.audit()
    for name in OURS[:4]:
        text = getattr(MDFATextExplainer(metric), name)()
        assert "measured" in text
        answer = json.loads(getattr(MDFAJSONExplainer(metric), name)(), parse_constant=pytest.fail)
        assert answer["message"] == text
    assert np.isnan(metric.worst_case_violation())
    assert np.isnan(metric.worst_case_ratio())
    assert np.isnan(metric.unfairness_certificate())
    assert metric.worst_case_subgroup().labels.shape == (0, 1)
    assert not metric.annotate().features[:, -1].any()


def test_no_violation_is_not_called_fair(dataset_of, lists, quick):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.integers(0, 2, size=(800, 3)), columns=["sex", "x", "y"])
    text = MDFATextExplainer(MDFADatasetMetric(dataset_of(frame), **lists, **quick))
    told = text.worst_case_violation()
    assert "not found unequal; searching for who get the" in told
    assert "fair" not in told.replace("unfair", "")


def test_metrics_without_an_audit_are_told_so(xor, lists):
    explainer = MDFATextExplainer(BinaryLabelDatasetMetric(xor, **lists))
    assert "Disparate impact" in explainer.disparate_impact()
    with pytest.raises(InputTypeError, match="BinaryLabelDatasetMetric has no audit"):
        explainer.worst_case_violation()
    with pytest.raises(TypeError):  # AIF360's own
        MDFATextExplainer("metric")
