"""Audits after AIF360's algorithms, and of the classifiers it makes."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin.aif360 import MDFAClassificationMetric, MDFADatasetMetric
from mdfa_fairness_plugin.aif360.toolkit import part, quiet


@pytest.fixture(scope="module")
def dataset(xor_frame, dataset_of):
    """Men are favored everywhere, and more where x is 1."""
    frame = xor_frame(n=700)
    rng = np.random.default_rng(0)
    z = rng.normal(size=700)
    rate = 1 / (1 + np.exp(-(z + 0.4 + 1.2 * (frame["sex"] - 0.5) * (1 + frame["x"]))))
    return dataset_of(frame.assign(z=z, y=(rng.random(700) < rate).astype(int)))


@pytest.fixture(scope="module")
def predicted(dataset):
    """Labels and scores of a plain classifier that sees everything."""
    model = LogisticRegression().fit(dataset.features, dataset.labels.ravel())
    copy = dataset.copy()
    copy.scores = model.predict_proba(dataset.features)[:, [1]]
    copy.labels = (copy.scores > 0.5).astype(float)
    return copy


def audited(metric, plain):
    """Audit beside a metric that agrees with AIF360's own."""
    result = metric.audit()
    assert len(result.violations) == 4
    assert not any(np.isnan(one.delta) for one in result.violations)
    assert metric.disparate_impact() == pytest.approx(plain.disparate_impact(), rel=1e-12)
    assert metric.worst_case_ratio() > 0
    return result


def test_reweighing_leaves_the_worst_case(dataset, lists, quick):
    """Weights that level the aggregate do not level the subgroup; the audit takes them."""
    levelled = part("algorithms.preprocessing").Reweighing(**lists).fit_transform(dataset)
    metric = MDFADatasetMetric(levelled, **lists, **quick)
    plain = part("metrics").BinaryLabelDatasetMetric(levelled, **lists)
    result = audited(metric, plain)
    assert metric.disparate_impact() == pytest.approx(1.0, abs=1e-9)
    assert result.provenance["weight_type"] == "sampling"


def test_lfr(dataset, lists, quick):
    with quiet():
        warnings.filterwarnings("ignore", "scipy.optimize", DeprecationWarning)
        model = part("algorithms.preprocessing").LFR(
            **lists, k=5, Ax=0.1, Ay=2.0, Az=0.5, verbose=0, seed=0
        )
        learned = model.fit(dataset, maxiter=100, maxfun=100).transform(dataset, threshold=0.55)
    assert 0 < learned.labels.mean() < 1
    metric = MDFAClassificationMetric(dataset, learned, **lists, **quick, features_from="dataset")
    copy = dataset.copy()
    copy.labels = learned.labels
    audited(metric, part("metrics").ClassificationMetric(dataset, copy, **lists))


def test_disparate_impact_remover(dataset, lists, quick):
    pytest.importorskip("BlackBoxAuditing", reason="the remover needs it")
    with quiet():
        remover = part("algorithms.preprocessing").DisparateImpactRemover(
            repair_level=1.0, sensitive_attribute="sex"
        )
        repaired = remover.fit_transform(dataset)
    metric = MDFADatasetMetric(repaired, **lists, **quick)
    audited(metric, part("metrics").BinaryLabelDatasetMetric(repaired, **lists))
    both = MDFAClassificationMetric(
        dataset, repaired, **lists, **quick, features_from="classified_dataset"
    )
    assert not np.isnan(both.worst_case_violation())


def test_prejudice_remover(dataset, lists, quick, monkeypatch):
    """It starts ``python`` from the path, so the path has to begin with this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    if Path(shutil.which("python") or "").parent != Path(sys.executable).parent:
        pytest.skip("this environment has no 'python'")
    few = dataset.subset(np.arange(400))
    model = part("algorithms.inprocessing").PrejudiceRemover(
        eta=1.0, sensitive_attr="sex", class_attr="y"
    )
    predictions = model.fit(few).predict(few)
    metric = MDFAClassificationMetric(few, predictions, **lists, **quick)
    audited(metric, part("metrics").ClassificationMetric(few, predictions, **lists))


def test_equalized_odds_postprocessing(dataset, predicted, lists, quick):
    model = part("algorithms.postprocessing").EqOddsPostprocessing(**lists, seed=0)
    predictions = model.fit(dataset, predicted).predict(predicted)
    metric = MDFAClassificationMetric(dataset, predictions, **lists, **quick)
    audited(metric, part("metrics").ClassificationMetric(dataset, predictions, **lists))


def test_reject_option_classification(dataset, predicted, lists, quick):
    model = part("algorithms.postprocessing").RejectOptionClassification(
        **lists, num_class_thresh=10, num_ROC_margin=5
    )
    predictions = model.fit(dataset, predicted).predict(predicted)
    # The classifier is a limit on z, but for those near it.
    inputs = {"decision_inputs": ["z"]}
    metric = MDFAClassificationMetric(dataset, predictions, **lists, **quick, **inputs)
    audited(metric, part("metrics").ClassificationMetric(dataset, predictions, **lists))


def test_exponentiated_gradient_reduction(dataset, lists, quick):
    pytest.importorskip("fairlearn", reason="AIF360's reductions need it")
    np.random.seed(0)  # noqa: NPY002 - its randomised predictions use the global state
    with quiet():  # fairlearn's reductions warn of pandas 4, scikit-learn of a column of labels
        model = part("algorithms.inprocessing").ExponentiatedGradientReduction(
            LogisticRegression(), constraints="DemographicParity", max_iter=5, drop_prot_attr=False
        )
        predictions = model.fit(dataset).predict(dataset)
    metric = MDFAClassificationMetric(dataset, predictions, **lists, **quick)
    audited(metric, part("metrics").ClassificationMetric(dataset, predictions, **lists))
