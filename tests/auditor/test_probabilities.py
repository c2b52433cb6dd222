"""Audits of groups that are known by probability."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.proxies import Proxies, sample_of
from mdfa_fairness_plugin.exceptions import InputError, MissingSensitiveWarning, WarningLog
from mdfa_fairness_plugin.results import AuditResult

FAST = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}
N = 1_200


def draw(apart, ratio, seed=0, n=N):
    """Features, outcomes, groups and what a proxy tells of these; the ratio holds where a > 0."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, n), "b": rng.uniform(-1, 1, n)})
    s = rng.random(n) < 0.4
    signal = rng.standard_normal(n) + apart * s
    p = 1 / (1 + np.exp(-(apart * signal - apart**2 / 2 + math.log(0.4 / 0.6))))
    y = (rng.random(n) < np.where((X["a"] > 0) & s, 0.2 * ratio, 0.2)).astype(int)
    return X, y, s, pd.DataFrame({"w": p, "m": 1 - p})


@pytest.fixture(scope="module")
def found():
    X, y, s, p = draw(3.0, 3.0)
    asked = {"outcomes": [1], "groups": ["w"], **FAST}
    return X, y, s, mdfa.audit(X, y, sensitive_probabilities=p, **asked)


def test_bounds_hold_the_truth_and_the_estimate(found):
    X, y, s, result = found
    (v,) = result.violations
    inside = v.membership
    truth = math.log(y[inside & s].mean() / y[inside & ~s].mean())
    low, high = v.probability_bounds
    assert low < truth < high
    assert low < v.delta < high
    least, most = v.probability_interval
    assert least < low < high < most
    assert v.rows_to_know > 0
    assert result.n_samples == len(X)
    assert abs(v.n_rows - inside.sum()) <= 1


def test_bounds_are_what_everything_goes_by(found):
    result = found[-1]
    (v,) = result.violations
    for part in (v, v.population, v.core, v.rule_subgroup):
        if part.measured:
            low, high = part.probability_bounds
            assert part.lower < low < high < part.interval[1]
    assert v.verdict == "violation"
    assert v.lower > 0
    low, limit = v.probability_bounds[0], v.probability_interval[0]
    assert ndtr(-1.96 * low / (low - limit)) - 1e-9 <= v.p_value <= v.p_value_adjusted < 0.05
    # The weighted estimate alone would have said more.
    assert v.e_value_limit < 2.5
    assert math.isnan(v.e_value)


def test_reports_tell_bounds_and_what_is_expected(found):
    result = found[-1]
    text = " ".join(result.summary().split())
    low, high = np.exp(result.violations[0].rule_subgroup.probability_bounds)
    headline = r'get the outcome "1" ([\d.]+) to ([\d.]+) times as often as everyone else'
    told = re.search(headline, text)
    assert told is not None
    assert [float(end) for end in told.groups()] == pytest.approx([low, high], rel=0.03)
    assert "whatever outcome and group have to do with each other beyond the probabilities" in text
    assert "are expected to get this outcome by the probabilities" in text
    assert "Rows expected in the subgroup" in text
    page = result.to_html()
    assert "Rows expected" in page
    assert "learn the groups of some of these people" not in page
    for wrong in (
        "as the rows are",
        "four-fifths",
        "known by probability alone",
        " without)",
        "not known</",
    ):
        assert wrong not in text + page


def test_certain_probabilities_are_groups():
    X, y, s, _ = draw(3.0, 3.0)
    labels = pd.Series(np.where(s, "w", "m"), name="sex")
    certain = pd.DataFrame({"w": s.astype(float), "m": 1.0 - s})
    one, two = (
        mdfa.audit(X, y, outcomes=[1], groups=["w"], **given, **FAST).violations[0]
        for given in (
            {"sensitive_features": labels},
            {"sensitive_probabilities": certain, "sensitive_features": labels},
        )
    )
    assert two.sensitive_feature == "sex"
    assert two.delta == pytest.approx(one.delta, rel=1e-9)
    np.testing.assert_array_equal(two.membership, one.membership)
    assert two.counts.equals(one.counts)
    # Nothing is left open; only the weighting by models is, which bounds do without.
    assert two.probability_bounds[0] == pytest.approx(two.probability_bounds[1])
    assert two.probability_bounds[0] == pytest.approx(two.estimates["hajek"], abs=1e-9)


def test_vague_probabilities_are_no_violation():
    X, y, _, p = draw(0.8, 3.0)
    result = mdfa.audit(X, y, sensitive_probabilities=p, outcomes=[1], groups=["w"], **FAST)
    (v,) = result.violations
    assert v.verdict == "insufficient_evidence"
    assert v.probability_bounds[0] < 0 < v.probability_bounds[1]
    # A gate, a ranking and a test go by what is certain, not by the weighted estimate.
    assert v.delta > 0 > v.probability_interval[0] >= v.lower
    assert result.worst_case is v
    assert v.p_value_adjusted > 0.5
    assert 'failures="0"' in result.to_junit(fail_above=0.0)
    assert "learn the groups of some of these people" in result.to_html()


