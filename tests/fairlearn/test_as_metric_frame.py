"""What Fairlearn's own metric tests try, on `MDFAMetricFrame`: aspects, inputs, errors.

The audit is of no concern here, and stands still.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    fbeta_score,
    mean_absolute_error,
    recall_score,
    roc_auc_score,
)

from mdfa_fairness_plugin import AuditResult, Violation
from mdfa_fairness_plugin import fairlearn as plugin
from mdfa_fairness_plugin.exceptions import InputError

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

# In small cells nobody may have a true label of 1; with two groups of arrays pandas says more.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")

N = 96
RNG = np.random.default_rng(11)
Y_TRUE, Y_PRED = RNG.integers(0, 2, (2, N))
SCORES = RNG.random(N).round(3)
WEIGHT = RNG.random(N)
SEX = np.array(["f", "m"])[RNG.integers(0, 2, N)]
AGE = np.array(["young", "old", "ancient"])[RNG.integers(0, 3, N)]
REGION = np.array(["north", "south"])[RNG.integers(0, 2, N)]
X = pd.DataFrame({"x": RNG.random(N)})


@pytest.fixture(autouse=True)
def still(monkeypatch):
    """Every second row is inside."""
    search = Violation(
        group="f",
        outcome=1,
        verdict="violation",
        harm=False,
        delta=0.7,
        interval=(0.3, 1.0),
        impact_ratio=2.0,
        impact_interval=(1.4, 2.7),
        membership=np.arange(N) % 2 == 0,
    )
    result = AuditResult(violations=(search,), n_samples=N, favorable_label=1)
    module = "mdfa_fairness_plugin.fairlearn.frame.audit_case"
    monkeypatch.setattr(module, lambda case, **asked: SimpleNamespace(result_=result))


def both(**given):
    """Fairlearn's frame and ours."""
    asked = {"y_true": Y_TRUE, "y_pred": Y_PRED, "sensitive_features": SEX} | given
    return metrics.MetricFrame(**asked), plugin.MDFAMetricFrame(audit_features=X, **asked)


def same(ours, theirs):
    """Of one type and value; arrays inside cells, too."""
    assert type(ours) is type(theirs)
    if isinstance(ours, pd.DataFrame):
        pd.testing.assert_index_equal(ours.index, theirs.index)
        for (name, own), (other_name, other) in zip(ours.items(), theirs.items(), strict=True):
            assert name == other_name
            same(own, other)
    elif isinstance(ours, pd.Series):
        assert ours.dtype == theirs.dtype
        pd.testing.assert_index_equal(ours.index, theirs.index)
        for own, other in zip(ours, theirs, strict=True):
            np.testing.assert_equal(own, other)
    else:
        np.testing.assert_equal(ours, theirs)


def attempt(call):
    """What a call gives, or how it fails."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


def assert_same_figures(theirs, ours):
    """Whatever can be asked of a frame."""
    for name in ("control_levels", "sensitive_levels", "ci_quantiles"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("overall", "by_group"):
        same(getattr(ours, name), getattr(theirs, name))
    for errors in ("raise", "coerce", "sulk"):
        for name in ("group_min", "group_max"):
            own, other = (attempt(lambda: getattr(f, name)(errors)) for f in (ours, theirs))  # noqa: B023
            same(own, other)
        for name in ("difference", "ratio"):
            for method in ("between_groups", "to_overall", "sideways"):
                own, other = (
                    attempt(lambda: getattr(f, name)(method=method, errors=errors))  # noqa: B023
                    for f in (ours, theirs)
                )
                same(own, other)


def agreement(y_true, y_pred, sample_weight=None):
    """Quicker than scikit-learn's accuracy."""
    return np.average(y_true == y_pred, weights=sample_weight)


ONE, SEVERAL = agreement, {"agreement": agreement, "rate": metrics.mean_prediction}
TWO = pd.DataFrame({"sex": SEX, "age": AGE})
PLACES = pd.DataFrame({"region": REGION, "age group": AGE})
NUMBERS = pd.Series(RNG.integers(0, 3, N), name="number")


