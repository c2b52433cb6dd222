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
    NothingFoundWarning,
    OverlapWarning,
    SmallGroupWarning,
)
from mdfa_fairness_plugin.fairlearn import (
    worst_case_violation,
)

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

N = 600
# Half a second an audit instead of some: what is tested is the plumbing.
QUICK = {"learner": "tree", "n_splits": 2, "n_repeats": 1}


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


def assert_equal_frames(ours, theirs):
    """Every figure of two frames, with its type."""
    assert ours.control_levels == theirs.control_levels
    assert ours.sensitive_levels == theirs.sensitive_levels
    equal = functools.partial(pd.testing.assert_frame_equal, rtol=0, atol=1e-12)
    equal(ours.by_group, theirs.by_group)
    equal(ours.overall, theirs.overall)
    for name in ("group_min", "group_max", "difference", "ratio"):
        equal(getattr(ours, name)(), getattr(theirs, name)())
    equal(ours.difference(method="to_overall"), theirs.difference(method="to_overall"))
    for some, others in (
        (ours.by_group_ci, theirs.by_group_ci),
        (ours.ratio_ci(), theirs.ratio_ci()),
    ):
        for one, other in zip(some, others, strict=True):
            equal(one, other)


def test_frame_equals_fairlearns_and_so_does_its_table_by_subgroup(case, frame):
    """As if the audit were not there; and every figure by subgroup, given who is inside."""
    theirs, split = (
        metrics.MetricFrame(
            metrics={"selected": metrics.selection_rate, "hit": metrics.true_positive_rate},
            y_true=case.y_true,
            y_pred=case.y_pred,
            sensitive_features=pd.concat([case.s, case.other], axis=1),
            control_features=controls,
            sample_params={"selected": {"sample_weight": case.weight}},
            n_boot=3,
            ci_quantiles=[0.1, 0.9],
            random_state=0,
        )
        for controls in (
            case.region,
            pd.concat([case.region, frame.result_.as_control_feature()], axis=1),
        )
    )
    assert isinstance(frame, metrics.MetricFrame)
    assert type(frame.plain) is type(frame.subgroup_frame) is metrics.MetricFrame
    assert split.control_levels == ["region", "mdfa_subgroup"]
    for ours, other in ((frame, theirs), (frame.plain, theirs), (frame.subgroup_frame, split)):
        assert_equal_frames(ours, other)
    pd.testing.assert_frame_equal(frame.by_subgroup, split.by_group)
    for name in ("difference", "ratio"):
        ours = getattr(frame, f"subgroup_{name}")(method="to_overall", errors="raise")
        other = getattr(split, name)(method="to_overall", errors="raise")
        pd.testing.assert_frame_equal(ours, other)
    assert frame.kept_rows_.all()
    assert frame.audit_result is frame.result_ is frame.auditor_.result_


def test_frame_shows_the_violation_inside_and_not_outside(case):
    frame = plugin.MDFAMetricFrame(
        metrics=metrics.selection_rate,
        y_true=None,
        y_pred=case.y_pred,
        balance="none",
        subgroup_name="worst",
        **case.arguments,
    )
    difference = frame.subgroup_difference()
    assert difference["inside"] > 0.3 > difference["outside"]
    assert difference.index.name == "worst"
    harm = frame.worst_case()
    assert frame.verdict == harm.verdict == "violation"
    inside = frame.by_subgroup["inside"]
    assert (harm.group, harm.reference) == (-1, 1)
    assert inside[1] / inside[-1] == pytest.approx(harm.ratio, rel=1e-9)
    assert frame.subgroup_ratio()["inside"] == pytest.approx(harm.disparate_impact, rel=1e-9)


def test_nothing_found_is_said(case):
    """A split is made all the same; who looks at it alone is warned, and the report says so."""
    with pytest.warns(
        NothingFoundWarning, match="no violation that harms a group .verdict 'none_larger"
    ):
        frame = plugin.MDFAMetricFrame(
            metrics=metrics.selection_rate, y_true=None, y_pred=case.y_true, **case.arguments
        )
    assert frame.verdict == frame.worst_case().verdict == "none_larger_than_detectable"
    assert frame.audit_result.warnings[-1].category == "NothingFoundWarning"
    assert len(frame.by_subgroup) >= 2
    with (
        pytest.warns(SmallGroupWarning),
        pytest.warns(NothingFoundWarning, match="nothing could be measured"),
    ):
        frame = plugin.MDFAMetricFrame(
            metrics=metrics.count,
            y_true=None,
            y_pred=case.y_pred,
            min_group_size=N,
            **case.arguments,
        )
    assert (frame.verdict, frame.worst_case()) == ("insufficient_evidence", None)
    assert set(frame.by_subgroup.index.get_level_values(0)) == {"not comparable"}


