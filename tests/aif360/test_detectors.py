"""Three detectors on one split."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin.aif360 import compare_detectors
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.exceptions import InputError


@pytest.fixture(scope="module")
def dataset(xor_frame, dataset_of):
    """Planted XOR with a continuous feature."""
    frame = xor_frame(n=1600, seed=2)[["sex", "x", "y"]]
    return dataset_of(frame.assign(z=np.random.default_rng(0).normal(size=len(frame))))


@pytest.fixture(scope="module")
def comparison(dataset, lists):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    table = compare_detectors(dataset, **lists, random_state=0, n_splits=2, num_iters=3)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    return table


def test_the_table_says_the_same_of_every_detector(comparison):
    assert comparison["detector"].tolist() == ["mdss"] * 2 + ["gerryfair"] + ["mdfa"] * 4
    assert (comparison["note"] == "").all()
    assert (comparison["ratio_low"] <= comparison["balanced_ratio"]).all()
    assert (comparison["balanced_ratio"] <= comparison["ratio_high"]).all()
    assert (comparison["seconds"] > 0).all()
    assert (comparison["n_rows"] <= 480).all()
    np.testing.assert_allclose(comparison["share"], comparison["n_rows"] / 480)


def test_both_cells_of_the_xor_are_found_with_opposite_signs(comparison):
    """Women: less often favored at x = 1, more often at x = 0, each about 2.3 times."""
    ours = comparison[comparison["detector"] == "mdfa"].set_index(["group", "outcome"])
    assert ours.loc[("unprivileged", "unfavorable"), "region"].startswith("x is yes")
    assert ours.loc[("unprivileged", "favorable"), "region"].startswith("x is no")
    assert (ours["ratio_low"] > 1.3).all()
    np.testing.assert_allclose(ours["balanced_ratio"], 7 / 3, rtol=0.3)


def test_gerryfair_misses_the_xor(comparison):
    """No half space of sex and x has another rate: hardly any disparity on the held-out rows."""
    theirs = comparison[comparison["detector"] == "gerryfair"].iloc[0]
    ours = comparison[comparison["detector"] == "mdfa"]
    assert theirs["own_score"] < 0.02
    assert theirs["balanced_ratio"] < ours["ratio_low"].min()


def test_regions_are_measured_as_a_table_worked_by_hand_says():
    """Rates of 30/40 and 10/40 in the region are a ratio of three."""
    from mdfa_fairness_plugin.aif360.detectors import _Judge, _Part, _Region

    n = 160
    s = np.tile(np.repeat([1, -1], 40), 2)
    inside = np.repeat([True, False], 80)
    favorable = np.concatenate(
        [np.repeat([True, False, True, False], [30, 10, 10, 30]), np.arange(80) % 2 == 0]
    )
    held_out = _Part(
        X=pd.DataFrame({"x": inside.astype(float)}), s=s, favorable=favorable, weight=np.ones(n)
    )
    region = _Region(text="x", on_search=inside, on_held_out=inside, own_score=0.0)
    row = _Judge(held_out, 0, 0.95).row(region, "unprivileged", "favorable")
    assert row["raw_ratio"] == pytest.approx(3)
    assert row["balanced_ratio"] == pytest.approx(3, abs=0.05)
    assert row["ratio_low"] < 3 < row["ratio_high"]
    assert (row["n_rows"], row["share"]) == (80, 0.5)
    row = _Judge(held_out, 0, 0.95).row(region, "privileged", "favorable")
    assert row["raw_ratio"] == pytest.approx(1 / 3)


def test_rows_of_a_person_are_held_out_together_and_are_one_piece_of_evidence(lists, dataset_of):
    """Three rows of everybody say what one does, and no more."""
    frame = pd.DataFrame({"sex": [0, 1] * 400, "x": np.arange(800) // 2 % 5.0})
    frame["y"] = np.random.default_rng(1).random(800) < 0.5 + 0.2 * frame["sex"]
    once, thrice = (
        compare_detectors(
            dataset_of(frame.loc[np.repeat(frame.index, copies)].reset_index(drop=True)),
            **lists,
            detectors=["mdss"],
            clusters=np.repeat(frame.index, copies),
            random_state=0,
            num_iters=1,
        ).iloc[0]
        for copies in (1, 3)
    )
    assert thrice["region"] == once["region"]
    assert thrice["n_rows"] == 3 * once["n_rows"]
    assert thrice["raw_ratio"] == pytest.approx(once["raw_ratio"])
    widths = [np.log(one["ratio_high"] / one["ratio_low"]) for one in (once, thrice)]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


def test_weights_may_count(dataset, lists, quick):
    counted = dataset.copy()
    counted.instance_weights = np.arange(len(counted.labels)) % 3 + 1.0
    table = compare_detectors(
        counted, **lists, detectors=["mdfa"], weight_type="frequency", **quick
    )
    assert (table["note"] == "").all()
    assert (table["n_rows"] > 0).all()


def test_a_region_of_one_group_only_is_told(dataset):
    from mdfa_fairness_plugin.aif360.detectors import _Judge, _Part, _Region

    s = np.repeat([1, -1], 50)
    held_out = _Part(
        X=pd.DataFrame({"x": np.arange(100.0) % 5}),
        s=s,
        favorable=np.arange(100) % 2 == 0,
        weight=np.ones(100),
    )
    region = _Region(text="women", on_search=s > 0, on_held_out=s > 0, own_score=1.0)
    row = _Judge(held_out, 0, 0.95).row(region, "unprivileged", "favorable")
    assert row["note"] == "no comparable rows of both groups are in the region"


def test_a_detector_that_fails_does_not_stop_the_others(dataset, lists, monkeypatch, quick):
    def fail(**arguments):
        raise AssertionError("WARNING SCORE HAS DECREASED")

    monkeypatch.setattr(part("detectors"), "bias_scan", fail)
    table = compare_detectors(
        dataset, **lists, detectors=["mdss", "mdfa"], random_state=0, n_splits=2, learner="tree"
    )
    told = "AIF360's detector failed here: AssertionError: WARNING SCORE HAS DECREASED"
    assert table["note"].tolist()[:2] == [told, told]
    assert (table["note"][2:] == "").all()
    assert table["balanced_ratio"].isna().tolist() == [True] * 2 + [False] * 4


def test_a_classifiers_labels_can_be_compared(dataset, lists):
    predictions = dataset.copy()
    predictions.labels = 1 - dataset.labels
    table, own = (
        compare_detectors(*pair, **lists, detectors=["mdss"], random_state=0, num_iters=2)
        for pair in ((dataset, predictions), (predictions,))
    )
    pd.testing.assert_frame_equal(table.drop(columns="seconds"), own.drop(columns="seconds"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"detectors": ["mdss", "facts"]}, "detectors: 'facts' is not known"),
        ({"unprivileged_groups": None}, "both are needed"),
        ({"unprivileged_groups": [{"sex": 1}]}, "rows are in both"),
    ],
)
def test_wrong_arguments_are_named(dataset, lists, change, message):
    with pytest.raises(InputError, match=message):
        compare_detectors(dataset, **(lists | change))


def test_too_rare_outcomes_are_named(dataset, lists):
    rare = dataset.copy()
    rare.labels = np.where(np.arange(len(dataset.labels))[:, None] == 0, 1.0, 0.0)
    with pytest.raises(InputError, match="outcome is too rare among the"):
        compare_detectors(rare, **lists)
