"""Audits of rows that lie elsewhere: the same figures wherever, however and by whomever computed."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
import warnings
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.arguments import checked_settings
from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.dask.blocks import chunks_of, open_source
from mdfa_fairness_plugin.dask.concluding import LEARNED_FROM, jackknife_variance
from mdfa_fairness_plugin.dask.learning import learn, panel_of
from mdfa_fairness_plugin.dask.measuring import add_measurements, measure_block
from mdfa_fairness_plugin.dask.survey import (
    Columns,
    draw_sample,
    merge_surveys,
    survey_block,
)
from mdfa_fairness_plugin.exceptions import (
    DataNotFoundError,
    FeatureWarning,
    InputError,
    InputTypeError,
    MissingSensitiveWarning,
    NothingToAuditError,
    SmallGroupWarning,
    WarningLog,
)
from mdfa_fairness_plugin.measure.conclude import Measured, Widening, conclude
from mdfa_fairness_plugin.measure.estimates import (
    lemma_strength,
    measure,
    measure_leftover,
    other_estimates,
)
from mdfa_fairness_plugin.measure.sums import CORE, EVERYBODY, REGION, RULE
from mdfa_fairness_plugin.measure.tests import LeakSums, leak_statistic
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA, load_schema

dd = pytest.importorskip("dask.dataframe")

N_ROWS = 6_000
N_LEARNED = 800
# Trees instead of forests: these tests are about sums, not about finding regions.
QUICK = {"learner": "tree", "n_splits": 3, "max_learning_rows": N_LEARNED, "random_state": 0}
NAMES = {"outcome": "denied", "sensitive": "race"}


def made(n_rows=N_ROWS, seed=0, delta=1.5):
    """Planted data as one frame: two numbers, a town, race and the decision."""
    data = mdfa.datasets.make_synthetic(n_samples=n_rows, delta=delta, random_state=seed)
    frame = data.X.reset_index(drop=True)
    rng = np.random.default_rng(seed)
    frame["town"] = rng.choice(["A", "B", "C"], n_rows)
    frame["race"] = np.where(np.asarray(data.sensitive_features) > 0, "black", "white")
    frame["denied"] = np.where(np.asarray(data.y) > 0, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def frame():
    return made()


@pytest.fixture(scope="module")
def result(frame):
    return run(frame)


def run(frame, n_partitions=6, scheduler="synchronous", **arguments):
    ddf = dd.from_pandas(frame, npartitions=n_partitions, sort=False)
    return audit_dask(ddf, scheduler=scheduler, **(NAMES | QUICK | arguments))


def figures(result):
    """Everything in the result, as it is written to a file."""
    return json.loads(result.to_json())


# -- sums


@pytest.fixture(scope="module")
def fitted(frame):
    """A region fitted to a sample, and what measures other rows by it; nothing is left out."""
    columns = Columns(outcome="denied", sensitive=("race",), features=("x1", "x2", "town"))
    settings = checked_settings(**QUICK)
    survey = survey_block(frame, 0, columns, N_LEARNED, 0)
    sample = draw_sample(survey, N_LEARNED)
    learned, _ = learn(sample, survey, settings, columns, "none", {}, WarningLog())
    panel = panel_of(learned, survey, columns, sample, "none")
    return learned, panel, survey, sample


def everything(panel):
    """The panel with no row taken for one that was learned from."""
    panel.cut.clear()
    return panel


def as_arrays(search):
    """Counts, which must be exact, and sums, which rounding may touch."""
    sums_of = search.search
    exact = [own.counts for own in sums_of.sets] + [search.outside[:, 0], sums_of.n_missing]
    exact.append(search.tally.counts[0])
    sums = [search.tally.counts, sums_of.robust, search.leak_by_model, search.rates_by_model]
    sums += [np.array([sums_of.leak.squares, sums_of.leak.fourths])]
    for own in sums_of.sets:
        for part in (own.rates, own.leftover):
            sums += [np.asarray(value) for value in vars(part).values()]
    return exact, sums


@pytest.mark.parametrize("sizes", [(6000,), (1, 5999), (1000,) * 6, (250,) * 24])
def test_any_partition_gives_the_same_sums(frame, fitted, sizes):
    """Counts to the last row, sums to rounding, whatever blocks the rows come in."""
    panel = everything(fitted[1])
    whole = measure_block(frame, 0, panel)
    ends = np.cumsum(sizes)
    blocks = [frame.iloc[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    parts = add_measurements([measure_block(block, i, panel) for i, block in enumerate(blocks)])
    assert parts.n_rows == whole.n_rows == N_ROWS
    assert len(parts.searches) == 4
    for one, other in zip(parts.searches, whole.searches, strict=True):
        for a, b in zip(as_arrays(one)[0], as_arrays(other)[0], strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(as_arrays(one)[1], as_arrays(other)[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max(initial=0))
        # R sums to about nothing, so its rounding is that of its terms.
        assert one.search.leak.total == pytest.approx(other.search.leak.total, abs=1e-10)


def test_figures_of_a_region_are_those_of_plain_numpy(frame, fitted):
    """Every estimate of a fitted region, computed anew from rows in memory."""
    learned, panel, _, _ = fitted
    panel = everything(panel)
    measured = measure_block(frame, 0, panel)
    settings, labels = replace(learned.settings, estimator="hajek"), learned.problem.outcome_labels
    X = panel.encoder.transform(frame[["x1", "x2", "town"]])
    y = (frame["denied"] == "yes").to_numpy().astype(int)
    race = (frame["race"] == "white").to_numpy().astype(int)
    for judge, block, search in zip(panel.judges, measured.searches, learned.searches, strict=True):
        sums = block.search
        e = judge.propensity.predict(X)
        comparable = (e > judge.limits[0]) & (e < judge.limits[1])
        e, m = e[comparable], judge.outcome_model.predict(X)[comparable]
        e = 1 - e if judge.flip_s else e
        m = 1 - m if judge.flip_y else m
        s = np.where(race == judge.group, 1, -1)[comparable]
        positive = (y == judge.outcome)[comparable]
        w = np.where(s > 0, 1 - e, e)  # overlap weights
        score = judge.region.scores(Asked(X))[comparable]
        member, base = score >= judge.region.threshold, np.ones(len(s))
        sets = {
            EVERYBODY: np.ones(len(s), dtype=bool),
            REGION: member,
            CORE: score >= judge.region.core_threshold,
        }
        if judge.rule.alternatives:
            shown = panel.encoder.display_frame(frame[["x1", "x2", "town"]])
            sets[RULE] = judge.rule.applies(shown)[comparable]
        for place, own in sets.items():
            rates, left = measure(positive, s, w, own), measure_leftover(positive, s, w, m, own)
            assert sums.sets[place].rates.delta == pytest.approx(
                rates.delta, rel=1e-10, nan_ok=True
            )
            assert sums.sets[place].rates.mass == pytest.approx(rates.mass, rel=1e-12, nan_ok=True)
            np.testing.assert_allclose(sums.sets[place].leftover.second, left.second, rtol=1e-12)
            assert sums.sets[place].counts.sum() == own.sum()
        plain = Widening(test=1.0, planned=1.0, sets=(1.0,) * 4)
        one = Measured(key=search.key, sums=sums, widening=plain)
        given = conclude([one], settings, labels)[0]
        assert given["statistic"] == pytest.approx(
            leak_statistic(positive, s, e, m, base, member), rel=1e-9
        )
        expected = other_estimates(positive, s, base, w, member, e, m)
        assert given["estimates"] == pytest.approx(expected, rel=1e-9)
        assert given["gamma_lemma"] == pytest.approx(lemma_strength(positive, s, w, member))
        assert given["n_rows"] == member.sum()
        assert given["share"] == pytest.approx(member.mean(), rel=1e-12)


def test_a_leak_kept_short_has_the_same_statistic():
    """Of a rare outcome only the rows that carry the sum have to be kept."""
    rng = np.random.default_rng(0)
    n = 5_000
    e, m = rng.uniform(0.2, 0.8, n), rng.uniform(0.001, 0.01, n)
    s = np.where(rng.random(n) < e, 1, -1)
    positive = rng.random(n) < m
    everyone = np.ones(n, dtype=bool)
    whole = LeakSums.of(positive, s, e, m, np.ones(n), everyone)
    assert whole.squares**2 / whole.fourths < 100  # the case in which rows are redrawn
    parts = [
        LeakSums.of(*(a[i::7] for a in (positive, s, e, m, np.ones(n), everyone))).shortened()
        for i in range(7)
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = (merged + part).shortened()
    assert len(merged.leftover) == 300
    assert merged.statistic() == pytest.approx(whole.statistic(), abs=0.02)


def test_jackknife_variance_of_a_mean_is_that_of_the_mean():
    """Leaving out each of n values, it gives their variance over n, as in any textbook."""
    x = np.array([1.0, 4.0, 2.0, 7.0, 5.0])
    without = np.array([np.delete(x, i).mean() for i in range(5)])
    assert jackknife_variance(without) == pytest.approx(x.var(ddof=1) / 5)
    assert jackknife_variance(np.array([1.0, np.nan])) == 0.0


# -- the sample


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
    shares = frame.groupby(["race", "denied"]).size() / N_ROWS
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
    assert len(survey.kept) < N_ROWS
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


# -- the audit


def test_it_finds_what_is_planted(frame, result):
    """The verdict of the audit in memory, and figures that agree within their intervals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = mdfa.audit(
            frame[["x1", "x2", "town"]],
            frame["denied"],
            sensitive_features=frame["race"],
            **(QUICK | {"max_learning_rows": None}),
        )
    for own, other in zip(result.violations, here.violations, strict=True):
        assert (own.group, own.outcome) == (other.group, other.outcome)
    planted = next(v for v in result.violations if (v.group, v.outcome) == ("black", "yes"))
    known = next(v for v in here.violations if (v.group, v.outcome) == ("black", "yes"))
    assert planted.verdict == known.verdict == "violation"
    assert planted.interval[0] < known.interval[1]
    assert known.interval[0] < planted.interval[1]
    assert planted.population.delta == pytest.approx(known.population.delta, abs=0.15)


