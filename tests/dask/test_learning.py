"""An ordinary audit of the sample judges rows elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.exceptions import SmallGroupWarning

pytest.importorskip("dask.dataframe")


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
def test_every_way_to_search_and_to_balance(frame, run, arguments):
    found = run(frame, **arguments)
    planted = next(v for v in found.violations if (v.group, v.outcome) == ("black", "yes"))
    assert planted.delta > 0
    assert planted.n_rows > 0
    assert planted.interval[0] <= planted.delta <= planted.interval[1]


def test_missing_sensitive_values_can_be_a_group(frame, run, at_the_end):
    found = run(at_the_end(frame, "race", None, 600), missing="category")
    assert {v.group for v in found.violations} == {"black", "white", "(missing)"}
    missing = next(v for v in found.violations if v.group == "(missing)")
    assert 0 < missing.counts.loc["(missing)"].sum() < 600


def test_a_group_too_rare_to_learn_about_is_listed(frame, run, at_the_end):
    with pytest.warns(SmallGroupWarning, match="in the 801 rows learned from"):
        found = run(at_the_end(frame, "race", "martian", 3))
    own = [v for v in found.violations if v.group == "martian"]
    assert len(own) == 2
    for violation in own:
        assert violation.verdict == "insufficient_evidence"
        assert "among the 801 rows learned from, only 1 row has race='martian'" in violation.reason


def test_several_columns_and_their_combinations(frame, run, n_learned):
    rng = np.random.default_rng(3)
    both = frame.assign(sex=rng.choice(["f", "m"], len(frame)))
    found = run(both, sensitive=["race", "sex"], intersections=True, outcomes="yes")
    groups = {(v.sensitive_feature, v.group) for v in found.violations}
    assert ("race & sex", ("black", "f")) in groups
    assert len(groups) == 2 + 2 + 4
    assert "race & sex" in found.summary()
    joint = next(v for v in found.violations if v.group == ("black", "f"))
    outside = found.excluded.get("no comparable row (race & sex=('black', 'f'))", 0)
    assert joint.population.n_rows == len(frame) - n_learned - outside
    own = joint.population.counts.iloc[0].sum()
    assert own == pytest.approx(
        ((both["race"] == "black") & (both["sex"] == "f")).sum() * 5.2 / 6, abs=3
    )


@pytest.mark.parametrize(("weight_type", "n_notes"), [("sampling", 1), ("frequency", 0)])
def test_how_whole_weights_are_read_is_said_of_all_rows_only(frame, run, weight_type, n_notes):
    """Counts of many rows are sampling weights in memory, which is nobody's business."""
    counted = frame.assign(n=np.arange(len(frame)) % 7 + 1)
    found = run(counted, sample_weight="n", weight_type=weight_type)
    assert [one.category for one in found.warnings].count("WholeWeights") == n_notes
