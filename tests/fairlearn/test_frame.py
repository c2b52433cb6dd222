"""MDFAMetricFrame and the round trip into any MetricFrame, against Fairlearn's own figures."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import fairlearn as plugin
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakedFeatureWarning,
    LeakWarning,
    MissingSensitiveWarning,
)
from mdfa_fairness_plugin.fairlearn import (
    worst_case_violation,
)

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

N = 600
# Half a second an audit instead of some: what is tested is the plumbing.
QUICK = {"learner": "tree", "n_splits": 2}


@pytest.fixture(scope="module")
def frame(case):
    """With several of everything."""
    return plugin.MDFAMetricFrame(
        metrics={"selected": metrics.selection_rate, "hit": metrics.true_positive_rate},
        y_true=case.y_true,
        y_pred=case.y_pred,
        sensitive_features=pd.concat([case.s, case.other], axis=1),
        audit_features=case.X,
        control_features=case.region,
        sample_params={"selected": {"sample_weight": case.weight}},
        n_boot=3,
        ci_quantiles=[0.1, 0.9],
        **QUICK,
    )


def test_frame_equals_fairlearns_with_the_subgroup_as_control(case, frame):
    """Every figure is Fairlearn's, given who is inside."""
    inside = frame.result_.as_control_feature()
    theirs = metrics.MetricFrame(
        metrics={"selected": metrics.selection_rate, "hit": metrics.true_positive_rate},
        y_true=case.y_true,
        y_pred=case.y_pred,
        sensitive_features=pd.concat([case.s, case.other], axis=1),
        control_features=pd.concat([case.region, inside], axis=1),
        sample_params={"selected": {"sample_weight": case.weight}},
        n_boot=3,
        ci_quantiles=[0.1, 0.9],
        random_state=0,
    )
    assert isinstance(frame, metrics.MetricFrame)
    assert frame.control_levels == theirs.control_levels == ["region", "mdfa_subgroup"]
    assert frame.sensitive_levels == theirs.sensitive_levels == ["group", "other"]
    equal = functools.partial(pd.testing.assert_frame_equal, rtol=0, atol=1e-12)
    equal(frame.by_group, theirs.by_group)
    equal(frame.overall, theirs.overall)
    for method in ("group_min", "group_max", "difference", "ratio"):
        equal(getattr(frame, method)(), getattr(theirs, method)())
    equal(frame.difference(method="to_overall"), theirs.difference(method="to_overall"))
    for ours, other in zip(frame.by_group_ci, theirs.by_group_ci, strict=True):
        equal(ours, other)
    for ours, other in zip(frame.ratio_ci(), theirs.ratio_ci(), strict=True):
        equal(ours, other)
    assert frame.kept_rows_.all()


def test_frame_shows_the_violation_inside_and_not_outside(case):
    frame = plugin.MDFAMetricFrame(
        metrics=metrics.selection_rate,
        y_true=None,
        y_pred=case.y_pred,
        balance="none",
        subgroup_name="worst",
        **case.arguments,
    )
    difference = frame.difference()
    assert difference["inside"] > 0.3 > difference["outside"]
    worst = frame.result_.worst_case
    inside = frame.by_group["inside"]
    assert worst.rates == pytest.approx((inside[worst.group], inside[-worst.group]), abs=1e-12)


def test_frame_keeps_the_weights_of_its_metrics(case, frame):
    expected = mdfa.audit(
        case.X,
        case.y_pred,
        sensitive_features=pd.concat([case.s, case.other], axis=1),
        sample_weight=case.weight,
        outcomes=[1],
        random_state=0,
        **QUICK,
    )
    pd.testing.assert_frame_equal(frame.result_.to_frame(), expected.to_frame())
    with pytest.raises(InputError, match=r"sample_params: the metrics have different sample_wei"):
        plugin.MDFAMetricFrame(
            metrics={"a": metrics.selection_rate, "b": metrics.mean_prediction},
            y_true=case.y_true,
            y_pred=case.y_pred,
            sample_params={
                "a": {"sample_weight": case.weight},
                "b": {"sample_weight": case.weight * 2},
            },
            **case.arguments,
        )


