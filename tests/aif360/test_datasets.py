"""Loaders against AIF360's own ``StandardDataset``, fed with object columns it can read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin import datasets
from mdfa_fairness_plugin.aif360 import MDFADatasetMetric, load_adult, load_compas, load_german
from mdfa_fairness_plugin.aif360.toolkit import part, quiet
from mdfa_fairness_plugin.exceptions import DataNotFoundError, InputError


def readable(frame):
    """Text as objects, which AIF360 reads under any pandas."""
    return frame.astype(
        {name: object for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    )


def standard(frame, *arguments, **named):
    with quiet():
        return part("datasets").StandardDataset(readable(frame), *arguments, **named)


def assert_same(ours, theirs):
    assert ours.feature_names == theirs.feature_names
    assert ours.protected_attribute_names == theirs.protected_attribute_names
    assert ours.label_names == theirs.label_names
    assert ours.favorable_label == theirs.favorable_label
    assert ours.unfavorable_label == theirs.unfavorable_label
    for name in ("features", "labels", "scores", "protected_attributes", "instance_weights"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    for name in ("privileged_protected_attributes", "unprivileged_protected_attributes"):
        for own, their in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_array_equal(own, their)


def test_compas_is_that_of_aif360(data_home):
    """The filter and the arguments of ``CompasDataset``."""
    frame = datasets.load_compas(data_home).frame
    frame = frame[
        (frame.days_b_screening_arrest <= 30)
        & (frame.days_b_screening_arrest >= -30)
        & (frame.is_recid != -1)
        & (frame.c_charge_degree != "O")
        & (frame.score_text != "N/A")
    ]
    theirs = standard(
        frame,
        label_name="two_year_recid",
        favorable_classes=[0],
        protected_attribute_names=["sex", "race"],
        privileged_classes=[["Female"], ["Caucasian"]],
        categorical_features=["age_cat", "c_charge_degree"],
        features_to_keep=[
            "sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count",
            "juv_other_count", "priors_count", "c_charge_degree", "two_year_recid",
        ],
    )  # fmt: skip
    ours = load_compas(data_home)
    assert ours.features.shape == (6172, 12)
    assert_same(ours, theirs)
    scored = load_compas(data_home, outcome="high_risk")
    assert scored.instance_names == ours.instance_names
    assert scored.labels.sum() == (frame["v_score_text"] == "High").sum()
    with pytest.raises(InputError, match="outcome"):
        load_compas(data_home, outcome="violent")


def test_adult_is_that_of_aif360(data_home):
    parts = [datasets.load_adult(data_home, subset=name).frame for name in ("test", "train")]
    frame = pd.concat(parts, ignore_index=True).rename(columns={"income": "income-per-year"})
    frame = frame.where(frame != "?")
    theirs = standard(
        frame,
        label_name="income-per-year",
        favorable_classes=[">50K"],
        protected_attribute_names=["race", "sex"],
        privileged_classes=[["White"], ["Male"]],
        categorical_features=[
            "workclass", "education", "marital-status", "occupation", "relationship",
            "native-country",
        ],
        features_to_drop=["fnlwgt"],
    )  # fmt: skip
    ours = load_adult(data_home)
    assert ours.features.shape == (45222, 98)
    assert_same(ours, theirs)


def test_german_is_that_of_aif360(data_home):
    frame = datasets.load_german(data_home).frame
    columns = [name for name in frame if name not in ("sex", "personal_status")]
    frame = frame[[*columns, "sex"]].assign(credit=frame["credit"].map({"good": 1, "bad": 2}))
    theirs = standard(
        frame,
        label_name="credit",
        favorable_classes=[1],
        protected_attribute_names=["sex", "age"],
        privileged_classes=[["male"], lambda age: age > 25],
        categorical_features=[
            "status", "credit_history", "purpose", "savings", "employment", "other_debtors",
            "property", "installment_plans", "housing", "skill_level", "telephone",
            "foreign_worker",
        ],
    )  # fmt: skip
    ours = load_german(data_home)
    assert ours.features.shape == (1000, 58)
    assert_same(ours, theirs)


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.OverlapWarning")
def test_the_metadata_name_the_values(data_home, quick):
    """And an audit of the loaded data shows them."""
    dataset = load_german(data_home)
    assert dataset.metadata["label_maps"] == [{1.0: "Good Credit", 2.0: "Bad Credit"}]
    metric = MDFADatasetMetric(dataset, **quick)
    result = metric.audit()
    assert {(one.sensitive_feature, one.group) for one in result.violations} == {
        ("sex", "Male"),
        ("sex", "Female"),
        ("age", "Old"),
        ("age", "Young"),
    }
    assert "status" in result.feature_names
    assert not {"sex", "age"} & set(result.feature_names)


@pytest.mark.parametrize("load", [load_compas, load_adult, load_german])
def test_a_folder_that_is_not_there_is_named(load, tmp_path):
    with pytest.raises(DataNotFoundError, match=r"data_home: .* is not a folder"):
        load(tmp_path / "nowhere")
