"""Group lists, outcomes and labels as an audit takes them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin.aif360 import (
    MDFAClassificationMetric,
    MDFADatasetMetric,
    MDFATextExplainer,
)
from mdfa_fairness_plugin.exceptions import (
    InputError,
    InputTypeError,
    MissingSensitiveWarning,
    NothingToAuditError,
)

WOMEN, MEN = [{"sex": 0}], [{"sex": 1}]


def test_rows_in_neither_list_are_counted_and_reported(xor_frame, dataset_of, quick):
    """{sex 1, race 1} against {sex 0, race 0} leaves the mixed rows out (AIF360 #236)."""
    frame = xor_frame(n=800).assign(race=np.random.default_rng(5).integers(0, 2, 800))
    dataset = dataset_of(frame, protected=("sex", "race"))
    lists = {
        "unprivileged_groups": [{"sex": 0, "race": 0}],
        "privileged_groups": [{"sex": 1, "race": 1}],
    }
    metric = MDFADatasetMetric(dataset, **lists, **quick)
    n_neither = int((frame["sex"] != frame["race"]).sum())
    assert metric.coverage() == {
        "unprivileged": int(((frame["sex"] == 0) & (frame["race"] == 0)).sum()),
        "privileged": int(((frame["sex"] == 1) & (frame["race"] == 1)).sum()),
        "neither": n_neither,
    }
    with pytest.warns(MissingSensitiveWarning, match=f"{n_neither} of 800 rows are in neither"):
        result = metric.audit()
    assert result.excluded == {"in neither unprivileged_groups nor privileged_groups": n_neither}
    assert [one.category for one in result.warnings] == ["MissingSensitiveWarning"]
    worst = result.worst_case
    assert worst.sensitive_feature == "sex & race"
    held = worst.held_out
    assert held.sum() == 800 - n_neither
    assert not (held & (frame["sex"] != frame["race"]).to_numpy()).any()

    strict = MDFADatasetMetric(dataset, **lists, **quick, missing="raise")
    with pytest.raises(InputError, match="rows are in neither"):
        strict.audit()
    third = MDFADatasetMetric(dataset, **lists, **quick, missing="category").audit()
    assert {one.group for one in third.violations} == {"unprivileged", "privileged", "neither"}


def test_several_dicts_are_joined_by_or_and_their_values_by_and(xor_frame, dataset_of):
    frame = xor_frame(n=200).assign(race=np.arange(200) % 3)
    metric = MDFADatasetMetric(
        dataset_of(frame, protected=("sex", "race")),
        unprivileged_groups=[{"sex": 0, "race": 1}, {"race": 2}],
        privileged_groups=[{"sex": 1, "race": 0}, {"sex": 1, "race": 1}],
    )
    low = ((frame["sex"] == 0) & (frame["race"] == 1)) | (frame["race"] == 2)
    high = (frame["sex"] == 1) & (frame["race"] < 2)
    assert metric.coverage() == {
        "unprivileged": low.sum(),
        "privileged": high.sum(),
        "neither": (~low & ~high).sum(),
    }


def test_one_list_is_compared_with_everybody_else(xor, xor_metric, quick):
    metric = MDFADatasetMetric(xor, unprivileged_groups=WOMEN, **quick)
    found = metric.worst_case(privileged=False)
    assert found.reference == "everybody else"
    assert "(all others get the " in MDFATextExplainer(metric).worst_case_ratio(privileged=False)
    assert found.delta == pytest.approx(xor_metric.worst_case(privileged=False).delta, abs=1e-9)


@pytest.mark.parametrize(
    ("unprivileged", "privileged", "message"),
    [
        ([{"sex": 0}], [{"sex": 0}], "rows are in both"),
        ([{"sex": 0}], [{}], "rows are in both"),
        ([{"race": 0}], [{"sex": 1}], "'race' is no protected attribute"),
        ([], [{"sex": 1}], "an empty list covers nobody"),
    ],
)
def test_lists_that_do_not_tell_who_is_who_are_refused(xor, unprivileged, privileged, message):
    with pytest.raises(InputError, match=message):
        MDFADatasetMetric(xor, unprivileged_groups=unprivileged, privileged_groups=privileged)
    with pytest.raises(InputError, match=message):
        MDFAClassificationMetric(xor, xor, unprivileged, privileged)


@pytest.mark.parametrize("groups", [{"sex": 0}, "sex", [("sex", 0)], [0]])
def test_lists_of_other_types_are_refused(xor, groups):
    with pytest.raises(InputTypeError, match="unprivileged_groups"):
        MDFADatasetMetric(xor, unprivileged_groups=groups)


def test_a_list_nobody_is_in_is_named(xor):
    metric = MDFADatasetMetric(xor, unprivileged_groups=[{"sex": 7}], privileged_groups=MEN)
    assert metric.num_instances(privileged=False) == 0
    with pytest.raises(InputError, match="unprivileged_groups: no row is in sex=7"):
        metric.audit()


def test_other_wrong_arguments_are_named(xor, lists):
    with pytest.raises(InputError, match=r"unknown argument\(s\) alhpa"):
        MDFADatasetMetric(xor, **lists, alhpa=0.1)
    with pytest.raises(InputError, match="outcomes: 7 is not among"):
        MDFADatasetMetric(xor, **lists, outcomes=7).audit()
    with pytest.raises(InputError, match="features_from"):
        MDFAClassificationMetric(xor, xor, **lists, features_from="both")
    with pytest.raises(TypeError):  # AIF360's own
        MDFADatasetMetric(pd.DataFrame(), **lists)


def test_outcomes_can_be_chosen_by_name_or_label(xor, lists, quick):
    for outcomes in ("favorable", 1, [1.0]):
        result = MDFADatasetMetric(xor, **lists, **quick, outcomes=outcomes).audit()
        assert {one.outcome for one in result.violations} == {"favorable"}


def test_labels_that_cannot_be_audited_are_named(xor, lists):
    constant, odd = xor.copy(), xor.copy()
    constant.labels = np.ones_like(xor.labels)
    with pytest.raises(NothingToAuditError, match=r"classified_dataset\.labels: all 1,000 rows"):
        MDFAClassificationMetric(xor, constant, **lists).audit()
    odd.labels = xor.labels * 0.5
    with pytest.raises(InputError, match=r"dataset\.labels: .* such as 0\.5"):
        MDFADatasetMetric(odd, **lists).audit()