def test_frame_is_plotted(case):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from fairlearn.experimental.enable_metric_frame_plotting import plot_metric_frame

    frame = plugin.MDFAMetricFrame(
        metrics={"selected": metrics.selection_rate},
        y_true=case.y_true,
        y_pred=case.y_pred,
        **case.arguments,
    )
    (axis,) = frame.by_group.plot.bar(subplots=True)
    drawn = np.ravel(plot_metric_frame(frame, kind="bar"))[0]
    for ax in (axis, drawn):
        heights = [bar.get_height() for bar in ax.patches]
        np.testing.assert_array_equal(heights, frame.by_group["selected"])
    plt.close("all")


def test_frame_is_pickled(frame):
    copy = pickle.loads(pickle.dumps(frame))
    assert type(copy) is plugin.MDFAMetricFrame
    pd.testing.assert_frame_equal(copy.by_group, frame.by_group)
    assert copy.result_.to_json(rows=True) == frame.result_.to_json(rows=True)


def test_frame_pairs_rows_by_index(case, frame):
    order = np.random.default_rng(5).permutation(N)
    weight = pd.Series(case.weight)
    shuffled = plugin.MDFAMetricFrame(
        metrics={"selected": metrics.selection_rate, "hit": metrics.true_positive_rate},
        y_true=case.y_true.iloc[order],
        y_pred=case.y_pred.iloc[::-1],
        sensitive_features=pd.concat([case.s, case.other], axis=1).iloc[order],
        audit_features=case.X,
        control_features=case.region.iloc[::-1],
        sample_params={"selected": {"sample_weight": weight.iloc[order]}},
        **QUICK,
    )
    pd.testing.assert_frame_equal(shuffled.by_group, frame.by_group)


def test_frame_audits_by_person(case):
    people = np.random.default_rng(6).integers(0, 250, N)
    options = {"y_true": case.y_true, "y_pred": case.y_pred, "clusters": people, **case.arguments}
    found = plugin.MDFAMetricFrame(metrics=metrics.count, **options).result_
    expected = plugin.audit_predictions(options.pop("y_true"), options.pop("y_pred"), **options)
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())


def test_missing_sensitive_values_in_the_frame(case):
    s = case.s.map({-1: "a", 1: "b"}).astype(object)
    s.iloc[:50] = [None, np.nan] * 25

    def build(missing):
        return plugin.MDFAMetricFrame(
            metrics=metrics.count,
            y_true=case.y_true,
            y_pred=case.y_pred,
            sensitive_features=s,
            audit_features=case.X,
            missing=missing,
            **QUICK,
        )

    with pytest.warns(MissingSensitiveWarning, match="50 rows have no value in 'group'"):
        frame = build("exclude")
    assert frame.result_.excluded["missing sensitive value (group)"] == 50
    assert frame.kept_rows_.tolist() == [False] * 50 + [True] * (N - 50)
    assert set(frame.by_group.index.get_level_values("group")) == {"a", "b"}
    assert frame.by_group.sum() == N - 50
    frame = build("category")
    by_group = frame.by_group.groupby("group").sum()
    assert by_group["(missing)"] == 50
    assert by_group.sum() == N
    with pytest.raises(InputError, match="50 rows have no value"):
        build("raise")


def test_missing_values_beside_numbers_become_text(case):
    s = case.s.astype("Int64")
    s.iloc[:40] = pd.NA
    frame = plugin.MDFAMetricFrame(
        metrics=metrics.count,
        y_true=case.y_true,
        y_pred=case.y_pred,
        sensitive_features=s,
        audit_features=case.X,
        missing="category",
        **QUICK,
    )
    assert set(frame.by_group.index.get_level_values("group")) == {"-1", "1", "(missing)"}


def test_names_that_clash(case):
    """A sensitive column may be called anything; where MetricFrame cannot, the clash is named."""
    s = case.s.rename("y_pred")
    arguments = {"y_true": case.y_true, "y_pred": case.y_pred, "audit_features": case.X} | QUICK
    expected = worst_case_violation(sensitive_features=case.s, **arguments)
    assert worst_case_violation(sensitive_features=s, **arguments) == expected
    with pytest.raises(InputError, match=r"sensitive_features: the name 'y_pred' clashes with Met"):
        plugin.MDFAMetricFrame(metrics=metrics.count, sensitive_features=s, **arguments)
    for changes, message in (
        ({"control_features": case.region.rename("group")}, r"control_features: the name 'group'"),
        ({"subgroup_name": "group"}, r"subgroup_name: the name 'group' clashes"),
    ):
        with pytest.raises(InputError, match=message):
            plugin.MDFAMetricFrame(
                metrics=metrics.count, sensitive_features=case.s, **arguments, **changes
            )
    twin = case.X.assign(group=case.s)
    with pytest.warns(LeakedFeatureWarning, match="repeat"):
        found = worst_case_violation(
            sensitive_features=case.s, **arguments | {"audit_features": twin}
        )
    assert found == expected


