"""Features, as an audit takes them from a dataset."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin.aif360 import MDFADatasetMetric
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakedFeatureWarning,
)

WOMEN, MEN = [{"sex": 0}], [{"sex": 1}]


def test_protected_attributes_do_not_leak_into_the_features(xor_frame, dataset_of, quick):
    """Neither themselves, nor their one-hot columns, nor copies of them, unless asked."""
    frame = xor_frame(n=600)
    rng = np.random.default_rng(2)
    race = rng.integers(0, 2, 600)
    frame = frame.assign(
        **{
            "race": race,
            "race=a": race,
            "race=b": 1 - race,
            "colour": 5 - race,
            "z": rng.random(600),
        }
    )
    dataset = dataset_of(
        frame,
        protected=("sex", "race"),
        metadata={"protected_attribute_maps": [{0.0: "F", 1.0: "M"}, {0.0: "b", 1.0: "a"}]},
    )
    lists = {"unprivileged_groups": WOMEN, "privileged_groups": MEN}
    with pytest.warns(LeakedFeatureWarning, match="'colour'.*repeats 'race'"):
        result = MDFADatasetMetric(dataset, **lists, **quick).audit()
    assert result.feature_names == ("x", "town", "z")
    assert "LeakedFeatureWarning" in [one.category for one in result.warnings]

    asked = MDFADatasetMetric(
        dataset, **lists, **quick, audit_features=["town", "x"], include_protected=["race"]
    ).audit()
    assert asked.feature_names == ("town", "x", "race")
    named = MDFADatasetMetric(dataset, **lists, **quick, audit_features=["x", "race"]).audit()
    assert named.feature_names == ("x", "race")
    assert {"a", "b"} == set(named.worst_case.profile.loc["race"].index.get_level_values("level"))


def test_a_protected_one_hot_column_hides_its_siblings(xor_frame, dataset_of, quick):
    dataset = dataset_of(xor_frame(n=600), protected=("sex", "town=north"))
    metric = MDFADatasetMetric(dataset, unprivileged_groups=WOMEN, privileged_groups=MEN, **quick)
    assert metric.audit().feature_names == ("x",)


def test_one_hot_columns_are_shown_as_their_category(xor_frame, dataset_of, lists, quick):
    """A disparity planted at one level is told as ``town is south``."""
    rng = np.random.default_rng(3)
    frame = xor_frame(n=900)
    south = frame["town=south"] == 1
    rate = np.where(south & (frame["sex"] == 0), 0.15, 0.6)
    frame = frame.assign(y=(rng.random(900) < rate).astype(int))
    result = MDFADatasetMetric(dataset_of(frame), **lists, **quick).audit()
    assert result.feature_names == ("x", "town")
    assert result.worst_case.rule == "town is south"
    shown = result.worst_case.profile.loc["town"].index.get_level_values("level")
    assert set(shown) == {"north", "south", "east"}


def test_audit_features_may_be_a_table(xor_frame, dataset_of, lists, quick):
    frame = xor_frame(n=600)
    words = pd.DataFrame({"place": frame["x"].map({0: "here", 1: "there"})})
    metric = MDFADatasetMetric(dataset_of(frame), **lists, **quick, audit_features=words)
    assert metric.worst_case(privileged=False).violation.rule == "place is there"
    assert metric.annotate().features.shape[1] == 6
    with pytest.raises(InputError, match="100 rows and audit_features 600"):
        metric.annotate(dataset_of(frame[:100]))


def test_new_rows_of_a_search_that_found_nothing_are_refused_by_name(xor_frame, dataset_of, lists):
    frame = xor_frame(n=300)
    frame["y"] = np.where(np.arange(300) % 5 == 0, 1 - frame["sex"], frame["sex"])
    metric = MDFADatasetMetric(dataset_of(frame), **lists, learner="tree", n_splits=2, n_repeats=1)
    new = dataset_of(frame[:50])
    assert metric.annotate(new).features[:, -1].all()  # all women are harmed
    with pytest.raises(InputError, match=r"^privileged: this search found nothing"):
        metric.annotate(new, privileged=True)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pl.DataFrame])
def test_a_table_of_any_form_is_followed(xor_frame, dataset_of, lists, quick, form):
    frame = xor_frame(n=600)
    metric = MDFADatasetMetric(
        dataset_of(frame), **lists, **quick, audit_features=form(frame[["x", "town=north"]])
    )
    first = metric.audit()
    assert metric.audit() is first
    assert first.worst_case.verdict == "violation"


def test_one_feature_may_be_named_without_a_list(xor_frame, dataset_of, lists, quick):
    """And a protected attribute is not taken for part of its name."""
    frame = xor_frame(n=400)
    dataset = dataset_of(frame.assign(unisex=frame["x"]))
    metric = MDFADatasetMetric(dataset, **lists, **quick, audit_features="unisex")
    assert metric.audit().feature_names == ("unisex",)


def test_unknown_features_are_named(xor, lists):
    with pytest.raises(InputError, match="audit_features: 'village'"):
        MDFADatasetMetric(xor, **lists, audit_features=["village"]).audit()
    with pytest.raises(InputError, match="include_protected: 'race'"):
        MDFADatasetMetric(xor, **lists, include_protected=["race"]).audit()
