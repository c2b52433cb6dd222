"""One reading of all rows: what is refused, and the sample drawn on the way."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.dask.survey import Columns, draw_sample, merge_surveys, survey_block
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditError

pytest.importorskip("dask.dataframe")

N_LEARNED = 800


def survey_of(frame, n_blocks, columns, n_sample=N_LEARNED, seed=0):
    blocks = np.array_split(np.arange(len(frame)), n_blocks)
    surveys = [
        survey_block(frame.iloc[rows], i, columns, n_sample, seed) for i, rows in enumerate(blocks)
    ]
    return surveys, merge_surveys(surveys, n_sample)


RACE_ONLY = Columns(outcome="denied", sensitive=("race",), features=("x1", "x2"))


def test_the_sample_has_every_stratum_with_its_share(frame):
    _, survey = survey_of(frame, 5, RACE_ONLY)
    sample = draw_sample(survey, N_LEARNED)
    assert len(sample.frame) == N_LEARNED
    shares = frame.groupby(["race", "denied"]).size() / len(frame)
    drawn = sample.frame.groupby(["race", "denied"]).size()
    assert (drawn - shares * N_LEARNED).abs().max() <= 1


def test_the_sample_does_not_depend_on_how_surveys_were_merged(frame):
    surveys, at_once = survey_of(frame, 9, RACE_ONLY)
    halves = [merge_surveys(surveys[:4], N_LEARNED), merge_surveys(surveys[4:], N_LEARNED)]
    in_steps = merge_surveys(halves, N_LEARNED)
    pd.testing.assert_frame_equal(
        draw_sample(at_once, N_LEARNED).frame, draw_sample(in_steps, N_LEARNED).frame
    )


def test_the_sample_is_that_of_the_smallest_keys(frame):
    """Trimming on the way loses no row that would have been drawn."""
    surveys, survey = survey_of(frame, 20, RACE_ONLY)
    assert len(survey.kept) < len(frame)
    sample = draw_sample(survey, N_LEARNED)
    key = np.concatenate(
        [np.random.default_rng([0, i]).random(one.n_rows) for i, one in enumerate(surveys)]
    )
    rows = []
    for (race, denied), count in sample.frame.groupby(["race", "denied"]).size().items():
        own = np.flatnonzero((frame["race"] == race) & (frame["denied"] == denied))
        rows += own[np.argsort(key[own])[:count]].tolist()
    expected = frame.iloc[sorted(rows)][["x1", "x2", "race", "denied"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(sample.frame, expected)


def test_sorted_partitions_are_sampled_as_evenly(frame):
    """A first partition of one group alone keeps no more than it should, and no less."""
    _, survey = survey_of(frame.sort_values("race"), 6, RACE_ONLY)
    drawn = draw_sample(survey, N_LEARNED).frame["race"].value_counts(normalize=True)
    expected = frame["race"].value_counts(normalize=True)
    assert (drawn - expected).abs().max() <= 2 / N_LEARNED


def test_every_value_and_outcome_is_in_the_sample(frame):
    """However rare, or checks of labels would not see them."""
    rare = frame.copy()
    rare.loc[17, "race"], rare.loc[4321, "denied"] = "martian", "perhaps"
    _, survey = survey_of(rare, 4, RACE_ONLY)
    sample = draw_sample(survey, N_LEARNED).frame
    assert "martian" in set(sample["race"])
    assert "perhaps" in set(sample["denied"])


@pytest.mark.parametrize(
    ("column", "value", "error", "message"),
    [
        ("denied", None, InputError, "y: 1 of 6,000 outcomes are missing"),
        ("x1", math.inf, InputError, "infinite"),
    ],
)
def test_bad_values_are_refused_wherever_they_are(
    frame, run, at_the_end, column, value, error, message
):
    # More partitions than fit into a sample; the last row is not in it.
    with pytest.raises(error, match=message):
        run(at_the_end(frame, column, value))


def test_scores_are_refused_wherever_they_are(frame, run, at_the_end):
    numbers = frame.assign(denied=(frame["denied"] == "yes").astype(float))
    with pytest.raises(InputError, match="y: scores were given"):
        run(at_the_end(numbers, "denied", 0.25))


def test_a_constant_outcome_is_refused(frame, run):
    with pytest.raises(NothingToAuditError, match="every one of the 6,000 outcomes is 'no'"):
        run(frame.assign(denied="no"))


def test_weights_are_checked_wherever_they_are(frame, run, at_the_end):
    weighted = frame.assign(w=1.5)
    found = run(weighted, sample_weight="w")
    plain = run(frame)
    assert found.provenance["weight_type"] == "none"  # equal weights say nothing
    assert [v.delta for v in found.violations] == pytest.approx([v.delta for v in plain.violations])
    for bad, message in ((-1.0, "negative"), (math.inf, "infinite"), (math.nan, "missing")):
        with pytest.raises(InputError, match=f"1 of 6,000 weights are {message}"):
            run(at_the_end(weighted, "w", bad), sample_weight="w")
    with pytest.raises(InputError, match=r"needs whole numbers, and 1\.5 was found"):
        run(weighted, sample_weight="w", weight_type="frequency")


def test_rows_of_no_weight_are_absent(frame, run, at_the_end):
    """Whatever they hold."""
    absent = at_the_end(at_the_end(frame.assign(n=1), "denied", None, 5), "n", 0, 5)
    found = run(absent, sample_weight="n")
    assert found.excluded["zero weight"] == 5
    assert found.provenance["weight_type"] == "none"
    assert found.provenance["n_working_rows"] == len(frame) - 5 - N_LEARNED


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop(columns="x2"), "some partition has no column 'x2', which others have"),
        (lambda f: f.drop(columns="denied"), "some partition has no column 'denied'"),
        (lambda f: f.assign(x1="a"), "'x1' holds numbers in some parts of the rows and labels"),
        (lambda f: f.assign(x1=f["x1"].astype(str)), "'x1' holds numbers in some parts"),
        (lambda f: f.assign(x2=pd.Timestamp("2020-01-01")), "'x2' holds numbers .* and dates"),
        (lambda f: f.to_numpy(), "a partition is a ndarray, no pandas DataFrame"),
        (lambda f: None, "a partition is a NoneType"),
    ],
)
def test_a_part_unlike_the_others_is_told_by_its_column(frame, change, said):
    parts = [frame.iloc[:300], change(frame.iloc[300:600]), frame.iloc[600:900]]
    with pytest.raises(InputError, match=said):
        merge_surveys(
            [survey_block(p, i, RACE_ONLY, N_LEARNED, 0) for i, p in enumerate(parts)], 800
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(x1=f["x1"].astype("float32").astype(float), x2=np.nan),
        lambda f: f.assign(x1=f["x1"].round().astype("Int64"), x2=None),
        lambda f: f.assign(x1=True),
    ],
)
def test_numbers_of_any_kind_and_missing_ones_are_alike(frame, change):
    parts = [frame.iloc[:300], change(frame.iloc[300:600])]
    surveys = [survey_block(p, i, RACE_ONLY, N_LEARNED, 0) for i, p in enumerate(parts)]
    assert merge_surveys(surveys, 800).kinds == {"x1": "numbers", "x2": "numbers"}


def test_the_digest_of_the_rows_depends_on_what_they_say_alone(frame):
    """Not on parts, nor on types that say the same; on every feature, group and outcome."""
    whole = survey_of(frame, 1, RACE_ONLY)[1].digest
    assert survey_of(frame, 7, RACE_ONLY)[1].digest == whole
    same = frame.assign(race=frame["race"].astype("category"), x1=frame["x1"].astype("Float64"))
    assert survey_of(same, 3, RACE_ONLY)[1].digest == whole
    for name in ("x1", "race", "denied"):
        other = frame.copy()
        other.loc[5, name] = next(value for value in other[name] if value != other[name][5])
        assert survey_of(other, 3, RACE_ONLY)[1].digest != whole
