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
    n = 600
    X = pd.DataFrame({"x": rng.integers(0, 2, n), "z": rng.integers(0, 4, n)})
    sex = rng.integers(0, 2, n)
    truth = (rng.random(n) < 0.3 + 0.1 * X["x"]).astype(int).to_numpy()
    right = rng.random(n) < np.where((sex == 0) & (X["x"] == 1), 0.55, 0.85)
    return X, sex, truth, np.where(right, truth, 1 - truth)


@pytest.mark.parametrize("event", ["selection", "true_positive", "error"])
def test_ratio_violation_and_certificate_are_the_same(table, quick, lists, event):
    X, sex, truth, predicted = table
    common = {"event": event} | quick
    of_fairlearn = fairlearn.worst_case(
        truth, predicted, sensitive_features=sex, audit_features=X, **common
    )
    dataset = part("datasets").BinaryLabelDataset(
        df=X.assign(sex=sex, y=truth), label_names=["y"], protected_attribute_names=["sex"]
    )
    classified = dataset.copy()
    classified.labels = predicted[:, np.newaxis].astype(float)
    metric = aif360.MDFAClassificationMetric(dataset, classified, **lists, **common)
    figures = [metric.worst_case_ratio(), metric.worst_case_violation()]
    figures.append(metric.unfairness_certificate())
    theirs = [of_fairlearn.ratio, of_fairlearn.delta, of_fairlearn.gamma]
    assert figures == pytest.approx(theirs, abs=1e-12)
    worst = metric.worst_case()
    assert ("unprivileged", "privileged").index(worst.group) == of_fairlearn.group
    assert worst.verdict == of_fairlearn.verdict
    assert worst.interval == pytest.approx(of_fairlearn.interval)
    np.testing.assert_array_equal(worst.violation.membership, of_fairlearn.violation.membership)
    if event == "selection":
        ratio = aif360.worst_case_ratio(truth, predicted, audit_features=X, prot_attr=sex, **common)
        assert ratio == pytest.approx(of_fairlearn.ratio, abs=1e-12)
        people = {"sensitive_features": sex, "audit_features": X}
        assert (
            fairlearn.worst_case_ratio(truth, predicted, **people, **common) == of_fairlearn.ratio
        )
