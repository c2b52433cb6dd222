"""The Fairlearn plug-in: metrics, MetricFrame and round trip, against Fairlearn's own figures."""

from __future__ import annotations

import doctest
import functools
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import fairlearn as plugin
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakedFeatureWarning,
    MissingSensitiveWarning,
    NothingToAuditError,
    OptionalDependencyError,
    SmallGroupWarning,
)
from mdfa_fairness_plugin.fairlearn import (
    EVENTS,
    audit_predictions,
    draw_predictions,
    predictions_hash,
    unfairness_certificate,
    worst_case_ratio,
    worst_case_violation,
)

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

N = 600
# Half a second an audit instead of some: what is tested is the plumbing.
QUICK = {"learner": "tree", "n_splits": 2}
FAIRLEARN_RATE = {
    "selection": metrics.selection_rate,
    "error": lambda t, p, **kw: 1 - accuracy_score(t, p, **kw),
    "false_positive": metrics.false_positive_rate,
    "false_negative": metrics.false_negative_rate,
    "true_positive": metrics.true_positive_rate,
}


class Case:
    """Planted violation: group 1 is selected e^1.5 times as often in a half disc."""

    def __init__(self):
        data = mdfa.datasets.make_synthetic(N, delta=1.5, imbalance=0.0, random_state=1)
        rng = np.random.default_rng(0)
        self.X, self.y_pred, self.s = data.X, data.y, data.sensitive_features
        self.y_true = pd.Series(rng.integers(0, 2, N), name="truth")
        self.other = pd.Series(rng.choice(["u", "v", "w"], N), name="other")
        self.region = pd.Series(rng.choice(["north", "south"], N), name="region")
        self.weight = rng.uniform(0.5, 2.0, N)

    @property
    def arguments(self):
        return {"sensitive_features": self.s, "audit_features": self.X, **QUICK}


@pytest.fixture(scope="module")
def case():
    return Case()


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


def rate_by_group(event, case, weight=None, rows=slice(None)):
    """Fairlearn's rate of the event for each value of `s`."""
    return metrics.MetricFrame(
        metrics=FAIRLEARN_RATE[event],
        y_true=case.y_true[rows],
        y_pred=case.y_pred[rows],
        sensitive_features=case.s[rows],
        sample_params=None if weight is None else {"sample_weight": weight[rows]},
    )


# -- truth


def test_metrics_find_what_was_planted():
    """At 2,000 rows the planted delta of 1.5 is found within what sampling leaves open."""
    data = mdfa.datasets.make_synthetic(2000, delta=1.5, imbalance=0.0, random_state=0)
    arguments = {
        "sensitive_features": data.sensitive_features,
        "audit_features": data.X,
        "groups": [1],
        **QUICK,
    }
    violation = worst_case_violation(None, data.y, **arguments)
    ratio = worst_case_ratio(None, data.y, **arguments)
    gamma = unfairness_certificate(None, data.y, **arguments)
    found = audit_predictions(None, data.y, **arguments).worst_case
    assert violation == pytest.approx(1.5, abs=0.4)
    assert ratio == pytest.approx(math.exp(violation), rel=1e-12)
    assert (violation, gamma) == (found.delta, found.gamma)
    assert found.verdict == "violation"
    inside = data.region
    overlap = (inside & found.membership).sum() / (inside | found.membership).sum()
    assert overlap > 0.35


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("event", list(EVENTS))
def test_everybodys_rates_equal_fairlearns(case, event, weighted):
    """Without balancing, everybody's rates are Fairlearn's, and so are ratio and inside rates."""
    weight = case.weight if weighted else None
    result = audit_predictions(
        case.y_true,
        case.y_pred,
        sample_weight=weight,
        event=event,
        balance="none",
        **case.arguments,
    )
    assert len(result.violations) == 2
    for violation in result.violations:
        assert violation.outcome == (1 if event == "selection" else event)
        theirs = rate_by_group(event, case, weight, violation.held_out)
        here, there = violation.population.rates
        assert here == pytest.approx(theirs.by_group[violation.group], abs=1e-12)
        assert there == pytest.approx(theirs.by_group[-violation.group], abs=1e-12)
        ratio = violation.population.ratio
        assert min(ratio, 1 / ratio) == pytest.approx(theirs.ratio(), abs=1e-12)
        inside = rate_by_group(event, case, weight, violation.membership & violation.held_out)
        for found, side in zip(violation.rates, (1, -1), strict=True):
            assert found == pytest.approx(inside.by_group[side * violation.group], abs=1e-12)


