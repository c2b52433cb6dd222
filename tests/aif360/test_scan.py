"""The scan in the manner of ``aif360.sklearn.detectors``."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mdfa_fairness_plugin.aif360 import mdfa_scan
from mdfa_fairness_plugin.exceptions import InputError


@pytest.fixture(scope="module")
def frame(xor_frame):
    return xor_frame(n=600)[["sex", "x", "y"]].assign(z=np.arange(600) % 7)


@pytest.fixture(scope="module")
def in_column(frame, quick):
    """Scan with the protected attribute as a column."""
    return mdfa_scan(frame[["x", "z", "sex"]], frame["y"], prot_attr="sex", **quick)


def same(one, other):
    pd.testing.assert_frame_equal(one.result.to_frame(), other.result.to_frame())
    np.testing.assert_array_equal(one.mask, other.mask)
    assert (one.subset, one.score) == (other.subset, other.score)


def test_the_planted_disparity_is_found(frame, in_column):
    """And picked out of a table as AIF360's examples do with the answer of ``bias_scan``."""
    subset, score = in_column
    worst = in_column.worst_case()
    assert score == worst.delta == math.log(worst.ratio) > 0.5
    assert (worst.outcome, worst.verdict) == ("favorable", "violation")
    assert in_column.result.feature_names == ("x", "z")
    assert subset["x"] == [1 - worst.group]
    picked = frame[list(subset)].isin(subset).all(axis=1)
    assert (frame["x"][picked] != worst.group).all()
    assert np.mean(in_column.mask == picked) > 0.9
    assert in_column.mask.index.equals(frame.index)
    assert in_column.rule == worst.violation.rule


def test_the_subset_is_a_rule_of_values_where_one_fits(frame, quick):
    """Numbers, categories, one-hot columns and what is missing; everybody is no condition."""
    rng = np.random.default_rng(1)
    town = rng.choice(["north", "south", "east", "west"], 600)
    age = rng.integers(20, 60, 600).astype(float)
    sex = frame["sex"]
    hot = pd.get_dummies(pd.Series(town), prefix="town", prefix_sep="=").astype(int)
    unsaid = pd.DataFrame({"town": np.where(town == "south", None, town)}, dtype=object)
    age[::10] = np.nan
    for X, inside, said in (
        (pd.DataFrame({"town": town}), town == "south", {"town": ["south"]}),
        (unsaid, town == "south", {"town": [None]}),
        (hot, town == "south", {"town=south": [1]}),
        (hot, town != "south", {"town=south": [0]}),
        (pd.DataFrame({"age": age}), age <= 35, {"age": [float(one) for one in range(20, 36)]}),
    ):
        rate = np.where(inside & (sex == 0), 0.1, 0.8)
        y = (rng.random(600) < rate).astype(int)
        subset, score = mdfa_scan(X, y, prot_attr=sex.to_numpy(), **quick)
        assert score > 1
        if "age" in said:  # The end of an interval is estimated.
            assert set(subset["age"]) <= set(range(20, 40))
            assert len(subset["age"]) > 12
        else:
            assert subset == said
            assert (X[list(subset)].isin(subset).all(axis=1) == inside).all()
    y = (rng.random(600) < np.where(sex == 0, 0.2, 0.8)).astype(int)
    found = mdfa_scan(pd.DataFrame({"town": town}), y, prot_attr=sex.to_numpy(), **quick)
    assert (found.subset, found.rule) == ({}, "everybody")