def test_rows_learned_from_are_not_measured(result):
    assert result.excluded[LEARNED_FROM] == N_LEARNED
    assert result.n_samples == N_ROWS
    outside = next((n for why, n in result.excluded.items() if "no comparable" in why), 0)
    for violation in result.violations:
        assert violation.population.n_rows == N_ROWS - N_LEARNED - outside
        assert violation.counts.to_numpy().sum() == violation.n_rows
        assert len(violation.membership) == len(violation.held_out) == 0


@pytest.mark.slow
def test_a_statistic_of_nothing_is_not_too_wide():
    """Where nothing is planted p-values are not too small: all rows measured were never seen."""
    p_values = []
    for seed in range(8):
        nothing = made(2_500, seed=seed, delta=0.0)
        rng = np.random.default_rng(100 + seed)
        nothing["denied"] = rng.choice(["yes", "no"], len(nothing))
        found = run(nothing, max_learning_rows=400, random_state=seed, n_splits=2)
        p_values += [violation.p_value for violation in found.violations]
    p_values = np.array(p_values)
    assert (p_values < 0.01).sum() <= 3  # of 32, pairs of which mirror each other
    assert 0.25 < np.mean(p_values) < 0.75


def test_the_result_can_be_reported(result):
    text = result.summary()
    assert "learned from, not measured" in text
    assert "<html" in result.to_html()
    assert figures(result)["provenance"]["n_learned_rows"] == N_LEARNED
    jsonschema.validate(figures(result), load_schema(AUDIT_SCHEMA))
    assert result.to_model_card()
    assert result.to_junit()
    assert list(result.to_frame()["n_rows"]) == [v.n_rows for v in result.violations]


