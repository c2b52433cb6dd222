"""The scan and the metric functions in the manner of ``aif360.sklearn``."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

from mdfa_fairness_plugin.aif360 import (
    mdfa_scan,
    unfairness_certificate,
    worst_case_ratio,
    worst_case_violation,
)
from mdfa_fairness_plugin.exceptions import InputError


@pytest.fixture(scope="module")
def frame(xor_frame):
    return xor_frame(n=800)[["sex", "x", "y"]].assign(z=np.arange(800) % 7)


@pytest.fixture(scope="module")
def in_column(frame, quick):
    """Scan with the protected attribute as a column."""
    return mdfa_scan(frame[["x", "z", "sex"]], frame["y"], prot_attr="sex", **quick)


def same(one, other):
    pd.testing.assert_frame_equal(one.result.to_frame(), other.result.to_frame())
    np.testing.assert_array_equal(one.subset, other.subset)
    assert one.score == other.score


def test_the_planted_disparity_is_found(frame, in_column):
    subset, score = in_column
    assert score == in_column.result.worst_case.delta > 0.5
    assert in_column.result.worst_case.verdict == "violation"
    assert in_column.result.feature_names == ("x", "z")
    assert frame[subset]["x"].nunique() == 1
    assert in_column.rule == in_column.result.worst_case.rule


def test_the_protected_attribute_may_be_anywhere(frame, in_column, quick):
    """A column, a level of an index (as ``aif360.sklearn`` has it, the column kept), or values."""
    X = frame[["x", "z"]]
    indexed = frame.set_index("sex", drop=False)
    y = indexed["y"]
    both = indexed[["x", "z", "sex"]]
    found = mdfa_scan(both, y, **quick)
    same(found, in_column)
    assert found.subset.index.equals(both.index)
    same(mdfa_scan(both, y, prot_attr="sex", **quick), in_column)
    same(mdfa_scan(X.set_axis(indexed.index), y, prot_attr="sex", **quick), in_column)
    same(mdfa_scan(X, frame["y"], prot_attr=frame["sex"], **quick), in_column)
    same(
        mdfa_scan(both.reset_index(drop=True), frame["y"], prot_attr=frame["sex"], **quick),
        in_column,
    )


def test_predictions_are_audited_where_given(frame, in_column, quick):
    X = frame[["x", "z", "sex"]]
    same(mdfa_scan(X, 1 - frame["y"], frame["y"].to_numpy(), prot_attr="sex", **quick), in_column)
    same(mdfa_scan(X, y_pred=frame["y"], prot_attr="sex", **quick), in_column)


def test_a_shuffled_index_is_followed(frame, in_column, quick):
    """Rows are paired by index, not by position."""
    back = frame.iloc[::-1]
    X = frame[["x", "z"]]
    found = mdfa_scan(X, back["y"], prot_attr=back["sex"], sample_weight=back["y"] * 0 + 1, **quick)
    same(found, in_column)


def test_polars_frames_are_read(frame, in_column, quick):
    found = mdfa_scan(
        pl.DataFrame(frame[["x", "z", "sex"]].to_dict("list")),
        pl.Series(frame["y"].to_list()),
        prot_attr="sex",
        **quick,
    )
    same(found, in_column)


def test_a_mapping_of_columns_is_read(frame, in_column, quick):
    X = frame[["x", "z", "sex"]].to_dict("list")
    same(mdfa_scan(X, frame["y"].to_list(), prot_attr="sex", **quick), in_column)


def test_privileged_and_favorable_name_groups_and_outcomes(frame, in_column, quick):
    X = frame[["x", "z", "sex"]].assign(sex=frame["sex"].map({0: "f", 1: "m"}))
    y = frame["y"].map({0: "deny", 1: "grant"})
    found = mdfa_scan(X, y, prot_attr="sex", priv_group="m", pos_label="grant", **quick)
    plain = {(one.group, one.outcome): one.delta for one in in_column.result.violations}
    for one in found.result.violations:
        key = (int(one.group == "privileged"), int(one.outcome == "favorable"))
        assert one.delta == pytest.approx(plain[key], abs=1e-9)


def test_several_attributes_may_be_privileged_together(frame, quick):
    race = np.random.default_rng(7).choice(["a", "b"], size=800)
    X = frame[["x", "sex"]].assign(race=race)
    found = mdfa_scan(
        X, frame["y"], prot_attr=["sex", "race"], priv_group=(1, "a"), pos_label=1, **quick
    )
    assert {one.group for one in found.result.violations} == {"privileged", "unprivileged"}
    assert {one.sensitive_feature for one in found.result.violations} == {"sex & race"}
    assert found.result.feature_names == ("x",)
    with pytest.raises(InputError, match=r"no row has the combination \(1, 'a'\)"):
        mdfa_scan(
            X.assign(race=np.where(X["sex"] == 1, "b", "a")),
            frame["y"],
            prot_attr=["sex", "race"],
            priv_group=(1, "a"),
        )
    each = mdfa_scan(X, frame["y"], prot_attr=["sex", "race"], **quick)
    assert {one.sensitive_feature for one in each.result.violations} == {"sex", "race"}


def test_levels_of_the_index_are_protected_unless_asked(frame, quick):
    """``aif360.sklearn`` keeps protected attributes in the index and among the columns."""
    race = np.random.default_rng(7).choice(["a", "b"], size=800)
    X = frame[["x", "sex"]].assign(race=race).set_index(["race", "sex"], drop=False)
    y = frame["y"].to_numpy()
    hidden = mdfa_scan(X, y, prot_attr="sex", **quick).result
    asked = mdfa_scan(X, y, prot_attr="sex", include_protected="race", **quick).result
    assert hidden.feature_names == ("x",)
    assert asked.feature_names == ("x", "race")


def test_metric_functions_give_the_scans_numbers(frame, quick):
    X = frame[["x", "z"]]
    y = pd.Series(frame["y"].to_numpy(), index=pd.Index(frame["sex"], name="sex"))
    X.index = y.index
    found = mdfa_scan(X, y, priv_group=1, pos_label=1, **quick)
    delta = worst_case_violation(y, X=X, **quick)
    assert delta == found.score
    assert worst_case_ratio(y, X=X, **quick) == math.exp(delta)
    assert unfairness_certificate(y, X=X, **quick) == found.result.worst_case.gamma
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    counting = {"sample_weight": weights, "weight_type": "frequency"}
    weighted = worst_case_violation(y, X=X, **counting, **quick)
    rows = np.repeat(np.arange(len(y)), weights)
    assert weighted == pytest.approx(
        worst_case_violation(y.iloc[rows], X=X.iloc[rows], **quick), abs=1e-9
    )


def test_a_metric_makes_a_scorer(frame, quick):
    """The scorer is given all of X once and finds the rows of each split by index."""
    indexed = frame.rename_axis("row").set_index("sex", append=True)
    X = indexed[["x", "z"]].assign(sex=frame["sex"].to_numpy())
    scorer = make_scorer(
        lambda y, y_pred, **arguments: worst_case_violation(
            y, y_pred, prot_attr=y.index.get_level_values("sex"), **arguments
        ),
        greater_is_better=False,
        X=X[["x"]],
        **quick,
    )
    model = LogisticRegression()
    scores = cross_val_score(
        model, X.assign(both=X["x"] * X["sex"]), indexed["y"], cv=2, scoring=scorer
    )
    assert scores.shape == (2,)
    assert (scores < -0.5).all()


def test_clusters_may_be_values_a_column_or_a_level(frame, in_column, quick):
    people = np.arange(len(frame)) // 2
    ids = [f"p{one}" for one in people]
    X = frame[["x", "z", "sex"]]
    found = mdfa_scan(X, frame["y"], prot_attr="sex", clusters=people, **quick)
    assert not found.result.to_frame().equals(in_column.result.to_frame())
    for table in (X.assign(person=ids), X.set_index(pd.Index(ids, name="person"))):
        y = frame["y"].to_numpy()
        same(mdfa_scan(table, y, prot_attr="sex", clusters="person", **quick), found)
    by_group = worst_case_violation(frame["y"], X=X, prot_attr="sex", clusters=people, **quick)
    alone = worst_case_violation(frame["y"], X=X, prot_attr="sex", **quick)
    assert by_group != alone


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_true": None}, "y_true, y_pred: neither"),
        ({"prot_attr": None}, "prot_attr: it was not given"),
        ({"prot_attr": "race"}, "'race' is neither a level of an index nor a column of X"),
        ({"prot_attr": np.zeros(3)}, "prot_attr: 3 rows"),
        ({"priv_group": "m"}, "priv_group: 'm' is not among the values of 'sex': 1, 0"),
        ({"priv_group": (1, 2)}, "has 2 value"),
        ({"pos_label": "yes"}, "pos_label: 'yes' is not among the labels of y_true"),
        ({"y_true": np.zeros(3)}, "y_true: 3 rows"),
        ({"y_pred": np.linspace(0, 1, 800), "pos_label": 1}, "y_pred: .*scores"),
        ({"y_pred": np.linspace(0, 1, 800)}, "threshold"),
        ({"include_protected": ["race"]}, "include_protected: 'race' is no column"),
        ({"sample_weight": np.ones(2)}, "sample_weight: 2 rows"),
        ({"clusters": np.ones(2)}, "clusters: 2 rows"),
        ({"clusters": "person"}, "clusters: 'person' is neither a level of an index nor a column"),
        ({"prot_attr": np.zeros(800)}, "^prot_attr: nothing to compare"),
        ({"y_true": np.zeros(800)}, "^y_true: every one of the 800 outcomes is 0"),
    ],
)
def test_wrong_arguments_are_named(frame, quick, change, message):
    arguments = {"y_true": frame["y"], "prot_attr": "sex"} | change
    with pytest.raises(InputError, match=message):
        mdfa_scan(frame[["x", "sex"]], arguments.pop("y_true"), **arguments, **quick)


def test_indexes_that_cannot_be_paired_are_refused(frame):
    y = frame["y"].set_axis(frame.index + 1)
    with pytest.raises(InputError, match="y_true: its index differs"):
        mdfa_scan(frame[["x"]], y, prot_attr=frame["sex"].to_numpy())


def test_nothing_measured_is_nan(frame, quick):
    few = frame[:60]
    with pytest.warns(UserWarning, match="cannot be audited"):
        subset, score = mdfa_scan(
            few[["x", "sex"]], few["y"], prot_attr="sex", min_group_size=50, **quick
        )
    assert math.isnan(score)
    assert not subset.any()