def one_sided_jobs():
    """In two of three jobs all are of one sex, and the job decides."""
    rng = np.random.default_rng(2)
    job = np.repeat(["mixed", "men", "women"], [400, 100, 100])
    sex = np.where(rng.random(600) < 0.5, "f", "m")
    sex[400:] = np.repeat(["m", "f"], 100)
    rate = {"mixed": 0.5, "men": 0.8, "women": 0.2}
    y = (rng.random(600) < [rate[one] for one in job]).astype(int)
    X = pd.DataFrame({"job": job, "age": rng.integers(20, 60, 600)}, index=rng.permutation(600))
    return X, pd.Series(y, X.index), pd.Series(sex, X.index, name="sex")


def test_those_whom_nobody_is_comparable_with_have_a_level_of_their_own(tmp_path):
    """Men's and women's jobs are neither inside nor outside, whatever is known of whoever has them."""
    X, y, sex = one_sided_jobs()
    unknown = sex.where(np.arange(600) % 50 > 0)
    with (
        pytest.warns(NothingFoundWarning),
        pytest.warns(OverlapWarning),
        pytest.warns(MissingSensitiveWarning),
    ):
        frame = plugin.MDFAMetricFrame(
            metrics=metrics.selection_rate,
            y_true=None,
            y_pred=y,
            sensitive_features=unknown,
            audit_features=X,
            **QUICK,
        )
    feature = frame.audit_result.as_control_feature()
    one_sided = X["job"] != "mixed"
    assert set(feature[one_sided]) == {"not comparable"}
    assert set(feature[~one_sided]) <= {"inside", "outside"}
    apart = frame.subgroup_difference()
    assert apart["not comparable"] > 0.5
    assert apart.drop("not comparable").max() < 0.2
    stored = tmp_path / "audit.json"
    frame.audit_result.to_json(stored, rows=True)
    read = mdfa.AuditResult.from_json(stored).as_control_feature()
    assert read.tolist() == feature.tolist()
    assert read.index.equals(pd.RangeIndex(600))  # a file has no labels of rows


def test_rows_of_another_true_label_are_comparable_by_their_features_alone():
    """Of a rate among some rows the others are told, too."""
    X, y, sex = one_sided_jobs()
    with pytest.warns(OverlapWarning):
        result = plugin.audit_predictions(
            pd.Series(np.arange(600) % 2, X.index),
            y,
            event="true_positive",
            sensitive_features=sex,
            audit_features=X,
            **QUICK,
        )
    feature = result.as_control_feature()
    np.testing.assert_array_equal(feature == "not comparable", X["job"] != "mixed")


