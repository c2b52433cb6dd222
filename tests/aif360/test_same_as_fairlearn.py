"""One table, one number, whichever toolkit it is asked in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")
pytest.importorskip("fairlearn", reason="Fairlearn is not installed")

from mdfa_fairness_plugin import aif360, fairlearn
from mdfa_fairness_plugin.aif360.toolkit import part


@pytest.fixture(scope="module")
def table():
    """Few get the favorable label, so that both outcomes say very different things."""
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame({"x": rng.integers(0, 2, n), "z": rng.integers(0, 4, n)})
    sex = rng.integers(0, 2, n)
    truth = (rng.random(n) < 0.3 + 0.1 * X["x"]).astype(int).to_numpy()
    right = rng.random(n) < np.where((sex == 0) & (X["x"] == 1), 0.55, 0.85)
    return X, sex, truth, np.where(right, truth, 1 - truth)


@pytest.mark.parametrize("event", ["selection", "true_positive", "false_positive", "error"])
def test_ratio_violation_and_certificate_are_the_same(table, quick, lists, event):
    X, sex, truth, predicted = table
    common = {"audit_features": X, "event": event} | quick
    names = ("worst_case_ratio", "worst_case_violation", "unfairness_certificate")
    of_fairlearn = fairlearn.worst_case(truth, predicted, sensitive_features=sex, **common)
    frame = X.assign(sex=sex, y=truth)
    dataset = part("datasets").BinaryLabelDataset(
        df=frame, label_names=["y"], protected_attribute_names=["sex"]
    )
    classified = dataset.copy()
    classified.labels = predicted[:, np.newaxis].astype(float)
    metric = aif360.MDFAClassificationMetric(dataset, classified, **lists, **quick, event=event)
    scan = aif360.mdfa_scan(X, truth, predicted, event=event, prot_attr=sex, **quick)
    for name, field in zip(names, ("ratio", "delta", "gamma"), strict=True):
        expected = pytest.approx(getattr(of_fairlearn, field), abs=1e-12)
        assert getattr(metric, name)() == expected
        assert getattr(scan.worst_case, field) == expected
    # The functions are the same audit once more.
    number = aif360.worst_case_ratio(truth, predicted, prot_attr=sex, **common)
    assert number == fairlearn.worst_case_ratio(truth, predicted, sensitive_features=sex, **common)
    sides = {"unprivileged": 0, "privileged": 1}
    worst = metric.worst_case()
    assert (sides[worst.group], worst.verdict) == (of_fairlearn.group, of_fairlearn.verdict)
    assert worst.interval == pytest.approx(of_fairlearn.interval)
    np.testing.assert_array_equal(worst.violation.membership, of_fairlearn.violation.membership)
