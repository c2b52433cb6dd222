"""Rows of one person in several partitions are one piece of evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.arguments import checked_settings
from mdfa_fairness_plugin.dask.concluding import LEARNED_FROM, OF_THE_LEARNED
from mdfa_fairness_plugin.dask.learning import learn, panel_of
from mdfa_fairness_plugin.dask.measuring import add_measurements, measure_block
from mdfa_fairness_plugin.dask.survey import Columns, draw_sample, merge_surveys, survey_block
from mdfa_fairness_plugin.exceptions import (
    InputError,
    RepeatedRowsWarning,
    SmallGroupWarning,
    WarningLog,
)

pytest.importorskip("dask.dataframe")

PEOPLE = Columns(
    outcome="denied", sensitive=("race",), features=("age", "priors", "income"), cluster="who"
)


def persons(n_people, seed, rows=4):
    """Coin flips, each person several times, features nearly equal, answers alike; shuffled."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_people), rows)
    denied = np.where(
        rng.random(len(who)) < 0.9, (rng.random(n_people) < 0.3)[who], rng.random(len(who)) < 0.5
    )
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_people)[who],
            "priors": rng.poisson(3, n_people)[who],
            "income": (rng.normal(3e4, 8e3, n_people)[who] + rng.normal(0, 200, len(who))).round(2),
            "race": np.where(rng.random(n_people)[who] < 0.5, "black", "white"),
            "denied": np.where(denied, "yes", "no"),
            "who": who + 10_000,
        }
    )
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)


def surveyed(frame, n_blocks, n_learned):
    blocks = [frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), n_blocks)]
    surveys = [survey_block(block, i, PEOPLE, n_learned, 0) for i, block in enumerate(blocks)]
    return blocks, merge_surveys(surveys, n_learned)


@pytest.fixture(scope="module")
def frame():
    return persons(1_500, 0)


@pytest.fixture(scope="module")
def fitted(frame, quick, n_learned):
    """Blocks of rows, what measures them, and the sample it was learned from."""
    blocks, survey = surveyed(frame, 9, n_learned)
    sample = draw_sample(survey, n_learned)
    settings = checked_settings(**quick)
    learned, _ = learn(sample, survey, settings, PEOPLE, "none", {}, WarningLog())
    return blocks, panel_of(learned, survey, PEOPLE, sample, "none"), sample


@pytest.mark.parametrize("n_blocks", [1, 4, 50])
def test_the_sample_takes_people_wherever_their_rows_lie(frame, fitted, n_learned, n_blocks):
    """The same rows however they are cut; of most people all, and shares as ever."""
    sample = fitted[2].frame
    _, survey = surveyed(frame, n_blocks, n_learned)
    pd.testing.assert_frame_equal(draw_sample(survey, n_learned).frame, sample)
    assert len(sample) == n_learned
    # Whole people would be a quarter; the cut of every kind of row lies at another one.
    assert sample["who"].nunique() < n_learned / 4 * 1.3
    assert survey.clusters.size == 1_500
    kinds = ["race", "denied"]
    expected = frame.value_counts(kinds) / len(frame) * n_learned
    assert (sample.value_counts(kinds) - expected).abs().max() <= 1


def test_people_learned_from_are_not_measured(frame, fitted):
    blocks, panel, sample = fitted
    measured = add_measurements([measure_block(b, i, panel) for i, b in enumerate(blocks)])
    theirs = frame["who"].isin(set(sample.frame["who"]))
    assert measured.n_learned == theirs.sum() > len(sample.frame)
    assert measured.n_measured == len(frame) - theirs.sum()
    only_theirs = measure_block(frame[theirs], 0, panel)
    assert (only_theirs.n_measured, only_theirs.searches) == (0, ())


@pytest.mark.parametrize("sort", ["who", None, "income"])
def test_any_partition_gives_the_same_sums_by_group(frame, fitted, sort):
    """Every person's rows in one block, or spread over all."""
    blocks, panel, _ = fitted
    whole = measure_block(frame, 0, panel)
    if sort is not None:
        moved = frame.sort_values(sort, kind="stable")
        blocks = [moved.iloc[rows] for rows in np.array_split(np.arange(len(moved)), 7)]
    parts = add_measurements([measure_block(block, i, panel) for i, block in enumerate(blocks)])
    for one, other in zip(parts.searches, whole.searches, strict=True):
        for name, value in vars(one.groups).items():
            np.testing.assert_allclose(value, getattr(other.groups, name), rtol=0, atol=1e-10)