def test_frame_keeps_the_weights_of_its_metrics(case, frame):
    expected = mdfa.audit(
        case.X,
        case.y_pred,
        sensitive_features=pd.concat([case.s, case.other], axis=1),
        sample_weight=case.weight,
        favorable_label=1,
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


def test_weights_are_the_same_if_they_are_of_the_same_rows():
    from mdfa_fairness_plugin.fairlearn.frame import _weight_of

    weight = pd.Series([1.0, 2.0, 3.0])
    for other, same in (
        (weight[::-1], True),
        (weight.tolist(), True),
        (weight.set_axis(weight.index[::-1]), False),
    ):
        params = {("a", "sample_weight"): weight, ("b", "sample_weight"): other}
        if same:
            assert _weight_of(params) is weight
        else:
            with pytest.raises(InputError, match="have different sample_weight"):
                _weight_of(params)


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
    for ax, table in (
        (frame.by_group.plot.bar(subplots=True), frame.by_group),
        (plot_metric_frame(frame, kind="bar"), frame.plain.by_group),
        (plot_metric_frame(frame.subgroup_frame, kind="bar"), frame.by_subgroup),
    ):
        heights = [bar.get_height() for bar in np.ravel(ax)[0].patches]
        np.testing.assert_array_equal(heights, table["selected"])
    plt.close("all")


def test_frame_is_pickled(frame):
    copy = pickle.loads(pickle.dumps(frame))
    assert type(copy) is plugin.MDFAMetricFrame
    pd.testing.assert_frame_equal(copy.by_group, frame.by_group)
    pd.testing.assert_frame_equal(copy.by_subgroup, frame.by_subgroup)
    assert copy.result_.to_json(rows=True) == frame.result_.to_json(rows=True)


def test_frame_audits_by_person(case):
    people = np.random.default_rng(6).integers(0, 250, N)
    options = {"y_true": case.y_true, "y_pred": case.y_pred, "clusters": people, **case.arguments}
    frame = plugin.MDFAMetricFrame(metrics=metrics.count, **options)
    assert frame.result_.provenance["n_clusters"] == len(set(people))


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
    assert set(frame.by_group.index) == {"a", "b"}
    assert frame.by_group.sum() == frame.by_subgroup.sum() == N - 50
    frame = build("category")
    assert frame.by_group["(missing)"] == 50
    assert frame.by_group.sum() == frame.by_subgroup.sum() == N
    with pytest.raises(InputError, match="50 rows have no value"):
        build("raise")
    s.iloc[:] = None
    with pytest.raises(InputError, match=r"^y_pred, sensitive_features: no row has a value in all"):
        build("exclude")


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
    assert set(frame.by_group.index) == {"-1", "1", "(missing)"}


def test_names_that_clash(case, audited):
    """A sensitive column may be called anything; where MetricFrame cannot, the clash is named."""
    s = case.s.rename("y_pred")
    arguments = {"y_true": case.y_true, "y_pred": case.y_pred, "audit_features": case.X} | QUICK
    expected = audited.worst_harm.delta
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
    assert frame.control_levels == ["control_feature_0"]
    assert frame.subgroup_frame.control_levels == ["control_feature_0", "mdfa_subgroup"]
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
    order = np.random.default_rng(8).permutation(N)[:500]  # as a split gives them
    X, y_true, y_pred, s = (one.iloc[order] for one in (case.X, case.y_true, case.y_pred, case.s))
    result = mdfa.audit(X, y_pred, sensitive_features=s, **QUICK)
    feature = result.as_control_feature("worst")
    assert feature.name == "worst"
    assert feature.index.equals(result.members(violation=result.worst_case).index)
    whole = case.X.assign(worst=feature)["worst"]
    np.testing.assert_array_equal(whole[X.index] == "inside", result.worst_case.membership)
    theirs = metrics.MetricFrame(
        metrics=metrics.selection_rate,
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=s,
        control_features=feature,
    )
    assert theirs.difference()["inside"] > theirs.difference()["outside"]
    chosen = result.as_control_feature(violation=result.violations[0], index=X.index[::-1])
    assert chosen.index.equals(X.index[::-1])
    np.testing.assert_array_equal(chosen == "inside", result.violations[0].membership)
    other = mdfa.Violation(group=1, outcome=1, membership=[True, False])
    with pytest.raises(InputError, match=r"^violation: it has 2 rows, and this result 500"):
        result.as_control_feature(violation=other)
    with pytest.raises(InputError, match=r"^index: it has 600 rows, and this result 500"):
        result.as_control_feature(index=case.X.index)
    for given in (5, "abc", np.array(5), {1, 2}, iter([1]), case.X):
        with pytest.raises(InputError, match=r"^index: a label for each row expected, .* found"):
            result.as_control_feature(index=given)


def test_the_caller_s_index_is_that_of_the_first_argument_that_has_one(case):
    """Of rows given by position, that of the predictions; positions where nothing has an index."""
    labels = pd.Index([f"file {i}" for i in range(N)])
    plain = {"sensitive_features": case.s.to_numpy(), "audit_features": case.X.to_numpy(), **QUICK}
    rows = np.arange(N)[::-1]
    for y_pred, given, expected in (
        (case.y_pred.set_axis(labels), plain, labels),
        (case.y_pred.set_axis(labels), case.arguments | {"rows": rows}, labels),
        (case.y_pred.to_numpy(), plain | {"audit_features": pl.from_pandas(case.X)}, case.X.index),
    ):
        result = plugin.audit_predictions(None, y_pred, **given)
        assert result.as_control_feature().index.equals(expected)
        assert result.members(violation=result.worst_case).index.equals(expected)


def test_rows_the_search_learned_from_are_not_in_the_table(case):
    frame = plugin.MDFAMetricFrame(
        metrics=metrics.count,
        y_true=case.y_true,
        y_pred=case.y_pred,
        evaluation="holdout",
        **case.arguments,
    )
    feature = frame.result_.as_control_feature()
    held_out = frame.worst_case().violation.held_out
    assert set(feature[~held_out]) == {"not held out"}
    assert set(feature[held_out]) <= {"inside", "outside"}
    assert frame.by_subgroup.sum() == held_out.sum() < N / 2
    assert frame.by_group.sum() == N


def test_fitted_auditor_flags_new_rows(frame):
    data = mdfa.datasets.make_synthetic(500, delta=1.5, imbalance=0.0, random_state=9)
    inside = frame.auditor_.predict(data.X[["x2", "x1"]], frame.worst_case().violation)
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