def test_demographic_parity_ratio_is_everybodys(case):
    result = audit_predictions(None, case.y_pred, balance="none", groups=[-1], **case.arguments)
    everybody = result.violations[0].held_out
    theirs = metrics.demographic_parity_ratio(
        case.y_true[everybody], case.y_pred[everybody], sensitive_features=case.s[everybody]
    )
    assert everybody.mean() > 0.97
    assert result.violations[0].population.ratio == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("event", "hits", "among"),
    [
        ("selection", [2, 3, 6, 7], range(8)),
        ("error", [2, 3, 4, 5], range(8)),
        ("false_positive", [2, 3], [0, 1, 2, 3]),
        ("false_negative", [4, 5], [4, 5, 6, 7]),
        ("true_positive", [6, 7], [4, 5, 6, 7]),
    ],
)
def test_events_by_hand(event, hits, among):
    """Every pair of true label and prediction, twice for each sensitive value and copy."""
    y_true = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    y_pred = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    copies = 25
    s = np.tile(np.repeat(["a", "b"], 8), copies)
    X = np.repeat(np.arange(copies) % 5, 16).reshape(-1, 1)
    n = 2 * copies
    result = audit_predictions(
        np.tile(y_true, n),
        np.tile(y_pred, n),
        sensitive_features=s,
        audit_features=X,
        event=event,
        groups=["a"],
        min_group_size=10,
        **QUICK,
    )
    counts = result.violations[0].population.counts
    label = 1 if event == "selection" else event
    assert counts[label].tolist() == [len(hits) * copies] * 2
    assert counts.sum(axis=1).tolist() == [len(list(among)) * copies] * 2
    n_left_out = n * (8 - len(list(among)))
    assert sum(result.excluded.values()) == n_left_out
    assert set(result.excluded) <= {"true label is 1", "true label is not 1"}


def test_rows_of_another_true_label_and_of_zero_weight_are_counted_apart(case):
    weight = np.ones(N)
    weight[:20] = 0
    result = audit_predictions(
        case.y_true,
        case.y_pred,
        sample_weight=weight,
        event="true_positive",
        **case.arguments,
    )
    n_negative = int((case.y_true == 0).sum())
    n_zero = int((case.y_true[:20] == 1).sum())
    assert result.excluded == {"true label is not 1": n_negative, "zero weight": n_zero}
    assert result.worst_case.held_out.sum() == N - n_negative - n_zero


# -- what Fairlearn accepts


def test_any_container_gives_the_same_number(case):
    arguments = QUICK
    y_true, y_pred = case.y_true, case.y_pred
    expected = worst_case_violation(
        y_true, y_pred, sensitive_features=case.s, audit_features=case.X, **arguments
    )
    assert expected > 0.5
    for as_given, table in (
        (list, lambda X: X.to_numpy().tolist()),
        (np.asarray, np.asarray),
        (lambda one: pd.DataFrame({"column": one}), lambda X: X),
        (lambda one: {"column": one.tolist()}, lambda X: X.to_dict("list")),
        (lambda one: pl.Series("column", one.to_numpy()), pl.from_pandas),
    ):
        found = worst_case_violation(
            as_given(y_true),
            as_given(y_pred),
            sensitive_features=as_given(case.s),
            audit_features=table(case.X),
            **arguments,
        )
        assert found == expected


def test_text_labels_equal_numbers_once_the_favourable_one_is_said(case):
    names = np.array(["deny", "grant"])
    y_pred, y_true = names[case.y_pred], names[case.y_true]
    for event in ("selection", "false_negative"):
        expected = worst_case_violation(case.y_true, case.y_pred, event=event, **case.arguments)
        found = worst_case_violation(
            y_true, y_pred, event=event, pos_label="grant", **case.arguments
        )
        assert found == expected
    with pytest.raises(InputError, match=r"pos_label: the labels are 'deny', 'grant'; say which"):
        worst_case_violation(y_true, y_pred, **case.arguments)
    with pytest.raises(InputError, match=r"pos_label: 'yes' is not among the labels found"):
        worst_case_violation(y_true, y_pred, pos_label="yes", **case.arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y * 0.7 + 0.1, r"y_pred: scores were given .* y_pred >= 0\.5"),
        (lambda y: y.astype("Int64").where(y.index > 0), r"y_pred: 1 of 600 predictions are miss"),
        (lambda y: y + 1, r"pos_label: the labels are 1, 2"),
        (lambda y: y.iloc[:-1], r"y_pred: 599 rows were given, but audit_features has 600"),
        (lambda y: y.set_axis(y.index + 5), r"y_pred: its index differs from that of audit_fea"),
        (lambda y: y * 0, r"y_pred: every one of the 600 predictions is 0: nothing to audit"),
        (lambda y: y * 0 + 1, r"y_pred: every one of the 600 predictions is 1: nothing to audit"),
    ],
    ids=["scores", "missing", "one-two", "short", "index", "all rejected", "all selected"],
)
def test_predictions_that_cannot_be_audited(case, change, message):
    with pytest.raises(InputError, match=message):
        worst_case_violation(case.y_true, change(case.y_pred), **case.arguments)


