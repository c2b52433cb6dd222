"""What is said of ratios that fall as the models of the features get better."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import MDFAWarning, ModelDependenceWarning


@pytest.fixture(scope="module")
def told():
    """Group and answer depend on the signs of three features together, and else on nothing."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(2_000, 4))).add_prefix("z")
    p = np.where(np.sign(X.iloc[:, :3]).prod(axis=1) > 0, 0.75, 0.25)
    s = pd.Series(np.where(rng.random(2_000) < p, "a", "b"), name="group")
    y = np.where(rng.random(2_000) < p, "yes", "no")
    with pytest.warns(MDFAWarning) as caught:
        result = mdfa.audit(X, y, sensitive_features=s, n_splits=3)
    return result, [w for w in caught if w.category is ModelDependenceWarning]


def test_the_searches_that_rest_on_the_models_say_so(told):
    result, _ = told
    resting = [v for v in result.violations if v.depends_on_models.decisive]
    assert resting
    for v in resting:
        ratios = v.depends_on_models.ratios
        assert v.verdict == "insufficient_evidence"
        assert v.reason.startswith(f"the ratio falls from {max(ratios):.2f} to {ratios[-1]:.2f} as")
        assert v.depends_on_models.allowance > 0
        assert v.depends_on_models.to_frame().shape == (len(ratios), 3)


def test_mirrored_searches_are_warned_of_once_and_reports_repeat_it(told):
    """Everybody with the answer yes in one group is everybody with no in the other."""
    result, caught = told
    resting = [v for v in result.violations if v.depends_on_models.decisive]
    kept = [w.message for w in result.warnings if w.category == "ModelDependenceWarning"]
    assert kept == [str(w.message) for w in caught]
    named = {(v.group, v.outcome) for v in resting}
    assert named == {("a", "yes"), ("b", "no")}
    assert all(v.share == 1 for v in resting)
    assert len(kept) == 1
    assert kept[0].startswith("group='a', outcome 'yes': the ratio falls from ")
    assert kept[0].endswith(" The same holds for group='b', outcome 'no'.")
    for text in (result.summary(), result.to_html(), result.to_model_card()):
        assert "ModelDependenceWarning" in text


def test_models_of_the_users_own_are_taken_at_their_word(told):
    result, _ = told
    assert result.provenance["parameters"]["min_ratio"] == "auto"
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=400)})
    half = np.full(400, 0.5)
    own = mdfa.audit(
        X,
        rng.integers(0, 2, 400),
        sensitive_features=rng.integers(0, 2, 400),
        propensity=half,
        outcome_probability=half,
    )
    assert all(v.depends_on_models is None for v in own.violations)
    assert "depends_on_models" in own.to_dict()["violations"][0]


def test_a_ratio_below_the_smallest_one_is_no_violation_however_sure():
    """The same figures, another verdict, and why."""
    data = mdfa.datasets.make_synthetic(n_samples=1_000, delta=1.5, random_state=0)
    given = {"X": data.X, "y": data.y, "sensitive_features": data.sensitive_features, "n_splits": 2}
    usual, asked = mdfa.audit(**given), mdfa.audit(**given, min_ratio=100)
    for one, other in zip(usual.violations, asked.violations, strict=True):
        assert (one.delta, one.interval, one.p_value) == (
            other.delta,
            other.interval,
            other.p_value,
        )
        if one.verdict == "violation":
            assert other.verdict == "none_larger_than_detectable"
            assert other.reason == "the ratio is beyond chance but below 100 (min_ratio)"
            assert "min_ratio" in asked.summary()
    assert usual.worst_case.verdict == "violation"
