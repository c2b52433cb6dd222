"""Audits of rows that lie elsewhere: the same figures by whomever computed."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.dask.concluding import LEARNED_FROM
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakWarning,
    ParsedTextWarning,
    SpellingWarning,
)

dd = pytest.importorskip("dask.dataframe")


def test_it_finds_what_is_planted(frame, quick, result):
    """The verdict of the audit in memory, and figures that agree within their intervals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = mdfa.audit(
            frame[["x1", "x2", "town"]],
            frame["denied"],
            sensitive_features=frame["race"],
            **(quick | {"max_learning_rows": None}),
        )
    for own, other in zip(result.violations, here.violations, strict=True):
        assert (own.group, own.outcome) == (other.group, other.outcome)
    planted = next(v for v in result.violations if (v.group, v.outcome) == ("black", "yes"))
    known = next(v for v in here.violations if (v.group, v.outcome) == ("black", "yes"))
    assert planted.verdict == known.verdict == "violation"
    assert planted.interval[0] < known.interval[1]
    assert known.interval[0] < planted.interval[1]
    assert planted.population.delta == pytest.approx(known.population.delta, abs=0.15)
    for own in (planted, known):
        assert max(own.population.p_value, own.searched.p_value) < 1e-6
        # Of 800 rows or of 6,000, all models know that the planted features are no explanation.
        np.testing.assert_allclose(np.log(own.depends_on_models.ratios), own.delta, atol=0.1)


def test_few_rows_are_audited_as_in_memory(frame, quick, run):
    """As many as fit are not worth a sample."""
    few = frame.iloc[:1500]
    there = run(few)
    here = mdfa.audit(
        few[["x1", "x2", "town"]], few["denied"], sensitive_features=few["race"], **quick
    )
    assert LEARNED_FROM not in there.excluded
    assert [v.delta for v in there.violations] == [v.delta for v in here.violations]
    assert [v.p_value for v in there.violations] == [v.p_value for v in here.violations]


def test_columns_may_come_in_any_order_under_any_names(frame, run):
    """Features and sensitive columns: the same sample, the same figures."""
    frame = frame.assign(side=np.arange(len(frame)) % 2, x3=np.arange(len(frame)) % 7)
    one = run(frame, sensitive=["race", "side"])
    names = {"x1": "z", "x2": "y", "x3": "x", "town": "a", "race": "c", "side": "b"}
    two = run(frame[frame.columns[::-1]].rename(columns=names), sensitive=["b", "c"])
    found = {(names[v.sensitive_feature], v.group, v.outcome): v for v in one.violations}
    assert len(two.violations) == len(found)
    for w in two.violations:
        v = found[w.sensitive_feature, w.group, w.outcome]
        assert (w.delta, w.interval, w.p_value, w.mass) == (v.delta, v.interval, v.p_value, v.mass)
        assert w.rule_fidelity == v.rule_fidelity
        np.testing.assert_array_equal(w.path.delta, v.path.delta)


def test_data_that_cannot_be_read_twice_is_refused(frame, audit_source):
    seen = []

    def once(part, partition_info=None):
        seen.append(len(part))
        return part if len(seen) < 9 else part.iloc[:-1]

    ddf = dd.from_pandas(frame, npartitions=6, sort=False).map_partitions(once, meta=frame.iloc[:0])
    with pytest.raises(InputError, match="second reading"):
        audit_source(ddf)


@pytest.mark.parametrize("column", ["x1", "town", "denied"])
def test_rows_that_say_something_else_when_read_again_are_refused(frame, audit_source, column):
    """As many of each kind, so that nothing but what they say tells."""
    seen = []

    def once(part, partition_info=None):
        seen.append(len(part))
        return part if len(seen) < 9 else part.assign(**{column: part[column].to_numpy()[::-1]})

    ddf = dd.from_pandas(frame, npartitions=6, sort=False).map_partitions(once, meta=frame.iloc[:0])
    with pytest.raises(InputError, match="second reading"):
        audit_source(ddf)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outcome": "decision"}, "outcome: the name of a column expected, 'decision' found"),
        ({"sensitive": "denied"}, "sensitive: 'denied' is already the column of outcome"),
        ({"features": ["race"]}, "features: 'race' is already the column of sensitive"),
        ({"sensitive": []}, "no column was named"),
        ({"alpha": 2}, "alpha"),
        ({"colour": 2}, "unknown argument.*colour"),
        ({"balance": np.ones(6_000)}, "balance: an array"),
        ({"max_learning_rows": None}, "max_learning_rows"),
        ({"scheduler": "fast"}, "scheduler: an address"),
        ({"outcomes": "perhaps"}, "'perhaps' is not among those found"),
    ],
)
def test_arguments_are_checked(frame, run, arguments, message):
    with pytest.raises(InputError, match=message):
        run(frame, **arguments)