def test_the_profile_counts_the_rows_measured(result):
    worst = result.worst_case
    assert worst.profile.iloc[0, 2:4].sum() == worst.n_rows
    assert worst.profile.iloc[0, :2].sum() == worst.population.n_rows


def test_rows_are_mapped_onto_the_subgroup(frame, result):
    """By the frame it came from, by a partition, and by the auditor, to the same people."""
    ddf = dd.from_pandas(frame, npartitions=3, sort=False)
    inside = result.membership(ddf).compute(scheduler="synchronous")
    assert inside.dtype == bool
    assert 0 < inside.mean() < 1
    pd.testing.assert_series_equal(inside, result.membership(frame))
    predicted = result.auditor.predict(frame[["x1", "x2", "town"]])
    left_out = sum(n for why, n in result.excluded.items() if "no comparable" in why)
    assert (predicted != inside).sum() <= left_out
    assert result.auditor.result_ is result
    other = next(v for v in result.violations if v is not result.worst_case)
    assert (result.membership(frame, violation=other) != inside).any()


def test_what_needs_rows_says_that_there_are_none(result):
    with pytest.raises(InputError, match=r"membership\(ddf\)"):
        result.as_control_feature()
    with pytest.raises(InputError, match="does not hold its data"):
        result.null_distribution()
    with pytest.raises(InputError, match="keeps no rows"):
        result.auditor.explain_row([0.0, 0.0, "A"])


