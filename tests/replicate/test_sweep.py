"""How the worst ratio moves with the cut of a score."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.report.displays import SweepDisplay


@pytest.fixture(scope="module")
def scored(quick):
    """Scores of group p lie one point lower; the outcome is a score of at least 5."""
    rng = np.random.default_rng(4)
    n = 900
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 4, n)}, index=np.arange(n) + 7)
    s = pd.Series(rng.choice(["p", "q"], n), X.index, name="group")
    score = pd.Series(rng.binomial(10, 0.5, n) - (s == "p"), X.index, name="points")
    result = mdfa.audit(X, score >= 5, sensitive_features=s, **quick)
    return result, score, X, s


def test_one_cut_needs_no_list(scored):
    result, score, *_ = scored
    pd.testing.assert_frame_equal(
        result.sweep(score, 5).to_frame(), result.sweep(score, [5]).to_frame()
    )


@pytest.fixture(scope="module")
def swept(scored):
    result, score, *_ = scored
    return result.sweep(score.sample(frac=1, random_state=0), [3, 5, 6.5])


def test_the_cut_of_the_audit_gives_its_numbers(scored, swept):
    """Rows, folds and seeds are the same, so everything is."""
    result = scored[0]
    frame = swept.to_frame()
    own = frame[frame["threshold"] == 5].reset_index(drop=True)
    assert own["outcome"].unique().tolist() == ["points < 5", "points >= 5"]
    for name in ("ratio", "ratio_low", "ratio_high", "ratio_everybody", "n_rows"):
        np.testing.assert_allclose(own[name], result.to_frame()[name], rtol=1e-12)
    assert own["worst"].tolist() == [v is result.worst_case for v in result.violations]


def test_every_cut_has_an_audit_and_none_a_verdict(scored, swept):
    _, score, *_ = scored
    frame = swept.to_frame()
    assert (len(frame), frame["worst"].sum()) == (12, 3)
    assert not {"verdict", "p_value", "p_value_adjusted"} & set(frame)
    assert swept.shares == pytest.approx([(score >= cut).mean() for cut in (3, 5, 6.5)])
    # A point less among p: the fewer reach a cut, the larger the ratio among them.
    of_q = frame[(frame["group"] == "q") & frame["outcome"].str.contains(">=")]
    assert of_q["ratio_everybody"].is_monotonic_increasing
    text = " ".join(swept.summary().split())
    assert "nothing here allows for that choice" in text
    assert "- at least 6.5 (" in text
    assert "violation" not in text


def test_it_is_drawn(swept):
    display = SweepDisplay.from_sweep(swept)
    assert display.thresholds == ("3", "5", "6.5")
    assert display.ratio.tolist() == swept.worst()["ratio"].tolist()
    assert "violation" not in display.alt_text
    assert "which one looks best is no finding" in display.plot().ax_.get_xlabel()
    with pytest.raises(InputError, match="nothing to draw"):
        SweepDisplay.from_sweep(type(swept)(
            name="n", thresholds=(1.0,), shares=np.array([0.5]), audits=((),)
        ))  # fmt: skip


@pytest.mark.parametrize(
    ("change", "cuts", "says"),
    [
        (lambda score: score.astype(float).where(score != 3), [5], "scores: finite numbers"),
        (lambda score: score.astype(str), [5], "scores: finite numbers"),
        (lambda score: score[:-1], [5], "scores: "),
        (lambda score: score, [5, 99], "thresholds: at 99 all rows are on one side"),
        (lambda score: score, [], "thresholds: one number or more"),
        (lambda score: score, ["5"], "thresholds: one number or more"),
        (lambda score: score, None, "thresholds: one number or more"),
    ],
)
def test_what_cannot_be_cut_is_refused(scored, change, cuts, says):
    result, score, *_ = scored
    with pytest.raises(InputError, match=f"^{says}"):
        result.sweep(change(score), cuts)


def test_a_feature_that_is_the_score_is_refused(scored, quick):
    _, score, X, s = scored
    y = np.arange(len(X)) % 3 == 0
    result = mdfa.audit(X.assign(points=score), y, sensitive_features=s, **quick)
    with pytest.raises(InputError, match="'points' tells the side of 5"):
        result.sweep(score, [5])


def test_a_sensitive_quantity_has_no_ratios_to_sweep(scored, quick):
    _, score, X, _ = scored
    result = mdfa.audit(
        X[["b"]], score >= 5, sensitive_features=X["a"], sensitive_type="numeric", **quick
    )
    with pytest.raises(InputError, match="sweeps and tables of groups are about groups"):
        result.sweep(score, [5])