def test_other_regions_are_told_by_position(frame, in_column, quick):
    """As AIF360's ``mdss_bias_score`` takes them: a union of two is no list of values per column."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (600, 2)), columns=["a", "b"])
    y = (rng.random(600) < np.where((X["a"] == X["b"]) & (frame["sex"] == 0), 0.1, 0.8)).astype(int)
    found = mdfa_scan(X, y, prot_attr=frame["sex"], **quick)
    assert ", or " in found.rule
    assert found.subset == {"index": np.flatnonzero(found.mask).tolist()}
    assert found.mask.any()
    assert not found.mask.all()


def test_events_are_those_of_the_classification_metric(frame, dataset_of, lists, quick):
    pytest.importorskip("aif360", reason="AIF360 is not installed")
    from mdfa_fairness_plugin.aif360 import MDFAClassificationMetric

    rng = np.random.default_rng(2)
    X = frame[["sex", "x", "z"]]
    wrong = rng.random(600) < np.where(frame["x"] == 0, 0.1 + 0.3 * frame["sex"], 0.2)
    y_pred = np.where(wrong, 1 - frame["y"], frame["y"])
    dataset = dataset_of(frame)
    predicted = dataset.copy()
    predicted.labels = y_pred[:, np.newaxis].astype(float)
    for event in ("true_positive", "error"):
        metric = MDFAClassificationMetric(dataset, predicted, **lists, **quick, event=event)
        found = mdfa_scan(
            X, frame["y"], y_pred, event=event, prot_attr="sex", priv_group=1, **quick
        )
        assert found.score == pytest.approx(metric.worst_case_violation(), abs=1e-9)
        assert found.worst_case().group == metric.worst_case().group
        assert found.worst_case().outcome == metric.worst_case().outcome
    one = mdfa_scan(X, frame["y"], y_pred, event="true_positive", prot_attr="sex", **quick)
    assert one.result.excluded == {"true label is not 1": int((frame["y"] == 0).sum())}
    assert one.worst_case().group in (0, 1)


def test_the_protected_attribute_may_be_anywhere(frame, in_column, quick):
    """A column, a level of an index (as ``aif360.sklearn`` has it, the column kept), or values."""
    X = frame[["x", "z"]]
    indexed = frame.set_index("sex", drop=False)
    y = indexed["y"]
    both = indexed[["x", "z", "sex"]]
    found = mdfa_scan(both, y, **quick)
    same(found, in_column)
    assert found.mask.index.equals(both.index)
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
        key = (int(one.group == "privileged"), one.outcome)
        assert one.delta == pytest.approx(plain[key], abs=1e-9)
    sides = {0: "unprivileged", 1: "privileged"}
    assert found.worst_case().group == sides[in_column.worst_case().group]
    assert found.subset == in_column.subset
    turned = mdfa_scan(X, y, prot_attr="sex", priv_group="m", pos_label="deny", **quick)
    assert turned.worst_case().group != found.worst_case().group
    three = y.where(frame["z"] > 0, "later")
    rest = mdfa_scan(X, three, prot_attr="sex", pos_label="grant", **quick)
    both = mdfa_scan(X, three == "grant", prot_attr="sex", **quick)
    assert rest.score == both.score


def test_several_attributes_may_be_privileged_together(frame, quick):
    race = np.random.default_rng(7).choice(["a", "b"], size=600)
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
    race = np.random.default_rng(7).choice(["a", "b"], size=600)
    X = frame[["x", "sex"]].assign(race=race).set_index(["race", "sex"], drop=False)
    y = frame["y"].to_numpy()
    hidden = mdfa_scan(X, y, prot_attr="sex", **quick).result
    asked = mdfa_scan(X, y, prot_attr="sex", include_protected="race", **quick).result
    assert hidden.feature_names == ("x",)
    assert asked.feature_names == ("x", "race")


def test_clusters_may_be_values_a_column_or_a_level(frame, in_column, quick):
    people = np.arange(len(frame)) // 2
    ids = [f"p{one}" for one in people]
    X = frame[["x", "z", "sex"]]
    found = mdfa_scan(X, frame["y"], prot_attr="sex", clusters=people, **quick)
    assert not found.result.to_frame().equals(in_column.result.to_frame())
    for table in (X.assign(person=ids), X.set_index(pd.Index(ids, name="person"))):
        y = frame["y"].to_numpy()
        same(mdfa_scan(table, y, prot_attr="sex", clusters="person", **quick), found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_true": None}, "y_true, y_pred: neither"),
        ({"prot_attr": None}, "prot_attr: it was not given"),
        ({"prot_attr": "race"}, "'race' is neither a level of an index nor a column of X"),
        ({"prot_attr": np.zeros(3)}, "prot_attr: 3 rows"),
        ({"priv_group": "m"}, "priv_group: 'm' is not among the values of 'sex': 1, 0"),
        ({"priv_group": (1, 2)}, "has 2 value"),
        ({"pos_label": "yes"}, "pos_label: 'yes' is not among the labels found: 0, 1"),
        ({"y_true": np.array(["a", "b"])[np.arange(600) % 2]}, "pos_label: .* say which of them"),
        ({"favorable_label": 1}, "favorable_label: it is called pos_label here"),
        ({"outcome_type": "numeric"}, "outcome_type: .* say event='score' here"),
        ({"event": "error"}, "y_pred: None was given; event='error' compares predictions"),
        ({"event": "fnr", "y_pred": np.ones(600)}, "event: one of 'selection'"),
        ({"y_true": np.zeros(3)}, "y_true: 3 rows"),
        ({"y_pred": np.linspace(0, 1, 600), "pos_label": 1}, "y_pred: .*scores"),
        ({"y_pred": np.linspace(0, 1, 600)}, "threshold"),
        ({"include_protected": ["race"]}, "include_protected: 'race' is no column"),
        ({"sample_weight": np.ones(2)}, "sample_weight: 2 rows"),
        ({"clusters": np.ones(2)}, "clusters: 2 rows"),
        ({"clusters": "person"}, "clusters: 'person' is neither a level of an index nor a column"),
        ({"prot_attr": np.zeros(600)}, "^prot_attr: nothing to compare"),
        ({"y_true": np.zeros(600)}, "^y_true: every one of the 600 outcomes is 0"),
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
        found = mdfa_scan(few[["x", "sex"]], few["y"], prot_attr="sex", min_group_size=50, **quick)
    assert math.isnan(found.score)
    assert found.subset == {"index": []}
    assert not found.mask.any()
