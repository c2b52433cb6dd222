"""Who is inside, as rows; and what is told where no short rule fits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.describe import held_out_rule
from mdfa_fairness_plugin.exceptions import InputError

FAST = {"learner": "tree", "n_splits": 3, "n_repeats": 1}


@pytest.fixture(scope="module")
def audited():
    """Two groups and a third that is too small; an index, a row of no weight, one without a group."""
    data = mdfa.datasets.make_synthetic(n_samples=700, delta=1.5, random_state=1)
    group = pd.Series(np.where(data.sensitive_features > 0, "p", "q"), dtype=object)
    group[:5], group[5] = "r", None
    index = pd.Index([f"person {i}" for i in range(700)])
    X, group = data.X.set_axis(index), group.set_axis(index)
    y, w = pd.Series(np.asarray(data.y), index), pd.Series(np.ones(700), index)
    w.iloc[6] = 0.0
    with pytest.warns(mdfa.exceptions.MDFAWarning):
        return mdfa.audit(X, y, sensitive_features=group, sample_weight=w, **FAST), group


def test_members_are_rows_with_their_index(audited):
    result, group = audited
    members = result.members()
    made = [v for v in result.violations if len(v.side)]
    assert len(members) == 699 * len(made)
    assert members.columns.tolist() == [
        "sensitive_feature", "group", "reference", "outcome", "inside", "score", "side",
        "comparable", "held_out",
    ]  # fmt: skip
    assert "person 6" not in members.index
    for own in made:
        one = result.members(violation=own)
        rows = np.flatnonzero(np.arange(700) != 6)
        assert one.index.tolist() == [f"person {i}" for i in rows]
        np.testing.assert_array_equal(one["inside"], own.membership[rows])
        assert (one.loc[group[one.index] == own.group, "side"] == "group").all()
        assert one.loc["person 5", "side"] == "neither"
        assert not one.loc[one["side"] == "neither", "comparable"].any()
        np.testing.assert_array_equal(
            one["comparable"], (own.side != 0)[rows] & ~own.left_out[rows]
        )
        assert one["score"].notna().tolist() == one["comparable"].tolist()


def test_searches_of_another_audit_are_refused(audited):
    result, _ = audited
    other = dataclasses.replace(result.worst_case)
    for violation in (other, 3):
        with pytest.raises(InputError, match=r"^violation: one of the result"):
            result.members(violation=violation)
    with pytest.raises(InputError, match=r"^violation: one of the result"):
        result.as_control_feature(violation=3)


def test_the_higher_the_score_the_sooner_a_row_is_inside(audited):
    """Every fold has a cut of its own: nearly all of those inside score higher than those outside."""
    result, _ = audited
    for own in result.violations:
        if not len(own.side) or not 0 < own.share < 1:
            continue
        one = result.members(violation=own)
        one = one[one["comparable"]]
        inside = one["inside"]
        ranks = one["score"].rank()
        mean = ranks[inside].mean() - (inside.sum() + 1) / 2
        assert mean / (~inside).sum() > 0.95


def test_a_result_without_rows_has_no_members(audited):
    result = dataclasses.replace(audited[0], violations=())
    with pytest.raises(InputError, match=r"^members: this result holds no rows"):
        result.members()


@pytest.fixture(scope="module")
def scattered():
    """Treated unequally in a checkerboard of four by four, which no short rule describes well."""
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame(rng.uniform(0, 4, size=(n, 2)), columns=["a", "b"])
    s = rng.choice(["p", "q"], n)
    board = (X["a"] // 1 + X["b"] // 1) % 2 == 0
    y = rng.random(n) < np.where(board & (s == "p"), 0.9, 0.25)
    told = {"propensity": np.full(n, 0.5), "outcome_probability": np.where(board, 0.575, 0.25)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held_out_rule, "MIN_FIDELITY", 0.9)
        return mdfa.audit(X, y, sensitive_features=s, outcomes=[True], groups=["p"], **told), board


def test_where_no_rule_fits_the_best_one_is_measured_for_itself(scattered):
    result, board = scattered
    (own,) = result.violations
    assert own.verdict == "violation"
    assert np.mean(own.membership == board) > 0.8
    assert own.rule == ""
    best = own.rule_subgroup
    assert best.rule
    assert best.interval[0] < np.log(0.9 / 0.25) < best.interval[1]
    assert 0 < best.n_rows < own.n_rows
    text = " ".join(result.summary().split())
    assert "No short rule describes this subgroup" in text
    assert f"Where {best.rule}, which is the best" in text
    assert own.rule_rows != best.n_rows
    assert f"as printed it holds for {own.rule_rows:,}." in text