def test_arguments_that_cannot_be_used(case):
    def audit(y_true=case.y_true, y_pred=case.y_pred, **changes):
        return worst_case_violation(y_true, y_pred, **(case.arguments | changes))

    with pytest.raises(InputError, match=r"event: one of 'selection', .* 'accuracy' found"):
        audit(event="accuracy")
    with pytest.raises(InputError, match=r"y_true: None was given; event='error' needs true"):
        audit(y_true=None, event="error")
    with pytest.raises(InputError, match=r"y_true: it has no label in common with y_pred"):
        audit(y_true=case.y_true.map({0: "no", 1: "yes"}), event="error")
    with pytest.raises(InputError, match=r"y_true: scores were given"):
        audit(y_true=case.y_true + 0.5, event="error")
    with pytest.raises(InputError, match=r"y_true: no row has a true label 1, so there is no"):
        audit(y_true=case.y_true * 0, event="true_positive")
    with pytest.raises(NothingToAuditError, match=r"all|every one of the 600 rows .* 'correct'"):
        audit(y_true=case.y_pred, event="error")
    with pytest.raises(InputError, match=r"unknown argument\(s\) alhpa; those of MDFAuditor are"):
        audit(alhpa=0.1)
    with pytest.raises(InputError, match=r"audit_features: column names must differ"):
        audit(audit_features=pd.concat([case.X, case.X], axis=1))
    with pytest.raises(InputError, match=r"^audit_features: it has no columns"):
        audit(audit_features=case.X[[]])
    with pytest.raises(InputError, match=r"sensitive_features: nothing to compare"):
        audit(sensitive_features=np.ones(N))
    with pytest.raises(InputError, match=r"rows: position 600 was given"):
        audit(rows=np.arange(N) + 1)
    with pytest.raises(InputError, match=r"rows: whole-number positions"):
        audit(rows=np.full(N, 0.5))


def test_reordered_indexes_are_paired_by_label(case):
    expected = worst_case_violation(case.y_true, case.y_pred, event="error", **case.arguments)
    order = np.random.default_rng(3).permutation(N)
    found = worst_case_violation(
        case.y_true.iloc[order],
        case.y_pred.iloc[::-1],
        event="error",
        sensitive_features=case.s.iloc[np.roll(order, 9)],
        audit_features=case.X,
        **QUICK,
    )
    assert found == expected
    result = audit_predictions(None, case.y_pred.iloc[::-1], **case.arguments)
    assert [one.category for one in result.warnings] == ["AlignedIndex"]


def test_a_group_absent_from_a_split(case):
    s = pd.Series(pd.Categorical(case.s.astype(str), categories=["-1", "1", "7"]), name="group")
    with pytest.warns(SmallGroupWarning, match="'7'"):
        result = audit_predictions(
            None, case.y_pred, sensitive_features=s, audit_features=case.X, **QUICK
        )
    absent = next(one for one in result.violations if one.group == "7")
    assert (absent.n_rows, absent.verdict) == (0, "insufficient_evidence")
    assert result.worst_case.group in ("-1", "1")


def test_no_group_large_enough_is_nan_and_not_zero(case):
    with pytest.warns(SmallGroupWarning):
        found = worst_case_violation(None, case.y_pred, min_group_size=N, **case.arguments)
    assert math.isnan(found)


# -- beside Fairlearn's and scikit-learn's own tools


