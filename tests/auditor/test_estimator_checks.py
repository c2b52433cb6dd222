"""The auditor as a scikit-learn estimator: its checks, and sensitive features by routing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError

EXCEPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": "its fifteen rows of ten features tell any "
    "sensitive value made up from them; integer weights acting like repeated rows is tested below",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
    "check_sample_weights_shape": "its first feature repeats the outcome, which is refused",
    "check_sample_weights_not_overwritten": "as check_sample_weights_shape",
    "check_sample_weights_invariance": "as check_sample_weight_equivalence_on_dense_data, before "
    "scikit-learn 1.6",
}


class WithGroups(mdfa.MDFAuditor):
    """An auditor for ``fit(X, y)``: sensitive values made up from each row, two outcomes."""

    def fit(self, X, y, sensitive_features=None, sample_weight=None):
        if sensitive_features is None:
            sensitive_features = made_up_groups(X)
        return super().fit(
            X, two_outcomes(y), sensitive_features=sensitive_features, sample_weight=sample_weight
        )

    def score(self, X, y, sensitive_features=None, sample_weight=None):
        groups = made_up_groups(X) if sensitive_features is None else sensitive_features
        return super().score(X, two_outcomes(y), groups, sample_weight)

    def __sklearn_tags__(self):
        return super().__sklearn_tags__()

    def _more_tags(self):  # scikit-learn before 1.6 looks for exceptions here
        return super()._more_tags() | {"_xfail_checks": EXCEPTIONS}


def made_up_groups(X):
    """Groups that depend on what a row holds, not on where it stands; alternating in equal rows."""
    try:
        values = np.asarray(X.toarray() if sparse.issparse(X) else X).real.astype(float)
        total = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0).sum(axis=1).round(6)
    except (TypeError, ValueError, IndexError, AttributeError):
        total = np.arange(len(np.atleast_1d(X)))
    scattered = np.floor(1e4 * np.abs(np.sin(1e3 * total)))
    repeat = pd.Series(total).groupby(total).cumcount().to_numpy()
    return np.where((scattered + repeat) % 2 > 0, "a", "b")


def two_outcomes(y):
    if y is None:
        return y
    labels = np.asarray(y)
    distinct = np.unique(labels)
    return y if len(distinct) <= 2 or labels.ndim > 2 else labels == distinct[-1]


AUDITOR = WithGroups(learner="tree", n_splits=2, min_group_size=12, random_state=0)
OLD = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 6)


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.MDFAWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks(
    [AUDITOR], **({} if OLD else {"expected_failed_checks": lambda _: EXCEPTIONS})
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# -- metadata routing


@pytest.fixture(scope="module")
def data():
    return mdfa.datasets.make_synthetic(400, delta=1.5, imbalance=0.0, random_state=3)


@pytest.fixture
def auditor():
    return mdfa.MDFAuditor(learner="tree", n_splits=2, random_state=0)


@pytest.fixture
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("_routing")
def test_sensitive_features_reach_the_auditor_by_routing(data, auditor):
    weight = np.linspace(0.5, 1.5, len(data.y))
    routed = clone(auditor).set_fit_request(sensitive_features=True, sample_weight=True)
    pipeline = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False).set_output(transform="pandas"), routed
    )
    pipeline.fit(data.X, data.y, sensitive_features=data.sensitive_features, sample_weight=weight)
    found = pipeline[-1].result_
    scaled = StandardScaler().set_output(transform="pandas").fit_transform(data.X)
    expected = mdfa.audit(
        scaled,
        data.y,
        sensitive_features=data.sensitive_features,
        sample_weight=weight,
        **auditor.get_params(),
    )
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())
    np.testing.assert_array_equal(pipeline.predict(data.X), pipeline[-1].predict(scaled))


@pytest.mark.usefixtures("_routing")
def test_a_request_under_another_name(data, auditor):
    routed = auditor.set_fit_request(sensitive_features="race")
    make_pipeline(routed).fit(data.X, data.y, race=data.sensitive_features)
    assert routed.result_.n_samples == len(data.y)


@pytest.mark.usefixtures("_routing")
def test_metadata_nobody_requested_are_refused(data, auditor):
    from sklearn.exceptions import UnsetMetadataPassedError

    with pytest.raises(UnsetMetadataPassedError, match="sensitive_features"):
        make_pipeline(auditor).fit(data.X, data.y, sensitive_features=data.sensitive_features)


def test_without_routing_a_pipeline_takes_the_step_name(data, auditor):
    pipeline = make_pipeline(auditor)
    pipeline.fit(data.X, data.y, mdfauditor__sensitive_features=data.sensitive_features)
    assert pipeline[-1].result_.worst_case is not None


def test_what_a_fit_needs(data, auditor):
    with pytest.raises(InputError, match="sensitive_features: None was given"):
        auditor.fit(data.X, data.y)
    with pytest.raises(InputError, match="y: MDFAuditor requires y to be passed"):
        auditor.fit(data.X, None, sensitive_features=data.sensitive_features)


def test_counts_of_rows_act_like_repeated_rows(data, auditor):
    """Said to count, a weight of three and three rows are the same evidence."""
    auditor = clone(auditor).set_params(weight_type="frequency")
    copies = np.random.default_rng(0).integers(0, 4, len(data.y))
    weighted = auditor.fit(
        data.X, data.y, sensitive_features=data.sensitive_features, sample_weight=copies
    ).result_
    rows = np.repeat(np.arange(len(copies)), copies)
    repeated = auditor.fit(
        data.X.iloc[rows].reset_index(drop=True),
        data.y.iloc[rows].reset_index(drop=True),
        sensitive_features=data.sensitive_features.iloc[rows].reset_index(drop=True),
    ).result_
    pd.testing.assert_frame_equal(weighted.to_frame(), repeated.to_frame())