def test_known_groups_correct_the_estimate_and_narrow_the_bounds(tmp_path):
    X, y, s, p = draw(0.8, 3.0)
    half = np.arange(N) < N // 2
    known = pd.Series(np.where(half, np.where(s, "w", "m"), None), dtype=object, name="sex")
    asked = {"outcomes": [1], "groups": ["w"], "favorable_label": 0, **FAST}
    result = mdfa.audit(X, y, sensitive_features=known, sensitive_probabilities=p, **asked)
    (v,) = result.violations
    assert v.verdict == "violation"
    assert v.n_known == (v.membership & half).sum()
    low, high = v.probability_bounds
    assert low < v.interval[0] < v.delta < v.interval[1] < high
    inside = v.membership
    truth = math.log(y[inside & s].mean() / y[inside & ~s].mean())
    # What probabilities say alone, known rows being certain, is off by far more.
    assert abs(v.delta - truth) < 0.2 < truth - v.estimates["hajek"]
    assert v.rates[0] / v.rates[1] == pytest.approx(v.ratio)
    assert v.gamma == pytest.approx(v.mass * math.tanh(v.delta / 2) / 2)
    assert v.impact_interval[0] < v.impact_ratio < v.impact_interval[1]
    assert v.rows_to_know == 0
    result.to_json(tmp_path / "audit.json")
    assert AuditResult.from_json(tmp_path / "audit.json").violations[0].n_known == v.n_known
    text = " ".join(result.summary().split())
    about = 10 * round(v.n_known / 10)
    assert f"taken off by about {about:,} rows in the subgroup whose sex is known besides" in text
    # Probabilities of 0 and 1 say nothing of how far others are off; bounds are as narrow.
    certain = p.copy()
    certain[half] = np.column_stack([s, ~s])[half].astype(float)
    other = mdfa.audit(X, y, sensitive_probabilities=certain, **asked).violations[0]
    assert other.n_known == 0
    assert other.verdict == "insufficient_evidence"
    assert other.probability_bounds == pytest.approx(v.probability_bounds)


def test_known_groups_that_are_no_random_sample_correct_nothing():
    X, y, s, p = draw(0.8, 3.0)
    known = np.where(X["b"] > 0.5, np.where(s, "w", "m"), None)
    with pytest.warns(MissingSensitiveWarning, match=r"no random sample .* as 'b' differs"):
        result = mdfa.audit(
            X, y, sensitive_features=known, sensitive_probabilities=p, outcomes=[1], **FAST
        )
    assert {v.n_known for v in result.violations} == {0}


def test_of_several_outcomes_the_known_are_to_be_a_sample_of_all():
    rng = np.random.default_rng(0)
    n, y = 900, np.arange(900) % 3
    X, told = rng.standard_normal((n, 2)), np.full((n, 2), 0.5)

    def kept(chance):
        known = np.where(rng.random(n) < chance, 0, -1)
        copies = SimpleNamespace(proxies=Proxies(groups=("w", "m"), told=told, known=known))
        return sample_of(copies, np.arange(n), X, (y, "abc"), ("p", "q"), WarningLog())

    assert kept(0.3) is not None
    with pytest.warns(MissingSensitiveWarning, match=r"no random sample, as 'outcome b' differs"):
        assert kept(np.where(y == 1, 0.7, 0.2)) is None


def test_order_of_rows_and_columns_changes_nothing(found):
    X, y, _, result = found
    _, _, _, p = draw(3.0, 3.0)
    order = np.random.default_rng(0).permutation(N)
    again = mdfa.audit(
        X.iloc[order], y[order], sensitive_probabilities=p[["m", "w"]].iloc[order],
        outcomes=[1], groups=["w"], **FAST,
    ).violations[0]  # fmt: skip
    assert again.delta == result.violations[0].delta
    assert again.probability_bounds == pytest.approx(result.violations[0].probability_bounds)
    np.testing.assert_array_equal(again.membership, result.violations[0].membership[order])


def test_json_tells_bounds_and_is_read_back(found, tmp_path):
    result = found[-1]
    text = result.to_json(tmp_path / "audit.json")
    again = AuditResult.from_json(tmp_path / "audit.json")
    assert again.violations[0].probability_bounds == result.violations[0].probability_bounds
    assert again.violations[0].rows_to_know == result.violations[0].rows_to_know
    assert again.to_json() == text