@pytest.mark.parametrize(
    "arguments",
    [
        {"solver": "level_set", "learner": "logistic"},
        {"solver": "iterative", "learner": "tree", "max_iter": 20},
        {"balance": "entropy"},
        {"balance": "propensity"},
        {"balance": "none"},
        {"evaluation": "holdout"},
        {"estimator": "doubly_robust"},
    ],
    ids=lambda given: "-".join(map(str, given.values())),
)
@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.MDFAWarning")
def test_every_way_to_search_and_to_balance(frame, arguments):
    found = run(frame, **arguments)
    planted = next(v for v in found.violations if (v.group, v.outcome) == ("black", "yes"))
    assert planted.delta > 0
    assert planted.n_rows > 0
    assert planted.interval[0] <= planted.delta <= planted.interval[1]


def test_few_rows_are_audited_as_in_memory(frame):
    """As many as fit are not worth a sample."""
    few = frame.iloc[:1500]
    there = run(few)
    here = mdfa.audit(
        few[["x1", "x2", "town"]], few["denied"], sensitive_features=few["race"], **QUICK
    )
    assert LEARNED_FROM not in there.excluded
    assert [v.delta for v in there.violations] == [v.delta for v in here.violations]
    assert [v.p_value for v in there.violations] == [v.p_value for v in here.violations]


# -- what is not in the sample


def at_the_end(frame, column, value, n=1):
    """The frame with other values in its last rows."""
    changed = frame.copy()
    changed.loc[changed.index[-n:], column] = value
    return changed


@pytest.mark.parametrize(
    ("column", "value", "error", "message"),
    [
        ("denied", None, InputError, "y: 1 of 6,000 outcomes are missing"),
        ("denied", "perhaps", InputError, "y: 3 different outcomes were found"),
        ("x1", math.inf, InputError, "infinite"),
    ],
)
def test_bad_values_are_refused_wherever_they_are(frame, column, value, error, message):
    # More partitions than fit into a sample; the last row is not in it.
    with pytest.raises(error, match=message):
        run(at_the_end(frame, column, value))


def test_scores_are_refused_wherever_they_are(frame):
    numbers = frame.assign(denied=(frame["denied"] == "yes").astype(float))
    with pytest.raises(InputError, match="y: scores were given"):
        run(at_the_end(numbers, "denied", 0.25))


