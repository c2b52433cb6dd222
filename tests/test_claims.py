"""What is claimed, checked: false alarms, power and coverage by repetition; memory by counting.

Numbers of misses are compared with binomial limits that are exceeded by luck in fewer than one in 1,000
runs of the check; the seeds are fixed. The full tables (200 data sets each) are printed by
``benchmarks/false_alarms.py``.
"""

from __future__ import annotations

import os
import tracemalloc

import false_alarms
import pandas as pd
import populations
import pytest
from scipy.stats import binom

from mdfa_fairness_plugin import audit
from mdfa_fairness_plugin.datasets import make_synthetic

pytestmark = pytest.mark.slow
LUCK = 0.001


def searches(make, runs, **options):
    return pd.concat(
        [false_alarms.one_run(make, seed, options) for seed in range(runs)], ignore_index=True
    )


@pytest.mark.parametrize(
    ("make", "runs"),
    [
        (lambda seed: populations.pure_noise(seed, n=600), 12),
        (lambda seed: populations.noise_by_x(seed, mu=-0.3, n=600), 12),
        (lambda seed: populations.paper(seed, delta=0.0, mu=0.3, n=600), 12),
    ],
    ids=["pure noise", "noise by x", "the paper's data"],
)
def test_no_more_false_alarms_than_stated(make, runs):
    lines = searches(make, runs)
    alarms = lines.groupby("seed")["violation"].any().sum()
    assert alarms <= binom.isf(LUCK, runs, 0.05)
    above = lines["low"].gt(lines["truth"]).groupby(lines["seed"]).any().sum()
    # Four searches, in two pairs that mirror each other, each missed from above in 2.5 %.
    assert above <= binom.isf(LUCK, runs, 0.10)
    # The rule by itself, of either of two searches that mirror each other.
    rules = lines["rule_low"].gt(0).groupby([lines["seed"], lines["group"].eq(lines["outcome"])])
    assert rules.any().sum() <= binom.isf(LUCK, 2 * runs, 0.05)


def test_no_more_false_alarms_than_stated_after_a_split():
    lines = searches(lambda seed: populations.pure_noise(seed, n=800), 12, evaluation="holdout")
    alarms = lines.groupby("seed")["violation"].any().sum()
    assert alarms <= binom.isf(LUCK, 12, 0.05)


def test_outcomes_of_compas_redrawn_without_the_sensitive_value_raise_no_alarm():
    if not os.environ.get("MDFA_DATA_HOME"):
        pytest.skip("COMPAS is read from MDFA_DATA_HOME, which is not set")
    lines = searches(populations.compas, 6)
    alarms = lines.groupby("seed")["violation"].any().sum()
    assert alarms <= binom.isf(LUCK, 6, 0.05)


def test_planted_violations_are_found_and_covered():
    """delta = .5 in 1,000 rows: found in at least 95 % of audits, covered in at least 92.5 %."""
    runs = 16
    lines = searches(lambda seed: populations.paper(seed, delta=0.5, mu=0.2, n=1000), runs)
    found = lines.groupby("seed")["violation"].any().sum()
    assert found >= binom.ppf(LUCK, runs, 0.95)
    planted = lines[lines["group"].eq(1) & lines["outcome"].eq(1)]
    covered = planted["low"].le(planted["truth"]) & planted["truth"].le(planted["high"])
    assert covered.sum() >= binom.ppf(LUCK, runs, 0.925)


def test_memory_is_at_most_four_times_the_input():
    """Nothing random: 3.95 times at 400,000 rows of 20 features, and 3.7 for every row beyond."""
    # The most is held where all rows are measured, however many are learned from.
    few = {"max_learning_rows": 2_000, "n_splits": 3, "n_jobs": 1, "random_state": 0}
    data = make_synthetic(400_000, delta=1.5, n_noise_features=18, random_state=0)
    tracemalloc.start()
    try:
        audit(data.X, data.y, sensitive_features=data.sensitive_features, **few)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4.0 * data.X.memory_usage().sum()