def test_plot_model_comparison(case):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    audited = functools.partial(worst_case_violation, audit_features=case.X, **QUICK)
    predictions = {"planted": case.y_pred.to_numpy(), "by lot": case.y_true.to_numpy()}
    metrics.plot_model_comparison(
        x_axis_metric=accuracy_score,
        y_axis_metric=audited,
        axis_labels=("accuracy", "worst case violation"),
        y_true=case.y_true,
        y_preds=predictions,
        sensitive_features=case.s,
        ax=ax,
    )
    drawn = ax.collections[0].get_offsets()
    assert drawn[:, 0].tolist() == [accuracy_score(case.y_true, p) for p in predictions.values()]
    expected = [audited(case.y_true, p, sensitive_features=case.s) for p in predictions.values()]
    assert drawn[:, 1].tolist() == expected
    assert expected[0] > expected[1]
    plt.close(figure)


class Given(ClassifierMixin, BaseEstimator):
    """Predicts what a column says."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X["decision"].to_numpy()


def test_scorer_with_metadata_routing(case):
    import sklearn

    X = case.X.assign(decision=case.y_pred)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(
            worst_case_violation, greater_is_better=False, min_group_size=10, **QUICK
        )
        scorer.set_score_request(sensitive_features=True, audit_features=True)
        scores = cross_validate(
            Given(),
            X,
            case.y_true,
            scoring=scorer,
            cv=[(np.arange(N), np.arange(N)[:300]), (np.arange(N), np.arange(N)[300:])],
            params={"sensitive_features": case.s, "audit_features": case.X},
            error_score="raise",
        )["test_score"]
    for score, part in zip(scores, (slice(0, 300), slice(300, N)), strict=True):
        expected = worst_case_violation(
            None,
            case.y_pred[part],
            sensitive_features=case.s[part],
            audit_features=case.X[part],
            min_group_size=10,
            **QUICK,
        )
        assert score == -expected


def test_metric_frame_and_derived_metric_by_row_positions(case):
    def by_group(y_true, y_pred, rows):
        return worst_case_violation(y_true, y_pred, rows=rows, **case.arguments)

    rows = np.arange(N)
    theirs = metrics.MetricFrame(
        metrics=by_group,
        y_true=case.y_true,
        y_pred=case.y_pred,
        sensitive_features=case.region,
        sample_params={"rows": rows},
    )
    for name, value in theirs.by_group.items():
        part = case.region == name
        expected = worst_case_violation(
            None,
            case.y_pred[part],
            sensitive_features=case.s[part],
            audit_features=case.X[part],
            **QUICK,
        )
        assert value == expected
    derived = metrics.make_derived_metric(
        metric=by_group, transform="difference", sample_param_names=["rows"]
    )
    found = derived(case.y_true, case.y_pred, sensitive_features=case.region, rows=rows)
    assert found == pytest.approx(theirs.by_group.max() - theirs.by_group.min(), abs=1e-12)


# -- MDFAMetricFrame


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
    assert copy.result_.to_json() == frame.result_.to_json()


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


# -- round trip


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


# -- mitigated and randomised models


@pytest.fixture(scope="module")
def lending():
    """Decisions to learn, on which a model picks up a bias."""
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], N)
    X = pd.DataFrame({"income": rng.normal(size=N) + 0.8 * (sex == "m"), "age": rng.normal(size=N)})
    y = (X["income"] + rng.normal(scale=0.5, size=N) > 0.4).astype(int)
    return X, y, pd.Series(sex, name="sex")


def quiet(call):
    """Fairlearn's reductions use what pandas will drop."""
    with warnings.catch_warnings():
        if hasattr(pd.errors, "Pandas4Warning"):
            warnings.simplefilter("ignore", pd.errors.Pandas4Warning)
        return call()


@pytest.mark.parametrize(
    "kind", ["ExponentiatedGradient", "GridSearch", "ThresholdOptimizer", "CorrelationRemover"]
)
def test_mitigated_models_are_audited(lending, kind):
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.preprocessing import CorrelationRemover
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch

    X, y, sex = lending
    model, extra, table = LogisticRegression(), {}, X
    if kind == "ExponentiatedGradient":
        model = ExponentiatedGradient(model, DemographicParity(), max_iter=5)
        quiet(lambda: model.fit(X, y, sensitive_features=sex))
    elif kind == "GridSearch":
        model = GridSearch(model, DemographicParity(), grid_size=5)
        quiet(lambda: model.fit(X, y, sensitive_features=sex))
    elif kind == "ThresholdOptimizer":
        model = ThresholdOptimizer(estimator=model, predict_method="predict_proba")
        model.fit(X, y, sensitive_features=sex)
        extra = {"sensitive_features": sex}
    else:
        table = X.assign(male=(sex == "m").astype(float))
        model = make_pipeline(CorrelationRemover(sensitive_feature_ids=["male"]), model)
        model.fit(table, y)
    y_pred = draw_predictions(model, table, random_state=3, **extra)
    np.testing.assert_array_equal(y_pred, draw_predictions(model, table, random_state=3, **extra))
    result = audit_predictions(
        y, y_pred, sensitive_features=sex, audit_features=X[["age"]], **QUICK
    )
    assert result.provenance["predictions_hash"] == predictions_hash(y_pred)
    everybody = {one.group: one.population.rates[0] for one in result.violations}
    assert set(everybody) == {"f", "m"}
    assert math.isfinite(result.worst_case.delta)