def test_counts_of_rows_weigh_as_rows_of_the_same_person(frame, fitted):
    """Measured with a weight of n, or n times."""
    panel = fitted[1]
    copies = np.random.default_rng(0).integers(1, 4, len(frame))
    repeated = measure_block(frame.loc[frame.index.repeat(copies)], 0, panel)
    weighted = replace(panel, columns=replace(PEOPLE, weight="n"), weight_type="frequency")
    counted = measure_block(frame.assign(n=copies), 0, weighted)
    for one, other in zip(counted.searches, repeated.searches, strict=True):
        for name, value in vars(one.groups).items():
            np.testing.assert_allclose(value, getattr(other.groups, name), rtol=0, atol=1e-10)


def test_audits_agree_however_rows_are_cut(frame, run):
    """Figures, and what is said of how they were made."""
    one, other = (run(frame, n_partitions=n, clusters="who") for n in (2, 9))
    for mine, theirs in zip(one.violations, other.violations, strict=True):
        assert mine.p_value == pytest.approx(theirs.p_value, rel=1e-9)
        assert mine.interval == pytest.approx(theirs.interval, rel=1e-9)
        pd.testing.assert_frame_equal(mine.counts, theirs.counts)
        np.testing.assert_allclose(mine.path.interval_low, theirs.path.interval_low)
    assert one.excluded == other.excluded
    left = one.excluded[LEARNED_FROM] + one.excluded[OF_THE_LEARNED]
    assert one.provenance["n_working_rows"] == len(frame) - left
    # Each of these people has four rows.
    assert one.provenance["n_clusters"] == one.provenance["n_working_rows"] / 4
    assert f"rows of {one.provenance['n_clusters']:,} people (clusters)" in " ".join(
        one.summary().split()
    )


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.MDFAWarning")
def test_people_who_come_several_times_are_no_evidence_of_their_own(run):
    """Coins: taken for people of their own, rows are plain evidence; with ids they are none."""
    plain, clustered = [], []
    for seed in range(3):
        frame = persons(750, seed, rows=8)
        some = {"outcomes": "yes", "max_learning_rows": 1_600}
        found = run(frame.drop(columns="who"), **some)
        plain += [violation.population.p_value for violation in found.violations]
        # What is said of the models is of the rows measured.
        told = [one.message for one in found.warnings if one.category == "ModelDependenceWarning"]
        decisive = [v for v in found.violations if v.depends_on_models.decisive]
        assert bool(told) == bool(decisive)
        assert all(one.startswith("race=") for one in told)
        found = run(frame, clusters="who", **some)
        clustered += [violation.p_value_adjusted for violation in found.violations]
        clustered += [violation.population.p_value for violation in found.violations]
    assert min(plain) < 1e-7
    assert min(clustered) > 0.01  # of six, pairs of which mirror each other