def test_threads_give_the_same_bytes(frame, run, result):
    assert run(frame, scheduler="threads").to_json() == result.to_json()


def test_threads_leave_the_numerical_libraries_as_they_were(frame, run):
    """A limit set by one thread is not what another one restores."""
    with threadpool_limits(limits=2):
        before = [library["num_threads"] for library in threadpool_info()]
        run(frame, n_partitions=13, scheduler="threads")
        assert [library["num_threads"] for library in threadpool_info()] == before


def test_a_cluster_of_threads_gives_the_same_bytes(frame, run, result):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        assert run(frame, scheduler=None, client=client).to_json() == result.to_json()
        # The current client is found without being named.
        assert run(frame, scheduler=None).to_json() == result.to_json()


@pytest.mark.slow
def test_the_death_of_a_worker_changes_nothing(frame, run):
    """Killed in the middle of the second pass; others do its work, to the same bytes."""
    distributed = pytest.importorskip("distributed")
    many = pd.concat([frame] * 5, ignore_index=True)
    many["x1"] += np.arange(len(many)) * 1e-9  # so that nobody is there twice
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
                done = [t for t in tasks if "measure_block" in str(t.key) and t.state == "memory"]
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


# -- features that tell the outcome


def test_leaks_are_found_among_the_rows_learned_from(frame, run):
    denied = (frame["denied"] == "yes").to_numpy()
    score = np.random.default_rng(0).uniform(0, 50, len(frame)) + 50 * denied
    leaked = frame.assign(points=score)
    with pytest.warns(LeakWarning, match="rows learned from: 'points' decides the outcome alone"):
        result = run(leaked)
    assert "'points' decides the outcome alone." in " ".join(result.summary().split())[:300]
    result = run(leaked, decision_inputs="points")
    assert "DecisionInputs" in [w.category for w in result.warnings]
    assert result.auditor.decision_inputs == "points"
    with pytest.raises(InputError, match=r"X: 'again' repeat.*decision_inputs"):
        run(frame.assign(again=denied))
    with pytest.raises(InputError, match="decision_inputs: 'point' is no feature"):
        run(leaked, decision_inputs=["point"])


@pytest.mark.parametrize("argument", ["propensity", "outcome_probability"])
def test_probabilities_row_by_row_are_refused(frame, run, argument):
    with pytest.raises(InputError, match=f"^{argument}: .*row by row.* Pass an estimator"):
        run(frame, **{argument: np.full(len(frame), 0.5)})


def test_the_users_estimators_judge_rows_elsewhere(frame, run, result):
    """A plain one comes near the audit's own, as little confounds the groups."""
    own = LogisticRegression()
    found = run(frame, propensity=own, outcome_probability=own)
    for v, w in zip(found.violations, result.violations, strict=True):
        assert v.population.delta == pytest.approx(w.population.delta, abs=0.1)


def test_spellings_are_merged_and_rows_without_an_outcome_left_out_as_if_there_were_none(
    frame, run
):
    """What a clean frame gives, whichever part of the rows has the other spelling."""
    frame, place = frame.head(3_000), np.arange(3_000)
    dirty = frame.assign(
        race=frame["race"].where(place % 7 > 0, frame["race"].str.upper()),
        denied=frame["denied"].where(place < 1_500, frame["denied"] + ".").mask(place % 50 == 0),
    )
    with pytest.warns(SpellingWarning):
        run(dirty, outcomes=["yes"], groups=["black"], missing_outcome="exclude")
    merged = run(dirty, merge_spellings=True, missing_outcome="exclude")
    assert merged.outcome_labels == ("no", "yes")
    assert merged.excluded["missing outcome"] == 60
    assert {v.group for v in merged.violations} == {"black", "white"}
    # Rows have other random numbers where others are absent, so figures are near, not the same.
    clean = run(frame[place % 50 > 0].reset_index(drop=True))
    for one, other in zip(merged.violations, clean.violations, strict=True):
        assert one.population.delta == pytest.approx(other.population.delta, abs=0.05)
    with pytest.raises(InputError, match="60 of 3,000 outcomes are missing"):
        run(dirty, outcomes=["yes"])


def test_text_is_read_in_every_part_as_in_the_sample(frame, run):
    """Rows learned from say how numbers are written; other parts are read so, whatever they hold."""
    frame = frame.iloc[:2_000]
    number = frame["x1"].round(3)
    text = number.map("{:,.3f}".format).str.translate(str.maketrans(",.", ".,"))
    with pytest.warns(ParsedTextWarning, match="'x1'"):
        read = run(frame.assign(x1=text))
    pd.testing.assert_frame_equal(read.to_frame(), run(frame.assign(x1=number)).to_frame())