class Lottery(ClassifierMixin, BaseEstimator):
    """Decides by lot, as Fairlearn's randomised predictors do."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X, random_state=None):
        rng = np.random.default_rng(random_state)
        return (rng.random(len(X)) < np.where(X["x1"] > 0, 0.7, 0.3)).astype(int)


def test_repeats_of_a_randomised_predictor(case):
    model = Lottery().fit(case.X, case.y_pred)
    draws = draw_predictions(model, case.X, n_repeats=2, random_state=5)
    assert draws.shape == (N, 2)
    assert len({predictions_hash(draws[:, k]) for k in range(2)}) == 2
    np.testing.assert_array_equal(draws[:, 0], model.predict(case.X, random_state=5))
    np.testing.assert_array_equal(draws[:, 0], draw_predictions(model, case.X, random_state=5))
    piped = make_pipeline(Lottery()).fit(case.X, case.y_pred)
    np.testing.assert_array_equal(
        draws, draw_predictions(piped, case.X, n_repeats=2, random_state=5)
    )
    deltas, gammas = [], []
    for k in range(2):
        worst = audit_predictions(None, draws[:, k], **case.arguments).worst_case
        deltas.append(worst.delta)
        gammas.append(worst.gamma)
    found = worst_case_violation(None, draws, **case.arguments)
    assert found == pytest.approx(np.mean(deltas), abs=1e-12)
    assert unfairness_certificate(None, draws, **case.arguments) == pytest.approx(np.mean(gammas))
    with pytest.raises(InputError, match=r"y_pred: 2 columns were given; one label per row"):
        audit_predictions(None, draws, **case.arguments)
    with pytest.raises(InputError, match="n_repeats: a whole number of at least 1"):
        draw_predictions(model, case.X, n_repeats=0)


def test_hash_is_of_content_in_the_order_given(case):
    digest = predictions_hash(case.y_pred)
    assert digest == predictions_hash(case.y_pred.tolist())
    assert digest == predictions_hash(case.y_pred.astype(float).to_numpy())
    assert digest == predictions_hash(pl.Series(case.y_pred.to_numpy()))
    reversed_ = case.y_pred.iloc[::-1]
    assert digest != predictions_hash(reversed_)
    result = audit_predictions(None, reversed_, **case.arguments)
    assert result.provenance["predictions_hash"] == predictions_hash(reversed_)
    assert (result.provenance["event"], result.provenance["pos_label"]) == ("selection", 1)


# -- what is imported


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


def test_fairlearn_and_aif360_are_imported_only_when_needed():
    done = run_python(
        "import sys, mdfa_fairness_plugin, mdfa_fairness_plugin.fairlearn as plugin\n"
        "plugin.worst_case_violation\n"
        "print([name for name in ('fairlearn', 'aif360') if name in sys.modules])\n"
        "from mdfa_fairness_plugin.fairlearn import MDFAMetricFrame\n"
        "print([name for name in ('fairlearn', 'aif360') if name in sys.modules])\n"
    )
    assert done.stdout.split("\n")[:2] == ["[]", "['fairlearn']"], done.stderr


def test_metrics_work_without_fairlearn(case, monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn", None)
    monkeypatch.setitem(sys.modules, "fairlearn.metrics", None)
    plugin._metric_frame_class.cache_clear()
    try:
        assert worst_case_violation(None, case.y_pred, **case.arguments) > 0.5
        with pytest.raises(OptionalDependencyError, match=r"mdfa-fairness-plugin\[fairlearn\]"):
            plugin.MDFAMetricFrame  # noqa: B018
    finally:
        plugin._metric_frame_class.cache_clear()


def test_examples_in_docstrings():
    outcome = doctest.testmod(plugin, extraglobs={"np": np})
    assert outcome.attempted > 20
    assert outcome.failed == 0