def coins(n_people, copies, seed):
    """Coin flips of people who differ, everybody as many times, shuffled."""
    once = persons(n_people, seed, rows=1).drop(columns="who")
    return pd.concat([once] * copies, ignore_index=True).sample(frac=1.0, random_state=seed)


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.ModelDependenceWarning")
@pytest.mark.parametrize("copies", [3, 12])
def test_copies_among_the_rows_learned_from_are_looked_for_among_all(run, copies):
    """Sums of copies vary as much as those of people do; taken for people, twelve seem too many."""
    as_copies, as_people = [], []
    for seed in range(4):
        frame = coins(12_000 // copies, copies, seed)
        with pytest.warns(RepeatedRowsWarning) as said:
            found = run(frame, outcomes="yes")
        assert len([one for one in said if one.category is RepeatedRowsWarning]) == 1
        told = [one.message for one in found.warnings if one.category == "RepeatedRowsWarning"]
        assert len(told) == 1
        assert told[0].endswith("Among all rows, equal ones count as one person.")
        n_left = found.excluded[LEARNED_FROM] + found.excluded[OF_THE_LEARNED]
        assert n_left % copies == 0
        as_copies += [violation.p_value for violation in found.violations]
        each = frame.assign(n=1)
        found = run(each, sample_weight="n", weight_type="frequency", outcomes="yes")
        assert OF_THE_LEARNED not in found.excluded
        as_people += [violation.p_value for violation in found.violations]
    assert min(as_copies) > 1e-3
    assert copies == 3 or min(as_people) < 1e-4


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.RepeatedRowsWarning")
def test_copies_are_the_same_however_rows_are_cut_and_held(run):
    frame = coins(1_000, 6, 0)
    one = run(frame, n_partitions=2)
    held = frame.astype({"priors": "Int16", "age": float, "race": "category"})
    for other in (run(frame, n_partitions=9), run(held, n_partitions=5)):
        assert one.excluded == other.excluded
        assert one.provenance["n_clusters"] == other.provenance["n_clusters"] < 1_000
        for mine, theirs in zip(one.violations, other.violations, strict=True):
            assert mine.p_value == pytest.approx(theirs.p_value, rel=1e-9)
            assert mine.interval == pytest.approx(theirs.interval, rel=1e-9)


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.RepeatedRowsWarning")
def test_people_alike_by_chance_stay_people_where_some_are_copied(run):
    """A third of all say nothing of themselves: they are measured, and a warning tells of copies."""
    alike = persons(6_000, 1, rows=1).drop(columns="who").assign(age=0, priors=0, income=0.0)
    mixed = pd.concat([coins(4_000, 3, 0), alike]).sample(frac=1.0, random_state=0)
    found = run(mixed)
    assert OF_THE_LEARNED not in found.excluded
    assert found.provenance["n_clusters"] is None
    assert any("each of all other rows counts as a person" in one.message for one in found.warnings)


def test_few_rows_are_audited_as_in_memory(quick, run):
    frame = persons(300, 1)
    there = run(frame, clusters="who")
    X, people = frame[list(PEOPLE.features)], frame["who"]
    here = mdfa.audit(
        X, frame["denied"], sensitive_features=frame["race"], clusters=people, **quick
    )
    assert [v.p_value for v in there.violations] == [v.p_value for v in here.violations]
    assert [v.interval for v in there.violations] == [v.interval for v in here.violations]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("person", "clusters: the name of a column expected, 'person' found"),
        ("race", "sensitive: 'race' is already the column of clusters"),
        ("denied", "clusters: 'denied' is already the column of outcome"),
        ("some", "clusters: 2 of 6,000 rows have no value"),
        ("one", "clusters: all rows are of one cluster"),
        ("most", "clusters: all 800 rows learned from are of one cluster"),
        ("four", "clusters: every cluster has a row among the 800 learned from"),
    ],
)
@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.MDFAWarning")
def test_bad_clusters_are_refused_by_name(frame, run, column, message):
    changed = frame.assign(some=frame["who"].astype(object), one=1, most=1)
    changed["four"] = frame["race"] + frame["denied"]
    # The first and the last partition.
    changed.loc[[0, len(frame) - 1], "some"] = None
    # Its key for seed 0 is larger, so that it is not in the sample.
    changed.loc[len(frame) - 1, "most"] = 6
    with pytest.raises(InputError, match=message):
        run(changed, clusters=column, features=["age", "priors", "income"], n_splits=2)


def test_ids_of_rows_without_weight_do_not_matter(frame, run):
    absent = frame.assign(n=1, who=frame["who"].astype(object))
    absent.loc[:4, ["who", "n"]] = [None, 0]
    found = run(absent, sample_weight="n", clusters="who", outcomes="yes")
    assert found.excluded["zero weight"] == 5


def test_a_side_of_few_people_is_insufficient_evidence(frame, run):
    """In the rows learned from; and where only what is measured is all one person's."""
    few = frame.assign(who=np.where(frame["race"] == "black", frame["who"] % 40, frame["who"]))
    with pytest.warns(SmallGroupWarning, match=r"only \d+ cluster"):
        found = run(few, clusters="who")
    assert all("learned from, only" in violation.reason for violation in found.violations)
    black = frame.index[frame["race"] == "black"]
    # A person of two thousand rows whose key for seed 0 is too large to be in the sample.
    frame = frame.copy()
    frame.loc[black[:2_000], "who"] = 6
    with pytest.warns(SmallGroupWarning, match="one side is worth only 2 equally large clusters"):
        found = run(frame, clusters="who")
    for violation in found.violations:
        assert violation.verdict == "insufficient_evidence"
        assert "measured, one side is worth only 2 equally large" in violation.reason
        assert np.isnan(violation.p_value)