def test_a_column_that_changes_its_kind_is_refused(frame, tmp_path):
    """Numbers in the first file, text in the second."""
    frame.to_parquet(tmp_path / "a.parquet")
    frame.assign(x1=frame["x1"].astype(str) + " cm").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"column 'x1' is .*string in .*b\.parquet and double"):
        audit_dask(tmp_path, scheduler="synchronous", **NAMES, **QUICK)


def test_a_constant_outcome_is_refused(frame):
    with pytest.raises(NothingToAuditError, match="every one of the 6,000 outcomes is 'no'"):
        run(frame.assign(denied="no"))


def test_missing_sensitive_values_are_counted(frame):
    with pytest.warns(MissingSensitiveWarning, match="600 rows have no value in 'race'"):
        found = run(at_the_end(frame, "race", None, 600))
    assert found.excluded["missing sensitive value (race)"] == 600
    worst = next(v for v in found.violations if (v.group, v.outcome) == ("black", "yes"))
    assert 0 < worst.n_missing < 600
    assert worst.missing_bounds[0] < worst.delta < worst.missing_bounds[1]
    with pytest.raises(InputError, match="600 rows have no value in 'race'"):
        run(at_the_end(frame, "race", None, 600), missing="raise")


def test_missing_sensitive_values_can_be_a_group(frame):
    found = run(at_the_end(frame, "race", None, 600), missing="category")
    assert {v.group for v in found.violations} == {"black", "white", "(missing)"}
    missing = next(v for v in found.violations if v.group == "(missing)")
    assert 0 < missing.counts.loc["(missing)"].sum() < 600


def test_a_group_too_rare_to_learn_about_is_listed(frame):
    with pytest.warns(SmallGroupWarning, match="in the 801 rows learned from"):
        found = run(at_the_end(frame, "race", "martian", 3))
    own = [v for v in found.violations if v.group == "martian"]
    assert len(own) == 2
    for violation in own:
        assert violation.verdict == "insufficient_evidence"
        assert (
            "among the 801 rows learned from, only 1 row(s) have race='martian'" in violation.reason
        )


def test_levels_unseen_in_the_sample_are_told(frame):
    # The row with the largest key of the last of six partitions is in no sample.
    row = 5_000 + int(np.argmax(np.random.default_rng([0, 5]).random(1_000)))
    changed = frame.copy()
    changed.loc[row, "town"] = "Z"
    with pytest.warns(FeatureWarning, match=r"do not have: 'town' \(1 rows\)"):
        found = run(changed)
    assert any("'town' (1 rows)" in warning.message for warning in found.warnings)


def test_several_columns_and_their_combinations(frame):
    rng = np.random.default_rng(3)
    both = frame.assign(sex=rng.choice(["f", "m"], N_ROWS))
    found = run(both, sensitive=["race", "sex"], intersections=True, outcomes="yes")
    groups = {(v.sensitive_feature, v.group) for v in found.violations}
    assert ("race & sex", ("black", "f")) in groups
    assert len(groups) == 2 + 2 + 4
    joint = next(v for v in found.violations if v.group == ("black", "f"))
    outside = found.excluded.get("no comparable row (race & sex=('black', 'f'))", 0)
    assert joint.population.n_rows == N_ROWS - N_LEARNED - outside
    own = joint.population.counts.iloc[0].sum()
    assert own == pytest.approx(
        ((both["race"] == "black") & (both["sex"] == "f")).sum() * 5.2 / 6, abs=3
    )


# -- weights