@pytest.mark.parametrize(
    ("change", "asked", "message"),
    [
        (lambda p: p[["w"]], {}, r"sensitive_probabilities: a column for each group expected, 1"),
        (
            lambda p: p * 0.5,
            {},
            r"sensitive_probabilities: 1,200 of 1,200 rows hold no prob.* row 0",
        ),
        (
            lambda p: p.drop(index=7).reindex(p.index),
            {},
            r"sensitive_probabilities: 1 of 1,200 .* at row 7",
        ),
        (
            lambda p: p.astype(str) + "x",
            {},
            r"sensitive_probabilities: probabilities expected in 'w'",
        ),
        (lambda p: p.iloc[:-1], {}, r"sensitive_probabilities"),
        (lambda p: p, {"outcome_type": "numeric"}, r"sensitive_probabilities: bounds are known of"),
        (lambda p: p, {"weight_type": "frequency"}, r"sensitive_probabilities: rows count by"),
        (lambda p: p, {"intersections": True}, r"sensitive_probabilities: there is one column"),
        (lambda p: p, {"estimator": "unweighted"}, r"estimator: 'unweighted' found, and bounds"),
        (lambda p: p, {"missing": "raise"}, r"missing: 'raise' is about rows whose group"),
    ],
)
def test_what_are_no_probabilities_is_refused(change, asked, message):
    X, y, _, p = draw(3.0, 3.0)
    with pytest.raises(InputError, match=message):
        mdfa.audit(X, y, sensitive_probabilities=change(p), **{**FAST, **asked})


def test_unknown_groups_are_refused():
    X, y, s, p = draw(3.0, 3.0)
    with pytest.raises(InputError, match=r"sensitive_features: 'x' is no column of sensitive_prob"):
        mdfa.audit(
            X, y, sensitive_features=np.where(s, "x", "m"), sensitive_probabilities=p, **FAST
        )


def test_halves_of_certain_probabilities_are_those_of_groups():
    X, y, s, _ = (own[:600] for own in draw(3.0, 3.0))
    certain = pd.DataFrame({"w": s * 1.0, "m": 1.0 - s})
    of_groups = mdfa.audit(X, y, sensitive_features=np.where(s, "w", "m"), outcomes=[1], **FAST)
    told = mdfa.audit(X, y, sensitive_probabilities=certain, outcomes=[1], **FAST)
    for one, other in zip(
        told.stability(1).frequency, of_groups.stability(1).frequency, strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_nothing_is_repeated_without_bounds(found):
    result = found[-1]
    for ask in (lambda: result.null_distribution(3), lambda: result.measure("a > 0")):
        with pytest.raises(InputError, match=r"result: its groups are known by probability"):
            ask()


def test_probabilities_that_say_nothing_leave_all_open():
    X, y, _, p = draw(3.0, 1.0)
    result = mdfa.audit(X, y, sensitive_probabilities=p * 0 + 0.5, outcomes=[1], **FAST)
    assert {v.verdict for v in result.violations} == {"insufficient_evidence"}
    assert result.worst_case is not None


def test_nothing_larger_is_never_ruled_out():
    X, y, _, p = draw(3.0, 1.0)
    result = mdfa.audit(X, y, sensitive_probabilities=p, outcomes=[1], favorable_label=0, **FAST)
    for v in result.violations:
        assert v.verdict == "insufficient_evidence"
        assert "the probabilities of the groups allow any ratio between" in v.reason
        assert math.isnan(v.detectable_ratio)
        assert v.impact_interval[0] < v.impact_ratio < v.impact_interval[1]
    assert "would have been found" not in " ".join(result.summary().split())


def test_people_are_counted_once(found):
    X, _, _, result = found
    assert "rows of" not in result.summary().split("Compared by")[0].split("ROWS")[1]
    known = [one for one in result.groups if one.known]
    assert sum(sum(one.counts) for one in known) == pytest.approx(len(X), abs=2)
    assert result.provenance["n_working_rows"] == len(X)
    (v,) = result.violations
    assert v.rule_rows == v.rule_subgroup.n_rows
    assert 0 < v.rows_to_know <= v.n_rows


def test_groups_of_few_expected_people_are_not_audited():
    X, y, s, _ = draw(3.0, 1.0)
    few = pd.DataFrame({"w": np.where(s, 0.04, 0.001)})
    few["m"] = 1 - few["w"]
    result = mdfa.audit(X, y, sensitive_probabilities=few, outcomes=[1], groups=["w"], **FAST)
    assert "add up to only 20 people" in result.violations[0].reason


def test_nobody_is_told_to_be_of_a_group():
    X, y, _, p = draw(3.0, 3.0)
    auditor = mdfa.MDFAuditor(outcomes=[1], groups=["w"], favorable_label=0, **FAST)
    auditor.fit(X, y, sensitive_probabilities=p)
    for ask in (lambda: auditor.explain_row(X.iloc[0]), lambda: auditor.result_.pairs(3)):
        with pytest.raises(InputError, match=r"known by probability, so that nobody can be said"):
            ask()