@pytest.mark.parametrize(
    "given",
    [
        {"metrics": ONE},
        {"metrics": SEVERAL},
        {"metrics": {"lone": ONE}, "sensitive_features": TWO},
        {"metrics": ONE, "control_features": pd.Series(REGION, name="region")},
        {"metrics": SEVERAL, "sensitive_features": TWO, "control_features": REGION},
        {"metrics": ONE, "control_features": PLACES},
        {"metrics": SEVERAL, "sensitive_features": NUMBERS, "control_features": PLACES},
        {"metrics": ONE, "sample_params": {"sample_weight": WEIGHT}},
        {"metrics": ONE, "sample_params": {"sample_weight": None}},
        {
            "metrics": SEVERAL,
            "sample_params": {
                "agreement": {"sample_weight": WEIGHT},
                "rate": {"sample_weight": WEIGHT},
            },
            "control_features": REGION,
        },
        {"metrics": SEVERAL, "sample_params": {"rate": {"sample_weight": WEIGHT}}},
        # Figures that are no numbers, alone and beside others.
        {"metrics": confusion_matrix},
        {"metrics": {"matrix": confusion_matrix, "count": metrics.count}},
        {
            "metrics": {"matrix": confusion_matrix, "recall": recall_score},
            "control_features": REGION,
        },
        {"metrics": lambda y_true, y_pred: "never"},
        {"metrics": {"nan": lambda y_true, y_pred: np.nan, "none": lambda y_true, y_pred: None}},
        {"metrics": {"f": lambda t, p: fbeta_score(t, p, beta=0.6)}, "sensitive_features": TWO},
    ],
)
def test_aspects(given):
    theirs, ours = both(**given)
    assert_same_figures(theirs, ours)
    assert_same_figures(theirs, ours.plain)
    levelled = dict(given)
    inside = pd.Series(np.where(np.arange(N) % 2, "outside", "inside"), name="mdfa_subgroup")
    controls = levelled.pop("control_features", None)
    if controls is not None:
        named = isinstance(controls, pd.Series | pd.DataFrame)
        controls = controls if named else pd.Series(controls, name="control_feature_0")
        inside = pd.concat([controls, inside], axis=1)
    asked = {"y_true": Y_TRUE, "y_pred": Y_PRED, "sensitive_features": SEX} | levelled
    split = metrics.MetricFrame(**asked, control_features=inside)
    assert_same_figures(split, ours.subgroup_frame)
    same(ours.by_subgroup, split.by_group)


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.asarray,
        lambda own: np.asarray(own).reshape(-1, 1),
        pd.Series,
        lambda own: pd.Series(own, name="named"),
        lambda own: pd.DataFrame({"only": own}),
        pl.Series,
    ],
    ids=["list", "tuple", "array", "column", "Series", "named", "frame", "polars"],
)
@pytest.mark.parametrize(
    "argument", ["y_true", "y_pred", "sensitive_features", "control_features", "sample_weight"]
)
def test_containers(argument, form):
    given = {"metrics": ONE}
    own = {"y_true": Y_TRUE, "y_pred": Y_PRED, "control_features": REGION}.get(argument, SEX)
    if argument == "sample_weight":
        given["sample_params"] = {"sample_weight": form(WEIGHT)}
    else:
        given[argument] = form(own)
    if argument == "sample_weight" and np.ndim(given["sample_params"]["sample_weight"]) > 1:
        return  # Fairlearn takes no table of weights
    assert_same_figures(*both(**given))


@pytest.mark.parametrize(
    "features",
    [
        {"sex": SEX, "age": AGE},
        {"sex": SEX.tolist()},
        np.column_stack([SEX, AGE]),
        pd.DataFrame({"n": RNG.integers(0, 2, N), "flag": RNG.integers(0, 2, N) == 1}),
        pd.Series(pd.Categorical(AGE, categories=["young", "old", "ancient", "none"]), name="age"),
        pd.Series(NUMBERS.astype(float), name="number"),
        RNG.integers(0, 2, N) == 1,
    ],
    ids=["dict", "dict of lists", "matrix", "frame", "categorical", "floats", "flags"],
)
def test_groups(features):
    for given in ({"sensitive_features": features}, {"control_features": features}):
        theirs, ours = both(metrics=SEVERAL, **given)
        assert_same_figures(theirs, ours)