def test_counts_of_rows_weigh_as_the_rows_themselves(frame, fitted):
    """Measured with a weight of n, or n times."""
    panel = everything(fitted[1])
    rng = np.random.default_rng(0)
    copies = rng.integers(1, 4, N_ROWS)
    repeated = measure_block(frame.loc[frame.index.repeat(copies)], 0, panel)
    weighted = replace(panel, columns=replace(panel.columns, weight="n"), weight_type="frequency")
    counted = measure_block(frame.assign(n=copies), 0, weighted)
    for one, other in zip(counted.searches, repeated.searches, strict=True):
        for a, b in zip(as_arrays(one)[0], as_arrays(other)[0], strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(as_arrays(one)[1], as_arrays(other)[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * np.abs(b).max(initial=0))


def test_weights_are_checked_wherever_they_are(frame):
    weighted = frame.assign(w=1.5)
    found = run(weighted, sample_weight="w")
    plain = run(frame)
    assert found.provenance["weight_type"] == "sampling"
    assert [v.delta for v in found.violations] == pytest.approx([v.delta for v in plain.violations])
    for bad, message in ((-1.0, "negative"), (math.inf, "infinite"), (math.nan, "missing")):
        with pytest.raises(InputError, match=f"1 of 6,000 weights are {message}"):
            run(at_the_end(weighted, "w", bad), sample_weight="w")
    with pytest.raises(InputError, match=r"needs whole numbers, and 1\.5 was found"):
        run(weighted, sample_weight="w", weight_type="frequency")


def test_rows_of_no_weight_are_absent(frame):
    """Whatever they hold."""
    absent = at_the_end(at_the_end(frame.assign(n=1), "denied", None, 5), "n", 0, 5)
    found = run(absent, sample_weight="n")
    assert found.excluded["zero weight"] == 5
    assert found.provenance["weight_type"] == "none"
    assert found.provenance["n_working_rows"] == N_ROWS - 5 - N_LEARNED


# -- where rows lie


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """Four Parquet files, the town a categorical of other levels in each."""
    where = tmp_path_factory.mktemp("parts")
    for i, part in enumerate(np.array_split(np.arange(N_ROWS), 4)):
        own = frame.iloc[part].assign(comment="never read")
        own["town"] = own["town"].astype("category")
        own.to_parquet(where / f"part-{i}.parquet", row_group_size=700)
    (where / "_SUCCESS").write_text("")
    return where


def test_files_a_folder_a_pattern_and_a_list_are_the_same(folder):
    features = ["x1", "x2", "town"]
    ways = [
        folder,
        str(folder / "part-*.parquet"),
        sorted(folder.glob("*.parquet")),
        [str(folder / "part-0.parquet"), str(folder / "part-[123].parquet")],
    ]
    texts = {
        audit_dask(way, features=features, scheduler="synchronous", **NAMES, **QUICK).to_json()
        for way in ways
    }
    assert len(texts) == 1


def test_parquet_and_partitions_are_read_alike(frame, folder):
    columns = ("x1", "x2", "town", "race", "denied")
    blocks = open_source(folder).blocks(columns)
    chunks = [chunk for block in blocks for chunk in chunks_of(block, 300)]
    assert max(len(chunk) for chunk in chunks) <= 300
    read = pd.concat([chunk.astype({"town": str}) for chunk in chunks], ignore_index=True)
    pd.testing.assert_frame_equal(read, frame[list(columns)], check_dtype=False)


def test_only_the_columns_needed_are_read(folder):
    source = open_source(folder)
    assert "comment" in source.columns
    for chunk in chunks_of(source.blocks(("x1", "race"))[0], 1000):
        assert list(chunk.columns) == ["x1", "race"]


def test_files_that_are_not_there_or_differ(folder, tmp_path):
    with pytest.raises(DataNotFoundError, match="no file matches"):
        audit_dask(str(tmp_path / "*.parquet"), **NAMES)
    with pytest.raises(DataNotFoundError, match="no such file"):
        audit_dask(tmp_path / "nothing.parquet", **NAMES)
    with pytest.raises(DataNotFoundError, match="holds no file"):
        audit_dask(tmp_path, **NAMES)
    whole = pd.read_parquet(folder / "part-0.parquet")
    whole.to_parquet(tmp_path / "a.parquet")
    whole.drop(columns="x2").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet has no column 'x2'"):
        audit_dask(tmp_path, **NAMES)
    (tmp_path / "b.parquet").write_text("no Parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        audit_dask(tmp_path / "b.parquet", **NAMES)


def test_what_is_no_source_is_refused(frame):
    with pytest.raises(InputTypeError, match=r"dask\.dataframe\.from_pandas"):
        audit_dask(frame, **NAMES)
    with pytest.raises(InputTypeError, match="int found"):
        audit_dask(3, **NAMES)


def test_data_that_cannot_be_read_twice_is_refused(frame):
    seen = []

    def once(part, partition_info=None):
        seen.append(len(part))
        return part if len(seen) < 9 else part.iloc[:-1]

    ddf = dd.from_pandas(frame, npartitions=6, sort=False).map_partitions(once, meta=frame.iloc[:0])
    with pytest.raises(InputError, match="second reading"):
        audit_dask(ddf, scheduler="synchronous", **NAMES, **QUICK)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outcome": "decision"}, "outcome: the name of a column expected, 'decision' found"),
        ({"sensitive": "denied"}, "sensitive: 'denied' is already the column of outcome"),
        ({"features": ["race"]}, "features: 'race' is already the column of sensitive"),
        ({"sensitive": []}, "no column was named"),
        ({"alpha": 2}, "alpha"),
        ({"colour": 2}, "unknown argument.*colour"),
        ({"balance": np.ones(N_ROWS)}, "balance: an array"),
        ({"max_learning_rows": None}, "max_learning_rows"),
        ({"scheduler": "fast"}, "scheduler: an address"),
        ({"outcomes": "perhaps"}, "'perhaps' is not among those found"),
    ],
)
def test_arguments_are_checked(frame, arguments, message):
    with pytest.raises(InputError, match=message):
        run(frame, **arguments)


# -- by whom


def test_threads_give_the_same_bytes(frame, result):
    assert run(frame, scheduler="threads").to_json() == result.to_json()


def test_a_cluster_of_threads_gives_the_same_bytes(frame, result):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        assert run(frame, scheduler=None, client=client).to_json() == result.to_json()
        # The current client is found without being named.
        assert run(frame, scheduler=None).to_json() == result.to_json()


@pytest.mark.slow
def test_the_death_of_a_worker_changes_nothing(frame):
    """Killed in the middle of the second pass; others do its work, to the same bytes."""
    distributed = pytest.importorskip("distributed")
    many = pd.concat([frame] * 5, ignore_index=True)
    expected = run(many, n_partitions=60).to_json()
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=60,
    )
    with cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killed = threading.Event()

        def kill():
            while not killed.is_set():
                tasks = list(cluster.scheduler.tasks.values())
                done = [t for t in tasks if "measure_task" in str(t.key) and t.state == "memory"]
                if len(done) >= 3:
                    os.kill(victim, signal.SIGKILL)
                    killed.set()
                time.sleep(0.002)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        found = run(many, n_partitions=60, scheduler=cluster.scheduler_address)
        assert killed.is_set()
        assert victim not in client.run(os.getpid).values()
    assert found.to_json() == expected


def test_a_comparison_runs_on_a_cluster(frame):
    """Repeated splits on joblib's Dask backend give the numbers of one process."""
    joblib = pytest.importorskip("joblib")
    distributed = pytest.importorskip("distributed")
    few = frame.iloc[:600]
    rng = np.random.default_rng(0)
    models = {"as is": few["denied"], "coin": pd.Series(rng.choice(["yes", "no"], 600), few.index)}
    arguments = {
        "sensitive_features": few["race"],
        "n_splits": 3,
        "random_state": 0,
        "learner": "tree",
    }
    here = mdfa.compare(few[["x1", "x2"]], models, **arguments)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster), joblib.parallel_backend("dask"):
        there = mdfa.compare(few[["x1", "x2"]], models, **arguments, n_jobs=2)
    pd.testing.assert_frame_equal(here.to_frame(), there.to_frame())
