"""Events: rates among rows with one true label, as AIF360's are."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin.aif360 import MDFAClassificationMetric, MDFATextExplainer
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditWarning

RATES = {
    "false_positive": ("false_positive_rate", False),
    "false_negative": ("true_positive_rate", True),
    "true_positive": ("true_positive_rate", True),
    "error": ("accuracy", None),
}


@pytest.fixture(scope="module")
def judged(dataset_of):
    """Women get wrong labels of either kind more often than men, whatever x is."""
    rng = np.random.default_rng(3)
    n = 1200
    frame = pd.DataFrame({"sex": np.arange(n) % 2, "x": rng.integers(0, 2, n)})
    truth = (rng.random(n) < 0.6).astype(int)
    wrong = rng.random(n) < np.where(frame["sex"] == 0, 0.4, 0.1)
    dataset = dataset_of(frame.assign(y=truth))
    predicted = dataset.copy()
    predicted.labels = np.where(wrong, 1 - truth, truth)[:, np.newaxis].astype(float)
    return dataset, predicted


@pytest.mark.parametrize("event", RATES)
def test_events_are_aif360s_rates_turned_to_the_favorable_side(judged, lists, quick, event):
    """All features told, the ratio is that of AIF360's rates; other rows are not compared."""
    dataset = judged[0]
    half = {"privileged": np.full(len(dataset.labels), 0.5)}
    flat = {"error": 0.25, "false_positive": 0.25}.get(event, 0.75)
    outcome = {event if event != "false_negative" else "true_positive": np.full(1200, flat)}
    metric = MDFAClassificationMetric(
        *judged, **lists, **quick, event=event, propensity=half, outcome_probability=outcome
    )
    name, true = RATES[event]
    rate = getattr(metric, name)
    worst = metric.worst_case()
    high = rate(privileged=worst.reference == "privileged")
    low = rate(privileged=worst.reference != "privileged")
    assert worst.violation.rule == "everybody"
    assert worst.ratio == pytest.approx(high / low, rel=0.03)
    # Those who are wrongly given the favorable label more often are not harmed by it.
    assert worst.group == ("privileged" if event == "false_positive" else "unprivileged")
    good = {"error": "correct", "false_negative": "true_positive"}.get(event, event)
    assert worst.outcome == good
    positive = dataset.labels[:, 0] == 1
    others = {}
    if true is not None:
        no = "not " if true else ""
        others = {f"true label is {no}favorable": int((positive != true).sum())}
    assert metric.audit().excluded == others
    assert metric.audit().provenance["aif360"]["event"] == event
    text = MDFATextExplainer(metric).worst_case_ratio()
    said = {"correct": "are given the right label", "false_positive": "are wrongly given"}
    assert said.get(good, "are rightly given the favorable label") in text
    among = "" if true is None else f"whose true label is {'favorable' if true else 'unfavorable'}"
    assert among in text


def test_what_an_event_needs_is_checked(judged, lists, quick):
    with pytest.raises(InputError, match=r"event: one of 'selection', .* expected, 'fnr' found"):
        MDFAClassificationMetric(*judged, **lists, event="fnr")
    metric = MDFAClassificationMetric(
        *judged, **lists, **quick, event="true_positive", outcomes="favorable"
    )
    with pytest.raises(
        InputError, match=r"outcomes: 'favorable' is not among .* 'true_positive', "
    ):
        metric.audit()


def test_answers_follow_the_true_labels_of_an_event(judged, lists, quick):
    dataset = judged[0].copy(deepcopy=True)
    metric = MDFAClassificationMetric(dataset, judged[1], **lists, **quick, event="error")
    first = metric.audit()
    assert metric.audit() is first
    dataset.labels[:100] = 1.0 - dataset.labels[:100]
    assert metric.audit() is not first
    plain = MDFAClassificationMetric(dataset, judged[1], **lists, **quick)
    before = plain.audit()
    dataset.labels[:50] = 1.0 - dataset.labels[:50]
    assert plain.audit() is before


def test_a_perfect_classifier_has_no_errors_to_compare(judged, lists, quick):
    metric = MDFAClassificationMetric(judged[0], judged[0], **lists, **quick, event="error")
    with pytest.warns(NothingToAuditWarning, match=r"classified_dataset\.labels: .*'correct'"):
        assert math.isnan(metric.worst_case_ratio())
    assert "not measured (classified_dataset.labels" in MDFATextExplainer(metric).worst_case_ratio()