def test_rows_are_paired_by_index():
    """In any order, where Fairlearn goes by position; a person's row stays one."""
    given = {
        "metrics": SEVERAL,
        "y_true": pd.Series(Y_TRUE),
        "y_pred": pd.Series(Y_PRED),
        "sensitive_features": TWO,
        "control_features": pd.Series(REGION, name="region"),
    }
    weight = pd.Series(WEIGHT)
    theirs, straight = both(**given, sample_params={"rate": {"sample_weight": weight}})
    orders = [RNG.permutation(N) for _ in given]
    shuffled = {
        name: own.iloc[order] if name != "metrics" else own
        for (name, own), order in zip(given.items(), orders, strict=True)
    }
    weight = weight.iloc[orders[0]]
    ours = plugin.MDFAMetricFrame(
        audit_features=X, sample_params={"rate": {"sample_weight": weight}}, **shuffled
    )
    assert_same_figures(theirs, ours)
    same(ours.by_subgroup, straight.by_subgroup)


def test_labels_may_be_text():
    words = np.array(["deny", "grant"])
    for kind in (str, object):
        theirs, ours = both(
            metrics=accuracy_score,
            y_true=words[Y_TRUE].astype(kind),
            y_pred=words[Y_PRED].astype(kind),
        )
        assert_same_figures(theirs, ours)


def test_bootstrap():
    given = {"metrics": SEVERAL, "n_boot": 2, "ci_quantiles": [0.1, 0.5], "random_state": 3}
    theirs, ours = both(**given, control_features=REGION)
    for name in ("overall_ci", "by_group_ci"):
        for own, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            same(own, other)
    for name in ("group_min_ci", "group_max_ci", "difference_ci", "ratio_ci"):
        for own, other in zip(getattr(ours, name)(), getattr(theirs, name)(), strict=True):
            same(own, other)
    theirs, ours = both(metrics=ONE)
    for name in ("group_min_ci", "ratio_ci"):
        same(*(attempt(getattr(f, name)) for f in (ours, theirs)))


@pytest.mark.parametrize(
    "given",
    [
        {"metrics": None},
        {"metrics": {"m": "recall"}},
        {"metrics": ONE, "sample_params": [WEIGHT]},
        {"metrics": SEVERAL, "sample_params": {"rate": WEIGHT}},
        {"metrics": SEVERAL, "sample_params": {"precision": {"sample_weight": WEIGHT}}},
        {"metrics": SEVERAL, "sample_params": {"sample_weight": WEIGHT}},
        {"metrics": ONE, "n_boot": 5},
        {"metrics": ONE, "ci_quantiles": [0.5]},
        {"metrics": ONE, "n_boot": -1, "ci_quantiles": [0.5]},
        {"metrics": ONE, "n_boot": 2.5, "ci_quantiles": [0.5]},
        {"metrics": ONE, "n_boot": 5, "ci_quantiles": [1]},
        {"metrics": ONE, "n_boot": 5, "ci_quantiles": [1.5]},
        {"metrics": confusion_matrix, "n_boot": 5, "ci_quantiles": [0.5]},
        {"metrics": lambda y_true, y_pred: 1 / 0},
    ],
)
def test_refusals_of_fairlearns_own(given):
    """In the same words, before any audit."""
    asked = {"y_true": Y_TRUE, "y_pred": Y_PRED, "sensitive_features": SEX} | given
    with pytest.raises(Exception, match=r".") as theirs:
        metrics.MetricFrame(**asked)
    with pytest.raises(theirs.type, match=f"^{re.escape(str(theirs.value))}$"):
        plugin.MDFAMetricFrame(audit_features=X, **asked)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y_true": Y_TRUE[1:]}, r"^y_true: 95 rows were given, but audit_features has 96"),
        ({"y_pred": Y_PRED[1:]}, r"^y_pred: 95 rows were given"),
        ({"sensitive_features": SEX[1:]}, r"^sensitive_features: 95 rows were given"),
        ({"control_features": REGION[1:]}, r"^control_features: 95 rows were given"),
        (
            {"sample_params": {"sample_weight": WEIGHT[1:]}},
            r"^sample_params\['sample_weight'\]: 95 rows were given",
        ),
        (
            {"sensitive_features": pd.concat([TWO, TWO], axis=1)},
            r"^sensitive_features: column names",
        ),
        (
            {"control_features": pd.Series(SEX, name="sex"), "sensitive_features": TWO},
            r"'sex' clash",
        ),
        (
            {"sensitive_features": {"sex": np.column_stack([SEX, SEX])}},
            r"^sensitive_features\['sex'\]",
        ),
        ({"sensitive_features": np.zeros((N, 2, 2))}, r"^sensitive_features: an array of 3 dimens"),
        (
            {"control_features": np.where(SEX == "f", None, SEX)},
            r"^control_features: \d+ rows have no",
        ),
    ],
)
def test_refusals_in_words_of_our_own(given, message):
    """What Fairlearn refuses, too, as a ValueError, naming the argument."""
    asked = {"metrics": ONE, "y_true": Y_TRUE, "y_pred": Y_PRED, "sensitive_features": SEX} | given
    with pytest.raises(ValueError, match=r"."):
        metrics.MetricFrame(**asked)
    with pytest.raises(InputError, match=message):
        plugin.MDFAMetricFrame(audit_features=X, **asked)