def test_frame_without_names_is_named_as_fairlearn_does(case):
    frame = plugin.MDFAMetricFrame(
        metrics=metrics.count,
        y_true=case.y_true.tolist(),
        y_pred=case.y_pred.tolist(),
        sensitive_features=np.column_stack([case.s, case.other]),
        audit_features=pl.from_pandas(case.X),
        control_features=case.region.tolist(),
        **QUICK,
    )
    assert frame.sensitive_levels == ["sensitive_feature_0", "sensitive_feature_1"]
    assert frame.control_levels == ["control_feature_0", "mdfa_subgroup"]
    assert frame.result_.sensitive_names == ("sensitive_feature_0", "sensitive_feature_1")


def test_missing_control_values_are_named(case):
    region = case.region.astype(object).where(case.region.index > 2)
    with pytest.raises(InputError, match=r"control_features: 3 rows have no value in 'region'"):
        plugin.MDFAMetricFrame(
            metrics=metrics.count,
            y_true=case.y_true,
            y_pred=case.y_pred,
            control_features=region,
            **case.arguments,
        )


def test_round_trip_into_any_metric_frame(case):
    result = mdfa.audit(case.X, case.y_pred, sensitive_features=case.s, random_state=0, **QUICK)
    feature = result.as_control_feature("worst")
    assert feature.name == "worst"
    np.testing.assert_array_equal(feature == "inside", result.worst_case.membership)
    theirs = metrics.MetricFrame(
        metrics=metrics.selection_rate,
        y_true=case.y_true,
        y_pred=case.y_pred,
        sensitive_features=case.s,
        control_features=feature,
    )
    assert theirs.difference()["inside"] > theirs.difference()["outside"]
    chosen = result.as_control_feature(violation=result.violations[0], index=case.X.index[::-1])
    assert chosen.index.equals(case.X.index[::-1])
    np.testing.assert_array_equal(chosen == "inside", result.violations[0].membership)


def test_rows_the_search_learned_from_are_not_in_the_table(case):
    frame = plugin.MDFAMetricFrame(
        metrics=metrics.count,
        y_true=case.y_true,
        y_pred=case.y_pred,
        evaluation="holdout",
        **case.arguments,
    )
    feature = frame.result_.as_control_feature()
    held_out = frame.result_.worst_case.held_out
    assert set(feature[~held_out]) == {"not held out"}
    assert set(feature[held_out]) <= {"inside", "outside"}
    np.testing.assert_array_equal(frame.kept_rows_, held_out)
    assert frame.by_group.sum() == held_out.sum() < N / 2


def test_fitted_auditor_flags_new_rows(frame):
    data = mdfa.datasets.make_synthetic(500, delta=1.5, imbalance=0.0, random_state=9)
    inside = frame.auditor_.predict(data.X[["x2", "x1"]])
    assert inside.dtype == bool
    region = data.region
    assert inside[region].mean() > 2 * inside[~region].mean()


def test_a_feature_that_tells_the_prediction_is_refused_or_warned_of(case):
    arguments = {"y_true": case.y_true, "y_pred": case.y_pred, "sensitive_features": case.s} | QUICK
    said = np.asarray(case.y_pred)
    again = case.X.assign(again=np.where(said == said.max(), "yes", "no"))
    with pytest.raises(InputError, match=r"^audit_features: 'again' repeat.*decision_inputs"):
        worst_case_violation(audit_features=again, **arguments)
    worst_case_violation(audit_features=again, decision_inputs=["again"], **arguments)
    score = case.X.assign(score=(said == said.max()) * 2 + np.linspace(0, 1, len(said)))
    with pytest.warns(LeakWarning, match="'score' decides the outcome alone"):
        worst_case_violation(audit_features=score, **arguments)