# -- beyond one label of two


def boxes(seed):
    """Corners of a box for each row, as detectors in pictures give."""
    return np.random.default_rng(seed).random((N, 2, 2)).round(2)


def overlap(y_true, y_pred):
    """Mean side by side of what is common to two boxes, and to their hull."""
    low, high = np.maximum(y_true, y_pred), np.minimum(y_true, y_pred)
    return float((low[:, 0] - high[:, 1]).clip(0).mean())


SENTENCES = np.array(["a dog", "a dog runs", "the dog"], dtype=object)


@pytest.mark.parametrize(
    "given",
    [
        {"metrics": roc_auc_score, "y_pred": SCORES},
        {"metrics": {"error": mean_absolute_error}, "y_pred": SCORES, "y_true": SCORES[::-1]},
        {
            "metrics": {"hit": accuracy_score, "matrix": confusion_matrix},
            "y_true": RNG.integers(0, 3, N),
            "y_pred": RNG.integers(0, 3, N),
        },
        {"metrics": mean_absolute_error, "y_true": boxes(1)[:, 0], "y_pred": boxes(2)[:, 0]},
        {"metrics": overlap, "y_true": list(boxes(3)), "y_pred": boxes(4)},
        {
            "metrics": lambda t, p: np.mean([len(a) - len(b) for a, b in zip(t, p, strict=True)]),
            "y_true": SENTENCES[RNG.integers(0, 3, N)].tolist(),
            "y_pred": SENTENCES[RNG.integers(0, 3, N)].tolist(),
        },
    ],
    ids=["scores", "numbers", "classes", "outputs", "boxes", "text"],
)
def test_metrics_are_of_what_is_predicted_and_the_audit_of_decisions(given):
    asked = {"y_true": Y_TRUE, "sensitive_features": SEX, "control_features": REGION} | given
    theirs = metrics.MetricFrame(**asked)
    ours = plugin.MDFAMetricFrame(audit_features=X, decisions=SCORES >= 0.5, **asked)
    assert_same_figures(theirs, ours)
    assert len(ours.by_subgroup) == 8


@pytest.mark.parametrize(
    ("y_pred", "found"),
    [
        (SCORES, "scores were"),
        (boxes(1)[:, 0], "several values per row were"),
        (boxes(1), "several"),
    ],
)
def test_what_is_no_decision_is_asked_for(y_pred, found):
    with pytest.raises(InputError, match=rf"^y_pred: {found}.* decisions=y_pred >= 0.5 for scores"):
        both(metrics=lambda y_true, y_pred: 1.0, y_pred=y_pred)


def test_a_metric_that_fails_in_a_small_subgroup_fails_when_it_is_asked_there():
    """As with Fairlearn's own figures: all others can be had."""

    def many(y_true, y_pred):
        if len(y_true) < N / 3:
            raise ZeroDivisionError("too few rows")
        return len(y_true) / N

    theirs, ours = both(metrics=many)
    assert_same_figures(theirs, ours)
    with pytest.raises(ZeroDivisionError, match="too few rows"):
        ours.by_subgroup  # noqa: B018
